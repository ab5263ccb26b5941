"""Explanations as structs and plain documents, for commands and for the HTTP API alike."""

from podwright.simulation.recording.explanations.attempts import Attempt, attempts_of
from podwright.simulation.recording.explanations.decision import (
    decision_document,
    nomination_of,
    outcome_of,
    rejections_of,
)
from podwright.simulation.recording.explanations.document import (
    explanation_document,
    typed_explanation,
    without_nodes,
)
from podwright.simulation.recording.explanations.document_structs import ExplanationDocument
from podwright.simulation.recording.explanations.matrix import (
    ExplanationMatrix,
    NodeResult,
    explanation_matrix,
    extender_name,
    node_results,
)
from podwright.simulation.recording.explanations.preemption import ordered_candidates, preemption_of
from podwright.simulation.recording.explanations.present import (
    explanation_of_pod,
    present_view,
    view_of_pod,
)
from podwright.simulation.recording.explanations.recorded import QUEUE_LABELS, recorded_view
from podwright.simulation.recording.explanations.remedy_changes import (
    RemedyChange,
    RemedyRequests,
    remedy_changes,
)
from podwright.simulation.recording.explanations.replicas import ReplicaOutcome
from podwright.simulation.recording.explanations.view import (
    ExplanationView,
    RecordedOutcome,
    WorkloadView,
)

__all__ = [
    "QUEUE_LABELS",
    "Attempt",
    "ExplanationDocument",
    "ExplanationMatrix",
    "ExplanationView",
    "NodeResult",
    "RecordedOutcome",
    "RemedyChange",
    "RemedyRequests",
    "ReplicaOutcome",
    "WorkloadView",
    "attempts_of",
    "decision_document",
    "explanation_document",
    "explanation_matrix",
    "explanation_of_pod",
    "extender_name",
    "node_results",
    "nomination_of",
    "ordered_candidates",
    "outcome_of",
    "preemption_of",
    "present_view",
    "recorded_view",
    "rejections_of",
    "remedy_changes",
    "typed_explanation",
    "view_of_pod",
    "without_nodes",
]
