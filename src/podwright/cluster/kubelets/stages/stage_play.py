"""Playing a stage: its steps on an object, and the writes and Events that follow.

Upstream: KWOK pkg/kwok/controllers/stage_controller.go, playStage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Object,
    Pod,
    PodStatus,
    PodwrightError,
    api_group,
    encode,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    Scope,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.kubelets.patches import apply_patch, plain_patch
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
    if after != before:
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

STAGE_WARNING: Final = "StageWarning"
"""The reason of the Events about what has no effect in a stage."""


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
    if isinstance(error, UserWarning):
        return RecordEvent(*kind, key, uid, "Warning", STAGE_WARNING, note)
    if not isinstance(error, PodwrightError):
        note = f"{type(error).__name__}: {note}"
    return RecordEvent(*kind, key, uid, "Warning", STAGE_FAILED, note)


# How the steps of a stage change an object: patched documents, and objects decoded from them.


def with_finalizers(document: Document, step: FinalizersStep) -> Document:
    """Return the document with its finalizers changed by a step."""
    metadata = document["metadata"]
    present = tuple(metadata.get("finalizers") or ())
    finalizers = step.after(present)
    if finalizers == present:
        return document
    changed = {key: value for key, value in metadata.items() if key != "finalizers"}
    if finalizers:
        changed["finalizers"] = list(finalizers)
    return document | {"metadata": changed}


def apply_patch_step(
    document: Document, original: Document, step: PatchStep, context: StageContext
) -> Document:
    """Return the document with a step's patch applied.

    The patch is rendered from `original`, the document before the first step of the stage.

    Raises
    ------
    PatchError, TemplateError, ValueError
        The patch cannot be rendered or applied.
    """
    patch: Any = step.render(original, context)
    if patch is None:
        return document
    if step.is_plain:
        return document | {step.root: plain_patch(document.get(step.root) or {}, patch)}
    if step.root and step.type == "json":
        patch = [_with_root(step.root, operation) for operation in patch]
    elif step.root:
        patch = {step.root: patch}
    return apply_patch(document, patch, step.type)


def applied_request(
    document: Document, step: ApplyStep, context: StageContext, user: str
) -> ApplyObject | PatchObject:
    """Return the request of a step that applies another object.

    An object without a namespace is in that of the document, if its kind is namespaced.

    Raises
    ------
    TemplateError, ValueError
        The object cannot be rendered, or is not an object with a name.

    Notes
    -----
    Upstream: KWOK pkg/utils/lifecycle/apply.go
    """
    rendered: Any = step.render(document, context)
    metadata = rendered.get("metadata") if isinstance(rendered, dict) else None
    if not isinstance(metadata, dict) or not all(map(rendered.get, ("apiVersion", "kind"))):
        raise ValueError("an applied object has apiVersion, kind and metadata")
    kind = api_group(str(rendered["apiVersion"])), str(rendered["kind"])
    namespace = document["metadata"].get("namespace")
    if namespace and "namespace" not in metadata and built_in().is_namespaced(*kind):
        rendered = rendered | {"metadata": metadata | {"namespace": namespace}}
    obj = decode(rendered, source="the applied object")
    user = step.as_user or user
    if step.subresource:
        part = {step.subresource: rendered.get(step.subresource)}
        return PatchObject(kind, obj.key, part, user, "status")
    return ApplyObject(obj, "main", user)


def decode_changed(obj: KubernetesObject, after: Document, scope: Scope, *, source: str) -> Object:
    """Return the object decoded from a document that a stage has changed.

    The result equals `decode` of the whole document; a changed pod status is decoded alone.
    """
    if scope == "status" and isinstance(obj, Pod) and obj.raw:
        # `decode` below repeats the conversion if it fails here, and reports the error.
        try:
            status = msgspec.convert(after.get("status"), PodStatus)
        except msgspec.ValidationError:
            pass
        else:
            if not _has_quantities(status):
                return msgspec.structs.replace(obj, status=status, raw=after)
    return decode(after, source=source)


def _has_quantities(status: PodStatus) -> bool:
    """Whether a status has texts of which `msgspec` does not know whether they are quantities."""
    if status.resources is not None or status.allocated_resources is not None:
        return True
    return any(
        entry.resources is not None or entry.allocated_resources is not None
        for entry in (*status.container_statuses, *status.init_container_statuses)
    )


def _with_root(root: str, operation: Any) -> Any:
    if not isinstance(operation, dict):
        return operation
    return operation | {
        name: f"/{root}{operation[name]}" for name in ("path", "from") if name in operation
    }


def scope_of(before: Document, after: Document) -> Scope:
    """Return which part differs between two documents of an object."""
    if before.get("status") == after.get("status"):
        return "main"
    others = {"status": None}
    return "status" if before | others == after | others else "whole"
