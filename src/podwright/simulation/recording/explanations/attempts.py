"""The scheduling attempts of a pod over time, read from a decision log without replaying it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import NamespacedName, shortest_time_text
from podwright.scheduler.machine import Action, Bind, EmitEvent, PatchPodStatus
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import Outcome
from podwright.simulation.recording.log.log_reading import outcomes_of

AttemptResult: TypeAlias = Literal["Scheduled", "Unschedulable", "SchedulerError", "Binding"]
"""Binding: a node was chosen, and the pod is not bound yet, or was deleted before."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scheduling attempt of a pod.

    Attributes
    ----------
    attempt : int
        Its number; the first is 1.
    event : int
        The number of the event in which its cycle ended; the first of the log is 1.
    time : str
        When its cycle ended.
    outcome : str
        Its result, as in the reason of the condition PodScheduled.
    node : str, optional
        The node of the pod, if one was chosen.
    nominated_node : str, optional
        The node on which preemption makes room.
    message : str
        Why the attempt failed; "" if it did not.
    """

    attempt: int
    event: int
    time: str
    outcome: AttemptResult
    node: str | None
    nominated_node: str | None
    message: str


def attempts_of(log: DecisionLog, pod: NamespacedName) -> list[Attempt]:
    """Return the scheduling attempts of a pod that a log has, in their order.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    """
    ends = log.cycles_of(pod)
    if not ends:
        return []
    open_attempt: _OpenAttempt | None = None
    found: list[_OpenAttempt] = []
    numbers = {end: number for number, end in enumerate(ends, start=1)}
    for outcome in outcomes_of(log, pod, ends[0]):
        number = numbers.get(outcome.index)
        if number is not None:
            reason = "Unschedulable" if open_attempt is None else open_attempt.reason
            open_attempt = _OpenAttempt(pod, number, outcome, reason)
            found.append(open_attempt)
        if open_attempt is None:
            continue
        if outcome.index > ends[-1] and open_attempt.has_ended:
            break
        open_attempt.called(outcome.call)
        for action in outcome.actions:
            open_attempt.read(action)
    return [each.attempt() for each in found]


class _OpenAttempt:
    """An attempt whose outcome is being read.

    Parameters
    ----------
    end : Outcome
        The end of its cycle.
    reason : str
        The reason of the condition PodScheduled after the last failure before it.
    """

    def __init__(self, pod: NamespacedName, number: int, end: Outcome, reason: str) -> None:
        self.reason = reason
        self._pod = pod
        self._number = number
        self._end = end
        self._node: str | None = None
        self._nominated: str | None = None
        self._is_bound = False
        self._message = ""
        self._call: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the pod was bound, or the attempt failed."""
        return self._is_bound or bool(self._message)

    def called(self, call: int | None) -> None:
        """Read the number of a call that was executed; it may be that of the binding."""
        if call is not None and call == self._call:
            self._is_bound = True

    def read(self, action: Action) -> None:
        """Read an action of the machine; those that concern other pods are ignored."""
        match action:
            case Bind(pod=pod) if pod == self._pod:
                self._call, self._node = action.call, action.node
            case EmitEvent(pod=pod, reason="FailedScheduling") if pod == self._pod:
                self._message = action.note
            case PatchPodStatus(pod=pod) if pod == self._pod:
                self._nominated = action.nominated_node or self._nominated
                # A condition that has not changed is not written again.
                if action.condition is not None:
                    self.reason = action.condition.reason or self.reason
            case _:
                pass

    def attempt(self) -> Attempt:
        """Return the attempt as it was read so far."""
        outcome: AttemptResult = "Binding"
        if self._is_bound:
            outcome = "Scheduled"
        elif self._message:
            outcome = "SchedulerError" if self.reason == "SchedulerError" else "Unschedulable"
        return Attempt(
            attempt=self._number,
            event=self._end.index + 1,
            time=shortest_time_text(self._end.now_ns),
            outcome=outcome,
            node=self._node,
            nominated_node=self._nominated,
            message=self._message,
        )
