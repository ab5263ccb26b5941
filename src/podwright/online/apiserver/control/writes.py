"""Several writes of the Kubernetes API in one request, as a sync sends them."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, Watch
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, declared, endpoint
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.latency import ApiLatency
from podwright.online.client import ABSENT, WriteReplies, WriteReply, Writes

_BODY_MAX: Final = 64 << 20
_OF_THE_WHOLE: Final = frozenset({"content-length", "content-type", "accept", "accept-encoding"})
"""The headers of the request that are not those of each write."""


class _Writing:
    """The endpoint."""

    def __init__(self, turns: TurnLoop, latency: ApiLatency) -> None:
        self._turns = turns
        self._latency = latency

    @endpoint("POST", "/writes", body_max=_BODY_MAX)
    async def execute(self, body: Writes, request: Request) -> WriteReplies:
        """Execute writes of the Kubernetes API in order, each with its own reply.

        They are executed as the user of the request, also those that follow a rejected one.
        """
        headers = {
            name: value for name, value in request.headers.items() if name not in _OF_THE_WHOLE
        }
        certified = request.scope["state"].get("certified")
        requests = [
            HttpRequest(
                method=each.method,
                path=each.path,
                headers={
                    **headers,
                    "accept": "application/json",
                    "content-type": each.content_type,
                },
                body=b"" if bytes(each.body) == ABSENT else bytes(each.body),
                certified=certified,
            )
            for each in body.writes
        ]
        if self._latency.rules:
            await asyncio.sleep(sum(map(self._latency.delay_seconds, requests)))
        # They enter the queue in this order, and most of them are executed in one turn.
        found = await asyncio.gather(*map(self._turns.execute, requests))
        return WriteReplies([_reply(each) for each in found])


def _reply(found: HttpReply | Watch) -> WriteReply:
    assert isinstance(found, HttpReply), "writes are not watches"
    body = b"".join((found.body, *(found.rest or ())))
    if body and not (found.header("content-type") or "").startswith(JSON):
        body = msgspec.json.encode(body.decode())
    return WriteReply(found.status, msgspec.Raw(body or ABSENT))


def write_endpoints(turns: TurnLoop, latency: ApiLatency) -> list[Endpoint]:
    """Return the endpoint that executes several writes."""
    return declared(_Writing(turns, latency))
