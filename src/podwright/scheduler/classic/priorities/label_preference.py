"""labelPreference: prefer nodes that have, or do not have, a label.

Only a policy can configure it.

Upstream: pkg/scheduler/algorithm/priorities/node_label.go
"""

from __future__ import annotations

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import MAX_PRIORITY, PriorityMetadata
from podwright.scheduler.classic.priorities.priority import Map, Priority


def label_preference(name: str, label: str, *, presence: bool) -> Priority:
    """Return the priority for the label."""

    def prepare(_meta: PriorityMetadata) -> Map:  # the same for every pod
        def map_node(node: NodeInfo) -> int:
            return MAX_PRIORITY if (label in node.labels) == presence else 0

        return map_node

    return Priority(name, prepare)
