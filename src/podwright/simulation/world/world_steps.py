"""Steps of a world: the selection of what is processed next, and the advance of time.

A step processes the first of these that is due, and all its consequences:

1. changes and actions that a caller or the last slice has left;
2. events that the scheduler received while it was suspended;
3. events that are due now: operations of users, stages, delayed syncs, timers;
4. scheduling cycles, if the queue has pods to schedule;
5. the next item of the controllers' workqueues;
6. otherwise time advances to the next due event, or to the next flush of the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Final, Self

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    ArgumentError,
    Node,
    Pod,
    PodwrightError,
    parse_label_selector,
    quoted,
    timestamp_text,
)
from podwright.cluster.api import Rejection, exceeds_quota
from podwright.cluster.controllers import DrainNode, NodeDown, NodeUp, SyncDue, SyncNext
from podwright.cluster.kubelets import StageDue
from podwright.scheduler.machine import ExtenderReplied, PodActivated, TimerFired
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.inputs.conditions import Condition, OperationSequence, StepDue
from podwright.simulation.world.inputs.operation_requests import (
    MissingObject,
    request_of,
    require_object,
)
from podwright.simulation.world.inputs.operations import (
    ON_NODE,
    Drain,
    FailNode,
    InputOperation,
    OnNodes,
    Operation,
    RestoreNode,
    Stop,
)
from podwright.simulation.world.observers import Observer, OperationObserver
from podwright.simulation.world.timing.delays import CycleOver, Issued, Watched, Written
from podwright.simulation.world.world_components import DueEvent, WorldAction, WorldComponents
from podwright.simulation.world.world_rounds import WorldRounds
from podwright.simulation.world.world_scheduler import ROUND_MAX, WorldScheduler

AT_ONCE_MAX: Final = 100_000
"""The number of events at one virtual time after which a run fails as endless."""

AT_ONCE_PER_POD: Final = 100
"""The same for each pod, where that is more."""

_SYNC_NEXT: Final = SyncNext()


class WorldError(PodwrightError):
    """A world that cannot continue; the text says why."""


class WorldSteps:
    """Processes the events of a world one step at a time, in virtual time or after a real clock.

    Parameters
    ----------
    components : WorldComponents
    observers : tuple of Observer

    Attributes
    ----------
    components : WorldComponents
        What the world consists of; to read.
    backlog : Backlog
        The work that a real clock has left behind.
    inputs : iterator of (int, Operation)
        The operations that `add_inputs` received and that are not taken yet; to read.
    inputs_taken : int
        The number of inputs taken so far.
    sequences : list of OperationSequence
        Operations that wait for conditions; to read.
    missing : MissingObjects
        The operations that found no object.
    is_stopped : bool
        Whether an operation has ended the run.
    """

    def __init__(self, components: WorldComponents, observers: tuple[Observer, ...]) -> None:
        self.components = components
        self._heap = components.heap
        self._actions: deque[WorldAction] = deque()
        self._scheduler = WorldScheduler(components, self._actions, observers)
        self._rounds = WorldRounds(components, self._scheduler, self._actions, observers)
        self._operation_observers = [e for e in observers if isinstance(e, OperationObserver)]
        self._count_at_once = 0
        self._given_operate: Callable[[Operation], None] | None = None
        self.backlog = Backlog()
        self.inputs: Iterator[tuple[int, Operation]] = components.inputs
        self.inputs_taken = components.inputs_taken
        self.sequences: list[OperationSequence] = []
        self.missing = components.missing
        self.is_stopped = False

    @property
    def next_due_ns(self) -> int | None:
        """When there is something to do next: the current time if there is now; None for never."""
        heap, scheduler = self._heap, self._scheduler
        is_due = self._rounds.has_next or heap.due_turn is not None
        if is_due or scheduler.has_held or self._has_sync or scheduler.has_cycle:
            return heap.now_ns
        due = (heap.next_ns, scheduler.next_flush_ns(is_over=False))
        return min((each for each in due if each is not None), default=None)

    @property
    def is_between_steps(self) -> bool:
        """Whether no action, change or reply is pending."""
        return self._rounds.is_done

    @property
    def unproductive_cycles(self) -> int:
        """The number of scheduling cycles since the last bind or other event."""
        return self._scheduler.unproductive_cycles

    def load_scheduler(self) -> None:
        """Deliver all objects to a scheduler that is new in this world."""
        self._rounds.load_scheduler()

    def step_until_ns(self, until_ns: int | None) -> bool:
        """Process the next events and their consequences.

        Parameters
        ----------
        until_ns : int or None
            Later events are left, in nanoseconds since 1970; None for no limit.

        Returns
        -------
        bool
            False if no event is left, or none until that time.
        """
        if self.is_stopped:
            return False
        heap, scheduler = self._heap, self._scheduler
        turn = heap.due_turn
        if self._rounds.has_next:
            pass  # A caller wrote to the store directly, or a slice ended: process that first.
        elif scheduler.has_held:
            scheduler.process_held()
        elif turn is not None:
            self._process_due(turn)
        elif scheduler.has_cycle:
            self._run_cycles()
        elif self._has_sync:
            self._sync_next()
        else:
            return self._advance(heap.next_ns, until_ns)
        self._rounds.process()
        if self._count_at_once > AT_ONCE_MAX:
            self._check_progress()
        return True

    def _check_progress(self) -> None:
        most = max(AT_ONCE_MAX, AT_ONCE_PER_POD * self.components.store.count(Pod))
        if self._count_at_once > most:
            raise WorldError(
                f"{most:,} events occurred at {self._heap.now_ns} ns without advancing time: does a"
                " pod end immediately, or is it deleted, and its controller creates another one?"
            )

    def catch_up(self, now_ns: int, is_over: Callable[[], bool]) -> bool:
        """Process what is due until a time, in slices; for drivers with a real clock.

        Parameters
        ----------
        now_ns : int
            The current time; a time before that of the world is taken as that of the world.
        is_over : callable
            Called after each step and within long ones; whether the slice has ended.

        Returns
        -------
        bool
            Whether nothing is left that is due at `now_ns`.
        """
        heap, backlog = self._heap, self.backlog
        now_ns = max(now_ns, heap.now_ns)
        self._rounds.begin_slice(is_over)
        try:
            while self._step_late(now_ns) if backlog.is_late else self.step_until_ns(now_ns):
                if is_over():
                    backlog.is_left(heap.now_ns)
                    return False
        finally:
            self._rounds.end_slice()
        if now_ns > heap.now_ns:
            self._advance_to(now_ns)
        self._count_at_once = 0
        backlog.is_done()
        return True

    def _step_late(self, until_ns: int) -> bool:
        """Process a step as `step` does, but let time pass although work is left; see `Backlog`."""
        heap, scheduler = self._heap, self._scheduler
        is_due = scheduler.has_held or heap.due_turn is not None
        if is_due or not self._rounds.is_done:
            return self.step_until_ns(until_ns)
        kind = self.backlog.next_kind()
        if kind == Backlogged.CYCLES and scheduler.has_cycle:
            self._run_cycles()
        elif kind == Backlogged.SYNCS and self._has_sync:
            self._sync_next()
        elif kind == Backlogged.TIME:
            if not self._advance(heap.next_ns, until_ns) and until_ns > heap.now_ns:
                self._advance_to(until_ns)
        else:
            return self.step_until_ns(until_ns)
        self._rounds.process()
        return True

    # -------------------------------------------------------------------------------- events

    def _process_due(self, turn: int) -> None:
        """Process the events of one turn that are due now, as many as a round allows."""
        heap = self._heap
        # Operations of users are processed one at a time: users observe the results in between.
        most = 1 if turn == Turn.INPUT else ROUND_MAX
        # Timers only retry pods; everything else may change what fits.
        if turn not in (Turn.TIMER, Turn.TIMED):
            self._scheduler.unproductive_cycles = 0
        for _ in range(most):
            self._count_at_once += 1
            self._process_event(heap.take())
            if heap.due_turn != turn:
                break

    def _process_event(self, event: DueEvent) -> None:
        match event:
            case StageDue():  # by far the most frequent
                with interlude():
                    staged = self.components.lifecycle.handle(event, self._heap.now_ns)
                self._actions.extend(staged)
            case SyncDue():
                self._sync(event)
            case TimerFired() | ExtenderReplied() | PodActivated():
                self._scheduler.decide(event)
            case InputOperation(operation):
                self._operate_input(operation)
                self._take_input()
            case StepDue(sequence):
                sequence.start(self._heap.now_ns)
                if not sequence.is_waiting:
                    if sequence.step.operation is not None:
                        self._operate_input(sequence.step.operation)
                    self._take_step(sequence)
            case CycleOver() | Issued() | Written() | Watched():
                self._rounds.process_timed(event)
            case _:
                self._operate_input(event)

    def _run_cycles(self) -> None:
        self._count_at_once += self._scheduler.run_cycles(self._rounds.is_slice_over)

    @property
    def _has_sync(self) -> bool:
        """Whether a sync of a controller is due."""
        delays = self.components.delays
        is_held = delays is not None and self._heap.now_ns < delays.controllers_ns
        return self.components.controllers.has_next and not is_held

    def _sync_next(self) -> None:
        self._count_at_once += 1
        self._sync(_SYNC_NEXT)

    def _sync(self, event: SyncDue | SyncNext) -> None:
        with interlude():
            actions = self.components.controllers.handle(event, self._heap.now_ns)
        self._rounds.write_of_controllers(actions)

    # ---------------------------------------------------------------------------- operations

    def operate(self, operation: Operation) -> None:
        """Execute `operation` while an event is processed; `do` is for all other times.

        Raises
        ------
        MissingObject
            If an operation that a user wrote finds no object.
        """
        require_object(self.components.store, operation)
        for observer in self._operation_observers:
            observer.operated(operation, self._heap.now_ns)
        match operation:
            case Drain(node):
                self._rounds.dispatch_node_event(DrainNode(node))
            case FailNode(node):
                self._rounds.dispatch_node_event(NodeDown(node))
            case RestoreNode(node):
                self._rounds.dispatch_node_event(NodeUp(node))
            case Stop():
                self.is_stopped = True
            case OnNodes(name, selector):
                for node in self._matching(selector):
                    self.operate(ON_NODE[name](node, ""))
            case _:
                request = request_of(self.components.store, operation)
                if request is not None:
                    reply = self.components.api.handle(request, request.user, self._heap.now_ns)
                    reply.raise_for_error()

    def _operate_input(self, operation: Operation) -> None:
        """Execute an operation that was added with its time."""
        operate = self._given_operate or self._operate_or_note
        operate(operation)

    def _operate_or_note(self, operation: Operation) -> None:
        try:
            self.operate(operation)
        except MissingObject as error:
            # Without the time, which differs between seeds: sweeps count equal remarks.
            sentence = f"{error} when it is due; the operation had no effect"
            self.missing = self.missing.and_one(sentence)
        except (ArgumentError, Rejection) as error:
            obj = getattr(operation, "obj", None)
            if obj is None or not isinstance(error, Rejection) or not exceeds_quota(error):
                due = timestamp_text(self._heap.now_ns)
                raise ArgumentError(f"the operation at {due}: {error}") from error
            self._rounds.creation_rejected(obj, str(error))

    def _matching(self, selector: str) -> list[str]:
        """Return the nodes whose labels match, in order of names; at least one."""
        matches = parse_label_selector(selector).matches
        nodes = self.components.store.list(Node).objects
        found = [each.name for each in nodes if matches(each.metadata.labels)]
        if not found:
            raise ArgumentError(f"selector {quoted(selector)} matches none of {len(nodes)} nodes")
        return found

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
            Executes them, in place of `operate`, which `missing` then hears nothing of.
        """
        self.inputs = iter(inputs)
        self._given_operate = operate
        self._take_input()

    def _take_input(self) -> None:
        due = next(self.inputs, None)
        if due is not None:
            self.inputs_taken += 1
            self._heap.push(due[0], Turn.INPUT, InputOperation(due[1]))

    def continue_operations(self, other: Self) -> None:
        """Take over what users do later in `other`, whose components this world has."""
        self._given_operate, self.sequences = other._given_operate, other.sequences
        self.is_stopped, self.missing = other.is_stopped, other.missing

    def add_sequence(self, sequence: OperationSequence) -> None:
        """Add `sequence`, whose operations wait for conditions; such a world cannot be saved."""
        self.sequences.append(sequence)
        self._take_step(sequence)

    def _take_step(self, sequence: OperationSequence) -> None:
        due_ns = sequence.next_due_ns(self._heap.now_ns)
        if due_ns is not None:
            self._heap.push(due_ns, Turn.INPUT, StepDue(sequence))

    def _release(self) -> bool:
        """Continue the sequences whose conditions hold; False if none does."""
        has_released = False
        for sequence in self.sequences:
            if sequence.is_waiting and sequence.try_release(self._unmet):
                has_released = True
                if sequence.step.operation is not None:
                    self._heap.push(self._heap.now_ns, Turn.INPUT, sequence.step.operation)
                self._take_step(sequence)
        return has_released

    def _unmet(self, condition: Condition) -> str:
        components = self.components
        return condition.unmet(
            components.store,
            components.controllers.draining_nodes,
            is_settled=self._scheduler.is_settled,
            now_ns=self._heap.now_ns,
        )

    def _give_up(self, next_ns: int) -> bool:
        """End the waits whose time is over before the next event; False if there is none."""
        late = [
            (deadline_ns, sequence)
            for sequence in self.sequences
            if (deadline_ns := sequence.deadline_ns) is not None and deadline_ns < next_ns
        ]
        if not late:
            return False
        deadline_ns = min(due_ns for due_ns, _ in late)
        self._advance_to(deadline_ns)
        for due_ns, sequence in late:
            if due_ns == deadline_ns:
                sequence.give_up("after the timeout")
        return True

    # ---------------------------------------------------------------------------------- time

    def _before_advance(self) -> None:
        """Do what precedes each advance of time."""

    def _advance(self, next_ns: int | None, until_ns: int | None) -> bool:
        """Advance virtual time to the next event or flush of the queue; False if there is none."""
        scheduler = self._scheduler
        if self.sequences and self._release():
            return True
        if until_ns is None and scheduler.has_only_retries:
            return False
        flush_ns = scheduler.next_flush_ns(is_over=next_ns is None and until_ns is None)
        if flush_ns is not None and (next_ns is None or flush_ns < next_ns):
            next_ns = flush_ns
        if next_ns is None or (until_ns is not None and next_ns > until_ns):
            return False
        if self.sequences and self._give_up(next_ns):
            return True
        self._advance_to(next_ns)
        self._count_at_once = 0
        if next_ns == flush_ns:
            scheduler.flush()
            self._rounds.process()
        return True

    def _advance_to(self, now_ns: int) -> None:
        """Advance the time, up to which nothing is due."""
        self._before_advance()
        self._heap.advance(now_ns)


# Work that a real clock has left behind: time passes although it is not done.
#
# In virtual time, everything at one time is done before time passes. A world that follows a real
# clock may receive more work than it does: while clients create pods without end, pods would never
# terminate, leases would not be renewed and syncs would wait for all scheduling cycles. So once a
# world has been at one time for many slices, the kinds of its work take turns: a round of
# scheduling cycles, a sync of a controller, and what is due next. Timers stay in order.

SLICES_MAX: Final = 16
"""After how many slices at one time the world is late: 100 ms of slices of 6 ms."""


class Backlogged(IntEnum):
    """The kinds of work that take turns."""

    CYCLES = 0
    SYNCS = 1
    TIME = 2


class Backlog:
    """Whether a world is late, and whose turn it is then.

    Attributes
    ----------
    is_late : bool
    steps : int
        The number of turns so far.
    """

    def __init__(self) -> None:
        self.is_late = False
        self.steps = 0
        self._slices = 0
        self._now_ns = 0
        self._kind = Backlogged.TIME

    def is_left(self, now_ns: int) -> None:
        """Receive the time of the world at the end of a slice that has left work."""
        self._slices = self._slices + 1 if now_ns == self._now_ns else 1
        self._now_ns = now_ns
        self.is_late |= self._slices >= SLICES_MAX

    def is_done(self) -> None:
        """Receive that no work is left."""
        self.is_late = False
        self._slices = 0

    def next_kind(self) -> Backlogged:
        """Return the kind whose turn it is."""
        self.steps += 1
        self._kind = Backlogged((self._kind + 1) % len(Backlogged))
        return self._kind
