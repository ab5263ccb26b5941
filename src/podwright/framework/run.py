"""One profile over one cluster: pods in, decisions out.

Follows upstream's order: PreFilter, the nominated node alone, Filter, PreScore, Score,
Normalize, weights, and the choice among equals. Upstream: pkg/scheduler/schedule_one.go,
`schedulePod`, `findNodesThatFitPod`, `prioritizeNodes`, `selectHost`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.columns import Cluster, Reads
from podwright.framework.adapter import PluginFailure
from podwright.framework.cycle import Cycle
from podwright.framework.decision import Decision, Diagnosis, Rejection
from podwright.framework.nominated import NominatedCheck
from podwright.framework.plugin import Plugin
from podwright.framework.post_filter import FailedCycle, run_post_filters
from podwright.framework.prepare import PreFilterOutcome, Preparation
from podwright.framework.profile import Profile, TieRule, nodes_to_find
from podwright.framework.ranking import Ranking, Sweep, is_local
from podwright.framework.rows import ScoreRow, VerdictRow
from podwright.framework.scores import MAX_NODE_SCORE, Normalization
from podwright.framework.scratch import Scratch
from podwright.framework.status import Code
from podwright.kernels.draw import TIE_STREAM, draw
from podwright.kernels.select import find_in_order, pick_by_heap, pick_drawn
from podwright.objects import ObjectMeta, Pod, PodSpec

Key: TypeAlias = tuple[int, ...]
"""Per plugin of `Profile.deciding`, the number of the pod's key."""

_MOST_TEMPLATES = 65_536
_MOST_NUMBERS = 1_000_000
_RANKING_BYTES = 128 << 20
"""How much memory cached rankings and rows may take, roughly."""

_MOST_TOTALS = 1 << 20
"""Greatest possible total for which totals are kept settled."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes were looked at.

    Parameters
    ----------
    examined : (k,) int32 array
        Slots, in the order in which they were visited; every one was accepted or rejected.
    start, next_start : int
        Position in the visiting order where the search began, and where the next one begins.
    wanted : int
        How many feasible nodes end the search.
    """

    examined: I32Array
    start: int
    next_start: int
    wanted: int


class Runner:
    """Decides for the pods of one profile.

    Parameters
    ----------
    profile : Profile
    cluster : Cluster
        Read; placing the pod is the caller's business.
    seed : int
        Of all draws.
    """

    def __init__(self, profile: Profile, cluster: Cluster, *, seed: int = 0) -> None:
        self.profile = profile
        self.cluster = cluster
        self.seed = seed
        self.next_start = 0
        self._plugins = profile.deciding
        self._reads = int(_prepare_reads(profile))
        self._always_outdated = bool(self._reads & int(Reads.CLUSTER))
        self._follows_nodes = bool(self._reads & int(Reads.NODE))
        self._preparation = Preparation(profile, cluster)
        self._names = [plugin.name for plugin in self._plugins]
        self._numbered: list[tuple[Plugin, dict[Hashable, int]]] = [
            (plugin, {}) for plugin in self._plugins
        ]
        self._number_count = 0
        self._templates: dict[int, tuple[PodSpec, ObjectMeta, Key]] = {}
        self._rankings: OrderedDict[Key, Ranking] = OrderedDict()
        self._seen: set[Hashable] = set()
        self._filter_rows: OrderedDict[tuple[str, int], VerdictRow] = OrderedDict()
        self._score_rows: OrderedDict[tuple[str, int], ScoreRow] = OrderedDict()
        # For keys that are not kept: overwritten by the next such key.
        self._spare_filter_rows: dict[str, VerdictRow] = {}
        self._spare_score_rows: dict[str, ScoreRow] = {}
        self._scratch = Scratch()
        largest = MAX_NODE_SCORE * sum(weight for _, weight in profile.score)
        self._local_filters = frozenset(p.name for p in profile.filter if is_local(p.filter_reads))
        self._local_scores = frozenset(
            p.name for p, _ in profile.score if largest < _MOST_TOTALS and _has_local_score(p)
        )
        self._found: I64Array = np.zeros(3, dtype=np.int64)
        self._failed: FailedCycle | None = None
        self._is_plain = (
            profile.tie_rule is TieRule.DRAWN and profile.percentage_of_nodes_to_score is None
        )

    # ---------------------------------------------------------------- deciding

    def decide(self, pod: Pod, *, cycle_number: int) -> Decision:
        """Choose a node for `pod`, or say why there is none.

        Parameters
        ----------
        pod : Pod
        cycle_number : int
            Counter of the draw; the same number gives the same choice among equals.
        """
        cluster = self.cluster
        try:
            ranking = self.ranking_of(pod)
            if (
                self._is_plain
                and ranking.is_settled
                and not cluster.nominated
                and ranking.outcome.rejection is None
                and ranking.outcome.node_names is None
                and not pod.status.nominated_node_name
            ):
                slot = ranking.pick(draw(self.seed, TIE_STREAM, cycle_number))
                if slot >= 0:
                    feasible = ranking.feasible_count
                    return Decision(
                        pod=pod,
                        node=cluster.nodes.names[slot],
                        slot=slot,
                        feasible_count=feasible,
                        evaluated_count=cluster.nodes.n_alive,
                        tie_count=ranking.tie_count,
                        total=ranking.best_total if feasible > 1 else None,
                    )
            return self._decide_fully(pod, ranking, cycle_number)
        except PluginFailure as failure:
            return Decision(pod=pod, error=failure.status)

    def post_filter(self, decision: Decision, *, cycle_number: int, now_ns: int) -> Decision:
        """Ask the PostFilter plugins about a pod that fits nowhere; nothing is changed.

        Parameters
        ----------
        decision : Decision
            What `decide` returned last. Unless it says that no node fits, nobody is asked.
        cycle_number : int
            Counter of draws.
        now_ns : int
            The present, in nanoseconds since 1970.

        Returns
        -------
        Decision
            The same with `post_filter`, and with the message that it adds.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `schedulingCycle`.
        """
        diagnosis = decision.diagnosis
        if diagnosis is None or not diagnosis.node_count or not self.profile.post_filter:
            return decision
        failed = self._failed
        assert failed is not None, f"pod {decision.pod.key}: there was no cycle"
        assert failed.pod is decision.pod, f"the last cycle was for {failed.pod.key}"
        failed.seed, failed.cycle_number, failed.now_ns = self.seed, cycle_number, now_ns
        result = run_post_filters(failed)
        diagnosis = msgspec.structs.replace(diagnosis, post_filter_message=result.message)
        return msgspec.structs.replace(decision, diagnosis=diagnosis, post_filter=result)

    def _decide_fully(self, pod: Pod, ranking: Ranking, cycle_number: int) -> Decision:
        cluster = self.cluster
        if not cluster.nodes.n_alive:
            return Decision(pod=pod, diagnosis=Diagnosis(node_count=0))
        outcome = ranking.outcome
        if outcome.rejection is not None:
            self._failed = FailedCycle(pod, self.profile, ranking)
            return self._rejected_by_pre_filter(pod, outcome)
        totals = ranking.sweep_filters(cluster)
        nominated = NominatedCheck(self.profile, ranking, pod, cluster)
        nominated.apply(totals)
        own = self._own_nominated_slot(pod, totals)
        if own >= 0:
            return Decision(
                pod=pod,
                node=cluster.nodes.names[own],
                slot=own,
                feasible_count=1,
                evaluated_count=1,
                tie_count=1,
            )
        search = self.search(totals, outcome)
        self.next_start = search.next_start
        feasible = search.examined[totals[search.examined] >= 0]
        if not len(feasible):
            return self._unschedulable(pod, ranking, search, nominated)
        if len(feasible) == 1:
            slot, ties, best = int(feasible[0]), 1, None
        else:
            if len(feasible) < cluster.nodes.n_alive:
                kept = totals[feasible]
                totals.fill(-1)
                totals[feasible] = kept
            ranking.sweep_scores(cluster, totals)
            slot = self._choose(totals, feasible, cycle_number)
            best = int(totals[slot])
            ties = int((totals == best).sum())
        return Decision(
            pod=pod,
            node=cluster.nodes.names[slot],
            slot=slot,
            feasible_count=len(feasible),
            evaluated_count=len(search.examined),
            tie_count=ties,
            total=best,
        )

    def _choose(self, totals: I64Array, feasible: I32Array, cycle_number: int) -> int:
        """Apply the tie rule; `feasible` is in visiting order."""
        match self.profile.tie_rule:
            case TieRule.DRAWN:
                random = draw(self.seed, TIE_STREAM, cycle_number)
                return pick_drawn(totals, random, self._found)
            case TieRule.HEAP:
                return pick_by_heap(totals, feasible)
            case TieRule.FIRST:
                best = totals.max()
                names = self.cluster.nodes.names
                equals = np.flatnonzero(totals == best).tolist()
                return min(equals, key=names.__getitem__)

    def _own_nominated_slot(self, pod: Pod, totals: I64Array) -> int:
        """Return the slot of the pod's nominated node if it passes, else -1."""
        name = pod.status.nominated_node_name
        if not name:
            return -1
        slot = self.cluster.nodes.slot_of.get(name, -1)
        return slot if slot >= 0 and totals[slot] >= 0 else -1

    # ---------------------------------------------------------------- searching

    def search(self, totals: I64Array, outcome: PreFilterOutcome) -> Search:
        """Walk the nodes as upstream does and say which ones were looked at.

        Parameters
        ----------
        totals : (n_slots,) int64
            -1 where a filter rejects.
        outcome : PreFilterOutcome
            May restrict the walk to named nodes.
        """
        cluster = self.cluster
        percentage = self.profile.percentage_of_nodes_to_score
        node_count = cluster.nodes.n_alive
        if percentage is None and self.profile.tie_rule is not TieRule.HEAP:
            # Every node is looked at and nothing depends on the order.
            order = cluster.live_slots()
            start = 0
        else:
            order = cluster.nodes.visiting_order()
            start = self.next_start % node_count
        if outcome.node_names is not None:
            order, start = self._restricted(outcome.node_names)
        wanted = nodes_to_find(len(order), percentage)
        if len(order) == 0:
            return Search(examined=order, start=start, next_start=start, wanted=wanted)
        start_here = start % len(order)
        _, visited = find_in_order(totals >= 0, order, start_here, wanted)
        examined: I32Array = (
            np.roll(order, -start_here)[:visited] if start_here else order[:visited]
        )
        next_start = (start + visited) % node_count
        return Search(examined=examined, start=start, next_start=next_start, wanted=wanted)

    def _restricted(self, names: frozenset[str]) -> tuple[I32Array, int]:
        """Return the named nodes that exist, in a fixed order.

        Upstream iterates a set here, so its order is not determined; ours is by name.
        """
        slot_of = self.cluster.nodes.slot_of
        slots = [slot_of[name] for name in sorted(names) if name in slot_of]
        start = self.next_start % self.cluster.nodes.n_alive
        return np.array(slots, dtype=np.int32), start

    # ---------------------------------------------------------------- refusing

    def _rejected_by_pre_filter(self, pod: Pod, outcome: PreFilterOutcome) -> Decision:
        rejection = outcome.rejection
        assert rejection is not None
        blamed = {rejection.plugin} if rejection.plugin else set(outcome.restricted_by)
        is_pending = rejection.code == Code.PENDING
        diagnosis = Diagnosis(
            node_count=self.cluster.nodes.n_alive,
            pre_filter=rejection,
            rejected_by=frozenset() if is_pending else frozenset(blamed),
            pending=frozenset(blamed) if is_pending else frozenset(),
        )
        return Decision(pod=pod, diagnosis=diagnosis)

    def _unschedulable(
        self, pod: Pod, ranking: Ranking, search: Search, nominated: NominatedCheck
    ) -> Decision:
        outcome = ranking.outcome
        rejections = list(nominated.rejections())
        examined = nominated.without_rejected(search.examined)
        rejections += ranking.count_rejections(examined)
        self._failed = FailedCycle(pod, self.profile, ranking, search.examined, nominated)
        blamed = {r.status.plugin for r in rejections if r.status.code != Code.PENDING}
        pending = {r.status.plugin for r in rejections if r.status.code == Code.PENDING}
        absent = self.cluster.nodes.n_alive - len(search.examined)
        if outcome.node_names is not None and absent:
            rejections.append(Rejection(outcome.absent_status, absent))
            blamed |= set(outcome.restricted_by)
        diagnosis = Diagnosis(
            node_count=self.cluster.nodes.n_alive,
            rejections=tuple(rejections),
            rejected_by=frozenset(blamed),
            pending=frozenset(pending),
        )
        return Decision(pod=pod, diagnosis=diagnosis, evaluated_count=len(search.examined))

    # ---------------------------------------------------------------- rankings

    def ranking_of(self, pod: Pod) -> Ranking:
        """Return the ranking of all nodes for pods like `pod`, up to date.

        A key that is seen for the first time gets a ranking for the moment; one that comes
        again gets one that is kept. So pods that all differ fill no memory.
        """
        key = self._key_of(pod)
        ranking = self._rankings.get(key)
        cluster = self.cluster
        if ranking is None:
            ranking = self._rank(pod, key, keep=self._is_familiar(key))
        elif self._always_outdated or ranking.objects_version != cluster.objects_version:
            if self._is_outdated(ranking):
                ranking = self._rank(pod, key, keep=True)
        elif self._follows_nodes and ranking.prepared_for[0] != cluster.nodes.node_journal.version:
            ranking = self._rank(pod, key, keep=True)
        ranking.refresh(cluster)
        return ranking

    def _is_familiar(self, key: Hashable) -> bool:
        """Tell whether a key has been asked for before, and remember it."""
        if key in self._seen:
            return True
        if len(self._seen) >= _MOST_TEMPLATES:
            self._seen.clear()
        self._seen.add(key)
        return False

    def _is_outdated(self, ranking: Ranking) -> bool:
        """Tell whether PreFilter and PreScore have to be asked again."""
        if self._always_outdated:
            return True
        if ranking.prepared_for != self.cluster.version_of(self._reads):
            return True
        ranking.objects_version = self.cluster.objects_version
        return False

    def _key_of(self, pod: Pod) -> Key:
        """Return what all plugins together read of `pod`: one number per plugin."""
        known = self._templates.get(id(pod.spec))
        if known is not None:
            spec, metadata, key = known
            ours = pod.metadata
            if (
                spec is pod.spec
                and metadata.labels == ours.labels
                and metadata.namespace == ours.namespace
                and metadata.owner_references == ours.owner_references
            ):
                return key
        if self._number_count > _MOST_NUMBERS:
            self._forget_all()
        key = tuple(
            [
                numbers.setdefault(plugin.pod_key(pod), len(numbers))
                for plugin, numbers in self._numbered
            ]
        )
        self._number_count += 1
        if all([plugin.key_is_of_template(pod) for plugin in self._plugins]):
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            self._templates[id(pod.spec)] = (pod.spec, pod.metadata, key)
        return key

    def _forget_all(self) -> None:
        """Start numbering keys anew: too many different pods have been seen."""
        self._number_count = 0
        for _, numbers in self._numbered:
            numbers.clear()
        for kept in (self._templates, self._rankings, self._filter_rows, self._score_rows):
            kept.clear()
        self._seen.clear()
        self._preparation = Preparation(self.profile, self.cluster)

    def _rank(self, pod: Pod, key: Key, *, keep: bool) -> Ranking:
        """Ask PreFilter and PreScore, and gather the rows of the plugins that take part."""
        cluster, profile = self.cluster, self.profile
        cycle = Cycle(pod, cluster)
        keys = dict(zip(self._names, key, strict=True))
        outcome = self._preparation.pre_filter(cycle, keys)
        if outcome.failure is not None:
            raise outcome.failure
        failure: PluginFailure | None = None
        skipped_scores: frozenset[str] = frozenset()
        filters: list[VerdictRow | Sweep] = []
        scores: list[tuple[ScoreRow, int]] = []
        sweeping: list[tuple[Plugin, int]] = []
        if outcome.rejection is None:
            try:
                skipped_scores = self._preparation.pre_score(cycle, keys)
            except PluginFailure as caught:
                failure = caught
            filters.extend(
                self._filter_of(plugin, keys[plugin.name], cycle, keep=keep)
                for plugin in profile.filter
                if plugin.name not in outcome.skipped
            )
            for plugin, weight in profile.score if failure is None else ():
                if plugin.name in skipped_scores:
                    continue
                if plugin.name in self._local_scores:
                    scores.append(
                        (self._score_of(plugin, keys[plugin.name], cycle, keep=keep), weight)
                    )
                else:
                    sweeping.append((plugin, weight))
        ranking = Ranking(
            cycle,
            outcome,
            filters=tuple(filters),
            scores=tuple(scores),
            sweeping_scores=tuple(sweeping),
            skipped_scores=skipped_scores,
            failure=failure,
            scratch=self._scratch,
            is_kept=keep,
        )
        ranking.prepared_for = cluster.version_of(self._reads)
        ranking.objects_version = cluster.objects_version
        if keep:
            self._rankings[key] = ranking
            self._rankings.move_to_end(key)
            self._forget_oldest()
        return ranking

    def _filter_of(
        self, plugin: Plugin, key: int, cycle: Cycle, *, keep: bool
    ) -> VerdictRow | Sweep:
        if plugin.name not in self._local_filters:
            return Sweep(plugin)
        row = self._filter_rows.get((plugin.name, key))
        if row is None:
            if keep or self._is_familiar((plugin.name, key)):
                row = self._filter_rows[plugin.name, key] = VerdictRow(plugin, cycle)
                return row
            row = self._spare_filter_rows.get(plugin.name)
            if row is None:
                row = self._spare_filter_rows[plugin.name] = VerdictRow(plugin, cycle)
            row.start_anew(cycle)
        return row

    def _score_of(self, plugin: Plugin, key: int, cycle: Cycle, *, keep: bool) -> ScoreRow:
        row = self._score_rows.get((plugin.name, key))
        if row is None:
            if keep or self._is_familiar((plugin.name, key)):
                row = self._score_rows[plugin.name, key] = ScoreRow(plugin, cycle)
                return row
            row = self._spare_score_rows.get(plugin.name)
            if row is None:
                row = self._spare_score_rows[plugin.name] = ScoreRow(plugin, cycle)
            row.start_anew(cycle)
        return row

    def _forget_oldest(self) -> None:
        """Keep the memory of rankings and rows within bounds; the least used go first.

        A row that rankings still use stays with them.
        """
        n_slots = self.cluster.nodes.n_slots
        most = max(16, _RANKING_BYTES // (8 * n_slots + 4_096))
        for kept in (self._rankings, self._filter_rows, self._score_rows):
            while len(kept) > most:
                kept.popitem(last=False)


def _has_local_score(plugin: Plugin) -> bool:
    """Whether raw scores can be kept per slot, and normalising them is a known rule."""
    return (
        plugin.scores_in_range
        and is_local(plugin.score_reads)
        and (
            plugin.normalization is Normalization.NONE
            or (
                plugin.normalization is not Normalization.CUSTOM
                and not plugin.score_reads & Reads.PODS
            )
        )
    )


def _prepare_reads(profile: Profile) -> Reads:
    """Return what the answers of PreFilter and PreScore depend on, all plugins together."""
    reads = Reads.NOTHING
    for plugin in profile.pre_filter:
        reads |= plugin.pre_filter_reads
    for plugin in profile.pre_score:
        reads |= plugin.pre_score_reads
    return reads
