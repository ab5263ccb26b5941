"""Rejects requests that do not come from the page itself.

A site that a browser shows can send requests to a server on loopback, or give its own name the
address 127.0.0.1. So each request must name the page's own host, and each one that changes
something, or opens a WebSocket, must have the page's own origin.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podwright.online.ui.upstream import UnreachableServer

PAGE_HEADER: Final = "x-podwright-page"
"""A header that another site cannot add without a preflight request, which is not answered."""

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_OWN_FETCHES: Final = frozenset({"", "same-origin", "none"})
_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        # Vue compiles NiceGUI's templates in the browser.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class OwnOrigin:
    """Middleware that serves only requests of the page itself.

    Parameters
    ----------
    app : ASGIApp
    port : int
        The port of the page, on loopback.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self.hosts = frozenset(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{host}" for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or reject a request."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        reason = self.rejection(scope)
        if not reason:
            # The browser sees a reply that breaks off.
            with suppress(UnreachableServer):
                await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            await PlainTextResponse(f"{reason}\n", 403, _HEADERS)(scope, receive, send)

    def rejection(self, scope: Scope) -> str:
        """Return why a request is rejected; empty if it is served."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self.hosts:
            return "The header Host is not the address of this page: open it at 127.0.0.1."
        method = "" if scope["type"] == "websocket" else scope["method"]
        origin = headers.get("origin", "")
        if method not in _SAFE_METHODS:
            if origin not in self._origins:
                return "The header Origin is not the address of this page."
        elif origin and origin not in self._origins:
            return "Another site sent this request."
        path = scope["path"]
        if path.startswith(
            ("/server/", "/compared/", "/feeds/", "/access", "/documents", "/clusters")
        ):
            if headers.get("sec-fetch-site", "") not in _OWN_FETCHES:
                return "Another site sent this request."
            if method not in _SAFE_METHODS and headers.get(PAGE_HEADER) != "1":
                return f"The header {PAGE_HEADER} is missing."
        return ""


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
