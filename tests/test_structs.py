"""Which structs can be changed, which are made by position, and how snapshots are written."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podwright as pw

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "podwright"

CHANGED_IN_PLACE = {
    "cluster.api.admission.attributes.Attributes",
    "cluster.api.endpoints.calls.Call",
    "cluster.api.stages.write.DraftWrite",
    "cluster.api.stages.write.ObjectWrite",
    "cluster.api.stages.write.SentWrite",
    "cluster.api.stages.write.Write",
    "simulation.scenarios.expectations.ObservedPod",
    "online.apiserver.breakpoints.Breakpoint",
    "online.apiserver.event_correlation.CountedEvent",
    "online.apiserver.event_correlation._Allowance",
    "online.apiserver.event_correlation._Similar",
    "apimachinery.cel.types.Function",
    "apimachinery.cel.uses.rule_nodes.RuleNode",
    "apimachinery.cel.uses.schema_types.DeclaredType",
    "scheduler.columns.placement.PlacedPod",
    "scheduler.classic.preemption.Preemption",
    "scheduler.classic.node_info.Resources",
    "scheduler.classic.scheduler.Decision",
    "cluster.controllers.autoscaling.scaling_limits.ScalingHistory",
    "cluster.controllers.batch.job._Memory",
    "cluster.controllers.batch.job_counts.JobCounts",
    "cluster.controllers.batch.job_spec.ParsedJob",
    "cluster.controllers.nodes.node_lifecycle.Zone",
    "cluster.controllers.apps.rollout.RolloutSet",
    "scheduler.framework.extenders.extender_cycle.ExtenderCycle",
    "scheduler.framework.extenders.extender_calls.ExtenderAnswers",
    "simulation.kss.live_results._Pod",
    "apimachinery.objects.event_series.RecentEvent",
    "testing.parity.classic.classic_setup._HostPriority",
    "testing.parity.config._Result",
    "testing.parity.report.FamilyReport",
    "simulation.recording.log.memory_checkpoints.CheckpointIndex",
    "simulation.recording.log.memory_checkpoints.CheckpointObjects",
    "simulation.recording.log.log_format.EventBlock",
    "simulation.recording.log.log_format.EventIndex",
    "simulation.recording.log.log_format.Objects",
    "simulation.recording.log.log_format.Pods",
    "simulation.recording.log.log_pods.SpecCell",
    "simulation.recording.log.log_pods.StatusCell",
    "simulation.recording.folders.run_contents._Summary",
    "simulation.recording.folders.run_manifest._Format",
    "simulation.recording.folders.run_tables.Counts",
    "simulation.recording.folders.run_tables.Waiting",
    "simulation.recording.usage.utilization.TimeWeightedShare",
    "simulation.recording.usage.utilization.ResourceUse",
    "simulation.shadow.attempts.Attempt",
    "simulation.world.runs.disruptions.DrainRecord",
    "simulation.world.runs.disruptions.Evictions",
    "simulation.world.runs.workload_health.WorkloadRecord",
    "simulation.world.timing.fitting._Attempt",
    "cluster.kubelets.kubelet.pod_status._Counts",
    "cluster.kubelets.kubelet.pod_records.ContainerRecord",
    "cluster.kubelets.kubelet.pod_records.PodRecord",
    "cluster.kubelets.kubelet.pod_records.ProbeRecord",
    "cluster.kubelets.kubelet.pod_records.RunRecord",
    "cluster.kubelets.kubelet.shell.syntax.Redirection",
    "cluster.kubelets.object_state.ObjectState",
}
"""The structs that their owner changes; all others are values that many places share."""

WRITTEN_BY_NAME = {
    "scheduler.queueing.capture.QueueSnapshot",
    "scheduler.machine.snapshot.MachineSnapshot",
}
WRITTEN_BY_POSITION = (
    "scheduler.machine.actions.",
    "scheduler.machine.snapshot.",
    "scheduler.queueing.capture.",
)
"""What logs and checkpoints hold many times is written without the names of the fields."""

SETTINGS: dict[tuple[str, bool], set[str]] = {
    # Made in great numbers, and never part of a cycle: the garbage collector does not visit them.
    ("gc", False): {
        "apimachinery.cel.types.Type",
        "apimachinery.cel.values.Duration",
        "apimachinery.cel.values.Timestamp",
        "apimachinery.cel.values.TypeValue",
        "apimachinery.objects.errors.FieldError",
        "apimachinery.objects.kinds.ObjectDeleted",
        "apimachinery.objects.kinds.ObjectPut",
        "apimachinery.objects.meta.Struct",
        "apimachinery.objects.openb.OpenbTimes",
        "apimachinery.objects.quantity.Quantity",
        "apimachinery.objects.selecting.node_terms.",
        "apimachinery.objects.selecting.selector.Requirement",
        "apimachinery.objects.selecting.selector.Selector",
        "apimachinery.schema.table.Column",
        "apimachinery.schema.types.TypeRef",
        "cluster.api.deletion.DeleteOptions",
        "cluster.api.deletion.Deletion",
        "cluster.api.pods.binding.Binding",
        "cluster.api.pods.binding._Scheduled",
        "cluster.api.requests.",
        "cluster.api.stages.write.Write",
        "cluster.controllers.interface.",
        "cluster.controllers.pod_state._Candidate",
        "cluster.kubelets.object_state.ObjectState",
        "cluster.kubelets.object_state.SavedObjectState",
        "cluster.kubelets.object_state.ScheduleStage",
        "cluster.kubelets.object_state.ScheduledStage",
        "cluster.kubelets.object_state.StageDue",
        "cluster.kubelets.pod_statuses._SharedStatus",
        "cluster.store.history.",
        "cluster.store.pages.Page",
        "cluster.store.query.Query",
        "cluster.store.stored.Mark",
        "cluster.store.stored.Stored",
        "scheduler.classic.backoff.BackoffRecord",
        "scheduler.columns.placement.PlacedPod",
        "scheduler.columns.placement.PodKeys",
        "scheduler.framework.binding.CallError",
        "scheduler.framework.rankings.scores.RequestScore",
        "scheduler.framework.status.Status",
        "scheduler.machine.actions.",
        "scheduler.machine.events.",
        "simulation.files.json_documents._Item",
        "simulation.files.json_documents._List",
        "simulation.files.object_reader.Sourced",
        "simulation.files.object_reader.SourcedDocument",
        "simulation.files.record.RecordLine",
        "simulation.files.scheduler_log.LogLine",
        "simulation.recording.log.log_format.Entry",
        "simulation.recording.log.log_format.FrameHead",
        "simulation.recording.log.log_format.Outcome",
        "simulation.recording.log.log_pods.",
        "simulation.world.inputs.conditions.Step",
        "simulation.world.inputs.conditions.StepDue",
        "simulation.world.inputs.event_lines.PodEnd",
        "simulation.world.inputs.openb_arrivals.Arrival",
        "simulation.world.inputs.operations.",
        "simulation.world.observers.KubernetesEvent",
        "simulation.world.timing.delays.CycleOver",
        "simulation.world.world_rounds.Subscription",
    },
    # Compared by identity: they hold arrays, or each of them is one of its kind.
    ("eq", False): {
        "apimachinery.cel.values.Timestamp",
        "cluster.api.admission.plugin.AdmissionContext",
        "cluster.api.admission.policies.active_policies.ActivePolicy",
        "cluster.api.admission.policies.parameters.Invocation",
        "cluster.api.endpoints.calls.Call",
        "cluster.api.endpoints.forms.known._Known",
        "cluster.api.endpoints.forms.templates.Part",
        "cluster.api.endpoints.forms.templates.Template",
        "cluster.api.endpoints.forms.templates._Marked",
        "cluster.api.stages.write.Parts",
        "cluster.api.stages.write.Write",
        "cluster.api.versions.resources.Resource",
        "scheduler.columns.placement.PlacedPod",
        "scheduler.columns.placement.PodKeys",
        "scheduler.framework.rankings.scores.RequestScore",
    },
    # Documents in which an unknown field is an error, not a field of a newer version.
    ("forbid_unknown_fields", True): {
        "apimachinery.devices.cards.",
        "apimachinery.schema.table.KindRow",
        "online.apiserver.control.clock.ClockSpeed",
        "online.apiserver.control.clock.ClockStep",
        "online.apiserver.control.clock.ClockTarget",
        "online.apiserver.control.clock.NewBreakpoint",
        "online.apiserver.control.scheduling.benchmarks.SchedulerPerfRequest",
        "online.apiserver.control.scheduling.configuration.OtherConfiguration",
        "online.apiserver.control.scheduling.planning.AutoscalingRequest",
        "online.apiserver.control.scheduling.planning.CapacityRequest",
        "online.apiserver.control.scheduling.planning.DrainPlanRequest",
        "online.apiserver.control.scheduling.planning.PurchaseRequest",
        "online.apiserver.control.scheduling.plugins.Observation",
        "online.apiserver.control.scheduling.scenarios.ScenarioRequest",
        "online.apiserver.control.scheduling.what_if.WhatIf",
        "online.apiserver.control.state.LatencyRules",
        "online.apiserver.records.object_changes.NodeTaint",
        "online.apiserver.records.object_changes.ObjectName",
        "online.client.cluster_connection.Write",
        "online.client.cluster_connection.Writes",
        "online.client.sync_status.SyncDifference",
        "online.client.sync_status._Document",
        "simulation.files.json_documents._List",
        "simulation.world.inputs.conditions.Condition",
    },
    # Written many times: without the names of the fields.
    ("array_like", True): {
        "apimachinery.schema.table.Column",
        "scheduler.machine.actions.",
        "scheduler.machine.cycles.batching.BatchSnapshot",
        "scheduler.machine.metrics.metric_snapshot.DecisionCount",
        "scheduler.machine.metrics.metric_snapshot.PathCount",
        "scheduler.machine.snapshot.BindingSnapshot",
        "scheduler.machine.snapshot.EvictionSnapshot",
        "scheduler.machine.snapshot.OnNode",
        "scheduler.machine.snapshot.WaitingSnapshot",
        "scheduler.queueing.capture.FlightSnapshot",
        "scheduler.queueing.capture.NominationSnapshot",
        "scheduler.queueing.capture.QueuedPodSnapshot",
        "scheduler.queueing.capture.RecordedEventSnapshot",
        "scheduler.queueing.capture.WaitSnapshot",
        "simulation.files.document_cache._Document",
        "simulation.files.document_cache._Header",
        "simulation.recording.log.log_format.EventBlock",
        "simulation.recording.log.log_format.EventIndex",
        "simulation.recording.log.log_format.Objects",
        "simulation.recording.log.log_format.OutcomeBlock",
        "simulation.recording.log.log_format.OwnPlugin",
        "simulation.recording.log.log_format.Pods",
        "simulation.recording.log.memory_checkpoints.Chain",
        "simulation.recording.log.memory_checkpoints.CheckpointIndex",
        "simulation.recording.log.memory_checkpoints.CheckpointObjects",
        "simulation.recording.log.memory_checkpoints.Missing",
    },
    # Written without the fields that have their defaults.
    ("omit_defaults", True): {
        "apimachinery.objects.meta.Struct",
        "online.apiserver.control.problems.ProblemDocument",
        "online.client.cluster_connection.Write",
    },
    # Ordered by their fields.
    ("order", True): {
        "apimachinery.cel.values.Duration",
        "scheduler.machine.metrics.metric_snapshot.PathCount",
    },
}
"""The structs with a setting of their own, or modules of such structs; subclasses have it too."""

TEXTS = re.compile(r'#.*|"""[\s\S]*?"""')
"""Comments and docstrings, which make nothing."""
BY_POSITION = re.compile(
    r"(?<!class )\b((?:[a-z]\w*\.)*+_?[A-Z]\w+)(?:\[[^]]+\])?\((?!\s*+(?:\w+=[^=]|\*\*|\)))"
)
"""A call of a class, or a pattern of one, whose first argument has no name."""
IMPORT = re.compile(r"^ *from (podwright[\w.]*) import (?:\(([^)]*)\)|([^(#\n]*))", re.MULTILINE)
IMPORTED = re.compile(r"(\w+)(?: as (\w+))?")

OPTIONS = "cli."
"""The options of commands are dataclasses whose equal values are equal."""
EXPRESSIONS = "apimachinery.cel.expressions."
"""The nodes of expressions get their types after they are made."""


def structs() -> dict[str, type[msgspec.Struct]]:
    """Return the structs of podwright, by module and name."""
    return {name: cls for name, cls in classes().items() if issubclass(cls, msgspec.Struct)}


def dataclasses() -> dict[str, type]:
    """Return the dataclasses of podwright, by module and name."""
    return {name: cls for name, cls in classes().items() if is_dataclass(cls)}


@cache
def classes() -> dict[str, type]:
    """Return the classes of podwright, by module and name."""
    return dict(_classes())


def _classes() -> Iterator[tuple[str, type]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if "tests" in parts or parts[-1] in {"__init__", "__main__"}:
            continue
        module = importlib.import_module(".".join(("podwright", *parts)))
        for name, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__:
                yield f"{'.'.join(parts)}.{name}", member


def test_structs_are_values_unless_they_are_listed() -> None:
    changeable = {name for name, cls in structs().items() if not cls.__struct_config__.frozen}
    assert changeable == CHANGED_IN_PLACE


def test_records_are_made_by_field_names_unless_a_call_makes_them_by_position() -> None:
    """Fields of the others can be added and moved; hot loops make theirs by position."""
    records: dict[str, Any] = structs() | dataclasses()
    by_position = {
        name
        for name, cls in records.items()
        if inspect.get_annotations(cls).keys() & set(cls.__match_args__)
    }
    assert by_position == made_by_position(records)


def made_by_position(records: dict[str, Any]) -> set[str]:
    """Return the records that a call or a pattern of the code or the tests makes by position."""
    remaining = {cls: name for name, cls in records.items()}
    found = set()
    for path in (*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = TEXTS.sub("", path.read_text(encoding="utf-8"))
        known = _names(path, text)
        for name in set(BY_POSITION.findall(text)):
            if (cls := _meaning(name, known)) in remaining:
                found.add(remaining.pop(cls))
    return found


def _names(path: Path, text: str) -> dict[str, Any]:
    """Return what the names of a module mean; those of tests as far as they are imported."""
    if path.is_relative_to(SOURCE) and "tests" not in path.parts:
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        return vars(importlib.import_module(".".join(parts)))
    return {"pw": pw} | {
        alias or name: getattr(sys.modules[module], name, None)
        for module, in_lines, in_line in IMPORT.findall(text)
        if module in sys.modules
        for name, alias in IMPORTED.findall(in_lines or in_line)
    }


def _meaning(dotted: str, known: dict[str, Any]) -> Any:
    """Return the class that a name means, or an attribute of a module; None for others."""
    first, *rest = dotted.split(".")
    found = known.get(first)
    for name in rest:
        found = getattr(found, name, None) if inspect.ismodule(found) else None
    return found if inspect.isclass(found) else None


@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_structs_have_the_settings_of_their_bases_and_those_that_are_listed(
    setting: str, value: bool
) -> None:
    found = structs()
    listed = {
        cls
        for name, cls in found.items()
        if SETTINGS[setting, value] & {name, f"{name.rpartition('.')[0]}."}
    }
    expected = {name for name, cls in found.items() if not listed.isdisjoint(cls.__mro__)}
    assert {
        name for name, cls in found.items() if getattr(cls.__struct_config__, setting) is value
    } == expected


@pytest.mark.parametrize("module", WRITTEN_BY_POSITION)
def test_logs_and_checkpoints_hold_no_field_names(module: str) -> None:
    found = {name: cls for name, cls in structs().items() if name.startswith(module)}
    assert found
    named = {name for name, cls in found.items() if not cls.__struct_config__.array_like}
    assert named == WRITTEN_BY_NAME & set(found)


def test_dataclasses_are_compared_by_identity_and_not_changed() -> None:
    """Most have arrays, whose comparison is an array."""
    found: dict[str, Any] = dataclasses()
    assert {name for name, cls in found.items() if cls.__dataclass_params__.eq} == {
        name for name in found if name.startswith(OPTIONS)
    }
    assert {name for name, cls in found.items() if not cls.__dataclass_params__.frozen} == {
        name for name in found if name.startswith(EXPRESSIONS)
    }
