"""Which requests of browsers are served.

A page of another site, or of another port of this machine, can send requests to a server on
loopback. Browsers then name the page in Origin, or in Sec-Fetch-Site where they send no Origin;
after DNS rebinding, the page's name is in Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from podwright.cluster.api.endpoints import MediaType, Rejection, error_reply, wire_headers
from podwright.online.apiserver.wire.sending import start_message

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OF_OTHER_PAGES: Final = frozenset({"cross-site", "same-site"})
_OF_FORMS: Final = frozenset(
    {"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
)
"""What a page sends without a preflight request (https://fetch.spec.whatwg.org,
"CORS-safelisted request-header"); "" for no Content-Type."""


class AllowedHosts:
    """Checks the headers by which browsers say where a request comes from.

    Parameters
    ----------
    names : collection of str
        The names and addresses by which the server is reached, without ports.
    allows_addresses : bool
        Whether any address is served as well, for a server on all addresses of a machine. Names
        can be bound to its address by others; an address cannot.
    origins : collection of str
        Origins of other pages that are served, such as `http://localhost:3000`. Without them, the
        only origin that is served is that of the server itself.

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

    def rejection(
        self, method: str, headers: Mapping[str, str], scheme: str = "http"
    ) -> Rejection | None:
        """Return why a request is not served; None for one that is.

        Parameters
        ----------
        method : str
        headers : mapping of str to str
            Names are in lower case.
        scheme : str
            `https` if the server uses TLS.
        """
        host = headers.get("host", "")
        if host and not self._is_allowed(f"//{host}"):
            return _forbidden(f'the server is not reached by the name "{host}"')
        origin = headers.get("origin", "")
        if origin:
            own = f"{scheme}://{host}" if host else ""
            return self._rejected_page(origin, own, method, headers)
        # A link may lead here, but other pages embed nothing: their images would send requests.
        if (
            headers.get("sec-fetch-site", "") in _OF_OTHER_PAGES
            and headers.get("sec-fetch-dest", "") != "document"
        ):
            return _forbidden("requests of pages of other origins are not served")
        return None

    def _rejected_page(
        self, origin: str, own: str, method: str, headers: Mapping[str, str]
    ) -> Rejection | None:
        if origin not in self.origins and origin.lower() != own.lower():
            return _forbidden(
                f'requests of pages of "{origin}" are not served; --cors-origin allows an origin'
            )
        if method in _READING:
            return None
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in _OF_FORMS:
            return None
        # Other methods than POST are preflighted, so without a body they need no Content-Type.
        if not media_type and method != "POST" and not _has_body(headers):
            return None
        found = f'"{media_type}"' if media_type else "none"
        return Rejection(
            415,
            "UnsupportedMediaType",
            "a write with an Origin needs a Content-Type that an HTML form cannot send, such as"
            f" application/json; it has {found}",
        )

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


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _forbidden(message: str) -> Rejection:
    return Rejection(403, "Forbidden", message)


# Cross-origin resource sharing: pages of some other origins may read the replies.

METHODS: Final = ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE")


def with_cors(application: Any, origins: Collection[str]) -> Any:
    """Return an ASGI application that answers preflight requests and marks its replies.

    Parameters
    ----------
    application : ASGI application
    origins : collection of str
        Such as `http://localhost:3000`.
    """
    # Starlette takes a tenth of a second to import.
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(
        application,
        allow_origins=sorted(origins),
        allow_credentials=True,
        allow_methods=METHODS,
        allow_headers=["*"],
        expose_headers=["Warning"],
    )


# The check of where requests come from, in front of the API of kube-scheduler-simulator.


class CheckedHosts:
    """An ASGI middleware that rejects requests of other pages, and under other names.

    Parameters
    ----------
    application : ASGI application
    hosts : AllowedHosts
    """

    def __init__(self, application: Any, hosts: AllowedHosts) -> None:
        self._application = application
        self._hosts = hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        headers = wire_headers(scope["headers"])
        rejection = self._hosts.rejection(scope["method"], headers, scope["scheme"])
        if rejection is None:
            await self._application(scope, receive, send)
            return
        reply = error_reply(rejection, MediaType())
        await send(start_message(reply.status, reply.headers))
        await send({"type": "http.response.body", "body": reply.body})
