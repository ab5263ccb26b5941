"""Which Host and Origin headers are served.

A page of another site can send requests to a server on loopback; its name then stands in Origin,
or, after the name was bound to a loopback address, in Host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

from podwright.api.endpoints import ApiError, HttpReply, MediaType, error_reply

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class AllowedHosts:
    """Checks the Host and Origin headers of requests.

    Parameters
    ----------
    names : collection of str
        The names and addresses by which the server is reached, without ports.
    """

    def __init__(self, names: Collection[str] = LOOPBACK) -> None:
        self._names = frozenset(name.lower() for name in names)

    def rejection(self, headers: Mapping[str, str]) -> HttpReply | None:
        """Return the reply to a request that is not served; None for one that is."""
        host = headers.get("host", "")
        if host and not self._is_allowed(f"//{host}"):
            return _forbidden(f'the server is not reached by the name "{host}"')
        origin = headers.get("origin", "")
        if origin and not self._is_allowed(origin):
            return _forbidden(f'requests of pages of "{origin}" are not served')
        return None

    def _is_allowed(self, url: str) -> bool:
        try:
            name = urlsplit(url).hostname
        except ValueError:
            return False
        return name is not None and name.lower() in self._names


def _forbidden(message: str) -> HttpReply:
    return error_reply(ApiError(403, "Forbidden", message), MediaType())
