"""Virtual time: a heap of what is due, and a now that goes where the heap says.

What is due is ordered by (time, turn, counter). The turn says who comes first among those of
one time: what the outside does before what follows from it. The counter says the rest: what was
pushed first comes first. No two entries compare equal, so what is pushed is never compared
itself, and one history has one order.

Upstream of the idea: SimPy's src/simpy/core.py, whose heap has the same counter.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, Generic, TypeVar

import msgspec

from podwright.objects import FieldError, InputError, invalid

T = TypeVar("T")

FIRST_NS: Final = -9214560000 * 1_000_000_000
LAST_NS: Final = 9214646400 * 1_000_000_000
"""The beginnings of 1678 and of 2262: the years that fit into 64 bits of nanoseconds."""
POSSIBLE_YEARS: Final = "the years from 1678 to 2261"

START_NS: Final = 1_767_225_600_000_000_000
"""The default initial virtual time: 2026-01-01T00:00:00Z."""


def check_start(start_ns: int, *, source: str = "start_ns") -> None:
    """Refuse a beginning that does not fit into 64 bits of nanoseconds.

    Raises
    ------
    InputError
    """
    if not FIRST_NS <= start_ns < LAST_NS:
        message = invalid(start_ns, f"{POSSIBLE_YEARS} can be simulated")
        raise InputError([FieldError(source=source, path="", message=message, value=start_ns)])


class Turn(IntEnum):
    """Who comes first at one time."""

    INPUT = 0
    """What the outside does: recorded changes, new objects, faults."""
    STAGE = 1
    """What becomes of nodes and pods by themselves."""
    CONTROLLER = 2
    """What controllers do about it."""
    TIMER = 3
    """What the scheduler wanted to be woken for."""


class Due(msgspec.Struct, Generic[T], frozen=True):
    """Something that is due.

    Attributes
    ----------
    due_ns : int
        When.
    turn : int
        Who comes first at one time: a `Turn`, or a number of the caller's own.
    counter : int
        The how-manieth push this was; no two are the same.
    event : object
        What was pushed.
    """

    due_ns: int
    turn: int
    counter: int
    event: T


class EventHeap(Generic[T]):
    """What is due, in its one order, and the time.

    Parameters
    ----------
    now_ns : int
        The time to begin at.

    Attributes
    ----------
    now_ns : int
        The virtual time; to read.

    Examples
    --------
    >>> from podwright.simulation import EventHeap, Turn
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
        """How many have been pushed, ever."""
        return self._counter

    @property
    def next_ns(self) -> int | None:
        """When the next one is due, None when nothing is."""
        return self._heap[0][0] if self._heap else None

    def push(self, due_ns: int, turn: int, event: T) -> int:
        """Say that something is due, now or later, and return its counter.

        What is due after `LAST_NS` never happens: no table and no log could say when.
        """
        assert due_ns >= self.now_ns, f"due at {due_ns}, which is before now, {self.now_ns}"
        counter = self._counter
        self._counter += 1
        if due_ns <= LAST_NS:
            heapq.heappush(self._heap, (due_ns, turn, counter, event))
        return counter

    def pop(self, until_ns: int | None = None) -> Due[T] | None:
        """Return what comes next and let the time go there.

        Parameters
        ----------
        until_ns : int, optional
            Leave what is due after it, and then leave the time as it is too.

        Returns
        -------
        Due or None
            None when nothing is due, or not until then.
        """
        if not self._heap or (until_ns is not None and self._heap[0][0] > until_ns):
            return None
        due_ns, turn, counter, event = heapq.heappop(self._heap)
        assert due_ns >= self.now_ns, f"time would go back from {self.now_ns} to {due_ns}"
        self.now_ns = due_ns
        return Due(due_ns, turn, counter, event)

    @property
    def due_turn(self) -> int | None:
        """Whose turn it is at the time that it is, None if nothing is due yet."""
        heap = self._heap
        return heap[0][1] if heap and heap[0][0] <= self.now_ns else None

    def take(self) -> T:
        """Return what comes next; ask `due_turn` first whether it is due."""
        assert self.due_turn is not None, "nothing is due yet"
        return heapq.heappop(self._heap)[3]

    def has_only(self, turn: int) -> bool:
        """Tell whether nothing is due, ever, but of one turn."""
        return all(entry[1] == turn for entry in self._heap)

    def advance(self, now_ns: int) -> None:
        """Let time pass up to a moment before which nothing is due."""
        assert now_ns >= self.now_ns, f"time would go back from {self.now_ns} to {now_ns}"
        next_ns = self.next_ns
        assert next_ns is None or now_ns <= next_ns, f"{now_ns} is after what is due at {next_ns}"
        self.now_ns = now_ns

    def entries(self) -> list[Due[T]]:
        """Return all that is due, in order."""
        return [Due(*entry) for entry in sorted(self._heap, key=_place)]

    @classmethod
    def restore(cls, now_ns: int, counter: int, entries: Iterable[Due[T]]) -> EventHeap[T]:
        """Return a heap as another one was, from its `now_ns`, `counter` and `entries()`."""
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
