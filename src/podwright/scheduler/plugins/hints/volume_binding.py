"""VolumeBinding: classes, claims, volumes, nodes and CSI objects.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Pod,
    StorageClass,
    quantity_value,
)
from podwright.scheduler.framework import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    ActionType,
    EventHint,
    Hint,
)
from podwright.scheduler.plugins.hints.objects import after_used_claim, changed, queue_if

MIGRATED_PLUGINS_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins"


def events_to_register() -> tuple[EventHint, ...]:
    """Return classes, claims, volumes, nodes and CSI objects."""
    add_or_update = ActionType.ADD | ActionType.UPDATE
    return (
        EventHint(STORAGE_CLASS, add_or_update, after_class_change),
        EventHint(PERSISTENT_VOLUME_CLAIM, add_or_update, after_used_claim),
        EventHint(PERSISTENT_VOLUME, add_or_update),
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        EventHint(CSI_NODE, add_or_update, after_csi_node_change),
        EventHint(CSI_DRIVER, ActionType.UPDATE, after_csi_driver_change),
        EventHint(CSI_STORAGE_CAPACITY, add_or_update, after_capacity_change),
    )


def after_class_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the class is new or allows other topologies."""
    before, after = changed(StorageClass, old, new)
    return queue_if(before is None or before.allowed_topologies != after.allowed_topologies)


def after_csi_node_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node is new or migrates other volume plugins."""
    before, after = changed(CSINode, old, new)
    if before is None:
        return Hint.QUEUE
    migrated = [
        node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION, "") for node in (before, after)
    ]
    return queue_if(migrated[0] != migrated[1])


def after_csi_driver_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if a driver of the pod's inline volumes no longer watches its capacity."""
    before, after = changed(CSIDriver, old, new)
    is_mine = any(
        volume.csi is not None and volume.csi.driver == after.metadata.name
        for volume in pod.spec.volumes
    )
    return queue_if(
        is_mine
        and before is not None
        and before.spec.storage_capacity
        and not after.spec.storage_capacity
    )


def after_capacity_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the capacity is new or allows larger volumes."""
    before, after = changed(CSIStorageCapacity, old, new)
    if before is None:
        return Hint.QUEUE
    had, has = _volume_limit(before), _volume_limit(after)
    return queue_if(has is not None and (had is None or has > had))


def _volume_limit(capacity: CSIStorageCapacity) -> int | None:
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return None if limit is None else quantity_value(limit)
