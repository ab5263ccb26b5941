"""Tokens of service accounts: signed claims that name the account and what the token is bound to.

The claims are a JSON Web Token (RFC 7515, RFC 7519). The signature is an HMAC with a key that
follows from the seed of the store, so that the same requests give the same tokens. A token is good
as long as its account and the object to which it is bound exist; one in a secret as long as the
secret has it.

Upstream: pkg/serviceaccount/{claims,jwt}.go; pkg/registry/core/serviceaccount/storage/token.go;
pkg/serviceaccount/legacy.go
"""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS, KubernetesObject, go_quoted, timestamp_ns
from podwright.cluster.api.authorization import quoted_list
from podwright.cluster.api.identity import uid_at
from podwright.cluster.api.users import User, service_account_groups, service_account_name
from podwright.cluster.store import ObjectStore

ISSUER: Final = "https://kubernetes.default.svc"
"""The issuer of tokens, and the audience of the API itself."""

_CLAIM: Final = "kubernetes.io"
_EXTRA: Final = "authentication.kubernetes.io/"
_LEEWAY_SECONDS: Final = 60
"""By how much clocks may differ: `jwt.DefaultLeeway` of go-jose."""
_INVALIDATED: Final = "service account token has been invalidated"


class TokenError(ValueError):
    """A token that was issued here and is not good; the message is upstream's."""


class ServiceAccountTokens:
    """Issues and checks tokens.

    Parameters
    ----------
    store : ObjectStore
        The accounts, and the objects to which tokens are bound.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._signed = SignedClaims(f"tokens/{store.seed}")
        self._count = 0

    def issue(
        self,
        account: KubernetesObject,
        audiences: Sequence[str],
        expires_seconds: int,
        now_ns: int,
        bound: KubernetesObject | None = None,
        *,
        warned_seconds: int | None = None,
    ) -> str:
        """Return a new token of an account.

        Parameters
        ----------
        audiences : sequence of str
        expires_seconds : int
            How long the token is good.
        now_ns : int
        bound : KubernetesObject, optional
            A pod, secret or node without which the token is not good.
        warned_seconds : int, optional
            After how long the use of the token is late, although it is still good.
        """
        self._count += 1
        issued = now_ns // SECOND_NS
        private: dict[str, Any] = {
            "namespace": account.namespace,
            "serviceaccount": {"name": account.name, "uid": account.uid},
        }
        if bound is not None:
            private[bound.kind.lower()] = {"name": bound.name, "uid": bound.uid}
            if bound.kind == "Pod" and (node := (bound.raw.get("spec") or {}).get("nodeName")):
                private["node"] = self._node(node)
        if warned_seconds is not None:
            private["warnafter"] = issued + warned_seconds
        claims = {
            "aud": list(audiences),
            "exp": issued + expires_seconds,
            "iat": issued,
            "iss": ISSUER,
            "jti": uid_at(self._store.seed, -self._count),
            _CLAIM: private,
            "nbf": issued,
            "sub": service_account_name(account.namespace, account.name),
        }
        return self._signed.token(claims)

    def _node(self, name: str) -> dict[str, str]:
        """Return a node as a claim: without its uid if it does not exist."""
        node = self._store.get(("", "Node"), name)
        return {"name": name} if node is None else {"name": name, "uid": node.uid}

    def lookup(self, token: str, now_ns: int) -> User | None:
        """Return the user of a token for the API; None for any other or a bad one."""
        try:
            found = self.review(token, now_ns, (ISSUER,))
        except TokenError:
            return None
        return None if found is None else found[0]

    def review(
        self, token: str, now_ns: int, audiences: Sequence[str]
    ) -> tuple[User, list[str]] | None:
        """Return the user of a token and its audiences among the requested ones.

        Returns
        -------
        user, audiences
            None for a token that was not issued here.

        Raises
        ------
        TokenError
            The token is not good.
        """
        claims = unverified_claims(token)
        if claims is None or claims.get("iss") != ISSUER or _CLAIM not in claims:
            return None
        if not self._signed.is_signed(token):
            raise TokenError("go-jose/go-jose: error in cryptographic primitive")
        own = claims.get("aud") or []
        common = [audience for audience in own if audience in audiences]
        if not common:
            raise TokenError(
                f"token audiences {quoted_list(own)} is invalid for the target audiences"
                f" {quoted_list(audiences)}"
            )
        now = now_ns // SECOND_NS
        if now - _LEEWAY_SECONDS > claims["exp"]:
            raise TokenError("service account token has expired")
        if now + _LEEWAY_SECONDS < claims["nbf"]:
            raise TokenError("service account token is not valid yet")
        return self._user(claims, now), common

    def _user(self, claims: dict[str, Any], now: int) -> User:
        private = claims[_CLAIM]
        namespace, named = private["namespace"], private["serviceaccount"]
        account = self._store.get(("", "ServiceAccount"), f"{namespace}/{named['name']}")
        if account is None:
            raise TokenError(f"serviceaccounts {go_quoted(named['name'])} not found")
        if account.uid != named["uid"]:
            raise TokenError(
                f"service account UID ({account.uid}) does not match claim ({named['uid']})"
            )
        if _was_deleted(account, now):
            raise TokenError(f"service account {namespace}/{named['name']} has been deleted")
        extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
        for field in ("secret", "pod", "node"):
            bound = private.get(field)
            if bound is None:
                continue
            # The node of a pod is a fact only: the token does not depend on it.
            if field != "node" or "pod" not in private:
                self._check_bound(field, bound, namespace, now)
            if field != "secret":
                extra[f"{_EXTRA}{field}-name"] = (bound["name"],)
                if uid := bound.get("uid"):
                    extra[f"{_EXTRA}{field}-uid"] = (uid,)
        return User(claims["sub"], account.uid, service_account_groups(namespace), extra)

    def _check_bound(self, field: str, bound: dict[str, str], namespace: str, now: int) -> None:
        kind = field.capitalize()
        key = bound["name"] if kind == "Node" else f"{namespace}/{bound['name']}"
        found = self._store.get(("", kind), key)
        if found is None:
            raise TokenError(_INVALIDATED)
        if found.uid != bound["uid"]:
            raise TokenError(
                f"{field} UID ({found.uid}) does not match service account {field} ref claim"
                f" ({bound['uid']})"
            )
        if _was_deleted(found, now):
            raise TokenError(_INVALIDATED)


def _was_deleted(obj: KubernetesObject, now: int) -> bool:
    """Whether an object has been terminating for longer than clocks differ."""
    deleted = obj.raw["metadata"].get("deletionTimestamp")
    time_ns = timestamp_ns(deleted)
    return time_ns is not None and time_ns // SECOND_NS < now - _LEEWAY_SECONDS


# ---------------------------------------------------------------------------------- signed claims

ALGORITHM: Final = "HS256"
"""The algorithm of the signatures."""


class SignedClaims:
    """Signs claims and checks signatures.

    Parameters
    ----------
    key_text : str
        The key follows from it.
    """

    def __init__(self, key_text: str) -> None:
        self._key = blake2b(key_text.encode(), digest_size=32).digest()

    def token(self, claims: dict[str, Any]) -> str:
        """Return a token with these claims."""
        signed = f"{_encoded({'alg': ALGORITHM, 'kid': 'podwright'})}.{_encoded(claims)}"
        return f"{signed}.{self._signature(signed)}"

    def is_signed(self, token: str) -> bool:
        """Whether a token has a signature with this key."""
        signed, _, signature = token.rpartition(".")
        return hmac.compare_digest(signature.encode(), self._signature(signed).encode())

    def _signature(self, text: str) -> str:
        return _text(hmac.new(self._key, text.encode(), sha256).digest())


def unverified_claims(token: str) -> dict[str, Any] | None:
    """Return the claims of a token without checking its signature; None if it has none."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        padded = parts[1].encode("ascii") + b"=" * (-len(parts[1]) % 4)
        claims = msgspec.json.decode(urlsafe_b64decode(padded))
    except ValueError:
        return None
    return claims if isinstance(claims, dict) else None


def _encoded(value: Any) -> str:
    return _text(msgspec.json.encode(value))


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


# -------------------------------------------------------------------------------- tokens of secrets

LEGACY_ISSUER: Final = "kubernetes/serviceaccount"

_LEGACY_PREFIX: Final = "kubernetes.io/serviceaccount/"
_INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
"""The label that marks the token of a secret as invalid."""


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
            "iss": LEGACY_ISSUER,
            f"{_LEGACY_PREFIX}namespace": account.namespace,
            f"{_LEGACY_PREFIX}secret.name": secret.name,
            f"{_LEGACY_PREFIX}service-account.name": account.name,
            f"{_LEGACY_PREFIX}service-account.uid": account.uid,
            "sub": service_account_name(account.namespace, account.name),
        }
        return self._signed.token(claims)

    def lookup(self, token: str, _now_ns: int) -> User | None:
        """Return the user of a token; None for any other or a bad one."""
        claims = unverified_claims(token)
        if (
            claims is None
            or claims.get("iss") != LEGACY_ISSUER
            or not self._signed.is_signed(token)
        ):
            return None
        namespace = claims[f"{_LEGACY_PREFIX}namespace"]
        name = claims[f"{_LEGACY_PREFIX}service-account.name"]
        secret = self._store.get(
            ("", "Secret"), f"{namespace}/{claims[f'{_LEGACY_PREFIX}secret.name']}"
        )
        account = self._store.get(("", "ServiceAccount"), f"{namespace}/{name}")
        if secret is None or account is None:
            return None
        is_deleted = any(each.metadata.deletion_timestamp is not None for each in (secret, account))
        if is_deleted or account.uid != claims[f"{_LEGACY_PREFIX}service-account.uid"]:
            return None
        if secret.metadata.labels.get(_INVALID_SINCE):
            return None
        data = (secret.raw.get("data") or {}).get("token") or ""
        if not hmac.compare_digest(b64decode(data), token.encode()):
            return None
        return User(claims["sub"], account.uid, service_account_groups(namespace))
