"""SelectorSpreadPriority and ServiceSpreadingPriority: keep the pods of a service apart.

Map: the number of the node's pods that match *all* selectors of the services and controllers of the
pod. Reduce: the fewest pods score 10, and the zone of a node has a weight of two thirds:

    10 * (max - count) / max;  with a zone: 1/3 of that + 2/3 of the same for its zone

`ServiceSpreadingPriority` should use only services. As upstream, it reads the same metadata and
returns the same scores.

Upstream: pkg/scheduler/algorithm/priorities/selector_spreading.go;
pkg/scheduler/algorithm/priorities/selector_spreading.go, ServiceAntiAffinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY,
    Map,
    Priority,
    PriorityMetadata,
    matching_count,
)

_ZONE_WEIGHT: Final = 2.0 / 3.0


def prepare(meta: PriorityMetadata) -> Map:
    """Return a map that counts the matching pods."""
    namespace, selectors = meta.pod.namespace, meta.selectors
    return lambda node: matching_count(namespace, selectors, node)


def reduce(_meta: PriorityMetadata, nodes: Sequence[NodeInfo], row: list[int]) -> None:
    """Convert counts to scores."""
    in_zone: Counter[str] = Counter()
    for node, count in zip(nodes, row, strict=True):
        if node.zone:
            in_zone[node.zone] += count
    most, most_in_zone = max(row, default=0), max(in_zone.values(), default=0)
    if not most:
        row[:] = [MAX_PRIORITY] * len(row)
        return
    for index, node in enumerate(nodes):
        score = _inverse(row[index], most)
        if node.zone:
            # The order of the operations is upstream's, because the result is truncated.
            zone_score = _inverse(in_zone[node.zone], most_in_zone)
            score = (score * (1.0 - _ZONE_WEIGHT)) + (_ZONE_WEIGHT * zone_score)
        row[index] = int(score)


def _inverse(count: int, most: int) -> float:
    return MAX_PRIORITY * ((most - count) / most) if most else MAX_PRIORITY


SELECTOR_SPREAD: Final = Priority("SelectorSpreadPriority", prepare, reduce)
SERVICE_SPREADING: Final = Priority("ServiceSpreadingPriority", prepare, reduce)


# serviceAntiAffinity: spread the pods of a service over the values of a node label.
#
# Only a policy can configure it. Map: the node's pods of the pod's first service. Reduce: `10 *
# (all - those with the node's value) / all`; nodes without the label score 0.


def service_anti_affinity(name: str, label: str) -> Priority:
    """Return the priority for the label."""

    def prepare(meta: PriorityMetadata) -> Map:
        namespace = meta.pod.namespace
        selectors = [] if meta.first_service is None else [meta.first_service]
        return lambda node: matching_count(namespace, selectors, node)

    def reduce(_meta: PriorityMetadata, nodes: Sequence[NodeInfo], row: list[int]) -> None:
        with_value: Counter[str] = Counter()
        for node, count in zip(nodes, row, strict=True):
            if label in node.labels:
                with_value[node.labels[label]] += count
        total = sum(row)
        for index, node in enumerate(nodes):
            value = node.labels.get(label)
            if value is None:
                row[index] = 0
            elif total:
                row[index] = int(MAX_PRIORITY * ((total - with_value[value]) / total))
            else:
                row[index] = MAX_PRIORITY

    return Priority(name, prepare, reduce)
