"""Where the pods of one label class, or with one term, were added and removed.

A log costs four bytes per pod, whether or not it is read. Who follows a log is notified of each
change; a follower that starts over reads the whole log.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Protocol

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.columns.domains import Domains

_LEAST_COMPACTED = 64
_COMPACTED_IF_FEW = 1_024
"""At how many entries, at most, a log is compacted in which few pods remained before."""


class Follower(Protocol):
    """What counts the pods of logs.

    Attributes
    ----------
    of_live : bool
        Whether terminating pods are left out.
    """

    of_live: bool

    def add(self, slot: int, amount: int) -> None:
        """Count a pod that was added to a slot; negative if it was removed."""


class PlacementLog:
    """The slots where pods of one label class, or with one term, were added and removed.

    Attributes
    ----------
    followers : sequence of (Follower, int)
        Who counts these pods, terminating ones included, and what each pod adds.
    followers_of_live : sequence of (Follower, int)
        Who counts those that are not terminating.
    presences : sequence of Presence
        The presences that follow this log.
    """

    __slots__ = ("_compact_at", "entries", "followers", "followers_of_live", "presences")

    def __init__(self) -> None:
        self.entries = array("i")
        self.followers: tuple[tuple[Follower, int], ...] = ()
        self.followers_of_live: tuple[tuple[Follower, int], ...] = ()
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
