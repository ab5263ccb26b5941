"""The agreement of another scheduler with podwright, while it schedules the cluster."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from podwright.online.apiserver.control.endpoints import ControlledCluster, Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem
from podwright.simulation.shadow import ShadowReport


def shadow_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of the agreement."""

    async def show(_: Request) -> Response:
        if cluster.shadow is None:
            raise Problem(404, "decisions are not compared; start podwright up with --shadow")
        return json_response(await cluster.shadow.report(cluster.turns))

    return [
        Endpoint(
            method="GET",
            path="/shadow",
            summary="Show how the decisions of another scheduler agree with podwright's",
            handler=show,
            reply=ShadowReport,
            problems={404: "the cluster was started without --shadow"},
        )
    ]
