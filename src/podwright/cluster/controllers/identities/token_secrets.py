"""Secrets with tokens of service accounts, which users create by their type.

The controller writes the token, the namespace and the certificates into a secret of type
`kubernetes.io/service-account-token`, and deletes it with its account.

Upstream: pkg/controller/serviceaccount/tokens_controller.go
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api import patched
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import SECRET, SERVICE_ACCOUNT
from podwright.cluster.controllers.lister import Lister

TYPE: Final = "kubernetes.io/service-account-token"
NAME_ANNOTATION: Final = "kubernetes.io/service-account.name"
UID_ANNOTATION: Final = "kubernetes.io/service-account.uid"

IssueToken: TypeAlias = Callable[[KubernetesObject, KubernetesObject], str]
"""Returns a token of an account that is good as long as a secret exists."""


class TokensController(Controller):
    """Fills secrets with tokens, and deletes them with their accounts.

    Parameters
    ----------
    lister : Lister
    issue : callable
        Makes the tokens.
    certificates : str
        The certificates of the API server's authority in PEM.
    """

    name = "tokens-controller"
    kinds = (SECRET, SERVICE_ACCOUNT)

    def __init__(self, lister: Lister, issue: IssueToken, certificates: str) -> None:
        super().__init__(lister)
        self._issue = issue
        self._certificates = certificates
        # The token secrets of each account.
        self._of_account: dict[NamespacedName, dict[NamespacedName, None]] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a token secret that changed, or those of an account that came, left or changed."""
        obj = new if new is not None else old
        assert obj is not None, "neither an old nor a new object"
        if obj.kind == "ServiceAccount":
            return list(self._of_account.get(obj.key, ()))
        account = account_of(obj)
        if account is None:
            return ()
        if new is None:
            secrets = self._of_account.get(account, {})
            secrets.pop(obj.key, None)
            if not secrets:
                self._of_account.pop(account, None)
        else:
            self._of_account.setdefault(account, {})[obj.key] = None
        return (obj.key,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Complete a secret, or delete it if its account is not there."""
        secret = self._lister.get(SECRET, key)
        account_key = None if secret is None else account_of(secret)
        if secret is None or account_key is None:
            return []
        account = self._lister.get(SERVICE_ACCOUNT, account_key)
        uid = secret.metadata.annotations.get(UID_ANNOTATION)
        if account is None or (uid and uid != account.uid):
            return [self.delete(secret)]
        document = encode(secret)
        data = dict(document.get("data") or {})
        data["ca.crt"] = _encoded(self._certificates)
        data.setdefault("namespace", _encoded(secret.metadata.namespace))
        if data == document.get("data") and data.get("token"):
            return []
        if not data.get("token"):
            data["token"] = _encoded(self._issue(account, secret))
        annotations = {
            **secret.metadata.annotations,
            NAME_ANNOTATION: account.name,
            UID_ANNOTATION: account.uid,
        }
        new = patched(secret, metadata={"annotations": annotations})
        return [self.update(decode({**encode(new), "data": data}))]


def account_of(secret: KubernetesObject) -> NamespacedName | None:
    """Return the key of the account of a token secret; None for any other secret."""
    if secret.kind != "Secret" or encode(secret).get("type") != TYPE:
        return None
    name = secret.metadata.annotations.get(NAME_ANNOTATION, "")
    return f"{secret.metadata.namespace}/{name}" if name else None


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
