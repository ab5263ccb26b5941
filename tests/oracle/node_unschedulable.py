"""NodeUnschedulable: cordoned nodes.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go (Filter).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.plugin import Document, Plugin, Rejection, unresolvable
from tests.oracle.selectors import tolerates

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class NodeUnschedulable(Plugin):
    """Reject a cordoned node unless the pod tolerates the corresponding taint."""

    name = "NodeUnschedulable"

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node; the node need not have the taint."""
        if not (node.document.get("spec") or {}).get("unschedulable"):
            return None
        if any(
            tolerates(toleration, _TAINT) for toleration in pod["spec"].get("tolerations") or []
        ):
            return None
        return unresolvable("node(s) were unschedulable")
