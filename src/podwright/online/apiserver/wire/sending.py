"""Long replies: lists in parts, and watches, at the pace of their clients.

What a client has not taken is not made: a list is encoded part by part, and a watch reads its
changes from the history of the store when the client takes them. So a slow client costs memory for
one part. One that takes nothing for a while loses its connection.

A part takes a fraction of a millisecond to make and to send. Those of 500 watches that start at
once, or receive one change, would take all others a tenth of a second, so `Pace` spreads them.
"""

from __future__ import annotations

import asyncio
import heapq
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from itertools import chain, count
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from podwright.cluster.api.endpoints import (
    HttpReply,
    MediaType,
    Rejection,
    Watch,
    error_reply,
    method_not_allowed,
)
from podwright.online.apiserver.access.certificates import certified_user
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.defects import logged_defect

T = TypeVar("T")

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

STALL_SECONDS: Final = 60.0
"""The limit of kube-apiserver for requests that are not watches."""


PASS_NS: Final = 4_000_000
"""How long parts are made and sent in one pass of the event loop."""

_SEND_NS: Final = 20_000
_NS_PER_BYTE: Final = 1
"""What it takes to send a part, about."""

_FEW: Final = 8


class Pace:
    """Lets connections make and send their parts in order, for some time in each pass of the loop.

    In between, the event loop reads requests and runs turns.
    """

    def __init__(self) -> None:
        self._begin_pass()
        self._numbers = count()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def _begin_pass(self) -> None:
        self._is_refilling, self._left_ns, self._made_count = False, PASS_NS, 0

    async def made(self, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Make a part when it is the turn of the connection.

        Parameters
        ----------
        make : callable
        size : callable
            Returns how many bytes of the result will be sent.
        """
        number = next(self._numbers)
        while self._left_ns <= 0 or (self._waiting and self._waiting[0][0] < number):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (number, turn))
            self._refill_later()
            await turn
        begin_ns = time.perf_counter_ns()
        made = make()
        took_ns = time.perf_counter_ns() - begin_ns
        self._made_count += 1
        self._left_ns -= took_ns + _SEND_NS + size(made) * _NS_PER_BYTE
        self._refill_later()
        return made

    def _refill_later(self) -> None:
        if not self._is_refilling:
            self._is_refilling = True
            asyncio.get_running_loop().call_soon(self._refill)

    def _refill(self) -> None:
        # As many as may have time; those that do not are the first ones of the next pass.
        most = max(2 * self._made_count, _FEW)
        self._begin_pass()
        for _ in range(min(len(self._waiting), most)):
            _, turn = heapq.heappop(self._waiting)
            if not turn.done():  # the client has not left
                turn.set_result(None)


class Connection:
    """The connection of a request whose reply takes long.

    Parameters
    ----------
    receive, send : callable
        Of the request.
    abort : callable, optional
        Closes the connection at once, without sending what the client has not taken.
    stall_seconds : float
        How long the client may take nothing.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        abort: Callable[[], None] | None,
        stall_seconds: float,
    ) -> None:
        self._send = send
        self._abort = abort
        self._stall_seconds = stall_seconds
        self.gone = asyncio.ensure_future(disconnected(receive))
        """Done when the client has left."""

    async def send(self, message: Message) -> bool:
        """Send a message; return whether the client takes more."""
        if self.gone.done():
            return False
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._send(message)
        except TimeoutError:
            self.abort()
            return False
        return not self.gone.done()

    async def send_part(self, body: bytes) -> bool:
        """Send a part of a body that is not the last one."""
        return await self.send({"type": "http.response.body", "body": body, "more_body": True})

    def abort(self) -> None:
        """Close the connection at once."""
        self.gone.cancel()
        if self._abort is not None:
            self._abort()

    def close(self) -> None:
        """Wait for the client no more."""
        self.gone.cancel()


async def disconnected(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def start_message(status: int, headers: Any) -> Message:
    """Return the message that starts a reply; its headers are UTF-8, as those of Go."""
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def send_in_parts(connection: Connection, reply: HttpReply, pace: Pace) -> None:
    """Send a reply whose body is made part by part; turns run between the parts."""
    assert reply.rest is not None, "a reply in parts"
    parts = chain((reply.body,), reply.rest)
    try:
        await connection.send(start_message(reply.status, reply.headers))
        while (part := await pace.made(lambda: next(parts, None), _size)) is not None:
            if not await connection.send_part(part):
                return
            await asyncio.sleep(0)
        await connection.send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
        logged_defect(error, "a list")
        connection.abort()
    finally:
        connection.close()


def _size(part: bytes | None) -> int:
    return 0 if part is None else len(part)


async def send_watch(connection: Connection, watch: Watch, turns: TurnLoop, pace: Pace) -> None:
    """Send the events of a watch until it ends or the client leaves."""
    await connection.send(start_message(watch.status, watch.headers))
    # Clients wait for the headers of a watch that has no events yet.
    await connection.send_part(b"")
    subscription = turns.subscribe(watch)
    connection.gone.add_done_callback(lambda _: subscription.wake.set())
    try:
        while not (connection.gone.done() or turns.is_stopping):
            await subscription.wake.wait()
            subscription.wake.clear()
            text, is_closed = await pace.made(
                lambda: _read(watch, turns.clock.now_ns()), lambda read: len(read[0])
            )
            if text and not await connection.send_part(text):
                break
            if is_closed:
                break
            if watch.is_behind:
                subscription.wake.set()
                await asyncio.sleep(0)
        await connection.send({"type": "http.response.body", "body": b""})
    finally:
        turns.unsubscribe(subscription)
        connection.close()


def _read(watch: Watch, now_ns: int) -> tuple[bytes, bool]:
    """Return the next lines of a watch, and whether it has ended; a defect ends it."""
    try:
        text = watch.read(now_ns)
        return text, watch.is_closed(now_ns)
    except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
        event = {"type": "ERROR", "object": logged_defect(error, "a watch").status}
        return msgspec.json.encode(event) + b"\n", True


# The protocol of a connection: uvicorn's, with a Status for what its parser cannot read.

CERTIFIED: Final = "certified"
"""The name of the user of the client certificate in the state of a scope."""

ABORT: Final = "abort"
"""The name of the function in the state of a scope that closes its connection at once."""

HEAD_SECONDS: Final = 32.0
"""How long the head of a request, or the first request of a connection, may take; upstream:
staging/src/k8s.io/apiserver/pkg/server/secure_serving.go, ReadHeaderTimeout."""

HEAD_BYTES_MAX: Final = (1 << 20) + 4096
"""The largest head of a request; upstream: net/http server.go, initialReadLimitSize."""

_HEAD_TOO_LONG: Final = b"431 Request Header Fields Too Large"

_HEAD_END: Final = b"\r\n\r\n"

_METHOD: Final = re.compile(rb"[A-Z]{1,32}")


class WireProtocol(HttpToolsProtocol):
    """A connection whose invalid requests are answered as the API server does.

    The parser knows the registered methods of HTTP only; another one is not an invalid request
    but one that no resource allows.
    """

    head_seconds = HEAD_SECONDS

    _received: bytes = b""
    _has_head = False
    _head_bytes = 0
    _tail: bytes = b""
    _is_head_too_long = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of TCP
        """Start a connection; its client certificate is that of all its requests."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._limit_head()
        connection = transport.get_extra_info("ssl_object")
        if connection is not None:
            self.app_state = {**self.app_state, CERTIFIED: certified_user(connection)}

    def data_received(self, data: bytes) -> None:
        """Parse bytes of the connection."""
        self._received = data
        super().data_received(data)
        if self._has_head:
            self._head_bytes = 0
            return
        # Only a part of a head: rare, so that nothing of this is on the way of most requests.
        self._head_bytes += len(data)
        self._tail = data[1 - len(_HEAD_END) :]
        if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._reject_head()
        elif self._head_timer is None:
            self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._release_head()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start a request."""
        self._has_head = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start to execute a request."""
        self._has_head = True
        # The last part of a head arrives with its end.
        if self._head_bytes_until_end() > HEAD_BYTES_MAX:
            self._is_head_too_long = True
            raise ValueError("the parser reports this as an invalid request")
        self._release_head()
        super().on_headers_complete()
        if self.scope["method"] != "HEAD":  # nothing follows the head
            self.cycle.transport = JoinedHead(self.transport)  # type: ignore[assignment]

    def _head_bytes_until_end(self) -> int:
        """Return the bytes of a head of several parts, of which the last was received."""
        begin = self._tail if self._head_bytes else b""
        end = (begin + self._received).find(_HEAD_END)
        in_last = len(self._received) if end < 0 else end + len(_HEAD_END) - len(begin)
        return self._head_bytes + in_last

    def _limit_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _release_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed, and close the connection."""
        method = self._received.partition(b" ")[0]
        if self._is_head_too_long:
            self._reject_head()
            return
        if _METHOD.fullmatch(method) and method.decode() not in _PARSED:
            error = method_not_allowed()
        else:
            error = Rejection(400, "BadRequest", msg)
        self._reject(error)

    def _reject_head(self) -> None:
        """Answer a head that is too long as Go does."""
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%b"
            % (_HEAD_TOO_LONG, _HEAD_TOO_LONG)
        )
        self.transport.close()

    def _reject(self, error: Rejection) -> None:
        self.transport.write(_bytes_of(error_reply(error, MediaType())))
        self.transport.close()


_CONTINUE: Final = b"HTTP/1.1 100 "


class JoinedHead:
    """What a reply writes to: its head is sent with what follows at once, as a packet takes 20 us.

    Parameters
    ----------
    transport : asyncio.Transport
        Of the connection.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._is_first = True
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Send a part of the reply; its head waits until the event loop turns."""
        if self._is_first and not data.startswith(_CONTINUE):
            self._is_first = False
            self._head = data
            # A stream may have nothing to send for minutes.
            asyncio.get_running_loop().call_soon(self._send_head)
        elif self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._send_head()
        self._transport.close()

    def _send_head(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


_PARSED: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _bytes_of(reply: HttpReply) -> bytes:
    lines: list[Any] = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    lines += [f"content-length: {len(reply.body)}", "connection: close", "", ""]
    return "\r\n".join(lines).encode() + reply.body
