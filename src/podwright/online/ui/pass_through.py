"""Passes requests of the page through to the server: bytes in, bytes out, with the token added."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import httpx
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.online.ui.node_changes import node_changes
from podwright.online.ui.shared_stream import SharedStream
from podwright.online.ui.upstream import UnreachableServer, Upstream

PREFIX: Final = "/server"
COMPARED_PREFIX: Final = "/compared"
PATHS: Final = (
    "/podwright/v1/", "/api", "/api/", "/apis", "/apis/", "/openapi/", "/version",
)  # fmt: skip
"""The paths of the server that pages may use: a prefix if it ends with "/", or the path itself."""

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_SENT: Final = (
    "accept", "accept-encoding", "content-length", "content-type", "if-match", "if-none-match",
    "last-event-id",
)  # fmt: skip
_RETURNED: Final = (
    "cache-control", "content-disposition", "content-encoding", "content-length", "content-type",
    "etag", "retry-after", "vary", "warning",
)  # fmt: skip
_STATE: Final = "/podwright/v1/state"


class PassThrough:
    """The endpoints of the page that reach the server.

    Parameters
    ----------
    upstream : Upstream
    prefix : str
        Where the paths of the server begin on the page's origin.
    """

    def __init__(self, upstream: Upstream, prefix: str = PREFIX) -> None:
        self.upstream = upstream
        self._prefix = prefix
        self._state = SharedStream(self._state_parts, lambda: node_changes(self.upstream))

    async def forward(self, request: Request) -> Response:
        """Send a request to the server, and return its reply unchanged."""
        target = request.scope["raw_path"].decode("ascii").removeprefix(self._prefix)
        if not is_passed(target):
            return _status(404, "NotFound", f"The page has no requests to {target or '/'}.")
        if request.url.query:
            target = f"{target}?{request.scope['query_string'].decode('ascii')}"
        has_body = request.method not in {"GET", "HEAD"}
        stack = AsyncExitStack()
        try:
            response = await stack.enter_async_context(
                self.upstream.open(
                    request.method,
                    target,
                    {name: value for name, value in request.headers.items() if name in _SENT},
                    request.stream() if has_body else None,
                )
            )
        except UnreachableServer as error:
            return _status(503, "ServiceUnavailable", str(error))
        return StreamingResponse(
            _body(response, stack),
            response.status_code,
            {name: response.headers[name] for name in _RETURNED if name in response.headers},
        )

    async def follow_state(self, _: Request) -> Response:
        """Return the state of nodes and queue, and changes of nodes' labels, as events."""
        return StreamingResponse(
            self._state.events(), 200, {"cache-control": "no-store"}, "text/event-stream"
        )

    @asynccontextmanager
    async def _state_parts(self) -> AsyncIterator[AsyncIterator[bytes]]:
        headers = {"accept": "text/event-stream"}
        async with self.upstream.open("GET", _STATE, headers) as response:
            if response.status_code != 200:
                await response.aread()
                raise UnreachableServer(_problem_text(response))
            yield response.aiter_raw()


def is_passed(path: str) -> bool:
    """Return whether pages may send requests to a path of the server, percent-encoded."""
    if any(part in {".", ".."} for part in path.replace("%2e", ".").replace("%2E", ".").split("/")):
        return False
    return any(
        path.startswith(allowed) if allowed.endswith("/") else path == allowed for allowed in PATHS
    )


async def _body(response: httpx.Response, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    async with stack:
        async for part in response.aiter_raw():
            yield part


def _problem_text(response: httpx.Response) -> str:
    try:
        found = msgspec.json.decode(response.content)
        return str(found.get("detail") or found.get("message") or found.get("title"))
    except (msgspec.DecodeError, AttributeError):
        return f"The server answered with status {response.status_code}."


def _status(code: int, reason: str, message: str) -> Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return Response(msgspec.json.encode(body), code, media_type="application/json")
