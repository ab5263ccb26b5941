"""Filling a cluster: pods are scheduled one after the other, until one does not fit.

The cluster is the one of a `Scheduler`, which decides; all changes are taken back at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Final, TypeAlias

import msgspec

from podwright._garbage import gc_paused
from podwright.apimachinery.objects import NamespacedName, Node, Pod
from podwright.scheduler.assembly import Scheduler, SchedulerState
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import GANG_SCHEDULING
from podwright.simulation.capacity.templates import Replicas
from podwright.simulation.recording import (
    ZONE,
    as_new_pod,
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
    scheduler: Scheduler, key: NamespacedName, *, preemption: bool, post_filter: bool = True
) -> tuple[list[Decision], Sequence[Pod]]:
    """Schedule a pending pod with its gang; with preemption, evict victims and schedule it again.

    Returns
    -------
    (list of Decision, sequence of Pod)
        The last decisions, and the pods that were evicted.
    """
    is_gang = preemption and scheduler.gang_of(scheduler.pending[key]) is not None
    before = scheduler.state() if is_gang else None
    decisions = scheduler.schedule_together(key, post_filter=post_filter)
    if not preemption:
        return decisions, ()
    nominations = [nomination_of(each) for each in decisions if not each.node]
    if not any(node for node, _ in nominations):
        return decisions, ()
    # A gang of which enough fit has nodes for these already; the others are scheduled again.
    placed = [each for each in decisions if each.node]
    waiting = [each.pod.key for each in decisions if not each.node]
    evicted = {victim.key: victim for _, victims in nominations for victim in victims}
    for victim in evicted:
        scheduler.withdraw(victim)
    again = scheduler.schedule_together(key if key in waiting else waiting[0])
    if before is not None and not any(each.node for each in (*placed, *again)):
        before.restore()  # no gang evicts pods without getting their place
        return decisions, ()
    return [*placed, *again], tuple(evicted.values())


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
        decided: set[NamespacedName] = set()
        for pod in queue:
            if pod.key not in decided:
                found, victims = place(
                    scheduler, pod.key, preemption=preemption, post_filter=post_filter
                )
                decided.update(each.pod.key for each in found)
                decisions.update((each.pod.key, each) for each in found)
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
    sources: Sequence[Replicas],
    *,
    preemption: bool = False,
    limit: int = 0,
    advance: Advance = unwatched,
) -> Fill:
    """Schedule the pods of sources in turn, until one does not fit; the pods stay.

    Parameters
    ----------
    sources : sequence of Replicas
        The pods of a gang are scheduled as a whole, or none of them.
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
    turn: dict[Hashable, list[int]] = {}
    for index, each in enumerate(sources):
        for number in range(each.weight):
            together = (index, number) if each.gang is None else each.gang[0].key
            turn.setdefault(together, []).append(index)
    keys: list[list[NamespacedName]] = [[] for _ in sources]
    evicted: list[NamespacedName] = []
    most, count = limit or MOST_PODS, 0
    stop = CapacityStop(type="LimitReached", message=f"Maximum number of pods simulated: {most}")
    source = -1
    with gc_paused():  # none of very many pods is garbage
        for batch in cycle(turn.values()):
            if count + len(batch) > most:
                break
            pods = {next(sources[index]).key: index for index in batch}
            unfit, victims = _place_all(scheduler, pods, preemption=preemption)
            if unfit is not None:
                stop, source = stop_of(unfit), pods[unfit.pod.key]
                break
            evicted += [victim.key for victim in victims]
            for key, index in pods.items():
                keys[index].append(key)
            count += len(batch)
            advance(count, limit)
    placed, names = scheduler.cluster.pods, scheduler.cluster.nodes.names
    # Of templates of different priorities, one can evict pods of another.
    slots = [Counter(placed[key].slot for key in each if key in placed) for each in keys]
    by_node = tuple({names[slot]: n for slot, n in sorted(each.items())} for each in slots)
    return Fill(by_node, stop, source, tuple(evicted))


def _place_all(
    scheduler: Scheduler, keys: Collection[NamespacedName], *, preemption: bool
) -> tuple[Decision | None, list[Pod]]:
    """Schedule pending pods; if one fits nowhere, none stays, and its decision is returned."""
    before = scheduler.state() if len(keys) > 1 else None
    evicted: list[Pod] = []
    for key in keys:
        if key in scheduler.pending:
            decisions, victims = place(scheduler, key, preemption=preemption)
            evicted += victims
            unfit = [each for each in decisions if each.slot < 0]
            if unfit:
                if before is not None:
                    before.restore()
                # The others of a gang would fit without these.
                return min(unfit, key=_is_held_by_gang), []
    return None, evicted


def _is_held_by_gang(decision: Decision) -> bool:
    return any(each.status.plugin == GANG_SCHEDULING for each in rejections_of(decision))


def zone_of(node: Node) -> str:
    """Return the zone of a node; "" if it has none."""
    return node.metadata.labels.get(ZONE, "")
