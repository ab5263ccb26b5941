"""Explain one cycle: the result of each plugin for each node, with reasons.

Every plugin is called again, without cached rows, so an explanation also verifies the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright._html import paragraphs, section, table
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.adapter import PluginFailure, raised, run_filter
from podwright.scheduler.framework.cycle import Cycle, custom_results
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.framework.extenders.extender_calls import (
    ExtenderAnswers,
)
from podwright.scheduler.framework.extenders.extender_cycle import ExtenderCycle
from podwright.scheduler.framework.node_search import NodeSearch
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.plugin import NodeView, Plugin
from podwright.scheduler.framework.prepare import PreFilterAnswer, PreFilterOutcome, run_pre_filters
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.node_values import NodeNames
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.uncached_scores import (
    UncachedScores,
    names_of,
    uncached_scores,
)
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import Code, MissingStateError, Status

NotExaminedReason: TypeAlias = Literal["enoughFeasibleNodes", "nominatedNodeFits", "otherPlacement"]
"""Why nodes were not filtered: enough feasible nodes had been found, or the nominated node, which
is filtered first and alone, is feasible."""

RejectionDetails: TypeAlias = Callable[[str, str], Sequence[str]]
"""Returns what a plugin says, by name, about a node that it rejects, by name."""


def rejection_details(profile: Profile, cluster: Cluster, pod: Pod) -> RejectionDetails:
    """Return what asks the filters of a profile for what nodes lack, with PreFilter run again."""
    cycle, slot_of = Cycle(pod, cluster), cluster.nodes.slot_of
    plugins = {each.name: each for each in profile.filter}
    is_prepared = False

    def details(plugin: str, node: str) -> Sequence[str]:
        nonlocal is_prepared
        asked = plugins.get(plugin)
        if asked is None or node not in slot_of or not asked.implements("rejection_details"):
            return ()
        if not is_prepared:
            is_prepared = True
            run_pre_filters(profile, cycle)
        try:
            found = asked.rejection_details(cycle, NodeView(cluster, slot_of[node]))
            return (found,) if isinstance(found, str) else [str(text) for text in found]
        except MissingStateError:
            return ()  # its PreFilter is disabled, or skipped the pod
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            return (f"rejection_details of {plugin} failed: {raised(error)}",)

    return details


class FilterExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one filter plugin for every node.

    Parameters
    ----------
    plugin : str
    applies : bool
        False: the plugin had nothing to check for this pod (Skip), which is not the same as
        having passed every node.
    rejected : dict of str to Status
        The nodes that this plugin rejects, including those that an earlier filter rejected.
    """

    plugin: str
    applies: bool
    rejected: dict[str, Status] = {}

    def __repr__(self) -> str:
        found = f"rejects {len(self.rejected)} nodes" if self.applies else "does not apply"
        return f"<FilterExplanation: {self.plugin} {found}>"


class ScoreExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one plugin for every feasible node.

    Parameters
    ----------
    plugin : str
        The name of the plugin.
    weight : int
        Its weight in the profile.
    raw, normalized : mapping of str to int
        Per node name. The weighted score is normalized x weight.
    """

    plugin: str
    weight: int
    raw: Mapping[str, int]
    normalized: Mapping[str, int]

    def __repr__(self) -> str:
        return f"<ScoreExplanation: {self.plugin}, weight {self.weight}, {len(self.raw)} nodes>"

    def _repr_html_(self) -> str:
        best = sorted(self.normalized, key=lambda node: -self.normalized[node])
        rows = [
            (node, self.raw[node], self.normalized[node], self.normalized[node] * self.weight)
            for node in best
        ]
        title = f"{self.plugin}, weight {self.weight}"
        return section(title, table(("Node", "Raw", "Normalized", "Weighted"), rows))


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod is placed on its node, or why it fits on no node.

    Parameters
    ----------
    pod : Pod
    decision : Decision
        The result of the cycle.
    node_names : tuple of str
        All nodes, in order of arrival.
    pre_filter : Status
        SUCCESS, or the rejection of the pod as a whole.
    pre_filters : dict of str to Status or PreFilterResult
        The result of each PreFilter plugin that was called, in run order.
    examined : tuple of str
        The nodes that were filtered, in order of arrival.
    restricted_to : frozenset of str, optional
        Nodes that PreFilter leaves; None: all.
    restricted_by : tuple of str
        The plugins that restricted them.
    not_examined : tuple of str
        Nodes that were not filtered.
    not_examined_reason : str, optional
        Why they were not; None if there are none.
    skipped_filters : frozenset of str
        Filter plugins that PreFilter skips for this pod.
    filters : tuple of FilterExplanation
        In run order.
    rejected : dict of str to Status
        Per filtered node, the first rejection, which decides.
    feasible : tuple of str
        Nodes that pass all filters, in order of arrival; only the nominated node if it passes.
    skipped_scores : frozenset of str
        Score plugins that PreScore skips for this pod.
    pre_scores : dict of str to Status
        The result of each PreScore plugin that was called, in run order.
    scores : tuple of ScoreExplanation
        In run order; empty unless there are two feasible nodes or more.
    totals : mapping of str to int
        Per feasible node, the sum of weighted scores.
    winners : tuple of str
        Nodes with the greatest total, or the single feasible node.
    tied : tuple of str
        All nodes with the greatest total: among them, those that an extender scored win.
    extenders : tuple of ExtenderAnswers
        The results of extenders, in the order of the configuration. An extender may name nodes
        that do not exist, and a node twice; `feasible` then contains them too. `rejected`
        contains the nodes that extenders reject, with the plugin name `Extender`.
    custom_results : dict of str to str
        Texts that plugins added, see `add_custom_result`.
    error : Status, optional
        The failure of a plugin or extender that ended the cycle; the results before it are given.
    attempt : int
        The number of the attempt, from 1, in a recorded run; 0 without one.
    """

    pod: Pod
    decision: Decision
    node_names: tuple[str, ...]
    pre_filter: Status
    skipped_filters: frozenset[str]
    pre_filters: dict[str, PreFilterAnswer] = {}
    restricted_to: frozenset[str] | None = None
    restricted_by: tuple[str, ...] = ()
    examined: tuple[str, ...] = ()
    not_examined: tuple[str, ...] = ()
    not_examined_reason: NotExaminedReason | None = None
    filters: tuple[FilterExplanation, ...] = ()
    rejected: dict[str, Status] = {}
    feasible: tuple[str, ...] = ()
    skipped_scores: frozenset[str] = frozenset()
    pre_scores: dict[str, Status] = {}
    scores: tuple[ScoreExplanation, ...] = ()
    totals: Mapping[str, int] = {}
    winners: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    extenders: tuple[ExtenderAnswers, ...] = ()
    custom_results: dict[str, str] = {}
    error: Status | None = None
    attempt: int = 0

    def __str__(self) -> str:
        """Return one sentence: the node, or the reason for no node in upstream's words."""
        node = self.decision.node
        return f"{self.pod.key} goes to {node}" if node else self.decision.message

    def __repr__(self) -> str:
        return (
            f"<Explanation of {self.pod.key}: {self.decision.node or self.decision.message};"
            f" {len(self.feasible)} of {len(self.node_names)} nodes are feasible>"
        )

    def _repr_html_(self) -> str:
        counted = f"{len(self.feasible)} of {len(self.node_names)} nodes are feasible."
        return section(
            f"Explanation of {self.pod.key}: {self.decision.node or 'no node'}",
            paragraphs([self.decision.message, counted]),
            table(("Node", "Total", *(score.plugin for score in self.scores)), self._best()),
            table(("Nodes", "Plugin", "Reason", "Such as"), self._rejections()),
        )

    def _best(self) -> list[tuple[object, ...]]:
        """Return the nodes with their totals and weighted scores, the best first."""
        best = sorted(self.totals, key=lambda node: (-self.totals[node], node not in self.winners))
        return [
            (node, self.totals[node], *(s.normalized[node] * s.weight for s in self.scores))
            for node in best
        ]

    def _rejections(self) -> list[tuple[object, ...]]:
        """Return the reasons of rejected nodes, the most frequent first."""
        nodes: dict[tuple[str, str], list[str]] = {}
        for node, status in self.rejected.items():
            nodes.setdefault((status.plugin, status.message), []).append(node)
        found = sorted(nodes.items(), key=lambda pair: -len(pair[1]))
        return [(len(several), *reason, several[0]) for reason, several in found]


class CycleRecording:
    """Repeats a cycle, and collects the parts of its explanation until it ends or fails.

    Parameters
    ----------
    pod : Pod
    decision : Decision
        The result of the cycle.
    profile : Profile
    cluster : Cluster
    node_search : NodeSearch
        As it was before the cycle.
    ranking_of : callable
        Returns the ranking of all nodes for pods like a pod.
    extender_cycle : ExtenderCycle, optional
        What the extenders did in the cycle.
    """

    def __init__(
        self,
        pod: Pod,
        decision: Decision,
        *,
        profile: Profile,
        cluster: Cluster,
        node_search: NodeSearch,
        ranking_of: Callable[[Pod], Ranking],
        extender_cycle: ExtenderCycle | None,
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._node_search = node_search
        self._ranking_of = ranking_of
        self._pod = pod
        self._decision = decision
        self._names = cluster.nodes.names
        self._live = cluster.live_slots()
        self._live_names = cluster.live_names()
        self.outcome = PreFilterOutcome()
        self.custom_results: dict[str, str] = {}
        self.pre_filters: dict[str, PreFilterAnswer] = {}
        self.pre_scores: dict[str, Status] = {}
        self.examined: I32Array = self._live[:0]
        self.not_examined: I32Array = self._live[:0]
        self.only_nominated = False
        self.filters: list[FilterExplanation] = []
        self.rejected: dict[str, Status] = {}
        self.feasible: I32Array = self._live[:0]
        self.skipped_scores: frozenset[str] = frozenset()
        self.scores: list[ScoreExplanation] = []
        self.totals: Mapping[str, int] = {}
        self.winners: tuple[str, ...] = ()
        self.error: Status | None = None
        self.tied: tuple[str, ...] = ()
        self.survivors: tuple[str, ...] | None = None
        self._extender_cycle = extender_cycle
        if self._extender_cycle is not None:
            self.error = decision.error

    def run(self) -> Explanation:
        """Record the cycle, extension point by extension point."""
        if len(self._live):
            cycle = Cycle(self._pod, self._cluster)
            try:
                self._run(cycle)
            except PluginFailure as failure:
                self.error = failure.status
            finally:
                self.custom_results = dict(custom_results(cycle))
        return self._explanation()

    def _run(self, cycle: Cycle) -> None:
        self.outcome = run_pre_filters(self._profile, cycle, self.pre_filters)
        if self.outcome.failure is not None:
            raise self.outcome.failure
        if self.outcome.rejection is not None:
            return
        # Remains if a filter fails.
        self.examined = self._live
        totals = self._filter(cycle)
        self._narrow(totals)
        if self._extender_cycle is not None:
            self._extend(cycle, self._extender_cycle)
            return
        if len(self.feasible) > 1:
            self._score(cycle)
        elif len(self.feasible) == 1:
            self.winners = (self._names[self.feasible[0]],)

    def _extend(self, cycle: Cycle, extender_cycle: ExtenderCycle) -> None:
        """Add the results of the extenders."""
        self.rejected |= extender_cycle.statuses
        left = extender_cycle.survivors.names
        slot_of = self._cluster.nodes.slot_of
        if len(left) > 1 and self.error is None:
            scores = extender_cycle.replaced_scores
            if scores is None:
                slots = dict.fromkeys(slot_of[name] for name in left)
                rows: I32Array = np.array(list(slots), dtype=np.int32)
                scores = uncached_scores(self._profile, cycle, rows, pre_scores=self.pre_scores)
            self._take(scores)
        self.totals = extender_cycle.totals
        self.winners = extender_cycle.winners
        self.tied = extender_cycle.tied
        self.survivors = left

    def _filter(self, cycle: Cycle) -> I64Array:
        """Call every filter for every node; return 0 where all pass, else -1."""
        n_slots = self._cluster.nodes.n_slots
        # Of slots without a node no total is read.
        totals: I64Array = np.zeros(n_slots, dtype=np.int64)
        for plugin in self._profile.filter:
            if plugin.name in self.outcome.skipped:
                self.filters.append(FilterExplanation(plugin=plugin.name, applies=False))
                continue
            verdicts = Verdicts(np.zeros(n_slots, dtype=np.int64), self._live)
            run_filter(plugin, cycle, verdicts, keeps_failures=True)
            if verdicts.may_fail:
                self._raise_failure(plugin, verdicts, totals)
            rejected: dict[str, Status] = {}
            if verdicts.codes.any():
                rejected = {
                    self._names[slot]: verdicts.status_of(verdicts.codes.item(slot)).by(plugin.name)
                    for slot in self._live[verdicts.codes[self._live] != 0].tolist()
                }
                totals[verdicts.codes != 0] = -1
            self.filters.append(
                FilterExplanation(plugin=plugin.name, applies=True, rejected=rejected)
            )
            for name, status in rejected.items():
                self.rejected.setdefault(name, status)
        return totals

    def _raise_failure(self, plugin: Plugin, verdicts: Verdicts, totals: I64Array) -> None:
        """End the recording if an error of this filter ended the cycle.

        An error at a node that the cycle did not evaluate is none: PreFilter left it out, enough
        nodes were found before it, or the nominated node fits.
        """
        for slot in self._live[totals[self._live] >= 0].tolist():
            status = verdicts.status_of(verdicts.codes.item(slot))
            if status.code == Code.ERROR:
                failure = PluginFailure(plugin, "Filter", status.failure)
                if failure.status == self._decision.error:
                    raise failure

    def _narrow(self, totals: I64Array) -> None:
        """Exclude the nodes that nominated pods, PreFilter or sampling exclude."""
        names, node_search = self._names, self._node_search
        nominated = NominatedCheck(
            self._profile, self._ranking_of(self._pod), self._pod, self._cluster
        )
        nominated.apply(totals)
        for slot, status in nominated.rejected.items():
            self.rejected[names[slot]] = status
        first = self._pod.status.nominated_node_name
        if not node_search.covers(first):
            first = ""
        own = self._cluster.nodes.slot_of.get(first)
        search = node_search.run(totals, self.outcome)
        evaluated = node_search.evaluated_slots(
            first,
            search,
            lambda slot: self.rejected.get(names[slot], Status.OK),
        )
        is_partial = len(evaluated) < len(self._live)
        if is_partial:
            self._leave_out(totals, evaluated)
        self.feasible = self._live
        if is_partial or self.rejected:
            self.feasible = self._live[totals[self._live] >= 0]
        is_taken = self._extender_cycle is None or self._extender_cycle.only_nominated
        if own is not None and totals[own] >= 0 and is_taken:
            # The nominated node was evaluated first, alone, and is feasible.
            self.feasible = np.array([own], dtype=np.int32)
            self.examined = self.feasible
            self.not_examined = self._live[self._live != own]
            self.only_nominated = True
            self.rejected = {}

    def _leave_out(self, totals: I64Array, evaluated: I32Array) -> None:
        """Forget the results of the nodes that were not evaluated."""
        examined: Mask = np.zeros(len(totals), dtype=np.bool_)
        examined[evaluated] = True
        self.examined = self._live[examined[self._live]]
        if self.outcome.node_names is None:
            self.not_examined = self._live[~examined[self._live]]
        self.rejected = {
            name: status
            for name, status in self.rejected.items()
            if examined[self._cluster.nodes.slot_of[name]]
        }
        totals[~examined] = -1

    def _score(self, cycle: Cycle) -> None:
        """Call every score plugin for the feasible nodes."""
        names = self._named(self.feasible)
        scores = uncached_scores(
            self._profile, cycle, self.feasible, NodeNames(names), pre_scores=self.pre_scores
        )
        self._take(scores)
        self.totals = scores.totals
        totals = scores.totals.array
        best = np.flatnonzero(totals == totals.max())
        self.winners = tuple(map(names.__getitem__, best.tolist()))

    def _take(self, scores: UncachedScores) -> None:
        self.pre_scores = scores.pre_scores
        self.skipped_scores = scores.skipped
        self.scores = [
            ScoreExplanation(
                plugin=given.plugin,
                weight=given.weight,
                raw=given.raw,
                normalized=given.normalized,
            )
            for given in scores.plugins
        ]

    def _explanation(self) -> Explanation:
        rejection = self.outcome.rejection
        return Explanation(
            pod=self._pod,
            decision=self._decision,
            node_names=self._live_names,
            pre_filter=rejection or Status.OK,
            skipped_filters=self.outcome.skipped,
            pre_filters=self.pre_filters,
            restricted_to=self.outcome.node_names,
            restricted_by=self.outcome.restricted_by,
            examined=self._named(self.examined),
            not_examined=self._named(self.not_examined),
            not_examined_reason=self._not_examined_reason(),
            filters=tuple(self.filters),
            rejected=self.rejected,
            feasible=self._feasible_names(),
            skipped_scores=self.skipped_scores,
            pre_scores=self.pre_scores,
            scores=tuple(self.scores),
            totals=self.totals,
            winners=self.winners,
            tied=self.tied or self.winners,
            extenders=() if self._extender_cycle is None else self._extender_cycle.answers,
            custom_results=self.custom_results,
            error=self.error,
        )

    def _not_examined_reason(self) -> NotExaminedReason | None:
        if not len(self.not_examined):
            return None
        if self.only_nominated:
            return "nominatedNodeFits"
        is_confined = self._node_search.placement is not None
        return "otherPlacement" if is_confined else "enoughFeasibleNodes"

    def _feasible_names(self) -> tuple[str, ...]:
        if self.survivors is not None:
            return self.survivors
        return self._named(self.feasible)

    def _named(self, slots: I32Array) -> tuple[str, ...]:
        """Return the names of some live slots, which are in the order of all."""
        if len(slots) == len(self._live):
            return self._live_names
        return names_of(self._names, slots)
