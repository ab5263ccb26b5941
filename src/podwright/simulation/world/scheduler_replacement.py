"""Another configuration for the scheduler of a world that runs.

The new scheduler starts as a scheduler that is restarted does: it receives all objects, and what
only the old one knew (back-off times, pods that waited at Permit) is lost. Objects, controllers,
stages and the clock continue. Its decisions are in a separate log, so the decisions of the old one
can still be explained.
"""

from __future__ import annotations

import msgspec

from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import record
from podwright.simulation.world.world import World


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
    )
    world.log.flush()
    replaced = World(components=components)
    replaced.load_scheduler()
    return replaced
