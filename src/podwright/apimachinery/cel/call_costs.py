"""The cost of a call while an expression is evaluated.

Upstream: cel-go interpreter/runtimecost.go; staging/src/k8s.io/apiserver/pkg/cel/library/cost.go
(CallCost); cel-go ext/lists.go, ext/sets.go (trackers)
"""

# ruff: noqa: ARG001 - every cost is a function of arguments and result
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

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

STRING_FACTOR: Final = 0.1
"""What a character costs where a string is read."""

REGEX_FACTOR: Final = 0.25
"""What a character of a pattern costs."""

LIST_COST: Final = 10
"""What the creation of a list costs."""

AUTHORIZER_CHECK_COST: Final = 350_000


def ceil_product(size: float, factor: float) -> int:
    """Return a cost: a size by a factor, rounded up."""
    return math.ceil(size * factor)


def call_cost(function: str, overload: str) -> CallCost:
    """Return how to count the cost of a call.

    Parameters
    ----------
    function : str
        Its name.
    overload : str
        The id of its overload; empty if the types of the arguments select one.
    """
    by_function = _BY_FUNCTION.get(function)
    if by_function is not None:
        return by_function(overload)
    by_overload = _BY_OVERLOAD.get(overload)
    if by_overload is not None:
        return by_overload
    return _sort_cost(overload) or _one


def _one(args: tuple[Value, ...], result: Value) -> int:
    return 1


def _string_read(factor: float = STRING_FACTOR) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        return ceil_product(cost_size(args[0]), factor)

    return cost


def _joined(args: tuple[Value, ...], result: Value) -> int:
    return ceil_product(cost_size(result), 2 * STRING_FACTOR)


def pattern_cost(text_size: int, pattern_size: int) -> int:
    """Return the cost of a match: a character more than the text has, by the pattern."""
    return ceil_product(1 + text_size, STRING_FACTOR) * ceil_product(pattern_size, REGEX_FACTOR)


def _match(args: tuple[Value, ...], result: Value) -> int:
    return pattern_cost(cost_size(args[0]), cost_size(args[1]))


def _contains(args: tuple[Value, ...], result: Value) -> int:
    return ceil_product(cost_size(args[0]), STRING_FACTOR) * ceil_product(
        cost_size(args[1]), STRING_FACTOR
    )


def _equality(args: tuple[Value, ...], result: Value) -> int:
    return 1 if isinstance(args[0], OpaqueValue) else _smaller(args, result)


def _smaller(args: tuple[Value, ...], result: Value) -> int:
    return ceil_product(min(cost_size(args[0]), cost_size(args[1])), STRING_FACTOR)


def _both(args: tuple[Value, ...], result: Value) -> int:
    return ceil_product(cost_size(args[0]) + cost_size(args[1]), STRING_FACTOR)


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


def _traversal(args: tuple[Value, ...], result: Value) -> int:
    return traversal_cost(args[0])


def _cidr_contains(overload: str) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        size = cost_size(args[0])
        total = ceil_product(2 * size, STRING_FACTOR)
        if overload.startswith("cidr_contains_cidr"):
            total += ceil_product(size, STRING_FACTOR) + 1
        if overload.endswith("_string"):
            total += ceil_product(cost_size(args[1]), STRING_FACTOR)
        return total

    return cost


def _ip(overload: str) -> CallCost:
    return _one if overload == "cidr_ip" else _string_read()


def _validate(args: tuple[Value, ...], result: Value) -> int:
    pattern_size = getattr(args[0], "pattern_size", None)
    return 1 if pattern_size is None else pattern_cost(cost_size(args[1]), pattern_size)


def selector_cost(length: int) -> int:
    """Return the cost of parsing a selector of an authorization check."""
    requirements = ceil_product(length, 0.5)
    return LIST_COST + ceil_product(length, STRING_FACTOR) + ceil_product(requirements, 50)


def _selector(args: tuple[Value, ...], result: Value) -> int:
    return selector_cost(cost_size(args[1]))


def _check(args: tuple[Value, ...], result: Value) -> int:
    return AUTHORIZER_CHECK_COST


def _output_size(args: tuple[Value, ...], result: Value) -> int:
    return LIST_COST + 1 + cost_size(result)


def _flatten(args: tuple[Value, ...], result: Value) -> int:
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


def _sort_cost(overload: str) -> CallCost | None:
    if not overload.startswith("list_"):
        return None
    if overload.endswith("_sort"):
        return _self_comparison(0)
    return _self_comparison(1) if overload.endswith("_sortByAssociatedKeys") else None


def _sets(factor: float) -> CallCost:
    def cost(args: tuple[Value, ...], result: Value) -> int:
        return 1 + int(cost_size(args[0]) * cost_size(args[1]) * factor)

    return cost


def _always(cost: CallCost) -> Callable[[str], CallCost]:
    return lambda _: cost


ACCESSORS = (
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed",
    "reason", "error", "errored", "masked", "prefixLength", "family", "isUnspecified",
    "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named",
    "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan",
    "compareTo", "add", "sub", "major", "minor", "patch", "getScheme", "getHostname", "getHost",
    "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip

_BY_FUNCTION: Final[dict[str, Callable[[str], CallCost]]] = {
    **dict.fromkeys(ACCESSORS, _always(_one)),
    "check": _always(_check),
    "fieldSelector": _always(_selector),
    "labelSelector": _always(_selector),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _always(_traversal)
    ),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey", "cidr",
         "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _always(_string_read()),
    ),
    "replace": _always(_string_read(2 * STRING_FACTOR)),
    "split": _always(_string_read(2 * STRING_FACTOR)),
    "ip.isCanonical": _always(_string_read(2 * STRING_FACTOR)),
    "join": _always(_joined),
    "find": _always(_match),
    "findAll": _always(_match),
    "ip": _ip,
    "containsIP": _cidr_contains,
    "containsCIDR": _cidr_contains,
    "validate": _always(_validate),
}  # fmt: skip

_BY_OVERLOAD: Final[dict[str, CallCost]] = {
    # Upstream counts the size of the text, not that of the affix, though its estimate does.
    **dict.fromkeys(
        ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string"),
        _string_read(),
    ),
    "in_list": _list_size,
    **dict.fromkeys(
        (f"{order}_{kind}" for order in ("less", "greater", "less_equals", "greater_equals")
         for kind in ("string", "bytes")),
        _smaller,
    ),
    "equals": _equality,
    "not_equals": _smaller,
    "add_string": _both,
    "add_bytes": _both,
    "matches_string": _match,
    "contains_string": _contains,
    "strings_quote": _string_read(),
    "string_format": _string_read(),
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), _output_size),
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _self_comparison(0),
    "sets_contains_list_list": _sets(1),
    "sets_intersects_list_list": _sets(1),
    "sets_equivalent_list_list": _sets(2),
}  # fmt: skip
