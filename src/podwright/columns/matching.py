"""Matching selectors and pods without comparing all pairs.

Nearly every selector requires one exact label value, such as `app=web`. Selectors are indexed
by that requirement, and label classes by the labels that selectors require. So a new selector
is compared only with the classes that have its value, and a new class only with the selectors
that require one of its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from podwright.columns.placement_log import Follower, PlacementLog, Presence
from podwright.objects import Selector

T = TypeVar("T")

_MOST_NAMESPACES = 16
"""A selector of more namespaces is indexed under none and so meets those of all."""


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


class LabelClass:
    """Pods with one namespace and one set of labels, and where they are."""

    __slots__ = ("id", "labels", "log", "namespace")

    def __init__(
        self, class_id: int, namespace: str, labels: Mapping[str, str], log: PlacementLog
    ) -> None:
        self.id = class_id
        self.namespace = namespace
        self.labels = labels
        self.log = log


class Matcher:
    """Several pod selectors that must all match, and the classes that they match.

    Attributes
    ----------
    classes : dict of int to PlacementLog
        The matching label classes by number.
    counters : list of (Follower, int)
        The counters that follow every matching class, and the amount per pod.
    presences : list of Presence
        The presences that follow every matching class.
    """

    __slots__ = ("classes", "counters", "parts", "presences")

    def __init__(self, parts: tuple[PodSelector, ...]) -> None:
        self.parts = parts
        self.classes: dict[int, PlacementLog] = {}
        self.counters: list[tuple[Follower, int]] = []
        self.presences: list[Presence] = []

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether all parts match."""
        return all(part.matches(namespace, labels) for part in self.parts)


class SelectorFile(Generic[T]):
    """An index of items with a selector, by the label value that the selector requires."""

    __slots__ = ("_by_label", "_loose")

    def __init__(self) -> None:
        self._by_label: dict[str, dict[tuple[str | None, str], list[T]]] = {}
        self._loose: dict[str | None, list[T]] = {}

    def add(self, item: T, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """Index `item` by the label value that it requires."""
        if selector.is_nothing:
            return
        demand = demanded_label(selector)
        for namespace in _filed_under(namespaces):
            if demand is None:
                self._loose.setdefault(namespace, []).append(item)
            else:
                key, value = demand
                indexed = self._by_label.setdefault(key, {})
                indexed.setdefault((namespace, value), []).append(item)

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[T]:
        """Yield what may match a pod, each once, in the order in which it was indexed per label."""
        for key, indexed in self._by_label.items():
            value = labels.get(key)
            if value is not None:
                yield from indexed.get((namespace, value), ())
                yield from indexed.get((None, value), ())
        if self._loose:
            yield from self._loose.get(namespace, ())
            yield from self._loose.get(None, ())


class ClassFile:
    """Label classes, indexed by the labels that selectors require."""

    __slots__ = ("_by_label", "_by_namespace", "_classes")

    def __init__(self) -> None:
        self._classes: list[LabelClass] = []
        self._by_namespace: dict[str, list[LabelClass]] = {}
        self._by_label: dict[str, dict[tuple[str | None, str], list[LabelClass]]] = {}

    def add(self, cls: LabelClass) -> None:
        """File a class."""
        self._classes.append(cls)
        self._by_namespace.setdefault(cls.namespace, []).append(cls)
        for key, indexed in self._by_label.items():
            _file_class(indexed, key, cls)

    def candidates(self, pod_selector: PodSelector) -> Iterator[LabelClass]:
        """Yield the classes that `selector` may match, once each."""
        if pod_selector.selector.is_nothing:
            return
        demand = demanded_label(pod_selector.selector)
        namespaces = _filed_under(pod_selector.namespaces)
        if demand is None:
            for namespace in namespaces:
                if namespace is None:
                    yield from self._classes
                else:
                    yield from self._by_namespace.get(namespace, ())
            return
        key, value = demand
        indexed = self._by_label.get(key)
        if indexed is None:
            indexed = self._by_label[key] = {}
            for cls in self._classes:
                _file_class(indexed, key, cls)
        for namespace in namespaces:
            yield from indexed.get((namespace, value), ())


def demanded_label(selector: Selector) -> tuple[str, str] | None:
    """Return a label and the single value that a selector requires, if there is one."""
    for requirement in selector.requirements:
        if requirement.operator == "In" and len(requirement.values) == 1:
            return requirement.key, requirement.values[0]
    return None


def _filed_under(namespaces: frozenset[str] | None) -> list[str] | tuple[None]:
    if namespaces is None or len(namespaces) > _MOST_NAMESPACES:
        return (None,)
    return sorted(namespaces)


def _file_class(
    indexed: dict[tuple[str | None, str], list[LabelClass]], key: str, cls: LabelClass
) -> None:
    value = cls.labels.get(key)
    if value is not None:
        indexed.setdefault((cls.namespace, value), []).append(cls)
        indexed.setdefault((None, value), []).append(cls)
