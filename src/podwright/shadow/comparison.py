"""Whether a decision of the real scheduler is one of ours, on the cluster as it is now."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.columns import Cluster
from podwright.framework import (
    Cycle,
    Decision,
    Explanation,
    FailedCycle,
    Plugin,
    PluginRunner,
    PostFilterResult,
    Profile,
    TieRule,
    nodes_to_find,
)
from podwright.framework.explain import explain
from podwright.objects import NamespacedName, Pod
from podwright.preemption import (
    Candidate,
    Limits,
    Preemption,
    choose,
    preempt,
    select_victims,
)
from podwright.shadow.findings import Finding, Reason, ScoreDifference
from podwright.shadow.images import CopiedImageCounts

_CYCLE = 1
"""No draw is looked at, so all cycles have one number."""

MOST_SEARCHES = 5_000
"""Of one difference; searches in large clusters take their time."""

_ALL_CANDIDATES = Limits(percentage=100, least=0)


class _Rehearsed(Plugin):
    """DefaultPreemption that tries every node, and keeps the cycle that it was asked about."""

    name = "DefaultPreemption"

    def __init__(self, real_limits: Limits) -> None:
        self.real_limits = real_limits
        self.failed: FailedCycle | None = None

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Find victims on all nodes."""
        self.failed = failed
        return preempt(failed, _ALL_CANDIDATES)


class DecisionComparer:
    """Judges the decisions for one scheduler name.

    Parameters
    ----------
    profile : Profile
        That of the real scheduler.
    cluster : Cluster
        As the real scheduler saw it.
    images : CopiedImageCounts

    Attributes
    ----------
    searches_left : int
        How many more searches may be tried to explain a difference by sampling.
    """

    def __init__(self, profile: Profile, cluster: Cluster, images: CopiedImageCounts) -> None:
        percentage = profile.percentage_of_nodes_to_score
        # Ours looks at all nodes if that is left open; the real one does not.
        self._percentage = 0 if percentage is None else percentage
        self.searches_left = MOST_SEARCHES
        self._cluster = cluster
        self._images = images
        self._preempting: _Rehearsed | None = None
        profile = msgspec.structs.replace(
            profile,
            tie_rule=TieRule.HEAP,
            post_filter=tuple(map(self._rehearsed, profile.post_filter)),
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

    def _rehearsed(self, plugin: Plugin) -> Plugin:
        limits = getattr(plugin, "limits", None)
        if plugin.name != _Rehearsed.name or not isinstance(limits, Limits):
            return plugin
        self._preempting = _Rehearsed(limits)
        return self._preempting

    # ---------------------------------------------------------------- places

    def place(
        self, pod: Pod, node: str, *, evaluated_count: int = 0, start: int = 0
    ) -> tuple[Reason, ...] | None:
        """Say whether a node is the best one for a pod.

        Parameters
        ----------
        pod : Pod
        node : str
            What the real scheduler chose.
        evaluated_count : int
            How many nodes it looked at; 0 if that is not known.
        start : int
            Where in the order of nodes its search is likely to have begun; searches that begin
            near there are tried first.

        Returns
        -------
        tuple of str or None
            Empty if it is; what makes it the best one, if it is not by itself; None if nothing
            of that does.
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
        return bool((scored[slots == slot] == scored.max()).any())

    def _sampled(
        self, pod: Pod, slot: int, evaluated_count: int, start: int
    ) -> tuple[Reason, ...] | None:
        """Begin the search at each node, and see whether the chosen one is the best then."""
        sampler = self._sampler
        copied: tuple[Reason, ...] | None = None
        for begin in self._starts(slot, evaluated_count, start):
            if not self.searches_left:
                break
            self.searches_left -= 1
            sampler.next_start = begin
            decision = sampler.decide(pod, cycle_number=_CYCLE)
            if sampler.scored is None or evaluated_count not in {0, decision.evaluated_count}:
                continue
            totals, slots = sampler.scored
            if totals[slot] < 0:
                continue
            if totals[slot] == totals.max():
                return ("sampling",)
            if copied is None and self._is_best_as_copied(pod, totals, slots, slot):
                copied = ("sampling", "image counts")
        return copied

    def _starts(self, slot: int, evaluated_count: int, start: int) -> list[int]:
        """Return where a search that comes by a node may begin, the likely ones first."""
        order = self._cluster.nodes.visiting_order()
        n = len(order)
        position = int(np.flatnonzero(order == slot)[0])
        begins = [(position - back) % n for back in range(min(n, evaluated_count or n))]
        return sorted(begins, key=lambda begin: min((begin - start) % n, (start - begin) % n))

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod, with every node scored."""
        return self._runner.decide(pod, cycle_number=_CYCLE)

    # ---------------------------------------------------------------- preemption

    def preempts(
        self, pod: Pod, node: str, victims: Collection[NamespacedName], now_ns: int
    ) -> tuple[Reason, ...] | None:
        """Say whether preemption may choose a node and these victims; see `place`."""
        found = self._preemption(pod, now_ns)
        if found is None or found.choice is None or self._preempting is None:
            return None
        ours = next((one for one in found.candidates if one.node == node), None)
        failed = self._preempting.failed
        if ours is None or failed is None:
            return None
        if not _are_the_same(ours, victims):
            # Equals come in any order; with these ones last, they are the first to go.
            slot = self._cluster.nodes.slot_of[node]
            again = select_victims(failed, slot, last=frozenset(victims))
            if not isinstance(again, Candidate) or not _are_the_same(again, victims):
                return None
            ours = again
        candidates = [ours if one.node == node else one for one in found.candidates]
        if node in choose(candidates, now_ns=now_ns).acceptable:
            return ()
        return self._sampled_candidates(found, candidates, ours, now_ns)

    def _sampled_candidates(
        self, found: Preemption, candidates: list[Candidate], ours: Candidate, now_ns: int
    ) -> tuple[Reason, ...] | None:
        """Leave out as many better candidates as the real scheduler may not have tried.

        It tries nodes in any order, and stops when it has enough candidates.
        """
        assert self._preempting is not None, "preemption was tried"
        wanted = self._preempting.real_limits.wanted(found.dry_run.helpable_count)
        while len(candidates) > wanted:
            best = choose(candidates, now_ns=now_ns).acceptable
            if ours.node in best:
                return ("sampling",)
            candidates = [one for one in candidates if one.node not in best]
        if len(candidates) < wanted:
            return None
        return ("sampling",) if ours.node in choose(candidates, now_ns=now_ns).acceptable else None

    def _decided(self, pod: Pod, now_ns: int) -> Decision:
        decision = self._runner.decide(pod, cycle_number=_CYCLE)
        return self._runner.post_filter(decision, cycle_number=_CYCLE, now_ns=now_ns)

    def _preemption(self, pod: Pod, now_ns: int) -> Preemption | None:
        result = self._decided(pod, now_ns).post_filter
        details = None if result is None else result.details
        return details if isinstance(details, Preemption) else None

    # ---------------------------------------------------------------- telling

    def compared(self, finding: Finding, pod: Pod) -> Finding:
        """Add our best node to a binding, and what makes it better than the chosen one."""
        told = explain(self._runner, pod, cycle_number=_CYCLE)
        best = told.winners[0] if told.winners else ""
        rejection = told.rejected.get(finding.node)
        if finding.node not in self._cluster.nodes.slot_of:
            why_not = "there is no such node"
        elif not told.feasible:
            why_not = told.decision.message
        else:
            why_not = "" if rejection is None else rejection.message
        return msgspec.structs.replace(
            finding, best=best, rejection=why_not, scores=_differences(told, finding.node, best)
        )

    def compared_preemption(self, finding: Finding, pod: Pod, now_ns: int) -> Finding:
        """Add our choice to a preemption."""
        found = self._preemption(pod, now_ns)
        if found is None or found.choice is None:
            decision = self._decided(pod, now_ns)
            why_not = decision.message or f"it fits, on {decision.node}"
            return msgspec.structs.replace(finding, rejection=why_not)
        there = next((one for one in found.candidates if one.node == finding.node), None)
        return msgspec.structs.replace(
            finding,
            best=found.choice.candidate.node,
            rejection="" if there is not None else "making room there does not help",
            our_victims=() if there is None else tuple(pod.key for pod in there.victims),
        )


def _are_the_same(candidate: Candidate, victims: Collection[NamespacedName]) -> bool:
    """Compare victims; those that are going already are not deleted again."""
    return {pod.key for pod in candidate.victims if pod.metadata.deletion_timestamp is None} == set(
        victims
    )


def _differences(told: Explanation, node: str, best: str) -> tuple[ScoreDifference, ...]:
    if node not in told.totals:
        return ()
    weighted = [
        ScoreDifference(
            score.plugin,
            score.weight * score.normalized[node],
            score.weight * score.normalized[best],
        )
        for score in told.scores
    ]
    return tuple(one for one in weighted if one.chosen != one.best)
