"""Recording a machine: every event that it handles is appended to a decision log."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from podwright.scheduler.machine import Action, Event, Machine, ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog


class EventFeed(Protocol):
    """Reads the machine while it is recorded."""

    def advance(self, now_ns: int) -> None:
        """Receive the time of the next event, before it is handled."""

    def handled(self, event: Event) -> None:
        """Receive an event that was handled."""


class Recorder:
    """Records every event of a machine.

    Parameters
    ----------
    machine : Machine
        To be used through this only.
    log : DecisionLog
    """

    def __init__(self, machine: Machine, log: DecisionLog) -> None:
        self.machine = machine
        self.log = log
        self._feeds: list[EventFeed] = []
        self.handle = self._recording()
        """Let the machine handle an event, and record it; see `Machine.handle`.

        Raises `LogError` if a block cannot be written, and the event has then not been handled:
        the same call may be tried again.
        """

    def __repr__(self) -> str:
        return f"<Recorder: {len(self.log)} events>"

    def add_feed(self, feed: EventFeed) -> None:
        """Let a feed receive each event from now on."""
        self._feeds.append(feed)

    def remove_feed(self, feed: EventFeed) -> None:
        """Let a feed receive no further event."""
        self._feeds.remove(feed)

    def _recording(self) -> Callable[[Event, int], list[Action]]:
        # A closure, because this is on the way of every event. No event is looked at, but an
        # object that is put ends no cycle.
        machine, log, rows = self.machine, self.log, self.log.rows
        handle, entries, add, end_cycle = machine.handle, rows.entries, rows.add, rows.end_cycle
        feeds = self._feeds
        last = machine.last_decisions
        limit = sys.maxsize if log.waits_for_flush else 0

        def handle_and_record(event: Event, now_ns: int) -> list[Action]:
            nonlocal last, limit
            # Before the event: if the write fails, the event was not handled.
            if len(entries) >= limit:
                # If the write fails, the next event tries it again.
                # `entries` has three items for each event.
                limit = 0
                limit = 3 * log.catch_up(machine)
            for feed in feeds:
                feed.advance(now_ns)
            actions = handle(event, now_ns)
            for feed in feeds:
                feed.handled(event)
            add(now_ns, event, actions)
            if type(event) is not ObjectPut and (decided := machine.last_decisions) is not last:
                last = decided
                for decision in decided:
                    end_cycle(decision.pod)
            return actions

        return handle_and_record
