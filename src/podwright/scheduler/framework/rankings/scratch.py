"""Arrays over slots that all rankings of a profile share.

Allocating tens of kilobytes per cycle costs more than most kernels: the allocator returns the
memory to the system, which must map it again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix, Mask


@dataclass(slots=True)
class RecipeTotals:
    """The totals of one recipe, and what they are right for; see `groups.RequestTotals`."""

    totals: I32Array
    numbering: int
    node_version: int
    pods_version: int


class Scratch:
    """Arrays of which only `by_recipe` holds something from one cycle to the next.

    Attributes
    ----------
    totals : (n_slots,) int32
    swept, values : (n_slots,) int64
    feasible : (n_slots,) bool
    rows, groups : (n_slots,) int32
    state : (3,) int64
        As `kernels.select.settle` keeps it.
    one_total : (1,) int32
    by_slot : (3, n_slots) int64
    all_slots : (n_slots,) int32
        Every slot, in order; not written.
    by_recipe : dict of bytes to RecipeTotals
        The recipes that were used last.
    """

    __slots__ = (
        "all_slots",
        "by_recipe",
        "by_slot",
        "feasible",
        "groups",
        "one_total",
        "rows",
        "state",
        "swept",
        "totals",
        "values",
    )

    def __init__(self) -> None:
        self._make(0)
        self.by_recipe: OrderedDict[bytes, RecipeTotals] = OrderedDict()
        self.state: I64Array = np.zeros(3, dtype=np.int64)
        self.one_total: I32Array = np.zeros(1, dtype=np.int32)

    def fit(self, n_slots: int) -> None:
        """Have exactly `n_slots` rows."""
        if len(self.swept) != n_slots:
            self._make(n_slots)

    def _make(self, n_slots: int) -> None:
        self.totals: I32Array = np.zeros(n_slots, dtype=np.int32)
        self.swept: I64Array = np.zeros(n_slots, dtype=np.int64)
        self.values: I64Array = np.zeros(n_slots, dtype=np.int64)
        self.feasible: Mask = np.zeros(n_slots, dtype=np.bool_)
        self.rows: I32Array = np.zeros(n_slots, dtype=np.int32)
        self.groups: I32Array = np.zeros(n_slots, dtype=np.int32)
        self.by_slot: I64Matrix = np.zeros((3, n_slots), dtype=np.int64)
        self.all_slots: I32Array = np.arange(n_slots, dtype=np.int32)
