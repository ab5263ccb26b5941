"""The free shares of devices, where an extended resource of a node is the sum of shared devices.

A device whose allocations share a capacity (DRAConsumableCapacity) has the shares of the extended
resource with the driver's name and the capacity's: `alibabacloud.com/gpu-milli` for the driver
`alibabacloud.com` and the capacity `gpu_milli` (identifiers have no hyphens).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.apimachinery.devices import DeviceIndex, SliceDevice
from podwright.apimachinery.objects import Pod, parse_quantity
from podwright.scheduler.columns import Cluster

_NANO: Final = 1_000_000_000
_NOTHING: Final[I64Array] = np.zeros(0, dtype=np.int64)


class DeviceShares:
    """The free share of each device, as of the last update.

    Attributes
    ----------
    free : dict of str to (n_slots, n_devices) int64
        By resource; -1 where a node has fewer devices than another.
    """

    def __init__(self) -> None:
        self.free: dict[str, I64Matrix] = {}
        self._versions: tuple[int, int, int] | None = None

    def update(self, cluster: Cluster) -> I64Array | None:
        """Update the shares.

        Returns
        -------
        (k,) int64, or None
            The slots whose shares may have changed; None for all.
        """
        devices, nodes = cluster.devices, cluster.nodes
        known = self._versions
        self._versions = devices.change_count, nodes.node_journal.version, cluster.numbering
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

    def _changed_slots(self, cluster: Cluster, known: tuple[int, int, int]) -> list[int] | None:
        """Return the slots whose node or devices changed; None if each may have changed."""
        nodes = cluster.nodes
        names = cluster.devices.changes_since(known[0])
        changed = nodes.node_journal.since(known[1])
        if names is None or changed is None or cluster.numbering != known[2]:
            return None
        named = (nodes.slot_of[name] for name in names if name in nodes.slot_of)
        return list(dict.fromkeys((*named, *changed.tolist())))

    def _has_room(self, found: Mapping[int, Mapping[str, list[int]]]) -> bool:
        """Whether the tables have these slots and resources, and as many devices."""
        n_slots = min((len(each) for each in self.free.values()), default=0)
        if self.free and max(found, default=-1) >= n_slots:
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
