"""The wire: ASGI requests to requests of the API, replies and watches to ASGI messages.

The path grammar of the Kubernetes API is fixed, so there is no router in front of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.api.endpoints import (
    ApiError,
    HttpReply,
    HttpRequest,
    MediaType,
    Watch,
    error_reply,
)
from podwright.apiserver.defects import logged_defect
from podwright.apiserver.hosts import AllowedHosts
from podwright.apiserver.turn_loop import TurnLoop
from podwright.apiserver.wire_protocol import CERTIFIED

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

BODY_READ_MAX: Final = 3 * 1024 * 1024 + 1
"""A longer body is not read further: the API server rejects one of this length."""

_UNAVAILABLE: Final = error_reply(
    ApiError(503, "ServiceUnavailable", "the server is stopping"), MediaType()
)


class Application:
    """An ASGI application that serves one cluster.

    Parameters
    ----------
    turns : TurnLoop
        Executes the requests.
    hosts : AllowedHosts
        Which Host and Origin headers are served.
    """

    def __init__(self, turns: TurnLoop, hosts: AllowedHosts) -> None:
        self._turns = turns
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assert scope["type"] == "http", f"{scope['type']} is not served"
        headers = _headers(scope["headers"])
        rejection = self._hosts.rejection(headers)
        if rejection is not None:
            await _send_reply(send, rejection)
            return
        body = await _body(receive)
        if body is None:
            return
        request = HttpRequest(
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode("latin-1"),
            headers=headers,
            body=body,
            certified=scope["state"].get(CERTIFIED),
        )
        try:
            reply = await self._turns.execute(request)
        except asyncio.CancelledError:
            if not self._turns.is_stopping:
                raise
            reply = _UNAVAILABLE
        if isinstance(reply, Watch):
            await self._send_watch(reply, receive, send)
        else:
            await _send_reply(send, reply)

    async def _send_watch(self, watch: Watch, receive: Receive, send: Send) -> None:
        """Send the events of a watch until it ends or the client leaves."""
        turns = self._turns
        await send(_start(watch.status, watch.headers))
        # Clients wait for the headers of a watch that has no events yet.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        subscription = turns.subscribe(watch)
        gone = asyncio.ensure_future(_disconnected(receive))
        gone.add_done_callback(lambda _: subscription.wake.set())
        try:
            while not (gone.done() or turns.is_stopping):
                await subscription.wake.wait()
                subscription.wake.clear()
                now_ns = turns.clock.now_ns()
                lines, is_closed = _polled(watch, now_ns)
                if lines:
                    body = b"".join(lines)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                if is_closed:
                    break
            if not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            turns.unsubscribe(subscription)
            gone.cancel()


def _polled(watch: Watch, now_ns: int) -> tuple[list[bytes], bool]:
    """Return the events of a watch, and whether it has ended; a defect ends it with an error."""
    try:
        return watch.poll(now_ns), watch.is_closed(now_ns)
    except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
        event = {"type": "ERROR", "object": logged_defect(error, "a watch").status}
        return [msgspec.json.encode(event) + b"\n"], True


def _headers(pairs: Any) -> Mapping[str, str]:
    """Return headers by name; several values of a name are joined by commas."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, cut if it is too long; None if the client has left."""
    parts: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        if length < BODY_READ_MAX:
            parts.append(part)
            length += len(part)
        if not message.get("more_body", False):
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(status: int, headers: Any) -> Message:
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def _send_reply(send: Send, reply: HttpReply) -> None:
    headers = reply.headers
    if all(name != "content-length" for name, _ in headers):
        headers = (*headers, ("content-length", str(len(reply.body))))
    await send(_start(reply.status, headers))
    await send({"type": "http.response.body", "body": reply.body})
