"""Counts of placed pods over topology domains, brought up to date when they are read.

A `Counter` is an array over domains. It costs nothing while it is not read; a read adds what the
placement logs recorded since the last one, or counts again if that was much.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.columns.affinity.domains import Domains
from podwright.scheduler.columns.affinity.matching import Matcher
from podwright.scheduler.columns.nodes import Journal
from podwright.scheduler.kernels import placements

_MOST_FOLLOWED = 64
"""After more entries of a log than this, the pods are counted again."""


class WeightedTerms(NamedTuple):
    """Terms of placed pods, and what each carrier adds.

    Attributes
    ----------
    ids : (k,) int32
        Numbers of terms, ascending.
    weights : (k,) int64
    """

    ids: I32Array
    weights: I64Array


_NO_COUNTS: I64Array = np.zeros(0, dtype=np.int64)
NO_WEIGHTED_TERMS = WeightedTerms(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))


class Counter:
    """How much some pods add up to in each domain.

    Make it with `SelectorCounters.counter`, and take `counts` from `current()` at each use.

    Attributes
    ----------
    key : object
        The key of the counter in `SelectorCounters`.
    domains : Domains
        The topology domains over which pods are counted.
    matchers : tuple of (Matcher, int)
        Which label classes are counted, and what each pod of them adds.
    terms : WeightedTerms
        Whose carriers are counted, and what each adds.
    of_live : bool
        Whether terminating pods are left out.
    cost_bytes : int
        What `SelectorCounters` reckons for its memory.
    """

    __slots__ = (
        "_attach", "_carriers", "_carriers_version", "_cells", "_counts", "_has_terms",
        "_numbering", "_placed", "_placed_version", "_term_weights", "_topology",
        "_topology_version", "cost_bytes", "domains", "is_attached", "key", "matchers",
        "of_live", "terms",
    )  # fmt: skip
    cost_bytes: int
    is_attached: bool

    def __init__(
        self,
        key: object,
        domains: Domains,
        matchers: tuple[tuple[Matcher, int], ...],
        terms: WeightedTerms,
        *,
        of_live: bool,
        logs: tuple[PlacementLog, PlacementLog],
        topology: Journal,
        attach: Callable[[Counter], None],
    ) -> None:
        self.key = key
        self.domains = domains
        self.matchers = matchers
        self.terms = terms
        self.of_live = of_live
        self._attach = attach
        self._has_terms = len(terms.ids) > 0
        self._placed, self._carriers = logs
        self._topology = topology
        self._topology_version: int | None = None
        self._numbering: int | None = None
        self._placed_version = self._carriers_version = 0
        self._term_weights: dict[int, int] | None = None
        self._set_counts(_NO_COUNTS)

    def current(self) -> I64Array:
        """Return the counts: (n_domains,) int64, to read and not to keep."""
        if self._topology_version != self._topology.version:
            self._look_at_nodes()
        if self._placed_version != self._placed.version:
            self._follow()
        return self._counts

    def recount(self) -> None:
        """Count everything again at the next read."""
        self._topology_version = self._numbering = None

    def drop(self) -> None:
        """Give the memory back."""
        self.recount()
        self._set_counts(_NO_COUNTS)
        self._term_weights = None

    def _look_at_nodes(self) -> None:
        """Bring the domains up to date, and count again if they have other numbers."""
        if not self.is_attached:
            self._attach(self)
        domains = self.domains
        domains.catch_up()
        if self._numbering != domains.numbering:
            self._recount()
        elif len(self._counts) != domains.n_domains:
            self._make_room()
        self._topology_version = self._topology.version

    def _follow(self) -> None:
        """Add the pods that came and went since the last read."""
        log, since = self._placed, self._placed_version
        if self.matchers:
            if since < log.base or log.version - since > _MOST_FOLLOWED:
                self._recount()
                return
            new = slice(since - log.base, None)
            for matcher, weight in self.matchers:
                members = matcher.members()
                for group, entry in zip(log.groups[new], log.entries[new], strict=True):
                    if group in members:
                        self._add(entry, weight)
        self._placed_version = log.version
        # A pod is in this log for each of its terms, and in the other one in any case.
        if self._has_terms and self._carriers_version != self._carriers.version:
            self._follow_carriers()

    def _follow_carriers(self) -> None:
        log, since = self._carriers, self._carriers_version
        if since < log.base or log.version - since > _MOST_FOLLOWED:
            self._recount()
            return
        weights = self._term_weights
        if weights is None:
            ids, amounts = self.terms
            weights = dict(zip(ids.tolist(), amounts.tolist(), strict=True))
            self._term_weights = weights
        new = slice(since - log.base, None)
        for group, entry in zip(log.groups[new], log.entries[new], strict=True):
            weight = weights.get(group)
            if weight is not None:
                self._add(entry, weight)
        self._carriers_version = log.version

    def _add(self, entry: int, weight: int) -> None:
        """Add an entry of a log."""
        if entry < 0:
            entry, weight = ~entry, -weight
        if entry & 1 and self.of_live:
            return
        domain = self.domains.cells[entry >> 1]
        if domain >= 0:
            self._cells[domain] += weight

    def _make_room(self) -> None:
        """Add new, empty domains."""
        counts: I64Array = np.zeros(self.domains.n_domains, dtype=np.int64)
        counts[: len(self._counts)] = self._counts
        self._set_counts(counts)

    def _set_counts(self, counts: I64Array) -> None:
        self._counts = counts
        self._cells = counts.data

    def _recount(self) -> None:
        domains = self.domains
        counts: I64Array = np.zeros(domains.n_domains, dtype=np.int64)
        of_live = self.of_live
        for matcher, weight in self.matchers:
            self._placed.count_into(
                counts, domains.counting, matcher.class_ids(), weight, of_live=of_live
            )
        if self._has_terms:
            ids, weights = self.terms
            self._carriers.count_into(counts, domains.counting, ids, weights, of_live=of_live)
        self._set_counts(counts)
        self._numbering = domains.numbering
        self._placed_version = self._placed.version
        self._carriers_version = self._carriers.version


# Where the pods of groups were added and removed: the placed pods as columns.
#
# A group is a label class, or an affinity term whose carriers are the pods. The log has two parts:
# the pods that were there at the last compaction, ordered by group, and what has happened since.
# So the pods of some groups are counted by two passes of kernels, and a reader that was up to date
# a moment ago reads only the new entries. An entry takes eight bytes.

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

    __slots__ = ("_compact_at", "_entries", "_first", "base", "entries", "groups",
                 "totals", "version")  # fmt: skip

    def __init__(self) -> None:
        self.base = self.version = 0
        self.totals = array("i")
        self.groups, self.entries = array("i"), array("i")
        self._entries: I32Array = np.empty(0, dtype=np.int32)
        self._first: I64Array = np.zeros(1, dtype=np.int64)
        self._compact_at = _LEAST_COMPACTED

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

    def record_all(self, groups: list[int], slots: list[int], are_terminating: list[bool]) -> None:
        """Record many added pods, each with its group, as `record` does one after the other."""
        self.groups.extend(groups)
        self.entries.extend(
            [slot << 1 | each for slot, each in zip(slots, are_terminating, strict=True)]
        )
        totals = np.frombuffer(self.totals, dtype=np.int32)
        totals += np.bincount(groups, minlength=len(totals)).astype(np.int32)
        self.version += len(groups)

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
        amounts: I64Array = np.zeros(len(self.totals), dtype=np.int64)
        amounts[groups] = weights
        placements.count_ordered(
            self._entries, self._first, groups, amounts, domains, of_live, counts
        )
        entries, of_groups = self._recorded
        placements.count_recorded(entries, of_groups, amounts, domains, of_live, counts)

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
