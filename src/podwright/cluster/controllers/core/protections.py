"""Objects in use are protected: claims, volumes and pod groups are removed when they are unused.

They have a finalizer from their creation. It is removed from a deleted claim when no pod with a
node has it, also none that has ended, from a deleted volume when it is not bound, and from a group
when none of its pods runs.

Upstream: pkg/controller/volume/pvcprotection/pvc_protection_controller.go,
pkg/controller/volume/pvprotection/pv_protection_controller.go;
pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller.go.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from podwright.cluster.api import finalizers_without, patched, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import POD_GROUP, PV, PVC
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.storage.pvc_users import PvcUsers, claims_of
from podwright.cluster.store import POD

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"


class VolumeProtectionController(Controller):
    """Adds finalizers to claims and volumes, and removes them when they are unused.

    The key of a claim contains a namespace, the key of a volume does not.
    """

    name = "volume-protection-controller"
    kinds = (PVC, PV, POD)
    pod_changes = PodChange.METADATA | PodChange.ADDED | PodChange.DELETED
    only_with_volumes = True

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._users = PvcUsers(lister)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return new and deleted claims and volumes, and the claims of removed pods."""
        if isinstance(new, Pod) or isinstance(old, Pod):
            pod = self.latest_of(old, new)
            assert isinstance(pod, Pod), "a pod"
            if not pod.spec.volumes:
                return ()
            self._users.observe(old, new)
            return list(claims_of(pod)) if new is None or _is_shut_down(pod) else ()
        if new is None:
            return ()
        deleted = new.metadata.deletion_timestamp is not None
        return (new.key,) if deleted or old is None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Add or remove the finalizer."""
        if "/" in key:
            claim = self._lister.get(PVC, key)
            if not isinstance(claim, PersistentVolumeClaim):
                return []
            in_use = any(_uses(pod, claim) for pod in self._users.of(key))
            return self._protected(claim, CLAIM_FINALIZER, in_use=in_use)
        volume = self._lister.get(PV, key)
        if not isinstance(volume, PersistentVolume):
            return []
        return self._protected(volume, VOLUME_FINALIZER, in_use=volume.status.phase == "Bound")

    def _protected(self, obj: KubernetesObject, finalizer: str, *, in_use: bool) -> Actions:
        has = finalizer in obj.metadata.finalizers
        if obj.metadata.deletion_timestamp is None:
            if has:
                return []
            finalizers = [*(section(obj, "metadata").get("finalizers") or ()), finalizer]
            new = patched(obj, metadata={"finalizers": finalizers})
        elif has and not in_use:
            new = patched(obj, metadata=finalizers_without(obj, finalizer))
        else:
            return []
        return [self.update(new)]


def _uses(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether a pod that has a claim by name keeps it.

    Upstream: podUsesPVCForDeletion
    """
    if not pod.spec.node_name:
        return False
    volumes = (each.persistent_volume_claim for each in pod.spec.volumes)
    if any(each is not None and each.claim_name == claim.name for each in volumes):
        return True
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.uid and not _is_shut_down(pod)


def _is_shut_down(pod: Pod) -> bool:
    return pod.is_terminating and pod.metadata.deletion_grace_period_seconds == 0


# A deleted PodGroup is removed when no pod of it runs any more.
#
# Admission gives each new PodGroup the finalizer (`PodGroupProtection`).

FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"


class PodGroupProtectionController(Controller):
    """Removes the finalizers of deleted groups without active pods."""

    name = "podgroup-protection-controller"
    kinds = (POD_GROUP, POD)
    pod_changes = PodChange.ADDED | PodChange.TERMINAL | PodChange.DELETED

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._active: dict[NamespacedName, dict[NamespacedName, None]] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return deleted groups, and the groups of pods that ended."""
        changed = self.latest_of(old, new)
        if not isinstance(changed, Pod):
            return [] if new is None or new.metadata.deletion_timestamp is None else [new.key]
        group = changed.spec.scheduling_group
        if group is None or group.pod_group_name is None:
            return []
        key = f"{changed.namespace}/{group.pod_group_name}"
        if new is not None and not changed.is_terminal:
            self._active.setdefault(key, {})[changed.key] = None
            return []
        active = self._active.get(key, {})
        active.pop(changed.key, None)
        if not active:
            self._active.pop(key, None)
        return [key]

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Remove the finalizer of a deleted group without active pods."""
        group = self._lister.get(POD_GROUP, key)
        if (
            group is None
            or group.metadata.deletion_timestamp is None
            or FINALIZER not in group.metadata.finalizers
            or key in self._active
        ):
            return []
        new = patched(group, metadata=finalizers_without(group, FINALIZER))
        return [self.update(new)]
