"""Stories: a bounded log of the queue's operations on pods."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Touch(NamedTuple):
    """One operation on one pod."""

    now_ns: int
    pod: str
    step: str
    """The name of the queue for a move into it, otherwise a verb."""
    cause: str
    """The label of the event that caused it."""


class Story:
    """A bounded log of touches.

    Parameters
    ----------
    limit_count : int
        The number of touches that are kept for all pods together; 0 keeps none.
    """

    def __init__(self, limit_count: int) -> None:
        # Plain tuples: creating named tuples would cost as much as the rest of an operation.
        self._touches: deque[tuple[int, str, str, str]] = deque(maxlen=limit_count)

    def record(self, now_ns: int, pod: str, step: str, cause: str) -> None:
        """Add one touch; the oldest is dropped beyond the limit."""
        self._touches.append((now_ns, pod, step, cause))

    def touches(self) -> tuple[tuple[int, str, str, str], ...]:
        """Return all kept touches, oldest first."""
        return tuple(self._touches)

    @property
    def latest(self) -> tuple[int, str, str, str] | None:
        """The last touch."""
        return self._touches[-1] if self._touches else None

    def since(
        self, last: tuple[int, str, str, str] | None
    ) -> list[tuple[int, str, str, str]] | None:
        """Return the touches after another one, newest first; None if it is not kept.

        Parameters
        ----------
        last : tuple, optional
            An item of `touches` or of an earlier result: that same tuple, not an equal one. None
            for all touches, which are known as long as none was dropped.
        """
        found: list[tuple[int, str, str, str]] = []
        for touch in reversed(self._touches):
            if touch is last:
                return found
            found.append(touch)
        is_whole = last is None and len(found) != self._touches.maxlen
        return found if is_whole else None

    def of(self, pod: str) -> list[Touch]:
        """Return the touches of a pod, oldest first."""
        return [Touch(*touch) for touch in self._touches if touch[1] == pod]
