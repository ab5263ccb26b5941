"""Compiled terms of pod affinity and anti-affinity.

Upstream: pkg/scheduler/algorithm/priorities/util/topologies.go
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.apimachinery.objects import (
    NOTHING,
    Pod,
    PodAffinityTerm,
    Selector,
    SelectorError,
    label_selector,
)


class Term(msgspec.Struct, frozen=True):
    """A compiled term.

    Attributes
    ----------
    namespaces : tuple of str
        The namespaces of the pods that the term selects.
    selector : Selector
        The labels of these pods.
    topology_key : str
        The node label that defines the topology domains.
    """

    namespaces: tuple[str, ...]
    selector: Selector
    topology_key: str

    def matches(self, pod: Pod) -> bool:
        """Whether the term selects the pod."""
        metadata = pod.metadata
        return metadata.namespace in self.namespaces and self.selector.matches(metadata.labels)


def compile_term(owner: Pod, term: PodAffinityTerm) -> Term:
    """Compile a term of a pod; a term without namespaces applies to the namespace of that pod.

    Notes
    -----
    An absent label selector matches nothing and an empty one everything. An invalid selector, which
    the API server rejects, matches nothing.
    """
    try:
        selector = label_selector(term.label_selector)
    except SelectorError:
        selector = NOTHING
    return Term(term.namespaces or (owner.metadata.namespace,), selector, term.topology_key)


def compile_terms(owner: Pod, terms: Sequence[PodAffinityTerm]) -> tuple[Term, ...]:
    """Compile terms of the owner."""
    return tuple(compile_term(owner, term) for term in terms)
