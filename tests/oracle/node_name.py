"""NodeName: pods with `spec.nodeName`.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go (Fits).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.plugin import Document, Plugin, Rejection, unresolvable


class NodeName(Plugin):
    """Reject every node except `spec.nodeName`."""

    name = "NodeName"

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        if pod["spec"].get("nodeName") in {None, "", node.name}:
            return None
        return unresolvable("node(s) didn't match the requested node name")
