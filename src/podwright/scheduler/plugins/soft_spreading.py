"""Counts of soft spread constraints, and groups of nodes with equal counts.

The score of a node depends only on its domain and on the number of matching pods on it. With
few zones and few matching pods per node there are few groups.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
"""

from __future__ import annotations

import math

import numpy as np

from podwright._arrays import F64Array, I32Array, I64Array, I64Matrix
from podwright.scheduler.columns import CountedGroups, Counter, Digits
from podwright.scheduler.framework import ScoreGroups
from podwright.scheduler.kernels import spread as spread_kernels
from podwright.scheduler.kernels.spread import ABSENT_DOMAIN, BASE, IS_PER_NODE, STRIDE

_MOST_GROUPS = 128
"""With more groups than this it is as quick to score all slots."""

_SPARE_COUNTS = 4
"""The growth of the number of pods on a node at which the groups are rebuilt."""


class ScoreState:
    """The soft constraints and their counts.

    Attributes
    ----------
    counters : tuple of Counter
    settings : (n_constraints, 3) int64
        The settings of `kernels.spread.add_spread_scores`.
    requires_all : bool
        Whether nodes that lack one of the topology keys are ignored.
    """

    __slots__ = ("counters", "requires_all", "settings")

    def __init__(
        self, counters: tuple[Counter, ...], settings: I64Matrix, *, requires_all: bool
    ) -> None:
        self.counters = counters
        self.settings = settings
        self.requires_all = requires_all

    def counts(self) -> tuple[I64Array, ...]:
        """Return the counts, and bring the domains up to date on the way."""
        counts = tuple([counter.current() for counter in self.counters])
        if not self.requires_all:
            for i, counter in enumerate(self.counters):
                self.settings[i, ABSENT_DOMAIN] = counter.domains.empty_domain
        return counts


class SpreadGroups(CountedGroups, ScoreGroups):
    """Nodes with the same domains, and the same number of pods where hosts are domains."""

    def __init__(self, state: ScoreState, digits: list[Digits]) -> None:
        super().__init__(state.counters, digits)
        self._requires_all = state.requires_all
        # Rows of the settings are views, and plain numbers are quicker than those of an array.
        self._constraints = [
            (setting, int(each[BASE]), int(each[STRIDE]))
            for setting, each in zip(state.settings, self._digits, strict=True)
        ]
        self._scores: I64Array = np.zeros(self.n_groups, dtype=np.int64)
        self._rows: I32Array = np.zeros(self.n_groups, dtype=np.int32)
        self._sums: F64Array = np.zeros(self.n_groups, dtype=np.float64)

    @classmethod
    def of(cls, state: ScoreState) -> SpreadGroups | None:
        """Return the groups for the current counts; None if there are many."""
        digits = [
            Digits(2 * int(counts.max(initial=0)) + _SPARE_COUNTS, unit=1)
            if is_per_node
            else Digits(len(counts) + 1)
            for counts, is_per_node in zip(
                state.counts(), state.settings[:, IS_PER_NODE].tolist(), strict=True
            )
        ]
        few = math.prod([each.base for each in digits]) <= _MOST_GROUPS
        return cls(state, digits) if few else None

    def scores(self, sizes: I64Array) -> I64Array | None:
        """Return the points of the slots of each group; None if domains have other numbers now.

        Parameters
        ----------
        sizes : (n_groups,) int64
            How many feasible slots each group has.
        """
        counts = self._counts()
        if counts is None:
            return None
        filled = spread_kernels.filled_groups(sizes, self._rows)
        rows, sums, requires_all = self._rows[:filled], self._sums[:filled], self._requires_all
        sums.fill(0.0)
        for count_of, (setting, base, stride) in zip(counts, self._constraints, strict=True):
            spread_kernels.add_group_scores(
                count_of, setting, base, stride, requires_all, sizes, rows, sums
            )
        first_base = self._constraints[0][1]
        spread_kernels.normalize_groups(sums, first_base, requires_all, rows, self._scores)
        return self._scores
