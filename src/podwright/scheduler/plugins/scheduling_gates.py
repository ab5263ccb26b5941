"""SchedulingGates: a pod with scheduling gates is not queued.

**What it does.** Rejects a pod at PreEnqueue until its last scheduling gate is removed.

**Why it matters.** A controller can create pods before the resources that they need, without
failing scheduling attempts.

**Configuration.** None.

**Example.** A pod with ``spec.schedulingGates: [{name: example.com/quota}]`` waits with
``waiting for scheduling gates: [example.com/quota]``.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
"""

from __future__ import annotations

from collections.abc import Hashable

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import POD, ActionType, EventHint, Hint, Plugin, Status
from podwright.scheduler.plugins.hints.objects import changed, queue_if


class SchedulingGates(Plugin):
    """Rejects pods with scheduling gates at PreEnqueue."""

    name = "SchedulingGates"
    key_reads_all_labels = False

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the loss of the last gate."""
        return (
            EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, after_gates_removed),
        )

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the names of the gates."""
        return tuple(gate.name for gate in pod.spec.scheduling_gates)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Pass pods without gates."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return Status.OK
        names = " ".join(gate.name for gate in gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{names}]")


# The hints of events: whether one may have undone the rejection of a pod.


def after_gates_removed(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod itself."""
    _, changed_pod = changed(Pod, old, new)
    return queue_if(changed_pod.metadata.uid == pod.metadata.uid)
