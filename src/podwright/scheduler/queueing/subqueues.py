"""The subqueues: active, backoff, error backoff and unschedulable.

A waiting pod is in exactly one of them, under its `namespace/name`. `queue` decides in which one;
this module moves the pods.
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.queueing.backoff import BackoffQueue
from podwright.scheduler.queueing.heap import LazyHeap
from podwright.scheduler.queueing.order import SortKey
from podwright.scheduler.queueing.pod import QueuedPod, QueueName
from podwright.scheduler.queueing.settings import QueueSettings
from podwright.scheduler.queueing.unschedulable import UnschedulablePods

__all__ = ["BACKING_OFF", "UNSCHEDULABLE", "SubQueues"]

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
        if queued.place is not QueueName.NOWHERE:  # most pods are new or just parked
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
