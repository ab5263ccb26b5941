"""From the text of a cell in the table to the function that computes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.conversions import CONVERSIONS, Cell, age

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
