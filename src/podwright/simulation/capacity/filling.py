"""Filling a cluster: pods are scheduled one after the other, until one does not fit.

The cluster is the one of a `Scheduler`, which decides; all changes are taken back at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import NamespacedName, Node, Pod
from podwright.scheduler.assembly import Scheduler, SchedulerState
from podwright.scheduler.framework import Decision
from podwright.simulation.capacity.templates import Replicas
from podwright.simulation.recording import (
    ZONE,
    as_new_pod,
    gc_paused,
    is_movable_pod,
    nomination_of,
    outcome_of,
    rejections_of,
)

MOST_PODS: Final = 1_000_000
"""Where filling stops if nothing else stops it."""

Advance: TypeAlias = Callable[[int, int], None]
"""Receives how much is done, and of how much; 0 if that is not known."""


def unwatched(_done: int, _total: int) -> None:
    """Ignore progress."""


class StopReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why some nodes do not take the next pod.

    Attributes
    ----------
    reason : str
        In the scheduler's words.
    plugin : str
        The plugin that rejects the nodes; "" for PreFilter.
    nodes : int
        How many nodes.
    """

    reason: str
    plugin: str
    nodes: int


class CapacityStop(msgspec.Struct, frozen=True, kw_only=True):
    """What stops the next pod.

    Attributes
    ----------
    type : str
        `Unschedulable`, `LimitReached`, or another outcome of a decision.
    message : str
        The scheduler's message (upstream: FitError).
    pod : str
        The `namespace/name` of that pod; "" for `LimitReached`.
    reasons : tuple of StopReason
    nominated_node : str
        Where preemption would make room, if it is not part of the question; "" if nowhere.
    victims : tuple of str
        The pods that it would evict there.
    """

    type: str
    message: str
    pod: NamespacedName = ""
    reasons: tuple[StopReason, ...] = ()
    nominated_node: str = ""
    victims: tuple[NamespacedName, ...] = ()


def stop_of(decision: Decision) -> CapacityStop:
    """Return why a decision has no node."""
    counts: Counter[tuple[str, str]] = Counter()
    for rejection in rejections_of(decision):
        for reason in rejection.status.reasons:
            counts[reason, rejection.status.plugin] += rejection.count
    node, victims = nomination_of(decision)
    return CapacityStop(
        type=outcome_of(decision),
        message=decision.message,
        pod=decision.pod.key,
        reasons=tuple(
            StopReason(reason=reason, plugin=plugin, nodes=count)
            for (reason, plugin), count in sorted(counts.items(), key=lambda item: -item[1])
        ),
        nominated_node=node,
        victims=tuple(pod.key for pod in victims),
    )


@contextmanager
def forked(scheduler: Scheduler) -> Iterator[SchedulerState]:
    """Take back at the end which pods are placed, pending and nominated."""
    before = scheduler.state()
    try:
        yield before
    finally:
        before.restore()


def place(
    scheduler: Scheduler, pod: Pod, *, preemption: bool, post_filter: bool = True
) -> tuple[Decision, Sequence[Pod]]:
    """Schedule a pending pod; with preemption, evict its victims and schedule it again.

    Returns
    -------
    (Decision, sequence of Pod)
        The last decision, and the pods that were evicted.
    """
    decision = scheduler.schedule(pod.key, post_filter=post_filter)
    if decision.node or not preemption:
        return decision, ()
    node, victims = nomination_of(decision)
    if not node:
        return decision, ()
    for victim in victims:
        scheduler.withdraw(victim.key)
    return scheduler.schedule(pod.key), victims


def settle(
    scheduler: Scheduler, *, preemption: bool, post_filter: bool = True
) -> dict[NamespacedName, Decision]:
    """Schedule all pending pods, and again those that are evicted meanwhile.

    Returns
    -------
    dict of str to Decision
        The last decision about each pod.
    """
    decisions: dict[NamespacedName, Decision] = {}
    queue = scheduler.in_queue_order()
    while queue:
        evicted: list[Pod] = []
        for pod in queue:
            if pod.key in scheduler.pending:
                decisions[pod.key], victims = place(
                    scheduler, pod, preemption=preemption, post_filter=post_filter
                )
                evicted += [victim for victim in victims if is_recreated(victim)]
        for pod in evicted:
            scheduler.pending[pod.key] = as_new_pod(pod)
        keys = {pod.key for pod in evicted}
        queue = [pod for pod in scheduler.in_queue_order() if pod.key in keys]
    return decisions


def is_recreated(pod: Pod) -> bool:
    """Return whether a controller creates a pod again that leaves its node."""
    return pod.metadata.controller is not None and is_movable_pod(pod)


class Fill(msgspec.Struct, frozen=True):
    """The result of filling.

    Attributes
    ----------
    nodes : tuple of dict of str to int
        How many pods of each source are on each node, in the order of the sources.
    stop : CapacityStop
    stopped_source : int
        Of the pod that does not fit; -1 if the limit was reached.
    evicted : tuple of str
        The pods that were evicted.
    """

    nodes: tuple[dict[str, int], ...]
    stop: CapacityStop
    stopped_source: int
    evicted: tuple[NamespacedName, ...]


def fill(
    scheduler: Scheduler,
    sources: Sequence[tuple[Replicas, int]],
    *,
    preemption: bool = False,
    limit: int = 0,
    advance: Advance = unwatched,
) -> Fill:
    """Schedule the pods of sources in turn, until one does not fit; the pods stay.

    Parameters
    ----------
    sources : sequence of (Replicas, int)
        Each with how many of its pods are scheduled in a turn.
    preemption : bool
        Whether pods of lower priority make room.
    limit : int
        The most pods; 0 for no limit.
    advance : callable
        Receives how many pods were placed, and the limit.

    Notes
    -----
    Upstream: kubernetes-sigs/cluster-capacity, pkg/framework/simulator.go
    """
    order = [index for index, (_, weight) in enumerate(sources) for _ in range(weight)]
    keys: list[list[NamespacedName]] = [[] for _ in sources]
    evicted: list[NamespacedName] = []
    most, count = limit or MOST_PODS, 0
    stop = CapacityStop(type="LimitReached", message=f"Maximum number of pods simulated: {most}")
    source = -1
    with gc_paused():  # none of very many pods is garbage
        while count < most:
            index = order[count % len(order)]
            pod = next(sources[index][0])
            decision, victims = place(scheduler, pod, preemption=preemption)
            evicted += [victim.key for victim in victims]
            if decision.slot < 0:
                stop, source = stop_of(decision), index
                break
            keys[index].append(pod.key)
            count += 1
            advance(count, limit)
    placed, names = scheduler.cluster.pods, scheduler.cluster.nodes.names
    # Of templates of different priorities, one can evict pods of another.
    slots = [Counter(placed[key].slot for key in each if key in placed) for each in keys]
    by_node = tuple({names[slot]: n for slot, n in sorted(each.items())} for each in slots)
    return Fill(by_node, stop, source, tuple(evicted))


def zone_of(node: Node) -> str:
    """Return the zone of a node; "" if it has none."""
    return node.metadata.labels.get(ZONE, "")
