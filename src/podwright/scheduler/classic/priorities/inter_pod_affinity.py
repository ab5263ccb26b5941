"""InterPodAffinityPriority: preferred affinity and anti-affinity between pods.

Every pod of the cluster adds to the topology domains of its node:

- the weight of each preferred term of the new pod that selects the existing one,
- the weight of each preferred term of the existing pod that selects the new one,
- `hardPodAffinitySymmetricWeight` for each *required* affinity term of the existing pod that
  selects the new one;

Anti-affinity terms subtract their weights. The sums over a node's domains are scaled between
`min(0, least)` and `max(0, greatest)`: equal positive sums score 10 on all nodes, equal negative or
zero sums 0.

It is the only priority of the older form, a function of all nodes.

Upstream: pkg/scheduler/algorithm/priorities/interpod_affinity.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import Labels, Pod
from podwright.scheduler.classic.affinity import (
    Term,
    compile_term,
    compile_terms,
)
from podwright.scheduler.classic.node_info import NodeInfo, has_pod_affinity
from podwright.scheduler.classic.priorities.priority import MAX_PRIORITY, Priority, PriorityMetadata

_Weighted = tuple[int, Term]


def function(meta: PriorityMetadata, nodes: Sequence[NodeInfo]) -> list[int]:
    """Score all nodes."""
    weight_of = _domain_weights(meta)
    if not weight_of:
        return [0] * len(nodes)
    sums = [_sum_of_domains(weight_of, node.labels) for node in nodes]
    least, greatest = min(0, *sums), max(0, *sums)
    if greatest == least:
        return [0] * len(nodes)
    return [int(MAX_PRIORITY * ((total - least) / (greatest - least))) for total in sums]


def _domain_weights(meta: PriorityMetadata) -> Counter[tuple[str, str]]:
    """Return the weight of each domain, which is a label with its value."""
    weight_of: Counter[tuple[str, str]] = Counter()
    own = _preferred(meta.pod)
    # A pod without terms of its own is affected only by pods that have terms.
    everywhere = has_pod_affinity(meta.pod)
    infos = meta.cluster.nodes() if everywhere else meta.cluster.nodes_with_affinity()
    for info in infos:
        if info.node is None:
            continue
        pods = info.pods if everywhere else info.pods_with_affinity
        for existing in pods.values():
            for weight, term in own:
                if term.matches(existing):
                    _add(weight_of, term, info.labels, weight)
            if has_pod_affinity(existing):
                for weight, term in _of_existing(existing, meta.hard_pod_affinity_weight):
                    if term.matches(meta.pod):
                        _add(weight_of, term, info.labels, weight)
    return weight_of


def _preferred(pod: Pod) -> list[_Weighted]:
    return [
        (sign * each.weight, compile_term(pod, each.pod_affinity_term))
        for sign, affinity in ((1, pod.spec.pod_affinity), (-1, pod.spec.pod_anti_affinity))
        for each in affinity.preferred
    ]


def _of_existing(pod: Pod, hard_weight: int) -> list[_Weighted]:
    required = compile_terms(pod, pod.spec.pod_affinity.required)
    return [*_preferred(pod), *((hard_weight, term) for term in required)]


def _add(weight_of: Counter[tuple[str, str]], term: Term, labels: Labels, weight: int) -> None:
    value = labels.get(term.topology_key)
    if value is not None:
        weight_of[term.topology_key, value] += weight


def _sum_of_domains(weight_of: Counter[tuple[str, str]], labels: Labels) -> int:
    return sum(weight for (key, value), weight in weight_of.items() if labels.get(key) == value)


INTER_POD_AFFINITY: Final = Priority("InterPodAffinityPriority", function=function)
