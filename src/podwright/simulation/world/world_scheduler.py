"""The scheduler of a world: its events, its scheduling cycles, the flushes of its queue.

Held events
-----------
A scheduling cycle that calls an extender is suspended until the reply. The machine would hold the
events of that time itself and process all of them with the reply: after one second of load that
took 240 ms, during which a server answers nothing. So for a driver that does not wait for
extenders events are held in front of the machine, and passed a few at a time.

Work without end
----------------
The queue returns pods in backoff when it has no others. If each cycle moves the pods of the other
cycles back to the queue, as when a gang that does not fit is rejected at Permit, this never ends
where cycles take no time. After many unproductive cycles such pods wait until their backoff ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from podwright._interludes import interlude
from podwright.apimachinery.objects import SECOND_NS
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import (
    API_CALLS,
    Action,
    CallExtender,
    CycleDue,
    EmitEvent,
    Event,
    FlushBackoff,
    FlushUnschedulable,
)
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.observers import DecisionObserver, Observer
from podwright.simulation.world.timing.delays import CycleOver, Issued
from podwright.simulation.world.world_components import WorldAction, WorldComponents

ROUND_MAX: Final = 32
"""The maximum number of events of one type that start a round."""

UNPRODUCTIVE_CYCLES_MIN: Final = 100
UNPRODUCTIVE_CYCLES_PER_POD: Final = 10
"""The number of unproductive cycles in a row, in total and for each pod in the queue, after which
pods are no longer retried before their backoff ends, and a run without an end time may end."""

_CYCLE_DUE: Final = CycleDue()
_FLUSH_BACKOFF: Final = FlushBackoff()
# The only call of an extender at the end of a cycle is the one that binds.
_ISSUED: Final = frozenset((*API_CALLS, EmitEvent, CallExtender))


class WorldScheduler:
    """Passes events to the scheduler of a world, and collects its actions.

    Parameters
    ----------
    components : WorldComponents
    actions : deque, written
        Receives the actions of the scheduler.
    observers : tuple of Observer
        Those of decisions receive the decisions of each scheduling cycle that ends.

    Attributes
    ----------
    handle : callable
        The `handle` of the scheduler: event and time in, actions out.
    handle_reply : callable
        The same for events that may end a scheduling cycle. The caller delivers the decisions.
    unproductive_cycles : int
        The number of scheduling cycles since the last bind or other event.
    """

    def __init__(
        self,
        components: WorldComponents,
        actions: deque[WorldAction],
        observers: tuple[Observer, ...],
    ) -> None:
        self._machine = components.recorder.machine
        self._heap = components.heap
        self._delays = components.delays
        self._actions = actions
        self._observers = [e for e in observers if isinstance(e, DecisionObserver)]
        self._decisions: list[tuple[Decision, ...]] = []
        self._held: deque[Event] = deque()
        self._handle_machine_event = components.recorder.handle
        if components.options.read_ns is not None:
            self._handle_machine_event = self._measured(components.options.read_ns)
        waits_for_extenders = components.options.begin_extender_call is None
        self.handle = self._handle_machine_event if waits_for_extenders else self._handle_or_hold
        self.handle_reply = self._handle_and_keep if waits_for_extenders else self._handle_or_hold
        self.unproductive_cycles = components.unproductive_cycles

    def _measured(self, read_ns: Callable[[], int]) -> Callable[[Event, int], list[Action]]:
        """Return a function that handles events, and reports to the metrics how long it took."""
        handle, machine = self._handle_machine_event, self._machine

        def handle_and_report(event: Event, now_ns: int) -> list[Action]:
            began_ns = read_ns()
            actions = handle(event, now_ns)
            machine.metrics.report_spent(read_ns() - began_ns)
            return actions

        return handle_and_report

    def _handle_and_keep(self, event: Event, now_ns: int) -> list[Action]:
        """Let the machine handle an event, and keep the decisions of a cycle that it ends."""
        machine = self._machine
        before = machine.last_decisions
        actions = self._handle_machine_event(event, now_ns)
        decisions = machine.last_decisions
        if decisions is not before:
            self._decisions.append(decisions)
        return actions

    def _handle_or_hold(self, event: Event, now_ns: int) -> list[Action]:
        """Let the machine handle an event; one that is held has no actions yet."""
        machine = self._machine
        # While it is suspended, the reply overtakes the held events, as in the machine.
        is_held = machine.defers(event) if machine.is_suspended else bool(self._held)
        if is_held:
            self._held.append(event)
            return []
        return self._handle_and_keep(event, now_ns)

    def decide(self, event: Event) -> None:
        """Process an event that may end a scheduling cycle."""
        with interlude():
            actions = self.handle_reply(event, self._heap.now_ns)
        if self._delays is not None and self._decisions:
            actions = self._delayed(actions)
        self._actions.extend(actions)
        self.deliver_decisions()

    def _delayed(self, actions: list[Action]) -> list[Action]:
        """Delay the actions of a cycle to its end; return those that are not delayed."""
        delays, heap = self._delays, self._heap
        assert delays is not None, "nothing takes time"
        duration_ns = sum(map(delays.cycle_ns, self._decisions))
        if not duration_ns:
            return actions
        delays.scheduler_ns = heap.now_ns + duration_ns
        for action in actions:
            if type(action) in _ISSUED:
                heap.push(delays.scheduler_ns, Turn.TIMED, Issued(action))  # type: ignore[arg-type]  # of these types
        heap.push(delays.scheduler_ns, Turn.TIMED, CycleOver())
        return [action for action in actions if type(action) not in _ISSUED]

    @property
    def _is_busy(self) -> bool:
        """Whether the last scheduling cycle is not over yet."""
        return self._delays is not None and self._heap.now_ns < self._delays.scheduler_ns

    def deliver_decisions(self) -> None:
        """Deliver the decisions of the scheduling cycles that ended to observers."""
        if self._decisions:
            new, self._decisions = self._decisions, []
            for decisions in new:
                for observer in self._observers:
                    observer.decided(decisions, self._heap.now_ns)

    @property
    def has_held(self) -> bool:
        """Whether events that were held while the scheduler was suspended can be processed."""
        return bool(self._held) and not self._machine.is_suspended

    def process_held(self) -> None:
        """Process the oldest events that were held, as many as a round allows."""
        actions: list[Action] = []
        with interlude():
            most = ROUND_MAX
            while self.has_held and most > 0:
                most -= 1
                actions += self._handle_and_keep(self._held.popleft(), self._heap.now_ns)
        self._actions.extend(actions)
        self.deliver_decisions()

    @property
    def has_cycle(self) -> bool:
        """Whether a scheduling cycle is due."""
        machine = self._machine
        if self._is_busy:
            return False
        if not machine.has_next or not self._is_unproductive:
            return machine.has_next
        return bool(machine.queue.metrics().pending_pods.get("active"))

    @property
    def _is_unproductive(self) -> bool:
        """Whether so many cycles in a row were unproductive that no progress can be expected."""
        return self.unproductive_cycles >= UNPRODUCTIVE_CYCLES_MIN and (
            self.unproductive_cycles >= UNPRODUCTIVE_CYCLES_PER_POD * len(self._machine.queue)
        )

    def run_cycles(self, is_slice_over: Callable[[], bool]) -> int:
        """Run scheduling cycles, as many as a round allows, and return their number."""
        machine = self._machine
        count = 0
        while count < ROUND_MAX:
            count += 1
            self.unproductive_cycles += 1
            self.decide(_CYCLE_DUE)
            if not machine.has_next or self._is_busy or is_slice_over():
                break
        return count

    @property
    def has_only_retries(self) -> bool:
        """Whether only retries of pods remain that were unproductive for long.

        Pods that no plugin rejected, as when there are no nodes, are retried every few seconds
        without end; so is a gang whose members wait for each other at Permit.
        """
        return self._has_no_more(Turn.TIMER)

    @property
    def is_settled(self) -> bool:
        """Whether only later operations and retries of unschedulable pods remain."""
        return self._has_no_more(Turn.TIMER, Turn.INPUT)

    def _has_no_more(self, *turns: Turn) -> bool:
        """Whether no events but those of some turns lead to anything but retries.

        A timer of a pod that no longer waits at Permit leads to nothing.
        """
        if not self._heap.has_only(*turns):
            return False
        if self._is_unproductive:
            return True
        return not self._machine.has_timers and self.next_flush_ns(is_over=True) is None

    def next_flush_ns(self, *, is_over: bool) -> int | None:
        """Return the first whole second, from now on, at which a flush would move a pod.

        Parameters
        ----------
        is_over : bool
            Whether nothing else is left: then flushes of unschedulable pods alone do not count.

        Returns
        -------
        int, optional
            None for never.
        """
        machine = self._machine
        due_ns = machine.next_flush_ns
        # While an extender is called, a flush would only be held back.
        if due_ns is None or machine.defers(_FLUSH_BACKOFF):
            return None
        # Flushes of unschedulable pods alone would continue a run without end time forever.
        if is_over and not machine.queue.metrics().pending_pods.get("backoff"):
            return None
        # Upstream's flush loops run every second, and every thirty seconds.
        whole_ns = -(-due_ns // SECOND_NS) * SECOND_NS
        return max(whole_ns, self._heap.now_ns)

    def flush(self) -> None:
        """Flush the queue at the current time."""
        now_ns = self._heap.now_ns
        with interlude():
            actions = self.handle(_FLUSH_BACKOFF, now_ns)
            due_ns = self._machine.next_flush_ns
            # Past its time if the start is between two whole seconds, or if an extender was called
            # then.
            if due_ns is not None and due_ns <= now_ns:
                actions += self.handle(FlushUnschedulable(), now_ns)
        self._actions.extend(actions)
