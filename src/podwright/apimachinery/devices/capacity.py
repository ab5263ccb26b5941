"""How much of a device's capacity an allocation consumes, and whether it is left.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
consumable_capacity.go
"""

from __future__ import annotations

from collections.abc import Mapping

from podwright.apimachinery.devices.slices import Capacity
from podwright.apimachinery.objects import CapacityRequestPolicy, Quantity, parse_quantity

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
