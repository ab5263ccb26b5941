"""PodFitsHostPorts: a host port can be used by one pod only.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodFitsHostPorts
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata

_FAILURES: Final = (
    Failure("PodFitsHostPorts", "node(s) didn't have free ports for the requested pod ports"),
)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has host ports."""
    return bool(meta.ports)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node on which one of the pod's host ports is in use."""
    return _FAILURES if any(map(node.takes_port, meta.ports)) else FITS


PREDICATE: Final = Predicate("PodFitsHostPorts", concerns, check)
