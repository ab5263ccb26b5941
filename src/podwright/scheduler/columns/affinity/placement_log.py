"""Where the pods of groups were added and removed: the placed pods as columns.

A group is a label class, or an affinity term whose carriers are the pods. The log has two parts:
the pods that were there at the last compaction, ordered by group, and what has happened since. So
the pods of some groups are counted by two passes of kernels, and a reader that was up to date
a moment ago reads only the new entries. An entry takes eight bytes.
"""

from __future__ import annotations

from array import array

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.kernels import placements

_LEAST_COMPACTED = 1_024
_COMPACTED_PART = 4
"""The log is compacted when its new entries are one part in so many of the compacted ones."""


class PlacementLog:
    """The slots where the pods of groups are.

    Attributes
    ----------
    version : int
        How many entries were ever recorded.
    base : int
        The version at the last compaction; what happened before is not known singly.
    groups, entries : array of int32
        What has happened since, in order: the group, and twice the slot, plus one for a
        terminating pod. The complement, which is negative, stands for a removal.
    totals : array of int32
        Per group, how many pods are there.
    """

    __slots__ = ("_amounts", "_compact_at", "_entries", "_first", "base", "entries", "groups",
                 "totals", "version")  # fmt: skip

    def __init__(self) -> None:
        self.base = self.version = 0
        self.totals = array("i")
        self.groups, self.entries = array("i"), array("i")
        self._entries: I32Array = np.empty(0, dtype=np.int32)
        self._first: I64Array = np.zeros(1, dtype=np.int64)
        self._compact_at = _LEAST_COMPACTED
        # Of `count_into`: zeros between two calls.
        self._amounts: I64Array = np.empty(0, dtype=np.int64)

    @property
    def used_count(self) -> int:
        """How many groups have pods."""
        return int(np.count_nonzero(np.frombuffer(self.totals, dtype=np.int32)))

    @property
    def pod_count(self) -> int:
        """How many pods all groups have together."""
        return int(np.frombuffer(self.totals, dtype=np.int32).sum())

    def add_group(self) -> None:
        """Add an empty group with the next number."""
        self.totals.append(0)

    def record(self, group: int, slot: int, sign: int, *, is_terminating: bool) -> None:
        """Record a pod added to (1) or removed from (-1) a slot."""
        entries = self.entries
        if len(entries) >= self._compact_at:
            self._compact()
            entries = self.entries
        entry = slot << 1 | is_terminating
        entries.append(entry if sign > 0 else ~entry)
        self.groups.append(group)
        self.totals[group] += sign
        self.version += 1

    def count_into(
        self,
        counts: I64Array,
        domains: I32Array,
        groups: I32Array,
        weights: I64Array | int,
        *,
        of_live: bool,
    ) -> None:
        """Add the pods of some groups to `counts`.

        Parameters
        ----------
        counts : (n_domains,) int64, written
        domains : (n_slots,) int32
            The domain of each slot; negative ones are not counted.
        groups : (k,) int32
            Distinct.
        weights : (k,) int64, or int
            What each pod of a group adds.
        of_live : bool
            True leaves out terminating pods.
        """
        if len(self._amounts) < len(self.totals):
            self._amounts = np.zeros(2 * len(self.totals), dtype=np.int64)
        amounts = self._amounts
        amounts[groups] = weights
        placements.count_ordered(
            self._entries, self._first, groups, amounts, domains, of_live, counts
        )
        entries, of_groups = self._recorded
        placements.count_recorded(entries, of_groups, amounts, domains, of_live, counts)
        amounts[groups] = 0

    def with_pods(self, groups: I32Array) -> I32Array:
        """Return those of `groups` that have pods: int32, in the same order."""
        found: I32Array = groups[np.frombuffer(self.totals, dtype=np.int32)[groups] > 0]
        return found

    def slots_of(self, group: int) -> I32Array:
        """Return the slots on which a group has pods: int32, ascending."""
        old: I32Array = self._entries[:0]
        if group < len(self._first) - 1:
            old = self._entries[self._first[group] : self._first[group + 1]]
        entries, groups = self._recorded
        here = np.concatenate([old, entries[groups == group]])
        left = here < 0
        counts = np.bincount(np.where(left, ~here, here) >> 1, np.where(left, -1, 1))
        slots: I32Array = np.flatnonzero(counts > 0).astype(np.int32)
        return slots

    @property
    def _recorded(self) -> tuple[I32Array, I32Array]:
        """What has happened since the compaction: `entries` and `groups`, copied."""
        entries, groups = self.entries, self.groups
        # Not views, which a profiler that samples stacks would keep: the arrays could not grow.
        return np.array(entries, dtype=np.int32), np.array(groups, dtype=np.int32)

    def _compact(self) -> None:
        """Leave out what was removed again, and order the rest by group."""
        recorded, of_recorded = self._recorded
        counts = np.diff(self._first)
        of_old: I32Array = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        entries = np.concatenate([self._entries, recorded])
        groups = np.concatenate([of_old, of_recorded])
        left = entries < 0
        both = groups.astype(np.int64) << 32 | np.where(left, ~entries, entries)
        distinct, places = np.unique(both, return_inverse=True)
        remaining = np.bincount(places, np.where(left, -1, 1)).astype(np.int64)
        kept = np.repeat(distinct, remaining)
        self._entries = (kept & 0xFFFFFFFF).astype(np.int32)
        self._first = np.searchsorted(kept >> 32, np.arange(len(self.totals) + 1))
        self.groups, self.entries = array("i"), array("i")
        self.base = self.version
        self._compact_at = _LEAST_COMPACTED + len(kept) // _COMPACTED_PART
