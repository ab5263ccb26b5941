"""The volumes of a pod that scheduling reads: claims, exclusive disks, cloud disks.

Nearly all volumes of real pods are config maps, secrets, projected tokens and empty
directories, which scheduling does not read.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go,
pkg/scheduler/framework/plugins/nodevolumelimits/csi.go,
staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from podwright.apimachinery.objects import PersistentVolumeClaim, Pod, PodSpec, Volume
from podwright.scheduler.columns.volumes.csi_migration import (
    CSIVolume,
    TranslationError,
    inline_csi_volume,
    migration_of,
)

DiskKey: TypeAlias = tuple[str, ...]
"""What makes two inline disks the same: the kind of disk, then its names."""


class ClaimUse(NamedTuple):
    """A pod's use of a claim.

    Attributes
    ----------
    name : str
        The claim's name, in the pod's namespace.
    is_ephemeral : bool
        Whether the claim is made for the pod and must be owned by it.
    """

    name: str
    is_ephemeral: bool


class DiskUse(NamedTuple):
    """A pod's use of an inline disk."""

    key: DiskKey
    read_only: bool


def matters(volume: Volume) -> bool:
    """Return whether scheduling reads a volume."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.iscsi is not None
        or volume.rbd is not None
        or migration_of(volume) is not None
    )


def uses_volumes(spec: PodSpec) -> bool:
    """Return whether scheduling reads any of the pod's volumes."""
    return any(map(matters, spec.volumes))


def has_ephemeral_claims(spec: PodSpec) -> bool:
    """Return whether pods of this spec have claims that are named after the pod."""
    return any(
        volume.ephemeral is not None and volume.persistent_volume_claim is None
        for volume in spec.volumes
    )


def claim_uses(pod: Pod) -> tuple[ClaimUse, ...]:
    """Return the claims of a pod in the order of its volumes, ephemeral ones included."""
    return tuple(_claims(pod)) if pod.spec.volumes else ()


def _claims(pod: Pod) -> Iterator[ClaimUse]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimUse(f"{pod.metadata.name}-{volume.name}", is_ephemeral=True)


def claim_names(pod: Pod) -> tuple[str, ...]:
    """Return the names of the claims that exist apart from the pod, in order."""
    return tuple(
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    )


def disk_uses(pod: Pod) -> tuple[DiskUse, ...]:
    """Return the inline disks that at most one pod of a node may write to.

    Notes
    -----
    An RBD image is listed once per monitor, because two pods use the same image if they
    share any. An EBS volume excludes others even when both only read it.
    """
    found: list[DiskUse] = []
    for volume in pod.spec.volumes:
        if volume.gce_persistent_disk is not None:
            gce = volume.gce_persistent_disk
            found.append(DiskUse(("gce", gce.pd_name), gce.read_only))
        if volume.aws_elastic_block_store is not None:
            ebs = volume.aws_elastic_block_store
            found.append(DiskUse(("ebs", ebs.volume_id), read_only=False))
        if volume.iscsi is not None:
            found.append(DiskUse(("iscsi", volume.iscsi.iqn), volume.iscsi.read_only))
        if volume.rbd is not None:
            rbd = volume.rbd
            found += [
                DiskUse(("rbd", rbd.pool, rbd.image, monitor), rbd.read_only)
                for monitor in sorted(set(rbd.monitors))
            ]
    return tuple(found)


def inline_volumes(pod: Pod) -> tuple[CSIVolume | str, ...]:
    """Return the cloud disks named in the pod itself, as CSI volumes.

    Returns
    -------
    tuple of CSIVolume or str
        Text is the error of a volume that cannot be translated.
    """
    found: list[CSIVolume | str] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            continue
        try:
            translated = inline_csi_volume(volume)
        except TranslationError as error:
            found.append(str(error))
        else:
            if translated is not None:
                found.append(translated)
    return tuple(found)


def ownership_error(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Return why an ephemeral volume's claim is not the pod's own; empty if it is."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.metadata.uid:
        return ""
    return (
        f"PVC {claim.metadata.namespace}/{claim.metadata.name} was not created for pod "
        f"{pod.metadata.namespace}/{pod.metadata.name} (pod is not owner)"
    )
