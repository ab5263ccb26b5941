"""Values while an expression is evaluated: their types, equality, order and size.

A value is a Python object: None, bool, int (of 64 bits), `Uint`, float, str, bytes, list, dict, and
the classes of this module and of the libraries. An error is a value too, because `||`, `&&` and the
loops absorb it.

Upstream: cel-go common/types
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import total_ordering
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import msgspec

Value: TypeAlias = Any
"""A value; expressions are typed by the checker, and dynamic where it allows that."""

INT_MAX: Final = 2**63 - 1
INT_MIN: Final = -(2**63)
UINT_MAX: Final = 2**64 - 1
NANOSECONDS: Final = 10**9


class ErrorValue:
    """The value of an expression that failed."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class Uint(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


@total_ordering
class Timestamp(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A point in time: nanoseconds since 1970, and the zone in which its text is."""

    ns: int
    offset_minutes: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.ns == other.ns

    def __lt__(self, other: Timestamp) -> bool:
        return self.ns < other.ns

    def __hash__(self) -> int:
        return hash(self.ns)


class Duration(msgspec.Struct, frozen=True, order=True, gc=False):
    """A span of time in nanoseconds."""

    ns: int


class TypeValue(msgspec.Struct, frozen=True, gc=False):
    """A type as a value: what `type(x)` gives."""

    name: str


class Optional(msgspec.Struct, frozen=True):
    """A value that may be absent."""

    value: Value = None
    is_present: bool = False


NONE: Final = Optional()
"""The absent value."""


def present(value: Value) -> Optional:
    """Return an optional value that is there."""
    return Optional(value, is_present=True)


class OpaqueValue:
    """A value of a type that only its own functions read, such as a quantity.

    Attributes
    ----------
    type_name : str
        The name of its type.
    operators : mapping
        The operators that take such a value on the left, by symbol; `<=>` gives the order.
    size : int or None
        What the cost of a function counts, where the type has a size.
    is_comparable : bool
        Whether another value can be compared with it.
    """

    type_name: ClassVar[str] = ""
    is_comparable: bool = True
    operators: ClassVar[Mapping[str, Callable[[Value, Value], Value]]] = {}
    __slots__ = ()

    @property
    def size(self) -> int | None:
        """The size of the value, if its type has one."""
        return None


class DefaultMap(dict[str, Value]):
    """A map in which a lookup of an unknown key finds an empty map.

    `in`, loops and comparisons see the known keys only.
    """

    __slots__ = ()

    def __missing__(self, key: str) -> Value:
        return {}


class Struct(dict[str, Value]):
    """A value with the fields of a declared type, made by a struct literal."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, fields: Mapping[str, Value]) -> None:
        super().__init__(fields)
        self.type_name = type_name


_TYPE_NAMES: dict[type, str] = {
    type(None): "null_type", bool: "bool", int: "int", Uint: "uint", float: "double",
    str: "string", bytes: "bytes", list: "list", dict: "map", DefaultMap: "map",
    Timestamp: "google.protobuf.Timestamp", Duration: "google.protobuf.Duration",
    TypeValue: "type", Optional: "optional_type",
}  # fmt: skip


def type_name(value: Value) -> str:
    """Return the name of the type of a value."""
    name = _TYPE_NAMES.get(value.__class__)
    if name is not None:
        return name
    if isinstance(value, OpaqueValue | Struct):
        return value.type_name
    return "list" if isinstance(value, list) else "map"


# --------------------------------------------------------------------------- equality and order

_SCALARS = (bool, str, bytes)
_NUMBERS = frozenset({int, Uint, float})
_COMPARABLE = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})


def equals(left: Value, right: Value) -> bool | ErrorValue:  # noqa: PLR0911 - one per sort of type
    """Return whether two values are equal: numbers by value, other types only among themselves."""
    left_class, right_class = left.__class__, right.__class__
    if left_class in _NUMBERS and right_class in _NUMBERS:
        return _numbers_equal(left, right)
    if left is None or right is None:
        return left is right
    if isinstance(left, OpaqueValue):
        if (
            isinstance(right, OpaqueValue)
            and right.is_comparable
            and left.type_name == right.type_name
        ):
            return bool(left == right)
        return ErrorValue("no such overload")
    if isinstance(left, list):
        return isinstance(right, list) and _lists_equal(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _maps_equal(left, right)
    if left_class is Optional and right_class is Optional:
        if left.is_present and right.is_present:
            return equals(left.value, right.value)
        return bool(left.is_present == right.is_present)
    return bool(left_class is right_class and left == right)


def _numbers_equal(left: Value, right: Value) -> bool:
    # An integer beside a double is compared as a double, as upstream does.
    if left.__class__ is float or right.__class__ is float:
        return float(left) == float(right)
    return bool(left == right)


def _lists_equal(left: list[Value], right: list[Value]) -> bool:
    other = getattr(left, "equals_list", None)
    if other is not None:
        return bool(other(right))
    return len(left) == len(right) and all(
        equals(*pair) is not False for pair in zip(left, right, strict=True)
    )


def _maps_equal(left: dict[Value, Value], right: dict[Value, Value]) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        found, other = find_key(right, key)
        if not found or equals(value, other) is False:
            return False
    return True


def compare(left: Value, right: Value) -> int | ErrorValue:
    """Return the order of two values as -1, 0 or 1; an error if they have none."""
    left_class, right_class = left.__class__, right.__class__
    if left_class in _NUMBERS and right_class in _NUMBERS:
        if left_class is float or right_class is float:
            left, right = float(left), float(right)
            if left != left or right != right:  # noqa: PLR0124 - NaN
                return ErrorValue("NaN values cannot be ordered")
    elif isinstance(left, OpaqueValue):
        order: int | ErrorValue = operate("<=>", left, right)
        return order
    elif left_class is not right_class or left_class not in _COMPARABLE:
        return ErrorValue("no such overload")
    if left_class is str:
        left, right = left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass")
    return -1 if left < right else 1 if left > right else 0


def operate(symbol: str, left: OpaqueValue, right: Value) -> Value:
    """Return the result of an operator of an opaque value."""
    operator = left.operators.get(symbol)
    return ErrorValue("no such overload") if operator is None else operator(left, right)


def is_comparable(value: Value) -> bool:
    """Return whether values of this type have an order."""
    return value.__class__ in _COMPARABLE or (
        isinstance(value, OpaqueValue) and "<=>" in value.operators
    )


def contains(elements: Iterable[Value], value: Value) -> bool:
    """Return whether a value equals one of a list."""
    return any(equals(value, element) is True for element in elements)


# --------------------------------------------------------------------------- containers


def find_key(container: dict[Value, Value], key: Value) -> tuple[bool, Value]:
    """Return whether a map has a key, and its value; a number finds an equal one of another type.

    In Python `True` equals 1, in an expression it does not.
    """
    key_class = key.__class__
    if key_class is str:
        if key in container:
            return True, container[key]
        if isinstance(container, DefaultMap):
            return True, container[key]
        return False, None
    if key_class is bool:
        return next(((True, v) for k, v in container.items() if k is key), (False, None))
    if key_class in _NUMBERS:
        for candidate, value in container.items():
            if candidate.__class__ in _NUMBERS and _numbers_equal(candidate, key):
                return True, value
    return False, None


def has_key(container: dict[Value, Value], key: Value) -> bool:
    """Return whether a map has a key; a map with a default has its known keys only."""
    if key.__class__ is str:
        return key in container
    return find_key(container, key)[0]


def size_of(value: Value) -> int | None:
    """Return the size of a string (characters), bytes, list or map; None without a size."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    return value.size if isinstance(value, OpaqueValue) else None


def cost_size(value: Value) -> int:
    """Return the size that costs count: 1 for what has none."""
    size = size_of(value)
    return 1 if size is None else size


def native(value: object, convert: Callable[[object], Value] | None = None) -> Value:
    """Return a value for decoded JSON or YAML; a tuple or other sequence becomes a list."""
    if isinstance(value, Mapping) and not isinstance(value, dict):
        return {key: native(item, convert) for key, item in value.items()}
    if isinstance(value, tuple):
        return [native(item, convert) for item in value]
    return value


# Errors of compilation and of evaluation.


class Issue(NamedTuple):
    """A problem at a place of the source; one without a place has the offset -1."""

    offset: int
    message: str


class CompileError(ValueError):
    """The expression does not compile.

    Attributes
    ----------
    issues : tuple of Issue
        All problems, in the order of the source.
    """

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        # The order among problems at one place is that of their detection.
        self.issues = tuple(sorted(issues, key=lambda issue: issue.offset))
        super().__init__("\n".join(_display(source, issue) for issue in self.issues))


class ProgramError(ValueError):
    """A constant part of the expression fails, which upstream finds when it builds the program."""


class CostLimitError(Exception):
    """The evaluation was ended because it would exceed its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class EvaluationPanicError(Exception):
    """The evaluation was ended because upstream's code panics there, and reports that."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"internal error: {reason}")


def _display(source: str, issue: Issue) -> str:
    """Return the text of a problem with its line and a marker.

    Notes
    -----
    Upstream: cel-go common/error.go, Error.ToDisplayString
    """
    if issue.offset < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    line_number = source.count("\n", 0, issue.offset) + 1
    line_start = source.rfind("\n", 0, issue.offset) + 1
    line_end = source.find("\n", issue.offset)
    line = source[line_start : line_end if line_end >= 0 else len(source)]
    column = issue.offset - line_start
    marked = line.replace("\t", " ")
    # A character that is not ASCII is marked with a wide one, so that the marker stays below it.
    dots = "".join("." if character < "\x80" else "\uff0e" for character in marked[:column])
    pointer = "\uff3e" if marked[column : column + 1] > "\x7f" else "^"
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    header = f"ERROR: <input>:{line_number}:{column + 1}: {issue.message}"
    return f"{header}\n | {marked}\n | {dots}{pointer}"
