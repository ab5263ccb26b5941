"""Where the pods of a recorded run were placed, read from its decision log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from podwright.apimachinery.objects import NamespacedName, Pod, workload_of
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Bind, CallDone, EmitEvent, ObjectPut, PatchPodStatus
from podwright.simulation.recording.comparison.counterparts import Workloads
from podwright.simulation.recording.comparison.placements import Placements, PodPlacement, use_of
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import NO_ACTIONS, Entry, decode_actions
from podwright.simulation.recording.log.replay import replay


@dataclass(frozen=True, eq=False)
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
    """

    log: DecisionLog
    plugins: tuple[type[Plugin], ...]
    placements: Placements
    cycles: Mapping[NamespacedName, int]
    workloads: Workloads


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
    return RunPlacements(
        log=log,
        plugins=own,
        placements=Placements(reader.placements(), use_of(machine.cluster), len(reader.cycles)),
        cycles=reader.cycles,
        workloads=reader.workloads,
    )


class _Reader:
    """Follows the pods through the events and actions of a log."""

    def __init__(self) -> None:
        self.cycles: dict[NamespacedName, int] = {}
        self.workloads: dict[NamespacedName, tuple[str, NamespacedName]] = {}
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
            if not self._nodes.get(pod):
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
            for known in (self._nodes, self._nominated, self._messages, self.cycles):
                known.pop(key, None)
            workload = workload_of(pod)
            if workload is not None:
                self.workloads[key] = workload
        if pod.spec.node_name:
            self._nodes[key] = pod.spec.node_name

    def placements(self) -> dict[NamespacedName, PodPlacement]:
        return {
            key: PodPlacement(node=self._nodes[key])
            if self._nodes.get(key)
            else PodPlacement(
                nominated=self._nominated.get(key, ""), message=self._messages.get(key, "")
            )
            for key in self._uids
        }
