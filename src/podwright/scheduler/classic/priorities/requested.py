"""LeastRequestedPriority and MostRequestedPriority: spread load, or pack it.

    least: ((cpu capacity - cpu requested) * 10 / cpu capacity + the same of memory) / 2
    most:  (cpu requested * 10 / cpu capacity + the same of memory) / 2

All divisions are integer divisions. A resource without capacity, or requested beyond it, scores 0
in both; a completely full node scores 0 in least and 10 in most.

Upstream: pkg/scheduler/algorithm/priorities/least_requested.go, most_requested.go,
resource_allocation.go
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import MAX_PRIORITY, PriorityMetadata
from podwright.scheduler.classic.priorities.priority import Map, Priority


def prepare_least(meta: PriorityMetadata) -> Map:
    """Prefer nodes with a large free fraction."""
    pod_milli_cpu, pod_memory_bytes = meta.milli_cpu, meta.memory_bytes

    def least(node: NodeInfo) -> int:
        milli_cpu = node.scoring_milli_cpu + pod_milli_cpu
        memory_bytes = node.scoring_memory_bytes + pod_memory_bytes
        capacity = node.allocatable
        return (
            _left(milli_cpu, capacity.milli_cpu) + _left(memory_bytes, capacity.memory_bytes)
        ) // 2

    return least


def prepare_most(meta: PriorityMetadata) -> Map:
    """Prefer nodes with a large requested fraction."""
    pod_milli_cpu, pod_memory_bytes = meta.milli_cpu, meta.memory_bytes

    def most(node: NodeInfo) -> int:
        milli_cpu = node.scoring_milli_cpu + pod_milli_cpu
        memory_bytes = node.scoring_memory_bytes + pod_memory_bytes
        capacity = node.allocatable
        return (
            _used(milli_cpu, capacity.milli_cpu) + _used(memory_bytes, capacity.memory_bytes)
        ) // 2

    return most


def _left(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return 0
    return (capacity - requested) * MAX_PRIORITY // capacity


def _used(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return 0
    return requested * MAX_PRIORITY // capacity


LEAST: Final = Priority("LeastRequestedPriority", prepare_least)
MOST: Final = Priority("MostRequestedPriority", prepare_most)
