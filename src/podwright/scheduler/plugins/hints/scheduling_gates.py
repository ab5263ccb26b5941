"""SchedulingGates: a pod is queued when its last gate is removed.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, queue_if


def events_to_register() -> tuple[EventHint, ...]:
    """Return the loss of the last gate."""
    return (EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, after_gates_removed),)


def after_gates_removed(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod itself."""
    _, changed_pod = changed(Pod, old, new)
    return queue_if(changed_pod.metadata.uid == pod.metadata.uid)
