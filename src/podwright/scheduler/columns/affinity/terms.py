"""Inter-pod affinity terms, compiled and interned.

Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go, `AffinityTerm`,
pkg/scheduler/framework/types.go, `getAffinityTerms`, `getNamespacesFromPodAffinityTerm`
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from podwright.apimachinery.objects import (
    Affinity,
    Pod,
    PodAffinityTerm,
    Selector,
    SelectorError,
    WeightedPodAffinityTerm,
    label_selector,
)
from podwright.scheduler.columns.affinity.matching import PodSelector


class TermKind(IntEnum):
    """The content of a term."""

    REQUIRED = 0
    REQUIRED_ANTI = 1
    PREFERRED = 2
    PREFERRED_ANTI = 3


class AffinityTerm(msgspec.Struct, frozen=True):
    """One compiled term of a pod.

    Parameters
    ----------
    kind : TermKind
    topology_key : str
    selector : Selector
        The pods to match; nothing if the term has no labelSelector.
    namespaces : frozenset of str
        The listed namespaces; the pod's own if the term has neither a list nor a selector.
    namespace_selector : Selector
        Further namespaces by their labels; nothing if the term has none.
    weight : int
        Of preferred terms.
    """

    kind: TermKind
    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Return whether the term matches a pod, given the labels of its namespace.

        This is how terms of placed pods are matched with an incoming pod: a namespace that does
        not exist has no labels, and may match.
        """
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)

    def resolve(self, labels_of: Mapping[str, Mapping[str, str]]) -> PodSelector:
        """Return the pods that the term matches, with the namespaces that exist now.

        This is how an incoming pod's own terms are matched with placed pods. Upstream adds the
        existing namespaces that match to the named ones, and then still compares with the selector,
        as if every namespace had no labels: a selector that matches no labels (`{}`,
        `DoesNotExist`, `NotIn`) matches all namespaces. Upstream:
        pkg/scheduler/framework/plugins/pkg/scheduler/framework/plugins/interpodaffinity/plugin.go,
        `mergeAffinityTermNamespacesIfNotEmpty`, which gets a copy of the term.
        """
        if self.namespace_selector.matches({}):
            return PodSelector(self.selector)
        namespaces = self.namespaces
        if not self.namespace_selector.is_nothing:
            namespaces |= {
                name
                for name, labels in labels_of.items()
                if self.namespace_selector.matches(labels)
            }
        return PodSelector(self.selector, namespaces)


class AffinityTerms(msgspec.Struct, frozen=True):
    """All compiled terms of a pod.

    Parameters
    ----------
    required, required_anti, preferred, preferred_anti : tuple of AffinityTerm
    errors : tuple of str
        What could not be compiled; the list with the mistake is empty.
    """

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[AffinityTerm, ...]:
        """All terms of the pod."""
        return (*self.required, *self.required_anti, *self.preferred, *self.preferred_anti)


NO_TERMS = AffinityTerms()

_MOST_COMPILED = 64
_compiled: dict[int, tuple[Affinity, str, AffinityTerms]] = {}
"""Of the affinities seen last, by their id(): a cycle asks four times for the terms of its pod."""


def affinity_terms(pod: Pod) -> AffinityTerms:
    """Compile the inter-pod affinity terms of a pod; versions of a pod share the result."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    known = _compiled.get(id(affinity))
    if known is not None and known[0] is affinity and known[1] == pod.metadata.namespace:
        return known[2]
    terms = _compile_terms(pod, affinity)
    if len(_compiled) >= _MOST_COMPILED:
        _compiled.clear()
    _compiled[id(affinity)] = affinity, pod.metadata.namespace, terms
    return terms


def _compile_terms(pod: Pod, affinity: Affinity) -> AffinityTerms:
    errors: list[str] = []
    lists: list[tuple[AffinityTerm, ...]] = [(), (), (), ()]
    for near, required_kind, preferred_kind in (
        (affinity.pod_affinity, TermKind.REQUIRED, TermKind.PREFERRED),
        (affinity.pod_anti_affinity, TermKind.REQUIRED_ANTI, TermKind.PREFERRED_ANTI),
    ):
        if near is None:
            continue
        for kind, terms in (
            (required_kind, near.required),
            (preferred_kind, near.preferred),
        ):
            try:
                lists[kind] = tuple(_compile(pod, kind, term) for term in terms)
            except SelectorError as error:
                errors.append(str(error))
    if not any(lists) and not errors:
        return NO_TERMS
    return AffinityTerms(lists[0], lists[1], lists[2], lists[3], tuple(errors))


def _compile(
    pod: Pod, kind: TermKind, term: PodAffinityTerm | WeightedPodAffinityTerm
) -> AffinityTerm:
    weight = 0
    if isinstance(term, WeightedPodAffinityTerm):
        weight, term = term.weight, term.pod_affinity_term
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((pod.metadata.namespace,))
    return AffinityTerm(
        kind=kind,
        topology_key=term.topology_key,
        selector=label_selector(term.label_selector),
        namespaces=namespaces,
        namespace_selector=label_selector(term.namespace_selector),
        weight=weight,
    )
