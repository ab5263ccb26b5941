"""CheckNodeUnschedulable: cordoned nodes accept only pods that tolerate it.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, CheckNodeUnschedulablePredicate
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Taint, tolerates
from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always

_FAILURES: Final = (Failure("NodeUnschedulable", "node(s) were unschedulable"),)
_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a cordoned node unless the pod tolerates the corresponding taint."""
    if not node.unschedulable:
        return FITS
    if any(tolerates(toleration, _TAINT) for toleration in meta.pod.spec.tolerations):
        return FITS
    return _FAILURES


PREDICATE: Final = Predicate("CheckNodeUnschedulable", always, check)
