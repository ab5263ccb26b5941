"""Slices and their devices in the form that allocation reads.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/api/types.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    CapacityRequestPolicy,
    Device,
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
    content : str
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
        self.content = msgspec.json.encode((of.pool.driver, read), order="sorted").decode()


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
