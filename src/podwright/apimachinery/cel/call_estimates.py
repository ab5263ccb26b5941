"""Estimates of the calls of Kubernetes' and the extensions' functions.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/cost.go (EstimateCallCost); cel-go
ext/lists.go, ext/sets.go (estimators)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from podwright.apimachinery.cel.call_costs import (
    ACCESSORS,
    AUTHORIZER_CHECK_COST,
    LIST_COST,
    REGEX_FACTOR,
    STRING_FACTOR,
)
from podwright.apimachinery.cel.estimate import UNBOUNDED, CallEstimate, Operand, Range, fixed
from podwright.apimachinery.cel.expressions import Constant
from podwright.apimachinery.cel.functions.formats import MAX_PATTERN_SIZE

_Size: TypeAlias = Callable[[Operand], Range]


class _Called(NamedTuple):
    """A call; `size` returns the size of an argument."""

    overload: str
    target: Operand | None
    args: list[Operand]
    size: _Size


_Estimate: TypeAlias = Callable[[_Called], CallEstimate | None]

_ONE = fixed(1)
_NOMINAL = CallEstimate(_ONE)
_MAX_FORMAT_SIZE = 64
_MAX_LIST_ATTRIBUTE = 48


def estimate_call(
    function: str, overload: str, target: Operand | None, args: list[Operand], size: _Size
) -> CallEstimate | None:
    """Return the estimate of a call; None if it is one of the language itself."""
    call = _Called(overload, target, args, size)
    by_overload = _BY_OVERLOAD.get(overload) or _sort_estimate(overload)
    found = None if by_overload is None else by_overload(call)
    if found is None and (by_function := _BY_FUNCTION.get(function)) is not None:
        found = by_function(call)
    return found


def _member(estimate: Callable[[_Called, Operand], CallEstimate | None]) -> _Estimate:
    """Return the estimate of member calls; other calls have none."""
    return lambda call: None if call.target is None else estimate(call, call.target)


def _selector(call: _Called) -> CallEstimate | None:
    if len(call.args) != 1:
        return None
    length = call.size(call.args[0])
    requirements = length.scaled(0.5).scaled(50)
    return CallEstimate(fixed(LIST_COST).plus(length.scaled(STRING_FACTOR)).plus(requirements))


def _element(operand: Operand) -> Operand | None:
    """Return the elements of a list; a type without parameters has none."""
    if not operand.type.parameters:
        return None
    path = (*operand.path, "@items") if operand.path else ()
    return Operand(path, operand.type.parameters[0], None, None)


def _traversal(call: _Called, target: Operand) -> CallEstimate | None:
    element = _element(target)
    if element is None:
        return CallEstimate(call.size(target).scaled(STRING_FACTOR))
    cost = _ONE
    if element.type.kind in ("string", "bytes"):
        cost = cost.plus(call.size(element).scaled(STRING_FACTOR))
    return CallEstimate(call.size(target).times(cost))


def _first_argument(call: _Called) -> CallEstimate | None:
    if len(call.args) != 1:
        return None
    read = call.size(call.args[0])
    return CallEstimate(read.scaled(STRING_FACTOR), read)


def _parsed(factor: float = STRING_FACTOR) -> _Estimate:
    def estimate(call: _Called) -> CallEstimate | None:
        return CallEstimate(call.size(call.args[0]).scaled(factor)) if call.args else _NOMINAL

    return estimate


def _text(call: _Called, target: Operand) -> CallEstimate | None:
    read = call.size(target)
    return CallEstimate(read.scaled(STRING_FACTOR), read)


def _replace(call: _Called, target: Operand) -> CallEstimate | None:
    if len(call.args) < 2:
        return None
    text, old, new = call.size(target), call.size(call.args[0]), call.size(call.args[1])
    if old.low == 0:
        # An empty text is found before each character and at the end.
        most, most_kept = min(text.high + 1, UNBOUNDED), text.high
    elif new.high <= old.low:
        most, most_kept = 0, text.high
    else:
        most, most_kept = math.ceil(float(text.high) / float(old.low)), 0
    if old.high == 0:
        least, least_kept = min(text.low + 1, UNBOUNDED), text.low
    elif old.high <= new.low:
        least, least_kept = 0, text.low
    else:
        least, least_kept = math.ceil(float(text.low) / float(old.high)), 0
    count = Range(least, min(most, UNBOUNDED))
    result = count.times(new).plus(Range(least_kept, most_kept))
    return CallEstimate(text.scaled(2 * STRING_FACTOR), result)


def _split(call: _Called, target: Operand) -> CallEstimate | None:
    text = call.size(target)
    most = text.high
    if len(call.args) > 1 and isinstance(call.args[1].node, Constant):
        # A negative limit, which means none, becomes a huge one upstream too.
        most = call.args[1].node.value % 2**64
    return CallEstimate(text.scaled(2 * STRING_FACTOR), Range(0, most))


def _join(call: _Called, target: Operand) -> CallEstimate | None:
    count = call.size(target)
    element = _element(target)
    result = fixed(0) if element is None else count.times(call.size(element))
    if call.args:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        result = result.plus(call.size(call.args[0]).times(separators))
    return CallEstimate(result.scaled(STRING_FACTOR), result)


def _find(call: _Called, target: Operand) -> CallEstimate | None:
    if not call.args:
        return None
    text = call.size(target)
    cost = text.plus(_ONE).scaled(STRING_FACTOR)
    pattern = call.size(call.args[0]).scaled(REGEX_FACTOR)
    return CallEstimate(cost.times(pattern), Range(0, text.high))


def _network_contains(call: _Called, _: Operand) -> CallEstimate | None:
    if not call.args:
        return None
    address = Range(4, 16)
    cost = address.plus(address).scaled(STRING_FACTOR)
    if call.overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(address.scaled(STRING_FACTOR)).plus(_ONE)
    if call.overload.endswith("_string"):
        cost = cost.plus(call.size(call.args[0]).scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _validate(call: _Called, _: Operand) -> CallEstimate | None:
    read = call.size(call.args[0]).scaled(STRING_FACTOR)
    return CallEstimate(read.scaled(MAX_PATTERN_SIZE * REGEX_FACTOR))


_UNIT_EQUALITY: Final = frozenset({
    "kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR",
    "kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
})  # fmt: skip


def _equality(call: _Called) -> CallEstimate | None:
    if len(call.args) != 2 or call.args[0].type != call.args[1].type:
        return None
    name = call.args[0].type.name
    if name in _UNIT_EQUALITY:
        return _NOMINAL
    if name == "kubernetes.NamedFormat":
        return CallEstimate(Range(1, _MAX_FORMAT_SIZE).scaled(STRING_FACTOR))
    if name == "kubernetes.URL":
        # Upstream looks at the right side only.
        right = call.args[1].size
        return CallEstimate(Range(1, right.high if right else 1).scaled(STRING_FACTOR))
    return None


# --------------------------------------------------------------------------- the list extension


def _constant_or(operand: Operand, default: int) -> int:
    if isinstance(operand.node, Constant) and isinstance(operand.node.value, int):
        return max(operand.node.value, 0)
    return default


def _allocating(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(_ONE).plus(fixed(LIST_COST)), size)


def _slice(call: _Called, target: Operand) -> CallEstimate | None:
    end = _constant_or(call.args[1], call.size(target).high)
    return _allocating(1, fixed((end - _constant_or(call.args[0], 0)) % 2**64))


def _range(call: _Called) -> CallEstimate | None:
    return _allocating(1, fixed(_constant_or(call.args[0], UNBOUNDED)))


def _reverse(call: _Called, target: Operand) -> CallEstimate | None:
    return _allocating(1, call.size(target))


def _flatten(call: _Called, target: Operand) -> CallEstimate | None:
    depth = _constant_or(call.args[0], UNBOUNDED) if call.args else 1
    return _allocating(float(depth), call.size(target))


def _distinct(call: _Called, target: Operand) -> CallEstimate | None:
    count = call.size(target)
    return _allocating(2.0, count.times(count))


def _sort(call: _Called, target: Operand) -> CallEstimate | None:
    count = call.size(call.args[0] if call.args else target)
    factor = 2.0 + (STRING_FACTOR if call.overload.split("_")[1] in ("string", "bytes") else 0)
    return _allocating(factor, count.times(count))


def _sort_estimate(overload: str) -> _Estimate | None:
    is_sort = overload.startswith("list_") and overload.endswith(("_sort", "_sortByAssociatedKeys"))
    return _member(_sort) if is_sort else None


def _sets(factor: float) -> _Estimate:
    def estimate(call: _Called) -> CallEstimate | None:
        product = call.size(call.args[0]).times(call.size(call.args[1]))
        return CallEstimate(product.scaled(factor).plus(_ONE))

    return estimate


_BY_OVERLOAD: Final[dict[str, _Estimate]] = {
    "list_slice": _member(_slice),
    "list_flatten": _member(_flatten),
    "list_flatten_int": _member(_flatten),
    "lists_range": _range,
    "list_reverse": _member(_reverse),
    "list_distinct": _member(_distinct),
    "sets_contains_list_list": _sets(1),
    "sets_intersects_list_list": _sets(1),
    "sets_equivalent_list_list": _sets(2),
}

_BY_FUNCTION: Final[dict[str, _Estimate]] = {
    "check": lambda _: CallEstimate(fixed(AUTHORIZER_CHECK_COST)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _member(_traversal)
    ),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _first_argument),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _member(_text)),
    "replace": _member(_replace),
    "split": _member(_split),
    "join": _member(_join),
    **dict.fromkeys(("find", "findAll"), _member(_find)),
    **dict.fromkeys(
        ("ip", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _parsed(),
    ),
    "ip.isCanonical": _parsed(2 * STRING_FACTOR),
    **dict.fromkeys(("containsIP", "containsCIDR"), _member(_network_contains)),
    "validate": _member(_validate),
    "includes": lambda _: CallEstimate(Range(1, _MAX_LIST_ATTRIBUTE)),
    "_==_": _equality,
    **dict.fromkeys(ACCESSORS, lambda _: _NOMINAL),
}
