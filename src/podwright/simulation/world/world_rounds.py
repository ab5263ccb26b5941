"""Rounds of a world: actions are executed, and the changes that result are delivered."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from podwright._interludes import interlude
from podwright.cluster.api import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    UpdateObject,
)
from podwright.cluster.controllers import CreateRejected, NodeEvent, SyncAt, WriteRejected
from podwright.cluster.kubelets import ScheduleStage
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CallExtender,
    EmitEvent,
    ExtenderReplied,
    TimerFired,
    WakeAt,
)
from podwright.simulation.world.change_dispatch import ChangeDispatcher, WorldAction
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.observers import ChangeObserver, Observer
from podwright.simulation.world.scheduler_requests import API_CALLS, ApiCall
from podwright.simulation.world.world_components import WorldComponents
from podwright.simulation.world.world_requests import WorldRequests
from podwright.simulation.world.world_scheduler import WorldScheduler

SLICE_CHANGES_MAX: Final = 32
"""The maximum number of changes that are delivered at once in a slice of `World.catch_up`."""


def _never() -> bool:
    return False


class WorldRounds:
    """Executes the actions of a world's components, and delivers the changes of its store.

    Parameters
    ----------
    components : WorldComponents
    scheduler : WorldScheduler
    actions : deque of WorldAction
        The actions that are pending.
    observers : tuple of Observer

    Attributes
    ----------
    is_slice_over : callable
        Whether the slice of a driver with a real clock has ended; False in virtual time.
    """

    def __init__(
        self,
        components: WorldComponents,
        scheduler: WorldScheduler,
        actions: deque[WorldAction],
        observers: tuple[Observer, ...],
    ) -> None:
        options = components.options
        self._store = components.store
        self._heap = components.heap
        self._controllers = components.controllers
        self._scheduler = scheduler
        self._call_extender = options.call_extender
        self._begin_extender_call = options.begin_extender_call
        self._actions = actions
        self._changes = components.changes
        self._requests = WorldRequests(
            components.api,
            components.store,
            components.heap,
            observers,
            self._handle_rejection,
            components.lifecycle.rejected,
        )
        self._dispatcher = ChangeDispatcher(
            lifecycle=components.lifecycle,
            handle_machine_event=scheduler.handle,
            handle_reply=scheduler.handle_reply,
            controllers=components.controllers,
            observers=[each for each in observers if isinstance(each, ChangeObserver)],
            has_scheduler=options.has_scheduler,
        )
        self._handlers = self._action_handlers()
        self._changes_max = sys.maxsize
        self.is_slice_over: Callable[[], bool] = _never

    @property
    def has_next(self) -> bool:
        """Whether an action or a change is pending."""
        return bool(self._actions or self._changes)

    @property
    def is_done(self) -> bool:
        """Whether no action, change or reply is pending."""
        return not (self.has_next or self._requests.replies)

    def begin_slice(self, is_over: Callable[[], bool]) -> None:
        """Begin a slice: rounds have few changes, and the slice may end between two rounds."""
        self._changes_max, self.is_slice_over = SLICE_CHANGES_MAX, is_over

    def end_slice(self) -> None:
        """End the slice."""
        self._changes_max, self.is_slice_over = sys.maxsize, _never

    def process(self) -> None:
        """Deliver changes and execute actions, in rounds, until none are left."""
        actions, changes, handlers = self._actions, self._changes, self._handlers
        changes_max, is_slice_over = self._changes_max, self.is_slice_over
        while True:
            if changes or self._requests.replies:
                self._dispatch_changes()
            if (not actions and not changes) or is_slice_over():
                return
            while actions and len(changes) < changes_max:
                action = actions.popleft()
                handlers[type(action)](action)

    def _dispatch_changes(self) -> None:
        """Deliver the changes since the last call, and the replies to the scheduler's calls."""
        # The store appends to the list of changes, so it is cleared and not replaced.
        changes = self._changes[: self._changes_max]
        del self._changes[: len(changes)]
        replies: list[CallDone] = []
        if not self._changes:  # replies follow the changes
            replies, self._requests.replies = self._requests.replies, replies
        with interlude():
            actions = self._dispatcher.dispatch(changes, replies, self._heap.now_ns)
        self._actions.extend(actions)
        # With the gate SchedulerAsyncPreemption off, the reply to the last call of a preemption
        # ends the scheduling cycle.
        self._scheduler.deliver_decisions()

    def dispatch_node_event(self, event: NodeEvent) -> None:
        """Deliver an event of a node that changes no object by itself."""
        self._actions.extend(self._dispatcher.dispatch_node_event(event, self._heap.now_ns))

    def load_scheduler(self) -> None:
        """Deliver all objects to a scheduler that is new in the world."""
        changes = self._store.creations()
        self._actions.extend(self._dispatcher.load_scheduler(changes, self._heap.now_ns))
        self.process()

    # ------------------------------------------------------------------------------ actions

    def _action_handlers(self) -> dict[type, Callable[[Any], object]]:
        """Return the method that executes each type of action."""
        handlers: dict[type, Callable[[Any], object]] = dict.fromkeys(API_CALLS, self._call)
        requests = self._requests
        handlers |= {
            EmitEvent: requests.record,
            RecordEvent: requests.record,
            ScheduleStage: self._schedule_stage,
            UpdateObject: requests.write,
            CreateObject: requests.write,
            DeleteObject: requests.delete,
            EvictPod: requests.evict,
            ApplyObject: requests.write,
            PatchObject: requests.write,
            SyncAt: self._sync_at,
            WakeAt: self._wake_at,
            CallExtender: self._run_extender_call,
        }
        return handlers

    def _schedule_stage(self, action: ScheduleStage) -> None:
        self._heap.push(action.due_ns, Turn.STAGE, action.event)

    def _sync_at(self, action: SyncAt) -> None:
        self._heap.push(max(action.due_ns, self._heap.now_ns), Turn.CONTROLLER, action.event)

    def _wake_at(self, action: WakeAt) -> None:
        self._heap.push(max(action.due_ns, self._heap.now_ns), Turn.TIMER, TimerFired())

    def _call(self, action: ApiCall) -> None:
        if type(action) is Bind:
            self._scheduler.unproductive_cycles = 0
        self._requests.call(action)

    def _run_extender_call(self, action: CallExtender) -> None:
        if self._begin_extender_call is not None:
            self._begin_extender_call(action.call, action.request)
            return
        assert self._call_extender is not None, (
            "a configuration with extenders and no call_extender"
        )
        reply = self._call_extender(action.request)
        self._scheduler.decide(ExtenderReplied(action.call, reply))

    def _handle_rejection(self, rejection: CreateRejected | WriteRejected) -> bool:
        controllers = self._controllers
        if isinstance(rejection, WriteRejected) and not controllers.retries(rejection.controller):
            return False
        self._actions.extend(controllers.handle(rejection, self._heap.now_ns))
        return True
