"""Rounds of a world: actions are executed, and the changes that result are delivered.

Every change of the store is delivered to all components, which return actions. Changes are
delivered in batches, component by component: each component receives all changes since the last
batch, in the order in which they were written, before the next component receives any. The order
is stages, scheduler, controllers, observers. So each component works for a while on
its own, as separate processes with watches would. Stages that are due at once run last.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod
from podwright.cluster.api import (
    SCHEDULER_USER,
    ApplyObject,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    Rejection,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.controllers import (
    DrainNode,
    NodeEvent,
    ReportedWrite,
    SyncAt,
    WriteRejected,
)
from podwright.cluster.kubelets import STAGE, ScheduleStage, StageDue
from podwright.cluster.store import Change, GroupKind
from podwright.scheduler.machine import (
    API_CALLS,
    SELECTOR_KINDS,
    UNWATCHED_KINDS,
    ApiCall,
    Bind,
    CallDone,
    CallExtender,
    DeletePod,
    EmitEvent,
    ExtenderReplied,
    ObjectDeleted,
    ObjectPut,
    TimerFired,
    WakeAt,
    changes_selector,
)
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.observers import (
    ChangeObserver,
    CreationObserver,
    EventObserver,
    NodeEventObserver,
    Observer,
    RemovalObserver,
    event_of,
)
from podwright.simulation.world.scheduler_requests import bind_for_extender, execute
from podwright.simulation.world.timing.delays import CycleOver, Issued, TimedEvent, Watched, Written
from podwright.simulation.world.world_components import WorldAction, WorldComponents
from podwright.simulation.world.world_scheduler import WorldScheduler

SLICE_CHANGES_MAX: Final = 32
"""The maximum number of changes that are delivered at once in a slice of `World.catch_up`."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
        self._api = components.api
        self._heap = components.heap
        self._lifecycle = components.lifecycle
        self._controllers = components.controllers
        self._delays = components.delays
        self._scheduler = scheduler
        self._has_scheduler = options.has_scheduler
        self._call_extender = options.call_extender
        self._begin_extender_call = options.begin_extender_call
        self._actions = actions
        self._changes = components.changes
        self._replies: list[CallDone] = []
        self._change_observers = [e for e in observers if isinstance(e, ChangeObserver)]
        self._creation_observers = [e for e in observers if isinstance(e, CreationObserver)]
        self._event_observers = [e for e in observers if isinstance(e, EventObserver)]
        self._node_observers = [e for e in observers if isinstance(e, NodeEventObserver)]
        self._removal_observers = [e for e in observers if isinstance(e, RemovalObserver)]
        self._subscriptions: dict[GroupKind, Subscription] = {}
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
        return not (self.has_next or self._replies)

    def begin_slice(self, is_over: Callable[[], bool]) -> None:
        """Start a slice: rounds have few changes, and the slice may end between two rounds."""
        self._changes_max, self.is_slice_over = SLICE_CHANGES_MAX, is_over

    def end_slice(self) -> None:
        """End the slice."""
        self._changes_max, self.is_slice_over = sys.maxsize, _never

    def process(self) -> None:
        """Deliver changes and execute actions, in rounds, until none are left."""
        actions, changes, handlers = self._actions, self._changes, self._handlers
        changes_max, is_slice_over = self._changes_max, self.is_slice_over
        while True:
            if changes or self._replies:
                self._deliver()
            if (not actions and not changes) or is_slice_over():
                return
            while actions and len(changes) < changes_max:
                action = actions.popleft()
                handlers[type(action)](action)

    # ------------------------------------------------------------------------------ changes

    def _deliver(self) -> None:
        """Deliver the changes since the last call, and the replies to the scheduler's calls."""
        # The store appends to the list of changes, so it is cleared and not replaced.
        changes = self._changes[: self._changes_max]
        del self._changes[: len(changes)]
        replies: list[CallDone] = []
        if not self._changes:  # replies follow the changes
            replies, self._replies = self._replies, replies
        with interlude():
            actions = self._dispatch(changes, replies, self._heap.now_ns)
        self._actions.extend(actions)
        # With the gate SchedulerAsyncPreemption off, the reply to the last call of a preemption
        # ends the scheduling cycle.
        self._scheduler.deliver_decisions()

    def _dispatch(
        self, changes: Sequence[Change], replies: Iterable[CallDone], now_ns: int
    ) -> list[WorldAction]:
        """Deliver changes to all components, and return their actions.

        The scheduler receives replies after the changes, as its informers usually deliver a change
        before the call returns.
        """
        staged, watched = self._route(changes)
        delays = self._delays
        actions: list[WorldAction] = []
        due: list[StageDue] = []
        for change in staged:
            if change.kind == STAGE:
                self._subscriptions.clear()  # another kind may have stages
            for action in self._lifecycle.handle_change(change, now_ns):
                if (
                    type(action) is ScheduleStage
                    and action.due_ns <= now_ns
                    and (delays is None or not delays.is_late(action.stage))
                ):
                    due.append(action.event)
                else:
                    actions.append(action)
        actions += self._watch(watched, now_ns)
        for reply in replies:
            actions += self._scheduler.handle_reply(reply, now_ns)
        was_idle = not self._controllers.has_next
        self._controllers.observe(changes)
        if delays is not None and was_idle and self._controllers.has_next:
            self.hold_controllers(delays.watch.next() + now_ns)
        for observer in self._change_observers:
            changed = observer.changed
            for change in changes:
                changed(change.old, change.new, now_ns)
        for stage_due in due:
            actions += self._lifecycle.handle(stage_due, now_ns)
        return actions

    def _watch(self, watched: list[ObjectPut | ObjectDeleted], now_ns: int) -> list[WorldAction]:
        """Deliver changes to the scheduler, now or after the watch delay."""
        delays = self._delays
        if delays is not None and watched:
            due_ns = delays.watched_ns(now_ns)
            if due_ns > now_ns:
                self._heap.push(due_ns, Turn.TIMED, Watched(tuple(watched)))
                return []
        return [action for event in watched for action in self._scheduler.handle(event, now_ns)]

    def hold_controllers(self, until_ns: int) -> None:
        """Let no controller sync before a time."""
        assert self._delays is not None, "nothing takes time"
        if until_ns > max(self._delays.controllers_ns, self._heap.now_ns):
            self._delays.controllers_ns = until_ns
            self._heap.push(until_ns, Turn.TIMED, CycleOver())

    def process_timed(self, event: TimedEvent) -> None:
        """Process what the timing model has delayed until now."""
        match event:
            case Issued(action):
                self._actions.append(action)
            case Written(action):
                if isinstance(action, API_CALLS):
                    self._call(action)
                else:
                    self._handlers[type(action)](action)
            case Watched(events):
                now_ns = self._heap.now_ns
                for each in events:
                    self._actions.extend(self._scheduler.handle(each, now_ns))
            case CycleOver():
                pass  # what waits for it continues in the next step

    def write_of_controllers(self, actions: Iterable[WorldAction]) -> None:
        """Add the actions of a sync to those that are pending; writes when they take effect."""
        delays, now_ns = self._delays, self._heap.now_ns
        for action in actions:
            due_ns = now_ns
            if delays is not None and not isinstance(action, SyncAt | RecordEvent):
                due_ns = delays.controllers.end_ns(now_ns)
            if due_ns <= now_ns:
                self._actions.append(action)
                continue
            self._heap.push(due_ns, Turn.TIMED, Written(action))  # type: ignore[arg-type]  # a write
            self.hold_controllers(due_ns)

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
                subscription = subscriptions[kind] = Subscription(
                    has_stages=kind in self._lifecycle.kinds,
                    is_scheduled=self._has_scheduler and kind not in UNWATCHED_KINDS,
                    is_selecting=kind in SELECTOR_KINDS,
                )
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

    def dispatch_node_event(self, event: NodeEvent) -> None:
        """Deliver an event of a node that changes no object by itself."""
        now_ns = self._heap.now_ns
        for observer in self._node_observers:
            observer.node_event(event, now_ns)
        self._controllers.handle(event, now_ns)
        if not isinstance(event, DrainNode):
            self._actions.extend(self._lifecycle.handle(event, now_ns))

    def load_scheduler(self) -> None:
        """Deliver all objects to a scheduler that is new in the world."""
        _, watched = self._route(self._store.creations())
        for event in watched:
            self._actions.extend(self._scheduler.handle(event, self._heap.now_ns))
        self.process()

    # ------------------------------------------------------------------------------ actions

    def _action_handlers(self) -> dict[type, Callable[[Any], object]]:
        """Return the method that executes each type of action."""
        handlers: dict[type, Callable[[Any], object]] = dict.fromkeys(API_CALLS, self._issue)
        handlers |= {
            EmitEvent: self._record,
            RecordEvent: self._record,
            ScheduleStage: self._schedule_stage,
            UpdateObject: self._write,
            CreateObject: self._write,
            DeleteObject: self._write_or_remove,
            ReportedWrite: self._write_reported,
            EvictPod: self._evict,
            ApplyObject: self._write,
            PatchObject: self._write,
            SyncAt: self._sync_at,
            WakeAt: self._wake_at,
            CallExtender: self._run_extender_call,
        }
        return handlers

    def _schedule_stage(self, action: ScheduleStage) -> None:
        due_ns, delays = action.due_ns, self._delays
        if delays is not None and delays.is_late(action.stage):
            due_ns += delays.late_ns()
        self._heap.push(due_ns, Turn.STAGE, action.event)

    def _sync_at(self, action: SyncAt) -> None:
        self._heap.push(max(action.due_ns, self._heap.now_ns), Turn.CONTROLLER, action.event)

    def _wake_at(self, action: WakeAt) -> None:
        self._heap.push(max(action.due_ns, self._heap.now_ns), Turn.TIMER, TimerFired())

    def _run_extender_call(self, action: CallExtender) -> None:
        if self._begin_extender_call is not None:
            self._begin_extender_call(action.call, action.request)
            return
        assert self._call_extender is not None, (
            "a configuration with extenders and no call_extender"
        )
        if action.request.verb == "bind":
            # The extender would change another cluster than this one.
            self._scheduler.unproductive_cycles = 0
            reply = bind_for_extender(self._api, action.request, self._heap.now_ns)
        else:
            reply = self._call_extender(action.request)
        self._scheduler.decide(ExtenderReplied(action.call, reply))

    def _issue(self, action: ApiCall) -> None:
        """Execute an API call of the scheduler, or delay it until it takes effect."""
        delays, now_ns = self._delays, self._heap.now_ns
        due_ns = now_ns if delays is None else delays.scheduler.end_ns(now_ns)
        if due_ns > now_ns:
            self._heap.push(due_ns, Turn.TIMED, Written(action))
        else:
            self._call(action)

    def _call(self, action: ApiCall) -> None:
        """Execute an API call of the scheduler."""
        if type(action) is Bind:
            self._scheduler.unproductive_cycles = 0
        elif type(action) is DeletePod:
            self._preempt(action)
            return
        self._replies.append(execute(self._api, action, self._heap.now_ns))

    def _preempt(self, action: DeletePod) -> None:
        """Delete a victim of preemption, and deliver the request to observers."""
        now_ns, pod = self._heap.now_ns, self._store.get(Pod, action.pod)
        reply = execute(self._api, action, now_ns)
        self._replies.append(reply)
        if pod is not None and reply.error is None:
            request = DeleteObject("", "Pod", action.pod, action.uid, SCHEDULER_USER)
            for observer in self._removal_observers:
                observer.removal_handled(pod, request, None, now_ns)

    def _record(self, action: EmitEvent | RecordEvent) -> None:
        """Deliver a Kubernetes Event to observers."""
        if self._event_observers:
            event = event_of(action)
            for observer in self._event_observers:
                observer.event_recorded(event, self._heap.now_ns)

    def _write_or_remove(
        self, request: CreateObject | UpdateObject | DeleteObject
    ) -> Exception | None:
        """Execute a request of a controller or a stage; return the error that is ignored."""
        if isinstance(request, DeleteObject) and request.object_kind == "Pod":
            return self._remove_pod(request, request.key)
        return self._write(request)

    def _write_reported(self, action: ReportedWrite) -> None:
        """Execute a write of a controller, and record the Event about its outcome."""
        action.execute(self._write_or_remove, self._record)

    def _evict(self, request: EvictPod) -> None:
        self._remove_pod(request, request.pod)

    def _remove_pod(
        self, request: DeleteObject | EvictPod, key: NamespacedName
    ) -> Exception | None:
        """Execute a request that removes a pod, and deliver it to observers."""
        pod = self._store.get(Pod, key) if self._removal_observers else None
        error = self._write(request)
        if pod is not None:
            for observer in self._removal_observers:
                observer.removal_handled(pod, request, error, self._heap.now_ns)
        return error

    def _write(self, request: WriteRequest) -> Exception | None:
        """Execute a controller's or a stage's request; return the error that is ignored, if any."""
        match self._api.handle(request, request.user, self._heap.now_ns).error:
            case None | Rejection(reason="NotFound" | "AlreadyExists" | "Conflict") as error:
                return error
            case Rejection() as error if (
                # Upstream records no Event for a namespace that is being deleted either.
                isinstance(request, EvictPod) or error.has_cause("NamespaceTerminating")
            ):
                return error
            case error if self._handle_rejection(WriteRejected(request, str(error))):
                return error
            case Rejection(code=500) as error:  # too large, of a kubelet, which logs it
                return error
            case error if self._controllers.runs(request.user):
                # As upstream's, which logs it; a simulated controller makes its next sync as usual.
                warnings.warn(f"{request.user}: {error}", stacklevel=2)
                return error
            case error:
                for event in self._lifecycle.rejected(request, error):
                    self._record(event)
                return error

    def creation_rejected(self, obj: KubernetesObject, message: str) -> None:
        """Deliver the rejected creation of an object to observers."""
        for observer in self._creation_observers:
            observer.creation_rejected(obj, message, self._heap.now_ns)

    def _handle_rejection(self, rejection: WriteRejected) -> bool:
        """Deliver a rejected write to its controller; return whether that reports it."""
        self._actions.extend(self._controllers.handle(rejection, self._heap.now_ns))
        request = rejection.request
        if isinstance(request, CreateObject):
            self.creation_rejected(request.obj, rejection.message)
        return isinstance(request, CreateObject) or self._controllers.retries(request.user)
