"""Counts of placed pods over topology domains, updated incrementally.

A `Counter` is an array over domains that follows some logs of placements; it is built when a
pending pod needs it, and can be dropped and rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podwright._arrays import I64Array
from podwright.columns.domains import Domains
from podwright.columns.matching import Matcher
from podwright.columns.terms import Term


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
