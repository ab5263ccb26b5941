"""Service accounts, their tokens and the root certificates: what pods need to call the API server.

Each active namespace has the account `default`.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go;
pkg/controller/serviceaccount/tokens_controller.go;
pkg/controller/certificates/rootcacertpublisher/publisher.go.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api import patched, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import CONFIG_MAP, SECRET, SERVICE_ACCOUNT
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import NAMESPACE

NAME: Final = "default"


class ServiceAccountsController(Controller):
    """Creates the default service account of each active namespace; its keys are namespaces."""

    name = "service-account-controller"
    kinds = (NAMESPACE, SERVICE_ACCOUNT)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a namespace that was added or changed, or whose default account was removed."""
        return namespace_to_sync(old, new, NAME)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the account if it is missing."""
        if not is_active(self._lister.get(NAMESPACE, key)):
            return []
        if self._lister.get(SERVICE_ACCOUNT, f"{key}/{NAME}") is not None:
            return []
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": NAME, "namespace": key},
        }
        return [self.create(decode(account))]


# Secrets with tokens of service accounts, which users create by their type.
#
# The controller writes the token, the namespace and the certificates into a secret of type
# `kubernetes.io/service-account-token`, and deletes it with its account.

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
        obj = self.latest_of(old, new)
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


# The certificates of the API server's authority, as a ConfigMap in each active namespace.

NO_CERTIFICATE_AUTHORITY: Final = (
    "# This cluster is served without TLS: it has no certificate authority.\n"
)
"""The published text of a server without TLS; a PEM file may have such lines."""

CONFIG_MAP_NAME: Final = "kube-root-ca.crt"
_ANNOTATION: Final = "kubernetes.io/description"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
    " endpoints such as the internal service IP or kubernetes.default.svc. No other usage is"
    " guaranteed across distributions of Kubernetes clusters."
)


class RootCAPublisher(Controller):
    """Keeps the ConfigMap of each active namespace; its keys are namespaces.

    Parameters
    ----------
    lister : Lister
    certificates : str
        The certificates in PEM.
    """

    name = "root-ca-certificate-publisher-controller"
    kinds = (NAMESPACE, CONFIG_MAP)

    def __init__(self, lister: Lister, certificates: str = NO_CERTIFICATE_AUTHORITY) -> None:
        super().__init__(lister)
        self._data = {"ca.crt": certificates}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a namespace that was added or changed, or whose ConfigMap changed."""
        return namespace_to_sync(old, new, CONFIG_MAP_NAME)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the ConfigMap of a namespace, or restore its data."""
        if not is_active(self._lister.get(NAMESPACE, key)):
            return []
        present = self._lister.get(CONFIG_MAP, f"{key}/{CONFIG_MAP_NAME}")
        if present is None:
            metadata = {
                "name": CONFIG_MAP_NAME,
                "namespace": key,
                "annotations": {_ANNOTATION: _DESCRIPTION},
            }
            return [self.create(decode(self._document(metadata)))]
        document = encode(present)
        if document.get("data") == self._data and present.metadata.annotations.get(_ANNOTATION):
            return []
        annotations = {**present.metadata.annotations, _ANNOTATION: _DESCRIPTION}
        new = patched(present, metadata={"annotations": annotations})
        return [self.update(decode({**encode(new), "data": self._data}))]

    def _document(self, metadata: Document) -> Document:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._data}


# Objects that a controller keeps in every namespace, such as the default service account.


def namespace_to_sync(old: Version, new: Version, name: str) -> Keys:
    """Return the namespace that a change concerns.

    Parameters
    ----------
    old, new : KubernetesObject, optional
        A namespace, or an object of the kept kind.
    name : str
        The name of the kept object.
    """
    obj = Controller.latest_of(old, new)
    if obj.kind == "Namespace":
        return () if new is None else (obj.name,)
    # A new object of the name was created by the controller, or is checked for the first time.
    return (obj.metadata.namespace,) if obj.name == name else ()


def is_active(namespace: KubernetesObject | None) -> bool:
    """Whether objects can be created in a namespace."""
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return False
    return section(namespace, "status").get("phase") == "Active"
