"""Playing a stage: its steps on an object, and the writes and Events that follow.

Upstream: KWOK pkg/kwok/controllers/stage_controller.go, playStage
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Pod,
    PodwrightError,
    encode,
)
from podwright.cluster.api import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.kubelets.effects import (
    applied_request,
    apply_patch_step,
    decode_changed,
    scope_of,
    with_finalizers,
)
from podwright.cluster.kubelets.stages.stage import (
    ApplyStep,
    DeleteStep,
    EventStep,
    FinalizersStep,
    PatchStep,
    Stage,
    StageContext,
)
from podwright.cluster.store import GroupKind, kind_of

StageAction: TypeAlias = (
    CreateObject | UpdateObject | DeleteObject | RecordEvent | ApplyObject | PatchObject
)


def user_of(stage: str) -> str:
    """Return the user name for requests of a stage without impersonation."""
    return f"kwok:{stage}"


def label_of(stage: Stage) -> str:
    """Return what errors call a stage: its file, if it has one, and its name."""
    return f"{stage.source}: Stage {stage.name}" if stage.source else f"Stage {stage.name}"


def play_stage(
    stage: Stage, key: NamespacedName, obj: KubernetesObject, context: StageContext
) -> tuple[KubernetesObject, list[StageAction]]:
    """Play all steps of a stage on an object; all its changes are one update.

    Returns
    -------
    (KubernetesObject, list)
        The object as the update writes it, and the actions: Events, applied objects, the update,
        and the deletion as the last one.

    Raises
    ------
    TemplateError, PatchError, ValueError
        A step cannot be played on the object.
    InputError
        The changed object is not valid.
    """
    fast_path = stage.fast_path
    if fast_path is not None and isinstance(obj, Pod):
        pod = fast_path(obj, context)
        if pod is not None:
            return pod, [UpdateObject(pod, "status", user_of(stage.name))]
    before = after = encode(obj)
    user = ""
    events: list[StageAction] = []
    removals: list[StageAction] = []
    applied: list[StageAction] = []
    for step in stage.steps:
        match step:
            case EventStep():
                about = (stage.group, stage.kind, key, obj.uid)
                events.append(RecordEvent(*about, step.type, step.reason, step.message))
            case _ if removals:
                continue
            case DeleteStep():
                about = (stage.group, stage.kind, key, obj.uid)
                removals.append(DeleteObject(*about, user_of(stage.name), 0))
            case FinalizersStep():
                after = with_finalizers(after, step)
            case PatchStep():
                after = apply_patch_step(after, before, step, context)
                user = step.as_user or user
            case ApplyStep():
                applied.append(applied_request(before, step, context, user_of(stage.name)))
    writes: list[StageAction] = []
    if after is not before and after != before:
        scope = scope_of(before, after)
        source = f"{label_of(stage)}: {stage.kind} {key}"
        obj = decode_changed(obj, after, scope, source=source)
        writes.append(UpdateObject(obj, scope, user or user_of(stage.name)))
    return obj, [*events, *applied, *writes, *removals]


# Failures of stages: errors, and those that are reported and become Events instead.

ReportFailure: TypeAlias = Callable[[str, NamespacedName, Exception], None]
"""Receives what failed, the key of the object, and the error."""

STAGE_FAILED: Final = "StageFailed"
"""The reason of the Events."""


class StageError(PodwrightError):
    """A stage cannot be scheduled for or played on an object; the message names both."""


def stage_error(stage: Stage, obj: KubernetesObject, message: str) -> StageError:
    """Return the error of a stage on an object."""
    return StageError(f"{label_of(stage)}: {obj.kind} {obj.key}: {message}")


def object_of(request: WriteRequest) -> tuple[GroupKind, NamespacedName] | None:
    """Return the object of a request of a stage; None for requests that stages do not make."""
    match request:
        case UpdateObject(obj=obj) | ApplyObject(obj=obj) | CreateObject(obj=obj):
            return kind_of(obj), obj.key
        case PatchObject():
            return request.object_kind, request.key
        case DeleteObject():
            return (request.group, request.object_kind), request.key
        case BindPod() | EvictPod():
            return None


def failure_event(kind: GroupKind, key: NamespacedName, uid: str, error: Exception) -> RecordEvent:
    """Return the Event of a failure; the type of an unexpected error is part of its note."""
    note = str(error)
    if not isinstance(error, PodwrightError):
        note = f"{type(error).__name__}: {note}"
    return RecordEvent(*kind, key, uid, "Warning", STAGE_FAILED, note)
