"""The form of an explanation as a document: `-o json`, and the reply of the HTTP API.

Names and texts that can be missing are null. A field that concerns only some explanations is left
out of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from podwright.scheduler.advice import NearNode, ReasonDetail
from podwright.scheduler.assembly import Displacement
from podwright.scheduler.framework import Explanation, NotExaminedReason
from podwright.simulation.recording.explanations.decision import DecisionFields

if TYPE_CHECKING:
    from podwright.scheduler.advice import Advice, NearNode, ReasonGroup


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a plugin.

    Attributes
    ----------
    plugin : str, optional
    code : str
    reasons : list of str
    """

    plugin: str | None
    code: str
    reasons: list[str]


class OutcomeDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a pod after an attempt.

    Attributes
    ----------
    outcome : str
        `bound`, `queued`, `gone`, or `binding` if the binding has not ended.
    time : str
    node, error : str, optional
        The node of the binding, and why it failed.
    queue : str, optional
        The part of the queue to which the pod returned.
    waits_for : list of str
        The plugins whose events move it.
    backoff_end : str, optional
    nominated_node : str, optional
    """

    outcome: str
    time: str
    node: str | None
    error: str | None
    queue: str | None
    waits_for: list[str]
    backoff_end: str | None
    nominated_node: str | None


class RecordedAttempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recorded attempt.

    Attributes
    ----------
    event : int
        The number of the event in the decision log.
    time : str
    since_start : str
        The same as a duration.
    attempt, attempts : int
        Its number, and the number of all attempts of the pod.
    then : OutcomeDocument
    next_attempt : str, optional
        The time of the next attempt.
    """

    event: int
    time: str
    since_start: str
    attempt: int
    attempts: int
    then: OutcomeDocument
    next_attempt: str | None


class WorkloadView(
    msgspec.Struct, frozen=True, kw_only=True, rename={"key": "name", "pod_count": "pods"}
):
    """A workload of which one pod is explained.

    Parameters
    ----------
    kind, key : str
    pod_count : int
    unfit : tuple of str, optional
        The pods that do not fit; None if the others were not scheduled (``--alone``).
    """

    kind: str
    key: str
    pod_count: int
    unfit: tuple[str, ...] | None


class ReasonNodes(msgspec.Struct, frozen=True, kw_only=True):
    """A reason with the nodes that it rejects.

    Attributes
    ----------
    reason : str
    plugin : str, optional
        Null for nodes that PreFilter left out.
    nodes : list of str
        Each node counts for the first plugin that rejects it; one with several reasons for each.
    details : tuple of ReasonDetail
        What the nodes have, such as a taint; left out if the reason says all.
    """

    reason: str
    plugin: str | None
    nodes: list[str]
    details: tuple[ReasonDetail, ...] | UnsetType = UNSET


class ObjectReference(msgspec.Struct, frozen=True, kw_only=True):
    """An object by kind and `namespace/name`."""

    kind: str
    name: str


Action = Literal["patch", "create", "delete", "replace"]


class RemedyChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One request of a remedy.

    Attributes
    ----------
    action : str
        `patch` an object with a JSON merge patch, `create` or `delete` it, or `replace` it: delete
        and create it, because its fields cannot be changed.
    api_version, kind, namespace, name : str
        The object; its namespace is empty if the kind has none.
    body : dict, optional
        The patch, or the manifest to create; None for a deletion.
    command : str
        The kubectl command that does the same; "" for nodes, whose commands the remedy has.
    effect : str
        What else happens, such as the replacement of pods; "" for nothing.
    """

    action: Action
    api_version: str
    kind: str
    namespace: str
    name: str
    body: dict[str, Any] | None = None
    command: str = ""
    effect: str = ""


class RemedyRequests(NamedTuple):
    """The requests that make the changes of a remedy.

    Parameters
    ----------
    changes : list of RemedyChange, optional
        None if they cannot be made.
    note : str
        Why they cannot.
    """

    changes: list[RemedyChange] | None
    note: str = ""


class ReplicaOutcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many replicas have a node after a remedy.

    Attributes
    ----------
    workload : str
        Its kind and `namespace/name`.
    fit, total : int
        How many replicas fit, and of how many: all that are replaced because their pod template
        changes, otherwise those that are pending. A replacement ends with the first that does not
        fit, if the strategy of the workload waits for it.
    is_rollout : bool
        Whether they are replaced.
    kept : int
        How many of the replicas that had a node are neither replaced nor preempted.
    placed : int
        How many replicas had a node before.
    """

    workload: str
    fit: int
    total: int
    is_rollout: bool
    kept: int
    placed: int

    @property
    def share(self) -> float:
        """The share of the replicas, new or not, that have a node then."""
        count = self.total if self.is_rollout else self.total + self.placed
        return (self.fit + self.kept) / count if count else 1.0

    def __str__(self) -> str:
        """Return it as a clause."""
        only = "only " if self.fit < self.total else ""
        if not self.is_rollout:
            return f"{only}{self.fit} of {self.total} pending replicas of {self.workload} fit then"
        text = f"{only}{self.fit} of {self.total} replicas of {self.workload} fit with it"
        if self.kept and self.fit < self.total:
            text += f", {self.kept} of the old keep{'s' * (self.kept == 1)} a node"
        gain = self.fit + self.kept - self.placed
        return text + ("" if gain > 0 else ": fewer than now" if gain else ": as many as now")


class RemedyDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change after which the pod fits; it was tried.

    Attributes
    ----------
    remedy : str
        The change in the imperative.
    edits : list of str
        The same, one entry for each object that changes.
    commands : list of str
        The kubectl commands that make the changes of nodes.
    node : str
        The node that the pod goes to then.
    feasible_nodes : int
        How many nodes are feasible then.
    other_nodes : list of str
        Other nodes of which the same change suffices.
    victims : list of str
        Pods that preemption evicts first.
    changed_objects, deleted_objects : list of ObjectReference
    deleted_pods : list of str
    changes : list of RemedyChange, optional
        The requests that make the change; null if they cannot be made. Left out of recorded
        attempts.
    note : str
        Why they cannot be made; left out if they can.
    replicas : ReplicaOutcome
        How many replicas of the workload fit then; left out for one replica, and of recorded
        attempts.
    """

    remedy: str
    edits: list[str]
    commands: list[str]
    node: str
    feasible_nodes: int
    other_nodes: list[str]
    victims: list[str]
    changed_objects: list[ObjectReference]
    deleted_pods: list[str]
    deleted_objects: list[ObjectReference]
    changes: list[RemedyChange] | UnsetType | None = UNSET
    note: str | UnsetType = UNSET
    replicas: ReplicaOutcome | UnsetType = UNSET


class PreemptionRejection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why preemption does not help on nodes.

    Attributes
    ----------
    reasons : list of str
    node_count : int
    """

    reasons: list[str]
    node_count: int


class PrioritizedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with its priority."""

    pod: str
    priority: int


class CandidateDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node on which preemption would make room.

    Attributes
    ----------
    node : str
    victims, spared : list of PrioritizedPod
        The pods that would be evicted, and those of lower priority that would stay.
    violated_budgets : int
        How many victims violate a PodDisruptionBudget.
    """

    node: str
    victims: list[PrioritizedPod]
    spared: list[PrioritizedPod]
    violated_budgets: int


class PreemptionDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of preemption.

    Attributes
    ----------
    nodes_where_room_may_help, tried_nodes : int
    rejections : list of PreemptionRejection
    candidates : list of CandidateDocument
        The chosen one first.
    chosen : str, optional
        The chosen node.
    criterion : str, optional
        What decided between the candidates.
    equally_good : list of str
        Nodes that are as good.
    losing_nomination : list of str
        Pods of lower priority that lose their nomination.
    """

    nodes_where_room_may_help: int
    tried_nodes: int
    rejections: list[PreemptionRejection]
    candidates: list[CandidateDocument]
    chosen: str | None
    criterion: str | None
    equally_good: list[str]
    losing_nomination: list[str]


class FilterDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a filter.

    Attributes
    ----------
    plugin : str
    applies : bool
        False: there was nothing to check for this pod, which is not the same as passing.
    rejected : dict of str to StatusDocument
        By node.
    """

    plugin: str
    applies: bool
    rejected: dict[str, StatusDocument]


class NodeScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of a node."""

    raw: int
    normalized: int
    weighted: int


class ScoreDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a plugin, by node."""

    plugin: str
    weight: int
    nodes: dict[str, NodeScore]


class ExtenderDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of an extender.

    Attributes
    ----------
    url : str
    candidates : list of str, optional
        The nodes passed to its filter; null if it was not called.
    kept : list of str
        The nodes that it kept.
    rejected : dict of str to StatusDocument
        The nodes for which it gave a reason.
    scores : dict of str to int
        By node, the value that it adds to the total.
    errors : list of str
        What failed.
    """

    url: str
    candidates: list[str] | None
    kept: list[str]
    rejected: dict[str, StatusDocument]
    scores: dict[str, int]
    errors: list[str]


class ExplanationDocument(DecisionFields, frozen=True, kw_only=True, rename="camel"):
    """Why a pod is placed on its node, or why it fits on no node.

    Fields with an entry per node are left out of a summary.

    Attributes
    ----------
    run : RecordedAttempt
        Left out if the explanation is not that of a recorded attempt.
    workload : WorkloadView, optional
    scheduler_name : str
    current_node : str, optional
        The node that the pod is on.
    placed_before : int
        Number of pods that were scheduled first because they are ahead of it in the queue.
    node_count : int
    pre_filter : StatusDocument, optional
        The rejection of the pod as a whole.
    restricted_to : list of str, optional
        Nodes that PreFilter leaves; null for all.
    restricted_by : list of str
        The plugins that restricted them.
    not_examined : list of str
        Nodes that were not filtered.
    not_examined_reason : str, optional
        `enoughFeasibleNodes`: enough feasible nodes had been found; `nominatedNodeFits`: the
        nominated node, which is filtered first, is feasible; `otherPlacement`: they are in another
        placement of the pod group. Null if all nodes were filtered.
    feasible : list of str
        Nodes that pass all filters.
    winners : list of str
        The nodes among which the node was drawn.
    totals : dict of str to int
        By feasible node, the sum of weighted scores.
    rejected : dict of str to StatusDocument
        By node, the first rejection, which decides.
    reasons : list of ReasonNodes
    remedies : list of RemedyDocument
    advice_limits : list of str
        What limits the search for remedies.
    displacement : Displacement, optional
    nearest : list of NearNode
        The rejecting nodes, the closest first; of a summary, five of them.
    preemption : PreemptionDocument, optional
        Null if it was not attempted.
    filters : list of FilterDocument
    scores : list of ScoreDocument
    skipped_scores : list of str
        The score plugins with nothing to score for this pod.
    extenders : list of ExtenderDocument
    """

    run: RecordedAttempt | UnsetType = UNSET
    workload: WorkloadView | None
    scheduler_name: str
    current_node: str | None
    placed_before: int
    node_count: int
    pre_filter: StatusDocument | None
    restricted_to: list[str] | UnsetType | None = UNSET
    restricted_by: list[str]
    not_examined: list[str]
    not_examined_reason: NotExaminedReason | None
    feasible: list[str]
    winners: list[str]
    totals: dict[str, int] | UnsetType = UNSET
    custom_results: dict[str, str] | UnsetType = UNSET
    rejected: dict[str, StatusDocument] | UnsetType = UNSET
    reasons: list[ReasonNodes]
    remedies: list[RemedyDocument]
    advice_limits: list[str]
    displacement: Displacement | None
    nearest: list[NearNode]
    preemption: PreemptionDocument | None
    filters: list[FilterDocument] | UnsetType = UNSET
    scores: list[ScoreDocument] | UnsetType = UNSET
    skipped_scores: list[str]
    extenders: list[ExtenderDocument]


# An explanation with the remedies, and the context of both.


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
