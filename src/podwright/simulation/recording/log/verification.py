"""Verification of a log: replay it and compare the bytes of all actions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright._html import facts, section
from podwright._progress import NO_METER, Meter, metered
from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Action, Event, Machine, ObjectDeleted, ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import decode_actions, encode_actions
from podwright.simulation.recording.log.replay import Replay

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
