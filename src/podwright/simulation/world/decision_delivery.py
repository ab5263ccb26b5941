"""Delivery of the scheduler's decisions to observers, once for each scheduling cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import Action, Event, Machine
from podwright.simulation.world.observers import DecisionObserver


class DecisionDelivery:
    """Keeps the decisions of scheduling cycles that ended until they are delivered.

    Parameters
    ----------
    machine : Machine
        The scheduler.
    handle_machine_event : callable
        The door of the scheduler: event and time in, actions out.
    observers : iterable of DecisionObserver
    """

    def __init__(
        self,
        machine: Machine,
        handle_machine_event: Callable[[Event, int], list[Action]],
        observers: Iterable[DecisionObserver],
    ) -> None:
        self._machine = machine
        self._handle_machine_event = handle_machine_event
        self._observers = tuple(observers)
        self._new: list[tuple[Decision, ...]] = []

    def handle(self, event: Event, now_ns: int) -> list[Action]:
        """Let the scheduler handle an event, and keep the decisions of a cycle that it ends."""
        machine = self._machine
        before = machine.last_decisions
        actions = self._handle_machine_event(event, now_ns)
        decisions = machine.last_decisions
        if decisions is not before:
            self._new.append(decisions)
        return actions

    def deliver(self, now_ns: int) -> None:
        """Deliver the decisions that were kept."""
        if self._new:
            new, self._new = self._new, []
            for decisions in new:
                for observer in self._observers:
                    observer.decided(decisions, now_ns)
