"""The kinds that Kubernetes serves or served, to distinguish misspelled kinds from custom ones.

An API server without custom resources rejects any other kind of these groups. All other groups
belong to custom resources, whose kinds are not known here. Kinds that were removed from Kubernetes
are included, because dumps of older clusters contain them.

Upstream: staging/src/k8s.io/api/*/*/register.go, the kinds with resources of their own
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.objects.errors import nearest, quoted
from podwright.objects.kinds import api_group

KINDS_OF_GROUP: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        "Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace",
        "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate",
        "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
    ),
    "admissionregistration.k8s.io": (
        "InitializerConfiguration", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "apps": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "authentication.k8s.io": ("SelfSubjectReview", "TokenRequest", "TokenReview"),
    "authorization.k8s.io": (
        "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ),
    "autoscaling": ("HorizontalPodAutoscaler", "Scale"),
    "batch": ("CronJob", "Job"),
    "certificates.k8s.io": (
        "CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest",
    ),
    "coordination.k8s.io": ("Lease", "LeaseCandidate"),
    "discovery.k8s.io": ("EndpointSlice",),
    "events.k8s.io": ("Event",),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": (
        "ClusterCIDR", "IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR",
    ),
    "node.k8s.io": ("RuntimeClass",),
    "policy": ("Eviction", "PodDisruptionBudget", "PodSecurityPolicy"),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "resource.k8s.io": (
        "DeviceClass", "DeviceTaintRule", "PodScheduling", "PodSchedulingContext",
        "ResourceClaim", "ResourceClaimParameters", "ResourceClaimTemplate", "ResourceClass",
        "ResourceClassParameters", "ResourcePoolStatusRequest", "ResourceSlice",
    ),
    "scheduling.k8s.io": ("PodGroup", "PriorityClass", "Workload"),
    "storage.k8s.io": (
        "CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment",
        "VolumeAttributesClass",
    ),
    "storagemigration.k8s.io": ("StorageVersionMigration",),
}  # fmt: skip
"""By group, "" for the core group; independent of the version."""


def no_match(api_version: str, kind: str) -> str:
    """Return kubectl's error if a built-in group has no such kind; "" otherwise.

    Upstream: k8s.io/apimachinery/pkg/api/meta/errors.go, `NoKindMatchError`
    """
    known = KINDS_OF_GROUP.get(api_group(api_version))
    if known is None or kind in known:
        return ""
    near = nearest(kind, known)
    hint = f'; did you mean "{near}"?' if near else ""
    return f"no matches for kind {quoted(kind)} in version {quoted(api_version)}{hint}"
