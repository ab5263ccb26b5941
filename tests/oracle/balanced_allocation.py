"""NodeResourcesBalancedAllocation: prefer a balanced use of the resources.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go
(balancedResourceScorer, balancedResourceScore). 1.36 compares the node with and without the pod:
an improvement scores above 75, a deterioration below.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from tests.oracle import pod_resources
from tests.oracle.cluster import Cluster, Node
from tests.oracle.node_resources_fit import allocation, weighted_resources
from tests.oracle.plugin import MAX_NODE_SCORE, SKIP_SCORE, Document, Plugin, PreScore, trunc_div


def balance(pairs: list[tuple[int, int]]) -> int:
    """Return 100 minus the standard deviation of the fractions used, as a truncated integer."""
    fractions = []
    total = 0.0
    for used, capacity in pairs:
        fraction = min(used / capacity, 1.0)
        total += fraction
        fractions.append(fraction)
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares = squares + (fraction - mean) * (fraction - mean)
        deviation = sqrt(squares / len(fractions))
    return int((1 - deviation) * MAX_NODE_SCORE)


class NodeResourcesBalancedAllocation(Plugin):
    """Score nodes by the change of their balance."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, cluster: Cluster, args: Document) -> None:
        super().__init__(cluster, args)
        self.resources = [name for name, _ in weighted_resources(args.get("resources"))]

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Skip pods that request none of the resources."""
        found = pod_resources.balanced_score_requests(pod)
        request = {name: found.get(name, 0) for name in self.resources}
        return PreScore(state=request) if any(request.values()) else SKIP_SCORE

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Compare the node with and without the pod."""
        if state is None:
            answer = self.pre_score(pod, [], None)
            if answer.is_skip:
                return 0
            state = answer.state
        with_pod, without_pod = [], []
        for resource in self.resources:
            capacity, used = allocation(node, resource, state[resource], use_requested=True)
            if capacity != 0:
                with_pod.append((used, capacity))
                without_pod.append((used - state[resource], capacity))
        half = MAX_NODE_SCORE // 2
        return half + trunc_div(half + balance(with_pod) - balance(without_pod), 2)
