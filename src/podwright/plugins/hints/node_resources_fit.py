"""NodeResourcesFit: resources that pods free and that nodes gain.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from __future__ import annotations

from podwright.columns import DEVICE_CLASS_PREFIX
from podwright.framework import DEVICE_CLASS, NODE, POD, ActionType, EventHint, Hint
from podwright.objects import (
    KubernetesObject,
    Node,
    Pod,
    assigned_requests,
    pending_requests,
    quantity_milli_value,
    quantity_value,
)
from podwright.plugins.hints.objects import changed, only, queue_if


def events_to_register(*, dra_extended_resource: bool = True) -> tuple[EventHint, ...]:
    """Return deleted and shrunk pods, new and grown nodes, and device classes.

    Parameters
    ----------
    dra_extended_resource : bool
        Feature gate DRAExtendedResource.
    """
    events = (
        EventHint(POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN, after_pod_event),
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE, after_node_change),
    )
    if not dra_extended_resource:
        return events
    device_class = EventHint(
        DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE, after_device_class_change
    )
    return (*events, device_class)


def after_pod_event(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if a placed pod was deleted, or was scaled down in a requested resource."""
    before = only(Pod, old)
    if new is None:
        return queue_if(before.spec.node_name or before.status.nominated_node_name)
    after = only(Pod, new)
    if after.metadata.uid == pod.metadata.uid:
        return Hint.QUEUE
    if not after.spec.node_name:
        return Hint.SKIP
    had, has = assigned_requests(before), assigned_requests(after)
    return queue_if(
        any(had.get(resource, 0) > has.get(resource, 0) for resource in assigned_requests(pod))
    )


def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod fits the empty node, and a requested resource grew."""
    before, after = changed(Node, old, new)
    requests = pending_requests(pod)
    room = _allocatable(after)
    fits = room.get("pods", 0) >= 1 and all(
        amount <= room.get(resource, 0) for resource, amount in requests.items()
    )
    if not fits:
        return Hint.SKIP
    if before is None:
        return Hint.QUEUE
    had = _allocatable(before)
    return queue_if(any(room.get(name, 0) > had.get(name, 0) for name in ("pods", *requests)))


def after_device_class_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the class now has an extended resource that the pod requests."""
    device_class = only(KubernetesObject, new)
    requests = pending_requests(pod)
    resource = _extended_resource(device_class)
    if old is None:
        implicit = f"{DEVICE_CLASS_PREFIX}{device_class.metadata.name}"
        if implicit in requests:
            return Hint.QUEUE
    elif _extended_resource(only(KubernetesObject, old)) == resource:
        return Hint.SKIP
    return queue_if(resource in requests)


def _extended_resource(device_class: KubernetesObject) -> str:
    spec = device_class.raw.get("spec") or {}
    return str(spec.get("extendedResourceName") or "")


def _allocatable(node: Node) -> dict[str, int]:
    return {
        name: quantity_milli_value(amount) if name == "cpu" else quantity_value(amount)
        for name, amount in node.status.allocatable.items()
    }
