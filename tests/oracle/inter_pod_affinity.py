"""InterPodAffinity: affinity and anti-affinity between pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go, scoring.go, plugin.go
(mergeAffinityTermNamespacesIfNotEmpty), pkg/scheduler/framework/types.go (AffinityTerm.Matches).
"""

from __future__ import annotations

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
from tests.oracle.selectors import LabelSelector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Pair = tuple[str, str]


class Term:
    """A pod affinity term, and its weight if it is preferred."""

    def __init__(self, document: Document, owner: Document, weight: int = 0) -> None:
        self.key: str = document["topologyKey"]
        self.weight = weight
        self.selector = LabelSelector(document.get("labelSelector"))
        self.namespaces = set(document.get("namespaces") or [])
        namespace_selector = document.get("namespaceSelector")
        if not self.namespaces and namespace_selector is None:
            self.namespaces = {namespace_of(owner)}
        self.namespace_selector = LabelSelector(namespace_selector)

    def matches(self, pod: Document, namespace_labels: dict[str, str]) -> bool:
        """Whether the term selects the pod."""
        in_namespace = namespace_of(pod) in self.namespaces or self.namespace_selector.matches(
            namespace_labels
        )
        return in_namespace and self.selector.matches(labels_of(pod))


def required_terms(pod: Document, kind: str) -> list[Term]:
    """Return the required terms under `podAffinity` or `podAntiAffinity`."""
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return [Term(one, pod) for one in affinity.get(_REQUIRED) or []]


def preferred_terms(pod: Document, kind: str) -> list[Term]:
    """Return the preferred terms under `podAffinity` or `podAntiAffinity`."""
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return [Term(o["podAffinityTerm"], pod, o["weight"]) for o in affinity.get(_PREFERRED) or []]


class Counts:
    """The PreFilter state: matches per (topology key, value); pairs at zero are absent."""

    def __init__(self, affinity: list[Term], anti_affinity: list[Term]) -> None:
        self.affinity_terms = affinity
        self.anti_affinity_terms = anti_affinity
        self.existing_anti_affinity: dict[Pair, int] = {}
        self.affinity: dict[Pair, int] = {}
        self.anti_affinity: dict[Pair, int] = {}

    def copy(self) -> Counts:
        """Return an independent copy."""
        twin = Counts(self.affinity_terms, self.anti_affinity_terms)
        twin.existing_anti_affinity = dict(self.existing_anti_affinity)
        twin.affinity = dict(self.affinity)
        twin.anti_affinity = dict(self.anti_affinity)
        return twin


def _bump(counts: dict[Pair, int], node: Node, key: str, delta: int) -> None:
    if key in node.labels:
        pair = (key, node.labels[key])
        counts[pair] = counts.get(pair, 0) + delta
        if counts[pair] == 0:
            del counts[pair]


class InterPodAffinity(Plugin):
    """Match pods by labels and namespaces within topology domains."""

    name = "InterPodAffinity"

    def __init__(self, cluster: Cluster, args: Document) -> None:
        super().__init__(cluster, args)
        weight = args.get("hardPodAffinityWeight")
        self.hard_weight: int = 1 if weight is None else weight
        self.ignores_existing = bool(args.get("ignorePreferredTermsOfExistingPods"))

    def _is_about(self, term: Term, other: Document) -> bool:
        return term.matches(other, self.cluster.namespace_labels(namespace_of(other)))

    def _matches_all(self, terms: list[Term], other: Document) -> bool:
        return bool(terms) and all(self._is_about(term, other) for term in terms)

    def _count(self, state: Counts, pod: Document, other: Document, node: Node, delta: int) -> None:
        for term in required_terms(other, "podAntiAffinity"):
            if self._is_about(term, pod):
                _bump(state.existing_anti_affinity, node, term.key, delta)
        # A pod counts for affinity only if it matches every term.
        if self._matches_all(state.affinity_terms, other):
            for term in state.affinity_terms:
                _bump(state.affinity, node, term.key, delta)
        for term in state.anti_affinity_terms:
            if self._is_about(term, other):
                _bump(state.anti_affinity, node, term.key, delta)

    def pre_filter(self, pod: Document) -> PreFilter:
        """Count the matches of required terms of the pod and of existing pods."""
        state = Counts(required_terms(pod, "podAffinity"), required_terms(pod, "podAntiAffinity"))
        for node in self.cluster.nodes.values():
            for other in node.pods:
                self._count(state, pod, other, node, 1)
        if not (state.existing_anti_affinity or state.affinity_terms or state.anti_affinity_terms):
            return SKIP_FILTER
        return PreFilter(state=state)

    def copy_state(self, state: Any) -> Any:
        """Copy the counts."""
        return state.copy()

    def add_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Add a pod to the counts."""
        self._count(state, pod, other, node, 1)

    def remove_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Remove a pod from the counts."""
        self._count(state, pod, other, node, -1)

    def _satisfies_affinity(self, state: Counts, pod: Document, node: Node) -> bool:
        is_near = True
        for term in state.affinity_terms:
            if term.key not in node.labels:
                return False
            if state.affinity.get((term.key, node.labels[term.key]), 0) <= 0:
                is_near = False
        # The first pod of a group with affinity to itself matches only itself.
        return is_near or (not state.affinity and self._matches_all(state.affinity_terms, pod))

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        if not self._satisfies_affinity(state, pod, node):
            return unresolvable("node(s) didn't match pod affinity rules")
        for term in state.anti_affinity_terms:
            if state.anti_affinity.get((term.key, node.labels.get(term.key, "")), 0) > 0:
                return unschedulable("node(s) didn't match pod anti-affinity rules")
        for pair in node.labels.items():
            if state.existing_anti_affinity.get(pair, 0) > 0:
                return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
        return None

    def _score_existing(
        self, topology: dict[str, dict[str, int]], pod: Document, other: Document, node: Node
    ) -> None:
        """Add the contribution of one existing pod (processExistingPod)."""

        def process(terms: list[Term], about: Document, sign: int, weight: int | None) -> None:
            for term in terms:
                if term.key in node.labels and self._is_about(term, about):
                    values = topology.setdefault(term.key, {})
                    value = node.labels[term.key]
                    amount = term.weight if weight is None else weight
                    values[value] = values.get(value, 0) + amount * sign

        process(preferred_terms(pod, "podAffinity"), other, 1, None)
        process(preferred_terms(pod, "podAntiAffinity"), other, -1, None)
        if self.hard_weight > 0:
            process(required_terms(other, "podAffinity"), pod, 1, self.hard_weight)
        process(preferred_terms(other, "podAffinity"), pod, 1, None)
        process(preferred_terms(other, "podAntiAffinity"), pod, -1, None)

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Sum weights per topology pair over all nodes.

        ignorePreferredTermsOfExistingPods only skips pods without preferred terms of their own; for
        other pods the terms of existing pods count.
        """
        has_own = bool(
            preferred_terms(pod, "podAffinity") + preferred_terms(pod, "podAntiAffinity")
        )
        if self.ignores_existing and not has_own:
            return SKIP_SCORE
        topology: dict[str, dict[str, int]] = {}
        for node in self.cluster.nodes.values():
            for other in node.pods:
                self._score_existing(topology, pod, other, node)
        return PreScore(state=topology) if topology else SKIP_SCORE

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Sum over the node's topology pairs."""
        return sum(
            values.get(node.labels[key], 0)
            for key, values in (state or {}).items()
            if key in node.labels
        )

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        """Scale to 0..100; equal sums score 0."""
        if not state:
            return scores
        least, greatest = min(scores.values()), max(scores.values())
        span = greatest - least
        return {
            name: int(MAX_NODE_SCORE * ((score - least) / span)) if span > 0 else 0
            for name, score in scores.items()
        }
