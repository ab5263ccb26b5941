"""The scheduling queue of 1.16: three queues, two cycle counters.

Theory of operation
-------------------
    add ──► activeQ ──pop──► in flight ──► (bound)
              ▲ ▲                │
              │ │                │ park: has there been a move request since this cycle started?
              │ │                ├─ yes ──► podBackoffQ ──┐
              │ │                └─ no ───► unschedulableQ│
              │ └── backoff is over (flush, each second) ─┘    │
              └── move request: backoff over ──────────────────┤
                                podBackoffQ ◄── still backing off

*activeQ* is ordered by priority, then by the time at which the pod last entered the queue by
`add`, an update of an unknown pod, or `park` after a failure. Moves keep that time.

*A move request* follows a change of the cluster. It moves every unschedulable pod, whatever
rejected it, and records the current scheduling cycle. A pod that is parked in that cycle or an
older one goes to podBackoffQ, because its decision may not include the change. A bound pod moves
only pods with a required affinity to it, but the cycle is recorded as well.

*Backoff* is in `backoff`. *Nominations* are kept by UID; a nomination that exists in memory only
is kept by an update without one.

As a safety net, pods that were unschedulable for more than a minute are moved; this is checked
every 30 seconds.

Time is an argument. `next_due_ns` returns the time of the next flush that would move a pod, and
the driver calls the flush then.

Upstream: pkg/scheduler/internal/queue/scheduling_queue.go
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.classic.affinity import Term, compile_terms
from podwright.scheduler.classic.backoff import BackoffRecord, BackoffRecords
from podwright.scheduler.framework import (
    ASSIGNED_POD,
    NODE,
    POD,
    UNSCHEDULABLE_POD,
    WILDCARD,
    ActionType,
    ClusterEvent,
)
from podwright.scheduler.queueing import (
    SECOND_NS,
    LazyHeap,
    Nominator,
    QueuedPod,
    QueueMetrics,
    QueueName,
    Story,
    Touch,
    priority_sort_key,
)


class ClassicQueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every duration of the queue; the defaults are upstream's constants.

    Parameters
    ----------
    initial_backoff_ns, max_backoff_ns : int
        The initial and the maximum backoff.
    backoff_flush_ns : int
        The interval of `flush_backoff`.
    unschedulable_flush_ns : int
        The interval of `flush_unschedulable`.
    max_unschedulable_ns : int
        The maximum time in unschedulableQ.
    """

    initial_backoff_ns: int = 1 * SECOND_NS
    max_backoff_ns: int = 10 * SECOND_NS
    backoff_flush_ns: int = 1 * SECOND_NS
    unschedulable_flush_ns: int = 30 * SECOND_NS
    max_unschedulable_ns: int = 60 * SECOND_NS


class ClassicQueue:
    """Pending pods under the rules of kube-scheduler 1.16.

    The queue implements `queueing.PodQueue` for a machine or a `BlockingQueue`, and the
    methods of upstream's queue under their own names.

    Parameters
    ----------
    settings : ClassicQueueSettings or None
        Durations.
    start_ns : int
        The start time of the queue, from which the times of both flushes are counted.
    lookup : callable or None
        The newest version of a pod by `namespace/name`, for the nominator.
    story_limit_count : int
        The number of steps that `story` keeps, over all pods.

    Attributes
    ----------
    scheduling_cycle : int
        The number of popped pods.
    move_request_cycle : int
        The scheduling cycle of the last move request; -1 if there was none.
    """

    def __init__(
        self,
        settings: ClassicQueueSettings | None = None,
        *,
        start_ns: int = 0,
        lookup: Callable[[str], Pod | None] | None = None,
        story_limit_count: int = 10_000,
    ) -> None:
        self.settings = ClassicQueueSettings() if settings is None else settings
        self.nominator = Nominator(lookup)
        self.scheduling_cycle = 0
        self.move_request_cycle = -1
        self._start_ns = start_ns
        self._records = BackoffRecords(
            self.settings.initial_backoff_ns, self.settings.max_backoff_ns
        )
        self._active: LazyHeap[QueuedPod] = LazyHeap()
        self._backoff: LazyHeap[QueuedPod] = LazyHeap()
        # Ordered by timestamp, oldest first: pods are parked with the time of their failure.
        self._unschedulable: OrderedDict[str, QueuedPod] = OrderedDict()
        self._terms: dict[str, tuple[Term, ...]] = {}
        """The required affinity terms of the unschedulable pods."""
        self._waiting: dict[str, QueuedPod] = {}
        self._in_flight: dict[str, QueuedPod] = {}
        self._entered_count = 0
        self._story = Story(story_limit_count)
        self._metrics = QueueMetrics()
        self._incoming_total = self._metrics.queue_incoming_pods_total

    # ------------------------------------------------------------ changes of pods

    def add(self, pod: Pod, now_ns: int, *, key: str = "") -> QueueName:
        """Add a new pending pod; it replaces a waiting pod of the same name."""
        self._take(key or pod.key)
        place = self._enter_active(self._new_entry(pod, now_ns), "PodAdd", now_ns)
        self.nominator.add(pod)
        return place

    def add_if_not_present(self, pod: Pod, now_ns: int) -> QueueName:
        """Add a pod, unless a pod of its name is waiting."""
        present = self._waiting.get(pod.key)
        return self.add(pod, now_ns) if present is None else present.place

    def update(self, old: Pod | None, new: Pod, now_ns: int) -> QueueName:
        """Update a pending pod; an unknown pod is added.

        Notes
        -----
        A pod in podBackoffQ moves to activeQ at every change and keeps its record. An unschedulable
        pod moves there, and its record is dropped, if anything but its status changed. A pod in
        flight is in no queue, so it is added, and `park` then drops the earlier version.
        """
        queued = self._waiting.get(new.key)
        if queued is None:
            place = self._enter_active(self._new_entry(new, now_ns), "PodUpdate", now_ns)
            self.nominator.add(new)
            return place
        before = queued.pod if old is None else old
        self.nominator.update(before, new)
        if queued.place is QueueName.UNSCHEDULABLE:
            if not _is_changed(before, new):
                queued.replace_pod(new)
                self._note_terms(queued)
                return queued.place
            self._records.drop(new.key)
        self._take(new.key)
        queued.replace_pod(new)
        return self._enter_active(queued, "PodUpdate", now_ns)

    def delete(self, pod: Pod, now_ns: int, *, key: str = "") -> None:
        """Remove a waiting pod and its nomination.

        Notes
        -----
        The record of a pod in activeQ is kept, the record of any other pod is dropped.
        """
        self.nominator.remove(pod.metadata.uid)
        name = key or pod.key
        queued = self._take(name)
        if queued is None or queued.place is not QueueName.ACTIVE:
            self._records.drop(name)
        if queued is not None:
            queued.place = QueueName.NOWHERE
            self._story.record(now_ns, name, "delete", "")

    # ------------------------------------------------------------------ attempts

    def pop(self, now_ns: int) -> QueuedPod | None:
        """Pop the next pod; return None if activeQ is empty.

        The pod is in flight until `park` or `done` is called for it.
        """
        queued = self._active.pop()
        return None if queued is None else self._pop(queued, now_ns)

    def pop_pod(self, name: str, now_ns: int) -> QueuedPod | None:
        """Pop one pod by `namespace/name` from any queue; return None if it is not waiting."""
        queued = self._take(name)
        return None if queued is None else self._pop(queued, now_ns, is_taken=True)

    def done(self, queued: QueuedPod, now_ns: int) -> None:
        """End the attempt of a pod that is not parked."""
        if self._in_flight.get(queued.uid) is queued:
            del self._in_flight[queued.uid]
            queued.place = QueueName.NOWHERE
            self._story.record(now_ns, queued.key, "done", "")

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
        """Park a pod after a failed attempt in the current cycle.

        These rules ignore which plugins rejected the pod. If a pod of the same name was added in
        the meantime, it stays and this one is dropped.
        """
        if self._in_flight.get(queued.uid) is queued:
            del self._in_flight[queued.uid]
        present = self._waiting.get(queued.key)
        if present is not None:
            queued.place = QueueName.NOWHERE
            self._story.record(now_ns, queued.key, "drop", "already present")
            return present.place
        if pod is not None:
            queued.replace_pod(pod)
        queued.unschedulable_count += 1
        return self._come_back(queued, self.scheduling_cycle, now_ns)

    def add_unschedulable_if_not_present(self, pod: Pod, cycle: int, now_ns: int) -> str:
        """Park a pod that could not be scheduled in a cycle.

        Parameters
        ----------
        pod : Pod
            The pod.
        cycle : int
            `scheduling_cycle` as read when the attempt had failed.
        now_ns : int
            The time of the failure.

        Returns
        -------
        str
            The error if the pod is already waiting, in which case nothing is changed; otherwise
            empty.
        """
        present = self._waiting.get(pod.key)
        if present is not None:
            return _ALREADY_PRESENT[present.place]
        queued = self._in_flight.pop(pod.metadata.uid, None)
        if queued is None:
            queued = self._new_entry(pod, now_ns)
        queued.replace_pod(pod)
        self._come_back(queued, cycle, now_ns)
        return ""

    def _come_back(self, queued: QueuedPod, cycle: int, now_ns: int) -> QueueName:
        queued.timestamp_ns = now_ns
        self._records.fail(queued.key, now_ns)
        cause = "ScheduleAttemptFailure"
        # A move since the attempt's cycle may have resolved the failure, and no second event may
        # come: the pod retries after its backoff.
        if self.move_request_cycle >= cycle:
            place = self._enter_backoff(queued, cause, now_ns)
        else:
            place = self._enter_unschedulable(queued, cause, now_ns)
        self.nominator.add(queued.pod)
        return place

    # ------------------------------------------------------------------ moves

    def move_all_to_active_queue(self, now_ns: int) -> list[str]:
        """Move all unschedulable pods because the cluster has changed."""
        return self._move(list(self._unschedulable.values()), "MoveRequest", now_ns)

    def assigned_pod_added(self, pod: Pod, now_ns: int) -> list[str]:
        """Move the unschedulable pods whose required affinity selects the bound pod."""
        wanting = [
            self._unschedulable[name]
            for name, terms in self._terms.items()
            if any(term.matches(pod) for term in terms)
        ]
        return self._move(wanting, "AssignedPodAdd", now_ns)

    def assigned_pod_updated(self, pod: Pod, now_ns: int) -> list[str]:
        """Move pods after a change of a bound pod, as `assigned_pod_added` does for a new one."""
        return self.assigned_pod_added(pod, now_ns)

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Move pods for an event of the v1.36 rules.

        A pod that was bound or changed moves pods with an affinity to it; a deleted node, or a
        pending pod, moves no pod; every other event moves all pods.
        """
        if event.resource == UNSCHEDULABLE_POD:
            return []
        if event.resource == NODE and event.action == ActionType.DELETE:
            return []
        if event.resource in (ASSIGNED_POD, POD) and event.action != ActionType.DELETE:
            return self.assigned_pod_added(new, now_ns) if isinstance(new, Pod) else []
        if pre_check is None:
            return self.move_all_to_active_queue(now_ns)
        chosen = [queued for queued in self._unschedulable.values() if pre_check(queued.pod)]
        return self._move(chosen, event.label, now_ns)

    def flush_backoff(self, now_ns: int) -> list[str]:
        """Move pods whose backoff has ended to activeQ; upstream runs it once a second."""
        moved = []
        while (queued := self._backoff.peek()) is not None:
            if self._records.is_backing_off(queued.key, now_ns):
                break
            self._backoff.pop()
            self._enter_active(queued, "BackoffComplete", now_ns)
            moved.append(queued.key)
        return moved

    def flush_unschedulable(self, now_ns: int) -> list[str]:
        """Move pods that were unschedulable for too long; upstream runs it every 30 s."""
        limit_ns = self.settings.max_unschedulable_ns
        overdue = []
        for queued in self._unschedulable.values():
            # In the order of failure, so every further pod has waited for less.
            if now_ns - queued.timestamp_ns <= limit_ns:
                break
            overdue.append(queued)
        return self._move(overdue, "UnschedulableTimeout", now_ns) if overdue else []

    def activate(self, pods: Iterable[Pod], now_ns: int) -> list[str]:
        """Move the pods to activeQ immediately; v1.16 has no such method."""
        moved = []
        for pod in pods:
            queued = self._waiting.get(pod.key)
            if queued is not None and queued.place is not QueueName.ACTIVE:
                self._take(pod.key)
                self._enter_active(queued, "ForceActivate", now_ns)
                moved.append(pod.key)
        return moved

    def next_due_ns(self) -> int | None:
        """Return the time of the first flush that would move a pod; None if there is none."""
        settings = self.settings
        due_ns: int | None = None
        head = self._backoff.peek()
        if head is not None:
            record = self._records.get(head.key)
            end_ns = self._start_ns if record is None else record.end_ns
            due_ns = self._flush_at(end_ns, settings.backoff_flush_ns)
        if self._unschedulable:
            oldest = next(iter(self._unschedulable.values()))
            # One more, because the flush moves only pods older than the limit.
            leave_ns = oldest.timestamp_ns + settings.max_unschedulable_ns + 1
            flush_ns = self._flush_at(leave_ns, settings.unschedulable_flush_ns)
            due_ns = flush_ns if due_ns is None else min(due_ns, flush_ns)
        return due_ns

    # ------------------------------------------------------------------ nominations

    def nominate(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate the pod to a node; "" clears the nomination, None follows the pod's status."""
        self.nominator.add(pod, node_name)

    def update_nominated_pod_for_node(self, pod: Pod, node_name: str) -> None:
        """Nominate the pod to a node; "" follows the pod's status."""
        self.nominator.add(pod, node_name or None)

    def delete_nominated_pod_if_exists(self, pod: Pod) -> None:
        """Clear the nomination of a bound pod."""
        self.nominator.remove(pod.metadata.uid)

    # ------------------------------------------------------------------ reads

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def has_next(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(self._active)

    @property
    def unschedulable_count(self) -> int:
        """The number of unschedulable pods."""
        return len(self._unschedulable)

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod of this `namespace/name`, or None."""
        return self._waiting.get(name)

    def in_flight(self) -> list[QueuedPod]:
        """Return the popped pods that are neither parked nor done, in the order of `pop`."""
        return list(self._in_flight.values())

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods of one queue in the order in which they would leave it."""
        match place:
            case QueueName.ACTIVE:
                return self._active.ordered()
            case QueueName.BACKOFF:
                return self._backoff.ordered()
            case QueueName.UNSCHEDULABLE:
                return list(self._unschedulable.values())
            case QueueName.IN_FLIGHT:
                return self.in_flight()
            case _:
                return []

    def first_in(self, place: QueueName, limit_count: int) -> list[QueuedPod]:
        """Return the first pods of `pods_in`; the cost of the others is small."""
        match place:
            case QueueName.ACTIVE:
                return self._active.first(limit_count)
            case QueueName.BACKOFF:
                return self._backoff.first(limit_count)
            case QueueName.UNSCHEDULABLE:
                return list(islice(self._unschedulable.values(), limit_count))
            case QueueName.IN_FLIGHT:
                return list(islice(self._in_flight.values(), limit_count))
            case _:
                return []

    def count_in(self, place: QueueName) -> int:
        """Return the number of pods of one queue."""
        return {
            QueueName.ACTIVE: len(self._active),
            QueueName.BACKOFF: len(self._backoff),
            QueueName.UNSCHEDULABLE: len(self._unschedulable),
            QueueName.IN_FLIGHT: len(self._in_flight),
        }.get(place, 0)

    def moving_events(self, queued: QueuedPod) -> dict[str, tuple[str, ...]]:
        """Return `WILDCARD` for an unschedulable pod: every move request moves it."""
        return {WILDCARD: ()} if queued.place is QueueName.UNSCHEDULABLE else {}

    def timeout_ns(self, queued: QueuedPod) -> int:
        """Return after which time a flush moves an unschedulable pod that no event moved."""
        return queued.timestamp_ns + self.settings.max_unschedulable_ns

    def backoff_end_ns(self, queued: QueuedPod) -> int:
        """Return when the pod's backoff ends; -1 if it has no record."""
        record = self._records.get(queued.key)
        return -1 if record is None else record.end_ns

    def backoff_records(self) -> dict[str, BackoffRecord]:
        """Return the backoff records by `namespace/name`; a recorded pod may be in no queue."""
        return self._records.all()

    def metrics(self) -> QueueMetrics:
        """Return the counters, with updated gauges."""
        self._metrics.pending_pods = {
            "active": len(self._active),
            "backoff": len(self._backoff),
            "unschedulable": len(self._unschedulable),
            "gated": 0,
        }
        return self._metrics

    def story(self, name: str) -> list[Touch]:
        """Return the steps of the pod of this `namespace/name`, oldest first."""
        return self._story.of(name)

    def validate(self) -> None:
        """Assert every invariant; slow, for tests."""
        found = {
            place: {queued.key for queued in self.pods_in(place)}
            for place in (QueueName.ACTIVE, QueueName.BACKOFF, QueueName.UNSCHEDULABLE)
        }
        assert sum(map(len, found.values())) == len(self._waiting), found
        for name, queued in self._waiting.items():
            assert name in found[queued.place], (queued, self.story(name))
        assert self._terms.keys() <= self._unschedulable.keys(), self._terms.keys()
        for queued in self._in_flight.values():
            assert self._waiting.get(queued.key) is not queued, (queued, self.story(queued.key))
        waits = [queued.timestamp_ns for queued in self._unschedulable.values()]
        assert waits == sorted(waits), "unschedulable pods are not in the order of their failure"
        updates = [record.updated_ns for record in self._records.all().values()]
        assert updates == sorted(updates), "records are not in the order of their last update"
        assert self.move_request_cycle <= self.scheduling_cycle, self.move_request_cycle
        self.nominator.validate()

    # ------------------------------------------------------------------ internals

    def _new_entry(self, pod: Pod, now_ns: int) -> QueuedPod:
        self._entered_count += 1
        return QueuedPod(pod, self._entered_count, now_ns)

    def _pop(self, queued: QueuedPod, now_ns: int, *, is_taken: bool = False) -> QueuedPod:
        if not is_taken:
            del self._waiting[queued.key]
        self.scheduling_cycle += 1
        queued.attempts += 1
        queued.place = QueueName.IN_FLIGHT
        self._in_flight[queued.uid] = queued
        self._story.record(now_ns, queued.key, "pop", "")
        return queued

    def _take(self, name: str) -> QueuedPod | None:
        """Remove a waiting pod from its queue; its entry keeps the name of that queue."""
        queued = self._waiting.pop(name, None)
        if queued is not None:
            self._leave(queued)
        return queued

    def _leave(self, queued: QueuedPod) -> None:
        match queued.place:
            case QueueName.ACTIVE:
                self._active.remove(queued)
            case QueueName.BACKOFF:
                self._backoff.remove(queued)
            case _:
                del self._unschedulable[queued.key]
                self._terms.pop(queued.key, None)

    def _enter_active(self, queued: QueuedPod, cause: str, now_ns: int) -> QueueName:
        if queued.initial_attempt_ns is None:
            queued.initial_attempt_ns = now_ns
        self._active.push(queued, priority_sort_key(queued))
        queued.place = QueueName.ACTIVE
        self._record_step(queued, "active", cause, now_ns)
        return QueueName.ACTIVE

    def _enter_backoff(self, queued: QueuedPod, cause: str, now_ns: int) -> QueueName:
        # The record cannot change while the pod is in podBackoffQ: only a failure renews it, and it
        # is dropped only after its end.
        record = self._records.get(queued.key)
        end_ns = 0 if record is None else record.end_ns
        # One number for end and order of entry, because a heap of numbers is faster than a heap of
        # tuples.
        self._backoff.push(queued, (end_ns << 48) + queued.entered_index)
        queued.place = QueueName.BACKOFF
        self._record_step(queued, "backoff", cause, now_ns)
        return QueueName.BACKOFF

    def _enter_unschedulable(self, queued: QueuedPod, cause: str, now_ns: int) -> QueueName:
        self._unschedulable[queued.key] = queued
        if queued.pod.spec.affinity is not None:
            self._note_terms(queued)
        queued.place = QueueName.UNSCHEDULABLE
        self._record_step(queued, "unschedulable", cause, now_ns)
        return QueueName.UNSCHEDULABLE

    def _note_terms(self, queued: QueuedPod) -> None:
        required = queued.pod.spec.pod_affinity.required
        if required:
            self._terms[queued.key] = compile_terms(queued.pod, required)
        else:
            self._terms.pop(queued.key, None)

    def _record_step(self, queued: QueuedPod, place: str, cause: str, now_ns: int) -> None:
        """Record the queue of the pod, with its name in the metrics."""
        self._waiting[queued.key] = queued
        self._incoming_total[place, cause] += 1
        self._story.record(now_ns, queued.key, place, cause)

    def _move(self, pods: list[QueuedPod], cause: str, now_ns: int) -> list[str]:
        moved = []
        for queued in pods:
            self._leave(queued)
            if self._records.is_backing_off(queued.key, now_ns):
                self._enter_backoff(queued, cause, now_ns)
            else:
                self._enter_active(queued, cause, now_ns)
            moved.append(queued.key)
        # Also if no pod was moved: a pod in flight may need the event.
        self.move_request_cycle = self.scheduling_cycle
        return moved

    def _flush_at(self, when_ns: int, interval_ns: int) -> int:
        """Return the first flush at or after an instant."""
        return self._start_ns - (self._start_ns - when_ns) // interval_ns * interval_ns


_ALREADY_PRESENT: Final = {
    QueueName.UNSCHEDULABLE: "pod is already present in unschedulableQ",
    QueueName.ACTIVE: "pod is already present in the activeQ",
    QueueName.BACKOFF: "pod is already present in the backoffQ",
}


def _is_changed(old: Pod, new: Pod) -> bool:
    """Whether anything but status, resourceVersion and generation differs (isPodUpdated)."""
    return _stable_part(old) != _stable_part(new)


def _stable_part(pod: Pod) -> tuple[Any, ...]:
    metadata = msgspec.structs.replace(pod.metadata, resource_version="", generation=0)
    raw = {key: part for key, part in pod.raw.items() if key != "status"}
    if "metadata" in raw:
        raw["metadata"] = {
            key: value
            for key, value in raw["metadata"].items()
            if key not in ("resourceVersion", "generation")
        }
    return metadata, pod.spec, raw
