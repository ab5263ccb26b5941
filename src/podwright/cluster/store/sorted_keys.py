"""A sorted set of keys whose changes and pages cost what they touch, not what the set holds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from podwright.apimachinery.objects import NamespacedName

_RUN_MAX = 1_024
"""The largest run; a longer one is split in two."""


class SortedKeys:
    """A set of keys in order, kept as sorted runs of bounded length.

    Adding or removing a key finds its run by the largest key of each run and changes only this
    run.
    """

    def __init__(self, keys: Iterable[NamespacedName] = ()) -> None:
        ordered = sorted(keys)
        half = _RUN_MAX // 2
        self._runs = [ordered[start : start + half] for start in range(0, len(ordered), half)]
        self._last = [run[-1] for run in self._runs]
        self._count = len(ordered)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[NamespacedName]:
        for run in self._runs:
            yield from run

    def add(self, key: NamespacedName) -> None:
        """Add a new key."""
        self._count += 1
        if not self._runs:
            self._runs.append([key])
            self._last.append(key)
            return
        index = bisect_left(self._last, key)
        if index == len(self._last):
            index -= 1
            self._last[index] = key
            run = self._runs[index]
            run.append(key)
        else:
            run = self._runs[index]
            insort(run, key)
        if len(run) > _RUN_MAX:
            half = len(run) // 2
            self._runs[index : index + 1] = [run[:half], run[half:]]
            self._last[index : index + 1] = [run[half - 1], run[-1]]

    def remove(self, key: NamespacedName) -> None:
        """Remove an existing key."""
        self._count -= 1
        index = bisect_left(self._last, key)
        run = self._runs[index]
        place = bisect_left(run, key)
        assert run[place] == key, f"{key} is not in the set"
        del run[place]
        if not run:
            del self._runs[index], self._last[index]
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
