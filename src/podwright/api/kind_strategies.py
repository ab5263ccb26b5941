"""The strategy of each kind: whether it has a status, a generation, a grace period.

Upstream: pkg/registry/*/strategy.go of each kind
"""

from __future__ import annotations

import msgspec

from podwright.store import NAMESPACE, POD, GroupKind


class KindStrategy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the objects of a kind are written.

    Attributes
    ----------
    has_status : bool
        Whether `status` is a subresource, which an update of the object does not change.
    has_generation : bool
        Whether `metadata.generation` counts changes of the spec.
    is_graceful : bool
        Whether deletion has a grace period (pods).
    counts_annotations : bool
        Whether a change of annotations increments the generation (deployments).
    """

    has_status: bool = False
    has_generation: bool = False
    is_graceful: bool = False
    counts_annotations: bool = False


CUSTOM = KindStrategy(has_generation=True)
"""The strategy of custom resources without subresources."""

_PLAIN = KindStrategy()
_STATUS = KindStrategy(has_status=True)
_BOTH = KindStrategy(has_status=True, has_generation=True)
_GENERATION = KindStrategy(has_generation=True)

STRATEGIES: dict[GroupKind, KindStrategy] = {
    POD: KindStrategy(has_status=True, has_generation=True, is_graceful=True),
    ("apps", "Deployment"): KindStrategy(
        has_status=True, has_generation=True, counts_annotations=True
    ),
    **dict.fromkeys(
        [
            ("", "ReplicationController"),
            ("apps", "DaemonSet"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("batch", "CronJob"),
            ("batch", "Job"),
            ("policy", "PodDisruptionBudget"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ],
        _BOTH,
    ),
    **dict.fromkeys(
        [
            NAMESPACE,
            ("", "Node"),
            ("", "PersistentVolume"),
            ("", "PersistentVolumeClaim"),
            ("", "ResourceQuota"),
            ("", "Service"),
            ("apiregistration.k8s.io", "APIService"),
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("networking.k8s.io", "Ingress"),
            ("resource.k8s.io", "ResourceClaim"),
            ("scheduling.k8s.io", "PodGroup"),
            ("storage.k8s.io", "VolumeAttachment"),
        ],
        _STATUS,
    ),
    **dict.fromkeys(
        [
            ("resource.k8s.io", "DeviceClass"),
            ("resource.k8s.io", "ResourceSlice"),
            ("scheduling.k8s.io", "PriorityClass"),
            ("networking.k8s.io", "NetworkPolicy"),
        ],
        _GENERATION,
    ),
    **dict.fromkeys(
        [
            ("", "ConfigMap"),
            ("", "Endpoints"),
            ("", "Event"),
            ("", "LimitRange"),
            ("", "PodTemplate"),
            ("", "Secret"),
            ("", "ServiceAccount"),
            ("apps", "ControllerRevision"),
            ("coordination.k8s.io", "Lease"),
            ("discovery.k8s.io", "EndpointSlice"),
            ("events.k8s.io", "Event"),
            ("node.k8s.io", "RuntimeClass"),
            ("rbac.authorization.k8s.io", "ClusterRole"),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
            ("rbac.authorization.k8s.io", "Role"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("resource.k8s.io", "ResourceClaimTemplate"),
            ("scheduling.k8s.io", "Workload"),
            ("storage.k8s.io", "CSIDriver"),
            ("storage.k8s.io", "CSINode"),
            ("storage.k8s.io", "CSIStorageCapacity"),
            ("storage.k8s.io", "StorageClass"),
        ],
        _PLAIN,
    ),
}
"""The strategies of the built-in kinds."""
