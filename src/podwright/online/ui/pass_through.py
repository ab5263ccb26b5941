"""Passes requests of the page through to the server, with the token added; streams are shared."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Final

import httpx
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.ui.server_requests import RejectedRequest, causes_of
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
_RETURNED: Final = frozenset((
    "cache-control", "content-disposition", "content-encoding", "content-length", "content-type",
    "etag", "retry-after", "vary", "warning",
))  # fmt: skip
_AS_TABLE: Final = "as=Table"
_STATE: Final = "/podwright/v1/state"


class PassThrough:
    """The endpoints of the page that reach the server.

    Parameters
    ----------
    upstream : Upstream
    prefix : str
        Where the paths of the server start on the page's origin.
    """

    def __init__(self, upstream: Upstream, prefix: str = PREFIX) -> None:
        self.upstream = upstream
        self._prefix = prefix
        self._state = SharedStream(self._state_parts, lambda: node_changes(self.upstream))

    async def forward(self, request: Request) -> Response:
        """Send a request to the server, and return its reply: unchanged, if it is no Table."""
        target = request.scope["raw_path"].decode("ascii").removeprefix(self._prefix)
        if not is_passed(target):
            return _status(404, "NotFound", f"The page has no requests to {target or '/'}.")
        if request.url.query:
            target = f"{target}?{request.scope['query_string'].decode('ascii')}"
        # A body without a length is sent in chunks, which a request without a body is not.
        has_body = request.headers.get("content-length", "0") != "0" or (
            "transfer-encoding" in request.headers
        )
        sent = {name: value for name, value in request.headers.items() if name in _SENT}
        # The reply to a watch has no end: it is passed on as it comes.
        is_table = _AS_TABLE in sent.get("accept", "") and "watch" not in request.query_params
        encodings = sent.pop("accept-encoding", "") if is_table else ""
        stack = AsyncExitStack()
        try:
            response = await stack.enter_async_context(
                self.upstream.open(
                    request.method, target, sent, request.stream() if has_body else None
                )
            )
            returned = {
                name: response.headers[name] for name in _RETURNED & response.headers.keys()
            }
            if is_table and response.status_code == 200:
                async with stack:
                    content = _without_managed_fields(await response.aread())
                if "gzip" in encodings:
                    content = gzip.compress(content, 1)
                    returned["content-encoding"] = "gzip"
                return Response(content, 200, returned | {"content-length": str(len(content))})
        except UnreachableServer as error:
            return _status(503, "ServiceUnavailable", str(error))
        return StreamingResponse(_body(response, stack), response.status_code, returned)

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


class _TableObject(msgspec.Struct, frozen=True, kw_only=True):
    metadata: dict[str, msgspec.Raw]


class _TableRow(msgspec.Struct, frozen=True, kw_only=True):
    cells: msgspec.Raw
    object: _TableObject


class _Table(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Table"
):
    api_version: str
    metadata: msgspec.Raw
    column_definitions: msgspec.Raw
    rows: list[_TableRow]


def _without_managed_fields(content: bytes) -> bytes:
    """Return a Table without nine tenths of its bytes: a page holds a frame while it reads them."""
    try:
        table = msgspec.json.decode(content, type=_Table)
    except msgspec.DecodeError:
        return content  # a list: some servers of custom kinds have no Tables
    for row in table.rows:
        row.object.metadata.pop("managedFields", None)
    return msgspec.json.encode(table)


async def _body(response: httpx.Response, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    async with stack:
        async for part in response.aiter_raw():
            yield part


def _problem_text(response: httpx.Response) -> str:
    found = None
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(response.content)
    return str(RejectedRequest(causes_of(found, response.status_code)))


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


# Changes of the metadata of nodes as server-sent events, from one watch of the Kubernetes API.
#
# The stream of the state has neither labels nor annotations. The first event says that the changes
# start: a page lists the nodes after it, and then takes the events whose resource version is
# later.

_NODES: Final = "/api/v1/nodes"
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class _Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class _Object(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    object: _Object


@asynccontextmanager
async def node_changes(upstream: Upstream) -> AsyncIterator[AsyncIterator[bytes]]:
    """Open a watch of the nodes; its events are named `nodes`.

    The data of an event is `{"type": "STARTED"}`, or the type of the watch's event (`ADDED`,
    `MODIFIED`, `DELETED`) with `name`, `resourceVersion` and `labels` of the node, and `isCopied`:
    whether it is a copy of another cluster's node.

    Raises
    ------
    UnreachableServer
        There is no reply, or the server rejects the request.
    """
    async with upstream.open("GET", f"{_NODES}?limit=1", {"accept": _LIST}) as response:
        content = await response.aread()
        if response.status_code != 200:
            raise UnreachableServer(f"The nodes cannot be listed: status {response.status_code}.")
    version = msgspec.json.decode(content, type=_Object).metadata.resource_version
    target = f"{_NODES}?watch=1&resourceVersion={version}"
    async with upstream.open("GET", target, {"accept": _METADATA}) as response:
        if response.status_code != 200:
            raise UnreachableServer(f"The nodes cannot be watched: status {response.status_code}.")
        yield _events(response.aiter_raw())


async def _events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield _event({"type": "STARTED"})
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in filter(None, lines):
            found = msgspec.json.decode(line, type=_WatchEvent)
            if found.type == "ERROR":
                return  # the versions are compacted: the next watch starts with a list
            if found.type != "BOOKMARK":
                metadata = found.object.metadata
                yield _event(
                    {
                        "type": found.type,
                        "name": metadata.name,
                        "resourceVersion": metadata.resource_version,
                        "labels": metadata.labels,
                        "isCopied": SOURCE_UID in metadata.annotations,
                    }
                )


def _event(data: Mapping[str, object]) -> bytes:
    return b"event: nodes\ndata: " + msgspec.json.encode(data) + b"\n\n"


# One stream of server-sent events of the server for all pages.
#
# The bytes since the last snapshot are kept. A page that joins receives the snapshot and what
# followed it; each page reads at its own pace, and one that is behind a newer snapshot continues
# with that. So a slow page costs no additional memory.

RETRY_SECONDS: Final = 1.0
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024
"""How much may follow a snapshot before a new one replaces it."""

_END: Final = b"\n\n"

OpenStream = Callable[[], AbstractAsyncContextManager[AsyncIterator[bytes]]]


class SharedStream:
    """The events of one stream of the server, for any number of pages.

    Parameters
    ----------
    open_stream : callable
        Opens the stream; raises `UnreachableServer`.
    open_beside : callable, optional
        Opens another stream, whose events are added. It is opened after each snapshot, so that
        pages which receive the snapshot receive all of its events.
    retry_seconds : float
        How long to wait before the stream is opened again.
    kept_bytes_max : int
        How many bytes may follow a snapshot before the stream is opened again.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        open_beside: OpenStream | None = None,
        *,
        retry_seconds: float = RETRY_SECONDS,
        kept_bytes_max: int = KEPT_BYTES_MAX,
    ) -> None:
        self._open_stream = open_stream
        self._open_beside = open_beside
        self._retry_seconds = retry_seconds
        self._kept_bytes_max = kept_bytes_max
        self._pages = 0
        self._reading: asyncio.Task[None] | None = None
        self._reading_beside: asyncio.Task[None] | None = None
        self._restart()

    def _restart(self) -> None:
        self._events: list[bytes] = []
        self._generation = 0
        self._changed = asyncio.Event()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events for one page, several of them as one value if it is slow."""
        self._pages += 1
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        generation, position = self._generation, 0
        try:
            while True:
                changed = self._changed
                if generation != self._generation:
                    generation, position = self._generation, 0
                if position == len(self._events):
                    await changed.wait()
                    continue
                part = b"".join(self._events[position:])
                position = len(self._events)
                yield part
        finally:
            self._pages -= 1
            if not self._pages:
                if self._reading is not None:
                    self._reading.cancel()
                    self._reading = None
                self._close_beside()
                self._restart()

    async def _read(self) -> None:
        while True:
            try:
                async with self._open_stream() as parts:
                    await self._read_events(parts)
            except UnreachableServer as error:
                self._close_beside()
                event = _disconnected(str(error))
                if self._events[-1:] != [event]:
                    self._add(event)
                await asyncio.sleep(self._retry_seconds)

    def _open_beside_again(self) -> None:
        self._close_beside()
        if self._open_beside is not None:
            self._reading_beside = asyncio.ensure_future(self._read_beside(self._open_beside))

    def _close_beside(self) -> None:
        if self._reading_beside is not None:
            self._reading_beside.cancel()
            self._reading_beside = None

    async def _read_beside(self, open_stream: OpenStream) -> None:
        while True:
            with suppress(UnreachableServer):  # the stream itself reports a server that is gone
                async with open_stream() as events:
                    async for event in events:
                        self._add(event)
            await asyncio.sleep(self._retry_seconds)

    async def _read_events(self, parts: AsyncIterator[bytes]) -> None:
        rest = b""
        followed_bytes = 0
        async for part in parts:
            *whole, rest = (rest + part).split(_END)
            for event in whole:
                if _is_snapshot(event):
                    self._events = []
                    self._generation += 1
                    followed_bytes = 0
                    self._open_beside_again()
                else:
                    followed_bytes += len(event)
                self._add(event + _END)
            if followed_bytes > self._kept_bytes_max:
                return  # the next stream starts with a snapshot
        raise UnreachableServer("The server has ended the stream.")

    def _add(self, event: bytes) -> None:
        self._events.append(event)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _is_snapshot(event: bytes) -> bool:
    return any(line == b"event: snapshot" for line in event.split(b"\n", 3)[:3])


def _disconnected(reason: str) -> bytes:
    data = msgspec.json.encode({"reason": reason})
    return b"event: disconnected\ndata: " + data + _END
