"""Whether podwright could make a decision of the real scheduler, on the current cluster state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Cycle,
    Decision,
    Explanation,
    FailedCycle,
    FilteredCycle,
    Plugin,
    PluginRunner,
    PostFilterResult,
    Profile,
    TieRule,
    nodes_to_find,
)
from podwright.scheduler.preemption import (
    Candidate,
    Limits,
    Preemption,
    choose,
    preempt,
    select_victims,
)
from podwright.simulation.shadow.recorded_cluster import CopiedImageCounts

_CYCLE = 1
"""The number of all cycles: nothing here depends on a draw."""

MOST_SEARCHES = 5_000
"""The most searches to explain one difference; searches in large clusters are slow."""

_ALL_CANDIDATES = Limits(percentage=100, least=0)


class _PreemptionOnAllNodes(Plugin):
    """DefaultPreemption on all candidate nodes; keeps the failed cycle for later selections."""

    name = "DefaultPreemption"

    def __init__(self, real_limits: Limits) -> None:
        self.real_limits = real_limits
        self.failed: FilteredCycle | None = None

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Find victims on all nodes."""
        assert isinstance(failed, FilteredCycle), type(failed).__name__
        self.failed = failed
        return preempt(failed, _ALL_CANDIDATES)


class DecisionComparer:
    """Compares the decisions of one scheduler name.

    Parameters
    ----------
    profile : Profile
        The profile of the real scheduler.
    cluster : Cluster
        The cluster as the real scheduler observed it.
    images : CopiedImageCounts

    Attributes
    ----------
    searches_left : int
        How many more searches may be made to explain a difference by sampling.
    """

    def __init__(self, profile: Profile, cluster: Cluster, images: CopiedImageCounts) -> None:
        percentage = profile.percentage_of_nodes_to_score
        # If unset, podwright evaluates all nodes, and the real scheduler uses 0 (adaptive).
        self._percentage = 0 if percentage is None else percentage
        self.searches_left = MOST_SEARCHES
        self._cluster = cluster
        self._images = images
        self._preemption_plugin: _PreemptionOnAllNodes | None = None
        profile = msgspec.structs.replace(
            profile,
            tie_rule=TieRule.HEAP,
            post_filter=tuple(map(self._with_all_nodes, profile.post_filter)),
            draws_preemption_offset=False,
        )
        self._runner = PluginRunner(
            msgspec.structs.replace(profile, percentage_of_nodes_to_score=None),
            cluster,
            keeps_totals=True,
        )
        self._sampler = PluginRunner(
            msgspec.structs.replace(profile, percentage_of_nodes_to_score=self._percentage),
            cluster,
            keeps_totals=True,
        )
        weights = [weight for plugin, weight in profile.score if plugin.name == "ImageLocality"]
        self._image_weight = weights[0] if weights else 0

    def _with_all_nodes(self, plugin: Plugin) -> Plugin:
        limits = getattr(plugin, "limits", None)
        if plugin.name != _PreemptionOnAllNodes.name or not isinstance(limits, Limits):
            return plugin
        self._preemption_plugin = _PreemptionOnAllNodes(limits)
        return self._preemption_plugin

    # ---------------------------------------------------------------- bindings

    def explain_binding(
        self, pod: Pod, node: str, *, evaluated_count: int, start: int
    ) -> tuple[Reason, ...] | None:
        """Return the reasons for which a node is the best one for a pod.

        Parameters
        ----------
        pod : Pod
        node : str
            The node that the real scheduler chose.
        evaluated_count : int
            How many nodes the real scheduler evaluated; 0 if unknown.
        start : int
            The likely start of its search in the order of nodes. Starts near it are tried first.

        Returns
        -------
        tuple of str or None
            Empty if the node is the best one; otherwise the reasons that make it the best one;
            None if there are none.
        """
        slot = self._cluster.nodes.slot_of.get(node, -1)
        decision = self._runner.decide(pod, cycle_number=_CYCLE)
        if slot < 0 or decision.slot < 0:
            return None
        if self._runner.scored is None:
            # The only feasible node, or the one to which the pod is nominated.
            return () if decision.slot == slot else None
        totals, slots = self._runner.scored
        if totals[slot] < 0:
            return None
        if totals[slot] == totals.max():
            return ()
        if self._is_best_as_copied(pod, totals, slots, slot):
            return ("image counts",)
        if len(slots) <= nodes_to_find(self._cluster.nodes.n_alive, self._percentage):
            return None
        return self._sampled(pod, slot, evaluated_count, start)

    def _is_best_as_copied(self, pod: Pod, totals: I64Array, slots: I32Array, slot: int) -> bool:
        if not self._image_weight:
            return False
        more = self._image_weight * self._images.differences(pod, slots)
        scored = totals[slots] + more
        return slot in slots[scored == scored.max()]

    def _sampled(
        self, pod: Pod, slot: int, evaluated_count: int, start: int
    ) -> tuple[Reason, ...] | None:
        """Repeat the search from each start node until the chosen node is the best one."""
        sampler = self._sampler
        copied: tuple[Reason, ...] | None = None
        for begin in self._starts(slot, evaluated_count, start)[: self.searches_left]:
            self.searches_left -= 1
            sampler.node_search.next_start = begin
            decision = sampler.decide(pod, cycle_number=_CYCLE)
            if sampler.scored is None or evaluated_count not in {0, decision.evaluated_count}:
                continue
            totals, slots = sampler.scored
            if totals[slot] == totals.max():
                return ("sampling",)
            if copied is None and self._is_best_as_copied(pod, totals, slots, slot):
                copied = ("sampling", "image counts")
        return copied

    def _starts(self, slot: int, evaluated_count: int, start: int) -> list[int]:
        """Return the starts from which a search reaches a node, the likely ones first."""
        order = self._cluster.nodes.visiting_order()
        n = len(order)
        # A search that evaluated so many nodes reaches the node only from starts just before it.
        position = int((order == slot).argmax())
        begins = [(position - back) % n for back in range(min(n, evaluated_count or n))]
        # By distance on the ring of nodes, in either direction.
        return sorted(begins, key=lambda begin: min((begin - start) % n, (start - begin) % n))

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod, with every node scored."""
        return self._runner.decide(pod, cycle_number=_CYCLE)

    # ---------------------------------------------------------------- preemption

    def explain_preemption(
        self, pod: Pod, node: str, victims: Collection[NamespacedName], now_ns: int
    ) -> tuple[Reason, ...] | None:
        """Return the reasons for which preemption selects a node and victims.

        See `explain_binding` for the result.
        """
        found = self._preemption(pod, now_ns)
        if found is None or self._preemption_plugin is None:
            return None
        ours = next((one for one in found.candidates if one.node == node), None)
        failed = self._preemption_plugin.failed
        if ours is None or failed is None:
            return None
        if not _has_victims(ours, victims):
            # Upstream's order of equally important pods is arbitrary. With the real victims last
            # in that order, they are reprieved last.
            slot = self._cluster.nodes.slot_of[node]
            reselected = select_victims(failed, slot, last=frozenset(victims))
            if not isinstance(reselected, Candidate) or not _has_victims(reselected, victims):
                return None
            ours = reselected
        candidates = [ours if one.node == node else one for one in found.candidates]
        # The same holds for nodes that the real scheduler did not choose.
        candidates = self._reordered(candidates, ours, failed)
        if node in choose(candidates, now_ns=now_ns).acceptable:
            return ()
        return self._sampled_candidates(found, candidates, ours, now_ns)

    def _reordered(
        self, candidates: list[Candidate], ours: Candidate, failed: FilteredCycle
    ) -> list[Candidate]:
        """Select other victims on nodes that are better than the chosen one, where possible.

        With the pods that were spared last in the order of equals, more of the others are spared,
        and the node may be worse.
        """
        given = {one.node: one for one in candidates}
        tried = {ours.node}
        while True:
            best = choose(list(given.values()), now_ns=failed.now_ns).acceptable
            better = [name for name in best if name not in tried]
            if ours.node in best or not better:
                return list(given.values())
            for name in better:
                spared = frozenset(pod.key for pod in given[name].spared)
                reselected = select_victims(failed, self._cluster.nodes.slot_of[name], last=spared)
                if isinstance(reselected, Candidate):
                    given[name] = reselected
            tried.update(better)

    def _sampled_candidates(
        self, found: Preemption, candidates: list[Candidate], ours: Candidate, now_ns: int
    ) -> tuple[Reason, ...] | None:
        """Leave out as many better candidates as the real scheduler may not have evaluated.

        It evaluates nodes in arbitrary order, and stops when it has enough candidates.
        """
        assert self._preemption_plugin is not None, "there is no preemption plugin"
        candidate_count = self._preemption_plugin.real_limits.required(found.dry_run.helpable_count)
        while len(candidates) > candidate_count:
            best = choose(candidates, now_ns=now_ns).acceptable
            if ours.node in best:
                return ("sampling",)
            candidates = [one for one in candidates if one.node not in best]
        if len(candidates) < candidate_count:
            return None
        return ("sampling",) if ours.node in choose(candidates, now_ns=now_ns).acceptable else None

    def _decided(self, pod: Pod, now_ns: int) -> Decision:
        decision = self._runner.decide(pod, cycle_number=_CYCLE)
        return self._runner.post_filter(decision, cycle_number=_CYCLE, now_ns=now_ns)

    def _preemption(self, pod: Pod, now_ns: int) -> Preemption | None:
        result = self._decided(pod, now_ns).post_filter
        details = None if result is None else result.details
        return details if isinstance(details, Preemption) else None

    # ---------------------------------------------------------------- details

    def with_scores(self, finding: Finding, pod: Pod) -> Finding:
        """Add podwright's best node and the score differences to the finding of a binding."""
        explanation = self._runner.explain(pod, cycle_number=_CYCLE)
        best = explanation.winners[0] if explanation.winners else ""
        rejection = explanation.rejected.get(finding.node)
        if finding.node not in self._cluster.nodes.slot_of:
            why_not = "there is no such node"
        elif not explanation.feasible:
            why_not = explanation.decision.message
        else:
            why_not = "" if rejection is None else rejection.message
        return msgspec.structs.replace(
            finding,
            best=best,
            rejection=why_not,
            scores=_differences(explanation, finding.node, best),
        )

    def with_our_preemption(self, finding: Finding, pod: Pod, now_ns: int) -> Finding:
        """Add podwright's choice to the finding of a preemption."""
        found = self._preemption(pod, now_ns)
        if found is None or found.choice is None:
            decision = self._decided(pod, now_ns)
            why_not = decision.message or f"the pod fits on {decision.node}"
            return msgspec.structs.replace(finding, rejection=why_not)
        there = next((one for one in found.candidates if one.node == finding.node), None)
        return msgspec.structs.replace(
            finding,
            best=found.choice.candidate.node,
            rejection="" if there is not None else "preemption would not help on that node",
            our_victims=() if there is None else tuple(pod.key for pod in there.victims),
        )


def _has_victims(candidate: Candidate, victims: Collection[NamespacedName]) -> bool:
    """Whether a candidate has these victims, apart from pods that are already terminating."""
    return {pod.key for pod in candidate.victims if pod.metadata.deletion_timestamp is None} == set(
        victims
    )


def _differences(explanation: Explanation, node: str, best: str) -> tuple[ScoreDifference, ...]:
    if node not in explanation.totals:
        return ()
    weighted = [
        ScoreDifference(
            score.plugin,
            score.weight * score.normalized[node],
            score.weight * score.normalized[best],
        )
        for score in explanation.scores
    ]
    return tuple(one for one in weighted if one.chosen != one.best)


# The findings of a comparison with a real scheduler.

Outcome: TypeAlias = Literal["agreed", "explained", "unexplained"]

Reason: TypeAlias = Literal["sampling", "image counts", "delay"]
"""The reasons that can explain a difference.

- sampling: the real scheduler stopped searching after enough feasible nodes. There is a start
  node from which the search finds the chosen node as the best one (and evaluates as many nodes
  as the scheduler's log says, if there is one).
- image counts: the chosen node is the best if each node is scored with the image counts of the
  last copy of the node (`images`).
- delay: the chosen node is the best in another state that the scheduler may have observed,
  because a change reached the scheduler or the recorder late, within the delays that are known
  for this record.
"""


class ScoreDifference(msgspec.Struct, frozen=True, rename={"chosen": "node", "best": "ourNode"}):
    """A score plugin whose scores of the two nodes differ.

    Attributes
    ----------
    plugin : str
    chosen, best : int
        The weighted scores of the node that the real scheduler chose and of podwright's best node.
    """

    plugin: str
    chosen: int
    best: int


class Finding(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"best": "ourNode", "our_victims": "ourVictims"},
):
    """One binding or preemption of the real scheduler, compared with podwright's decision.

    Attributes
    ----------
    what : str
        binding or preemption.
    line : int
        The line of the record that shows it; 0 if there is none.
    pod : str
        "namespace/name".
    node : str
        The node that the real scheduler chose.
    outcome : str
    reasons : tuple of str
        The reasons that explain the difference; empty if none do.
    explanation : str
        The explanation as a sentence; "" if there is no difference.
    best : str
        Podwright's best node, the first one of several; "" if there is none.
    rejection : str
        Why podwright rejects the chosen node, or all nodes; "" if it does not.
    scores : tuple of ScoreDifference
        The score plugins whose scores of the best and the chosen node differ.
    victims, our_victims : tuple of str
        The victims on the chosen node that the real scheduler and podwright select; left out of
        bindings.
    """

    what: Literal["binding", "preemption"]
    line: int
    pod: NamespacedName
    node: str
    best: str = ""
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    explanation: str = ""
    rejection: str = ""
    scores: tuple[ScoreDifference, ...] = ()
    victims: tuple[NamespacedName, ...] | UnsetType = UNSET
    our_victims: tuple[NamespacedName, ...] | UnsetType = UNSET


class Agreement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often the two schedulers agree.

    Attributes
    ----------
    total, agreed, explained, unexplained : int
    explained_by : dict of str to int
        The explained ones, by their reasons joined with a plus sign.
    """

    total: int
    agreed: int
    explained: int
    unexplained: int
    explained_by: dict[str, int]


def agreement(findings: Iterable[Finding]) -> Agreement:
    """Count findings by outcome and reasons."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for finding in findings:
        outcomes[finding.outcome] += 1
        if finding.reasons:
            reasons[" + ".join(finding.reasons)] += 1
    return Agreement(
        total=outcomes.total(),
        agreed=outcomes["agreed"],
        explained=outcomes["explained"],
        unexplained=outcomes["unexplained"],
        explained_by=dict(sorted(reasons.items())),
    )


def sum_of(one: Agreement, other: Agreement) -> Agreement:
    """Add the counts of two sets of findings."""
    reasons = Counter(one.explained_by) + Counter(other.explained_by)
    return Agreement(
        total=one.total + other.total,
        agreed=one.agreed + other.agreed,
        explained=one.explained + other.explained,
        unexplained=one.unexplained + other.unexplained,
        explained_by=dict(sorted(reasons.items())),
    )
