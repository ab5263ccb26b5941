"""Generic ephemeral volumes: each has a claim that its pod owns.

Upstream: pkg/controller/volume/ephemeral/controller.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import section
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    Keys,
    PodChange,
    ReportedWrite,
    Version,
)
from podwright.cluster.controllers.kinds import PVC
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.storage.pvc_users import PvcUsers
from podwright.cluster.store import POD


class EphemeralVolumeController(Controller):
    """Creates the claims of ephemeral volumes."""

    name = "ephemeral-volume-controller"
    event_source = "ephemeral_volume"
    kinds = (POD, PVC)
    pod_changes = PodChange.ADDED | PodChange.DELETED
    only_with_volumes = True
    reports_creations = True

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._users = PvcUsers(lister)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a new pod with ephemeral volumes, and the pods whose claim was removed."""
        changed = self.latest_of(old, new)
        if isinstance(changed, Pod):
            self._users.observe(old, new)
            has = old is None and any(volume.ephemeral for volume in changed.spec.volumes)
            return (changed.key,) if has else ()
        if new is None and old is not None:
            return [pod.key for pod in self._users.of(old.key)]
        return ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the missing claims, up to one that is not of the pod.

        Upstream: syncHandler, handleVolume
        """
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
            what = f"ephemeral volume {volume['name']}"
            if present is None:
                failed = self.warning(pod, "FailedBinding", f"{what}: create PVC {name}: ")
                creation = self.create(_claim(pod, name, template))
                actions.append(ReportedWrite(creation, None, failed))
                continue
            owner = present.metadata.controller
            if owner is None or owner.uid != pod.uid:
                note = f"{what}: PVC {present.key} was not created for pod {key} (pod is not owner)"
                return [*actions, self.warning(pod, "FailedBinding", note)]
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
