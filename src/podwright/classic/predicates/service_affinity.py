"""CheckServiceAffinity: the pods of a service share the values of some labels of their nodes.

The pod's nodeSelector fixes some of the labels; for the others, a pod that looks like this
one (same namespace, all its labels) and has a node lends its node's values. Only a policy
can ask for it.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, ServiceAffinity
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.classic.failure import FITS, Failure, Failures
from podwright.classic.node_info import NodeInfo
from podwright.classic.predicates.metadata import PredicateMetadata
from podwright.classic.predicates.predicate import Predicate, always
from podwright.objects import Labels, labels_as_selector

_FAILURES: Final = (Failure("CheckServiceAffinity", "node(s) didn't match service affinity"),)


def service_affinity(name: str, labels: Sequence[str]) -> Predicate:
    """Make the predicate for the labels."""

    def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
        """Reject a node that differs in one of the labels."""
        selector = meta.pod.spec.node_selector
        wanted = {label: selector[label] for label in labels if label in selector}
        if len(wanted) < len(labels):
            lent = _lent_labels(meta, node)
            wanted |= {
                label: lent[label] for label in labels if label in lent and label not in wanted
            }
        return FITS if labels_as_selector(wanted).matches(node.labels) else _FAILURES

    return Predicate(name, always, check)


def _lent_labels(meta: PredicateMetadata, node: NodeInfo) -> Labels:
    """Return the labels of the node of the first pod that looks like the one under test."""
    pod, cluster = meta.pod, meta.cluster
    if next(cluster.services_of(pod), None) is None:
        return {}
    alike = labels_as_selector(pod.metadata.labels)
    for info in cluster.nodes():
        # The node under test may be one on which preemption has tried something.
        here = node if info.name == node.name else info
        for existing in here.pods.values():
            if existing.namespace == pod.namespace and alike.matches(existing.metadata.labels):
                return info.labels
    return {}
