"""Pods nominated to a node count there for pods of the same or lower priority.

A node with such pods is filtered twice: with them, and without them, since they may never
arrive; both must pass. Upstream: pkg/scheduler/framework/runtime/framework.go,
`RunFilterPluginsWithNominatedPods`, `addGeneralNominatedPods`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.columns import Cluster
from podwright.framework.adapter import run_filter
from podwright.framework.cycle import Cycle
from podwright.framework.decision import Rejection
from podwright.framework.profile import Profile
from podwright.framework.ranking import Ranking
from podwright.framework.status import Code, Status
from podwright.framework.verdicts import Verdicts
from podwright.objects import Pod


class NominatedCheck:
    """The nodes that reject a pod because of pods nominated to them."""

    __slots__ = ("_cluster", "_pod", "_profile", "_ranking", "rejected")

    def __init__(self, profile: Profile, ranking: Ranking, pod: Pod, cluster: Cluster) -> None:
        self._profile = profile
        self._ranking = ranking
        self._pod = pod
        self._cluster = cluster
        self.rejected: dict[int, Status] = {}

    def apply(self, totals: I64Array) -> None:
        """Mark the nodes that fail with the nominated pods.

        Parameters
        ----------
        totals : (n_slots,) int64, written
            -1 where a node fails.
        """
        for name in self._cluster.nominated:
            slot = self._cluster.nodes.slot_of.get(name)
            if slot is None:
                continue
            counting = counting_nominated(self._cluster, self._pod, name)
            if not counting:
                continue
            status = self._filter_with(slot, counting)
            if not status.is_success:
                self.rejected[slot] = status
                totals[slot] = -1

    def confine_to(self, slots: I32Array) -> None:
        """Forget the nodes that are not in `slots`: nobody looked at them."""
        self.rejected = {slot: status for slot, status in self.rejected.items() if slot in slots}

    def rejections(self) -> Iterator[Rejection]:
        """Yield what the nodes say that fail with their nominated pods."""
        for status in self.rejected.values():
            yield Rejection(status, 1)

    def without_rejected(self, slots: I32Array) -> I32Array:
        """Return the slots that do not fail with their nominated pods."""
        if not self.rejected:
            return slots
        return slots[~np.isin(slots, list(self.rejected))]

    def slots_with_code(self, code: Code) -> I32Array:
        """Return the rejecting slots whose status has `code`: (k,) int32, ascending."""
        slots = sorted(slot for slot, status in self.rejected.items() if status.code == code)
        return np.array(slots, dtype=np.int32)

    def _filter_with(self, slot: int, pods: list[Pod]) -> Status:
        cluster, profile = self._cluster, self._profile
        cycle = self._ranking.cycle.clone()
        skipped = self._ranking.outcome.skipped
        with cluster.rehearsal(slot) as rehearsal:
            for pod in pods:
                placed = rehearsal.add(pod)
                for plugin in profile.pre_filter:
                    if plugin.name not in skipped:
                        plugin.add_pod(cycle, placed)
            return filter_slot(profile, cycle, skipped, slot)


def counting_nominated(cluster: Cluster, pod: Pod, node_name: str) -> list[Pod]:
    """Return the pods nominated to a node that `pod` has to leave room for."""
    there = cluster.nominated.get(node_name)
    if not there:
        return []
    priority, uid = pod.spec.priority or 0, pod.metadata.uid
    return [
        other
        for key, other in there.items()
        if (other.spec.priority or 0) >= priority
        and not (key == pod.key and other.metadata.uid == uid)
    ]


def filter_slot(profile: Profile, cycle: Cycle, skipped: frozenset[str], slot: int) -> Status:
    """Run all filters on one slot as it is now; return the first rejection, or OK."""
    n_slots = cycle.cluster.nodes.n_slots
    codes: I64Array = np.zeros(n_slots, dtype=np.int64)
    rows: I32Array = np.array([slot], dtype=np.int32)
    for plugin in profile.filter:
        if plugin.name in skipped:
            continue
        verdicts = Verdicts(codes, rows)
        run_filter(plugin, cycle, verdicts)
        code = int(codes[slot])
        if code:
            return verdicts.status_of(code).by(plugin.name)
    return Status.OK
