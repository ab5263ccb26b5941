"""Nominated pods: they count on their node for pods of the same or lower priority.

A node with nominated pods is filtered twice: with them, and without them, because they may
never be bound; both must pass. Upstream: pkg/scheduler/framework/runtime/framework.go,
`RunFilterPluginsWithNominatedPods`, `addGeneralNominatedPods`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.adapter import PluginFailure, run_filter
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.decision import Rejection
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.rows import VerdictRow
from podwright.scheduler.framework.rankings.sums import SumFilters
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import preemption, tally as tally_kernels

_NO_SLOTS: I32Array = np.empty(0, dtype=np.int32)


class NominatedCheck:
    """The nodes that reject a pod because of pods nominated to them.

    Attributes
    ----------
    filters : SumFilters, optional
        The filters as sums, if they have that form and it was requested.
    """

    __slots__ = ("_cluster", "_groups", "_passing", "_pod", "_profile", "_ranking", "filters")

    def __init__(self, profile: Profile, ranking: Ranking, pod: Pod, cluster: Cluster) -> None:
        self._profile = profile
        self._ranking = ranking
        self._pod = pod
        self._cluster = cluster
        self.filters: SumFilters | None = None
        self._groups: list[tuple[Status, I32Array]] = []
        self._passing: tuple[I32Array, I32Array] | None = None

    @property
    def rejected(self) -> dict[int, Status]:
        """The status of each rejected node, by slot."""
        return {slot: status for status, slots in self._groups for slot in slots.tolist()}

    def apply(self, totals: I64Array) -> None:
        """Mark the nodes that fail with the nominated pods.

        Parameters
        ----------
        totals : (n_slots,) int64, written
            -1 where a node fails.
        """
        if not self._cluster.nominated:
            return
        self.filters = SumFilters.of(self._ranking)
        if self.filters is None:
            self._run_filters()
        else:
            self._add_up(self.filters)
        for _, slots in self._groups:
            totals[slots] = -1

    def _add_up(self, filters: SumFilters) -> None:
        """Compare sums; no other filter reads pods."""
        room, touched = filters.room_for(self._pod, self._cluster)
        if not len(touched):
            return
        touched = np.sort(touched)
        codes: I64Array = np.empty(len(touched), dtype=np.int64)
        blocked = filters.blocked(self._cluster.nodes.n_slots)
        preemption.fit_codes_with_reserved(room, touched, blocked, codes)
        distinct, _, _ = tally_kernels.tally(codes, np.arange(len(codes), dtype=np.int32))
        self._groups = [
            (filters.status_of(code), touched[codes == code]) for code in distinct.tolist()
        ]

    def _run_filters(self) -> None:
        """Filter node after node."""
        slots_of: dict[Status, list[int]] = {}
        for name in self._cluster.nominated:
            slot = self._cluster.nodes.slot_of.get(name)
            if slot is None:
                continue
            counting = counting_nominated(self._cluster, self._pod, name)
            if not counting:
                continue
            status = self._filter_with(slot, counting)
            if not status.is_success:
                slots_of.setdefault(status, []).append(slot)
        self._groups = [
            (status, np.array(sorted(slots), dtype=np.int32)) for status, slots in slots_of.items()
        ]

    def confine_to(self, slots: I32Array) -> None:
        """Drop the nodes that are not in `slots`: they were not evaluated."""
        if not self._groups:
            return
        examined: Mask = np.zeros(self._cluster.nodes.n_slots, dtype=np.bool_)
        examined[slots] = True
        confined = [(status, there[examined[there]]) for status, there in self._groups]
        self._groups = [(status, there) for status, there in confined if len(there)]
        self._passing = None

    def plugin_against(self, node_name: str) -> str:
        """Return the plugin that rejects a node, once all rejections are known; "" if none."""
        slot = self._cluster.nodes.slot_of.get(node_name)
        if slot is None:
            return ""
        status = self.rejected.get(slot) or self._ranking.first_rejection(slot)
        return "" if status.code == Code.ERROR else status.plugin

    def rejections(self) -> Iterator[Rejection]:
        """Yield the status of each node that fails with its nominated pods."""
        for status, slots in self._groups:
            yield Rejection(status, len(slots))

    def without_rejected(self, slots: I32Array) -> I32Array:
        """Return those of `slots`, (k,) int32, that do not fail with their nominated pods."""
        if not self._groups:
            return slots
        if self._passing is not None and self._passing[0] is slots:
            return self._passing[1]
        passing: Mask = np.ones(self._cluster.nodes.n_slots, dtype=np.bool_)
        for _, there in self._groups:
            passing[there] = False
        self._passing = slots, slots[passing[slots]]
        return self._passing[1]

    def slots_with_code(self, code: Code) -> I32Array:
        """Return the rejecting slots whose status has `code`: (k,) int32."""
        found = [slots for status, slots in self._groups if status.code == code]
        return np.concatenate(found) if found else _NO_SLOTS

    def _filter_with(self, slot: int, pods: list[Pod]) -> Status:
        cluster, profile = self._cluster, self._profile
        cycle = self._ranking.cycle.clone()
        skipped = self._ranking.outcome.skipped
        slot_filter = SlotFilter(profile, self._ranking)
        with cluster.dry_run(slot) as dry_run:
            for pod in pods:
                placed = dry_run.add(pod)
                for plugin in profile.pre_filter:
                    if plugin.name not in skipped:
                        plugin.add_pod(cycle, placed)
            return slot_filter.status(cycle, slot)


def counting_nominated(cluster: Cluster, pod: Pod, node_name: str) -> list[Pod]:
    """Return the pods nominated to a node that count for `pod`."""
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


class SlotFilter:
    """Runs the filters on single slots during a dry run.

    Filters that do not read pods keep their result from the start of the cycle; the others are
    called.

    Parameters
    ----------
    profile : Profile
    ranking : Ranking
        Up to date.
    """

    __slots__ = ("_codes", "_filters", "_rows")

    def __init__(self, profile: Profile, ranking: Ranking) -> None:
        n_slots = ranking.cycle.cluster.nodes.n_slots
        self._codes: I64Array = np.zeros(n_slots, dtype=np.int64)
        self._rows: I32Array = np.zeros(1, dtype=np.int32)
        self._filters: list[Plugin | VerdictRow] = [
            row if isinstance(row, VerdictRow) and not row.reads_pods else row.plugin
            for row in ranking.filters
        ]
        if ranking.outcome.rejection is not None:
            # PreFilter rejected the pod as a whole: no filter was called.
            skipped = ranking.outcome.skipped
            self._filters = [plugin for plugin in profile.filter if plugin.name not in skipped]

    def status(self, cycle: Cycle, slot: int) -> Status:
        """Return the first rejection of a slot as it is now, or OK."""
        self._rows[0] = slot
        for one in self._filters:
            if isinstance(one, VerdictRow):
                code = one.verdicts.codes.item(slot) if one.rejects_any else 0
                if code:
                    return _status_by(one.plugin, one.verdicts, code)
                continue
            self._codes[slot] = 0
            verdicts = Verdicts(self._codes, self._rows)
            run_filter(one, cycle, verdicts)
            code = self._codes.item(slot)
            if code:
                return _status_by(one, verdicts, code)
        return Status.OK


def _status_by(plugin: Plugin, verdicts: Verdicts, code: int) -> Status:
    status = verdicts.status_of(code)
    if status.code == Code.ERROR:
        return PluginFailure(plugin, "Filter", status.failure).status
    return status.by(plugin.name)
