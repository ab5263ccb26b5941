"""The search for devices: all unallocated claims of a pod, on one node.

Depth first, the first complete solution wins. Claims are satisfied in order, their requests in
order, and for each request its devices one after the other; devices are tried in the order of
pools, slices and devices. If the rest cannot be satisfied, the last choice is undone and the next
device tried. The devices of one request are chosen in increasing positions, so that each set is
tried once.

The search returns what upstream's returns, also where that is surprising: a device that is
refused after its counters were added leaves them added, and so does the undoing of a device that
allows several allocations; available counters are known by the name of the pool alone.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go;
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
consumable_capacity.go.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

import msgspec

from podwright.apimachinery.devices.requests import (
    ALL_DEVICES,
    EXACT_COUNT,
    MOST_ALTERNATIVES,
    MOST_RESULTS,
    Choice,
    Constraint,
    Request,
    claim_name,
    constraint_of,
    requests_of,
)
from podwright.apimachinery.devices.slices import (
    NOTHING_CONSUMED,
    AllocatedDevices,
    AllocationError,
    Capacity,
    DeviceId,
    Pool,
    Selection,
    SliceDevice,
)
from podwright.apimachinery.objects import (
    CapacityRequestPolicy,
    DeviceClass,
    Quantity,
    ResourceClaim,
    parse_quantity,
)


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """The feature gates that change how devices are allocated."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True

    @classmethod
    def of(cls, gates: Container[str]) -> Features:
        """Return the features of the enabled feature gates."""
        waits = "DRADeviceBindingConditions" in gates and "DRAResourceClaimDeviceStatus" in gates
        return cls(
            admin_access="DRAAdminAccess" in gates,
            prioritized_list="DRAPrioritizedList" in gates,
            partitionable_devices="DRAPartitionableDevices" in gates,
            device_taints="DRADeviceTaints" in gates,
            binding_conditions=waits,
            consumable_capacity="DRAConsumableCapacity" in gates,
        )


class Chosen(NamedTuple):
    """One device that was chosen.

    Attributes
    ----------
    choice : Choice
        The request, or the alternative of it.
    device : SliceDevice
    consumed : dict of str to Quantity, optional
        Of a device that allows several allocations.
    """

    choice: Choice
    device: SliceDevice
    consumed: dict[str, Quantity] | None


class Solution(NamedTuple):
    """The devices of all claims.

    Attributes
    ----------
    chosen : tuple of tuple of Chosen
        Per claim, in the order of choice.
    alternatives : tuple of tuple of int
        Per claim and request, the index of the chosen alternative; 0 without alternatives.
    score : int
        8 for each request with its first alternative, 7 for each with its second, and so on.
    """

    chosen: tuple[tuple[Chosen, ...], ...]
    alternatives: tuple[tuple[int, ...], ...]
    score: int


class SearchTimeoutError(AllocationError):
    """The search took too many steps."""


class _TooManyResultsError(Exception):
    """The rest of the claim has more devices than a claim can have."""


IN_USE = "in use"
NOT_SELECTED = "not selected"
NO_CAPACITY = "not enough capacity"
NO_COUNTERS = "not enough counters"
TAINTED = "tainted"
CONSTRAINT = "constraint "
"""Why a device was refused; the index of the constraint follows."""

Refused = Callable[[Choice, SliceDevice, str], None]
"""Is called with every device that is refused, and why."""


class _Work:
    """What is known about one choice: the number of devices, and for "All" which ones."""

    __slots__ = ("all_devices", "choice", "count", "device_class")

    def __init__(self, choice: Choice, device_class: DeviceClass) -> None:
        self.choice = choice
        self.device_class = device_class
        self.count = 0
        self.all_devices: list[tuple[SliceDevice, Pool]] | None = None


class NodeDevices(NamedTuple):
    """The devices that a node can reach.

    Attributes
    ----------
    name : str
        Of the node.
    labels : dict of str to str
    pools : tuple of Pool
    """

    name: str
    labels: dict[str, str]
    pools: tuple[Pool, ...]


class Devices(NamedTuple):
    """What a search reads of the cluster.

    Attributes
    ----------
    classes : mapping of str to DeviceClass
    allocated : AllocatedDevices
    selection : Selection
    """

    classes: Mapping[str, DeviceClass]
    allocated: AllocatedDevices
    selection: Selection


class Search:
    """One search.

    Parameters
    ----------
    node : NodeDevices
    claims : sequence of ResourceClaim
        The unallocated claims.
    devices : Devices
    features : Features
    most_steps : int
        After so many steps the search ends with an error; 0: never.
    on_refusal : callable, optional
        For explanations.

    Attributes
    ----------
    pools : tuple of Pool
        Those of the node.
    step_count : int
    """

    def __init__(
        self,
        node: NodeDevices,
        claims: Sequence[ResourceClaim],
        devices: Devices,
        *,
        features: Features,
        most_steps: int = 0,
        on_refusal: Refused | None = None,
    ) -> None:
        self.pools = node.pools
        self._devices = [(device, pool) for pool in node.pools for device in pool.devices]
        self._node_name = node.name
        self._labels = node.labels
        self._claims = claims
        self._classes, self._allocated, self._selection = devices
        self._features = features
        self._most_steps = most_steps
        self._on_refusal = on_refusal
        self.step_count = 0
        self._requests: list[tuple[Request, ...]] = [requests_of(claim.spec) for claim in claims]
        self._work: dict[Choice, _Work] = {}
        self._constraints: list[list[Constraint]] = []
        self._results: list[list[Chosen]] = [[] for _ in claims]
        self._alternatives = [[0] * len(requests) for requests in self._requests]
        self._chosen_for: dict[DeviceId, set[int]] = {}
        self._allocating: dict[DeviceId, dict[str, int]] = {}
        self._selectable: dict[tuple[DeviceId, Choice], bool] = {}
        self._counters_left: dict[str, dict[str, dict[str, int]]] = {}
        self._counters_taken: dict[str, dict[tuple[str, str], int]] = {}

    def run(self) -> Solution | None:
        """Return the first solution; None if there is none.

        Raises
        ------
        AllocationError
            The claims or classes are wrong, which ends the scheduling attempt.
        """
        for index in range(len(self._claims)):
            self._prepare(index)
        if not self._search_claim(0):
            return None
        return Solution(
            tuple(tuple(results) for results in self._results),
            tuple(tuple(chosen) for chosen in self._alternatives),
            sum(
                MOST_ALTERNATIVES - place
                for requests, places in zip(self._requests, self._alternatives, strict=True)
                for request, place in zip(requests, places, strict=True)
                if request.has_alternatives
            ),
        )

    # ------------------------------------------------------------ before the search

    def _prepare(self, index: int) -> None:
        """Check a claim, and find the devices of requests for all of them."""
        claim = self._claims[index]
        name = claim_name(claim)
        least_count = 0
        for request in self._requests[index]:
            if request.has_alternatives and not self._features.prioritized_list:
                raise AllocationError(
                    f"claim {name}, request {request.name}: has subrequests, but the"
                    " DRAPrioritizedList feature is disabled"
                )
            counts = []
            for choice in request.choices:
                if choice.capacities and not self._features.consumable_capacity:
                    kind = "subrequest" if choice.alternative else "request"
                    raise AllocationError(
                        f"claim {name}, {kind} {choice.own_name}: has capacity requests, but the"
                        " DRAConsumableCapacity feature is disabled"
                    )
                work = self._work[choice] = self._work_of(index, choice, name)
                counts.append(work.count)
            least_count += min(counts, default=0)
        if least_count > MOST_RESULTS:
            raise AllocationError(
                f"claim {name}: number of requested devices {least_count} exceeds the claim"
                f" limit of {MOST_RESULTS}"
            )
        constraints: list[Constraint] = []
        for number, each in enumerate(claim.spec.devices.constraints):
            constraint = constraint_of(each)
            if constraint is None:
                raise AllocationError(
                    f"claim {name}, constraint #{number}: empty constraint"
                    " (unsupported constraint type?)"
                )
            constraints.append(constraint)
        self._constraints.append(constraints)

    def _work_of(self, index: int, choice: Choice, name: str) -> _Work:
        where = f"claim {name}, request {choice.own_name}"
        for number, selector in enumerate(choice.selectors):
            if selector.cel is None:
                raise AllocationError(
                    f"{where}, selector #{number}: CEL expression empty"
                    " (unsupported selector type?)"
                )
        if choice.has_admin_field and not self._features.admin_access:
            raise AllocationError(
                f"{where}: admin access is requested, but the feature is disabled"
            )
        if not choice.class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(choice.class_name)
        if device_class is None:
            raise AllocationError(
                f"{where}: could not retrieve device class {choice.class_name}:"
                f' deviceclass.resource.k8s.io "{choice.class_name}" not found'
            )
        work = _Work(choice, device_class)
        if choice.mode == EXACT_COUNT:
            work.count = choice.count
        elif choice.mode == ALL_DEVICES:
            work.all_devices = self._all_devices(index, work, where)
            work.count = len(work.all_devices)
        else:
            raise AllocationError(f"{where}: unsupported count mode {choice.mode}")
        return work

    def _all_devices(self, index: int, work: _Work, where: str) -> list[tuple[SliceDevice, Pool]]:
        found: list[tuple[SliceDevice, Pool]] = []
        for pool in self.pools:
            if not pool.is_usable:
                state = "being updated" if pool.is_incomplete else "invalid"
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool.id} is currently"
                    f" {state}"
                )
            for device in pool.devices:
                if not self._is_selectable(index, work, device):
                    self._refuse(work, device, NOT_SELECTED)
                elif not self._has_capacity(work, device):
                    self._refuse(work, device, NO_CAPACITY)
                else:
                    found.append((device, pool))
        return found

    # ------------------------------------------------------------ the search

    def _step(self) -> None:
        self.step_count += 1
        if self._most_steps and self.step_count > self._most_steps:
            raise SearchTimeoutError(
                f"node {self._node_name}: timed out trying to allocate devices"
            )

    def _search_claim(self, index: int) -> bool:
        """Satisfy a claim and all later ones.

        The least number of devices of each claim was checked, so that its first request has an
        alternative that leads to few enough.
        """
        return index == len(self._claims) or self._search_request(index, 0)

    def _search_request(self, index: int, number: int) -> bool:
        """Satisfy a request and everything after it."""
        self._step()
        requests = self._requests[index]
        if number == len(requests):
            return self._search_claim(index + 1)
        request = requests[number]
        if not request.has_alternatives:
            return self._search_devices(index, number, self._work[request.choices[0]], 0, 0)
        have_all_too_many = True
        for place, choice in enumerate(request.choices):
            try:
                is_found = self._search_devices(index, number, self._work[choice], 0, 0)
            except _TooManyResultsError:
                continue
            have_all_too_many = False
            if is_found:
                self._alternatives[index][number] = place
                return True
        if have_all_too_many:
            raise _TooManyResultsError
        return False

    def _search_devices(self, index: int, number: int, work: _Work, taken: int, start: int) -> bool:
        """Choose the rest of the devices of a request, and satisfy everything after it.

        Parameters
        ----------
        taken : int
            How many of its devices are chosen.
        start : int
            The position of the first device to try.
        """
        self._step()
        of_all = work.all_devices
        if of_all is not None and not of_all:
            return False
        if taken >= work.count:
            return self._search_request(index, number + 1)
        if len(self._results[index]) + work.count - taken > MOST_RESULTS:
            raise _TooManyResultsError
        if of_all is None:
            devices, places = self._devices, range(start, len(self._devices))
        else:
            # All of them are needed, so the order does not matter and there is no other choice.
            devices, places = of_all, range(taken, taken + 1)
        for place in places:
            device, pool = devices[place]
            if of_all is None and not self._is_candidate(index, work, device):
                continue
            if not self._allocate(index, work, device, pool, must=of_all is not None):
                continue
            is_done = False
            try:
                is_done = self._search_devices(index, number, work, taken + 1, place + 1)
            finally:
                if not is_done:
                    self._undo(index, work, device, pool)
            if is_done:
                return True
        return False

    # ------------------------------------------------------------ one device

    def _is_candidate(self, index: int, work: _Work, device: SliceDevice) -> bool:
        """Return whether a device is free, selected, and has enough capacity."""
        if self._is_taken(index, work.choice, device):
            return self._refuse(work, device, IN_USE)
        if not self._is_selectable(index, work, device):
            return self._refuse(work, device, NOT_SELECTED)
        if not self._has_capacity(work, device):
            return self._refuse(work, device, NO_CAPACITY)
        return True

    def _refuse(self, work: _Work, device: SliceDevice, reason: str) -> bool:
        if self._on_refusal is not None:
            self._on_refusal(work.choice, device, reason)
        return False

    def _is_taken(self, index: int, choice: Choice, device: SliceDevice) -> bool:
        chosen_for = self._chosen_for.get(device.id)
        if choice.is_admin:
            return chosen_for is not None and index in chosen_for
        if chosen_for or device.id in self._allocated.dedicated:
            return True
        return not self._features.consumable_capacity and self._allocated.is_shared(device.id)

    def _is_selectable(self, index: int, work: _Work, device: SliceDevice) -> bool:
        """Return whether the selectors select a device, and the device is for this node."""
        if device.device.binding_conditions and not self._features.binding_conditions:
            return False
        key = device.id, work.choice
        known = self._selectable.get(key)
        if known is None:
            known = self._selectable[key] = self._evaluate(index, work, device)
        return known

    def _evaluate(self, index: int, work: _Work, device: SliceDevice) -> bool:
        device_class, choice = work.device_class, work.choice
        matches = self._selection.matches
        if device_class.spec.selectors and not matches(
            device_class.spec.selectors, device, f"class {device_class.metadata.name}"
        ):
            return False
        if choice.selectors:
            origin = f"claim {claim_name(self._claims[index])}"
            if not matches(choice.selectors, device, origin):
                return False
        nodes = device.nodes
        return nodes is None or nodes.matches(self._node_name, self._labels)

    def _has_capacity(self, work: _Work, device: SliceDevice) -> bool:
        if not self._features.consumable_capacity:
            return True
        return fits_capacity(
            work.choice.capacities,
            device.capacities,
            self._allocated.consumed.get(device.id, NOTHING_CONSUMED),
            self._allocating.get(device.id, NOTHING_CONSUMED),
        )

    def _allocate(
        self, index: int, work: _Work, device: SliceDevice, pool: Pool, *, must: bool
    ) -> bool:
        """Choose a device, if that is possible; `_undo` takes it back.

        Parameters
        ----------
        must : bool
            A constraint that refuses the device is an error.

        Notes
        -----
        As upstream, a refusal after the counters were added does not take them back, and a
        refusal for its capacity leaves the constraints as if the device had been chosen.
        """
        choice = work.choice
        is_shareable = device.is_shareable and self._features.consumable_capacity
        if self._is_taken(index, choice, device):
            return self._refuse(work, device, IN_USE)
        if device.consumes and not self._has_counters(device, pool, is_shareable=is_shareable):
            return self._refuse(work, device, NO_COUNTERS)
        if self._features.device_taints and not choice.tolerates(device.device.taints):
            return self._refuse(work, device, TAINTED)
        refused_by = self._add_to_constraints(index, choice, device)
        if refused_by is not None:
            if must:
                raise AllocationError(
                    f"claim {claim_name(self._claims[index])}, request {choice.own_name}: cannot"
                    f" add device {device.id} because a claim constraint would not be satisfied"
                )
            return self._refuse(work, device, f"{CONSTRAINT}{refused_by}")
        if not is_shareable:
            self._chosen_for.setdefault(device.id, set()).add(index)
        if not self._has_capacity(work, device):
            return self._refuse(work, device, NO_CAPACITY)
        amounts: dict[str, Quantity] | None = None
        if is_shareable:
            amounts = {
                name: consumed(choice.capacities.get(name), capacity)
                for name, capacity in device.capacities.items()
            }
            allocating = self._allocating.setdefault(device.id, {})
            for name, amount in amounts.items():
                allocating[name] = allocating.get(name, 0) + amount.nano
        self._results[index].append(Chosen(choice, device, amounts))
        return True

    def _has_counters(self, device: SliceDevice, pool: Pool, *, is_shareable: bool) -> bool:
        if not self._features.partitionable_devices:
            return False
        is_in_use = is_shareable and (
            device.id in self._allocated.consumed or device.id in self._allocating
        )
        return is_in_use or self._take_counters(device, pool)

    def _add_to_constraints(self, index: int, choice: Choice, device: SliceDevice) -> int | None:
        """Count a device in all constraints; return the number of the one that refuses it."""
        constraints = self._constraints[index]
        for number, constraint in enumerate(constraints):
            if not constraint.add(choice.request, choice.alternative, device):
                for earlier in constraints[:number]:
                    earlier.remove(choice.request, choice.alternative)
                return number
        return None

    def _undo(self, index: int, work: _Work, device: SliceDevice, pool: Pool) -> None:
        """Take back the device that was chosen last.

        Notes
        -----
        As upstream, the counters of a device that allows several allocations stay taken.
        """
        choice = work.choice
        for constraint in self._constraints[index]:
            constraint.remove(choice.request, choice.alternative)
        amounts = self._results[index].pop().consumed
        chosen_for = self._chosen_for.get(device.id)
        if chosen_for is not None:
            chosen_for.discard(index)
        if amounts is None:
            if device.consumes and self._features.partitionable_devices:
                self._return_counters(device, pool)
        elif amounts:
            allocating = self._allocating.get(device.id)
            if allocating is not None:
                for name, amount in amounts.items():
                    allocating[name] -= amount.nano
                if not any(allocating.values()):
                    del self._allocating[device.id]

    # ------------------------------------------------------------ counters

    def _take_counters(self, device: SliceDevice, pool: Pool) -> bool:
        """Take the counters that a device needs, if all that the pool has left suffice."""
        name = pool.id.pool
        left = self._counters_left.get(name)
        if left is None:
            left = self._counters_left[name] = self._counters_of(pool)
        taken = self._counters_taken.setdefault(name, {})
        for set_name, amounts in device.consumes:
            for counter, amount in amounts:
                key = set_name, counter
                taken[key] = taken.get(key, 0) + amount
        for set_name, counters in left.items():
            for counter, amount in counters.items():
                if amount < taken.get((set_name, counter), 0):
                    self._return_counters(device, pool)
                    return False
        return True

    def _counters_of(self, pool: Pool) -> dict[str, dict[str, int]]:
        """Return the counters of a pool without those that allocated devices have."""
        left = {name: dict(counters) for name, counters in pool.counters.items()}
        dedicated = self._allocated.dedicated
        for devices in (pool.devices, pool.other_devices):
            for device in devices:
                if not device.consumes or not (
                    device.id in dedicated or self._allocated.is_shared(device.id)
                ):
                    continue
                for set_name, amounts in device.consumes:
                    for counter, amount in amounts:
                        left[set_name][counter] -= amount
        return left

    def _return_counters(self, device: SliceDevice, pool: Pool) -> None:
        taken = self._counters_taken.get(pool.id.pool, {})
        for set_name, amounts in device.consumes:
            for counter, amount in amounts:
                key = set_name, counter
                taken[key] = taken.get(key, 0) - amount


# How much of a device's capacity an allocation consumes, and whether it is left.

_NOTHING: Mapping[str, int] = {}


def fits_capacity(
    requests: Mapping[str, Quantity],
    capacities: Mapping[str, Capacity],
    allocated: Mapping[str, int] = _NOTHING,
    allocating: Mapping[str, int] = _NOTHING,
) -> bool:
    """Return whether a request can have its share of a device.

    Parameters
    ----------
    requests : mapping of str to Quantity
        By the names in the device's map.
    allocated, allocating : mapping of str to int
        What allocations of the cluster and of this attempt consume, in units of 10^-9.
    """
    if not capacities:
        return not requests
    for name in requests:
        if name not in capacities:
            return False
    for name, capacity in capacities.items():
        amount = consumed(requests.get(name), capacity)
        if capacity.policy is not None and _violates(amount, capacity.policy):
            return False
        total = amount.nano + allocated.get(name, 0) + allocating.get(name, 0)
        if total > capacity.value.nano:
            return False
    return True


def consumed(requested: Quantity | None, capacity: Capacity) -> Quantity:
    """Return what a request consumes of a capacity."""
    policy = capacity.policy
    if requested is None:
        if policy is not None and policy.default is not None:
            return parse_quantity(policy.default)
        return capacity.value
    if policy is None:
        return requested
    allowed = policy.valid_range
    if allowed is not None and allowed.min is not None:
        least = parse_quantity(allowed.min)
        if requested.nano < least.nano:
            return least
        if allowed.step is None:
            return requested
        start, step = least.value(), parse_quantity(allowed.step).value()
        steps = -(-(requested.value() - start) // step)
        return Quantity(start + steps * step, 0, format="BinarySI")
    for text in policy.valid_values:
        value = parse_quantity(text)
        if requested.nano <= value.nano:
            return value
    return requested


def _violates(amount: Quantity, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None:
        default = parse_quantity(policy.default)
        # Upstream compares the Go structs: the notation counts, and a decimal equals nothing.
        if amount == default and not amount.is_decimal:
            return False
    allowed = policy.valid_range
    if allowed is not None:
        if allowed.max is not None and amount.nano > parse_quantity(allowed.max).nano:
            return True
        if allowed.step is None or allowed.min is None:
            return False
        start, step = parse_quantity(allowed.min).value(), parse_quantity(allowed.step).value()
        return (amount.value() - start) % step != 0
    if policy.valid_values:
        return all(amount.nano != parse_quantity(text).nano for text in policy.valid_values)
    return False
