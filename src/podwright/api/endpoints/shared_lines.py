"""Lines of watches that many clients read: made once for all that watch the same.

Watches of one resource with equal selectors that have read up to the same version get the same
lines next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

_LINES_MAX: Final = 2_000
"""The most lines that are kept: those of a few turns, 4 MB of pods."""


class SharedLines:
    """The lines that watches have read last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Sequence[bytes], int]] = OrderedDict()
        self._count = 0

    def find(self, stream: Hashable, since: int, until: int) -> tuple[Sequence[bytes], int] | None:
        """Return the lines of a stream between two versions, and the version that they reach.

        None if no watch has read them.
        """
        return self._kept.get((stream, since, until))

    def keep(
        self, stream: Hashable, since: int, until: int, lines: Sequence[bytes], reached: int
    ) -> None:
        """Keep lines for the other watches of a stream."""
        kept = self._kept
        kept[stream, since, until] = lines, reached
        self._count += 1 + len(lines)
        while self._count > _LINES_MAX and len(kept) > 1:
            _, (oldest, _) = kept.popitem(last=False)
            self._count -= 1 + len(oldest)


def event_line(kind: str, document: bytes) -> bytes:
    """Return an event whose object is JSON."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), document)


def encoded_line(kind: str, document: object) -> bytes:
    """Return an event with an object."""
    return event_line(kind, msgspec.json.encode(document))
