"""Nodes: the fields that scheduling reads.

Upstream: staging/src/k8s.io/api/core/v1/types.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from podwright.apimachinery.objects.meta import Condition, KubernetesObject, ResourceList, Struct
from podwright.apimachinery.objects.pods.pod import TaintEffect

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
PLATFORM_LABELS: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
"""What a kubelet on the usual platform says about its node; many charts select nodes by it."""

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TAINT_OF_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""The keys of the taints that the node controller sets, by type and status of a condition.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go,
nodeConditionToTaintKeyStatusMap
"""

TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE: Final = "DeletionCandidateOfClusterAutoscaler"
LEAVING_TAINTS: Final = frozenset(
    {
        TO_BE_DELETED,
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.kubernetes.io/out-of-service",
    }
)
"""The keys of the taints of nodes that are about to be deleted."""

_TEMPORARY_TAINTS: Final = LEAVING_TAINTS.union(
    TAINT_OF_CONDITION.values(),
    (
        DELETION_CANDIDATE,
        "NodeWithImpairedVolumes",
        "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/unschedulable",
    ),
)
_TEMPORARY_PREFIXES: Final = tuple(
    f"{kind}-taint.cluster-autoscaler.kubernetes.io/" for kind in ("ignore", "startup", "status")
)


def zone_key(labels: Mapping[str, str]) -> str:
    """Return the region and zone of a node by its labels; "" if it has neither.

    Upstream: staging/src/k8s.io/component-helpers/node/topology/helpers.go, GetZoneKey
    """
    # Upstream reads the beta labels first, even if a node has both.
    zone = labels.get(BETA_ZONE, labels.get(ZONE, ""))
    region = labels.get(BETA_REGION, labels.get(REGION, ""))
    # The null character separates the two even if one of them contains a colon.
    return f"{region}:\0:{zone}" if zone or region else ""


class Taint(Struct, frozen=True, kw_only=True):
    """A taint: repels pods that do not tolerate it."""

    key: str
    effect: TaintEffect
    value: str = ""
    time_added: str | None = None


class NodeSpec(Struct, frozen=True, kw_only=True):
    """The spec of a node."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(default="", name="providerID")


class ContainerImage(Struct, frozen=True, kw_only=True):
    """An image on the node, with all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Struct, frozen=True, kw_only=True):
    """The status of a node."""

    allocatable: ResourceList = msgspec.field(default_factory=dict)
    capacity: ResourceList = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_in_use: tuple[str, ...] = ()


class Node(KubernetesObject, frozen=True, kw_only=True):
    """A node."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Node"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


def permanent_taints(node: Node) -> tuple[Taint, ...]:
    """Return the taints that a new node like this one has too.

    The others state its condition, or that it starts or leaves.

    Upstream: cluster-autoscaler/utils/taints/taints.go, SanitizeTaints; karpenter's
    pkg/apis/v1/taints.go
    """
    return tuple(
        taint
        for taint in node.spec.taints
        if taint.key not in _TEMPORARY_TAINTS and not taint.key.startswith(_TEMPORARY_PREFIXES)
    )
