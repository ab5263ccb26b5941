"""What is known about the life of each object: the plan it has, and what has been played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.objects import KubernetesObject, NamespacedName
from podwright.stages.addresses import AddressesState
from podwright.stages.stage import Stage
from podwright.stages.stage_matching import StageMatcher
from podwright.stages.stage_schedule import FixedSchedules
from podwright.store import GroupKind

REMOVED: Final = -1
"""The number of a plan that is done: nothing is due, and the same is not planned again."""


class ScheduledStage(msgspec.Struct, frozen=True, gc=False):
    """The next stage of an object.

    Attributes
    ----------
    number : int
        No two plans have the same; `REMOVED` when the stage has removed the object.
    stage : int
        Which of the stages of its kind.
    due_ns : int
        When.
    basis : str
        What it was made of; another basis makes another plan.
    """

    number: int
    stage: int
    due_ns: int
    basis: str


class ObjectState(msgspec.Struct, gc=False):
    """What is known about one object.

    Attributes
    ----------
    obj : KubernetesObject
        As it was heard of last.
    uid : str
        Its own, which is asked for more often than anything else of it.
    plan_count : int
        How many plans it has had: the counter of its draws.
    played_ns, play_count : int
        When a stage was last played, and how many were at that time.
    last_stages : tuple of str
        The last of these stages.
    order : int
        Who came before whom.
    """

    obj: KubernetesObject
    uid: str
    plan: ScheduledStage | None = None
    plan_count: int = 0
    played_ns: int = -1
    play_count: int = 0
    last_stages: tuple[str, ...] = ()
    order: int = 0


class SavedObjectState(msgspec.Struct, frozen=True, gc=False):
    """A `ObjectState` as plain values; the object itself is elsewhere."""

    group: str
    kind: str
    key: NamespacedName
    plan: ScheduledStage | None
    plan_count: int
    played_ns: int
    play_count: int
    last_stages: tuple[str, ...]


class LifecycleState(msgspec.Struct, frozen=True):
    """A `Lifecycle` as plain values, for checkpoints."""

    lives: tuple[SavedObjectState, ...]
    plan_count: int
    addresses: AddressesState
    silent_nodes: tuple[str, ...] = ()


class StagedKind:
    """The stages of one kind, and the objects that live by them.

    Parameters
    ----------
    kind : GroupKind
    stages : sequence of Stage

    Attributes
    ----------
    selection : StageMatcher
        Which stages apply to a document.
    plans : list of FixedSchedules
        Per stage, the plans that need not be made for each object.
    lives : dict
        In the order of `ObjectState.order`.
    """

    __slots__ = ("group", "lives", "name", "plans", "selection", "stages")

    def __init__(self, kind: GroupKind, stages: Sequence[Stage]) -> None:
        self.group, self.name = kind
        self.stages = stages
        self.selection = StageMatcher(stages)
        self.plans = [FixedSchedules(stage, index) for index, stage in enumerate(stages)]
        self.lives: dict[NamespacedName, ObjectState] = {}
