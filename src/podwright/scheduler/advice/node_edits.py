"""Edits of the nodes: uncordon, remove taints, set labels, add nodes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from podwright.apimachinery.objects import (
    TAINT_OF_CONDITION,
    Condition,
    Node,
    Object,
    Taint,
    permanent_taints,
    quantity_milli_value,
    quantity_value,
    with_fields,
)
from podwright.scheduler.advice.amounts import quantity_text
from podwright.scheduler.advice.edits import Edit
from podwright.scheduler.advice.pod_edits import taint_text

UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
HOSTNAME = "kubernetes.io/hostname"
_DESCRIBING_DOMAINS = (
    "amazonaws.com", "azure.com", "cloud.google.com", "eksctl.io", "k8s.aws", "k8s.io",
    "karpenter.sh", "kubernetes.io", "nvidia.com",
)  # fmt: skip


def condition_behind(node: Node, taint: Taint) -> Condition | None:
    """Return the condition for which the node controller sets a taint; None if there is none."""
    return next((each for each in node.status.conditions if _taint_of(each) == taint.key), None)


def _taint_of(condition: Condition) -> str | None:
    return TAINT_OF_CONDITION.get((condition.type, condition.status))


def restore(node: Node, condition: Condition) -> Edit:
    """Make a condition of a node good again; the node controller then removes its taints."""

    def change(changed: Node) -> Node:
        kept = [each for each in changed.spec.taints if each.key != _taint_of(condition)]
        return with_fields(changed, "spec", taints=tuple(kept))

    is_ready = condition.type == "Ready"
    end = f"end the {condition.type} of node {node.name}"
    return Edit(
        key=("condition", condition.type),
        text=f"make node {node.name} Ready" if is_ready else end,
        effort=1.5,
        node=node.name,
        on_node=change,
        by_hand=f"node {node.name} reports: {condition_text(condition)}",
    )


def condition_text(condition: Condition) -> str:
    """Return a condition with its reason and its message."""
    parts = (condition.reason, condition.message)
    why = ", ".join(part for part in parts if part)
    return f"{condition.type} is {condition.status}" + (f" ({why})" if why else "")


def uncordon(name: str) -> Edit:
    """Uncordon a node, as ``kubectl uncordon``; the node controller then removes its taint."""

    def change(node: Node) -> Node:
        taints = tuple(each for each in node.spec.taints if each.key != UNSCHEDULABLE_TAINT)
        return with_fields(node, "spec", unschedulable=False, taints=taints)

    return Edit(
        key=("uncordon",),
        text=f"uncordon node {name}",
        effort=1.1,
        command=f"kubectl uncordon {name}",
        node=name,
        on_node=change,
    )


def remove_taint(name: str, taint: Taint) -> Edit:
    """Remove one taint of a node."""

    def change(node: Node) -> Node:
        taints = tuple(
            each
            for each in node.spec.taints
            if (each.key, each.effect) != (taint.key, taint.effect)
        )
        return with_fields(node, "spec", taints=taints)

    return Edit(
        key=("untaint", taint.key, taint.effect),
        text=f"remove taint {taint_text(taint)} from node {name}",
        effort=3.2,
        command=f"kubectl taint node {name} {taint.key}:{taint.effect}-",
        node=name,
        on_node=change,
    )


def describes_node(key: str) -> bool:
    """Return whether a label states what a node is: to change it would be a lie.

    Kubernetes, the provider or the operator of a device sets it, by its own domain.
    """
    domain, slash, _ = key.partition("/")
    return bool(slash) and domain.endswith(_DESCRIBING_DOMAINS)


def set_label(name: str, key: str, value: str, actual: str | None) -> Edit:
    """Set one label of a node."""

    def change(node: Node) -> Node:
        return with_fields(node, "metadata", labels=node.metadata.labels | {key: value})

    overwrite = "" if actual is None else " --overwrite"
    return Edit(
        key=("node label", key, value),
        text=f"set label {key}={value} on node {name}",
        effort=2.7,
        command=f"kubectl label node {name} {key}={value}{overwrite}",
        node=name,
        on_node=change,
    )


def add_nodes(
    count: int,
    *,
    like: Node,
    taken: Container[str],
    larger: Mapping[str, int],
    labels: Mapping[str, str],
    companions: Callable[[str], Iterable[Object]],
) -> Edit:
    """Add empty nodes that are like an existing one.

    Parameters
    ----------
    taken : container of str
        The names of all nodes.
    larger : dict of str to int
        Resources of which the new nodes have more, in the units of the columns.
    labels : dict of str to str
        Labels that differ.
    companions : callable
        Returns the other objects that a new node has, such as its CSINode, by its name.
    """
    names: list[str] = []
    number = 0
    while len(names) < count:
        number += 1
        name = f"{like.name}-new-{number}"
        if name not in taken:
            names.append(name)
    nodes = tuple(_new_node(like, name, larger, labels) for name in names)
    what = "a node" if count == 1 else f"{count} nodes"
    but = [f"{quantity_text(name, amount)} {name}" for name, amount in larger.items()]
    but += [f"label {key}={value}" for key, value in labels.items()]
    text = f"add {what} like {like.name}" + (f" but with {' and '.join(but)}" if but else "")
    return Edit(
        key=("add node",),
        text=text,
        effort=4.0 + count + (0.5 if larger else 0.0) + (0.5 if labels else 0.0),
        put=(*nodes, *(obj for name in names for obj in companions(name))),
    )


def _new_node(like: Node, name: str, larger: Mapping[str, int], labels: Mapping[str, str]) -> Node:
    own = {HOSTNAME: name} if HOSTNAME in like.metadata.labels else {}
    node = with_fields(
        like,
        "metadata",
        name=name,
        uid="",
        resource_version="",
        creation_timestamp=None,
        labels=like.metadata.labels | own | dict(labels),
    )
    node = with_fields(
        node, "spec", unschedulable=False, provider_id="", taints=permanent_taints(like)
    )
    more = {resource: quantity_text(resource, amount) for resource, amount in larger.items()}
    return with_fields(
        node,
        "status",
        allocatable=node.status.allocatable | more,
        capacity=node.status.capacity | more if node.status.capacity else {},
        volumes_in_use=(),
    )


def allocatable_of(node: Node, resource: str) -> int:
    """Return the allocatable amount of a resource, in the units of the columns."""
    text = node.status.allocatable.get(resource)
    if text is None:
        return 0
    return quantity_milli_value(text) if resource == "cpu" else quantity_value(text)


def shape_of(node: Node) -> tuple[object, ...]:
    """Return what two nodes of one shape have in common."""
    labels = {key: value for key, value in node.metadata.labels.items() if key != HOSTNAME}
    return (
        frozenset((name, str(text)) for name, text in node.status.allocatable.items()),
        frozenset(labels.items()),
        permanent_taints(node),
    )
