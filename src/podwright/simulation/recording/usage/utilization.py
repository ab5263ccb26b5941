"""The utilization of resources over a run: time-weighted means and exact peaks.

The meter is advanced each time virtual time advances, with the state that held until then. States
that lasted no time do not count, except for the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np

from podwright._arrays import I64Array, I64Matrix, Mask
from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.devices import DeviceIndex, SliceDevice
from podwright.apimachinery.objects import Node, Pod, parse_quantity
from podwright.scheduler.columns import Cluster, NodeColumns

# Means of shares over time, weighted by the time for which each value held.

ABSENT: Final = -1.0
"""The share while no node has the resource; such times do not count."""


class TimeWeightedShare(msgspec.Struct):
    """A share, and its mean so far.

    Attributes
    ----------
    share : float
        Since `since_ns`; -1 (`ABSENT`) while no node has the resource.
    since_ns : int
        The time since which the share holds.
    area_ns : float
        The sum of earlier shares, each multiplied by its duration in nanoseconds.
    lasted_ns : int
        The total duration of these shares.
    """

    share: float
    since_ns: int
    area_ns: float = 0.0
    lasted_ns: int = 0

    @property
    def mean(self) -> float:
        """The mean; the last share if no share lasted."""
        return self.area_ns / self.lasted_ns if self.lasted_ns else max(self.share, 0.0)

    def change(self, share: float, at_ns: int) -> None:
        """Set the share from a time on."""
        if share != self.share:
            self.close(at_ns)
            self.share = share

    def close(self, at_ns: int) -> None:
        """Add the time since which the current share holds."""
        if self.share >= 0:
            self.area_ns += self.share * (at_ns - self.since_ns)
            self.lasted_ns += at_ns - self.since_ns
        self.since_ns = at_ns


class ResourceUse(TimeWeightedShare):
    """The utilization of one resource so far: requested divided by allocatable.

    Attributes
    ----------
    peak : float
        The highest share that lasted.
    """

    peak: float = 0.0


class UtilizationMeter(Checkpointed):
    """Measures the utilization of all resources of a cluster.

    Attributes
    ----------
    uses : dict of str to ResourceUse
        The measurements by resource.
    """

    uses: Saved[dict[str, ResourceUse]]

    def __init__(self) -> None:
        self.uses = {}

    def advance(
        self, amounts: NodeAmounts, changed: I64Array | None, before_ns: int, now_ns: int
    ) -> None:
        """Count the current state from a time until another one.

        Parameters
        ----------
        changed : (k,) int64, optional
            What the last update of the amounts returned.
        before_ns : int
            The time of the last changes.
        now_ns : int
            The next time; after `before_ns`, unless the run ends.
        """
        if changed is None or len(changed):
            self._set_shares(amounts, before_ns)
        for use in self.uses.values():
            if now_ns > use.since_ns and use.share > use.peak:
                use.peak = use.share

    def end(self, amounts: NodeAmounts, changed: I64Array | None, now_ns: int) -> None:
        """Count the last state, which may have lasted no time."""
        self.advance(amounts, changed, now_ns, now_ns)
        for use in self.uses.values():
            use.close(now_ns)
            use.peak = max(use.peak, use.share)

    def means(self) -> dict[str, tuple[float, float]]:
        """Return mean and peak of each resource, after `end`."""
        return {name: (use.mean, use.peak) for name, use in self.uses.items()}

    def _set_shares(self, amounts: NodeAmounts, at_ns: int) -> None:
        for name, column in amounts.columns.items():
            allocatable = int(amounts.allocatable_sums[column])
            share = int(amounts.requested_sums[column]) / allocatable if allocatable else ABSENT
            use = self.uses.get(name)
            if use is not None:
                use.change(share, at_ns)
            elif allocatable:
                self.uses[name] = ResourceUse(share, at_ns)


# The amounts of the live nodes and their sums, kept up to date from the journals of the columns.
#
# An update costs as much as the number of slots that changed since the last one.

_NOTHING: Final[I64Array] = np.zeros(0, dtype=np.int64)


class NodeAmounts:
    """A copy of the allocatable and requested amounts, as of the last update.

    Parameters
    ----------
    only_ready : bool
        Whether nodes whose condition `Ready` is not True count as absent, with their pods.

    Attributes
    ----------
    columns : mapping of str to int
        The column of each resource.
    allocatable, requested : (n_slots, n_resources) int64
        0 in slots without a node that counts.
    allocatable_sums, requested_sums : (n_resources,) int64
    """

    def __init__(self, *, only_ready: bool = False) -> None:
        self._only_ready = only_ready
        self.columns: Mapping[str, int] = {}
        self.allocatable: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.requested: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.allocatable_sums: I64Array = np.zeros(0, dtype=np.int64)
        self.requested_sums: I64Array = np.zeros(0, dtype=np.int64)
        self._versions: tuple[int, int, int] | None = None

    def update(self, nodes: NodeColumns) -> I64Array | None:
        """Update the amounts.

        Returns
        -------
        (k,) int64, or None
            The slots that may have changed, each once; None for all.
        """
        versions = (
            nodes.node_journal.version,
            nodes.pods_journal.version,
            nodes.condition_journal.version if self._only_ready else 0,
        )
        if versions == self._versions:
            return _NOTHING
        slots = self._changed_slots(nodes)
        self._versions = versions
        if slots is None:
            self.columns = dict(nodes.resources)
            alive = self._counted(nodes, np.arange(nodes.n_slots))
            self.allocatable = np.where(alive, nodes.allocatable, 0)
            self.requested = np.where(alive, nodes.requested, 0)
            self.allocatable_sums = self.allocatable.sum(axis=0)
            self.requested_sums = self.requested.sum(axis=0)
            return None
        alive = self._counted(nodes, slots)
        allocatable = np.where(alive, nodes.allocatable[slots], 0)
        requested = np.where(alive, nodes.requested[slots], 0)
        self.allocatable_sums += (allocatable - self.allocatable[slots]).sum(axis=0)
        self.requested_sums += (requested - self.requested[slots]).sum(axis=0)
        self.allocatable[slots], self.requested[slots] = allocatable, requested
        return slots

    def _changed_slots(self, nodes: NodeColumns) -> I64Array | None:
        """Return the slots that changed since the last update; None for all."""
        if self._versions is None or self.allocatable.shape != nodes.allocatable.shape:
            return None
        changed = nodes.node_journal.since(self._versions[0])
        changed_pods = nodes.pods_journal.since(self._versions[1])
        conditions = nodes.condition_journal.since(self._versions[2]) if self._only_ready else ()
        if changed is None or changed_pods is None or conditions is None:
            return None
        # A slot in several journals must change the sums once.
        slots: I64Array = np.unique(np.concatenate((changed, changed_pods, conditions)))
        return slots.astype(np.int64)

    def _counted(self, nodes: NodeColumns, slots: I64Array) -> Mask:
        """Return which slots have a node that counts: (k, 1) bool."""
        counted: Mask = nodes.alive[slots]
        if self._only_ready:
            objects = nodes.objects
            counted = counted & np.array(
                [(node := objects[slot]) is not None and is_ready(node) for slot in slots.tolist()],
                dtype=np.bool_,
            )
        return counted[:, None]


def is_ready(node: Node) -> bool:
    """Report whether a node is ready; one without the condition `Ready` counts as ready."""
    return all(each.type != "Ready" or each.status == "True" for each in node.status.conditions)


# The free shares of devices, where an extended resource of a node is the sum of shared devices.
#
# A device whose allocations share a capacity (DRAConsumableCapacity) has the shares of the
# extended resource with the driver's name and the capacity's: `alibabacloud.com/gpu-milli` for the
# driver `alibabacloud.com` and the capacity `gpu_milli` (identifiers have no hyphens).

_NANO: Final = 1_000_000_000


class DeviceShares:
    """The free share of each device, as of the last update.

    Attributes
    ----------
    free : dict of str to (n_slots, n_devices) int64
        By resource; -1 where a node has fewer devices than another.
    """

    def __init__(self) -> None:
        self.free: dict[str, I64Matrix] = {}
        self._versions: tuple[int, int] | None = None

    def update(self, cluster: Cluster) -> I64Array | None:
        """Update the shares.

        Returns
        -------
        (k,) int64, or None
            The slots whose shares may have changed; None for all.
        """
        devices, nodes = cluster.devices, cluster.nodes
        known = self._versions
        self._versions = devices.change_count, nodes.node_journal.version
        if self._versions == known:
            return _NOTHING
        slots = None if known is None else self._changed_slots(cluster, known)
        if slots is not None:
            found = _shares_in(cluster, slots)
            if self._has_room(found):
                self._write(found)
                return np.array(slots, dtype=np.int64) if self.free else _NOTHING
        had_any = bool(self.free)
        found = {} if devices.is_empty else _shares_in(cluster, nodes.slot_of.values())
        self.free = {
            resource: np.full(
                (nodes.n_slots, max(len(each.get(resource, ())) for each in found.values())),
                -1,
                dtype=np.int64,
            )
            for resource in dict.fromkeys(name for each in found.values() for name in each)
        }
        self._write(found)
        return None if self.free or had_any else _NOTHING

    def _changed_slots(self, cluster: Cluster, known: tuple[int, int]) -> list[int] | None:
        """Return the slots whose node or devices changed; None if each may have changed."""
        nodes = cluster.nodes
        names = cluster.devices.changes_since(known[0])
        changed = nodes.node_journal.since(known[1])
        if names is None or changed is None:
            return None
        named = (nodes.slot_of[name] for name in names if name in nodes.slot_of)
        return list(dict.fromkeys((*named, *changed.tolist())))

    def _has_room(self, found: Mapping[int, Mapping[str, list[int]]]) -> bool:
        """Whether the tables have these slots and resources, and as many devices."""
        if any(len(each) <= max(found, default=-1) for each in self.free.values()):
            return False
        return all(
            name in self.free and len(shares) <= self.free[name].shape[1]
            for by_resource in found.values()
            for name, shares in by_resource.items()
        )

    def _write(self, found: Mapping[int, Mapping[str, list[int]]]) -> None:
        for resource, table in self.free.items():
            for slot, by_resource in found.items():
                shares = by_resource.get(resource, ())
                table[slot] = -1
                table[slot, : len(shares)] = shares


def _shares_in(cluster: Cluster, slots: Iterable[int]) -> dict[int, dict[str, list[int]]]:
    """Return what is free of each device, by slot and resource."""
    nodes = cluster.nodes
    return {
        slot: dict(_free_shares(cluster.devices, nodes.names[slot])) if nodes.alive[slot] else {}
        for slot in slots
    }


def _free_shares(devices: DeviceIndex, node: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the resources of a node's shared devices, and what is free of each device."""
    shares: dict[str, list[int]] = {}
    for device in devices.devices_near(node):
        if device.is_shareable and device.slice.nodes.name == node:
            for name, amount in _free_of(device, devices):
                shares.setdefault(name, []).append(amount)
    yield from shares.items()


def _free_of(device: SliceDevice, devices: DeviceIndex) -> Iterator[tuple[str, int]]:
    consumed = devices.allocated.consumed.get(device.id, {})
    for name, capacity in device.capacities.items():
        free = (capacity.value.nano - consumed.get(name, 0)) // _NANO
        yield f"{device.id.driver}/{_resource_part(name)}", max(free, 0)


def _resource_part(capacity: str) -> str:
    return capacity.rpartition("/")[2].replace("_", "-")


def requested_shares(
    devices: DeviceIndex, pod: Pod, requests: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield the resources of which a pod requests shares, and its share of each device.

    Parameters
    ----------
    requests : mapping of str to int
        Of the pod, by resource: the sums over its devices.
    """
    for entry in pod.spec.resource_claims:
        claim = devices.claim(f"{pod.namespace}/{entry.resource_claim_name}")
        for request in () if claim is None else claim.spec.devices.requests:
            capacity = None if request.exactly is None else request.exactly.capacity
            for name, text in () if capacity is None else capacity.requests.items():
                for resource in requests:
                    if resource.rpartition("/")[2] == _resource_part(name):
                        yield resource, parse_quantity(text).value()
