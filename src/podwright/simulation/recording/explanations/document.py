"""An explanation as a plain document."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from podwright.apimachinery.objects import Pod
from podwright.scheduler.advice import ReasonGroup, Remedy
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import (
    Decision,
    ExtenderAnswers,
    FilterExplanation,
    Rejection,
    ScoreExplanation,
    Status,
)
from podwright.scheduler.preemption import Candidate, Preemption
from podwright.simulation.recording.explanations.decision import decision_fields
from podwright.simulation.recording.explanations.document_structs import (
    CandidateDocument,
    ExplanationDocument,
    ExplanationView,
    ExtenderDocument,
    FilterDocument,
    NodeScore,
    ObjectReference,
    PreemptionDocument,
    PreemptionRejection,
    PrioritizedPod,
    ReasonNodes,
    RemedyDocument,
    ScoreDocument,
    StatusDocument,
)

NEAREST_IN_SUMMARY = 5
"""How many of the closest nodes a summary has."""


def explanation_document(view: ExplanationView) -> dict[str, Any]:
    """Return the explanation as a plain document, with all nodes."""
    document: dict[str, Any] = msgspec.to_builtins(typed_explanation(view))
    return document


def typed_explanation(view: ExplanationView, *, has_nodes: bool = True) -> ExplanationDocument:
    """Return the explanation in the form of the document.

    Parameters
    ----------
    view : ExplanationView
    has_nodes : bool
        Whether it has the parts with an entry per node, besides the reasons.
    """
    explanation = view.explanation
    return ExplanationDocument(
        **decision_fields(explanation.decision),
        run=UNSET if view.past is None else view.past.document,
        workload=view.workload,
        scheduler_name=explanation.pod.spec.scheduler_name,
        current_node=view.current_node or None,
        placed_before=view.placed_before,
        node_count=len(explanation.node_names),
        pre_filter=None if explanation.pre_filter.is_success else _status(explanation.pre_filter),
        restricted_by=list(explanation.restricted_by),
        not_examined=list(explanation.not_examined),
        not_examined_reason=explanation.not_examined_reason,
        feasible=list(explanation.feasible),
        winners=list(explanation.winners),
        custom_results=explanation.custom_results or UNSET,
        reasons=[_reason(group) for group in view.reasons],
        remedies=_remedies(view),
        advice_limits=list(view.advice.limits),
        displacement=view.taken,
        preemption=typed_preemption(explanation.decision),
        skipped_scores=sorted(explanation.skipped_scores),
        extenders=[_extender(answers) for answers in explanation.extenders],
        nearest=list(view.near if has_nodes else view.near[:NEAREST_IN_SUMMARY]),
        **(_of_nodes(view) if has_nodes else {}),
    )


def _of_nodes(view: ExplanationView) -> dict[str, Any]:
    explanation = view.explanation
    restricted = explanation.restricted_to
    return {
        "restricted_to": None if restricted is None else sorted(restricted),
        "totals": dict(explanation.totals.items()),
        "rejected": _statuses(explanation.rejected),
        "filters": [_filter(answer) for answer in explanation.filters],
        "scores": [_scores(scores) for scores in explanation.scores],
    }


def _status(status: Status) -> StatusDocument:
    return StatusDocument(
        plugin=status.plugin or None, code=status.code.label, reasons=list(status.reasons)
    )


def _statuses(statuses: dict[str, Status]) -> dict[str, StatusDocument]:
    return {node: _status(status) for node, status in statuses.items()}


def _reason(group: ReasonGroup) -> ReasonNodes:
    return ReasonNodes(
        reason=group.reason,
        plugin=group.plugin or None,
        nodes=list(group.nodes),
        details=group.details or UNSET,
    )


def _remedies(view: ExplanationView) -> list[RemedyDocument]:
    found = [_remedy(remedy) for remedy in view.advice.remedies]
    if view.requests is None:
        return found
    return [
        msgspec.structs.replace(
            each, changes=requests.changes, note=requests.note or UNSET, replicas=outcome or UNSET
        )
        for each, requests, outcome in zip(found, view.requests, view.replicas, strict=True)
    ]


def _remedy(remedy: Remedy) -> RemedyDocument:
    return RemedyDocument(
        remedy=remedy.text,
        edits=list(remedy.edits),
        commands=list(remedy.commands),
        node=remedy.node,
        feasible_nodes=remedy.node_count,
        other_nodes=list(remedy.alternatives),
        victims=list(remedy.victims),
        changed_objects=[
            ObjectReference(kind=obj.kind, name=obj.key) for obj in (remedy.pod, *remedy.put)
        ],
        deleted_pods=list(remedy.delete),
        deleted_objects=[ObjectReference(kind=obj.kind, name=obj.key) for obj in remedy.drop],
    )


def _filter(answer: FilterExplanation) -> FilterDocument:
    return FilterDocument(
        plugin=answer.plugin, applies=answer.applies, rejected=_statuses(answer.rejected)
    )


def _scores(scores: ScoreExplanation) -> ScoreDocument:
    normalized = dict(scores.normalized)
    return ScoreDocument(
        plugin=scores.plugin,
        weight=scores.weight,
        nodes={
            node: NodeScore(
                raw=raw,
                normalized=normalized[node],
                weighted=normalized[node] * scores.weight,
            )
            for node, raw in scores.raw.items()
        },
    )


def _extender(answers: ExtenderAnswers) -> ExtenderDocument:
    return ExtenderDocument(
        url=answers.url,
        candidates=None if answers.candidates is None else list(answers.candidates),
        kept=list(answers.kept),
        rejected=_statuses(answers.rejected),
        scores=answers.scores,
        errors=answers.errors,
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
