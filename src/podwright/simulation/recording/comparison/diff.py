"""The differences between two scenarios or two recorded runs, with their reasons.

The reason of a difference comes from the side's own cycle, explained in the state in which that
side scheduled the pod, so it agrees with `Scheduler.explain` and `explain_cycle`. The first side of
two scenarios is therefore scheduled twice: once for its decisions, and again to explain those that
differ from the decisions of the second side. Runs are replayed to the cycles that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

from podwright._progress import metered
from podwright.apimachinery.objects import NamespacedName, PodwrightError
from podwright.scheduler.assembly import Because, objection_to, outcome_of
from podwright.scheduler.framework import Decision, Plugin
from podwright.simulation.recording.comparison.counterparts import (
    counterparts,
    renamed,
    workloads_of,
)
from podwright.simulation.recording.comparison.placement_diff import (
    PlacementDiff,
    changes_of,
    compare,
)
from podwright.simulation.recording.comparison.placements import Placements
from podwright.simulation.recording.comparison.run_placements import (
    RunPlacements,
    placements_of_run,
)
from podwright.simulation.recording.comparison.scenario import Scenario, ScheduledScenario, Watch
from podwright.simulation.recording.explanations.explain import explain_cycles
from podwright.simulation.recording.log.decision_log import DecisionLog

MOST_REASONS: Final = 500
"""For how many pods a page shows reasons; see `diff_scenarios`."""


class NotReproducible(PodwrightError):  # noqa: N818 - named for what it is
    """A scenario decides differently when it is scheduled again."""


@runtime_checkable
class RecordedRun(Protocol):
    """A run that has a decision log, such as `pw.Run`."""

    @property
    def log(self) -> DecisionLog:
        """The decision log."""
        ...


DiffSide: TypeAlias = Scenario | RecordedRun | DecisionLog | str | Path


def diff(
    before: DiffSide,
    after: DiffSide,
    *,
    plugins: Iterable[type[Plugin]] = (),
    progress: bool | None = None,
) -> PlacementDiff:
    """Compare where the pods of two scenarios or of two recorded runs are placed.

    Parameters
    ----------
    before, after : Scenario, Run, DecisionLog, str or Path
        Two scenarios, or two runs: a run, its log, or its folder.
    plugins : iterable of type
        The custom plugin classes that the runs were recorded with; scenarios have their own.
    progress : bool, optional
        Whether to show the progress; by default in terminals and notebooks, if it takes long.

    Raises
    ------
    TypeError
        If the sides are not both scenarios or both runs.
    InputError
        If the configuration of a scenario is not valid.
    LogError
        If a log cannot be read, or its run cannot be replayed.
    """
    if isinstance(before, Scenario) and isinstance(after, Scenario):
        return _diff_with_progress(before, after, is_shown=progress)
    if isinstance(before, Scenario) or isinstance(after, Scenario):
        raise TypeError("diff compares two scenarios or two runs, not a scenario with a run")
    own = tuple(plugins)
    sides = []
    with metered("comparing runs", 2, is_shown=progress) as meter:
        for number, side in enumerate((before, after)):
            sides.append(placements_of_run(log_of(side), own))
            meter.advance(number + 1)
        return diff_runs(*sides)


def _diff_with_progress(
    before: Scenario, after: Scenario, *, is_shown: bool | None
) -> PlacementDiff:
    total = decision_count(before, after)
    with metered("scheduling", total, is_shown=is_shown) as meter:
        return diff_scenarios(before, after, watch=counted(meter.advance))


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


def log_of(run: RecordedRun | DecisionLog | str | Path) -> DecisionLog:
    """Return the decision log of a run; a path is a run folder or the folder of a log.

    Raises
    ------
    LogError
        If the log cannot be read.
    """
    if isinstance(run, DecisionLog):
        return run
    if isinstance(run, str | Path):
        inner = Path(run) / "log"
        return DecisionLog.open(inner if inner.is_dir() else run)
    if isinstance(run, RecordedRun):
        return run.log
    raise TypeError(
        f"a side of diff is a Scenario, a Run, a DecisionLog or a path, not {type(run).__name__}"
    )


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


def diff_runs(before: RunPlacements, after: RunPlacements) -> PlacementDiff:
    """Compare two recorded runs, and explain the cycles that placed pods differently.

    Raises
    ------
    LogError
        If a run cannot be replayed.
    """
    pairs = counterparts(
        before.workloads,
        after.workloads,
        pods_before=before.placements.pods,
        pods_after=after.placements.pods,
    )
    placements = before.placements, renamed(after.placements, pairs)
    changes = changes_of(*placements)
    reasons = (
        _reasons_of_run(before, {key: key for key in changes}, placements[1]),
        _reasons_of_run(after, {key: pairs.get(key, key) for key in changes}, placements[0]),
    )
    return compare(
        *placements,
        {key: (reasons[0].get(key), reasons[1].get(key)) for key in changes},
        pairs,
    )


def _reasons_of_run(
    mine: RunPlacements, names: Mapping[NamespacedName, NamespacedName], theirs: Placements
) -> dict[NamespacedName, Because | None]:
    """Return the reasons of a run against the nodes of another run.

    Parameters
    ----------
    names : dict of str to str
        The name in `mine` of each pod that differs, by its name in `theirs`.
    """
    pods = {
        name: (key, placement.node)
        for key, name in names.items()
        if name in mine.cycles
        and (placement := theirs.pods.get(key)) is not None
        and placement.node
    }
    requested = [(mine.cycles[name], name) for name in pods]
    found = {}
    for name, explanation in explain_cycles(mine.log, requested, plugins=mine.plugins):
        key, node = pods[name]
        found[key] = objection_to(explanation, explanation.decision.node, node)
    return found
