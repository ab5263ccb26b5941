"""serviceAntiAffinity: spread the pods of a service over the values of a node label.

Only a policy can configure it. Map: the node's pods of the pod's first service. Reduce:
`10 * (all - those with the node's value) / all`; nodes without the label score 0.

Upstream: pkg/scheduler/algorithm/priorities/selector_spreading.go, ServiceAntiAffinity
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import (
    MAX_PRIORITY,
    PriorityMetadata,
    matching_count,
)
from podwright.scheduler.classic.priorities.priority import Map, Priority


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
                row[index] = int(float(MAX_PRIORITY) * (float(total - with_value[value]) / total))
            else:
                row[index] = MAX_PRIORITY

    return Priority(name, prepare, reduce)
