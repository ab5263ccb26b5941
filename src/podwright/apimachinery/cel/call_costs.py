"""The costs of calls: counted while an expression is evaluated, and estimated before.

Both are beside each other for each function, or for each overload where overloads differ.

Upstream: cel-go interpreter/runtimecost.go; staging/src/k8s.io/apiserver/pkg/cel/library/cost.go
(CallCost, EstimateCallCost); cel-go ext/lists.go, ext/sets.go (trackers, estimators)
"""

# ruff: noqa: ARG001 - every cost is a function of arguments and result
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from podwright.apimachinery.cel.estimate import (
    LIST_COST,
    REGEX_FACTOR,
    STRING_FACTOR,
    UNBOUNDED,
    CallEstimate,
    Operand,
    Range,
    fixed,
)
from podwright.apimachinery.cel.expressions import Constant
from podwright.apimachinery.cel.functions.formats import MAX_PATTERN_SIZE
from podwright.apimachinery.cel.functions.list_functions import COMPARABLE
from podwright.apimachinery.cel.steps import CallCost, go_type_of
from podwright.apimachinery.cel.values import (
    Duration,
    ErrorValue,
    EvaluationPanicError,
    OpaqueValue,
    Timestamp,
    Value,
    cost_size,
)

AUTHORIZER_CHECK_COST: Final = 350_000
_MAX_FORMAT_SIZE: Final = 64
_MAX_LIST_ATTRIBUTE: Final = 48

_Size: TypeAlias = Callable[[Operand], Range]


class _Called(NamedTuple):
    """A call; `size` returns the size of an argument."""

    overload: str
    target: Operand | None
    args: list[Operand]
    size: _Size

    @property
    def first(self) -> Range:
        """The size of the first argument."""
        return self.size(self.args[0])


_Estimate: TypeAlias = Callable[[_Called], CallEstimate | None]


class _Costs(NamedTuple):
    """How the cost of a call is counted, and how it is estimated; None if its function says it."""

    cost: CallCost | None
    estimate: _Estimate | None = None


def call_cost(function: str, overload: str) -> CallCost:
    """Return how to count the cost of a call.

    Parameters
    ----------
    function : str
        Its name.
    overload : str
        The id of its overload; empty if the types of the arguments select one.
    """
    for costs in (_BY_OVERLOAD.get(overload), _BY_FUNCTION.get(function)):
        if costs is not None and costs.cost is not None:
            return costs.cost
    return _one


def estimate_call(
    function: str, overload: str, target: Operand | None, args: list[Operand], size: _Size
) -> CallEstimate | None:
    """Return the estimate of a call; None if it is one of the language itself."""
    call = _Called(overload, target, args, size)
    for costs in (_BY_OVERLOAD.get(overload), _BY_FUNCTION.get(function)):
        if costs is not None and costs.estimate is not None:
            found = costs.estimate(call)
            if found is not None:
                return found
    return None


# ----------------------------------------------------------------------------- costs


def _read(size: int) -> int:
    """Return the cost of reading a text."""
    return math.ceil(size * STRING_FACTOR)


def _one(args: tuple[Value, ...], result: Value) -> int:
    return 1


def _string_read(factor: float = STRING_FACTOR) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        return math.ceil(cost_size(args[0]) * factor)

    return cost


def _joined(args: tuple[Value, ...], result: Value) -> int:
    return _read(2 * cost_size(result))


def pattern_cost(text_size: int, pattern_size: int) -> int:
    """Return the cost of a match: a character more than the text has, by the pattern."""
    return _read(1 + text_size) * math.ceil(pattern_size * REGEX_FACTOR)


def _match(args: tuple[Value, ...], result: Value) -> int:
    return pattern_cost(cost_size(args[0]), cost_size(args[1]))


def _contains(args: tuple[Value, ...], result: Value) -> int:
    return _read(cost_size(args[0])) * _read(cost_size(args[1]))


def _equality_cost(args: tuple[Value, ...], result: Value) -> int:
    return 1 if isinstance(args[0], OpaqueValue) else _smaller(args, result)


def _smaller(args: tuple[Value, ...], result: Value) -> int:
    return _read(min(cost_size(args[0]), cost_size(args[1])))


def _both(args: tuple[Value, ...], result: Value) -> int:
    return _read(cost_size(args[0]) + cost_size(args[1]))


def _list_size(args: tuple[Value, ...], result: Value) -> int:
    return cost_size(args[1])


def traversal_cost(value: Value) -> int:
    """Return the cost of reading a value and all that it contains."""
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(map(traversal_cost, value))
    if isinstance(value, dict):
        return sum(traversal_cost(k) + traversal_cost(v) for k, v in value.items())
    return 1


def _traversal_cost(args: tuple[Value, ...], result: Value) -> int:
    return traversal_cost(args[0])


def _cidr_contains(overload: str) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        size = cost_size(args[0])
        total = _read(2 * size)
        if overload.startswith("cidr_contains_cidr"):
            total += _read(size) + 1
        if overload.endswith("_string"):
            total += _read(cost_size(args[1]))
        return total

    return cost


def _validate_cost(args: tuple[Value, ...], result: Value) -> int:
    pattern_size = getattr(args[0], "pattern_size", None)
    return 1 if pattern_size is None else pattern_cost(cost_size(args[1]), pattern_size)


def selector_cost(length: int) -> int:
    """Return the cost of parsing a selector of an authorization check."""
    requirements = math.ceil(length / 2)
    return LIST_COST + _read(length) + 50 * requirements


def _selector_cost(args: tuple[Value, ...], result: Value) -> int:
    return selector_cost(cost_size(args[1]))


def _check(args: tuple[Value, ...], result: Value) -> int:
    return AUTHORIZER_CHECK_COST


def _output_size(args: tuple[Value, ...], result: Value) -> int:
    return LIST_COST + 1 + cost_size(result)


def _flatten_cost(args: tuple[Value, ...], result: Value) -> int:
    depth = args[1] if len(args) == 2 and isinstance(args[1], int) else 1
    return LIST_COST + 1 + cost_size(args[0]) * depth


def _no_list(value: Value) -> str:
    """Return why upstream's count of a comparison of elements panics."""
    name = "*types.Err" if isinstance(value, ErrorValue) else go_type_of(value)
    is_added = isinstance(value, int | float | str | bytes | Duration | Timestamp)
    method = "Contains" if is_added and not isinstance(value, bool) else "Add"
    return f"interface conversion: {name} is not traits.Lister: missing method {method}"


def _self_comparison(index: int) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        value = args[index]
        if not isinstance(value, list):
            raise EvaluationPanicError(_no_list(value))
        if not value:
            return LIST_COST + 1
        factor = 2.0 + (STRING_FACTOR if isinstance(value[0], str | bytes) else 0)
        return LIST_COST + 1 + int(len(value) ** 2 * factor)

    return cost


def _sets_cost(factor: int) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        return 1 + factor * cost_size(args[0]) * cost_size(args[1])

    return cost


# ------------------------------------------------------------------------- estimates

_ONE = fixed(1)
_NOMINAL = CallEstimate(_ONE)


def _member(estimate: Callable[[_Called, Operand], CallEstimate | None]) -> _Estimate:
    """Return the estimate of member calls; other calls have none."""
    return lambda call: None if call.target is None else estimate(call, call.target)


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
    read = call.first
    return CallEstimate(read.scaled(STRING_FACTOR), read)


def _parsed(factor: float = STRING_FACTOR) -> _Estimate:
    def estimate(call: _Called) -> CallEstimate | None:
        return CallEstimate(call.first.scaled(factor)) if call.args else _NOMINAL

    return estimate


def _text(call: _Called, target: Operand) -> CallEstimate | None:
    read = call.size(target)
    return CallEstimate(read.scaled(STRING_FACTOR), read)


def _replace(call: _Called, target: Operand) -> CallEstimate | None:
    if len(call.args) < 2:
        return None
    text, old, new = call.size(target), call.first, call.size(call.args[1])
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
        result = result.plus(call.first.times(separators))
    return CallEstimate(result.scaled(STRING_FACTOR), result)


def _find(call: _Called, target: Operand) -> CallEstimate | None:
    if not call.args:
        return None
    text = call.size(target)
    cost = text.plus(_ONE).scaled(STRING_FACTOR)
    pattern = call.first.scaled(REGEX_FACTOR)
    return CallEstimate(cost.times(pattern), Range(0, text.high))


def _network_contains(call: _Called, _: Operand) -> CallEstimate | None:
    if not call.args:
        return None
    address = Range(4, 16)
    cost = address.plus(address).scaled(STRING_FACTOR)
    if call.overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(address.scaled(STRING_FACTOR)).plus(_ONE)
    if call.overload.endswith("_string"):
        cost = cost.plus(call.first.scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _validate(call: _Called, _: Operand) -> CallEstimate | None:
    read = call.first.scaled(STRING_FACTOR)
    return CallEstimate(read.scaled(MAX_PATTERN_SIZE * REGEX_FACTOR))


_UNIT_EQUALITY: Final = frozenset({
    "kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR",
    "kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
})  # fmt: skip


def _equality(call: _Called) -> CallEstimate | None:
    if len(call.args) != 2:
        return None
    left, right = call.args
    if left.type != right.type:
        return None
    name = left.type.name
    if name in _UNIT_EQUALITY:
        return _NOMINAL
    if name == "kubernetes.NamedFormat":
        return CallEstimate(Range(1, _MAX_FORMAT_SIZE).scaled(STRING_FACTOR))
    if name == "kubernetes.URL":
        # Upstream looks at the right side only.
        high = 1 if right.size is None else right.size.high
        return CallEstimate(Range(1, high).scaled(STRING_FACTOR))
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


def _sort(kind: str) -> _Estimate:
    factor = 2.0 + (STRING_FACTOR if kind in ("string", "bytes") else 0)

    def estimate(call: _Called, target: Operand) -> CallEstimate | None:
        count = call.size((*call.args, target)[0])
        return _allocating(factor, count.times(count))

    return _member(estimate)


def _sets(factor: float) -> _Estimate:
    def estimate(call: _Called) -> CallEstimate | None:
        product = call.first.times(call.size(call.args[1]))
        return CallEstimate(product.scaled(factor).plus(_ONE))

    return estimate


# ----------------------------------------------------------------------------- tables

ACCESSORS = (
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed",
    "reason", "error", "errored", "masked", "prefixLength", "family", "isUnspecified",
    "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named",
    "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan",
    "compareTo", "add", "sub", "major", "minor", "patch", "getScheme", "getHostname", "getHost",
    "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip

_READ: Final = _string_read()
_READ_TWICE: Final = _string_read(2 * STRING_FACTOR)

_BY_FUNCTION: Final[dict[str, _Costs]] = {
    # Only policies have authorizers, whose cost is counted but not estimated.
    **dict.fromkeys(ACCESSORS, _Costs(_one)),
    "check": _Costs(_check),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _Costs(_selector_cost)),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"),
        _Costs(_traversal_cost, _member(_traversal)),
    ),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _Costs(_READ, _first_argument)),
    **dict.fromkeys(
        ("lowerAscii", "upperAscii", "substring", "trim"), _Costs(_READ, _member(_text))
    ),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _Costs(_READ, _parsed()),
    ),
    "ip": _Costs(_READ, _parsed()),
    "ip.isCanonical": _Costs(_READ_TWICE, _parsed(2 * STRING_FACTOR)),
    "replace": _Costs(_READ_TWICE, _member(_replace)),
    "split": _Costs(_READ_TWICE, _member(_split)),
    "join": _Costs(_joined, _member(_join)),
    **dict.fromkeys(("find", "findAll"), _Costs(_match, _member(_find))),
    "containsIP": _Costs(_cidr_contains("cidr_contains_ip"), _member(_network_contains)),
    "containsCIDR": _Costs(_cidr_contains("cidr_contains_cidr"), _member(_network_contains)),
    "validate": _Costs(_validate_cost, _member(_validate)),
    "includes": _Costs(None, lambda _: CallEstimate(Range(1, _MAX_LIST_ATTRIBUTE))),
    "_==_": _Costs(None, _equality),
}

_ORDERS: Final = tuple(
    f"{order}_{kind}"
    for order in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
)
_BY_OVERLOAD: Final[dict[str, _Costs]] = {
    # Upstream counts the size of the text, not that of the affix, though its estimate does.
    **dict.fromkeys(
        ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string",
         "strings_quote", "string_format"),
        _Costs(_READ),
    ),
    "in_list": _Costs(_list_size),
    **dict.fromkeys(("not_equals", *_ORDERS), _Costs(_smaller)),
    "equals": _Costs(_equality_cost),
    **dict.fromkeys(("add_string", "add_bytes"), _Costs(_both)),
    "matches_string": _Costs(_match),
    "contains_string": _Costs(_contains),
    "cidr_ip": _Costs(_one),
    **{
        overload: _Costs(_cidr_contains(overload))
        for overload in ("cidr_contains_ip_string", "cidr_contains_cidr_string")
    },
    "list_slice": _Costs(_output_size, _member(_slice)),
    "lists_range": _Costs(_output_size, _range),
    "list_reverse": _Costs(_output_size, _member(_reverse)),
    **dict.fromkeys(
        ("list_flatten", "list_flatten_int"), _Costs(_flatten_cost, _member(_flatten))
    ),
    "list_distinct": _Costs(_self_comparison(0), _member(_distinct)),
    **{
        f"list_{kind}_{name}": _Costs(_self_comparison(index), _sort(kind))
        for kind in COMPARABLE
        for index, name in enumerate(("sort", "sortByAssociatedKeys"))
    },
    **dict.fromkeys(
        ("sets_contains_list_list", "sets_intersects_list_list"), _Costs(_sets_cost(1), _sets(1))
    ),
    "sets_equivalent_list_list": _Costs(_sets_cost(2), _sets(2)),
}  # fmt: skip
