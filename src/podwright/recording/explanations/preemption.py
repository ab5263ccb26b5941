"""The result of preemption as a plain document: candidates, victims, the deciding criterion."""

from __future__ import annotations

from typing import Any

from podwright.columns import priority_of
from podwright.framework import Decision, Rejection
from podwright.objects import Pod
from podwright.preemption import Candidate, Preemption


def preemption_of(decision: Decision) -> Preemption | None:
    """Return the result of preemption; None if it was not attempted."""
    result = decision.post_filter
    details = None if result is None else result.details
    return details if isinstance(details, Preemption) else None


def preemption_document(decision: Decision) -> dict[str, Any] | None:
    """Return the result of preemption as a plain document; None if it was not attempted."""
    preemption = preemption_of(decision)
    if preemption is None:
        return None
    tried, choice = preemption.dry_run, preemption.choice
    return {
        "nodesWhereRoomMayHelp": tried.helpable_count,
        "triedNodes": tried.visited_count,
        "rejections": [_rejection(rejection) for rejection in tried.rejections],
        "candidates": [_candidate(candidate) for candidate in ordered_candidates(preemption)],
        "chosen": None if choice is None else choice.candidate.node,
        "criterion": None
        if choice is None or choice.criterion is None
        else choice.criterion.description,
        "equallyGood": [] if choice is None else list(choice.acceptable),
        "losingNomination": [pod.key for pod in preemption.cleared_nominations],
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {"reasons": list(rejection.status.reasons), "nodeCount": rejection.count}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "node": candidate.node,
        "victims": [_pod(pod) for pod in candidate.victims],
        "spared": [_pod(pod) for pod in candidate.spared],
        "violatedBudgets": candidate.pdb_violations,
    }


def _pod(pod: Pod) -> dict[str, Any]:
    return {"pod": pod.key, "priority": priority_of(pod)}


def ordered_candidates(preemption: Preemption) -> list[Candidate]:
    """Return the candidates sorted by node name, the chosen one first."""
    chosen = "" if preemption.choice is None else preemption.choice.candidate.node
    return sorted(preemption.candidates, key=lambda one: (one.node != chosen, one.node))
