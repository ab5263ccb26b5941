"""The differences between scenarios, with their reasons.

A reason comes from the side's own cycle, explained in the state in which that side scheduled the
pod, so it agrees with `Scheduler.explain`. The first side is therefore scheduled twice: once for
its decisions, and again to explain those that differ from the decisions of the second side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from podwright.apimachinery.objects import NamespacedName, PodwrightError
from podwright.scheduler.assembly import Because, outcome_of
from podwright.scheduler.framework import Decision
from podwright.simulation.recording.comparison.counterparts import (
    counterparts,
    renamed,
    workloads_of,
)
from podwright.simulation.recording.comparison.placement_diff import PlacementDiff, compare
from podwright.simulation.recording.comparison.scenario import Scenario, ScheduledScenario, Watch

MOST_REASONS: Final = 500
"""For how many pods a page shows reasons; see `diff_scenarios`."""


class NotReproducible(PodwrightError):  # noqa: N818 - named for what it is
    """A scenario decides differently when it is scheduled again."""


def counted(advance: Callable[[int], None]) -> Watch:
    """Return what counts the decisions of a comparison, and passes on how many were made."""
    done = 0

    def watch(decisions: Iterable[Decision], _: int) -> Iterator[Decision]:
        nonlocal done
        for decision in decisions:
            yield decision
            done += 1
            advance(done)

    return watch


def decision_count(before: Scenario, *afters: Scenario, most_reasons: int | None = None) -> int:
    """Return how many decisions a comparison with each of several scenarios makes at most.

    The first side is scheduled again for the reasons. With a limit this ends early: how early is
    not known, and as many pods as the limit are counted.
    """
    first = _scheduled_count(before)
    again = first if most_reasons is None else min(first, most_reasons)
    return first + sum(_scheduled_count(after) + again for after in afters)


def _scheduled_count(scenario: Scenario) -> int:
    return sum(scenario.reschedule or not pod.spec.node_name for pod in scenario.pods)


def diff_scenarios(
    before: Scenario,
    after: Scenario,
    *,
    most_reasons: int | None = None,
    watch: Watch | None = None,
) -> PlacementDiff:
    """Schedule two scenarios and compare the results.

    Parameters
    ----------
    before, after : Scenario
    most_reasons : int, optional
        The number of differing pods, first in the order of the second side, for which reasons are
        found; all if left out. A reason costs several times as much as a decision, and later
        differences mostly follow the first ones.
    watch : callable, optional
        Shows the progress.

    Raises
    ------
    NotReproducible
        If the first side decides differently when it is scheduled again.
    """
    (diff,) = diff_with_each(before, (after,), most_reasons=most_reasons, watch=watch)
    return diff


def diff_with_each(
    before: Scenario,
    afters: Iterable[Scenario],
    *,
    most_reasons: int | None = None,
    watch: Watch | None = None,
) -> list[PlacementDiff]:
    """Schedule a scenario once, and compare it with each of several others.

    See `diff_scenarios` for the parameters and errors.
    """
    first = ScheduledScenario(before, watch=watch)
    return [_diff(before, first, after, most_reasons, watch) for after in afters]


def _diff(
    before: Scenario,
    first: ScheduledScenario,
    after: Scenario,
    most_reasons: int | None,
    watch: Watch | None,
) -> PlacementDiff:
    pods = [scenario.pods for scenario in (before, after)]
    pairs = counterparts(
        *map(workloads_of, pods),
        pods_before={pod.key for pod in pods[0]},
        pods_after={pod.key for pod in pods[1]},
    )
    names = {after_key: key for key, after_key in pairs.items()}
    second = ScheduledScenario(
        after,
        others={pairs.get(key, key): decision for key, decision in first.decisions.items()},
        most_reasons=most_reasons,
        watch=watch,
    )
    after_reasons = {names.get(key, key): because for key, because in second.reasons.items()}
    reasons: Mapping[NamespacedName, Because | None] = {}
    if after_reasons:
        others = {names.get(key, key): second.decisions[key] for key in second.reasons}
        again = ScheduledScenario(before, others=others, is_cut=True, watch=watch)
        _check_reproduced(first, again, len(others))
        reasons = again.reasons
    return compare(
        first.placements(),
        renamed(second.placements(), pairs),
        {key: (reasons.get(key), because) for key, because in after_reasons.items()},
        pairs,
    )


def _check_reproduced(
    first: ScheduledScenario, again: ScheduledScenario, reason_count: int
) -> None:
    for key, decision in first.decisions.items():
        repeated = again.decisions.get(key)
        if repeated is None and len(again.reasons) == reason_count:
            continue  # after the last pod with a reason
        if repeated is None or outcome_of(repeated) != outcome_of(decision):
            raise NotReproducible(
                f"pod {key} was scheduled differently when the first side was scheduled again, so"
                " the differences cannot be explained: a plugin or an extender depends on state"
                " that is not in the cluster, such as a class variable"
            )
