"""Totals per group of slots, for rankings whose sweeping plugins tell few groups of slots apart.

A result that depends on the other nodes changes for all slots together, so totals per slot
cannot be kept. But such a result is often equal for many nodes: spreading distinguishes zones,
and the number of matching pods on a host. Then the *local* totals are kept per group, where a
group is what several filters and one score do not tell apart. A decision updates the slots that
changed since the last one, filters and scores each group once, and finds the drawn slot.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from podwright._arrays import F64Matrix, I32Array, I32Matrix, I64Array, I64Matrix, Mask
from podwright.scheduler.columns import Cluster, NodeColumns
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.rankings.rows import ScoreRow, VerdictRow
from podwright.scheduler.framework.rankings.scores import (
    MAX_NODE_SCORE,
    FilterGroups,
    RequestScore,
    ScoreGroups,
)
from podwright.scheduler.framework.status import MissingStateError
from podwright.scheduler.kernels import (
    groups as groups_kernels,
    request_totals as request_totals_kernels,
)
from podwright.scheduler.kernels.groups import SIZE
from podwright.scheduler.kernels.request_totals import HEAD

A = TypeVar("A", bound=npt.NDArray[Any])

_NO_POINTS: I64Array = np.empty(0, dtype=np.int64)

_MOST_GROUPS = 256
"""With more groups than this it is as quick to go over all slots."""


class GroupedTotals:
    """The local totals of one ranking, per group of slots.

    Attributes
    ----------
    best_total, tie_count, feasible_count : int
        Of the last `pick` for which the groups were not outdated: the greatest total, how many
        slots have it, how many are feasible.
    is_outdated : bool
        Whether the groups must be rebuilt.
    """

    __slots__ = (
        "_closed", "_counts", "_groups", "_least", "_parts", "_scratch", "_state", "_totals",
        "_weight", "best_total", "feasible_count", "is_outdated", "tie_count",
    )  # fmt: skip
    best_total: int
    tie_count: int
    feasible_count: int

    def __init__(
        self,
        parts: list[tuple[Plugin, FilterGroups | ScoreGroups]],
        weight: int,
        totals: I32Array,
        totals_from_to: tuple[int, int],
        scratch: Scratch,
    ) -> None:
        self._parts = parts
        self._weight = weight
        self._totals = totals
        self._least, greatest = totals_from_to
        self._scratch = scratch
        n = math.prod([known.n_groups for _, known in parts])
        self._groups: I32Array = np.zeros(len(totals), dtype=np.int32)
        self._counts: I32Matrix = np.zeros((n, greatest - self._least + 1), dtype=np.int32)
        self._state: I64Matrix = np.zeros((2, n), dtype=np.int64)
        # Of `pick`.
        self._closed: Mask = np.zeros(n, dtype=np.bool_)
        self.is_outdated = False

    @classmethod
    def of(
        cls,
        filters: Sequence[Plugin],
        scores: Sequence[tuple[Plugin, int]],
        cycle: Cycle,
        totals: I32Array,
        totals_from_to: tuple[int, int],
        scratch: Scratch,
    ) -> GroupedTotals | None:
        """Group all slots; None if a plugin cannot, or there would be many groups.

        Parameters
        ----------
        filters : sequence of Plugin
            Those that filter in every cycle.
        scores : sequence of (Plugin, int)
            Those that score in every cycle, with their weights.
        cycle : Cycle
            Prepared.
        totals : (n_slots,) int32
            The local totals; kept, and written by `follow`.
        totals_from_to : (int, int)
            The least and the greatest that a feasible slot can have.
        scratch : Scratch
        """
        if (
            len(scores) > 1
            or not all(plugin.implements("filter_groups") for plugin in filters)
            or not all(p.implements("score_groups") and p.scores_in_range for p, _ in scores)
        ):
            return None
        parts: list[tuple[Plugin, FilterGroups | ScoreGroups]] = []
        n_groups = 1
        for plugin in (*filters, *(plugin for plugin, _ in scores)):
            is_score = len(parts) == len(filters)
            try:
                known = plugin.score_groups(cycle) if is_score else plugin.filter_groups(cycle)
                if known is None or (n_groups := n_groups * known.n_groups) > _MOST_GROUPS:
                    return None
            except MissingStateError:
                # Filter or Score fails, too.
                return None
            except Exception as error:
                point = "Score" if is_score else "Filter"
                raise PluginFailure.raised(plugin, point, cycle, error) from error
            parts.append((plugin, known))
        weight = scores[0][1] if scores else 0
        grouped = cls(parts, weight, totals, totals_from_to, scratch)
        if not grouped._assign(cycle.cluster.live_slots(), grouped._groups, cycle):
            return None
        groups_kernels.count_groups(
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
        if not self._assign(slots, new_groups, cycle):
            self._totals[slots] = new_totals
            return False
        groups_kernels.regroup(
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

    def _assign(self, slots: I32Array, out: I32Array, cycle: Cycle) -> bool:
        """Write the groups of some slots: the group of the first plugin is the last digit."""
        stride = 1
        for plugin, known in self._parts:
            digits = out if stride == 1 else self._scratch.digits
            try:
                if not known.assign(slots, digits):
                    return False
            except Exception as error:
                point = "Score" if isinstance(known, ScoreGroups) else "Filter"
                raise PluginFailure.raised(plugin, point, cycle, error) from error
            if digits is not out:
                groups_kernels.add_digit(slots, digits, stride, out)
            stride *= known.n_groups
        return True

    def pick(self, draw: int, cycle: Cycle) -> int:
        """Return one of the best slots; -1 if there is none, or the groups are outdated."""
        sizes = self._state[SIZE]
        points = _NO_POINTS
        closed = self._closed
        closed[:] = False
        stride, is_filtered = 1, False
        for plugin, known in self._parts:
            try:
                if isinstance(known, ScoreGroups):
                    # It is the last plugin, whose groups are the first digits.
                    if is_filtered:
                        of_digits: I64Array = np.empty(known.n_groups, dtype=np.int64)
                        groups_kernels.open_sizes(sizes, closed, stride, of_digits)
                        sizes = of_digits
                    scores = known.scores(sizes)
                    self.is_outdated = scores is None
                    points = _NO_POINTS if scores is None else scores
                else:
                    rejected = known.rejected()
                    self.is_outdated = rejected is None
                    if rejected is not None:
                        groups_kernels.close_groups(rejected, stride, closed)
            except Exception as error:
                point = "Score" if isinstance(known, ScoreGroups) else "Filter"
                raise PluginFailure.raised(plugin, point, cycle, error) from error
            if self.is_outdated:
                return -1
            if isinstance(known, FilterGroups):
                is_filtered = True
                stride *= known.n_groups
        if is_filtered:
            of_all: I64Array = np.empty(len(closed), dtype=np.int64)
            groups_kernels.open_points(points, closed, stride, of_all)
            points = of_all
        slot, self.best_total, self.tie_count, self.feasible_count = groups_kernels.pick_of_groups(
            self._totals,
            self._groups,
            self._least,
            self._counts,
            self._state,
            points,
            self._weight,
            draw,
        )
        return slot


# The totals of a ranking whose pods differ only in their requests.
#
# A filter that adds up and scores that compare sums (`Plugin.filter_as_sums`,
# `Plugin.score_as_requests`) need no rows while a node fits: one kernel call computes their
# totals. The row of the filter is updated only when a pod fits on no node and the reasons are
# needed.

_NO_PLAN: I64Array = np.empty(0, dtype=np.int64)

_LEAST_PART = 16
"""Past this part of the slots, one pass over all of them costs less than single ones."""

_MOST_RECIPES = 64
"""How many recipes have their totals kept: pods of different workloads often request the same."""

_MOST_RECIPES_KNOWN = 4_096
"""How many recipes are known to have been used; the totals of a new one are not kept."""


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
        self.greatest = MAX_NODE_SCORE * (recipe.item(1) + recipe.item(3))
        self._recipe = recipe
        self._is_pair = request_totals_kernels.is_pair_recipe(recipe)
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
        strategy = 0 if shares is None else shares.strategy
        lengths = len(sums), len(share_plan), len(balance_plan)
        # Slices: `concatenate` of three short arrays and a tuple takes four times as long.
        recipe: I64Array = np.empty(HEAD + sum(lengths), dtype=np.int64)
        # The constant is the first entry, which `begin` writes.
        recipe[1:HEAD] = share_weight, strategy, balance_weight, *lengths
        shares_at = HEAD + lengths[0]
        balance_at = shares_at + lengths[1]
        recipe[HEAD:shares_at] = sums
        recipe[shares_at:balance_at] = share_plan
        recipe[balance_at:] = balance_plan
        return cls(filter_row, tuple(score_rows), recipe, scratch)

    def begin(self, constant: int) -> None:
        """Add `constant` to every total from now on."""
        self._recipe[0] = constant

    def of_all(self, cluster: Cluster, totals: I32Array) -> None:
        """Write the total of every slot.

        Parameters
        ----------
        totals : (n_slots,) int32, written
            -1 where the pod does not fit.
        """
        held, key = self._held, self._recipe.tobytes()
        by_recipe = held.by_recipe
        kept = by_recipe.pop(key, None)
        if kept is None and not held.is_recipe_known(key):
            self._calculate(cluster, totals)
            return
        changed = None if kept is None else kept.changed(cluster)
        if kept is None or changed is None:
            of_recipe: I32Array = np.empty(cluster.nodes.n_slots, dtype=np.int32)
            self._calculate(cluster, of_recipe)
            kept = Followed(of_recipe, cluster)
        else:
            for slots in changed:
                # A slot that is named twice has the same total twice.
                kept.values[slots] = self.of_some(cluster.nodes, slots)
        if len(by_recipe) >= _MOST_RECIPES:
            by_recipe.popitem(last=False)
        by_recipe[key] = kept
        totals[:] = kept.values

    def _calculate(self, cluster: Cluster, totals: I32Array) -> None:
        if not self._is_pair or not request_totals_kernels.pair_request_totals(
            self._held.pairs_of(cluster), self._recipe, totals
        ):
            self._write(cluster.nodes, self._held.all_slots, totals)

    def of_some(self, nodes: NodeColumns, slots: I32Array) -> I32Array:
        """Return the totals of some slots: (k,) int32, good until the next call."""
        totals = self._one if len(slots) == 1 else np.empty(len(slots), dtype=np.int32)
        self._write(nodes, slots, totals)
        return totals

    def settle(
        self,
        nodes: NodeColumns,
        slots: I32Array,
        base: I32Array,
        settled: tuple[I32Array, I32Array, I64Array],
    ) -> None:
        """Update settled totals of some slots; see `request_totals.settle_requests`."""
        request_totals_kernels.settle_requests(
            nodes.allocatable,
            nodes.requested,
            nodes.non_zero_requested,
            self._recipe,
            slots,
            self._held.by_slot,
            base,
            settled,
        )

    def _write(self, nodes: NodeColumns, slots: I32Array, totals: I32Array) -> None:
        request_totals_kernels.request_totals(
            nodes.allocatable,
            nodes.requested,
            nodes.non_zero_requested,
            self._recipe,
            slots,
            self._held.by_slot,
            totals,
        )


# Arrays over slots that all rankings of a profile share.
#
# Allocating tens of kilobytes per cycle costs more than most kernels: the allocator returns the
# memory to the system, which must map it again.


class Followed(Generic[A]):
    """Values of all slots, and the state of the cluster that they are right for.

    Parameters
    ----------
    values : (..., n_slots)
        As of now.
    """

    __slots__ = ("_node_version", "_pods_version", "values")

    def __init__(self, values: A, cluster: Cluster) -> None:
        self.values = values
        self._node_version = cluster.nodes.node_journal.version
        self._pods_version = cluster.nodes.pods_journal.version

    def changed(self, cluster: Cluster) -> Sequence[I32Array] | None:
        """Return the slots whose values the caller brings up to date now.

        Returns
        -------
        sequence of (k,) int32, optional
            None if all have to be.
        """
        nodes = cluster.nodes
        if self.values.shape[-1] != nodes.n_slots:
            return None
        of_nodes = nodes.node_journal.since(self._node_version)
        of_pods = nodes.pods_journal.since(self._pods_version)
        if of_nodes is None or of_pods is None:
            return None
        if _LEAST_PART * (len(of_nodes) + len(of_pods)) > nodes.n_slots:
            return None
        self._node_version = nodes.node_journal.version
        self._pods_version = nodes.pods_journal.version
        return [slots for slots in (of_nodes, of_pods) if len(slots)]


class Scratch:
    """Arrays of which only those in `by_recipe` and `pairs_of` hold something between cycles.

    Attributes
    ----------
    totals : (n_slots,) int32
    swept, values : (n_slots,) int64
    feasible : (n_slots,) bool
    rows, groups, digits : (n_slots,) int32
    state : (3,) int64
        As `kernels.select.settle` keeps it.
    one_total : (1,) int32
    by_slot : (3, n_slots) int64
    all_slots : (n_slots,) int32
        Every slot, in order; not written.
    by_recipe : dict of bytes to Followed
        The recipes that were used last.
    """

    __slots__ = (
        "_known_recipes",
        "_pairs",
        "all_slots",
        "by_recipe",
        "by_slot",
        "digits",
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
        self.by_recipe: OrderedDict[bytes, Followed[I32Array]] = OrderedDict()
        self._pairs: Followed[F64Matrix] | None = None
        self._known_recipes: set[bytes] = set()
        self.state: I64Array = np.zeros(3, dtype=np.int64)
        self.one_total: I32Array = np.zeros(1, dtype=np.int32)

    def is_recipe_known(self, recipe: bytes) -> bool:
        """Return whether a recipe was used before, and record it."""
        known = self._known_recipes
        if recipe in known:
            return True
        if len(known) >= _MOST_RECIPES_KNOWN:
            known.clear()
        known.add(recipe)
        return False

    def pairs_of(self, cluster: Cluster) -> F64Matrix:
        """Return the columns of `kernels.request_totals.gather_pairs`: (PAIR_COLUMNS, n_slots)."""
        nodes, pairs = cluster.nodes, self._pairs
        changed = None if pairs is None else pairs.changed(cluster)
        if pairs is None or changed is None:
            shape = request_totals_kernels.PAIR_COLUMNS, nodes.n_slots
            pairs = self._pairs = Followed(np.empty(shape, dtype=np.float64), cluster)
            changed = (self.all_slots,)
        for slots in changed:
            request_totals_kernels.gather_pairs(
                nodes.allocatable, nodes.requested, nodes.non_zero_requested, slots, pairs.values
            )
        return pairs.values

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
        self.digits: I32Array = np.zeros(n_slots, dtype=np.int32)
        self.by_slot: I64Matrix = np.zeros((3, n_slots), dtype=np.int64)
        self.all_slots: I32Array = np.arange(n_slots, dtype=np.int32)
