"""Several writes of the Kubernetes API in one request, as a sync sends them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, Literal

import msgspec
from starlette.requests import Request

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, Watch
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, declared, endpoint
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.latency import ApiLatency

WRITES_MAX: Final = 1_000
_BODY_MAX: Final = 64 << 20
_ABSENT: Final = b"null"
_OF_THE_WHOLE: Final = frozenset({"content-length", "content-type", "accept", "accept-encoding"})
"""The headers of the request that are not those of each write."""


class Write(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A request of the Kubernetes API.

    Attributes
    ----------
    method : str
    path : str
    content_type : str
        Of the body, such as `application/merge-patch+json`.
    body : JSON
        Left out for none.
    """

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: Annotated[str, msgspec.Meta(pattern="^/apis?/")]
    content_type: str = "application/json"
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(_ABSENT))


class Writes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Writes in their order.

    Attributes
    ----------
    writes : list of Write
    """

    writes: Annotated[list[Write], msgspec.Meta(max_length=WRITES_MAX)]


class WriteReply(msgspec.Struct, frozen=True):
    """What the Kubernetes API replies to a write.

    Attributes
    ----------
    status : int
        The HTTP status.
    body : JSON
        The object, or the error; a string for paths that do not exist, as their text is not JSON.
    """

    status: int
    body: msgspec.Raw


class WriteReplies(msgspec.Struct, frozen=True):
    """The replies in the order of the writes.

    Attributes
    ----------
    replies : list of WriteReply
    """

    replies: list[WriteReply]


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
                body=b"" if bytes(each.body) == _ABSENT else bytes(each.body),
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
    return WriteReply(found.status, msgspec.Raw(body or _ABSENT))


def write_endpoints(turns: TurnLoop, latency: ApiLatency) -> list[Endpoint]:
    """Return the endpoint that executes several writes."""
    return declared(_Writing(turns, latency))
