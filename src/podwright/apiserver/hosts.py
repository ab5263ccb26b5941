"""Which Host and Origin headers are served.

A page of another site can send requests to a server on loopback; its name then stands in Origin,
or, after the name was bound to a loopback address, in Host.
"""

from __future__ import annotations

import ipaddress
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
    allows_addresses : bool
        Whether any address is served as well, for a server on all addresses of a machine. Names
        can be bound to its address by others; an address cannot.
    origins : collection of str
        Origins of other pages that are served, such as `http://localhost:3000`.

    Attributes
    ----------
    origins : frozenset of str
    """

    def __init__(
        self,
        names: Collection[str] = LOOPBACK,
        *,
        allows_addresses: bool = False,
        origins: Collection[str] = (),
    ) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._allows_addresses = allows_addresses
        self.origins = frozenset(origins)

    def rejection(self, headers: Mapping[str, str]) -> str:
        """Return why a request is not served; "" for one that is."""
        host = headers.get("host", "")
        if host and not self._is_allowed(f"//{host}"):
            return f'the server is not reached by the name "{host}"'
        origin = headers.get("origin", "")
        if origin and origin not in self.origins and not self._is_allowed(origin):
            return f'requests of pages of "{origin}" are not served'
        return ""

    def _is_allowed(self, url: str) -> bool:
        try:
            name = urlsplit(url).hostname
        except ValueError:
            return False
        if name is None:
            return False
        return name.lower() in self._names or (self._allows_addresses and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def forbidden(message: str) -> HttpReply:
    """Return a rejection as the Kubernetes API does."""
    return error_reply(ApiError(403, "Forbidden", message), MediaType())
