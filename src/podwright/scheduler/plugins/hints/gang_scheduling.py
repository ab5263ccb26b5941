"""GangScheduling: members and groups that arrive.

Upstream: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod, PodGroup
from podwright.scheduler.framework import POD, POD_GROUP, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, queue_if


def events_to_register() -> tuple[EventHint, ...]:
    """Return new pods and new pod groups."""
    return (
        EventHint(POD, ActionType.ADD, after_pod_added),
        EventHint(POD_GROUP, ActionType.ADD, after_group_added),
    )


def after_pod_added(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the new pod is of the same group."""
    _, added = changed(Pod, old, new)
    group = _group(pod)
    return queue_if(group is not None and group == _group(added))


def after_group_added(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod's group."""
    _, added = changed(PodGroup, old, new)
    return queue_if(_group(pod) == (added.metadata.namespace, added.metadata.name))


def _group(pod: Pod) -> tuple[str, str] | None:
    group = pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return pod.metadata.namespace, group.pod_group_name
