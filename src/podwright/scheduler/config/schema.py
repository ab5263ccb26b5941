"""KubeSchedulerConfiguration v1 as frozen structs.

Field names are upstream's in snake_case; durations are nanoseconds with `_ns` and keep
their own name in the document. A struct's default is the value of kube-scheduler 1.36 for an
absent key; `None` marks a value that `defaults` derives from others.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, types_pluginargs.go,
staging/src/k8s.io/component-base/config/v1alpha1/types.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import SECOND_NS, NodeAffinity, TopologySpreadConstraint

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
DurationNs = Annotated[int, msgspec.Meta(extra={"format": "duration"})]


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """One struct of the configuration: immutable, keys in camelCase."""


class LeaderElection(_Struct, frozen=True, kw_only=True):
    """Leader election of several schedulers by a lease."""

    leader_elect: bool = True
    lease_duration_ns: DurationNs = msgspec.field(default=15 * SECOND_NS, name="leaseDuration")
    renew_deadline_ns: DurationNs = msgspec.field(default=10 * SECOND_NS, name="renewDeadline")
    retry_period_ns: DurationNs = msgspec.field(default=2 * SECOND_NS, name="retryPeriod")
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(_Struct, frozen=True, kw_only=True):
    """The connection to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class Plugin(_Struct, frozen=True, kw_only=True):
    """A plugin by name; the weight applies to score and placementScore, 0 means unset."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(_Struct, frozen=True, kw_only=True):
    """The enabled and disabled plugins of one extension point, or of all (multiPoint)."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(_Struct, frozen=True, kw_only=True):
    """The plugins of a profile by extension point."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


class UtilizationShapePoint(_Struct, frozen=True, kw_only=True):
    """One point of a scoring function: utilization 0 to 100, score 0 to 10."""

    utilization: Int32 = 0
    score: Int32 = 0


class ResourceSpec(_Struct, frozen=True, kw_only=True):
    """A resource and its weight; 0 means unset and becomes 1."""

    name: str = ""
    weight: Int64 = 0


class RequestedToCapacityRatio(_Struct, frozen=True, kw_only=True):
    """The scoring function of the strategy RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(_Struct, frozen=True, kw_only=True):
    """The scoring strategy of NodeResourcesFit; `type` has no default in a given strategy."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class CoschedulingArgs(_Struct, frozen=True, kw_only=True):
    """The timeouts of a pod group, and the rejection of its members.

    Parameters
    ----------
    permit_waiting_time_seconds : int
        The timeout of groups that do not set their own.
    pod_group_backoff_seconds : int
        The backoff of a rejected group; 0 for none.
    pod_group_reject_percentage : int
        Waiting members are rejected only if more than this share of the group is missing.
    """

    permit_waiting_time_seconds: Int64 = 60
    pod_group_backoff_seconds: Int64 = 0
    pod_group_reject_percentage: Int32 = 10


class DefaultPreemptionArgs(_Struct, frozen=True, kw_only=True):
    """The number of candidate nodes of a dry run."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DynamicResourcesArgs(_Struct, frozen=True, kw_only=True):
    """Timeouts of device allocation; absent ones depend on feature gates."""

    filter_timeout_ns: DurationNs | None = msgspec.field(default=None, name="filterTimeout")
    binding_timeout_ns: DurationNs | None = msgspec.field(default=None, name="bindingTimeout")


class InterPodAffinityArgs(_Struct, frozen=True, kw_only=True):
    """The weight of required affinity in scores, and the preferred terms that are used."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(_Struct, frozen=True, kw_only=True):
    """An affinity that is added to that of every pod."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(_Struct, frozen=True, kw_only=True):
    """The resources to balance; the default is cpu and memory."""

    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesFitArgs(_Struct, frozen=True, kw_only=True):
    """The resources that the filter ignores, and the scoring strategy."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None


class PodTopologySpreadArgs(_Struct, frozen=True, kw_only=True):
    """Constraints for pods that have none of their own."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(_Struct, frozen=True, kw_only=True):
    """The timeout of volume binding, and the scoring function for storage (gated)."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


PluginArgs = (
    CoschedulingArgs
    | DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

ARGS_TYPES: Mapping[str, type[PluginArgs]] = {
    "Coscheduling": CoschedulingArgs,
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""The in-tree plugins that take arguments; the kind is the name with `Args`."""


class PluginConfig(_Struct, frozen=True, kw_only=True):
    """A plugin's arguments: a struct for the in-tree ones, the document for others."""

    name: str = ""
    # The plugin decides what its arguments are; `read` gives the in-tree ones their type.
    args: Any = None


class KubeSchedulerProfile(_Struct, frozen=True, kw_only=True):
    """What pods with this schedulerName are scheduled with."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderTLSConfig(_Struct, frozen=True, kw_only=True):
    """Transport security for an extender; the `_data` fields are PEM and win over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderManagedResource(_Struct, frozen=True, kw_only=True):
    """A resource that an extender manages."""

    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(_Struct, frozen=True, kw_only=True):
    """An HTTP service that takes part in scheduling; a verb that is empty is not called."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout_ns: DurationNs = msgspec.field(default=0, name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class Rules(_Struct, frozen=True, kw_only=True):
    """The scheduling rules: podwright's only own key, `rules: classic` in its short form.

    All fields but the name apply to the v1.16 rules only.

    Parameters
    ----------
    name : str
        `modern` selects the v1.36 rules, `classic` the v1.16 rules.
    algorithm_provider : str
        The name of a set of predicates and priorities; "" is DefaultProvider.
    policy : dict, optional
        A Policy (v1), used instead of a provider.
    hard_pod_affinity_symmetric_weight : int
        The weight of required affinity in scores; that of a policy takes precedence.
    non_preempting_priority : bool
        The gate NonPreemptingPriority: whether `preemptionPolicy: Never` is honored.
    balanced_allocation : str
        The version whose rounding BalancedResourceAllocation uses.
    backoff_flush_period_ns, unschedulable_flush_period_ns : int
        The time between two flushes of the backoff queue, and of unschedulable pods.
    max_unschedulable_duration_ns : int
        How long a pod stays unschedulable before a flush moves it.
    """

    name: Literal["modern", "classic"] = "modern"
    algorithm_provider: str = ""
    # `podwright.scheduler.classic` decodes and validates it.
    policy: dict[str, Any] | None = None
    hard_pod_affinity_symmetric_weight: Int32 = 1
    non_preempting_priority: bool = False
    balanced_allocation: Literal["1.16", "1.7"] = "1.16"
    backoff_flush_period_ns: DurationNs = msgspec.field(
        default=1 * SECOND_NS, name="backoffFlushPeriod"
    )
    unschedulable_flush_period_ns: DurationNs = msgspec.field(
        default=30 * SECOND_NS, name="unschedulableFlushPeriod"
    )
    max_unschedulable_duration_ns: DurationNs = msgspec.field(
        default=60 * SECOND_NS, name="maxUnschedulableDuration"
    )


class KubeSchedulerConfiguration(_Struct, frozen=True, kw_only=True):
    """The whole document."""

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    rules: Rules | None = None

    @property
    def rules_name(self) -> str:
        """The selected scheduling rules: `modern` (v1.36) or `classic` (v1.16)."""
        return "modern" if self.rules is None else self.rules.name


# The calls to extenders and their replies, as plain data.
#
# The scheduler opens no sockets: it returns an `ExtenderCall`, and the driver passes the
# `ExtenderReply` back. Both are defined here, below the rooms that decide and those that do I/O.

ExtenderVerb: TypeAlias = Literal["filter", "prioritize", "preempt", "bind"]


class ExtenderCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request to an extender; the scheduling cycle waits for its reply.

    Parameters
    ----------
    extender : int
        The index in the configuration.
    verb : str
        The purpose of the call, independent of its configured path.
    url : str
        The URL for a POST of `body` as `application/json`.
    body : bytes
        JSON.
    timeout_ns : int
        The timeout of the whole call.
    """

    extender: int
    verb: ExtenderVerb
    url: str
    body: bytes
    timeout_ns: int


class ExtenderReply(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call.

    Parameters
    ----------
    status : int
        The HTTP status; 0 without a response.
    body : bytes
    error : str
        The error of a call without a response, such as a timeout; "" otherwise.
    """

    status: int = 0
    body: bytes = b""
    error: str = ""
