"""HostName: a pod with `spec.nodeName` fits only on that node.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodFitsHost
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata

_FAILURES: Final = (Failure("HostName", "node(s) didn't match the requested hostname"),)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has `spec.nodeName`."""
    return bool(meta.pod.spec.node_name)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject nodes of another name."""
    needed = meta.pod.spec.node_name
    return FITS if not needed or needed == node.name else _FAILURES


PREDICATE: Final = Predicate("HostName", concerns, check)
