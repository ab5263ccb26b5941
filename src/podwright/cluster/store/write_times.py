"""When versions were written, to the second.

A mark says that the versions after one number were written at a time or later. A new mark is made
at most once in a second, so that the marks of hours are few. The times are those that the driver
sets; a store whose driver sets none has no marks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

import msgspec

MARK_PERIOD_NS: Final = 1_000_000_000
"""The shortest time between two marks."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A time of the store.

    Attributes
    ----------
    version : int
        The versions after this one were written at the time or later.
    time_ns : int
        In nanoseconds since 1970.
    """

    version: int
    time_ns: int


class WriteTimes:
    """The marks of a store, in order.

    Parameters
    ----------
    kept_ns : int
        How long marks are kept.
    """

    def __init__(self, kept_ns: int) -> None:
        self._kept_ns = kept_ns
        self._marks: list[Mark] = []
        self._next_mark_ns = 0

    @property
    def newest(self) -> Mark | None:
        """The last mark."""
        return self._marks[-1] if self._marks else None

    def restore(self, marks: Iterable[Mark]) -> None:
        """Set the marks of a file."""
        self._marks = list(marks)
        if self._marks:
            self._next_mark_ns = self._marks[-1].time_ns + MARK_PERIOD_NS

    def note(self, version: int, now_ns: int) -> Mark | None:
        """Make a mark for the versions after one, unless the last mark is still young.

        A time before the last one is ignored.
        """
        if now_ns < self._next_mark_ns:
            return None
        mark = Mark(version, now_ns)
        self._marks.append(mark)
        self._next_mark_ns = now_ns + MARK_PERIOD_NS
        return mark

    def time_of(self, version: int) -> int | None:
        """Return when a version was written, at the earliest; None if no mark is that old."""
        index = bisect_right(self._marks, version - 1, key=_version_of)
        return self._marks[index - 1].time_ns if index else None

    def last_written_before(self, time_ns: int) -> int:
        """Return the last version that was certainly written before a time; 0 if there is none."""
        # The versions of a mark were written within a period; a later one has its own mark.
        index = bisect_right(self._marks, time_ns - MARK_PERIOD_NS, key=_time_of)
        if not index:
            return 0
        return self._marks[min(index, len(self._marks) - 1)].version

    def trim(self) -> int:
        """Discard old marks, and return the time before which there are none any more."""
        if not self._marks:
            return 0
        oldest_ns = self._marks[-1].time_ns - self._kept_ns
        index = bisect_right(self._marks, oldest_ns, key=_time_of)
        # The last mark before that time says when the versions after it were written.
        if index > 1:
            del self._marks[: index - 1]
        return self._marks[0].time_ns

    def validate(self) -> None:
        """Check the order of the marks."""
        for one, two in zip(self._marks, self._marks[1:], strict=False):
            assert one.version <= two.version, f"{one} before {two}"
            assert one.time_ns < two.time_ns, f"{one} before {two}"


def _version_of(mark: Mark) -> int:
    return mark.version


def _time_of(mark: Mark) -> int:
    return mark.time_ns
