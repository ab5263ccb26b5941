"""The timeline of the scheduler's run, made by a reader process."""

from __future__ import annotations

import gzip
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from podwright.apiserver.control.endpoints import Endpoint
from podwright.apiserver.control.problems import Problem
from podwright.apiserver.control.scheduler_parameter import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.apiserver.readers import Readers
from podwright.apiserver.turn_loop import TurnLoop
from podwright.recording import (
    TIMELINE_MEDIA_TYPE,
    LogError,
    encode_chunks,
    timeline_of_log,
)

_FAST: Final = 1
"""A level of gzip that costs little more than the arrays."""


def timeline_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the timeline."""
    readers = Readers(turns)

    async def show(request: Request) -> Response:
        is_compressed = "gzip" in request.headers.get("accept-encoding", "")

        scheduler = chosen_scheduler(turns.cluster, request.state.query)

        def encoded() -> bytes:
            world = scheduler.world
            timeline = timeline_of_log(world.log, plugins=world.components.options.plugins)
            chunks = b"".join(encode_chunks(timeline))
            return gzip.compress(chunks, compresslevel=_FAST) if is_compressed else chunks

        try:
            content = await readers.call(lambda _: encoded())
        except LogError as error:
            raise Problem(409, str(error)) from error
        headers = {"vary": "Accept-Encoding"}
        if is_compressed:
            headers["content-encoding"] = "gzip"
        return Response(content, media_type=TIMELINE_MEDIA_TYPE, headers=headers)

    return [
        Endpoint(
            method="GET",
            path="/timeline",
            summary="Get every change of nodes, pods and queue as columns of deltas",
            handler=show,
            query=SchedulerParameter,
            media_type=TIMELINE_MEDIA_TYPE,
            problems={404: UNKNOWN, 409: "the log of the scheduler cannot be replayed"},
        )
    ]
