"""What touched a pod: the last so many steps of the queue, by pod."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

__all__ = ["Story", "Touch"]


class Touch(NamedTuple):
    """One step that concerned one pod."""

    now_ns: int
    pod: str
    step: str
    """What was done: a queue's name for a move into it, else a verb."""
    cause: str
    """The label of the event behind it."""


class Story:
    """A bounded log of touches.

    Parameters
    ----------
    limit_count : int
        How many touches are kept, over all pods; 0 keeps none.
    """

    def __init__(self, limit_count: int) -> None:
        # Plain tuples: making named ones would cost as much as the rest of a step.
        self._touches: deque[tuple[int, str, str, str]] = deque(maxlen=limit_count)

    def tell(self, now_ns: int, pod: str, step: str, cause: str) -> None:
        """Add one touch, dropping the oldest if there are too many."""
        self._touches.append((now_ns, pod, step, cause))

    def touches(self) -> tuple[tuple[int, str, str, str], ...]:
        """Return every touch that is kept, oldest first."""
        return tuple(self._touches)

    def of(self, pod: str) -> list[Touch]:
        """Return what touched the pod, oldest first."""
        return [Touch(*touch) for touch in self._touches if touch[1] == pod]
