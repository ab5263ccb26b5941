"""Claims in a JSON Web Token with an HMAC, for the tokens that this server issues itself.

The key follows from a text, so that the same requests give the same tokens.

Sources: RFC 7515, RFC 7519
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b, sha256
from typing import Any, Final

import msgspec

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
