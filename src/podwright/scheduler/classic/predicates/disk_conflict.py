"""NoDiskConflict: some disks can be used by one pod of a node only, or by readers only.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, NoDiskConflict
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Volume
from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.metadata import PredicateMetadata
from podwright.scheduler.classic.predicates.predicate import Predicate

_FAILURES: Final = (Failure("NoDiskConflict", "node(s) had no available disk"),)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has a disk that may conflict."""
    return any(map(_may_conflict, meta.pod.spec.volumes))


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node with a pod that uses one of the pod's disks."""
    for volume in filter(_may_conflict, meta.pod.spec.volumes):
        for existing in node.pods.values():
            if any(_conflict(volume, other) for other in existing.spec.volumes):
                return _FAILURES
    return FITS


def _may_conflict(volume: Volume) -> bool:
    return any(
        source is not None
        for source in (
            volume.gce_persistent_disk,
            volume.aws_elastic_block_store,
            volume.rbd,
            volume.iscsi,
        )
    )


def _conflict(mine: Volume, other: Volume) -> bool:
    gce, other_gce = mine.gce_persistent_disk, other.gce_persistent_disk
    if gce and other_gce and gce.pd_name == other_gce.pd_name:
        return not (gce.read_only and other_gce.read_only)
    ebs, other_ebs = mine.aws_elastic_block_store, other.aws_elastic_block_store
    if ebs and other_ebs and ebs.volume_id == other_ebs.volume_id:
        return True  # an EBS volume cannot be shared by readers either
    iscsi, other_iscsi = mine.iscsi, other.iscsi
    if iscsi and other_iscsi and iscsi.iqn == other_iscsi.iqn:
        return not (iscsi.read_only and other_iscsi.read_only)
    rbd, other_rbd = mine.rbd, other.rbd
    if (
        rbd
        and other_rbd
        and set(rbd.monitors) & set(other_rbd.monitors)
        and (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
    ):
        return not (rbd.read_only and other_rbd.read_only)
    return False


PREDICATE: Final = Predicate("NoDiskConflict", concerns, check)
