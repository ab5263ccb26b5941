"""VolumeRestrictions: separates pods that cannot use one volume at the same time.

**What it does.** Rejects a pod on all nodes while another placed pod uses one of its
ReadWriteOncePod claims, and rejects the nodes where a pod uses one of its inline disks (GCE,
EBS, iSCSI, RBD) unless both only read it.

**Why it matters.** Two writers corrupt a disk, and a ReadWriteOncePod claim is for one pod in
the whole cluster. Preemption may help: both restrictions end when the other pod is removed.

**Configuration.** None.

**Example.** A pod with ``gcePersistentDisk: {pdName: data}`` is rejected on the node of another
pod that uses it: ``node(s) had no available disk``.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright.apimachinery.objects import Pod, Volume
from podwright.scheduler.columns import (
    READ_WRITE_ONCE_POD,
    DiskUse,
    NodeColumns,
    PlacedPod,
    Reads,
    claim_names,
    disk_uses,
)
from podwright.scheduler.framework import (
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    ActionType,
    Cycle,
    EventHint,
    Hint,
    Plugin,
    PreFilterResult,
    StateKey,
    Status,
    Verdicts,
    volumes_fragment,
)
from podwright.scheduler.plugins.hints.objects import after_named_claim, only, queue_if

DISK_CONFLICT = Status.unschedulable("node(s) had no available disk")
CLAIM_CONFLICT = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)


class Restrictions:
    """What PreFilter found, kept for Filter; changed by `add_pod` and `remove_pod`."""

    __slots__ = ("disks", "exclusive_claims", "users")

    def __init__(
        self, exclusive_claims: frozenset[str], users: int, disks: tuple[DiskUse, ...]
    ) -> None:
        self.exclusive_claims = exclusive_claims
        self.users = users
        self.disks = disks

    def clone(self) -> Restrictions:
        """Return a copy that can be changed without changing this."""
        return Restrictions(self.exclusive_claims, self.users, self.disks)


_STATE: StateKey[Restrictions] = StateKey(
    "PreFilterVolumeRestrictions", "cannot read {} from cycleState"
)


class VolumeRestrictions(Plugin):
    """Keep pods apart that cannot use one volume at the same time."""

    name = "VolumeRestrictions"
    key_reads_all_labels = False
    # The index raises its version when a claim for one pod is taken or released, so the
    # claims' users need not be read as Reads.PODS.
    pre_filter_reads: ClassVar[Reads] = Reads.STORAGE
    filter_reads: ClassVar[Reads] = Reads.PODS | Reads.STORAGE

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return deleted pods, new nodes and new claims."""
        return (
            EventHint(POD, ActionType.DELETE, after_pod_deleted),
            EventHint(NODE, ActionType.ADD),
            EventHint(PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_named_claim),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the volumes."""
        return volumes_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the claims and inline disks."""
        if not pod.spec.volumes:
            return ()
        names, disks = claim_names(pod), disk_uses(pod)
        return (pod.metadata.namespace, names, disks) if names or disks else ()

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Count the users of the pod's ReadWriteOncePod claims."""
        pod, storage = cycle.pod, cycle.cluster.storage
        if not pod.spec.volumes:
            return Status.SKIPPED
        exclusive: set[str] = set()
        for name in claim_names(pod):
            claim = storage.claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is None:
                return Status.unresolvable(f'persistentvolumeclaim "{name}" not found')
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        taken = storage.use.claim_users
        users = sum(f"{pod.metadata.namespace}/{name}" in taken for name in exclusive)
        disks = disk_uses(pod)
        if not users and not disks:
            return Status.SKIPPED
        cycle.write(_STATE, Restrictions(frozenset(exclusive), users, disks))
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject all slots while a claim is in use; a conflicting disk is the reason before."""
        state = cycle.read(_STATE)
        if state.users > 0:
            out.codes[out.rows] = out.code_of(CLAIM_CONFLICT)
        if state.disks:
            taken = cycle.cluster.storage.use.disk_conflicts(state.disks)
            if taken:
                out.codes[out.rows[np.isin(out.rows, taken)]] = out.code_of(DISK_CONFLICT)

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count another user of the claims."""
        self._count(cycle, placed, 1)

    def remove_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count one user less."""
        self._count(cycle, placed, -1)

    def _count(self, cycle: Cycle, placed: PlacedPod, sign: int) -> None:
        state = cycle.find(_STATE)
        if state is None or not state.exclusive_claims or not placed.keys.has_volumes:
            return
        # Upstream compares the names only, in all namespaces.
        users = sum(name in state.exclusive_claims for name in claim_names(placed.pod))
        state.users += sign * users


# The hints of events: whether one may have undone the rejection of a pod.


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
