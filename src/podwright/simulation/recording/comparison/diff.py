"""The differences between two scenarios or two recorded runs, with their reasons.

`scenario_diff` compares scenarios. Runs are replayed to the cycles that differ, so their reasons
agree with `explain_cycle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from podwright._progress import metered
from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.assembly import Because, objection_to
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording.comparison.counterparts import (
    counterparts,
    renamed,
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
from podwright.simulation.recording.comparison.scenario import (
    Scenario,
    counted,
    decision_count,
    diff_scenarios,
)
from podwright.simulation.recording.explanations.explain import explain_cycles
from podwright.simulation.recording.log.decision_log import DecisionLog


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
