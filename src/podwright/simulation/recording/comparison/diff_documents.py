"""The differences between two placements as plain documents, for the command line and HTTP.

The structs are the form of the documents; the schemas of the HTTP API are made from them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.scheduler.assembly import Because, DifferenceKind, ScoreDifference
from podwright.simulation.recording.comparison.placement_diff import (
    PlacementDiff,
    PodDifference,
    ResourceUse,
)
from podwright.simulation.recording.comparison.placements import PodPlacement
from podwright.simulation.recording.folders.tables import camel_case

SIDES: Final = ("before", "after")


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """A number on each side."""

    before: int
    after: int


class PlacementDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The placement of a pod.

    Attributes
    ----------
    node : str, optional
        None for a pod without a node.
    nominated_node : str, optional
        The node on which preemption makes room for the pod.
    message : str, optional
        Why the pod has no node, in kube-scheduler's words.
    """

    node: str | None
    nominated_node: str | None
    message: str | None


class ReasonDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Why a side does not choose the node of the other side.

    Attributes
    ----------
    kind : str
        A rejection (`predicate`), the scores (`priority`), the draw among tied nodes, the sampling
        of nodes, the choice of victims, a gate at PreEnqueue, or an attempt that failed.
    rule : str, optional
        The deciding plugin.
    reasons : list of str
    scores : list of ScoreDifference
        All scores that differ, the greatest difference first.
    margin : int
        The sum of the differences.
    """

    kind: DifferenceKind
    rule: str | None
    reasons: list[str]
    scores: list[ScoreDifference]
    margin: int


class SidesOfReason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason on each side; None if it would also accept the other node."""

    before: ReasonDocument | None
    after: ReasonDocument | None


class PodDifferenceDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod that is placed differently.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    counterpart : str, optional
        The pod of the second side, if it has another name.
    change : str
        What became of it, such as `moved`.
    before, after : PlacementDocument, optional
        None if the side does not have the pod.
    reasons : SidesOfReason
        Of each side, why it does not choose the node of the other one.
    follows_other : bool
        Whether another pod was placed differently before this one, so that the clusters differed.
    """

    pod: str
    counterpart: str | None
    change: str
    before: PlacementDocument | None
    after: PlacementDocument | None
    reasons: SidesOfReason
    follows_other: bool


class NodeChangesDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The nodes whose use differs in kind.

    Attributes
    ----------
    used : Counts
        The number of nodes with pods, except pods of daemon sets and mirror pods.
    emptied, newly_used : list of str
        Nodes of both sides that have such pods on the first or the second side only.
    added, removed : list of str
        Nodes that only the second or the first side has.
    """

    used: Counts
    emptied: list[str]
    newly_used: list[str]
    added: list[str]
    removed: list[str]


class SideUse(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a resource on one side.

    Attributes
    ----------
    requested, allocatable : int
        The sums over all nodes, in milli-CPU, bytes or units.
    share : float, optional
        The requested share; None if no node has the resource.
    spread : float, optional
        The standard deviation of the shares of the nodes that have the resource.
    """

    requested: int
    allocatable: int
    share: float | None
    spread: float | None


class ResourceUseDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a resource on both sides."""

    resource: str
    before: SideUse
    after: SideUse


class ZonePods(msgspec.Struct, frozen=True, kw_only=True):
    """The number of pods in a zone; the zone is None for nodes without one."""

    zone: str | None
    pods: Counts


class DiffSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The differences as numbers.

    Attributes
    ----------
    pods, different, follow_others : int
        The number of all pods, of those that are placed differently, and of those among them that
        follow another pod.
    changes : dict of str to int
        The number of pods per change.
    same : bool
        Whether all pods are placed equally and the nodes are used equally.
    """

    pods: int
    different: int
    follow_others: int
    changes: dict[str, int]
    same: bool


class DiffDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two placements.

    Attributes
    ----------
    pods : list of PodDifferenceDocument
        The pods that are placed differently, in the order of scheduling.
    nodes : NodeChangesDocument
    resources : list of ResourceUseDocument
    zones : list of ZonePods
    summary : DiffSummary
    """

    pods: list[PodDifferenceDocument]
    nodes: NodeChangesDocument
    resources: list[ResourceUseDocument]
    zones: list[ZonePods]
    summary: DiffSummary


def diff_document(diff: PlacementDiff) -> Document:
    """Return the differences between two placements as a plain document."""
    return _plain(typed_diff(diff))


def typed_diff(diff: PlacementDiff) -> DiffDocument:
    """Return the differences between two placements in the form of the document."""
    nodes = diff.nodes
    return DiffDocument(
        pods=[_pod(one) for one in diff.differences],
        nodes=NodeChangesDocument(
            used=_counts(nodes.used),
            emptied=list(nodes.emptied),
            newly_used=list(nodes.newly_used),
            added=list(nodes.added),
            removed=list(nodes.removed),
        ),
        resources=[
            ResourceUseDocument(resource=use.resource, before=_use(use, 0), after=_use(use, 1))
            for use in diff.resources
        ],
        zones=[
            ZonePods(zone=zone or None, pods=_counts(counts)) for zone, counts in diff.zones.items()
        ],
        summary=DiffSummary(
            pods=len(diff.placements),
            different=len(diff.differences),
            follow_others=sum(one.follows for one in diff.differences),
            changes={camel_case(change): count for change, count in diff.counts.items()},
            same=diff.is_same,
        ),
    )


def _pod(one: PodDifference) -> PodDifferenceDocument:
    before, after = (
        None if because is None else _reason(because, limit=None) for because in one.reasons
    )
    return PodDifferenceDocument(
        pod=one.pod,
        counterpart=one.counterpart or None,
        change=camel_case(one.change),
        before=typed_placement(one.before),
        after=typed_placement(one.after),
        reasons=SidesOfReason(before=before, after=after),
        follows_other=one.follows,
    )


def typed_placement(placement: PodPlacement | None) -> PlacementDocument | None:
    """Return the placement of a pod in the form of the document."""
    if placement is None:
        return None
    return PlacementDocument(
        node=placement.node or None,
        nominated_node=placement.nominated or None,
        message=placement.message or None,
    )


def _counts(pair: tuple[int, int]) -> Counts:
    return Counts(before=pair[0], after=pair[1])


def _use(use: ResourceUse, side: int) -> SideUse:
    return SideUse(
        requested=use.requested[side],
        allocatable=use.allocatable[side],
        share=use.share[side],
        spread=use.spread[side],
    )


def reason_document(because: Because, *, limit: int | None = None) -> Document:
    """Return the reason as a plain document; `limit` as in `reason_text`."""
    return _plain(_reason(because, limit=limit))


def _reason(because: Because, *, limit: int | None) -> ReasonDocument:
    return ReasonDocument(
        kind=because.kind,
        rule=because.rule or None,
        reasons=list(because.reasons),
        scores=list(because.scores[:limit]),
        margin=because.margin,
    )


def _plain(found: msgspec.Struct) -> Document:
    document: dict[str, Any] = msgspec.to_builtins(found)
    return document
