"""A journal of slot changes with a growing version.

A reader stores the version for which its result is valid and reads the later entries. The
entries are in one array; `since` returns a view of it and copies nothing.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array

_LEAST_KEPT = 1_024


class Journal:
    """An append-only list of changed slots, of which the newest part is kept.

    `version` counts all entries ever made. A slot may be listed more than once.
    """

    __slots__ = ("_base", "_entries", "_kept", "version")

    def __init__(self) -> None:
        self._kept = _LEAST_KEPT
        self._entries: I32Array = np.empty(2 * _LEAST_KEPT, dtype=np.int32)
        self._base = 0
        self.version = 0

    def record(self, slot: int) -> None:
        """Record that `slot` changed."""
        index = self.version - self._base
        if index == len(self._entries):
            index = self._drop_old()
        self._entries[index] = slot
        self.version += 1

    def forget(self) -> None:
        """Make every reader start over: slots were renumbered, or everything changed."""
        self.version += 1
        self._base = self.version

    def since(self, version: int) -> I32Array | None:
        """Return the slots recorded after `version`, or None if the version is too old.

        Returns
        -------
        (k,) int32 view, or None
            None means: evaluate everything.
        """
        start = version - self._base
        if start < 0:
            return None
        return self._entries[start : self.version - self._base]

    def keep(self, entries: int) -> None:
        """Keep at least `entries` of the newest entries from now on."""
        if entries > self._kept:
            self._kept = entries
            grown: I32Array = np.empty(2 * entries, dtype=np.int32)
            used = self.version - self._base
            grown[:used] = self._entries[:used]
            self._entries = grown

    def _drop_old(self) -> int:
        """Keep the newest half; return the index of the next entry."""
        kept = self._kept
        self._entries[:kept] = self._entries[-kept:].copy()
        self._base = self.version - kept
        return kept
