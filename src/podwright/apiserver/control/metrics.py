"""The metrics of the scheduler, in Prometheus' text format."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from podwright.apiserver.control.endpoints import Endpoint
from podwright.apiserver.turn_loop import TurnLoop
from podwright.machine import CONTENT_TYPE, render_text


def metrics_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the metrics."""

    async def show(_: Request) -> Response:
        found = await turns.call(lambda _: turns.cluster.world.machine.metrics_snapshot())
        return Response(render_text(found), headers={"content-type": CONTENT_TYPE})

    return [
        Endpoint(
            method="GET",
            path="/metrics",
            summary="Show the metrics of the scheduler, with upstream's names and labels",
            handler=show,
            media_type=CONTENT_TYPE,
        )
    ]
