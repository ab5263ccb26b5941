"""LeastRequestedPriority and MostRequestedPriority: spread load, or pack it.

    least: ((cpu capacity - cpu requested) * 10 / cpu capacity + the same of memory) / 2
    most:  (cpu requested * 10 / cpu capacity + the same of memory) / 2

All divisions are integer divisions. A resource without capacity, or requested beyond it, scores 0
in both; a completely full node scores 0 in least and 10 in most.

Upstream: pkg/scheduler/algorithm/priorities/least_requested.go, most_requested.go,
resource_allocation.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import MAX_PRIORITY, PriorityMetadata
from podwright.scheduler.classic.priorities.priority import Map, Priority


def _prepare(score: Callable[[int, int], int]) -> Callable[[PriorityMetadata], Map]:
    """Return what prepares the mean of the scores of cpu and memory."""

    def prepare(meta: PriorityMetadata) -> Map:
        pod_milli_cpu, pod_memory_bytes = meta.milli_cpu, meta.memory_bytes

        def mean(node: NodeInfo) -> int:
            milli_cpu = node.scoring_milli_cpu + pod_milli_cpu
            memory_bytes = node.scoring_memory_bytes + pod_memory_bytes
            capacity = node.allocatable
            return (
                score(milli_cpu, capacity.milli_cpu) + score(memory_bytes, capacity.memory_bytes)
            ) // 2

        return mean

    return prepare


def _left(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return 0
    return (capacity - requested) * MAX_PRIORITY // capacity


def _used(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return 0
    return requested * MAX_PRIORITY // capacity


LEAST: Final = Priority("LeastRequestedPriority", _prepare(_left))
MOST: Final = Priority("MostRequestedPriority", _prepare(_used))
