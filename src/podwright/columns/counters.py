"""Counts of placed pods over topology domains, updated incrementally.

Changes are kept in logs: one per label class and one per (anti-)affinity term, each a compact
array of the slots where such pods were added and removed. A log costs four bytes per pod,
whether or not it is read. A `Counter` is an array over domains that follows some of the logs;
it is built when a pending pod needs it, and can be dropped and rebuilt.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.columns.domains import Domains

if TYPE_CHECKING:
    from collections.abc import Callable

    from podwright.columns.matching import Matcher
    from podwright.columns.terms import Term

_LEAST_COMPACTED = 64
_COMPACTED_IF_FEW = 1_024
"""At how many entries, at most, a log is compacted in which few pods remained before."""


class PlacementLog:
    """The slots where pods of one label class, or with one term, were added and removed.

    Attributes
    ----------
    followers : sequence of (Counter, int)
        Who counts these pods, terminating ones included, and what each pod adds.
    followers_of_live : sequence of (Counter, int)
        Who counts those that are not terminating.
    presences : sequence of Presence
        The presences that follow this log.
    """

    __slots__ = ("_compact_at", "entries", "followers", "followers_of_live", "presences")

    def __init__(self) -> None:
        self.entries = array("i")
        self.followers: tuple[tuple[Counter, int], ...] = ()
        self.followers_of_live: tuple[tuple[Counter, int], ...] = ()
        self.presences: tuple[Presence, ...] = ()
        self._compact_at = _LEAST_COMPACTED

    def record(self, slot: int, sign: int, *, is_terminating: bool) -> None:
        """Record a pod added to (1) or removed from (-1) a slot, and update the followers."""
        for counter, weight in self.followers:
            counter.add(slot, weight * sign)
        if not is_terminating:
            for counter, weight in self.followers_of_live:
                counter.add(slot, weight * sign)
        for presence in self.presences:
            presence.add(slot, sign)
        # Only now: a follower that starts over meanwhile reads the log without this entry.
        entries = self.entries
        # One int32 per change; the complement, which is negative, stands for a removal.
        entry = slot << 1 | is_terminating
        entries.append(entry if sign > 0 else ~entry)
        if len(entries) > self._compact_at:
            self._compact()

    def count_into(
        self, counts: I64Array, domains: I32Array, weight: int, *, of_live: bool
    ) -> None:
        """Add all current pods to `counts`.

        Parameters
        ----------
        counts : (n_domains,) int64, written
        domains : (n_slots,) int32
            The domain of each slot; negative ones are not counted.
        weight : int
            What each pod adds.
        of_live : bool
            True leaves out terminating pods.
        """
        if not self.entries:
            return
        entries: I32Array = np.frombuffer(self.entries, dtype=np.int32)
        left = entries < 0
        came = np.where(left, ~entries, entries)
        found = domains[came >> 1]
        is_counted = found >= 0
        if of_live:
            is_counted &= (came & 1) == 0
        counts += weight * np.bincount(found[is_counted & ~left], minlength=len(counts))
        counts -= weight * np.bincount(found[is_counted & left], minlength=len(counts))

    def clear(self) -> None:
        """Forget all pods."""
        self.entries = array("i")
        self._compact_at = _LEAST_COMPACTED

    def _compact(self) -> None:
        """Drop those that left again."""
        entries: I32Array = np.frombuffer(self.entries, dtype=np.int32)
        signs = np.where(entries < 0, -1, 1)
        distinct, places = np.unique(np.where(entries < 0, ~entries, entries), return_inverse=True)
        remaining = np.bincount(places, weights=signs).astype(np.int64)
        kept: I32Array = np.repeat(distinct, remaining).astype(np.int32)
        self.entries = array("i", kept.tobytes())
        # The limit doubles what remains, so the cost per entry stays constant on average.
        limit = 2 * len(self.entries) + _LEAST_COMPACTED
        if len(self.entries) < _LEAST_COMPACTED:
            # All pods of a template leave the log of their labels when they get those of a zone.
            limit = max(limit, min(2 * self._compact_at, _COMPACTED_IF_FEW))
        self._compact_at = limit


class Counter:
    """How much the pods of some logs add up to in each domain.

    Make it with `SelectorCounters.counter`, and take `counts` from `current()` at each use.

    Attributes
    ----------
    key : object
        The key of the counter in `SelectorCounters`.
    domains : Domains
        The topology domains over which pods are counted.
    matchers : tuple of (Matcher, int)
        Which label classes are counted, and what each pod of them adds.
    terms : tuple of (Term, int)
        Whose carriers are counted, and what each adds.
    of_live : bool
        Whether terminating pods are left out.
    cost_bytes : int
        What `SelectorCounters` reckons for its memory.
    """

    __slots__ = (
        "_attach", "_cells", "_counts", "_is_stale", "_rows", "cost_bytes", "domains",
        "is_attached", "key", "matchers", "of_live", "terms",
    )  # fmt: skip

    def __init__(
        self,
        key: object,
        domains: Domains,
        matchers: tuple[tuple[Matcher, int], ...],
        terms: tuple[tuple[Term, int], ...],
        *,
        of_live: bool,
        attach: Callable[[Counter], None],
    ) -> None:
        self.key = key
        self.domains = domains
        self.matchers = matchers
        self.terms = terms
        self.of_live = of_live
        self.cost_bytes = 0
        self.is_attached = False
        self._attach = attach
        self._is_stale = True
        self._rows: I64Array = np.zeros(0, dtype=np.int64)
        self._counts: I64Array = self._rows
        self._cells = self._rows.data

    def current(self) -> I64Array:
        """Return the counts: (n_domains,) int64, to read and not to keep."""
        if not self.is_attached:
            self._attach(self)
        if not self.domains.is_current:
            self.domains.catch_up()
        if self._is_stale:
            self._recount()
        return self._counts

    def add(self, slot: int, amount: int) -> None:
        """Add one pod; called by the logs that this counter follows."""
        domains = self.domains
        if slot >= domains.n_slots:
            domains.catch_up()
        # Checked after the catch-up, which may have renumbered the domains.
        if self._is_stale:
            return
        domain = domains.cells[slot]
        if domain >= 0:
            self._cells[domain] += amount

    def start_over(self) -> None:
        """Recount at the next read."""
        self._is_stale = True

    def make_room(self) -> None:
        """Add new, empty domains."""
        if self._is_stale:
            return
        n = self.domains.n_domains
        if n > len(self._rows):
            longer: I64Array = np.zeros(2 * n, dtype=np.int64)
            longer[: len(self._rows)] = self._rows
            self._rows = longer
            self._cells = longer.data
        self._counts = self._rows[:n]

    def drop(self) -> None:
        """Give the memory back."""
        self._is_stale = True
        self._rows = self._counts = np.zeros(0, dtype=np.int64)
        self._cells = self._rows.data

    def _recount(self) -> None:
        n = self.domains.n_domains
        self._rows = np.zeros(n + 8, dtype=np.int64)
        self._counts = self._rows[:n]
        self._cells = self._rows.data
        counting = self.domains.counting
        for matcher, weight in self.matchers:
            for log in matcher.classes.values():
                log.count_into(self._counts, counting, weight, of_live=self.of_live)
        for term, weight in self.terms:
            term.log.count_into(self._counts, counting, weight, of_live=self.of_live)
        self._is_stale = False


class Presence:
    """Whether any pod of some logs is on a node that has a certain label.

    Parameters
    ----------
    domains : Domains
        Of the label.
    on_change : callable
        Called when the result changes.
    """

    __slots__ = ("_on_change", "count", "domains", "logs")

    def __init__(self, domains: Domains, on_change: Callable[[], None]) -> None:
        self.domains = domains
        self.count = 0
        self.logs: list[PlacementLog] = []
        self._on_change = on_change

    def add(self, slot: int, sign: int) -> None:
        """Add one pod; called by the logs."""
        domains = self.domains
        if slot >= domains.n_slots:
            domains.catch_up()
        if domains.cells[slot] >= 0:
            self._set(self.count + sign)

    def follow(self, log: PlacementLog) -> None:
        """Follow one more log, and count its current pods."""
        log.presences = (*log.presences, self)
        self.logs.append(log)
        self._set(self.count + self._count_of(log))

    def start_over(self) -> None:
        """Recount: nodes changed."""
        self._set(sum(map(self._count_of, self.logs)))

    def make_room(self) -> None:
        """Do nothing: new domains are empty."""

    def _count_of(self, log: PlacementLog) -> int:
        if not log.entries:
            return 0
        self.domains.catch_up()
        total: I64Array = np.zeros(1, dtype=np.int64)
        # All domains are made domain 0, as only their total matters.
        log.count_into(total, np.minimum(self.domains.counting, 0), 1, of_live=False)
        return int(total[0])

    def _set(self, count: int) -> None:
        before, self.count = self.count, count
        if (before > 0) != (count > 0):
            self._on_change()
