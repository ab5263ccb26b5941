"""Copies of a world: forks that continue independently, and pickled worlds.

A copy consists of a saved state, a copy of the decision log, and what neither holds: operations of
the user that are due later, inputs that are not read yet, and the options that are Python objects.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import chain, tee

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.scheduler.machine import Machine, SchedulerOptions
from podwright.simulation.recording import DecisionLog, record, resume_log
from podwright.simulation.world.clock import Due
from podwright.simulation.world.inputs.input_review import WorldReview
from podwright.simulation.world.inputs.operations import InputOperation, Operation
from podwright.simulation.world.observers import Observer, checked_observers
from podwright.simulation.world.timing.delays import Delays
from podwright.simulation.world.world import World
from podwright.simulation.world.world_components import DueEvent, WorldComponents, WorldOptions
from podwright.simulation.world.world_state import (
    WorldState,
    can_save,
    restored_world,
    world_state,
)


class CannotCopy(PodwrightError):  # noqa: N818 - named for what it is
    """A world that cannot be copied now, or not at all."""


class WorldCopy:
    """A copy of a world, of which worlds can be made; it can be pickled.

    Parameters
    ----------
    world : World
        Between two steps.

    Raises
    ------
    CannotCopy
        If the world is part of a server, its scheduler waits for an extender, or its operations
        for conditions.
    """

    def __init__(self, world: World) -> None:
        options = world.components.options
        if options.is_served or options.has_kubelet or options.begin_extender_call is not None:
            raise CannotCopy("a world that a server drives cannot be copied")
        if world.sequences:
            raise CannotCopy("a world whose operations wait for conditions cannot be copied")
        if not world.is_between_steps or not can_save(world):
            raise CannotCopy(
                "the world cannot be copied now: its scheduler waits for a call; step it on first"
            )
        due: list[Due[DueEvent]] = []
        # The due input is among the events of the heap, the later ones in the iterator.
        taken = [
            (each.due_ns, each.event.operation)
            for each in world.components.heap.entries()
            if isinstance(each.event, InputOperation)
        ]
        # As bytes, so that no part of the state is shared.
        self._state: bytes = msgspec.msgpack.encode(world_state(world, due))
        self._due = due
        self._log: Callable[[], DecisionLog] = world.log.snapshot()
        self._options: WorldOptions = msgspec.structs.replace(options, observers=())
        self._review: WorldReview = world.review_so_far()
        world.inputs, later = tee(world.inputs)
        self._inputs: Iterator[tuple[int, Operation]] = chain(taken, later)

    def __getstate__(self) -> dict[str, object]:
        """Pickle the copy.

        Raises
        ------
        CannotCopy
            If an option of the world cannot be pickled, such as a lambda or a local class.
        """
        for name in self._options.__struct_fields__:
            try:
                pickle.dumps(getattr(self._options, name))
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                raise CannotCopy(
                    f"the world cannot be pickled: {name}: {error}. Define it at the top level of"
                    " a module, or use fork()"
                ) from error
        return {**self.__dict__, "_inputs": list(self._inputs)}

    def world(self, observers: tuple[Observer, ...] = ()) -> World:
        """Return the world, which `observers` observe; once, because the copy is a part of it."""
        state = msgspec.msgpack.decode(self._state, type=WorldState)
        options = msgspec.structs.replace(self._options, observers=checked_observers(observers))
        recorder = resume_log(self._log(), "the copy of the world", plugins=options.plugins)
        world = restored_world(state, recorder, options, self._inputs, self._due)
        world.restore_review(self._review)
        return world


# Another configuration for the scheduler of a world that runs.
#
# The new scheduler starts as a scheduler that is restarted does: it receives all objects, and what
# only the old one knew (back-off times, pods that waited at Permit) is lost. Objects, controllers,
# stages and the clock continue. Its decisions are in a separate log, so the decisions of the old
# one can still be explained.


def with_scheduler(
    world: World,
    options: SchedulerOptions,
    *,
    log: str | None = None,
    checkpoint_events: int | None = None,
) -> World:
    """Return a world that continues with another scheduler.

    Parameters
    ----------
    world : World
        It must not be used any more.
    options : SchedulerOptions
        Of the new scheduler; it starts at the current time of the world. Its extenders are called
        as those of the old one.
    log : str, optional
        The folder of its decision log; in memory without it.
    checkpoint_events : int, optional
        As for `record`.

    Raises
    ------
    InputError
        The configuration is not valid; the world can be used as before.
    """
    while not world.is_between_steps:  # objects were written that no component has received
        world.step_until_ns(world.now_ns)
    recorder = record(
        log,
        msgspec.structs.replace(options, start_ns=world.now_ns),
        checkpoint_events=checkpoint_events,
    )
    before = world.components
    components = msgspec.structs.replace(
        before,
        recorder=recorder,
        options=msgspec.structs.replace(before.options, plugins=options.plugins),
        inputs=world.inputs,
        inputs_taken=world.inputs_taken,
        unproductive_cycles=0,
        delays=_delays_of(before, recorder.machine),
    )
    world.log.flush()
    replaced = World(components=components)
    replaced.continue_operations(world)
    replaced.load_scheduler()
    return replaced


def _delays_of(before: WorldComponents, machine: Machine) -> Delays | None:
    """Return the delays of a new scheduler, with the draws and the clients of the old one."""
    if before.delays is None or before.options.timing is None:
        return None
    delays = Delays(before.options.timing, machine.profiles, before.seed)
    delays.restore(before.delays.state())
    return delays
