"""Preemption that a pod's own affinity stops: the pods that it requires are those it would evict.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
SelectVictimsOnNode, which removes all pods of lower priority before it runs the filters.
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.columns import Cluster, affinity_terms, priority_of
from podwright.scheduler.framework import Explanation
from podwright.scheduler.preemption import Preemption

_REASON: Final = "node(s) didn't match pod affinity rules"
_PODS_SHOWN: Final = 4


def broken_affinity(explanation: Explanation, cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence if evicting pods would break the affinity of the pod that needs the room.

    Parameters
    ----------
    explanation : Explanation
        Of a pod that does not fit.
    cluster : Cluster
        In the state of the explanation.
    """
    result = explanation.decision.post_filter
    details = None if result is None else result.details
    if not isinstance(details, Preemption) or details.choice is not None:
        return ()
    count = sum(
        rejection.count
        for rejection in details.dry_run.rejections
        if _REASON in rejection.status.reasons
    )
    if not count:
        return ()
    pod = explanation.pod
    terms = affinity_terms(pod).required
    needed = [
        key
        for key, placed in cluster.pods.items()
        if priority_of(placed.pod) < priority_of(pod)
        and all(
            term.matches(
                placed.pod.namespace,
                placed.pod.metadata.labels,
                cluster.namespaces.get(placed.pod.namespace, {}),
            )
            for term in terms
        )
    ]
    more = len(needed) - _PODS_SHOWN
    names = ", ".join(needed[:_PODS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return (
        f"the pod cannot preempt on {count} node{'s' * (count != 1)}: its required podAffinity"
        f" selects pods of lower priority ({names}), and evicting them would break that affinity",
    )
