"""NodeVolumeLimits: higher limits of nodes, and detached volumes.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import CSINode, Pod, VolumeAttachment
from podwright.scheduler.framework import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    ActionType,
    EventHint,
    Hint,
)
from podwright.scheduler.plugins.hints.objects import changed, only, queue_if
from podwright.scheduler.plugins.hints.volumes import after_used_claim, claim_name, migrated_driver


def events_to_register() -> tuple[EventHint, ...]:
    """Return CSI nodes, deleted pods, new claims and detached volumes."""
    return (
        EventHint(CSI_NODE, ActionType.ADD),
        EventHint(CSI_NODE, ActionType.UPDATE, after_csi_node_updated),
        EventHint(POD, ActionType.DELETE, after_pod_deleted),
        EventHint(PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_used_claim),
        EventHint(VOLUME_ATTACHMENT, ActionType.DELETE, after_attachment_deleted),
    )


def after_csi_node_updated(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if a driver's limit grew."""
    before, after = changed(CSINode, old, new)
    return queue_if(
        before is not None
        and any(
            count > limits.get(driver, 0)
            for limits in (_limits(before),)
            for driver, count in _limits(after).items()
        )
    )


def after_pod_deleted(_pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if a placed pod with CSI volumes was deleted."""
    deleted = only(Pod, old)
    return queue_if(
        (deleted.spec.node_name or deleted.status.nominated_node_name)
        and any(
            claim_name(deleted, volume) is not None or migrated_driver(volume) is not None
            for volume in deleted.spec.volumes
        )
    )


def after_attachment_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the pod may need a volume of that driver."""
    attachment = only(VolumeAttachment, old)
    return queue_if(
        any(
            claim_name(pod, volume) is not None
            or migrated_driver(volume) == attachment.spec.attacher
            for volume in pod.spec.volumes
        )
    )


def _limits(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
