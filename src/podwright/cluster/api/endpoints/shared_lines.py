"""Lines of watches that many clients read: made once for all that watch the same.

Watches of one resource with equal selectors that have read up to the same version get the same
lines next. Those that start at the same state get the same initial events, in the same parts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final
from weakref import WeakValueDictionary

import msgspec

_KEPT_MAX_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of changes that are kept: those of a few turns."""

_ENTRY_BYTES: Final = 200
"""What an entry takes besides its lines, about."""

INITIAL_MAX_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of the initial events of one state that are kept.

A client that is further behind the others than this has lines made for it alone.
"""

PART_BYTES: Final = 64 * 1024
"""How much a watch sends at once of its initial events, about: what its connection buffers."""

_PART_MAX: Final = 200


class InitialParts:
    """The initial events of watches that start at one state, in parts.

    Parameters
    ----------
    part_bytes : int
        How much a part has, about.

    Attributes
    ----------
    count : int
        How many events the next part should have, by the size of those before.
    """

    def __init__(self, part_bytes: int = PART_BYTES) -> None:
        self.count = 1
        self._part_bytes = part_bytes
        self._kept: OrderedDict[Hashable, tuple[bytes, Hashable]] = OrderedDict()
        self._bytes = 0

    def find(self, place: Hashable) -> tuple[bytes, Hashable] | None:
        """Return the lines that follow a place, and the next place; None if they are not kept."""
        return self._kept.get(place)

    def keep(self, place: Hashable, text: bytes, next_place: Hashable, count: int) -> None:
        """Keep the lines that follow a place, which are those of `count` events."""
        if count:
            mean_bytes = max(len(text) // count, 1)
            most = min(_PART_MAX, 8 * self.count)
            self.count = max(1, min(most, self._part_bytes // mean_bytes))
        self._kept[place] = text, next_place
        self._bytes += len(text) + _ENTRY_BYTES
        while self._bytes > INITIAL_MAX_BYTES and len(self._kept) > 1:
            _, (oldest, _) = self._kept.popitem(last=False)
            self._bytes -= len(oldest) + _ENTRY_BYTES


class SharedLines:
    """The lines that watches have read last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[bytes, int]] = OrderedDict()
        self._bytes = 0
        # Only as long as a watch reads them.
        self._initial: WeakValueDictionary[Hashable, InitialParts] = WeakValueDictionary()

    def initial(self, stream: Hashable, version: int) -> InitialParts:
        """Return the initial events of a stream at a version, as far as watches have read them."""
        parts = self._initial.get((stream, version))
        if parts is None:
            parts = self._initial[stream, version] = InitialParts()
        return parts

    def find(self, stream: Hashable, since: int, until: int) -> tuple[bytes, int] | None:
        """Return the lines of a stream between two versions, and the version that they reach.

        None if no watch has read them.
        """
        return self._kept.get((stream, since, until))

    def keep(self, stream: Hashable, since: int, until: int, text: bytes, reached: int) -> None:
        """Keep lines for the other watches of a stream."""
        kept = self._kept
        kept[stream, since, until] = text, reached
        self._bytes += len(text) + _ENTRY_BYTES
        while self._bytes > _KEPT_MAX_BYTES and len(kept) > 1:
            _, (oldest, _) = kept.popitem(last=False)
            self._bytes -= len(oldest) + _ENTRY_BYTES


def event_line(kind: str, document: bytes) -> bytes:
    """Return an event whose object is JSON."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), document)


def encoded_line(kind: str, document: object) -> bytes:
    """Return an event with an object."""
    return event_line(kind, msgspec.json.encode(document))
