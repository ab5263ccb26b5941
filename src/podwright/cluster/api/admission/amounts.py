"""Amounts of resources: arithmetic on quantities that keeps the suffix with which they are written.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Add and Sub;
staging/src/k8s.io/apiserver/pkg/quota/v1/resources.go
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, Quantity, format_quantity, parse_quantity

Amounts: TypeAlias = dict[str, Quantity]
"""Quantities by the name of their resource."""

ZERO: Final = Quantity(0, 0)
ONE: Final = Quantity(1, 0)

_NANO = -9


def amounts_of(resources: Mapping[str, Any] | None) -> Amounts:
    """Return the quantities of a resource list."""
    return {name: parse_quantity(text) for name, text in (resources or {}).items()}


def texts_of(amounts: Amounts) -> Document:
    """Return a resource list with canonical quantities."""
    return {name: format_quantity(amounts[name]) for name in sorted(amounts)}


def sum_of(first: Quantity, second: Quantity) -> Quantity:
    """Return the sum, with the suffix of the first quantity that is not zero."""
    return _made(first.nano + second.nano, first if first.nano else second)


def difference_of(first: Quantity, second: Quantity) -> Quantity:
    """Return the difference, with the suffix of the first quantity that is not zero."""
    return _made(first.nano - second.nano, first if first.nano else second)


def _made(nano: int, like: Quantity) -> Quantity:
    return Quantity(nano, _NANO if nano else 0, format=like.format)


def rounded_up(quantity: Quantity) -> Quantity:
    """Return a quantity rounded up to a whole number."""
    whole, rest = divmod(quantity.nano, 10**9)
    if not rest:
        return quantity
    return msgspec.structs.replace(quantity, unscaled=whole + 1, exponent=0, text="")


def add(into: Amounts, other: Amounts) -> None:
    """Add amounts to others."""
    for name, quantity in other.items():
        into[name] = sum_of(into[name], quantity) if name in into else quantity


def raise_to(into: Amounts, other: Amounts) -> None:
    """Raise amounts to at least others."""
    for name, quantity in other.items():
        if name not in into or quantity.nano > into[name].nano:
            into[name] = quantity


def growth(new: Amounts, old: Amounts) -> Amounts:
    """Return by how much amounts grew, 0 for those that did not."""
    grown: Amounts = dict.fromkeys(new.keys() | old.keys(), ZERO)
    for name, quantity in new.items():
        change = difference_of(quantity, old[name]) if name in old else quantity
        if change.nano > 0:
            grown[name] = change
    return grown


def masked(amounts: Amounts, names: Collection[str]) -> Amounts:
    """Return the amounts of some resources."""
    return {name: quantity for name, quantity in amounts.items() if name in names}


def without_zeros(amounts: Amounts) -> Amounts:
    """Return the amounts that are not zero."""
    return {name: quantity for name, quantity in amounts.items() if quantity.nano}
