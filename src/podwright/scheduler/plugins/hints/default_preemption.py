"""DefaultPreemption: a preemptor waits until its victims are deleted.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import POD, ActionType, EventHint, Hint


def events_to_register() -> tuple[EventHint, ...]:
    """Return deleted pods; they are registered, but the hint never queues a pod."""
    return (EventHint(POD, ActionType.DELETE, after_pod_deleted),)


def after_pod_deleted(_pod: Pod, _old: object | None, _new: object | None) -> Hint:
    """Skip: the preemptor is activated when its last victim is deleted."""
    return Hint.SKIP
