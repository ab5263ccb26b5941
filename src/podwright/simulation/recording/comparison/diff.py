"""The differences between two scenarios or two recorded runs, with their reasons.

Runs are replayed to the cycles that differ, so their reasons agree with `explain_cycle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from podwright._progress import metered
from podwright.apimachinery.objects import NamespacedName, Pod, workload_of
from podwright.scheduler.assembly import Because, objection_to
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Bind, CallDone, EmitEvent, ObjectPut, PatchPodStatus
from podwright.simulation.recording.comparison.placement_diff import (
    PlacementDiff,
    changes_of,
    compare,
)
from podwright.simulation.recording.comparison.placements import (
    Placements,
    PodPlacement,
    Replicas,
    Workloads,
    controller_of_replica,
    counterparts,
    paired_replicas,
    renamed,
    use_of,
)
from podwright.simulation.recording.comparison.scenario import (
    Scenario,
    counted,
    decision_count,
    diff_scenarios,
)
from podwright.simulation.recording.explanations.explain import explain_cycles
from podwright.simulation.recording.folders.run_contents import open_log
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import NO_ACTIONS, Entry, decode_actions
from podwright.simulation.recording.log.replay import replay

# Where the pods of a recorded run were placed, read from its decision log.


@dataclass(frozen=True, eq=False, kw_only=True)
class RunPlacements:
    """The placements of a run.

    Parameters
    ----------
    log : DecisionLog
    plugins : tuple of type
        The out-of-tree plugin classes that the run was recorded with.
    placements : Placements
        The last node of each pod of the run, also of pods that ended or were deleted; the nodes
        are used as at the end of the run.
    cycles : dict of str to int
        For each pod that was scheduled, the number of the event in which the cycle ended that
        decided its placement.
    workloads : dict of str to tuple of str
        The kind and the name of the workload of each pod that has one, in order of creation.
    replicas : dict of str to tuple of str
        What controls each pod with a generated name, and its node, in order of creation.
    """

    log: DecisionLog
    plugins: tuple[type[Plugin], ...]
    placements: Placements
    cycles: Mapping[NamespacedName, int]
    workloads: Workloads
    replicas: Replicas


def placements_of_run(log: DecisionLog, plugins: Iterable[type[Plugin]] = ()) -> RunPlacements:
    """Read the placements of a run.

    Raises
    ------
    LogError
        If the log cannot be read, or its run cannot be replayed.
    """
    own = tuple(plugins)
    reader = _Reader()
    for entry in log.entries():
        reader.read(entry)
    machine = replay(log, plugins=own)
    placements = reader.placements()
    return RunPlacements(
        log=log,
        plugins=own,
        placements=Placements(placements, use_of(machine.cluster), len(reader.cycles)),
        cycles=reader.cycles,
        workloads=reader.workloads,
        replicas={
            key: (controller, placements[key].node) for key, controller in reader.replicas.items()
        },
    )


class _Reader:
    """Follows the pods through the events and actions of a log."""

    def __init__(self) -> None:
        self.cycles: dict[NamespacedName, int] = {}
        self.workloads: dict[NamespacedName, tuple[str, NamespacedName]] = {}
        self.replicas: dict[NamespacedName, str] = {}
        self._uids: dict[NamespacedName, str] = {}
        self._nodes: dict[NamespacedName, str] = {}
        self._nominated: dict[NamespacedName, str] = {}
        self._messages: dict[NamespacedName, str] = {}
        self._binds: dict[int, Bind] = {}

    def read(self, entry: Entry) -> None:
        match entry.event:
            case ObjectPut(obj) if isinstance(obj, Pod):
                self._put(obj)
            case CallDone(call, error) if call in self._binds:
                bind = self._binds.pop(call)
                if error is None and self._uids.get(bind.pod) == bind.uid:
                    self._nodes[bind.pod] = bind.node
            case _:
                pass
        for pod in entry.pods:
            self.cycles.pop(pod, None)  # to the end: in the order of the last cycles
            self.cycles[pod] = entry.index
        if entry.actions == NO_ACTIONS:
            return
        for action in decode_actions(entry.actions):
            match action:
                case Bind(call):
                    self._binds[call] = action
                case EmitEvent(pod=pod, reason="FailedScheduling", note=note):
                    self._messages[pod] = note
                case PatchPodStatus(pod=pod, nominated_node=node) if node is not None:
                    self._nominated[pod] = node
                case _:
                    pass

    def _put(self, pod: Pod) -> None:
        key = pod.key
        if self._uids.get(key) != pod.metadata.uid:
            self._uids[key] = pod.metadata.uid
            for known in (
                self._nodes, self._nominated, self._messages,
                self.cycles, self.workloads, self.replicas,
            ):  # fmt: skip
                known.pop(key, None)
            workload = workload_of(pod)
            if workload is not None:
                self.workloads[key] = workload
            controller = controller_of_replica(pod)
            if controller:
                self.replicas[key] = controller
        if pod.spec.node_name:
            self._nodes[key] = pod.spec.node_name

    def placements(self) -> dict[NamespacedName, PodPlacement]:
        return {
            key: PodPlacement(node=self._nodes[key])
            if self._nodes.get(key)
            else PodPlacement(
                nominated=self._nominated.get(key, ""), message=self._messages.get(key, "")
            )
            for key in {**self.cycles, **self._uids}
            if key in self._uids
        }


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
        return open_log(Path(run))
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
    replicas = paired_replicas(before.replicas, after.replicas)
    taken = set(replicas.values())
    pairs = replicas | counterparts(
        {key: workload for key, workload in before.workloads.items() if key not in replicas},
        {key: workload for key, workload in after.workloads.items() if key not in taken},
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
        {key: other for key, other in pairs.items() if key != other},
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
