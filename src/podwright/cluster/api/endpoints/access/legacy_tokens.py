"""Tokens of service accounts in secrets, which are good as long as the secret has them.

Upstream: pkg/serviceaccount/legacy.go
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from typing import Final

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.api.endpoints.access.signed_claims import SignedClaims, unverified_claims
from podwright.cluster.api.users import User, service_account_groups, service_account_name
from podwright.cluster.store import ObjectStore

ISSUER: Final = "kubernetes/serviceaccount"

_PREFIX: Final = "kubernetes.io/serviceaccount/"


class LegacyTokens:
    """Issues and checks the tokens of secrets.

    Parameters
    ----------
    store : ObjectStore
        The accounts and the secrets.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._signed = SignedClaims(f"legacy tokens/{store.seed}")

    def issue(self, account: KubernetesObject, secret: KubernetesObject) -> str:
        """Return the token of an account for a secret."""
        claims = {
            "iss": ISSUER,
            f"{_PREFIX}namespace": account.namespace,
            f"{_PREFIX}secret.name": secret.name,
            f"{_PREFIX}service-account.name": account.name,
            f"{_PREFIX}service-account.uid": account.uid,
            "sub": service_account_name(account.namespace, account.name),
        }
        return self._signed.token(claims)

    def lookup(self, token: str, _now_ns: int) -> User | None:
        """Return the user of a token; None for any other or a bad one."""
        claims = unverified_claims(token)
        if claims is None or claims.get("iss") != ISSUER or not self._signed.is_signed(token):
            return None
        namespace = claims[f"{_PREFIX}namespace"]
        name = claims[f"{_PREFIX}service-account.name"]
        secret = self._store.get(("", "Secret"), f"{namespace}/{claims[f'{_PREFIX}secret.name']}")
        account = self._store.get(("", "ServiceAccount"), f"{namespace}/{name}")
        if secret is None or account is None:
            return None
        is_deleted = any(each.metadata.deletion_timestamp is not None for each in (secret, account))
        if is_deleted or account.uid != claims[f"{_PREFIX}service-account.uid"]:
            return None
        data = (secret.raw.get("data") or {}).get("token") or ""
        if not hmac.compare_digest(b64decode(data), token.encode()):
            return None
        return User(claims["sub"], account.uid, service_account_groups(namespace))
