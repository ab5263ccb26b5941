"""Volumes that placed pods use, per slot: claims, inline disks, volumes of CSI drivers.

Claims and disks are counted when pods are placed and removed. The number of volumes of each
driver follows from the claims (through claim, volume and class) and from VolumeAttachments. It
is recomputed at the next read, only for the slots that changed.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, pkg/scheduler/framework/types.go,
`updatePVCRefCounts`; pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go,
pkg/scheduler/framework/plugins/nodevolumelimits/csi.go,
staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from podwright._arrays import I64Array
from podwright.apimachinery.objects import (
    NamespacedName,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Volume,
)
from podwright.scheduler.columns.nodes import NodeColumns, SlotColumns
from podwright.scheduler.columns.volumes.csi_migration import (
    CSIVolume,
    TranslationError,
    inline_csi_volume,
    migration_of,
)

K = TypeVar("K")

_Held: TypeAlias = dict[CSIVolume, None]
"""A set in order of insertion."""


class DiskCount(NamedTuple):
    """How many pods of a slot use a disk, and how many of them may write to it."""

    users: int
    writers: int


class StoredVolumes(Protocol):
    """The storage objects, as far as the use of volumes depends on them."""

    claims: dict[str, PersistentVolumeClaim]

    def csi_volume(self, claim: PersistentVolumeClaim, /) -> CSIVolume | None:
        """Return the CSI volume of a claim for a node's limit; None if it has none."""

    def attached_to(self, node_name: str, /) -> Iterable[CSIVolume]:
        """Return the CSI volumes that VolumeAttachments put on a node."""


class VolumeUse:
    """The volumes of the placed pods; written by `StorageIndex` only.

    Attributes
    ----------
    claim_users : dict of str to int
        How many volumes of placed pods name a claim ("namespace/name"), ephemeral ones left
        out.
    """

    def __init__(self, nodes: NodeColumns, storage: StoredVolumes) -> None:
        self._nodes = nodes
        self._storage = storage
        self.claim_users: Counter[str] = Counter()
        self._disks: dict[DiskKey, dict[int, DiskCount]] = {}
        self._pods: dict[int, dict[str, Pod]] = {}
        self._slots_of_claim: dict[str, Counter[int]] = {}
        self._touched: set[int] = set()
        self._held: dict[int, _Held] = {}
        self._counted: dict[int, Counter[str]] = {}
        self._holders: dict[CSIVolume, set[int]] = {}
        self._attached = SlotColumns(nodes, fill=0)
        self._errors: dict[int, str] = {}

    # ---------------------------------------------------------------- counting

    def count(self, pod: Pod, slot: int, sign: int) -> list[str]:
        """Count (1) or stop counting (-1) a pod.

        Returns
        -------
        list of str
            Claims whose first user was added, or whose last user was removed.
        """
        namespace = pod.metadata.namespace
        flipped: list[str] = []
        for name, is_ephemeral in claim_uses(pod):
            key = f"{namespace}/{name}"
            slots = self._slots_of_claim.setdefault(key, Counter())
            _add(slots, slot, sign)
            if not slots:
                del self._slots_of_claim[key]
            if not is_ephemeral:
                left = _add(self.claim_users, key, sign)
                # 1 after the first user was added, 0 after the last one was removed.
                if left == max(sign, 0):
                    flipped.append(key)
        for use in disk_uses(pod):
            self._count_disk(use, slot, sign)
        pods = self._pods.setdefault(slot, {})
        if sign > 0:
            pods[pod.key] = pod
        else:
            pods.pop(pod.key, None)
        self._touched.add(slot)
        return flipped

    def _count_disk(self, use: DiskUse, slot: int, sign: int) -> None:
        slots = self._disks.setdefault(use.key, {})
        users, writers = slots.get(slot, (0, 0))
        if users + sign:
            slots[slot] = DiskCount(users + sign, writers + (0 if use.read_only else sign))
        else:
            del slots[slot]

    # ---------------------------------------------------------------- what changed

    def claim_changed(self, key: str) -> None:
        """Work out again the slots whose pods use a claim."""
        self._touched.update(self._slots_of_claim.get(key, ()))

    def slot_changed(self, slot: int) -> None:
        """Recompute a slot: the attachments of its node changed."""
        self._touched.add(slot)

    def all_changed(self) -> None:
        """Work out every slot again."""
        self._touched.update(self._pods)

    # ---------------------------------------------------------------- reading

    def users(self, claim: PersistentVolumeClaim) -> list[NamespacedName]:
        """Return the placed pods that use a claim."""
        namespace, name = claim.metadata.namespace, claim.metadata.name
        return [
            pod.key
            for slot in self._slots_of_claim.get(claim.key, ())
            for pod in self._pods[slot].values()
            if pod.metadata.namespace == namespace and name in claim_names(pod)
        ]

    def disk_conflicts(self, uses: Iterable[DiskUse]) -> list[int]:
        """Return the slots where a pod uses any of these disks and one of the two may write."""
        found: dict[int, None] = {}
        for use in uses:
            for slot, count in self._disks.get(use.key, {}).items():
                # Upstream never shares an EBS volume, not even read-only.
                if not use.read_only or count.writers:
                    found[slot] = None
        return list(found)

    def attached(self, driver: str) -> I64Array:
        """Return how many volumes of a driver are attached.

        Returns
        -------
        (n_slots,) int64
            Volumes used by pods, each once, and volumes that only a VolumeAttachment names.
        """
        self._catch_up()
        return self._attached.of(driver)

    def holders(self, volume: CSIVolume) -> Collection[int]:
        """Return the slots where a pod uses a volume."""
        self._catch_up()
        return self._holders.get(volume, ())

    def errors(self) -> dict[int, str]:
        """Return, per slot, why the volumes of its pods cannot be counted; seldom any."""
        self._catch_up()
        return self._errors

    # ---------------------------------------------------------------- catching up

    def _catch_up(self) -> None:
        if not self._touched:
            return
        for slot in self._touched:
            self._recount(slot)
        self._touched.clear()

    def _recount(self, slot: int) -> None:
        held = self._held_by_pods(slot)
        for volume in self._held.get(slot, {}):
            self._holders[volume].discard(slot)
            if not self._holders[volume]:
                del self._holders[volume]
        for volume in held:
            self._holders.setdefault(volume, set()).add(slot)
        self._held[slot] = held
        counts = Counter(volume.driver for volume in held)
        for volume in self._storage.attached_to(self._nodes.names[slot]):
            if volume not in held:
                counts[volume.driver] += 1
        for driver in self._counted.get(slot, Counter()):
            self._attached.of(driver)[slot] = 0
        for driver, number in counts.items():
            self._attached.of(driver)[slot] = number
        self._counted[slot] = counts

    def _held_by_pods(self, slot: int) -> _Held:
        held: _Held = {}
        self._errors.pop(slot, None)
        for pod in self._pods.get(slot, {}).values():
            for volume in csi_volumes(pod, self._storage.claims.get, self._storage.csi_volume):
                if isinstance(volume, str):
                    self._errors.setdefault(slot, volume)
                else:
                    held[volume] = None
        return held


def csi_volumes(
    pod: Pod,
    find_claim: Callable[[str], PersistentVolumeClaim | None],
    volume_of: Callable[[PersistentVolumeClaim], CSIVolume | None],
) -> list[CSIVolume | str]:
    """Return the CSI volumes of a pod, in no order that matters; text is an error.

    Claims that do not exist are left out.
    """
    found: list[CSIVolume | str] = list(inline_volumes(pod))
    for name, is_ephemeral in claim_uses(pod):
        if not name:
            found.append("PersistentVolumeClaim had no name")
            continue
        claim = find_claim(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            continue
        error = ownership_error(claim, pod) if is_ephemeral else ""
        if error:
            found.append(error)
            continue
        volume = volume_of(claim)
        if volume is not None:
            found.append(volume)
    return found


def _add(counter: Counter[K], key: K, sign: int) -> int:
    left = counter[key] + sign
    if left:
        counter[key] = left
    else:
        del counter[key]
    return left


# The volumes of a pod that scheduling reads: claims, exclusive disks, cloud disks.
#
# Nearly all volumes of real pods are config maps, secrets, projected tokens and empty directories,
# which scheduling does not read.

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
