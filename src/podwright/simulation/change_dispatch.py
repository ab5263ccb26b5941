"""Who hears of what has changed, party by party.

All who live in a world hear of every change, but not of one change after the other: each party
hears of all changes since the last time, in the order in which they were written, before the
next party does. First admission, then the stages, the scheduler, the controllers, and those who
look on. So each is at its own work for a while, as if they were processes of their own. Then
stages are played that are due at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from podwright.api import Admission
from podwright.controllers import ControllerAction, ControllerLoop, DrainNode, NodeEvent
from podwright.machine import (
    NOT_READ,
    SELECTING,
    Action,
    CallDone,
    Event,
    ObjectDeleted,
    ObjectPut,
    is_news,
)
from podwright.simulation.observers import ChangeObserver
from podwright.stages import Lifecycle, LifecycleAction, ScheduleStage, StageDue
from podwright.store import Change, GroupKind

Wanted: TypeAlias = Action | LifecycleAction | ControllerAction
"""What somebody wants to be done."""


class _Hearing(msgspec.Struct, frozen=True, gc=False):
    """Who hears of the changes of a kind; controllers and observers always do.

    Attributes
    ----------
    is_admitting : bool
        Whether admission reads objects of the kind.
    is_alive : bool
        Whether they have stages.
    is_scheduled : bool
        Whether the scheduler watches them.
    is_selecting : bool
        Whether it watches them for their selectors only, and most changes are no news.
    """

    is_admitting: bool
    is_alive: bool
    is_scheduled: bool
    is_selecting: bool


class Parties:
    """Those who hear of changes.

    Parameters
    ----------
    admission, life, controllers
        Of one world.
    tell_machine : callable
        The door of its scheduler.
    observers : iterable of ChangeObserver
        Who looks on.
    """

    def __init__(
        self,
        *,
        admission: Admission,
        life: Lifecycle,
        tell_machine: Callable[[Event, int], list[Action]],
        controllers: ControllerLoop,
        observers: Iterable[ChangeObserver],
    ) -> None:
        self._admission = admission
        self._life = life
        self._alive = frozenset(life.kinds)
        self._tell_machine = tell_machine
        self._controllers = controllers
        self._observers = tuple(observers)
        self._hearings: dict[GroupKind, _Hearing] = {}

    def tell(
        self, changes: Sequence[Change], answers: Iterable[CallDone], now_ns: int
    ) -> list[Wanted]:
        """Tell everybody of what has changed, and return what they want.

        Parameters
        ----------
        changes : sequence of Change
            In their order.
        answers : iterable of CallDone
            To the scheduler's calls, which hears of the changes first.
        """
        living, watched = self._sorted(changes)
        wanted: list[Wanted] = []
        due: list[StageDue] = []
        hear, live, tell_machine = self._life.handle_change, self._life.handle, self._tell_machine
        for change in living:
            for action in hear(change, now_ns):
                if type(action) is ScheduleStage and action.due_ns <= now_ns:
                    due.append(action.event)
                else:
                    wanted.append(action)
        for event in watched:
            wanted += tell_machine(event, now_ns)
        for answer in answers:
            wanted += tell_machine(answer, now_ns)
        self._controllers.observe(changes)
        for observer in self._observers:
            changed = observer.changed
            for change in changes:
                changed(change.old, change.new, now_ns)
        for play in due:
            wanted += live(play, now_ns)
        return wanted

    def tell_of_node(self, event: NodeEvent, now_ns: int) -> list[Wanted]:
        """Tell of what happens to a node and cannot be seen in any object."""
        self._controllers.handle(event, now_ns)
        return [] if isinstance(event, DrainNode) else [*self._life.handle(event, now_ns)]

    def _sorted(
        self, changes: Iterable[Change]
    ) -> tuple[list[Change], list[ObjectPut | ObjectDeleted]]:
        """Return what the stages are told, and what the scheduler is."""
        living: list[Change] = []
        watched: list[ObjectPut | ObjectDeleted] = []
        hearings = self._hearings
        for change in changes:
            kind, new = change.kind, change.new
            hearing = hearings.get(kind)
            if hearing is None:
                hearing = hearings[kind] = self._hearing_of(kind)
            event: ObjectPut | ObjectDeleted
            if new is None:
                gone: Any = change.object
                event = ObjectDeleted(gone)
            else:
                put: Any = new
                event = ObjectPut(put)
            if hearing.is_alive:
                living.append(change)
            if hearing.is_scheduled and (not hearing.is_selecting or is_news(change.old, new)):
                watched.append(event)
            if hearing.is_admitting:
                (self._admission.forget if new is None else self._admission.put)(event.obj)
        return living, watched

    def _hearing_of(self, kind: GroupKind) -> _Hearing:
        return _Hearing(
            is_admitting=kind in Admission.READ,
            is_alive=kind in self._alive,
            is_scheduled=kind not in NOT_READ,
            is_selecting=kind in SELECTING,
        )
