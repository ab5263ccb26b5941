"""Connections of HTTP/2, which clients built on client-go choose over TLS.

A connection has many requests at once, each on a stream of its own. The frames, the compression of
headers and the rules of both are those of the library h2; here are the requests of an ASGI
application, and the pace: a body is read and a reply is sent as far as the other side has room.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from podwright.online.apiserver.access.certificates import certified_user
from podwright.online.apiserver.wire.defects import logged_defect
from podwright.online.apiserver.wire.sending import (
    ABORT,
    CERTIFIED,
    HEAD_BYTES_MAX,
    HEAD_SECONDS,
    STALL_SECONDS,
    Message,
    Scope,
    WireProtocol,
)

PROTOCOL: Final = "h2"
"""The name of HTTP/2 in the negotiation of TLS."""

STREAMS_MAX: Final = 1_000
"""How many requests of a connection are open at once at most; upstream:
cmd/kube-apiserver/app/options/options.go, HTTP2MaxStreamsPerConnection."""

BODY_WINDOW_BYTES: Final = 256 << 10
"""How much of a body is received before it is read; upstream:
staging/src/k8s.io/apiserver/pkg/server/secure_serving.go, resourceBody99Percentile."""

_EXECUTED_MAX: Final = 4 * STREAMS_MAX
"""How many requests of a connection run at most, those included whose client no longer waits."""

_WINDOW_MAX: Final = (1 << 31) - 1
_WINDOW_AT_FIRST: Final = (1 << 16) - 1

_UNREAD_MAX_BYTES: Final = 1 << 20
"""How many bytes of frames without a body, as of pings, a client may leave unread."""

_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
"""Headers that HTTP/2 does not have."""


class NegotiatedProtocol(asyncio.Protocol):
    """A connection over TLS until its protocol is known: HTTP/2 if the client has chosen it.

    Parameters
    ----------
    **parts
        What uvicorn gives to the protocol of a connection.
    """

    def __init__(self, **parts: Any) -> None:
        self._parts = parts

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of TCP
        """Continue with the protocol that was negotiated."""
        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        kind = Http2Protocol if chosen == PROTOCOL else WireProtocol
        protocol = kind(**self._parts)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class _Stream:
    """A request and its reply.

    Attributes
    ----------
    body : bytearray
        What was received and not read yet.
    received_bytes : int
        How many bytes that is on the wire, padding included.
    is_complete, is_read : bool
        Whether all of the request was received, and all of it was read.
    is_gone : bool
        Whether the client, or the server, has given it up.
    has_ended : bool
        Whether all of the reply was sent.
    changed : Event
        Set when one of these has changed.
    room : Event
        Set when the client may have room for more of the reply.
    head : list of pairs, or None
        The headers of the reply until they are sent, which is with the first part of its body.
    """

    __slots__ = (
        "body",
        "changed",
        "has_ended",
        "head",
        "is_complete",
        "is_gone",
        "is_read",
        "number",
        "received_bytes",
        "room",
        "scope",
    )

    def __init__(self, number: int, scope: Scope) -> None:
        self.number = number
        self.scope = scope
        self.body = bytearray()
        self.received_bytes = 0
        self.is_complete = self.is_read = self.is_gone = self.has_ended = False
        self.changed, self.room = asyncio.Event(), asyncio.Event()
        self.head: list[tuple[bytes, bytes]] | None = None

    def give_up(self) -> None:
        self.is_gone = True
        self.changed.set()
        self.room.set()


class Http2Protocol(asyncio.Protocol):
    """A connection of HTTP/2.

    Parameters
    ----------
    config : Config
        Of uvicorn, with the application.
    server_state : ServerState
        The connections and tasks of the server, which this one is added to.
    app_state : dict
        The state of each request.
    """

    head_seconds = HEAD_SECONDS
    stall_seconds = STALL_SECONDS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._application = config.loaded_app
        self._asgi = {"version": config.asgi_version, "spec_version": "2.3"}
        self._keep_alive_seconds = config.timeout_keep_alive
        self._server_state = server_state
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._connection = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._streams: dict[int, _Stream] = {}
        self._executed_count = 0
        self._is_closing = False
        self._timer: asyncio.TimerHandle | None = None
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # as uvicorn's

    # ------------------------------------------------------------------------- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of TCP
        """Start a connection; its client certificate is that of all its requests."""
        self.transport = transport
        self._flow = FlowControl(transport)
        self._addresses = get_local_addr(transport), get_remote_addr(transport)
        certified = certified_user(transport.get_extra_info("ssl_object"))
        self._app_state = {**self._app_state, CERTIFIED: certified}
        self._server_state.connections.add(self)  # type: ignore[arg-type]  # has what uvicorn calls
        self._connection.initiate_connection()
        self._connection.update_settings(
            {
                SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
                SettingCodes.INITIAL_WINDOW_SIZE: BODY_WINDOW_BYTES,
                SettingCodes.MAX_HEADER_LIST_SIZE: HEAD_BYTES_MAX,
            }
        )
        # Each stream has a window of its own, which is enough.
        self._connection.increment_flow_control_window(_WINDOW_MAX - _WINDOW_AT_FIRST)
        self._flush()
        self._close_after(self.head_seconds)

    def connection_lost(self, _exc: Exception | None) -> None:
        """End a connection and its requests."""
        self._server_state.connections.discard(self)
        self._keep_open()
        self._give_up_all()
        self._flow.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Read frames of the client."""
        try:
            for event in self._connection.receive_data(data):
                if not self.transport.is_closing():
                    self._take(event)
        except ProtocolError:  # the library has a frame for the client that says so
            self._close()
            return
        self._flush()
        if self.transport.get_write_buffer_size() > _UNREAD_MAX_BYTES:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Send nothing for the moment: the client does not take it."""
        self._flow.pause_writing()

    def resume_writing(self) -> None:
        """Send again."""
        self._flow.resume_writing()

    def shutdown(self) -> None:
        """Accept no further requests, and end when the present ones have ended."""
        self._is_closing = True
        if not self._streams:
            self._end()

    def _end(self, code: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Say why the connection ends, and close it."""
        self._connection.close_connection(code)
        self._close()

    def _close(self) -> None:
        self._give_up_all()
        self._flush()
        self.transport.close()

    def _give_up_all(self) -> None:
        for stream in self._streams.values():
            stream.give_up()
        self._streams.clear()

    def _flush(self) -> None:
        data = self._connection.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def _close_after(self, seconds: float) -> None:
        self._keep_open()
        self._timer = self._loop.call_later(seconds, self.shutdown)

    def _keep_open(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---------------------------------------------------------------------------- the requests

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=int(number), headers=headers):
                self._begin(number, dict(headers), headers)
            case DataReceived(stream_id=number, data=data, flow_controlled_length=length):
                self._receive(number, data, length)
            case StreamEnded(stream_id=number) if stream := self._streams.get(number):
                stream.is_complete = True
                stream.changed.set()
            case StreamReset(stream_id=number) if stream := self._streams.pop(number, None):
                stream.give_up()
            case WindowUpdated(stream_id=number) if stream := self._streams.get(number):
                stream.room.set()
            case WindowUpdated(stream_id=0) | RemoteSettingsChanged():
                for stream in self._streams.values():
                    stream.room.set()
            case ConnectionTerminated():  # the library sends nothing after it
                self._close()
            case _:
                pass

    def _begin(
        self, number: int, fields: dict[bytes, bytes], headers: list[tuple[bytes, bytes]]
    ) -> None:
        """Start to execute a request."""
        path, _, query = fields.get(b":path", b"/").partition(b"?")
        if self._executed_count >= _EXECUTED_MAX:
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        if self._is_closing or not path.startswith((b"/", b"*")):
            refused = self._is_closing
            code = ErrorCodes.REFUSED_STREAM if refused else ErrorCodes.PROTOCOL_ERROR
            self._connection.reset_stream(number, code)
            return
        own = [(name, value) for name, value in headers if not name.startswith(b":")]
        if b":authority" in fields and b"host" not in fields:
            own.append((b"host", fields[b":authority"]))
        server, client = self._addresses
        scope: Scope = {
            "type": "http",
            "asgi": self._asgi,
            "http_version": "2",
            "server": server,
            "client": client,
            "scheme": "https",
            "root_path": "",
            "method": fields[b":method"].decode("latin-1"),
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "headers": own,
        }
        self._keep_open()
        stream = self._streams[number] = _Stream(number, scope)
        scope["state"] = {**self._app_state, ABORT: partial(self._abort, stream)}
        self._executed_count += 1
        task = self._loop.create_task(self._execute(stream))
        self._server_state.tasks.add(task)
        task.add_done_callback(self._server_state.tasks.discard)

    def _receive(self, number: int, data: bytes, length: int) -> None:
        stream = self._streams.get(number)
        if stream is None:  # its client is told so already
            self._connection.acknowledge_received_data(length, number)
            return
        stream.body += data
        stream.received_bytes += length
        stream.changed.set()

    async def _execute(self, stream: _Stream) -> None:
        try:
            await self._application(
                stream.scope, partial(self._receive_message, stream), partial(self._send, stream)
            )
        except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
            logged_defect(error, "a request")
        finally:
            self._executed_count -= 1
            self._server_state.total_requests += 1
            self._forget(stream)

    def _forget(self, stream: _Stream) -> None:
        """End the stream of a request that was executed."""
        if self._streams.pop(stream.number, None) is not None:
            code = ErrorCodes.NO_ERROR if stream.has_ended else ErrorCodes.INTERNAL_ERROR
            if not (stream.has_ended and stream.is_complete):
                self._connection.reset_stream(stream.number, code)
                self._flush()
        if self._streams or self.transport.is_closing():
            return
        if self._is_closing:
            self._end()
        else:
            self._close_after(self._keep_alive_seconds)

    def _abort(self, stream: _Stream) -> None:
        """Give up a request whose client takes nothing."""
        if self._flow.write_paused:  # it takes nothing of the others either
            self.transport.abort()
        elif self._streams.pop(stream.number, None) is not None:
            stream.give_up()
            self._connection.reset_stream(stream.number, ErrorCodes.CANCEL)
            self._flush()

    # --------------------------------------------------------------------------- the messages

    async def _receive_message(self, stream: _Stream) -> Message:
        """Return the next part of a body, or that the client has left."""
        while not (stream.is_gone or stream.has_ended):
            if not stream.is_read and (stream.body or stream.is_complete):
                break
            stream.changed.clear()
            await stream.changed.wait()
        else:
            return {"type": "http.disconnect"}
        body, stream.body = bytes(stream.body), bytearray()
        length, stream.received_bytes = stream.received_bytes, 0
        stream.is_read = stream.is_complete
        if length:
            self._connection.acknowledge_received_data(length, stream.number)
            self._flush()
        return {"type": "http.request", "body": body, "more_body": not stream.is_read}

    async def _send(self, stream: _Stream, message: Message) -> None:
        """Send a message of the application, as the client takes it."""
        if message["type"] == "http.response.start":
            stream.head = [
                (b":status", str(message["status"]).encode()),
                *self._server_state.default_headers,
                *(pair for pair in message["headers"] if pair[0].lower() not in _OF_CONNECTIONS),
            ]
            return
        body: bytes = b"" if stream.scope["method"] == "HEAD" else message.get("body", b"")
        is_last = not message.get("more_body", False)
        if stream.is_gone or stream.has_ended:
            return
        if stream.head is not None:
            head, stream.head = stream.head, None
            self._connection.send_headers(stream.number, head, end_stream=is_last and not body)
            stream.has_ended = is_last and not body
        start = 0
        while not stream.has_ended and (start < len(body) or is_last):
            room = await self._room(stream, len(body) - start)
            if room is None:
                return
            part = body[start : start + room]
            start += room
            stream.has_ended = is_last and start == len(body)
            self._connection.send_data(stream.number, part, end_stream=stream.has_ended)
            self._flush()
        self._flush()
        if stream.has_ended:
            stream.changed.set()

    async def _room(self, stream: _Stream, wanted: int) -> int | None:
        """Return how many bytes of so many the client takes, when it does; None if it left."""
        while not stream.is_gone:
            window = self._connection.local_flow_control_window(stream.number)
            room = min(wanted, window, self._connection.max_outbound_frame_size)
            if not self._flow.write_paused and (room > 0 or not wanted):
                return room
            try:
                async with asyncio.timeout(self.stall_seconds):
                    if self._flow.write_paused:
                        await self._flow.drain()
                    else:
                        stream.room.clear()
                        await stream.room.wait()
            except TimeoutError:
                self._abort(stream)
        return None
