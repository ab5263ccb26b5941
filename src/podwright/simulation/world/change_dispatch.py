"""Dispatch of store changes to the components of a world.

Every change of the store is delivered to all components, which return actions. Changes are
delivered in batches, component by component: each component receives all changes since the last
batch, in the order in which they were written, before the next component receives any. The order
is stages, scheduler, controllers, observers. So each component works for a while on
its own, as separate processes with watches would. Stages that are due at once run last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from podwright.cluster.controllers import ControllerAction, ControllerLoop, DrainNode, NodeEvent
from podwright.cluster.kubelets import Lifecycle, LifecycleAction, ScheduleStage, StageDue
from podwright.cluster.store import Change, GroupKind
from podwright.scheduler.machine import (
    SELECTOR_KINDS,
    UNWATCHED_KINDS,
    Action,
    CallDone,
    Event,
    ObjectDeleted,
    ObjectPut,
    changes_selector,
)
from podwright.simulation.world.observers import ChangeObserver

WorldAction: TypeAlias = Action | LifecycleAction | ControllerAction
"""An action that a component returns and the world executes."""


class Subscription(msgspec.Struct, frozen=True, gc=False):
    """The components that receive changes of one kind; controllers and observers receive all.

    Attributes
    ----------
    has_stages : bool
        Whether stages apply to objects of the kind.
    is_scheduled : bool
        Whether the scheduler watches objects of the kind.
    is_selecting : bool
        Whether the scheduler reads only the selectors of these objects, so that it does not
        receive most of their changes.
    """

    has_stages: bool
    is_scheduled: bool
    is_selecting: bool


class ChangeDispatcher:
    """Delivers changes to the components of one world.

    Parameters
    ----------
    lifecycle, controllers
        Components of the world.
    handle_machine_event : callable
        The door of the scheduler: event and time in, actions out.
    handle_reply : callable
        The same for the results of API calls, which may end a scheduling cycle.
    observers : iterable of ChangeObserver
    has_scheduler : bool
        Whether the scheduler receives changes.
    """

    def __init__(
        self,
        *,
        lifecycle: Lifecycle,
        handle_machine_event: Callable[[Event, int], list[Action]],
        handle_reply: Callable[[CallDone, int], list[Action]],
        controllers: ControllerLoop,
        observers: Iterable[ChangeObserver],
        has_scheduler: bool = True,
    ) -> None:
        self._lifecycle = lifecycle
        self._kinds_with_stages = frozenset(lifecycle.kinds)
        self._handle_machine_event = handle_machine_event
        self._handle_reply = handle_reply
        self._controllers = controllers
        self._observers = tuple(observers)
        self._has_scheduler = has_scheduler
        self._subscriptions: dict[GroupKind, Subscription] = {}

    def dispatch(
        self, changes: Sequence[Change], replies: Iterable[CallDone], now_ns: int
    ) -> list[WorldAction]:
        """Deliver changes to all components, and return their actions.

        Parameters
        ----------
        changes : sequence of Change
            In the order in which they were written.
        replies : iterable of CallDone
            Results of the scheduler's API calls. The scheduler receives them after the changes,
            as its informers usually deliver a change before the call returns.
        """
        staged, watched = self._route(changes)
        actions: list[WorldAction] = []
        due: list[StageDue] = []
        handle_machine_event = self._handle_machine_event
        for change in staged:
            for action in self._lifecycle.handle_change(change, now_ns):
                if type(action) is ScheduleStage and action.due_ns <= now_ns:
                    due.append(action.event)
                else:
                    actions.append(action)
        for event in watched:
            actions += handle_machine_event(event, now_ns)
        for reply in replies:
            actions += self._handle_reply(reply, now_ns)
        self._controllers.observe(changes)
        for observer in self._observers:
            changed = observer.changed
            for change in changes:
                changed(change.old, change.new, now_ns)
        for stage_due in due:
            actions += self._lifecycle.handle(stage_due, now_ns)
        return actions

    def load_scheduler(self, changes: Iterable[Change], now_ns: int) -> list[WorldAction]:
        """Deliver the creation of all objects to the scheduler only, and return its actions."""
        _, watched = self._route(changes)
        return [each for event in watched for each in self._handle_machine_event(event, now_ns)]

    def dispatch_node_event(self, event: NodeEvent, now_ns: int) -> list[WorldAction]:
        """Deliver an event of a node that changes no object by itself."""
        self._controllers.handle(event, now_ns)
        return [] if isinstance(event, DrainNode) else [*self._lifecycle.handle(event, now_ns)]

    def _route(
        self, changes: Iterable[Change]
    ) -> tuple[list[Change], list[ObjectPut | ObjectDeleted]]:
        """Return the changes for the stages and the events for the scheduler."""
        staged: list[Change] = []
        watched: list[ObjectPut | ObjectDeleted] = []
        subscriptions = self._subscriptions
        for change in changes:
            kind = change.kind
            subscription = subscriptions.get(kind)
            if subscription is None:
                subscription = subscriptions[kind] = self._subscription_to(kind)
            if subscription.has_stages:
                staged.append(change)
            # Events, which nobody reads here, are at rest when a server starts: not decoded.
            if not subscription.is_scheduled:
                continue
            new = change.new
            if not subscription.is_selecting or changes_selector(change.old, new):
                obj: Any = change.object
                watched.append(ObjectDeleted(obj) if new is None else ObjectPut(obj))
        return staged, watched

    def _subscription_to(self, kind: GroupKind) -> Subscription:
        return Subscription(
            has_stages=kind in self._kinds_with_stages,
            is_scheduled=self._has_scheduler and kind not in UNWATCHED_KINDS,
            is_selecting=kind in SELECTOR_KINDS,
        )
