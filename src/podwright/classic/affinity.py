"""Terms of pod affinity: which pods they are about.

Upstream: pkg/scheduler/algorithm/priorities/util/topologies.go
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.objects import (
    NOTHING,
    Pod,
    PodAffinityTerm,
    Selector,
    SelectorError,
    WeightedPodAffinityTerm,
    label_selector,
)

__all__ = [
    "Term",
    "compile_term",
    "compile_terms",
    "preferred_affinity",
    "preferred_anti",
    "required_affinity",
    "required_anti",
]


class Term(msgspec.Struct, frozen=True):
    """A compiled term.

    Attributes
    ----------
    namespaces : tuple of str
        Of the pods it is about.
    selector : Selector
        Their labels.
    topology_key : str
        What "near" means.
    """

    namespaces: tuple[str, ...]
    selector: Selector
    topology_key: str

    def matches(self, pod: Pod) -> bool:
        """Whether the term is about the pod."""
        metadata = pod.metadata
        return metadata.namespace in self.namespaces and self.selector.matches(metadata.labels)


def compile_term(owner: Pod, term: PodAffinityTerm) -> Term:
    """Compile a term of the owner; no namespaces means the owner's, there is no selector of them.

    Notes
    -----
    No label selector matches nothing, an empty one everything; an invalid one, which the API
    server refuses, nothing.
    """
    try:
        selector = label_selector(term.label_selector)
    except SelectorError:
        selector = NOTHING
    return Term(term.namespaces or (owner.metadata.namespace,), selector, term.topology_key)


def compile_terms(owner: Pod, terms: Sequence[PodAffinityTerm]) -> tuple[Term, ...]:
    """Compile terms of the owner."""
    return tuple(compile_term(owner, term) for term in terms)


def required_affinity(pod: Pod) -> Sequence[PodAffinityTerm]:
    """Return the terms of pods that the pod must be near."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_affinity is None:
        return ()
    return affinity.pod_affinity.required_during_scheduling_ignored_during_execution


def required_anti(pod: Pod) -> Sequence[PodAffinityTerm]:
    """Return the terms of pods that the pod must not be near."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution


def preferred_affinity(pod: Pod) -> Sequence[WeightedPodAffinityTerm]:
    """Return the terms of pods that the pod would like to be near."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_affinity is None:
        return ()
    return affinity.pod_affinity.preferred_during_scheduling_ignored_during_execution


def preferred_anti(pod: Pod) -> Sequence[WeightedPodAffinityTerm]:
    """Return the terms of pods that the pod would like to keep away from."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution
