"""The timeline of the scheduler's run, made by a reader process."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.long_replies import long_reply
from podwright.online.apiserver.control.scheduling.scheduler_parameter import (
    NO_LOG,
    UNKNOWN,
    SchedulerParameter,
    own_scheduler,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.recording import (
    TIMELINE_MEDIA_TYPE,
    encode_chunks,
    timeline_of_log,
)


def timeline_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the timeline."""
    readers = Readers(turns)

    @endpoint(
        "GET", "/timeline", media_type=TIMELINE_MEDIA_TYPE, problems={404: UNKNOWN, 409: NO_LOG}
    )
    async def show(request: Request, query: SchedulerParameter) -> Response:
        """Get every change of nodes, pods and queue as columns of deltas."""
        scheduler = own_scheduler(turns.cluster, query)

        def content() -> bytes:
            world = scheduler.world
            if scheduler.timeline is not None:
                timeline = scheduler.timeline.timeline()
            else:
                timeline = timeline_of_log(world.log, plugins=world.components.options.plugins)
            return b"".join(encode_chunks(timeline))

        return await long_reply(request, readers, content, TIMELINE_MEDIA_TYPE)

    return declared(show)
