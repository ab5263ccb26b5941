"""TaintToleration: nodes that lose taints, pods that tolerate more.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Node, Pod, untolerated_taint
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, queue_if


def events_to_register(*, comparison_operators: bool = False) -> tuple[EventHint, ...]:
    """Return taints of nodes and the pod's own tolerations.

    Parameters
    ----------
    comparison_operators : bool
        Feature gate TaintTolerationComparisonOperators.
    """

    def is_kept_off(pod: Pod, node: Node) -> bool:
        taint = untolerated_taint(
            node.spec.taints, pod.spec.tolerations, comparison_operators=comparison_operators
        )
        return taint is not None

    def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
        before, after = changed(Node, old, new)
        was_kept_off = before is None or is_kept_off(pod, before)
        return queue_if(was_kept_off and not is_kept_off(pod, after))

    return (
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, after_node_change),
        EventHint(POD, ActionType.UPDATE_POD_TOLERATION, after_toleration_change),
    )


def after_toleration_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod itself."""
    _, after = changed(Pod, old, new)
    return queue_if(after.metadata.uid == pod.metadata.uid)
