"""What the lifecycle keeps for each object, and the events and actions of the lifecycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    ObjectDeleted,
    ObjectPut,
)
from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.kubelets.addresses import AddressesState
from podwright.cluster.kubelets.stages.stage import Stage
from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
from podwright.cluster.kubelets.stages.stage_play import StageAction
from podwright.cluster.kubelets.stages.stage_schedule import FixedSchedules
from podwright.cluster.store import GroupKind

REMOVED: Final = -1
"""The number of a scheduled stage that has removed its object.

Nothing is due any more, and the same basis does not schedule another stage.
"""


KUBELET: Final = -1
"""The index of a scheduled sync of the kubelet, which is not a stage."""


class ScheduledStage(msgspec.Struct, frozen=True, gc=False):
    """The next stage of an object.

    Attributes
    ----------
    number : int
        Unique per scheduled stage; `REMOVED` when the stage has removed the object.
    stage : int
        The index of the stage among those of its kind, or `KUBELET`.
    due_ns : int
        When the stage is to be played.
    basis : str
        Everything that the choice and the delay depend on; see `basis_of`. A different basis
        schedules a new stage.
    """

    number: int
    stage: int
    due_ns: int
    basis: str


class ObjectState(msgspec.Struct, gc=False):
    """The state of one object.

    Attributes
    ----------
    obj : KubernetesObject
        The object as of the latest change.
    uid : str
        The object's uid, kept here because it is read most often.
    scheduled : ScheduledStage, optional
    schedule_count : int
        How many stages have been scheduled for the object: the counter of its draws.
    played_ns, play_count : int
        When a stage was played last, and how many were played at that time.
    last_stages : tuple of str
        The names of the last of these stages.
    order : int
        The position of the object in the order of arrival.
    """

    obj: KubernetesObject
    uid: str
    scheduled: ScheduledStage | None = None
    schedule_count: int = 0
    played_ns: int = -1
    play_count: int = 0
    last_stages: tuple[str, ...] = ()
    order: int = 0


class SavedObjectState(msgspec.Struct, frozen=True, gc=False):
    """An `ObjectState` as plain values; the object itself is stored elsewhere."""

    group: str
    kind: str
    key: NamespacedName
    scheduled: ScheduledStage | None
    schedule_count: int
    played_ns: int
    play_count: int
    last_stages: tuple[str, ...]


class LifecycleState(msgspec.Struct, frozen=True):
    """The state of a `Lifecycle` as plain values, for checkpoints."""

    objects: tuple[SavedObjectState, ...]
    schedule_count: int
    addresses: AddressesState
    silent_nodes: tuple[str, ...] = ()


class StagedKind:
    """The stages of one kind, and the state of the objects of that kind.

    Parameters
    ----------
    kind : GroupKind
    stages : sequence of Stage

    Attributes
    ----------
    matcher : StageMatcher
        Finds the stages that apply to a document.
    schedules : list of FixedSchedules
        Per stage, the schedules that are shared by many objects.
    objects : dict
        In the order of `ObjectState.order`.
    """

    __slots__ = ("group", "matcher", "name", "objects", "schedules", "stages")

    def __init__(self, kind: GroupKind, stages: Sequence[Stage]) -> None:
        self.group, self.name = kind
        self.stages = stages
        self.matcher = StageMatcher(stages)
        self.schedules = [FixedSchedules(stage, index) for index, stage in enumerate(stages)]
        self.objects: dict[NamespacedName, ObjectState] = {}


# The events and the actions of the lifecycle of nodes and pods.


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
