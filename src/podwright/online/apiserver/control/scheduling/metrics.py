"""The metrics of the scheduler, in Prometheus' text format.

They are also at the paths at which kube-scheduler has them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import Pod
from podwright.cluster.store import POD
from podwright.online.apiserver.control.endpoints import Endpoint
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

    async def show(request: Request) -> Response:
        scheduler = chosen_scheduler(turns.cluster, request.state.query)
        found = await turns.call(lambda _: scheduler.world.machine.metrics_snapshot())
        return Response(render_text(found), headers={"content-type": CONTENT_TYPE})

    def resources() -> str:
        pods = turns.cluster.store.list(POD).objects
        return render_text(resource_snapshot(pod for pod in pods if isinstance(pod, Pod)))

    async def show_resources(_: Request) -> Response:
        text = await readers.call(lambda _: resources())
        return Response(text, headers={"content-type": CONTENT_TYPE})

    rows = (
        ("/metrics", show, False, "Show the metrics of the scheduler, with upstream's names"),
        ("/metrics", show, True, "Show the metrics of the scheduler, where scrapers look for them"),
        ("/metrics/resources", show_resources, True, "Show what each pod requests, as metrics"),
    )
    return [
        Endpoint(
            method="GET",
            path=path,
            summary=summary,
            handler=handler,
            query=SchedulerParameter if handler is show else None,
            media_type=CONTENT_TYPE,
            is_at_root=is_at_root,
            problems={404: UNKNOWN} if handler is show else {},
        )
        for path, handler, is_at_root, summary in rows
    ]
