"""EqualPriority: score 1 for every node.

Upstream: pkg/scheduler/core/generic_scheduler.go, EqualPriorityMap
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.priorities.priority import Map, Priority, PriorityMetadata


def prepare(_meta: PriorityMetadata) -> Map:  # the same for every pod
    """Return the map with equal scores."""
    return lambda _node: 1


EQUAL: Final = Priority("EqualPriority", prepare)
