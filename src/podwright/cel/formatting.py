"""`string.format(list)`, and the check of its literals.

Upstream: cel-go ext/formatting.go
"""

# ruff: noqa: ARG001 - every formatter takes a precision
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

from podwright.cel.errors import Issue
from podwright.cel.expressions import Call, Constant, CreateList
from podwright.cel.standard import format_double
from podwright.cel.time_text import format_duration, format_timestamp
from podwright.cel.types import Type
from podwright.cel.values import (
    Duration,
    ErrorValue,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    type_name,
)

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?(.?))", re.DOTALL)

# The kinds of types that a clause accepts, and the beginning of the message otherwise.
_ACCEPTED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "s": (
        frozenset({"list", "map", "int", "uint", "double", "bool", "bytes", "string", "timestamp",
                   "duration", "type", "null", "dyn", "any", "param"}),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": (frozenset({"int", "uint", "dyn", "param"}),
          "decimal clause can only be used on integers"),
    "f": (frozenset({"double", "int", "uint", "dyn", "param"}),
          "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "int", "uint", "dyn", "param"}),
          "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool", "dyn", "param"}),
          "only integers and bools can be formatted as binary"),
    "x": (frozenset({"int", "uint", "string", "bytes", "dyn", "param"}),
          "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (frozenset({"int", "uint", "dyn", "param"}),
          "octal clause can only be used on integers"),
}  # fmt: skip
_ACCEPTED["X"] = _ACCEPTED["x"]
# Upstream's check of literals does not know the type of attributes, `any`.
_STATIC_STRING: Final = _ACCEPTED["s"][0] - {"any"}


class _FormatError(Exception):
    pass


def check_format(call: Call) -> list[Issue]:
    """Return the problem of a call of `format` whose format and list are literals."""
    template, values = call.target, call.args[0]
    if not isinstance(template, Constant) or not isinstance(template.value, str):
        return []
    clauses: list[str] = []
    try:
        for _, _, clause in _clauses(template.value):
            if clause:
                clauses.append(clause)
    except _FormatError as error:
        return [Issue(template.offset, str(error))]
    if not isinstance(values, CreateList):
        return []
    for index, clause in enumerate(clauses):
        if index >= len(values.elements):
            return [Issue(template.offset, f"index {index} out of range")]
        problem = _static_problem(clause, values.elements[index].type)
        if problem:
            message = f"error during formatting: {problem}"
            return [Issue(values.elements[index].offset, message)]
    if len(values.elements) > len(clauses):
        message = (
            f"too many arguments supplied to string.format (expected {len(clauses)}, "
            f"got {len(values.elements)})"
        )
        return [Issue(values.elements[len(clauses)].offset, message)]
    return []


def _static_problem(clause: str, type_: Type) -> str:
    accepted, message = _ACCEPTED[clause]
    if clause == "s":
        accepted = _STATIC_STRING
    if type_.kind in accepted:
        return ""
    return f"{message}, was given {type_}"


def _clauses(template: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield literal text, then the precision and letter of the clause that follows it.

    Raises
    ------
    _FormatError
        A clause is unknown or incomplete.
    """
    position = 0
    for match in _CLAUSE.finditer(template):
        literal = template[position : match.start()]
        position = match.end()
        if match.group() == "%%":
            yield f"{literal}%", None, ""
            continue
        letter = match[2]
        if not letter:
            raise _FormatError("unexpected end of string")
        if letter not in _ACCEPTED:
            raise _FormatError(
                f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
            )
        yield literal, int(match[1]) if match[1] else None, letter
    yield template[position:], None, ""


def format_string(template: Value, values: Value) -> Value:
    """Return a text with its clauses replaced by the values of a list."""
    parts: list[str] = []
    index = 0
    try:
        for literal, precision, clause in _clauses(template):
            parts.append(literal)
            if not clause:
                continue
            if index >= len(values):
                return ErrorValue(f"index {index} out of range")
            parts.append(_FORMATTERS[clause](values[index], precision))
            index += 1
    except _FormatError as error:
        return ErrorValue(str(error))
    return "".join(parts)


def _refused(clause: str, value: Value) -> _FormatError:
    return _FormatError(
        f"error during formatting: {_ACCEPTED[clause][1]}, was given {type_name(value)}"
    )


def _format_text(  # noqa: PLR0911 - one per type
    value: Value, precision: int | None = None
) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str() | TypeValue():
            return value if isinstance(value, str) else value.name
        case bytes():
            return value.decode("utf-8", "replace")
        case float():
            return _special(value) or format_double(value)
        case int():
            return str(int(value))
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case list():
            return f"[{', '.join(map(_format_text, value))}]"
        case dict():
            entries = sorted((_format_text(key), _format_text(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}: {item}" for key, item in entries) + "}"
        case _:
            pass
    raise _refused("s", value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return ""


def _format_decimal(value: Value, precision: int | None) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and (special := _special(value)):
        return special
    raise _refused("d", value)


def _float_formatter(clause: str) -> Callable[[Value, int | None], str]:
    def formatter(value: Value, precision: int | None) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _refused(clause, value)
        number = float(value)
        return _special(number) or f"{number:.{6 if precision is None else precision}{clause}}"

    return formatter


def _format_binary(value: Value, precision: int | None) -> str:
    if not isinstance(value, int):
        raise _refused("b", value)
    return f"{int(value):b}"


def _format_octal(value: Value, precision: int | None) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused("o", value)
    return f"{int(value):o}"


def _hex_formatter(clause: str) -> Callable[[Value, int | None], str]:
    def formatter(value: Value, precision: int | None) -> str:
        match value:
            case bool():
                raise _refused(clause, value)
            case int() | Uint():
                text = f"{int(value):x}"
            case str():
                text = value.encode().hex()
            case bytes():
                text = value.hex()
            case _:
                raise _refused(clause, value)
        return text.upper() if clause == "X" else text

    return formatter


_FORMATTERS: Final[dict[str, Callable[[Value, int | None], str]]] = {
    "s": _format_text,
    "d": _format_decimal,
    "f": _float_formatter("f"),
    "e": _float_formatter("e"),
    "b": _format_binary,
    "o": _format_octal,
    "x": _hex_formatter("x"),
    "X": _hex_formatter("X"),
}
