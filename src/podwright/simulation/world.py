"""A cluster in virtual time: objects, nodes and pods, controllers, the scheduler.

Theory of operation
-------------------
All objects are in one store. Every change of the store is delivered to all components, which
return actions. The world works in rounds. In a round it executes all pending actions in the order
in which they were returned. Then it delivers the resulting changes to each component in turn
(`change_dispatch`): stages, the scheduler, which also receives the results of its API
calls, controllers, observers. The actions that they return are executed in the next round. Rounds
repeat until no actions and no changes are left, so the consequences of an event are complete
before the next event is processed.

A step selects what to process next:

1. events that are due now: operations of users, stages, delayed syncs, timers;
2. scheduling cycles, if the queue has pods to schedule;
3. the next item of the controllers' workqueues;
4. otherwise virtual time advances to the next due event.

Up to `ROUND_MAX` events of one type start a round together: due stages, or scheduling cycles. So
the scheduler continues while its pods are bound and its victims deleted, as upstream's does: it
relies on its assumed pods and receives the changes later. Operations of users are processed one
at a time, and so are syncs of controllers: no controller acts on stale state.

The order of events depends only on the state of the world. A world can be saved between any two
steps, and a world that is restored continues in the same way.

Scheduling cycles and writes take no virtual time. A run without an end time is over when only
retries of unschedulable pods remain, or when so many scheduling cycles in a row were unproductive
that no progress can be expected.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Unpack, get_args

from podwright._progress import metered
from podwright.api import (
    API_CALLS,
    BOOTSTRAP_OBJECTS,
    ApiCall,
    ApplyObject,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    RecordEvent,
    UpdateObject,
)
from podwright.config import (
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
    format_duration,
)
from podwright.controllers import (
    Controller,
    CreateRejected,
    DrainNode,
    Lister,
    NodeDown,
    NodeEvent,
    NodeUp,
    ReportFailure,
    SyncAt,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.files import FieldValidation
from podwright.framework import CallExtender as ExtenderCaller
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
    MachineKeywords,
    PodActivated,
    SchedulerOptions,
    TimerFired,
    WakeAt,
)
from podwright.objects import (
    KubernetesObject,
    NamespacedName,
    Time,
    read_time,
    require_objects,
    require_type,
)
from podwright.recording import DecisionLog, record
from podwright.schema import decode
from podwright.simulation.added_objects import check_added
from podwright.simulation.backlog import Backlog, Backlogged
from podwright.simulation.change_dispatch import ChangeDispatcher, WorldAction
from podwright.simulation.clock import START_NS, Turn
from podwright.simulation.decision_delivery import DecisionDelivery
from podwright.simulation.endless_work import (
    check_time_advances,
    has_many_unproductive_cycles,
    is_retry_loop,
)
from podwright.simulation.held_events import HeldEvents
from podwright.simulation.input_review import InputReview
from podwright.simulation.observers import (
    ChangeObserver,
    DecisionObserver,
    NodeEventObserver,
    Observer,
    checked_observers,
)
from podwright.simulation.operation_requests import request_of
from podwright.simulation.operations import (
    Apply,
    Delete,
    Drain,
    FailNode,
    InputOperation,
    Operation,
    Put,
    RestoreNode,
)
from podwright.simulation.queue_flush import is_unschedulable_due, next_flush_ns
from podwright.simulation.report import Report, ReportObservers
from podwright.simulation.run import Run
from podwright.simulation.world_components import (
    DueEvent,
    WorldComponents,
    WorldOptions,
    build_components,
    creations,
)
from podwright.simulation.world_reading import WorldReading
from podwright.simulation.world_requests import WorldRequests
from podwright.simulation.world_review import WorldReview
from podwright.stages import ScheduleStage, Stage, StageDue
from podwright.store import ObjectStore, kind_of

ROUND_MAX: Final = 32
"""The maximum number of events of one type that start a round."""

SLICE_CHANGES_MAX: Final = 32
"""The maximum number of changes that are delivered at once in a slice of `World.catch_up`."""

_CYCLE_DUE: Final = CycleDue()
_FLUSH_BACKOFF: Final = FlushBackoff()
_SYNC_NEXT: Final = SyncNext()


def _never() -> bool:
    return False


class World(WorldReading):
    """A virtual cluster with its scheduler.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins, gates, tie_rule, draws_preemption_offset, batching
        As for `record`.
    seed : int
        Of all random draws: ties, delays, names.
    start : Time
        The initial virtual time; without it 2026-01-01T00:00:00Z.
    stages : iterable of Stage, optional
        The stages of nodes and pods; the built-in ones if left out.
    controllers : iterable of callable, optional
        Each makes a controller for a view of the cluster; all built-in ones if left out.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration; required if it has extenders.
    begin_extender_call : callable, optional
        Instead of `call_extender`, for drivers that must not wait: receives the number of a call
        and the call. The driver passes the reply to `extender_replied`. No report is made then.
    observers : iterable of Observer
        Receive changes, decisions or Kubernetes Events.
    log : str, optional
        The folder of the decision log; in memory without it.
    checkpoint_events : int, optional
        As for `record`.
    review : InputReview, optional
        The review of the inputs, for the report; without it, the added objects are reviewed.
    store : ObjectStore, optional
        The store of the world, which may have objects; an empty one if left out.
    has_scheduler : bool
        Whether the scheduler takes part; without it, another one schedules the pods.
    is_served : bool
        Whether an API server has the same store; see `Api`.
    has_kubelet : bool
        Whether kubelets run the pods in every detail; without them, stages do. The kubelets of a
        world that is served renew the leases of their nodes.
    report_failure : callable, optional
        As for `ControllerLoop`.
    components : WorldComponents, optional
        The components of a restored world; all other arguments are ignored then.

    Attributes
    ----------
    components : WorldComponents
        What the world consists of; to read.
    store : ObjectStore
        The objects; to read.
    machine : Machine
        The scheduler; to read.
    log : DecisionLog
        The events that the scheduler handled, and its actions.
    report_observers : ReportObservers
        What the report is made of.
    inputs : iterator of (int, Operation)
        The operations that `add_inputs` received and that are not taken yet; to read.

    Examples
    --------
    >>> import podwright as pw
    >>> world = pw.World(seed=7)
    >>> world.add(pw.testing.make_node("n1", cpu="2"), pw.testing.make_pod("web", cpu="1"))
    >>> run = world.run()
    >>> run.node_of["default/web"]
    'n1'
    """

    def __init__(  # noqa: PLR0913 - the options of a world
        self,
        configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
        *,
        stages: Iterable[Stage] | None = None,
        controllers: Iterable[Callable[[Lister], Controller]] | None = None,
        call_extender: ExtenderCaller | None = None,
        begin_extender_call: Callable[[int, ExtenderCall], None] | None = None,
        observers: Iterable[Observer] = (),
        log: str | None = None,
        checkpoint_events: int | None = None,
        review: InputReview | None = None,
        store: ObjectStore | None = None,
        has_scheduler: bool = True,
        is_served: bool = False,
        has_kubelet: bool = False,
        report_failure: ReportFailure | None = None,
        components: WorldComponents | None = None,
        **keywords: Unpack[MachineKeywords],
    ) -> None:
        is_new = components is None
        if components is None:
            if not isinstance(configuration, SchedulerOptions):
                keywords.setdefault("start", START_NS)
            scheduler = SchedulerOptions.of(configuration, **keywords)
            read_time(scheduler.start_ns, "start", start_ns=None)
            recorder = record(
                None if log is None else str(log), scheduler, checkpoint_events=checkpoint_events
            )
            options = WorldOptions(
                stages=None if stages is None else tuple(stages),
                controllers=controllers,
                call_extender=call_extender,
                begin_extender_call=begin_extender_call,
                observers=checked_observers(observers),
                plugins=scheduler.plugins,
                review=review,
                has_scheduler=has_scheduler,
                is_served=is_served,
                has_kubelet=has_kubelet,
                report_failure=report_failure,
            )
            components = build_components(
                recorder, options, seed=scheduler.seed, start_ns=scheduler.start_ns, store=store
            )
        super().__init__(components)
        self.seed = components.seed
        self.start_ns = components.start_ns
        self.log: DecisionLog = components.recorder.log
        self.api = components.api
        self.inputs_taken = components.inputs_taken
        self.unproductive_cycles = components.unproductive_cycles
        self._lifecycle = components.lifecycle
        self._controllers = components.controllers
        self._call_extender = components.options.call_extender
        self._begin_extender_call = components.options.begin_extender_call
        self._given_review = given_review = components.options.review
        self._review = WorldReview(components.options.stages)
        self._is_load_reviewed = not is_new or given_review is not None
        self.report_observers = ReportObservers(
            {} if given_review is None else given_review.missing_owners
        )
        self.report_observers.attach(self)
        is_waiting = self._begin_extender_call is None
        # Drivers that do not wait run for very long, and make no report.
        reporting = self.report_observers.observers if is_waiting else ()
        all_observers = (*components.options.observers, *reporting)
        recorder = components.recorder
        self._decisions = DecisionDelivery(
            recorder.machine,
            recorder.handle,
            (each for each in all_observers if isinstance(each, DecisionObserver)),
        )
        self._held = held = HeldEvents(recorder.machine, self._decisions.handle)
        self._handle_machine_event = recorder.handle if is_waiting else held.handle
        self._handle_reply = self._decisions.handle if is_waiting else held.handle
        self._node_observers = [e for e in all_observers if isinstance(e, NodeEventObserver)]
        self._dispatcher = ChangeDispatcher(
            lifecycle=self._lifecycle,
            handle_machine_event=self._handle_machine_event,
            handle_reply=self._handle_reply,
            controllers=self._controllers,
            observers=[each for each in all_observers if isinstance(each, ChangeObserver)],
            has_scheduler=components.options.has_scheduler,
        )
        self._heap = components.heap
        self.inputs = components.inputs
        self._changes = components.changes
        self._actions: deque[WorldAction] = deque()
        self._requests = WorldRequests(
            self.api,
            self.store,
            self._heap,
            all_observers,
            self._handle_rejection,
            self._lifecycle.rejected,
        )
        self._count_at_once = 0
        self.backlog = Backlog()
        self._changes_max = sys.maxsize
        self._is_slice_over: Callable[[], bool] = _never
        self._operate_input: Callable[[Operation], None] = self.operate
        self._handlers = self._action_handlers()
        if is_new:
            for document in BOOTSTRAP_OBJECTS:
                obj = decode(document)
                if self.store.get(kind_of(obj), obj.key) is None:
                    self.add(obj)

    # -------------------------------------------------------------------- operations of users

    @property
    def is_between_steps(self) -> bool:
        """Whether no action, change or reply is pending."""
        return not (self._actions or self._changes or self._requests.replies)

    def add(
        self,
        *objects: KubernetesObject,
        at: Time | None = None,
        validate: FieldValidation = "strict",
    ) -> None:
        """Create objects, or replace those of the same names.

        Parameters
        ----------
        at : Time, optional
            The virtual time of the operation; now without it.
        validate : str
            What is done about unknown fields of new objects: `strict` raises, `warn` issues a
            warning, `ignore` accepts them. Invalid values are always errors.

        Raises
        ------
        Forbidden
            An object that the API server rejects, such as a pod whose priority class does not
            exist. With `at` it is raised when that time has come.
        InvalidObject
            An invalid object; none of the objects is written then.
        InputError
            If the time is not valid, or before the present time.
        """
        check_added(objects, validate)
        self._do([Apply(obj) for obj in objects], at)

    def remove(self, *objects: KubernetesObject, at: Time | None = None) -> None:
        """Delete objects, or start their graceful deletion; missing objects are ignored."""
        require_objects(objects)
        self._do([Delete(kind_of(obj), obj.key) for obj in objects], at)

    def do(self, operation: Operation, *, at: Time | None = None) -> None:
        """Execute an operation now, or at a later time; one on a missing object is ignored.

        Raises
        ------
        ArgumentError
            If it is not an operation.
        InputError
            If the time is not valid, or before the present time.
        """
        require_type(operation, get_args(Operation), "operation", "an operation")
        self._do([operation], at)

    def _do(self, operations: Sequence[Operation], at: Time | None) -> None:
        at_ns = None
        if at is not None:
            at_ns = read_time(at, "at", start_ns=self.start_ns, first_ns=self.now_ns)
        for operation in operations:
            if self._given_review is None and isinstance(operation, Apply | Put):
                self._review.add(operation.obj)
            if at_ns is None:
                self.unproductive_cycles = 0
                self.operate(operation)
                self._process_actions()
            else:
                self._heap.push(at_ns, Turn.INPUT, operation)

    def add_inputs(
        self,
        inputs: Iterable[tuple[int, Operation]],
        *,
        operate: Callable[[Operation], None] | None = None,
    ) -> None:
        """Add operations with their times, in order of time.

        They are taken from the iterable one at a time: the next one when the last one is due.

        Parameters
        ----------
        inputs : iterable of (int, Operation)
        operate : callable, optional
            Executes them, in place of `operate`.
        """
        self.inputs = iter(inputs)
        self._operate_input = operate or self.operate
        self._take_input()

    def _take_input(self) -> None:
        due = next(self.inputs, None)
        if due is not None:
            self.inputs_taken += 1
            self._heap.push(due[0], Turn.INPUT, InputOperation(due[1]))

    def extender_replied(self, call: int, reply: ExtenderReply) -> None:
        """Receive the reply to a call that was passed to `begin_extender_call`."""
        self._heap.push(self.now_ns, Turn.EXTENDER, ExtenderReplied(call, reply))

    def activate(self, pod: NamespacedName) -> None:
        """Move a waiting pod to the active queue, as `PodActivated`."""
        self._heap.push(self.now_ns, Turn.EXTENDER, PodActivated(pod))

    # ------------------------------------------------------------------------------ the run

    def run(self, until: Time | None = None, *, progress: bool | None = None) -> Run:
        """Process events until none is left, or until a time, and return the results.

        Parameters
        ----------
        until : Time, optional
            The end: a duration since the start of the world, or a time.
        progress : bool, optional
            Whether to show the progress; by default in terminals and notebooks, if it takes long.

        Raises
        ------
        InputError
            If the time is not valid, or before the present time.
        WorldError
            If the events of one virtual time are endless.
        StageError
            If a stage cannot be applied.
        """
        self.run_until(until, progress=progress)
        return Run(
            self.log,
            machine=self.machine,
            pods=self.pods,
            start_ns=self.start_ns,
            end_ns=self.now_ns,
            plugins=self.components.options.plugins,
            report=self.report(),
        )

    def report(self) -> Report:
        """Return the report so far, without pods never tried; see `begin_extender_call`."""
        self._review_load()
        review = self._given_review or self._review.review()
        return self.report_observers.report(review, self.now_ns)

    def run_until(self, until: Time | None = None, *, progress: bool | None = None) -> None:
        """Process events as `run` does, without results."""
        until_ns, begin_ns = self._read_until(until), self.now_ns
        total_ns = None if until_ns is None else until_ns - begin_ns
        with metered("simulating", total_ns, is_shown=progress) as meter:
            while self.step(until_ns):
                meter.advance(
                    self.now_ns - begin_ns, lambda: format_duration(self.now_ns - self.start_ns)
                )
        if until_ns is not None and until_ns > self.now_ns:
            self._advance_to(until_ns)

    def steps(self, until: Time | None = None) -> Iterator[int]:
        """Process events as `run` does; yields the virtual time after every step."""
        until_ns = self._read_until(until)
        while self.step(until_ns):
            yield self.now_ns

    def catch_up(self, now_ns: int, is_over: Callable[[], bool]) -> bool:
        """Process what is due until a time, in slices; for drivers with a real clock.

        Parameters
        ----------
        now_ns : int
            The present time; a time before that of the world is taken as that of the world.
        is_over : callable
            Called after each step and within long ones; whether the slice has ended.

        Returns
        -------
        bool
            Whether nothing is left that is due at `now_ns`.
        """
        now_ns = max(now_ns, self.now_ns)
        self._changes_max, self._is_slice_over = SLICE_CHANGES_MAX, is_over
        backlog = self.backlog
        try:
            while self._step_late(now_ns) if backlog.is_late else self.step(now_ns):
                if is_over():
                    backlog.is_left(self.now_ns)
                    return False
        finally:
            self._changes_max, self._is_slice_over = sys.maxsize, _never
        if now_ns > self.now_ns:
            self._advance_to(now_ns)
        self._count_at_once = 0
        backlog.is_done()
        return True

    def pass_idle_time(self, now_ns: int) -> None:
        """Advance to a time if nothing is due until then; what follows happens at that time."""
        due_ns = self.next_due_ns
        if now_ns > self.now_ns and (due_ns is None or due_ns > now_ns):
            self._advance_to(now_ns)

    @property
    def next_due_ns(self) -> int | None:
        """When there is something to do next: the present time if there is now; None for never."""
        is_due = self._changes or self._actions or self._heap.due_turn is not None
        if is_due or self._held.has_next or self._controllers.has_next or self._has_cycle:
            return self.now_ns
        due = (self._heap.next_ns, next_flush_ns(self.machine, self.now_ns, is_over=False))
        return min((each for each in due if each is not None), default=None)

    def load_scheduler(self) -> None:
        """Deliver all objects to a scheduler that is new in this world."""
        self._actions.extend(self._dispatcher.load_scheduler(creations(self.store), self.now_ns))
        self._process_actions()

    def _read_until(self, until: Time | None) -> int | None:
        if until is None:
            return None
        return read_time(until, "until", start_ns=self.start_ns, first_ns=self.now_ns)

    def step(self, until: Time | None = None) -> bool:
        """Process the next events in a round, and all their consequences.

        Returns
        -------
        bool
            False if no event is left, or none until that time.
        """
        until_ns = until if until is None or type(until) is int else self._read_until(until)
        heap = self._heap
        turn = heap.due_turn
        if self._changes or self._actions:
            pass  # A caller wrote to the store directly, or a slice ended: process that first.
        elif self._held.has_next:
            # Events that the scheduler received while it was suspended.
            self._actions.extend(self._held.process(ROUND_MAX, heap.now_ns))
            self._decisions.deliver(heap.now_ns)
        elif turn is not None:
            self._process_due(turn)
        elif self._has_cycle:
            self._run_cycles()
        elif self._controllers.has_next:
            self._sync_next()
        else:
            return self._advance(heap.next_ns, until_ns)
        self._process_actions()
        check_time_advances(self._count_at_once, heap.now_ns)
        return True

    def _step_late(self, until_ns: int) -> bool:
        """Process a step as `step` does, but let time pass although work is left; see `Backlog`."""
        is_due = self._held.has_next or self._heap.due_turn is not None
        if is_due or not self.is_between_steps:
            return self.step(until_ns)
        kind = self.backlog.next_kind()
        if kind == Backlogged.CYCLES and self._has_cycle:
            self._run_cycles()
        elif kind == Backlogged.SYNCS and self._controllers.has_next:
            self._sync_next()
        elif kind == Backlogged.TIME:
            if not self._advance(self._heap.next_ns, until_ns) and until_ns > self.now_ns:
                self._advance_to(until_ns)
        else:
            return self.step(until_ns)
        self._process_actions()
        return True

    def _advance(self, next_ns: int | None, until_ns: int | None) -> bool:
        """Advance virtual time to the next event or flush of the queue; False if there is none."""
        if until_ns is None and self._only_retries_left():
            return False
        is_over = next_ns is None and until_ns is None
        flush_ns = next_flush_ns(self.machine, self.now_ns, is_over=is_over)
        if flush_ns is not None and (next_ns is None or flush_ns < next_ns):
            next_ns = flush_ns
        if next_ns is None or (until_ns is not None and next_ns > until_ns):
            return False
        self._advance_to(next_ns)
        self._count_at_once = 0
        if next_ns == flush_ns:
            self._flush(next_ns)
        return True

    def _advance_to(self, next_ns: int) -> None:
        self._review_load()
        self.report_observers.passed(self.now_ns)
        self._heap.advance(next_ns)

    def _review_load(self) -> None:
        """Estimate the initial load, once: before time advances first."""
        if not self._is_load_reviewed:
            self._is_load_reviewed = True
            kinds = self.store.kinds()
            self._review.begin(obj for kind in kinds for obj in self.store.list(kind).objects)

    def _flush(self, now_ns: int) -> None:
        self._actions.extend(self._handle_machine_event(_FLUSH_BACKOFF, now_ns))
        if is_unschedulable_due(self.machine, now_ns, self.start_ns):
            self._actions.extend(self._handle_machine_event(FlushUnschedulable(), now_ns))
        self._process_actions()

    def _process_due(self, turn: int) -> None:
        """Process the events of one turn that are due now, as many as a round allows."""
        heap = self._heap
        # Operations of users are processed one at a time: users observe the results in between.
        most = 1 if turn == Turn.INPUT else ROUND_MAX
        # Timers only retry pods; everything else may change what fits.
        if turn != Turn.TIMER:
            self.unproductive_cycles = 0
        for _ in range(most):
            self._count_at_once += 1
            self._process_event(heap.take())
            if heap.due_turn != turn:
                break

    def _run_cycles(self) -> None:
        """Run scheduling cycles, as many as a round allows."""
        machine = self.machine
        for _ in range(ROUND_MAX):
            self._count_at_once += 1
            self.unproductive_cycles += 1
            self._handle_decision_event(_CYCLE_DUE)
            if not machine.has_next or self._is_slice_over():
                break

    def _sync_next(self) -> None:
        self._count_at_once += 1
        self._actions.extend(self._controllers.handle(_SYNC_NEXT, self._heap.now_ns))

    @property
    def _has_cycle(self) -> bool:
        cycles = self.unproductive_cycles
        return self.machine.has_next and not is_retry_loop(self.machine, cycles)

    def _only_retries_left(self) -> bool:
        """Tell whether only retries of pods remain that were unproductive for long.

        Pods that no plugin rejected, as when there are no nodes, are retried every few seconds
        without end; so is a gang whose members wait for each other at Permit.
        """
        is_long = has_many_unproductive_cycles(self.machine, self.unproductive_cycles)
        return is_long and self._heap.has_only(Turn.TIMER)

    def _handle_decision_event(self, event: Event) -> None:
        """Let the machine handle an event that may end a scheduling cycle."""
        self._actions.extend(self._handle_reply(event, self._heap.now_ns))
        self._decisions.deliver(self._heap.now_ns)

    def _process_event(self, event: DueEvent) -> None:
        now_ns = self._heap.now_ns
        match event:
            case StageDue():  # by far the most frequent
                self._actions.extend(self._lifecycle.handle(event, now_ns))
            case SyncDue():
                self._actions.extend(self._controllers.handle(event, now_ns))
            case TimerFired() | ExtenderReplied() | PodActivated():
                self._handle_decision_event(event)
            case InputOperation(operation):
                self._operate_input(operation)
                self._take_input()
            case _:
                self.operate(event)

    def operate(self, operation: Operation) -> None:
        """Execute an operation while an event is processed; `do` is for all other times."""
        now_ns = self._heap.now_ns
        match operation:
            case Drain(node):
                self._dispatch_node_event(DrainNode(node))
            case FailNode(node):
                self._dispatch_node_event(NodeDown(node))
            case RestoreNode(node):
                self._dispatch_node_event(NodeUp(node))
            case _:
                request = request_of(self.store, operation)
                if request is not None:
                    self.api.handle(request, request.user, now_ns).raise_for_error()

    def _dispatch_node_event(self, event: NodeEvent) -> None:
        now_ns = self._heap.now_ns
        for observer in self._node_observers:
            observer.node_event(event, now_ns)
        self._actions.extend(self._dispatcher.dispatch_node_event(event, now_ns))

    # ------------------------------------------------------------------------------ actions

    def _process_actions(self) -> None:
        """Dispatch changes and execute actions, in rounds, until none are left.

        In a slice of a driver with a real clock, a round has few changes, and the slice may end
        between two rounds.
        """
        actions, changes, handlers = self._actions, self._changes, self._handlers
        changes_max, is_slice_over = self._changes_max, self._is_slice_over
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
        self._actions.extend(self._dispatcher.dispatch(changes, replies, self._heap.now_ns))
        # With the gate SchedulerAsyncPreemption off, the reply to the last call of a preemption
        # ends the scheduling cycle.
        self._decisions.deliver(self._heap.now_ns)

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
        self._heap.push(max(action.due_ns, self.now_ns), Turn.CONTROLLER, action.event)

    def _wake_at(self, action: WakeAt) -> None:
        self._heap.push(max(action.due_ns, self.now_ns), Turn.TIMER, TimerFired())

    def _call(self, action: ApiCall) -> None:
        if type(action) is Bind:
            self.unproductive_cycles = 0
        self._requests.call(action)

    def _run_extender_call(self, action: CallExtender) -> None:
        if self._begin_extender_call is not None:
            self._begin_extender_call(action.call, action.request)
            return
        assert self._call_extender is not None, (
            "a configuration with extenders and no call_extender"
        )
        reply = self._call_extender(action.request)
        self._handle_decision_event(ExtenderReplied(action.call, reply))

    def _handle_rejection(self, rejection: CreateRejected | WriteRejected) -> bool:
        controllers = self._controllers
        if isinstance(rejection, WriteRejected) and not controllers.retries(rejection.controller):
            return False
        self._actions.extend(controllers.handle(rejection, self._heap.now_ns))
        return True
