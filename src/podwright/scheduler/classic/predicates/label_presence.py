"""CheckNodeLabelPresence: nodes must have, or must not have, labels of any value.

Only a policy can configure it, and only under this name: a custom predicate of another name never
runs, because the name is not in the fixed order.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, NodeLabelChecker
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always

_FAILURES: Final = (Failure("CheckNodeLabelPresence", "node(s) didn't have the requested labels"),)


def label_presence(name: str, labels: Sequence[str], *, presence: bool) -> Predicate:
    """Return a predicate that requires all of the labels, or none of them."""

    def check(_meta: PredicateMetadata, node: NodeInfo) -> Failures:
        """Reject a node with the wrong labels."""
        fits = all((label in node.labels) == presence for label in labels)
        return FITS if fits else _FAILURES

    return Predicate(name, always, check)
