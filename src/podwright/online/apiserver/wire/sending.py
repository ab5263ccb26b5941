"""Long replies: lists in parts, and watches, at the pace of their clients.

What a client has not taken is not made: a list is encoded part by part, and a watch reads its
changes from the history of the store when the client takes them. So a slow client costs memory for
one part. One that takes nothing for a while loses its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.cluster.api.endpoints import HttpReply, Watch
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.defects import logged_defect

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

STALL_SECONDS: Final = 60.0
"""The limit of kube-apiserver for requests that are not watches."""


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
    """Return the message that begins a reply."""
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def send_in_parts(connection: Connection, reply: HttpReply) -> None:
    """Send a reply whose body is made part by part; turns run between the parts."""
    assert reply.rest is not None, "a reply in parts"
    try:
        await connection.send(start_message(reply.status, reply.headers))
        takes_more = await connection.send_part(reply.body)
        for part in reply.rest:
            if not takes_more:
                return
            await asyncio.sleep(0)
            takes_more = await connection.send_part(part)
        await connection.send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
        logged_defect(error, "a list")
        connection.abort()
    finally:
        connection.close()


async def send_watch(connection: Connection, watch: Watch, turns: TurnLoop) -> None:
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
            now_ns = turns.clock.now_ns()
            text, is_closed = _read(watch, now_ns)
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
