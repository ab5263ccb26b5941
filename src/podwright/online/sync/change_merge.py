"""Restores the order of changes of several kinds, without I/O.

Each kind has its own watch, so changes that were made one after the other may arrive in
another order. All kinds of a cluster share the versions of one etcd: changes are held for a short
time, and leave in the order of their versions.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.online.client.cluster import ChangedObject
from podwright.online.sync.source_kinds import SourceKind

WINDOW_NS: Final = 100_000_000


class SourceChange(msgspec.Struct, frozen=True):
    """A change of an object of the source.

    Attributes
    ----------
    kind : SourceKind
    change : ChangedObject
    received_ns : int
        When its bytes arrived, on the monotonic clock.
    """

    kind: SourceKind
    change: ChangedObject
    received_ns: int


class ChangeMerge:
    """Holds changes for a short time.

    Parameters
    ----------
    window_ns : int
        How long a change waits for earlier ones of other kinds.
    """

    def __init__(self, window_ns: int = WINDOW_NS) -> None:
        self._window_ns = window_ns
        self._held: list[tuple[int, int, SourceChange]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, change: SourceChange) -> None:
        """Hold a change."""
        self._count += 1
        version = change.change.meta.resource_version
        # A version that is not a number has no order across kinds: it leaves first.
        number = int(version) if version.isdigit() else 0
        heapq.heappush(self._held, (number, self._count, change))

    def due(self, now_ns: int) -> Sequence[SourceChange]:
        """Return the changes that have waited, and those of earlier versions, in order."""
        end_ns = now_ns - self._window_ns
        waited = [number for number, _, each in self._held if each.received_ns <= end_ns]
        if not waited:
            return ()
        last, found = max(waited), []
        while self._held and self._held[0][0] <= last:
            found.append(heapq.heappop(self._held)[2])
        return found

    def rest(self) -> Sequence[SourceChange]:
        """Return all changes, in order."""
        found = [each for _, _, each in sorted(self._held, key=lambda held: held[:2])]
        self._held.clear()
        return found
