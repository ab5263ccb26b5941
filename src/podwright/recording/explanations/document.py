"""An explanation as a plain document."""

from __future__ import annotations

from typing import Any

from podwright.advice import DeviceRefusal, ReasonGroup, Remedy
from podwright.recording.explanations.decision import decision_document
from podwright.recording.explanations.preemption import preemption_document
from podwright.recording.explanations.view import ExplanationView, WorkloadView


def explanation_document(view: ExplanationView) -> dict[str, Any]:
    """Return the explanation as a plain document, with all nodes."""
    explanation = view.explanation
    decision = decision_document(explanation.decision)
    decision.pop("rejections", None)
    restricted = explanation.restricted_to
    if view.past is not None:
        decision["run"] = view.past.document
    return decision | {
        "workload": None if view.workload is None else _workload(view.workload),
        "schedulerName": explanation.pod.spec.scheduler_name,
        "currentNode": view.current_node or None,
        "placedBefore": view.placed_before,
        "nodeCount": len(explanation.node_names),
        "preFilter": None if explanation.pre_filter.is_success else _status(explanation.pre_filter),
        "restrictedTo": None if restricted is None else sorted(restricted),
        "restrictedBy": list(explanation.restricted_by),
        "notExamined": list(explanation.not_examined),
        "feasible": list(explanation.feasible),
        "winners": list(explanation.winners),
        "totals": explanation.totals,
        "rejected": {node: _status(status) for node, status in explanation.rejected.items()},
        "reasons": [_reason(group) for group in view.reasons],
        "remedies": [_remedy(remedy) for remedy in view.advice.remedies],
        "adviceLimits": list(view.advice.limits),
        "takenPlace": None
        if view.taken is None
        else {
            "node": view.taken.node,
            "feasibleNodes": view.taken.node_count,
            "pods": list(view.taken.pods),
        },
        "nearest": [
            {
                "node": near.node,
                "plugins": list(near.plugins),
                "lacks": list(near.lacks),
                "devices": [_device(each) for each in near.devices],
            }
            for near in view.near
        ],
        "preemption": preemption_document(explanation.decision),
        "filters": [
            {
                "plugin": answer.plugin,
                "applies": answer.applies,
                "rejected": {node: _status(status) for node, status in answer.rejected.items()},
            }
            for answer in explanation.filters
        ],
        "scores": [
            {
                "plugin": scores.plugin,
                "weight": scores.weight,
                "nodes": {
                    node: {
                        "raw": raw,
                        "normalized": scores.normalized[node],
                        "weighted": scores.normalized[node] * scores.weight,
                    }
                    for node, raw in scores.raw.items()
                },
            }
            for scores in explanation.scores
        ],
        "skippedScores": sorted(explanation.skipped_scores),
        "extenders": [
            {
                "url": answers.url,
                "asked": None if answers.asked is None else list(answers.asked),
                "kept": list(answers.kept),
                "rejected": {node: _status(status) for node, status in answers.rejected.items()},
                "scores": answers.scores,
                "errors": answers.errors,
            }
            for answers in explanation.extenders
        ],
    }


def _workload(workload: WorkloadView) -> dict[str, Any]:
    return {
        "kind": workload.kind,
        "name": workload.key,
        "pods": workload.pod_count,
        "unfit": None if workload.unfit is None else list(workload.unfit),
    }


def _status(status: Any) -> dict[str, Any]:
    return {
        "plugin": status.plugin or None,
        "code": status.code.label,
        "reasons": list(status.reasons),
    }


def _reason(group: ReasonGroup) -> dict[str, Any]:
    return {
        "reason": group.reason,
        "plugin": group.plugin or None,
        "nodes": list(group.nodes),
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "remedy": remedy.text,
        "edits": list(remedy.edits),
        "commands": list(remedy.commands),
        "node": remedy.node,
        "feasibleNodes": remedy.node_count,
        "otherNodes": list(remedy.alternatives),
        "victims": list(remedy.victims),
        "changedObjects": [
            {"kind": obj.kind, "name": obj.key} for obj in (remedy.pod, *remedy.put)
        ],
        "deletedPods": list(remedy.delete),
        "deletedObjects": [{"kind": obj.kind, "name": obj.key} for obj in remedy.drop],
    }


def _device(refusal: DeviceRefusal) -> dict[str, str]:
    return {
        "claim": refusal.claim,
        "request": refusal.request,
        "driver": refusal.driver,
        "pool": refusal.pool,
        "device": refusal.device,
        "reason": refusal.reason,
    }
