"""Indexes over the objects of a kind: by values, names and namespaces.

An index is built from the current objects and then updated with every change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import Final, TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.store.sorted_keys import SortedKeys

Objects: TypeAlias = Mapping[NamespacedName, KubernetesObject]
Keys: TypeAlias = Collection[NamespacedName]

_SomeKeys: TypeAlias = tuple[NamespacedName, ...] | set[NamespacedName]

Values: TypeAlias = Callable[[KubernetesObject], Collection[Hashable]]
"""Returns the values under which an object is indexed."""

_NONE: Keys = ()

_FEW: Final = 8
"""Up to so many keys are a tuple, which takes a fifth of a set's memory."""


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
            self._remove(value, key)
        for value in after:
            _add(self._keys, value, key)

    def add(self, value: Hashable, key: NamespacedName) -> None:
        """Add the key of an object that has a value."""
        _add(self._keys, value, key)

    def _remove(self, value: Hashable, key: NamespacedName) -> None:
        keys = self._keys.get(value)
        if isinstance(keys, set):
            keys.discard(key)
        elif keys is not None:
            keys = self._keys[value] = tuple(each for each in keys if each != key)
        # None if the object lists the same owner twice.
        if keys is not None and not keys:
            del self._keys[value]

    def validate(self, objects: Objects) -> None:
        """Check the index against the objects."""
        expected = _keys_by_value(self._values_of, objects)
        assert self._keys.keys() == expected.keys(), "an index is wrong"
        for value, keys in self._keys.items():
            assert set(keys) == set(expected[value]), f"the index of {value} is wrong"


def _keys_by_value(values_of: Values, objects: Objects) -> dict[Hashable, _SomeKeys]:
    keys: dict[Hashable, _SomeKeys] = {}
    for key, obj in objects.items():
        for value in values_of(obj):
            _add(keys, value, key)
    return keys


def _add(keys_of: dict[Hashable, _SomeKeys], value: Hashable, key: NamespacedName) -> None:
    keys = keys_of.get(value, ())
    if isinstance(keys, set):
        keys.add(key)
    elif len(keys) == _FEW:
        keys_of[value] = {*keys, key}
    elif key not in keys:
        keys_of[value] = (*keys, key)


class Names:
    """The keys of each namespace in order.

    Parameters
    ----------
    objects : mapping
        The current objects.
    """

    def __init__(self, objects: Objects) -> None:
        keys: dict[str, list[NamespacedName]] = {}
        for key in objects:
            keys.setdefault(_namespace_of(key), []).append(key)
        self._of = {namespace: SortedKeys(each) for namespace, each in keys.items()}

    @property
    def namespaces(self) -> Collection[str]:
        """The namespaces that have objects."""
        return self._of.keys()

    def add(self, key: NamespacedName) -> None:
        """Add a key."""
        namespace = _namespace_of(key)
        known = self._of.get(namespace)
        if known is None:
            known = self._of[namespace] = SortedKeys()
        known.add(key)

    def remove(self, key: NamespacedName) -> None:
        """Remove a key."""
        namespace = _namespace_of(key)
        names = self._of[namespace]
        names.remove(key)
        if not len(names):
            del self._of[namespace]

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
        for key in objects:
            places.setdefault(_namespace_of(key), []).append(key)
        for names in self._of.values():
            names.validate()
        kept = {place: list(names) for place, names in self._of.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"


def _namespace_of(key: NamespacedName) -> str:
    return key.rpartition("/")[0]
