"""In-memory checkpoints of the decision logs, so that an explanation replays few events.

A reader process encodes the machine as it is, every so many events, while the server continues.
What the server does is the start of the process, and keeping its reply.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from podwright.online.apiserver.free_memory import release_free_memory
from podwright.online.apiserver.readers import ReaderFailed, Readers
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop

INTERVAL_SECONDS: Final = 1.0
"""How long to wait before looking again whether one is due."""

_PAUSES: Final = 10
"""How long the pause after each in-memory checkpoint is, as a multiple of the time for it."""

_LOGGER: Final = logging.getLogger(__name__)


async def keep_memory_checkpoints(turns: TurnLoop) -> None:
    """Make in-memory checkpoints of all schedulers' logs as they become due, until cancelled."""
    while True:
        await asyncio.sleep(INTERVAL_SECONDS)
        for scheduler in turns.cluster.schedulers:
            if scheduler.is_memory_checkpoint_due:
                begin = time.perf_counter()
                try:
                    await make_memory_checkpoint(turns, scheduler)
                except ReaderFailed as error:
                    _LOGGER.warning(
                        "no in-memory checkpoint of the decision log was made: %s", error
                    )
                # As often as so much was done, whatever ages or expires meanwhile leaves gaps.
                release_free_memory()
                await asyncio.sleep((time.perf_counter() - begin) * _PAUSES)


async def make_memory_checkpoint(turns: TurnLoop, scheduler: ServedScheduler) -> None:
    """Make an in-memory checkpoint of the log of a scheduler, and keep it.

    Raises
    ------
    ReaderFailed
        The reader process crashed.
    """
    log, machine = scheduler.world.log, scheduler.world.machine
    # The checkpoint is of the end of a block, which the server's log must have as well.
    made = await Readers(turns).call(lambda _: log.memory_checkpoint(machine), prepare=log.flush)
    if made is not None:
        # Not while a checkpoint is being written in a thread.
        await turns.call(lambda _: log.keep_memory_checkpoint(made))
