"""What leads to the objects of a kind without looking at others: values, names, namespaces.

Each is made from the objects that are there, and told of every change from then on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TypeAlias

from podwright.objects import KubernetesObject, NamespacedName

Objects: TypeAlias = Mapping[NamespacedName, KubernetesObject]
Keys: TypeAlias = set[NamespacedName]

Values: TypeAlias = Callable[[KubernetesObject], Collection[Hashable]]
"""Reads the values by which an object is to be found."""

_NONE: Keys = set()
_ADDED_MIN = 1_000


class Index:
    """Which objects have a value.

    Parameters
    ----------
    values_of : callable
        The values of an object.
    objects : mapping
        What there is.
    """

    def __init__(self, values_of: Values, objects: Objects) -> None:
        self._values_of = values_of
        self._keys = _keys_by_value(values_of, objects)

    def __getitem__(self, value: Hashable) -> Keys:
        """Return the keys of the objects that have a value; not to be changed."""
        return self._keys.get(value, _NONE)

    def move(
        self, key: NamespacedName, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Take in a change."""
        before = () if old is None else self._values_of(old)
        after = () if new is None else self._values_of(new)
        if before == after:
            return
        for value in before:
            keys = self._keys.get(value)
            if keys is None:  # an owner that is named twice
                continue
            keys.discard(key)
            if not keys:
                del self._keys[value]
        for value in after:
            self._keys[value].add(key)

    def validate(self, objects: Objects) -> None:
        """Check it against the objects."""
        assert self._keys == _keys_by_value(self._values_of, objects), "an index is wrong"


def _keys_by_value(values_of: Values, objects: Objects) -> defaultdict[Hashable, Keys]:
    keys: defaultdict[Hashable, Keys] = defaultdict(set)
    for key, obj in objects.items():
        for value in values_of(obj):
            keys[value].add(key)
    return keys


class SortedKeys:
    """Keys that are put in order when somebody asks, and stay so until they change."""

    def __init__(self) -> None:
        self._order: list[NamespacedName] = []
        self._added: list[NamespacedName] = []
        self._removed: set[NamespacedName] = set()

    def __len__(self) -> int:
        return len(self._order) + len(self._added) - len(self._removed)

    def add(self, key: NamespacedName) -> None:
        """Add a key that is not there."""
        if key in self._removed:
            self._removed.remove(key)
            return
        self._added.append(key)
        # So that what came and went is not kept for ever where nobody asks.
        if len(self._added) > _ADDED_MIN + len(self._order):
            self.sorted()

    def remove(self, key: NamespacedName) -> None:
        """Remove a key that is there."""
        self._removed.add(key)

    def sorted(self) -> list[NamespacedName]:
        """Return the keys in order; not to be changed."""
        if self._removed or self._added:
            if self._removed:
                self._order = [key for key in self._order if key not in self._removed]
                self._added = [key for key in self._added if key not in self._removed]
                self._removed.clear()
            # Two runs, of which one is short, are merged in a single pass.
            self._order += sorted(self._added)
            self._order.sort()
            self._added.clear()
        return self._order


class Names:
    """The keys of each namespace.

    Parameters
    ----------
    objects : mapping
        What there is.
    """

    def __init__(self, objects: Objects) -> None:
        self._of: dict[str, SortedKeys] = {}
        for key, obj in objects.items():
            self.move(key, None, obj)

    @property
    def namespaces(self) -> Collection[str]:
        """The namespaces that have objects."""
        return self._of.keys()

    def move(
        self, key: NamespacedName, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Take in a change."""
        if new is None:
            assert old is not None, f"{key}: neither before nor after"
            namespace = old.metadata.namespace
            names = self._of[namespace]
            names.remove(key)
            if not len(names):
                del self._of[namespace]
        elif old is None:
            namespace = new.metadata.namespace
            known = self._of.get(namespace)
            if known is None:
                known = self._of[namespace] = SortedKeys()
            known.add(key)

    def count(self, namespace: str) -> int:
        """Return how many there are in a namespace."""
        names = self._of.get(namespace)
        return len(names) if names else 0

    def ordered(self, namespace: str | None) -> Iterable[list[NamespacedName]]:
        """Yield the keys of a namespace, or all, in runs that are sorted and follow each other."""
        if namespace is not None:
            names = self._of.get(namespace)
            if names:
                yield names.sorted()
            return
        # Keys are compared whole, as in etcd: `a-b/x` is before `a/x`.
        for place in sorted(self._of, key=lambda name: f"{name}/"):
            yield self._of[place].sorted()

    def validate(self, objects: Objects) -> None:
        """Check them against the objects."""
        places: dict[str, list[NamespacedName]] = {}
        for key, obj in objects.items():
            places.setdefault(obj.namespace, []).append(key)
        kept = {place: names.sorted() for place, names in self._of.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"
