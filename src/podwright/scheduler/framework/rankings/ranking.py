"""A ranking: the total score of every node for pods of one key, updated incrementally.

A ranking contains the rows of the plugins that apply to its pods. A row that depends on each
slot alone ("local") is updated from the journals; a plugin whose result for a slot depends on
other slots ("sweeping") is called in every cycle.

If all rows are local and their normalization does not depend on the other nodes, the totals are
*settled*: they change only where a slot changed. A count of slots per total gives the greatest
total and the number of ties, and the cost of a decision is proportional to the slots that
changed since the last one. The same holds if the filters and the single score that depend on
other nodes tell few groups of slots apart (`groups`). Otherwise a cycle *sweeps*: it starts from
the local totals and runs the other plugins on all slots.

Rows that follow from requests alone are not kept while a node fits (`request_totals`): one
kernel call computes their sum.

All paths give the same decision; `tests/properties` compares them with each other and with the
oracle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.scheduler.columns import Cluster, NodeColumns, Reads
from podwright.scheduler.framework.adapter import (
    PluginFailure,
    filters_per_node,
    normalize_by_plugin,
    run_filter,
    run_score,
)
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.decision import Rejection
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.rankings.groups import GroupedTotals, RequestTotals, Scratch
from podwright.scheduler.framework.rankings.rows import ScoreRow, UncacheableScore, VerdictRow
from podwright.scheduler.framework.rankings.scores import MAX_NODE_SCORE, Normalization, Scores
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import (
    normalize as normalize_kernels,
    select,
    tally as tally_kernels,
)

_CLUSTER = Reads.CLUSTER.value
_FEW_ENTRIES = 64
"""Up to so many journal entries are searched for slots that are named twice."""


class Sweep:
    """A filter that runs in every cycle, and its position among the filters."""

    __slots__ = ("plugin", "verdicts")

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.verdicts = Verdicts(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))


class Parts(NamedTuple):
    """The plugins that apply to the pods of one key.

    Parameters
    ----------
    filters : tuple of VerdictRow or Sweep
        The filters that are not skipped, in run order.
    scores : tuple of (ScoreRow, int)
        Scores that can be kept per slot, with their weights.
    sweeping_scores : tuple of (Plugin, int)
        Score plugins that run in every cycle, with their weights.
    skipped_scores : frozenset of str
        Score plugins that PreScore skipped.
    failure : PluginFailure, optional
        PreScore failed.
    """

    filters: tuple[VerdictRow | Sweep, ...] = ()
    scores: tuple[tuple[ScoreRow, int], ...] = ()
    sweeping_scores: tuple[tuple[Plugin, int], ...] = ()
    skipped_scores: frozenset[str] = frozenset()
    failure: PluginFailure | None = None


class Ranking:
    """All nodes, as pods of one key see them.

    Attributes
    ----------
    outcome : PreFilterOutcome
        The result of PreFilter for these pods.
    is_open : bool
        PreFilter leaves all nodes to choose from.
    filters : tuple of VerdictRow or Sweep
        The filters that are not skipped, in run order.
    scores : tuple of (ScoreRow, int)
        Scores that are kept per slot, with their weights.
    sweeping_scores : tuple of (Plugin, int)
        Score plugins that run in every cycle, with their weights.
    skipped_scores : frozenset of str
        Score plugins that PreScore skipped.
    failure : PluginFailure or None
        PreScore failed; cycles that get as far as scoring end with it.
    reads : int
        The `Reads` of the results of PreFilter and PreScore.
    prepared_for : tuple of int
        The versions of these `Reads` for which the results are valid.
    objects_version : int
        That of the cluster for which those versions were last compared.
    own_state : dict of str to object
        What PreFilter wrote for the pod that was ranked last, if the ranking has a key that is
        narrower than the pod's; see `Plugin.key_in_cluster`.
    may_be_narrower : bool
        Whether pods with this key may have a narrower one.
    is_settled : bool
        Whether the totals are known without going over all slots; after `refresh`.
    best_total, tie_count, feasible_count : int
        After `pick` of a settled ranking: the greatest total, -1 if no slot is feasible; how many
        slots have it; how many pass the local filters.
    """

    best_total: int
    tie_count: int
    feasible_count: int

    def __init__(
        self,
        cycle: Cycle,
        outcome: PreFilterOutcome,
        parts: Parts,
        *,
        scratch: Scratch,
        is_kept: bool,
        reads: int,
        prepared_for: tuple[int, ...],
    ) -> None:
        self.cycle = cycle
        self.outcome = outcome
        self.is_open = outcome.rejection is None and outcome.node_names is None
        self.filters = parts.filters
        self.scores = parts.scores
        self.sweeping_scores = parts.sweeping_scores
        self.skipped_scores = parts.skipped_scores
        self.failure = parts.failure
        self.reads = reads
        self.prepared_for = prepared_for
        self.objects_version = -1
        self.own_state: dict[str, Any] = {}
        self.may_be_narrower = False
        self.is_settled = False
        self._local_filters = [row for row in parts.filters if isinstance(row, VerdictRow)]
        self._sweeps = [row for row in parts.filters if isinstance(row, Sweep)]
        self._scratch = scratch
        self._requests = self._find_requests(cycle)
        self._is_sweeping = bool(self._sweeps or parts.sweeping_scores)
        self._keep_rows()
        self._plain: list[tuple[ScoreRow, int]] = []
        self._scaled: list[tuple[ScoreRow, int]] = []
        self._node_version = -1
        self._pods_version = -1
        # Of the last start: rows are shared, so that they may be newer than the totals.
        self._row_objects_version = -1
        self._row_versions: tuple[int, ...] = ()
        self._constant_sum = 0
        self._is_kept = is_kept
        self._grouped: GroupedTotals | None = None
        self._totals: I32Array = np.empty(0, dtype=np.int32)
        # Of `_follow_requests`: what the rows that do not read pods add.
        self._base: I32Array | None = None
        self._counts: I32Array = np.empty(0, dtype=np.int32)
        self._state: I64Array = np.zeros(3, dtype=np.int64) if is_kept else scratch.state

    def restart(self, cycle: Cycle) -> bool:
        """Rank for another key that differs only in the rows that were restarted.

        Returns
        -------
        bool
            False if other rows than before follow from requests alone, so that this cannot be.
        """
        requests = self._find_requests(cycle)
        if _summed(requests) != _summed(self._requests):
            return False
        self.cycle = cycle
        self.own_state = {}
        self._requests = requests
        self._node_version = -1
        return True

    def _find_requests(self, cycle: Cycle) -> RequestTotals | None:
        if self.failure is not None:
            return None
        return RequestTotals.of(self._local_filters, self.scores, cycle, self._scratch)

    # ---------------------------------------------------------------- settled totals

    def pick(self, draw: int) -> int:
        """Return one of the best slots of a settled ranking.

        -1 if there is none, or if only a sweep can find it.
        """
        grouped = self._grouped
        if grouped is None:
            slot = select.pick_settled(self._totals, self._state, draw)
            self.best_total, self.tie_count, self.feasible_count = self._state.tolist()
            return slot
        slot = grouped.pick(draw, self.cycle)
        if grouped.is_outdated:
            self._node_version = -1
            return -1
        self.best_total, self.tie_count = grouped.best_total, grouped.tie_count
        self.feasible_count = grouped.feasible_count
        return slot

    def _find_settled(self) -> None:
        """Determine `is_settled`."""
        self.is_settled = (
            not (self._grouped is None and self._is_sweeping)
            and not self._scaled
            and self.failure is None
        )
        for row in self._judging:
            if row.verdicts.may_fail:
                self.is_settled = False

    def _keep_rows(self) -> None:
        """Choose the rows that are brought up to date with every change."""
        without = _summed(self._requests)
        self._judging = [row for row in self._local_filters if row not in without]
        self._rows: list[VerdictRow | ScoreRow] = [*self._judging]
        self._rows += [row for row, _ in self.scores if row not in without]
        self._pods_rows = [row for row in self._rows if row.reads_pods]
        self._row_reads = 0
        for row in self._rows:
            self._row_reads |= row.other_reads

    def refresh(self, cluster: Cluster) -> None:
        """Bring all local totals up to date."""
        nodes = cluster.nodes
        pods_version = nodes.pods_journal.version
        is_same_world = not self._row_reads or not self._has_new_objects(cluster)
        if is_same_world and self._node_version == nodes.node_journal.version:
            if pods_version == self._pods_version:
                return
            slots = nodes.pods_journal.since(self._pods_version)
            if slots is not None:
                count = len(slots)
                if 1 < count <= _FEW_ENTRIES:
                    slots = _distinct(slots)
                # Past a quarter of the slots, one pass over all of them replaces single updates.
                if 4 * len(slots) <= nodes.n_slots + 64:
                    self._follow(cluster, slots, pods_version)
                    return
        self._start_over(cluster)

    def _has_new_objects(self, cluster: Cluster) -> bool:
        """Return whether objects that rows read, other than nodes and pods, have changed."""
        if self._row_objects_version == cluster.objects_version:
            return False
        self._row_objects_version = cluster.objects_version
        return cluster.version_of(self._row_reads) != self._row_versions

    def _refuse_huge_amounts(self) -> None:
        """Give up scores of pods' requests that may overflow, and so leave their range.

        Raises
        ------
        UncacheableScore
            For the first of them.
        """
        for row, _ in self.scores:
            if row.reads_pods:
                raise UncacheableScore(row.plugin)

    def _follow(self, cluster: Cluster, slots: I32Array, pods_version: int) -> None:
        """Re-evaluate the slots whose pods changed."""
        if cluster.nodes.has_huge_amounts:
            self._refuse_huge_amounts()
        if self._requests is not None and self._grouped is None and not self._pods_rows:
            self._follow_requests(self._requests, cluster.nodes, slots)
            self._pods_version = pods_version
            return
        before = self._pods_version
        for row in self._pods_rows:
            if row.pods_version == before:
                row.catch_up(slots, pods_version)
            # Rankings share rows, so another one may have updated this row already.
            elif row.pods_version != pods_version:
                row.bring_up_to_date(cluster, self.cycle, self.objects_version)
        totals = self._totals_of(cluster.nodes, slots)
        if self._grouped is None:
            select.settle(slots, totals, self._totals, self._counts, self._state)
        elif not self._grouped.follow(slots, totals, self.cycle):
            self._sum_up()
        self._find_settled()
        self._pods_version = pods_version

    def _follow_requests(
        self, requests: RequestTotals, nodes: NodeColumns, slots: I32Array
    ) -> None:
        """Do the same in one call of a kernel, where only the sums of requests have changed."""
        if self._base is None:
            self._base = self._sum_of_others(nodes.n_slots)
        requests.settle(nodes, slots, self._base, (self._totals, self._counts, self._state))

    def _sum_of_others(self, n_slots: int) -> I32Array:
        """Return what rows that do not read pods add, -1 where one rejects; empty if nothing."""
        is_needed = self._plain or any(row.rejects_any for row in self._judging)
        base: I32Array = np.zeros(n_slots if is_needed else 0, dtype=np.int32)
        for score_row, weight in self._plain:
            select.add_weighted(score_row.scores.values, weight, base)
        for verdict_row in self._judging:
            if verdict_row.rejects_any:
                select.reject(verdict_row.verdicts.codes, base)
        return base

    def _start_over(self, cluster: Cluster) -> None:
        """Bring every row up to date and add everything up again."""
        nodes = cluster.nodes
        if nodes.has_huge_amounts:
            self._refuse_huge_amounts()
        objects_version = cluster.objects_version
        node_version = nodes.node_journal.version
        # If a plugin fails below, nothing here is up to date.
        self._node_version = -1
        for row in self._rows:
            # Most rows of a pod with a new key are shared and current; skip their update.
            if (
                row.reads_pods
                or row.node_version != node_version
                or row.objects_version != objects_version
            ):
                row.bring_up_to_date(cluster, self.cycle, objects_version)
        self._sort_scores()
        self._scratch.fit(nodes.n_slots)
        totals = self._totals
        if not self._is_kept:
            totals = self._totals = self._scratch.totals
        elif len(totals) != nodes.n_slots:
            totals = self._totals = np.empty(nodes.n_slots, dtype=np.int32)
        requests = self._requests
        if requests is not None:
            requests.begin(self._constant_sum)
            requests.of_all(cluster, totals)
            self._add_plain(self._scratch.all_slots, totals)
        elif len(self._plain) == 2:
            (first, first_weight), (second, second_weight) = self._plain
            select.add_up_pair(
                first.scores.values,
                first_weight,
                second.scores.values,
                second_weight,
                self._constant_sum,
                totals,
            )
        else:
            totals.fill(self._constant_sum)
            for score_row, weight in self._plain:
                select.add_weighted(score_row.scores.values, weight, totals)
        for verdict_row in self._judging:
            if verdict_row.rejects_any:
                select.reject(verdict_row.verdicts.codes, totals)
        # Rows are evaluated for live slots only; the values of the others mean nothing.
        if nodes.n_alive != nodes.n_slots:
            totals[~nodes.alive] = -1
        self._base = None
        self._sum_up()
        self._find_settled()
        self._row_objects_version = objects_version
        self._row_versions = cluster.version_of(self._row_reads)
        self._node_version = node_version
        self._pods_version = nodes.pods_journal.version

    def _sum_up(self) -> None:
        """Count the slots per total, or per group and total."""
        self._grouped = self._group()
        if self._grouped is not None:
            return
        if not self._is_kept:
            # It is used once, before a slot changes; a sweep counts for itself.
            if not self._is_sweeping:
                select.sum_up(self._totals, self._state)
            return
        largest = self._constant_sum + self._greatest_plain
        if len(self._counts) != largest + 1:
            self._counts = np.zeros(largest + 1, dtype=np.int32)
        select.count_totals(self._totals, self._counts, self._state)

    def _group(self) -> GroupedTotals | None:
        """Return the totals per group of slots, if that is how the sweeping plugins see them."""
        if not self._is_kept or not self._is_sweeping or self.failure is not None or self._scaled:
            return None
        between = self._constant_sum, self._constant_sum + self._greatest_plain
        return GroupedTotals.of(
            [sweep.plugin for sweep in self._sweeps],
            self.sweeping_scores,
            self.cycle,
            self._totals,
            between,
            self._scratch,
        )

    @property
    def _greatest_plain(self) -> int:
        """The most that the rows which differ from slot to slot can add."""
        greatest = MAX_NODE_SCORE * sum([weight for _, weight in self._plain])
        return greatest if self._requests is None else greatest + self._requests.greatest

    def _sort_scores(self) -> None:
        """Separate rows that are equal for all slots from the others."""
        self._plain = []
        self._scaled = []
        self._constant_sum = 0
        added_up = () if self._requests is None else self._requests.score_rows
        for row, weight in self.scores:
            if row in added_up:
                continue
            if row.constant is not None:
                self._constant_sum += weight * _normalized_constant(row.plugin, row.constant)
            elif row.plugin.normalization is Normalization.NONE:
                self._plain.append((row, weight))
            else:
                self._scaled.append((row, weight))

    def _totals_of(self, nodes: NodeColumns, slots: I32Array) -> I32Array:
        """Return the local totals of some slots, -1 if a local filter rejects one: (k,) int32."""
        requests = self._requests
        if requests is None:
            totals: I32Array = np.full(len(slots), self._constant_sum, dtype=np.int32)
        else:
            totals = requests.of_some(nodes, slots)
        if self._plain:
            self._add_plain(slots, totals)
        for row in self._judging:
            if row.rejects_any:
                totals[row.verdicts.codes[slots] != 0] = -1
        return totals

    def _add_plain(self, slots: I32Array, totals: I32Array) -> None:
        """Add the rows that differ from slot to slot to the totals of feasible ones."""
        for row, weight in self._plain:
            # -1 marks a slot that does not fit, and adding a score would hide it.
            added = (weight * row.scores.values[slots]).astype(np.int32)
            np.add(totals, added, out=totals, where=totals >= 0)

    # ---------------------------------------------------------------- sweeping

    def sweep_filters(self, cluster: Cluster, *, keeps_failures: bool = False) -> I64Array:
        """Run the sweeping filters too.

        Parameters
        ----------
        cluster : Cluster
        keeps_failures : bool
            Whether a failure at a node is a verdict, since the cycle may not evaluate this node.

        Returns
        -------
        (n_slots,) int64
            -1 where a filter rejects the slot, otherwise the local total so far. The array
            is used again in the next cycle. The reasons need `write_rows`.
        """
        self._scratch.fit(len(self._totals))
        swept = self._scratch.swept
        swept[:] = self._totals
        live = cluster.live_slots()
        for sweep in self._sweeps:
            verdicts = sweep.verdicts
            if len(verdicts.codes) != len(swept):
                verdicts.lengthen(len(swept))
            verdicts.clear()
            verdicts.rows = live
            if filters_per_node(sweep.plugin):
                # A Python call per node: exclude the slots that are not needed.
                self.write_rows(cluster)
                verdicts.rows = self._still_undecided(sweep, live)
            run_filter(sweep.plugin, self.cycle, verdicts, keeps_failures=keeps_failures)
            normalize_kernels.merge_verdicts(verdicts.codes, swept)
        return swept

    def sweep_scores(self, totals: I64Array) -> I64Array:
        """Add the rows that depend on which nodes are feasible.

        Parameters
        ----------
        totals : (n_slots,) int64, written
            Local totals; -1 where not feasible.

        Returns
        -------
        (n_slots,) int64
            `totals`.

        Raises
        ------
        PluginFailure
            If a plugin fails or gives a score that is out of range.
        """
        if self.failure is not None:
            raise self.failure
        for row, weight in self._scaled:
            is_reversed = row.plugin.normalization is Normalization.DEFAULT_REVERSED
            normalize_kernels.add_default_normalized(row.scores.values, totals, weight, is_reversed)
        if self.sweeping_scores:
            scratch = self._scratch
            count = normalize_kernels.feasible_rows(totals, scratch.feasible, scratch.rows)
            rows = scratch.rows[:count]
            for plugin, weight in self.sweeping_scores:
                scores = Scores(scratch.values, rows, scratch.feasible)
                run_score(plugin, self.cycle, scores)
                normalize(plugin, self.cycle, scores)
                normalize_kernels.add_rows(scores.values, rows, totals, weight)
        return totals

    def _still_undecided(self, until: Sweep, live: I32Array) -> I32Array:
        """Return the live slots that no filter before `until` rejects."""
        undecided: Mask = np.ones(len(live), dtype=np.bool_)
        for row in self.filters:
            if row is until:
                break
            undecided &= row.verdicts.codes[live] == 0
        return live[undecided]

    # ---------------------------------------------------------------- why not

    def write_rows(self, cluster: Cluster) -> None:
        """Update the filter row that the totals did not need; it contains the reasons."""
        if self._requests is not None:
            row = self._requests.filter_row
            row.bring_up_to_date(cluster, self.cycle, cluster.objects_version)

    def raise_failure(self, examined: I32Array) -> None:
        """End the cycle if a filter returned an error for an evaluated node.

        Parameters
        ----------
        examined : (k,) int32
            The evaluated slots, in the order in which they were visited.

        Raises
        ------
        PluginFailure
            With the first such error, in the order of filters and nodes.
        """
        if not any(row.verdicts.may_fail for row in self.filters):
            return
        self.write_rows(self.cycle.cluster)
        undecided = examined
        for row in self.filters:
            rejected = row.verdicts.codes[undecided] != 0
            if row.verdicts.may_fail:
                for slot in undecided[rejected].tolist():
                    status = row.verdicts.status_of(row.verdicts.codes.item(slot))
                    if status.code == Code.ERROR:
                        raise PluginFailure(row.plugin, "Filter", status.failure)
            # A filter is not run on a node that an earlier one rejects.
            undecided = undecided[~rejected]

    def first_rejection(self, slot: int) -> Status:
        """Return the status of the first filter that rejects `slot`; OK if none does."""
        for row in self.filters:
            code = row.verdicts.codes.item(slot)
            if code:
                return row.verdicts.status_of(code).by(row.plugin.name)
        return Status.OK

    def count_rejections(self, slots: I32Array) -> tuple[Rejection, ...]:
        """Group `slots` by the first filter that rejects them and by its status.

        Parameters
        ----------
        slots : (k,) int32
            The slots that were evaluated.
        """
        undecided = slots
        found: list[Rejection] = []
        for row in self.filters:
            if isinstance(row, VerdictRow) and not row.rejects_any:
                continue
            codes, counts, undecided = tally_kernels.tally(row.verdicts.codes, undecided)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                status = row.verdicts.status_of(code).by(row.plugin.name)
                found.append(Rejection(status, count))
        return tuple(found)


def normalize(plugin: Plugin, cycle: Cycle, scores: Scores) -> None:
    """Normalise raw scores at `scores.rows` in place and check their range.

    Raises
    ------
    PluginFailure
        If the plugin fails or a score is not in [0, 100].
    """
    kind = plugin.normalization
    if kind is Normalization.CUSTOM:
        normalize_by_plugin(plugin, cycle, scores)
    elif kind is not Normalization.NONE:
        # A slice takes a tenth of the time of an index.
        rows = slice(None) if len(scores.rows) == len(scores.values) else scores.rows
        values: I64Array = np.full(len(scores.values), -1, dtype=np.int64)
        values[rows] = 0
        is_reversed = kind is Normalization.DEFAULT_REVERSED
        normalize_kernels.add_default_normalized(scores.values, values, 1, is_reversed)
        scores.values[rows] = values[rows]
    if not plugin.scores_in_range or cycle.cluster.nodes.has_huge_amounts:
        least, greatest = normalize_kernels.extremes(scores.values, scores.rows)
        if least < 0 or greatest > MAX_NODE_SCORE:
            wrong = least if least < 0 else greatest
            raise PluginFailure(
                plugin,
                "score range",
                f"returns an invalid score {wrong}, it should in the range of"
                f" [0, {MAX_NODE_SCORE}] after normalizing",
            )


def _distinct(slots: I32Array) -> I32Array:
    """Leave out slots that are named again; a pod's placement and its news are two entries."""
    named: list[int] = slots.tolist()
    if named.count(named[0]) == len(named):
        # A pod was placed, its devices were allocated, and then it was seen with its node.
        return slots[:1]
    distinct = set(named)
    if len(distinct) == len(named):
        return slots
    # The order of the set has no effect: local rows evaluate each slot alone.
    return np.array(list(distinct), dtype=np.int32)


def _summed(requests: RequestTotals | None) -> tuple[VerdictRow | ScoreRow, ...]:
    """Return the rows that requests alone determine."""
    return () if requests is None else (requests.filter_row, *requests.score_rows)


def _normalized_constant(plugin: Plugin, raw: int) -> int:
    """Return the normalized score of a row that is `raw` for all slots."""
    if plugin.normalization is Normalization.NONE:
        return raw
    # Scores are scaled by the greatest one, here `raw`; zeros are reversed but not scaled.
    # Upstream: plugins/helper/normalize_score.go, DefaultNormalizeScore
    if plugin.normalization is Normalization.DEFAULT_REVERSED:
        return 0 if raw > 0 else MAX_NODE_SCORE
    return MAX_NODE_SCORE if raw > 0 else raw


def is_local(reads: Reads) -> bool:
    """Return whether results that depend on `reads` can be updated slot by slot."""
    # Operations on flags take much longer than those on integers.
    return not reads.value & _CLUSTER
