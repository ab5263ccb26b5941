"""Which devices are allocated, and how much of shared ones.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podwright.apimachinery.devices.slices import DeviceId
from podwright.apimachinery.objects import AllocationResult, parse_quantity

NOTHING_CONSUMED: Mapping[str, int] = {}


class AllocatedDevices:
    """The devices of all allocations.

    Attributes
    ----------
    dedicated : dict of DeviceId to int
        Devices in use, with the number of allocations that have them.
    consumed : dict of DeviceId to dict of str to int
        Per shared device, what its allocations consume, in units of 10^-9.
    shared : dict of DeviceId to int
        Devices that allocations share, with their number.
    """

    def __init__(self) -> None:
        self.dedicated: dict[DeviceId, int] = {}
        self.consumed: dict[DeviceId, dict[str, int]] = {}
        self.shared: dict[DeviceId, int] = {}

    def count(self, allocation: AllocationResult, sign: int) -> Iterator[DeviceId]:
        """Count (1) or stop counting (-1) an allocation; yield the devices that it changes."""
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceId(result.driver, result.pool, result.device)
            if result.share_id is None:
                _add(self.dedicated, device, sign)
            else:
                _add(self.shared, device, sign)
                if result.consumed_capacity:
                    amounts = self.consumed.setdefault(device, {})
                    for name, text in result.consumed_capacity.items():
                        amounts[name] = amounts.get(name, 0) + sign * parse_quantity(text).nano
                if device not in self.shared:
                    self.consumed.pop(device, None)
            yield device

    def is_shared(self, device: DeviceId) -> bool:
        """Return whether allocations share a device."""
        return device in self.shared

    def all_used(self) -> Iterable[DeviceId]:
        """Return every device that is allocated in any way."""
        return self.dedicated.keys() | self.shared.keys()


def _add(counts: dict[DeviceId, int], device: DeviceId, sign: int) -> None:
    count = counts.get(device, 0) + sign
    if count:
        counts[device] = count
    else:
        counts.pop(device, None)
