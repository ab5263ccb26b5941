"""Pods: the fields that scheduling reads.

Upstream: staging/src/k8s.io/api/core/v1/types.go
"""

from __future__ import annotations

import re
from typing import ClassVar, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects.meta import (
    Condition,
    Int32,
    KubernetesObject,
    LabelSelector,
    ObjectMeta,
    ResourceList,
    Struct,
)
from podwright.apimachinery.objects.selecting.node_selector import NodeSelector, NodeSelectorTerm
from podwright.apimachinery.objects.storage import PersistentVolumeClaimSpec

Protocol: TypeAlias = Literal["", "TCP", "UDP", "SCTP"]
RestartPolicy: TypeAlias = Literal["", "Always", "OnFailure", "Never"]
TaintEffect: TypeAlias = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
TolerationEffect: TypeAlias = Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"]
TolerationOperator: TypeAlias = Literal["", "Exists", "Equal", "Gt", "Lt"]
UnsatisfiableAction: TypeAlias = Literal["DoNotSchedule", "ScheduleAnyway"]
InclusionPolicy: TypeAlias = Literal["Honor", "Ignore"]
PreemptionPolicy: TypeAlias = Literal["", "PreemptLowerPriority", "Never"]
PodPhase: TypeAlias = Literal["", "Pending", "Running", "Succeeded", "Failed", "Unknown"]

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COST: Final = re.compile("(-0*|(?!0.))([0-9]{1,10})")


# ------------------------------------------------------------------------ containers


class ContainerPort(Struct, frozen=True, kw_only=True):
    """A port of a container; with `host_port` 0 it uses no port of the node."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: Protocol = ""


class ResourceClaimUse(Struct, frozen=True, kw_only=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Struct, frozen=True, kw_only=True):
    """The resource requirements of a container or of a pod."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)
    claims: tuple[ResourceClaimUse, ...] = ()


class ExitCodes(Struct, frozen=True, kw_only=True):
    """The exit codes of a restart rule."""

    operator: str = ""
    values: tuple[int, ...] = ()


class ContainerRestartRule(Struct, frozen=True, kw_only=True):
    """A restart rule: the action for certain exit codes of a container."""

    action: str = ""
    exit_codes: ExitCodes | None = None


class Container(Struct, frozen=True, kw_only=True):
    """A container, an init container or an ephemeral container."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: RestartPolicy | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container is a sidecar: it keeps running beside the others."""
        return self.restart_policy == "Always"


# -------------------------------------------------------------------------- affinity


class PreferredSchedulingTerm(Struct, frozen=True):
    """A preferred node selector term with its weight."""

    weight: int
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Struct, frozen=True, kw_only=True):
    """The nodes that the pod requires or prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def required(self) -> NodeSelector | None:
        """`requiredDuringSchedulingIgnoredDuringExecution`."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[PreferredSchedulingTerm, ...]:
        """`preferredDuringSchedulingIgnoredDuringExecution`."""
        return self.preferred_during_scheduling_ignored_during_execution


class PodAffinityTerm(Struct, frozen=True, kw_only=True):
    """Matching pods and the topology key that defines co-location with them."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Struct, frozen=True):
    """A preferred pod affinity term with its weight."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Struct, frozen=True, kw_only=True):
    """Pods to be co-located with."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()

    @property
    def required(self) -> tuple[PodAffinityTerm, ...]:
        """`requiredDuringSchedulingIgnoredDuringExecution`."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[WeightedPodAffinityTerm, ...]:
        """`preferredDuringSchedulingIgnoredDuringExecution`."""
        return self.preferred_during_scheduling_ignored_during_execution


class PodAntiAffinity(PodAffinity, frozen=True):
    """Pods not to be co-located with."""


class Affinity(Struct, frozen=True, kw_only=True):
    """Node affinity, pod affinity and pod anti-affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Struct, frozen=True, kw_only=True):
    """A toleration of taints; an empty effect matches every effect."""

    key: str = ""
    operator: TolerationOperator = ""
    value: str = ""
    effect: TolerationEffect = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Struct, frozen=True, kw_only=True):
    """How evenly matching pods must be spread over the domains of a topology key."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: UnsatisfiableAction
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: InclusionPolicy | None = None
    node_taints_policy: InclusionPolicy | None = None
    match_label_keys: tuple[str, ...] = ()


# --------------------------------------------------------------------------- volumes


class PersistentVolumeClaimVolumeSource(Struct, frozen=True, kw_only=True):
    """A reference to a claim in the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class PersistentVolumeClaimTemplate(Struct, frozen=True, kw_only=True):
    """The template of a claim that is created for the pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Struct, frozen=True, kw_only=True):
    """A generic ephemeral volume; its claim is called `<pod>-<volume>`."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class CSIVolumeSource(Struct, frozen=True, kw_only=True):
    """An inline CSI volume."""

    driver: str = ""
    read_only: bool | None = None


class GCEPersistentDiskVolumeSource(Struct, frozen=True, kw_only=True):
    """A GCE disk."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Struct, frozen=True, kw_only=True):
    """An EBS volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class ISCSIVolumeSource(Struct, frozen=True, kw_only=True):
    """An iSCSI target."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RBDVolumeSource(Struct, frozen=True, kw_only=True):
    """A Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(Struct, frozen=True, kw_only=True):
    """An Azure disk."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    read_only: bool | None = None


class AzureFileVolumeSource(Struct, frozen=True, kw_only=True):
    """An Azure file share."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False


class CinderVolumeSource(Struct, frozen=True, kw_only=True):
    """An OpenStack Cinder volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class PortworxVolumeSource(Struct, frozen=True, kw_only=True):
    """A Portworx volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class VsphereVolumeSource(Struct, frozen=True, kw_only=True):
    """A vSphere disk."""

    volume_path: str = ""


class HostPathVolumeSource(Struct, frozen=True, kw_only=True):
    """A path of the node."""

    path: str = ""
    type: str | None = None


class ImageVolumeSource(Struct, frozen=True, kw_only=True):
    """An image mounted as a volume."""

    reference: str = ""
    pull_policy: str = ""


class Volume(Struct, frozen=True, kw_only=True):
    """A volume of a pod; exactly one source is set, or one that scheduling does not read."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None


# --------------------------------------------------------------------- spec and status


class PodSchedulingGate(Struct, frozen=True):
    """A scheduling gate, which must be removed before the pod is scheduled."""

    name: str


class PodResourceClaim(Struct, frozen=True, kw_only=True):
    """A resource claim of the pod (dynamic resource allocation)."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Struct, frozen=True, kw_only=True):
    """The PodGroup that the pod is a member of (scheduling.k8s.io/v1alpha2)."""

    pod_group_name: str | None = None


class PodOS(Struct, frozen=True, kw_only=True):
    """The operating system of the pod."""

    name: str = ""


class PodSpec(Struct, frozen=True, kw_only=True):
    """The spec of a pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: ResourceList = msgspec.field(default_factory=dict)
    node_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: PreemptionPolicy | None = None
    host_network: bool = False
    host_users: bool | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    os: PodOS | None = None
    runtime_class_name: str | None = None
    restart_policy: RestartPolicy = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None

    @property
    def node_affinity(self) -> NodeAffinity:
        """The node affinity; without terms if the pod has none."""
        return (self.affinity and self.affinity.node_affinity) or _NO_NODES

    @property
    def pod_affinity(self) -> PodAffinity:
        """The affinity to pods; without terms if the pod has none."""
        return (self.affinity and self.affinity.pod_affinity) or _NO_PODS

    @property
    def pod_anti_affinity(self) -> PodAntiAffinity:
        """The anti-affinity to pods; without terms if the pod has none."""
        return (self.affinity and self.affinity.pod_anti_affinity) or _NO_OTHER_PODS


_NO_NODES, _NO_PODS, _NO_OTHER_PODS = NodeAffinity(), PodAffinity(), PodAntiAffinity()


class ContainerStatus(Struct, frozen=True, kw_only=True):
    """The status of a container, written by the kubelet."""

    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class PodStatus(Struct, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: PodPhase = ""
    conditions: tuple[Condition, ...] = ()
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodTemplateSpec(Struct, frozen=True, kw_only=True):
    """The template of the pods that a controller creates."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Pod(KubernetesObject, frozen=True, kw_only=True):
    """A pod."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """`spec.priority`, 0 when absent (`corev1helpers.PodPriority`)."""
        priority = self.spec.priority
        return 0 if priority is None else priority

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has succeeded or failed; the scheduler ignores such pods."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_terminating(self) -> bool:
        """Whether the pod's deletion has started."""
        return self.metadata.deletion_timestamp is not None


# Conditions in the status of a pod.


def condition_of(pod: Pod, condition_type: str) -> Condition | None:
    """Return the condition of a pod that has a type; None if there is none."""
    for condition in pod.status.conditions:
        if condition.type == condition_type:
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Report whether a pod's condition Ready is true.

    Notes
    -----
    Upstream: pkg/api/v1/pod/util.go, IsPodReady
    """
    condition = condition_of(pod, "Ready")
    return condition is not None and condition.status == "True"


def deletion_cost(text: str) -> int | None:
    """Return the cost in the annotation `DELETION_COST`; None if it is not a 32-bit integer.

    Parameters
    ----------
    text : str
        A plus sign is invalid, and so are leading zeros that do not follow a minus sign.

    Notes
    -----
    Upstream: pkg/apis/core/helper/helpers.go, GetDeletionCostFromPodAnnotations
    """
    found = _COST.fullmatch(text)
    cost = int(found[1][:1] + found[2]) if found else 2**31
    return cost if -(2**31) <= cost < 2**31 else None
