"""The dry run: simulates preemption on nodes until there are enough candidates."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from podwright._arrays import I32Array
from podwright.apimachinery.objects import DRAW_BITS, OFFSET_STREAM, draw
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import Code, FilteredCycle, Rejection, SlotFilter, Status
from podwright.scheduler.preemption.candidates import Candidate, DryRun
from podwright.scheduler.preemption.sums import SummedNodes
from podwright.scheduler.preemption.victims import NO_VICTIMS, select_victims


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
        if offset:
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
