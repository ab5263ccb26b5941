"""CheckServiceAffinity: the pods of a service share the values of some labels of their nodes.

The pod's nodeSelector sets the values of some labels. The other values are those of the node of an
existing pod in the same namespace that has all labels of this pod. Only a policy can configure it.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, ServiceAffinity
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import Labels, labels_as_selector
from podwright.scheduler.classic.failure import FITS, Failure, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always

_FAILURES: Final = (Failure("CheckServiceAffinity", "node(s) didn't match service affinity"),)


def service_affinity(name: str, labels: Sequence[str]) -> Predicate:
    """Return the predicate for the labels."""

    def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
        """Reject a node that differs in one of the labels."""
        selector = meta.pod.spec.node_selector
        requested = {label: selector[label] for label in labels if label in selector}
        if len(requested) < len(labels):
            lent = _labels_of_first_peer(meta, node)
            requested |= {
                label: lent[label] for label in labels if label in lent and label not in requested
            }
        return FITS if labels_as_selector(requested).matches(node.labels) else _FAILURES

    return Predicate(name, always, check)


def _labels_of_first_peer(meta: PredicateMetadata, node: NodeInfo) -> Labels:
    """Return the labels of the node of the first pod with the labels of this one."""
    pod, cluster = meta.pod, meta.cluster
    if next(cluster.services_of(pod), None) is None:
        return {}
    alike = labels_as_selector(pod.metadata.labels)
    for info in cluster.nodes():
        # In preemption the node is a copy that differs from the cluster's.
        here = node if info.name == node.name else info
        for existing in here.pods.values():
            if existing.namespace == pod.namespace and alike.matches(existing.metadata.labels):
                return info.labels
    return {}
