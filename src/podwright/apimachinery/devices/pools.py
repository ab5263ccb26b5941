"""The pools of devices that a node can reach.

A pool is what one driver publishes under one name: slices of the newest generation. A pool of
which slices are missing is *incomplete*; one that contradicts itself is *invalid*. No device of
either is allocated.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
pools_incubating.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podwright.apimachinery.devices.slices import DeviceSlice, PoolId, SliceDevice


class Pool:
    """One pool, as a node sees it.

    Attributes
    ----------
    id : PoolId
    is_incomplete : bool
    invalid_reason : str
        "" if the pool is valid.
    devices : tuple of SliceDevice
        The devices of the slices that matter to the node, in the order in which they are tried.
    other_devices : tuple of SliceDevice
        The devices of the other slices, which consume counters.
    counters : dict of str to dict of str to int
        The shared counters by set and name, in units of 10^-9.
    """

    __slots__ = ("counters", "devices", "id", "invalid_reason", "is_incomplete", "other_devices")

    def __init__(self, pool: PoolId, *, is_incomplete: bool = False) -> None:
        self.id = pool
        self.is_incomplete = is_incomplete
        self.invalid_reason = ""
        self.devices: tuple[SliceDevice, ...] = ()
        self.other_devices: tuple[SliceDevice, ...] = ()
        self.counters: dict[str, dict[str, int]] = {}

    @property
    def is_usable(self) -> bool:
        """Whether devices can be allocated."""
        return not self.is_incomplete and not self.invalid_reason

    @property
    def has_binding_conditions(self) -> bool:
        """Whether a device of the node's slices has binding conditions."""
        return any(device.device.binding_conditions for device in self.devices)


def gather_pools(
    slices: Iterable[DeviceSlice],
    slices_of_pool: Mapping[PoolId, Mapping[str, DeviceSlice]],
    node_name: str,
    labels: dict[str, str],
    *,
    with_partitions: bool,
    problems: Iterable[Pool] = (),
) -> tuple[Pool, ...]:
    """Return the pools of a node in the order in which they are tried.

    Parameters
    ----------
    slices : iterable of DeviceSlice
        Those that may matter to the node.
    slices_of_pool : mapping
        All slices of the cluster, by pool and name.
    with_partitions : bool
        Feature gate DRAPartitionableDevices.
    problems : iterable of Pool
        Pools without devices for the node that are incomplete or invalid, which every node sees.
    """
    relevant: dict[PoolId, list[DeviceSlice]] = {}
    for each in slices:
        if not with_partitions and (each.has_device_nodes or each.counter_sets):
            continue
        if not each.is_relevant(node_name, labels):
            continue
        present = relevant.get(each.pool)
        if present is None or each.generation > present[0].generation:
            relevant[each.pool] = [each]
        elif each.generation == present[0].generation:
            present.append(each)
    found = [
        pool
        for pool_id in sorted(relevant)
        if (pool := _pool(pool_id, relevant[pool_id], slices_of_pool[pool_id])) is not None
    ]
    found += problems
    # Pools with binding conditions come last.
    return tuple(sorted(found, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def problem_of_counters(slices: Mapping[str, DeviceSlice]) -> Pool | None:
    """Return a pool as nodes without any of its devices see it; None if it does not matter.

    Parameters
    ----------
    slices : mapping of str to DeviceSlice
        All slices of the pool, by name.
    """
    counters = [each for each in slices.values() if each.counter_sets]
    if not counters:
        return None
    newest = max(each.generation for each in counters)
    pool = _pool(counters[0].pool, [each for each in counters if each.generation == newest], slices)
    return None if pool is None or pool.is_usable else pool


def _pool(
    pool_id: PoolId, slices: list[DeviceSlice], all_slices: Mapping[str, DeviceSlice]
) -> Pool | None:
    """Return a pool; None if a newer generation replaces it."""
    slices.sort(key=lambda each: each.name)
    generation, slice_count = slices[0].generation, slices[0].slice_count
    others: list[DeviceSlice] = []
    if len(slices) != slice_count:
        # Slices that do not matter to the node count for completeness.
        if any(each.generation > generation for each in all_slices.values()):
            return None
        of_generation = [each for each in all_slices.values() if each.generation == generation]
        if len(of_generation) != slice_count:
            return Pool(pool_id, is_incomplete=True)
        names = {each.name for each in slices}
        others = sorted(
            (each for each in of_generation if each.name not in names), key=lambda each: each.name
        )
    pool = Pool(pool_id)
    devices = tuple(device for each in slices if not each.counter_sets for device in each.devices)
    pool.invalid_reason = _problem(pool, slices, devices, others)
    if not pool.invalid_reason:
        pool.devices = devices
        pool.other_devices = tuple(device for each in others for device in each.devices)
    return pool


def _problem(
    pool: Pool,
    slices: list[DeviceSlice],
    devices: tuple[SliceDevice, ...],
    others: list[DeviceSlice],
) -> str:
    """Return why a pool contradicts itself; "" if it does not. Its counters are set."""
    names: set[str] = set()
    for device in devices:
        name = device.device.name
        if name in names:
            return f"duplicate device name {name}"
        names.add(name)
    for each in slices:
        for name, counters in each.counter_sets:
            if name in pool.counters:
                return f"duplicate counter set name {name}"
            pool.counters[name] = counters
    for each in (*slices, *others):
        for device in each.devices:
            for set_name, taken in device.consumes:
                counters_of_set = pool.counters.get(set_name)
                if counters_of_set is None:
                    return f"counter set {set_name} not found"
                for name, _ in taken:
                    if name not in counters_of_set:
                        return f"counter {name} not found in counter set {set_name}"
    return ""
