"""The timers of the machine, in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple


class Timer(NamedTuple):
    """A wake-up that was requested.

    Parameters
    ----------
    due_ns : int
    counter : int
        Orders equal times: the first timer added comes first.
    number : int
        Of the waiting pod, or of the binding cycle if no plugin is named.
    plugin : str
        The Permit plugin whose time is up; "" stands for the delay of a PreBind or Bind
        plugin.
    uid : str
        Of the pod.
    """

    due_ns: int
    counter: int
    number: int
    plugin: str
    uid: str


class Timers:
    """A heap of timers; a timer is never removed, and its owner ignores one that is outdated.

    Attributes
    ----------
    heap : list of Timer
        The timers; public, since every event tests whether there are any, and a call is slower.
    """

    def __init__(self) -> None:
        self.heap: list[Timer] = []
        self._counter = 0

    def add(self, due_ns: int, number: int, uid: str, plugin: str = "") -> int:
        """Schedule a timer; returns its counter."""
        self._counter += 1
        heapq.heappush(self.heap, Timer(due_ns, self._counter, number, plugin, uid))
        return self._counter

    def pop_due(self, now_ns: int) -> Timer | None:
        """Take out the first timer whose time has come; None if there is none."""
        if self.heap and self.heap[0].due_ns <= now_ns:
            return heapq.heappop(self.heap)
        return None

    def snapshot(self) -> tuple[int, tuple[Timer, ...]]:
        """Return how many timers there were, and those that are left, in order."""
        return self._counter, tuple(sorted(self.heap))

    def restore(self, counter: int, timers: Iterable[Timer]) -> None:
        """Restore a snapshot."""
        self._counter = counter
        self.heap = sorted(timers)

    def next_due_ns(self) -> int | None:
        """Return the earliest time; None if there are no timers."""
        return self.heap[0].due_ns if self.heap else None
