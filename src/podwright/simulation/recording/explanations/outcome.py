"""The outcome of an attempt: the pod was bound, is back in the queue, or was deleted."""

from __future__ import annotations

import enum
from collections import Counter
from itertools import islice
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import HELD, Bind, CallDone, Failure, Machine, PatchPodStatus
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording.explanations.explain import PastCycle

_MOST_EVENTS = 20_000
"""The maximum number of events to replay; after them a binding counts as still in progress."""


class OutcomeKind(enum.Enum):
    """The first outcome of an attempt."""

    BOUND = "bound"
    QUEUED = "queued"
    GONE = "gone"
    BINDING = "binding"


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an attempt.

    Parameters
    ----------
    kind : OutcomeKind
        BINDING: neither bound nor failed at the end of the run, or long after the cycle.
    now_ns : int
        The time of the outcome.
    node : str
        The node that was chosen; "" if none.
    error : str
        Why the attempt failed after a node was chosen (Reserve, Permit, PreBind, Bind); "" if it
        did not.
    place : str
        The part of the queue that holds the pod; "" if it is not in the queue.
    waits_for : tuple of str
        The plugins that rejected the pod, or gate it.
    backoff_end_ns : int
        The end of its backoff; -1 if it has none.
    nominated_node : str
        The nominated node; "" if none.
    """

    kind: OutcomeKind
    now_ns: int
    node: str = ""
    error: str = ""
    place: str = ""
    waits_for: tuple[str, ...] = ()
    backoff_end_ns: int = -1
    nominated_node: str = ""


def find_outcome(past: PastCycle) -> AttemptOutcome:
    """Replay the run until the outcome of the attempt is known.

    This changes the machine of `past`: explain the cycle first.
    """
    return _Follower(past).follow()


class _Follower:
    """Follows one pod through the events after its cycle."""

    def __init__(self, past: PastCycle) -> None:
        self._past = past
        self._pod: NamespacedName = past.pod.key
        self._machine: Machine = past.run.machine
        self._call: int | None = None
        self._node = ""
        self._error = ""
        self._failure: Failure | None = None
        self._nominated = past.pod.status.nominated_node_name
        self._now_ns = past.entry.now_ns

    def follow(self) -> AttemptOutcome:
        self._machine.watch_failures(self._failed)
        for entry, actions in islice(iter(self._past.run.step, None), _MOST_EVENTS):
            self._now_ns = entry.now_ns
            for action in actions:
                if isinstance(action, Bind) and action.pod == self._pod:
                    self._call, self._node = action.call, action.node
                elif isinstance(action, PatchPodStatus) and action.pod == self._pod:
                    new = action.nominated_node
                    self._nominated = self._nominated if new is None else new
            event = entry.event
            if isinstance(event, CallDone) and event.call == self._call:
                if event.error is None:
                    return self._result(OutcomeKind.BOUND)
                self._error = event.error.message
            if entry.index == self._past.end:
                self._node = self._node or self._decided_node()
            # While the cycle is suspended, the pod is in flight.
            kind = self._find_kind()
            if kind is not OutcomeKind.BINDING:
                return self._result(kind)
        return self._result(OutcomeKind.BINDING)

    def _failed(self, pod: Pod, failure: Failure, now_ns: int) -> None:
        if pod.key == self._pod:
            self._failure = failure

    def _decided_node(self) -> str:
        """Return the node that the cycle chose, also if the attempt failed at Reserve or Permit."""
        decisions = self._machine.last_decisions
        return next((d.node for d in decisions if d.pod.key == self._pod), "")

    def _find_error(self) -> str:
        """Return why the attempt failed after a node was chosen."""
        failure = self._failure
        if self._error or failure is None or not self._node:
            return self._error
        return failure.reason or failure.message

    def _find_kind(self) -> OutcomeKind:
        seen = self._machine.pod(self._pod)
        if seen is None or seen.metadata.uid != self._past.pod.metadata.uid:
            return OutcomeKind.GONE
        if self._machine.queue.get(self._pod) is not None:
            return OutcomeKind.QUEUED
        if seen.spec.node_name:
            self._node = seen.spec.node_name
            return OutcomeKind.BOUND
        return OutcomeKind.BINDING

    def _result(self, kind: OutcomeKind) -> AttemptOutcome:
        queued = self._machine.queue.get(self._pod) if kind is OutcomeKind.QUEUED else None
        return AttemptOutcome(
            kind=kind,
            now_ns=self._now_ns,
            node=self._node,
            error=self._find_error() if kind is OutcomeKind.QUEUED else self._error,
            place="" if queued is None else queued.place.value,
            waits_for=() if queued is None else tuple(sorted(queued.rejectors)),
            backoff_end_ns=-1 if queued is None else self._machine.queue.backoff_end_ns(queued),
            nominated_node=self._nominated,
        )


# Short reasons why pods have no node: from a decision, or from PreEnqueue.

FAILED: Final = "SchedulerError"
_GATED: Final = "gated at PreEnqueue"


def gated_pods(machine: Machine) -> dict[NamespacedName, tuple[str, str]]:
    """Return the pods that a PreEnqueue plugin gates, with the plugin and its reason.

    Pods with scheduling gates, and pods that wait for the deletion of their victims, are left out.
    """
    return {
        queued.key: (
            queued.gating_plugin,
            # Errors end with their pod, as in kube-scheduler's log.
            ", ".join(queued.gating_reasons).removesuffix(f" (pod {queued.key})") or _GATED,
        )
        for queued in machine.queue.pods_in(QueueName.GATED)
        if queued.gating_plugin != "SchedulingGates" and queued.gating_reasons != (HELD,)
    }


def permit_waits(machine: Machine) -> dict[NamespacedName, str]:
    """Return what the pods that wait at Permit wait for."""
    return {
        key: f"waits at Permit for {', '.join(plugins)}"
        for key, plugins in machine.waiting().items()
    }


def main_reason(decision: Decision) -> str:
    """Return the most frequent reason; of equally frequent ones, the first by name."""
    if decision.error is not None:
        return FAILED
    diagnosis = decision.diagnosis
    if diagnosis is None:
        return decision.message
    if diagnosis.pre_filter is not None:
        return diagnosis.pre_filter.message
    counts: Counter[str] = Counter()
    for rejection in diagnosis.rejections:
        for reason in rejection.status.reasons:
            counts[reason] += rejection.count
    return min(counts, key=lambda name: (-counts[name], name), default=decision.message)
