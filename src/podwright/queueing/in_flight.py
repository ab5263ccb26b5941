"""What happened while a pod was being scheduled.

A cluster event that arrives between a pod's `pop` and its return could have undone the
rejection it comes back with, so events are kept while a pod popped before them is out. The
log is one list for all pods; a pod remembers where it began. When the oldest pod returns,
the events that only it needed are dropped.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents)
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from podwright.framework import ClusterEvent
from podwright.queueing.pod import QueuedPod, QueueName

__all__ = ["InFlight", "RecordedEvent"]


class RecordedEvent(NamedTuple):
    """An event with the objects it was about."""

    event: ClusterEvent
    old: object | None
    new: object | None


class InFlight:
    """The popped pods and the events since the oldest of them."""

    def __init__(self) -> None:
        # Ordered by pop, so the first entry begins earliest. A plain dict would search its
        # deleted head entries again on every look at the first one.
        self._begins: OrderedDict[str, tuple[int, QueuedPod]] = OrderedDict()
        self._events: deque[RecordedEvent] = deque()
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
        """Return the popped pod of that UID, or None."""
        begin = self._begins.get(uid)
        return None if begin is None else begin[1]

    def begin(self, queued: QueuedPod) -> bool:
        """Start to keep events for a pod that was popped; False if it is out already."""
        if queued.uid in self._begins:
            return False
        self._begins[queued.uid] = (self._dropped_count + len(self._events), queued)
        return True

    def record(self, event: ClusterEvent, old: object | None, new: object | None) -> None:
        """Keep the event for every pod that is out; without any, it is not kept."""
        if self._begins:
            self._events.append(RecordedEvent(event, old, new))
            self.event_counts[event.label] += 1

    def events_since_pop(self, uid: str) -> list[RecordedEvent]:
        """Return what happened since the pod was popped, oldest first."""
        begin_index, _ = self._begins[uid]
        return list(islice(self._events, begin_index - self._dropped_count, None))

    def end(self, uid: str) -> QueuedPod | None:
        """Stop keeping events for the pod; None if it is not out."""
        ended = self._begins.pop(uid, None)
        if ended is None:
            return None
        if not self._events:
            return ended[1]
        oldest = next(iter(self._begins.values()), None)
        keep_from = self._dropped_count + len(self._events) if oldest is None else oldest[0]
        while self._dropped_count < keep_from:
            self.event_counts[self._events.popleft().event.label] -= 1
            self._dropped_count += 1
        return ended[1]

    def flights(self) -> list[tuple[int, QueuedPod]]:
        """Return the popped pods, each with how many of `events` are older than its pop."""
        dropped = self._dropped_count
        return [(begin - dropped, queued) for begin, queued in self._begins.values()]

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """The events that are kept, oldest first."""
        return tuple(self._events)

    def restore(
        self, flights: Iterable[tuple[int, QueuedPod]], events: Iterable[RecordedEvent]
    ) -> None:
        """Set up what `flights` and `events` gave; nothing may be in flight."""
        assert not self._begins, list(self._begins)
        self._events.extend(events)
        for recorded in self._events:
            self.event_counts[recorded.event.label] += 1
        for begin, queued in flights:
            self._begins[queued.uid] = (self._dropped_count + begin, queued)
            queued.place = QueueName.IN_FLIGHT

    def validate(self) -> None:
        """Assert that exactly the events somebody may need are kept."""
        begins = [begin_index for begin_index, _ in self._begins.values()]
        assert begins == sorted(begins), begins
        assert all(begin_index >= self._dropped_count for begin_index in begins), begins
        assert begins or not self._events, f"{len(self._events)} events nobody needs"
