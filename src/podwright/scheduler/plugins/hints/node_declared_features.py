"""NodeDeclaredFeatures: nodes that declare more features, pods that require fewer.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from podwright.apimachinery.objects import Node, Pod
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, only, queue_if


def events_to_register(
    *, required_features: Callable[[Pod], Collection[str]]
) -> tuple[EventHint, ...]:
    """Return new nodes, changed features of nodes, and updates of the pod.

    Parameters
    ----------
    required_features : callable
        Returns the features that a pod requires, as a comparable collection.
    """

    def after_pod_update(pod: Pod, old: object | None, new: object | None) -> Hint:
        before, after = only(Pod, old), only(Pod, new)
        return queue_if(
            after.metadata.uid == pod.metadata.uid
            and required_features(before) != required_features(after)
        )

    node_actions = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
    return (
        EventHint(NODE, node_actions, after_node_change),
        EventHint(POD, ActionType.UPDATE, after_pod_update),
    )


def after_node_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node is new or declares other features."""
    before, after = changed(Node, old, new)
    return queue_if(
        before is None or before.status.declared_features != after.status.declared_features
    )
