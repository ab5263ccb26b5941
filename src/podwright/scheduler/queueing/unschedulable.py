"""The unschedulable set: pods that wait for an event, indexed by the plugins that rejected them.

Examining every waiting pod for every event makes a full queue slow. Here an event reaches only the
pods that were rejected by a plugin that registered it.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (unschedulablePods)
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from podwright.scheduler.queueing.heap import LazyHeap
from podwright.scheduler.queueing.pod import QueuedPod, QueueName


class UnschedulablePods:
    """Unschedulable and gated pods by name, by rejecting plugin and by age."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._by_rejector: dict[tuple[str, str], dict[str, QueuedPod]] = {}
        self._unrejected: dict[str, QueuedPod] = {}
        self._watched: dict[str, tuple[tuple[str, str], ...]] = {}
        self._by_age: LazyHeap[QueuedPod] = LazyHeap()
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def add(
        self, queued: QueuedPod, *, watched: tuple[tuple[str, str], ...], can_time_out: bool
    ) -> None:
        """Add the pod under the (profile, plugin) pairs whose events concern it."""
        assert queued.key not in self._pods, queued
        self._pods[queued.key] = queued
        self._watched[queued.key] = watched
        for key in watched:
            self._by_rejector.setdefault(key, {})[queued.key] = queued
        if not watched:
            self._unrejected[queued.key] = queued
        if can_time_out:
            # One integer sorts as the pair of both would, and is compared faster.
            self._by_age.push(queued, (queued.timestamp_ns << 48) + queued.entered_index)
        self.gated_count += queued.is_gated

    def remove(self, queued: QueuedPod) -> None:
        """Remove the pod."""
        del self._pods[queued.key]
        for key in self._watched.pop(queued.key):
            bucket = self._by_rejector[key]
            del bucket[queued.key]
            if not bucket:
                del self._by_rejector[key]
        self._unrejected.pop(queued.key, None)
        self._by_age.remove(queued)
        # Not `is_gated`: PreEnqueue may have accepted the pod before it is moved.
        self.gated_count -= queued.place is QueueName.GATED

    def rejected_by(self, rejectors: Iterable[tuple[str, str]]) -> list[QueuedPod]:
        """Return the pods that one of these (profile, plugin) pairs, or no plugin, rejected.

        The pods are in the order in which they entered the queue.
        """
        if not self._pods:
            return []
        of = self._by_rejector
        groups = [of[rejector] for rejector in rejectors if rejector in of]
        # As upstream (isPodWorthRequeuing): where no plugin is to blame, any event may help.
        if self._unrejected:
            groups.append(self._unrejected)
        if len(groups) <= 1:
            return sorted(groups[0].values(), key=_entered) if groups else []
        found: dict[str, QueuedPod] = {}
        for group in groups:
            found.update(group)
        return sorted(found.values(), key=_entered)

    def in_order(self) -> list[QueuedPod]:
        """Return all pods in the order in which they entered the queue."""
        return sorted(self._pods.values(), key=_entered)

    def first(self, place: QueueName, limit_count: int) -> list[QueuedPod]:
        """Return the first pods of one place in the order in which they entered the queue."""
        pods = (queued for queued in self._pods.values() if queued.place is place)
        return heapq.nsmallest(limit_count, pods, key=_entered)

    def terms_of(self, queued: QueuedPod) -> tuple[tuple[tuple[str, str], ...], bool]:
        """Return `watched` and `can_time_out` of a pod."""
        return self._watched[queued.key], queued.sort_key is not None

    def oldest_ns(self) -> int | None:
        """Return the earliest timestamp among the pods that can time out."""
        oldest = self._by_age.peek()
        return None if oldest is None else oldest.timestamp_ns

    def validate(self) -> None:
        """Assert that the indexes contain exactly the pods of the set."""
        indexed = {name for bucket in self._by_rejector.values() for name in bucket}
        assert indexed | set(self._unrejected) == set(self._pods), indexed
        gated_count = sum(queued.is_gated for queued in self._pods.values())
        assert gated_count == self.gated_count, (gated_count, self.gated_count)


def _entered(queued: QueuedPod) -> int:
    return queued.entered_index
