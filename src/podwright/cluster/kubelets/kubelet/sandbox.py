"""The sandbox of a pod: its volumes, its devices and its network, before any container starts.

Upstream: pkg/kubelet/kubelet.go, SyncPod; pkg/kubelet/volumemanager/volume_manager.go
"""

from __future__ import annotations

from typing import Final, Literal

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.claimed_volumes import waiting_volumes
from podwright.cluster.kubelets.kubelet.device_claims import PrepareError, prepared_claims
from podwright.cluster.kubelets.kubelet.references import ObjectReader, volume_error
from podwright.cluster.kubelets.kubelet.sync_context import SyncContext

_SYNC_RETRY_NS: Final = 10 * SECOND_NS
_MOUNT_BACK_OFF_NS: Final = SECOND_NS // 2
_MOUNT_BACK_OFF_MAX_NS: Final = 122 * SECOND_NS


def start_sandbox(sync: SyncContext) -> bool:
    """Mount the volumes and set up the network; False if the volumes cannot be mounted yet."""
    record, now_ns = sync.record, sync.now_ns
    if now_ns < record.mount_retry_ns:
        sync.sync_at(record.mount_retry_ns)
        return False
    reader = sync.node.reader
    error = volume_error(sync.document, reader) if reader is not None else None
    if error is not None:
        name, text = error
        note = f'MountVolume.SetUp failed for volume "{name}" : {text}'
        sync.event("Warning", "FailedMount", note)
        return _retry_mount(sync)
    if reader is not None and not (
        _has_claimed_volumes(sync, reader) and _prepare_devices(sync, reader)
    ):
        return False
    record.has_sandbox = True
    if sync.spec.get("hostNetwork"):
        record.pod_ip = sync.node.address
    elif not record.pod_ip:
        record.pod_ip = sync.node.new_pod_address(sync.pod)
    return True


def _has_claimed_volumes(sync: SyncContext, reader: ObjectReader) -> bool:
    """Whether the volumes of the claims are bound, and attached to the node."""
    waiting = waiting_volumes(sync.document, sync.node.read(), reader)
    if waiting.errors:
        sync.event("Warning", "FailedMount", waiting.note)
        return _retry_mount(sync, _SYNC_RETRY_NS)
    return not waiting.unattached or _retry_mount(sync)


def _retry_mount(sync: SyncContext, delay_ns: int | None = None) -> Literal[False]:
    """Mount later: after a delay, or after a back-off that doubles."""
    record = sync.record
    if delay_ns is None:
        back_off_ns = min(2 * record.mount_back_off_ns, _MOUNT_BACK_OFF_MAX_NS)
        delay_ns = record.mount_back_off_ns = back_off_ns or _MOUNT_BACK_OFF_NS
    record.mount_retry_ns = sync.now_ns + delay_ns
    sync.sync_at(record.mount_retry_ns)
    return False


def _prepare_devices(sync: SyncContext, reader: ObjectReader) -> bool:
    """Let the drivers prepare the resource claims; return whether they did."""
    try:
        preparation = prepared_claims(sync.pod, reader, sync.now_ns)
    except PrepareError as error:
        note = f"Failed to prepare dynamic resources: {error}"
        sync.event("Warning", "FailedPrepareDynamicResources", note)
        return _retry_mount(sync, _SYNC_RETRY_NS)
    if preparation.due_ns > sync.now_ns:
        return _retry_mount(sync, preparation.due_ns - sync.now_ns)
    sync.writes += preparation.writes
    return True
