"""Pods in flight, and the cluster events during their attempts.

A cluster event between a pod's `pop` and its `park` could have resolved the rejection, so events
are kept while a pod popped before them is in flight. All pods share one list of events, and each
pod stores the position at which its attempt started. When the oldest attempt ends, the events that
only it needed are dropped.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents)
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.queueing.pod import QueuedPod, QueueName


class RecordedEvent(NamedTuple):
    """An event with its objects."""

    event: ClusterEvent
    old: object | None
    new: object | None


class InFlight:
    """The pods in flight and the events since the oldest of their attempts started."""

    def __init__(self) -> None:
        # Ordered by pop, so the first entry starts earliest. In a plain dict, finding the first
        # entry would skip all deleted ones each time.
        self._begins: OrderedDict[str, tuple[int, QueuedPod]] = OrderedDict()
        self._events: deque[RecordedEvent] = deque()
        # Positions include the dropped events, so that dropping more does not change them.
        self._dropped_count = 0
        self.event_counts: Counter[str] = Counter()
        """Recorded events by label, for `scheduler_inflight_events`."""

    def __len__(self) -> int:
        return len(self._begins)

    def __contains__(self, uid: str) -> bool:
        return uid in self._begins

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter([queued for _, queued in self._begins.values()])

    def get(self, uid: str) -> QueuedPod | None:
        """Return the pod in flight with that UID, or None."""
        begin = self._begins.get(uid)
        return None if begin is None else begin[1]

    def begin(self, queued: QueuedPod) -> bool:
        """Start keeping events for a popped pod; False if it is already in flight."""
        if queued.uid in self._begins:
            return False
        self._begins[queued.uid] = (self._dropped_count + len(self._events), queued)
        return True

    def record(self, event: ClusterEvent, old: object | None, new: object | None) -> None:
        """Keep the event if any pod is in flight."""
        if self._begins:
            self._events.append(RecordedEvent(event, old, new))
            self.event_counts[event.label] += 1

    def events_since_pop(self, uid: str) -> list[RecordedEvent]:
        """Return the events since the pod was popped, oldest first."""
        begin_index, _ = self._begins[uid]
        return list(islice(self._events, begin_index - self._dropped_count, None))

    def end(self, uid: str) -> QueuedPod | None:
        """Stop keeping events for the pod; None if it is not in flight."""
        ended = self._begins.pop(uid, None)
        if ended is None:
            return None
        if not self._events:
            return ended[1]
        # Events before the pop of the oldest pod that is still in flight concern no pod.
        oldest = next(iter(self._begins.values()), None)
        keep_from = self._dropped_count + len(self._events) if oldest is None else oldest[0]
        while self._dropped_count < keep_from:
            self.event_counts[self._events.popleft().event.label] -= 1
            self._dropped_count += 1
        return ended[1]

    def flights(self) -> list[tuple[int, QueuedPod]]:
        """Return the pods in flight, each with the number of `events` before its pop."""
        dropped = self._dropped_count
        return [(begin - dropped, queued) for begin, queued in self._begins.values()]

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """The kept events, oldest first."""
        return tuple(self._events)

    def restore(
        self, flights: Iterable[tuple[int, QueuedPod]], events: Iterable[RecordedEvent]
    ) -> None:
        """Restore the values of `flights` and `events`; no pod may be in flight."""
        assert not self._begins, list(self._begins)
        self._events.extend(events)
        for recorded in self._events:
            self.event_counts[recorded.event.label] += 1
        for begin, queued in flights:
            self._begins[queued.uid] = (self._dropped_count + begin, queued)
            queued.place = QueueName.IN_FLIGHT

    def validate(self) -> None:
        """Assert that only events that a pod in flight may need are kept."""
        begins = [begin_index for begin_index, _ in self._begins.values()]
        assert begins == sorted(begins), begins
        assert all(begin_index >= self._dropped_count for begin_index in begins), begins
        assert begins or not self._events, f"{len(self._events)} events are not needed"
