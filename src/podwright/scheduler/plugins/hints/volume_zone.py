"""VolumeZone: volumes whose zone becomes known or changes.

Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    PersistentVolume,
    Pod,
    StorageClass,
)
from podwright.scheduler.framework import (
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    ActionType,
    EventHint,
    Hint,
)
from podwright.scheduler.plugins.hints.objects import changed, queue_if
from podwright.scheduler.plugins.hints.volumes import after_named_claim

TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)


def events_to_register() -> tuple[EventHint, ...]:
    """Return classes that wait for pods, nodes, claims and volumes."""
    add_or_update = ActionType.ADD | ActionType.UPDATE
    return (
        EventHint(STORAGE_CLASS, ActionType.ADD, after_class_added),
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        EventHint(PERSISTENT_VOLUME_CLAIM, add_or_update, after_named_claim),
        EventHint(PERSISTENT_VOLUME, add_or_update, after_volume_change),
    )


def after_class_added(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the class binds when a pod comes."""
    _, storage_class = changed(StorageClass, old, new)
    return queue_if(storage_class.volume_binding_mode == "WaitForFirstConsumer")


def after_volume_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the volume is new or its topology labels changed."""
    before, after = changed(PersistentVolume, old, new)
    return queue_if(before is None or _zones(before) != _zones(after))


def _zones(volume: PersistentVolume) -> dict[str, frozenset[str]]:
    """Return the volume's topology; labels that cannot be read are left out."""
    found = {}
    for key in TOPOLOGY_LABELS:
        zones = [zone.strip() for zone in volume.metadata.labels.get(key, "").split("__")]
        if all(zones):
            found[key] = frozenset(zones)
    return found
