"""The subqueues: active, backoff, error backoff and unschedulable.

A waiting pod is in exactly one of them, under its `namespace/name`. `queue` decides in which one;
this module moves the pods.

Notes
-----
Upstream: pkg/scheduler/backend/queue/backoff_queue.go;
pkg/scheduler/backend/queue/scheduling_queue.go (unschedulablePods).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Concerned
from podwright.scheduler.queueing.heap import LazyHeap
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod, SortKey
from podwright.scheduler.queueing.settings import QueueSettings

BACKING_OFF = frozenset({QueueName.BACKOFF, QueueName.ERROR_BACKOFF})
UNSCHEDULABLE = frozenset({QueueName.UNSCHEDULABLE, QueueName.GATED})


class SubQueues:
    """Active, backoff, error backoff and the unschedulable set.

    Parameters
    ----------
    settings : QueueSettings
        Durations and switches.
    active_key : SortKey
        The order of active, and of backoff within one window.
    """

    def __init__(self, settings: QueueSettings, active_key: SortKey) -> None:
        self._active_key = active_key
        self._pods: dict[str, QueuedPod] = {}
        self.active: LazyHeap[QueuedPod] = LazyHeap()
        self.backoff = BackoffQueue(settings, active_key)
        self.unschedulable = UnschedulablePods()

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod of that name, or None."""
        return self._pods.get(name)

    def put_active(self, queued: QueuedPod) -> QueueName:
        """Move the pod to active."""
        if queued.place is not QueueName.NOWHERE:  # most pods are new
            self._leave(queued)
        self.active.push(queued, self._active_key(queued))
        return self._enter(queued, QueueName.ACTIVE)

    def put_backoff(self, queued: QueuedPod) -> QueueName:
        """Move the pod to backoff, or to error backoff if no plugin rejected it."""
        self._leave(queued)
        return self._enter(queued, self.backoff.add(queued))

    def put_unschedulable(
        self, queued: QueuedPod, *, watched: tuple[tuple[str, str], ...], can_time_out: bool
    ) -> QueueName:
        """Move the pod to the unschedulable set, as gated if a plugin gates it.

        Parameters
        ----------
        queued : QueuedPod
            The pod.
        watched : tuple of (profile, plugin)
            The plugins whose events concern the pod; empty for all events.
        can_time_out : bool
            Whether the flush of unschedulable pods requeues it.
        """
        place = QueueName.GATED if queued.is_gated else QueueName.UNSCHEDULABLE
        if queued.place is place and self.unschedulable.terms_of(queued) == (watched, can_time_out):
            return place
        self._leave(queued)
        self.unschedulable.add(queued, watched=watched, can_time_out=can_time_out)
        return self._enter(queued, place)

    def restore(self, queued: QueuedPod, place: QueueName) -> None:
        """Restore a pod into active, backoff or error backoff."""
        match place:
            case QueueName.ACTIVE:
                self.active.push(queued, self._active_key(queued))
            case QueueName.BACKOFF | QueueName.ERROR_BACKOFF:
                added = self.backoff.add(queued)
                assert added is place, (queued, added, place)
            case _:
                raise AssertionError(f"{queued} does not wait in {place}")
        self._enter(queued, place)

    def replace_pod(self, queued: QueuedPod, pod: Pod) -> None:
        """Replace the object, and update the position of the pod in its heap."""
        queued.replace_pod(pod)
        if queued.place is QueueName.ACTIVE:
            self.active.remove(queued)
            self.active.push(queued, self._active_key(queued))
        elif queued.place in BACKING_OFF:
            self.backoff.remove(queued)
            self.backoff.add(queued)

    def take(self, queued: QueuedPod) -> None:
        """Remove the pod."""
        self._leave(queued)
        del self._pods[queued.key]

    def pop_active(self) -> QueuedPod | None:
        """Pop the head of active; None if empty."""
        return self._popped(self.active.pop())

    def pop_backoff(self) -> QueuedPod | None:
        """Pop the head of backoff, not of error backoff; None if empty."""
        return self._popped(self.backoff.regular.pop())

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods in one place, in the order in which they leave it."""
        match place:
            case QueueName.ACTIVE:
                return self.active.ordered()
            case QueueName.BACKOFF:
                return self.backoff.regular.ordered()
            case QueueName.ERROR_BACKOFF:
                return self.backoff.errors.ordered()
            case QueueName.UNSCHEDULABLE | QueueName.GATED:
                return [pod for pod in self.unschedulable.in_order() if pod.place is place]
            case QueueName.IN_FLIGHT | QueueName.NOWHERE:
                return []

    def first_in(self, place: QueueName, limit_count: int) -> list[QueuedPod]:
        """Return the first pods in one place, in the order in which they leave it."""
        match place:
            case QueueName.ACTIVE:
                return self.active.first(limit_count)
            case QueueName.BACKOFF:
                return self.backoff.regular.first(limit_count)
            case QueueName.ERROR_BACKOFF:
                return self.backoff.errors.first(limit_count)
            case QueueName.UNSCHEDULABLE | QueueName.GATED:
                return self.unschedulable.first(place, limit_count)
            case QueueName.IN_FLIGHT | QueueName.NOWHERE:
                return []

    def count_in(self, place: QueueName) -> int:
        """Return the number of pods in one place."""
        gated_count = self.unschedulable.gated_count
        return {
            QueueName.ACTIVE: len(self.active),
            QueueName.BACKOFF: len(self.backoff.regular),
            QueueName.ERROR_BACKOFF: len(self.backoff.errors),
            QueueName.UNSCHEDULABLE: len(self.unschedulable) - gated_count,
            QueueName.GATED: gated_count,
        }.get(place, 0)

    def pending_counts(self) -> dict[str, int]:
        """Return the number of pods per place, named as in `scheduler_pending_pods`."""
        gated_count = self.unschedulable.gated_count
        return {
            "active": len(self.active),
            "backoff": len(self.backoff),
            "unschedulable": len(self.unschedulable) - gated_count,
            "gated": gated_count,
        }

    def validate(self) -> None:
        """Assert that every pod is in exactly one place, its `place`."""
        self.unschedulable.validate()
        for heap in (self.active, self.backoff.regular, self.backoff.errors):
            assert len(heap) == len(heap.ordered()), (len(heap), heap.ordered())
        found: dict[str, list[QueueName]] = {}
        for place in (QueueName.ACTIVE, QueueName.BACKOFF, QueueName.ERROR_BACKOFF):
            for queued in self.pods_in(place):
                found.setdefault(queued.key, []).append(place)
        for queued in self.unschedulable:
            place = QueueName.GATED if queued.is_gated else QueueName.UNSCHEDULABLE
            found.setdefault(queued.key, []).append(place)
        assert found.keys() == self._pods.keys(), found.keys() ^ self._pods.keys()
        for name, places in found.items():
            assert places == [self._pods[name].place], (self._pods[name], places)

    def _enter(self, queued: QueuedPod, place: QueueName) -> QueueName:
        queued.place = place
        self._pods[queued.key] = queued
        return place

    def _popped(self, queued: QueuedPod | None) -> QueuedPod | None:
        if queued is not None:
            queued.place = QueueName.NOWHERE
            del self._pods[queued.key]
        return queued

    def _leave(self, queued: QueuedPod) -> None:
        place = queued.place
        # Faster than `match`, which looks up each member of the enum.
        if place in UNSCHEDULABLE:
            self.unschedulable.remove(queued)
        elif place in BACKING_OFF:
            self.backoff.remove(queued)
        elif place is QueueName.ACTIVE:
            self.active.remove(queued)
        queued.place = QueueName.NOWHERE


# Backoff: the delay before a failed pod is retried, and the two heaps of waiting pods.
#
# A pod that failed `count` times waits `initial * 2 ** (count - 1)`, at most `max`. `count` is the
# number of consecutive errors if the last attempt ended in an error, otherwise the number of times
# the pod was unschedulable. The end is rounded down to a whole window (one second), and a pod is
# still backing off during the window in which its backoff ends. So all pods of a window are
# released together, in the order of activeQ.
#
# Pods whose attempt ended in an error wait in a separate heap that is never popped directly,
# because their backoff protects the API server.

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


# The unschedulable set: pods that wait for an event, indexed by the plugins that rejected them.
#
# Examining every waiting pod for every event makes a full queue slow. Here an event reaches only
# the pods that were rejected by a plugin that registered it.


class UnschedulablePods:
    """Unschedulable and gated pods by name, by rejecting plugin and by age."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._by_rejector: dict[tuple[str, str], dict[str, QueuedPod]] = {}
        self._unrejected: dict[str, QueuedPod] = {}
        self._watched: dict[str, tuple[tuple[str, str], ...]] = {}
        # By uid, and by the ResourceClaims that pods name.
        self._by_uid: dict[str, QueuedPod] = {}
        self._by_claim: dict[str, dict[str, QueuedPod]] = {}
        self._subjects: dict[str, tuple[str, list[str]]] = {}
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
        self._by_uid[queued.uid] = queued
        claims = _named_claims(queued.pod)
        self._subjects[queued.key] = queued.uid, claims
        for claim in claims:
            self._by_claim.setdefault(claim, {})[queued.key] = queued
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
        uid, claims = self._subjects.pop(queued.key)
        self._by_uid.pop(uid, None)
        for claim in claims:
            users = self._by_claim[claim]
            users.pop(queued.key, None)
            if not users:
                del self._by_claim[claim]
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

    def concerned(
        self, rejectors: Iterable[tuple[str, str]], concerned: Iterable[Concerned]
    ) -> tuple[list[QueuedPod], dict[tuple[str, str], int]]:
        """Return those of `rejected_by` that events concern, and how many others there are."""
        found = dict(self._unrejected)
        for each in concerned:
            found.update(self._by_claim.get(each.claim, {}))
            if each.uid in self._by_uid:
                queued = self._by_uid[each.uid]
                found[queued.key] = queued
        groups = {each: self._by_rejector.get(each, {}) for each in rejectors}
        kept = [
            queued
            for key, queued in found.items()
            if key in self._unrejected or any(key in group for group in groups.values())
        ]
        others = {
            rejector: len(group) - sum([queued.key in group for queued in kept])
            for rejector, group in groups.items()
        }
        return sorted(kept, key=_entered), others

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


def _named_claims(pod: Pod) -> list[str]:
    """Return the ResourceClaims that a pod names in its spec, each once."""
    if not pod.spec.resource_claims:
        return []
    namespace = pod.metadata.namespace
    names = dict.fromkeys([entry.resource_claim_name for entry in pod.spec.resource_claims])
    return [f"{namespace}/{name}" for name in names if name]


def _entered(queued: QueuedPod) -> int:
    return queued.entered_index
