"""The values of Go templates, and how Go, Sprig and KWOK print them.

The numbers of a document are texts (`Number`), because KWOK decodes documents with `json.Number`:
0 is true then, and equal to "0". Other numbers are Go's `int` and `float64`.

Upstream: Go src/fmt/print.go and src/strconv/ftoa.go; KWOK pkg/utils/gotpl/renderer.go and
funcs.go; github.com/Masterminds/sprig/v3 strings.go and numeric.go; github.com/spf13/cast
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9]\d*)")
_ZERO_DECIMAL: Final = re.compile(r"\.0+$")
_NOTHING: Final = "<nil>"


class Number(str):
    """A number of a document."""

    __slots__ = ()

    @property
    def value(self) -> int | float:
        """The number."""
        return float(self) if set(self) & set(".e") else int(self)


def of_document(value: Any) -> Any:
    """Return a copy of a document whose numbers are `Number`."""
    match value:
        case dict():
            return {key: of_document(each) for key, each in value.items()}
        case list():
            return [of_document(each) for each in value]
        case float():
            return _number_of_float(value)
        case int() if not isinstance(value, bool):
            return Number(value)
        case _:
            return value


def _number_of_float(value: float) -> Number:
    """Return a number as Go's JSON has it."""
    return Number(_decimal(value, -6, 21).replace("e-0", "e-"))


def _decimal(value: float, least: int, most: int) -> str:
    """Return the shortest decimal; with an exponent if it is not in a range."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    count = next(count for count in range(17) if float(f"{value:.{count}e}") == value)
    text = f"{value:.{count}e}"
    exponent = int(text.partition("e")[2])
    return f"{value:.{max(count - exponent, 0)}f}" if least <= exponent < most else text


def is_true(value: Any) -> bool:
    """Whether a value is true in Go's templates: neither nil, false, 0 nor empty."""
    return bool(value)


def go_text(value: Any) -> str:
    """Return a value as Go prints it."""
    match value:
        case None:
            return _NOTHING
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(go_text(entry) for entry in value)}]"
        case float():
            return _decimal(value, -4, 6)
        case _:
            return str(value)


def texts_of(value: Any) -> list[str]:
    """Return the texts of a list without nil, as Sprig; another value is a list by itself."""
    values = value if isinstance(value, list) else [value]
    return [go_text(each) for each in values if each is not None]


def whole_number(value: Any) -> int:
    """Return a value as an integer, as Sprig's `int64`: 0 if it is not a number."""
    if isinstance(value, str):
        text = _ZERO_DECIMAL.sub("", value)
        if _INTEGER.fullmatch(text) is None:
            return 0
        return int(text, 8 if re.match(r"[-+]?0[0-7]", text) else 0)
    return int(real_number(value))


def real_number(value: Any) -> float:
    """Return a value as a float, as Sprig's `float64`: 0 if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def compared(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two values as they are compared; a number of a document also with other numbers."""
    if isinstance(left, Number) and _is_number(right):
        return left.value, right
    if isinstance(right, Number) and _is_number(left):
        return left, right.value
    return left, right


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_equal(left: Any, right: Any) -> bool:
    """Whether values are equal with their types, as Go's `reflect.DeepEqual`: 1 is not 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            is_equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return bool(left == right)


def plain(value: Any) -> Any:
    """Return a value for JSON."""
    match value:
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case Number():
            return value.value
        case float():
            return _number_of_float(value).value
        case _:
            return value


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, with its keys in their order."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        plain(value), ensure_ascii=False, sort_keys=True, separators=separators, indent=indent
    )
    # Go's encoder escapes these line breaks, which are none in JSON.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def quoted(value: Any) -> str:
    """Return a value in quotes; values other than text are converted to JSON (KWOK's `Quote`)."""
    return json.dumps(value if isinstance(value, str) else json_text(value), ensure_ascii=False)


def as_yaml(value: Any, indent: int = 0) -> str:
    """Return a value as a block of YAML on lines of its own (KWOK's `YAML`)."""
    pad = "  " * indent
    text = "\n".join(_block(plain(value)))
    return f"\n{text}\n".replace("\n", f"\n{pad}") if indent > 0 else f"{text}\n"


def _block(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        lines = []
        for key in sorted(value):
            head = f"{json.dumps(key, ensure_ascii=False)}:"
            lines += _under(head, value[key])
        return lines
    if isinstance(value, list) and value:
        return [line for entry in value for line in _under("-", entry)]
    return [json.dumps(value, ensure_ascii=False)]


def _under(head: str, value: Any) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [head, *(f"  {line}" for line in _block(value))]
    return [f"{head} {json.dumps(value, ensure_ascii=False)}"]
