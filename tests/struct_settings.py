"""What the structs of podwright can be: whether they change, and how they are made and written.

`test_structs.py` compares all structs with these tables, and a test beside a room those of the
room.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import msgspec

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


def check_structs(room: str, *, by_position: Collection[str] = ()) -> None:
    """Check the structs of a room, such as `online.client`, against the tables.

    Parameters
    ----------
    room : str
        The path of its folder, with dots.
    by_position : collection of str
        The names of those that are made by position; the fields of others have names.
    """
    found = structs(room)
    assert found, f"{room} has no structs"
    listed = {name for name in CHANGED_IN_PLACE if name.startswith(f"{room}.")}
    assert changeable(found) == listed, changeable(found) ^ listed
    positional = {name.rpartition(".")[2] for name, cls in found.items() if is_by_position(cls)}
    assert positional == set(by_position), positional ^ set(by_position)
    for setting, value in SETTINGS:
        wrong = with_setting(found, setting, value) ^ expected_with(found, setting, value)
        assert not wrong, f"{setting}: {wrong}"


def changeable(found: dict[str, type[msgspec.Struct]]) -> set[str]:
    """Return the names of those that can be changed."""
    return {name for name, cls in found.items() if not cls.__struct_config__.frozen}


def is_by_position(cls: type) -> bool:
    """Whether fields that a record adds to those of its bases have places."""
    return bool(inspect.get_annotations(cls).keys() & set(getattr(cls, "__match_args__", ())))


def with_setting(found: dict[str, type[msgspec.Struct]], setting: str, value: bool) -> set[str]:
    """Return the names of those with a value of a setting."""
    return {name for name, cls in found.items() if getattr(cls.__struct_config__, setting) is value}


def expected_with(found: dict[str, type[msgspec.Struct]], setting: str, value: bool) -> set[str]:
    """Return the names of those that are listed with it, or have a base that is."""
    listed = SETTINGS[setting, value]
    return {
        name
        for name, cls in found.items()
        if any(listed & {_name_of(base), f"{_name_of(base).rpartition('.')[0]}."}
               for base in cls.__mro__)
    }  # fmt: skip


def _name_of(cls: type) -> str:
    return f"{cls.__module__.removeprefix('podwright.')}.{cls.__qualname__}"


def structs(room: str = "") -> dict[str, type[msgspec.Struct]]:
    """Return the structs of podwright, or of a room, by module and name."""
    return {name: cls for name, cls in classes(room).items() if issubclass(cls, msgspec.Struct)}


@cache
def classes(room: str = "") -> dict[str, type]:
    """Return the classes of podwright, or of a room, by module and name."""
    return dict(_classes(room))


def _classes(room: str) -> Iterator[tuple[str, type]]:
    for path in sorted((SOURCE / room.replace(".", "/")).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if "tests" in parts or parts[-1] in {"__init__", "__main__"}:
            continue
        module = importlib.import_module(".".join(("podwright", *parts)))
        for name, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__:
                yield f"{'.'.join(parts)}.{name}", member
