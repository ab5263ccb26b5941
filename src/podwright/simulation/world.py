"""A cluster that lives in virtual time: objects, nodes and pods, controllers, the scheduler.

Theory of operation
-------------------
Everything that is there is in one store. Whoever writes to it, all hear of every change; what
they want comes back as actions. Nobody is called for one change alone: a world goes on in
rounds. In a round all that is wanted is done, first come first served, and then all hear of
what that has changed, party by party (`hearing`): the stages (what becomes of nodes and pods by
themselves), the scheduler, which hears then of the answers to its calls too, the controllers,
observers. What they want is done in the next round; so everything is followed to its end
before the next thing happens.

Between two things the world asks what is next:

1. what is due now: operations from outside, stages, times that somebody waited for;
2. the next pods to be scheduled;
3. the next object for a controller to look at;
4. nothing now: then time goes to where something is due.

Up to `ROUND_MAX` things begin one round together if they are of one sort: stages that are due,
pods to be scheduled. So the scheduler goes on while its pods are bound and its victims
deleted, as upstream's does: it counts on what it has assumed, and hears of it later. What is
done from outside is done one thing after the other, and so are the looks of controllers, none
of which ever acts on an old state.

What happens when depends on nothing but what there is. A world can be written down between any
two steps, and goes on in the same way.

Scheduling and writing take no time here. A run without an end given is over when nothing is
left to happen but that pods which fit nowhere are tried again every five minutes, or when pods
have been tried again so often in vain that nothing can be expected of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from podwright.api import (
    API_CALLS,
    BOOTSTRAP_OBJECTS,
    Api,
    ApiCall,
    CreateObject,
    DeleteObject,
    EvictionRejected,
    EvictPod,
    Forbidden,
    NamespaceTerminating,
    RecordEvent,
    UpdateObject,
    check_workloads,
    execute,
)
from podwright.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.controllers import (
    ALL_CONTROLLERS,
    Controller,
    ControllerLoop,
    CreateRejected,
    DrainNode,
    Lister,
    NodeDown,
    NodeUp,
    SyncAt,
    SyncDue,
    SyncNext,
)
from podwright.framework import CallExtender as Ask
from podwright.framework import Plugin, TieRule
from podwright.machine import (
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    EmitEvent,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    Machine,
    TimerFired,
    WakeAt,
)
from podwright.objects import (
    InvalidObject,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    PodwrightError,
    decode,
)
from podwright.queueing import Touch
from podwright.recording import DecisionLog, Recorder, record
from podwright.simulation.change_dispatch import Parties, Wanted
from podwright.simulation.clock import EventHeap, Turn, check_start
from podwright.simulation.observers import (
    ChangeObserver,
    DecisionObserver,
    EventObserver,
    Observer,
    noted,
)
from podwright.simulation.operation_requests import request_of
from podwright.simulation.operations import (
    Apply,
    Delete,
    Drain,
    FailNode,
    Fed,
    Operation,
    RestoreNode,
)
from podwright.stages import Lifecycle, ScheduleStage, Stage, StageDue
from podwright.store import ObjectError, ObjectStore, kind_of

if TYPE_CHECKING:
    from podwright.simulation.run import Run

START_NS: Final = 1_767_225_600_000_000_000
"""When a world begins unless told otherwise: 2026-01-01T00:00:00Z."""

ROUND_MAX: Final = 32
"""How many things of one sort begin one round: are done before anybody hears of them."""

AT_ONCE_MAX: Final = 10_000_000
"""How much may happen at one time before a run is given up as one that never ends."""

IN_VAIN_MIN: Final = 100
IN_VAIN_PER_POD: Final = 10
"""How many cycles that lead to nothing, in all and for each pod that waits, are enough: pods are
then no more tried before their back-off is over, and a run without an end given may end."""

_SECOND_NS: Final = 1_000_000_000
_FLUSH_NS: Final = 30 * _SECOND_NS
_WINDOW: Final = 100  # few, so that what was replaced goes while it is near
_CYCLE_DUE: Final = CycleDue()
_SYNC_NEXT: Final = SyncNext()

_Due: TypeAlias = Operation | Fed | StageDue | SyncDue | TimerFired


class WorldError(PodwrightError):
    """A world that cannot go on; the text says why."""


class Parts(msgspec.Struct, frozen=True):
    """What a world is made of besides its scheduler; see `World`."""

    stages: Iterable[Stage] | None
    controllers: Iterable[Callable[[Lister], Controller]] | None
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
        controllers: Iterable[Callable[[Lister], Controller]] | None = None,
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
        for document in BOOTSTRAP_OBJECTS:
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
        makers = ALL_CONTROLLERS if parts.controllers is None else parts.controllers
        self._controllers = ControllerLoop(makers)
        self.api = Api(self.store)
        self._parties = Parties(
            admission=self.api.admission,
            life=self._life,
            tell_machine=self._tell_machine,
            controllers=self._controllers,
            observers=[each for each in parts.observers if isinstance(each, ChangeObserver)],
        )
        self._decision_observers = [
            each for each in parts.observers if isinstance(each, DecisionObserver)
        ]
        self._event_observers = [
            each for each in parts.observers if isinstance(each, EventObserver)
        ]
        self._call_extender = parts.call_extender
        self._heap = EventHeap[_Due](start_ns)
        self._inputs: Iterator[tuple[int, Operation]] = iter(())
        self.inputs_taken = 0
        self._todo: deque[Wanted] = deque()
        self._changes = self.store.follow()
        self._answers: list[CallDone] = []
        self._count_at_once = 0
        self.cycles_in_vain = 0
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
            self.cycles_in_vain = 0
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
        from podwright.simulation.run import Run  # it knows worlds

        return Run(self)

    def steps(self, until_ns: int | None = None) -> Iterator[int]:
        """Go on as `run` does; gives the time after every step."""
        while self.step(until_ns):
            yield self.now_ns

    def step(self, until_ns: int | None = None) -> bool:
        """Let the next things happen: a round, and what follows from it.

        Returns
        -------
        bool
            False if there are none, or none until that time.
        """
        heap = self._heap
        turn = heap.due_turn
        if self._changes:
            pass  # somebody has written to the store; that is to be followed first
        elif turn is not None:
            self._happen_due(turn)
        elif self.machine.has_next and not self._is_in_vain():
            self._decide()
        elif self._controllers.has_next:
            self._count_at_once += 1
            self._todo.extend(self._controllers.handle(_SYNC_NEXT, heap.now_ns))
        else:
            return self._wait(heap.next_ns, until_ns)
        self._follow()
        if self._count_at_once > AT_ONCE_MAX:
            raise WorldError(
                f"{AT_ONCE_MAX:,} things happened at {self.now_ns} ns and time does not go"
                " on: does a pod end at once, and its controller make another one?"
            )
        return True

    def _wait(self, next_ns: int | None, until_ns: int | None) -> bool:
        """Let time go to where something is due."""
        if until_ns is None and self._is_hopeless():
            return False
        flush_ns = self._next_flush_ns(is_over=next_ns is None and until_ns is None)
        if flush_ns is not None and (next_ns is None or flush_ns < next_ns):
            next_ns = flush_ns
        if next_ns is None or (until_ns is not None and next_ns > until_ns):
            return False
        self._heap.advance(next_ns)
        self._count_at_once = 0
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

    def _happen_due(self, turn: int) -> None:
        """Let happen what is due now, of one turn, and as much of it as fits into a round."""
        heap = self._heap
        # From outside one thing is done after the other, as if by one who looks on.
        most = 1 if turn == Turn.INPUT else ROUND_MAX
        if turn != Turn.TIMER:
            self.cycles_in_vain = 0
        for _ in range(most):
            self._count_at_once += 1
            self._happen(heap.take())
            if heap.due_turn != turn:
                break

    def _decide(self) -> None:
        """Let the scheduler schedule as many pods as fit into a round."""
        machine = self.machine
        for _ in range(ROUND_MAX):
            self._count_at_once += 1
            self.cycles_in_vain += 1
            self._tell(_CYCLE_DUE)
            if not machine.has_next:
                break

    def _is_in_vain(self) -> bool:
        """Tell whether pods would be tried early, over and over, and nothing comes of it.

        The queue gives pods out before their back-off is over when it has no others. If each
        cycle wakes the pods of the others, as when a gang is let go at Permit that does not fit,
        that has no end where cycles take no time; such pods then wait until it is over.
        """
        return self._has_tried_enough() and not self.machine.queue.metrics().pending_pods.get(
            "active"
        )

    def _is_hopeless(self) -> bool:
        """Tell whether trying pods again is all that is left, and has led to nothing for long.

        Pods that are not rejected by anybody, as when there are no nodes, are tried again every
        few seconds for ever; so is a gang whose members wait for each other at Permit.
        """
        return self._has_tried_enough() and self._heap.has_only(Turn.TIMER)

    def _has_tried_enough(self) -> bool:
        count = self.cycles_in_vain
        return count >= IN_VAIN_MIN and count >= IN_VAIN_PER_POD * len(self.machine.queue)

    def _tell(self, event: Event) -> None:
        """Tell the machine of something that may end a cycle."""
        machine, now_ns = self.machine, self._heap.now_ns
        before = machine.last_decisions
        self._todo.extend(self._tell_machine(event, now_ns))
        decisions = machine.last_decisions
        if decisions is not before:
            for observer in self._decision_observers:
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

    def _operate(self, operation: Operation) -> None:
        now_ns = self._heap.now_ns
        match operation:
            case Drain(node):
                self._todo.extend(self._parties.tell_of_node(DrainNode(node), now_ns))
            case FailNode(node):
                self._todo.extend(self._parties.tell_of_node(NodeDown(node), now_ns))
            case RestoreNode(node):
                self._todo.extend(self._parties.tell_of_node(NodeUp(node), now_ns))
            case _:
                request = request_of(self.store, operation)
                if request is not None:
                    self.api.handle(request, request.user, now_ns).raise_for_error()

    # ------------------------------------------------------------------------------ actions

    def _follow(self) -> None:
        """Tell of what has changed and do what is wanted, in rounds, until nothing is."""
        todo, doers = self._todo, self._doers
        while True:
            if self._changes or self._answers:
                self._announce()
            if not todo:
                return
            while todo:
                action = todo.popleft()
                doers[type(action)](action)

    def _announce(self) -> None:
        """Tell everybody of what has changed since the last time."""
        changes, answers = self._changes.copy(), self._answers
        self._changes.clear()
        self._answers = []
        self._todo.extend(self._parties.tell(changes, answers, self._heap.now_ns))

    def _who_does(self) -> dict[type, Callable[[Any], None]]:
        """Return what is to be called for each kind of action."""
        return dict.fromkeys(API_CALLS, self._call) | {
            EmitEvent: self._record,
            RecordEvent: self._record,
            ScheduleStage: self._play_at,
            UpdateObject: self._write,
            CreateObject: self._write,
            DeleteObject: self._write,
            EvictPod: self._write,
            SyncAt: self._sync_at,
            WakeAt: self._wake_at,
            CallExtender: self._ask,
        }

    def _play_at(self, action: ScheduleStage) -> None:
        self._heap.push(action.due_ns, Turn.STAGE, action.event)

    def _sync_at(self, action: SyncAt) -> None:
        self._heap.push(max(action.due_ns, self.now_ns), Turn.CONTROLLER, action.event)

    def _wake_at(self, action: WakeAt) -> None:
        self._heap.push(max(action.due_ns, self.now_ns), Turn.TIMER, TimerFired())

    def _call(self, action: ApiCall) -> None:
        if type(action) is Bind:
            self.cycles_in_vain = 0
        self._answers.append(execute(self.api, action, self._heap.now_ns))

    def _ask(self, action: CallExtender) -> None:
        assert self._call_extender is not None, "extenders, and nobody to call them"
        reply = self._call_extender(action.request)
        self._tell(ExtenderReplied(action.call, reply))

    def _record(self, action: EmitEvent | RecordEvent) -> None:
        if self._event_observers:
            event = noted(action)
            for observer in self._event_observers:
                observer.noted(event, self._heap.now_ns)

    def _write(self, request: CreateObject | UpdateObject | DeleteObject | EvictPod) -> None:
        """Execute a request of a controller or a stage; what is gone or replaced is no error."""
        match self.api.handle(request, request.user, self._heap.now_ns).error:
            case None | ObjectError() | NamespaceTerminating() | EvictionRejected():
                # Upstream records no Event for a namespace that is being deleted either.
                return
            case Forbidden() | InvalidObject() as error if isinstance(request, CreateObject):
                refusal = CreateRejected(request, str(error))
                self._todo.extend(self._controllers.handle(refusal, self._heap.now_ns))
            case error:
                raise error

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
