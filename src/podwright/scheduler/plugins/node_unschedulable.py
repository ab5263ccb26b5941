"""NodeUnschedulable: cordoned nodes accept only pods that tolerate it.

**What it does.** Rejects nodes with ``spec.unschedulable`` unless the pod tolerates the taint
``node.kubernetes.io/unschedulable:NoSchedule``, whether or not the node has that taint.

**Why it matters.** ``kubectl cordon`` works through it.

**Configuration.** None.

**Example.** After ``kubectl cordon n1`` the node is rejected with ``node(s) were unschedulable``.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podwright.apimachinery.objects import Node, Pod, Taint, tolerates
from podwright.scheduler.framework import (
    NODE,
    POD,
    ActionType,
    Cycle,
    EventHint,
    Hint,
    NodeColumns,
    Plugin,
    Reads,
    Status,
    Verdicts,
    tolerations_fragment,
)
from podwright.scheduler.plugins.hints.objects import changed, queue_if

_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_REJECTION = Status.unresolvable("node(s) were unschedulable")


class NodeUnschedulable(Plugin):
    """Reject cordoned nodes."""

    name = "NodeUnschedulable"
    key_reads_all_labels = False
    filter_reads = Reads.NODE

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return new and uncordoned nodes, and the pod's own tolerations."""
        return (
            EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, after_node_change),
            EventHint(POD, ActionType.UPDATE_POD_TOLERATION, after_toleration_change),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the tolerations."""
        return tolerations_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return whether the pod tolerates cordoned nodes."""
        return _is_tolerated(pod)

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject cordoned nodes."""
        if not _is_tolerated(cycle.pod):
            out.codes[out.rows] = nodes.unschedulable[out.rows] * out.code_of(_REJECTION)


def _is_tolerated(pod: Pod) -> bool:
    return any(tolerates(toleration, _TAINT) for toleration in pod.spec.tolerations)


# The hints of events: whether one may have undone the rejection of a pod.


def after_node_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node accepts pods now and did not before."""
    before, after = changed(Node, old, new)
    return queue_if(not after.spec.unschedulable and (before is None or before.spec.unschedulable))


def after_toleration_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod itself tolerates cordoned nodes now."""
    _, after = changed(Pod, old, new)
    return queue_if(
        after.metadata.uid == pod.metadata.uid
        and any(tolerates(toleration, _TAINT) for toleration in after.spec.tolerations)
    )
