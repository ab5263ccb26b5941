"""How often texts have occurred, by their checksums: what occurs rarely is not worth keeping."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

LEARNED_AT: Final = 6
"""How often what requests have in common must occur until it is learned.

Learning costs as much as several creations. In a cluster of many workloads with few pods each,
most of what occurs twice does not occur often enough to repay that.
"""

_SEEN_MAX: Final = 65_536


class SeenTexts:
    """How often the texts have occurred that occurred last, by their checksums.

    Two texts may have the same checksum, so a text may be taken for one that occurred.

    Parameters
    ----------
    learned_at : int
        How often texts have to occur.
    """

    def __init__(self, learned_at: int) -> None:
        self._learned_at = learned_at
        self._counts: dict[int, int] = {}

    def are_frequent(self, texts: Iterable[bytes]) -> bool:
        """Count texts in this order, and return whether they have occurred often enough."""
        least = self._learned_at
        checksum = zlib.crc32(b"".join(texts))
        count = self._counts.get(checksum, 0) + 1
        if count < least:
            if len(self._counts) >= _SEEN_MAX:
                self._counts.clear()
            self._counts[checksum] = count
        return count >= least
