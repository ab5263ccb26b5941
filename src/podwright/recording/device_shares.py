"""The free shares of devices, where an extended resource of a node is the sum of shared devices.

A device whose allocations share a capacity (DRAConsumableCapacity) has the shares of the extended
resource with the driver's name and the capacity's: `alibabacloud.com/gpu-milli` for the driver
`alibabacloud.com` and the capacity `gpu_milli` (identifiers have no hyphens).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.columns import Cluster
from podwright.devices import DeviceIndex, SliceDevice
from podwright.objects import Pod, parse_quantity

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
        versions = devices.change_count, nodes.node_journal.version, cluster.numbering
        known, self._versions = self._versions, versions
        if versions == known:
            return _NOTHING
        names = None
        if known is not None and known[1:] == versions[1:]:
            names = devices.changes_since(known[0])
        slots = [
            nodes.slot_of[name]
            for name in (nodes.slot_of if names is None else dict.fromkeys(names))
            if name in nodes.slot_of
        ]
        found = {slot: dict(_free_shares(devices, nodes.names[slot])) for slot in slots}
        had_any = bool(self.free)
        if names is None:
            self.free = {}
            for resource in dict.fromkeys(name for each in found.values() for name in each):
                most = max(len(each.get(resource, ())) for each in found.values())
                self.free[resource] = np.full((nodes.n_slots, most), -1, dtype=np.int64)
        for slot, by_resource in found.items():
            for resource, shares in by_resource.items():
                if resource not in self.free or self.free[resource].shape[1] < len(shares):
                    # More devices than any node had.
                    self._versions = None
                    return self.update(cluster)
                self.free[resource][slot] = -1
                self.free[resource][slot, : len(shares)] = shares
        if names is None:
            return None if self.free or had_any else _NOTHING
        return np.array(slots, dtype=np.int64) if self.free else _NOTHING


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
