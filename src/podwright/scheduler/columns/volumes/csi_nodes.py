"""CSINodes as columns: drivers, their limits, and which in-tree plugins are migrated.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, `getVolumeLimits`;
pkg/scheduler/framework/plugins/volumebinding/binder.go, `isPluginMigratedToCSIOnNode`
"""

from __future__ import annotations

from typing import NamedTuple

from podwright._arrays import I64Array
from podwright.apimachinery.objects import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    ObjectMeta,
    VolumeNodeResources,
)
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.slot_columns import SlotColumns
from podwright.scheduler.columns.volumes.csi_migration import MIGRATED_PLUGINS

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
        self._rows: dict[str, _Row] = {}
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
        """Return a CSINode for a new node with the drivers of another node; None if it has none."""
        row = self._rows.get(name)
        if row is None:
            return None
        drivers = tuple(
            CSINodeDriver(
                name=driver,
                node_id=new_name,
                allocatable=VolumeNodeResources(count=row.limits[driver])
                if driver in row.limits
                else None,
            )
            for driver in sorted(row.drivers)
        )
        annotations = {MIGRATED_PLUGINS: ",".join(sorted(row.migrated))} if row.migrated else {}
        return CSINode(
            metadata=ObjectMeta(name=new_name, annotations=annotations),
            spec=CSINodeSpec(drivers=drivers),
        )

    def take(self, csi_node: CSINode, *, is_deleted: bool) -> bool:
        """Set or remove a CSINode; return whether anything that scheduling reads changed."""
        name = csi_node.metadata.name
        old = self._rows.get(name)
        if is_deleted:
            self._rows.pop(name, None)
        else:
            self._rows[name] = _row(csi_node)
        slot = self._nodes.slot_of.get(name)
        if slot is not None:
            self.node_changed(slot)
        return self._rows.get(name) != old

    def node_changed(self, slot: int) -> None:
        """Write the row of a node that was added or deleted."""
        alive = self._nodes.objects[slot] is not None
        row = self._rows.get(self._nodes.names[slot]) if alive else None
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
            for plugin in sorted(row.migrated):
                self._migrated.of(plugin)[slot] = 1
            for driver in sorted(row.drivers):
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
