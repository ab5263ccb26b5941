"""A thread-safe scheduling queue for use outside the scheduler.

Theory of operation
-------------------
`BlockingQueue` is a `PodQueue` with a lock and a condition on which `pop` waits. It has no thread
of its own: a thread that waits in `pop` runs the flushes that are due, and sleeps at most until
the next one. Each change of the queue wakes one waiter. A waiter that returns with a pod wakes the
next one if there is another pod or a flush to wait for. So waiters are woken one at a time, and no
flush is missed.

`close` wakes all waiters with `QueueClosed`, and later calls that pop or add pods raise it. Pods
in flight can still be parked or done, so that workers can finish; the remaining pods stay and can
be listed.

The core does not import this module; it is the only one below the I/O line that uses threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from podwright.apimachinery.objects import Duration, Pod, PodwrightError, read_duration
from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod
from podwright.scheduler.queueing.queue import SchedulingQueue
from podwright.scheduler.queueing.rules import PodQueue
from podwright.scheduler.queueing.settings import SECOND_NS


class QueueClosed(PodwrightError):  # noqa: N818  # a state that ends a loop, like StopIteration
    """The queue was closed; pods can no longer be added or popped."""


class BlockingQueue:
    """A thread-safe queue of pending pods.

    Each pod is returned to exactly one caller of `pop`, which returns it with `park` or ends its
    attempt with `done`.

    Parameters
    ----------
    clock_ns : callable
        Returns the time in nanoseconds, such as `time.time_ns`. Ends of backoff are rounded down
        to whole seconds of this clock.
    queue : PodQueue or None
        The rules and settings; None is a `SchedulingQueue` with upstream's defaults and without
        plugins, in which only `activate` and time move rejected pods. It must not be used
        elsewhere.

    Examples
    --------
    >>> import time
    >>> from podwright.apimachinery.objects import ObjectMeta, Pod
    >>> with BlockingQueue(time.time_ns) as queue:
    ...     queue.add(Pod(metadata=ObjectMeta(namespace="default", name="web", uid="1")))
    ...     queued = queue.pop()
    ...     queue.done(queued)
    ...     queued.key
    <QueueName.ACTIVE: 'active'>
    'default/web'
    """

    def __init__(self, clock_ns: Callable[[], int], queue: PodQueue | None = None) -> None:
        self._clock_ns = clock_ns
        self._queue: PodQueue = SchedulingQueue(start_ns=clock_ns()) if queue is None else queue
        self._changed = threading.Condition()
        self._waiting_count = 0
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BlockingQueue: {len(self)} pods>"

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    # ------------------------------------------------------------------ in

    def add(self, pod: Pod) -> QueueName:
        """Add `pod`, which is new and pending.

        Raises
        ------
        QueueClosed
            After `close`.
        """
        with self._changed:
            self._check_open()
            place = self._queue.add(pod, self._clock_ns())
            self._wake_one()
            return place

    def update(self, old: Pod | None, new: Pod) -> QueueName:
        """Update the pending pod `old`, or the one in the queue if it is None, to `new`.

        Raises
        ------
        QueueClosed
            After `close`.
        """
        with self._changed:
            self._check_open()
            place = self._queue.update(old, new, self._clock_ns())
            self._wake_one()
            return place

    def delete(self, pod: Pod) -> None:
        """Remove `pod`, which waits; allowed after `close`."""
        with self._changed:
            self._queue.delete(pod, self._clock_ns())

    def move(
        self, event: ClusterEvent, *, old: object | None = None, new: object | None = None
    ) -> list[str]:
        """Requeue the pods that a cluster event concerns, and return them.

        Parameters
        ----------
        event : ClusterEvent
            The event.
        old, new : object, optional
            The object before and after, for the hint functions.

        Raises
        ------
        QueueClosed
            After `close`.
        """
        with self._changed:
            self._check_open()
            moved = self._queue.move(event, self._clock_ns(), old=old, new=new)
            self._wake_one()
            return moved

    def activate(self, pods: Iterable[Pod]) -> list[str]:
        """Move `pods` to active immediately, and return those that were moved.

        Raises
        ------
        QueueClosed
            After `close`.
        """
        with self._changed:
            self._check_open()
            activated = self._queue.activate(pods, self._clock_ns())
            self._wake_one()
            return activated

    # ------------------------------------------------------------------ out and back

    def pop(self, timeout: Duration | None = None) -> QueuedPod:
        """Pop the next pod; wait until there is one.

        Parameters
        ----------
        timeout : Duration, optional
            The longest time to wait, such as `30s`; without it there is no limit.

        Raises
        ------
        QueueClosed
            After `close`, also if it is called during the wait.
        TimeoutError
            No pod was available in time.
        """
        timeout_ns = None if timeout is None else read_duration(timeout, "timeout", least_ns=0)
        with self._changed:
            give_up_ns = None if timeout_ns is None else self._clock_ns() + timeout_ns
            while True:
                self._check_open()
                now_ns = self._clock_ns()
                self._flush(now_ns)
                queued = self._queue.pop(now_ns)
                if queued is not None:
                    self._wake_one()
                    return queued
                if give_up_ns is not None and now_ns >= give_up_ns:
                    # This waiter may have consumed a wake-up, or be the one that runs flushes.
                    self._wake_one()
                    raise TimeoutError(f"no pod came within {timeout_ns} ns")
                self._wait(now_ns, give_up_ns)

    def park(
        self,
        queued: QueuedPod,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        pod: Pod | None = None,
    ) -> QueueName:
        """Return a pod after a failed attempt; allowed after `close`.

        Parameters
        ----------
        queued : QueuedPod
            The pod that `pop` returned.
        unschedulable_plugins, pending_plugins : iterable of str
            The plugins that rejected the pod; none if the attempt ended in an error.
        pod : Pod, optional
            The newest version, if it changed during the attempt.
        """
        with self._changed:
            place = self._queue.park(
                queued,
                self._clock_ns(),
                unschedulable_plugins=unschedulable_plugins,
                pending_plugins=pending_plugins,
                pod=pod,
            )
            self._wake_one()
            return place

    def done(self, queued: QueuedPod) -> None:
        """End the attempt of `queued`, a pod that is not requeued; allowed after `close`."""
        with self._changed:
            self._queue.done(queued, self._clock_ns())

    # ------------------------------------------------------------------ ending and looking

    def close(self) -> None:
        """Wake every waiter with `QueueClosed` and reject further pods; idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def waiting(self) -> list[Pod]:
        """Return the pods that wait, in the order of their places and within each place."""
        with self._changed:
            return [
                queued.pod
                for place in QueueName
                for queued in self._queue.pods_in(place)
                if place is not QueueName.IN_FLIGHT
            ]

    def in_flight(self) -> list[Pod]:
        """Return the pods that were popped and are neither parked nor done."""
        with self._changed:
            return [queued.pod for queued in self._queue.in_flight()]

    def validate(self) -> None:
        """Assert every invariant of the queue inside; slow, for tests."""
        with self._changed:
            self._queue.validate()

    # ------------------------------------------------------------------ inside

    def _check_open(self) -> None:
        if self._is_closed:
            raise QueueClosed("the queue is closed")

    def _flush(self, now_ns: int) -> None:
        due_ns = self._queue.next_due_ns()
        if due_ns is not None and due_ns <= now_ns:
            self._queue.flush_backoff(now_ns)
            self._queue.flush_unschedulable(now_ns)

    def _wake_one(self) -> None:
        """Wake a waiter if there is a pod or a flush to wait for."""
        if self._waiting_count and (self._queue.has_next or self._queue.next_due_ns() is not None):
            self._changed.notify()

    def _wait(self, now_ns: int, give_up_ns: int | None) -> None:
        until_ns = [
            moment_ns
            for moment_ns in (self._queue.next_due_ns(), give_up_ns)
            if moment_ns is not None
        ]
        # The platform limits the timeout; a waiter that wakes early waits again.
        timeout = None
        if until_ns:
            timeout = min((min(until_ns) - now_ns) / SECOND_NS, threading.TIMEOUT_MAX)
        self._waiting_count += 1
        try:
            self._changed.wait(timeout)
        finally:
            self._waiting_count -= 1
