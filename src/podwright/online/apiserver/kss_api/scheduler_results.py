"""What kube-scheduler-simulator's API shows of scheduling: annotations, answers of extenders."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from podwright.apimachinery.objects import NamespacedName
from podwright.online.apiserver.scheduling.result_annotations import FollowedResults
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.config import ExtenderVerb, KubeSchedulerConfiguration
from podwright.simulation.kss import ExtenderProxy, UnknownExtender


class SchedulerResults:
    """The annotations of pods, and the proxy of extenders.

    Parameters
    ----------
    turns : TurnLoop
    scheduler : RunningScheduler
        The scheduler, or the configuration of another one whose extenders are called through the
        proxy.
    """

    def __init__(self, turns: TurnLoop, scheduler: RunningScheduler) -> None:
        self._turns = turns
        self._followed = FollowedResults(turns)
        self._scheduler = scheduler
        self._proxy: ExtenderProxy | None = None
        self._proxied: KubeSchedulerConfiguration | None = None

    async def annotations(self, pod: NamespacedName) -> Mapping[str, str]:
        """Return the result annotations of a pod; empty if there was no attempt.

        Raises
        ------
        CancelledError
            The server stops.
        """
        found = await self._followed.annotations(pod)
        return found if self._proxy is None else {**found, **self._proxy.annotations(pod)}

    async def extend(self, index: int, verb: ExtenderVerb, body: bytes) -> bytes:
        """Call an extender for another scheduler, keep its answer, and return it.

        Raises
        ------
        UnknownExtender
        ExtenderFailed
        """
        configuration = self._scheduler.first.options.configuration
        if configuration is None:
            raise UnknownExtender(f"there is no extenders[{index}]: the configuration has none")
        if self._proxy is None or configuration is not self._proxied:
            self._proxied = configuration
            self._proxy = ExtenderProxy(configuration.extenders)
        call_extender = self._turns.cluster.schedulers[0].call_extender
        assert call_extender is not None, "a configuration with extenders and no call_extender"
        call = self._proxy.call(index, verb, body)
        reply = await asyncio.to_thread(call_extender, call)
        return self._proxy.answered(call, reply)
