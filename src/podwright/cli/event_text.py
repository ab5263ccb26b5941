"""The machine's events and actions in words, for `podwright run step`."""

from __future__ import annotations

from podwright.cli.recorded_run import when
from podwright.machine import (
    Action,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    EmitEvent,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    ObjectDeleted,
    ObjectPut,
    PatchPodGroupStatus,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
)
from podwright.objects import Condition, Object, Pod
from podwright.recording import Moment


def event_told(moment: Moment) -> str:  # noqa: PLR0911 - one return for each kind
    """Return what happened at a moment."""
    match moment.entry.event:
        case ObjectPut(obj):
            return _put(obj, is_new=moment.is_new)
        case ObjectDeleted(obj):
            return f"{_named(obj)} is gone"
        case CycleDue():
            pods = ", ".join(moment.entry.pods)
            return f"a cycle for {pods}" if pods else "a cycle is due, and none is ended"
        case TimerFired():
            return "a time that was asked for has come"
        case FlushBackoff():
            return "backoffs that are over are ended"
        case FlushUnschedulable():
            return "unschedulable pods that waited long are tried again"
        case CallDone(call, error):
            said = "done" if error is None else f"failed: {error.message}"
            return f"answer to {_asked(call, moment.asked)}: {said}"
        case ExtenderReplied(call, reply):
            said = "answered" if not reply.error else f"failed: {reply.error}"
            pods = ", ".join(moment.entry.pods)
            ended = f", which ends the cycle for {pods}" if pods else ""
            return f"answer to {_asked(call, moment.asked)}: {said}{ended}"
        case PodAllowed(pod, plugin):
            return f"{plugin} lets pod {pod} go"
        case PodRejected(pod, plugin, message):
            return f"{plugin} refuses pod {pod}: {message}"


def action_told(action: Action) -> str:  # noqa: PLR0911 - one return for each kind
    """Return what the machine wants done."""
    match action:
        case Bind(_, pod, _, node):
            return f"bind pod {pod} to {node}"
        case PatchPodStatus(_, pod, _, condition, nominated_node):
            return f"set the status of pod {pod}: {_status(condition, nominated_node)}"
        case PatchPodGroupStatus(_, group, condition):
            return f"set the status of pod group {group}: {_status(condition, None)}"
        case DeletePod(_, pod):
            return f"delete pod {pod}"
        case UpdateVolume(_, volume):
            return f"update {_named(volume)}"
        case UpdateClaim(_, claim):
            return f"update {_named(claim)}"
        case CallExtender(_, request):
            return f"ask extenders[{request.extender}] to {request.verb}"
        case EmitEvent():
            return f"{action.type} Event {action.reason} of pod {action.pod}: {action.note}"
        case WakeAt(due_ns):
            return f"wake at {when(due_ns)}"


def _put(obj: Object, *, is_new: bool) -> str:
    if not isinstance(obj, Pod):
        return f"{_named(obj)} appeared or changed"
    facts: list[str] = [obj.status.phase or "Pending"]
    if obj.spec.node_name:
        facts.append(f"on {obj.spec.node_name}")
    if obj.status.nominated_node_name:
        facts.append(f"nominated to {obj.status.nominated_node_name}")
    if obj.metadata.deletion_timestamp:
        facts.append("being deleted")
    return f"{_named(obj)} {'appeared' if is_new else 'changed'}: {', '.join(facts)}"


def _named(obj: Object) -> str:
    kind = obj.kind
    word = kind.lower() if kind in ("Pod", "Node", "Namespace") else kind
    return f"{word} {obj.key}"


def _asked(call: int, asked: Action | None) -> str:
    return f"call {call}" if asked is None else f'"{action_told(asked)}"'


def _status(condition: Condition | None, nominated_node: str | None) -> str:
    parts = []
    if condition is not None:
        reason = f" ({condition.reason})" if condition.reason else ""
        parts.append(f"{condition.type} is {condition.status}{reason}")
    if nominated_node is not None:
        parts.append(f"nominated to {nominated_node}" if nominated_node else "no nomination")
    return ", ".join(parts) or "nothing"
