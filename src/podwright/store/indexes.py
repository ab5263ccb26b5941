"""Indexes over the objects of a kind: by values, names and namespaces.

An index is built from the current objects and then updated with every change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TypeAlias

from podwright.objects import KubernetesObject, NamespacedName

Objects: TypeAlias = Mapping[NamespacedName, KubernetesObject]
Keys: TypeAlias = set[NamespacedName]

Values: TypeAlias = Callable[[KubernetesObject], Collection[Hashable]]
"""Returns the values under which an object is indexed."""

_NONE: Keys = set()
_ADDED_MIN = 1_000


class Index:
    """Maps values to the keys of the objects that have them.

    Parameters
    ----------
    values_of : callable
        Returns the values of an object.
    objects : mapping
        The current objects.
    """

    def __init__(self, values_of: Values, objects: Objects) -> None:
        self._values_of = values_of
        self._keys = _keys_by_value(values_of, objects)

    def __getitem__(self, value: Hashable) -> Keys:
        """Return the keys of the objects that have a value; read-only."""
        return self._keys.get(value, _NONE)

    def move(
        self, key: NamespacedName, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Apply a change."""
        before = () if old is None else self._values_of(old)
        after = () if new is None else self._values_of(new)
        if before == after:
            return
        for value in before:
            keys = self._keys.get(value)
            if keys is None:  # the object lists the same owner twice
                continue
            keys.discard(key)
            if not keys:
                del self._keys[value]
        for value in after:
            self._keys[value].add(key)

    def validate(self, objects: Objects) -> None:
        """Check the index against the objects."""
        assert self._keys == _keys_by_value(self._values_of, objects), "an index is wrong"


def _keys_by_value(values_of: Values, objects: Objects) -> defaultdict[Hashable, Keys]:
    keys: defaultdict[Hashable, Keys] = defaultdict(set)
    for key, obj in objects.items():
        for value in values_of(obj):
            keys[value].add(key)
    return keys


class SortedKeys:
    """A set of keys that is sorted on demand and stays sorted until it changes."""

    def __init__(self) -> None:
        self._order: list[NamespacedName] = []
        self._added: list[NamespacedName] = []
        self._removed: set[NamespacedName] = set()

    def __len__(self) -> int:
        return len(self._order) + len(self._added) - len(self._removed)

    def add(self, key: NamespacedName) -> None:
        """Add a new key."""
        if key in self._removed:
            self._removed.remove(key)
            return
        self._added.append(key)
        # Bounds the memory for added and removed keys if `sorted` is never called.
        if len(self._added) > _ADDED_MIN + len(self._order):
            self.sorted()

    def remove(self, key: NamespacedName) -> None:
        """Remove an existing key."""
        self._removed.add(key)

    def sorted(self) -> list[NamespacedName]:
        """Return the keys in order; read-only."""
        if self._removed or self._added:
            if self._removed:
                self._order = [key for key in self._order if key not in self._removed]
                self._added = [key for key in self._added if key not in self._removed]
                self._removed.clear()
            # Timsort merges the two sorted runs in a single pass.
            self._order += sorted(self._added)
            self._order.sort()
            self._added.clear()
        return self._order


class Names:
    """The keys of each namespace.

    Parameters
    ----------
    objects : mapping
        The current objects.
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
        """Apply a change."""
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
        """Return the number of keys in a namespace."""
        names = self._of.get(namespace)
        return len(names) if names else 0

    def ordered(self, namespace: str | None) -> Iterable[list[NamespacedName]]:
        """Yield the keys of a namespace, or of all, in sorted runs that are in order."""
        if namespace is not None:
            names = self._of.get(namespace)
            if names:
                yield names.sorted()
            return
        # Keys are compared whole, as in etcd: `a-b/x` is before `a/x`.
        for place in sorted(self._of, key=lambda name: f"{name}/"):
            yield self._of[place].sorted()

    def validate(self, objects: Objects) -> None:
        """Check the names against the objects."""
        places: dict[str, list[NamespacedName]] = {}
        for key, obj in objects.items():
            places.setdefault(obj.namespace, []).append(key)
        kept = {place: names.sorted() for place, names in self._of.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"
