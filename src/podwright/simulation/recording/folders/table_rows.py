"""The rows of a table during a run, column by column."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

ColumnType: TypeAlias = Literal["time", "int", "maybe", "float", "name", "text"]
"""`time`: nanoseconds since 1970. `maybe`: an int or None. `name`: a text with few
distinct values, or None.
"""

Columns: TypeAlias = dict[str, list[Any]]


class TableRows:
    """The rows of one table, column by column."""

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._names = tuple(types)
        self._columns: list[Any] = [_empty(kind) for kind in types.values()]
        self._append = [column.append for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: Any) -> None:
        """Add a row, in the order of the columns."""
        for append, value in zip(self._append, values, strict=True):
            append(value)

    def amend(self, index: int, **values: Any) -> None:
        """Replace values of a row, by the names of their columns."""
        for name, value in values.items():
            self._columns[self._names.index(name)][index] = value

    def extend(self, columns: Columns) -> None:
        """Add the rows of another table of the same columns."""
        for name, column in zip(self._names, self._columns, strict=True):
            column.extend(columns[name])

    def take(self, count: int) -> Columns:
        """Remove the first rows and return them."""
        taken = {}
        for name, column in zip(self._names, self._columns, strict=True):
            taken[name] = list(column[:count])
            del column[:count]
        return taken

    def columns(self) -> Columns:
        """Return all rows."""
        return {name: list(column) for name, column in zip(self._names, self._columns, strict=True)}


def _empty(kind: ColumnType) -> Any:
    # Eight bytes for each value; a list needs a reference and an object.
    if kind in ("time", "int"):
        return array("q")
    return array("d") if kind == "float" else []
