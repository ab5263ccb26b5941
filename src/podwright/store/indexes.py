"""Indexes over the objects of a kind: by values, names and namespaces.

An index is built from the current objects and then updated with every change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import TypeAlias

from podwright.objects import KubernetesObject, NamespacedName
from podwright.store.sorted_keys import SortedKeys

Objects: TypeAlias = Mapping[NamespacedName, KubernetesObject]
Keys: TypeAlias = set[NamespacedName]

Values: TypeAlias = Callable[[KubernetesObject], Collection[Hashable]]
"""Returns the values under which an object is indexed."""

_NONE: Keys = set()


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


class Names:
    """The keys of each namespace in order.

    Parameters
    ----------
    objects : mapping
        The current objects.
    """

    def __init__(self, objects: Objects) -> None:
        keys: dict[str, list[NamespacedName]] = {}
        for key, obj in objects.items():
            keys.setdefault(obj.metadata.namespace, []).append(key)
        self._of = {namespace: SortedKeys(each) for namespace, each in keys.items()}

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

    def count(self, namespace: str | None) -> int:
        """Return the number of keys in a namespace, or in all."""
        if namespace is None:
            return sum(map(len, self._of.values()))
        names = self._of.get(namespace)
        return len(names) if names else 0

    def after(self, key: NamespacedName | None, namespace: str | None) -> Iterator[NamespacedName]:
        """Yield the keys after a key, of a namespace or of all, in order."""
        for names in self._after(key, namespace):
            yield from names.after(key)

    def count_after(self, key: NamespacedName, namespace: str | None) -> int:
        """Return how many keys come after a key, in a namespace or in all."""
        return sum(names.count_after(key) for names in self._after(key, namespace))

    def _after(self, key: NamespacedName | None, namespace: str | None) -> Iterator[SortedKeys]:
        """Yield the sets that can have keys after a key, in the order of their keys."""
        if namespace is not None:
            names = self._of.get(namespace)
            if names:
                yield names
            return
        # Keys are compared whole, as in etcd: `a-b/x` is before `a/x`.
        for prefix, place in sorted((f"{place}/", place) for place in self._of):
            if key is None or prefix >= key or key.startswith(prefix) or not place:
                yield self._of[place]

    def validate(self, objects: Objects) -> None:
        """Check the names against the objects."""
        places: dict[str, list[NamespacedName]] = {}
        for key, obj in objects.items():
            places.setdefault(obj.namespace, []).append(key)
        for names in self._of.values():
            names.validate()
        kept = {place: list(names) for place, names in self._of.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"
