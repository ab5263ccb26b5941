"""Authentication: from the headers of a request to its user.

Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go;
staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go,
staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from podwright.cluster.api.rejections import unauthorized
from podwright.cluster.api.users import ANONYMOUS, AUTHENTICATED, User

TokenLookup: TypeAlias = Callable[[str, int], User | None]
"""Returns the user of a token at a time, None for an unknown or expired one."""


class Authenticator:
    """Finds the user of a request.

    Parameters
    ----------
    lookups : sequence of callables
        The first lookup that knows a token decides.
    allows_anonymous : bool
        Whether requests without credentials are served.
    anonymous : User
        Their user.
    """

    def __init__(
        self, *lookups: TokenLookup, allows_anonymous: bool = True, anonymous: User = ANONYMOUS
    ) -> None:
        self._lookups = list(lookups)
        self._allows_anonymous = allows_anonymous
        self._anonymous = anonymous

    def add(self, lookup: TokenLookup) -> None:
        """Add a lookup after the current ones."""
        self._lookups.append(lookup)

    def authenticate(
        self, headers: Mapping[str, str], now_ns: int, *, certified: User | None = None
    ) -> User:
        """Return the user of a request.

        Parameters
        ----------
        headers : mapping of str to str
            Names in lower case.
        now_ns : int
            The time, for tokens that expire.
        certified : User, optional
            The user of a verified client certificate, which comes before a token.

        Raises
        ------
        Rejection
            The credentials are not valid.
        """
        if certified is not None:
            return with_authenticated(certified)
        token = bearer_token(headers)
        if token is None:
            if not self._allows_anonymous:
                raise unauthorized()
            return self._anonymous
        user = self.user_of(token, now_ns)
        if user is None:
            raise unauthorized()
        return user

    def user_of(self, token: str, now_ns: int) -> User | None:
        """Return the user of a token, None if no lookup knows it."""
        for lookup in self._lookups:
            user = lookup(token, now_ns)
            if user is not None:
                return with_authenticated(user)
        return None


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """Return the bearer token of a request, None if there is none."""
    rest = _after_bearer(headers)
    return rest[0] or None if rest else None


def token_warnings(headers: Mapping[str, str]) -> list[str]:
    """Return the warning about a bearer token that is ignored, because spaces are before it."""
    rest = _after_bearer(headers)
    if len(rest) < 2 or rest[0]:
        return []
    return [
        "the provided Authorization header contains extra space before the bearer token, and is"
        " ignored"
    ]


def _after_bearer(headers: Mapping[str, str]) -> list[str]:
    """Return what follows the scheme of a bearer token, split at the next space."""
    scheme, *rest = headers.get("authorization", "").strip().split(" ", 2)
    return rest if scheme.lower() == "bearer" else []


def with_authenticated(user: User) -> User:
    """Return a user with the group of all authenticated users."""
    if AUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))


def static_tokens(users: Mapping[str, User]) -> TokenLookup:
    """Return a lookup of tokens that never expire."""
    return lambda token, _now_ns: users.get(token)
