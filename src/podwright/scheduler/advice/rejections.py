"""Rejections of a pod: the nodes of each reason, and the nodes that are nearest to feasible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Taint,
    node_selector,
    pending_requests,
    untolerated_taint,
)
from podwright.scheduler.advice.amounts import format_amount
from podwright.scheduler.advice.claim_fixes import VolumeFixes
from podwright.scheduler.advice.device_refusals import DeviceRefusal, DeviceRefusals
from podwright.scheduler.advice.node_edits import condition_behind, condition_text
from podwright.scheduler.advice.pod_edits import taint_text
from podwright.scheduler.columns import (
    MULTI_ZONE_DELIMITER,
    READ_WRITE_ONCE_POD,
    Cluster,
    claim_names,
    class_of,
)
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.scheduler.framework import Explanation, RejectionDetails, Status


class ReasonDetail(msgspec.Struct, frozen=True, rename="camel"):
    """What some nodes of a reason have in common.

    Parameters
    ----------
    text : str
        Such as a taint, or the volume and its zone.
    node_count : int
        The nodes with exactly this; over all details of a group, each node counts once.
    """

    text: str
    node_count: int


class ReasonGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that one reason rejects.

    Parameters
    ----------
    reason : str
    plugin : str
        "" for nodes that PreFilter left out.
    nodes : tuple of str
        In order of arrival.
    details : tuple of ReasonDetail
        What the nodes have, the most frequent first; empty if the reason says all.
    """

    reason: str
    plugin: str
    nodes: tuple[str, ...]
    details: tuple[ReasonDetail, ...] = ()


class NearNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that rejects the pod, and everything that it lacks.

    Parameters
    ----------
    node : str
    plugins : tuple of str
        The plugins that reject it, also those that were not reached.
    lacks : tuple of str
        With amounts and names, not only reasons.
    devices : tuple of DeviceRefusal
        The devices that were tried for the claims of the pod and refused; of the nearest nodes
        only.
    """

    node: str
    plugins: tuple[str, ...]
    lacks: tuple[str, ...]
    devices: tuple[DeviceRefusal, ...] = ()


_DEVICES = "DynamicResources"
_NOT_ALLOCATED = "cannot allocate all claims"
_NOT_AVAILABLE = "resourceclaim not available on the node"
_MOST_WITH_DEVICES = 20
"""Of so many nodes the devices are searched again; each costs a search."""

_INSUFFICIENT = "Insufficient "
_OF_RESOURCES = frozenset({"NodeResourcesFit", "GeneralPredicates", "PodFitsResources"})
"""The plugins and predicates whose reasons start with "Insufficient", under all rules."""


def rejection_groups(
    explanation: Explanation, cluster: Cluster, *, gates: Gates = DEFAULT_GATES
) -> list[ReasonGroup]:
    """Group the nodes that reject a pod by reason.

    A node is counted for its first rejecting filter, as in upstream's message; a node with several
    reasons is in several groups.

    Parameters
    ----------
    cluster : Cluster
        In the state in which it was when the explanation was made.
    gates : Gates
        With which the explanation was made.

    Returns
    -------
    list of ReasonGroup
        In the order of the filters that reject.
    """
    order = {answer.plugin: i for i, answer in enumerate(explanation.filters)}
    nodes: dict[tuple[str, str], list[str]] = {}
    for node in explanation.node_names:
        status = rejection_of(explanation, node)
        for reason in status.reasons:
            nodes.setdefault((reason, status.plugin), []).append(node)
    return [
        ReasonGroup(
            reason=reason,
            plugin=plugin,
            nodes=tuple(nodes[reason, plugin]),
            details=_details_of(explanation, cluster, gates, plugin, nodes[reason, plugin]),
        )
        for reason, plugin in sorted(nodes, key=lambda key: order.get(key[1], -1))
    ]


def _details_of(
    explanation: Explanation, cluster: Cluster, gates: Gates, plugin: str, nodes: Sequence[str]
) -> tuple[ReasonDetail, ...]:
    """Return what the nodes of a reason have, counted."""
    details_of = _GROUPED.get(plugin)
    if details_of is None:
        return ()
    if explanation.pre_filter.is_rejection:
        claims = unbound_claims(explanation.pod, cluster) if plugin in _OF_VOLUMES else ()
        text = " and ".join(claims)
        return (ReasonDetail(text, len(nodes)),) if text else ()
    counts: Counter[str] = Counter()
    for name in nodes:
        slot = cluster.nodes.slot_of.get(name)
        node = None if slot is None else cluster.nodes.objects[slot]
        if node is not None:
            counts[" and ".join(details_of(explanation.pod, node, gates, cluster))] += 1
    return tuple(ReasonDetail(text, count) for text, count in counts.most_common() if text)


def rejection_of(explanation: Explanation, node: str) -> Status:
    """Return the first rejection of a node; a success if no filter rejects it."""
    if explanation.pre_filter.is_rejection:
        return explanation.pre_filter
    restricted = explanation.restricted_to
    if restricted is not None and node not in restricted:
        names = " ".join(explanation.restricted_by)
        return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")
    return explanation.rejected.get(node, Status.OK)


# ---------------------------------------------------------------- the nearest nodes


def nearest_nodes(
    explanation: Explanation,
    cluster: Cluster,
    *,
    limit: int | None = 5,
    gates: Gates = DEFAULT_GATES,
    details: RejectionDetails | None = None,
) -> list[NearNode]:
    """Return the nodes that come closest to taking the pod, the closest first.

    The closest node is rejected by the fewest plugins; among equals, it lacks the smallest share
    of the requests. Ties are in order of arrival.

    Parameters
    ----------
    cluster : Cluster
        In the state in which it was when the explanation was made.
    limit : int, optional
        How many; None: every node that rejects the pod.
    gates : Gates
        With which the explanation was made.
    details : callable, optional
        What the plugins say about nodes, as `framework.rejection_details` returns it.

    Returns
    -------
    list of NearNode
        Empty if PreFilter rejected the pod as a whole: then no node was examined.
    """
    requests = pending_requests(explanation.pod)
    nearest: list[NearNode] = []
    for node, statuses in nodes_by_nearness(explanation, cluster)[:limit]:
        texts = [
            (() if details is None else details(each.plugin, node))
            or _lacks(explanation.pod, requests, cluster, node, each, gates)
            for each in statuses
        ]
        nearest.append(
            NearNode(
                node=node,
                plugins=tuple(status.plugin for status in statuses),
                lacks=tuple(text for each in texts for text in each),
            )
        )
    refusals = DeviceRefusals(explanation.pod, cluster, gates)
    for index, each in enumerate(nearest[:_MOST_WITH_DEVICES]):
        if _DEVICES in each.plugins:
            nearest[index] = _with_devices(each, refusals)
    return nearest


def nodes_by_nearness(explanation: Explanation, cluster: Cluster) -> list[tuple[str, list[Status]]]:
    """Return the nodes that reject a pod as `nearest_nodes` orders them, with their rejections."""
    if explanation.pre_filter.is_rejection:
        return []
    rejecting: dict[str, list[Status]] = {}
    for answer in explanation.filters:
        for node, status in answer.rejected.items():
            rejecting.setdefault(node, []).append(status)
    requests = pending_requests(explanation.pod)
    near: list[tuple[int, float, str, list[Status]]] = []
    for node in explanation.node_names:
        first = rejection_of(explanation, node)
        if first.is_success:
            continue
        statuses = rejecting.get(node, [])
        if first.plugin not in {status.plugin for status in statuses}:
            statuses = [first, *statuses]
        shortage = 0.0
        slot = cluster.nodes.slot_of.get(node)
        for status in statuses:
            for _, requested, free, _ in _amounts(requests, cluster, slot, status):
                shortage += (requested - free) / requested if requested else 0.0
        near.append((len(statuses), shortage, node, statuses))
    near.sort(key=lambda entry: entry[:2])
    return [entry[2:] for entry in near]


def _with_devices(near: NearNode, refusals: DeviceRefusals) -> NearNode:
    """Return a node with the devices that it refuses, and the claims that it cannot use."""
    found = refusals.of_node(near.node)
    in_words = {
        _NOT_AVAILABLE: refusals.unavailable(near.node) if _NOT_AVAILABLE in near.lacks else [],
        _NOT_ALLOCATED: refusals.summary(found),
    }
    details = [text for texts in in_words.values() for text in texts]
    if not details:
        return near
    lacks = [text for text in near.lacks if not in_words.get(text)]
    return msgspec.structs.replace(
        near, lacks=(*lacks, *details), devices=refusals.refusals_in_words(found)
    )


def _lacks(
    pod: Pod,
    requests: Mapping[str, int],
    cluster: Cluster,
    name: str,
    status: Status,
    gates: Gates,
) -> Sequence[str]:
    """Return what is lacking for a filter to pass a node."""
    slot = cluster.nodes.slot_of.get(name)
    if slot is None:
        # An extender rejected a node that does not exist.
        return status.reasons
    node = cluster.nodes.objects[slot]
    assert node is not None, f"slot {slot} is empty"
    if status.plugin in _OF_RESOURCES:
        short = {
            reason: f"{resource}: requests {format_amount(resource, requested)}, "
            f"{format_amount(resource, free)} free of {format_amount(resource, has)}"
            for reason, requested, free, has in _amounts(requests, cluster, slot, status)
            for resource in [reason.removeprefix(_INSUFFICIENT)]
        }
        index = cluster.nodes.resources["pods"]
        has, most = cluster.nodes.requested[slot, index], cluster.nodes.allocatable[slot, index]
        short["Too many pods"] = short["Insufficient pods"] = f"pods: it has {has} of {most}"
        return [short.get(reason, reason) for reason in status.reasons]
    details_of = _DETAILS.get(status.plugin)
    details = [] if details_of is None else list(details_of(pod, node, gates, cluster))
    return details or status.reasons


def _amounts(
    requests: Mapping[str, int], cluster: Cluster, slot: int | None, status: Status
) -> Iterator[tuple[str, int, int, int]]:
    """Yield the reasons that name a resource, with what is requested, free and allocatable."""
    if slot is None or status.plugin not in _OF_RESOURCES:
        return
    nodes = cluster.nodes
    for reason in status.reasons:
        resource = reason.removeprefix(_INSUFFICIENT)
        index = nodes.resources.get(resource)
        # Others have no amount, such as `Too many pods`.
        if reason != resource and index is not None:
            has = int(nodes.allocatable[slot, index])
            yield reason, requests.get(resource, 0), has - int(nodes.requested[slot, index]), has


def _untolerated(pod: Pod, node: Node, gates: Gates, _cluster: Cluster) -> Iterable[str]:
    texts: dict[str, None] = {}
    for taint in _untolerated_taints(pod, node, gates):
        condition = condition_behind(node, taint)
        has = "" if condition is None else f"another condition: {condition_text(condition)}"
        texts[has or f"toleration for taint {taint_text(taint)}"] = None
    return texts


def _taints(pod: Pod, node: Node, gates: Gates, _cluster: Cluster) -> Iterator[str]:
    return (f"taint {taint_text(taint)}" for taint in _untolerated_taints(pod, node, gates))


def _untolerated_taints(pod: Pod, node: Node, gates: Gates) -> Iterator[Taint]:
    compares = "TaintTolerationComparisonOperators" in gates
    for taint in node.spec.taints:
        if untolerated_taint([taint], pod.spec.tolerations, comparison_operators=compares):
            yield taint


def _unmatched_labels(pod: Pod, node: Node, _gates: Gates, _cluster: Cluster) -> Iterator[str]:
    labels = node.metadata.labels
    for key, value in pod.spec.node_selector.items():
        if labels.get(key) != value:
            yield f"label {key}={value} ({_has(labels, key)})"
    required = pod.spec.node_affinity.required
    if required is not None and not node_selector(required).matches(node.name, labels):
        texts = [_unmatched(term, node) for term in required.node_selector_terms]
        yield " or ".join(filter(None, texts)) or "a term of the node affinity that is not empty"


def _unmatched(term: NodeSelectorTerm, node: Node) -> str:
    """Return the expressions of a term that do not hold, and what the node has there."""
    labels, fields = node.metadata.labels, {"metadata.name": node.name}
    parts = []
    for each in term.match_expressions:
        alone = NodeSelectorTerm(match_expressions=(each,))
        if not node_selector(NodeSelector((alone,))).matches(node.name, labels):
            parts.append(f"label {_term_text(alone)} ({_has(labels, each.key)})")
    for each in term.match_fields:
        alone = NodeSelectorTerm(match_fields=(each,))
        if not node_selector(NodeSelector((alone,))).matches(node.name, labels):
            parts.append(f"field {_term_text(alone)} ({_has(fields, each.key)})")
    return " and ".join(parts)


def _has(labels: Mapping[str, str], key: str) -> str:
    return f"it has {key}={labels[key]}" if key in labels else "it has none"


def _cordoned(_pod: Pod, _node: Node, _gates: Gates, _cluster: Cluster) -> Iterator[str]:
    yield "it is cordoned (spec.unschedulable)"


def _volumes(pod: Pod, node: Node, _gates: Gates, cluster: Cluster) -> Iterator[str]:
    return _with_places(pod, node, cluster, _place_by_affinity)


def _zones(pod: Pod, node: Node, _gates: Gates, cluster: Cluster) -> Iterator[str]:
    return _with_places(pod, node, cluster, _place_by_labels)


def _exclusive(pod: Pod, _node: Node, _gates: Gates, cluster: Cluster) -> Iterator[str]:
    return exclusive_claims(pod, cluster)


def _attach_limits(pod: Pod, node: Node, _gates: Gates, cluster: Cluster) -> Iterator[str]:
    return VolumeFixes(pod, cluster).refusals(node)


_Details: TypeAlias = Callable[[Pod, Node, Gates, Cluster], Iterable[str]]

_OF_VOLUMES: dict[str, _Details] = {
    "CheckVolumeBinding": _volumes,
    "MaxCSIVolumeCountPred": _attach_limits,
    "NoVolumeZoneConflict": _zones,
    "NodeVolumeLimits": _attach_limits,
    "VolumeBinding": _volumes,
    "VolumeRestrictions": _exclusive,
    "VolumeZone": _zones,
}
_GROUPED: dict[str, _Details] = {
    **_OF_VOLUMES,
    "PodToleratesNodeTaints": _taints,
    "TaintToleration": _taints,
}
"""What the nodes of one reason are counted by."""

_DETAILS: dict[str, _Details] = {
    **_OF_VOLUMES,
    "NodeAffinity": _unmatched_labels,
    "NodeUnschedulable": _cordoned,
    "TaintToleration": _untolerated,
    "CheckNodeUnschedulable": _cordoned,
    "PodToleratesNodeTaints": _untolerated,
}


# Why nodes cannot use the volumes of a pod, with the names of claims, volumes and their zones.

_ZONE_LABELS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
"""Labels by which VolumeZone compares, with those that a node may have instead."""


def _with_places(
    pod: Pod, node: Node, cluster: Cluster, place_of: Callable[[PersistentVolume, Node], str]
) -> Iterator[str]:
    """Yield what the claims of a pod have against a node: bound volumes and where they are."""
    yield from unbound_claims(pod, cluster)
    for claim in _claims(pod, cluster):
        volume = cluster.storage.volume(claim.spec.volume_name)
        if volume is not None and (place := place_of(volume, node)):
            yield f"PersistentVolume {volume.name} of claim {claim.key} is in {place}"


def unbound_claims(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Yield the claims of a pod without a volume, with their classes."""
    for claim in _claims(pod, cluster):
        name = claim.spec.volume_name
        if not name:
            yield _unbound(claim, cluster)
        elif cluster.storage.volume(name) is None:
            yield f"PersistentVolume {name} of claim {claim.key} does not exist"


def exclusive_claims(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Yield the claims of a pod that only one pod may use."""
    for claim in _claims(pod, cluster):
        if READ_WRITE_ONCE_POD in claim.spec.access_modes:
            users = "".join(f" by pod {name}" for name in cluster.storage.use.users(claim)[:1])
            yield f"claim {claim.key} has access mode {READ_WRITE_ONCE_POD} and is in use{users}"


def _claims(pod: Pod, cluster: Cluster) -> Iterator[PersistentVolumeClaim]:
    for name in claim_names(pod):
        claim = cluster.storage.claim(f"{pod.namespace}/{name}")
        if claim is not None:
            yield claim


def _unbound(claim: PersistentVolumeClaim, cluster: Cluster) -> str:
    name = class_of(claim)
    kind = f"storage class {name}" if name else "no storage class"
    known = "" if not name or name in cluster.storage.classes else ", which does not exist"
    return f"claim {claim.key} ({kind}{known}) is not bound to a PersistentVolume"


def _place_by_affinity(volume: PersistentVolume, node: Node) -> str:
    """Return where a volume is by its node affinity, if the node does not match; "" otherwise."""
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if required is None or node_selector(required).matches(node.name, node.metadata.labels):
        return ""
    return " or ".join(map(_term_text, required.node_selector_terms)) or "no node"


def _place_by_labels(volume: PersistentVolume, node: Node) -> str:
    """Return the labels of a volume by which it is in another zone or region than the node."""
    texts = []
    for key, successor in _ZONE_LABELS.items():
        zones = volume.metadata.labels.get(key, "").split(MULTI_ZONE_DELIMITER)
        found = node.metadata.labels.get(key, node.metadata.labels.get(successor))
        if "" not in zones and found not in zones:
            where = "without this label" if found is None else f"in {found}"
            texts.append(f"{key}={volume.metadata.labels[key]}, the node {where}")
    return " and ".join(texts)


def _term_text(term: NodeSelectorTerm) -> str:
    parts = []
    for each in (*term.match_expressions, *term.match_fields):
        values = ", ".join(each.values)
        is_one = each.operator == "In" and len(each.values) == 1
        others = f" {each.operator} [{values}]" if values else f" {each.operator}"
        parts.append(f"{each.key}={values}" if is_one else each.key + others)
    return " and ".join(parts)
