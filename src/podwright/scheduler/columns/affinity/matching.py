"""Matching selectors and pods without comparing all pairs.

Pods are placed by label class (namespace and labels), and `LabelClasses` lists the classes that
have a value, for each label key that a selector used: a new selector intersects a few of these
lists. In the other direction a `SelectorFile` files items with a selector under a value that the
selector requires, so that a new pod finds those that may match it by its labels.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from sys import maxsize
from typing import Generic, TypeAlias, TypeVar

import msgspec
import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import Requirement, Selector

T = TypeVar("T")

_Place: TypeAlias = tuple[str | None, str | None]
"""A namespace and the value of a label; None: any."""

_MOST_NAMESPACES = 16
"""A selector of more namespaces is filed under none and so meets those of all."""

_FEW = 12
"""Up to so many classes are compared one by one, which is faster than with arrays."""


class PodSelector(msgspec.Struct, frozen=True):
    """Pods of some namespaces with some labels.

    Parameters
    ----------
    selector : Selector
    namespaces : frozenset of str, optional
        None: all namespaces.
    """

    selector: Selector
    namespaces: frozenset[str] | None = None

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the selector matches a pod."""
        namespaces = self.namespaces
        return (namespaces is None or namespace in namespaces) and self.selector.matches(labels)


class LabelClasses:
    """The distinct namespaces and labels of pods, numbered, with lists of those that have a value.

    A list is made when a selector uses its key for the first time, and grows from then on.

    Attributes
    ----------
    count : int
        How many classes there are.
    """

    __slots__ = ("_by_label", "_by_namespace", "_numbers", "_values", "count")

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[tuple[str, frozenset[tuple[str, str]]], int] = {}
        self._values: list[tuple[str, Mapping[str, str]]] = []
        self._by_namespace: dict[str, array[int]] = {}
        self._by_label: dict[str, dict[str, array[int]]] = {}

    def find(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the number of a class, giving it one if it is new."""
        key = (namespace, frozenset(labels.items()))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.count
            self.count += 1
            self._values.append((namespace, labels))
            self._by_namespace.setdefault(namespace, array("i")).append(number)
            by_label = self._by_label
            for label, value in labels.items():
                if label in by_label:
                    by_label[label].setdefault(value, array("i")).append(number)
        return number

    def value(self, number: int) -> tuple[str, Mapping[str, str]]:
        """Return the namespace and the labels of a class."""
        return self._values[number]

    def matching(self, parts: tuple[PodSelector, ...], first: int = 0) -> I32Array:
        """Return the classes from number `first` on that all selectors match: int32, ascending."""
        count = self.count
        if any(part.selector.is_nothing for part in parts):
            return np.zeros(0, dtype=np.int32)
        if count - first <= _FEW:
            return self._compared(range(first, count), parts)
        least = count - first
        chosen: list[array[int]] = []
        for lists in self._required(parts):
            total = sum(map(len, lists))
            if total < least:
                least, chosen = total, lists
        if least <= _FEW:
            numbers = sorted({number for numbers in chosen for number in numbers})
            return self._compared([n for n in numbers if n >= first], parts)
        mask: Mask = np.ones(count, dtype=np.bool_)
        mask[:first] = False
        for part in parts:
            if part.namespaces is not None:
                self._keep(mask, self._of_namespaces(part.namespaces))
            for requirement in part.selector.requirements:
                self._require(mask, requirement)
        return np.flatnonzero(mask).astype(np.int32)

    def _compared(self, numbers: Iterable[int], parts: tuple[PodSelector, ...]) -> I32Array:
        values = self._values
        found = [n for n in numbers if all(part.matches(*values[n]) for part in parts)]
        return np.array(found, dtype=np.int32)

    def _required(self, parts: tuple[PodSelector, ...]) -> Iterator[list[array[int]]]:
        """Yield lists of classes; every class that matches is in each of the yielded groups."""
        for part in parts:
            if part.namespaces is not None:
                yield self._of_namespaces(part.namespaces)
            for requirement in part.selector.requirements:
                if requirement.operator == "In":
                    yield self._lists(requirement)

    def _require(self, mask: Mask, requirement: Requirement) -> None:
        """Leave the classes in `mask` that a requirement matches."""
        lists = self._lists(requirement)
        if requirement.operator in ("NotIn", "DoesNotExist"):
            for numbers in lists:
                mask[np.frombuffer(numbers, dtype=np.int32)] = False
        else:
            self._keep(mask, lists)

    def _lists(self, requirement: Requirement) -> list[array[int]]:
        """Return the classes with the values that a requirement names or compares."""
        by_value = self._of_key(requirement.key)
        match requirement.operator:
            case "In" | "NotIn":
                return [by_value[v] for v in requirement.values if v in by_value]
            case "Exists" | "DoesNotExist":
                return list(by_value.values())
            case "Gt" | "Lt":
                key = requirement.key
                return [n for v, n in by_value.items() if requirement.matches({key: v})]

    def _of_namespaces(self, namespaces: frozenset[str]) -> list[array[int]]:
        by_namespace = self._by_namespace
        if len(namespaces) < len(by_namespace):
            return [by_namespace[name] for name in namespaces if name in by_namespace]
        return [numbers for name, numbers in by_namespace.items() if name in namespaces]

    def _of_key(self, key: str) -> dict[str, array[int]]:
        by_value = self._by_label.get(key)
        if by_value is None:
            by_value = self._by_label[key] = {}
            for number, (_, labels) in enumerate(self._values):
                value = labels.get(key)
                if value is not None:
                    by_value.setdefault(value, array("i")).append(number)
        return by_value

    @staticmethod
    def _keep(mask: Mask, lists: list[array[int]]) -> None:
        kept: Mask = np.zeros(len(mask), dtype=np.bool_)
        for numbers in lists:
            kept[np.frombuffer(numbers, dtype=np.int32)] = True
        mask &= kept


class Matcher:
    """Several pod selectors that must all match, and the classes that they match.

    New classes are compared when the matcher is used again.
    """

    __slots__ = ("__weakref__", "_classes", "_ids", "_members", "_seen", "parts")

    def __init__(self, parts: tuple[PodSelector, ...], classes: LabelClasses) -> None:
        self.parts = parts
        self._classes = classes
        self._ids: I32Array = np.zeros(0, dtype=np.int32)
        self._members: set[int] | None = None
        self._seen = 0

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether all parts match."""
        return all(part.matches(namespace, labels) for part in self.parts)

    def class_ids(self) -> I32Array:
        """Return the matching label classes: int32, ascending."""
        if self._seen != self._classes.count:
            self._see()
        return self._ids

    def members(self) -> set[int]:
        """Return the matching label classes as a set."""
        if self._seen != self._classes.count:
            self._see()
        members = self._members
        if members is None:
            members = self._members = set(self._ids.tolist())
        return members

    def _see(self) -> None:
        new = self._classes.matching(self.parts, self._seen)
        self._seen = self._classes.count
        if len(new):
            self._ids = np.concatenate([self._ids, new])
            if self._members is not None:
                self._members.update(new.tolist())


class SelectorFile(Generic[T]):
    """An index of items with a selector, by a label value that the selector requires."""

    __slots__ = ("_by_label", "_loose")

    def __init__(self) -> None:
        self._by_label: dict[str, dict[_Place, dict[T, None]]] = {}
        self._loose: dict[_Place, dict[T, None]] = {}

    def add(self, item: T, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """File `item` under each value that it may require of one label."""
        for filed, place in self._places(selector, namespaces):
            filed.setdefault(place, {})[item] = None

    def discard(self, item: T, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """Remove an item that was added with the same selector."""
        for filed, place in self._places(selector, namespaces):
            items = filed.get(place)
            if items is not None:
                items.pop(item, None)
                if not items:
                    del filed[place]

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> list[T]:
        """Return what may match a pod, each once."""
        found: list[T] = []
        by_label = self._by_label
        for key, value in labels.items():
            indexed = by_label.get(key)
            if indexed is not None:
                for place in ((namespace, value), (None, value), (namespace, None), (None, None)):
                    if place in indexed:
                        found.extend(indexed[place])
        found.extend(self._loose.get((namespace, None), ()))
        found.extend(self._loose.get((None, None), ()))
        return found

    def _places(
        self, selector: Selector, namespaces: frozenset[str] | None
    ) -> Iterator[tuple[dict[_Place, dict[T, None]], _Place]]:
        """Yield where a selector is filed: a dictionary and a key."""
        if selector.is_nothing:
            return
        demand = _demand(selector)
        values: Iterable[str | None] = (None,)
        filed = self._loose
        if demand is not None:
            filed = self._by_label.setdefault(demand.key, {})
            # Without values (Exists, Gt, Lt) any value of the key may match.
            if demand.operator == "In":
                values = demand.values
        for namespace in _filed_under(namespaces):
            for value in values:
                yield filed, (namespace, value)


def _demand(selector: Selector) -> Requirement | None:
    """Return the requirement that fewest labels meet, of those that need a label."""
    best: Requirement | None = None
    for requirement in selector.requirements:
        if requirement.operator in ("NotIn", "DoesNotExist"):
            continue
        if best is None or _breadth(requirement) < _breadth(best):
            best = requirement
    return best


def _breadth(requirement: Requirement) -> int:
    return len(requirement.values) if requirement.operator == "In" else maxsize


def _filed_under(namespaces: frozenset[str] | None) -> frozenset[str] | tuple[None]:
    if namespaces is None or len(namespaces) > _MOST_NAMESPACES:
        return (None,)
    return namespaces
