"""From reasons to remedies: what would make a pod fit, and how near each node is to it.

Knows the in-tree plugins' reasons. For other plugins the messages are their own reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from podwright.columns import Cluster
from podwright.config import DEFAULT_GATES, Gates
from podwright.framework import EXTENDER, Code, Explanation, Status
from podwright.objects import Node, Pod, pending_requests, untolerated_taint


class ReasonGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that one reason rejects.

    Parameters
    ----------
    reason : str
    plugin : str
        "" for nodes that PreFilter left out.
    nodes : tuple of str
        In order of arrival.
    """

    reason: str
    plugin: str
    nodes: tuple[str, ...]


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """What would fix some reasons.

    Parameters
    ----------
    text : str
        An advice.
    reasons : tuple of ReasonGroup
        In the order of filters.
    """

    text: str
    reasons: tuple[ReasonGroup, ...]


class NearNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that rejects the pod, and everything that it lacks.

    Parameters
    ----------
    node : str
    plugins : tuple of str
        The plugins that reject it, also those that were not reached.
    lacks : tuple of str
        With amounts and names, not only reasons.
    """

    node: str
    plugins: tuple[str, ...]
    lacks: tuple[str, ...]


# ---------------------------------------------------------------- remedies

_HAS_NONE = "allow the pod on nodes that provide the resource, or add some: these provide none"
_TOO_SMALL = "reduce the requests, or add larger nodes: these are too small even when empty"
_FULL = "free resources on these nodes, add similar nodes, or reduce the requests"

_BY_REASON: dict[str, str] = {
    "Too many pods": "remove pods from these nodes, or raise their pod limit",
    "node(s) were unschedulable": "uncordon these nodes (kubectl uncordon NODE)",
    "node(s) had untolerated taint(s)": "add a toleration to the pod, or remove the taint",
    "node(s) didn't match Pod's node affinity/selector": (
        "change the pod's nodeSelector or node affinity, or label the nodes"
    ),
    "node(s) didn't match scheduler-enforced node affinity": (
        "change addedAffinity of NodeAffinity in the scheduler's configuration"
    ),
    "node(s) didn't match the requested node name": "change the pod's spec.nodeName",
    "node(s) didn't have free ports for the requested pod ports": (
        "use another hostPort, or free the port on these nodes"
    ),
    "node(s) didn't match pod topology spread constraints": (
        "free resources in the domains with fewer pods, raise maxSkew, or use ScheduleAnyway"
    ),
    "node(s) didn't match pod topology spread constraints (missing required label)": (
        "label these nodes with the constraint's topologyKey"
    ),
    "node(s) didn't match pod affinity rules": (
        "start a pod that the affinity term selects, or change the term"
    ),
    "node(s) didn't match pod anti-affinity rules": (
        "add nodes (or domains) without the pods that it excludes, or make the term preferred"
    ),
    "node(s) didn't satisfy existing pods anti-affinity rules": (
        "change the running pods' anti-affinity, or the labels of this pod"
    ),
    # In the words of 1.16.
    "node(s) had taints that the pod didn't tolerate": (
        "add a toleration to the pod, or remove the taint"
    ),
    "node(s) didn't match node selector": (
        "change the pod's nodeSelector or node affinity, or label the nodes"
    ),
    "node(s) didn't match the requested hostname": "change the pod's spec.nodeName",
    "node(s) exceed max volume count": "use nodes with free volume attachments",
    "node(s) had no available disk": "release the disk from the pod that uses it",
}

_OF_RESOURCES = frozenset({"NodeResourcesFit", "GeneralPredicates", "PodFitsResources"})
"""The plugins and predicates whose reasons begin with "Insufficient", under all rules."""

_BY_PART: tuple[tuple[str, str], ...] = (
    ("waiting for first consumer", "wait for the pod that shares the claim"),
    ("persistentvolumeclaim", "create the PersistentVolumeClaim in the pod's namespace"),
    ("has unbound immediate", "provision volumes for the pod's claims (kubectl get pvc,pv)"),
    (
        "find available persistent volumes",
        "add a PersistentVolume, or a StorageClass with a provisioner",
    ),
    ("PersistentVolume's node affinity", "allow the pod on the nodes that can access its volume"),
    ("volume node affinity conflict", "allow the pod on the nodes that can access its volume"),
    ("enough free storage", "free or add storage that these nodes can access"),
    ("non-existent pv", "bind the claim to a volume that exists"),
)
"""Reasons that contain names are known by a part of them; the first that fits counts."""

_BY_PLUGIN: dict[str, str] = {
    "NodeDeclaredFeatures": "update the nodes, or do not use the feature",
    "VolumeBinding": "check the pod's claims and their volumes (kubectl get pvc,pv)",
    "VolumeZone": "use a volume in the zone of these nodes, or nodes in the zone of the volume",
    "VolumeRestrictions": "release the volume from the pod that uses it",
    "NodeVolumeLimits": "use nodes with free volume attachments",
    "DynamicResources": "check the pod's resource claims and the devices of the nodes",
    "InterPodAffinity": "change the pod's affinity",
    EXTENDER: "check the extender, which rejects these nodes",
}


def _remedy_for_resource(
    resource: str, explanation: Explanation, cluster: Cluster, node: str
) -> str:
    """Distinguish full nodes from too small ones; one status code covers all resources."""
    nodes = cluster.nodes
    index = nodes.resources.get(resource)
    has = 0 if index is None else int(nodes.allocatable[nodes.slot_of[node], index])
    if has == 0:
        return _HAS_NONE
    return _TOO_SMALL if pending_requests(explanation.pod).get(resource, 0) > has else _FULL


def _remedy_of(reason: str, status: Status) -> str:
    by_part = (advice for part, advice in _BY_PART if part in reason)
    known = _BY_REASON.get(reason) or next(by_part, None) or _BY_PLUGIN.get(status.plugin)
    if known:
        return known
    if reason.startswith("node(s) didn't satisfy plugin"):
        return "relax the constraint that restricts the pod to certain nodes"
    if status.code == Code.UNSCHEDULABLE:
        return "removing pods from these nodes may help"
    return "change the pod or these nodes; removing pods does not help"


def remedies(explanation: Explanation, cluster: Cluster) -> list[Remedy]:
    """Group the rejections that count by what would fix them.

    A node is where its first rejecting filter puts it, as in upstream's message; one with
    several reasons is in several groups.

    Parameters
    ----------
    cluster : Cluster
        In the state in which it was when the explanation was made.

    Returns
    -------
    list of Remedy
        In the order of the plugins that rejected.
    """
    order = {answer.plugin: i for i, answer in enumerate(explanation.filters)}
    merged: dict[tuple[str, str, str], list[str]] = {}
    for node in explanation.node_names:
        status = _rejection_of(explanation, node)
        for reason in status.reasons:
            resource = reason.removeprefix("Insufficient ")
            if status.plugin in _OF_RESOURCES and resource != reason:
                text = _remedy_for_resource(resource, explanation, cluster, node)
            else:
                text = _remedy_of(reason, status)
            merged.setdefault((text, reason, status.plugin), []).append(node)
    groups: dict[str, list[ReasonGroup]] = {}
    for text, reason, plugin in sorted(merged, key=lambda key: order.get(key[2], -1)):
        nodes = tuple(merged[text, reason, plugin])
        groups.setdefault(text, []).append(ReasonGroup(reason=reason, plugin=plugin, nodes=nodes))
    return [Remedy(text=text, reasons=tuple(reasons)) for text, reasons in groups.items()]


def _rejection_of(explanation: Explanation, node: str) -> Status:
    """Return the rejection that counts for a node; an empty one if there is none."""
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
) -> list[NearNode]:
    """Return the nodes that come closest to taking the pod, the closest first.

    Closest is who is rejected by the fewest plugins; among those, who lacks the smallest
    share of what the pod requests. Ties stay in order of arrival.

    Parameters
    ----------
    cluster : Cluster
        In the state in which it was when the explanation was made.
    limit : int, optional
        How many; None: every node that rejects the pod.
    gates : Gates
        With which the explanation was made.

    Returns
    -------
    list of NearNode
        Empty if PreFilter rejected the pod as a whole: then no node was examined.
    """
    if explanation.pre_filter.is_rejection:
        return []
    rejecting: dict[str, list[Status]] = {}
    for answer in explanation.filters:
        for node, status in answer.rejected.items():
            rejecting.setdefault(node, []).append(status)
    near: list[tuple[int, float, NearNode]] = []
    for node in explanation.node_names:
        first = _rejection_of(explanation, node)
        if first.is_success:
            continue
        statuses = rejecting.get(node, [])
        if first.plugin not in {status.plugin for status in statuses}:
            statuses = [first, *statuses]
        shortage = 0.0
        lacks: list[str] = []
        for status in statuses:
            share, texts = _lacks(explanation.pod, cluster, node, status, gates)
            shortage += share
            lacks += texts
        plugins = tuple(status.plugin for status in statuses)
        near.append(
            (len(statuses), shortage, NearNode(node=node, plugins=plugins, lacks=tuple(lacks)))
        )
    near.sort(key=lambda entry: entry[:2])
    return [entry[2] for entry in near[:limit]]


def _lacks(
    pod: Pod, cluster: Cluster, name: str, status: Status, gates: Gates
) -> tuple[float, list[str]]:
    """Return the share that is short (0 if it is not an amount), and what is lacking."""
    slot = cluster.nodes.slot_of.get(name)
    if slot is None:
        # An extender rejected a node that does not exist.
        return 0.0, list(status.reasons)
    node = cluster.nodes.objects[slot]
    assert node is not None, f"slot {slot} is empty"
    if status.plugin in _OF_RESOURCES:
        return _shortages(pod, cluster, slot, status)
    details_of = _DETAILS.get(status.plugin)
    details = [] if details_of is None else list(details_of(pod, node, gates))
    return 0.0, details or list(status.reasons)


def _shortages(pod: Pod, cluster: Cluster, slot: int, status: Status) -> tuple[float, list[str]]:
    requests = pending_requests(pod)
    nodes = cluster.nodes
    share = 0.0
    texts: list[str] = []
    for reason in status.reasons:
        resource = reason.removeprefix("Insufficient ")
        index = nodes.resources.get(resource)
        if reason == resource or index is None:
            texts.append(reason)
            continue
        requested = requests.get(resource, 0)
        has = int(nodes.allocatable[slot, index])
        free = has - int(nodes.requested[slot, index])
        share += (requested - free) / requested if requested else 0.0
        texts.append(
            f"{resource}: requests {format_amount(resource, requested)}, "
            f"{format_amount(resource, free)} free of {format_amount(resource, has)}"
        )
    return share, texts


def _untolerated(pod: Pod, node: Node, gates: Gates) -> Iterator[str]:
    compares = "TaintTolerationComparisonOperators" in gates
    for taint in node.spec.taints:
        if untolerated_taint([taint], pod.spec.tolerations, comparison_operators=compares):
            value = f"={taint.value}" if taint.value else ""
            yield f"toleration for taint {taint.key}{value}:{taint.effect}"


def _unmatched_labels(pod: Pod, node: Node, _gates: Gates) -> Iterator[str]:
    labels = node.metadata.labels
    for key, value in pod.spec.node_selector.items():
        if labels.get(key) != value:
            has = f"it has {key}={labels[key]}" if key in labels else "it has none"
            yield f"label {key}={value} ({has})"


def _cordoned(_pod: Pod, _node: Node, _gates: Gates) -> Iterator[str]:
    yield "it is cordoned (spec.unschedulable)"


_DETAILS: dict[str, Callable[[Pod, Node, Gates], Iterator[str]]] = {
    "NodeAffinity": _unmatched_labels,
    "NodeUnschedulable": _cordoned,
    "TaintToleration": _untolerated,
    "CheckNodeUnschedulable": _cordoned,
    "PodToleratesNodeTaints": _untolerated,
}

_BINARY = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def format_amount(resource: str, amount: int) -> str:
    """Write an amount of a resource for people: at most one decimal place.

    Parameters
    ----------
    amount : int
        In the units of the columns: milli-CPU, bytes, units.

    Examples
    --------
    >>> from podwright.assembly.remedies import format_amount
    >>> format_amount("cpu", 1500), format_amount("cpu", 4000)
    ('1500m', '4')
    >>> format_amount("memory", 3 << 29), format_amount("nvidia.com/gpu", 2)
    ('1.5Gi', '2')
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(_BYTES):
        for suffix, bits in _BINARY:
            if abs(amount) >= 1 << bits:
                return f"{amount / (1 << bits):.1f}".removesuffix(".0") + suffix
    return str(amount)
