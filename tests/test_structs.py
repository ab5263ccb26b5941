"""Which structs can be changed after they are made, and how snapshots are written."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

SOURCE = Path(__file__).parents[1] / "src" / "podwright"

CHANGED_IN_PLACE = {
    "api.admission.attributes.Attributes",
    "api.endpoints.calls.Call",
    "api.endpoints.prepared_creates._Template",
    "apiserver.breakpoints.Breakpoint",
    "apiserver.event_correlation.CountedEvent",
    "apiserver.event_correlation._Allowance",
    "apiserver.event_correlation._Similar",
    "cel.declarations.Function",
    "cel.rule_nodes.RuleNode",
    "cel.schema_types.DeclaredType",
    "classic.preemption.Preemption",
    "classic.resources.Resources",
    "classic.scheduler.Decision",
    "controllers.job._Memory",
    "controllers.job_counts.JobCounts",
    "controllers.job_spec.ParsedJob",
    "controllers.node_zones.Zone",
    "controllers.rollout.RolloutSet",
    "framework.extender_cycle.ExtenderCycle",
    "framework.extenders.ExtenderAnswers",
    "kss.live_results._Pod",
    "objects.event_series.RecentEvent",
    "parity.classic_setup._HostPriority",
    "parity.config._Result",
    "parity.report.FamilyReport",
    "recording.log_checkpoints.CheckpointIndex",
    "recording.log_checkpoints.CheckpointObjects",
    "recording.log_format.EventBlock",
    "recording.log_format.EventIndex",
    "recording.log_format.Objects",
    "recording.log_format.Pods",
    "recording.run_contents._Summary",
    "recording.run_manifest._Format",
    "recording.run_tables.Counts",
    "recording.run_tables.Waiting",
    "recording.time_weighted.TimeWeightedShare",
    "recording.utilization.ResourceUse",
    "shadow.attempts.Attempt",
    "simulation.disruptions.DrainRecord",
    "simulation.disruptions.Evictions",
    "simulation.workload_health.WorkloadRecord",
    "stages.kubelet.pod_conditions._Counts",
    "stages.kubelet.pod_records.ContainerRecord",
    "stages.kubelet.pod_records.PodRecord",
    "stages.kubelet.pod_records.ProbeRecord",
    "stages.kubelet.pod_records.RunRecord",
    "stages.kubelet.shell.syntax.Redirection",
    "stages.object_state.ObjectState",
    "store.history.Change",
}
"""The structs that their owner changes; all others are values that many places share."""

WRITTEN_BY_NAME = {"queueing.snapshot.QueueSnapshot", "machine.snapshot.MachineSnapshot"}
WRITTEN_BY_POSITION = ("machine.actions.", "machine.snapshot.", "queueing.snapshot.")
"""What logs and checkpoints hold many times is written without the names of the fields."""


@cache
def structs() -> dict[str, type[msgspec.Struct]]:
    """Return the structs of podwright, by module and name."""
    return dict(_structs())


def _structs() -> Iterator[tuple[str, type[msgspec.Struct]]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if "tests" in parts or parts[-1] in {"__init__", "__main__"}:
            continue
        module = importlib.import_module(".".join(("podwright", *parts)))
        for name, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, msgspec.Struct) and member.__module__ == module.__name__:
                yield f"{'.'.join(parts)}.{name}", member


def test_structs_are_values_unless_they_are_listed() -> None:
    changeable = {name for name, cls in structs().items() if not cls.__struct_config__.frozen}
    assert changeable == CHANGED_IN_PLACE


@pytest.mark.parametrize("module", WRITTEN_BY_POSITION)
def test_logs_and_checkpoints_hold_no_field_names(module: str) -> None:
    found = {name: cls for name, cls in structs().items() if name.startswith(module)}
    assert found
    named = {name for name, cls in found.items() if not cls.__struct_config__.array_like}
    assert named == WRITTEN_BY_NAME & set(found)
