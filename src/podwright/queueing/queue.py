"""The scheduling queue: which pod is tried next, and when a rejected one is tried again.

Theory of operation
-------------------
A pod the queue knows is in exactly one place:

    add ──► active ──pop──► in flight ──done──► (gone)
              ▲  ▲              │
              │  │              │ park: what went wrong, and what happened meanwhile?
              │  │              ├─ an error, nobody to blame ────────► error backoff ─┐
              │  │              ├─ rejected, an event may have helped ► backoff ──────┤
              │  │              └─ rejected ─────► unschedulable                      │
              │  │                                   │  event, hint says Queue         │
              │  ├───────────── no longer backing off┤                                │
              │  │                                   └─ still backing off ─► backoff  │
              │  └──────────────────────── flush_backoff: the backoff is over ────────┘
              └─ gated: a PreEnqueue plugin holds the pod until its event arrives

*active* is ordered by priority, then by time of entry (or as the QueueSort plugin says).
*backoff* is ordered by the end of backoff in whole seconds, within a second as active is.
When active is empty, `pop` takes the head of backoff at once: an idle scheduler makes nobody
wait. It never takes from *error backoff*, whose wait protects the API server.

*unschedulable* pods wait for a cluster event that one of the plugins that rejected them has
registered, and whose hint function answers Queue. An event that arrives while a pod is in
flight is kept and asked about when the pod comes back. A pending plugin's Queue (the pod
was about to succeed) skips the backoff. As a safety net against hints that are wrong,
`flush_unschedulable` moves pods that have waited five minutes.

PreEnqueue runs on every way into active and into backoff, so that popping from either needs
no further check; it does not run again from backoff to active.

Time is an argument. Nothing happens on its own: `next_due_ns` says when the next flush
would do something, and whoever owns the clock calls it then.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, active_queue.go, backoff_queue.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from podwright.framework import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from podwright.objects import Pod
from podwright.queueing.capture import QueueParts, capture, restore_parts
from podwright.queueing.events import derive_pod_update
from podwright.queueing.hint_tables import HintTables
from podwright.queueing.hints import HintTable, Requeue
from podwright.queueing.in_flight import InFlight
from podwright.queueing.metrics import QueueMetrics
from podwright.queueing.nominator import NominationMirror, Nominator
from podwright.queueing.order import SortKey, priority_sort_key
from podwright.queueing.pod import QueuedPod, QueueName
from podwright.queueing.settings import QueueSettings
from podwright.queueing.snapshot import Numbering, Numbers, QueueSnapshot
from podwright.queueing.story import Story, Touch
from podwright.queueing.subqueues import BACKING_OFF, UNSCHEDULABLE, SubQueues

__all__ = ["PreEnqueue", "SchedulingQueue"]

PreEnqueue = Callable[[Pod], "tuple[str, tuple[str, ...]] | None"]
"""Runs a profile's PreEnqueue plugins: (plugin, reasons) of the first that holds the pod."""

_METRIC_NAME = {
    QueueName.ACTIVE: "active",
    QueueName.BACKOFF: "backoff",
    QueueName.ERROR_BACKOFF: "backoff",
    QueueName.UNSCHEDULABLE: "unschedulable",
    QueueName.GATED: "unschedulable",
}
_ADDED = UNSCHEDULABLE_POD_ADD.label


class SchedulingQueue:
    """Pending pods under the rules of kube-scheduler 1.36.

    Parameters
    ----------
    settings : QueueSettings
        Durations and switches.
    hints : mapping of scheduler name to HintTable
        What the plugins of each profile registered. An event nobody registered is ignored; a
        pod of a profile without a table moves on every event somebody registered.
    pre_enqueue : PreEnqueue or None
        Holds pods back; None lets every pod in.
    sort_key : SortKey or None
        The order of the active queue, from the QueueSort plugin (`sort_key_of` makes it from
        a `less`); None is PrioritySort.
    lookup : callable or None
        The newest version of a pod by `namespace/name`, for the nominator.
    mirror : NominationMirror or None
        Told of every nomination and of its end.
    start_ns : int
        When the queue began to run: the phase of the flush of unschedulable pods.
    story_limit_count : int
        How many steps `story` can look back on, over all pods.
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
        self._places = SubQueues(self.settings, priority_sort_key if sort_key is None else sort_key)
        self._in_flight = InFlight()

    # ------------------------------------------------------------ pods come, change and go

    def add(self, pod: Pod, now_ns: int, *, key: str = "") -> QueueName:
        """Take in a new pending pod; one of the same name, its `key`, that waits is replaced."""
        queued = self._begin(pod, now_ns, key)
        self._discard(queued.key, now_ns)
        return self._enter(queued, _ADDED, now_ns)

    def update(self, old: Pod | None, new: Pod, now_ns: int) -> QueueName:
        """Take over a newer version of a pending pod.

        Parameters
        ----------
        old : Pod or None
            The version before; None takes the one the queue has.
        new : Pod
            The pod as it is now. A pod the queue does not know is taken in.
        now_ns : int
            The time of the update.

        Returns
        -------
        QueueName
            Where the pod is now. A pod in flight stays there; the change counts when it
            comes back.
        """
        flying = self._in_flight.get(new.metadata.uid)
        if flying is not None:
            before = flying.pod if old is None else old
            for event in derive_pod_update(before, new):
                self._in_flight.record(event, before, new)
            self._story.tell(now_ns, new.key, "update", UNSCHEDULABLE_POD_UPDATE.label)
            return QueueName.IN_FLIGHT
        queued = self._places.get(new.key)
        if queued is None:
            entry = self._begin(new, now_ns)
            return self._enter(entry, UNSCHEDULABLE_POD_UPDATE.label, now_ns)
        before = queued.pod if old is None else old
        self._story.tell(now_ns, new.key, "update", UNSCHEDULABLE_POD_UPDATE.label)
        self._places.renew(queued, new)
        self.nominator.update(before, new)
        if queued.place in UNSCHEDULABLE:
            for event in derive_pod_update(before, new):
                verdict = self._hints.verdict(queued, event, before, new)
                self._requeue(queued, verdict, event.label, now_ns)
                if queued.place not in UNSCHEDULABLE:
                    break
        return queued.place

    def delete(self, pod: Pod, now_ns: int, *, key: str = "") -> None:
        """Forget a pod that waits, and its nomination; a pod in flight is ended by `done`."""
        self.nominator.remove(pod.metadata.uid)
        self._discard(key or pod.key, now_ns)

    # ------------------------------------------------------------------ attempts

    def pop(self, now_ns: int) -> QueuedPod | None:
        """Take the next pod to try; None if there is none.

        The pod is lent: give it back with `park` or end it with `done`.
        """
        while True:
            queued = self._places.pop_active()
            if queued is None and self.settings.pop_from_backoff:
                queued = self._places.pop_backoff()
                if queued is not None:
                    self._metrics.queue_incoming_pods_total["active", "PopFromBackoffQ"] += 1
            if queued is None:
                return None
            if self._fly(queued, now_ns):
                return queued

    def pop_pod(self, name: str, now_ns: int) -> QueuedPod | None:
        """Take one pod by `namespace/name`, wherever it waits, for its group's attempt.

        None if it is not waiting, or PreEnqueue still holds it back.

        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, PopSpecificPod
        """
        queued = self._places.get(name)
        # What held it back may be over without an event that says so.
        if queued is None or (queued.is_gated and self._holds(queued)):
            return None
        self._places.take(queued)
        return queued if self._fly(queued, now_ns) else None

    def done(self, queued: QueuedPod, now_ns: int) -> None:
        """End the attempt of a pod that does not come back."""
        if self._in_flight.end(queued.uid) is not None:
            queued.place = QueueName.NOWHERE
            self._story.tell(now_ns, queued.key, "done", "")

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
        """Take a pod back after a failed attempt.

        Parameters
        ----------
        queued : QueuedPod
            What `pop` returned.
        now_ns : int
            The time of the failure; the backoff counts from here.
        unschedulable_plugins, pending_plugins : iterable of str
            Who rejected the pod. Nobody: the attempt ended in an error.
        pod : Pod or None
            The newest version, if it changed during the attempt.
        always_backoff : bool
            Do not look at events: members of a pod group are retried together.

        Returns
        -------
        QueueName
            Where the pod waits now.

        Notes
        -----
        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, AddUnschedulableIfNotPresent
        """
        present = self._places.get(queued.key)
        if present is not None:
            # A pod of the same name was created while this one was being tried.
            self.done(queued, now_ns)
            return present.place
        if pod is not None:
            queued.renew(pod)
        queued.unschedulable_plugins = frozenset(unschedulable_plugins)
        queued.pending_plugins = frozenset(pending_plugins)
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp_ns = now_ns
        # Of pods that fail at the same instant, as members of a group do, the first to fail
        # goes first.
        queued.entered_index = self._entered_count
        self._entered_count += 1
        queued.backoff_end_ns = None
        queued.was_flushed = False
        self._charge(queued, queued.rejectors, 1)
        verdict = (
            Requeue.AFTER_BACKOFF
            if always_backoff
            else self._hints.verdict_in_flight(queued, self._in_flight)
        )
        # After the verdict: until here the events of the attempt were needed.
        self._in_flight.end(queued.uid)
        queued.place = QueueName.NOWHERE
        return self._requeue(queued, verdict, "ScheduleAttemptFailure", now_ns)

    # ------------------------------------------------------------------ second chances

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Tell the queue of a change in the cluster.

        Parameters
        ----------
        event : ClusterEvent
            What changed.
        now_ns : int
            When.
        old, new : object or None
            The object before and after, for the hint functions.
        pre_check : callable or None
            Only pods for which it is true are looked at.

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
        if not len(self._places.unschedulable) and not len(self._in_flight):
            # Nobody waits for anything, and nobody will come back to ask.
            return []
        candidates = self._hints.candidates(event, self._places.unschedulable)
        if candidates is None:
            return []
        if pre_check is not None:
            candidates = [queued for queued in candidates if pre_check(queued.pod)]
        return self._move(candidates, event, now_ns, old, new)

    def flush_backoff(self, now_ns: int) -> list[str]:
        """Move pods whose backoff is over to active; meant to run once a second."""
        completed = self._places.backoff.pop_completed(now_ns)
        for queued in completed:
            self._to_active(queued, "BackoffComplete", now_ns, from_backoff=True)
        return [queued.key for queued in completed]

    def flush_unschedulable(self, now_ns: int) -> list[str]:
        """Move pods that have waited too long for an event; meant to run every 30 s."""
        limit_ns = self.settings.max_unschedulable_ns
        overdue = [
            queued
            for queued in self._places.unschedulable.in_order()
            if now_ns - queued.timestamp_ns > limit_ns
        ]
        if not overdue:
            return []
        for queued in overdue:
            queued.was_flushed = True
        return self._move(overdue, UNSCHEDULABLE_TIMEOUT, now_ns, None, None)

    def activate(self, pods: Iterable[Pod], now_ns: int) -> list[str]:
        """Move the pods to active at once, whatever they wait for.

        For a pod in flight the wish is kept until it comes back; other pods are ignored.
        """
        activated = []
        for pod in pods:
            queued = self._places.get(pod.key)
            if queued is not None and queued.place is not QueueName.ACTIVE:
                from_backoff = queued.place in BACKING_OFF
                place = self._to_active(
                    queued, FORCE_ACTIVATE.label, now_ns, from_backoff=from_backoff
                )
                if place is QueueName.ACTIVE:
                    activated.append(queued.key)
            elif pod.metadata.uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)
                self._story.tell(now_ns, pod.key, "activate in flight", FORCE_ACTIVATE.label)
        return activated

    def next_due_ns(self) -> int | None:
        """Return the first instant at which a flush would move a pod; None if never."""
        due_ns = self._places.backoff.next_release_ns()
        oldest_ns = self._places.unschedulable.oldest_ns()
        if oldest_ns is not None:
            interval_ns = self.settings.unschedulable_flush_ns
            after_ns = oldest_ns + self.settings.max_unschedulable_ns + 1 - self._start_ns
            flush_ns = self._start_ns + -(-after_ns // interval_ns) * interval_ns
            due_ns = flush_ns if due_ns is None else min(due_ns, flush_ns)
        return due_ns

    # ------------------------------------------------------------------ nominations

    def nominate(self, pod: Pod, node_name: str | None = None) -> None:
        """Promise the node to the pod; "" takes the promise back, None follows its status."""
        self.nominator.add(pod, node_name)

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return len(self._places)

    @property
    def has_next(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(self._places.active) or (
            self.settings.pop_from_backoff and bool(self._places.backoff.regular)
        )

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod of that `namespace/name`, or None."""
        return self._places.get(name)

    def in_flight(self) -> list[QueuedPod]:
        """Return the popped pods that are neither parked nor done, in order of `pop`."""
        return list(self._in_flight)

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods in one place, in the order in which they would leave it."""
        if place is QueueName.IN_FLIGHT:
            return self.in_flight()
        return self._places.pods_in(place)

    def backoff_end_ns(self, queued: QueuedPod) -> int:
        """Return when the pod's backoff ends; -1 if it never failed."""
        return self._places.backoff.end_ns(queued)

    def metrics(self) -> QueueMetrics:
        """Return the counters, with the gauges brought up to date."""
        metrics = self._metrics
        metrics.pending_pods = self._places.pending_counts()
        metrics.inflight_events = {
            **{label: count for label, count in self._in_flight.event_counts.items() if count},
            "PodPopped": len(self._in_flight),
        }
        metrics.queueing_hint_executions_total.clear()
        for table in self._hints.tables.values():
            metrics.queueing_hint_executions_total.update(table.executions)
        return metrics

    def story(self, name: str) -> list[Touch]:
        """Return what touched the pod of that `namespace/name`, oldest first."""
        return self._story.of(name)

    def snapshot(self, numbering: Numbering) -> QueueSnapshot:
        """Write down everything that `restore` needs."""
        return capture(
            self._parts, numbering, entered=self._entered_count, cycle=self.scheduling_cycle
        )

    def restore(
        self, snapshot: QueueSnapshot, numbers: Numbers, place_of: Mapping[int, QueueName]
    ) -> None:
        """Become as the queue was that `snapshot` was taken of; this one has to be new.

        Parameters
        ----------
        snapshot : QueueSnapshot
        numbers : Numbers
            What its numbers stand for; the queued pods are nowhere yet.
        place_of : mapping of int to QueueName
            Where each queued pod was.
        """
        self._entered_count = snapshot.entered_count
        self.scheduling_cycle = snapshot.scheduling_cycle
        restore_parts(self._parts, snapshot, numbers, place_of)

    @property
    def _parts(self) -> QueueParts:
        hints = self._hints.tables
        return QueueParts(
            self._places, self._in_flight, self.nominator, self._metrics, self._story, hints
        )

    def validate(self) -> None:
        """Assert every invariant; slow, for tests.

        Raises
        ------
        AssertionError
            With the pod and its story, if one is in no place or in two.
        """
        self._places.validate()
        self._in_flight.validate()
        self.nominator.validate()
        for queued in self._in_flight:
            assert queued.place is QueueName.IN_FLIGHT, (queued, self.story(queued.key))

    # ------------------------------------------------------------------ inside

    def _begin(self, pod: Pod, now_ns: int, key: str = "") -> QueuedPod:
        """Make the entry of a pod the queue does not know."""
        self._entered_count += 1
        return QueuedPod(pod, self._entered_count - 1, now_ns, key)

    def _enter(self, queued: QueuedPod, label: str, now_ns: int) -> QueueName:
        """Let a new entry in."""
        place = self._to_active(queued, label, now_ns)
        if place is QueueName.ACTIVE:
            self.nominator.add(queued.pod)
        return place

    def _discard(self, name: str, now_ns: int) -> None:
        queued = self._places.get(name)
        if queued is not None:
            self._places.take(queued)
            self._charge(queued, queued.rejectors, -1)
            self._story.tell(now_ns, name, "delete", "")

    def _fly(self, queued: QueuedPod, now_ns: int) -> bool:
        """Start an attempt; False if the same pod is already being tried."""
        queued.attempts += 1
        rejectors = queued.rejectors
        if rejectors:
            self._charge(queued, rejectors, -1)
        if not self._in_flight.begin(queued):
            self._story.tell(now_ns, queued.key, "drop", "already in flight")
            return False
        queued.place = QueueName.IN_FLIGHT
        self.scheduling_cycle += 1
        self._story.tell(now_ns, queued.key, "pop", "")
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
        """Put the pod where the verdict says.

        Upstream: pkg/scheduler/backend/queue/scheduling_queue.go,
        requeuePodWithQueueingStrategy
        """
        if verdict is Requeue.SKIP:
            return self._place_apart(queued, label, now_ns)
        if verdict is Requeue.AFTER_BACKOFF and self._places.backoff.is_backing_off(queued, now_ns):
            return self._to_backoff(queued, label, now_ns)
        return self._to_active(queued, label, now_ns)

    def _to_active(
        self, queued: QueuedPod, label: str, now_ns: int, *, from_backoff: bool = False
    ) -> QueueName:
        checked = from_backoff and self.settings.pop_from_backoff
        if not checked and self._holds(queued):
            return self._place_apart(queued, label, now_ns)
        if queued.initial_attempt_ns is None:
            queued.initial_attempt_ns = now_ns
        return self._arrived(queued, self._places.put_active(queued), label, now_ns)

    def _to_backoff(self, queued: QueuedPod, label: str, now_ns: int) -> QueueName:
        if self.settings.pop_from_backoff and self._holds(queued):
            return self._place_apart(queued, label, now_ns)
        return self._arrived(queued, self._places.put_backoff(queued), label, now_ns)

    def _holds(self, queued: QueuedPod) -> bool:
        """Run PreEnqueue and note who holds the pod."""
        held = None if self._pre_enqueue is None else self._pre_enqueue(queued.pod)
        if held is None:
            queued.gating_plugin = ""
            queued.gating_reasons = ()
            return False
        plugin, reasons = held
        queued.gating_plugin = plugin
        queued.gating_reasons = tuple(reasons)
        if plugin not in queued.rejectors:
            self._charge(queued, (plugin,), 1)
        # The gating plugin counts as a rejector from now on, also after it lets the pod go.
        if plugin not in queued.unschedulable_plugins:
            queued.unschedulable_plugins |= {plugin}
        return True

    def _place_apart(self, queued: QueuedPod, label: str, now_ns: int) -> QueueName:
        """Put the pod among the unschedulable, as gated if a plugin holds it."""
        can_time_out = not queued.is_gated or self._hints.can_ungate(queued, UNSCHEDULABLE_TIMEOUT)
        place = self._places.put_apart(
            queued,
            watched=self._hints.watched(queued),
            can_time_out=can_time_out,
        )
        return self._arrived(queued, place, label, now_ns)

    def _arrived(self, queued: QueuedPod, place: QueueName, label: str, now_ns: int) -> QueueName:
        self._metrics.queue_incoming_pods_total[_METRIC_NAME[place], label] += 1
        self._story.tell(now_ns, queued.key, place.text, label)
        return place

    def _charge(self, queued: QueuedPod, plugins: Iterable[str], count: int) -> None:
        profile = queued.pod.spec.scheduler_name
        for plugin in plugins:
            self._metrics.unschedulable_pods[plugin, profile] += count
