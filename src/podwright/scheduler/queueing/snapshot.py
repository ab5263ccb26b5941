"""Snapshots of a queue as plain values.

The caller numbers objects and queued pods, because the machine shares them with the queue: after a
restore both must refer to the same instances. Field names and their order are stored in
checkpoints.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from podwright.apimachinery.objects import KubernetesObject, Pod
from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.queueing.pod import QueuedPod, QueueName


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


class QueuedPodSnapshot(msgspec.Struct, frozen=True, array_like=True):
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
    queued.place = QueueName.NOWHERE
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
