"""The totals of a ranking whose pods differ only in their requests.

A filter that adds up and scores that compare sums (`Plugin.filter_as_sums`,
`Plugin.score_as_requests`) need no rows while a node fits: one kernel call computes their
totals. The row of the filter is updated only when a pod fits on no node and the reasons are
needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.columns import NodeColumns
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.rankings.rows import ScoreRow, VerdictRow
from podwright.scheduler.framework.rankings.scores import MAX_NODE_SCORE, RequestScore
from podwright.scheduler.framework.rankings.scratch import Scratch
from podwright.scheduler.kernels.request_totals import (
    is_pair_recipe,
    pair_request_totals,
    request_totals,
)

_NO_PLAN: I64Array = np.empty(0, dtype=np.int64)


class RequestTotals:
    """The totals of some rows of a ranking, without the rows.

    Attributes
    ----------
    filter_row : VerdictRow
        The filter that adds up; not up to date.
    score_rows : tuple of ScoreRow
        The scores that are added up; never up to date.
    greatest : int
        The most that the scores can add.
    """

    __slots__ = ("_held", "_is_pair", "_one", "_recipe", "filter_row", "greatest", "score_rows")

    def __init__(
        self,
        filter_row: VerdictRow,
        score_rows: tuple[ScoreRow, ...],
        recipe: I64Array,
        scratch: Scratch,
    ) -> None:
        self.filter_row = filter_row
        self.score_rows = score_rows
        self.greatest = MAX_NODE_SCORE * int(recipe[1] + recipe[3])
        self._recipe = recipe
        self._is_pair = is_pair_recipe(recipe)
        self._held = scratch
        self._one = scratch.one_total

    @classmethod
    def of(
        cls,
        filters: Sequence[VerdictRow],
        scores: Sequence[tuple[ScoreRow, int]],
        cycle: Cycle,
        scratch: Scratch,
    ) -> RequestTotals | None:
        """Return the totals of local rows; None if requests alone do not determine them.

        Rows that do not read pods, and filters that do not add up, are not touched.

        Parameters
        ----------
        filters, scores
            The local rows of a ranking, scores with their weights.
        cycle : Cycle
            Prepared.
        """
        adding = [
            (row, sums)
            for row in filters
            if row.reads_pods and (sums := row.plugin.filter_as_sums(cycle)) is not None
        ]
        if len(adding) != 1:
            return None
        ((filter_row, sums),) = adding
        shares: RequestScore | None = None
        balance: RequestScore | None = None
        share_weight = balance_weight = 0
        score_rows: list[ScoreRow] = []
        for row, weight in scores:
            if not row.reads_pods:
                continue
            found = row.plugin.score_as_requests(cycle)
            if found is None:
                return None
            if found.is_balance:
                if balance is not None:
                    return None
                balance, balance_weight = found, weight
            else:
                if shares is not None:
                    return None
                shares, share_weight = found, weight
            score_rows.append(row)
        share_plan = _NO_PLAN if shares is None else shares.plan
        balance_plan = _NO_PLAN if balance is None else balance.plan
        # The constant is the first entry, which `begin` overwrites.
        head = (
            0,
            share_weight,
            0 if shares is None else shares.strategy,
            balance_weight,
            len(sums),
            len(share_plan),
            len(balance_plan),
        )
        recipe = np.concatenate((head, sums, share_plan, balance_plan))
        return cls(filter_row, tuple(score_rows), recipe, scratch)

    def begin(self, constant: int) -> None:
        """Add `constant` to every total from now on."""
        self._recipe[0] = constant

    def of_all(self, nodes: NodeColumns, slots: I32Array, totals: I32Array) -> None:
        """Write the total of every slot.

        Parameters
        ----------
        slots : (n_slots,) int32
            All of them.
        totals : (n_slots,) int32, written
            -1 where the pod does not fit.
        """
        if self._is_pair and pair_request_totals(
            nodes.allocatable, nodes.requested, nodes.non_zero_requested, self._recipe, totals
        ):
            return
        self._write(nodes, slots, totals)

    def of_some(self, nodes: NodeColumns, slots: I32Array) -> I32Array:
        """Return the totals of some slots: (k,) int32, good until the next call."""
        totals = self._one if len(slots) == 1 else np.empty(len(slots), dtype=np.int32)
        self._write(nodes, slots, totals)
        return totals

    def _write(self, nodes: NodeColumns, slots: I32Array, totals: I32Array) -> None:
        request_totals(
            nodes.allocatable,
            nodes.requested,
            nodes.non_zero_requested,
            self._recipe,
            slots,
            self._held.by_slot,
            totals,
        )
