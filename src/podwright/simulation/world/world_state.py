"""Saving and restoring a world.

The state of the scheduler is in a checkpoint of the decision log; a `WorldState` holds the rest as
plain values. Objects that the scheduler knows are stored by their numbers in the log, so that the
restored world and its scheduler share one object, instead of having two that are equal.

A state is taken between two steps: all pending work is then in the heap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.controllers import ControllerLoopState, SyncDue
from podwright.cluster.kubelets import LifecycleState, StageDue
from podwright.scheduler.machine import TimerFired
from podwright.simulation.recording import Objects, Recorder, decode_objects, encode_objects
from podwright.simulation.world.clock import Due, EventHeap, Turn
from podwright.simulation.world.inputs.operation_requests import MissingObjects
from podwright.simulation.world.inputs.operations import InputOperation, Operation
from podwright.simulation.world.world import World
from podwright.simulation.world.world_components import DueEvent, WorldOptions, build_components

_Pending = StageDue | SyncDue | TimerFired


class WorldState(msgspec.Struct, frozen=True, kw_only=True):
    """A world between two steps.

    Attributes
    ----------
    event_count : int
        The length of its decision log, where a checkpoint of the log ends.
    entries : tuple
        The events that are due, except inputs: time, turn, counter, event.
    input_place : tuple of int, optional
        Time and counter of the input that is due; it is read again from the inputs.
    inputs_taken : int
        The number of inputs read so far, that one included.
    numbers : list of int
        The objects of the store in the order of creation: their numbers in the log, or larger
        numbers that are keys of `others`.
    others : Objects
        The objects that the log does not hold.
    unproductive_cycles : int
        The number of scheduling cycles since the last bind or other event.
    missing : MissingObjects
        The operations that found no object.
    delays : dict, optional
        The state of the delays of the timing model.
    """

    event_count: int
    seed: int
    start_ns: int
    now_ns: int
    counter: int
    entries: tuple[tuple[int, int, int, _Pending], ...]
    input_place: tuple[int, int] | None
    inputs_taken: int
    resource_version: int
    numbers: list[int]
    others: Objects
    life: LifecycleState
    controllers: ControllerLoopState
    unproductive_cycles: int = 0
    missing: MissingObjects = MissingObjects()
    delays: dict[str, Any] | None = None
    report: dict[str, Any] = {}


_FIRST_OTHER: Final = 1 << 48
"""Object numbers of the log are far smaller."""


def can_save(world: World) -> bool:
    """Tell whether a world has no pending work that cannot be saved, such as an extender call.

    What a timing model has delayed is such work: a world is saved when nothing is under way.

    A sequence of operations depends on what happened: a run with one starts again.
    """
    is_free = world.components.delays is None or not world.components.heap.has_any(Turn.TIMED)
    return is_free and world.machine.can_snapshot and not world.sequences


def world_state(world: World, others: list[Due[DueEvent]] | None = None) -> WorldState:
    """Save a world, with its scheduler in a checkpoint of the decision log.

    `can_save` has to be True.

    Parameters
    ----------
    others : list of Due, optional
        Where due events are added that a state does not hold: later operations of the user.
        Without it, there must be none.
    """
    assert world.is_between_steps, "a world can only be saved between two steps"
    is_written = world.log.checkpoint(world.machine)
    assert is_written, "the scheduler has pending work that cannot be saved"
    components = world.components
    place: tuple[int, int] | None = None
    entries = []
    for due in components.heap.entries():
        event = due.event
        if isinstance(event, InputOperation):
            assert place is None, "two inputs at once"
            place = (due.due_ns, due.counter)
        elif isinstance(event, _Pending):
            entries.append((due.due_ns, due.turn, due.counter, event))
        else:
            assert others is not None, f"{type(event).__name__} is not an input"
            others.append(due)
    numbers, unknown = _numbered(world)
    return WorldState(
        event_count=len(world.log),
        seed=world.seed,
        start_ns=world.start_ns,
        now_ns=world.now_ns,
        counter=components.heap.counter,
        entries=tuple(entries),
        input_place=place,
        inputs_taken=world.inputs_taken,
        resource_version=world.store.resource_version,
        numbers=numbers,
        others=encode_objects(unknown),
        life=components.lifecycle.state(),
        controllers=components.controllers.state(),
        unproductive_cycles=world.unproductive_cycles,
        missing=world.missing,
        delays=None if components.delays is None else components.delays.state(),
        report=world.report_observers.state(),
    )


def _numbered(world: World) -> tuple[list[int], dict[int, KubernetesObject]]:
    known = {id(obj): number for number, obj in world.log.objects().items()}
    view = world.components.controllers.lister
    numbers: list[int] = []
    others: dict[int, KubernetesObject] = {}
    for kind in world.store.kinds():
        for key in view.all(kind):
            obj = world.store.get(kind, key)
            assert obj is not None, f"{kind} {key} is not in the store"
            number = known.get(id(obj))
            if number is None:
                number = _FIRST_OTHER + len(others)
                others[number] = obj
            numbers.append(number)
    return numbers, others


def restored_world(
    state: WorldState,
    recorder: Recorder,
    options: WorldOptions,
    inputs: Iterable[tuple[int, Operation]],
    others: Iterable[Due[DueEvent]] = (),
) -> World:
    """Return a world that continues where the saved one was.

    Parameters
    ----------
    recorder : Recorder
        Of the log, resumed after `event_count` events.
    options : WorldOptions
        Equal to those of the saved world.
    inputs : iterable of (int, Operation)
        The input that was due, then those that the saved world had not read.
    others : iterable of Due
        The due events that the state does not hold.
    """
    empty = build_components(recorder, options, seed=state.seed, start_ns=state.start_ns)
    known = dict(recorder.log.objects())
    known.update(decode_objects(state.others, {}))
    objects = [known[number] for number in state.numbers]
    empty.store.restore(objects, state.resource_version)
    empty.lifecycle.restore(state.life, objects)
    empty.controllers.restore(state.controllers, objects)
    if state.delays is not None:
        assert empty.delays is not None, "the saved world had a timing model"
        empty.delays.restore(state.delays)
    entries: list[Due[DueEvent]] = [*others]
    entries += [Due(*entry) for entry in state.entries]
    unread = iter(inputs)
    if state.input_place is not None:
        due_ns, counter = state.input_place
        again = next(unread)
        assert again[0] == due_ns, f"the input was due at {due_ns}, not {again[0]}"
        entries.append(Due(due_ns, Turn.INPUT, counter, InputOperation(again[1])))
    components = msgspec.structs.replace(
        empty,
        heap=EventHeap.restore(state.now_ns, state.counter, entries),
        inputs=unread,
        inputs_taken=state.inputs_taken,
        unproductive_cycles=state.unproductive_cycles,
        missing=state.missing,
    )
    world = World(components=components)
    world.report_observers.restore(state.report)
    return world
