"""NodeAffinityPriority: preferred node affinity.

Map: the sum of the weights of the preferred terms that match the node's labels. `matchFields` is
ignored, a term without `matchExpressions` matches no node, and weight 0 is skipped. Reduce: scaled
by the greatest score.

Upstream: pkg/scheduler/algorithm/priorities/node_affinity.go;
pkg/scheduler/algorithm/priorities/node_label.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import (
    NodeSelectorTerm,
    NodeTerm,
    Pod,
    PreferredSchedulingTerm,
    SelectorError,
    preferred_node_terms,
)
from podwright.scheduler.classic.failure import SchedulingError
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY,
    Map,
    Priority,
    PriorityMetadata,
    scale,
)


def prepare(meta: PriorityMetadata) -> Map:
    """Return a map that adds the weights of matching terms."""
    terms = _compiled(meta.pod)
    if not terms:
        return lambda _node: 0  # the same for every node

    def map_node(node: NodeInfo) -> int:
        return sum(weight for weight, term in terms if term.labels.matches(node.labels))

    return map_node


def reduce(_meta: PriorityMetadata, _nodes: Sequence[NodeInfo], row: list[int]) -> None:
    """Scale by the greatest score."""
    scale(row, reverse=False)


def _compiled(pod: Pod) -> tuple[tuple[int, NodeTerm], ...]:
    labels_only = [
        PreferredSchedulingTerm(
            term.weight, NodeSelectorTerm(match_expressions=term.preference.match_expressions)
        )
        for term in pod.spec.node_affinity.preferred
    ]
    try:
        return preferred_node_terms(labels_only)
    except SelectorError as error:
        raise SchedulingError(str(error)) from None


NODE_AFFINITY: Final = Priority("NodeAffinityPriority", prepare, reduce)


# labelPreference: prefer nodes that have, or do not have, a label.
#
# Only a policy can configure it.


def label_preference(name: str, label: str, *, presence: bool) -> Priority:
    """Return the priority for the label."""

    def prepare(_meta: PriorityMetadata) -> Map:  # the same for every pod
        def map_node(node: NodeInfo) -> int:
            return MAX_PRIORITY if (label in node.labels) == presence else 0

        return map_node

    return Priority(name, prepare)
