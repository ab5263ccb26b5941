"""Generic ephemeral volumes: each has a claim that its pod owns.

Upstream: pkg/controller/volume/ephemeral/controller.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import section
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import PVC
from podwright.cluster.store import POD


class EphemeralVolumeController(Controller):
    """Creates the claims of ephemeral volumes."""

    name = "ephemeral-volume-controller"
    kinds = (POD, PVC)
    pod_changes = PodChange.ADDED
    only_with_volumes = True

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a new pod with ephemeral volumes, and a pod whose claim was removed."""
        if isinstance(new, Pod):
            has = old is None and any(volume.ephemeral for volume in new.spec.volumes)
            return (new.key,) if has else ()
        if new is None and old is not None and not isinstance(old, Pod):
            owner = old.metadata.controller
            if owner is not None and owner.kind == "Pod":
                return (f"{old.namespace}/{owner.name}",)
        return ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the missing claims."""
        pod = self._lister.get(POD, key)
        if not isinstance(pod, Pod) or pod.is_terminating:
            return []
        actions: Actions = []
        for volume in section(pod, "spec").get("volumes") or ():
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            if template is None:
                continue
            name = f"{pod.name}-{volume['name']}"
            present = self._lister.get(PVC, f"{pod.namespace}/{name}")
            if present is None:
                actions.append(self.create(_claim(pod, name, template)))
                continue
            owner = present.metadata.controller
            if owner is None or owner.uid != pod.uid:
                note = f"PVC {pod.namespace}/{name} was not created for pod {key}"
                note += " (pod is not owner)"
                reason = "EphemeralVolumeConflict"
                actions.append(self.warning(pod, reason, note))
        return actions


def _claim(pod: Pod, name: str, template: Document) -> KubernetesObject:
    given = template.get("metadata") or {}
    metadata: Document = {
        "name": name,
        "namespace": pod.namespace,
        "ownerReferences": [controller_reference_document(pod)],
    }
    for field in ("labels", "annotations"):
        if given.get(field):
            metadata[field] = given[field]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
        "status": {"phase": "Pending"},
    }
    return decode(claim, source=f"Pod {pod.key}: volume {name}")
