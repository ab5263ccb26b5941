"""Every metric: its name, type, labels, buckets and meaning, as data.

The names, labels and buckets are kube-scheduler's; ours begin with ``podwright_``. A metric
that is not in this table does not exist: the counting in `metrics`, the text in `exposition`
and the page of the reference are all made from it.

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


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the bounds of `count` buckets, each `factor` times the one before.

    Notes
    -----
    Multiplied up step by step as upstream does, so that the last digits agree:
    the second bound of (0.00001, 1.5) is 1.5000000000000002e-05.
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
        In full, as it is scraped.
    kind : str
        What Prometheus calls the type.
    help : str
        One sentence or a few.
    stability : str
        Upstream's promise; "" for our own metrics.
    labels : tuple of str
        Names, in the order in which values are given.
    bounds : tuple of float
        Upper bounds of a histogram's buckets, without +Inf.
    path : str
        Where it is scraped.
    gate : str
        The feature gate without which upstream does not have it; "" if there is none.
    note : str
        How ours is counted, where that is not the obvious thing.
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

_COUNTED_AS_ZERO = "The count is exact; a duration is 0 unless a driver reports it."
_FROM_DRIVER = "Only what a driver reports: the machine reads no clock and makes no calls."
_POD_LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")

METRICS: Final[tuple[Metric, ...]] = (
    # ------------------------------------------------------------------ attempts
    Metric(
        name="scheduler_schedule_attempts_total",
        kind="counter",
        stability="STABLE",
        labels=("result", "profile"),
        help="Attempts to schedule a pod, by result: scheduled; unschedulable, the pod fits "
        "nowhere or was refused; error, the scheduler or something it called failed.",
    ),
    Metric(
        name="scheduler_scheduling_attempt_duration_seconds",
        kind="histogram",
        stability="STABLE",
        labels=("result", "profile"),
        bounds=_ATTEMPT_BOUNDS,
        help="Time from the beginning of a scheduling cycle to the end of the attempt, binding "
        "included.",
        note="From event to event. An attempt that ends within its cycle took 0, or what a "
        "driver reports for that event.",
    ),
    Metric(
        name="scheduler_scheduling_algorithm_duration_seconds",
        kind="histogram",
        bounds=_ATTEMPT_BOUNDS,
        help="Time taken to decide for one pod.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_pod_scheduling_sli_duration_seconds",
        kind="histogram",
        stability="BETA",
        labels=("attempts",),
        bounds=_LONG_BOUNDS,
        help="Time from a pod's first entry into the active queue until it is bound, over all "
        "its attempts.",
    ),
    Metric(
        name="scheduler_pod_scheduling_attempts",
        kind="histogram",
        stability="STABLE",
        bounds=exponential(1, 2, 5),
        help="Attempts that it took to schedule a pod.",
    ),
    Metric(
        name="scheduler_pod_scheduled_after_flush_total",
        kind="counter",
        help="Pods scheduled in an attempt for which no event but a time-out had moved them out "
        "of the unschedulable pods; more than a few hint at a missing queueing hint.",
    ),
    # ------------------------------------------------------------------ plugins
    Metric(
        name="scheduler_framework_extension_point_duration_seconds",
        kind="histogram",
        stability="STABLE",
        labels=("extension_point", "status", "profile"),
        bounds=_POINT_BOUNDS,
        help="Time taken by all plugins of one extension point together.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_plugin_execution_duration_seconds",
        kind="histogram",
        labels=("plugin", "extension_point", "status"),
        bounds=_PLUGIN_BOUNDS,
        help="Time taken by one plugin at one extension point, in a sample of the cycles.",
        note=_FROM_DRIVER,
    ),
    Metric(
        name="scheduler_plugin_evaluation_total",
        kind="counter",
        stability="BETA",
        labels=("plugin", "extension_point", "profile"),
        help="How often a plugin took part in deciding, at PreFilter, Filter, PreScore and Score.",
        note="One per cycle in which the plugin did not skip: it sees all nodes at once. "
        "Upstream counts Filter and Score once per node.",
    ),
    # ------------------------------------------------------------------ queue
    Metric(
        name="scheduler_queue_incoming_pods_total",
        kind="counter",
        stability="STABLE",
        labels=("queue", "event"),
        help="Pods that entered a queue, by queue and by the event that brought them.",
    ),
    Metric(
        name="scheduler_pending_pods",
        kind="gauge",
        stability="STABLE",
        labels=("queue",),
        help="Pods that wait: active, to be tried next; backoff, until their backoff is over; "
        "unschedulable, for an event that may help; gated, for the PreEnqueue plugin that "
        "holds them back.",
    ),
    Metric(
        name="scheduler_unschedulable_pods",
        kind="gauge",
        stability="BETA",
        labels=("plugin", "profile"),
        help="Waiting pods by the plugin that rejected them; one rejected by several counts for "
        "each.",
    ),
    Metric(
        name="scheduler_inflight_events",
        kind="gauge",
        labels=("event",),
        help="Events that are kept for pods which are being tried, and those pods themselves "
        "as PodPopped.",
    ),
    Metric(
        name="scheduler_event_handling_duration_seconds",
        kind="histogram",
        labels=("event",),
        bounds=_POINT_BOUNDS,
        help="Time taken to take in a change of the cluster.",
        note=_COUNTED_AS_ZERO,
    ),
    Metric(
        name="scheduler_queueing_hint_execution_duration_seconds",
        kind="histogram",
        labels=("plugin", "event", "hint"),
        bounds=_PLUGIN_BOUNDS,
        help="Time taken by a plugin's queueing hint for one pod and one event.",
        note=_COUNTED_AS_ZERO,
    ),
    # ------------------------------------------------------------------ preemption, Permit
    Metric(
        name="scheduler_preemption_attempts_total",
        kind="counter",
        stability="STABLE",
        help="Times that preemption was tried.",
    ),
    Metric(
        name="scheduler_preemption_victims",
        kind="histogram",
        stability="STABLE",
        bounds=exponential(1, 2, 7),
        help="Pods that were chosen as victims in one preemption.",
    ),
    Metric(
        name="scheduler_preemption_goroutines_duration_seconds",
        kind="histogram",
        labels=("result",),
        bounds=_LONG_BOUNDS,
        gate="SchedulerAsyncPreemption",
        help="Time taken to remove the victims of one preemption.",
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
        help="Time that a pod was held by Permit plugins.",
    ),
    # ------------------------------------------------------------------ levels
    Metric(
        name="scheduler_goroutines",
        kind="gauge",
        stability="BETA",
        labels=("operation",),
        help="Work that is under way beside the scheduling cycle, by kind.",
        note="Binding cycles and calls of extenders; nothing here runs in a thread.",
    ),
    Metric(
        name="scheduler_cache_size",
        kind="gauge",
        labels=("type",),
        help="Nodes, pods on them, and pods that are assumed to be on them.",
    ),
    # ------------------------------------------------------------------ batching
    Metric(
        name="scheduler_batch_attempts_total",
        kind="counter",
        labels=("profile", "result"),
        gate="OpportunisticBatching",
        help="Cycles by what came of the node that the cycle before suggested.",
    ),
    Metric(
        name="scheduler_batch_cache_flushed_total",
        kind="counter",
        labels=("profile", "reason"),
        gate="OpportunisticBatching",
        help="Times that a batch's results were dropped, by reason.",
    ),
    Metric(
        name="scheduler_get_node_hint_duration_seconds",
        kind="histogram",
        labels=("hinted", "profile"),
        bounds=_BATCH_BOUNDS,
        gate="OpportunisticBatching",
        help="Time taken to look for a batch's suggestion.",
        note=_FROM_DRIVER,
    ),
    Metric(
        name="scheduler_store_schedule_results_duration_seconds",
        kind="histogram",
        labels=("profile",),
        bounds=_BATCH_BOUNDS,
        gate="OpportunisticBatching",
        help="Time taken to keep a batch's results.",
        note=_FROM_DRIVER,
    ),
    # ------------------------------------------------------------------ calls to the API server
    Metric(
        name="scheduler_async_api_call_execution_total",
        kind="counter",
        labels=("call_type", "result"),
        gate="SchedulerAsyncAPICalls",
        help="Calls to the API server that were made, by kind and result.",
        note=_FROM_DRIVER,
    ),
    Metric(
        name="scheduler_async_api_call_execution_duration_seconds",
        kind="histogram",
        labels=("call_type", "result"),
        bounds=_ATTEMPT_BOUNDS,
        gate="SchedulerAsyncAPICalls",
        help="Time taken by calls to the API server.",
        note=_FROM_DRIVER,
    ),
    Metric(
        name="scheduler_pending_async_api_calls",
        kind="gauge",
        labels=("call_type",),
        gate="SchedulerAsyncAPICalls",
        help="Calls to the API server that wait to be made.",
        note=_FROM_DRIVER,
    ),
    # ------------------------------------------------------------------ dynamic resources
    Metric(
        name="scheduler_resourceclaim_creates_total",
        kind="counter",
        labels=("status",),
        gate="DRAExtendedResource",
        help="ResourceClaims that the scheduler requested.",
    ),
    Metric(
        name="scheduler_dra_bindingconditions_allocations_total",
        kind="counter",
        labels=("profile", "driver", "status"),
        gate="DRADeviceBindingConditions",
        help="Allocations of devices that have binding conditions, per driver and attempt.",
    ),
    Metric(
        name="scheduler_dra_bindingconditions_wait_duration_seconds",
        kind="histogram",
        labels=("profile", "driver", "status"),
        bounds=exponential(0.1, 2, 14),
        gate="DRADeviceBindingConditions",
        help="Time that PreBind waited for the binding conditions of devices.",
    ),
    # ------------------------------------------------------------------ groups of pods
    Metric(
        name="scheduler_podgroup_schedule_attempts_total",
        kind="counter",
        labels=("result", "profile"),
        gate="GenericWorkload",
        help="Attempts to schedule a group of pods, by result as for single pods.",
    ),
    Metric(
        name="scheduler_podgroup_scheduling_attempt_duration_seconds",
        kind="histogram",
        labels=("result", "profile"),
        bounds=_ATTEMPT_BOUNDS,
        gate="GenericWorkload",
        help="Time taken by an attempt to schedule a group of pods.",
    ),
    Metric(
        name="scheduler_podgroup_scheduling_algorithm_duration_seconds",
        kind="histogram",
        bounds=_ATTEMPT_BOUNDS,
        gate="GenericWorkload",
        help="Time taken to decide for one group of pods.",
    ),
    # ------------------------------------------------------------------ volumes
    Metric(
        name="scheduler_volume_binder_cache_requests_total",
        kind="counter",
        labels=("operation",),
        help="Requests to the cache of volumes that are being bound.",
    ),
    Metric(
        name="scheduler_volume_scheduling_stage_error_total",
        kind="counter",
        labels=("operation",),
        help="Errors while volumes were chosen, assumed or bound.",
    ),
    # ------------------------------------------------------------------ pods' resources
    Metric(
        name="kube_pod_resource_request",
        kind="gauge",
        stability="STABLE",
        labels=_POD_LABELS,
        path=RESOURCES_PATH,
        help="Requests of a pod, by resource, as the scheduler and the kubelet count it.",
    ),
    Metric(
        name="kube_pod_resource_limit",
        kind="gauge",
        stability="STABLE",
        labels=_POD_LABELS,
        path=RESOURCES_PATH,
        help="What a pod may use at most, by resource, as the scheduler and the kubelet count it.",
    ),
    # ------------------------------------------------------------------ our own
    Metric(
        name="podwright_permit_waiting_pods",
        kind="gauge",
        stability="",
        help="Pods that Permit plugins hold.",
    ),
    Metric(
        name="podwright_preempting_pods",
        kind="gauge",
        stability="",
        help="Pods whose victims are being removed.",
    ),
)

METRIC_BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in METRICS}
