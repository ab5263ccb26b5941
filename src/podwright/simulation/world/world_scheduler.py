"""The scheduler of a world: its events, its scheduling cycles, the flushes of its queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from podwright._interludes import interlude
from podwright.scheduler.machine import CycleDue, Event, FlushBackoff, FlushUnschedulable
from podwright.simulation.recording import Recorder
from podwright.simulation.world.change_dispatch import WorldAction
from podwright.simulation.world.clock import EventHeap, Turn
from podwright.simulation.world.decision_delivery import DecisionDelivery
from podwright.simulation.world.endless_work import has_many_unproductive_cycles, is_retry_loop
from podwright.simulation.world.held_events import HeldEvents
from podwright.simulation.world.observers import DecisionObserver, Observer
from podwright.simulation.world.queue_flush import is_unschedulable_due, next_flush_ns
from podwright.simulation.world.world_components import DueEvent

ROUND_MAX: Final = 32
"""The maximum number of events of one type that start a round."""

_CYCLE_DUE: Final = CycleDue()
_FLUSH_BACKOFF: Final = FlushBackoff()


class WorldScheduler:
    """Passes events to the scheduler of a world, and collects its actions.

    Parameters
    ----------
    recorder : Recorder
        The scheduler and its decision log.
    heap : EventHeap
        Has the present time.
    start_ns : int
        The initial time of the world.
    actions : deque, written
        Receives the actions of the scheduler.
    observers : iterable of Observer
        Those of decisions receive the decisions of each scheduling cycle that ends.
    waits_for_extenders : bool
        Whether a call to an extender returns before the next event; otherwise events are held
        while the scheduler is suspended.
    unproductive_cycles : int
        Of a restored world.

    Attributes
    ----------
    handle : callable
        The door of the scheduler: event and time in, actions out.
    handle_reply : callable
        The same for events that may end a scheduling cycle. The caller delivers the decisions.
    unproductive_cycles : int
        The number of scheduling cycles since the last bind or other event.
    """

    def __init__(
        self,
        recorder: Recorder,
        heap: EventHeap[DueEvent],
        start_ns: int,
        actions: deque[WorldAction],
        observers: Iterable[Observer],
        *,
        waits_for_extenders: bool,
        unproductive_cycles: int,
    ) -> None:
        self._machine = machine = recorder.machine
        self._heap = heap
        self._start_ns = start_ns
        self._actions = actions
        self._decisions = decisions = DecisionDelivery(
            machine, recorder.handle, (e for e in observers if isinstance(e, DecisionObserver))
        )
        self._held = held = HeldEvents(machine, decisions.handle)
        self.handle = recorder.handle if waits_for_extenders else held.handle
        self.handle_reply = decisions.handle if waits_for_extenders else held.handle
        self.unproductive_cycles = unproductive_cycles

    def decide(self, event: Event) -> None:
        """Process an event that may end a scheduling cycle."""
        with interlude():
            actions = self.handle_reply(event, self._heap.now_ns)
        self._actions.extend(actions)
        self.deliver_decisions()

    def deliver_decisions(self) -> None:
        """Deliver the decisions of the scheduling cycles that ended to observers."""
        self._decisions.deliver(self._heap.now_ns)

    @property
    def has_held(self) -> bool:
        """Whether events that were held while the scheduler was suspended can be processed."""
        return self._held.has_next

    def process_held(self) -> None:
        """Process the oldest events that were held, as many as a round allows."""
        with interlude():
            actions = self._held.process(ROUND_MAX, self._heap.now_ns)
        self._actions.extend(actions)
        self.deliver_decisions()

    @property
    def has_cycle(self) -> bool:
        """Whether a scheduling cycle is due."""
        machine = self._machine
        return machine.has_next and not is_retry_loop(machine, self.unproductive_cycles)

    def run_cycles(self, is_slice_over: Callable[[], bool]) -> int:
        """Run scheduling cycles, as many as a round allows, and return their number."""
        machine = self._machine
        count = 0
        while count < ROUND_MAX:
            count += 1
            self.unproductive_cycles += 1
            self.decide(_CYCLE_DUE)
            if not machine.has_next or is_slice_over():
                break
        return count

    @property
    def has_only_retries(self) -> bool:
        """Whether only retries of pods remain that were unproductive for long.

        Pods that no plugin rejected, as when there are no nodes, are retried every few seconds
        without end; so is a gang whose members wait for each other at Permit.
        """
        is_long = has_many_unproductive_cycles(self._machine, self.unproductive_cycles)
        return is_long and self._heap.has_only(Turn.TIMER)

    def next_flush_ns(self, *, is_over: bool = False) -> int | None:
        """Return when a flush of the queue would move a pod; see `queue_flush`."""
        return next_flush_ns(self._machine, self._heap.now_ns, is_over=is_over)

    def flush(self) -> None:
        """Flush the queue at the present time."""
        now_ns = self._heap.now_ns
        with interlude():
            actions = self.handle(_FLUSH_BACKOFF, now_ns)
            if is_unschedulable_due(self._machine, now_ns, self._start_ns):
                actions += self.handle(FlushUnschedulable(), now_ns)
        self._actions.extend(actions)
