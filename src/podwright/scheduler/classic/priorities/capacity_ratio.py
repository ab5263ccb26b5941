"""RequestedToCapacityRatioPriority: a piecewise linear function of the utilization.

The utilization in percent is `100 - (capacity - requested) * 100 / capacity`, 100 without capacity
or beyond it. Between the points of the shape the score is linear in integers, truncated toward
zero. Resources with score 0 are omitted from the weighted mean, with their weight, and the mean is
rounded half away from zero.

Upstream: pkg/scheduler/algorithm/priorities/requested_to_capacity_ratio.go
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Pod, quantity_value
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import PriorityMetadata
from podwright.scheduler.classic.priorities.priority import Map, Priority

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
    """Divide as Go does, toward zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _round(number: float) -> int:
    """Round half away from zero; a policy may have negative weights."""
    rounded = math.floor(abs(number) + 0.5)
    return rounded if number >= 0 else -rounded


CAPACITY_RATIO: Final = capacity_ratio()
