"""The agreement of another scheduler with podwright, while it schedules the cluster."""

from __future__ import annotations

from podwright.online.apiserver.control.endpoints import (
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import Problem
from podwright.simulation.shadow import ShadowReport


def shadow_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of the agreement."""

    @endpoint("GET", "/shadow", problems={404: "the cluster was started without --shadow"})
    async def show() -> ShadowReport:
        """Show how the decisions of another scheduler agree with podwright's."""
        if cluster.shadow is None:
            raise Problem(404, "decisions are not compared; start podwright up with --shadow")
        return await cluster.shadow.report(cluster.turns)

    return declared(show)
