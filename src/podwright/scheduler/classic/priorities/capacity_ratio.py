"""RequestedToCapacityRatioPriority: a piecewise linear function of the utilization.

The utilization in percent is `100 - (capacity - requested) * 100 / capacity`, 100 without capacity
or beyond it. Between the points of the shape the score is linear in integers, truncated toward
zero. Resources with score 0 are omitted from the weighted mean, with their weight, and the mean is
rounded half away from zero.

Upstream: pkg/scheduler/algorithm/priorities/requested_to_capacity_ratio.go;
pkg/scheduler/algorithm/priorities/balanced_resource_allocation.go;
pkg/scheduler/algorithm/priorities/least_requested.go, most_requested.go, resource_allocation.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Pod, quantity_value
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY,
    Map,
    Priority,
    PriorityMetadata,
)

_MAX_UTILIZATION: Final = 100


class ShapePoint(msgspec.Struct, frozen=True):
    """A point of the function.

    Parameters
    ----------
    utilization : int
        In percent.
    score : int
        From 0 to 10.
    """

    utilization: int
    score: int


DEFAULT_SHAPE: Final = (ShapePoint(0, 10), ShapePoint(100, 0))
DEFAULT_RESOURCES: Final = (("cpu", 1), ("memory", 1))


class CapacityRatio(msgspec.Struct, frozen=True):
    """The arguments of the priority: the points, and the resources with their weights."""

    shape: tuple[ShapePoint, ...] = DEFAULT_SHAPE
    resources: tuple[tuple[str, int], ...] = DEFAULT_RESOURCES


def broken_line(shape: Sequence[ShapePoint]) -> Callable[[int], int]:
    """Return the function through the points, constant before the first and after the last.

    Examples
    --------
    >>> line = broken_line([ShapePoint(0, 0), ShapePoint(40, 8), ShapePoint(100, 3)])
    >>> [line(percent) for percent in (0, 20, 40, 50, 70, 100)]
    [0, 4, 8, 8, 6, 3]
    """

    def line(utilization: int) -> int:
        for index, point in enumerate(shape):
            if utilization <= point.utilization:
                if index == 0:
                    return point.score
                before = shape[index - 1]
                rise = (point.score - before.score) * (utilization - before.utilization)
                return before.score + _divide(rise, point.utilization - before.utilization)
        return shape[-1].score

    return line


def capacity_ratio(
    name: str = "RequestedToCapacityRatioPriority", arguments: CapacityRatio | None = None
) -> Priority:
    """Return the priority for the arguments, or for the defaults if None."""
    arguments = CapacityRatio() if arguments is None else arguments
    line = broken_line(arguments.shape)

    def prepare(meta: PriorityMetadata) -> Map:
        needed = [
            (resource, weight, _needed(resource, meta)) for resource, weight in arguments.resources
        ]

        def map_node(node: NodeInfo) -> int:
            score_sum = weight_sum = 0
            for resource, weight, amount in needed:
                capacity, used = _capacity_and_used(resource, node)
                score = line(_utilization(used + amount, capacity))
                if score > 0:
                    score_sum += score * weight
                    weight_sum += weight
            return _round(score_sum / weight_sum) if weight_sum else 0

        return map_node

    return Priority(name, prepare)


def _utilization(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return _MAX_UTILIZATION
    # Upstream truncates the free share, so the utilization rounds up, not down.
    return _MAX_UTILIZATION - (capacity - requested) * _MAX_UTILIZATION // capacity


def _needed(resource: str, meta: PriorityMetadata) -> int:
    match resource:
        case "cpu":
            return meta.milli_cpu
        case "memory":
            return meta.memory_bytes
        case _:
            return _sum_over_containers(resource, meta.pod)


def _sum_over_containers(resource: str, pod: Pod) -> int:
    return sum(
        quantity_value(container.resources.requests.get(resource, 0))
        for container in pod.spec.containers
    )


def _capacity_and_used(resource: str, node: NodeInfo) -> tuple[int, int]:
    capacity, requested = node.allocatable, node.requested
    match resource:
        case "cpu":
            return capacity.milli_cpu, node.scoring_milli_cpu
        case "memory":
            return capacity.memory_bytes, node.scoring_memory_bytes
        case "ephemeral-storage":
            return capacity.ephemeral_bytes, requested.ephemeral_bytes
        case _:
            return capacity.scalars.get(resource, 0), requested.scalars.get(resource, 0)


def _divide(dividend: int, divisor: int) -> int:
    """Divide by a positive number as Go does, toward zero."""
    quotient = abs(dividend) // divisor
    return quotient if dividend > 0 else -quotient


def _round(number: float) -> int:
    """Round half away from zero; a policy may have negative weights."""
    rounded = math.floor(abs(number) + 0.5)
    return rounded if number >= 0 else -rounded


CAPACITY_RATIO: Final = capacity_ratio()


# BalancedResourceAllocation: prefer nodes with similar fractions of cpu and memory.
#
#     int((1 - |cpu fraction - memory fraction|) * 10)
#
# The score is 0 if either fraction is 1 or more; without capacity the fraction is 1. Kubernetes
# 1.7 computed `int(10 - difference * 10)`, which rounds differently: fractions 0.9 and 0 score 1
# there, and 0 in v1.16.


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


# LeastRequestedPriority and MostRequestedPriority: spread load, or pack it.
#
#     least: ((cpu capacity - cpu requested) * 10 / cpu capacity + the same of memory) / 2
#     most:  (cpu requested * 10 / cpu capacity + the same of memory) / 2
#
# All divisions are integer divisions. A resource without capacity, or requested beyond it, scores
# 0 in both; a completely full node scores 0 in least and 10 in most.


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
