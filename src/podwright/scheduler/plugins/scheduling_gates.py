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
from podwright.scheduler.framework import EventHint, Plugin, Status
from podwright.scheduler.plugins import hints


class SchedulingGates(Plugin):
    """Rejects pods with scheduling gates at PreEnqueue."""

    name = "SchedulingGates"
    key_reads_all_labels = False

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.scheduling_gates.events_to_register()

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
