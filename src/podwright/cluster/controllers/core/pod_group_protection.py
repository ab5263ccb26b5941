"""A deleted PodGroup is removed when no pod of it runs any more.

Admission gives each new PodGroup the finalizer (`PodGroupProtection`).

Upstream: pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.cluster.api import finalizers_without, patched
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import POD, POD_GROUP
from podwright.cluster.controllers.lister import Lister

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
        changed = new if new is not None else old
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
