"""Values as Go prints them, for messages that quote a value."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

GO_TYPE: Final = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool",
    int: "int64", float: "float64", type(None): "%!s(<nil>)",
}  # fmt: skip
"""The types of Go that decoded JSON has, by the types of Python."""


def printed(value: Any) -> str:
    """Return a value as `fmt.Sprintf("%v", value)` prints it.

    Examples
    --------
    >>> printed({"name": "web", "ports": [80, None]})
    'map[name:web ports:[80 <nil>]]'
    """
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(printed, value))}]"
        case float():
            return _float(value)
        case _:
            return str(value)


def printed_in_full(value: Any) -> str:
    """Return a value as `fmt.Sprintf("%#v", value)` prints it.

    Examples
    --------
    >>> printed_in_full({"a": [1, "b", None]})
    'map[string]interface {}{"a":[]interface {}{1, "b", interface {}(nil)}}'
    """
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            inside = ", ".join(
                f"{json.dumps(key, ensure_ascii=False)}:{printed_in_full(value[key])}"
                for key in sorted(value)
            )
            return f"{GO_TYPE[dict]}{{{inside}}}"
        case list():
            return f"{GO_TYPE[list]}{{{', '.join(map(printed_in_full, value))}}}"
        case _:
            return printed(value)


def _float(value: float) -> str:
    """Return a float in Go's shortest form, with an exponent from 1e+06 on and below 1e-04."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), value  # JSON has no infinity
    power = len(digits) + exponent - 1
    if -4 <= power < 6:
        return f"{Decimal((sign, digits, exponent)):f}"
    first, *rest = map(str, digits)
    fraction = f".{''.join(rest)}" if rest else ""
    return f"{'-' if sign else ''}{first}{fraction}e{power:+03d}"
