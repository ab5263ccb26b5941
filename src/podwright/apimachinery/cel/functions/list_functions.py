"""Functions on lists, maps, sets and optional values.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/lists.go; cel-go ext/lists.go (version 3),
ext/sets.go, ext/comprehensions.go, cel/library.go (optional types)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Final

from podwright.apimachinery.cel.functions.formats import TIMESTAMP_MIN_NS
from podwright.apimachinery.cel.functions.standard import STANDARD_LIBRARY
from podwright.apimachinery.cel.steps import display
from podwright.apimachinery.cel.types import Library, library_of
from podwright.apimachinery.cel.values import (
    NONE,
    Duration,
    ErrorValue,
    Optional,
    Timestamp,
    Uint,
    Value,
    compare,
    contains,
    equals,
    find_key,
    present,
    type_name,
)

COMPARABLE: Final = (
    "int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes",
)  # fmt: skip
"""The types whose lists can be sorted."""

_SUMMABLE: Final[dict[str, Value]] = {
    "int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0),
}  # fmt: skip
_MAX_RANGE: Final = 2_000_000
"""Elements of a list that already cost more than every limit, so that memory is bounded."""
_ADD: Final = next(f for f in STANDARD_LIBRARY.functions if f.name == "_+_").singleton


# --------------------------------------------------------------------------- Kubernetes' lists


def _is_sorted(values: Value) -> Value:
    for previous, following in pairwise(values):
        order = compare(previous, following)
        if not isinstance(order, ErrorValue) and order > 0:
            return False
    return True


def _sum(zero: Value) -> Callable[[Value], Value]:
    def total(values: Value) -> Value:
        result = zero
        assert _ADD is not None
        for value in values:
            result = _ADD(result, value)
            if isinstance(result, ErrorValue):
                return result
        return result

    return total


def _extreme(name: str, sign: int) -> Callable[[Value], Value]:
    def extreme(values: Value) -> Value:
        if not values:
            return ErrorValue(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            order = compare(best, value)
            if not isinstance(order, ErrorValue) and order == sign:
                best = value
        return best

    return extreme


def _index_of(values: Value, item: Value) -> Value:
    return next((i for i, value in enumerate(values) if equals(value, item) is True), -1)


def _last_index_of(values: Value, item: Value) -> Value:
    positions = range(len(values) - 1, -1, -1)
    return next((i for i in positions if equals(values[i], item) is True), -1)


def _includes(target: Value, item: Value) -> Value:
    if isinstance(target, list):
        return any(equals(value, item) is True for value in target)
    return equals(target, item) is True


def _templated(line: str, types: tuple[str, ...]) -> str:
    return "\n".join(line.replace("T", type_) for type_ in types)


KUBERNETES_LIST_LIBRARY: Final = library_of(
    {
        "isSorted": _is_sorted, "max": _extreme("max", -1), "min": _extreme("min", 1),
        "indexOf": _index_of, "lastIndexOf": _last_index_of,
        **{f"list_{name}_sum_{name}": _sum(zero) for name, zero in _SUMMABLE.items()},
    },
    "\n".join([
        _templated("list_T_is_sorted_bool: list(T).isSorted() -> bool", COMPARABLE),
        _templated("list_T_sum_T: list(T).sum() -> T", tuple(_SUMMABLE)),
        _templated("list_T_max_T: list(T).max() -> T", COMPARABLE),
        _templated("list_T_min_T: list(T).min() -> T", COMPARABLE),
        "list_a_index_of_int: list(A).indexOf(A) -> int",
        "list_a_last_index_of_int: list(A).lastIndexOf(A) -> int",
    ]),
)  # fmt: skip
"""Kubernetes' functions on lists."""

INCLUDES_LIBRARY: Final = library_of(
    {"includes": _includes}, "list_includes_dyn_dyn: dyn.includes(dyn) -> bool"
)
"""`includes`, which compiles in stored expressions only."""


# --------------------------------------------------------------------------- the extension


def _slice(values: Value, start: Value, end: Value) -> Value:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        return ErrorValue(f"{call}, negative indexes not supported")
    if start > end:
        return ErrorValue(f"{call}, start index must be less than or equal to end index")
    if len(values) < end:
        return ErrorValue(f"{call}, list is length {len(values)}")
    return values[start:end]


def _flatten(values: Value, depth: Value = 1) -> Value:
    if depth < 0:
        return ErrorValue("level must be non-negative")
    flat: list[Value] = []
    for value in values:
        if isinstance(value, list) and depth > 0:
            flat += _flatten(value, depth - 1)
        else:
            flat.append(value)
    return flat


def _range(count: Value) -> Value:
    return list(range(min(count, _MAX_RANGE)))


def _distinct(values: Value) -> Value:
    unique: list[Value] = []
    for value in values:
        if not contains(unique, value):
            unique.append(value)
    return unique


def _sort(values: Value) -> Value:
    return _sort_by(values, values)


def _sort_by(values: Value, keys: Value) -> Value:
    if not values:
        return values
    if isinstance(compare(keys[0], keys[0]), ErrorValue):
        return ErrorValue("list elements must be comparable")
    if len(keys) > 1 and any(type_name(key) != type_name(keys[0]) for key in keys):
        return ErrorValue("list elements must have the same type")

    def order(left: int, right: int) -> int:
        result = compare(keys[left], keys[right])
        return 0 if isinstance(result, ErrorValue) else result

    return [values[index] for index in sorted(range(len(values)), key=cmp_to_key(order))]


def _is_list(value: Value) -> bool:
    return isinstance(value, list)


LIST_LIBRARY: Final = library_of(
    {
        "slice": _slice, "flatten": _flatten, "lists.range": _range, "distinct": _distinct,
        "reverse": lambda values: values[::-1], "sort": _sort, "@sortByAssociatedKeys": _sort_by,
    },
    "\n".join([
        "list_slice: list(A).slice(int, int) -> list(A)",
        "list_flatten: list(list(A)).flatten() -> list(A)",
        "list_flatten_int: list(dyn).flatten(int) -> list(dyn)",
        "lists_range: ::lists.range(int) -> list(int)",
        "list_reverse: list(A).reverse() -> list(A)",
        "list_distinct: list(A).distinct() -> list(A)",
        _templated("list_T_sort: list(T).sort() -> list(T)", COMPARABLE),
        _templated(
            "list_T_sortByAssociatedKeys: list(A).@sortByAssociatedKeys(list(T)) -> list(A)",
            COMPARABLE,
        ),
    ]),
    singletons={"sort": _is_list, "@sortByAssociatedKeys": _is_list},
)  # fmt: skip
"""The extension for lists."""


# --------------------------------------------------------------------------- sets and maps


def _sets_contain(values: Value, part: Value) -> Value:
    return all(contains(values, value) for value in part)


def _sets_equivalent(left: Value, right: Value) -> Value:
    return _sets_contain(left, right) and _sets_contain(right, left)


def _sets_intersect(left: Value, right: Value) -> Value:
    return any(contains(right, value) for value in left)


SET_LIBRARY: Final = library_of(
    {
        "sets.contains": _sets_contain,
        "sets.equivalent": _sets_equivalent,
        "sets.intersects": _sets_intersect,
    },
    """
    sets_contains_list_list: ::sets.contains(list(A), list(A)) -> bool
    sets_equivalent_list_list: ::sets.equivalent(list(A), list(A)) -> bool
    sets_intersects_list_list: ::sets.intersects(list(A), list(A)) -> bool
    """,
)
"""Lists as sets."""


def _insert(target: Value, *rest: Value) -> Value:
    entries = [(rest[0], rest[1])] if len(rest) == 2 else list(rest[0].items())
    result = dict(target)
    for key, value in entries:
        if find_key(result, key)[0]:
            return ErrorValue(f"insert failed: key {display(key)} already exists")
        result[key] = value
    return result


MAP_INSERT_LIBRARY: Final = library_of(
    {"cel.@mapInsert": _insert},
    """
    @mapInsert_map_map: ::cel.@mapInsert(map(A, B), map(A, B)) -> map(A, B)
    @mapInsert_map_key_value: ::cel.@mapInsert(map(A, B), A, B) -> map(A, B)
    """,
)
"""What the loops that make maps expand to."""


# --------------------------------------------------------------------------- optional values


def _none() -> Value:
    return NONE


_ZEROS: Final[dict[type, Value]] = {Duration: Duration(0), Timestamp: Timestamp(TIMESTAMP_MIN_NS)}


def _of_non_zero(value: Value) -> Value:
    zero = _ZEROS.get(value.__class__)
    is_zero = not value if zero is None else value == zero
    return NONE if is_zero else present(value)


def _value(optional: Value) -> Value:
    return optional.value if optional.is_present else ErrorValue("optional.none() dereference")


def _has_value(optional: Value) -> Value:
    return optional.is_present


def _first(values: Value) -> Value:
    return present(values[0]) if values else NONE


def _last(values: Value) -> Value:
    return present(values[-1]) if values else NONE


def _unwrap(values: Value) -> Value:
    return [v.value for v in values if isinstance(v, Optional) and v.is_present]


OPTIONAL_LIBRARY: Final = library_of(
    {
        "optional.of": present, "optional.ofNonZeroValue": _of_non_zero, "optional.none": _none,
        "value": _value, "hasValue": _has_value,
        # The program evaluates these itself.
        "or": _none, "orValue": _none, "_[_]": _none, "_[?_]": _none,
        "first": _first, "last": _last, "optional.unwrap": _unwrap, "unwrapOpt": _unwrap,
    },
    """
    optional_of: ::optional.of(A) -> optional(A)
    optional_ofNonZeroValue: ::optional.ofNonZeroValue(A) -> optional(A)
    optional_none: ::optional.none() -> optional(A)
    optional_value: optional(A).value() -> A
    optional_hasValue: optional(A).hasValue() -> bool
    optional_or_optional: optional(A).or(optional(A)) -> optional(A)
    optional_orValue_value: optional(A).orValue(A) -> A
    optional_list_index_int: _[_](optional(list(A)), int) -> optional(A)
    optional_map_index_value: _[_](optional(map(A, B)), A) -> optional(B)
    list_optindex_optional_int: _[?_](list(A), int) -> optional(A)
    optional_list_optindex_optional_int: _[?_](optional(list(A)), int) -> optional(A)
    map_optindex_optional_value: _[?_](map(A, B), A) -> optional(B)
    optional_map_optindex_optional_value: _[?_](optional(map(A, B)), A) -> optional(B)
    list_first: list(A).first() -> optional(A)
    list_last: list(A).last() -> optional(A)
    optional_unwrap: ::optional.unwrap(list(optional(A))) -> list(A)
    optional_unwrapOpt: list(optional(A)).unwrapOpt() -> list(A)
    """,
)  # fmt: skip
"""Values that may be absent."""

COLLECTION_LIBRARIES: Final[tuple[Library, ...]] = (
    KUBERNETES_LIST_LIBRARY,
    LIST_LIBRARY,
    SET_LIBRARY,
    MAP_INSERT_LIBRARY,
    OPTIONAL_LIBRARY,
)
"""All but `includes`."""
