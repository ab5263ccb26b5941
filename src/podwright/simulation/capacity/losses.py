"""The loss of nodes: which pods are created again, and which of those find no place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from podwright.apimachinery.objects import NamespacedName, Node
from podwright.scheduler.advice import edited
from podwright.scheduler.assembly import Scheduler
from podwright.simulation.capacity.filling import (
    Advance,
    CapacityStop,
    forked,
    is_recreated,
    settle,
    stop_of,
    unwatched,
)
from podwright.simulation.recording import Specs, as_new_pod, is_movable_pod


class PendingAfter(msgspec.Struct, frozen=True, kw_only=True):
    """A pod without a node after a loss, and why.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    stop : CapacityStop
        Why it fits nowhere.
    """

    pod: NamespacedName
    stop: CapacityStop


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """What the loss of some nodes causes.

    Attributes
    ----------
    of, name : str
        `node`, `zone` or `pool`, and which one.
    nodes : int
        How many nodes it has.
    recreated : int
        How many pods on them their controllers create again.
    pending : tuple of PendingAfter
        The pods that have no node afterwards and had one before: recreated ones, and pods that
        those of higher priority evict.
    gone : tuple of str
        Pods on the nodes that no controller recreates.
    """

    of: str
    name: str
    nodes: int
    recreated: int
    pending: tuple[PendingAfter, ...]
    gone: tuple[NamespacedName, ...]


def losses(
    scheduler: Scheduler,
    groups: Sequence[tuple[str, str, list[str]]],
    nodes: Mapping[str, Node],
    advance: Advance = unwatched,
) -> list[Loss]:
    """Try the loss of each group of nodes, each from the same state.

    Parameters
    ----------
    groups : sequence of (str, str, list of str)
        `node`, `zone` or `pool`; its name; its nodes.
    nodes : mapping of str to Node
    advance : callable
        Receives how many groups were tried, and of how many.

    Returns
    -------
    list of Loss
        Those after which most pods are pending first.
    """
    found = []
    for done, (of, name, members) in enumerate(groups, start=1):
        found.append(_loss(scheduler, of, name, [nodes[each] for each in members]))
        advance(done, len(groups))
    return sorted(found, key=lambda loss: -len(loss.pending))


def _loss(scheduler: Scheduler, of: str, name: str, nodes: Sequence[Node]) -> Loss:
    cluster = scheduler.cluster
    slots = [cluster.nodes.slot_of[node.name] for node in nodes]
    pods = [placed.pod for slot in slots for placed in cluster.pods_on[slot].values()]
    moving = [pod for pod in pods if is_recreated(pod)]
    specs: Specs = {}
    with forked(scheduler) as before:
        for pod in pods:
            scheduler.withdraw(pod.key)
        with edited(cluster, drop=nodes):
            # Pods that fitted nowhere before are not tried again.
            scheduler.pending.clear()
            scheduler.pending.update((pod.key, as_new_pod(pod, specs)) for pod in moving)
            decisions = settle(scheduler, preemption=True)
            before.release_reservations()
    pending = [
        PendingAfter(pod=key, stop=stop_of(decision))
        for key, decision in decisions.items()
        if decision.slot < 0
    ]
    return Loss(
        of=of,
        name=name,
        nodes=len(nodes),
        recreated=len(moving),
        pending=tuple(pending),
        gone=tuple(p.key for p in pods if p.metadata.controller is None and is_movable_pod(p)),
    )
