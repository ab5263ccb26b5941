"""MatchNodeSelector: the pod's nodeSelector and required node affinity.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodMatchNodeSelector
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata

_FAILURES: Final = (Failure("MatchNodeSelector", "node(s) didn't match node selector"),)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has a node selector or required node affinity."""
    return meta.node_terms is not None or not meta.node_selector.is_empty


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node that does not match the selector or any term."""
    if not meta.node_selector.matches(node.labels):
        return _FAILURES
    if meta.node_terms is not None and not meta.node_terms.matches(node.name, node.labels):
        return _FAILURES
    return FITS


PREDICATE: Final = Predicate("MatchNodeSelector", concerns, check)
