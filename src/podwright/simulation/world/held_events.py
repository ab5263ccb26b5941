"""Events for a scheduler that waits for an extender: they are held until it goes on.

A scheduling cycle that calls an extender is suspended until the reply. The machine would hold the
events of that time itself and process all of them with the reply: after one second of load that
took 240 ms, during which a server answers nothing. So a driver that does not wait for extenders
holds them in front of the machine, and passes them a few at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from podwright.scheduler.machine import Action, Event, Machine


class HeldEvents:
    """Passes events to a machine in their order, and holds them while it is suspended.

    Parameters
    ----------
    machine : Machine
        Whose state decides what is held.
    handle_machine_event : callable
        The door of the machine: event and time in, actions out.
    """

    def __init__(
        self, machine: Machine, handle_machine_event: Callable[[Event, int], list[Action]]
    ) -> None:
        self._machine = machine
        self._handle_machine_event = handle_machine_event
        self._events: deque[Event] = deque()

    def handle(self, event: Event, now_ns: int) -> list[Action]:
        """Let the machine handle an event; one that is held has no actions yet."""
        machine = self._machine
        # While it is suspended, the reply overtakes the held events, as in the machine.
        is_held = machine.defers(event) if machine.is_suspended else bool(self._events)
        if is_held:
            self._events.append(event)
            return []
        return self._handle_machine_event(event, now_ns)

    @property
    def has_next(self) -> bool:
        """Whether the machine can process a held event."""
        return bool(self._events) and not self._machine.is_suspended

    def process(self, most: int, now_ns: int) -> list[Action]:
        """Let the machine handle at most so many of the oldest held events."""
        actions: list[Action] = []
        while self.has_next and most > 0:
            most -= 1
            actions += self._handle_machine_event(self._events.popleft(), now_ns)
        return actions
