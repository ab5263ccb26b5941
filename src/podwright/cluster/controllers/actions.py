"""Constructors of the actions that controllers return most often."""

from __future__ import annotations

from typing import Literal, TypeVar

from podwright.apimachinery.objects import (
    KubernetesObject,
)
from podwright.cluster.api import RecordEvent
from podwright.cluster.controllers.interface import DeleteObject
from podwright.cluster.store import kind_of

T = TypeVar("T", bound=KubernetesObject)


def deletion_by(
    controller: str,
    obj: KubernetesObject,
    *,
    grace_seconds: int | None = None,
    propagation: Literal["Background", "Foreground", "Orphan"] | None = None,
) -> DeleteObject:
    """Return the action that deletes an object."""
    group, kind = kind_of(obj)
    return DeleteObject(group, kind, obj.key, obj.uid, controller, grace_seconds, propagation)


def event_by(
    controller: str,
    obj: KubernetesObject,
    reason: str,
    note: str,
    *,
    is_warning: bool = False,
) -> RecordEvent:
    """Return the action that records an Event about an object."""
    group, kind = kind_of(obj)
    severity = "Warning" if is_warning else "Normal"
    return RecordEvent(group, kind, obj.key, obj.uid, severity, reason, note, controller)
