"""A heap with a name for each item: replace, remove and look up by name.

`heapq` with lazy deletion. A replaced or removed item stays in the list until it surfaces,
recognised by identity: only the entry that the index names is alive. When the dead outnumber
the living the list is rebuilt, so a heap holds at most twice its items and each operation
costs O(log n), amortised.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

__all__ = ["IndexedHeap"]

Item = TypeVar("Item")

_REBUILD_ABOVE = 64  # below this a rebuild costs more than the dead entries do


class IndexedHeap(Generic[Item]):
    """Items by name, smallest sort key first; equal sort keys in order of insertion.

    Sort keys only need `<`; they are compared with each other and nothing else.
    """

    __slots__ = ("_entries", "_heap", "_pushed")

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int, str, Item]] = []
        self._entries: dict[str, tuple[Any, int, str, Item]] = {}
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Item]:
        return iter([entry[3] for entry in self._entries.values()])

    def get(self, name: str) -> Item | None:
        """Return the item of that name, or None."""
        entry = self._entries.get(name)
        return None if entry is None else entry[3]

    def push(self, name: str, sort_key: Any, item: Item) -> None:
        """Add the item, or replace the one of that name."""
        # The push counter keeps equal sort keys apart, so items are never compared.
        self._pushed += 1
        entry = (sort_key, self._pushed, name, item)
        self._entries[name] = entry
        if len(self._heap) > _REBUILD_ABOVE and len(self._heap) > 2 * len(self._entries):
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
        else:
            heapq.heappush(self._heap, entry)

    def remove(self, name: str) -> Item | None:
        """Take the item of that name out; None if there is none."""
        entry = self._entries.pop(name, None)
        return None if entry is None else entry[3]

    def peek(self) -> Item | None:
        """Return the smallest item without taking it; None if empty."""
        heap = self._heap
        while heap:
            entry = heap[0]
            if self._entries.get(entry[2]) is entry:
                return entry[3]
            heapq.heappop(heap)
        return None

    def pop(self) -> Item | None:
        """Take the smallest item out; None if empty."""
        heap = self._heap
        entries = self._entries
        while heap:
            entry = heapq.heappop(heap)
            if entries.get(entry[2]) is entry:
                del entries[entry[2]]
                return entry[3]
        return None

    def ordered(self) -> list[Item]:
        """List the items in the order `pop` would give them; nothing is taken out."""
        return [entry[3] for entry in sorted(self._entries.values())]
