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

from podwright._garbage import gc_paused
from podwright._html import facts, section
from podwright._progress import NO_METER, Meter, metered
from podwright.apimachinery.objects import ArgumentError, KubernetesObject, NamespacedName, Time
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Action, CycleDue, Event, Machine, ObjectDeleted, ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog, require_log
from podwright.simulation.recording.log.log_format import (
    Entry,
    LogError,
    decode_actions,
    encode_actions,
)
from podwright.simulation.recording.log.memory_checkpoints import Start
from podwright.simulation.recording.log.record import new_machine


class Replay:
    """A machine that handles the events of a log one after another.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        Start at the last checkpoint before this event; None at the last checkpoint of all.
    objects : mapping of int to object, optional
        Objects to use for their numbers instead of copies; for resuming the log.
    is_checked : bool
        Whether `step` raises if out-of-tree plugins decide differently than recorded.
    is_repeated : bool
        Whether pods get their recorded nodes where the plugins are those of the tree: two to three
        times as quick, but the machine's metrics are not those of the run.
    """

    def __init__(
        self,
        log: DecisionLog,
        *,
        until: int | None = None,
        plugins: Iterable[type[Plugin]] = (),
        objects: Mapping[int, KubernetesObject] | None = None,
        is_checked: bool = True,
        is_repeated: bool = False,
    ) -> None:
        self.machine = new_machine(log, plugins=plugins)
        with gc_paused():
            start: Start = log.start(until)
            if objects is not None:
                start = msgspec.structs.replace(start, given=objects)
                # The caller's objects replace those read: both sides share one object per number.
                start.objects.update(objects)
            if start.snapshot is not None:
                self.machine.restore(start.snapshot, start.objects)
        self.index = start.index
        # Out-of-tree plugins may depend on state that the log does not hold.
        self._own = tuple(plugin.name for plugin in log.setup.plugins) if is_checked else ()
        self._is_repeated = is_repeated and not log.setup.plugins
        self._entries = log.entries_from(start)
        self._next: Entry | None = None

    def peek(self) -> Entry | None:
        """Return the next event without handling it; None at the end of the log."""
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next

    def step(self) -> tuple[Entry, list[Action]] | None:
        """Handle the next event; None at the end of the log.

        Raises
        ------
        LogError
            If the run was recorded with out-of-tree plugins and the actions differ from the
            recorded ones: the state from here on would be wrong.
        """
        entry = self.peek()
        if entry is None:
            return None
        self._next = None
        self.index = entry.index + 1
        if self._is_repeated and isinstance(entry.event, CycleDue):
            recorded = decode_actions(entry.actions)
            return entry, self.machine.repeat(entry.event, entry.now_ns, recorded)
        actions = self.machine.handle(entry.event, entry.now_ns)
        if self._own and encode_actions(actions) != entry.actions:
            raise LogError(
                f"the actions of event {entry.index} differ from the recorded ones, so the run"
                " cannot be replayed beyond it: a plugin"
                f" ({', '.join(self._own)}) depends on state that is not in the log,"
                " such as a variable that earlier runs changed;"
                " podwright.verify(log, plugins=[...]) shows the difference"
            )
        return entry, actions

    def processed(self) -> Iterator[tuple[Entry, int]]:
        """Yield events in the order in which the machine processes them, each just before that.

        Events that arrive while a cycle is suspended are processed when it resumes, as if they had
        arrived then. Yields each with the number of the event in which it is processed.
        """
        machine, deferred = self.machine, deque[Entry]()
        while (entry := self.peek()) is not None:
            self._next = None
            self.index = entry.index + 1
            if machine.defers(entry.event):
                deferred.append(entry)
                continue
            yield entry, entry.index
            machine.handle(entry.event, entry.now_ns)
            while deferred and not machine.defers(deferred[0].event):
                late = msgspec.structs.replace(deferred.popleft(), now_ns=entry.now_ns)
                yield late, entry.index
                machine.handle(late.event, late.now_ns)

    def run_to(self, index: int) -> None:
        """Handle events until the event of that number is the next one."""
        begin = self.index
        with metered("replaying", index - begin) as meter:
            while self.index < index and self.step() is not None:
                meter.advance(self.index - begin)


def replay(
    log: DecisionLog,
    *,
    until: int | None = None,
    at: Time | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Machine:
    """Return the machine as it was at a time of a recorded run.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        The number of events to handle; the default is all of them.
    at : Time, optional
        Instead of `until`: handle every event up to this time.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.

    Raises
    ------
    LogError
        If the run cannot be replayed.
    """
    require_log(log)
    if until is not None and at is not None:
        raise ArgumentError("until and at: specify one of them, not both")
    if at is not None:
        until = log.index_at(at)
    if until is None:
        until = len(log)
    run = Replay(log, until=until, plugins=plugins)
    run.run_to(until)
    return run.machine


# Verification of a log: replay it and compare the bytes of all actions.

_SHOWN_EVENTS = 10


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first event for which the actions differ from the recorded ones.

    Attributes
    ----------
    index : int
        The number of the event.
    now_ns : int
    event : Event
    recorded, repeated : tuple of Action
    story : tuple of str
        The recent queue events of the pod, oldest first.
    """

    index: int
    now_ns: int
    event: Event
    recorded: tuple[Action, ...]
    repeated: tuple[Action, ...]
    story: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"event {self.index} at {self.now_ns} ns: {_named(self.event)}"]
        lines += [f"  recorded: {action}" for action in self.recorded]
        lines += [f"  repeated: {action}" for action in self.repeated]
        return "\n".join([*lines, *(f"  before:   {line}" for line in self.story)])


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of verifying a log.

    Attributes
    ----------
    event_count : int
        The number of events with equal actions.
    difference : Difference, optional
        The first event with different actions.
    """

    event_count: int
    difference: Difference | None = None

    def _repr_html_(self) -> str:
        known: dict[str, object] = {"Events with equal actions": self.event_count}
        if self.difference is not None:
            known["First event with different actions"] = self.difference.index
        return section("The runs are equal" if self.is_same else "The runs differ", facts(known))

    @property
    def is_same(self) -> bool:
        """Whether all actions are equal, byte for byte."""
        return self.difference is None


def verify(
    log: DecisionLog,
    *,
    first: int = 0,
    plugins: Iterable[type[Plugin]] = (),
    progress: bool | None = None,
) -> Verification:
    """Replay a log to its end and compare the bytes of all actions.

    Parameters
    ----------
    log : DecisionLog
        The log of the run.
    first : int
        Start at the last checkpoint before this event; 0 is the first event.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.
    progress : bool, optional
        Whether to show the progress; by default in terminals and notebooks, if it takes long.

    Raises
    ------
    LogError
        If the run cannot be replayed.
    """
    require_log(log)
    run = Replay(log, until=first, plugins=plugins, is_checked=False)
    with metered("verifying", len(log) - run.index, is_shown=progress) as meter:
        return verify_replay(run, meter)


def verify_replay(run: Replay, meter: Meter = NO_METER) -> Verification:
    """Let a replay run to its end and compare the bytes of all actions."""
    begin = run.index
    while (step := run.step()) is not None:
        meter.advance(run.index - begin)
        entry, actions = step
        if encode_actions(actions) == entry.actions:
            continue
        recorded = decode_actions(entry.actions)
        difference = Difference(
            index=entry.index,
            now_ns=entry.now_ns,
            event=entry.event,
            recorded=tuple(recorded),
            repeated=tuple(actions),
            story=_story(run.machine, [*recorded, *actions]),
        )
        return Verification(event_count=entry.index - begin, difference=difference)
    return Verification(event_count=run.index - begin)


def _story(machine: Machine, actions: Iterable[Action]) -> tuple[str, ...]:
    name: NamespacedName = next((a.pod for a in actions if hasattr(a, "pod")), "")
    steps = machine.story(name)[-_SHOWN_EVENTS:]
    return tuple(f"{step.now_ns} ns {name}: {step.step} {step.cause}".rstrip() for step in steps)


def _named(event: Event) -> str:
    match event:
        case ObjectPut(obj) | ObjectDeleted(obj):
            return f"{type(event).__name__} {obj.kind} {obj.key}"
        case _:
            return str(event)
