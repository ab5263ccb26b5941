"""Whether a pod fits on a node, by all predicates.

With nominated pods there are two passes. The first pass adds the nominated pods of equal or greater
priority to the node, because the pod must not use the resources that preemption has freed for them.
The second pass omits them, because they may never be bound, and the pod must not depend on affinity
to a pod that is not on the node.

Upstream: pkg/scheduler/core/generic_scheduler.go, podFitsOnNode and addNominatedPods
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.apimachinery.objects import Pod
from podwright.scheduler.classic.algorithm import Algorithm
from podwright.scheduler.classic.failure import FITS, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates import Check, PredicateMetadata

__all__ = ["failures_on_node"]


def failures_on_node(
    algorithm: Algorithm,
    checks: Sequence[Check],
    meta: PredicateMetadata,
    node: NodeInfo,
    nominated: Sequence[Pod] = (),
) -> Failures:
    """Return the failures of the predicates on a node; `FITS` if there are none.

    Parameters
    ----------
    algorithm : Algorithm
        The predicates.
    checks : sequence of Check
        `algorithm.checks(meta)`, computed once for many nodes.
    meta : PredicateMetadata
        The pod.
    node : NodeInfo
        The node, or a copy of it.
    nominated : sequence of Pod
        The pods that are nominated to the node.
    """
    respected = [
        pod
        for pod in nominated
        if pod.priority >= meta.pod.priority and pod.metadata.uid != meta.pod.metadata.uid
    ]
    if respected:
        supposed_node, supposed = node.clone(), meta.copy()
        for pod in respected:
            supposed_node.add_pod(pod)
            supposed.add_pod(pod, supposed_node)
        failures = _run(algorithm, algorithm.checks(supposed), supposed, supposed_node)
        if failures:
            return failures
    return _run(algorithm, checks, meta, node)


def _run(
    algorithm: Algorithm, checks: Sequence[Check], meta: PredicateMetadata, node: NodeInfo
) -> Failures:
    if not algorithm.always_check_all:
        for check in checks:
            failures = check(meta, node)
            if failures:
                return failures
        return FITS
    return tuple(failure for check in checks for failure in check(meta, node))
