"""A cycle with extenders.

The steps are those of `PluginRunner.decide`, and two more: after the filters, extenders filter the
nodes that passed; after the scores, extenders add theirs. From the first extender on, nodes are
identified by name, because extenders may return nodes that do not exist, or a node twice.

Upstream: pkg/scheduler/schedule_one.go, `findNodesThatFitPod`, `prioritizeNodes`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import DRAW_BITS, EXTENDER_STREAM, TIE_STREAM, Pod, draw
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.decision import Decision, Diagnosis, Rejection
from podwright.scheduler.framework.extenders.extender_calls import (
    EXTENDER,
    Answers,
    CalledExtender,
    ExtenderAnswers,
    ExtenderError,
    Steps,
)
from podwright.scheduler.framework.extenders.extender_verbs import (
    Survivors,
    filter_steps,
    prioritize_steps,
    wrap_int64,
)
from podwright.scheduler.framework.node_search import NodeSearch
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.post_filter import FilteredCycle
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.uncached_scores import (
    UncachedScores,
    scores_of_replaced,
)
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import select

_MOST_ENTRIES = 1 << 20
"""More nodes than any reply contains; separates the draws of two cycles."""


class ExtenderCycle(msgspec.Struct, kw_only=True):
    """The record of a cycle with extenders, for its explanation.

    Parameters
    ----------
    survivors : Survivors
        The nodes that remain after the extenders.
    statuses : dict of str to Status
        Why extenders reject nodes.
    replaced_scores : UncachedScores, optional
        Scores of plugins, if an extender replaced the nodes.
    totals : dict of str to int
        Per remaining node; empty if nothing was scored.
    winners : tuple of str
        The nodes from which one is chosen.
    tied : tuple of str
        All nodes with the greatest total.
    answers : tuple of ExtenderAnswers
        The results of each extender.
    only_nominated : bool
        Whether the pod's nominated node is feasible and no other node was evaluated.
    """

    survivors: Survivors = Survivors(())
    statuses: dict[str, Status] = {}
    replaced_scores: UncachedScores | None = None
    totals: dict[str, int] = {}
    winners: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    answers: tuple[ExtenderAnswers, ...] = ()
    only_nominated: bool = False


class ExtenderRun:
    """Runs one cycle of one pod.

    Parameters
    ----------
    node_search : NodeSearch
        Which nodes are evaluated.
    extenders : tuple of CalledExtender
        The extenders that are interested in the pod.
    seed : int
        Of all draws.
    """

    def __init__(
        self,
        node_search: NodeSearch,
        extenders: tuple[CalledExtender, ...],
        pod: Pod,
        cycle_number: int,
        *,
        profile: Profile,
        cluster: Cluster,
        seed: int,
    ) -> None:
        self._node_search = node_search
        self._profile = profile
        self._seed = seed
        self._extenders = extenders
        self._pod = pod
        self._cycle_number = cycle_number
        self._cluster = cluster
        self._answers = Answers()
        self.record = ExtenderCycle()
        self.failed: FilteredCycle | None = None

    def steps(self, ranking: Ranking) -> Steps[Decision]:
        """Decide for a pod that passed PreFilter; there is at least one node.

        Raises
        ------
        PluginFailure
            If a plugin fails.
        """
        try:
            return (yield from self._steps(ranking))
        except ExtenderError as error:
            return Decision(pod=self._pod, error=Status.error(str(error)))
        finally:
            self.record.answers = self._answers.all()

    def _steps(self, ranking: Ranking) -> Steps[Decision]:
        cluster, names = self._cluster, self._cluster.nodes.names
        is_partial = self._node_search.may_leave_out(self._pod, ranking.outcome)
        # Other calls may reuse the array of the ranking while this cycle is suspended.
        totals = ranking.sweep_filters(cluster, keeps_failures=is_partial).copy()
        ranking.write_rows(cluster)
        nominated = NominatedCheck(self._profile, ranking, self._pod, cluster)
        nominated.apply(totals)
        statuses = self.record.statuses = {}
        first = self._pod.status.nominated_node_name
        if not self._node_search.covers(first):
            first = ""
        own = cluster.nodes.slot_of.get(first)
        if own is not None and totals[own] >= 0:
            left = yield from self._try_nominated(names[own], statuses)
            if left.names:
                self.record.only_nominated = True
                return (yield from self._choose(ranking, totals, left, len(statuses)))
        search = self._node_search.run(totals, ranking.outcome)
        examined = self._node_search.evaluated_slots(first, search, ranking.first_rejection)
        nominated.confine_to(examined)
        rejected = {names[slot] for slot in examined[totals[examined] < 0].tolist()}
        # A status of the nominated node also moves the start of the next search.
        searched_count = int(np.count_nonzero(totals[search.examined] < 0))
        moved = len(statuses.keys() | rejected) - searched_count
        self._node_search.next_start = (search.next_start + moved) % self._node_search.node_count
        ranking.raise_failure(search.examined)
        feasible = search.examined[totals[search.examined] >= 0]
        found = Survivors(tuple([names[slot] for slot in feasible.tolist()]))
        left = yield from self._filter(found, statuses)
        self.record.survivors = left
        rejected_count = len(statuses.keys() | rejected)
        if left.names:
            return (yield from self._choose(ranking, totals, left, rejected_count))
        return self._unschedulable(
            ranking, examined, nominated, rejected_count, by_extenders=len(feasible) > 0
        )

    def _try_nominated(self, name: str, statuses: dict[str, Status]) -> Steps[Survivors]:
        """Call the extenders for the nominated node alone; an error counts as a rejection."""
        try:
            left = yield from self._filter(Survivors((name,)), statuses)
        except ExtenderError:
            return Survivors(())
        self.record.survivors = left
        return left

    def _filter(self, found: Survivors, statuses: dict[str, Status]) -> Steps[Survivors]:
        return filter_steps(
            self._extenders, self._pod, found, self._cluster.nodes, statuses, self._answers
        )

    # ---------------------------------------------------------------- scores and choice

    def _choose(
        self, ranking: Ranking, totals: I64Array, left: Survivors, rejected_count: int
    ) -> Steps[Decision]:
        """Score the remaining nodes and choose the best."""
        names = left.names
        if len(names) == 1:
            self.record.winners = self.record.tied = names
            return self._decided(names[0], left, rejected_count, tie_count=1)
        by_plugins = self._plugin_totals(ranking, totals, left)
        extra = yield from prioritize_steps(
            self._extenders, self._pod, left, self._cluster.nodes, self._answers
        )
        sums = {name: wrap_int64(by_plugins[name] + extra.get(name, 0)) for name in names}
        best = max(sums.values())
        self.record.totals = sums
        self.record.tied = tuple([name for name, total in sums.items() if total == best])
        scored = tuple([name for name in self.record.tied if name in extra])
        self.record.winners = scored or self.record.tied
        chosen = self._pick(names, sums, extra)
        return self._decided(
            chosen, left, rejected_count, tie_count=len(self.record.winners), total=sums[chosen]
        )

    def _plugin_totals(
        self, ranking: Ranking, totals: I64Array, left: Survivors
    ) -> Mapping[str, int]:
        """Return the sum of the plugins' weighted scores for each remaining node."""
        cluster = self._cluster
        if left.nodes is not None:
            scores = scores_of_replaced(self._profile, self._pod, cluster, left.nodes)
            self.record.replaced_scores = scores
            return scores.totals
        slots: I32Array = np.array(
            [cluster.nodes.slot_of[name] for name in left.names], dtype=np.int32
        )
        is_left: Mask = np.zeros(len(totals), dtype=np.bool_)
        is_left[slots] = True
        totals[~is_left] = -1
        ranking.sweep_scores(totals)
        return dict(zip(left.names, totals[slots].tolist(), strict=True))

    def _pick(
        self, names: tuple[str, ...], sums: Mapping[str, int], extra: Mapping[str, int]
    ) -> str:
        """Apply the tie rule.

        Notes
        -----
        1.36 gives each node that an extender scored a random number, which decides between
        equal totals; the others have 0. So a scored node is drawn among equal ones, and the
        heap alone orders nodes without an extender's score.
        """
        winners = self.record.winners
        match self._profile.tie_rule:
            case TieRule.FIRST:
                return min(winners)
            case TieRule.DRAWN:
                random = draw(self._seed, TIE_STREAM, self._cycle_number)
                return winners[random * len(winners) >> DRAW_BITS]
            case TieRule.HEAP:
                # Each cycle has its own range of counters, so that it can be run again alone.
                first = self._cycle_number * _MOST_ENTRIES
                keys = [
                    (sums[name], 1 + draw(self._seed, EXTENDER_STREAM, first + i))
                    if name in extra
                    else (sums[name], 0)
                    for i, name in enumerate(names)
                ]
                # The kernel takes one integer per node; ranks have the order of the pairs.
                rank_of = {key: rank for rank, key in enumerate(sorted(set(keys)))}
                ranks: I64Array = np.array([rank_of[key] for key in keys], dtype=np.int64)
                order: I32Array = np.arange(len(names), dtype=np.int32)
                return names[select.pick_by_heap(ranks, order)]

    def _decided(
        self,
        name: str,
        left: Survivors,
        rejected_count: int,
        *,
        tie_count: int,
        total: int | None = None,
    ) -> Decision:
        return Decision(
            pod=self._pod,
            node=name,
            slot=self._cluster.nodes.slot_of.get(name, -1),
            feasible_count=len(left.names),
            evaluated_count=len(left.names) + rejected_count,
            tie_count=tie_count,
            total=total,
        )

    # ---------------------------------------------------------------- no node

    def _unschedulable(
        self,
        ranking: Ranking,
        evaluated: I32Array,
        nominated: NominatedCheck,
        rejected_count: int,
        *,
        by_extenders: bool,
    ) -> Decision:
        """Build the diagnosis; a status of an extender replaces those of filters."""
        nodes, statuses = self._cluster.nodes, self.record.statuses
        outcome = ranking.outcome
        by_nominated = {nodes.names[slot]: s for slot, s in nominated.rejected.items()}
        examined = nominated.without_rejected(evaluated)
        by_filters = [rejection.status for rejection in ranking.count_rejections(examined)]
        # Every plugin that rejected a node counts, even where an extender gave another reason.
        of_plugins = [*by_filters, *by_nominated.values()]
        overridden = {nodes.slot_of[name] for name in statuses if name in nodes.slot_of}
        counted = examined[~np.isin(examined, list(overridden))]
        rejections = [
            *(Rejection(s, 1) for name, s in by_nominated.items() if name not in statuses),
            *ranking.count_rejections(counted),
            *(Rejection(status, 1) for status in statuses.values()),
        ]
        absent = self._node_search.node_count - rejected_count
        if outcome.node_names is not None and absent > 0:
            first = self._pod.status.nominated_node_name
            status = outcome.absent_status(nominated.plugin_against(first))
            rejections.append(Rejection(status, absent))
        rejected_by = set(outcome.restricted_by)
        rejected_by |= {status.plugin for status in of_plugins if status.code != Code.PENDING}
        if by_extenders:
            rejected_by.add(EXTENDER)
        pending = {status.plugin for status in of_plugins if status.code == Code.PENDING}
        self.failed = FilteredCycle(
            self._pod,
            self._profile,
            ranking,
            evaluated,
            nominated,
            extender_statuses=statuses,
            extenders=self._extenders,
        )
        return Decision(
            pod=self._pod,
            evaluated_count=rejected_count,
            diagnosis=Diagnosis(
                node_count=self._node_search.node_count,
                rejections=tuple(rejections),
                rejected_by=frozenset(rejected_by),
                pending=frozenset(pending),
            ),
        )
