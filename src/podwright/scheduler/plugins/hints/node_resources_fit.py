"""NodeResourcesFit: resources that pods free and that nodes gain.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from podwright.apimachinery.objects import (
    DeviceClass,
    Node,
    Pod,
    assigned_requests,
    pending_requests,
    quantity_milli_value,
    quantity_value,
    request_nanos,
)
from podwright.scheduler.columns import DEVICE_CLASS_PREFIX
from podwright.scheduler.framework import DEVICE_CLASS, NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, only, queue_if

ClassOf: TypeAlias = Callable[[str], str]
"""Returns the device class that backs an extended resource; "" if there is none."""


def events_to_register(
    class_of: ClassOf, *, dra_extended_resource: bool = True
) -> tuple[EventHint, ...]:
    """Return deleted and shrunk pods, new and grown nodes, and device classes.

    Parameters
    ----------
    class_of : callable
        Returns the device class that backs a resource; "" if there is none.
    dra_extended_resource : bool
        Feature gate DRAExtendedResource.
    """
    events = (
        EventHint(POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN, after_pod_event),
        EventHint(
            NODE,
            ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE,
            partial(after_node_change, class_of if dra_extended_resource else _no_class),
        ),
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


def _no_class(_resource: str) -> str:
    """Return "": without the gate, no class backs a resource."""
    return ""


def after_node_change(class_of: ClassOf, pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod fits the empty node, and a requested resource grew.

    A resource that a device class backs fits a node that has none of it.
    """
    before, after = changed(Node, old, new)
    requests = pending_requests(pod)
    room = _allocatable(after)
    backed = {name for name in requests if not room.get(name) and class_of(name)}
    fits = room.get("pods", 0) >= 1 and all(
        amount <= room.get(resource, 0)
        for resource, amount in requests.items()
        if resource not in backed
    )
    if not fits:
        return Hint.SKIP
    if before is None or backed:
        return Hint.QUEUE
    had = _allocatable(before)
    return queue_if(any(room[name] > had.get(name, 0) for name in ("pods", *requests)))


def after_device_class_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the class now has an extended resource that the pod requests."""
    device_class = only(DeviceClass, new)
    # A request of zero names its resource, too.
    requests = request_nanos(pod)
    resource = _extended_resource(device_class)
    if old is None:
        implicit = f"{DEVICE_CLASS_PREFIX}{device_class.metadata.name}"
        if implicit in requests:
            return Hint.QUEUE
    elif _extended_resource(only(DeviceClass, old)) == resource:
        return Hint.SKIP
    return queue_if(resource in requests)


def _extended_resource(device_class: DeviceClass) -> str:
    return device_class.spec.extended_resource_name or ""


def _allocatable(node: Node) -> dict[str, int]:
    return {
        name: quantity_milli_value(amount) if name == "cpu" else quantity_value(amount)
        for name, amount in node.status.allocatable.items()
    }
