"""PostFilter: plugins that try to make room for a pod that fits on no node.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPostFilterPlugins`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Final

import msgspec
import numpy as np

from podwright._arrays import I32Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework.adapter import PluginFailure, described
from podwright.scheduler.framework.binding import ApiCall
from podwright.scheduler.framework.cycle import FailedCycle
from podwright.scheduler.framework.decision import PostFilterResult
from podwright.scheduler.framework.extenders.extender_calls import CalledExtender, Steps
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.rows import VerdictRow
from podwright.scheduler.framework.rankings.sums import SumFilters
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import preemption, tally as tally_kernels

_NO_SLOTS: I32Array = np.empty(0, dtype=np.int32)
_NO_STATUSES: Mapping[str, Status] = {}
_ABSENT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class FilteredCycle(FailedCycle):
    """A failed cycle with the results of its filters.

    Attributes
    ----------
    profile : Profile
    ranking : Ranking
        The results of the filters.
    """

    __slots__ = ("_examined", "_extender_statuses", "_nominated", "profile", "ranking")

    def __init__(
        self,
        pod: Pod,
        profile: Profile,
        ranking: Ranking,
        examined: I32Array = _NO_SLOTS,
        nominated: NominatedCheck | None = None,
        *,
        extenders: tuple[CalledExtender, ...] = (),
        extender_statuses: Mapping[str, Status] = _NO_STATUSES,
    ) -> None:
        super().__init__(pod, ranking.cycle.of(pod), extenders)
        self.profile = profile
        self.ranking = ranking
        self._examined = examined
        self._nominated = nominated
        self._extender_statuses = extender_statuses

    @property
    def outcome(self) -> PreFilterOutcome:
        """The result of PreFilter."""
        return self.ranking.outcome

    def sum_filters(self) -> SumFilters | None:
        """Return the filters as sums, if they have that form."""
        known = None if self._nominated is None else self._nominated.filters
        return SumFilters.of(self.ranking) if known is None else known

    def status_of(self, node_name: str) -> Status:
        """Return why a node was rejected; unresolvable if it was not evaluated."""
        if self.outcome.rejection is not None:
            return self.outcome.rejection
        slot = self.cluster.nodes.slot_of.get(node_name)
        if slot is None:
            return _ABSENT
        by_extender = self._extender_statuses.get(node_name)
        if by_extender is not None:
            return by_extender
        by_nominated = None if self._nominated is None else self._nominated.rejected.get(slot)
        if by_nominated is not None:
            return by_nominated
        if slot in self._examined:
            status = self.ranking.first_rejection(slot)
            if not status.is_success:
                return status
            # An extender removed it without a reason.
        return self.outcome.absent_status()

    def slots_where_preemption_may_help(self) -> I32Array:
        """Return the nodes whose rejection could be undone by removing pods.

        Upstream: pkg/scheduler/framework/types.go, `NodeToStatus.NodesForStatusCode`.
        """
        if self.outcome.rejection is not None:
            helps = self.outcome.rejection.code == Code.UNSCHEDULABLE
            return self.cluster.live_slots() if helps else _NO_SLOTS
        found: list[I32Array] = []
        undecided = self._examined
        if self._nominated is not None:
            undecided = self._nominated.without_rejected(undecided)
            found.append(self._nominated.slots_with_code(Code.UNSCHEDULABLE))
        for row in self.ranking.filters:
            if isinstance(row, VerdictRow) and not row.rejects_any:
                continue
            codes, counts, passing = tally_kernels.tally(row.verdicts.codes, undecided)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                if row.verdicts.status_of(code).code == Code.UNSCHEDULABLE:
                    is_everywhere = count == len(undecided)
                    found.append(
                        undecided
                        if is_everywhere
                        else preemption.slots_with(row.verdicts.codes, undecided, code)
                    )
            undecided = passing
        if self._extender_statuses:
            found = self._with_extenders(found)
        found = [slots for slots in found if len(slots)]
        if not found:
            return _NO_SLOTS
        if len(found) == 1:
            return found[0]
        together: I32Array = np.sort(np.concatenate(found))
        return together

    def _with_extenders(self, found: list[I32Array]) -> list[I32Array]:
        """Return the extender's status of a node if there is one, else the filters'."""
        slot_of = self.cluster.nodes.slot_of
        by_extender = {
            slot_of[name]: status
            for name, status in self._extender_statuses.items()
            if name in slot_of
        }
        kept = [slots[~np.isin(slots, list(by_extender))] for slots in found]
        more = [slot for slot, status in by_extender.items() if status.code == Code.UNSCHEDULABLE]
        return [*kept, np.array(sorted(more), dtype=np.int32)]


def run_post_filters(failed: FilteredCycle) -> PostFilterResult:
    """Run the PostFilter plugins in order; none of them may call extenders.

    Returns
    -------
    PostFilterResult
        As `post_filter_steps` returns it.
    """
    steps = post_filter_steps(failed)
    try:
        question = next(steps)
    except StopIteration as end:
        result: PostFilterResult = end.value
        return result
    raise AssertionError(f"an extender call needs the steps: {question!r}")


def post_filter_steps(failed: FilteredCycle) -> Steps[PostFilterResult]:
    """Run the PostFilter plugins in order; yield their calls to extenders.

    Returns
    -------
    PostFilterResult
        The result of the first plugin that succeeds, returns unresolvable, or fails. Otherwise
        the reasons of all plugins, and the last nomination.
    """
    reasons: list[str] = []
    nominated_node: str | None = None
    details: object | None = None
    rejected_by = ""
    calls: tuple[ApiCall, ...] = ()
    for plugin in failed.profile.post_filter:
        result = yield from _call(plugin, failed)
        code = result.status.code
        calls += result.calls
        if not result.status.is_rejection or code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            if code == Code.ERROR:
                # Upstream drops what a plugin that fails nominates.
                result = msgspec.structs.replace(result, nominated_node=None)
            return msgspec.structs.replace(result, calls=calls) if calls else result
        if result.nominated_node is not None:
            nominated_node = result.nominated_node
        if result.details is not None:
            details = result.details
        reasons += result.status.reasons
        # As upstream, the first plugin that rejects signs for all.
        rejected_by = rejected_by or plugin.name
    return PostFilterResult(
        status=Status(Code.UNSCHEDULABLE, tuple(reasons), rejected_by),
        nominated_node=nominated_node,
        details=details,
        calls=calls,
    )


def _call(plugin: Plugin, failed: FilteredCycle) -> Steps[PostFilterResult]:
    """Call one plugin; an exception becomes an ERROR."""
    try:
        answer = plugin.post_filter(failed.cycle, failed)
        result: object = (yield from answer) if isinstance(answer, Generator) else answer
    except PluginFailure as failure:
        return PostFilterResult(status=failure.status)
    except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
        return PostFilterResult(status=_raised(plugin, failed, error))
    if not isinstance(result, PostFilterResult):
        wrong = TypeError(f"returned {described(result)}, not a PostFilterResult")
        return PostFilterResult(status=_raised(plugin, failed, wrong))
    for name, kind in _TYPES.items():
        value = getattr(result, name)
        if not isinstance(value, kind):
            wrong = TypeError(f"`{name}` of the PostFilterResult is {described(value)}")
            return PostFilterResult(status=_raised(plugin, failed, wrong))
    return PostFilterResult(
        status=result.status.by(plugin.name),
        nominated_node=result.nominated_node,
        details=result.details,
        calls=result.calls,
    )


_TYPES: Final = {"status": Status, "nominated_node": str | None, "calls": tuple}


def _raised(plugin: Plugin, failed: FilteredCycle, error: Exception) -> Status:
    return PluginFailure.raised(plugin, "PostFilter", failed.cycle, error).status
