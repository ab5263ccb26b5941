"""When the real scheduler observed changes of pods, read from its log.

The log has the observation of each new pod. The log of kube-scheduler itself also has the
observation of pods that have a node for the first time, and of pods that ended: it is complete.
Its other changes are updates, which the scheduler observed between their neighbors.

Notes
-----
Upstream: pkg/scheduler/eventhandlers.go. One goroutine handles the changes of pods, in the order of
the watch; it writes a line to the log, and then changes the cache and the queue. The informer's
field selector ends the watch of pods that succeeded or failed (pkg/scheduler/scheduler.go,
`newPodInformer`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.simulation.files import LogLine, RecordLine

_NEW: Final = "UnschedulablePodAdd"
_ASSIGNED: Final = "AssignedPodAdd"
_ENDED: Final = "AssignedPodDelete"

Observation: TypeAlias = tuple[NamespacedName, str]
"""A pod, and the event as which its change was observed."""


class Arrivals:
    """The changes of pods whose observation the log has, in order.

    Parameters
    ----------
    log : sequence of LogLine
    pods : sequence of RecordLine
        The changes of pods.

    Attributes
    ----------
    indexes : list of int
        Where the log has each of them.
    positions : list of int
        The positions of the changes; both lists increase.
    is_complete : bool
        Whether the log has the observations of pods that have a node or ended.
    """

    def __init__(self, log: Iterable[LogLine], pods: Iterable[RecordLine]) -> None:
        logged: dict[Observation, deque[int]] = defaultdict(deque)
        self.is_complete = False
        for index, line in enumerate(log):
            if line.what == "observed":
                self.is_complete = True
            if line.what == "observed" or (line.what == "queue" and line.event == _NEW):
                logged[line.pod, line.event].append(index)
        found = []
        for position, change in enumerate(pods):
            observation = _observation(change)
            if observation is not None and (left := logged.get(observation)):
                found.append((left.popleft(), position))
        self.indexes: list[int] = []
        self.positions: list[int] = []
        for index, position in _in_order(found):
            self.indexes.append(index)
            self.positions.append(position)

    def count_before(self, index: int) -> int:
        """Return how many of the changes were observed before a line of the log."""
        return bisect_left(self.indexes, index)

    def position_after(self, count: int) -> int:
        """Return the least position of a scheduler that has observed so many of the changes."""
        return self.positions[count - 1] + 1 if count else 0

    def position_before(self, count: int) -> int | None:
        """Return the greatest position of a scheduler that has observed no more than so many.

        None if there are no further ones.
        """
        return self.positions[count] if count < len(self.positions) else None


def _observation(line: RecordLine) -> Observation | None:
    """Return as what the scheduler observes a change; None if its log does not show it."""
    new, old = line.object, line.old
    if not isinstance(new, Pod):
        return None
    if not isinstance(old, Pod):
        if line.event == "Delete" or new.is_terminal:
            return None
        return new.key, _ASSIGNED if new.spec.node_name else _NEW
    if new.uid != old.uid or old.is_terminal:
        return None
    if line.event == "Delete" or new.is_terminal:
        return (new.key, _ENDED) if old.spec.node_name else None
    is_assigned = bool(new.spec.node_name) and not old.spec.node_name
    return (new.key, _ASSIGNED) if is_assigned else None


def _in_order(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the most pairs that increase in both numbers, given in the order of the second.

    Observations that are not in the order of the watch are not of this record, such as those of
    an earlier pod with the same name.
    """
    ends: list[int] = []
    chosen: list[int] = []
    previous: list[int] = []
    for number, (index, _) in enumerate(pairs):
        length = bisect_left(ends, index)
        previous.append(chosen[length - 1] if length else -1)
        ends[length : length + 1] = [index]
        chosen[length : length + 1] = [number]
    path = []
    number = chosen[-1] if chosen else -1
    while number >= 0:
        path.append(pairs[number])
        number = previous[number]
    yield from reversed(path)
