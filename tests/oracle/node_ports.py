"""NodePorts: host ports.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go (Fits).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.host_ports import host_ports
from tests.oracle.plugin import SKIP_FILTER, Document, Plugin, PreFilter, Rejection, unschedulable


class NodePorts(Plugin):
    """Reject nodes on which a host port is in use."""

    name = "NodePorts"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Skip pods without host ports."""
        needed = list(host_ports(pod))
        return PreFilter(state=needed) if needed else SKIP_FILTER

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        if any(want.conflicts(have) for want in host_ports(pod) for have in node.host_ports):
            return unschedulable("node(s) didn't have free ports for the requested pod ports")
        return None
