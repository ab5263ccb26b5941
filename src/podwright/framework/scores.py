"""Scores as a row: one integer per slot, and how rows are normalised."""

from __future__ import annotations

from enum import Enum

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask

MAX_NODE_SCORE = 100
"""Upstream: framework.MaxNodeScore."""


class Normalization(Enum):
    """What happens to a plugin's raw scores before they are weighted.

    DEFAULT and DEFAULT_REVERSED are upstream's helper.DefaultNormalizeScore; saying so
    instead of writing a `normalize_score` lets podwright keep the normalised row current.
    """

    NONE = "none"
    DEFAULT = "default"
    DEFAULT_REVERSED = "default reversed"
    CUSTOM = "custom"


class Scores:
    """What one plugin gives every slot.

    Attributes
    ----------
    rows : (k,) int32
        The slots that are asked for.
    values : (n_slots,) int64
        Raw scores, then normalised ones. Slots not in `rows` hold anything.
    feasible : (n_slots,) bool or None
        The nodes that passed all filters; None where the answer may not depend on them
        (plugins whose `score_reads` does not name `Reads.CLUSTER`).
    """

    __slots__ = ("feasible", "rows", "values")

    def __init__(self, values: I64Array, rows: I32Array, feasible: Mask | None = None) -> None:
        self.values = values
        self.rows = rows
        self.feasible = feasible

    def lengthen(self, n_slots: int) -> None:
        """Make room for nodes that have arrived, or fit the fewer slots after renumbering."""
        fitting: I64Array = np.zeros(n_slots, dtype=np.int64)
        kept = self.values[:n_slots]
        fitting[: len(kept)] = kept
        self.values = fitting
