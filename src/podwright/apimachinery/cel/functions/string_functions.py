"""Functions on strings: those of the language's extension, and searches by regular expressions.

Upstream: cel-go ext/strings.go (version 2); staging/src/k8s.io/apiserver/pkg/cel/library/regex.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.cel.declarations import library_of
from podwright.apimachinery.cel.functions.formatting import format_string
from podwright.apimachinery.cel.functions.regular_expressions import PatternError, compile_pattern
from podwright.apimachinery.cel.values import ErrorValue, Value

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
            return ErrorValue(f"no such overload: join({part})")
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
