"""Backoff: the delay before a failed pod is retried, and the two heaps of waiting pods.

A pod that failed `count` times waits `initial * 2 ** (count - 1)`, at most `max`. `count` is
the number of consecutive errors if the last attempt ended in an error, otherwise the number
of times the pod was unschedulable. The end is rounded down to a whole window (one second), and
a pod is still backing off during the window in which its backoff ends. So all pods of a window
are released together, in the order of activeQ.

Pods whose attempt ended in an error wait in a separate heap that is never popped directly,
because their backoff protects the API server.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.queueing.heap import LazyHeap
from podwright.scheduler.queueing.order import SortKey
from podwright.scheduler.queueing.pod import QueuedPod, QueueName
from podwright.scheduler.queueing.settings import QueueSettings

__all__ = ["BackoffQueue", "backoff_duration_ns"]

_NEVER_TRIED_NS: Final = -1  # precedes every time, so the pod is not backing off


def backoff_duration_ns(count: int, initial_ns: int, max_ns: int) -> int:
    """Return how long a pod waits after its `count`-th failure.

    Upstream: pkg/scheduler/backend/queue/backoff_queue.go, calculateBackoffDuration
    """
    if count == 0:
        return 0
    # Upstream shifts the maximum down instead of the initial value up to avoid an overflow; for
    # integers both comparisons have the same result.
    shift = count - 1
    return max_ns if initial_ns > max_ns >> shift else initial_ns << shift


class BackoffQueue:
    """backoffQ and the error backoffQ.

    Parameters
    ----------
    settings : QueueSettings
        Durations, and whether ends of backoff are rounded to windows.
    active_key : SortKey
        The order of activeQ; it also orders pods whose backoff ends in the same window.
    """

    def __init__(self, settings: QueueSettings, active_key: SortKey) -> None:
        self._settings = settings
        self._active_key = active_key
        self._window_ns = settings.backoff_window_ns if settings.pop_from_backoff else 1
        self.regular: LazyHeap[QueuedPod] = LazyHeap()
        self.errors: LazyHeap[QueuedPod] = LazyHeap()

    def __len__(self) -> int:
        return len(self.regular) + len(self.errors)

    def end_ns(self, queued: QueuedPod) -> int:
        """Return when the pod's backoff ends; computed once per failure."""
        count = queued.consecutive_errors or queued.unschedulable_count
        if count == 0:
            return _NEVER_TRIED_NS
        if queued.backoff_end_ns is None:
            settings = self._settings
            wait_ns = backoff_duration_ns(
                count, settings.initial_backoff_ns, settings.max_backoff_ns
            )
            end_ns = queued.timestamp_ns + wait_ns
            queued.backoff_end_ns = end_ns - end_ns % self._window_ns
        return queued.backoff_end_ns

    def is_backing_off(self, queued: QueuedPod, now_ns: int) -> bool:
        """Whether the pod is still backing off, which includes the window of the end."""
        if self._settings.max_backoff_ns == 0:
            return False
        return self.end_ns(queued) >= now_ns - now_ns % self._window_ns

    def add(self, queued: QueuedPod) -> QueueName:
        """Add the pod to the heap for the result of its last attempt."""
        end_ns = self.end_ns(queued)
        if queued.unschedulable_plugins or queued.pending_plugins:
            key = (
                (end_ns, self._active_key(queued))
                if self._settings.pop_from_backoff
                else (end_ns, queued.entered_index)
            )
            self.regular.push(queued, key)
            return QueueName.BACKOFF
        # No attempt starts from this heap, so it does not need activeQ's order within a window;
        # the index makes the keys unique.
        self.errors.push(queued, (end_ns, queued.entered_index))
        return QueueName.ERROR_BACKOFF

    def remove(self, queued: QueuedPod) -> None:
        """Remove the pod from its heap."""
        heap = self.errors if queued.place is QueueName.ERROR_BACKOFF else self.regular
        heap.remove(queued)

    def pop_completed(self, now_ns: int) -> list[QueuedPod]:
        """Remove and return the pods whose backoff is over, in order, errors last."""
        completed: list[QueuedPod] = []
        for heap in (self.regular, self.errors):
            while (head := heap.peek()) is not None and not self.is_backing_off(head, now_ns):
                heap.pop()
                completed.append(head)
        return completed

    def next_release_ns(self) -> int | None:
        """Return the earliest time at which `pop_completed` returns a pod; None if empty."""
        heads = [head for heap in (self.regular, self.errors) if (head := heap.peek())]
        if not heads:
            return None
        if self._settings.max_backoff_ns == 0:
            return 0
        first_ns = min(self.end_ns(head) for head in heads)
        # The window in which the backoff ends still counts as backing off.
        return first_ns - first_ns % self._window_ns + self._window_ns
