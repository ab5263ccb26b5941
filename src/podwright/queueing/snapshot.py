"""A queue as plain values, to be written down and set up again.

Objects and queued pods are numbered by whoever takes the snapshot, because others hold the
same ones: after a restore they have to be the same again.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from podwright.framework import ClusterEvent
from podwright.objects import KubernetesObject, Pod
from podwright.queueing.pod import QueuedPod, QueueName

__all__ = [
    "FlightSnapshot",
    "NominationSnapshot",
    "Numbering",
    "Numbers",
    "QueueSnapshot",
    "QueuedPodSnapshot",
    "RecordedEventSnapshot",
    "WaitSnapshot",
    "queued_from",
    "queued_snapshot",
]


class Numbering(Protocol):
    """Gives numbers to what a snapshot mentions."""

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""

    def of_queued(self, queued: QueuedPod) -> int:
        """Return the number of a queued pod."""


class Numbers(Protocol):
    """Knows what the numbers of a snapshot stand for."""

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
    """A pod in the unschedulable set: whose events concern it, and whether it times out."""

    queued: int
    watched: tuple[tuple[str, str], ...]
    can_time_out: bool


class FlightSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """A pod in flight, and how many of the kept events happened before it was popped."""

    queued: int
    begin: int


class RecordedEventSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """An event that pods in flight may still have to be asked about."""

    event: ClusterEvent
    old: int | None
    new: int | None


class NominationSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """One nomination."""

    node: str
    pod: int


class QueueSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a `SchedulingQueue` knows; names as there.

    Parameters
    ----------
    waiting : tuple of int
        Queued pods in active, backoff and error backoff, in the order in which they leave.
    executions : dict
        Calls of hint functions, by profile.
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
    """Write one queued pod down."""
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
    """Make a queued pod again; it is in no place yet, whatever place it is to be put in."""
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
