"""NodeUnschedulable: cordoned nodes accept only pods that tolerate it.

**What it does.** Rejects nodes with ``spec.unschedulable`` unless the pod tolerates the taint
``node.kubernetes.io/unschedulable:NoSchedule``, whether or not the node has that taint.

**Why it matters.** ``kubectl cordon`` works through it.

**Configuration.** None.

**Example.** After ``kubectl cordon n1`` the node is rejected with ``node(s) were unschedulable``.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podwright.apimachinery.objects import Pod, Taint, tolerates
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    NodeColumns,
    Plugin,
    Reads,
    Status,
    Verdicts,
    tolerations_fragment,
)
from podwright.scheduler.plugins import hints

_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_REJECTION = Status.unresolvable("node(s) were unschedulable")


class NodeUnschedulable(Plugin):
    """Reject cordoned nodes."""

    name = "NodeUnschedulable"
    key_reads_all_labels = False
    filter_reads = Reads.NODE

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.node_unschedulable.events_to_register()

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the tolerations."""
        return tolerations_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return whether the pod tolerates cordoned nodes."""
        return _is_tolerated(pod)

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject cordoned nodes."""
        if not _is_tolerated(cycle.pod):
            out.codes[out.rows] = nodes.unschedulable[out.rows] * out.code_of(_REJECTION)


def _is_tolerated(pod: Pod) -> bool:
    return any(tolerates(toleration, _TAINT) for toleration in pod.spec.tolerations)
