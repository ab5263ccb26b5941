"""MatchInterPodAffinity: required affinity and anti-affinity between pods.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodAffinityChecker
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata

_FAILURE: Final = Failure(
    "MatchInterPodAffinity", "node(s) didn't match pod affinity/anti-affinity"
)
_REPELLED: Final = (
    _FAILURE,
    Failure(
        "ExistingPodsAntiAffinityRulesNotMatch",
        "node(s) didn't satisfy existing pods anti-affinity rules",
    ),
)
_NOT_ATTRACTED: Final = (
    _FAILURE,
    Failure("PodAffinityRulesNotMatch", "node(s) didn't match pod affinity rules"),
)
_REPELLING: Final = (
    _FAILURE,
    Failure("PodAntiAffinityRulesNotMatch", "node(s) didn't match pod anti-affinity rules"),
)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has terms, or existing pods have anti-affinity terms that select it."""
    return bool(meta.repelled or meta.affinity_terms or meta.anti_affinity_terms)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Check anti-affinity of existing pods, then affinity and anti-affinity of the pod."""
    labels = node.labels
    if meta.repelled.holds_any(labels):
        return _REPELLED
    if meta.affinity_terms:
        # Different pods may satisfy different terms, but each of them matches all terms.
        is_near = all(
            term.topology_key in labels
            and (term.topology_key, labels[term.topology_key]) in meta.attracting
            for term in meta.affinity_terms
        )
        if not is_near and not meta.starts_series:
            return _NOT_ATTRACTED
    for term in meta.anti_affinity_terms:
        value = labels.get(term.topology_key)
        if value is not None and (term.topology_key, value) in meta.repelling:
            return _REPELLING
    return FITS


PREDICATE: Final = Predicate("MatchInterPodAffinity", concerns, check)
