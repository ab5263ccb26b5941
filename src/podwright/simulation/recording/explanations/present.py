"""Explanation of a pod in a cluster as it is: what a `Scheduler` would decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.assembly import Scheduler, SchedulerState, UnknownPod
from podwright.scheduler.framework import Explanation
from podwright.simulation import recording
from podwright.simulation.recording.explanations.document_structs import ExplanationView

if TYPE_CHECKING:
    from podwright.simulation.recording.explanations.document_structs import (
        RemedyRequests,
        ReplicaOutcome,
    )
    from podwright.simulation.recording.explanations.replicas import Present


def present_view(
    scheduler: Scheduler,
    explanation: Explanation,
    *,
    since: SchedulerState | None = None,
    nearest_max: int | None = None,
    present: Present | None = None,
    **known: Any,
) -> ExplanationView:
    """Return an explanation with the reasons, and changes after which the pod fits.

    Call it before anything else is scheduled: it reads the cluster as it is.

    Parameters
    ----------
    scheduler : Scheduler
        In the state of the explanation.
    since : SchedulerState, optional
        The state before the pods ahead in the queue were scheduled.
    nearest_max : int, optional
        How many of the nearest nodes the view has; all if left out.
    present : callable, optional
        Returns an object of the cluster by kind and "namespace/name"; for the requests of remedies.
    **known
        Further fields of the view.
    """
    advice = scheduler.advice(explanation, since=since)
    requests: tuple[RemedyRequests, ...] | None = None
    outcomes: tuple[ReplicaOutcome | None, ...] = ()
    if present is not None and not advice.remedies:
        requests = ()
    elif present is not None:
        replicas = recording.Replicas(scheduler, explanation.pod, present)
        found = [(remedy, replicas.after(remedy)) for remedy in advice.remedies]
        # The smallest change stays the first of those that suffice for as many replicas.
        found.sort(key=lambda each: -1.0 if each[1] is None else -each[1].share)
        outcomes = tuple(outcome for _, outcome in found)
        advice = msgspec.structs.replace(advice, remedies=tuple(remedy for remedy, _ in found))
        requests = tuple(recording.remedy_changes(remedy, present) for remedy in advice.remedies)
    return ExplanationView(
        explanation=explanation,
        reasons=scheduler.rejection_groups(explanation),
        advice=advice,
        requests=requests,
        replicas=outcomes,
        taken=None if since is None else scheduler.displacement(explanation, since),
        near=scheduler.nearest_nodes(explanation, limit=nearest_max) if nearest_max != 0 else [],
        **known,
    )


def view_of_pod(scheduler: Scheduler, pod: NamespacedName, **known: Any) -> ExplanationView:
    """Explain a pod as the next one to be scheduled; one with a node as if not yet placed.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    **known
        Further fields of the view.

    Raises
    ------
    UnknownPod
        The pod is neither pending nor on a node.
    """
    placed = scheduler.cluster.pods.get(pod)
    if placed is not None:
        node = scheduler.cluster.nodes.names[placed.slot]
        with scheduler.freed(pod) as freed:
            explanation = scheduler.explain(freed)
            return present_view(scheduler, explanation, current_node=node, **known)
    explanation = explanation_of_pod(scheduler, pod)
    return present_view(scheduler, explanation, is_alone=True, **known)


def explanation_of_pod(scheduler: Scheduler, pod: NamespacedName) -> Explanation:
    """Explain a pod as `view_of_pod` does, without searching remedies.

    Raises
    ------
    UnknownPod
        The pod is neither pending nor on a node.
    """
    if pod in scheduler.cluster.pods:
        return scheduler.explain_again(pod)
    if pod not in scheduler.pending:
        raise UnknownPod(
            f"pod {pod} is neither pending nor on a node: it has finished, or its node is missing"
        )
    return scheduler.explain(pod)
