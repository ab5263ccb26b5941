"""The events and the actions of the lifecycle of nodes and pods."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import NamespacedName, ObjectDeleted, ObjectPut
from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.kubelets.stages.stage_play import StageAction


class StageDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A scheduled stage is due; ignored if the object has been rescheduled since.

    The class name and the field names are stored in checkpoints.

    Attributes
    ----------
    group, object_kind, key : str
        The object.
    number : int
        The number of the scheduled stage.
    """

    group: str
    object_kind: str
    key: NamespacedName
    number: int


class ScheduleStage(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send `event` at `due_ns`; replaces the scheduled stage of the same object.

    Attributes
    ----------
    due_ns : int
    event : StageDue
    stage : str
        The name of the stage, for display.
    """

    due_ns: int
    event: StageDue
    stage: str


LifecycleEvent: TypeAlias = ObjectPut | ObjectDeleted | StageDue | NodeDown | NodeUp

LifecycleAction: TypeAlias = ScheduleStage | StageAction
