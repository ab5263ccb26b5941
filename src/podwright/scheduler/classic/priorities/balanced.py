"""BalancedResourceAllocation: prefer nodes with similar fractions of cpu and memory.

    int((1 - |cpu fraction - memory fraction|) * 10)

The score is 0 if either fraction is 1 or more; without capacity the fraction is 1. Kubernetes 1.7
computed `int(10 - difference * 10)`, which rounds differently: fractions 0.9 and 0 score 1 there,
and 0 in v1.16.

Upstream: pkg/scheduler/algorithm/priorities/balanced_resource_allocation.go
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import MAX_PRIORITY, PriorityMetadata
from podwright.scheduler.classic.priorities.priority import Map, Priority


def balanced_score(difference: float) -> int:
    """Return the v1.16 score for a difference of the two fractions."""
    return int((1 - difference) * MAX_PRIORITY)


def balanced_score_of_1_7(difference: float) -> int:
    """Return the v1.7 score for a difference of the two fractions."""
    return int(MAX_PRIORITY - difference * MAX_PRIORITY)


def balanced(*, as_1_7: bool = False) -> Priority:
    """Return the priority with the arithmetic of v1.16 or of v1.7."""
    score = balanced_score_of_1_7 if as_1_7 else balanced_score

    def prepare(meta: PriorityMetadata) -> Map:
        pod_milli_cpu, pod_memory_bytes = meta.milli_cpu, meta.memory_bytes

        def map_node(node: NodeInfo) -> int:
            capacity = node.allocatable
            milli_cpu = node.scoring_milli_cpu + pod_milli_cpu
            memory_bytes = node.scoring_memory_bytes + pod_memory_bytes
            if milli_cpu >= capacity.milli_cpu or memory_bytes >= capacity.memory_bytes:
                return 0  # a fraction of 1 or more, or no capacity
            cpu_fraction = milli_cpu / capacity.milli_cpu
            memory_fraction = memory_bytes / capacity.memory_bytes
            return score(abs(cpu_fraction - memory_fraction))

        return map_node

    return Priority("BalancedResourceAllocation", prepare)


BALANCED: Final = balanced()
