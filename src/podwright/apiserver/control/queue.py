"""The scheduling queue: which pods wait where, why, and until when."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apiserver.control.endpoints import Endpoint, json_response
from podwright.apiserver.turn_loop import TurnLoop
from podwright.objects import timestamp_text_nano
from podwright.queueing import PodQueue, QueuedPod, QueueName

_PLACES: Final = {
    "active": QueueName.ACTIVE,
    "backoff": QueueName.BACKOFF,
    "errorBackoff": QueueName.ERROR_BACKOFF,
    "unschedulable": QueueName.UNSCHEDULABLE,
    "gated": QueueName.GATED,
    "inFlight": QueueName.IN_FLIGHT,
}

Place = Literal["active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight"]


class QueueParameters(msgspec.Struct, frozen=True):
    """The parameters of the queue.

    Attributes
    ----------
    place : str, optional
        The subqueue to show; all if left out.
    limit : int
        The most pods of each subqueue.
    """

    place: Place | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 100


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod in the queue.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    priority : int
    attempts : int
        How often it was attempted.
    since : str
        When it was last added to the queue.
    backoff_end : str, optional
        When its backoff ends, if it is in backoff.
    rejected_by : list of str
        The plugins that rejected it, whose hints decide when it is requeued.
    gated_by : str
        The plugin that gates it; "" for none.
    reasons : list of str
        Why it is gated.
    """

    pod: str
    priority: int
    attempts: int
    since: str
    backoff_end: str | None
    rejected_by: list[str]
    gated_by: str
    reasons: list[str]


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduling queue.

    Attributes
    ----------
    time : str
        The time of the cluster.
    counts : dict of str to int
        The number of pods in each subqueue.
    pods : dict of str to list of WaitingPod
        The first pods of each subqueue, in the order in which they leave it.
    """

    time: str
    counts: dict[str, int]
    pods: dict[str, list[WaitingPod]]


def queue_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the scheduling queue."""

    async def show(request: Request) -> Response:
        parameters: QueueParameters = request.state.query
        return json_response(
            await turns.call(
                lambda now_ns: _state(turns.cluster.world.machine.queue, parameters, now_ns)
            )
        )

    return [
        Endpoint(
            method="GET",
            path="/queue",
            summary="Show which pods wait in the scheduling queue, and why",
            handler=show,
            query=QueueParameters,
            reply=QueueState,
        )
    ]


def _state(queue: PodQueue, parameters: QueueParameters, now_ns: int) -> QueueState:
    counts: dict[str, int] = {}
    shown: dict[str, list[WaitingPod]] = {}
    for name, place in _PLACES.items():
        pods = queue.pods_in(place)
        counts[name] = len(pods)
        if parameters.place in (None, name):
            shown[name] = [_waiting(queue, each) for each in islice(pods, parameters.limit)]
    return QueueState(time=timestamp_text_nano(now_ns), counts=counts, pods=shown)


def _waiting(queue: PodQueue, queued: QueuedPod) -> WaitingPod:
    end_ns = -1
    if queued.place in (QueueName.BACKOFF, QueueName.ERROR_BACKOFF):
        end_ns = queue.backoff_end_ns(queued)
    return WaitingPod(
        pod=queued.key,
        priority=queued.priority,
        attempts=queued.attempts,
        since=timestamp_text_nano(queued.timestamp_ns),
        backoff_end=None if end_ns < 0 else timestamp_text_nano(end_ns),
        rejected_by=sorted(queued.rejectors),
        gated_by=queued.gating_plugin,
        reasons=list(queued.gating_reasons),
    )
