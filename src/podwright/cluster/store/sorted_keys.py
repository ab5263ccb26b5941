"""Sorted sets of keys whose changes and pages cost what they touch, not what the set holds."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from podwright.apimachinery.objects import NamespacedName

_RUN_MAX = 1_024
"""The largest run; a longer one is split in two."""


class SortedKeys:
    """A set of keys in order, each with a version, kept as sorted runs of bounded length.

    Adding or removing a key finds its run by the largest key of each run and changes only this
    run. A key takes 16 bytes besides its text, however many were there before; a dictionary, in
    which keys come and go, takes two to four times that, and the number of each version 32 more.

    Parameters
    ----------
    versions : mapping
        The first keys and their versions.
    """

    def __init__(self, versions: Mapping[NamespacedName, int] = MappingProxyType({})) -> None:
        ordered = sorted(versions)
        half = _RUN_MAX // 2
        self._runs = [ordered[start : start + half] for start in range(0, len(ordered), half)]
        self._versions = [array("Q", map(versions.__getitem__, run)) for run in self._runs]
        self._last = [run[-1] for run in self._runs]
        self._count = len(ordered)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._place_of(key) is not None

    def _place_of(self, key: NamespacedName) -> tuple[int, int] | None:
        """Return the run of a key and its place there, None if it is not in the set."""
        index = bisect_left(self._last, key)
        if index == len(self._last):
            return None
        run = self._runs[index]
        place = bisect_left(run, key)
        return (index, place) if run[place] == key else None

    def version_of(self, key: NamespacedName) -> int | None:
        """Return the version of a key, None if it is not in the set."""
        found = self._place_of(key)
        return None if found is None else self._versions[found[0]][found[1]]

    def set_version(self, key: NamespacedName, version: int) -> None:
        """Set the version of an existing key."""
        found = self._place_of(key)
        assert found is not None, f"{key} is not in the set"
        self._versions[found[0]][found[1]] = version

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[NamespacedName]:
        for run in self._runs:
            yield from run

    def items(self) -> Iterator[tuple[NamespacedName, int]]:
        """Yield the keys with their versions, in order."""
        for run, versions in zip(self._runs, self._versions, strict=True):
            yield from zip(run, versions, strict=True)

    def add(self, key: NamespacedName) -> None:
        """Add a key with version 0, which one that exists gets too."""
        if not self._runs:
            self._count = 1
            self._runs.append([key])
            self._versions.append(array("Q", [0]))
            self._last.append(key)
            return
        index = bisect_left(self._last, key)
        if index == len(self._last):
            index -= 1
            self._last[index] = key
        run, versions = self._runs[index], self._versions[index]
        place = bisect_left(run, key)
        if place < len(run) and run[place] == key:
            versions[place] = 0
            return
        self._count += 1
        run.insert(place, key)
        versions.insert(place, 0)
        if len(run) > _RUN_MAX:
            half = len(run) // 2
            self._runs[index : index + 1] = [run[:half], run[half:]]
            self._versions[index : index + 1] = [versions[:half], versions[half:]]
            self._last[index : index + 1] = [run[half - 1], run[-1]]

    def remove(self, key: NamespacedName) -> None:
        """Remove an existing key."""
        found = self._place_of(key)
        assert found is not None, f"{key} is not in the set"
        self._count -= 1
        index, place = found
        run = self._runs[index]
        del run[place], self._versions[index][place]
        if not run:
            del self._runs[index], self._versions[index], self._last[index]
        elif place == len(run):
            self._last[index] = run[-1]

    def after(self, key: NamespacedName | None) -> Iterator[NamespacedName]:
        """Yield the keys after a key, or all, in order; the set must not change meanwhile."""
        if key is None:
            yield from self
            return
        first = bisect_right(self._last, key)
        for index in range(first, len(self._runs)):
            run = self._runs[index]
            yield from run[bisect_right(run, key) :] if index == first else run

    def count_after(self, key: NamespacedName) -> int:
        """Return how many keys come after a key."""
        first = bisect_right(self._last, key)
        if first == len(self._runs):
            return 0
        run = self._runs[first]
        return len(run) - bisect_right(run, key) + sum(map(len, self._runs[first + 1 :]))

    def validate(self) -> None:
        """Check the order of the keys and the length of the runs."""
        keys = list(self)
        assert keys == sorted(set(keys)), "keys are not in order"
        assert len(keys) == self._count, f"{len(keys)} keys are counted as {self._count}"
        assert self._last == [run[-1] for run in self._runs], "the largest keys are wrong"
        assert all(len(run) <= _RUN_MAX for run in self._runs), "a run is too long"
        sizes = list(map(len, self._versions))
        assert sizes == list(map(len, self._runs)), "versions are not beside their keys"


class Names:
    """The keys of each namespace in order, each with a version.

    Parameters
    ----------
    versions : mapping
        The first keys and their versions.
    """

    def __init__(self, versions: Mapping[NamespacedName, int] = MappingProxyType({})) -> None:
        of: dict[str, dict[NamespacedName, int]] = {}
        for key, version in versions.items():
            of.setdefault(_namespace_of(key), {})[key] = version
        self._of = {namespace: SortedKeys(each) for namespace, each in of.items()}

    def of(self, namespace: str) -> Collection[NamespacedName]:
        """Return the keys of a namespace."""
        return self._of.get(namespace, ())

    def version_of(self, key: NamespacedName) -> int | None:
        """Return the version of a key, None if it is not there."""
        names = self._of.get(_namespace_of(key))
        return None if names is None else names.version_of(key)

    def set_version(self, key: NamespacedName, version: int) -> None:
        """Set the version of an existing key."""
        self._of[_namespace_of(key)].set_version(key, version)

    @property
    def namespaces(self) -> Collection[str]:
        """The namespaces that have objects."""
        return self._of.keys()

    def add(self, key: NamespacedName) -> None:
        """Add a key with version 0, which one that exists gets too."""
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

    def items(self) -> Iterator[tuple[NamespacedName, int]]:
        """Yield the keys with their versions, in order."""
        for names in self._after(None, None):
            yield from names.items()

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

    def validate(self, keys: Iterable[NamespacedName]) -> None:
        """Check the names against the keys of the objects."""
        places: dict[str, list[NamespacedName]] = {}
        for key in keys:
            places.setdefault(_namespace_of(key), []).append(key)
        for names in self._of.values():
            names.validate()
        kept = {place: list(names) for place, names in self._of.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"


def _namespace_of(key: NamespacedName) -> str:
    return key.rpartition("/")[0]
