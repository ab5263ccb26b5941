"""Every metric as data: name, type, labels, buckets and help text.

The names, labels and buckets are kube-scheduler's; ours start with ``podwright_``. A metric
that is not in this table does not exist: `metrics`, `exposition` and the reference page are
derived from it.

Upstream: pkg/scheduler/metrics/metrics.go, pkg/scheduler/metrics/resources/resources.go,
pkg/scheduler/framework/plugins/volumebinding/metrics/metrics.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Kind = Literal["counter", "gauge", "histogram"]
Stability = Literal["ALPHA", "BETA", "STABLE", ""]

METRICS_PATH: Final = "/metrics"
RESOURCES_PATH: Final = "/metrics/resources"
SYNC_PATH: Final = "/metrics/sync"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the bounds of `count` buckets, each `factor` times the one before.

    Notes
    -----
    Each bound is the previous one times `factor`, as upstream computes it, so the last digits
    agree: the second bound of (0.00001, 1.5) is 1.5000000000000002e-05.
    """
    bounds = []
    bound = start
    for _ in range(count):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric.

    Parameters
    ----------
    name : str
        The full name, as in the exposition.
    kind : str
        The Prometheus type.
    help : str
        One sentence or a few.
    stability : str
        Upstream's stability level; "" for metrics of podwright only.
    labels : tuple of str
        Label names, in the order of their values.
    bounds : tuple of float
        Upper bounds of a histogram's buckets, without +Inf.
    path : str
        The HTTP path that serves the metric.
    gate : str
        The feature gate that enables the metric upstream; "" for none.
    note : str
        How podwright counts it, if that differs from upstream.
    """

    name: str
    kind: Kind
    help: str
    stability: Stability = "ALPHA"
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    path: str = METRICS_PATH
    gate: str = ""
    note: str = ""

    @property
    def is_duration(self) -> bool:
        """Whether values are durations: nanoseconds inside, seconds in the text."""
        return self.name.endswith("_seconds")


_ATTEMPT_BOUNDS = exponential(0.001, 2, 15)
_LONG_BOUNDS = exponential(0.01, 2, 20)
_POINT_BOUNDS = exponential(0.0001, 2, 12)
_PLUGIN_BOUNDS = exponential(0.00001, 1.5, 20)
_BATCH_BOUNDS = exponential(0.00001, 2, 12)

_COUNTED_AS_ZERO = "The count is exact; durations are 0 unless a driver reports them."
_MADE_CALLS = (
    "Reported by `podwright scheduler`, which makes the calls; a simulation makes none. Upstream"
    " has it with the gate `SchedulerAsyncAPICalls`."
)
_POD_LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")

METRICS: Final[tuple[Metric, ...]] = (
    # ------------------------------------------------------------------ attempts
    Metric(
        name="scheduler_schedule_attempts_total",
        kind="counter",
        stability="STABLE",
        labels=("result", "profile"),
        help="Attempts to schedule a pod, by result: scheduled; unschedulable, no node fits the "
        "pod or a plugin rejected it; error, an internal error or a failed call.",
    ),
    Metric(
        name="scheduler_scheduling_attempt_duration_seconds",
        kind="histogram",
        stability="STABLE",
        labels=("result", "profile"),
        bounds=_ATTEMPT_BOUNDS,
        help="Latency of a scheduling attempt, from the start of the cycle to the end of binding.",
        note="Measured between events. An attempt that ends within its cycle has duration 0, or "
        "the duration that a driver reports for that event.",
    ),
    Metric(
        name="scheduler_scheduling_algorithm_duration_seconds",
        kind="histogram",
        bounds=_ATTEMPT_BOUNDS,
        help="Latency of the scheduling algorithm for one pod.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_pod_scheduling_sli_duration_seconds",
        kind="histogram",
        stability="BETA",
        labels=("attempts",),
        bounds=_LONG_BOUNDS,
        help="Latency from a pod's first entry into the active queue to its binding, over all "
        "attempts.",
    ),
    Metric(
        name="scheduler_pod_scheduling_attempts",
        kind="histogram",
        stability="STABLE",
        bounds=exponential(1, 2, 5),
        help="Attempts needed to schedule a pod.",
    ),
    Metric(
        name="scheduler_pod_scheduled_after_flush_total",
        kind="counter",
        help="Pods scheduled right after a flush of unschedulable pods, without an event that "
        "moved them. A high number indicates a missing queueing hint.",
    ),
    # ------------------------------------------------------------------ plugins
    Metric(
        name="scheduler_framework_extension_point_duration_seconds",
        kind="histogram",
        stability="STABLE",
        labels=("extension_point", "status", "profile"),
        bounds=_POINT_BOUNDS,
        help="Latency of all plugins of one extension point.",
        note="The count is exact. The duration is that of the calls of plugins, if a driver "
        "observes them, and 0 otherwise; cached results take no time.",
    ),
    Metric(
        name="scheduler_plugin_execution_duration_seconds",
        kind="histogram",
        labels=("plugin", "extension_point", "status"),
        bounds=_PLUGIN_BOUNDS,
        help="Latency of one plugin at one extension point, in a sample of the cycles.",
        note="Counts every call, if a driver observes the plugins. Cached results, and filters "
        "and scores that one kernel computes for several plugins, are no calls.",
    ),
    Metric(
        name="scheduler_plugin_evaluation_total",
        kind="counter",
        stability="BETA",
        labels=("plugin", "extension_point", "profile"),
        help="Evaluations of a plugin at PreFilter, Filter, PreScore and Score.",
        note="Counted once per cycle in which the plugin did not return Skip, since one call "
        "evaluates all nodes. Upstream counts Filter and Score once per node.",
    ),
    # ------------------------------------------------------------------ queue
    Metric(
        name="scheduler_queue_incoming_pods_total",
        kind="counter",
        stability="STABLE",
        labels=("queue", "event"),
        help="Pods added to a queue, by queue and event.",
    ),
    Metric(
        name="scheduler_pending_pods",
        kind="gauge",
        stability="STABLE",
        labels=("queue",),
        help="Pending pods by queue: active, ready for an attempt; backoff, until the backoff "
        "expires; unschedulable, until an event moves them; gated, rejected at PreEnqueue.",
    ),
    Metric(
        name="scheduler_unschedulable_pods",
        kind="gauge",
        stability="BETA",
        labels=("plugin", "profile"),
        help="Unschedulable pods by the plugin that rejected them. A pod that several plugins "
        "rejected counts once for each.",
    ),
    Metric(
        name="scheduler_inflight_events",
        kind="gauge",
        labels=("event",),
        help="Events kept for in-flight pods; the in-flight pods themselves count as PodPopped.",
    ),
    Metric(
        name="scheduler_event_handling_duration_seconds",
        kind="histogram",
        labels=("event",),
        bounds=_POINT_BOUNDS,
        help="Latency of handling a cluster event.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_queueing_hint_execution_duration_seconds",
        kind="histogram",
        labels=("plugin", "event", "hint"),
        bounds=_PLUGIN_BOUNDS,
        help="Latency of a plugin's queueing hint for one pod and one event.",
        note=_COUNTED_AS_ZERO,
    ),
    # ------------------------------------------------------------------ preemption, Permit
    Metric(
        name="scheduler_preemption_attempts_total",
        kind="counter",
        stability="STABLE",
        help="Preemption attempts.",
    ),
    Metric(
        name="scheduler_preemption_victims",
        kind="histogram",
        stability="STABLE",
        bounds=exponential(1, 2, 7),
        help="Victims selected in one preemption.",
    ),
    Metric(
        name="scheduler_preemption_goroutines_duration_seconds",
        kind="histogram",
        labels=("result",),
        bounds=_LONG_BOUNDS,
        gate="SchedulerAsyncPreemption",
        help="Latency of removing the victims of one preemption.",
    ),
    Metric(
        name="scheduler_preemption_goroutines_execution_total",
        kind="counter",
        labels=("result",),
        gate="SchedulerAsyncPreemption",
        help="Preemptions whose victims were removed, by result.",
    ),
    Metric(
        name="scheduler_permit_wait_duration_seconds",
        kind="histogram",
        stability="BETA",
        labels=("result",),
        bounds=_ATTEMPT_BOUNDS,
        help="Time that a pod waited at Permit.",
    ),
    # ------------------------------------------------------------------ levels
    Metric(
        name="scheduler_goroutines",
        kind="gauge",
        stability="BETA",
        labels=("operation",),
        help="Operations in progress outside the scheduling cycle, by kind.",
        note="Counts binding cycles and calls to extenders, which are not threads.",
    ),
    Metric(
        name="scheduler_cache_size",
        kind="gauge",
        labels=("type",),
        help="Nodes, pods and assumed pods in the scheduler cache.",
    ),
    # ------------------------------------------------------------------ batching
    Metric(
        name="scheduler_batch_attempts_total",
        kind="counter",
        labels=("profile", "result"),
        gate="OpportunisticBatching",
        help="Scheduling cycles by the result of the node hint from the previous cycle.",
    ),
    Metric(
        name="scheduler_batch_cache_flushed_total",
        kind="counter",
        labels=("profile", "reason"),
        gate="OpportunisticBatching",
        help="Flushes of the batch cache, by reason.",
    ),
    Metric(
        name="scheduler_get_node_hint_duration_seconds",
        kind="histogram",
        labels=("hinted", "profile"),
        bounds=_BATCH_BOUNDS,
        gate="OpportunisticBatching",
        help="Latency of a lookup of a node hint.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_store_schedule_results_duration_seconds",
        kind="histogram",
        labels=("profile",),
        bounds=_BATCH_BOUNDS,
        gate="OpportunisticBatching",
        help="Latency of storing the results of a batch.",
        note=_COUNTED_AS_ZERO,
    ),
    # ------------------------------------------------------------------ calls to the API server
    Metric(
        name="scheduler_async_api_call_execution_total",
        kind="counter",
        labels=("call_type", "result"),
        help="Calls to the API server, by type and result.",
        note=_MADE_CALLS,
    ),
    Metric(
        name="scheduler_async_api_call_execution_duration_seconds",
        kind="histogram",
        labels=("call_type", "result"),
        bounds=_ATTEMPT_BOUNDS,
        help="Latency of calls to the API server.",
        note=_MADE_CALLS,
    ),
    Metric(
        name="scheduler_pending_async_api_calls",
        kind="gauge",
        labels=("call_type",),
        help="Calls to the API server without a reply yet.",
        note=_MADE_CALLS,
    ),
    # ------------------------------------------------------------------ dynamic resources
    Metric(
        name="scheduler_resourceclaim_creates_total",
        kind="counter",
        labels=("status",),
        gate="DRAExtendedResource",
        help="Requests to create ResourceClaims.",
    ),
    Metric(
        name="scheduler_dra_bindingconditions_allocations_total",
        kind="counter",
        labels=("profile", "driver", "status"),
        gate="DRADeviceBindingConditions",
        help="Allocations of devices with binding conditions, by driver and attempt.",
    ),
    Metric(
        name="scheduler_dra_bindingconditions_wait_duration_seconds",
        kind="histogram",
        labels=("profile", "driver", "status"),
        bounds=exponential(0.1, 2, 14),
        gate="DRADeviceBindingConditions",
        help="Time that PreBind waited for binding conditions of devices.",
    ),
    # ------------------------------------------------------------------ pod groups
    Metric(
        name="scheduler_podgroup_schedule_attempts_total",
        kind="counter",
        labels=("result", "profile"),
        gate="GenericWorkload",
        help="Attempts to schedule a pod group, with the results of single pods.",
    ),
    Metric(
        name="scheduler_podgroup_scheduling_attempt_duration_seconds",
        kind="histogram",
        labels=("result", "profile"),
        bounds=_ATTEMPT_BOUNDS,
        gate="GenericWorkload",
        help="Latency of an attempt to schedule a pod group.",
    ),
    Metric(
        name="scheduler_podgroup_scheduling_algorithm_duration_seconds",
        kind="histogram",
        bounds=_ATTEMPT_BOUNDS,
        gate="GenericWorkload",
        help="Latency of the scheduling algorithm for one pod group.",
    ),
    # ------------------------------------------------------------------ volumes
    Metric(
        name="scheduler_volume_binder_cache_requests_total",
        kind="counter",
        labels=("operation",),
        help="Requests to the cache of volume bindings in progress.",
    ),
    Metric(
        name="scheduler_volume_scheduling_stage_error_total",
        kind="counter",
        labels=("operation",),
        help="Errors while volumes were selected, assumed or bound.",
    ),
    # ------------------------------------------------------------------ resources of pods
    Metric(
        name="kube_pod_resource_request",
        kind="gauge",
        stability="STABLE",
        labels=_POD_LABELS,
        path=RESOURCES_PATH,
        help="Resource requests of a pod, as the scheduler and the kubelet count them.",
    ),
    Metric(
        name="kube_pod_resource_limit",
        kind="gauge",
        stability="STABLE",
        labels=_POD_LABELS,
        path=RESOURCES_PATH,
        help="Resource limits of a pod, as the scheduler and the kubelet count them.",
    ),
    # ------------------------------------------------------------------ podwright only
    Metric(
        name="podwright_permit_waiting_pods",
        kind="gauge",
        stability="",
        help="Pods waiting at Permit.",
    ),
    Metric(
        name="podwright_preempting_pods",
        kind="gauge",
        stability="",
        help="Pods with a preemption in progress.",
    ),
    # ------------------------------------------------------------------ the sync of a cluster
    Metric(
        name="podwright_sync_changes_total",
        kind="counter",
        stability="",
        labels=("result",),
        path=SYNC_PATH,
        help="What a sync did with the changes of its source.",
    ),
    Metric(
        name="podwright_sync_drift",
        kind="gauge",
        stability="",
        labels=("type",),
        path=SYNC_PATH,
        help="Pods on another node than at the source, and bindings of claims and volumes that "
        "were not taken over.",
    ),
    Metric(
        name="podwright_sync_errors_total",
        kind="counter",
        stability="",
        labels=("kind", "reason"),
        path=SYNC_PATH,
        help="Rejected requests of a sync.",
    ),
    Metric(
        name="podwright_sync_lag_seconds",
        kind="gauge",
        stability="",
        labels=("statistic",),
        path=SYNC_PATH,
        help="Time from the arrival of a change to its durable write: last, longest and mean.",
    ),
    Metric(
        name="podwright_sync_source_failures_total",
        kind="counter",
        stability="",
        path=SYNC_PATH,
        help="Failed requests to the source of a sync, and cut watches.",
    ),
    Metric(
        name="podwright_sync_unfreed_pods",
        kind="gauge",
        stability="",
        path=SYNC_PATH,
        help="Pods that have finished at the source and occupy resources here.",
    ),
    Metric(
        name="podwright_sync_waiting_changes",
        kind="gauge",
        stability="",
        path=SYNC_PATH,
        help="Groups of changes that wait.",
    ),
)

METRIC_BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in METRICS}
