"""The label keys that any selector uses.

Pods that differ only in other labels, such as the index of a Job's or StatefulSet's pod, are
equal for every selector.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import (
    EVERYTHING,
    LabelSelector,
    Pod,
    Selector,
    SelectorError,
    parse_label_selector,
)
from podwright.scheduler.columns.affinity.terms import affinity_terms

_NONE: frozenset[str] = frozenset()


class SelectedLabels:
    """The label keys that selectors of workloads and affinity terms have ever used.

    Attributes
    ----------
    keys : set of str
        The set only grows. `version` changes when it does; removing keys would save little.
    version : int
        Grows with `keys`.
    """

    __slots__ = ("keys", "version")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.version = 0

    def add(self, keys: Iterable[str]) -> None:
        """Add the keys that a selector uses."""
        before = len(self.keys)
        self.keys.update(keys)
        self.version += len(self.keys) - before


def keys_of_selector(selector: Selector) -> Iterable[str]:
    """Return the label keys that a compiled selector uses."""
    return [requirement.key for requirement in selector.requirements]


def keys_of_label_selector(selector: LabelSelector | None) -> Iterable[str]:
    """Return the label keys that a LabelSelector uses, valid or not."""
    if selector is None:
        return ()
    return (*selector.match_labels, *[one.key for one in selector.match_expressions])


def own_label_keys(pod: Pod) -> frozenset[str]:
    """Return the label keys that the terms and constraints of a pod use.

    They may match the pod itself, before they are in any index.
    """
    spec = pod.spec
    terms = affinity_terms(pod).all
    kept = kept_selector(pod).requirements
    if not terms and not spec.topology_spread_constraints and not kept:
        return _NONE
    keys = {requirement.key for requirement in kept}
    for term in terms:
        keys.update(keys_of_selector(term.selector))
    for constraint in spec.topology_spread_constraints:
        keys.update(keys_of_label_selector(constraint.label_selector))
        keys.update(constraint.match_label_keys)
    return frozenset(keys)


# The selector that a copied pod keeps in an annotation, for its default spreading.

SPREAD_SELECTOR: Final = "podwright.dev/spread-selector"
"""The annotation of a copied pod with the selector that Services and its owner imply at its
source, where its copy has neither; as kubectl writes selectors."""


def kept_selector(pod: Pod) -> Selector:
    """Return the selector in the annotation; one that matches everything without a valid one."""
    text = pod.metadata.annotations.get(SPREAD_SELECTOR)
    if not text:
        return EVERYTHING
    try:
        return parse_label_selector(text)
    except SelectorError:
        return EVERYTHING
