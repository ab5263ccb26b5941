"""`string.format(list)`, and the check of its literals.

Upstream: cel-go ext/formatting.go; cel-go ext/strings.go (version 2);
staging/src/k8s.io/apiserver/pkg/cel/library/regex.go.
"""

# ruff: noqa: ARG001 - every formatter takes a precision
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

from podwright.apimachinery.cel.expressions import Call, Constant, CreateList, CreateMap, Expression
from podwright.apimachinery.cel.functions.formats import (
    PatternError,
    compile_pattern,
    format_duration,
    format_timestamp,
)
from podwright.apimachinery.cel.functions.standard import format_double
from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import (
    Duration,
    ErrorValue,
    Issue,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    type_name,
)
from podwright.apimachinery.objects import go_quoted, integer_error, parse_int64

_CLAUSE = re.compile(r"%(?:%|(\.([0-9]*))?(.?))", re.DOTALL)

# The kinds of types that a clause accepts, and the start of the message otherwise.
_ACCEPTED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "s": (
        frozenset({"list", "map", "int", "uint", "double", "bool", "bytes", "string", "timestamp",
                   "duration", "type", "null", "dyn", "param"}),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": (frozenset({"int", "uint", "dyn", "param"}),
          "decimal clause can only be used on integers"),
    # The texts "NaN", "Infinity" and "-Infinity" can be formatted as numbers.
    "f": (frozenset({"double", "string", "dyn", "param"}),
          "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "string", "dyn", "param"}),
          "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool", "dyn", "param"}),
          "only integers and bools can be formatted as binary"),
    "x": (frozenset({"int", "uint", "string", "bytes", "dyn", "param"}),
          "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (frozenset({"int", "uint", "dyn", "param"}),
          "octal clause can only be used on integers"),
}  # fmt: skip
_ACCEPTED["X"] = _ACCEPTED["x"]
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NUMBER_TEXTS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class _FormatError(Exception):
    pass


def check_format(call: Call) -> list[Issue]:
    """Return the problem of a call of `format` whose format and list are literals."""
    template, values = call.target, call.args[0]
    if not isinstance(template, Constant) or not isinstance(template.value, str):
        return []
    if not isinstance(values, CreateList):
        return []
    seen = 0
    try:
        for _, _, clause in _clauses(template.value, len(values.elements)):
            if not clause:
                continue
            refused = _refused_part(clause, values.elements[seen])
            if refused is not None:
                problem = f"{_ACCEPTED[clause][1]}, was given {refused.type.runtime_name}"
                return [Issue(refused.offset, f"error during formatting: {problem}")]
            seen += 1
    except _FormatError as error:
        return [Issue(call.offset, str(error))]
    if len(values.elements) > seen:
        message = (
            f"too many arguments supplied to string.format (expected {seen}, "
            f"got {len(values.elements)})"
        )
        return [Issue(call.offset, message)]
    return []


def _refused_part(clause: str, node: Expression) -> Expression | None:
    """Return the argument, or the part of a literal, whose type a clause does not accept."""
    if node.type.kind not in _ACCEPTED[clause][0]:
        return node
    if clause != "s":
        return None
    parts: list[Expression] = []
    if isinstance(node, CreateList):
        parts = node.elements
    elif isinstance(node, CreateMap):
        for entry in node.entries:
            parts += [entry.value] if isinstance(entry.key, str) else [entry.key, entry.value]
    for part in parts:
        refused = _refused_part(clause, part)
        if refused is not None:
            return refused
    return None


def _clauses(template: str, count: int) -> Iterator[tuple[str, int | None, str]]:
    """Yield literal text, then the precision and letter of the clause that follows it.

    Parameters
    ----------
    count : int
        The number of values.

    Raises
    ------
    _FormatError
        A clause is unknown or incomplete, or there is no value for it.
    """
    position = seen = 0
    for match in _CLAUSE.finditer(template):
        literal = template[position : match.start()]
        position = match.end()
        if match.group() == "%%":
            yield f"{literal}%", None, ""
            continue
        yield literal, *_clause(match, is_last=match.start() + 1 == len(template), index=seen,
                                count=count)  # fmt: skip
        seen += 1
    yield template[position:], None, ""


def _clause(
    match: re.Match[str], *, is_last: bool, index: int, count: int
) -> tuple[int | None, str]:
    if is_last:
        raise _FormatError("unexpected end of string")
    if index >= count:
        raise _FormatError(f"index {index} out of range")
    precision, letter = match[1], match[3]
    digits = parse_int64(match[2] or "")
    problem = ""
    if precision and not letter:
        problem = "error while parsing precision: could not find end of precision specifier"
    elif precision and digits is None:
        problem = (
            "error while parsing precision: error while converting precision to integer: "
            + integer_error("Atoi", match[2])
        )
    elif letter not in _ACCEPTED:
        problem = f'unrecognized formatting clause "{letter}"'
    if problem:
        raise _FormatError(f"could not parse formatting clause: {problem}")
    return digits, letter


def format_string(template: Value, values: Value) -> Value:
    """Return a text with its clauses replaced by the values of a list."""
    parts: list[str] = []
    index = 0
    try:
        for literal, precision, clause in _clauses(template, len(values)):
            parts.append(literal)
            if not clause:
                continue
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
            return f"[{', '.join(map(_format_part, value))}]"
        case dict():
            entries = sorted((_format_part(key), _format_part(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in entries) + "}"
        case _:
            pass
    raise _refused("s", value)


def _format_part(value: Value) -> str:
    """Return an element of a list or map as an expression."""
    match value:
        case str() | bytes():
            text = value if isinstance(value, str) else value.decode("utf-8", "replace")
            return f"{'b' if isinstance(value, bytes) else ''}{go_quoted(text)}"
        case bool():
            return _format_text(value)
        case float():
            special = _special(value)
            return f'"{special}"' if special else f"{value:.6f}"
        case Timestamp():
            return f'timestamp("{format_timestamp(value)}")'
        case Duration():
            return f'duration("{format_duration(value)}")'
        case _:
            return _format_text(value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return ""


def _format_decimal(value: Value, precision: int | None) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    raise _refused("d", value)


def _number_of(clause: str, value: Value) -> float:
    if isinstance(value, str) and value in _NUMBER_TEXTS:
        return _NUMBER_TEXTS[value]
    if not isinstance(value, float):
        raise _refused(clause, value)
    return value


def _format_fixed(value: Value, precision: int | None) -> str:
    """Return a number as American English has it: with groups of three digits."""
    number = _number_of("f", value)
    if not math.isfinite(number):
        return _symbol(number)
    # Upstream's printer keeps the precision in a byte.
    text = f"{number:,.{6 if precision is None else precision % 256}f}"
    return text.removeprefix("-") if number == 0 else text


def _format_scientific(value: Value, precision: int | None) -> str:
    """Return a number with a power of ten.

    Notes
    -----
    Upstream passes the precision as a width, so six digits follow the point.
    """
    number = _number_of("e", value)
    width = 6 if precision is None else precision
    if not math.isfinite(number):
        return _symbol(number).rjust(width)
    mantissa, _, exponent = f"{abs(number) if number == 0 else number:.6e}".partition("e")
    power = f"10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"
    return f"{mantissa}\N{MULTIPLICATION SIGN}{power}".rjust(width)


def _symbol(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


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
    "f": _format_fixed,
    "e": _format_scientific,
    "b": _format_binary,
    "o": _format_octal,
    "x": _hex_formatter("x"),
    "X": _hex_formatter("X"),
}


# Functions on strings: those of the language's extension, and searches by regular expressions.

# Unicode's spaces as Go's strings.TrimSpace sees them.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_QUOTED: Final = str.maketrans({
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
})  # fmt: skip
_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_ASCII_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _out_of_range(index: int) -> ErrorValue:
    return ErrorValue(f"index out of range: {index}")


def _char_at(text: Value, index: Value) -> Value:
    if not 0 <= index <= len(text):
        return _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: Value, part: Value, offset: Value = 0) -> Value:
    if part == "":
        return offset
    if offset < 0:
        return _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: Value, part: Value, offset: Value = None) -> Value:
    if part == "":
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        return _out_of_range(offset)
    if offset >= len(text):
        # Upstream does not look for a match before an offset past the end.
        return -1
    # The match may start at the offset, so it may end past it.
    return text.rfind(part, 0, offset + len(part))


def _replace(text: Value, old: Value, new: Value, count: Value = -1) -> Value:
    return text.replace(old, new, count)


def _split(text: Value, separator: Value, count: Value = -1) -> Value:
    if count == 0:
        return []
    if separator == "":
        characters = list(text)
        if 0 < count < len(characters):
            return [*characters[: count - 1], "".join(characters[count - 1 :])]
        return characters
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: Value, start: Value, end: Value = None) -> Value:
    if end is not None and start > end:
        return ErrorValue(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        return _out_of_range(start)
    if end is None:
        return text[start:]
    if not 0 <= end <= len(text):
        return _out_of_range(end)
    return text[start:end]


def _join(parts: Value, separator: Value = "") -> Value:
    for part in parts:
        if not isinstance(part, str):
            return ErrorValue(f"join: invalid input: {_format_text(part)}")
    return separator.join(parts)


def _quote(text: Value) -> Value:
    return f'"{text.translate(_QUOTED)}"'


def _trim(text: Value) -> Value:
    return text.strip(_SPACE)


def _lower(text: Value) -> Value:
    return text.translate(_ASCII_LOWER)


def _upper(text: Value) -> Value:
    return text.translate(_ASCII_UPPER)


def _find(text: Value, pattern: Value) -> Value:
    try:
        match = compile_pattern(pattern).search(text)
    except PatternError as error:
        return ErrorValue(f"Illegal regex: {error}")
    return "" if match is None else match.group()


def _find_all(text: Value, pattern: Value, limit: Value = -1) -> Value:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        return ErrorValue(f"Illegal regex: {error}")
    found: list[str] = []
    last_end = -1
    for match in compiled.finditer(text):
        if 0 <= limit <= len(found):
            break
        # An empty match right after the previous one does not count in Go.
        if match.start() == match.end() == last_end:
            continue
        found.append(match.group())
        last_end = match.end()
    return found


STRING_LIBRARY: Final = library_of(
    {
        "charAt": _char_at, "indexOf": _index_of, "lastIndexOf": _last_index_of,
        "lowerAscii": _lower, "upperAscii": _upper, "replace": _replace, "split": _split,
        "substring": _substring, "trim": _trim, "format": format_string,
        "strings.quote": _quote, "join": _join,
    },
    """
    string_char_at_int: string.charAt(int) -> string
    string_index_of_string: string.indexOf(string) -> int
    string_index_of_string_int: string.indexOf(string, int) -> int
    string_last_index_of_string: string.lastIndexOf(string) -> int
    string_last_index_of_string_int: string.lastIndexOf(string, int) -> int
    string_lower_ascii: string.lowerAscii() -> string
    string_upper_ascii: string.upperAscii() -> string
    string_replace_string_string: string.replace(string, string) -> string
    string_replace_string_string_int: string.replace(string, string, int) -> string
    string_split_string: string.split(string) -> list(string)
    string_split_string_int: string.split(string, int) -> list(string)
    string_substring_int: string.substring(int) -> string
    string_substring_int_int: string.substring(int, int) -> string
    string_trim: string.trim() -> string
    string_format: string.format(list(dyn)) -> string
    strings_quote: ::strings.quote(string) -> string
    list_join: list(string).join() -> string
    list_join_string: list(string).join(string) -> string
    """,
)  # fmt: skip
"""The extension for strings."""

REGEX_LIBRARY: Final = library_of(
    {"find": _find, "findAll": _find_all},
    """
    string_find_string: string.find(string) -> string
    string_find_all_string: string.findAll(string) -> list(string)
    string_find_all_string_int: string.findAll(string, int) -> list(string)
    """,
)
"""Kubernetes' searches by regular expressions."""
