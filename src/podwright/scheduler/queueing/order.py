"""The order of pods in the active queue.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.scheduler.queueing.pod import QueuedPod

__all__ = ["Less", "SortKey", "priority_sort_key", "sort_key_of"]

SortKey = Callable[[QueuedPod], Any]
"""Returns a pod's sort key: comparable with `<`, hashable, and unique per pod."""

Less = Callable[[QueuedPod, QueuedPod], bool]
"""A QueueSort plugin's rule: whether the first pod goes before the second."""


def priority_sort_key(queued: QueuedPod) -> int:
    """Order by priority, highest first, then by timestamp, then by order of entry.

    One number for the three, because a heap of numbers is several times as fast as one of
    tuples: 64 bits of time and 48 of entries below the priority.
    """
    return (-queued.priority << 112) + (queued.timestamp_ns << 48) + queued.entered_index


def sort_key_of(less: Less) -> SortKey:
    """Build a sort key from a QueueSort plugin's `less`; the order of entry breaks ties."""

    class Key:
        __slots__ = ("queued",)

        def __init__(self, queued: QueuedPod) -> None:
            self.queued = queued

        def __lt__(self, other: Key) -> bool:
            if less(self.queued, other.queued):
                return True
            return (
                not less(other.queued, self.queued)
                and self.queued.entered_index < other.queued.entered_index
            )

    return Key
