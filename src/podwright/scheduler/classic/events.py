"""The calls on the queue that follow from an event of the cluster.

Upstream: pkg/scheduler/eventhandlers.go
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    CSINode,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceList,
    Service,
    StorageClass,
    encode,
    parse_quantity,
)


class QueueCall(msgspec.Struct, frozen=True):
    """One call on the queue.

    Parameters
    ----------
    name : str
        The name of the method in upstream's queue.
    pod : Pod or None
        The pod, if the call has one.
    old : Pod or None
        The previous version of the pod, for `Update`.
    """

    name: str
    pod: Pod | None = None
    old: Pod | None = None


MOVE_ALL: Final = QueueCall("MoveAllToActiveQueue")

_MOVES_WHEN_ADDED: Final = (Node, Service, PersistentVolume, PersistentVolumeClaim, CSINode)
_MOVES_WHEN_UPDATED: Final = (Service, PersistentVolume, PersistentVolumeClaim, CSINode)


def queue_calls(
    old: KubernetesObject | None,
    new: KubernetesObject | None,
    *,
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    unschedulable_count: int = 0,
    assumed: Pod | None = None,
) -> list[QueueCall]:
    """Return the calls on the queue that an event causes.

    Parameters
    ----------
    old, new : KubernetesObject or None
        The object before (None: added) and after (None: deleted).
    scheduler_name : str
        The scheduler whose pending pods are queued; assigned pods of all schedulers count.
    unschedulable_count : int
        The current number of unschedulable pods.
    assumed : Pod or None
        The pod as the scheduler has assumed it.
    """
    changed = old if new is None else new
    if isinstance(changed, Pod):
        before = old if isinstance(old, Pod) and not old.is_terminal else None
        after = new if isinstance(new, Pod) and not new.is_terminal else None
        return [
            *_assigned_calls(before, after),
            *_pending_calls(before, after, scheduler_name, assumed),
        ]
    if isinstance(old, Node) and isinstance(new, Node):
        moves = unschedulable_count == 0 or _became_more_schedulable(old, new)
    elif old is None:
        moves = isinstance(changed, _MOVES_WHEN_ADDED) or (
            isinstance(changed, StorageClass)
            and changed.volume_binding_mode == "WaitForFirstConsumer"
        )
    elif new is None:
        moves = isinstance(changed, Service)
    else:
        moves = isinstance(changed, _MOVES_WHEN_UPDATED)
    return [MOVE_ALL] if moves else []


def _assigned_calls(old: Pod | None, new: Pod | None) -> list[QueueCall]:
    before = old if old is not None and old.spec.node_name else None
    after = new if new is not None and new.spec.node_name else None
    if after is not None:
        name = "AssignedPodAdded" if before is None else "AssignedPodUpdated"
        return [QueueCall(name, after)]
    return [] if before is None else [MOVE_ALL]


def _pending_calls(
    old: Pod | None, new: Pod | None, scheduler_name: str, assumed: Pod | None
) -> list[QueueCall]:
    def is_mine(pod: Pod | None) -> bool:
        return (
            pod is not None and not pod.spec.node_name and pod.spec.scheduler_name == scheduler_name
        )

    before = old if is_mine(old) else None
    after = new if is_mine(new) else None
    if after is None:
        return [] if before is None else [QueueCall("Delete", before)]
    if before is None:
        return [QueueCall("Add", after)]
    if assumed is not None and _comparable(assumed) == _comparable(after):
        return []  # the watch event of the scheduler's own binding
    return [QueueCall("Update", after, before)]


def _comparable(pod: Pod) -> object:
    """Return the fields whose change makes an update of an assumed pod count (skipPodUpdate)."""
    # All fields count, including those that podwright does not read.
    document = dict(encode(pod))
    document["metadata"] = _without(document, "metadata", "resourceVersion", "annotations")
    document["spec"] = _without(document, "spec", "nodeName")
    return document


def _without(document: dict[str, Any], section: str, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in (document.get(section) or {}).items() if key not in keys}


def _became_more_schedulable(old: Node, new: Node) -> bool:
    """Upstream: nodeSchedulingPropertiesChanged."""
    return (
        (old.spec.unschedulable and not new.spec.unschedulable)
        or _quantities(old.status.allocatable) != _quantities(new.status.allocatable)
        or old.metadata.labels != new.metadata.labels
        or old.spec.taints != new.spec.taints
        or _conditions(old) != _conditions(new)
    )


def _quantities(resources: ResourceList) -> dict[str, object]:
    """Return quantities as they are written: "1" and "1000m" differ.

    Upstream compares quantities deeply, including the notation in which they were decoded.
    """
    return {name: parse_quantity(text) for name, text in resources.items()}


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
