"""Replay of a log: a machine is set to a checkpoint and handles the recorded events after it.

The machine is built from the log's header, restored from the last checkpoint before the requested
event, and given the events that follow. It is deterministic, so it reaches the recorded state. A
checkpoint without the state of a plugin is skipped: replay then starts at an earlier one, or at
the first event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from podwright.framework import Plugin
from podwright.machine import Action, Machine
from podwright.objects import KubernetesObject
from podwright.recording.decision_log import DecisionLog
from podwright.recording.gc_pause import without_collection
from podwright.recording.log_checkpoints import Start
from podwright.recording.log_format import Entry, LogError, encode_actions
from podwright.recording.record import new_machine


class Replay:
    """A machine on its way through a log, event after event.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        Begin at the last checkpoint before this event; None at the last one of all.
    objects : mapping of int to object, optional
        Tell the machine of these, by their numbers, instead of copies; for who goes on with
        the log.
    is_checked : bool
        Whether `step` raises where plugins that are not in-tree decide otherwise than recorded.
    """

    def __init__(
        self,
        log: DecisionLog,
        *,
        until: int | None = None,
        plugins: Iterable[type[Plugin]] = (),
        objects: Mapping[int, KubernetesObject] | None = None,
        is_checked: bool = True,
    ) -> None:
        self.machine = new_machine(log, plugins=plugins)
        with without_collection():
            start: Start = log.start(until)
            if objects is not None:
                start = msgspec.structs.replace(start, given=objects)
                start.objects.update(objects)
            if start.snapshot is not None:
                self.machine.restore(start.snapshot, start.objects)
        self.index = start.index
        # What a plugin that is not in-tree decides by is not known: it may have changed.
        self._own = tuple(plugin.name for plugin in log.setup.plugins) if is_checked else ()
        self._entries = log.entries_from(start)
        self._next: Entry | None = None

    def peek(self) -> Entry | None:
        """Return the next event, and leave it to be handled; None at the end of the log."""
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next

    def step(self) -> tuple[Entry, list[Action]] | None:
        """Let the machine handle the next event; None at the end of the log.

        Raises
        ------
        LogError
            If the run was recorded with plugins that are not in-tree, and the machine does not
            answer as it is recorded: nothing that is said of it from here on would be right.
        """
        entry = self.peek()
        if entry is None:
            return None
        self._next = None
        self.index = entry.index + 1
        actions = self.machine.handle(entry.event, entry.now_ns)
        if self._own and encode_actions(actions) != entry.actions:
            raise LogError(
                f"event {entry.index} does not come out as it is recorded, so the run cannot be"
                f" looked at from there on: a plugin ({', '.join(self._own)}) decides by something"
                " that is not in the log, such as a variable that earlier runs have changed;"
                " podwright.verify(log, plugins=[...]) shows the difference"
            )
        return entry, actions

    def taken_in(self) -> Iterator[tuple[Entry, int]]:
        """Give events in the order in which the machine takes them in, each just before it does.

        Those that come while a cycle is held up are taken in when it has gone on: as if they had
        come then. With each, the number of the event in which it is taken in.
        """
        machine, kept = self.machine, deque[Entry]()
        while (entry := self.peek()) is not None:
            self._next = None
            self.index = entry.index + 1
            if machine.holds_back(entry.event):
                kept.append(entry)
                continue
            yield entry, entry.index
            machine.handle(entry.event, entry.now_ns)
            while kept and not machine.holds_back(kept[0].event):
                late = msgspec.structs.replace(kept.popleft(), now_ns=entry.now_ns)
                yield late, entry.index
                machine.handle(late.event, late.now_ns)

    def run_to(self, index: int) -> None:
        """Go on until the event of that number is next."""
        while self.index < index and self.step() is not None:
            pass


def replay(
    log: DecisionLog,
    *,
    until: int | None = None,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Machine:
    """Return the machine as it was at a moment of a recorded run.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        How many events it has handled; the default is all of them.
    at_ns : int, optional
        Instead of `until`: it has handled every event up to this time.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Raises
    ------
    LogError
        If the run cannot be repeated.
    """
    assert until is None or at_ns is None, "until or at_ns, not both"
    if at_ns is not None:
        until = log.index_at(at_ns)
    if until is None:
        until = len(log)
    run = Replay(log, until=until, plugins=plugins)
    run.run_to(until)
    return run.machine
