"""A world written down, and set up again as it was.

What its scheduler knows is in the decision log's own checkpoint; here is the rest, as plain
values. An object that the scheduler knows is told by its number in the log: afterwards the
world and the scheduler have the same object again, not two that are equal.

A state is taken between two steps: then nothing is under way but what is in the heap.
"""
# ruff: noqa: SLF001 - the other half of World, which alone knows what a world is made of

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright.api import Admission
from podwright.controllers import ControllerLoopState, SyncDue
from podwright.machine import TimerFired
from podwright.objects import KubernetesObject
from podwright.recording import Objects, Recorder, decode_objects, encode_objects
from podwright.simulation.clock import Due, EventHeap, Turn
from podwright.simulation.operations import Fed, Operation
from podwright.simulation.world import Parts, World
from podwright.stages import LifecycleState, StageDue
from podwright.store import kind_of

_Waiting = StageDue | SyncDue | TimerFired


class WorldState(msgspec.Struct, frozen=True, kw_only=True):
    """A world between two steps.

    Attributes
    ----------
    event_count : int
        How long its decision log is, where a checkpoint of the log ends.
    entries : tuple
        What is due but for the input: time, turn, counter, event.
    input_place : tuple of int, optional
        Time and counter of the input that is due; it is asked for again.
    inputs_taken : int
        How many inputs were asked for, that one included.
    numbers : list of int
        The objects that are there, in the order in which they came: their numbers in the log,
        or beyond them in `others`.
    others : Objects
        Those that the log does not have.
    cycles_in_vain : int
        How many scheduling cycles there were since something else happened, or a pod was bound.
    """

    event_count: int
    seed: int
    start_ns: int
    now_ns: int
    counter: int
    entries: tuple[tuple[int, int, int, _Waiting], ...]
    input_place: tuple[int, int] | None
    inputs_taken: int
    resource_version: int
    numbers: list[int]
    others: Objects
    life: LifecycleState
    controllers: ControllerLoopState
    cycles_in_vain: int = 0


_FIRST_OTHER: Final = 1 << 48
"""Numbers of the log stay far below it."""


def can_write_down(world: World) -> bool:
    """Tell whether nothing is under way that cannot be written down."""
    return world.machine.can_snapshot


def world_state(world: World) -> WorldState:
    """Write a world down, and its scheduler in the decision log; ask `can_write_down` first."""
    under_way = world._todo or world._changes or world._answers
    assert not under_way, "in the middle of a step"
    is_written = world.log.checkpoint(world.machine)
    assert is_written, "something is under way that cannot be written down"
    place: tuple[int, int] | None = None
    entries = []
    for due in world._heap.entries():
        event = due.event
        if isinstance(event, Fed):
            assert place is None, "two inputs at once"
            place = (due.due_ns, due.counter)
        else:
            assert isinstance(event, _Waiting), f"{type(event).__name__} came from outside"
            entries.append((due.due_ns, due.turn, due.counter, event))
    numbers, others = _numbered(world)
    return WorldState(
        event_count=len(world.log),
        seed=world.seed,
        start_ns=world.start_ns,
        now_ns=world.now_ns,
        counter=world._heap.counter,
        entries=tuple(entries),
        input_place=place,
        inputs_taken=world.inputs_taken,
        resource_version=world.store.resource_version,
        numbers=numbers,
        others=encode_objects(others),
        life=world._life.state(),
        controllers=world._controllers.state(),
        cycles_in_vain=world.cycles_in_vain,
    )


def _numbered(world: World) -> tuple[list[int], dict[int, KubernetesObject]]:
    known = {id(obj): number for number, obj in world.log.objects().items()}
    view = world._controllers.lister
    numbers: list[int] = []
    others: dict[int, KubernetesObject] = {}
    for kind in world.store.kinds():
        for key in view.all(kind):
            obj = world.store.get(kind, key)
            assert obj is not None, f"{kind} {key} is not there"
            number = known.get(id(obj))
            if number is None:
                number = _FIRST_OTHER + len(others)
                others[number] = obj
            numbers.append(number)
    return numbers, others


def restored_world(
    state: WorldState,
    recorder: Recorder,
    parts: Parts,
    inputs: Iterable[tuple[int, Operation]],
) -> World:
    """Return a world as another one was.

    Parameters
    ----------
    recorder : Recorder
        Of the log, gone on with after `event_count` events.
    parts : Parts
        Equal to those of the other one.
    inputs : iterable of (int, Operation)
        Those that the other one had not asked for, and before them the one that was due.
    """
    world = World.__new__(World)
    world._set_up(recorder, parts, seed=state.seed, start_ns=state.start_ns)
    known = dict(recorder.log.objects())
    known.update(decode_objects(state.others, {}))
    objects = [known[number] for number in state.numbers]
    world.store.restore(objects, state.resource_version)
    for obj in objects:
        if kind_of(obj) in Admission.READ:
            world.api.admission.put(obj)
    alive = frozenset(world._life.kinds)
    world._life.restore(state.life, (obj for obj in objects if kind_of(obj) in alive))
    world._controllers.restore(state.controllers, objects)
    entries: list[Due[_Waiting | Fed]] = [Due(*entry) for entry in state.entries]
    world._inputs = iter(inputs)
    world.inputs_taken = state.inputs_taken
    world.cycles_in_vain = state.cycles_in_vain
    if state.input_place is not None:
        due_ns, counter = state.input_place
        again = next(world._inputs)
        assert again[0] == due_ns, f"the input was due at {due_ns}, not {again[0]}"
        entries.append(Due(due_ns, Turn.INPUT, counter, Fed(again[1])))
    heap: EventHeap[_Waiting | Fed] = EventHeap.restore(state.now_ns, state.counter, entries)
    world._heap = heap  # type: ignore[assignment]  # nothing from outside is in it
    return world
