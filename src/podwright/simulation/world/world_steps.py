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
from collections.abc import Callable
from typing import Final

from podwright._interludes import interlude
from podwright.cluster.controllers import SyncDue, SyncNext
from podwright.cluster.kubelets import StageDue
from podwright.scheduler.machine import ExtenderReplied, PodActivated, TimerFired
from podwright.simulation.world.backlog import Backlog, Backlogged
from podwright.simulation.world.change_dispatch import WorldAction
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.endless_work import check_time_advances
from podwright.simulation.world.inputs.operations import InputOperation
from podwright.simulation.world.world_components import DueEvent, WorldComponents
from podwright.simulation.world.world_operations import WorldOperations
from podwright.simulation.world.world_rounds import WorldRounds
from podwright.simulation.world.world_scheduler import ROUND_MAX, WorldScheduler

_SYNC_NEXT: Final = SyncNext()


class WorldSteps:
    """Processes the events of a world one step at a time, in virtual time or after a real clock.

    Parameters
    ----------
    components : WorldComponents
    scheduler : WorldScheduler
    rounds : WorldRounds
    operations : WorldOperations
    actions : deque of WorldAction, written
        Receives the actions of stages and controllers.
    before_advance : callable
        Called before time advances.

    Attributes
    ----------
    backlog : Backlog
        The work that a real clock has left behind.
    """

    def __init__(
        self,
        components: WorldComponents,
        scheduler: WorldScheduler,
        rounds: WorldRounds,
        operations: WorldOperations,
        actions: deque[WorldAction],
        before_advance: Callable[[], None],
    ) -> None:
        self._lifecycle = components.lifecycle
        self._controllers = components.controllers
        self._heap = components.heap
        self._scheduler = scheduler
        self._rounds = rounds
        self._operations = operations
        self._actions = actions
        self._before_advance = before_advance
        self._count_at_once = 0
        self.backlog = Backlog()

    @property
    def next_due_ns(self) -> int | None:
        """When there is something to do next; see `World.next_due_ns`."""
        heap, scheduler = self._heap, self._scheduler
        is_due = self._rounds.has_next or heap.due_turn is not None
        if is_due or scheduler.has_held or self._controllers.has_next or scheduler.has_cycle:
            return heap.now_ns
        due = (heap.next_ns, scheduler.next_flush_ns())
        return min((each for each in due if each is not None), default=None)

    def step(self, until_ns: int | None) -> bool:
        """Process the next events and their consequences; False if none is left until that time."""
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
        elif self._controllers.has_next:
            self._sync_next()
        else:
            return self._advance(heap.next_ns, until_ns)
        self._rounds.process()
        check_time_advances(self._count_at_once, heap.now_ns)
        return True

    def catch_up(self, now_ns: int, is_over: Callable[[], bool]) -> bool:
        """Process what is due until a time, in slices; see `World.catch_up`."""
        heap, backlog = self._heap, self.backlog
        now_ns = max(now_ns, heap.now_ns)
        self._rounds.begin_slice(is_over)
        try:
            while self._step_late(now_ns) if backlog.is_late else self.step(now_ns):
                if is_over():
                    backlog.is_left(heap.now_ns)
                    return False
        finally:
            self._rounds.end_slice()
        if now_ns > heap.now_ns:
            self.advance_to(now_ns)
        self._count_at_once = 0
        backlog.is_done()
        return True

    def _step_late(self, until_ns: int) -> bool:
        """Process a step as `step` does, but let time pass although work is left; see `Backlog`."""
        heap, scheduler = self._heap, self._scheduler
        is_due = scheduler.has_held or heap.due_turn is not None
        if is_due or not self._rounds.is_done:
            return self.step(until_ns)
        kind = self.backlog.next_kind()
        if kind == Backlogged.CYCLES and scheduler.has_cycle:
            self._run_cycles()
        elif kind == Backlogged.SYNCS and self._controllers.has_next:
            self._sync_next()
        elif kind == Backlogged.TIME:
            if not self._advance(heap.next_ns, until_ns) and until_ns > heap.now_ns:
                self.advance_to(until_ns)
        else:
            return self.step(until_ns)
        self._rounds.process()
        return True

    # -------------------------------------------------------------------------------- events

    def _process_due(self, turn: int) -> None:
        """Process the events of one turn that are due now, as many as a round allows."""
        heap = self._heap
        # Operations of users are processed one at a time: users observe the results in between.
        most = 1 if turn == Turn.INPUT else ROUND_MAX
        # Timers only retry pods; everything else may change what fits.
        if turn != Turn.TIMER:
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
                    staged = self._lifecycle.handle(event, self._heap.now_ns)
                self._actions.extend(staged)
            case SyncDue():
                self._sync(event)
            case TimerFired() | ExtenderReplied() | PodActivated():
                self._scheduler.decide(event)
            case InputOperation(operation):
                self._operations.operate_input(operation)
            case _:
                self._operations.operate(event)

    def _run_cycles(self) -> None:
        self._count_at_once += self._scheduler.run_cycles(self._rounds.is_slice_over)

    def _sync_next(self) -> None:
        self._count_at_once += 1
        self._sync(_SYNC_NEXT)

    def _sync(self, event: SyncDue | SyncNext) -> None:
        with interlude():
            actions = self._controllers.handle(event, self._heap.now_ns)
        self._actions.extend(actions)

    # ---------------------------------------------------------------------------------- time

    def _advance(self, next_ns: int | None, until_ns: int | None) -> bool:
        """Advance virtual time to the next event or flush of the queue; False if there is none."""
        scheduler = self._scheduler
        if until_ns is None and scheduler.has_only_retries:
            return False
        flush_ns = scheduler.next_flush_ns(is_over=next_ns is None and until_ns is None)
        if flush_ns is not None and (next_ns is None or flush_ns < next_ns):
            next_ns = flush_ns
        if next_ns is None or (until_ns is not None and next_ns > until_ns):
            return False
        self.advance_to(next_ns)
        self._count_at_once = 0
        if next_ns == flush_ns:
            scheduler.flush()
            self._rounds.process()
        return True

    def advance_to(self, now_ns: int) -> None:
        """Advance the time, up to which nothing is due."""
        self._before_advance()
        self._heap.advance(now_ns)
