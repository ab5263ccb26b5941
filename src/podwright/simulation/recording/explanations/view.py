"""An explanation with the remedies, and the context of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from podwright.scheduler.assembly import Displacement
from podwright.scheduler.framework import Explanation
from podwright.simulation.recording.explanations.document_structs import (
    RecordedAttempt,
    RemedyRequests,
    ReplicaOutcome,
    WorkloadView,
)

if TYPE_CHECKING:
    from podwright.scheduler.advice import Advice, NearNode, ReasonGroup


class ExplanationView(msgspec.Struct, frozen=True, kw_only=True):
    """An explanation with the data needed to print it.

    Parameters
    ----------
    explanation : Explanation
    reasons : list of ReasonGroup
        Why nodes reject the pod.
    advice : Advice
        Changes after which the pod fits, and what limits them.
    near : list of NearNode
        All rejecting nodes, the closest first.
    current_node : str
        The node that the pod is on; "" if it is pending.
    placed_before : int
        Number of pods that were scheduled first because they are ahead of it in the queue.
    taken : Displacement, optional
        Which of these pods took the place of the pod.
    is_alone : bool
        The pod was evaluated against the cluster as given (``--alone``).
    seed : int
    tie_rule : str
    nodes : tuple of str
        The nodes to show; empty: a selection.
    workload : WorkloadView, optional
        The workload that the pod was selected from.
    past : RecordedOutcome, optional
        Time and outcome of the attempt, if it belongs to a recorded run.
    requests : tuple of RemedyRequests, optional
        Those of each remedy; None for a recorded run, whose objects are others now.
    replicas : tuple of ReplicaOutcome
        Of each remedy, the other replicas of the workload; none for a recorded run.
    """

    explanation: Explanation
    reasons: list[ReasonGroup]
    advice: Advice
    near: list[NearNode]
    current_node: str = ""
    placed_before: int = 0
    taken: Displacement | None = None
    is_alone: bool = False
    seed: int = 0
    tie_rule: str = "drawn"
    nodes: tuple[str, ...] = ()
    workload: WorkloadView | None = None
    past: RecordedOutcome | None = None
    requests: tuple[RemedyRequests, ...] | None = None
    replicas: tuple[ReplicaOutcome | None, ...] = ()


class RecordedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Time and outcome of a recorded scheduling attempt.

    Parameters
    ----------
    when, then : str
        Time and outcome as text.
    document : RecordedAttempt
        Both, with more details, for ``-o json``.
    """

    when: str
    then: str
    document: RecordedAttempt
