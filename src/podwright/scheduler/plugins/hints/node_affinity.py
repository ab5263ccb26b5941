"""NodeAffinity: nodes that change to match the pod's selector and affinity.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import (
    Node,
    NodeSelector,
    Pod,
    labels_as_selector,
    node_selector,
)
from podwright.scheduler.framework import NODE, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, queue_if


def events_to_register(*, added_affinity: NodeSelector | None = None) -> tuple[EventHint, ...]:
    """Return new nodes and changed node labels.

    Parameters
    ----------
    added_affinity : NodeSelector or None
        The affinity that the configuration adds to every pod.
    """
    enforced = None if added_affinity is None else node_selector(added_affinity)

    def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
        before, after = changed(Node, old, new)
        if enforced is not None and not enforced.matches(
            after.metadata.name, after.metadata.labels
        ):
            return Hint.SKIP
        if not _matches(pod, after):
            return Hint.SKIP
        return queue_if(before is None or not _matches(pod, before))

    return (EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, after_node_change),)


def _matches(pod: Pod, node: Node) -> bool:
    """Return whether the node matches the pod's selector and required affinity.

    Raises
    ------
    ValueError
        If no term matches and one is invalid.
    """
    labels = node.metadata.labels
    if not labels_as_selector(pod.spec.node_selector).matches(labels):
        return False
    required = pod.spec.node_affinity.required
    if not required:
        return True
    terms = node_selector(required)
    if terms.matches(node.metadata.name, labels):
        return True
    if terms.errors:
        raise ValueError("; ".join(terms.errors))
    return False
