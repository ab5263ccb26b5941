"""The interface of predicates.

Notes
-----
Upstream: pkg/scheduler/algorithm/predicates/metadata.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from podwright.apimachinery.objects import Labels, NodeTerms, Pod, labels_as_selector, node_selector
from podwright.scheduler.classic.affinity import Term, compile_terms
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.failure import Failures
from podwright.scheduler.classic.node_info import HostPort, NodeInfo, host_ports, requested_by

# The metadata of a pod for predicates, computed once before nodes are visited.
#
# For pod affinity, a *pair* is a topology label with its value: a domain. Three tables hold the
# pairs that have relevant pods, so the evaluation of a node is a lookup of its labels:
#
# - `repelled`: pairs that the required anti-affinity of an existing pod forbids;
# - `attracting`: pairs with a pod that matches *all* of this pod's required affinity terms;
# - `repelling`: pairs with a pod that this pod's required anti-affinity selects.
#
# Preemption and the check of nominated pods copy the metadata and add or remove pods.

Pair = tuple[str, str]
"""A topology key and its value."""


class PairTable:
    """Pods by pair, and pairs by pod."""

    def __init__(self) -> None:
        self._pods_of: dict[Pair, set[str]] = {}
        self._pairs_of: dict[str, set[Pair]] = {}

    def __bool__(self) -> bool:
        return bool(self._pods_of)

    def __contains__(self, pair: Pair) -> bool:
        return pair in self._pods_of

    def add(self, pair: Pair, pod_key: str) -> None:
        """Add the pod to the pair."""
        self._pods_of.setdefault(pair, set()).add(pod_key)
        self._pairs_of.setdefault(pod_key, set()).add(pair)

    def remove_pod(self, pod_key: str) -> None:
        """Remove the pod."""
        for pair in self._pairs_of.pop(pod_key, ()):
            pods = self._pods_of[pair]
            pods.discard(pod_key)
            if not pods:
                del self._pods_of[pair]

    def holds_any(self, labels: Labels) -> bool:
        """Whether a node with these labels is in a pair of the table."""
        return any(pair in self._pods_of for pair in labels.items())

    def copy(self) -> PairTable:
        """Return an independent copy."""
        copy = PairTable()
        copy._pods_of = {pair: set(pods) for pair, pods in self._pods_of.items()}
        copy._pairs_of = {pod: set(pairs) for pod, pairs in self._pairs_of.items()}
        return copy


class PredicateMetadata:
    """The metadata of one pod.

    Parameters
    ----------
    pod : Pod
        The pod to schedule.
    cluster : ClassicCluster
        The cluster state.
    ignored_resources : frozenset of str
        Extended resources that only an extender accounts for.
    """

    def __init__(
        self,
        pod: Pod,
        cluster: ClassicCluster,
        ignored_resources: frozenset[str] = frozenset(),
    ) -> None:
        self.pod = pod
        self.cluster = cluster
        self.ignored_resources = ignored_resources
        self.request = requested_by(pod)
        self.ports: list[HostPort] = list(host_ports(pod))
        self.node_selector = labels_as_selector(pod.spec.node_selector)
        self.node_terms: NodeTerms | None = _required_node_terms(pod)
        spec = pod.spec
        self.affinity_terms: tuple[Term, ...] = compile_terms(pod, spec.pod_affinity.required)
        self.anti_affinity_terms: tuple[Term, ...] = compile_terms(
            pod, pod.spec.pod_anti_affinity.required
        )
        self.repelled = PairTable()
        self.attracting = PairTable()
        self.repelling = PairTable()
        for info in cluster.nodes_with_affinity():
            if info.node is not None:
                for existing in info.pods_with_affinity.values():
                    self._add_repelled(existing, info.labels)
        if self.affinity_terms or self.anti_affinity_terms:
            for info in cluster.nodes():
                self._add_own(info.pods.values(), info.labels)

    @property
    def starts_series(self) -> bool:
        """Whether only the pod itself matches its affinity.

        Such a pod may be placed on any node. Otherwise the first pod of a group with
        affinity to itself could never be placed.
        """
        return not self.attracting and all(term.matches(self.pod) for term in self.affinity_terms)

    def add_pod(self, pod: Pod, node: NodeInfo) -> None:
        """Add a pod to the node for a dry run.

        Notes
        -----
        A nominated pod has no `spec.nodeName`, and is counted only for its own anti-affinity.
        """
        self._add_repelled(pod, node.labels)
        if not pod.spec.node_name:
            return
        if all(term.matches(pod) for term in self.affinity_terms):
            _add_pairs(self.attracting, self.affinity_terms, pod, node.labels)
        # Upstream adds the pairs of all terms here, including those that do not match, unlike for
        # the existing pods.
        if any(term.matches(pod) for term in self.anti_affinity_terms):
            _add_pairs(self.repelling, self.anti_affinity_terms, pod, node.labels)

    def remove_pod(self, pod: Pod) -> None:
        """Remove a pod for a dry run."""
        key = pod.key
        self.repelled.remove_pod(key)
        self.attracting.remove_pod(key)
        self.repelling.remove_pod(key)

    def copy(self) -> PredicateMetadata:
        """Return an independent copy."""
        copy = PredicateMetadata.__new__(PredicateMetadata)
        copy.__dict__.update(self.__dict__)
        copy.repelled = self.repelled.copy()
        copy.attracting = self.attracting.copy()
        copy.repelling = self.repelling.copy()
        return copy

    def _add_repelled(self, existing: Pod, labels: Labels) -> None:
        for term in compile_terms(existing, existing.spec.pod_anti_affinity.required):
            value = labels.get(term.topology_key)
            if value is not None and term.matches(self.pod):
                self.repelled.add((term.topology_key, value), existing.key)

    def _add_own(self, pods: Iterable[Pod], labels: Labels) -> None:
        affinity, anti = self.affinity_terms, self.anti_affinity_terms
        for existing in pods:
            if affinity and all(term.matches(existing) for term in affinity):
                _add_pairs(self.attracting, affinity, existing, labels)
            matching = [term for term in anti if term.matches(existing)]
            _add_pairs(self.repelling, matching, existing, labels)


def _add_pairs(table: PairTable, terms: Iterable[Term], pod: Pod, labels: Labels) -> None:
    for term in terms:
        value = labels.get(term.topology_key)
        if value is not None:
            table.add((term.topology_key, value), pod.key)


def _required_node_terms(pod: Pod) -> NodeTerms | None:
    required = pod.spec.node_affinity.required
    return None if required is None else node_selector(required)


Check: TypeAlias = Callable[[PredicateMetadata, NodeInfo], Failures]
"""Evaluates one node; returns `FITS` if it passes."""


class Predicate(NamedTuple):
    """A rule that a node must satisfy.

    Attributes
    ----------
    name : str
        The name in policies.
    concerns : callable
        Whether the rule can reject any node for this pod; called once per pod, to avoid calls per
        node that have no effect.
    check : Check
        The rule.
    """

    name: str
    concerns: Callable[[PredicateMetadata], bool]
    check: Check


def always(_meta: PredicateMetadata) -> bool:  # the shape of `concerns`
    """Apply the rule to every pod."""
    return True
