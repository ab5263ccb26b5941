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
import time
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import chain, count
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright.cluster.api.endpoints import HttpReply, Watch
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
        self._left_ns = PASS_NS
        self._made_count = 0
        self._is_refilling = False
        self._numbers = count()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

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
        self._is_refilling, self._left_ns, self._made_count = False, PASS_NS, 0
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
        self.gone = asyncio.ensure_future(_disconnected(receive))
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


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def start_message(status: int, headers: Any) -> Message:
    """Return the message that starts a reply."""
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
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
