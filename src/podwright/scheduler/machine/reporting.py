"""Events and conditions: what the scheduler reports to users, with upstream's texts.

Upstream: pkg/scheduler/schedule_one.go, `updatePod`, `truncateMessage`;
pkg/api/v1/pod/util.go, `UpdatePodCondition`
"""

from __future__ import annotations

from typing import Literal

from podwright.apimachinery.objects import Condition, Pod, timestamp_text
from podwright.scheduler.machine.actions import EmitEvent, PatchPodStatus
from podwright.scheduler.machine.state import State

_LONGEST_NOTE = 1_024
_SURELY_SHORT = _LONGEST_NOTE // 4  # no character takes more than four bytes
_CUT = " ..."


def emit(
    state: State,
    pod: Pod,
    event_type: Literal["Normal", "Warning"],
    reason: str,
    action: str,
    note: str,
    *,
    controller: str,
    related: str = "",
) -> None:
    """Record an Event about a pod."""
    state.actions.append(
        EmitEvent(
            pod.key,
            pod.metadata.uid,
            event_type,
            reason,
            action,
            shorten(note),
            controller,
            related,
            pod.metadata.resource_version,
        )
    )


def emit_failed(state: State, pod: Pod, note: str) -> None:
    """Record the Event with the reason why a pod was not placed."""
    emit(
        state,
        pod,
        "Warning",
        "FailedScheduling",
        "Scheduling",
        note,
        controller=pod.spec.scheduler_name,
    )


def emit_failed_call(state: State, pod: Pod, error: str) -> None:
    """Record the Event with the reason why a plugin's call about a pod failed."""
    note = f"a plugin's call to the API server failed: {error}"
    controller = pod.spec.scheduler_name
    emit(state, pod, "Warning", "FailedPluginCall", "Scheduling", note, controller=controller)


def shorten(note: str) -> str:
    """Cut a note to the 1,024 bytes that an Event may have."""
    if len(note) <= _SURELY_SHORT:
        return note
    raw = note.encode()
    if len(raw) <= _LONGEST_NOTE:
        return note
    return raw[: _LONGEST_NOTE - len(_CUT)].decode(errors="ignore") + _CUT


def patch_status(
    state: State,
    pod: Pod,
    *,
    condition: Condition | None = None,
    nominated_node: str | None = None,
) -> int | None:
    """Request a status patch if it would change anything.

    Parameters
    ----------
    pod : Pod
        The version to compare with.
    condition : Condition, optional
        Without a transition time and a generation; they are filled in.
    nominated_node : str, optional
        "" clears it; None leaves it.

    Returns
    -------
    int or None
        The number of the call; None if nothing has to be changed.
    """
    if condition is not None:
        condition = _changed(pod, condition, state.now_ns)
    if nominated_node == pod.status.nominated_node_name:
        nominated_node = None
    if condition is None and nominated_node is None:
        return None
    types = () if condition is None else (*(c.type for c in pod.status.conditions), condition.type)
    call = state.next_call()
    state.actions.append(
        PatchPodStatus(
            call,
            pod.key,
            pod.metadata.uid,
            condition,
            nominated_node,
            tuple(dict.fromkeys(types)),
        )
    )
    return call


def _changed(pod: Pod, condition: Condition, now_ns: int) -> Condition | None:
    """Return the condition with what depends on the pod; None if the pod has it already."""
    changed_at: str | None = timestamp_text(now_ns)
    for present in pod.status.conditions:
        if present.type == condition.type:
            if present.status == condition.status:
                changed_at = present.last_transition_time
                if (present.reason, present.message) == (condition.reason, condition.message):
                    return None
            break
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=changed_at,
        # CalculatePodConditionObservedGeneration: only a written condition has the new one.
        observed_generation=pod.metadata.generation or None,
    )
