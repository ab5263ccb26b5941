"""SchedulingGates: pods that must not be scheduled yet.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go (PreEnqueue).
"""

from __future__ import annotations

from tests.oracle.plugin import Document, Plugin, Rejection, unresolvable


class SchedulingGates(Plugin):
    """Reject pods with scheduling gates."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Document) -> Rejection | None:
        """Reject the pod while it has gates."""
        gates = [gate["name"] for gate in pod["spec"].get("schedulingGates") or []]
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None
