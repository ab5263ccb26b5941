"""The worst case of an expression's cost, found without evaluating it.

Sizes are ranges. That of a literal is known; that of an input is what the environment bounds it to,
found by its path, such as `device`, `attributes`, `@values`; else it is unbounded. All arithmetic
stays at the largest unsigned integer of 64 bits.

Upstream: cel-go checker/cost.go
"""

# ruff: noqa: ARG001 - estimates of overloads have the same parameters
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from podwright.apimachinery.cel.expressions import (
    Call,
    Comprehension,
    Constant,
    CreateList,
    CreateMap,
    CreateStruct,
    Expression,
    Identifier,
    Select,
)
from podwright.apimachinery.cel.macros import ACCUMULATOR, UNUSED
from podwright.apimachinery.cel.types import Type

STRING_FACTOR: Final = 0.1
"""What a character costs where a string is read."""

REGEX_FACTOR: Final = 0.25
"""What a character of a pattern costs."""

LIST_COST: Final = 10
"""What the creation of a list costs."""

UNBOUNDED: Final = 2**64 - 1
"""The largest cost and size."""

Path: TypeAlias = tuple[str, ...]


class Range(NamedTuple):
    """The least and the most that a size or cost can be."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        """Return the sum."""
        return Range(min(self.low + other.low, UNBOUNDED), min(self.high + other.high, UNBOUNDED))

    def times(self, other: Range) -> Range:
        """Return the product."""
        return Range(min(self.low * other.low, UNBOUNDED), min(self.high * other.high, UNBOUNDED))

    def scaled(self, factor: float) -> Range:
        """Return the product with a factor, rounded up."""
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Range) -> Range:
        """Return the range that covers both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def _scaled(number: int, factor: float) -> int:
    product = math.ceil(float(number) * factor)
    return UNBOUNDED if product >= 2.0**64 else product


def fixed(number: int) -> Range:
    """Return the range of one number."""
    return Range(number, number)


UNKNOWN: Final = Range(0, UNBOUNDED)
"""The range of what is not known."""

_NOTHING = fixed(0)
_ONE = fixed(1)


class Operand(NamedTuple):
    """What an estimate of a call knows of an argument.

    Attributes
    ----------
    path : Path
        How it is reached from a variable; empty if it is not a part of an input.
    size : Range or None
        Its size, if the expression itself says it.
    node : Expression or None
        The argument; None for the elements of a list.
    """

    path: Path
    type: Type
    size: Range | None
    node: Expression | None


class SizeBounds(Protocol):
    """The sizes of the inputs of an environment."""

    def size(self, path: Path) -> Range | None:
        """Return the size of the value at a path; None if it is not bounded."""
        ...


class CallEstimate(NamedTuple):
    """The cost of a call without its arguments, and the size of its result."""

    cost: Range
    size: Range | None = None


EstimateCall: TypeAlias = Callable[
    [str, str, Operand | None, list[Operand], Callable[[Operand], Range]], CallEstimate | None
]
"""How libraries estimate calls: of function, overload, target, arguments and the size of one."""


class _Entries(NamedTuple):
    """The sizes of the keys and values of a list or map."""

    kind: str
    key: Range
    value: Range


class _Local(NamedTuple):
    path: Path
    size: Range | None
    entries: _Entries | None


def estimate_cost(root: Expression, bounds: SizeBounds, estimate_call: EstimateCall) -> Range:
    """Return the range of the cost of a checked expression."""
    return _Estimator(bounds, estimate_call).cost(root)


class _Estimator:
    def __init__(self, bounds: SizeBounds, estimate_call: EstimateCall) -> None:
        self._bounds = bounds
        self._estimate_call = estimate_call
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range | None] = {}
        self._entries: dict[int, _Entries | None] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Expression) -> Range:
        match node:
            case Constant():
                return _NOTHING
            case Identifier():
                local = self._local(node.name)
                self._paths[id(node)] = (node.name,) if local is None else local.path
                return _ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case CreateList():
                return self._list(node)
            case CreateMap():
                return self._map(node)
            case CreateStruct():
                total = fixed(40)
                for entry in node.entries:
                    total = total.plus(self.cost(entry.value))
                return total
            case Comprehension():
                return self._bind(node) if node.variable == UNUSED else self._loop(node)

    # ------------------------------------------------------------------ parts

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Expression) -> Path:
        if isinstance(node, Identifier):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self._paths.get(id(node), ())

    def _select(self, node: Select) -> Range:
        # A test for presence costs what its operand costs.
        total = self.cost(node.operand)
        if node.is_test:
            return total
        if node.operand.type.kind in ("map", "struct", "param"):
            total = total.plus(_ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return total

    def _list(self, node: CreateList) -> Range:
        total = fixed(LIST_COST)
        size = Range(UNBOUNDED if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            size = size.union(self._size_or_unknown(element))
        self._entries[id(node)] = _Entries("list", _ONE, size)
        return total

    def _map(self, node: CreateMap) -> Range:
        total = fixed(30)
        low = UNBOUNDED if node.entries else 0
        key, value = Range(low, 0), Range(low, 0)
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size_or_unknown(entry.key))
            value = value.union(self._size_or_unknown(entry.value))
        self._entries[id(node)] = _Entries("map", key, value)
        return total

    def _loop(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self._push_value(node.accumulator, node.initial)
        if node.second_variable:
            self._push_item(node.variable, node.range, is_key=True)
            self._push_item(node.second_variable, node.range, is_key=False)
        else:
            self._push_item(node.variable, node.range, is_key=None)
        body = self.cost(node.condition)
        body = self.cost(node.step).plus(body)
        self._locals[node.variable].pop()
        if node.second_variable:
            self._locals[node.second_variable].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        if isinstance(node.initial, Constant):
            self._sizes[id(node)] = self._size(node.initial)
        elif isinstance(node.initial, CreateList | CreateMap):
            self._sizes[id(node)] = count
            self._entries[id(node)] = self._entries_of(node.step)
        return total.plus(count.times(body))

    def _bind(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self._push_value(node.accumulator, node.initial)
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        self._copy_sizes(node, node.result)
        return total

    def _push_value(self, name: str, node: Expression) -> None:
        local = _Local(self._path(node), self._size(node), self._entries_of(node))
        self._locals.setdefault(name, []).append(local)

    def _push_item(self, name: str, over: Expression, *, is_key: bool | None) -> None:
        """Enter a variable of a loop: keys, values, or what a loop of one variable has."""
        entries = self._entries_of(over)
        kind = entries.kind if entries else over.type.kind
        if is_key is None:
            is_key = kind != "list"
            step = "@keys" if is_key else "@items"
        elif is_key:
            step = "@indices" if kind == "list" else "@keys"
        else:
            step = "@items" if kind == "list" else "@values"
        size = None if entries is None else entries.key if is_key else entries.value
        local = _Local((*self._path(over), step), size, None)
        self._locals.setdefault(name, []).append(local)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(_ONE)
            self._copy_sizes(node, node.args[0])
            return cost
        arg_costs = [self.cost(arg) for arg in node.args]
        args = [self._operand(arg) for arg in node.args]
        if not node.overloads:
            return _NOTHING
        total, target = _NOTHING, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._operand(node.target)
        call_cost = Range(UNBOUNDED, 0)
        result: Range | None = None
        for overload in node.overloads:
            estimate = self._function(node, overload, target, args, arg_costs)
            call_cost = call_cost.union(estimate.cost)
            if estimate.size is not None:
                result = estimate.size if result is None else result.union(estimate.size)
            if overload in ("index_list", "index_map"):
                entries = self._entries_of(node.args[0])
                result = None if entries is None else entries.value
                step = "@items" if overload == "index_list" else "@values"
                self._paths[id(node)] = (*self._path(node.args[0]), step)
            if result is None:
                result = self._size(node)
        self._sizes[id(node)] = result
        return total.plus(call_cost)

    def _operand(self, node: Expression) -> Operand:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        return Operand(path, node.type, self._size(node), node)

    def _function(
        self,
        node: Call,
        overload: str,
        target: Operand | None,
        args: list[Operand],
        arg_costs: list[Range],
    ) -> CallEstimate:
        arguments = _NOTHING
        for cost in arg_costs:
            arguments = arguments.plus(cost)
        found = self._estimate_call(node.function, overload, target, args, self._operand_size)
        if found is None:
            found = self._logical(node, overload, args, arg_costs)
            if found is not None:
                return found
            found = self._standard(node, overload, target, args)
        return CallEstimate(found.cost.plus(arguments), found.size)

    def _logical(
        self, node: Call, overload: str, args: list[Operand], arg_costs: list[Range]
    ) -> CallEstimate | None:
        """Return the estimate of an operator that does not always evaluate its arguments."""
        if overload in ("logical_and", "logical_or"):
            return CallEstimate(Range(arg_costs[0].low, arg_costs[0].plus(arg_costs[1]).high))
        if overload != "conditional":
            return None
        size = _or_unknown(args[1]).union(_or_unknown(args[2]))
        self._unite_entries(node, *node.args[1:])
        return CallEstimate(arg_costs[0].plus(arg_costs[1].union(arg_costs[2])), size)

    def _standard(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate:
        match overload:
            case "add_string" | "add_bytes" | "add_list":
                size = _or_unknown(args[0]).plus(_or_unknown(args[1]))
                self._unite_entries(node, *node.args)
                return CallEstimate(
                    _ONE if overload == "add_list" else size.scaled(STRING_FACTOR), size
                )
            case "in_list":
                return CallEstimate(_or_unknown(args[1]).scaled(1))
            case _:
                pass
        if overload in _SMALLER_OF_TWO:
            high = min(_or_unknown(args[0]).high, _or_unknown(args[1]).high)
            return CallEstimate(Range(1 if high else 0, high).scaled(STRING_FACTOR))
        estimate = _BY_OVERLOAD.get(overload)
        operands = args if target is None else [target, *args]
        return CallEstimate(_ONE) if estimate is None else estimate(*map(_or_unknown, operands))

    # ------------------------------------------------------------------ sizes

    def _operand_size(self, operand: Operand) -> Range:
        if operand.size is not None:
            return operand.size
        return self._bounds.size(operand.path) or UNKNOWN if operand.path else UNKNOWN

    def _size_or_unknown(self, node: Expression) -> Range:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _size(self, node: Expression) -> Range | None:
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        literal = _literal_size(node)
        if literal is not None:
            return literal
        path = self._path(node)
        bounded = self._bounds.size(path) if path else None
        if bounded is not None:
            return bounded
        if node.type.is_scalar:
            return _ONE
        if isinstance(node, Identifier):
            local = self._local(node.name)
            return None if local is None else local.size
        return None

    def _entries_of(self, node: Expression) -> _Entries | None:
        if isinstance(node, Identifier):
            local = self._local(node.name)
            return None if local is None else local.entries
        return self._entries.get(id(node))

    def _unite_entries(self, node: Expression, first: Expression, second: Expression) -> None:
        """Give a node the entries that cover those of two others, if both are known."""
        one, other = self._entries_of(first), self._entries_of(second)
        if one is not None and other is not None:
            united = _Entries(one.kind, one.key.union(other.key), one.value.union(other.value))
            self._entries[id(node)] = united

    def _copy_sizes(self, node: Expression, source: Expression) -> None:
        self._sizes[id(node)] = self._size(source)
        self._entries[id(node)] = self._entries_of(source)


def _or_unknown(operand: Operand) -> Range:
    return UNKNOWN if operand.size is None else operand.size


def _literal_size(node: Expression) -> Range | None:
    match node:
        case Constant():
            return fixed(len(node.value) if isinstance(node.value, str | bytes) else 1)
        case CreateList():
            return fixed(len(node.elements))
        case CreateMap():
            return fixed(len(node.entries))
        case _:
            return None


_SMALLER_OF_TWO: Final = frozenset({
    "equals", "not_equals",
    *(f"{order}_{kind}" for order in ("less", "greater", "less_equals", "greater_equals")
      for kind in ("string", "bytes")),
})  # fmt: skip


def _format(template: Range, values: Range) -> CallEstimate:
    return CallEstimate(template.scaled(STRING_FACTOR))


def _to_bytes(text: Range) -> CallEstimate:
    # A character becomes up to four bytes; upstream's product wraps around.
    return CallEstimate(text.scaled(STRING_FACTOR), Range(text.low, text.high * 4 % 2**64))


def _from_bytes(data: Range) -> CallEstimate:
    return CallEstimate(data.scaled(STRING_FACTOR), Range(data.low // 4, data.high))


def _quote(text: Range) -> CallEstimate:
    result = Range(text.low + 2, (text.high * 2 + 2) % 2**64)
    return CallEstimate(text.scaled(STRING_FACTOR), result)


def _affix(text: Range, affix: Range) -> CallEstimate:
    return CallEstimate(affix.scaled(STRING_FACTOR))


def _matches(text: Range, pattern: Range) -> CallEstimate:
    cost = text.plus(_ONE).scaled(STRING_FACTOR)
    return CallEstimate(cost.times(pattern.scaled(REGEX_FACTOR)))


def _contains(text: Range, part: Range) -> CallEstimate:
    return CallEstimate(text.scaled(STRING_FACTOR).times(part.scaled(STRING_FACTOR)))


_BY_OVERLOAD: Final[dict[str, Callable[..., CallEstimate]]] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _from_bytes,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "matches_string": _matches,
    "contains_string": _contains,
}
