"""The results of all attempts in a served cluster, found while it goes on.

The decision log of each scheduler is followed in slices of turns, so that each attempt is explained
once, and the turn loop is never held up. What the followers do not keep is found by a replay in a
reader process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.kss import LiveResults
from podwright.simulation.recording import DecisionLog

SLICE_NS: Final = 5_000_000
"""How long a log is followed in one turn; one attempt more may be explained."""


class FollowedResults:
    """The annotations of pods, kept up to date with the logs of a cluster.

    Parameters
    ----------
    turns : TurnLoop
    """

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._readers = Readers(turns)
        self._live: dict[ServedScheduler, tuple[DecisionLog, LiveResults]] = {}

    async def annotations(self, pod: NamespacedName) -> Mapping[str, str]:
        """Return the annotations of a pod; empty if there was no attempt.

        Raises
        ------
        LogError
            The log cannot be replayed.
        CancelledError
            The server stops.
        """
        turns = self._turns
        live = await turns.call(lambda _: self._live_of(pod))
        while not await turns.call(lambda _: live.advance(_slice())):
            pass
        if live.is_kept(pod):
            return await turns.call(lambda _: live.annotations(pod))
        return await self._readers.call(lambda _: live.annotations(pod))

    def _live_of(self, pod: NamespacedName) -> LiveResults:
        """Return the results of the scheduler of a pod, since its configuration was changed."""
        cluster = self._turns.cluster
        found = cluster.store.get(Pod, pod)
        name = "" if found is None else found.spec.scheduler_name
        scheduler = cluster.scheduler_of(name) or cluster.schedulers[0]
        log = scheduler.world.log
        known = self._live.get(scheduler)
        if known is None or known[0] is not log:
            plugins = scheduler.world.components.options.plugins
            known = self._live[scheduler] = log, LiveResults(log, plugins=plugins)
        return known[1]


def _slice() -> Callable[[], bool]:
    """Return a function that says whether a slice of real time, which begins now, has ended."""
    end_ns = time.perf_counter_ns() + SLICE_NS
    return lambda: time.perf_counter_ns() >= end_ns
