"""Virtual time: a heap of due events, and a current time that advances to the next one.

Events are ordered by (time, turn, counter). The turn orders events of the same time: operations
of users come before their consequences. The counter orders the rest: first in, first out. No two
entries compare equal, so events themselves are never compared, and the order is deterministic.

Upstream of the idea: SimPy's src/simpy/core.py, whose heap has the same counter.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, Generic, TypeVar

import msgspec

from podwright.apimachinery.objects import LAST_NS

T = TypeVar("T")

START_NS: Final = 1_767_225_600_000_000_000
"""The default initial virtual time: 2026-01-01T00:00:00Z."""


class Turn(IntEnum):
    """The order of events of the same time."""

    INPUT = 0
    """Operations of users: recorded changes, new objects, faults."""
    STAGE = 1
    """Stages of nodes and pods."""
    CONTROLLER = 2
    """Delayed syncs of controllers."""
    TIMER = 3
    """Timers of the scheduler."""
    EXTENDER = 4
    """Replies of extenders to calls that took real time, and pods that users activate."""
    TIMED = 5
    """What a timing model has delayed."""


class Due(msgspec.Struct, Generic[T], frozen=True):
    """An event that is due.

    Attributes
    ----------
    due_ns : int
        The time.
    turn : int
        The order among events of the same time: a `Turn`, or a number of the caller.
    counter : int
        Push sequence number, unique.
    event : object
        The event that was pushed.
    """

    due_ns: int
    turn: int
    counter: int
    event: T


class EventHeap(Generic[T]):
    """Due events in order, and the current time.

    Parameters
    ----------
    now_ns : int
        The initial time.

    Attributes
    ----------
    now_ns : int
        The virtual time; to read.

    Examples
    --------
    >>> from podwright.simulation.world import EventHeap, Turn
    >>> heap = EventHeap[str](now_ns=0)
    >>> heap.push(5, Turn.TIMER, "wake up")
    0
    >>> heap.push(5, Turn.INPUT, "a pod appears")
    1
    >>> [heap.pop().event, heap.pop().event, heap.now_ns, heap.pop()]
    ['a pod appears', 'wake up', 5, None]
    """

    def __init__(self, now_ns: int = 0) -> None:
        self.now_ns = now_ns
        self._counter = 0
        self._heap: list[tuple[int, int, int, T]] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def counter(self) -> int:
        """The total number of pushes."""
        return self._counter

    @property
    def next_ns(self) -> int | None:
        """The time of the next event; None if the heap is empty."""
        return self._heap[0][0] if self._heap else None

    def push(self, due_ns: int, turn: int, event: T) -> int:
        """Add an event that is due now or later, and return its counter.

        Events after `LAST_NS` are dropped: tables and logs cannot store their times.

        Parameters
        ----------
        due_ns : int
            When it is due, in nanoseconds since 1970.
        turn : int
            Orders events that are due at the same time.
        event : object
            The event.
        """
        assert due_ns >= self.now_ns, f"due at {due_ns}, which is before now, {self.now_ns}"
        counter = self._counter
        self._counter += 1
        if due_ns <= LAST_NS:
            heapq.heappush(self._heap, (due_ns, turn, counter, event))
        return counter

    def pop(self, until_ns: int | None = None) -> Due[T] | None:
        """Remove the next event, return it, and advance the time to it.

        Parameters
        ----------
        until_ns : int, optional
            Return None, and do not advance, if the next event is due after it.

        Returns
        -------
        Due or None
            None if no event is due until then.
        """
        if not self._heap or (until_ns is not None and self._heap[0][0] > until_ns):
            return None
        due_ns, turn, counter, event = heapq.heappop(self._heap)
        assert due_ns >= self.now_ns, f"time would go back from {self.now_ns} to {due_ns}"
        self.now_ns = due_ns
        return Due(due_ns, turn, counter, event)

    @property
    def due_turn(self) -> int | None:
        """The turn of the next event if it is due now, otherwise None."""
        heap = self._heap
        return heap[0][1] if heap and heap[0][0] <= self.now_ns else None

    def take(self) -> T:
        """Remove the next event and return it; `due_turn` must not be None."""
        assert self.due_turn is not None, "nothing is due yet"
        return heapq.heappop(self._heap)[3]

    def has_only(self, *turns: int) -> bool:
        """Tell whether all events, now and later, are of one of `turns`."""
        return all(entry[1] in turns for entry in self._heap)

    def has_any(self, turn: int) -> bool:
        """Tell whether an event, now or later, is of the turn `turn`."""
        return any(entry[1] == turn for entry in self._heap)

    def advance(self, now_ns: int) -> None:
        """Advance the time to `now_ns`; no event may be due before it."""
        assert now_ns >= self.now_ns, f"time would go back from {self.now_ns} to {now_ns}"
        next_ns = self.next_ns
        assert next_ns is None or now_ns <= next_ns, f"{now_ns} is after what is due at {next_ns}"
        self.now_ns = now_ns

    def entries(self) -> list[Due[T]]:
        """Return all events in order."""
        return [Due(*entry) for entry in sorted(self._heap, key=_place)]

    @classmethod
    def restore(cls, now_ns: int, counter: int, entries: Iterable[Due[T]]) -> EventHeap[T]:
        """Return a heap equal to another one, from its `now_ns`, `counter` and `entries()`."""
        heap = cls(now_ns)
        heap._counter = counter
        heap._heap = [(due.due_ns, due.turn, due.counter, due.event) for due in entries]
        places = {_place(entry) for entry in heap._heap}
        assert len(places) == len(heap._heap), "two entries in one place"
        assert all(number < counter for _, _, number in places), "an entry from the future"
        heapq.heapify(heap._heap)
        return heap


def _place(entry: tuple[int, int, int, object]) -> tuple[int, int, int]:
    return entry[:3]
