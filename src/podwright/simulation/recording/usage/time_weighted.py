"""Means of shares over time, weighted by the time for which each value held."""

from __future__ import annotations

from typing import Final

import msgspec

ABSENT: Final = -1.0
"""The share while no node has the resource; such times do not count."""


class TimeWeightedShare(msgspec.Struct):
    """A share, and its mean so far.

    Attributes
    ----------
    share : float
        Since `since_ns`; -1 (`ABSENT`) while no node has the resource.
    since_ns : int
        The time since which the share holds.
    area_ns : float
        The sum of earlier shares, each multiplied by its duration in nanoseconds.
    lasted_ns : int
        The total duration of these shares.
    """

    share: float
    since_ns: int
    area_ns: float = 0.0
    lasted_ns: int = 0

    @property
    def mean(self) -> float:
        """The mean; the last share if no share lasted."""
        return self.area_ns / self.lasted_ns if self.lasted_ns else max(self.share, 0.0)

    def change(self, share: float, at_ns: int) -> None:
        """Set the share from a time on."""
        if share != self.share:
            self.close(at_ns)
            self.share = share

    def close(self, at_ns: int) -> None:
        """Add the time since which the current share holds."""
        if self.share >= 0:
            self.area_ns += self.share * (at_ns - self.since_ns)
            self.lasted_ns += at_ns - self.since_ns
        self.since_ns = at_ns
