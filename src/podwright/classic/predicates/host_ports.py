"""PodFitsHostPorts: a port of the node belongs to one pod.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodFitsHostPorts
"""

from __future__ import annotations

from typing import Final

from podwright.classic.failure import FITS, Failure, Failures
from podwright.classic.node_info import NodeInfo
from podwright.classic.predicates.metadata import PredicateMetadata
from podwright.classic.predicates.predicate import Predicate

_FAILURES: Final = (
    Failure("PodFitsHostPorts", "node(s) didn't have free ports for the requested pod ports"),
)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod requests ports of the node."""
    return bool(meta.ports)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node on which one of the pod's ports is taken."""
    return _FAILURES if any(map(node.takes_port, meta.ports)) else FITS


PREDICATE: Final = Predicate("PodFitsHostPorts", concerns, check)
