"""MaxEBSVolumeCount and its variants: the limit of attached disks per kind and node.

The count includes the distinct disks of the node's pods and of this pod, both inline and of claims.
A claim without its volume counts as one more disk if its class provisions disks of the kind.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, MaxPDVolumeCountChecker;
csi_volume_predicate.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Volume,
)
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata
from podwright.scheduler.columns import class_of

_FAILURES: Final = (Failure("MaxVolumeCount", "node(s) exceed max volume count"),)

_InlineDisk = Callable[[Volume], str | None]
_Limit = Callable[[NodeInfo], int]
_VolumeDisk = Callable[[PersistentVolume], str | None]


def _max_count(
    name: str, kind: str, limit: _Limit, inline: _InlineDisk, bound: _VolumeDisk, provisioner: str
) -> Predicate:
    """Return the predicate for one kind of disk; a node may define its own limit."""
    resource = f"attachable-volumes-{kind}"

    def disks(pod: Pod, cluster: ClassicCluster) -> Iterator[str]:
        for volume in pod.spec.volumes:
            if (disk := inline(volume)) is not None:
                yield disk
            elif volume.persistent_volume_claim is not None:
                claim_key = f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
                yield from _claimed(claim_key, cluster, bound, provisioner)

    def concerns(meta: PredicateMetadata) -> bool:
        return next(disks(meta.pod, meta.cluster), None) is not None

    def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
        requested = set(disks(meta.pod, meta.cluster))
        attached = {disk for pod in node.pods.values() for disk in disks(pod, meta.cluster)}
        new = requested - attached
        most = node.allocatable.scalars.get(resource)
        if most is None:
            most = limit(node)
        # A node over its limit rejects even a pod that adds no disk.
        return _FAILURES if len(attached) + len(new) > most else FITS

    return Predicate(name, concerns, check)


def _claimed(
    claim_key: str, cluster: ClassicCluster, bound: _VolumeDisk, provisioner: str
) -> Iterator[str]:
    claim = cluster.claims.get(claim_key)
    if claim is None:
        return
    volume = cluster.volumes.get(claim.spec.volume_name)
    if volume is not None:
        if (disk := bound(volume)) is not None:
            yield disk
    elif _provisions(claim, cluster, provisioner):
        yield f"claim {claim_key}"


def _provisions(claim: PersistentVolumeClaim, cluster: ClassicCluster, provisioner: str) -> bool:
    storage_class = cluster.storage_classes.get(claim.spec.storage_class_name or "")
    return storage_class is not None and storage_class.provisioner == provisioner


def _ebs_limit(node: NodeInfo) -> int:
    instance_type = node.labels.get("beta.kubernetes.io/instance-type", "")
    return 25 if re.search(r"^[cmr]5.*|t3|z1d", instance_type) else 39


def _always(limit: int) -> _Limit:
    return lambda _node: limit  # the same for every node


def _id(disk: msgspec.Struct | None, attribute: str) -> str | None:
    return None if disk is None else str(getattr(disk, attribute))


EBS: Final = _max_count(
    "MaxEBSVolumeCount",
    "aws-ebs",
    _ebs_limit,
    lambda v: _id(v.aws_elastic_block_store, "volume_id"),
    lambda v: _id(v.spec.aws_elastic_block_store, "volume_id"),
    "kubernetes.io/aws-ebs",
)
GCE: Final = _max_count(
    "MaxGCEPDVolumeCount",
    "gce-pd",
    _always(16),
    lambda v: _id(v.gce_persistent_disk, "pd_name"),
    lambda v: _id(v.spec.gce_persistent_disk, "pd_name"),
    "kubernetes.io/gce-pd",
)
AZURE: Final = _max_count(
    "MaxAzureDiskVolumeCount",
    "azure-disk",
    _always(16),
    lambda v: _id(v.azure_disk, "disk_name"),
    lambda v: _id(v.spec.azure_disk, "disk_name"),
    "kubernetes.io/azure-disk",
)
CINDER: Final = _max_count(
    "MaxCinderVolumeCount",
    "cinder",
    _always(256),
    lambda v: _id(v.cinder, "volume_id"),
    lambda v: _id(v.spec.cinder, "volume_id"),
    "kubernetes.io/cinder",
)


# ------------------------------------------------------------------------------- CSI


def _csi_volumes(pod: Pod, cluster: ClassicCluster) -> Iterator[tuple[str, str]]:
    """Yield driver and handle of the CSI volumes of the pod's claims; inline ones do not count."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        claim_key = f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
        claim = cluster.claims.get(claim_key)
        if claim is None:
            continue
        bound = cluster.volumes.get(claim.spec.volume_name)
        if bound is not None:
            if bound.spec.csi is not None:
                yield bound.spec.csi.driver, bound.spec.csi.volume_handle
            continue
        storage_class = cluster.storage_classes.get(class_of(claim))
        if storage_class is not None:
            yield storage_class.provisioner, f"claim {claim_key}"


def _concerns_csi(meta: PredicateMetadata) -> bool:
    return next(_csi_volumes(meta.pod, meta.cluster), None) is not None


def _csi_limits(meta: PredicateMetadata, node: NodeInfo) -> dict[str, int]:
    prefix = "attachable-volumes-csi-"
    limits = {
        name.removeprefix(prefix): amount
        for name, amount in node.allocatable.scalars.items()
        if name.startswith(prefix)
    }
    csi_node = meta.cluster.csi_nodes.get(node.name)
    for driver in () if csi_node is None else csi_node.spec.drivers:
        if driver.allocatable is not None and driver.allocatable.count is not None:
            limits[driver.name] = driver.allocatable.count
    return limits


def check_csi(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node on which a CSI driver would have too many volumes."""
    limits = _csi_limits(meta, node)
    attached = {v for pod in node.pods.values() for v in _csi_volumes(pod, meta.cluster)}
    new = set(_csi_volumes(meta.pod, meta.cluster)) - attached
    for driver, most in limits.items():
        new_count = sum(of == driver for of, _ in new)
        if new_count and new_count + sum(of == driver for of, _ in attached) > most:
            return _FAILURES
    return FITS


CSI: Final = Predicate("MaxCSIVolumeCountPred", _concerns_csi, check_csi)
