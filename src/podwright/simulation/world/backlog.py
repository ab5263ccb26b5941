"""Work that a real clock has left behind: time passes although it is not done.

In virtual time, everything at one time is done before time passes. A world that follows a real
clock may receive more work than it does: while clients create pods without end, pods would never
terminate, leases would not be renewed and syncs would wait for all scheduling cycles. So once a
world has been at one time for many slices, the kinds of its work take turns: a round of scheduling
cycles, a sync of a controller, and what is due next. Timers stay in order.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

SLICES_MAX: Final = 16
"""After how many slices at one time the world is late: 100 ms of slices of 6 ms."""


class Backlogged(IntEnum):
    """The kinds of work that take turns."""

    CYCLES = 0
    SYNCS = 1
    TIME = 2


class Backlog:
    """Whether a world is late, and whose turn it is then.

    Attributes
    ----------
    is_late : bool
    steps : int
        The number of turns so far.
    """

    def __init__(self) -> None:
        self.is_late = False
        self.steps = 0
        self._slices = 0
        self._now_ns = 0
        self._kind = Backlogged.TIME

    def is_left(self, now_ns: int) -> None:
        """Receive the time of the world at the end of a slice that has left work."""
        self._slices = self._slices + 1 if now_ns == self._now_ns else 1
        self._now_ns = now_ns
        self.is_late |= self._slices >= SLICES_MAX

    def is_done(self) -> None:
        """Receive that no work is left."""
        self.is_late = False
        self._slices = 0

    def next_kind(self) -> Backlogged:
        """Return the kind whose turn it is."""
        self.steps += 1
        self._kind = Backlogged((self._kind + 1) % len(Backlogged))
        return self._kind
