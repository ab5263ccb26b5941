"""The scheduling queue: which pod is scheduled next, and when a rejected pod is retried.

Theory of operation
-------------------
Each pod in the queue is in exactly one place:

    add ──► active ──pop──► in flight ──done──► (gone)
              ▲  ▲              │
              │  │              │ park: the result of the attempt and the events since pop
              │  │              ├─ error, no plugin rejected ────────► error backoff ─┐
              │  │              ├─ rejected, an event may have helped ► backoff ──────┤
              │  │              └─ rejected ─────► unschedulable                      │
              │  │                                   │  event, hint is Queue          │
              │  ├───────────── no longer backing off┤                                │
              │  │                                   └─ still backing off ─► backoff  │
              │  └──────────────────────── flush_backoff: the backoff is over ────────┘
              └─ gated: a PreEnqueue plugin gates the pod until an event that it registered

*active* is ordered by priority, then by time of entry (or by the QueueSort plugin). *backoff* is
ordered by the end of backoff in whole seconds, and within a second as active is. If active is
empty, `pop` takes the head of backoff, so that an idle scheduler does not wait. It never takes
from *error backoff*, whose delay protects the API server.

*unschedulable* pods wait for a cluster event that one of their rejectors registered and whose hint
function returns Queue. An event that arrives while a pod is in flight is kept, and the hints run
for it when the pod is parked. Queue of a pending plugin (the pod was about to succeed) skips the
backoff. As a safety net against wrong hints, `flush_unschedulable` requeues pods that have waited
five minutes.

PreEnqueue runs before every move into active or backoff, so popping from either needs no further
check. It does not run again from backoff to active.

Time is an argument. `next_due_ns` returns when the next flush would move a pod, and the owner of
the clock calls the flush then.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, active_queue.go, backoff_queue.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from podwright.scheduler.queueing.capture import (
    Numbering,
    Numbers,
    QueueParts,
    QueueSnapshot,
    capture,
    restore_parts,
)
from podwright.scheduler.queueing.events import InFlight, derive_pod_update
from podwright.scheduler.queueing.hints import HintTable, HintTables, Requeue
from podwright.scheduler.queueing.nominator import NominationMirror, Nominator
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod, SortKey, priority_sort_key
from podwright.scheduler.queueing.rules import QueueMetrics, Story, Touch
from podwright.scheduler.queueing.settings import QueueSettings
from podwright.scheduler.queueing.subqueues import BACKING_OFF, UNSCHEDULABLE, SubQueues

PreEnqueue = Callable[[Pod], "tuple[str, tuple[str, ...]] | None"]
"""Runs a profile's PreEnqueue plugins: (plugin, reasons) of the first that gates the pod."""

_METRIC_NAME = {
    QueueName.ACTIVE: "active",
    QueueName.BACKOFF: "backoff",
    QueueName.ERROR_BACKOFF: "backoff",
    QueueName.UNSCHEDULABLE: "unschedulable",
    QueueName.GATED: "unschedulable",
}
_ADDED = UNSCHEDULABLE_POD_ADD.label
_OF_NEW_VERSIONS = (_ADDED, UNSCHEDULABLE_POD_UPDATE.label)
"""The labels with which a pod enters active as its status nominates it (moveToActiveQ)."""


class SchedulingQueue:
    """Pending pods under the rules of kube-scheduler 1.36.

    Parameters
    ----------
    settings : QueueSettings
        Durations and switches.
    hints : mapping of scheduler name to HintTable
        The registrations of each profile's plugins. An event that no plugin registered is ignored.
        A pod of a profile without a table is requeued by every event that any plugin registered.
    pre_enqueue : PreEnqueue or None
        Gates pods; None gates no pod.
    sort_key : SortKey or None
        The order of the active queue, from the QueueSort plugin; None is PrioritySort.
    lookup : callable or None
        Returns the newest version of a pod by `namespace/name`, for the nominator.
    mirror : NominationMirror or None
        Receives every nomination and its removal.
    start_ns : int
        When the queue started: the phase of the flush of unschedulable pods.
    story_limit_count : int
        The number of operations that `story` keeps for all pods together.
    """

    def __init__(
        self,
        settings: QueueSettings | None = None,
        *,
        hints: Mapping[str, HintTable] | None = None,
        pre_enqueue: PreEnqueue | None = None,
        sort_key: SortKey | None = None,
        lookup: Callable[[str], Pod | None] | None = None,
        mirror: NominationMirror | None = None,
        start_ns: int = 0,
        story_limit_count: int = 10_000,
    ) -> None:
        self.settings = QueueSettings() if settings is None else settings
        self.nominator = Nominator(lookup, mirror)
        self.scheduling_cycle = 0
        self._hints = HintTables({} if hints is None else dict(hints))
        self._pre_enqueue = pre_enqueue
        self._start_ns = start_ns
        self._story = Story(story_limit_count)
        self._metrics = QueueMetrics()
        self._entered_count = 0
        self._subqueues = SubQueues(
            self.settings, priority_sort_key if sort_key is None else sort_key
        )
        self._in_flight = InFlight()

    # ------------------------------------------------------------ add, update, delete

    def add(self, pod: Pod, now_ns: int, *, key: str = "") -> QueueName:
        """Add a new pending pod; replaces a waiting pod of the same name (its `key`)."""
        queued = self._new_entry(pod, now_ns, key)
        self._discard(queued.key, now_ns)
        return self._to_active(queued, _ADDED, now_ns)

    def update(self, old: Pod | None, new: Pod, now_ns: int) -> QueueName:
        """Update a pending pod to a newer version.

        Parameters
        ----------
        old : Pod or None
            The previous version; None for the version in the queue.
        new : Pod
            The new version. A pod that is not in the queue is added.
        now_ns : int
            The time of the update.

        Returns
        -------
        QueueName
            The place of the pod. A pod in flight stays in flight; the events of the change are
            evaluated when it is parked.
        """
        attempted = self._in_flight.get(new.metadata.uid)
        if attempted is not None:
            before = attempted.pod if old is None else old
            for event in derive_pod_update(before, new):
                self._in_flight.record(event, before, new)
            self._story.record(now_ns, new.key, "update", UNSCHEDULABLE_POD_UPDATE.label)
            return QueueName.IN_FLIGHT
        queued = self._subqueues.get(new.key)
        if queued is None:
            entry = self._new_entry(new, now_ns)
            return self._to_active(entry, UNSCHEDULABLE_POD_UPDATE.label, now_ns)
        before = queued.pod if old is None else old
        self._story.record(now_ns, new.key, "update", UNSCHEDULABLE_POD_UPDATE.label)
        self._subqueues.replace_pod(queued, new)
        self.nominator.update(before, new)
        if queued.place in UNSCHEDULABLE:
            for event in derive_pod_update(before, new):
                verdict = self._hints.verdict(queued, event, before, new)
                self._requeue(queued, verdict, event.label, now_ns)
                if queued.place not in UNSCHEDULABLE:
                    break
        return queued.place

    def delete(self, pod: Pod, now_ns: int, *, key: str = "") -> None:
        """Remove a waiting pod and its nomination; `done` ends the attempt of a pod in flight."""
        self.nominator.remove(pod.metadata.uid)
        self._discard(key or pod.key, now_ns)

    # ------------------------------------------------------------------ attempts

    def pop(self, now_ns: int) -> QueuedPod | None:
        """Pop the next pod; None if there is none.

        The caller returns the pod with `park` or ends its attempt with `done`.
        """
        while True:
            queued = self._subqueues.pop_active()
            if queued is None and self.settings.pop_from_backoff:
                queued = self._subqueues.pop_backoff()
                if queued is not None:
                    self._metrics.queue_incoming_pods_total["active", "PopFromBackoffQ"] += 1
            if queued is None:
                return None
            if self._start_attempt(queued, now_ns):
                return queued

    def pop_pod(self, name: str, now_ns: int) -> QueuedPod | None:
        """Pop a specific pod by `namespace/name` from any place, for its group's attempt.

        None if it is not waiting or PreEnqueue still gates it.

        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, PopSpecificPod
        """
        queued = self._subqueues.get(name)
        # The reason for the gate may have been resolved without a registered event.
        if queued is None or (queued.is_gated and self._check_gates(queued)):
            return None
        self._subqueues.take(queued)
        return queued if self._start_attempt(queued, now_ns) else None

    def done(self, queued: QueuedPod, now_ns: int) -> None:
        """End the attempt of a pod that is not requeued."""
        if self._in_flight.end(queued.uid) is not None:
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
        """Return a pod to the queue after a failed attempt.

        Parameters
        ----------
        queued : QueuedPod
            The pod that `pop` returned.
        now_ns : int
            The time of the failure, from which the backoff is computed.
        unschedulable_plugins, pending_plugins : iterable of str
            The plugins that rejected the pod; none if the attempt ended in an error.
        pod : Pod or None
            The newest version, if it changed during the attempt.
        always_backoff : bool
            Ignore the events during the attempt: members of a pod group are retried together.

        Returns
        -------
        QueueName
            The place of the pod.

        Notes
        -----
        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, AddUnschedulableIfNotPresent
        """
        present = self._subqueues.get(queued.key)
        if present is not None:
            # A pod of the same name was created during the attempt.
            self.done(queued, now_ns)
            return present.place
        if pod is not None:
            queued.replace_pod(pod)
        queued.unschedulable_plugins = frozenset(unschedulable_plugins)
        queued.pending_plugins = frozenset(pending_plugins)
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp_ns = now_ns
        # Pods that fail at the same time, as members of a group do, keep the order of failure.
        queued.entered_index = self._entered_count
        self._entered_count += 1
        queued.backoff_end_ns = None
        queued.was_flushed = False
        self._count_unschedulable(queued, queued.rejectors, 1)
        verdict = (
            Requeue.AFTER_BACKOFF
            if always_backoff
            else self._hints.verdict_in_flight(queued, self._in_flight)
        )
        # Must follow the verdict, which needs the events of the attempt.
        self._in_flight.end(queued.uid)
        return self._requeue(queued, verdict, "ScheduleAttemptFailure", now_ns)

    # ------------------------------------------------------------------ requeueing

    def registers(self, event: ClusterEvent) -> bool:
        """Return whether a plugin registered the event."""
        return self._hints.is_registered(event)

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Requeue the unschedulable pods that a cluster event concerns.

        Parameters
        ----------
        event : ClusterEvent
            The event.
        now_ns : int
            The time of the event.
        old, new : object or None
            The object before and after, for the hint functions.
        pre_check : callable or None
            Only pods for which it returns True are considered.

        Returns
        -------
        list of str
            The pods that left the unschedulable set, in the order in which they entered the
            queue.

        Notes
        -----
        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go,
        MoveAllToActiveOrBackoffQueue
        """
        if not self._subqueues.unschedulable and not self._in_flight:
            # No pod is unschedulable, and no pod in flight could need the event.
            return []
        candidates = self._hints.candidates(event, self._subqueues.unschedulable, old, new)
        if candidates is None:
            return []
        if pre_check is not None:
            candidates = [queued for queued in candidates if pre_check(queued.pod)]
        return self._move(candidates, event, now_ns, old, new)

    def flush_backoff(self, now_ns: int) -> list[str]:
        """Move pods whose backoff is over to active; to be called once per second."""
        completed = self._subqueues.backoff.pop_completed(now_ns)
        for queued in completed:
            self._to_active(queued, "BackoffComplete", now_ns, from_backoff=True)
        return [queued.key for queued in completed]

    def flush_unschedulable(self, now_ns: int) -> list[str]:
        """Requeue pods that have been unschedulable for too long; to be called every 30 s."""
        limit_ns = self.settings.max_unschedulable_ns
        overdue = [
            queued
            for queued in self._subqueues.unschedulable.in_order()
            if now_ns - queued.timestamp_ns > limit_ns
        ]
        if not overdue:
            return []
        for queued in overdue:
            queued.was_flushed = True
        return self._move(overdue, UNSCHEDULABLE_TIMEOUT, now_ns, None, None)

    def activate(self, pods: Iterable[Pod], now_ns: int) -> list[str]:
        """Move the pods to active immediately, from any place.

        The activation of a pod in flight is kept as an event until it is parked. Pods that are
        not in the queue are ignored.
        """
        activated = []
        for pod in pods:
            queued = self._subqueues.get(pod.key)
            if queued is not None and queued.place is not QueueName.ACTIVE:
                from_backoff = queued.place in BACKING_OFF
                place = self._to_active(
                    queued, FORCE_ACTIVATE.label, now_ns, from_backoff=from_backoff
                )
                if place is QueueName.ACTIVE:
                    activated.append(queued.key)
            elif pod.metadata.uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)
                self._story.record(now_ns, pod.key, "activate in flight", FORCE_ACTIVATE.label)
        return activated

    def next_due_ns(self) -> int | None:
        """Return the earliest time at which a flush would move a pod; None if never."""
        due_ns = self._subqueues.backoff.next_release_ns()
        oldest_ns = self._subqueues.unschedulable.oldest_ns()
        if oldest_ns is not None:
            interval_ns = self.settings.unschedulable_flush_ns
            # One more, because the flush requeues only pods older than the limit. The division
            # rounds up to the next flush.
            after_ns = oldest_ns + self.settings.max_unschedulable_ns + 1 - self._start_ns
            flush_ns = self._start_ns + -(-after_ns // interval_ns) * interval_ns
            due_ns = flush_ns if due_ns is None else min(due_ns, flush_ns)
        return due_ns

    # ------------------------------------------------------------------ nominations

    def nominate(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate the pod to the node; "" clears the nomination, None uses the pod's status."""
        self.nominator.add(pod, node_name)

    # ------------------------------------------------------------------ reads

    def __len__(self) -> int:
        return len(self._subqueues)

    @property
    def has_next(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(self._subqueues.active) or (
            self.settings.pop_from_backoff and bool(self._subqueues.backoff.regular)
        )

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod of that `namespace/name`, or None."""
        return self._subqueues.get(name)

    def in_flight(self) -> list[QueuedPod]:
        """Return the pods in flight, in order of `pop`."""
        return list(self._in_flight)

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods in one place, in the order in which they leave it."""
        if place is QueueName.IN_FLIGHT:
            return self.in_flight()
        return self._subqueues.pods_in(place)

    def first_in(self, place: QueueName, limit_count: int) -> list[QueuedPod]:
        """Return the first pods of `pods_in`; the cost of the others is small."""
        if place is QueueName.IN_FLIGHT:
            return self.in_flight()[:limit_count]
        return self._subqueues.first_in(place, limit_count)

    def count_in(self, place: QueueName) -> int:
        """Return the number of pods in one place."""
        if place is QueueName.IN_FLIGHT:
            return len(self._in_flight)
        return self._subqueues.count_in(place)

    def moving_events(self, queued: QueuedPod) -> dict[str, tuple[str, ...]]:
        """Return the events that may move an unschedulable or gated pod; none for other pods.

        Returns
        -------
        dict of str to tuple of str
            By the label of an event, the plugins that registered it and rejected or gate the pod;
            their hints decide then. `WILDCARD` is every event: no plugin rejected the pod.
        """
        return self._hints.moving_events(queued) if queued.place in UNSCHEDULABLE else {}

    def timeout_ns(self, queued: QueuedPod) -> int:
        """Return after which time a flush moves an unschedulable pod that no event moved."""
        return queued.timestamp_ns + self.settings.max_unschedulable_ns

    def backoff_end_ns(self, queued: QueuedPod) -> int:
        """Return when the pod's backoff ends; -1 if it never failed."""
        return self._subqueues.backoff.end_ns(queued)

    def metrics(self) -> QueueMetrics:
        """Return the metrics, with updated gauges."""
        metrics = self._metrics
        metrics.pending_pods = self._subqueues.pending_counts()
        metrics.inflight_events = {
            **{label: count for label, count in self._in_flight.event_counts.items() if count},
            "PodPopped": len(self._in_flight),
        }
        metrics.queueing_hint_executions_total.clear()
        for table in self._hints.tables.values():
            metrics.queueing_hint_executions_total.update(table.executions)
        return metrics

    def story(self, name: str) -> list[Touch]:
        """Return the queue's operations on the pod of that `namespace/name`, oldest first."""
        return self._story.of(name)

    def touches_since(
        self, last: tuple[int, str, str, str] | None
    ) -> list[tuple[int, str, str, str]] | None:
        """Return the operations on pods after another one; see `Story.since`.

        Every move of a pod between places is among them.
        """
        return self._story.since(last)

    def latest_touch(self) -> tuple[int, str, str, str] | None:
        """Return the last operation on a pod; None if there was none."""
        return self._story.latest

    def snapshot(self, numbering: Numbering) -> QueueSnapshot:
        """Return a snapshot for `restore`."""
        return capture(
            self._parts, numbering, entered=self._entered_count, cycle=self.scheduling_cycle
        )

    def restore(
        self, snapshot: QueueSnapshot, numbers: Numbers, place_of: Mapping[int, QueueName]
    ) -> None:
        """Restore a snapshot into this queue, which must be new.

        Parameters
        ----------
        snapshot : QueueSnapshot
        numbers : Numbers
            Resolves the numbers of the snapshot; its queued pods are in no place yet.
        place_of : mapping of int to QueueName
            The place of each queued pod.
        """
        self._entered_count = snapshot.entered_count
        self.scheduling_cycle = snapshot.scheduling_cycle
        restore_parts(self._parts, snapshot, numbers, place_of)

    @property
    def _parts(self) -> QueueParts:
        hints = self._hints.tables
        return QueueParts(
            self._subqueues, self._in_flight, self.nominator, self._metrics, self._story, hints
        )

    def validate(self) -> None:
        """Assert every invariant; slow, for tests.

        Raises
        ------
        AssertionError
            An invariant is violated; the message has the pod and its story.
        """
        self._subqueues.validate()
        self._in_flight.validate()
        self.nominator.validate()
        for queued in self._in_flight:
            assert queued.place is QueueName.IN_FLIGHT, (queued, self.story(queued.key))

    # ------------------------------------------------------------------ private

    def _new_entry(self, pod: Pod, now_ns: int, key: str = "") -> QueuedPod:
        """Create the entry of a new pod."""
        self._entered_count += 1
        return QueuedPod(pod, self._entered_count - 1, now_ns, key)

    def _discard(self, name: str, now_ns: int) -> None:
        queued = self._subqueues.get(name)
        if queued is not None:
            self._subqueues.take(queued)
            self._count_unschedulable(queued, queued.rejectors, -1)
            self._story.record(now_ns, name, "delete", "")

    def _start_attempt(self, queued: QueuedPod, now_ns: int) -> bool:
        """Start an attempt; False if the same pod is already in flight."""
        queued.attempts += 1
        rejectors = queued.rejectors
        if rejectors:
            self._count_unschedulable(queued, rejectors, -1)
        if not self._in_flight.begin(queued):
            self._story.record(now_ns, queued.key, "drop", "already in flight")
            return False
        queued.place = QueueName.IN_FLIGHT
        self.scheduling_cycle += 1
        self._story.record(now_ns, queued.key, "pop", "")
        return True

    def _move(
        self,
        candidates: list[QueuedPod],
        event: ClusterEvent,
        now_ns: int,
        old: object | None,
        new: object | None,
    ) -> list[str]:
        moved = []
        label = event.label
        for queued in candidates:
            if queued.is_gated and not self._hints.can_ungate(queued, event):
                continue
            verdict = self._hints.verdict(queued, event, old, new)
            if verdict is Requeue.SKIP:
                continue
            place = self._requeue(queued, verdict, label, now_ns)
            if place not in UNSCHEDULABLE:
                moved.append(queued.key)
        self._in_flight.record(event, old, new)
        return moved

    def _requeue(self, queued: QueuedPod, verdict: Requeue, label: str, now_ns: int) -> QueueName:
        """Move the pod to the place for a verdict.

        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go,
        requeuePodWithQueueingStrategy
        """
        if verdict is Requeue.SKIP:
            return self._to_unschedulable(queued, label, now_ns)
        if verdict is Requeue.AFTER_BACKOFF and self._subqueues.backoff.is_backing_off(
            queued, now_ns
        ):
            return self._to_backoff(queued, label, now_ns)
        return self._to_active(queued, label, now_ns)

    def _to_active(
        self, queued: QueuedPod, label: str, now_ns: int, *, from_backoff: bool = False
    ) -> QueueName:
        # PreEnqueue runs on entry to backoff only if pods are popped from there.
        checked = from_backoff and self.settings.pop_from_backoff
        if not checked and self._check_gates(queued):
            return self._to_unschedulable(queued, label, now_ns)
        if queued.initial_attempt_ns is None:
            queued.initial_attempt_ns = now_ns
        if label in _OF_NEW_VERSIONS:
            # A nomination that only the queue knows ends.
            self.nominator.add(queued.pod)
        return self._record_arrival(queued, self._subqueues.put_active(queued), label, now_ns)

    def _to_backoff(self, queued: QueuedPod, label: str, now_ns: int) -> QueueName:
        if self.settings.pop_from_backoff and self._check_gates(queued):
            return self._to_unschedulable(queued, label, now_ns)
        return self._record_arrival(queued, self._subqueues.put_backoff(queued), label, now_ns)

    def _check_gates(self, queued: QueuedPod) -> bool:
        """Run PreEnqueue, record the gating plugin, and return whether the pod is gated."""
        held = None if self._pre_enqueue is None else self._pre_enqueue(queued.pod)
        if held is None:
            queued.gating_plugin = ""
            queued.gating_reasons = ()
            return False
        plugin, reasons = held
        queued.gating_plugin = plugin
        queued.gating_reasons = tuple(reasons)
        if plugin not in queued.rejectors:
            self._count_unschedulable(queued, (plugin,), 1)
        # The gating plugin stays a rejector, even after it accepts the pod.
        if plugin not in queued.unschedulable_plugins:
            queued.unschedulable_plugins |= {plugin}
        return True

    def _to_unschedulable(self, queued: QueuedPod, label: str, now_ns: int) -> QueueName:
        """Move the pod to the unschedulable set, as gated if a plugin gates it."""
        can_time_out = not queued.is_gated or self._hints.can_ungate(queued, UNSCHEDULABLE_TIMEOUT)
        place = self._subqueues.put_unschedulable(
            queued,
            watched=self._hints.watched(queued),
            can_time_out=can_time_out,
        )
        return self._record_arrival(queued, place, label, now_ns)

    def _record_arrival(
        self, queued: QueuedPod, place: QueueName, label: str, now_ns: int
    ) -> QueueName:
        self._metrics.queue_incoming_pods_total[_METRIC_NAME[place], label] += 1
        self._story.record(now_ns, queued.key, place.text, label)
        return place

    def _count_unschedulable(self, queued: QueuedPod, plugins: Iterable[str], count: int) -> None:
        profile = queued.pod.spec.scheduler_name
        for plugin in plugins:
            self._metrics.unschedulable_pods[plugin, profile] += count
