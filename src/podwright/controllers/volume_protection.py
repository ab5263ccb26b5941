"""Claims and volumes that are in use are not deleted before they are free.

They have finalizers from their creation on; these go when a deleted claim is used by no pod
on a node any more, and when a deleted volume is not bound.

Upstream: pkg/controller/volume/pvcprotection/pvc_protection_controller.go,
pkg/controller/volume/pvprotection/pv_protection_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from podwright.api import finalizers_without, patched, section
from podwright.controllers.interface import (
    ControllerAction,
    PodChange,
    UpdateObject,
)
from podwright.controllers.kinds import POD, PV, PVC, GroupKind
from podwright.controllers.lister import Lister
from podwright.controllers.pvc_users import PvcUsers, claims_of
from podwright.objects import (
    KubernetesObject,
    NamespacedName,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"


class VolumeProtectionController:
    """Puts finalizers on claims and volumes, and takes them away when they are free.

    The key of a claim has a namespace in it, that of a volume has none.
    """

    name = "volume-protection-controller"
    kinds: Sequence[GroupKind] = (PVC, PV, POD)
    pod_changes = PodChange.TERMINAL | PodChange.ADDED | PodChange.DELETED
    only_with_volumes: Literal[True] = True

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._users = PvcUsers(lister)

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Look at new and deleted claims and volumes, and at claims whose pod lets them go."""
        if isinstance(new, Pod) or isinstance(old, Pod):
            pod = new if new is not None else old
            assert isinstance(pod, Pod), "a pod"
            if not pod.spec.volumes:
                return ()
            self._users.observe(old, new)
            return list(claims_of(pod)) if new is None or pod.is_terminal else ()
        if new is None:
            return ()
        deleted = new.metadata.deletion_timestamp is not None
        return (new.key,) if deleted or old is None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Put the finalizer on, or take it away."""
        if "/" in key:
            claim = self._lister.get(PVC, key)
            if not isinstance(claim, PersistentVolumeClaim):
                return []
            in_use = any(pod.spec.node_name and not pod.is_terminal for pod in self._users.of(key))
            return self._protected(claim, CLAIM_FINALIZER, in_use=in_use)
        volume = self._lister.get(PV, key)
        if not isinstance(volume, PersistentVolume):
            return []
        return self._protected(volume, VOLUME_FINALIZER, in_use=volume.status.phase == "Bound")

    def _protected(
        self, obj: KubernetesObject, finalizer: str, *, in_use: bool
    ) -> list[ControllerAction]:
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
        return [UpdateObject(new, "main", self.name)]

    def state(self) -> dict[str, Any]:
        """Return nothing: who uses what is seen in the pods."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember nothing."""
