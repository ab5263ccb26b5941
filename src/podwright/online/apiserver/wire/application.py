"""The wire: ASGI requests to requests of the API, replies and watches to ASGI messages.

The path grammar of the Kubernetes API is fixed, so there is no router in front of it.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec

from podwright.cluster.api.endpoints import (
    MALFORMED_PATH,
    HttpReply,
    HttpRequest,
    MediaType,
    Rejection,
    Watch,
    error_reply,
    is_malformed,
    wire_headers,
)
from podwright.online.apiserver.records.run_collection import RunCollection
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.latency import ApiLatency
from podwright.online.apiserver.wire.sending import (
    ABORT,
    CERTIFIED,
    STALL_SECONDS,
    Connection,
    Pace,
    Receive,
    Scope,
    Send,
    send_in_parts,
    send_watch,
    start_message,
)

_CONTROLLED: Final = ("/podwright/", "/metrics/")
"""The paths of podwright's own API."""

BODY_READ_MAX: Final = 3 * 1024 * 1024 + 1
"""A longer body is not read further: the API server rejects one of this length."""


def _closing(error: Rejection) -> HttpReply:
    """Return an error as the last reply of a connection."""
    reply = error_reply(error, MediaType())
    return msgspec.structs.replace(reply, headers=(*reply.headers, ("connection", "close")))


_UNAVAILABLE: Final = error_reply(
    Rejection(503, "ServiceUnavailable", "the server is stopping"), MediaType()
)

_STALLED: Final = _closing(
    Rejection(408, "Timeout", "the body of the request did not arrive in time")
)


class Application:
    """An ASGI application that serves one cluster.

    Parameters
    ----------
    turns : TurnLoop
        Executes the requests.
    hosts : AllowedHosts
        Which requests of browsers are served.
    stall_seconds : float
        How long a client may take none of what is sent, or send nothing of a body.
    latency : ApiLatency, optional
        How long requests of the Kubernetes API are delayed; not at all if left out.
    scheduler : RunningScheduler, optional
        The scheduler, whose configuration podwright's own API changes; the one of the cluster if
        left out.
    shadow : ShadowFeed, optional
        Compares the decisions of another scheduler.
    runs : RunCollection, optional
        The runs that podwright's own API lists.
    """

    def __init__(
        self,
        turns: TurnLoop,
        hosts: AllowedHosts,
        *,
        stall_seconds: float = STALL_SECONDS,
        latency: ApiLatency | None = None,
        scheduler: RunningScheduler | None = None,
        shadow: ShadowFeed | None = None,
        runs: RunCollection | None = None,
    ) -> None:
        self._turns = turns
        self._scheduler = scheduler or RunningScheduler(turns)
        self._shadow = shadow
        self._runs = runs
        self._latency = latency or ApiLatency()
        self._stall_seconds = stall_seconds
        self._control_application: Any = None
        self._hosts = hosts
        self._pace = Pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assert scope["type"] == "http", f"{scope['type']} is not served"
        headers = wire_headers(scope["headers"])
        rejection = self._hosts.rejection(scope["method"], headers, scope["scheme"])
        if f"{scope['path']}/".startswith(_CONTROLLED):
            if rejection is None:
                await self._control(scope, receive, send)
            else:
                await _send_problem(rejection.code, str(rejection), scope, receive, send)
            return
        if rejection is not None:
            await _send_reply(send, error_reply(rejection, MediaType()))
            return
        if is_malformed(scope["raw_path"]):
            await _send_reply(send, MALFORMED_PATH)
            return
        try:
            async with asyncio.timeout(self._stall_seconds):
                body = await _body(receive)
        except TimeoutError:
            await _send_reply(send, _STALLED)
            return
        if body is None:
            return
        # The body has its length; bodies of one template may differ in theirs.
        headers.pop("content-length", None)
        request = HttpRequest(
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode("latin-1"),
            headers=headers,
            body=body,
            certified=scope["state"].get(CERTIFIED),
        )
        try:
            if self._latency.rules:
                await asyncio.sleep(self._latency.delay_seconds(request))
            reply = await self._turns.execute(request)
        except asyncio.CancelledError:
            if not self._turns.is_stopping:
                raise
            reply = _UNAVAILABLE
        if isinstance(reply, HttpReply) and reply.rest is None:
            await _send_reply(send, reply, is_head=request.method == "HEAD")
            return
        connection = Connection(receive, send, scope["state"].get(ABORT), self._stall_seconds)
        if isinstance(reply, Watch):
            await send_watch(connection, reply, self._turns, self._pace)
        else:
            await send_in_parts(connection, reply, self._pace)

    async def _control(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of podwright's own API."""
        application = self._control_application or await self._new_control_application()
        await self._turns.settle_world()
        try:
            await application(scope, receive, send)
        except asyncio.CancelledError:
            if not self._turns.is_stopping:
                raise
            await _send_problem(503, "the server is stopping", scope, receive, send)
        except Exception:  # noqa: BLE001, S110 - answered and logged; raised for uvicorn's log
            pass

    async def _new_control_application(self) -> Any:
        control = await asyncio.to_thread(_control_module)
        if self._control_application is None:  # no other request was quicker
            self._control_application = control.control_application(
                control.ControlledCluster(
                    self._turns, self._latency, self._scheduler, self._shadow, self._runs
                )
            )
        return self._control_application


def _control_module() -> Any:
    """Return podwright's own API, imported in a thread: Starlette takes a tenth of a second."""
    from podwright.online.apiserver import control

    return control


async def _send_problem(
    status: int, detail: str, scope: Scope, receive: Receive, send: Send
) -> None:
    problems = (await asyncio.to_thread(_control_module)).problems
    await problems.problem_response(problems.Problem(status, detail))(scope, receive, send)


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
    return b"".join(parts)


_WITHOUT_BODIES: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


async def _send_reply(send: Send, reply: HttpReply, *, is_head: bool = False) -> None:
    headers = reply.headers
    # Without a body the length would be said to be that of the body of another reply.
    has_length = reply.body or not (is_head or reply.status in _WITHOUT_BODIES)
    if has_length and all(name != "content-length" for name, _ in headers):
        headers = (*headers, ("content-length", str(len(reply.body))))
    await send(start_message(reply.status, headers))
    await send({"type": "http.response.body", "body": reply.body})
