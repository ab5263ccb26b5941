"""What new objects get, and what they need.

They get finalizers (volumes, claims, groups) or a taint (nodes), which controllers remove. A
PodGroup needs its Workload.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go;
plugin/pkg/admission/scheduling/podgroupprotection/admission.go;
plugin/pkg/admission/nodetaint/admission.go; plugin/pkg/admission/podgroup/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, Workload, go_quoted
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, Resources, rejected, set_spec, spec_of
from podwright.cluster.api.versions.resources import plural_of
from podwright.cluster.store import GroupKind

_NOT_READY: Final = "node.kubernetes.io/not-ready"
OF_VOLUMES: Final[dict[GroupKind, str]] = {
    ("", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
}
"""The finalizers of the kinds that may be in use."""


class TaintNodesByCondition(Plugin):
    """Adds the taint `node.kubernetes.io/not-ready` to new nodes."""

    name = "TaintNodesByCondition"
    resources: Resources = frozenset({("", "nodes")})

    def admit(self, attributes: Attributes) -> None:
        """Add the taint to a new node."""
        if attributes.operation != "CREATE" or not attributes.is_for("", "nodes"):
            return
        taints: list[Document] = spec_of(attributes).get("taints") or []
        if any(
            (each.get("key"), each.get("effect")) == (_NOT_READY, "NoSchedule") for each in taints
        ):
            return
        set_spec(attributes, taints=[*taints, {"key": _NOT_READY, "effect": "NoSchedule"}])


class StorageObjectInUseProtection(Plugin):
    """Adds the finalizers to new volumes and claims."""

    name = "StorageObjectInUseProtection"
    resources: Resources = frozenset((kind[0], plural_of(kind)) for kind in OF_VOLUMES)

    def admit(self, attributes: Attributes) -> None:
        """Add the finalizer to a new object."""
        _protect(attributes, OF_VOLUMES[attributes.resource.storage])


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
    attributes.object = protected(attributes.object, finalizer)


def protected(document: Document, finalizer: str) -> Document:
    """Return an object with a finalizer; the same one if it has it."""
    metadata = document.get("metadata") or {}
    present = metadata.get("finalizers") or []
    if finalizer in present:
        return document
    return document | {"metadata": metadata | {"finalizers": [*present, finalizer]}}


# ------------------------------------------------------------------------------------- pod groups


class PodGroupWorkloadExists(Plugin):
    """Rejects a new PodGroup whose Workload does not exist, or does not have its template."""

    name = "PodGroupWorkloadExists"
    resources: Resources = frozenset({("scheduling.k8s.io", "podgroups")})

    def validate(self, attributes: Attributes) -> None:
        """Reject the group."""
        if attributes.operation != "CREATE" or attributes.subresource:
            return
        reference = (spec_of(attributes).get("podGroupTemplateRef") or {}).get("workload")
        if reference is None:
            return
        name = reference.get("workloadName", "")
        workload = self._store.get(Workload, f"{attributes.namespace}/{name}")
        what = f"Workload {go_quoted(name)}"
        if workload is None:
            raise rejected(attributes, f"PodGroup rejected: {what} not found")
        if workload.metadata.deletion_timestamp is not None:
            raise rejected(attributes, f"PodGroup rejected: {what} is being deleted")
        template = reference.get("podGroupTemplateName", "")
        if all(each.name != template for each in workload.spec.pod_group_templates):
            raise rejected(
                attributes,
                f"PodGroup rejected: PodGroupTemplate {go_quoted(template)} not found in {what}",
            )
