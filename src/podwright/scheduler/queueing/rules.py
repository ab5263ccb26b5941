"""The interface of a queue that the machine and `BlockingQueue` use.

The configuration's `rules` select the implementation: `SchedulingQueue` of this room, or
`podwright.scheduler.classic.ClassicQueue`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.queueing.nominator import Nominator
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod


class PodQueue(Protocol):
    """A queue of pending pods; `SchedulingQueue` documents each method.

    The parameter `now_ns` of its methods is the time in nanoseconds since 1970.
    """

    @property
    def nominator(self) -> Nominator:
        """The nominations."""

    @property
    def has_next(self) -> bool:
        """Whether `pop` would return a pod."""

    @property
    def scheduling_cycle(self) -> int:
        """The number of popped pods."""

    def __len__(self) -> int: ...

    def add(self, pod: Pod, now_ns: int, *, key: str = "") -> QueueName:
        """Add `pod`, new and pending, at `now_ns`; `key` is its name, if the caller has it."""

    def update(self, old: Pod | None, new: Pod, now_ns: int) -> QueueName:
        """Update a pending pod from `old`, None for the queue's version, to `new` at `now_ns`."""

    def delete(self, pod: Pod, now_ns: int, *, key: str = "") -> None:
        """Remove `pod`, which waits, at `now_ns`; `key` is its name, if the caller has it."""

    def pop(self, now_ns: int) -> QueuedPod | None:
        """Pop the next pod at `now_ns`; None if no pod is active."""

    def pop_pod(self, name: str, now_ns: int) -> QueuedPod | None:
        """Pop the pod `name` at `now_ns`; None if it does not wait."""

    def done(self, queued: QueuedPod, now_ns: int) -> None:
        """End the attempt of `queued`, a pod that is not requeued, at `now_ns`."""

    def park(
        self,
        queued: QueuedPod,
        now_ns: int,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        pod: Pod | None = None,
        always_backoff: bool = False,
    ) -> QueueName:
        """Return a pod to the queue after a failed attempt.

        Parameters
        ----------
        queued : QueuedPod
            The pod that `pop` returned.
        now_ns : int
            The time of the failure, from which the backoff is computed.
        unschedulable_plugins, pending_plugins : iterable of str
            The plugins that rejected the pod; none if the attempt ended in an error.
        pod : Pod, optional
            The newest version, if it changed during the attempt.
        always_backoff : bool
            Ignore the events during the attempt.
        """

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Requeue the pods that a cluster event concerns.

        Parameters
        ----------
        event : ClusterEvent
            The event.
        now_ns : int
            The time of the event.
        old, new : object, optional
            The object before and after, for the hint functions.
        pre_check : callable, optional
            Only pods for which it returns True are considered.
        """

    def flush_backoff(self, now_ns: int) -> list[str]:
        """Move pods whose backoff is over at `now_ns` to active."""

    def flush_unschedulable(self, now_ns: int) -> list[str]:
        """Requeue the pods that have been unschedulable for too long at `now_ns`."""

    def activate(self, pods: Iterable[Pod], now_ns: int) -> list[str]:
        """Move `pods` to active immediately, at `now_ns`."""

    def nominate(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate `pod` to `node_name`; "" clears the nomination, None uses the pod's status."""

    def next_due_ns(self) -> int | None:
        """Return when the next flush would move a pod."""

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod `name` (`namespace/name`), or None."""

    def in_flight(self) -> list[QueuedPod]:
        """Return the pods in flight."""

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods in `place`, in the order in which they leave it."""

    def first_in(self, place: QueueName, limit_count: int) -> list[QueuedPod]:
        """Return the first pods in `place`, at most `limit_count`."""

    def count_in(self, place: QueueName) -> int:
        """Return the number of pods in `place`."""

    def moving_events(self, queued: QueuedPod) -> dict[str, tuple[str, ...]]:
        """Return the events that may move `queued`, and the plugins that registered them."""

    def timeout_ns(self, queued: QueuedPod) -> int:
        """Return after which time a flush moves `queued` if it is unschedulable."""

    def backoff_end_ns(self, queued: QueuedPod) -> int:
        """Return when the backoff of `queued` ends; -1 if it has none."""

    def metrics(self) -> QueueMetrics:
        """Return the counters."""

    def story(self, name: str) -> list[Touch]:
        """Return the queue's operations on the pod `name` (`namespace/name`)."""

    def validate(self) -> None:
        """Assert every invariant."""


# Stories: a bounded log of the queue's operations on pods.


class Touch(NamedTuple):
    """One operation on one pod.

    Attributes
    ----------
    now_ns : int
        When, in nanoseconds since 1970.
    pod : str
        The `namespace/name` of the pod.
    step : str
        The name of the queue for a move into it, otherwise a verb.
    cause : str
        The label of the event that caused it.
    """

    now_ns: int
    pod: str
    step: str
    cause: str


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


# The metrics of the queue, as plain dictionaries that a driver can expose.
#
# The names are upstream's, without the `scheduler_` prefix.


class QueueMetrics:
    """The counters and gauges of the queue."""

    def __init__(self) -> None:
        self.queue_incoming_pods_total: Counter[tuple[str, str]] = Counter()
        """By (queue, event)."""
        self.unschedulable_pods: Counter[tuple[str, str]] = Counter()
        """By (plugin, profile): the waiting pods that the plugin rejected."""
        self.queueing_hint_executions_total: Counter[tuple[str, str, str]] = Counter()
        """By (plugin, event, hint); the driver measures the durations."""
        self.pending_pods: dict[str, int] = {}
        """By queue: active, backoff, unschedulable, gated."""
        self.inflight_events: dict[str, int] = {}
        """By event label, and `PodPopped` for the pods themselves."""
