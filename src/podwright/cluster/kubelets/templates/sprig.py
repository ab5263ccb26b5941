"""The functions of Sprig that templates can use, besides those in `templates`.

KWOK offers all text functions of Sprig. Here are those that depend on their arguments only:
functions of the clock, the environment, the network, and random or cryptographic keys are not
offered, because a simulation must be repeatable.

Upstream: github.com/Masterminds/sprig/v3 functions.go
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal
from functools import reduce
from typing import Any


def _text(value: Any) -> str:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _whole(value: Any) -> int:
    return int(_number(value))


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


def _split(separator: str, text: str) -> dict[str, str]:
    return {f"_{index}": part for index, part in enumerate(text.split(separator))}


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _merged(target: dict[str, Any], *sources: dict[str, Any]) -> dict[str, Any]:
    merged = dict(target)
    for source in sources:
        for key, value in source.items():
            present = merged.get(key)
            if isinstance(present, dict) and isinstance(value, dict):
                merged[key] = _merged(present, value)
            # Sprig's `merge`: the first dictionary wins, but an empty value counts as absent.
            elif not present:
                merged[key] = value
    return merged


def _found(*arguments: Any) -> Any:
    """Return the value at a path of keys; the arguments end with a default and a dictionary."""
    *path, default, value = arguments
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value


def _steps(start: int, stop: int, step: int) -> list[int]:
    return list(range(start, stop, step)) if step and (stop > start) == (step > 0) else []


def _rounded(value: Any, places: int, half: float = 0.5) -> float:
    scale = float(10**places)
    digit = _number(value) * scale
    fraction, whole = math.modf(digit)
    return (whole + 1 if fraction >= half else whole) / scale


def _fail(message: str) -> None:
    raise ValueError(message)


def _kind(value: Any) -> str:
    kinds = {bool: "bool", int: "int", float: "float64", str: "string", dict: "map", list: "slice"}
    return kinds.get(type(value), "invalid")


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Go's encoder escapes these characters for embedding in HTML.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _replacement(text: str) -> str:
    """Return a replacement of Go's regular expressions in Python's notation."""
    return re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", text.replace("\\", "\\\\"))


def _decimals(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., float]:
    """Return a function that joins numbers from the left, in decimals as Sprig does."""

    def joined(*values: Any) -> float:
        return float(reduce(operation, (Decimal(repr(_number(value))) for value in values)))

    return joined


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ValueError("decimal division by 0")
    return (left / right).quantize(Decimal("1e-16"), rounding=ROUND_HALF_UP)


SPRIG: dict[str, Callable[..., Any]] = {
    # text
    "abbrev": lambda width, text: text if len(text) <= width else f"{text[: width - 3]}...",
    "cat": lambda *values: " ".join(_text(value) for value in values if value is not None),
    "indent": _padded,
    "join": lambda separator, values: separator.join(map(_text, values)),
    "nindent": lambda width, text: f"\n{_padded(width, text)}",
    "nospace": lambda text: re.sub(r"\s", "", text),
    "regexFind": lambda pattern, text: m[0] if (m := re.search(pattern, text)) else "",
    "regexFindAll": lambda pattern, text, count: [m[0] for m in re.finditer(pattern, text)][
        : None if count < 0 else count
    ],
    "regexMatch": lambda pattern, text: re.search(pattern, text) is not None,
    "regexReplaceAll": lambda pattern, text, new: re.sub(pattern, _replacement(new), text),
    "regexReplaceAllLiteral": lambda pattern, text, new: re.sub(pattern, lambda _: new, text),
    "repeat": lambda count, text: text * int(count),
    "replace": lambda old, new, text: text.replace(old, new),
    "split": _split,
    "splitList": lambda separator, text: text.split(separator),
    "squote": lambda *values: " ".join(f"'{_text(value)}'" for value in values),
    "substr": lambda start, end, text: text[max(start, 0) : None if end < 0 else end],
    "title": lambda text: re.sub(r"\b\w", lambda match: match[0].upper(), text),
    "toStrings": lambda values: [_text(value) for value in values],
    "trim": lambda text: text.strip(),
    "trimAll": lambda characters, text: text.strip(characters),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": _truncated,
    # choices
    "all": lambda *values: all(values),
    "any": lambda *values: any(values),
    "coalesce": lambda *values: next((value for value in values if value), None),
    "empty": lambda value=None: not value,
    "fail": _fail,
    "ternary": lambda yes, no, value: yes if value else no,
    # numbers
    "addf": _decimals(operator.add),
    "atoi": _whole,
    "ceil": lambda value: float(math.ceil(_number(value))),
    "divf": _decimals(_decimal_quotient),
    "div": lambda left, right: _quotient(_whole(left), _whole(right)),
    "float64": _number,
    "floor": lambda value: float(math.floor(_number(value))),
    "int64": _whole,
    "max": lambda *values: max(map(_whole, values)),
    "min": lambda *values: min(map(_whole, values)),
    "mod": lambda left, right: (
        _whole(left) - _whole(right) * _quotient(_whole(left), _whole(right))
    ),
    "maxf": lambda *values: max(map(_number, values)),
    "minf": lambda *values: min(map(_number, values)),
    "mul": lambda *values: math.prod(map(_whole, values)),
    "mulf": _decimals(operator.mul),
    "round": _rounded,
    "subf": _decimals(operator.sub),
    "until": lambda count: _steps(0, int(count), 1 if count >= 0 else -1),
    "untilStep": _steps,
    # lists
    "append": lambda values, value: [*values, value],
    "compact": lambda values: [value for value in values if value],
    "concat": lambda *lists: [value for values in lists for value in values],
    "first": lambda values: values[0] if values else None,
    "has": lambda value, values: value in (values or []),
    "initial": lambda values: values[:-1],
    "last": lambda values: values[-1] if values else None,
    "prepend": lambda values, value: [value, *values],
    "rest": lambda values: values[1:],
    "reverse": lambda values: values[::-1],
    "slice": lambda values, *bounds: values[
        slice(*(bounds if len(bounds) > 1 else (*bounds, None)))
    ],
    "sortAlpha": lambda values: sorted(map(_text, values)),
    "uniq": _unique,
    "without": lambda values, *omitted: [value for value in values if value not in omitted],
    # dictionaries
    "dig": _found,
    "get": lambda values, key: values.get(key, ""),
    "hasKey": lambda values, key: key in values,
    "keys": lambda *maps: [key for values in maps for key in sorted(values)],
    "merge": _merged,
    "omit": lambda values, *keys: {key: values[key] for key in values if key not in keys},
    "pick": lambda values, *keys: {key: values[key] for key in values if key in keys},
    "pluck": lambda key, *maps: [values[key] for values in maps if key in values],
    "values": lambda values: [values[key] for key in sorted(values)],
    # encodings
    "b64dec": lambda text: base64.b64decode(text).decode(),
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "fromJson": json.loads,
    "kindIs": lambda kind, value: _kind(value) == kind,
    "kindOf": _kind,
    "sha1sum": lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "toJson": _json,
}
"""The functions by name; those of `templates.FUNCTIONS` are Sprig's too."""
