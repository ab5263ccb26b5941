"""Volumes, claims, classes and drivers, and their use by placed pods.

Objects are kept by name, with the indexes that the volume plugins need. Reserve chooses the
volumes of a pod before the API server stores the choice. Such changed objects are assumed:
`claim` and `volume` return them until the API server sends a newer version or the reservation
is reverted.

Upstream: pkg/scheduler/util/assumecache/assume_cache.go (and the listers of the volume plugins);
pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, `getVolumeLimits`;
pkg/scheduler/framework/plugins/volumebinding/binder.go, `isPluginMigratedToCSIOnNode`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from podwright._arrays import I64Array
from podwright.apimachinery.objects import (
    CSIDriver,
    CSINode,
    CSINodeSpec,
    CSIStorageCapacity,
    KubernetesObject,
    Object,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Selector,
    SelectorError,
    StorageClass,
    VolumeAttachment,
    label_selector,
    quantity_value,
)
from podwright.scheduler.columns.nodes import NodeColumns, SlotColumns
from podwright.scheduler.columns.placement import PlacedPod
from podwright.scheduler.columns.volumes.class_volumes import ClassVolumes
from podwright.scheduler.columns.volumes.csi_migration import (
    MIGRATED_PLUGINS,
    CSIVolume,
    persistent_csi_volume,
    provisioned_driver,
)
from podwright.scheduler.columns.volumes.volume_use import VolumeUse

T = TypeVar("T", bound=KubernetesObject)

BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The annotation that takes precedence over `storageClassName`."""

READ_WRITE_ONCE_POD = "ReadWriteOncePod"


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """Return the name of an object's StorageClass; empty if it has none."""
    by_annotation = obj.metadata.annotations.get(BETA_STORAGE_CLASS)
    return obj.spec.storage_class_name or "" if by_annotation is None else by_annotation


class StoragePool(NamedTuple):
    """Room for volumes of a class: who has access, the largest volume, and how much it is."""

    nodes: Selector
    limit_bytes: int
    capacity_bytes: int


class StorageIndex:
    """Storage objects by name; `version` grows with every change that a plugin could see.

    Attributes
    ----------
    version : int
        Also grows when a claim that only one pod may use is taken or released.
    claims : dict of str to PersistentVolumeClaim
        As the API server has them, by "namespace/name".
    volumes, classes, csi_drivers : dict of str to object
        As the API server has them, by name.
    csi_nodes : CSINodeColumns
        The CSINodes, per slot.
    use : VolumeUse
        The volumes that placed pods use.
    """

    def __init__(self, nodes: NodeColumns) -> None:
        self.version = 0
        self._nodes = nodes
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_drivers: dict[str, CSIDriver] = {}
        self.csi_nodes = CSINodeColumns(nodes)
        self.use = VolumeUse(nodes, self)
        self._pools: dict[str, dict[str, StoragePool]] = {}
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}
        self._by_class: dict[str, ClassVolumes] = {}
        self._nodes_of_volume: dict[str, dict[str, str]] = {}
        self._claims_of_volume: dict[str, dict[str, None]] = {}
        self._assumed_claims: dict[str, PersistentVolumeClaim] = {}
        self._assumed_volumes: dict[str, PersistentVolume] = {}

    # ---------------------------------------------------------------- reading

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """Return a claim; the assumed version if there is one."""
        return self._assumed_claims.get(key) or self.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume; the assumed version if there is one."""
        return self._assumed_volumes.get(name) or self.volumes.get(name)

    def class_volumes(self, class_name: str) -> ClassVolumes:
        """Return the volumes of a class that claims could be bound to, assumptions included."""
        return self._by_class.get(class_name) or ClassVolumes(self._nodes)

    def pools(self, class_name: str) -> Iterable[StoragePool]:
        """Return the room that CSIStorageCapacity objects report for a class."""
        return self._pools.get(class_name, {}).values()

    def csi_volume(self, claim: PersistentVolumeClaim) -> CSIVolume | None:
        """Return the CSI volume of a claim for a node's limit; None if it has none.

        A claim without a volume counts as one volume of the class's driver.
        """
        volume = self.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            return persistent_csi_volume(volume)
        storage_class = self.classes.get(class_of(claim))
        driver = provisioned_driver(storage_class.provisioner) if storage_class else ""
        # No driver has this name: upstream makes it unique with a random prefix.
        return CSIVolume(driver, f"unbound {claim.key}") if driver else None

    def attached_to(self, node_name: str) -> Mapping[CSIVolume, Sequence[VolumeAttachment]]:
        """Return the CSI volumes that VolumeAttachments put on a node, with the attachments."""
        found: dict[CSIVolume, list[VolumeAttachment]] = {}
        for attachment in self._attachments.get(node_name, {}).values():
            spec = attachment.spec
            volume = self.volumes.get(spec.source.persistent_volume_name or "")
            if spec.attacher and volume is not None and volume.spec.csi is not None:
                name = CSIVolume(spec.attacher, volume.spec.csi.volume_handle)
                found.setdefault(name, []).append(attachment)
        return found

    # ---------------------------------------------------------------- objects

    def put(self, obj: Object) -> None:
        """Add or update an object; objects of other kinds are ignored."""
        self._put(obj, is_deleted=False)

    def delete(self, obj: Object) -> None:
        """Drop an object; unknown ones are ignored."""
        self._put(obj, is_deleted=True)

    def put_all_of(self, other: StorageIndex) -> None:
        """Add the objects of another index that belong to no node, and what it assumes of them."""
        for kept in (other.claims, other.volumes, other.classes, other.csi_drivers):
            for obj in kept.values():
                self.put(obj)
        for class_name, pools in other._pools.items():
            self._pools.setdefault(class_name, {}).update(pools)
        self.version += 1
        claims, volumes = other.assumptions()
        for claim in claims:
            self.assume_claim(claim)
        for volume in volumes:
            self.assume_volume(volume)

    def _put(self, obj: Object, *, is_deleted: bool) -> None:
        changed = False
        match obj:
            case PersistentVolumeClaim():
                changed = self._put_claim(obj, is_deleted=is_deleted)
            case PersistentVolume():
                changed = self._put_volume(obj, is_deleted=is_deleted)
            case StorageClass():
                changed = _store(self.classes, obj.metadata.name, obj, is_deleted=is_deleted)
                if changed:
                    self.use.all_changed()
            case CSINode():
                changed = self.csi_nodes.take(obj, is_deleted=is_deleted)
            case CSIDriver():
                changed = _store(self.csi_drivers, obj.metadata.name, obj, is_deleted=is_deleted)
            case CSIStorageCapacity():
                changed = self._put_capacity(obj, is_deleted=is_deleted)
            case VolumeAttachment():
                changed = self._put_attachment(obj, is_deleted=is_deleted)
            case _:
                pass
        if changed:
            self.version += 1

    def _put_claim(self, claim: PersistentVolumeClaim, *, is_deleted: bool) -> bool:
        key = claim.key
        old = self.claims.get(key)
        assumed = self._assumed_claims.get(key)
        changed = _store(self.claims, key, claim, is_deleted=is_deleted)
        if assumed is not None and (is_deleted or _is_newer(claim, assumed)):
            del self._assumed_claims[key]
            changed = True
        if not changed:
            return False
        if old is not None:
            self._link(old, add=False)
        if not is_deleted:
            self._link(claim, add=True)
        self.use.claim_changed(key)
        return True

    def _link(self, claim: PersistentVolumeClaim, *, add: bool) -> None:
        """Keep up which claims name a volume."""
        name = claim.spec.volume_name
        if not name:
            return
        if add:
            self._claims_of_volume.setdefault(name, {})[claim.key] = None
            return
        claims = self._claims_of_volume.get(name, {})
        claims.pop(claim.key, None)
        if not claims:
            self._claims_of_volume.pop(name, None)

    def _put_volume(self, volume: PersistentVolume, *, is_deleted: bool) -> bool:
        name = volume.metadata.name
        # The class has the version that was seen until now, which may be the assumed one.
        seen = self.volume(name)
        assumed = self._assumed_volumes.get(name)
        changed = _store(self.volumes, name, volume, is_deleted=is_deleted)
        if assumed is not None and (is_deleted or _is_newer(volume, assumed)):
            del self._assumed_volumes[name]
            changed = True
        if not changed:
            return False
        self._shelve(seen, self.volume(name))
        for key in self._claims_of_volume.get(name, ()):
            self.use.claim_changed(key)
        for node_name in self._nodes_of_volume.get(name, {}).values():
            self._attachment_changed(node_name)
        return True

    def _shelve(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Put the version of a volume that is now seen in the volumes of its class."""
        if old is not None:
            self._by_class[class_of(old)].remove(old)
        if new is not None:
            name = class_of(new)
            if name not in self._by_class:
                self._by_class[name] = ClassVolumes(self._nodes)
            self._by_class[name].add(new)

    def _put_capacity(self, capacity: CSIStorageCapacity, *, is_deleted: bool) -> bool:
        # The class of a capacity cannot be changed.
        of_class = self._pools.setdefault(capacity.storage_class_name, {})
        old = of_class.pop(capacity.key, None)
        new = None if is_deleted else _pool(capacity)
        if new is not None:
            of_class[capacity.key] = new
        return new != old

    def _put_attachment(self, attachment: VolumeAttachment, *, is_deleted: bool) -> bool:
        # Neither can the node or the volume of an attachment.
        node_name = attachment.spec.node_name
        of_node = self._attachments.setdefault(node_name, {})
        name, volume_name = attachment.metadata.name, attachment.spec.source.persistent_volume_name
        changed = _store(of_node, name, attachment, is_deleted=is_deleted)
        nodes = self._nodes_of_volume.setdefault(volume_name or "", {})
        if is_deleted:
            nodes.pop(name, None)
        else:
            nodes[name] = node_name
        if not of_node:
            del self._attachments[node_name]
        if not nodes:
            del self._nodes_of_volume[volume_name or ""]
        if changed:
            self._attachment_changed(node_name)
        return changed

    def _attachment_changed(self, node_name: str) -> None:
        slot = self._nodes.slot_of.get(node_name)
        if slot is not None:
            self.use.slot_changed(slot)

    # ---------------------------------------------------------------- assuming

    def assume_claim(self, claim: PersistentVolumeClaim) -> None:
        """Assume a changed version of a claim."""
        assert claim.key in self.claims, f"claim {claim.key} is unknown"
        self._assumed_claims[claim.key] = claim
        self.version += 1

    def assume_volume(self, volume: PersistentVolume) -> None:
        """Assume a changed version of a volume, also in the volumes of its class."""
        name = volume.metadata.name
        assert name in self.volumes, f"volume {name} is unknown"
        self._shelve(self.volume(name), volume)
        self._assumed_volumes[name] = volume
        self.version += 1

    def assumptions(
        self,
    ) -> tuple[tuple[PersistentVolumeClaim, ...], tuple[PersistentVolume, ...]]:
        """Return the claims and the volumes that are assumed, in order."""
        return tuple(self._assumed_claims.values()), tuple(self._assumed_volumes.values())

    def restore_claim(self, key: str) -> None:
        """Drop the assumed version of a claim."""
        if self._assumed_claims.pop(key, None) is not None:
            self.version += 1

    def restore_volume(self, name: str) -> None:
        """Drop the assumed version of a volume."""
        assumed = self._assumed_volumes.pop(name, None)
        if assumed is not None:
            self._shelve(assumed, self.volumes.get(name))
            self.version += 1

    # ---------------------------------------------------------------- slots

    def count(self, placed: PlacedPod, sign: int) -> None:
        """Count (1) or stop counting (-1) the volumes of a pod on its slot."""
        for key in self.use.count(placed.pod, placed.slot, sign):
            claim = self.claims.get(key)
            if claim is not None and READ_WRITE_ONCE_POD in claim.spec.access_modes:
                self.version += 1

    def node_changed(self, slot: int) -> None:
        """Handle an added, changed or deleted node in `slot`."""
        self.csi_nodes.node_changed(slot)
        if self._attachments:
            self.use.slot_changed(slot)

    def renumber(self) -> None:
        """Clear all slots: nodes get new slots, and their pods are placed again."""
        self.csi_nodes.renumber()
        self.use = VolumeUse(self._nodes, self)
        self.version += 1


def _pool(capacity: CSIStorageCapacity) -> StoragePool | None:
    """Read a capacity; None if no node has access to it or it has no amount."""
    # The maximum volume size is more precise than the capacity, which may be fragmented.
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    if limit is None or capacity.node_topology is None:
        return None
    try:
        nodes = label_selector(capacity.node_topology)
    except SelectorError:
        return None
    total = 0 if capacity.capacity is None else quantity_value(capacity.capacity)
    return StoragePool(nodes, quantity_value(limit), total)


_NOT_COMPARED = frozenset({"metadata", "raw"})


def _store(where: dict[str, T], key: str, obj: T, *, is_deleted: bool) -> bool:
    """Store or drop an object; return whether anything that scheduling reads changed."""
    if is_deleted:
        return where.pop(key, None) is not None
    old = where.get(key)
    where[key] = obj
    return old is None or not _is_equivalent(old, obj)


def _is_equivalent(old: KubernetesObject, new: KubernetesObject) -> bool:
    """Compare all typed fields but those that change without meaning: the version and raw."""
    if old is new:
        return True
    was, now = old.metadata, new.metadata
    return (
        was.labels == now.labels
        and was.annotations == now.annotations
        and was.uid == now.uid
        and was.deletion_timestamp == now.deletion_timestamp
        and was.owner_references == now.owner_references
        and all(
            getattr(old, field) == getattr(new, field)
            for field in old.__struct_fields__
            if field not in _NOT_COMPARED
        )
    )


def _is_newer(obj: KubernetesObject, than: KubernetesObject) -> bool:
    """Return whether an object replaces the assumed one: its resource version is greater.

    Objects without numeric versions replace it always.
    """
    new, old = obj.metadata.resource_version, than.metadata.resource_version
    return not (new.isdecimal() and old.isdecimal()) or int(new) > int(old)


# CSINodes as columns: drivers, their limits, and which in-tree plugins are migrated.

NO_LIMIT = -1


class _Row(NamedTuple):
    """The content of one CSINode."""

    limits: dict[str, int]
    migrated: frozenset[str]
    drivers: frozenset[str]


class CSINodeColumns:
    """The content of CSINodes, per slot; written by `StorageIndex` only."""

    def __init__(self, nodes: NodeColumns) -> None:
        self._nodes = nodes
        self._csi_nodes: dict[str, CSINode] = {}
        self._written: dict[int, _Row] = {}
        self._limits = SlotColumns(nodes, fill=NO_LIMIT)
        self._migrated = SlotColumns(nodes, fill=0)
        self._installed = SlotColumns(nodes, fill=0)

    def limits(self, driver: str) -> I64Array | None:
        """Return how many volumes of a driver fit.

        Returns
        -------
        (n_slots,) int64 or None
            `NO_LIMIT` where the node sets none; None if no node does.
        """
        return self._limits.find(driver)

    def has_limits(self, slot: int) -> bool:
        """Return whether a node limits any driver's volumes."""
        row = self._written.get(slot)
        return row is not None and bool(row.limits)

    def installed(self, driver: str) -> I64Array | None:
        """Return the slots where a driver is installed.

        Returns
        -------
        (n_slots,) int64 or None
            1 where the node's CSINode names it, else 0; None if none does.
        """
        return self._installed.find(driver)

    def migrated(self, plugin: str) -> I64Array | None:
        """Return the slots where an in-tree plugin is migrated.

        Returns
        -------
        (n_slots,) int64 or None
            1 where it is, else 0; None if it is nowhere.
        """
        return self._migrated.find(plugin)

    def copy_for(self, name: str, new_name: str) -> CSINode | None:
        """Return a CSINode for a new node with the drivers of another node; None if it has none.

        Upstream: cluster-autoscaler/simulator/node_info_utils.go, CreateSanitizedCSINode
        """
        like = self._csi_nodes.get(name)
        if like is None:
            return None
        drivers = [
            msgspec.structs.replace(driver, node_id=new_name) for driver in like.spec.drivers
        ]
        annotations = like.metadata.annotations
        kept = {key: annotations[key] for key in (MIGRATED_PLUGINS,) if key in annotations}
        return CSINode(
            metadata=ObjectMeta(name=new_name, annotations=kept),
            spec=CSINodeSpec(drivers=tuple(drivers)),
        )

    def names(self) -> Collection[str]:
        """Return the names of all CSINodes."""
        return self._csi_nodes.keys()

    def _row(self, name: str) -> _Row | None:
        csi_node = self._csi_nodes.get(name)
        return None if csi_node is None else _row(csi_node)

    def take(self, csi_node: CSINode, *, is_deleted: bool) -> bool:
        """Set or remove a CSINode; return whether anything that scheduling reads changed."""
        name = csi_node.metadata.name
        old = self._row(name)
        if is_deleted:
            self._csi_nodes.pop(name, None)
        else:
            self._csi_nodes[name] = csi_node
        slot = self._nodes.slot_of.get(name)
        if slot is not None:
            self.node_changed(slot)
        return self._row(name) != old

    def node_changed(self, slot: int) -> None:
        """Write the row of a node that was added or deleted."""
        alive = self._nodes.objects[slot] is not None
        row = self._row(self._nodes.names[slot]) if alive else None
        old = self._written.get(slot)
        if row == old:
            return
        if old is not None:
            for driver in old.limits:
                self._limits.of(driver)[slot] = NO_LIMIT
            for plugin in old.migrated:
                self._migrated.of(plugin)[slot] = 0
            for driver in old.drivers:
                self._installed.of(driver)[slot] = 0
            del self._written[slot]
        if row is not None:
            for driver, limit in row.limits.items():
                self._limits.of(driver)[slot] = limit
            for plugin in row.migrated:
                self._migrated.of(plugin)[slot] = 1
            for driver in row.drivers:
                self._installed.of(driver)[slot] = 1
            self._written[slot] = row

    def renumber(self) -> None:
        """Clear all slots."""
        self._limits.clear()
        self._migrated.clear()
        self._installed.clear()
        self._written.clear()


def _row(csi_node: CSINode) -> _Row:
    limits = {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
    listed = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return _Row(
        limits,
        frozenset(listed.split(",")) if listed else frozenset(),
        frozenset(driver.name for driver in csi_node.spec.drivers),
    )
