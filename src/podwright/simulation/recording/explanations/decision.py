"""A decision as a plain document, and its outcome in one word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Decision, Rejection
from podwright.scheduler.preemption import Preemption


class RejectionDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rejection, with the number of nodes.

    Attributes
    ----------
    plugin : str, optional
    code : str
    reasons : list of str
    node_count : int
    """

    plugin: str | None
    code: str
    reasons: list[str]
    node_count: int


class DecisionFields(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a scheduling attempt.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    outcome : str
        The result in one word.
    node : str, optional
        The chosen node.
    message : str
        Why the pod has no node; "" if it has one.
    priority : int
    feasible_nodes, examined_nodes, tied_nodes : int
        The number of nodes that pass all filters, that were filtered, and that have the greatest
        total.
    score : int, optional
        The total of the chosen node.
    nominated_node : str
        The node on which preemption makes room; left out without a nomination.
    victims : list of str
        The pods that it evicts there.
    """

    pod: str
    outcome: str
    node: str | None
    message: str
    priority: int
    feasible_nodes: int
    examined_nodes: int
    tied_nodes: int
    score: int | None
    nominated_node: str | UnsetType = UNSET
    victims: list[str] | UnsetType = UNSET


class DecisionDocument(DecisionFields, frozen=True, kw_only=True):
    """The result of a scheduling attempt, with the counted rejections.

    Attributes
    ----------
    rejections : list of RejectionDocument
        Left out if no filter ran.
    """

    rejections: list[RejectionDocument] | UnsetType = UNSET


def outcome_of(decision: Decision) -> str:
    """Return the outcome of a decision; the reason of the PodScheduled condition if it has one."""
    if decision.node:
        return "Scheduled"
    if decision.ignored:
        return "Ignored"
    if decision.gated_by is not None:
        return "SchedulingGated"
    return "SchedulerError" if decision.error is not None else "Unschedulable"


def nomination_of(decision: Decision) -> tuple[str, tuple[Pod, ...]]:
    """Return the node that preemption nominates for a pod ("" if none), and its victims."""
    result = decision.post_filter
    if result is None or not result.nominated_node:
        return "", ()
    victims = result.details.victims if isinstance(result.details, Preemption) else ()
    return result.nominated_node, victims


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a decision as a plain document."""
    typed = DecisionDocument(
        **decision_fields(decision),
        rejections=UNSET
        if decision.diagnosis is None
        else [_rejection(each) for each in rejections_of(decision)],
    )
    document: dict[str, Any] = msgspec.to_builtins(typed)
    return document


def decision_fields(decision: Decision) -> dict[str, Any]:
    """Return a decision as the fields of `DecisionFields`."""
    fields: dict[str, Any] = {
        "pod": decision.pod.key,
        "outcome": outcome_of(decision),
        "node": decision.node or None,
        "message": decision.message,
        "priority": decision.pod.spec.priority or 0,
        "feasible_nodes": decision.feasible_count,
        "examined_nodes": decision.evaluated_count,
        "tied_nodes": decision.tie_count,
        "score": decision.total,
    }
    node, victims = nomination_of(decision)
    if node:
        fields |= {"nominated_node": node, "victims": [pod.key for pod in victims]}
    return fields


def rejections_of(decision: Decision) -> Iterator[Rejection]:
    """Yield why nodes were rejected, with their counts."""
    diagnosis = decision.diagnosis
    if diagnosis is None:
        return
    if diagnosis.pre_filter is not None:
        yield Rejection(diagnosis.pre_filter, diagnosis.node_count)
    yield from diagnosis.rejections


def _rejection(rejection: Rejection) -> RejectionDocument:
    status = rejection.status
    return RejectionDocument(
        plugin=status.plugin or None,
        code=status.code.label,
        reasons=list(status.reasons),
        node_count=rejection.count,
    )
