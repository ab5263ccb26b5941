"""A heap of named items: replace, remove and look up by name.

`heapq` with lazy deletion. The lists hold sort keys alone, because a comparison then touches
one object and not three: with 100,000 items that is what a pop costs. A key whose item was
replaced or removed stays in its list until it surfaces; when the dead outnumber the living
the lists are rebuilt. So a heap holds at most twice its items, and each operation costs
O(log n), amortised.

Most items come in order, as pods of one priority do. A key that is greater than all keys of
the *run* is appended to it, others go to the heap proper; the next item is the lesser of the
two heads. So as long as all come in order nothing is ever sifted, however many wait.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["IndexedHeap", "Named"]


class Named(Protocol):
    """Something with a name that does not change."""

    @property
    def key(self) -> str:
        """The name."""


Item = TypeVar("Item", bound=Named)

_REBUILD_ABOVE = 64  # below this a rebuild costs more than the dead keys do


class IndexedHeap(Generic[Item]):
    """Items by name, smallest sort key first.

    Sort keys have `<` and a hash, and no two items share one.
    """

    __slots__ = ("_items", "_key_of", "_keys", "_run")

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._run: deque[Any] = deque()
        self._items: dict[Any, Item] = {}
        self._key_of: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: str) -> bool:
        return name in self._key_of

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._items.values()))

    def get(self, name: str) -> Item | None:
        """Return the item of that name, or None."""
        key = self._key_of.get(name)
        return None if key is None else self._items[key]

    def push(self, item: Item, sort_key: Any) -> None:
        """Add the item, or replace the one of that name."""
        before = self._key_of.get(item.key)
        if before is not None:
            del self._items[before]
        assert sort_key not in self._items, (sort_key, item)
        self._key_of[item.key] = sort_key
        self._items[sort_key] = item
        run = self._run
        n_keys = len(self._keys) + len(run)
        if n_keys > _REBUILD_ABOVE and n_keys > 2 * len(self._items):
            self._keys = []
            self._run = deque(sorted(self._items))
        elif not run or run[-1] < sort_key:
            run.append(sort_key)
        else:
            heapq.heappush(self._keys, sort_key)

    def remove(self, name: str) -> Item | None:
        """Take the item of that name out; None if there is none."""
        key = self._key_of.pop(name, None)
        return None if key is None else self._items.pop(key)

    def peek(self) -> Item | None:
        """Return the smallest item without taking it; None if empty."""
        keys, run = self._keys, self._run
        while keys or run:
            is_in_run = not keys or (bool(run) and run[0] < keys[0])
            item = self._items.get(run[0] if is_in_run else keys[0])
            if item is not None:
                return item
            self._drop_head(is_in_run=is_in_run)
        return None

    def pop(self) -> Item | None:
        """Take the smallest item out; None if empty."""
        keys, run = self._keys, self._run
        while keys or run:
            is_in_run = not keys or (run and run[0] < keys[0])
            item = self._items.pop(run.popleft() if is_in_run else heapq.heappop(keys), None)
            if item is not None:
                del self._key_of[item.key]
                return item
        return None

    def _drop_head(self, *, is_in_run: bool) -> None:
        if is_in_run:
            self._run.popleft()
        else:
            heapq.heappop(self._keys)

    def ordered(self) -> list[Item]:
        """List the items in the order `pop` would give them; nothing is taken out."""
        return [self._items[key] for key in sorted(self._items)]
