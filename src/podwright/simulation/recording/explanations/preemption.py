"""The result of preemption as a plain document: candidates, victims, the deciding criterion."""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import Decision, Rejection
from podwright.scheduler.preemption import Candidate, Preemption
from podwright.simulation.recording.explanations.document_structs import (
    CandidateDocument,
    PreemptionDocument,
    PreemptionRejection,
    PrioritizedPod,
)


def preemption_of(decision: Decision) -> Preemption | None:
    """Return the result of preemption; None if it was not attempted."""
    result = decision.post_filter
    details = None if result is None else result.details
    return details if isinstance(details, Preemption) else None


def typed_preemption(decision: Decision) -> PreemptionDocument | None:
    """Return the result of preemption as a document; None if it was not attempted."""
    preemption = preemption_of(decision)
    if preemption is None:
        return None
    tried, choice = preemption.dry_run, preemption.choice
    return PreemptionDocument(
        nodes_where_room_may_help=tried.helpable_count,
        tried_nodes=tried.visited_count,
        rejections=[_rejection(rejection) for rejection in tried.rejections],
        candidates=[_candidate(candidate) for candidate in ordered_candidates(preemption)],
        chosen=None if choice is None else choice.candidate.node,
        criterion=None
        if choice is None or choice.criterion is None
        else choice.criterion.description,
        equally_good=[] if choice is None else list(choice.acceptable),
        losing_nomination=[pod.key for pod in preemption.cleared_nominations],
    )


def _rejection(rejection: Rejection) -> PreemptionRejection:
    return PreemptionRejection(reasons=list(rejection.status.reasons), node_count=rejection.count)


def _candidate(candidate: Candidate) -> CandidateDocument:
    return CandidateDocument(
        node=candidate.node,
        victims=[_pod(pod) for pod in candidate.victims],
        spared=[_pod(pod) for pod in candidate.spared],
        violated_budgets=candidate.pdb_violations,
    )


def _pod(pod: Pod) -> PrioritizedPod:
    return PrioritizedPod(pod=pod.key, priority=priority_of(pod))


def ordered_candidates(preemption: Preemption) -> list[Candidate]:
    """Return the candidates sorted by node name, the chosen one first."""
    chosen = "" if preemption.choice is None else preemption.choice.candidate.node
    return sorted(preemption.candidates, key=lambda one: (one.node != chosen, one.node))
