"""From the text of a cell in the table to the function that computes it.

Notes
-----
Upstream: pkg/printers/internalversion/printers.go;
staging/src/k8s.io/apimachinery/pkg/util/duration/duration.go;
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

from podwright.apimachinery.objects import SECOND_NS, Document, timestamp_ns

# Conversions of single values into cells.

Cell: TypeAlias = str | int | float | bool | None
"""A value in a row of a Table."""

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
_UNITS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""The end of a range of durations in seconds, and its two units."""


def human_duration(duration_ns: int) -> str:
    """Return a duration with two or three significant figures, as kubectl prints ages.

    Examples
    --------
    >>> human_duration(90 * 10**9), human_duration(3 * 3600 * 10**9 + 60 * 10**9)
    ('90s', '3h1m')
    """
    seconds = abs(duration_ns) // SECOND_NS
    if duration_ns < 0:
        # A difference of up to two seconds between the clocks of two machines is ignored.
        return "<invalid>" if seconds > 1 else "0s"
    for end, large, large_name, small, small_name in _UNITS:
        if seconds < end:
            whole, rest = divmod(seconds, large)
            rest = rest // small if small else 0
            return f"{whole}{large_name}{rest}{small_name}" if rest else f"{whole}{large_name}"
    return f"{seconds // _YEAR}y"


def age(timestamp: Any, now_ns: int) -> str:
    """Return the time since a timestamp; `<unknown>` if it is absent."""
    then_ns = timestamp_ns(timestamp)
    return UNKNOWN if then_ns is None else human_duration(now_ns - then_ns)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Return labels sorted by key, such as `app=web,tier=1`; `<none>` without any."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Document | None) -> str:
    """Return a label selector as kubectl writes it on the command line; `<none>` if empty."""
    return selector_requirements(selector or {}) or NONE


def selector_requirements(selector: Document) -> str:
    """Return the requirements of a label selector, sorted by key; "" without any."""
    requirements = [(key, f"{key}={v}") for key, v in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        values = ",".join(sorted(expression.get("values") or ()))
        match expression.get("operator"):
            case "In":
                text = f"{key} in ({values})"
            case "NotIn":
                text = f"{key} notin ({values})"
            case "Exists":
                text = key
            case "DoesNotExist":
                text = f"!{key}"
            case _:
                return "<error>"
        requirements.append((key, text))
    return ",".join(text for _, text in sorted(requirements, key=lambda each: each[0]))


def shortened(items: Iterable[str], most: int, *, separator: str = ",", empty: str = UNSET) -> str:
    """Return the first items of a list, and how many there are besides."""
    found = list(items)
    text = separator.join(found[:most])
    if len(found) > most:
        return f"{text} + {len(found) - most} more..."
    return text or empty


def marked_name(obj: Document, annotations: Iterable[str]) -> str:
    """Return the name of an object, marked if an annotation says that it is the default."""
    metadata = obj.get("metadata") or {}
    name: str = metadata.get("name") or ""
    present = metadata.get("annotations") or {}
    return f"{name} (default)" if any(present.get(key) == "true" for key in annotations) else name


def text_of(value: Any) -> str:
    """Return a text of a document; "" if it is absent."""
    text: str = value or ""
    return text


def _true_or_false(value: Any) -> str:
    return UNSET if value is None else str(bool(value))


def _strings(field: str) -> Callable[[Any], Cell]:
    return lambda entries: ",".join(each.get(field) or "" for each in entries or ())


CONVERSIONS: Final[Mapping[str, Callable[[Any], Cell]]] = {
    "boolean": _true_or_false,
    "count": lambda value: len(value or ()),
    "duration": lambda seconds: human_duration(seconds * SECOND_NS),
    "images": _strings("image"),
    "join": lambda value: ",".join(value or ()),
    "labels": labels_text,
    "names": _strings("name"),
    "selector": selector_text,
    "text": lambda value: "" if value is None else str(value),
}
"""The conversions by name, besides `age`.

=========== ==========================================================================
`boolean`   `True` or `False`, `<unset>` if absent
`count`     the length of a list or a map
`duration`  a number of seconds as a duration
`images`    the images of containers, with commas
`join`      a list of strings, with commas
`labels`    a map such as labels, `<none>` if it is empty
`names`     the names of the entries of a list, with commas
`selector`  a label selector, `<none>` if it is empty
`text`      the value as text
=========== ==========================================================================
"""


CellFunction: TypeAlias = Callable[[Document, int], Cell]
"""Computes a cell from an object and the time in nanoseconds since 1970."""

_ZERO: Final[Mapping[str, Cell]] = {"integer": 0, "number": 0.0, "boolean": False}


def cell_function(cell: str, column_type: str) -> CellFunction:
    """Compile a cell.

    Parameters
    ----------
    cell : str
        As in the table; see `schema.printing`.
    column_type : str
        The type of the column, which decides the value for an absent field.
    """
    text, separator, default_text = cell.partition("|")
    default = _value(default_text) if separator else None
    word, _, path = text.partition(" ")
    if word.startswith("."):
        return _of_field(word, default if separator else _ZERO.get(column_type, ""))
    if not path.startswith("."):
        return _of_module(word, is_timed=path == "now")
    if word == "age":
        return _of_time(path, default)
    return _converted(CONVERSIONS[word], path, default)


def _of_field(path: str, default: Cell) -> CellFunction:
    names = _names(path)

    def cell(document: Document, _now_ns: int) -> Cell:
        value = _value_at(document, names)
        return default if value is None or value == "" else cast(Cell, value)

    return cell


def _converted(convert: Callable[[Any], Cell], path: str, default: Cell) -> CellFunction:
    names = _names(path)

    def cell(document: Document, _now_ns: int) -> Cell:
        value = _value_at(document, names)
        is_absent = value is None or value == ""
        return default if is_absent and default is not None else convert(value)

    return cell


def _of_time(path: str, default: Cell) -> CellFunction:
    names = _names(path)

    def cell(document: Document, now_ns: int) -> Cell:
        value = _value_at(document, names)
        return default if not value and default is not None else age(value, now_ns)

    return cell


def _of_module(name: str, *, is_timed: bool) -> CellFunction:
    module, _, function = name.partition(":")
    found = getattr(import_module(f"podwright.apimachinery.schema.printing.{module}"), function)
    if is_timed:
        return cast(CellFunction, found)
    return lambda document, _now_ns: cast(Cell, found(document))


def _names(path: str) -> list[str]:
    return path[1:].split(".")


def _value_at(document: Document, names: list[str]) -> Any:
    value: Any = document
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _value(text: str) -> Cell:
    try:
        return cast(Cell, json.loads(text))
    except ValueError:
        return text
