"""Victims on one node: the general algorithm, which calls the filters.

All pods of lower priority are removed. If the pod then fits, as many of them as possible are
reprieved: first those whose eviction would violate a disruption budget, then the others, in
both cases the most important first. The pods that cannot be reprieved are the victims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Matrix
from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.columns import (
    NOT_STARTED,
    PlacedPod,
    SlotDryRun,
    importance,
    priority_of,
    start_ns,
)
from podwright.scheduler.framework import (
    Cycle,
    FilteredCycle,
    Plugin,
    PluginFailure,
    Rejection,
    SlotFilter,
    Status,
    counting_nominated,
)

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


def expected_a_victim(node: str) -> Status:
    """Return the status of a node on which the pod fits although the cycle rejected it.

    Notes
    -----
    An extender rejected it, or the cluster changed.
    """
    return Status.error(f'expected at least one victim pod on node "{node}"')


def select_victims(
    failed: FilteredCycle,
    slot: int,
    slot_filter: SlotFilter | None = None,
    *,
    last: frozenset[NamespacedName] = frozenset(),
) -> Candidate | Status:
    """Find the victims on one node.

    Parameters
    ----------
    slot_filter : SlotFilter, optional
        Of this cycle; made here if it is left out.
    last : frozenset of str
        Pods that come after others of the same importance; upstream leaves the order of
        equals to its sort.

    Returns
    -------
    Candidate or Status
        The status gives the reason why preemption does not help.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
    `SelectVictimsOnNode`.
    """
    cluster = failed.cluster
    priority = priority_of(failed.pod)
    lower = [
        placed for placed in cluster.pods_on[slot].values() if priority_of(placed.pod) < priority
    ]
    if not lower:
        return NO_VICTIMS
    with cluster.dry_run(slot) as dry_run:
        try:
            filters = slot_filter or SlotFilter(failed.profile, failed.ranking)
            return _NodeDryRun(failed, slot, dry_run, filters).select(lower, last)
        except PluginFailure as failure:
            return failure.status


class _NodeDryRun:
    """One node during its dry run, and the plugins' view of it."""

    def __init__(
        self, failed: FilteredCycle, slot: int, dry_run: SlotDryRun, filters: SlotFilter
    ) -> None:
        self._filters = filters
        self._cycle = failed.cycle.clone()
        self._slot = slot
        self._now_ns = failed.now_ns
        self._dry_run = dry_run
        self._cluster = failed.cluster
        self._name = failed.cluster.nodes.names[slot]
        self._nominated = counting_nominated(failed.cluster, failed.pod, self._name)
        skipped = failed.outcome.skipped
        self._counting = [
            plugin
            for plugin in failed.profile.pre_filter
            if plugin.name not in skipped and _counts(plugin)
        ]

    def select(self, lower: list[PlacedPod], last: frozenset[NamespacedName]) -> Candidate | Status:
        """Remove all of `lower`, and reprieve as many as possible."""
        for placed in lower:
            self._dry_run.remove(placed)
            self._update_plugins(self._cycle, placed, is_added=False)
        status = self._filter()
        if not status.is_success:
            return status
        now_ns = self._now_ns
        # Must precede the split: each pod uses up its budgets, the most important one first.
        lower.sort(key=lambda placed: _rank(placed.pod, now_ns, last))
        violating, others = self._cluster.budgets.split(lower)
        # Reprieved first, so that room on the node spares budgets before other pods.
        victims = [placed for placed in violating if not self._reprieve(placed)]
        violations = len(victims)
        victims += [placed for placed in others if not self._reprieve(placed)]
        if not victims:
            return expected_a_victim(self._name)
        # `victims` starts with the violating ones; the candidate needs the order of importance.
        going = {id(placed) for placed in victims}
        return Candidate(
            node=self._name,
            victims=tuple(placed.pod for placed in lower if id(placed) in going),
            spared=tuple(placed.pod for placed in lower if id(placed) not in going),
            pdb_violations=violations,
        )

    def _reprieve(self, placed: PlacedPod) -> bool:
        """Put a pod back if the preemptor still fits."""
        self._dry_run.add_back(placed)
        self._update_plugins(self._cycle, placed, is_added=True)
        if self._filter().is_success:
            return True
        self._dry_run.remove(placed)
        self._update_plugins(self._cycle, placed, is_added=False)
        return False

    def _filter(self) -> Status:
        """Run the filters with the nominated pods, if there are any, and without them."""
        slot = self._slot
        if self._nominated:
            # The counts of nominated pods go to a copy, so that only the slot has to be undone.
            cycle = self._cycle.clone()
            added = [self._dry_run.add(pod) for pod in self._nominated]
            for placed in added:
                self._update_plugins(cycle, placed, is_added=True)
            status = self._filters.status(cycle, slot)
            for placed in added:
                self._dry_run.remove(placed)
            if not status.is_success:
                return status
        # A nominated pod may never arrive, so the pod's affinity must not depend on one
        # (upstream: framework/runtime/framework.go, RunFilterPluginsWithNominatedPods).
        return self._filters.status(self._cycle, slot)

    def _update_plugins(self, cycle: Cycle, placed: PlacedPod, *, is_added: bool) -> None:
        """Update the plugins that count over many nodes."""
        for plugin in self._counting:
            point = "AddPod" if is_added else "RemovePod"
            try:
                if is_added:
                    plugin.add_pod(cycle, placed)
                else:
                    plugin.remove_pod(cycle, placed)
            except Exception as error:
                raise PluginFailure.raised(plugin, point, cycle, error, self._name) from error


def _rank(
    pod: Pod, now_ns: int, last: frozenset[NamespacedName]
) -> tuple[int, int, bool, NamespacedName]:
    priority, started, name = importance(pod, now_ns)
    return priority, started, name in last, name


def _counts(plugin: Plugin) -> bool:
    """Return whether a plugin implements `add_pod` and `remove_pod`."""
    return plugin.implements("add_pod") or plugin.implements("remove_pod")


# Candidates: nodes on which preemption would help, with victims and the values of the criteria.

_EACH = 1 << 31
"""Added to each victim's priority in the sum, so that no summand is negative."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which the pod fits after the victims are evicted.

    Parameters
    ----------
    node : str
    victims : tuple of Pod
        The pods to evict; the most important first.
    spared : tuple of Pod
        Other pods of lower priority, which can stay; the most important first.
    pdb_violations : int
        How many of the victims a disruption budget would have kept.
    """

    node: str
    victims: tuple[Pod, ...]
    spared: tuple[Pod, ...] = ()
    pdb_violations: int = 0


Candidates: TypeAlias = Sequence[Candidate]


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a dry run.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order of the search.
    rejections : tuple of Rejection
        The nodes on which preemption does not help, grouped by status.
    errors : tuple of str
        What failed, in the order of the search.
    visited_count : int
        How many nodes were tried; the search ends when it has enough candidates.
    helpable_count : int
        How many nodes there were to try.
    offset : int
        Where among those the search started.
    """

    candidates: Candidates = ()
    rejections: tuple[Rejection, ...] = ()
    errors: tuple[str, ...] = ()
    visited_count: int = 0
    helpable_count: int = 0
    offset: int = 0


def measures_of(candidates: Iterable[Candidate], now_ns: int) -> I64Matrix:
    """Return the values of the criteria; smaller is better.

    Returns
    -------
    (n_candidates, 5) int64
        Budget violations, priority of the first victim, sum of priorities (plus 2**31 each),
        number of victims, and minus the earliest start among the victims of the greatest
        priority.
    """
    rows = [_measure(candidate, now_ns) for candidate in candidates]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


def _measure(candidate: Candidate, now_ns: int) -> tuple[int, int, int, int, int]:
    victims = candidate.victims
    priorities = [priority_of(pod) for pod in victims]
    # An extender returns victims in any order, so the first need not have this priority.
    greatest = max(priorities)
    earliest = min(start_ns(pod) for pod in victims if priority_of(pod) == greatest)
    return (
        candidate.pdb_violations,
        priorities[0],
        sum(priorities) + _EACH * len(victims),
        len(victims),
        -(now_ns if earliest == NOT_STARTED else earliest),
    )
