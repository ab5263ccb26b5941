"""Playing a stage: its steps on an object, and the writes and Events that follow.

Upstream: KWOK's pkg/kwok/controllers/stage_controller.go, playStage
"""

from __future__ import annotations

from typing import TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod, encode
from podwright.cluster.api import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    PatchObject,
    RecordEvent,
    UpdateObject,
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
