"""VolumeRestrictions: deleted pods that free a disk or a ReadWriteOncePod claim.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod, Volume
from podwright.scheduler.framework import (
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    ActionType,
    EventHint,
    Hint,
)
from podwright.scheduler.plugins.hints.objects import only, queue_if
from podwright.scheduler.plugins.hints.volumes import after_named_claim


def events_to_register() -> tuple[EventHint, ...]:
    """Return deleted pods, new nodes and new claims."""
    return (
        EventHint(POD, ActionType.DELETE, after_pod_deleted),
        EventHint(NODE, ActionType.ADD),
        EventHint(PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_named_claim),
    )


def after_pod_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the deleted pod had a disk or a claim of this pod's."""
    deleted = only(Pod, old)
    if deleted.metadata.namespace != pod.metadata.namespace:
        return Hint.SKIP
    claims = {
        volume.persistent_volume_claim.claim_name
        for volume in deleted.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    return queue_if(
        any(
            (
                volume.persistent_volume_claim is not None
                and volume.persistent_volume_claim.claim_name in claims
            )
            or any(volumes_conflict(volume, theirs) for theirs in deleted.spec.volumes)
            for volume in pod.spec.volumes
        )
    )


def volumes_conflict(mine: Volume, theirs: Volume) -> bool:
    """Return whether two pods on one node could not both have their volume.

    Upstream: volume_restrictions.go, isVolumeConflict
    """
    if mine.gce_persistent_disk is not None and theirs.gce_persistent_disk is not None:
        disk, other_disk = mine.gce_persistent_disk, theirs.gce_persistent_disk
        if disk.pd_name == other_disk.pd_name and not (disk.read_only and other_disk.read_only):
            return True
    if mine.aws_elastic_block_store is not None and theirs.aws_elastic_block_store is not None:
        ebs, other_ebs = mine.aws_elastic_block_store, theirs.aws_elastic_block_store
        if ebs.volume_id == other_ebs.volume_id:
            return True
    if mine.iscsi is not None and theirs.iscsi is not None:
        iscsi, other_iscsi = mine.iscsi, theirs.iscsi
        if iscsi.iqn == other_iscsi.iqn and not (iscsi.read_only and other_iscsi.read_only):
            return True
    if mine.rbd is not None and theirs.rbd is not None:
        rbd, other_rbd = mine.rbd, theirs.rbd
        same_image = rbd.pool == other_rbd.pool and rbd.image == other_rbd.image
        shares_monitor = not set(rbd.monitors).isdisjoint(other_rbd.monitors)
        if same_image and shares_monitor and not (rbd.read_only and other_rbd.read_only):
            return True
    return False
