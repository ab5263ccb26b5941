"""Finalizers of volumes and claims, which controllers remove when nothing uses them.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.api.admission.attributes import Attributes
from podwright.api.admission.plugin import Plugin, Resources

_FINALIZERS: Final = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Adds the finalizers to new volumes and claims."""

    name = "StorageObjectInUseProtection"
    resources: Resources = frozenset(_FINALIZERS)

    def admit(self, attributes: Attributes) -> None:
        """Add the finalizer to a new object."""
        if attributes.operation != "CREATE" or attributes.subresource or attributes.object is None:
            return
        resource = attributes.resource
        finalizer = _FINALIZERS.get((resource.group, resource.plural))
        metadata = attributes.object.get("metadata") or {}
        present = metadata.get("finalizers") or []
        if finalizer is not None and finalizer not in present:
            changed = metadata | {"finalizers": [*present, finalizer]}
            attributes.object = attributes.object | {"metadata": changed}
