"""Failures of stages: errors, and those that are reported and become Events instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, PodwrightError
from podwright.cluster.api import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    ScaleObject,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.kubelets.stages.stage import Stage
from podwright.cluster.kubelets.stages.stage_play import label_of
from podwright.cluster.store import GroupKind, kind_of

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
        case BindPod() | EvictPod() | ScaleObject():
            return None


def failure_event(kind: GroupKind, key: NamespacedName, uid: str, error: Exception) -> RecordEvent:
    """Return the Event of a failure; the type of an unexpected error is part of its note."""
    note = str(error)
    if not isinstance(error, PodwrightError):
        note = f"{type(error).__name__}: {note}"
    return RecordEvent(*kind, key, uid, "Warning", STAGE_FAILED, note)
