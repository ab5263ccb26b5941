"""Victims for a whole pod group: workload-aware preemption (alpha upstream).

All pods of lower priority are removed from all nodes. If the group then fits, as many of them as
possible are reprieved, as on a single node (`victims`): first those whose eviction would violate
a disruption budget, then the others, in both cases the most important first. Pods of a group
whose `disruptionMode` is PodGroup are reprieved or evicted together.

Whether the group fits is the caller's question: the cycle of a pod group, on the cluster without
the removed pods.

Upstream: pkg/scheduler/framework/preemption/podgrouppreemption.go, types.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from podwright.apimachinery.objects import Pod, PodGroup
from podwright.scheduler.columns import (
    NOT_STARTED,
    Cluster,
    PlacedPod,
    priority_of,
    start_ns,
)
from podwright.scheduler.framework import Status, Steps

_NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
_NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming preemptor")

GroupOf = Callable[[Pod], PodGroup | None]
"""Returns the PodGroup of a pod; None if it has none, or if there is none of that name."""

TryGroup = Callable[[], Steps[Status]]
"""Tries to place the preemptor in the cluster as it is, and reverts it; SUCCESS if it fits."""


class _Victim:
    """Pods that are evicted together.

    Attributes
    ----------
    pods : list of PlacedPod
    priority : int
    started_ns : int
        When the first of `pods` started.
    """

    __slots__ = ("pods", "priority", "started_ns")

    def __init__(self, placed: PlacedPod, priority: int, now_ns: int) -> None:
        self.pods = [placed]
        self.priority = priority
        started_ns = start_ns(placed.pod)
        # Upstream does not look at the pods that are added later.
        self.started_ns = now_ns if started_ns == NOT_STARTED else started_ns

    def rank(self) -> tuple[int, bool, int, int, str]:
        """Return a key that sorts the most important first.

        A pod of any group counts as a group here. Upstream leaves the order of equals to its
        sort; here it is that of their names.

        Upstream: podgrouppreemption.go, moreImportantVictim
        """
        first = self.pods[0]
        is_alone = first.pod.spec.scheduling_group is None
        return -self.priority, is_alone, -len(self.pods), self.started_ns, first.key


def preempt_for_group(
    cluster: Cluster,
    preemptor: PodGroup,
    pods: Iterable[Pod],
    *,
    group_of: GroupOf,
    try_group: TryGroup,
    now_ns: int,
) -> Steps[tuple[Pod, ...] | Status]:
    """Find the pods to evict so that a group fits.

    Parameters
    ----------
    cluster : Cluster
        Changed while `try_group` runs, and as before in the end.
    pods : iterable of Pod
        The members to place.
    now_ns : int
        The current time, in nanoseconds since 1970; pods that have not started count as started
        now.

    Returns
    -------
    tuple of Pod or Status
        The most important first; or why preemption does not help.
    """
    if any(pod.spec.preemption_policy == "Never" for pod in pods):
        return _NEVER
    victims = [
        victim
        for victim in _possible_victims(cluster, group_of, now_ns)
        if victim.priority < preemptor.priority
    ]
    if not victims:
        return _NO_VICTIMS
    victims.sort(key=_Victim.rank)
    before = {
        placed.slot: dict.fromkeys(cluster.pods_on[placed.slot])
        for victim in victims
        for placed in victim.pods
    }
    missing = dict.fromkeys(victims)
    try:
        for victim in victims:
            _remove(cluster, victim)
        status = yield from try_group()
        if not status.is_success:
            return status
        for victim in _by_budgets(victims, cluster):
            _put_back(cluster, victim)
            del missing[victim]
            status = yield from try_group()
            if not status.is_success:
                _remove(cluster, victim)
                missing[victim] = None
        evicted = sorted(missing, key=_Victim.rank)
        return tuple(placed.pod for victim in evicted for placed in victim.pods)
    finally:
        for victim in missing:
            _put_back(cluster, victim)
        for slot, keys in before.items():
            there = cluster.pods_on[slot]
            ordered = {key: there[key] for key in keys}
            there.clear()
            there.update(ordered)


def _possible_victims(cluster: Cluster, group_of: GroupOf, now_ns: int) -> Iterable[_Victim]:
    found: dict[str, _Victim] = {}
    for slot in cluster.nodes.visiting_order().tolist():
        for placed in cluster.pods_on[slot].values():
            group = group_of(placed.pod)
            if group is None or group.spec.disruption_mode != "PodGroup":
                uid, priority = placed.pod.metadata.uid, priority_of(placed.pod)
            else:
                uid, priority = group.metadata.uid, group.priority
            victim = found.get(uid)
            if victim is None:
                found[uid] = _Victim(placed, priority, now_ns)
            else:
                victim.pods.append(placed)
    return found.values()


def _remove(cluster: Cluster, victim: _Victim) -> None:
    for placed in victim.pods:
        cluster.remove(placed.key)


def _put_back(cluster: Cluster, victim: _Victim) -> None:
    for placed in victim.pods:
        cluster.place(placed.pod, placed.slot, placed.key, placed.keys)


def _by_budgets(victims: Iterable[_Victim], cluster: Cluster) -> list[_Victim]:
    """Return victims that would violate a disruption budget before the others.

    Upstream: preemption.go, filterVictimsWithPDBViolation
    """
    left = list(cluster.budgets.allowed)

    def violates(victim: _Victim) -> bool:
        """Charge the budgets for a victim, up to the first one that it violates."""
        for placed in victim.pods:
            for number in cluster.budgets.of(placed.pod):
                left[number] -= 1
                if left[number] < 0:
                    return True
        return False

    return sorted(victims, key=lambda victim: not violates(victim))
