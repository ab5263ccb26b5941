"""Explanations as structs and plain documents, for commands and for the HTTP API alike."""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.recording.explanations.attempts import (
        Attempt as Attempt,
        attempts_of as attempts_of,
    )
    from podwright.simulation.recording.explanations.decision import (
        decision_document as decision_document,
        nomination_of as nomination_of,
        outcome_of as outcome_of,
        rejections_of as rejections_of,
    )
    from podwright.simulation.recording.explanations.document import (
        explanation_document as explanation_document,
        ordered_candidates as ordered_candidates,
        preemption_of as preemption_of,
        typed_explanation as typed_explanation,
        without_nodes as without_nodes,
    )
    from podwright.simulation.recording.explanations.document_structs import (
        ExplanationDocument as ExplanationDocument,
        RemedyChange as RemedyChange,
        RemedyRequests as RemedyRequests,
        ReplicaOutcome as ReplicaOutcome,
        WorkloadView as WorkloadView,
    )
    from podwright.simulation.recording.explanations.matrix import (
        ExplanationMatrix as ExplanationMatrix,
        NodeResult as NodeResult,
        explanation_matrix as explanation_matrix,
        extender_name as extender_name,
        node_results as node_results,
    )
    from podwright.simulation.recording.explanations.present import (
        explanation_of_pod as explanation_of_pod,
        present_view as present_view,
        view_of_pod as view_of_pod,
    )
    from podwright.simulation.recording.explanations.recorded import (
        QUEUE_LABELS as QUEUE_LABELS,
        recorded_view as recorded_view,
    )
    from podwright.simulation.recording.explanations.view import (
        ExplanationView as ExplanationView,
        RecordedOutcome as RecordedOutcome,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
