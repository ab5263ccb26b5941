"""A cluster that lives in virtual time: objects, nodes and pods, controllers, the scheduler.

Theory of operation
-------------------
Everything that is there is in one store. Whoever writes to it, all four hear of every change,
in this order: stages (what becomes of nodes and pods by themselves), the scheduler,
controllers, observers. What they want comes back as actions, which are done first come first
served; so one change is followed to its end before the next thing happens.

Between two things the world asks what is next:

1. what is due now: operations from outside, stages, times that somebody waited for;
2. the next pod to be scheduled;
3. the next object for a controller to look at;
4. nothing now: then time goes to where something is due.

Scheduling and writing take no time here. A run without an end given is over when nothing is
left to happen but that pods which fit nowhere are tried again every five minutes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from podwright.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.framework import Plugin
from podwright.framework.extenders import CallExtender as Ask
from podwright.framework.profile import TieRule
from podwright.machine import (
    CallExtender,
    CycleDue,
    EmitEvent,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    Machine,
    ObjectDeleted,
    ObjectPut,
    TimerFired,
    WakeAt,
)
from podwright.machine.actions import Action
from podwright.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    PodwrightError,
    decode,
    encode,
    with_fields,
)
from podwright.queueing import Touch
from podwright.store import AlreadyExists, Conflict, GroupKind, NotFound, ObjectStore, kind_of
from podwright.store.decision_log import DecisionLog, Recorder
from podwright.store.lifecycle import Propagation, Scope
from podwright.world import first_objects
from podwright.world.admission import Admission, Forbidden, NamespaceTerminating
from podwright.world.api_calls import API_CALLS, ApiCall, make_call
from podwright.world.clock import EventHeap, Turn, check_start
from podwright.world.controllers import ALL_CONTROLLERS, Controllers, View
from podwright.world.controllers.contract import (
    Controller,
    ControllerAction,
    CreateObject,
    CreateRefused,
    DeleteObject,
    DrainNode,
    NodeDown,
    NodeUp,
    SyncAt,
    SyncDue,
    SyncNext,
    UpdateObject,
)
from podwright.world.hearing import Hearing, hearing_of
from podwright.world.observing import Noted, Observer, noted
from podwright.world.operations import (
    Apply,
    Cordon,
    Delete,
    Drain,
    FailNode,
    Fed,
    Operation,
    Put,
    RestoreNode,
    Scale,
    Update,
    is_placed,
    may_update,
)
from podwright.world.past.replay import record
from podwright.world.shadow.scheduler_view import is_news
from podwright.world.stages.lifecycle import (
    Lifecycle,
    LifecycleAction,
    PlayAt,
    PutObject,
    RecordEvent,
    RemoveObject,
    StageDue,
)
from podwright.world.stages.stage import Stage
from podwright.world.workload_checks import check_workloads

if TYPE_CHECKING:
    from podwright.world.runs.run import Run

START_NS: Final = 1_767_225_600_000_000_000
"""When a world begins unless told otherwise: 2026-01-01T00:00:00Z."""

STEPS_AT_ONCE_MAX: Final = 10_000_000
"""How much may happen at one time before a run is given up as one that never ends."""

_SECOND_NS: Final = 1_000_000_000
_FLUSH_NS: Final = 30 * _SECOND_NS
_WINDOW: Final = 100
_CYCLE_DUE: Final = CycleDue()
_SYNC_NEXT: Final = SyncNext()

_Due: TypeAlias = Operation | Fed | StageDue | SyncDue | TimerFired
_Wanted: TypeAlias = Action | LifecycleAction | ControllerAction


class WorldError(PodwrightError):
    """A world that cannot go on; the text says why."""


class Parts(msgspec.Struct, frozen=True):
    """What a world is made of besides its scheduler; see `World`."""

    stages: Iterable[Stage] | None
    controllers: Iterable[Callable[[View], Controller]] | None
    call_extender: Ask | None
    observers: tuple[Observer, ...]
    plugins: tuple[type[Plugin], ...]


class World:
    """A virtual cluster with its scheduler.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration, optional
        As `read_configuration` gives it; the default profile if left out.
    plugins, gates, tie_rule, draws_preemption_offset, batching
        As for `record`.
    seed : int
        Of all draws: ties, delays, names.
    start_ns : int
        When it begins, in nanoseconds since 1970.
    stages : iterable of Stage, optional
        What becomes of nodes and pods; the built-in ones if left out.
    controllers : iterable of callable, optional
        Each makes a controller for a view of the cluster; all there are if left out.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration, which needs it if it has some.
    observers : iterable of Observer
        Who is told of everything.
    log : str, optional
        A folder for the decision log; in memory without it.
    checkpoint_events : int, optional
        As for `record`.

    Attributes
    ----------
    store : ObjectStore
        The objects; to read.
    machine : Machine
        The scheduler; to read.
    log : DecisionLog
        What the scheduler was told and what it wanted.

    Examples
    --------
    >>> import podwright as pw
    >>> world = pw.World(seed=7)
    >>> world.add(pw.testing.make_node("n1", cpu="2"), pw.testing.make_pod("web", cpu="1"))
    >>> run = world.run()
    >>> run.node_of["default/web"]
    'n1'
    """

    def __init__(  # noqa: PLR0913 - what a world can be told
        self,
        configuration: KubeSchedulerConfiguration | None = None,
        *,
        plugins: Iterable[type[Plugin]] = (),
        gates: Gates = DEFAULT_GATES,
        seed: int = 0,
        start_ns: int = START_NS,
        tie_rule: TieRule = TieRule.DRAWN,
        draws_preemption_offset: bool = True,
        batching: bool = False,
        stages: Iterable[Stage] | None = None,
        controllers: Iterable[Callable[[View], Controller]] | None = None,
        call_extender: Ask | None = None,
        observers: Iterable[Observer] = (),
        log: str | None = None,
        checkpoint_events: int | None = None,
    ) -> None:
        check_start(start_ns)
        recorder = record(
            None if log is None else str(log),
            configuration,
            plugins=plugins,
            gates=gates,
            seed=seed,
            tie_rule=tie_rule,
            draws_preemption_offset=draws_preemption_offset,
            start_ns=start_ns,
            batching=batching,
            checkpoint_events=checkpoint_events,
        )
        parts = Parts(stages, controllers, call_extender, tuple(observers), tuple(plugins))
        self._set_up(recorder, parts, seed=seed, start_ns=start_ns)
        for document in first_objects.FIRST_OBJECTS:
            self.add(decode(document))

    def _set_up(self, recorder: Recorder, parts: Parts, *, seed: int, start_ns: int) -> None:
        """Be an empty world around a machine; `world_state` fills one as another one was."""
        self.seed = seed
        self.start_ns = start_ns
        self.parts = parts
        self.store = ObjectStore(seed=seed, window=_WINDOW)
        self.machine: Machine = recorder.machine
        self.log: DecisionLog = recorder.log
        self._tell_machine = recorder.handle
        self._life = Lifecycle(parts.stages, seed=seed)
        self._lives = frozenset(self._life.kinds)
        self._hearings: dict[GroupKind, Hearing] = {}
        makers = ALL_CONTROLLERS if parts.controllers is None else parts.controllers
        self._controllers = Controllers(makers)
        self._admission = Admission(self.store)
        self._observers = parts.observers
        self._call_extender = parts.call_extender
        self._heap = EventHeap[_Due](start_ns)
        self._inputs: Iterator[tuple[int, Operation]] = iter(())
        self.inputs_taken = 0
        self._todo: deque[_Wanted] = deque()
        self._changes = self.store.follow()
        self._steps_at_once = 0
        self._doers = self._who_does()

    # ------------------------------------------------------------------------- from outside

    @property
    def now_ns(self) -> int:
        """The virtual time, in nanoseconds since 1970."""
        return self._heap.now_ns

    def add(self, *objects: KubernetesObject, at_ns: int | None = None) -> None:
        """Create objects, or replace those of their names.

        Parameters
        ----------
        at_ns : int, optional
            When; now without it.

        Raises
        ------
        Forbidden
            An object that the API server would not let in, such as a pod of a priority class
            that does not exist, or a new one in a namespace that is being deleted. With `at_ns`
            that comes out when it is time.
        InvalidObject
            A workload that is wrong; then none of the objects has been taken.
        """
        check_workloads(objects)
        for obj in objects:
            self.do(Apply(obj), at_ns=at_ns)

    def remove(self, *objects: KubernetesObject, at_ns: int | None = None) -> None:
        """Delete objects, or begin to; those that are not there are left alone."""
        for obj in objects:
            self.do(Delete(kind_of(obj), obj.key), at_ns=at_ns)

    def do(self, operation: Operation, *, at_ns: int | None = None) -> None:
        """Do something to the cluster, now or later."""
        if at_ns is None:
            self._operate(operation)
            self._follow()
        else:
            self._heap.push(at_ns, Turn.INPUT, operation)

    def feed(self, inputs: Iterable[tuple[int, Operation]]) -> None:
        """Do many things at their times; they are asked for one at a time, in order of time."""
        self._inputs = iter(inputs)
        self._take_input()

    def _take_input(self) -> None:
        due = next(self._inputs, None)
        if due is not None:
            self.inputs_taken += 1
            self._heap.push(due[0], Turn.INPUT, Fed(due[1]))

    # ------------------------------------------------------------------------------ the run

    def run(self, until_ns: int | None = None) -> Run:
        """Go on until nothing is left to happen, or until a time, and return what came of it.

        Raises
        ------
        WorldError
            If there is no end to what happens at one time.
        StageError
            If a stage cannot be played.
        """
        while self.step(until_ns):
            pass
        if until_ns is not None and until_ns > self.now_ns:
            self._heap.advance(until_ns)
        from podwright.world.runs.run import Run  # it knows worlds

        return Run(self)

    def steps(self, until_ns: int | None = None) -> Iterator[int]:
        """Go on as `run` does; gives the time after every step."""
        while self.step(until_ns):
            yield self.now_ns

    def step(self, until_ns: int | None = None) -> bool:
        """Let the next thing happen.

        Returns
        -------
        bool
            False if there is none, or none until that time.
        """
        heap = self._heap
        due = heap.take_due()
        if due is not None:
            self._happen(due)
        elif self.machine.has_next:
            self._tell(_CYCLE_DUE)
        elif self._controllers.has_next:
            self._todo.extend(self._controllers.handle(_SYNC_NEXT, heap.now_ns))
        else:
            return self._wait(heap.next_ns, until_ns)
        self._follow()
        self._steps_at_once += 1
        if self._steps_at_once > STEPS_AT_ONCE_MAX:
            raise WorldError(
                f"{STEPS_AT_ONCE_MAX:,} things happened at {self.now_ns} ns and time does not go"
                " on: does a pod end at once, and its controller make another one?"
            )
        return True

    def _wait(self, next_ns: int | None, until_ns: int | None) -> bool:
        """Let time go to where something is due."""
        flush_ns = self._next_flush_ns(is_over=next_ns is None and until_ns is None)
        if flush_ns is not None and (next_ns is None or flush_ns < next_ns):
            next_ns = flush_ns
        if next_ns is None or (until_ns is not None and next_ns > until_ns):
            return False
        self._heap.advance(next_ns)
        self._steps_at_once = 0
        if next_ns == flush_ns:
            self._flush(next_ns)
        return True

    def _next_flush_ns(self, *, is_over: bool) -> int | None:
        """Return the first whole second at which a flush of the queue would move a pod."""
        due_ns = self.machine.next_flush_ns
        if due_ns is None:
            return None
        if is_over and not self.machine.queue.metrics().pending_pods.get("backoff"):
            return None
        whole_ns = -(-due_ns // _SECOND_NS) * _SECOND_NS
        return max(whole_ns, self.now_ns)

    def _flush(self, now_ns: int) -> None:
        self._todo.extend(self._tell_machine(FlushBackoff(), now_ns))
        if (now_ns - self.start_ns) % _FLUSH_NS == 0:
            self._todo.extend(self._tell_machine(FlushUnschedulable(), now_ns))
        self._follow()

    def _tell(self, event: Event) -> None:
        """Tell the machine of something that may end a cycle."""
        machine, now_ns = self.machine, self._heap.now_ns
        before = machine.last_decisions
        self._todo.extend(self._tell_machine(event, now_ns))
        decisions = machine.last_decisions
        if decisions is not before:
            for observer in self._observers:
                observer.decided(decisions, now_ns)

    def _happen(self, event: _Due) -> None:
        now_ns = self._heap.now_ns
        match event:
            case StageDue():  # by far the most
                self._todo.extend(self._life.handle(event, now_ns))
            case SyncDue():
                self._todo.extend(self._controllers.handle(event, now_ns))
            case TimerFired():
                self._tell(event)
            case Fed(operation):
                self._operate(operation)
                self._take_input()
            case _:
                self._operate(event)

    # ------------------------------------------------------------------------------ actions

    def _follow(self) -> None:
        """Tell of all changes and do all that is wanted, until nothing is."""
        todo, doers = self._todo, self._doers
        self._announce()
        while todo:
            action = todo.popleft()
            doers[type(action)](action)

    def _announce(self) -> None:
        """Tell everybody of the changes since the last time."""
        fresh = self._changes
        if not fresh:
            return
        changes = fresh.copy()
        fresh.clear()
        now_ns, todo = self._heap.now_ns, self._todo
        for change in changes:
            old, new = change.old, change.new
            hearing = self._hearings.get(change.kind)
            if hearing is None:
                hearing = self._hearings[change.kind] = hearing_of(change.kind, self._lives)
            obj: Any = change.object
            event = ObjectPut(obj) if new is not None else ObjectDeleted(obj)
            if hearing.is_admitting:
                (self._admission.forget if new is None else self._admission.put)(obj)
            if hearing.is_alive:
                todo.extend(self._life.handle(event, now_ns))
            if hearing.is_scheduled and (not hearing.is_selecting or is_news(old, new)):
                todo.extend(self._tell_machine(event, now_ns))
            self._controllers.handle(event, now_ns)
            for observer in self._observers:
                observer.changed(old, new, now_ns)

    def _who_does(self) -> dict[type, Callable[[Any], None]]:
        """Return what is to be called for each kind of action."""
        return dict.fromkeys(API_CALLS, self._call) | {
            EmitEvent: self._record,
            RecordEvent: self._record,
            PlayAt: self._play_at,
            PutObject: self._update,
            UpdateObject: self._update,
            CreateObject: self._create,
            RemoveObject: self._delete,
            DeleteObject: self._delete,
            SyncAt: self._sync_at,
            WakeAt: self._wake_at,
            CallExtender: self._ask,
        }

    def _play_at(self, action: PlayAt) -> None:
        self._heap.push(action.due_ns, Turn.STAGE, action.event)

    def _sync_at(self, action: SyncAt) -> None:
        self._heap.push(max(action.due_ns, self.now_ns), Turn.CONTROLLER, action.event)

    def _wake_at(self, action: WakeAt) -> None:
        self._heap.push(max(action.due_ns, self.now_ns), Turn.TIMER, TimerFired())

    def _call(self, action: ApiCall) -> None:
        now_ns = self._heap.now_ns
        done = make_call(self.store, action, now_ns)
        self._announce()
        self._todo.extend(self._tell_machine(done, now_ns))

    def _ask(self, action: CallExtender) -> None:
        assert self._call_extender is not None, "extenders, and nobody to call them"
        reply = self._call_extender(action.request)
        self._tell(ExtenderReplied(action.call, reply))

    def _record(self, action: EmitEvent | RecordEvent) -> None:
        if self._observers:
            self._note(noted(action))

    def _note(self, event: Noted) -> None:
        for observer in self._observers:
            observer.noted(event, self._heap.now_ns)

    def _create(self, action: CreateObject) -> None:
        try:
            self.store.create(self._admission.admit_new(action.obj), self._heap.now_ns)
        except (AlreadyExists, NamespaceTerminating):
            return  # upstream does not talk of what is on its way out either
        except Forbidden as error:
            refusal = CreateRefused(action, str(error))
            self._todo.extend(self._controllers.handle(refusal, self._heap.now_ns))
            return
        self._announce()

    def _update(self, action: PutObject | UpdateObject) -> None:
        try:
            self.store.update(action.obj, scope=action.scope)
        except (NotFound, Conflict):
            return
        self._announce()

    def _delete(self, action: RemoveObject | DeleteObject) -> None:
        grace_seconds: int | None = 0
        propagation: Propagation | None = None
        if isinstance(action, DeleteObject):
            grace_seconds, propagation = action.grace_seconds, action.propagation
        try:
            self.store.delete(
                (action.group, action.object_kind),
                action.key,
                self._heap.now_ns,
                uid=action.uid,
                grace_seconds=grace_seconds,
                propagation=propagation,
            )
        except (NotFound, Conflict):
            return
        self._announce()

    # --------------------------------------------------------------------------- operations

    def _operate(self, operation: Operation) -> None:
        now_ns = self._heap.now_ns
        match operation:
            case Apply(obj):
                self._apply(obj, "main")
            case Put(obj):
                self._apply(obj, "whole")
            case Update(obj):
                if may_update(self.store.get(kind_of(obj), obj.key)):
                    self._apply(obj, "main")
            case Delete(kind, key, grace_seconds, only_pending):
                there = self.store.get(kind, key)
                if there is not None and not (only_pending and is_placed(there)):
                    self.store.delete(kind, key, now_ns, grace_seconds=grace_seconds)
            case Cordon(node, is_cordoned):
                self._change(("", "Node"), node, {"unschedulable": is_cordoned or None})
            case Scale(kind, key, replicas):
                self._change(kind, key, {"replicas": replicas})
            case Drain(node):
                self._controllers.handle(DrainNode(node), now_ns)
            case FailNode(node):
                self._tell_of(NodeDown(node))
            case RestoreNode(node):
                self._tell_of(NodeUp(node))

    def _tell_of(self, fault: NodeDown | NodeUp) -> None:
        """Tell of what happens to a node and cannot be seen in any object."""
        self._todo.extend(self._life.handle(fault, self._heap.now_ns))
        self._controllers.handle(fault, self._heap.now_ns)

    def _apply(self, obj: KubernetesObject, scope: Scope) -> None:
        namespace = obj.namespace
        if namespace and self.store.get(("", "Namespace"), namespace) is None:
            self.store.create(first_objects.namespace(namespace), self._heap.now_ns)
            self._announce()
        if self.store.get(kind_of(obj), obj.key) is not None:
            admitted = self._admission.admit(obj)
            theirs = with_fields(admitted, "metadata", resource_version="", uid="")
            self.store.update(theirs, scope=scope)
        elif scope == "whole" and obj.uid:
            self.store.put(self._admission.admit(obj))
        else:
            self.store.create(self._admission.admit_new(obj), self._heap.now_ns)

    def _change(self, kind: tuple[str, str], key: NamespacedName, spec: Document) -> None:
        obj = self.store.get(kind, key)
        if obj is None:
            return
        document = encode(obj)
        changed = {**(document.get("spec") or {}), **spec}
        kept = {name: value for name, value in changed.items() if value is not None}
        self.store.update(decode(document | {"spec": kept}))

    # ------------------------------------------------------------------------------ looking

    @property
    def pods(self) -> Sequence[Pod]:
        """Every pod, in the order of namespaces and names."""
        return [obj for obj in self.store.list(Pod).objects if isinstance(obj, Pod)]

    @property
    def nodes(self) -> Sequence[Node]:
        """Every node, in the order of names."""
        return [obj for obj in self.store.list(Node).objects if isinstance(obj, Node)]

    @property
    def node_of(self) -> dict[NamespacedName, str]:
        """Per pod that is on a node, its name."""
        return {pod.key: pod.spec.node_name for pod in self.pods if pod.spec.node_name}

    def story(self, pod: NamespacedName) -> list[Touch]:
        """Return what touched a pod in the queue lately, oldest first."""
        return self.machine.story(pod)
