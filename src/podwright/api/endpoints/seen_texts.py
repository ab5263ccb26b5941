"""Which texts occurred before, by their checksums: what occurs once is not worth keeping."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

_SEEN_MAX: Final = 65_536


class SeenTexts:
    """The checksums of the texts that occurred last.

    Two texts may have the same checksum, so a text may be taken for one that occurred.
    """

    def __init__(self) -> None:
        self._checksums: set[int] = set()

    def has(self, texts: Iterable[bytes]) -> bool:
        """Whether texts occurred before in this order; they have from now on."""
        checksum = zlib.crc32(b"".join(texts))
        if checksum in self._checksums:
            return True
        if len(self._checksums) >= _SEEN_MAX:
            self._checksums.clear()
        self._checksums.add(checksum)
        return False
