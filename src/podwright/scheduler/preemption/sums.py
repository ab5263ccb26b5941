"""Victims on all nodes in one kernel call, for filters that depend only on sums of requests.

`preemption.victims` is the plain version that calls the filters; both give the same
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import TypeVar, overload

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.apimachinery.objects import DRAW_BITS, OFFSET_STREAM, Pod, draw
from podwright.scheduler.columns import Cluster, TriedSlots, priority_of
from podwright.scheduler.framework import (
    Code,
    FilteredCycle,
    Rejection,
    SlotFilter,
    Status,
    SumFilters,
)
from podwright.scheduler.kernels import preemption, tally as tally_kernels
from podwright.scheduler.kernels.preemption import (
    BLOCKED_AFTER,
    BLOCKED_BEFORE,
    END,
    HAS_ROOM,
    LOWER,
    NO_LOWER_PRIORITY,
    VIOLATIONS,
    Room,
)
from podwright.scheduler.preemption.victims import (
    NO_VICTIMS,
    Candidate,
    DryRun,
    expected_a_victim,
    select_victims,
)

_T = TypeVar("_T")


class SummedCandidates(Sequence[Candidate]):
    """Candidates as columns; a `Candidate` is built when it is read.

    Names and pods are also looked up at the first read: of hundreds of candidates one is chosen.

    Parameters
    ----------
    cluster : Cluster
        Its `ranked_pods` notify before they change.
    slots : (n,) int32
    tried : TriedSlots
        The results of these slots.
    now_ns : int
        The start of pods that have not started.
    """

    __slots__ = (
        "__weakref__", "_marks", "_names", "_now_ns", "_places", "_pods", "_ranks", "_rows",
        "_slots",
    )  # fmt: skip

    def __init__(self, cluster: Cluster, slots: I32Array, tried: TriedSlots, now_ns: int) -> None:
        # Entries of these two are never changed for an existing slot.
        self._names, self._ranks = cluster.nodes.names, cluster.nodes.name_ranks()
        self._slots = self._places = slots
        self._pods: Sequence[tuple[Pod, ...]] = cluster.ranked_pods.pods
        self._rows, self._marks = tried.rows, tried.marks
        self._now_ns = now_ns
        cluster.ranked_pods.lend(self)

    def settle(self) -> None:
        """Copy the results and pods of the candidates before they change."""
        slots = self._slots
        self._pods = at(self._pods, slots.tolist())
        self._rows, self._marks = preemption.settled(slots, self._rows, self._marks)
        self._places = np.arange(len(slots), dtype=np.int32)

    @property
    def measures(self) -> I64Matrix:
        """The values of the criteria: (n, 5) int64."""
        return preemption.measures_at(self._rows, self._places, self._now_ns)

    def names(self, rows: I64Array) -> tuple[str, ...]:
        """Return the nodes of the candidates at `rows`, (k,) int64, sorted."""
        return tuple(sorted(at(self._names, self._slots[rows].tolist())))

    def first_by_name(self, rows: I64Array) -> int:
        """Return which of the candidates at `rows`, (k,) int64, has the smallest name."""
        return int(preemption.least_ranked(rows, self._slots, self._ranks))

    def __len__(self) -> int:
        return len(self._slots)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = self._places[index]
        pods, row = self._pods[place], self._rows[place].tolist()
        marks = self._marks[row[END] - row[LOWER] : row[END]].tolist()
        lower = pods[len(pods) - len(marks) :]
        return Candidate(
            node=self._names[self._slots[index]],
            victims=tuple([pod for pod, mark in zip(lower, marks, strict=True) if mark]),
            spared=tuple([pod for pod, mark in zip(lower, marks, strict=True) if not mark]),
            pdb_violations=row[VIOLATIONS],
        )


class SummedNodes:
    """A dry run over columns."""

    def __init__(self, failed: FilteredCycle, filters: SumFilters) -> None:
        self._failed = failed
        self._cluster = failed.cluster
        self._filters = filters

    @classmethod
    def of(cls, failed: FilteredCycle) -> SummedNodes | None:
        """Return this form of dry run, if the pod's filters allow it."""
        filters = failed.sum_filters()
        return None if filters is None else cls(failed, filters)

    def dry_run(self, slots: I32Array, required: int) -> DryRun | None:
        """Visit `slots` in order until there are enough candidates.

        None if pods start in the future: then the columns do not have the right order.

        Parameters
        ----------
        slots : (k,) int32
        required : int
            The sufficient number of candidates, if one of them violates no budget.
        """
        cluster, failed = self._cluster, self._failed
        n_slots, ranked = cluster.nodes.n_slots, cluster.ranked_pods
        room, touched = self._filters.room_for(failed.pod, cluster)
        blocked = self._filters.blocked(n_slots)
        codes: I64Array = np.empty(n_slots, dtype=np.int64)
        found: I32Array = np.empty(len(slots), dtype=np.int32)
        goal: I64Array = np.array([required, 0, 0], dtype=np.int64)
        ranked.record_changes()
        if ranked.latest_start_ns > failed.now_ns:
            return None
        tried = cluster.dry_run_cache.of(priority_of(failed.pod), room.pairs)
        # The results of slots with nominated pods are good for one search.
        tried.rows[touched, 0] = 0
        reach = max(2 * required, ranked.reach, 1)
        visited = 0
        while True:
            visited = preemption.visit(
                slots, visited, blocked, ranked.written, tried.rows, goal, codes, found
            )
            if visited == len(slots) or (goal[2] > 0 and goal[1] >= required):
                break
            # As many slots as a search needs; the pods of the others need not be sorted.
            if not self._try(slots[visited : visited + reach], room, tried):
                return None
        tried.rows[touched, 0] = 0
        # A quarter more than this search visited, so that a similar one writes them all at once.
        ranked.reach = visited + visited // 4
        count = goal.item(1)
        rejections, errors = (
            ((), ()) if count == visited else self._rejections(codes, slots[:visited])
        )
        return DryRun(
            candidates=SummedCandidates(cluster, found[:count], tried, failed.now_ns),
            rejections=rejections,
            errors=errors,
            visited_count=visited,
        )

    def _try(self, slots: I32Array, room: Room, tried: TriedSlots) -> bool:
        """Write what is not known of `slots`; return False if pods there start in the future."""
        cluster, failed = self._cluster, self._failed
        ranked = cluster.ranked_pods
        ranked.write(slots)
        if ranked.latest_start_ns > failed.now_ns:
            return False
        tried.reserve(len(ranked.priorities))
        left: I64Array = np.array(cluster.budgets.allowed, dtype=np.int64)
        preemption.try_slots(
            slots,
            *room,
            ranked.first,
            ranked.counts,
            ranked.priorities,
            ranked.starts,
            ranked.requests,
            ranked.budget_sets,
            ranked.set_first,
            ranked.set_members,
            ranked.written,
            tried.rows,
            tried.marks,
            left,
            priority_of(failed.pod),
        )
        return True

    def _rejections(
        self, codes: I64Array, visited: I32Array
    ) -> tuple[tuple[Rejection, ...], tuple[str, ...]]:
        """Return why the other nodes are not candidates, and the failure."""
        counts: dict[Status, int] = {}
        errors: list[str] = []
        distinct, how_many, _ = tally_kernels.tally(codes, visited)
        for code, count in zip(distinct.tolist(), how_many.tolist(), strict=True):
            if code == NO_LOWER_PRIORITY:
                counts[NO_VICTIMS] = counts.get(NO_VICTIMS, 0) + count
            elif code in (BLOCKED_BEFORE, BLOCKED_AFTER, HAS_ROOM):
                for slot in preemption.slots_with(codes, visited, code).tolist():
                    if code == HAS_ROOM:
                        status = expected_a_victim(self._cluster.nodes.names[slot])
                        errors.append(status.message)
                    else:
                        status = self._filters.blocking_status(slot)
                    counts[status] = counts.get(status, 0) + 1
            else:
                status = self._filters.status_of(code)
                counts[status] = counts.get(status, 0) + count
        rejections = tuple([Rejection(status, count) for status, count in counts.items()])
        return rejections, tuple(errors)


def at(values: Sequence[_T], indices: list[int]) -> tuple[_T, ...]:
    """Return the values at indices that ascend, with one wrap-around."""
    if not indices:
        return ()
    first, last = indices[0], indices[-1]
    if last - first == len(indices) - 1:
        # The common case is one contiguous range, which is four times as fast as a slice.
        return tuple(values[first : last + 1])
    found: tuple[_T, ...] = itemgetter(*indices)(values)
    return found


# The dry run: simulates preemption on nodes until there are enough candidates.


class Limits(msgspec.Struct, frozen=True):
    """How many candidates end a search that has found one without budget violations.

    Parameters
    ----------
    percentage : int
        Of the nodes that might help.
    least : int
        At least so many.
    """

    percentage: int = 10
    least: int = 100

    def required(self, node_count: int) -> int:
        """Return the number of candidates for so many nodes that might help.

        Notes
        -----
        Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
        `calculateNumCandidates`.
        """
        return min(max(node_count * self.percentage // 100, self.least), node_count)


_DEFAULT = Limits()


def dry_run(
    failed: FilteredCycle, limits: Limits | None = None, *, use_sums: bool = True
) -> DryRun:
    """Try the nodes where preemption might help.

    Parameters
    ----------
    limits : Limits, optional
    use_sums : bool
        False calls the filters for every node, even where one kernel suffices.

    Notes
    -----
    The nodes are visited in the order of their slots, from a drawn offset on. Upstream's are
    in the order of a map, and visited by several workers.
    Upstream: pkg/scheduler/framework/preemption/preemption.go, `findCandidates`,
    `DryRunPreemption`.
    """
    slots = failed.slots_where_preemption_may_help()
    if not len(slots):
        return DryRun()
    offset = 0
    if failed.profile.draws_preemption_offset:
        number = draw(failed.seed, OFFSET_STREAM, failed.cycle_number)
        # A draw over 2**DRAW_BITS is a fraction in [0, 1) of the number of slots.
        offset = number * len(slots) >> DRAW_BITS
        slots = np.concatenate([slots[offset:], slots[:offset]])
    if not failed.cluster.has_pods_below(priority_of(failed.pod)):
        rejections = (Rejection(NO_VICTIMS, len(slots)),)
        return DryRun(
            rejections=rejections,
            visited_count=len(slots),
            helpable_count=len(slots),
            offset=offset,
        )
    required = (limits or _DEFAULT).required(len(slots))
    summed = SummedNodes.of(failed) if use_sums else None
    found = None if summed is None else summed.dry_run(slots, required)
    if found is None:
        found = _run_filters(failed, slots, required)
    return msgspec.structs.replace(found, helpable_count=len(slots), offset=offset)


def _run_filters(failed: FilteredCycle, slots: I32Array, required: int) -> DryRun:
    """Simulate preemption node by node."""
    candidates: list[Candidate] = []
    statuses: list[Status] = []
    has_harmless = False
    visited = 0
    slot_filter = SlotFilter(failed.profile, failed.ranking)
    for slot in slots.tolist():
        visited += 1
        found = select_victims(failed, slot, slot_filter)
        if isinstance(found, Status):
            statuses.append(found)
            continue
        candidates.append(found)
        has_harmless |= not found.pdb_violations
        if has_harmless and len(candidates) >= required:
            break
    return DryRun(
        candidates=candidates,
        rejections=group(statuses),
        errors=tuple([s.message for s in statuses if s.code == Code.ERROR]),
        visited_count=visited,
    )


def group(statuses: Iterable[Status]) -> tuple[Rejection, ...]:
    """Count equal statuses, in the order in which they first appear."""
    counts: dict[Status, int] = {}
    for status in statuses:
        counts[status] = counts.get(status, 0) + 1
    return tuple([Rejection(status, count) for status, count in counts.items()])
