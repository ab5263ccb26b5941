"""PodTopologySpread: an even number of matching pods over topology domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go, filtering.go, scoring.go,
plugin.go (system defaults) and pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector).
"""

from __future__ import annotations

from math import floor, log
from typing import Any

from tests.oracle.cluster import Cluster, Node, labels_of, namespace_of
from tests.oracle.plugin import (
    MAX_NODE_SCORE,
    SKIP_FILTER,
    SKIP_SCORE,
    Document,
    Plugin,
    PreFilter,
    PreScore,
    Rejection,
    unresolvable,
    unschedulable,
)
from tests.oracle.selectors import (
    DO_NOT_SCHEDULE,
    LabelSelector,
    has_untolerated_taint,
    matches_required_affinity,
)

_HOSTNAME = "kubernetes.io/hostname"
_SYSTEM_DEFAULTS = [
    {"topologyKey": _HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
    {
        "topologyKey": "topology.kubernetes.io/zone",
        "maxSkew": 5,
        "whenUnsatisfiable": "ScheduleAnyway",
    },
]
_REASON = "node(s) didn't match pod topology spread constraints"
_MAX_INT32 = 2**31 - 1


class Constraint:
    """A topology spread constraint with its defaults."""

    def __init__(self, document: Document, selector: LabelSelector) -> None:
        self.key: str = document["topologyKey"]
        self.max_skew: int = document["maxSkew"]
        self.min_domains: int = document.get("minDomains") or 1
        self.selector = selector
        self.honors_affinity = (document.get("nodeAffinityPolicy") or "Honor") == "Honor"
        self.honors_taints = (document.get("nodeTaintsPolicy") or "Ignore") == "Honor"

    def includes(self, pod: Document, node: Node) -> bool:
        """Whether pods of the node are counted (matchNodeInclusionPolicies)."""
        if self.honors_affinity and not matches_required_affinity(pod, node.document):
            return False
        tolerations = pod["spec"].get("tolerations") or []
        return not (
            self.honors_taints and has_untolerated_taint(node.taints, tolerations, DO_NOT_SCHEDULE)
        )

    def count(self, pod: Document, node: Node) -> int:
        """Count matching pods on the node; an empty selector matches none."""
        if self.selector.is_empty:
            return 0
        return sum(
            other["metadata"].get("deletionTimestamp") is None
            and namespace_of(other) == namespace_of(pod)
            and self.selector.matches(labels_of(other))
            for other in node.pods
        )


class TwoLowest:
    """The two domains with the fewest pods, as upstream tracks them.

    Only the first is certain: when its count exceeds that of a third domain, upstream does not
    notice (criticalPaths.update).
    """

    def __init__(self) -> None:
        self.paths: list[tuple[str, int]] = [("", _MAX_INT32), ("", _MAX_INT32)]

    def copy(self) -> TwoLowest:
        """Return an independent copy."""
        twin = TwoLowest()
        twin.paths = list(self.paths)
        return twin

    def update(self, domain: str, count: int) -> None:
        """Record the new count of a domain."""
        first, second = self.paths
        if domain == first[0]:
            first = (domain, count)
        elif domain == second[0]:
            second = (domain, count)
        elif count < first[1]:
            self.paths = [(domain, count), first]
            return
        elif count < second[1]:
            self.paths = [first, (domain, count)]
            return
        self.paths = [second, first] if first[1] > second[1] else [first, second]


class Counts:
    """The PreFilter state: matching pods per domain, for every constraint."""

    def __init__(self, constraints: list[Constraint]) -> None:
        self.constraints = constraints
        self.by_domain: list[dict[str, int]] = [{} for _ in constraints]
        self.lowest = [TwoLowest() for _ in constraints]

    def copy(self) -> Counts:
        """Return an independent copy."""
        twin = Counts(self.constraints)
        twin.by_domain = [dict(counts) for counts in self.by_domain]
        twin.lowest = [lowest.copy() for lowest in self.lowest]
        return twin


class Spreading:
    """The PreScore state."""

    def __init__(self, constraints: list[Constraint]) -> None:
        self.constraints = constraints
        self.ignored: set[str] = set()
        self.by_domain: list[dict[str, int]] = [{} for _ in constraints]
        self.weights: list[float] = []


def _has_all_keys(node: Node, constraints: list[Constraint]) -> bool:
    return all(constraint.key in node.labels for constraint in constraints)


class PodTopologySpread(Plugin):
    """Filter by hard constraints, and score by soft ones."""

    name = "PodTopologySpread"

    def __init__(self, cluster: Cluster, args: Document) -> None:
        super().__init__(cluster, args)
        self.is_system_default = (args.get("defaultingType") or "System") == "System"
        self.defaults: list[Document] = (
            _SYSTEM_DEFAULTS if self.is_system_default else args.get("defaultConstraints") or []
        )

    def _default_selector(self, pod: Document) -> LabelSelector:
        """Merge the selectors of the services and the owner that select the pod."""
        namespace, labels = namespace_of(pod), labels_of(pod)
        merged: dict[str, str] = {}
        for service in self.cluster.all_of("Service"):
            requested = (service.get("spec") or {}).get("selector")
            if (
                requested is not None
                and namespace_of(service) == namespace
                and all(labels.get(key) == text for key, text in requested.items())
            ):
                merged.update(requested)
        requirements: list[Document] = []
        for owner in pod["metadata"].get("ownerReferences") or []:
            if not owner.get("controller"):
                continue
            found = self.cluster.get(owner["kind"], owner["name"], namespace)
            if found is None:
                continue
            selector = found["spec"].get("selector")
            if owner["kind"] == "ReplicationController":
                merged.update(selector or {})
            elif owner["kind"] in {"ReplicaSet", "StatefulSet"}:
                requirements += LabelSelector(selector).requirements
        return LabelSelector({"matchLabels": merged, "matchExpressions": requirements})

    def _constraints(self, pod: Document, action: str) -> list[Constraint]:
        own = pod["spec"].get("topologySpreadConstraints") or []
        if own:
            return [
                Constraint(one, LabelSelector(one.get("labelSelector")))
                for one in own
                if one["whenUnsatisfiable"] == action
            ]
        defaults = [one for one in self.defaults if one["whenUnsatisfiable"] == action]
        selector = self._default_selector(pod) if defaults else LabelSelector({})
        return [] if selector.is_empty else [Constraint(one, selector) for one in defaults]

    def pre_filter(self, pod: Document) -> PreFilter:
        """Count the matching pods per domain."""
        constraints = self._constraints(pod, "DoNotSchedule")
        if not constraints:
            return SKIP_FILTER
        state = Counts(constraints)
        for node in self.cluster.nodes.values():
            if not _has_all_keys(node, constraints):
                continue
            for index, constraint in enumerate(constraints):
                if constraint.includes(pod, node):
                    domain = node.labels[constraint.key]
                    counts = state.by_domain[index]
                    counts[domain] = counts.get(domain, 0) + constraint.count(pod, node)
        for counts, lowest in zip(state.by_domain, state.lowest, strict=True):
            for domain, count in counts.items():
                lowest.update(domain, count)
        return PreFilter(state=state)

    def copy_state(self, state: Any) -> Any:
        """Copy the counts."""
        return state.copy()

    def _change(self, state: Any, pod: Document, other: Document, node: Node, delta: int) -> None:
        """Update the counts by a pod; unlike the first count, this includes terminating pods."""
        if namespace_of(other) != namespace_of(pod):
            return
        if not _has_all_keys(node, state.constraints):
            return
        for index, constraint in enumerate(state.constraints):
            if constraint.selector.matches(labels_of(other)) and constraint.includes(pod, node):
                domain = node.labels[constraint.key]
                counts = state.by_domain[index]
                counts[domain] = counts.get(domain, 0) + delta
                state.lowest[index].update(domain, counts[domain])

    def add_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Add a pod to the counts."""
        self._change(state, pod, other, node, 1)

    def remove_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Remove a pod from the counts."""
        self._change(state, pod, other, node, -1)

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node, constraint by constraint."""
        for index, constraint in enumerate(state.constraints):
            domain = node.labels.get(constraint.key)
            if domain is None:
                return unresolvable(f"{_REASON} (missing required label)")
            counts = state.by_domain[index]
            least = state.lowest[index].paths[0][1]
            if len(counts) < constraint.min_domains:
                least = 0
            own = int(constraint.selector.matches(labels_of(pod)))
            if counts.get(domain, 0) + own - least > constraint.max_skew:
                return unschedulable(_REASON)
        return None

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Count pods in the domains of the feasible nodes (initPreScoreState, PreScore)."""
        constraints = self._constraints(pod, "ScheduleAnyway")
        if not constraints:
            return SKIP_SCORE
        # With system defaults, nodes without a zone form one more domain, "".
        has_own = bool(pod["spec"].get("topologySpreadConstraints"))
        needs_all_keys = has_own or not self.is_system_default
        found = Spreading(constraints)
        for node in feasible:
            if needs_all_keys and not _has_all_keys(node, constraints):
                found.ignored.add(node.name)
                continue
            for index, constraint in enumerate(constraints):
                if constraint.key != _HOSTNAME:
                    found.by_domain[index].setdefault(node.labels.get(constraint.key, ""), 0)
        for index, constraint in enumerate(constraints):
            domains = len(found.by_domain[index])
            if constraint.key == _HOSTNAME:
                domains = len(feasible) - len(found.ignored)
            found.weights.append(log(domains + 2))
        for node in self.cluster.nodes.values():
            if needs_all_keys and not _has_all_keys(node, constraints):
                continue
            for index, constraint in enumerate(constraints):
                domain = node.labels.get(constraint.key, "")
                if domain in found.by_domain[index] and constraint.includes(pod, node):
                    found.by_domain[index][domain] += constraint.count(pod, node)
        return PreScore(state=found)

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Sum the weighted counts of the node's domains."""
        if state is None or node.name in state.ignored:
            return 0
        total = 0.0
        for index, constraint in enumerate(state.constraints):
            domain = node.labels.get(constraint.key)
            if domain is None:
                continue
            if constraint.key == _HOSTNAME:
                count = constraint.count(pod, node)
            else:
                count = state.by_domain[index][domain]
            total += count * state.weights[index] + (constraint.max_skew - 1)
        return floor(total + 0.5)

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        """Fewer pods score higher; ignored nodes score 0."""
        counted = {n: s for n, s in scores.items() if state is None or n not in state.ignored}
        greatest = max(counted.values(), default=0)
        least = min(counted.values(), default=0)
        result = dict.fromkeys(scores, 0)
        for name, score in counted.items():
            result[name] = (
                MAX_NODE_SCORE * (greatest + least - score) // greatest
                if greatest
                else MAX_NODE_SCORE
            )
        return result
