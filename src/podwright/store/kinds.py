"""What the store must know about kinds: who has a status, a generation, a grace period.

Upstream: pkg/registry/*/strategy.go of each kind
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.objects import KubernetesObject, Pod, Unknown, api_group

GroupKind: TypeAlias = tuple[str, str]
"""API group and kind; versions of a kind are one kind."""

KindLike: TypeAlias = GroupKind | type[KubernetesObject]
"""Group and kind, or the struct of a typed kind."""


class KindRules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How objects of a kind are written.

    Attributes
    ----------
    has_status : bool
        Whether `status` is a subresource: writes of the object leave it, and it them.
    has_generation : bool
        Whether `metadata.generation` counts the changes of the spec.
    is_graceful : bool
        Whether deletion leaves time to stop (pods).
    counts_annotations : bool
        Whether changed annotations count as a change of the spec (deployments).
    """

    has_status: bool = False
    has_generation: bool = False
    is_graceful: bool = False
    counts_annotations: bool = False


CUSTOM = KindRules(has_generation=True)
"""Kinds nobody told the store about: custom resources without subresources."""

_PLAIN = KindRules()
_STATUS = KindRules(has_status=True)
_BOTH = KindRules(has_status=True, has_generation=True)
_GENERATION = KindRules(has_generation=True)

NAMESPACE: GroupKind = ("", "Namespace")
POD: GroupKind = ("", "Pod")

RULES: dict[GroupKind, KindRules] = {
    POD: KindRules(has_status=True, has_generation=True, is_graceful=True),
    ("apps", "Deployment"): KindRules(
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
"""The rules of the built-in kinds."""

_OF_CLASS: dict[type[KubernetesObject], GroupKind] = {}


def group_kind(kind: KindLike) -> GroupKind:
    """Return the group and kind of a struct, or what is one already."""
    if isinstance(kind, tuple):
        return kind
    found = _OF_CLASS.get(kind)
    if found is None:
        found = _OF_CLASS[kind] = (api_group(kind.api_version), kind.kind)
    return found


def kind_of(obj: KubernetesObject) -> GroupKind:
    """Return the group and kind of an object."""
    cls = type(obj)
    if cls is Pod:
        return POD
    if cls is Unknown:
        return (api_group(obj.api_version), obj.kind)
    return group_kind(cls)
