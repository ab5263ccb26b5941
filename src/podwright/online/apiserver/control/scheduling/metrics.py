"""The metrics of the scheduler, in Prometheus' text format.

They are also at the paths at which kube-scheduler has them.
"""

from __future__ import annotations

from starlette.responses import Response

from podwright.apimachinery.objects import Pod
from podwright.cluster.store import POD
from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.scheduling.scheduler_parameter import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.machine import CONTENT_TYPE, render_text, resource_snapshot


def metrics_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the metrics."""
    readers = Readers(turns)

    @endpoint(
        "GET",
        "/metrics",
        media_type=CONTENT_TYPE,
        problems={404: UNKNOWN},
        summary="Show the metrics of the scheduler, with upstream's names",
    )
    @endpoint(
        "GET", "/metrics", media_type=CONTENT_TYPE, problems={404: UNKNOWN}, is_at_root=True,
        summary="Show the metrics of the scheduler, where scrapers look for them",
    )  # fmt: skip
    async def show(query: SchedulerParameter) -> Response:
        scheduler = chosen_scheduler(turns.cluster, query)
        found = await turns.call(lambda _: scheduler.world.machine.metrics_snapshot())
        return Response(render_text(found), headers={"content-type": CONTENT_TYPE})

    def resources() -> str:
        pods = turns.cluster.store.list(POD).objects
        return render_text(resource_snapshot(pod for pod in pods if isinstance(pod, Pod)))

    @endpoint("GET", "/metrics/resources", media_type=CONTENT_TYPE, is_at_root=True)
    async def show_resources() -> Response:
        """Show what each pod requests, as metrics."""
        text = await readers.call(lambda _: resources())
        return Response(text, headers={"content-type": CONTENT_TYPE})

    return declared(show, show_resources)
