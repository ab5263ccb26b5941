"""The terms of placed pods as columns, and which of them match a pod.

A term is filed under a label value that its selector requires (`matching.SelectorFile`). Few
candidates are compared one by one. Where labels come from a small set there are many: then each
distinct requirement is evaluated once for the pod's labels, and a term matches if all of its
requirements do.

Notes
-----
Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go, `AffinityTerm`,
pkg/scheduler/framework/types.go, `getAffinityTerms`, `getNamespacesFromPodAffinityTerm`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from enum import IntEnum
from operator import attrgetter
from typing import Final

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import (
    EVERYTHING,
    Affinity,
    LabelSelector,
    Pod,
    PodAffinityTerm,
    Requirement,
    Selector,
    SelectorError,
    WeightedPodAffinityTerm,
    label_selector,
    parse_label_selector,
)
from podwright.scheduler.columns.affinity.counters import WeightedTerms
from podwright.scheduler.columns.affinity.matching import PodSelector, SelectorFile
from podwright.scheduler.columns.nodes import Interner

# Inter-pod affinity terms, compiled and interned.


class TermKind(IntEnum):
    """The content of a term."""

    REQUIRED = 0
    REQUIRED_ANTI = 1
    PREFERRED = 2
    PREFERRED_ANTI = 3


class AffinityTerm(msgspec.Struct, frozen=True, kw_only=True):
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


_FEW = 24
"""Up to so many candidates are compared one by one, which is faster than with arrays."""

_KINDS = tuple(TermKind)

_scope_of = attrgetter("namespaces", "namespace_selector")


class TermIndex:
    """All interned terms.

    Attributes
    ----------
    terms : Interner of AffinityTerm
        The terms, by number.
    carrier_counts : array of int32
        Per term, how many of the carriers are on a node that has the topology label.
    """

    def __init__(self) -> None:
        self.terms: Interner[AffinityTerm] = Interner()
        self.carrier_counts = array("i")
        self._kinds = array("b")
        self._weights = array("q")
        self._topologies = array("i")
        self._topology_keys: Interner[str] = Interner()
        self._scopes: Interner[tuple[frozenset[str], Selector]] = Interner()
        self._scope_ids = array("i")
        self._requirements = Requirements()
        self._required: I32Array = np.zeros((16, 1), dtype=np.int32)
        self._files: dict[TermKind, SelectorFile[int]] = {}

    def id_of(self, spec: AffinityTerm) -> int:
        """Return the number of a term, adding it if it is new."""
        number = self.terms.id_of(spec)
        if number == len(self._kinds):
            self._add(number, spec)
        return number

    def _add(self, number: int, spec: AffinityTerm) -> None:
        self.carrier_counts.append(0)
        self._kinds.append(spec.kind)
        is_preferred = spec.kind in (TermKind.PREFERRED, TermKind.PREFERRED_ANTI)
        self._weights.append(spec.weight if is_preferred else 1)
        self._topologies.append(self._topology_keys.id_of(spec.topology_key))
        self._scope_ids.append(self._scopes.id_of(_scope_of(spec)))
        numbers = [self._requirements.id_of(one) for one in spec.selector.requirements]
        rows, width = self._required.shape
        if number >= rows or len(numbers) > width:
            wider: I32Array = np.zeros(
                (max(rows, 2 * number), max(width, len(numbers))), dtype=np.int32
            )
            wider[:rows, :width] = self._required
            self._required = wider
        self._required[number, : len(numbers)] = numbers
        # A namespace selector may match any namespace, also one that is created later.
        namespaces = spec.namespaces if spec.namespace_selector.is_nothing else None
        # Cycles read one kind to filter and the others to score.
        file = self._files.setdefault(spec.kind, SelectorFile())
        file.add(number, spec.selector, namespaces)

    def matching(
        self,
        factors: Mapping[TermKind, int],
        namespace: str,
        labels: Mapping[str, str],
        namespace_labels: Mapping[str, str],
    ) -> dict[str, WeightedTerms]:
        """Return the terms of placed pods that match a pod, by topology key.

        Only terms of which a carrier is on a node with the topology label are returned.

        Parameters
        ----------
        factors : dict of TermKind to int
            What a carrier adds: this times the weight of a preferred term. Terms with other kinds,
            or that add nothing, are left out.
        """
        candidates: list[int] = []
        for kind, file in self._files.items():
            if factors.get(kind):
                candidates += file.candidates(namespace, labels)
        if not candidates:
            return {}
        if len(candidates) <= _FEW:
            counts, terms = self.carrier_counts, self.terms.values
            found = [
                number
                for number in candidates
                if counts[number] > 0 and terms[number].matches(namespace, labels, namespace_labels)
            ]
            return self._few_by_topology(sorted(found), factors)
        ids: I32Array = np.sort(np.array(candidates, dtype=np.int32))
        ids = ids[_view(self.carrier_counts, np.int32)[ids] > 0]
        ids = ids[self._are_met(ids, labels)]
        return self._by_topology(self._in_scope(ids, namespace, namespace_labels), factors)

    def _are_met(self, ids: I32Array, labels: Mapping[str, str]) -> Mask:
        """Return which terms' requirements labels meet: (k,) bool."""
        met, required = self._requirements.met(labels), self._required[ids]
        # A reduction over an axis this short takes several times as long.
        are_met: Mask = met[required[:, 0]]
        for column in range(1, required.shape[1]):
            are_met &= met[required[:, column]]
        return are_met

    def _in_scope(
        self, ids: I32Array, namespace: str, namespace_labels: Mapping[str, str]
    ) -> I32Array:
        """Return the terms that match the namespace."""
        scopes = _view(self._scope_ids, np.int32)[ids]
        outside = []
        for scope in set(scopes.tolist()):
            namespaces, selector = self._scopes.values[scope]
            if namespace not in namespaces and not selector.matches(namespace_labels):
                outside.append(scope)
        # Terms are filed by namespace, so there are seldom others.
        if not outside:
            return ids
        is_out: Mask = np.zeros(len(self._scopes), dtype=np.bool_)
        is_out[outside] = True
        inside: I32Array = ids[~is_out[scopes]]
        return inside

    def _few_by_topology(
        self, ids: list[int], factors: Mapping[TermKind, int]
    ) -> dict[str, WeightedTerms]:
        of_topology: dict[int, tuple[list[int], list[int]]] = {}
        for number in ids:
            weight = self._weights[number] * factors[_KINDS[self._kinds[number]]]
            if weight:
                numbers, weights = of_topology.setdefault(self._topologies[number], ([], []))
                numbers.append(number)
                weights.append(weight)
        return {
            self._topology_keys.values[topology]: WeightedTerms(
                np.array(numbers, dtype=np.int32), np.array(weights, dtype=np.int64)
            )
            for topology, (numbers, weights) in of_topology.items()
        }

    def _by_topology(
        self, ids: I32Array, factors: Mapping[TermKind, int]
    ) -> dict[str, WeightedTerms]:
        factor_of: I64Array = np.array([factors.get(kind, 0) for kind in _KINDS])
        weights = _view(self._weights, np.int64)[ids]
        weights = weights * factor_of[_view(self._kinds, np.int8)[ids]]
        if not weights.all():
            ids, weights = ids[weights != 0], weights[weights != 0]
        topologies = _view(self._topologies, np.int32)[ids]
        found: dict[str, WeightedTerms] = {}
        for topology in dict.fromkeys(topologies.tolist()):
            is_of = topologies == topology
            of_topology = WeightedTerms(ids[is_of], weights[is_of])
            found[self._topology_keys.values[topology]] = of_topology
        return found


class Requirements:
    """Distinct requirements on labels, by the values that change whether they are met."""

    def __init__(self) -> None:
        self._ids: dict[Requirement, int] = {}
        # Per requirement, whether pods without the label meet it. All pods meet the one with the
        # number 0, which fills rows of terms with few.
        self._without = bytearray((True,))
        # By label key, the requirements that the presence of a value turns round: In and NotIn by
        # value, the others under None if any value does. Gt and Lt are compared each time.
        self._turned: dict[str, dict[str | None, array[int]]] = {}
        self._comparisons: dict[str, dict[Requirement, int]] = {}

    def id_of(self, requirement: Requirement) -> int:
        """Return the number of a requirement, adding it if it is new."""
        number = self._ids.get(requirement)
        if number is not None:
            return number
        number = self._ids[requirement] = len(self._without)
        operator = requirement.operator
        self._without.append(operator in ("NotIn", "DoesNotExist"))
        values: Iterable[str | None]
        match operator:
            case "In" | "NotIn":
                values = dict.fromkeys(requirement.values)
            case "Exists" | "DoesNotExist":
                values = (None,)
            case "Gt" | "Lt":
                self._comparisons.setdefault(requirement.key, {})[requirement] = number
                return number
        turned = self._turned.setdefault(requirement.key, {})
        for value in values:
            turned.setdefault(value, array("i")).append(number)
        return number

    def met(self, labels: Mapping[str, str]) -> Mask:
        """Return which requirements labels meet: (n_requirements,) bool."""
        # A profiler that samples stacks keeps the locals of calls that are over for a while, and an
        # array of which there is a view cannot grow: locals are copies.
        without: Mask = np.frombuffer(self._without, dtype=np.bool_).copy()
        met: Mask = without.copy()
        for key, value in labels.items():
            turned = self._turned.get(key)
            if turned is not None:
                for numbers in (turned.get(value), turned.get(None)):
                    if numbers is not None:
                        ids = np.frombuffer(numbers, dtype=np.int32).copy()
                        met[ids] = ~without[ids]
            for requirement, number in self._comparisons.get(key, {}).items():
                met[number] = requirement.matches(labels)
        return met


def _view(numbers: array[int], dtype: type) -> np.ndarray:
    return np.frombuffer(numbers, dtype=dtype)


# The label keys that any selector uses.
#
# Pods that differ only in other labels, such as the index of a Job's or StatefulSet's pod, are
# equal for every selector.

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
