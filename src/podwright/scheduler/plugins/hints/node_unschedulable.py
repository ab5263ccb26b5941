"""NodeUnschedulable: uncordoned nodes, and pods that tolerate cordoned nodes.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Node, Pod, Taint, tolerates
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, queue_if

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def events_to_register() -> tuple[EventHint, ...]:
    """Return new and uncordoned nodes, and the pod's own tolerations."""
    return (
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, after_node_change),
        EventHint(POD, ActionType.UPDATE_POD_TOLERATION, after_toleration_change),
    )


def after_node_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node accepts pods now and did not before."""
    before, after = changed(Node, old, new)
    return queue_if(not after.spec.unschedulable and (before is None or before.spec.unschedulable))


def after_toleration_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod itself tolerates cordoned nodes now."""
    _, after = changed(Pod, old, new)
    return queue_if(
        after.metadata.uid == pod.metadata.uid
        and any(tolerates(toleration, UNSCHEDULABLE_TAINT) for toleration in after.spec.tolerations)
    )
