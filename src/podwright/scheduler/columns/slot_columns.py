"""Integer columns over slots by key, created at the first write and grown with the nodes."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I64Array
from podwright.scheduler.columns.nodes import NodeColumns


class SlotColumns:
    """A dictionary of columns; slots that were not written contain `fill`."""

    __slots__ = ("_columns", "_fill", "_nodes")

    def __init__(self, nodes: NodeColumns, *, fill: int) -> None:
        self._nodes = nodes
        self._fill = fill
        self._columns: dict[str, I64Array] = {}

    def find(self, key: str) -> I64Array | None:
        """Return the column of `key`, (n_slots,) int64, or None if it was never written."""
        return self.of(key) if key in self._columns else None

    def of(self, key: str) -> I64Array:
        """Return the column of `key`, (n_slots,) int64, to read or write until a node comes."""
        n_slots = self._nodes.n_slots
        column = self._columns.get(key)
        if column is None or len(column) < n_slots:
            longer: I64Array = np.full(2 * max(n_slots, 8), self._fill, dtype=np.int64)
            if column is not None:
                longer[: len(column)] = column
            column = self._columns[key] = longer
        return column[:n_slots]

    def clear(self) -> None:
        """Drop all columns."""
        self._columns.clear()
