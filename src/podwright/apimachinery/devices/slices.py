"""Slices and their devices in the form that allocation reads.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/api/types.go;
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/ pools_incubating.go;
pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go;
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go, `selectorsMatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from podwright.apimachinery import cel
from podwright.apimachinery.objects import (
    AllocationResult,
    CapacityRequestPolicy,
    Device,
    DeviceSelector,
    DeviceTaintRule,
    NodeSelector,
    NodeTerms,
    Quantity,
    ResourceSlice,
    encode,
    node_selector,
    parse_quantity,
)


class DeviceId(NamedTuple):
    """What identifies a device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolId(NamedTuple):
    """What identifies a pool in the cluster."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class NodeChoice(NamedTuple):
    """The nodes of a slice or of a device: by name, all, or by selector, in this order.

    Attributes
    ----------
    name : str
        "" if the nodes are not chosen by name.
    is_all : bool
    terms : NodeTerms or None
        The compiled `selector`.
    selector : NodeSelector or None
    """

    name: str
    is_all: bool
    terms: NodeTerms | None
    selector: NodeSelector | None

    def matches(self, name: str, labels: dict[str, str]) -> bool:
        """Return whether a node is chosen."""
        if self.name:
            return self.name == name
        return self.is_all or (self.terms is not None and self.terms.matches(name, labels))


def _choice(of: Any) -> NodeChoice:
    selector: NodeSelector | None = of.node_selector
    terms = None if selector is None else node_selector(selector)
    return NodeChoice(of.node_name or "", bool(of.all_nodes), terms, selector)


class Capacity(NamedTuple):
    """A capacity of a device."""

    value: Quantity
    policy: CapacityRequestPolicy | None


class SliceDevice:
    """One device.

    Attributes
    ----------
    id : DeviceId
    device : Device
        As the slice has it, with the taints of rules after its own.
    rules : tuple of str
        The names of the DeviceTaintRules whose taints it has, in the order of these taints.
    slice : DeviceSlice
    is_shareable : bool
        Several allocations are possible at the same time.
    capacities : dict of str to Capacity
    consumes : tuple of (str, tuple of (str, int))
        Counter sets, and the counters taken from each, in units of 10^-9.
    nodes : NodeChoice or None
        The device's own nodes; None if those of the slice count.
    content : bytes
        What a selector reads, as JSON: equal contents give equal results.
    """

    __slots__ = (
        "capacities",
        "consumes",
        "content",
        "device",
        "id",
        "is_shareable",
        "nodes",
        "rules",
        "slice",
    )

    def __init__(
        self,
        of: DeviceSlice,
        device: Device,
        document: dict[str, Any],
        rules: tuple[DeviceTaintRule, ...],
    ) -> None:
        self.slice = of
        self.rules = tuple(rule.metadata.name for rule in rules)
        if rules:
            taints = (*device.taints, *(rule.spec.taint for rule in rules))
            device = msgspec.structs.replace(device, taints=taints)
        self.device = device
        self.id = DeviceId(of.pool.driver, of.pool.pool, device.name)
        self.is_shareable = bool(device.allow_multiple_allocations)
        self.capacities = {
            name: Capacity(parse_quantity(capacity.value), capacity.request_policy)
            for name, capacity in device.capacity.items()
        }
        self.consumes = tuple(
            (
                consumption.counter_set,
                tuple(
                    (name, parse_quantity(counter.value).nano)
                    for name, counter in consumption.counters.items()
                ),
            )
            for consumption in device.consumes_counters
        )
        self.nodes = _choice(device) if of.has_device_nodes else None
        read = {key: document[key] for key in _READ_BY_SELECTORS if document.get(key)}
        self.content = msgspec.json.encode((of.pool.driver, read), order="sorted")


_READ_BY_SELECTORS = ("attributes", "capacity", "allowMultipleAllocations")


class DeviceSlice:
    """One ResourceSlice.

    Parameters
    ----------
    obj : ResourceSlice
    rules : iterable of DeviceTaintRule
        Those that may taint its devices, in order.

    Attributes
    ----------
    name : str
    pool : PoolId
    generation, slice_count : int
        Of the pool, as this slice has them.
    nodes : NodeChoice
    has_device_nodes : bool
        Each device has nodes of its own.
    counter_sets : tuple of (str, dict of str to int)
        The shared counters, in units of 10^-9.
    devices : tuple of SliceDevice
    """

    __slots__ = (
        "counter_sets",
        "devices",
        "generation",
        "has_device_nodes",
        "name",
        "nodes",
        "pool",
        "slice_count",
    )

    def __init__(self, obj: ResourceSlice, rules: Iterable[DeviceTaintRule] = ()) -> None:
        spec = obj.spec
        self.name = obj.metadata.name
        self.pool = PoolId(spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.slice_count = spec.pool.resource_slice_count
        self.nodes = _choice(spec)
        self.has_device_nodes = bool(spec.per_device_node_selection)
        self.counter_sets = tuple(
            (
                counter_set.name,
                {
                    name: parse_quantity(counter.value).nano
                    for name, counter in counter_set.counters.items()
                },
            )
            for counter_set in spec.shared_counters
        )
        documents = (encode(obj).get("spec") or {}).get("devices") or ()
        self.devices = tuple(
            SliceDevice(
                self,
                device,
                document,
                tuple(rule for rule in rules if taints_device(rule, *self.pool, device.name)),
            )
            for device, document in zip(spec.devices, documents, strict=True)
        )

    def is_relevant(self, node_name: str, labels: dict[str, str]) -> bool:
        """Return whether the slice matters to a node.

        Notes
        -----
        Slices with counters always do.
        """
        if self.counter_sets:
            return True
        nodes = self.nodes
        if nodes.name or nodes.is_all or nodes.selector is not None:
            return nodes.matches(node_name, labels)
        return self.has_device_nodes and any(
            device.nodes is not None and device.nodes.matches(node_name, labels)
            for device in self.devices
        )


def taints_device(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Return whether the scheduler adds the taint of a rule to a device.

    Notes
    -----
    A rule without selector taints every device for the scheduler, but none for eviction.

    Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go,
    applyPatches
    """
    selector = rule.spec.device_selector
    return selector is None or selector.matches(driver, pool, device)


# The pools of devices that a node can reach.
#
# A pool is what one driver publishes under one name: slices of the newest generation. A pool of
# which slices are missing is *incomplete*; one that contradicts itself is *invalid*. No device of
# either is allocated.


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
    """Return a pool; None if a newer generation replaces it.

    Notes
    -----
    The first of its slices says how many there are: as upstream lists them, those of the node
    itself come before those that nodes share. Among several of one kind, its order is not
    determined; ours is by name.
    """
    slices.sort(key=lambda each: each.name)
    first = min(slices, key=lambda each: not each.nodes.name or bool(each.counter_sets))
    generation, slice_count = first.generation, first.slice_count
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


# Which devices are allocated, and how much of shared ones.

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


# Which devices the selectors of classes and requests select.
#
# A selector reads attributes and capacities only, so each expression is evaluated once for all
# devices that are equal in these.

_MOST_RESULTS = 1 << 20


class AllocationError(Exception):
    """The allocation cannot continue: it ends the scheduling attempt, with this text."""


class Selection:
    """Cached results of selectors.

    Attributes
    ----------
    evaluation_count : int
        How often an expression was evaluated; for tests.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[str, bytes], bool | str] = {}
        self.evaluation_count = 0

    def matches(
        self, selectors: Sequence[DeviceSelector], device: SliceDevice, origin: str
    ) -> bool:
        """Return whether all selectors select a device.

        Parameters
        ----------
        origin : str
            Whose selectors they are, for errors: ``class gpu`` or ``claim default/c``.

        Raises
        ------
        AllocationError
            A selector does not compile, or its evaluation fails.
        """
        for index, selector in enumerate(selectors):
            expression = "" if selector.cel is None else selector.cel.expression
            found = self._results.get((expression, device.content))
            if found is None:
                found = self._evaluate(expression, device)
            if found is False:
                return False
            if found is not True:
                raise AllocationError(f"{origin}: selector #{index}: CEL {found}")
        return True

    def _evaluate(self, expression: str, device: SliceDevice) -> bool | str:
        """Return the result, or the error."""
        if len(self._results) >= _MOST_RESULTS:
            self._results.clear()
        self.evaluation_count += 1
        found: bool | str
        try:
            program = cel.compile_selector(expression)
            driver, document = msgspec.json.decode(device.content)
            result = program.evaluate(cel.device_value(driver, document))
        except cel.SelectorError as error:
            found = f"compile error: {error}"
        except cel.DeviceError as error:
            found = f"runtime error: {error}"
        else:
            found = f"runtime error: {result.error}" if result.error else result.matches
        self._results[expression, device.content] = found
        return found
