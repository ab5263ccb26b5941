"""Tokens of service accounts in secrets, which are good as long as the secret has them.

Upstream: pkg/serviceaccount/legacy.go
"""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b, sha256
from typing import Any, Final

import msgspec

from podwright.api.users import User, service_account_groups, service_account_name
from podwright.objects import KubernetesObject
from podwright.store import ObjectStore

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
        self._key = blake2b(f"legacy tokens/{store.seed}".encode(), digest_size=32).digest()

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
        signed = f"{_encoded({'alg': 'HS256', 'kid': 'podwright'})}.{_encoded(claims)}"
        return f"{signed}.{self._signature(signed)}"

    def _signature(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), sha256).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def lookup(self, token: str, now_ns: int) -> User | None:
        """Return the user of a token; None for any other or a bad one."""
        del now_ns
        claims = _claims(token)
        if claims is None:
            return None
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature, self._signature(signed)):
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


def _encoded(value: Any) -> str:
    return urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


def _claims(token: str) -> dict[str, Any] | None:
    """Return the claims of a token of this issuer, without checking its signature."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        padded = parts[1].encode("ascii") + b"=" * (-len(parts[1]) % 4)
        claims = msgspec.json.decode(urlsafe_b64decode(padded))
    except ValueError:
        return None
    return claims if isinstance(claims, dict) and claims.get("iss") == ISSUER else None
