"""TaintTolerationPriority: prefer nodes with fewer untolerated PreferNoSchedule taints.

Map: the number of PreferNoSchedule taints that the pod does not tolerate. Reduce: scaled by the
greatest and reversed, so all nodes score 10 if none has such a taint.

Upstream: pkg/scheduler/algorithm/priorities/taint_toleration.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import tolerates
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import Map, Priority, PriorityMetadata, scale


def prepare(meta: PriorityMetadata) -> Map:
    """Return a map that counts the untolerated taints."""
    tolerations = meta.tolerations

    def map_node(node: NodeInfo) -> int:
        if not node.taints:
            return 0
        return sum(
            taint.effect == "PreferNoSchedule"
            and not any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in node.taints
        )

    return map_node


def reduce(_meta: PriorityMetadata, _nodes: Sequence[NodeInfo], row: list[int]) -> None:
    """Scale and reverse."""
    scale(row, reverse=True)


TAINT_TOLERATION: Final = Priority("TaintTolerationPriority", prepare, reduce)
