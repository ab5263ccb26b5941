"""Totals per group of slots, for rankings whose single sweeping score has few distinct values.

A score that depends on the other nodes changes for all slots together, so totals per slot
cannot be kept. But such a score is often equal for many nodes: spreading distinguishes zones,
and the number of matching pods on a host. Then the *local* totals are kept per group. A
decision updates the slots that changed since the last one, scores each group once, and finds
the drawn slot.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I32Matrix, I64Matrix
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.cycle import Cycle, MissingStateError
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.rankings.scores import ScoreGroups
from podwright.scheduler.framework.rankings.scratch import Scratch
from podwright.scheduler.kernels.groups import SIZE, count_groups, pick_of_groups, regroup


class GroupedTotals:
    """The local totals of one ranking, per group of slots.

    Attributes
    ----------
    best_total, tie_count, feasible_count : int
        Of the last `pick`: the greatest total, how many slots have it, how many are feasible.
    is_outdated : bool
        Whether the groups must be rebuilt.
    """

    __slots__ = (
        "_counts", "_groups", "_known", "_least", "_plugin", "_scratch", "_state", "_totals",
        "_weight", "best_total", "feasible_count", "is_outdated", "tie_count",
    )  # fmt: skip

    def __init__(
        self,
        plugin: Plugin,
        weight: int,
        known: ScoreGroups,
        totals: I32Array,
        totals_from_to: tuple[int, int],
        scratch: Scratch,
    ) -> None:
        self._plugin = plugin
        self._weight = weight
        self._known = known
        self._totals = totals
        self._least, greatest = totals_from_to
        self._scratch = scratch
        n = known.n_groups
        self._groups: I32Array = np.zeros(len(totals), dtype=np.int32)
        self._counts: I32Matrix = np.zeros((n, greatest - self._least + 1), dtype=np.int32)
        self._state: I64Matrix = np.zeros((2, n), dtype=np.int64)
        self.best_total = self.tie_count = self.feasible_count = -1
        self.is_outdated = False

    @classmethod
    def of(
        cls,
        plugin: Plugin,
        weight: int,
        cycle: Cycle,
        totals: I32Array,
        totals_from_to: tuple[int, int],
        scratch: Scratch,
    ) -> GroupedTotals | None:
        """Group all slots; None if the plugin cannot.

        Parameters
        ----------
        plugin : Plugin
            The one that scores in every cycle.
        weight : int
            Of its score.
        cycle : Cycle
            Prepared.
        totals : (n_slots,) int32
            The local totals; kept, and written by `follow`.
        totals_from_to : (int, int)
            The least and the greatest that a feasible slot can have.
        scratch : Scratch
        """
        if not plugin.implements("score_groups") or not plugin.scores_in_range:
            return None
        try:
            known = plugin.score_groups(cycle)
            if known is None:
                return None
            grouped = cls(plugin, weight, known, totals, totals_from_to, scratch)
            if not known.assign(cycle.cluster.live_slots(), grouped._groups):
                return None
        except MissingStateError:
            # Score fails, too, in cycles with two feasible nodes or more.
            return None
        except Exception as error:
            raise PluginFailure.raised(plugin, "Score", cycle, error) from error
        count_groups(
            totals,
            grouped._groups,
            grouped._least,
            grouped._counts,
            grouped._state,
        )
        return grouped

    def follow(self, slots: I32Array, new_totals: I32Array, cycle: Cycle) -> bool:
        """Update the local totals; return False if a slot no longer belongs to a group.

        Then the totals are up to date, and nothing else is.

        Parameters
        ----------
        slots : (k,) int32
            The changed slots.
        new_totals : (k,) int32
            Their local totals.

        Raises
        ------
        PluginFailure
            If the plugin fails.
        """
        new_groups = self._scratch.groups
        try:
            is_grouped = self._known.assign(slots, new_groups)
        except Exception as error:
            raise PluginFailure.raised(self._plugin, "Score", cycle, error) from error
        if not is_grouped:
            self._totals[slots] = new_totals
            return False
        regroup(
            slots,
            new_totals,
            new_groups,
            self._totals,
            self._groups,
            self._least,
            self._counts,
            self._state,
        )
        return True

    def pick(self, draw: int, cycle: Cycle) -> int:
        """Return one of the best slots; -1 if there is none, or the groups are outdated."""
        try:
            scores = self._known.scores(self._state[SIZE])
        except Exception as error:
            raise PluginFailure.raised(self._plugin, "Score", cycle, error) from error
        if scores is None:
            self.is_outdated = True
            return -1
        slot, self.best_total, self.tie_count, self.feasible_count = pick_of_groups(
            self._totals,
            self._groups,
            self._least,
            self._counts,
            self._state,
            scores,
            self._weight,
            draw,
        )
        return slot
