"""NodeResourcesFit: free resources of the node, and the three scoring strategies.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go (fitsRequest),
resource_allocation.go (score, calculateResourceAllocatableRequest), least_allocated.go,
most_allocated.go, requested_to_capacity_ratio.go, pkg/scheduler/framework/plugins/helper/
shape_score.go (BuildBrokenLinearFunction).
"""

from __future__ import annotations

from math import floor
from typing import Any

from tests.oracle import pod_resources
from tests.oracle.cluster import Cluster, Node
from tests.oracle.plugin import (
    MAX_NODE_SCORE,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    Document,
    Plugin,
    PreFilter,
    PreScore,
    Rejection,
    trunc_div,
)

_DEFAULT_RESOURCES: list[Document] = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def weighted_resources(resources: list[Document] | None) -> list[tuple[str, int]]:
    """Return names and weights; the default is cpu and memory, and weight 0 stands for 1."""
    return [(one["name"], one.get("weight") or 1) for one in resources or _DEFAULT_RESOURCES]


def least_requested(requested: int, capacity: int) -> int:
    """Score by free resources."""
    if capacity == 0 or requested > capacity:
        return 0
    return trunc_div((capacity - requested) * MAX_NODE_SCORE, capacity)


def most_requested(requested: int, capacity: int) -> int:
    """Score by used resources."""
    if capacity == 0:
        return 0
    return trunc_div(min(requested, capacity) * MAX_NODE_SCORE, capacity)


def broken_line(shape: list[Document], utilization: int) -> int:
    """Interpolate the shape, whose scores from 0 to 10 are multiplied by ten."""
    points: list[tuple[int, int]] = [
        (p.get("utilization", 0), p.get("score", 0) * 10) for p in shape
    ]
    for index, (x, y) in enumerate(points):
        if utilization <= x:
            if index == 0:
                return y
            x0, y0 = points[index - 1]
            return y0 + trunc_div((y - y0) * (utilization - x0), x - x0)
    return points[-1][1]


class NodeResourcesFit(Plugin):
    """Reject nodes without free resources; score by allocation."""

    name = "NodeResourcesFit"

    def __init__(self, cluster: Cluster, args: Document) -> None:
        super().__init__(cluster, args)
        self.ignored = set(args.get("ignoredResources") or [])
        self.ignored_groups = set(args.get("ignoredResourceGroups") or [])
        strategy = args.get("scoringStrategy") or {}
        self.strategy = strategy.get("type") or "LeastAllocated"
        self.resources = weighted_resources(strategy.get("resources"))
        self.shape = (strategy.get("requestedToCapacityRatio") or {}).get("shape") or []

    def pre_filter(self, pod: Document) -> PreFilter:
        """Compute the request once; this plugin never skips."""
        return PreFilter(state=pod_resources.filter_requests(pod))

    def _is_ignored(self, resource: str) -> bool:
        return pod_resources.is_extended(resource) and (
            resource in self.ignored or resource.partition("/")[0] in self.ignored_groups
        )

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node; all reasons are reported.

        Removing pods cannot resolve a request above the allocatable amount.
        """
        request: dict[str, int] = state
        reasons: list[str] = []
        code = UNSCHEDULABLE
        allowed = node.allocatable("pods")
        if len(node.pods) + 1 > allowed:
            reasons.append("Too many pods")
        fixed = ["cpu", "memory", "ephemeral-storage"]
        scalars = sorted(name for name in request if pod_resources.is_scalar(name))
        for resource in fixed + scalars:
            needed = request.get(resource, 0)
            if needed <= 0 or self._is_ignored(resource):
                continue
            allocatable = node.allocatable(resource)
            if needed > allocatable - node.requested(resource):
                reasons.append(f"Insufficient {resource}")
                if needed > allocatable:
                    code = UNRESOLVABLE
        return Rejection(code, reasons) if reasons else None

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Compute the request for scoring once; it differs from the filter's."""
        return PreScore(state=pod_resources.fit_score_requests(pod))

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Score one node by the configured strategy."""
        request = state
        if request is None:
            request = pod_resources.fit_score_requests(pod)
        triples = []
        for resource, weight in self.resources:
            needed = request.get(resource, 0)
            capacity, used = allocation(node, resource, needed, use_requested=False)
            if capacity != 0:
                triples.append((used, capacity, weight))
        if self.strategy == "RequestedToCapacityRatio":
            return self._ratio_score(triples)
        rule = most_requested if self.strategy == "MostAllocated" else least_requested
        weights = sum(weight for *_, weight in triples)
        if weights == 0:
            return 0
        return trunc_div(
            sum(rule(used, capacity) * weight for used, capacity, weight in triples), weights
        )

    def _ratio_score(self, triples: list[tuple[int, int, int]]) -> int:
        total = weights = 0
        for used, capacity, weight in triples:
            full = used > capacity
            utilization = 100 if full else trunc_div(used * 100, capacity)
            score = broken_line(self.shape, utilization)
            # A resource with score 0 is omitted, with its weight.
            if score > 0:
                total += score * weight
                weights += weight
        return floor(total / weights + 0.5) if weights else 0


def allocation(node: Node, resource: str, needed: int, *, use_requested: bool) -> tuple[int, int]:
    """Return (capacity, used with the pod) of one resource; (0, 0) if it is ignored."""
    if needed == 0 and pod_resources.is_scalar(resource):
        return 0, 0
    if resource in {"cpu", "memory"}:
        used = node.requested(resource) if use_requested else node.non_zero_requested(resource)
        return node.allocatable(resource), used + needed
    if resource == "ephemeral-storage" or pod_resources.is_scalar(resource):
        return node.allocatable(resource), node.requested(resource) + needed
    return 0, 0
