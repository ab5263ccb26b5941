"""A heap with few memory accesses: push, pop, and removal of any item.

Most items arrive in order, as pods of one priority do. An item whose sort key is greater than all
keys of the *run* is appended to the run; other items go to a binary heap of keys, in which a
comparison accesses one object instead of three. The next item is the lesser of the two heads; the
run is empty only if the heap is, whose keys are at most the last one of the run. As long as items
arrive in order, nothing is sifted or looked up: with 100,000 items, the cost of a pop is dominated
by memory accesses.

Each item stores its key. Removing an item, or pushing it again with another key, leaves a stale
entry, which is skipped when it reaches the head. When stale entries outnumber the items, the heap
is rebuilt. So a heap has at most twice as many entries as items, and each operation costs
O(log n), amortized.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar


class Sortable(Protocol):
    """An item that can be in one heap at a time."""

    sort_key: Any
    """Its key in its heap; None if it is in none. Only heaps write it."""


Item = TypeVar("Item", bound=Sortable)

_REBUILD_ABOVE = 64  # below this a rebuild costs more than the stale entries do


class LazyHeap(Generic[Item]):
    """Items, smallest sort key first.

    Sort keys must be comparable with `<`, hashable and unique.
    """

    __slots__ = ("_count", "_heaped", "_keys", "_run", "_run_keys")

    def __init__(self) -> None:
        # An entry is current if its key is identical to the item's sort key.
        self._run: deque[Item] = deque()
        self._run_keys: deque[Any] = deque()
        self._keys: list[Any] = []
        self._heaped: dict[Any, Item] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, item: Item, sort_key: Any) -> None:
        """Add an item that is in no heap."""
        assert item.sort_key is None, item
        run_keys = self._run_keys
        item.sort_key = sort_key
        self._count += 1
        if not run_keys or run_keys[-1] < sort_key:
            run_keys.append(sort_key)
            self._run.append(item)
        else:
            last = self._run[-1]
            assert sort_key not in self._heaped, (sort_key, item)
            assert last is item or last.sort_key != sort_key, (sort_key, item)
            heapq.heappush(self._keys, sort_key)
            self._heaped[sort_key] = item

    def remove(self, item: Item) -> bool:
        """Remove an item; return whether it was in a heap, which must be this one."""
        sort_key = item.sort_key
        if sort_key is None:
            return False
        self._heaped.pop(sort_key, None)
        item.sort_key = None
        self._count -= 1
        n_places = len(self._run_keys) + len(self._keys)
        if n_places > _REBUILD_ABOVE and n_places > 2 * self._count:
            self._rebuild()
        return True

    def peek(self) -> Item | None:
        """Return the smallest item without removing it; None if empty."""
        keys, run_keys = self._keys, self._run_keys
        while run_keys:
            if not keys or run_keys[0] < keys[0]:
                item = self._run[0]
                if item.sort_key is run_keys[0]:
                    return item
                run_keys.popleft()
                self._run.popleft()
            else:
                found = self._heaped.get(keys[0])
                if found is not None:
                    return found
                heapq.heappop(keys)
        return None

    def pop(self) -> Item | None:
        """Remove and return the smallest item; None if empty."""
        keys, run_keys = self._keys, self._run_keys
        while run_keys:
            if not keys or run_keys[0] < keys[0]:
                item, sort_key = self._run.popleft(), run_keys.popleft()
                if item.sort_key is not sort_key:
                    continue
            else:
                found = self._heaped.pop(heapq.heappop(keys), None)
                if found is None:
                    continue
                item = found
            item.sort_key = None
            self._count -= 1
            return item
        return None

    def ordered(self) -> list[Item]:
        """Return the items in the order of `pop` without removing them."""
        there = self._heaped | {
            sort_key: item
            for item, sort_key in zip(self._run, self._run_keys, strict=True)
            if item.sort_key is sort_key
        }
        return [there[sort_key] for sort_key in sorted(there)]

    def first(self, limit_count: int) -> list[Item]:
        """Return the first items of `ordered`; it does not order the others."""
        current = (
            (sort_key, item)
            for item, sort_key in zip(self._run, self._run_keys, strict=True)
            if item.sort_key is sort_key
        )
        of_run = dict(islice(current, limit_count))
        keys = heapq.nsmallest(limit_count, (*of_run, *self._heaped))
        return [of_run[key] if key in of_run else self._heaped[key] for key in keys]

    def _rebuild(self) -> None:
        """Drop the stale entries."""
        items = self.ordered()
        self._keys.clear()
        self._heaped.clear()
        self._run.clear()
        self._run_keys.clear()
        self._run.extend(items)
        self._run_keys.extend([item.sort_key for item in items])
