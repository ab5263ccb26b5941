"""The status of a Scenario of kube-scheduler-simulator: phase, step, and the timeline of its run.

The scenario runs in a cluster of its own, which is empty at the start. A step is the major step of
its operations; each binding and preemption of the scheduler is a minor step.

Upstream: kube-scheduler-simulator keps/140-scenario-based-simulation/README.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import msgspec

from podwright._version import __version__
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    Pod,
    PodwrightError,
    encode,
)
from podwright.cluster.api import SCHEDULER_USER, DeleteObject, EvictPod
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.scenarios.document import Object
from podwright.simulation.scenarios.reading import read_scenario
from podwright.simulation.world import (
    Apply,
    Create,
    Operation,
    Patch,
    RunArguments,
    Stop,
    started_run,
)

_FIELDS: Final = ("create", "patch", "delete", "done")
_SCHEDULER: Final = "scheduler"


def run_kep140(
    document: Object,
    scheduler: SchedulerOptions,
    report: Callable[[Object], None],
    *,
    call_extender: CallExtender | None = None,
) -> Object:
    """Run a Scenario, and return the last changes of its status.

    Parameters
    ----------
    document : dict
        The Scenario.
    scheduler : SchedulerOptions
        Of the scheduler that is simulated.
    report : callable
        Receives the changes of the status before each step but the first one.
    call_extender : callable, optional
        Makes the calls to the extenders of the scheduler.
    """
    timeline = _Timeline(report)
    try:
        scenario = read_scenario(msgspec.json.encode(document), source="Scenario", read=no_files)
        written = document["spec"].get("operations", ())
        timeline.operations = [written[number - 1] for number, _ in scenario.operations]
        prepared = scenario.prepare(
            scheduler=scheduler, observers=(timeline,), call_extender=call_extender
        )
        run = started_run(prepared, RunArguments(progress=False))
    except PodwrightError as error:
        return timeline.status("Failed", str(error))
    phase = "Succeeded" if timeline.is_done else "Paused"
    if run.unmet:
        phase = "Failed"
    return timeline.status(phase, "; ".join(run.warnings))


def no_files(names: Sequence[str]) -> NoReturn:
    """Reject the files `names` of a scenario.

    Raises
    ------
    InputError
    """
    why = "a scenario that a server runs has no files"
    raise InputError([FieldError(source=name, path="", message=why) for name in names])


class _Timeline:
    """Observes a run.

    Attributes
    ----------
    operations : list of dict
        Those of the scenario, in the order in which they are executed.
    is_done : bool
        Whether an operation has ended the scenario.
    """

    def __init__(self, report: Callable[[Object], None]) -> None:
        self.operations: list[Object] = []
        self.is_done = False
        self._report = report
        self._executed = 0
        self._generated = 0
        self._major = self._minor = 0
        self._events: list[Object] = []
        self._without_result: dict[tuple[GroupKind, str], Object] = {}

    def status(self, phase: str, message: str = "") -> Object:
        """Return the changes of the status since the step before, as a merge patch."""
        return {
            "phase": phase,
            "message": message,
            "stepStatus": {
                "step": self._step(),
                "phase": "ControllerRunning" if phase == "Running" else "Finished",
                "runningSimulationController": _SCHEDULER,
            },
            "scenarioResult": {
                "simulatorVersion": f"podwright {__version__}",
                "timeline": {str(self._major): self._events} if self._events else {},
            },
        }

    def operated(self, operation: Operation, now_ns: int) -> None:
        """Note an operation of the scenario."""
        if isinstance(operation, Apply):
            return  # an object that each world has
        written = self.operations[self._executed]
        self._executed += 1
        major = written.get("step", 0)
        if major != self._major:
            if self._events:
                self._report(self.status("Running"))
            self._major, self._minor, self._events = major, 0, []
        name = next(each for each in _FIELDS if written.get(f"{each}Operation") is not None)
        result: Object = {"operation": written[f"{name}Operation"]}
        self._add(name, result, written.get("id", ""))
        match operation:
            case Create(obj):
                self._without_result[kind_of(obj), obj.key] = result
            case Patch(object_kind, key):
                self._without_result[object_kind, key] = result
            case Stop():
                self.is_done = True
            case _:
                pass  # a deletion has no result

    def changed(
        self,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        now_ns: int,
    ) -> None:
        """Add the result of an operation, or a binding."""
        if new is None:
            return
        result = self._without_result.pop((kind_of(new), new.key), None)
        if result is not None:
            result["result"] = encode(new)
        if not isinstance(new, Pod) or not isinstance(old, Pod):
            return
        if new.spec.node_name and not old.spec.node_name:
            self._minor += 1
            self._add("podScheduled", {"result": encode(new)})

    def removal_handled(
        self,
        pod: Pod,
        request: DeleteObject | EvictPod,
        error: Exception | None,
        now_ns: int,
    ) -> None:
        """Add a preemption."""
        if error is None and request.user == SCHEDULER_USER:
            self._minor += 1
            metadata = {"name": pod.name, "namespace": pod.namespace}
            named = {"typeMeta": {"apiVersion": "v1", "kind": "Pod"}, "objectMeta": metadata}
            self._add("delete", {"operation": named})

    def _step(self) -> dict[str, int]:
        return {"major": self._major, "minor": self._minor}

    def _add(self, name: str, event: Object, identity: str = "") -> None:
        if not identity:
            self._generated += 1
            identity = f"event-{self._generated}"
        self._events.append({"id": identity, "step": self._step(), name: event})
