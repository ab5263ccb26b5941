"""Text of the machine's events and actions, for `podwright run step`."""

from __future__ import annotations

from podwright.apimachinery.objects import Condition, Object, Pod, shortest_time_text
from podwright.scheduler.machine import (
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
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
)
from podwright.simulation.recording import Moment


def describe_event(moment: Moment) -> str:  # noqa: PLR0911 - one return for each kind
    """Return a description of a recorded event."""
    match moment.entry.event:
        case ObjectPut(obj):
            return _put(obj, is_new=moment.is_new)
        case ObjectDeleted(obj):
            return f"{_named(obj)} deleted"
        case CycleDue():
            pods = ", ".join(moment.entry.pods)
            return (
                f"scheduling cycle for {pods}" if pods else "scheduling cycle due, none completed"
            )
        case TimerFired():
            return "timer fired"
        case FlushBackoff():
            return "flush of backoffQ: pods whose backoff has completed become active"
        case FlushUnschedulable():
            return "flush of unschedulable pods: pods parked for too long become active or back off"
        case CallDone(call, error):
            result = "done" if error is None else f"failed: {error.message}"
            return f"result of {_call_text(call, moment.request)}: {result}"
        case ExtenderReplied(call, reply):
            result = "replied" if not reply.error else f"failed: {reply.error}"
            pods = ", ".join(moment.entry.pods)
            ended = f"; completes the cycle for {pods}" if pods else ""
            return f"result of {_call_text(call, moment.request)}: {result}{ended}"
        case PodActivated(pod):
            return f"pod {pod} moved to the active queue by hand"
        case PodAllowed(pod, plugin):
            return f"{plugin} allows waiting pod {pod}"
        case PodRejected(pod, plugin, message):
            return f"{plugin} rejects waiting pod {pod}: {message}"


_CLAIM_OPERATIONS = {
    "create": "create",
    "update": "update",
    "updateStatus": "update the status of",
    "release": "remove the pod from",
    "delete": "delete",
}


def describe_action(action: Action) -> str:  # noqa: PLR0911 - one return for each kind
    """Return a description of an action of the machine."""
    match action:
        case Bind(_, pod, _, node):
            return f"bind pod {pod} to {node}"
        case PatchPodStatus(_, pod, _, condition, nominated_node):
            return f"set the status of pod {pod}: {_status(condition, nominated_node)}"
        case PatchPodGroupStatus(_, group, condition):
            return f"set the status of pod group {group}: {_status(condition, None)}"
        case DeletePod(_, pod):
            return f"delete pod {pod}"
        case UpdateVolume(_, obj) | UpdateClaim(_, obj):
            return f"update {_named(obj)}"
        case WriteResourceClaim(_, operation, resource_claim):
            return f"{_CLAIM_OPERATIONS[operation]} {_named(resource_claim)}"
        case PatchExtendedClaim(_, pod, _, claim_name):
            return f"set the claim for extended resources of pod {pod}: {claim_name}"
        case PatchPodMetadata(_, pod, _, annotations, labels):
            return f"set metadata of pod {pod}: {', '.join([*annotations, *labels])}"
        case CallExtender(_, request):
            return f"call {request.verb} of extenders[{request.extender}]"
        case EmitEvent():
            return f"{action.type} Event {action.reason} of pod {action.pod}: {action.note}"
        case WakeAt(due_ns):
            return f"wake at {shortest_time_text(due_ns)}"


def _put(obj: Object, *, is_new: bool) -> str:
    if not isinstance(obj, Pod):
        return f"{_named(obj)} added or updated"
    facts: list[str] = [obj.status.phase or "Pending"]
    if obj.spec.node_name:
        facts.append(f"on {obj.spec.node_name}")
    if obj.status.nominated_node_name:
        facts.append(f"nominated to {obj.status.nominated_node_name}")
    if obj.metadata.deletion_timestamp:
        facts.append("terminating")
    return f"{_named(obj)} {'added' if is_new else 'updated'}: {', '.join(facts)}"


def _named(obj: Object) -> str:
    kind = obj.kind
    word = kind.lower() if kind in ("Pod", "Node", "Namespace") else kind
    return f"{word} {obj.key}"


def _call_text(call: int, action: Action | None) -> str:
    return f"call {call}" if action is None else f'"{describe_action(action)}"'


def _status(condition: Condition | None, nominated_node: str | None) -> str:
    parts = []
    if condition is not None:
        reason = f" ({condition.reason})" if condition.reason else ""
        parts.append(f"{condition.type} is {condition.status}{reason}")
    if nominated_node is not None:
        parts.append(f"nominated to {nominated_node}" if nominated_node else "nomination cleared")
    return ", ".join(parts) or "no change"
