"""Taking and restoring snapshots of a queue, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from podwright.apimachinery.objects import KubernetesObject, Pod
from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.queueing.events import InFlight, RecordedEvent
from podwright.scheduler.queueing.hints import HintTable
from podwright.scheduler.queueing.nominator import Nominator
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod
from podwright.scheduler.queueing.rules import QueueMetrics, Story
from podwright.scheduler.queueing.subqueues import SubQueues


class QueueParts(NamedTuple):
    """The parts of a queue."""

    subqueues: SubQueues
    in_flight: InFlight
    nominator: Nominator
    metrics: QueueMetrics
    story: Story
    hints: Mapping[str, HintTable]


def capture(parts: QueueParts, numbering: Numbering, *, entered: int, cycle: int) -> QueueSnapshot:
    """Take a snapshot of the parts.

    Parameters
    ----------
    numbering : Numbering
        Assigns numbers to objects and queued pods.
    entered, cycle : int
        The numbers of entries and of attempts since the start.
    """
    subqueues, metrics = parts.subqueues, parts.metrics

    def optional(obj: object | None) -> int | None:
        return numbering.of(obj) if isinstance(obj, KubernetesObject) else None

    return QueueSnapshot(
        entered_count=entered,
        scheduling_cycle=cycle,
        waiting=tuple(
            numbering.of_queued(queued)
            for place in (QueueName.ACTIVE, QueueName.BACKOFF, QueueName.ERROR_BACKOFF)
            for queued in subqueues.pods_in(place)
        ),
        apart=tuple(
            WaitSnapshot(numbering.of_queued(queued), *subqueues.unschedulable.terms_of(queued))
            for queued in subqueues.unschedulable.in_order()
        ),
        in_flight=tuple(
            FlightSnapshot(numbering.of_queued(queued), begin)
            for begin, queued in parts.in_flight.flights()
        ),
        events=tuple(
            RecordedEventSnapshot(event, optional(old), optional(new))
            for event, old, new in parts.in_flight.events
        ),
        nominations=tuple(
            NominationSnapshot(node, numbering.of(pod))
            for node, pods in parts.nominator.nodes().items()
            for pod in pods
        ),
        incoming=_counted(metrics.queue_incoming_pods_total),
        unschedulable=_counted(metrics.unschedulable_pods),
        executions=tuple(
            (profile, *key, count)
            for profile, table in parts.hints.items()
            for key, count in sorted(table.executions.items())
        ),
        touches=parts.story.touches(),
    )


def restore_parts(
    parts: QueueParts,
    snapshot: QueueSnapshot,
    numbers: Numbers,
    place_of: Mapping[int, QueueName],
) -> None:
    """Restore a snapshot into new parts."""
    for number in snapshot.waiting:
        parts.subqueues.restore(numbers.queued(number), place_of[number])
    for wait in snapshot.apart:
        parts.subqueues.put_unschedulable(
            numbers.queued(wait.queued), watched=wait.watched, can_time_out=wait.can_time_out
        )
    parts.in_flight.restore(
        [(flight.begin, numbers.queued(flight.queued)) for flight in snapshot.in_flight],
        [
            RecordedEvent(
                recorded.event,
                None if recorded.old is None else numbers.object(recorded.old),
                None if recorded.new is None else numbers.object(recorded.new),
            )
            for recorded in snapshot.events
        ],
    )
    for nomination in snapshot.nominations:
        parts.nominator.restore(numbers.pod(nomination.pod), nomination.node)
    for name, event, count in snapshot.incoming:
        parts.metrics.queue_incoming_pods_total[name, event] = count
    for plugin, profile, count in snapshot.unschedulable:
        parts.metrics.unschedulable_pods[plugin, profile] = count
    for profile, plugin, event, answer, count in snapshot.executions:
        if profile in parts.hints:
            parts.hints[profile].executions[plugin, event, answer] = count
    for touch in snapshot.touches:
        parts.story.record(*touch)


def _counted(counter: Mapping[tuple[str, str], int]) -> tuple[tuple[str, str, int], ...]:
    # The counters' insertion order follows the iteration order of sets, which differs between
    # processes.
    return tuple((first, second, count) for (first, second), count in sorted(counter.items()))


# Snapshots of a queue as plain values.
#
# The caller numbers objects and queued pods, because the machine shares them with the queue: after
# a restore both must refer to the same instances. Field names and their order are stored in
# checkpoints.


class Numbering(Protocol):
    """Assigns numbers to the objects and queued pods of a snapshot."""

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""

    def of_queued(self, queued: QueuedPod) -> int:
        """Return the number of a queued pod."""


class Numbers(Protocol):
    """Resolves the numbers of a snapshot."""

    def object(self, number: int) -> KubernetesObject:
        """Return an object."""

    def pod(self, number: int) -> Pod:
        """Return an object that is a pod."""

    def queued(self, number: int) -> QueuedPod:
        """Return a queued pod."""


class QueuedPodSnapshot(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A `QueuedPod`, field by field."""

    pod: int
    entered_index: int
    place: str
    timestamp_ns: int
    initial_attempt_ns: int | None
    attempts: int
    unschedulable_count: int
    consecutive_errors: int
    backoff_end_ns: int | None
    unschedulable_plugins: tuple[str, ...]
    pending_plugins: tuple[str, ...]
    gating_plugin: str
    gating_reasons: tuple[str, ...]
    was_flushed: bool


class WaitSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """A pod in the unschedulable set: the plugins whose events concern it, and its timeout."""

    queued: int
    watched: tuple[tuple[str, str], ...]
    can_time_out: bool


class FlightSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """A pod in flight, and the number of kept events before it was popped."""

    queued: int
    begin: int


class RecordedEventSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """An event that is kept for pods in flight."""

    event: ClusterEvent
    old: int | None
    new: int | None


class NominationSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """One nomination."""

    node: str
    pod: int


class QueueSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a `SchedulingQueue`.

    Parameters
    ----------
    waiting : tuple of int
        The queued pods in active, backoff and error backoff, in the order of their queues.
    apart : tuple of WaitSnapshot
        The unschedulable and gated pods.
    executions : tuple
        The calls of hint functions, by profile.
    """

    entered_count: int
    scheduling_cycle: int
    waiting: tuple[int, ...]
    apart: tuple[WaitSnapshot, ...]
    in_flight: tuple[FlightSnapshot, ...]
    events: tuple[RecordedEventSnapshot, ...]
    nominations: tuple[NominationSnapshot, ...]
    incoming: tuple[tuple[str, str, int], ...]
    unschedulable: tuple[tuple[str, str, int], ...]
    executions: tuple[tuple[str, str, str, str, int], ...]
    touches: tuple[tuple[int, str, str, str], ...]


def queued_snapshot(queued: QueuedPod, numbering: Numbering) -> QueuedPodSnapshot:
    """Take a snapshot of one queued pod."""
    return QueuedPodSnapshot(
        pod=numbering.of(queued.pod),
        entered_index=queued.entered_index,
        place=queued.place.value,
        timestamp_ns=queued.timestamp_ns,
        initial_attempt_ns=queued.initial_attempt_ns,
        attempts=queued.attempts,
        unschedulable_count=queued.unschedulable_count,
        consecutive_errors=queued.consecutive_errors,
        backoff_end_ns=queued.backoff_end_ns,
        unschedulable_plugins=tuple(sorted(queued.unschedulable_plugins)),
        pending_plugins=tuple(sorted(queued.pending_plugins)),
        gating_plugin=queued.gating_plugin,
        gating_reasons=queued.gating_reasons,
        was_flushed=queued.was_flushed,
    )


def queued_from(snapshot: QueuedPodSnapshot, pod: Pod) -> QueuedPod:
    """Restore a queued pod; the caller puts it in its place afterwards."""
    queued = QueuedPod(pod, snapshot.entered_index, snapshot.timestamp_ns)
    queued.initial_attempt_ns = snapshot.initial_attempt_ns
    queued.attempts = snapshot.attempts
    queued.unschedulable_count = snapshot.unschedulable_count
    queued.consecutive_errors = snapshot.consecutive_errors
    queued.backoff_end_ns = snapshot.backoff_end_ns
    queued.unschedulable_plugins = frozenset(snapshot.unschedulable_plugins)
    queued.pending_plugins = frozenset(snapshot.pending_plugins)
    queued.gating_plugin = snapshot.gating_plugin
    queued.gating_reasons = snapshot.gating_reasons
    queued.was_flushed = snapshot.was_flushed
    return queued
