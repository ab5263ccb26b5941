"""Solutions of earlier searches, which serve all nodes with the same devices in the same state.

A search reads of a node what `shape_of` contains, and which devices are allocated. The names of
nodes, pools and devices do not matter to it. So nodes of one kind share the solutions, and the
search for the chosen node does not have to be repeated when its devices are reserved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from podwright.apimachinery.devices.allocator import Chosen, Solution
from podwright.apimachinery.devices.requests import Choice
from podwright.apimachinery.devices.slices import AllocatedDevices, Pool, SliceDevice
from podwright.apimachinery.objects import Quantity

_MOST_SOLUTIONS = 16_384
_MOST_IN_USE = 256
"""With more allocated devices a key is their hash: it would take too much memory otherwise."""

_Placed: TypeAlias = tuple[Choice, int, dict[str, Quantity] | None]
"""A `Chosen` with the position of its device."""


class _Found(NamedTuple):
    """A solution with the positions of devices among the usable ones of a node."""

    placed: tuple[tuple[_Placed, ...], ...]
    alternatives: tuple[tuple[int, ...], ...]
    score: int


class NodeState(NamedTuple):
    """What a search reads of a node.

    Attributes
    ----------
    shape : int
        The number of `shape_of`.
    in_use : tuple
        The allocated devices; see `in_use`.
    """

    shape: int
    in_use: tuple[Hashable, ...]


def shape_of(node_name: str, labels: dict[str, str], pools: Sequence[Pool]) -> Hashable:
    """Return what a search reads of a node's pools, apart from allocations.

    Equal shapes have devices that are equal position by position.
    """
    first_of_name: dict[str, int] = {}
    return tuple(
        (
            # Counters are known by the name of the pool alone, which two drivers can share.
            first_of_name.setdefault(pool.id.pool, number),
            pool.is_incomplete,
            bool(pool.invalid_reason),
            tuple([_device_shape(device, node_name, labels) for device in pool.devices]),
            tuple([_device_shape(device, node_name, labels) for device in pool.other_devices]),
            tuple([(name, tuple(counters.items())) for name, counters in pool.counters.items()]),
        )
        for number, pool in enumerate(pools)
    )


def _device_shape(device: SliceDevice, node_name: str, labels: dict[str, str]) -> Hashable:
    # The content has the driver, the attributes and the capacities.
    return (
        device.content,
        device.device.taints,
        bool(device.device.binding_conditions),
        device.consumes,
        device.nodes is None or device.nodes.matches(node_name, labels),
    )


def in_use(pools: Iterable[Pool], allocated: AllocatedDevices) -> tuple[Hashable, ...]:
    """Return which devices of a node are allocated, by position.

    Returns
    -------
    tuple
        Per device in use its position; of a shared one also what is consumed. If there are very
        many, a hash of them.
    """
    dedicated, shared = allocated.dedicated, allocated.shared
    found: list[Hashable] = []
    start = 0
    for pool in pools:
        for devices in (pool.devices, pool.other_devices):
            if not shared:
                # Most clusters share no device.
                found += [
                    position
                    for position, device in enumerate(devices, start)
                    if device.id in dedicated
                ]
                start += len(devices)
                continue
            for position, device in enumerate(devices, start):
                if device.id in shared:
                    consumed = allocated.consumed.get(device.id)
                    amounts = None if consumed is None else tuple(sorted(consumed.items()))
                    found.append((position, device.id in dedicated, amounts))
                elif device.id in dedicated:
                    found.append(position)
            start += len(devices)
    if len(found) <= _MOST_IN_USE:
        return tuple(found)
    return (blake2b(repr(found).encode(), digest_size=16).digest(),)


class Solutions:
    """The solutions for one set of claims.

    Attributes
    ----------
    classes_version : int
        Of the classes for which they were found.
    """

    __slots__ = ("_found", "classes_version")

    def __init__(self) -> None:
        self.classes_version = -1
        self._found: dict[NodeState, _Found | None] = {}

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()

    def __contains__(self, state: NodeState) -> bool:
        return state in self._found

    def score_of(self, state: NodeState) -> int | None:
        """Return the score of the solution for a known state; None if there is none."""
        found = self._found[state]
        return None if found is None else found.score

    def of(self, state: NodeState, pools: Sequence[Pool]) -> Solution | None:
        """Return the solution for a node in a known state; None if there is none."""
        found = self._found[state]
        if found is None:
            return None
        if len(pools) == 1:
            devices: Sequence[SliceDevice] = pools[0].devices
        else:
            devices = usable_devices(pools)
        chosen = [
            tuple([Chosen(choice, devices[place], amounts) for choice, place, amounts in placed])
            for placed in found.placed
        ]
        return Solution(tuple(chosen), found.alternatives, found.score)

    def add(self, state: NodeState, pools: Sequence[Pool], solution: Solution | None) -> None:
        """Keep the outcome of a search."""
        if len(self._found) >= _MOST_SOLUTIONS:
            self._found.clear()
        if solution is None:
            self._found[state] = None
            return
        place_of = {id(device): place for place, device in enumerate(usable_devices(pools))}
        placed = tuple(
            tuple((each.choice, place_of[id(each.device)], each.consumed) for each in chosen)
            for chosen in solution.chosen
        )
        self._found[state] = _Found(placed, solution.alternatives, solution.score)


def usable_devices(pools: Sequence[Pool]) -> list[SliceDevice]:
    """Return the devices that a search tries, in order; unusable pools have none."""
    return [device for pool in pools for device in pool.devices]
