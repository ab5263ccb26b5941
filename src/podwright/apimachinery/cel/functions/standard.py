"""Operators and functions of the language itself.

Upstream: cel-go common/stdlib/standard.go, common/types
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from podwright.apimachinery.cel.functions.formats import (
    TIMESTAMP_MAX_NS,
    TIMESTAMP_MIN_NS,
    calendar,
    format_duration,
    format_timestamp,
    parse_duration,
    parse_go_timestamp,
    search,
)
from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import (
    INT_MAX,
    INT_MIN,
    NANOSECONDS,
    UINT_MAX,
    Duration,
    ErrorValue,
    OpaqueValue,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    compare,
    contains,
    equals,
    has_key,
    is_comparable,
    operate,
    size_of,
    type_name,
)
from podwright.apimachinery.objects import GO_BOOLEANS, parse_int64, parse_uint64

_INT_OVERFLOW = "integer overflow"
_UINT_OVERFLOW = "unsigned integer overflow"


def _bare() -> ErrorValue:
    return ErrorValue("no such overload")


# --------------------------------------------------------------------------- operators


def _ordering(test: Callable[[int], bool]) -> Callable[[Value, Value], Value]:
    def operator(left: Value, right: Value) -> Value:
        order = compare(left, right)
        return order if isinstance(order, ErrorValue) else test(order)

    return operator


def _integer(result: int) -> Value:
    return result if INT_MIN <= result <= INT_MAX else ErrorValue(_INT_OVERFLOW)


def _unsigned(result: int) -> Value:
    return Uint(result) if 0 <= result <= UINT_MAX else ErrorValue(_UINT_OVERFLOW)


def _timestamp(ns: int, offset_minutes: int = 0) -> Value:
    if TIMESTAMP_MIN_NS <= ns <= TIMESTAMP_MAX_NS:
        return Timestamp(ns, offset_minutes)
    return ErrorValue("timestamp overflow")


def _duration(ns: int) -> Value:
    return Duration(ns) if INT_MIN <= ns <= INT_MAX else ErrorValue("integer overflow")


def _add(left: Value, right: Value) -> Value:
    match left, right:
        case Timestamp(), Duration():
            return _timestamp(left.ns + right.ns, left.offset_minutes)
        case Duration(), Timestamp():
            return _timestamp(left.ns + right.ns, right.offset_minutes)
        case Duration(), Duration():
            return _duration(left.ns + right.ns)
        case list(), list():
            add = getattr(left, "add_list", None)
            return left + right if add is None else add(right)
        case OpaqueValue(), _:
            return operate("+", left, right)
        case _:
            return _add_alike(left, right)


def _add_alike(left: Value, right: Value) -> Value:
    if left.__class__ is not right.__class__:
        return _bare()
    if left.__class__ is int:
        return _integer(left + right)
    return _unsigned(left + right) if left.__class__ is Uint else left + right


def _subtract(left: Value, right: Value) -> Value:
    match left, right:
        case Timestamp(), Duration():
            return _timestamp(left.ns - right.ns, left.offset_minutes)
        case Timestamp(), Timestamp():
            return _duration(left.ns - right.ns)
        case Duration(), Duration():
            return _duration(left.ns - right.ns)
        case OpaqueValue(), _:
            return operate("-", left, right)
        case _:
            return _arithmetic(left, right, lambda a, b: a - b)


def _multiply(left: Value, right: Value) -> Value:
    if isinstance(left, OpaqueValue):
        return operate("*", left, right)
    return _arithmetic(left, right, lambda a, b: a * b)


def _arithmetic(left: Value, right: Value, operation: Callable[[Value, Value], Value]) -> Value:
    if left.__class__ is not right.__class__:
        return _bare()
    if left.__class__ is int:
        return _integer(operation(left, right))
    if left.__class__ is Uint:
        return _unsigned(operation(int(left), int(right)))
    return operation(left, right)


def _divide(left: Value, right: Value) -> Value:
    if isinstance(left, OpaqueValue):
        return operate("/", left, right)
    if left.__class__ is float and right.__class__ is float:
        if right == 0.0:
            negative = math.copysign(1.0, left) * math.copysign(1.0, right) < 0
            return (
                math.nan
                if left == 0.0 or math.isnan(left)
                else (-math.inf if negative else math.inf)
            )
        return left / right
    if left.__class__ is right.__class__ and right == 0:
        return ErrorValue("division by zero")
    return _arithmetic(left, right, _truncated_quotient)


def _modulo(left: Value, right: Value) -> Value:
    if left.__class__ is float:
        return ErrorValue("no such overload: _%_")
    if left.__class__ is right.__class__ and right == 0:
        return ErrorValue("modulus by zero")
    if left == INT_MIN and right == -1:
        # As upstream, where the quotient overflows.
        return ErrorValue(_INT_OVERFLOW)
    return _arithmetic(left, right, lambda a, b: a - b * _truncated_quotient(a, b))


def _truncated_quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _negate(value: Value) -> Value:
    if isinstance(value, OpaqueValue):
        return operate("-1", value, None)
    return _integer(-value) if value.__class__ is int else -value


def _not_strictly_false(value: Value) -> Value:
    return value is not False


def _in(value: Value, container: Value) -> Value:
    if isinstance(container, dict):
        return has_key(container, value)
    if isinstance(container, list):
        return contains(container, value)
    return _bare()


def _not_equals(left: Value, right: Value) -> Value:
    # Values that cannot be compared are not equal, though `==` of them is an error.
    return equals(left, right) is not True


def _size(value: Value) -> Value:
    return size_of(value)


def _unreachable(*values: Value) -> Value:
    raise AssertionError(f"the program evaluates this operator itself: {values}")


# --------------------------------------------------------------------------- conversions


def _conversion_error(value: Value, target: str) -> ErrorValue:
    return ErrorValue(f"type conversion error from '{type_name(value)}' to '{target}'")


_DIGITS: Final = "[0-9](?:_?[0-9])*"
_HEX_DIGITS: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DOUBLE = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?", re.ASCII
)
_NO_NUMBER = re.compile(r"[+-]?(?:inf|infinity)|nan", re.ASCII | re.IGNORECASE)
_HEX_DOUBLE = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}",
    re.ASCII,
)


def _to_int(value: Value) -> Value:
    match value:
        case float():
            # The bounds are exclusive: a double near them may be off by more than one.
            if not INT_MIN < value < INT_MAX:
                return ErrorValue(_INT_OVERFLOW)
            return int(value)
        case Timestamp():
            return value.ns // NANOSECONDS
        case Duration():
            return value.ns
        case str():
            number = parse_int64(value)
            return _conversion_error(value, "int") if number is None else number
        case _:
            return _integer(int(value))


def _to_uint(value: Value) -> Value:
    match value:
        case float():
            if not 0 <= value < UINT_MAX:
                return ErrorValue(_UINT_OVERFLOW)
            return Uint(value)
        case str():
            number = parse_uint64(value)
            return _conversion_error(value, "uint") if number is None else Uint(number)
        case _:
            return _unsigned(int(value))


def _to_double(value: Value) -> Value:
    if not isinstance(value, str) or _NO_NUMBER.fullmatch(value):
        return float(value)
    try:
        if _HEX_DOUBLE.fullmatch(value):
            return float.fromhex(value.replace("_", ""))
    except OverflowError:
        return _conversion_error(value, "double")
    number = float(value) if _DOUBLE.fullmatch(value) else math.inf
    return _conversion_error(value, "double") if math.isinf(number) else number


def _to_bool(value: Value) -> Value:
    if isinstance(value, str):
        return GO_BOOLEANS.get(value, _conversion_error(value, "bool"))
    return value


def format_double(value: float) -> str:
    """Return a double in the shortest form that reads back the same.

    Notes
    -----
    Upstream: Go strconv/ftoa.go, FormatFloat (f, 'g', -1, 64)
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = _decimal_parts(value)
    if not -4 <= exponent < _SHORTEST_EXPONENT_LIMIT:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return sign + digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


_SHORTEST_EXPONENT_LIMIT = 6


def _decimal_parts(value: float) -> tuple[str, str, int]:
    """Return the sign, the digits and the exponent of the first digit."""
    text = repr(abs(value))
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 + int(power or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign, digits, exponent if value else 0


def _to_string(value: Value) -> Value:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return format_double(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return ErrorValue("invalid UTF-8 in bytes, cannot convert to string")
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case int():
            return str(int(value))
        case _:
            return value


def _to_bytes(value: Value) -> Value:
    return value.encode() if isinstance(value, str) else value


def _to_timestamp(value: Value) -> Value:
    if isinstance(value, str):
        parsed = parse_go_timestamp(value)
        return _conversion_error(value, "google.protobuf.Timestamp") if parsed is None else parsed
    return _timestamp(value * NANOSECONDS) if isinstance(value, int) else value


def _to_duration(value: Value) -> Value:
    if isinstance(value, str):
        parsed = parse_duration(value)
        return _conversion_error(value, "google.protobuf.Duration") if parsed is None else parsed
    return Duration(value) if isinstance(value, int) else value


def _same(value: Value) -> Value:
    return value


def _type(value: Value) -> Value:
    return TypeValue(type_name(value))


# --------------------------------------------------------------------------- strings and time


def _contains(text: Value, part: Value) -> Value:
    return part in text


def _starts_with(text: Value, part: Value) -> Value:
    return text.startswith(part)


def _ends_with(text: Value, part: Value) -> Value:
    return text.endswith(part)


def _calendar_field(name: str) -> Callable[..., Value]:
    read = _CALENDAR[name]

    def field(value: Value, zone: Value = "UTC") -> Value:
        if isinstance(value, Duration):
            unit = _DURATION_UNITS_NS[name]
            return _truncated_quotient(value.ns, unit)
        try:
            moment = calendar(value, zone)
        except ValueError as error:
            return ErrorValue(str(error))
        return read(moment)

    return field


_CALENDAR: Final[dict[str, Callable[[Value], Value]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: (moment.weekday() + 1) % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}
_DURATION_UNITS_NS = {
    "getHours": 3600 * NANOSECONDS,
    "getMinutes": 60 * NANOSECONDS,
    "getSeconds": NANOSECONDS,
    "getMilliseconds": 10**6,
}
_ORDERED = (
    "bool bool", "int64 int", "int64_double int double", "int64_uint64 int uint", "uint64 uint",
    "uint64_double uint double", "uint64_int64 uint int", "double double",
    "double_int64 double int", "double_uint64 double uint", "string string", "bytes bytes",
    "timestamp timestamp", "duration duration",
)  # fmt: skip


def _ordering_signatures() -> str:
    lines = []
    for name, symbol in (
        ("less", "<"), ("less_equals", "<="), ("greater", ">"), ("greater_equals", ">="),
    ):  # fmt: skip
        for entry in _ORDERED:
            suffix, left, *right = entry.split()
            lines.append(
                f"{name}_{suffix}: _{symbol}_({left}, {right[0] if right else left}) -> bool"
            )
    return "\n".join(lines)


def _calendar_signatures() -> str:
    lines = []
    for name in _CALENDAR:
        lines.append(f"timestamp_to_{name}: timestamp.{name}() -> int")
        lines.append(f"timestamp_to_{name}_with_tz: timestamp.{name}(string) -> int")
        if name in _DURATION_UNITS_NS:
            lines.append(f"duration_to_{name}: duration.{name}() -> int")
    return "\n".join(lines)


_SIGNATURES = """
conditional: _?_:_(bool, A, A) -> A
logical_and: _&&_(bool, bool) -> bool
logical_or: _||_(bool, bool) -> bool
logical_not: !_(bool) -> bool
not_strictly_false: @not_strictly_false(bool) -> bool
equals: _==_(A, A) -> bool
not_equals: _!=_(A, A) -> bool
add_bytes: _+_(bytes, bytes) -> bytes
add_double: _+_(double, double) -> double
add_duration_duration: _+_(duration, duration) -> duration
add_duration_timestamp: _+_(duration, timestamp) -> timestamp
add_timestamp_duration: _+_(timestamp, duration) -> timestamp
add_int64: _+_(int, int) -> int
add_list: _+_(list(A), list(A)) -> list(A)
add_string: _+_(string, string) -> string
add_uint64: _+_(uint, uint) -> uint
subtract_double: _-_(double, double) -> double
subtract_duration_duration: _-_(duration, duration) -> duration
subtract_int64: _-_(int, int) -> int
subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp
subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration
subtract_uint64: _-_(uint, uint) -> uint
multiply_double: _*_(double, double) -> double
multiply_int64: _*_(int, int) -> int
multiply_uint64: _*_(uint, uint) -> uint
divide_double: _/_(double, double) -> double
divide_int64: _/_(int, int) -> int
divide_uint64: _/_(uint, uint) -> uint
modulo_int64: _%_(int, int) -> int
modulo_uint64: _%_(uint, uint) -> uint
negate_double: -_(double) -> double
negate_int64: -_(int) -> int
index_list: _[_](list(A), int) -> A
index_map: _[_](map(A, B), A) -> B
in_list: @in(A, list(A)) -> bool
in_map: @in(A, map(A, B)) -> bool
size_bytes: size(bytes) -> int
bytes_size: bytes.size() -> int
size_list: size(list(A)) -> int
list_size: list(A).size() -> int
size_map: size(map(A, B)) -> int
map_size: map(A, B).size() -> int
size_string: size(string) -> int
string_size: string.size() -> int
type: type(A) -> type(A)
bool_to_bool: bool(bool) -> bool
string_to_bool: bool(string) -> bool
bytes_to_bytes: bytes(bytes) -> bytes
string_to_bytes: bytes(string) -> bytes
double_to_double: double(double) -> double
int64_to_double: double(int) -> double
string_to_double: double(string) -> double
uint64_to_double: double(uint) -> double
duration_to_duration: duration(duration) -> duration
int64_to_duration: duration(int) -> duration
string_to_duration: duration(string) -> duration
to_dyn: dyn(A) -> dyn
int64_to_int64: int(int) -> int
double_to_int64: int(double) -> int
duration_to_int64: int(duration) -> int
string_to_int64: int(string) -> int
timestamp_to_int64: int(timestamp) -> int
uint64_to_int64: int(uint) -> int
string_to_string: string(string) -> string
bool_to_string: string(bool) -> string
bytes_to_string: string(bytes) -> string
double_to_string: string(double) -> string
duration_to_string: string(duration) -> string
int64_to_string: string(int) -> string
timestamp_to_string: string(timestamp) -> string
uint64_to_string: string(uint) -> string
timestamp_to_timestamp: timestamp(timestamp) -> timestamp
int64_to_timestamp: timestamp(int) -> timestamp
string_to_timestamp: timestamp(string) -> timestamp
uint64_to_uint64: uint(uint) -> uint
double_to_uint64: uint(double) -> uint
int64_to_uint64: uint(int) -> uint
string_to_uint64: uint(string) -> uint
contains_string: string.contains(string) -> bool
ends_with_string: string.endsWith(string) -> bool
starts_with_string: string.startsWith(string) -> bool
matches: matches(string, string) -> bool
matches_string: string.matches(string) -> bool
"""


def _with_operator(symbol: str, test: Callable[[Value], bool]) -> Callable[[Value], bool]:
    """Return a trait that opaque values with an operator have too."""
    return lambda value: (
        symbol in value.operators if isinstance(value, OpaqueValue) else test(value)
    )


def _is_addable(value: Value) -> bool:
    return isinstance(value, int | float | str | bytes | list | Timestamp | Duration) and not (
        isinstance(value, bool)
    )


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_signed(value: Value) -> bool:
    return _is_number(value) and not isinstance(value, Uint)


def _is_subtractable(value: Value) -> bool:
    return _is_number(value) or isinstance(value, Timestamp | Duration)


STANDARD_LIBRARY: Final = library_of(
    {
        "_?_:_": _unreachable, "_&&_": _unreachable, "_||_": _unreachable, "_[_]": _unreachable,
        "!_": lambda value: not value, "@not_strictly_false": _not_strictly_false,
        "_==_": equals, "_!=_": _not_equals,
        "_<_": _ordering(lambda order: order < 0), "_<=_": _ordering(lambda order: order <= 0),
        "_>_": _ordering(lambda order: order > 0), "_>=_": _ordering(lambda order: order >= 0),
        "_+_": _add, "_-_": _subtract, "_*_": _multiply, "_/_": _divide, "_%_": _modulo,
        "-_": _negate, "@in": _in, "size": _size, "type": _type, "dyn": _same, "bool": _to_bool,
        "bytes": _to_bytes, "double": _to_double, "duration": _to_duration, "int": _to_int,
        "string": _to_string, "timestamp": _to_timestamp, "uint": _to_uint,
        "contains": _contains, "startsWith": _starts_with, "endsWith": _ends_with,
        "matches": search, **{name: _calendar_field(name) for name in _CALENDAR},
    },
    f"{_SIGNATURES.strip()}\n{_ordering_signatures()}\n{_calendar_signatures()}",
    unguarded=("!_", "contains", "startsWith", "endsWith"),
    singletons={
        "_==_": None, "_!=_": None, "@in": None, "matches": None,
        "_<_": is_comparable, "_<=_": is_comparable, "_>_": is_comparable, "_>=_": is_comparable,
        "_+_": _with_operator("+", _is_addable), "_-_": _with_operator("-", _is_subtractable),
        "_*_": _with_operator("*", _is_number), "_/_": _with_operator("/", _is_number),
        "_%_": _is_number, "-_": _with_operator("-1", _is_signed),
        "size": lambda value: size_of(value) is not None,
        "@not_strictly_false": None,
    },
)  # fmt: skip
"""The functions of the language."""
