"""SchedulingGates: pods that are not to be looked at yet.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go (PreEnqueue).
"""

from __future__ import annotations

from tests.oracle.plugin import Document, Plugin, Rejection, unresolvable


class SchedulingGates(Plugin):
    """Keep gated pods out of the queue."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Document) -> Rejection | None:
        """Hold the pod back as long as it has gates."""
        gates = [gate["name"] for gate in pod["spec"].get("schedulingGates") or []]
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None
