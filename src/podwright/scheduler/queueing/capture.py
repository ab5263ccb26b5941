"""Taking and restoring snapshots of a queue, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.queueing.hints import HintTable
from podwright.scheduler.queueing.in_flight import InFlight, RecordedEvent
from podwright.scheduler.queueing.metrics import QueueMetrics
from podwright.scheduler.queueing.nominator import Nominator
from podwright.scheduler.queueing.pod import QueueName
from podwright.scheduler.queueing.snapshot import (
    FlightSnapshot,
    NominationSnapshot,
    Numbering,
    Numbers,
    QueueSnapshot,
    RecordedEventSnapshot,
    WaitSnapshot,
)
from podwright.scheduler.queueing.story import Story
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
