"""Devices in the lower bound of a purchase: how many pods need, and how many nodes have.

The count of each class is a bound: a device is allocated once, so that as many devices as are
requested must match the selectors of the class. Requests that may take fewer are left out: all
devices of a node, one of several alternatives, and admin access. So are classes of devices that
several allocations share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from podwright.apimachinery.devices import (
    EXACT_COUNT,
    AllocationError,
    DeviceIndex,
    MissingClaimError,
    SliceDevice,
    claims_of_pod,
    requests_of,
)
from podwright.apimachinery.objects import DeviceClass, NamespacedName, Pod
from podwright.scheduler.columns import DEVICE_CLASS_PREFIX


def device_rows(
    index: DeviceIndex,
    nodes: Iterable[str],
    bought: Sequence[str],
    helped: Iterable[Pod],
    others: Iterable[Pod],
) -> Iterator[tuple[list[int], int]]:
    """Yield how many devices of a class nodes have, and how many pods need of them.

    Parameters
    ----------
    index : DeviceIndex
        With the devices of all nodes.
    nodes : iterable of str
        The existing nodes.
    bought : sequence of str
        A new node of each type.
    helped : iterable of Pod
        The pods that existing nodes might take.
    others : iterable of Pod
        Those that only new nodes take: they have the devices that no node has alone.

    Yields
    ------
    list of int
        How many devices a node of each type has.
    int
        How many are needed beyond the free devices of other nodes, and of no node; positive.
    """
    used = set(index.allocated.all_used())
    shared = {each.id: each for each in index.devices_near("")}  # of no node alone

    def own(name: str) -> list[SliceDevice]:
        return [each for each in index.devices_near(name) if each.id not in shared]

    free = [each for name in nodes for each in own(name) if each.id not in used]
    near = [each for each in shared.values() if each.id not in used]
    new = [own(name) for name in bought]
    of_others, of_all = _needed(index, others), _needed(index, [*others, *helped])
    for name in of_all:
        try:
            *amounts, in_free, in_near = (_count(index, name, each) for each in (*new, free, near))
        except AllocationError:
            continue
        for need, room in (
            (of_others[name], in_near),
            (of_all[name], in_near + in_free),
        ):
            if need > room and any(amounts):
                yield amounts, need - room


def extended_names(device_class: DeviceClass) -> tuple[str, str]:
    """Return the extended resources that a class offers, by its own name and perhaps another."""
    spec = device_class.spec
    return spec.extended_resource_name or "", DEVICE_CLASS_PREFIX + device_class.name


def _needed(index: DeviceIndex, pods: Iterable[Pod]) -> Counter[str]:
    """Return how many devices of each class pods need for claims that are not allocated."""
    found: Counter[str] = Counter()
    seen: set[NamespacedName] = set()
    for pod in pods:
        try:
            claims = claims_of_pod(pod, index.claim)
        except MissingClaimError:
            continue
        for claim in claims:
            if claim.key in seen or claim.status.allocation is not None:
                continue
            seen.add(claim.key)
            for request in requests_of(claim.spec):
                if len(request.choices) == 1:
                    (choice,) = request.choices
                    if choice.mode == EXACT_COUNT and not choice.is_admin:
                        found[choice.class_name] += choice.count
    return found


def _count(index: DeviceIndex, name: str, devices: Iterable[SliceDevice]) -> int:
    """Return how many devices match a class.

    Raises
    ------
    AllocationError
        If the class does not exist, a selector fails, or several allocations share a device.
    """
    device_class = index.classes.get(name)
    if device_class is None:
        raise AllocationError(f"class {name} does not exist")
    selectors = device_class.spec.selectors
    found = 0
    for device in devices:
        if index.selection.matches(selectors, device, f"class {name}"):
            if device.is_shareable:
                raise AllocationError(f"{device.id} is shared")
            found += 1
    return found
