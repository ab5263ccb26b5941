"""PodToleratesNodeTaints: a pod must tolerate the taints of its node.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, PodToleratesNodeTaints
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import untolerated_taint
from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always

_FAILURES: Final = (
    Failure("PodToleratesNodeTaints", "node(s) had taints that the pod didn't tolerate"),
)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node with a NoSchedule or NoExecute taint that the pod does not tolerate."""
    if not node.taints:
        return FITS
    return FITS if untolerated_taint(node.taints, meta.pod.spec.tolerations) is None else _FAILURES


PREDICATE: Final = Predicate("PodToleratesNodeTaints", always, check)
