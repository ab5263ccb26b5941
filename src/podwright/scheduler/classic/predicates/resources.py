"""PodFitsResources: the node must have the requested resources.

A pod that requests nothing counts only toward the node's number of pods. A pod with any request is
compared in cpu, memory and ephemeral storage, so a node with overcommitted cpu rejects a pod that
requests only memory.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodFitsResources
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node that lacks a resource, with one reason per resource."""
    request, used, capacity = meta.request, node.requested, node.allocatable
    if (
        len(node.pods) < node.allowed_pods
        and request.milli_cpu + used.milli_cpu <= capacity.milli_cpu
        and request.memory_bytes + used.memory_bytes <= capacity.memory_bytes
        and request.ephemeral_bytes + used.ephemeral_bytes <= capacity.ephemeral_bytes
        and not request.scalars
    ):
        return FITS
    return tuple(_lacking(meta, node))


def _lacking(meta: PredicateMetadata, node: NodeInfo) -> Iterator[Failure]:
    request, used, capacity = meta.request, node.requested, node.allocatable
    if len(node.pods) + 1 > node.allowed_pods:
        yield _insufficient("pods", 1, len(node.pods), node.allowed_pods)
    if request.is_nothing:
        return
    fixed = (
        ("cpu", request.milli_cpu, used.milli_cpu, capacity.milli_cpu),
        ("memory", request.memory_bytes, used.memory_bytes, capacity.memory_bytes),
        (
            "ephemeral-storage",
            request.ephemeral_bytes,
            used.ephemeral_bytes,
            capacity.ephemeral_bytes,
        ),
    )
    for name, needed, taken, there_is in fixed:
        if there_is < needed + taken:
            yield _insufficient(name, needed, taken, there_is)
    for name in sorted(request.scalars):  # upstream has them in the order of a Go map
        needed, taken = request.scalars[name], used.scalars.get(name, 0)
        there_is = capacity.scalars.get(name, 0)
        if name not in meta.ignored_resources and there_is < needed + taken:
            yield _insufficient(name, needed, taken, there_is)


def _insufficient(name: str, needed: int, taken: int, there_is: int) -> Failure:
    return Failure(
        "PodFitsResources",
        f"Insufficient {name}",
        f"Node didn't have enough resource: {name}, requested: {needed}, used: {taken}, "
        f"capacity: {there_is}",
    )


PREDICATE: Final = Predicate("PodFitsResources", always, check)
