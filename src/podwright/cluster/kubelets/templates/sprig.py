"""The functions of Sprig that templates can use, besides those in `templates`.

KWOK offers all text functions of Sprig. Functions of the clock, the environment, the network, and
random or cryptographic keys are not offered, because a simulation must be repeatable; neither are
those of dates, paths, URLs and versions.

Upstream: github.com/Masterminds/sprig/v3 functions.go
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from decimal import ROUND_HALF_UP, Decimal
from functools import partial, reduce
from typing import Any

from podwright.apimachinery import cel
from podwright.cluster.kubelets.templates.go_values import (
    go_text,
    is_equal,
    json_text,
    real_number,
    texts_of,
    whole_number,
)


def _quotient(left: int, right: int) -> int:
    """Divide as Go does, toward zero."""
    if right == 0:
        raise ValueError("integer divide by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _padded(width: int, text: str) -> str:
    pad = " " * int(width)
    return pad + text.replace("\n", f"\n{pad}")


def _truncated(length: int, text: str) -> str:
    return text[length:] if length < 0 else text[:length]


def _numbered(parts: list[str]) -> dict[str, str]:
    return {f"_{index}": part for index, part in enumerate(parts)}


def _repeated(count: int, text: str) -> str:
    if int(count) < 0:
        raise ValueError(f"the count {count} is negative")
    return text * int(count)


def _substring(start: int, end: int, text: str) -> str:
    first = max(start, 0)
    last = len(text) if start >= 0 and not 0 <= end <= len(text) else end
    if not first <= last <= len(text):
        raise ValueError(f"{start} to {end} is not in a text of {len(text)}")
    return text[first:last]


def _is_in(value: Any, values: Iterable[Any]) -> bool:
    return any(is_equal(value, each) for each in values)


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not _is_in(value, found):
            found.append(value)
    return found


def _part(values: list[Any], start: int = 0, end: int | None = None) -> list[Any] | None:
    if not values:
        return None
    last = len(values) if end is None else end
    if not 0 <= start <= last <= len(values):
        raise ValueError(f"{start} to {last} is not in a list of {len(values)}")
    return values[start:last]


def _merged(
    target: dict[str, Any], *sources: dict[str, Any], is_last_used: bool = False
) -> dict[str, Any]:
    """Merge into the first dictionary; its values stay if they are neither nil nor empty."""
    for source in sources:
        for key, value in source.items():
            present = target.get(key)
            if isinstance(present, dict) and isinstance(value, dict):
                _merged(present, value, is_last_used=is_last_used)
            elif is_last_used or (value is not None and not present):
                target[key] = value
    return target


def _set(values: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    values[key] = value
    return values


def _without_key(values: dict[str, Any], key: str) -> dict[str, Any]:
    values.pop(key, None)
    return values


def _found(*arguments: Any) -> Any:
    """Return the value at a path of keys; the arguments end with a default and a dictionary."""
    *path, default, value = arguments
    for key in path:
        if not isinstance(value, dict):
            raise TypeError(f'no key "{key}" in {go_text(value)}')
        if key not in value:
            return default
        value = value[key]
    return value


def _steps(start: int, stop: int, step: int) -> list[int]:
    return list(range(start, stop, step)) if step else []


def _sequence(*numbers: int) -> str:
    """Return the numbers of the program `seq`, in both directions."""
    if not 1 <= len(numbers) <= 3:
        return ""
    first, last = (1 if len(numbers) < 2 else numbers[0]), numbers[-1]
    increment = 1 if first <= last else -1
    step = numbers[1] if len(numbers) == 3 else increment
    return " ".join(map(str, _steps(first, last + increment, step)))


def _rounded(value: Any, places: int, half: float = 0.5) -> float:
    scale = float(10**places)
    digit = real_number(value) * scale
    return (math.ceil if math.modf(digit)[0] >= half else math.floor)(digit) / scale


def _fail(message: str) -> None:
    raise ValueError(message)


def _kind(value: Any) -> str:
    kinds = {bool: "bool", int: "int", float: "float64", dict: "map", list: "slice"}
    return "string" if isinstance(value, str) else kinds.get(type(value), "invalid")


def _json(value: Any, indent: int | None = None) -> str:
    text = json_text(value, indent)
    # Go's encoder escapes these characters for embedding in HTML.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read_json(text: str) -> Any:
    """Return the value of a JSON text; its numbers are Go's `float64`."""
    return json.loads(text, parse_int=float, parse_constant=_fail)


def _of_json(text: str) -> Any:
    try:
        return _read_json(text)
    except ValueError:
        return None


def _parts(separator: str, text: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    letters = list(text)
    return letters if count < 0 else [*letters[: count - 1], *filter(None, [text[count - 1 :]])]


def _is_match(pattern: str, text: str) -> bool:
    try:
        return cel.compile_pattern(pattern).search(text) is not None
    except cel.PatternError:
        return False


def _matches(pattern: str, text: str) -> Iterator[Any]:
    """Yield the matches as Go finds them: no empty one where another ends."""
    end = -1
    for match in cel.compile_pattern(pattern).finditer(text):
        if match.end() > match.start() or match.start() > end:
            yield match
        end = match.end()


def _all_matches(pattern: str, text: str, count: int) -> list[str]:
    found = [match[0] for match in _matches(pattern, text)]
    return found if count < 0 else found[:count]


def _split_at(pattern: str, text: str, count: int) -> list[str]:
    """Split as Go's `Regexp.Split`: an empty match at the start or the end splits nothing."""
    if not count:
        return []
    if pattern and not text:
        return [""]
    parts: list[str] = []
    at = end = 0
    for match in _matches(pattern, text):
        if len(parts) == count - 1:
            break
        end = match.start()
        if match.end():
            parts.append(text[at:end])
        at = match.end()
    return parts if end == len(text) else [*parts, text[at:]]


def _replaced(pattern: str, text: str, new: Callable[[Any], str]) -> str:
    parts: list[str] = []
    at = 0
    for match in _matches(pattern, text):
        parts += text[at : match.start()], new(match)
        at = match.end()
    return "".join([*parts, text[at:]])


def _expanded(new: str, match: Any) -> str:
    """Return the text for a match; it refers to groups as in Go, which may not exist."""

    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        if name is None:
            return "$"
        known = {str(index): part for index, part in enumerate((match[0], *match.groups()))}
        return (known | match.groupdict()).get(name) or ""

    return re.sub(r"\$(?:\$|\{(\w+)\}|(\w+))", group, new)


def _decimals(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., float]:
    """Return a function that joins numbers from the left, in decimals as Sprig does."""

    def joined(*values: Any) -> float:
        return float(reduce(operation, (Decimal(repr(real_number(value))) for value in values)))

    return joined


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ValueError("decimal division by 0")
    return (left / right).quantize(Decimal("1e-16"), rounding=ROUND_HALF_UP)


SPRIG: dict[str, Callable[..., Any]] = {
    # text
    "abbrev": lambda width, text: (
        text if width < 4 or len(text) <= width else f"{text[: width - 3]}..."
    ),
    "cat": lambda *values: " ".join(texts_of(list(values))),
    "indent": _padded,
    "initials": lambda text: "".join(word[0] for word in text.split()),
    "join": lambda separator, values: separator.join(texts_of(values)),
    "nindent": lambda width, text: f"\n{_padded(width, text)}",
    "nospace": lambda text: re.sub(r"\s", "", text),
    "plural": lambda one, many, count: one if whole_number(count) == 1 else many,
    "regexFind": lambda pattern, text: next((match[0] for match in _matches(pattern, text)), ""),
    "regexFindAll": _all_matches,
    "regexMatch": _is_match,
    "regexQuoteMeta": lambda text: re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text),
    "regexReplaceAll": lambda pattern, text, new: _replaced(pattern, text, partial(_expanded, new)),
    "regexReplaceAllLiteral": lambda pattern, text, new: _replaced(pattern, text, lambda _: new),
    "regexSplit": _split_at,
    "repeat": _repeated,
    "replace": lambda old, new, text: text.replace(old, new),
    "split": lambda separator, text: _numbered(_parts(separator, text)),
    "splitList": _parts,
    "splitn": lambda separator, count, text: _numbered(_parts(separator, text, count)),
    "squote": lambda *values: " ".join(f"'{text}'" for text in texts_of(list(values))),
    "substr": _substring,
    "swapcase": lambda text: text.swapcase(),
    "title": lambda text: re.sub(r"\b\w", lambda match: match[0].upper(), text),
    "toStrings": texts_of,
    "trim": lambda text: text.strip(),
    "trimAll": lambda characters, text: text.strip(characters),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": _truncated,
    "untitle": lambda text: re.sub(r"(?<!\S)\S", lambda match: match[0].lower(), text),
    # choices
    "all": lambda *values: all(values),
    "any": lambda *values: any(values),
    "coalesce": lambda *values: next((value for value in values if value), None),
    "empty": lambda value=None: not value,
    "fail": _fail,
    "ternary": lambda yes, no, value: yes if value else no,
    # numbers
    "add1f": lambda value: _decimals(operator.add)(value, 1),
    "addf": _decimals(operator.add),
    "atoi": lambda text: int(text) if re.fullmatch(r"[-+]?\d+", text) else 0,
    "biggest": lambda *values: max(map(whole_number, values)),
    "ceil": lambda value: float(math.ceil(real_number(value))),
    "divf": _decimals(_decimal_quotient),
    "div": lambda left, right: _quotient(whole_number(left), whole_number(right)),
    "float64": real_number,
    "floor": lambda value: float(math.floor(real_number(value))),
    "int64": whole_number,
    "max": lambda *values: max(map(whole_number, values)),
    "min": lambda *values: min(map(whole_number, values)),
    "mod": lambda left, right: (
        whole_number(left)
        - whole_number(right) * _quotient(whole_number(left), whole_number(right))
    ),
    "maxf": lambda *values: max(map(real_number, values)),
    "minf": lambda *values: min(map(real_number, values)),
    "mul": lambda *values: math.prod(map(whole_number, values)),
    "mulf": _decimals(operator.mul),
    "round": _rounded,
    "seq": _sequence,
    "subf": _decimals(operator.sub),
    "until": lambda count: _steps(0, int(count), 1 if count >= 0 else -1),
    "untilStep": _steps,
    # lists
    "append": lambda values, value: [*values, value],
    "chunk": lambda size, values: [
        values[start : start + size] for start in range(0, len(values), size)
    ],
    "compact": lambda values: [value for value in values if value],
    "concat": lambda *lists: [value for values in lists for value in values],
    "first": lambda values: values[0] if values else None,
    "has": lambda value, values: _is_in(value, values or []),
    "initial": lambda values: values[:-1],
    "last": lambda values: values[-1] if values else None,
    "prepend": lambda values, value: [value, *values],
    "push": lambda values, value: [*values, value],
    "rest": lambda values: values[1:],
    "reverse": lambda values: values[::-1],
    "slice": _part,
    "sortAlpha": lambda values: sorted(texts_of(values)),
    "tuple": lambda *values: list(values),
    "uniq": _unique,
    "without": lambda values, *omitted: [value for value in values if not _is_in(value, omitted)],
    # dictionaries
    "deepCopy": deepcopy,
    "deepEqual": is_equal,
    "dig": _found,
    "get": lambda values, key: values.get(key, ""),
    "hasKey": lambda values, key: key in values,
    "keys": lambda *maps: [key for values in maps for key in sorted(values)],
    "merge": _merged,
    "mergeOverwrite": partial(_merged, is_last_used=True),
    "omit": lambda values, *keys: {key: values[key] for key in values if key not in keys},
    "pick": lambda values, *keys: {key: values[key] for key in values if key in keys},
    "pluck": lambda key, *maps: [values[key] for values in maps if key in values],
    "set": _set,
    "unset": _without_key,
    "values": lambda values: [values[key] for key in sorted(values)],
    # encodings
    "b32dec": lambda text: base64.b32decode(text).decode(),
    "b32enc": lambda text: base64.b32encode(text.encode()).decode(),
    "b64dec": lambda text: base64.b64decode(re.sub("[\r\n]", "", text), validate=True).decode(),
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "fromJson": _of_json,
    "kindIs": lambda kind, value: _kind(value) == kind,
    "kindOf": _kind,
    "sha1sum": lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "sha512sum": lambda text: hashlib.sha512(text.encode()).hexdigest(),
    "toJson": _json,
    "toPrettyJson": partial(_json, indent=2),
    "toRawJson": json_text,
}
"""The functions by name; those of `go_templates.FUNCTIONS` are Sprig's too."""

_MUST = (
    "append", "chunk", "compact", "deepCopy", "first", "has", "initial", "last", "merge",
    "mergeOverwrite", "prepend", "push", "regexFind", "regexFindAll", "regexReplaceAll",
    "regexReplaceAllLiteral", "regexSplit", "rest", "reverse", "slice", "toJson", "toPrettyJson",
    "toRawJson", "uniq", "without",
)  # fmt: skip
SPRIG |= {f"must{name[0].upper()}{name[1:]}": SPRIG[name] for name in _MUST}
# Without `must`, these report no error.
SPRIG["mustFromJson"] = _read_json
SPRIG["mustRegexMatch"] = lambda pattern, text: (
    cel.compile_pattern(pattern).search(text) is not None
)
