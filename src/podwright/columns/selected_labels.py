"""Which labels anything selects pods by.

Pods that differ only in other labels, such as the index that a Job or StatefulSet gives each
of its pods, are alike to every selector there is.
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.columns.terms import affinity_terms
from podwright.objects import LabelSelector, Pod, Selector

_NONE: frozenset[str] = frozenset()


class SelectedLabels:
    """The keys of labels that a workload, or an affinity term of some pod, has ever asked for.

    Attributes
    ----------
    keys : set of str
        It only grows: who looked at fewer keys is told by `version`, and forgotten keys would
        save little.
    version : int
        Grows with `keys`.
    """

    __slots__ = ("keys", "version")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.version = 0

    def add(self, keys: Iterable[str]) -> None:
        """Note that pods are told apart by labels with these keys."""
        before = len(self.keys)
        self.keys.update(keys)
        self.version += len(self.keys) - before


def keys_of_selector(selector: Selector) -> Iterable[str]:
    """Return the keys of labels that a compiled selector looks at."""
    return [requirement.key for requirement in selector.requirements]


def keys_of_label_selector(selector: LabelSelector | None) -> Iterable[str]:
    """Return the keys of labels that a selector of the API looks at, valid or not."""
    if selector is None:
        return ()
    return (*selector.match_labels, *[one.key for one in selector.match_expressions])


def own_label_keys(pod: Pod) -> frozenset[str]:
    """Return the keys of labels that the terms and constraints of a pod look at.

    They may mean the pod itself, before anybody else knows of them.
    """
    spec = pod.spec
    terms = affinity_terms(pod).all
    if not terms and not spec.topology_spread_constraints:
        return _NONE
    keys: set[str] = set()
    for term in terms:
        keys.update(keys_of_selector(term.selector))
    for constraint in spec.topology_spread_constraints:
        keys.update(keys_of_label_selector(constraint.label_selector))
        keys.update(constraint.match_label_keys)
    return frozenset(keys)
