"""The runner of one profile: runs scheduling cycles on one cluster.

Follows upstream's order: PreFilter, the nominated node alone, Filter, PreScore, Score,
Normalize, weights, and the choice among equals. Upstream: pkg/scheduler/schedule_one.go,
`schedulePod`, `findNodesThatFitPod`, `prioritizeNodes`, `selectHost`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import TIE_STREAM, Pod, draw
from podwright.scheduler.columns import NOT_STARTED, Cluster
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.decision import Decision, Diagnosis, PostFilterResult, Rejection
from podwright.scheduler.framework.extenders.extender_calls import (
    CalledExtender,
    CallExtender,
    Steps,
    interested_in,
    run_steps,
)
from podwright.scheduler.framework.extenders.extender_cycle import ExtenderCycle, ExtenderRun
from podwright.scheduler.framework.node_search import NodeSearch, SearchPosition
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.observing.explain import CycleRecording, Explanation
from podwright.scheduler.framework.plugin import Placement
from podwright.scheduler.framework.post_filter import (
    FilteredCycle,
    post_filter_steps,
    run_post_filters,
)
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.ranking_cache import RankingCache
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import select
from podwright.scheduler.kernels._jit import count_cycle

FilterNode: TypeAlias = Callable[[str], Status | None]
"""Returns the status of the filters for one node, without its nominated pods."""

Suggest: TypeAlias = Callable[[FilterNode], str]
"""Returns the node to evaluate alone before all others; "" if there is none."""


OnScored: TypeAlias = Callable[[Pod, I64Array, I32Array], None]


class PluginRunner:
    """Decides for the pods of one profile by calling its plugins: a `Runner`.

    Parameters
    ----------
    profile : Profile
    cluster : Cluster
        Read; placing the pod is the caller's business.
    seed : int
        Of all draws.
    extenders : tuple of CalledExtender
        In call order; see `steps`.
    keeps_totals : bool
        Whether `scored` is needed.
    position : SearchPosition, optional
        That of all profiles of a scheduler; by default the runner's own.

    Attributes
    ----------
    extender_cycle : ExtenderCycle, optional
        The record of the last cycle, if extenders were called.
    node_search : NodeSearch
        Which nodes are evaluated.
    scored : (totals, slots), optional
        Of the last cycle, if it scored: (n_slots,) int64, -1 where not feasible, and the
        feasible slots in the order in which they were found, (k,) int32. The caller's own.
    on_scored : callable, optional
        Called with the pod and `scored` in every cycle that scores; only with `keeps_totals`.
    """

    def __init__(
        self,
        profile: Profile,
        cluster: Cluster,
        *,
        seed: int = 0,
        extenders: tuple[CalledExtender, ...] = (),
        keeps_totals: bool = False,
        position: SearchPosition | None = None,
    ) -> None:
        self.profile = profile
        self.cluster = cluster
        self.seed = seed
        self.extenders = extenders
        self.extender_cycle: ExtenderCycle | None = None
        self.keeps_totals = keeps_totals
        self.scored: tuple[I64Array, I32Array] | None = None
        self.on_scored: OnScored | None = None
        self.node_search = NodeSearch(profile, cluster, extenders, position)
        self._rankings = RankingCache(profile, cluster)
        self._found: I64Array = np.zeros(3, dtype=np.int64)
        self._failed: FilteredCycle | None = None
        self._last: Ranking | None = None
        self._is_plain = (
            profile.tie_rule is TieRule.DRAWN
            and profile.percentage_of_nodes_to_score is None
            and not keeps_totals
            and not self.node_search.stops_at_one
        )

    # ---------------------------------------------------------------- deciding

    def decide(self, pod: Pod, *, cycle_number: int, suggest: Suggest | None = None) -> Decision:
        """Choose a node for `pod`, or return why there is none.

        Parameters
        ----------
        pod : Pod
        cycle_number : int
            Counter of the draw; the same number gives the same choice among equals.
        suggest : callable, optional
            Called after PreFilter has accepted the pod; a nominated pod tries its nominated
            node instead. Only with `keeps_totals`.
        """
        cluster = self.cluster
        count_cycle(cluster.nodes.n_alive)
        self.scored = None
        is_quick = (
            self._is_plain
            and self.node_search.placement is None
            and not cluster.nominations.by_node
            and not pod.status.nominated_node_name
        )
        try:
            if not is_quick:
                self._last = ranking = self._rankings.of(pod)
                return self._decide_fully(pod, ranking, cycle_number, suggest)
            self._last = ranking = self._rankings.narrowest(pod)
            decision = self._pick(pod, ranking, cycle_number)
            if decision is not None:
                return decision
            if ranking.own_state:
                # It belongs to several pods, whose rejections differ.
                self._last = ranking = self._rankings.of(pod)
                decision = self._pick(pod, ranking, cycle_number)
            return decision or self._decide_fully(pod, ranking, cycle_number, suggest)
        except PluginFailure as failure:
            return Decision(pod=pod, error=failure.status)

    def repeat(self, pod: Pod, node: str) -> Decision | None:
        """Return the decision for a node that `decide` is known to choose for `pod`.

        Only the node is decided on: filters and scores do not run, so that the counts of nodes and
        the total are unknown (-1).

        Returns
        -------
        Decision, optional
            None if a decision would change the runner: `decide` is needed then.
        """
        cluster = self.cluster
        slot = cluster.nodes.slot_of.get(node)
        if (
            slot is None
            or not self._is_plain
            or self.node_search.next_start
            or cluster.nominations.by_node
            or pod.status.nominated_node_name
        ):
            return None
        try:
            ranking = self._rankings.prepared(pod)
        except PluginFailure:
            return None
        if ranking is None or not ranking.is_open:
            return None
        self._last = ranking
        return Decision(
            pod=pod,
            node=node,
            slot=slot,
            feasible_count=-1,
            evaluated_count=-1,
            tie_count=-1,
            total=-1,
        )

    def _pick(self, pod: Pod, ranking: Ranking, cycle_number: int) -> Decision | None:
        """Choose one of the best nodes of a settled ranking; None: only a sweep can."""
        if not (ranking.is_open and ranking.is_settled):
            return None
        slot = ranking.pick(draw(self.seed, TIE_STREAM, cycle_number))
        if slot < 0:
            return None
        nodes, feasible = self.cluster.nodes, ranking.feasible_count
        return Decision(
            pod=pod,
            node=nodes.names[slot],
            slot=slot,
            feasible_count=feasible,
            evaluated_count=nodes.n_alive,
            tie_count=ranking.tie_count,
            total=ranking.best_total if feasible > 1 else None,
        )

    @property
    def ranking(self) -> Ranking:
        """The ranking of the last decision; valid until the next one."""
        assert self._last is not None, "nothing was decided yet"
        return self._last

    @property
    def skipped(self) -> tuple[frozenset[str], frozenset[str]]:
        """The filters and the scores that had nothing to do for the last pod."""
        ranking = self.ranking
        return ranking.outcome.skipped, ranking.skipped_scores

    @property
    def weights(self) -> Mapping[str, int]:
        """The weight of each score plugin, by name."""
        return {plugin.name: weight for plugin, weight in self.profile.score}

    def with_weights(self, weights: Mapping[str, int]) -> PluginRunner:
        """Return a runner over the same cluster that uses other weights; the rest stay."""
        score = tuple(
            (plugin, weights.get(plugin.name, weight)) for plugin, weight in self.profile.score
        )
        runner = PluginRunner(
            msgspec.structs.replace(self.profile, score=score),
            self.cluster,
            seed=self.seed,
            extenders=self.extenders,
        )
        runner.node_search.next_start = self.node_search.next_start
        return runner

    def own_cycle(self, pod: Pod) -> Cycle:
        """Return the cycle of the last decision as that of `pod` alone, from Reserve on."""
        ranking = self.ranking
        cycle = ranking.cycle.own(pod)
        cycle.take(ranking.own_state)
        return cycle

    def search_position(self) -> int:
        """Return where the next search for nodes starts; valid until nodes are added or deleted."""
        return self.node_search.next_start

    def restore_search_position(self, position: object) -> None:
        """Start the next search at a position that `search_position` returned."""
        assert isinstance(position, int), position
        self.node_search.next_start = position

    def confine(self, slots: I32Array | None) -> None:
        """Evaluate only these nodes, in visiting order, from the next decision on; None: all.

        Upstream: pkg/scheduler/backend/cache/snapshot.go, AssumePlacement, ForgetPlacement
        """
        has_all = slots is None or len(slots) == self.cluster.nodes.n_alive
        self.node_search.placement = None if has_all else slots

    def explain(
        self,
        pod: Pod,
        *,
        cycle_number: int,
        now_ns: int = NOT_STARTED,
        call_extender: CallExtender | None = None,
        post_filter: bool = True,
    ) -> Explanation:
        """Run one cycle for a pod and record every result; the cluster is not changed.

        If the pod fits on no node, the decision contains what PostFilter would do.

        Parameters
        ----------
        cycle_number : int
            As for `decide`: the same number gives the same decision.
        now_ns : int
            The current time, in nanoseconds since 1970; pods that have not started count as started
            now.
        call_extender : callable, optional
            Makes the calls to extenders; required if an extender is interested in the pod.
        post_filter : bool
            False leaves out what PostFilter would do.
        """
        next_start = self.node_search.next_start
        decision = run_steps(self.steps(pod, cycle_number=cycle_number), call_extender)
        if post_filter:
            steps = self.post_filter_steps(decision, cycle_number=cycle_number, now_ns=now_ns)
            decision = run_steps(steps, call_extender)
        self.node_search.next_start = next_start
        return CycleRecording(
            pod,
            decision,
            profile=self.profile,
            cluster=self.cluster,
            node_search=self.node_search,
            ranking_of=self.ranking_of,
            extender_cycle=self.extender_cycle,
        ).run()

    def steps(self, pod: Pod, *, cycle_number: int) -> Steps[Decision]:
        """Choose a node for `pod`; yield the calls to extenders.

        Parameters
        ----------
        pod : Pod
        cycle_number : int
            As for `decide`, which this is if no extender is interested in the pod.

        Yields
        ------
        ExtenderCall
            To be sent the `ExtenderReply`. The cluster must not change in between: hold
            changes back until the cycle ends, as upstream's works on a snapshot.

        Returns
        -------
        Decision
            An extender may choose a node that does not exist; its slot is -1 then. An extender
            that fails and is not ignorable ends the cycle with an error.
        """
        self.extender_cycle = None
        extenders = interested_in(pod, self.extenders)
        if not extenders:
            return self.decide(pod, cycle_number=cycle_number)
        try:
            count_cycle(self.cluster.nodes.n_alive)
            self._last = ranking = self.ranking_of(pod)
            if not self.node_search.node_count or ranking.outcome.rejection is not None:
                decision = self._decide_fully(pod, ranking, cycle_number)
                if self._failed is not None:
                    # They are not called to filter, but may be for preemption.
                    self._failed.extenders = extenders
                return decision
            run = ExtenderRun(
                self.node_search,
                extenders,
                pod,
                cycle_number,
                profile=self.profile,
                cluster=self.cluster,
                seed=self.seed,
            )
            self.extender_cycle = run.record
            decision = yield from run.steps(ranking)
            self._failed = run.failed
        except PluginFailure as failure:
            return Decision(pod=pod, error=failure.status)
        return decision

    def post_filter_steps(
        self, decision: Decision, *, cycle_number: int, now_ns: int
    ) -> Steps[Decision]:
        """Run the PostFilter plugins, and yield their calls to extenders; see `post_filter`."""
        failed = self._begin_post_filter(decision, cycle_number, now_ns)
        if failed is None:
            return decision
        return _after_post_filter(decision, (yield from post_filter_steps(failed)))

    def post_filter(self, decision: Decision, *, cycle_number: int, now_ns: int) -> Decision:
        """Run the PostFilter plugins for a pod that fits on no node; nothing is changed.

        Parameters
        ----------
        decision : Decision
            The last result of `decide`. PostFilter runs only if no node fits.
        cycle_number : int
            Counter of draws.
        now_ns : int
            The current time, in nanoseconds since 1970.

        Returns
        -------
        Decision
            The same with `post_filter`, and with the message that it adds.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `schedulingCycle`.
        """
        failed = self._begin_post_filter(decision, cycle_number, now_ns)
        if failed is None:
            return decision
        return _after_post_filter(decision, run_post_filters(failed))

    def _begin_post_filter(
        self, decision: Decision, cycle_number: int, now_ns: int
    ) -> FilteredCycle | None:
        """Return the cycle for the PostFilter plugins; None if there is none."""
        diagnosis = decision.diagnosis
        if diagnosis is None or not diagnosis.node_count or not self.profile.post_filter:
            return None
        failed = self._failed
        assert failed is not None, f"pod {decision.pod.key}: there was no cycle"
        assert failed.pod is decision.pod, f"the last cycle was for {failed.pod.key}"
        failed.seed, failed.cycle_number, failed.now_ns = self.seed, cycle_number, now_ns
        return failed

    def _decide_fully(
        self, pod: Pod, ranking: Ranking, cycle_number: int, suggest: Suggest | None = None
    ) -> Decision:
        cluster = self.cluster
        if not self.node_search.node_count:
            return Decision(pod=pod, diagnosis=Diagnosis(node_count=0))
        outcome = ranking.outcome
        if outcome.rejection is not None:
            self._failed = FilteredCycle(pod, self.profile, ranking)
            return self._rejected_by_pre_filter(pod, outcome)
        is_partial = suggest is not None or self.node_search.may_leave_out(pod, outcome)
        totals = ranking.sweep_filters(cluster, keeps_failures=is_partial)
        if suggest is not None or cluster.nominated:
            ranking.write_rows(cluster)
        first = self._first_node(pod, ranking, suggest)
        nominated = NominatedCheck(self.profile, ranking, pod, cluster)
        nominated.apply(totals)
        own = self._passing_slot(first, totals)
        if own >= 0:
            return Decision(
                pod=pod,
                node=cluster.nodes.names[own],
                slot=own,
                feasible_count=1,
                evaluated_count=1,
                tie_count=1,
            )
        search = self.node_search.run(totals, outcome)
        examined = search.examined
        if first:
            ranking.write_rows(cluster)
            examined = self.node_search.evaluated_slots(first, search, ranking.first_rejection)
        moved = len(examined) - len(search.examined)
        self.node_search.next_start = (search.next_start + moved) % self.node_search.node_count
        ranking.raise_failure(search.examined)
        feasible = select.feasible_of(totals, search.examined)
        if not len(feasible):
            ranking.write_rows(cluster)
            return self._unschedulable(pod, ranking, examined, nominated, first)
        if len(feasible) == 1:
            # Upstream does not score a single feasible node.
            slot, ties, best = feasible.item(0), 1, None
        else:
            if len(search.examined) < cluster.nodes.n_alive:
                # Nodes that the search did not reach may fit; normalization must not see them.
                kept = totals[feasible]
                totals.fill(-1)
                totals[feasible] = kept
            ranking.sweep_scores(totals)
            slot = self._choose(totals, feasible, cycle_number)
            if self.keeps_totals:
                self.scored = totals.copy(), feasible
                if self.on_scored is not None:
                    self.on_scored(pod, *self.scored)
            best = totals.item(slot)
            ties = int(np.count_nonzero(totals == best))
        return Decision(
            pod=pod,
            node=cluster.nodes.names[slot],
            slot=slot,
            feasible_count=len(feasible),
            evaluated_count=len(examined),
            tie_count=ties,
            total=best,
        )

    def _first_node(self, pod: Pod, ranking: Ranking, suggest: Suggest | None) -> str:
        """Return the node to evaluate alone before all others; "" if there is none."""
        first = pod.status.nominated_node_name
        if suggest is not None:
            first = first or suggest(partial(self._filter_node, ranking))
        return first if self.node_search.covers(first) else ""

    def _choose(self, totals: I64Array, feasible: I32Array, cycle_number: int) -> int:
        """Apply the tie rule; `feasible` is in visiting order."""
        match self.profile.tie_rule:
            case TieRule.DRAWN:
                random = draw(self.seed, TIE_STREAM, cycle_number)
                return select.pick_drawn(totals, random, self._found)
            case TieRule.HEAP:
                return select.pick_by_heap(totals, feasible)
            case TieRule.FIRST:
                best = totals.max()
                names = self.cluster.nodes.names
                equals = np.flatnonzero(totals == best).tolist()
                return min(equals, key=names.__getitem__)

    def _passing_slot(self, name: str, totals: I64Array) -> int:
        """Return the slot of the node to try first if it passes, else -1."""
        slot = self.cluster.nodes.slot_of.get(name)
        return -1 if slot is None or totals[slot] < 0 else slot

    def _filter_node(self, ranking: Ranking, name: str) -> Status | None:
        """Return the status of the filters for a node; None if there is no such node."""
        slot = self.cluster.nodes.slot_of.get(name)
        return None if slot is None else ranking.first_rejection(slot)

    # ---------------------------------------------------------------- refusing

    def _rejected_by_pre_filter(self, pod: Pod, outcome: PreFilterOutcome) -> Decision:
        rejection = outcome.rejection
        assert rejection is not None
        # As upstream, also the plugins that only restricted the nodes.
        rejected_by = {rejection.plugin, *outcome.restricted_by} - {""}
        diagnosis = Diagnosis(
            node_count=self.node_search.node_count,
            pre_filter=rejection,
            rejected_by=frozenset(rejected_by),
        )
        return Decision(pod=pod, diagnosis=diagnosis)

    def _unschedulable(
        self,
        pod: Pod,
        ranking: Ranking,
        examined: I32Array,
        nominated: NominatedCheck,
        first: str,
    ) -> Decision:
        outcome = ranking.outcome
        nominated.confine_to(examined)
        rejections = list(nominated.rejections())
        rejections += ranking.count_rejections(nominated.without_rejected(examined))
        self._failed = FilteredCycle(pod, self.profile, ranking, examined, nominated)
        # Upstream counts the plugins that restricted the nodes, even if that excluded no node.
        rejected_by = set(outcome.restricted_by)
        rejected_by |= {r.status.plugin for r in rejections if r.status.code != Code.PENDING}
        pending = {r.status.plugin for r in rejections if r.status.code == Code.PENDING}
        node_count = self.node_search.node_count
        absent = node_count - len(examined)
        if outcome.node_names is not None and absent:
            status = outcome.absent_status(nominated.plugin_against(first))
            rejections.append(Rejection(status, absent))
        diagnosis = Diagnosis(
            node_count=node_count,
            rejections=tuple(rejections),
            rejected_by=frozenset(rejected_by),
            pending=frozenset(pending),
        )
        return Decision(pod=pod, diagnosis=diagnosis, evaluated_count=len(examined))

    # ---------------------------------------------------------------- rankings

    def ranking_of(self, pod: Pod) -> Ranking:
        """Return the ranking of all nodes for pods like `pod`, up to date.

        Raises
        ------
        PluginFailure
            If PreFilter or a local filter or score failed.
        """
        return self._rankings.of(pod)


@contextmanager
def confined(runner: Runner | None, placement: Placement | None) -> Iterator[None]:
    """Let a runner evaluate only the nodes of a placement; all if it is None."""
    if placement is None or not isinstance(runner, PluginRunner):
        yield
        return
    runner.confine(placement.slots)
    try:
        yield
    finally:
        runner.confine(None)


def _after_post_filter(decision: Decision, result: PostFilterResult) -> Decision:
    diagnosis = decision.diagnosis
    assert diagnosis is not None, f"pod {decision.pod.key} fits somewhere"
    diagnosis = msgspec.structs.replace(diagnosis, post_filter_message=result.message)
    return msgspec.structs.replace(decision, diagnosis=diagnosis, post_filter=result)


# The interface that decides for the pods of one scheduler name, under any rules.
#
# `PluginRunner` (`run`) implements it by calling plugins, as kube-scheduler 1.36 does.
# `podwright.scheduler.classic.ClassicRunner` implements it by the predicates and priorities of
# 1.16.


class Runner(Protocol):
    """Decides for the pods of one scheduler name.

    A runner reads the cluster and does not change it: placing the pod is up to the caller.
    """

    @property
    def profile(self) -> Profile:
        """The profile of the scheduler name."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that decisions are about."""

    @property
    def seed(self) -> int:
        """The seed of all draws."""

    @property
    def extenders(self) -> tuple[CalledExtender, ...]:
        """The extenders, in the order in which they are called."""

    @property
    def skipped(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the filters and of the scores that were skipped for the last pod."""

    @property
    def weights(self) -> Mapping[str, int]:
        """The weight of each score, by name."""

    def with_weights(self, weights: Mapping[str, int]) -> Runner:
        """Return a runner over the same cluster that uses other weights; the rest stay."""

    def decide(self, pod: Pod, *, cycle_number: int) -> Decision:
        """Choose a node for a pod without extenders, or report why no node fits.

        Parameters
        ----------
        cycle_number : int
            Counter of the draw; the same number gives the same choice among equal nodes.
        """

    def repeat(self, pod: Pod, node: str) -> Decision | None:
        """Return the decision for a node that `decide` is known to choose; None: call that."""

    def steps(self, pod: Pod, *, cycle_number: int) -> Steps[Decision]:
        """Choose a node for a pod; yields the calls to extenders and receives their replies."""

    def post_filter(self, decision: Decision, *, cycle_number: int, now_ns: int) -> Decision:
        """Run PostFilter for the pod that `decide` rejected last; the cluster is not changed."""

    def post_filter_steps(
        self, decision: Decision, *, cycle_number: int, now_ns: int
    ) -> Steps[Decision]:
        """Run PostFilter as `post_filter` does; yields the calls to extenders."""

    def explain(
        self,
        pod: Pod,
        *,
        cycle_number: int,
        now_ns: int,
        call_extender: CallExtender | None = None,
        post_filter: bool = True,
    ) -> Explanation:
        """Run one cycle for a pod with everything recorded; the cluster is not changed."""

    def own_cycle(self, pod: Pod) -> Cycle:
        """Return the cycle of the last decision as that of `pod` alone, from Reserve on."""

    def search_position(self) -> object:
        """Return where the next search for nodes starts; valid until nodes are added or deleted."""

    def restore_search_position(self, position: object) -> None:
        """Start the next search at a position that `search_position` returned."""
