"""Services, controllers (for their selectors), namespaces and pod groups.

Upstream: staging/src/k8s.io/api/core/v1/types.go, staging/src/k8s.io/api/apps/v1/types.go,
staging/src/k8s.io/api/scheduling/v1alpha2/types.go; staging/src/k8s.io/api/scheduling/v1/types.go,
staging/src/k8s.io/api/policy/v1/types.go.
"""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from podwright.apimachinery.objects.meta import (
    Condition,
    Int32,
    KubernetesObject,
    LabelSelector,
    ResourceList,
    Struct,
)
from podwright.apimachinery.objects.pods.pod import PodTemplateSpec, PreemptionPolicy


class Namespace(KubernetesObject, frozen=True):
    """A namespace; `namespaceSelector` reads its labels."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Namespace"
    namespaced: ClassVar[bool] = False


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """The spec of a service; an empty selector selects no pods."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    type: str = ""


class Service(KubernetesObject, frozen=True, kw_only=True):
    """A service."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Service"

    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Struct, frozen=True, kw_only=True):
    """How many pods, and which."""

    replicas: int | None = None
    min_ready_seconds: int = 0
    selector: dict[str, str] = msgspec.field(default_factory=dict)
    template: PodTemplateSpec | None = None


class ReplicationController(KubernetesObject, frozen=True, kw_only=True):
    """A replication controller."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationController"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Struct, frozen=True, kw_only=True):
    """How many pods, and which."""

    replicas: int | None = None
    min_ready_seconds: int = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(KubernetesObject, frozen=True, kw_only=True):
    """A replica set."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"

    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Struct, frozen=True, kw_only=True):
    """How many pods, and which."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    service_name: str = ""
    pod_management_policy: str = ""


class StatefulSet(KubernetesObject, frozen=True, kw_only=True):
    """A stateful set."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSet"

    spec: StatefulSetSpec = StatefulSetSpec()


# ------------------------------------------------------------------------ pod groups


class BasicSchedulingPolicy(Struct, frozen=True):
    """Pods of the group are scheduled one by one."""


class GangSchedulingPolicy(Struct, frozen=True, kw_only=True):
    """At least `min_count` pods of the group are scheduled, or none."""

    min_count: int


class PodGroupSchedulingPolicy(Struct, frozen=True, kw_only=True):
    """Exactly one of the two is set."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Struct, frozen=True, kw_only=True):
    """The label whose value all pods of the group share."""

    key: str


class PodGroupSchedulingConstraints(Struct, frozen=True, kw_only=True):
    """The placement constraints of a group's pods relative to each other."""

    topology: tuple[TopologyConstraint, ...] = ()


class WorkloadPodGroupTemplateReference(Struct, frozen=True, kw_only=True):
    """The workload template of a group."""

    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(Struct, frozen=True, kw_only=True):
    """The origin of a group."""

    workload: WorkloadPodGroupTemplateReference | None = None


class PodGroupResourceClaim(Struct, frozen=True, kw_only=True):
    """A resource claim that the pods of a group share."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(Struct, frozen=True, kw_only=True):
    """How the group is scheduled."""

    pod_group_template_ref: PodGroupTemplateReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: int | None = None


class PodGroupStatus(Struct, frozen=True, kw_only=True):
    """The status of a pod group."""

    conditions: tuple[Condition, ...] = ()


class PodGroup(KubernetesObject, frozen=True, kw_only=True):
    """Pods that are scheduled together (scheduling.k8s.io/v1alpha2)."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha2"
    kind: ClassVar[str] = "PodGroup"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def priority(self) -> int:
        """The priority of the group as a whole; 0 if none was set.

        Upstream: pkg/scheduler/util/utils.go, PodGroupPriority
        """
        return self.spec.priority or 0


class CoschedulingPodGroupSpec(Struct, frozen=True, kw_only=True):
    """How the group is scheduled."""

    min_member: int = 1
    min_resources: ResourceList = msgspec.field(default_factory=dict)
    schedule_timeout_seconds: int | None = None


class CoschedulingPodGroupStatus(Struct, frozen=True, kw_only=True):
    """The progress of the group; written by its controller."""

    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None


POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""The label of the members of a `CoschedulingPodGroup`."""


class CoschedulingPodGroup(KubernetesObject, frozen=True, kw_only=True):
    """Pods that the plugin Coscheduling schedules together (scheduling.x-k8s.io/v1alpha1).

    Members have the label `scheduling.x-k8s.io/pod-group`.
    """

    api_version: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    kind: ClassVar[str] = "PodGroup"

    spec: CoschedulingPodGroupSpec = CoschedulingPodGroupSpec()
    status: CoschedulingPodGroupStatus = CoschedulingPodGroupStatus()


class WorkloadControllerReference(Struct, frozen=True, kw_only=True):
    """The controller that creates the pods of a workload."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class PodGroupTemplate(Struct, frozen=True, kw_only=True):
    """How the groups of a workload are scheduled."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: int | None = None


class WorkloadSpec(Struct, frozen=True, kw_only=True):
    """The groups of a workload."""

    controller_ref: WorkloadControllerReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(KubernetesObject, frozen=True, kw_only=True):
    """Groups of pods that make up one job (scheduling.k8s.io/v1alpha2)."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha2"
    kind: ClassVar[str] = "Workload"

    spec: WorkloadSpec = WorkloadSpec()


# Priorities and disruption budgets.


class PriorityClass(KubernetesObject, frozen=True, kw_only=True):
    """A named priority."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClass"
    namespaced: ClassVar[bool] = False

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: PreemptionPolicy | None = None


class PodDisruptionBudgetSpec(Struct, frozen=True, kw_only=True):
    """The pods of the budget, and how many must stay available; counts or percentages."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, kw_only=True):
    """The remaining disruptions of the budget."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str | None] = msgspec.field(default_factory=dict)
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(KubernetesObject, frozen=True, kw_only=True):
    """A limit for the disruption of the pods of a selector."""

    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
