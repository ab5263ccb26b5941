"""Finalizers of volumes, claims and groups, which controllers remove when nothing uses them.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go;
plugin/pkg/admission/scheduling/podgroupprotection/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, Resources

_OF_VOLUMES: Final = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Adds the finalizers to new volumes and claims."""

    name = "StorageObjectInUseProtection"
    resources: Resources = frozenset(_OF_VOLUMES)

    def admit(self, attributes: Attributes) -> None:
        """Add the finalizer to a new object."""
        resource = attributes.resource
        _protect(attributes, _OF_VOLUMES[resource.group, resource.plural])


class PodGroupProtection(Plugin):
    """Adds the finalizer to new PodGroups."""

    name = "PodGroupProtection"
    resources: Resources = frozenset({("scheduling.k8s.io", "podgroups")})

    def admit(self, attributes: Attributes) -> None:
        """Add the finalizer to a new object."""
        _protect(attributes, "scheduling.k8s.io/podgroup-protection")


def _protect(attributes: Attributes, finalizer: str) -> None:
    if attributes.operation != "CREATE" or attributes.subresource or attributes.object is None:
        return
    metadata = attributes.object.get("metadata") or {}
    present = metadata.get("finalizers") or []
    if finalizer not in present:
        changed = metadata | {"finalizers": [*present, finalizer]}
        attributes.object = attributes.object | {"metadata": changed}
