"""The terms of placed pods as columns, and which of them match a pod.

A term is filed under a label value that its selector requires (`matching.SelectorFile`). Few
candidates are compared one by one. Where labels come from a small set there are many: then each
distinct requirement is evaluated once for the pod's labels, and a term matches if all of its
requirements do.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from operator import attrgetter

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import Requirement, Selector
from podwright.scheduler.columns.affinity.counters import WeightedTerms
from podwright.scheduler.columns.affinity.matching import SelectorFile
from podwright.scheduler.columns.affinity.terms import AffinityTerm, TermKind
from podwright.scheduler.columns.interning import Interner

_FEW = 24
"""Up to so many candidates are compared one by one, which is faster than with arrays."""

_KINDS = tuple(TermKind)

_ALWAYS = 0
"""The number of a requirement that all pods meet; it fills rows of terms with few."""

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
            weight = self._weights[number] * factors.get(_KINDS[self._kinds[number]], 0)
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
        self._ids: dict[Requirement | None, int] = {None: _ALWAYS}
        # Per requirement, whether pods without the label meet it.
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
        number = self._ids[requirement] = len(self._ids)
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
