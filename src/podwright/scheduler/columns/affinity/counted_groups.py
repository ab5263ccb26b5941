"""Groups of nodes whose topology domains have equal counts.

What spreading and inter-pod affinity find about a node depends only on its domains. With few of
them, a domain is a digit of the node's group. Where each node is a domain, such as a host, the
count is the digit, which only the node's own pods change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.columns.affinity.counters import Counter
from podwright.scheduler.kernels import spread as spread_kernels

_FEW_DOMAINS = 16
"""Up to so many domains are digits themselves."""

_SPARE_COUNTS = 2
"""By how many units counts may at least change until the groups are rebuilt."""


class Digits(NamedTuple):
    """What the digits of one counter mean.

    Attributes
    ----------
    base : int
        How many digits there are. The last one means nodes without a domain.
    unit : int
        If it is not 0, digit d means a count of `lowest + d * unit`; otherwise it is a domain.
    lowest : int
    is_capped : bool
        Whether the last digit but one also means all counts above its own.
    """

    base: int
    unit: int = 0
    lowest: int = 0
    is_capped: bool = False

    @classmethod
    def of(cls, counter: Counter, *, of_presence: bool = False) -> Digits | None:
        """Choose the digits for the current counts; None if there would be many.

        Parameters
        ----------
        of_presence : bool
            Whether it only matters if a count is above 0; then none may be negative.
        """
        counts, domains = counter.current(), counter.domains.reading
        if len(counts) <= _FEW_DOMAINS:
            return cls(len(counts) + 1)
        found: I64Array = np.empty(3, dtype=np.int64)
        # Elsewhere a pod would change the groups of nodes that do not run it.
        if not spread_kernels.common_counts(domains, counts, found):
            return None
        if of_presence:
            return cls(3, unit=1, is_capped=True)
        divisor, lowest, highest = found.tolist()
        unit = divisor or 1
        least, greatest = lowest // unit, highest // unit
        spare = greatest - least + _SPARE_COUNTS
        return cls(greatest - least + 2 * spare + 2, unit, unit * (least - spare))


class CountedGroups:
    """Groups by the digits of several counters; the first counter has the last digit.

    Attributes
    ----------
    n_groups : int
    """

    def __init__(self, counters: Sequence[Counter], digits: Sequence[Digits]) -> None:
        bases = [each.base for each in digits]
        self.n_groups = math.prod(bases)
        # Valid until a node changes; the groups are rebuilt then.
        self._counted = tuple([(counter, counter.domains) for counter in counters])
        strides = accumulate([1, *bases[:-1]], mul)
        self._digits: list[I64Array] = [
            np.array([each.unit, each.lowest, each.base, stride, each.is_capped])
            for each, stride in zip(digits, strides, strict=True)
        ]

    @staticmethod
    def digits_of(counters: Sequence[Counter], *, of_presence: bool = False) -> list[Digits] | None:
        """Choose the digits of all counters, as `Digits.of`; None if one would have many."""
        found: list[Digits] = []
        for counter in counters:
            digits = Digits.of(counter, of_presence=of_presence)
            if digits is None:
                return None
            found.append(digits)
        return found

    def assign(self, slots: I32Array, out: I32Array) -> bool:
        """Write the group of every slot in `slots` to `out`; as `ScoreGroups.assign` does."""
        counts = self._counts()
        if counts is None:
            return False
        parts = zip(counts, self._counted, self._digits, strict=True)
        for of_counter, (_, domains), digits in parts:
            if not spread_kernels.add_digits(domains.reading, of_counter, digits, slots, out):
                return False
        return True

    def _counts(self) -> list[I64Array] | None:
        """Return the counts; None if domains have other numbers now."""
        counts = [counter.current() for counter, _ in self._counted]
        for counter, domains in self._counted:
            # A counter that was dropped and rebuilt meanwhile may use other domains.
            if counter.domains is not domains:
                return None
        return counts
