"""The scheduling queue: which pods wait where, why, until when, and manual moves."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import NamespacedName, Pod, timestamp_text_nano, workload_of
from podwright.cluster.store import POD
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import (
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.configuration import (
    EXTERNAL,
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
    own_scheduler,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.machine import CONTENT_TYPE, render_text, resource_snapshot
from podwright.scheduler.queueing import PodQueue, QueuedPod, QueueName
from podwright.simulation.shadow import ShadowReport
from podwright.simulation.world import World

Place: TypeAlias = Literal[
    "active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight"
]

_PLACES: Final[dict[Place, QueueName]] = {
    "active": QueueName.ACTIVE,
    "backoff": QueueName.BACKOFF,
    "errorBackoff": QueueName.ERROR_BACKOFF,
    "unschedulable": QueueName.UNSCHEDULABLE,
    "gated": QueueName.GATED,
    "inFlight": QueueName.IN_FLIGHT,
}

_GROUPED: Final[tuple[Place, ...]] = (
    "unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight",
)  # fmt: skip
"""The places in the order in which their pods need attention."""

_NAMES: Final[dict[QueueName, Place]] = {place: name for name, place in _PLACES.items()}


class QueueParameters(SchedulerParameter, frozen=True, kw_only=True):
    """The parameters of a scheduler's queue.

    Attributes
    ----------
    place : str, optional
        The subqueue to show; all if left out.
    limit : int
        The most pods of each subqueue.
    """

    place: Place | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 100


class MovingEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that may move a pod, if a hint of one of the plugins says so.

    Attributes
    ----------
    event : str
        Its label, as in the metric `scheduler_queue_incoming_pods_total`; `*` is every event.
    plugins : list of str
        The plugins that rejected or gate the pod and registered the event.
    """

    event: str
    plugins: list[str]


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
    latest_attempt : str, optional
        After which time it is tried again without an event, if it is unschedulable; the queue is
        flushed every 30 s.
    rejected_by : list of str
        The plugins that rejected it, whose hints decide when it is requeued.
    gated_by : str
        The plugin that gates it; "" for none.
    reasons : list of str
        Why it is gated.
    message : str
        Why it was not scheduled, from its condition PodScheduled; "" if it was not tried.
    nominated_node : str
        The node that it waits for after a preemption; "" for none.
    moved_by : list of MovingEvent
        The events that may move it, if it is unschedulable or gated.
    """

    pod: str
    priority: int
    attempts: int
    since: str
    backoff_end: str | None
    latest_attempt: str | None
    rejected_by: list[str]
    gated_by: str
    reasons: list[str]
    message: str
    nominated_node: str
    moved_by: list[MovingEvent]


class GroupParameters(SchedulerParameter, frozen=True, kw_only=True):
    """The parameters of the groups of waiting pods.

    Attributes
    ----------
    limit : int
        The most groups.
    pods : int
        The most pods that are named of each group.
    """

    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 200
    pods: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


class WaitingGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods of one workload that wait in one place for one cause.

    Attributes
    ----------
    place : str
    workload : str
        Its kind and name, such as `ReplicaSet/web-5d8f`; "" for pods without a controller, which
        are one group in each namespace.
    namespace : str
    count : int
        The number of its pods.
    created : str
        When the oldest of them was created.
    pods : list of str
        The first of them, as `namespace/name`, in the order in which they leave the queue.
    first : WaitingPod
        The first of them, whose message stands for all: they have the same rejecting plugins.
    """

    place: Place
    workload: str
    namespace: str
    count: int
    created: str
    pods: list[str]
    first: WaitingPod


class WaitingGroups(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The scheduling queue in groups.

    Attributes
    ----------
    time : str
        The time of the cluster.
    counts : dict of str to int
        The number of pods in each subqueue.
    group_count : int
        The number of all groups.
    groups : list of WaitingGroup
        The first groups, those of unschedulable pods first.
    """

    time: str
    counts: dict[str, int]
    group_count: int
    groups: list[WaitingGroup]


class QueueMove(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a manual move of a pod.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    time : str
        The time of the cluster.
    place_before : str
        The subqueue that it was in.
    place : str, optional
        The subqueue that it is in after everything that was due; None if it left the queue.
    node : str
        The node that it was bound to; "" for none.
    waiting : WaitingPod, optional
        Why it waits, if it is in the queue.
    """

    pod: str
    time: str
    place_before: Place
    place: Place | None
    node: str
    waiting: WaitingPod | None


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

    @endpoint("GET", "/queue", problems={404: UNKNOWN, 409: EXTERNAL})
    async def show(query: QueueParameters) -> QueueState:
        """Show which pods wait in the scheduling queue, and why."""
        scheduler = own_scheduler(turns.cluster, query)
        return await turns.call(lambda now_ns: _state(scheduler.world.machine.queue, query, now_ns))

    @endpoint("GET", "/queue/groups", problems={404: UNKNOWN, 409: EXTERNAL})
    async def show_groups(query: GroupParameters) -> WaitingGroups:
        """Show which workloads have pods that wait in the scheduling queue, and why."""
        scheduler = own_scheduler(turns.cluster, query)
        queue = scheduler.world.machine.queue
        return await turns.call(lambda now_ns: _groups(queue, query, now_ns))

    @endpoint(
        "POST",
        "/queue/{namespace}/{name}/move",
        problems={404: "there is no such pod", 409: "the pod is not in the scheduling queue"},
    )
    async def move(namespace: str, name: str) -> QueueMove:
        """Move a pod to the active queue, whatever rejected it."""
        pod = f"{namespace}/{name}"
        # A pod that was created just now is in the queue after that.
        await turns.reach(turns.clock.now_ns())
        before = await turns.call(lambda _: _activated(turns.cluster, pod))
        await turns.reach(turns.clock.now_ns())
        return await turns.call(lambda now_ns: _moved(turns.cluster, pod, before, now_ns))

    return declared(show, show_groups, move)


def _activated(cluster: Cluster, pod: NamespacedName) -> QueueName:
    """Let the scheduler move a pod, and return its place before."""
    if cluster.store.get(POD, pod) is None:
        raise Problem(404, f"there is no pod {pod}")
    own_scheduler(cluster, SchedulerParameter())
    world = _world_of(cluster, pod)
    queued = _find(world.machine.queue, pod)
    if queued is None:
        raise Problem(
            409,
            f"pod {pod} is not in the scheduling queue: it has a node, has finished, or uses"
            " another scheduler",
        )
    world.activate(pod)
    return queued.place


def _moved(
    cluster: Cluster, pod: NamespacedName, place_before: QueueName, now_ns: int
) -> QueueMove:
    queue = _world_of(cluster, pod).machine.queue
    queued = _find(queue, pod)
    found = cluster.store.get(POD, pod)
    return QueueMove(
        pod=pod,
        time=timestamp_text_nano(now_ns),
        place_before=_NAMES[place_before],
        place=None if queued is None else _NAMES[queued.place],
        node=found.spec.node_name if isinstance(found, Pod) else "",
        waiting=None if queued is None else _waiting(queue, queued),
    )


def _world_of(cluster: Cluster, pod: NamespacedName) -> World:
    """Return the world of the scheduler that has a pod in its queue; the first one if none has."""
    worlds = [each.world for each in cluster.schedulers]
    return next((each for each in worlds if _find(each.machine.queue, pod)), worlds[0])


def _find(queue: PodQueue, pod: NamespacedName) -> QueuedPod | None:
    waiting = queue.get(pod)
    return waiting or next((each for each in queue.in_flight() if each.key == pod), None)


def _state(queue: PodQueue, parameters: QueueParameters, now_ns: int) -> QueueState:
    counts: dict[str, int] = {}
    shown: dict[str, list[WaitingPod]] = {}
    for name, place in _PLACES.items():
        counts[name] = queue.count_in(place)
        if parameters.place in (None, name):
            first = queue.first_in(place, parameters.limit)
            shown[name] = [_waiting(queue, each) for each in first]
    return QueueState(time=timestamp_text_nano(now_ns), counts=counts, pods=shown)


def _groups(queue: PodQueue, parameters: GroupParameters, now_ns: int) -> WaitingGroups:
    groups: list[WaitingGroup] = []
    counts: dict[str, int] = {name: queue.count_in(place) for name, place in _PLACES.items()}
    group_count = 0
    for name in _GROUPED:
        members: dict[tuple[object, ...], list[QueuedPod]] = {}
        for queued in queue.pods_in(_PLACES[name]) if counts[name] else ():
            pod = queued.pod
            workload = workload_of(pod) or ("", pod.metadata.namespace)
            key = (*workload, frozenset(queued.rejectors), queued.gating_plugin)
            members.setdefault(key, []).append(queued)
        group_count += len(members)
        shown = islice(members.values(), parameters.limit - len(groups))
        groups.extend(_group(queue, name, pods, parameters.pods) for pods in shown)
    return WaitingGroups(
        time=timestamp_text_nano(now_ns), counts=counts, group_count=group_count, groups=groups
    )


def _group(queue: PodQueue, place: Place, pods: list[QueuedPod], named_count: int) -> WaitingGroup:
    first = pods[0].pod
    kind, key = workload_of(first) or ("", "/")
    return WaitingGroup(
        place=place,
        workload=kind and f"{kind}/{key.partition('/')[2]}",
        namespace=first.metadata.namespace,
        count=len(pods),
        created=min(each.pod.metadata.creation_timestamp or "" for each in pods),
        pods=[each.key for each in pods[:named_count]],
        first=_waiting(queue, pods[0]),
    )


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
        latest_attempt=(
            timestamp_text_nano(queue.timeout_ns(queued))
            if queued.place is QueueName.UNSCHEDULABLE
            else None
        ),
        rejected_by=sorted(queued.rejectors),
        gated_by=queued.gating_plugin,
        reasons=list(queued.gating_reasons),
        message=_message(queued.pod),
        nominated_node=queued.pod.status.nominated_node_name or "",
        moved_by=[
            MovingEvent(event=label, plugins=list(plugins))
            for label, plugins in queue.moving_events(queued).items()
        ],
    )


def _message(pod: Pod) -> str:
    found = (each.message for each in pod.status.conditions if each.type == "PodScheduled")
    return next(found, None) or ""


# The agreement of another scheduler with podwright, while it schedules the cluster.


def shadow_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of the agreement."""

    @endpoint("GET", "/shadow", problems={404: "the cluster was started without --shadow"})
    async def show() -> ShadowReport:
        """Show how the decisions of another scheduler agree with podwright's."""
        if cluster.shadow is None:
            raise Problem(404, "decisions are not compared; start podwright up with --shadow")
        return await cluster.shadow.report(cluster.turns)

    return declared(show)


# The metrics of the scheduler, in Prometheus' text format.
#
# They are also at the paths at which kube-scheduler has them.


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
