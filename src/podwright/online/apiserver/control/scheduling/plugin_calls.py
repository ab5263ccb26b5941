"""The observed calls of plugins over HTTP: durations, and failures with tracebacks."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.online.apiserver.control.endpoints import Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem, read_body
from podwright.online.apiserver.control.scheduling.scheduler_parameter import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.scheduling.plugin_monitor import PluginFailureRecord, PluginMonitor
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.machine import PluginTiming


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Whether the calls of plugins are observed."""

    is_observing: bool


class PluginTimingList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The durations of the calls of plugins.

    Attributes
    ----------
    is_observing : bool
    timings : list of PluginTiming
        Per plugin and extension point.
    """

    is_observing: bool
    timings: list[PluginTiming]


class CallParameters(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of observed calls.

    Attributes
    ----------
    scheduler_name : str, optional
        Only the calls of the scheduler with this schedulerName; all schedulers if left out.
    """

    scheduler_name: str | None = None


class FailureParameters(CallParameters, frozen=True):
    """The parameters of the failures.

    Attributes
    ----------
    plugin, pod : str, optional
        Only the failures of this plugin, or for this pod, a `namespace/name`.
    limit : int
        The most failures; the last ones are shown.
    """

    plugin: str | None = None
    pod: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 100


class FailureList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Failures of plugins.

    Attributes
    ----------
    is_observing : bool
    failure_count : int
        The number of all failures that were observed, also of those that are not kept any more.
    failures : list of PluginFailureRecord
        The last one first.
    """

    is_observing: bool
    failure_count: int
    failures: list[PluginFailureRecord]


_ALL: Final = CallParameters()


class _PluginCalls:
    """The endpoints."""

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._cluster = turns.cluster

    async def show_timings(self, request: Request) -> Response:
        parameters: CallParameters = request.state.query
        return json_response(await self._turns.call(lambda _: self._timings(parameters)))

    async def clear_timings(self, request: Request) -> Response:
        parameters: CallParameters = request.state.query

        def clear(_: int) -> PluginTimingList:
            for each in self._monitors(parameters):
                each.clear()
            return self._timings(parameters)

        return json_response(await self._turns.call(clear))

    def _timings(self, parameters: CallParameters) -> PluginTimingList:
        monitors = self._monitors(parameters)
        return PluginTimingList(
            is_observing=monitors[0].is_observing,
            timings=[row for each in monitors for row in each.timings.rows()],
        )

    async def show_failures(self, request: Request) -> Response:
        parameters: FailureParameters = request.state.query
        return json_response(await self._turns.call(lambda _: self._failures(parameters)))

    def _failures(self, parameters: FailureParameters) -> FailureList:
        monitors = self._monitors(parameters)
        count = sum(each.failure_count for each in monitors)
        failures = sorted(
            (one for each in monitors for one in each.failures),
            key=lambda one: (one.time, one.number),
            reverse=True,
        )
        found = (
            msgspec.structs.replace(one, number=count - index)
            for index, one in enumerate(failures)
            if parameters.plugin in (None, one.plugin) and parameters.pod in (None, one.pod)
        )
        return FailureList(
            is_observing=monitors[0].is_observing,
            failure_count=count,
            failures=list(islice(found, parameters.limit)),
        )

    def _monitors(self, parameters: CallParameters = _ALL) -> list[PluginMonitor]:
        if parameters.scheduler_name is None:
            return [each.monitor for each in self._cluster.schedulers]
        chosen = SchedulerParameter(parameters.scheduler_name)
        return [chosen_scheduler(self._cluster, chosen).monitor]

    async def observe(self, request: Request) -> Response:
        is_observing = (await read_body(request, Observation)).is_observing

        def change(_: int) -> None:
            if not self._turns.cluster.world.components.options.has_scheduler:
                raise Problem(409, "an external scheduler is used, so no plugin is called")
            for each in self._monitors():
                if is_observing:
                    each.start()
                else:
                    each.stop()

        await self._turns.call(change)
        return json_response(Observation(is_observing))


def plugin_call_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the calls of plugins."""
    endpoints = _PluginCalls(turns)
    return [
        Endpoint(
            method="GET",
            path="/plugins/timings",
            summary="Show how long the calls of plugins took, per plugin and extension point",
            handler=endpoints.show_timings,
            query=CallParameters,
            reply=PluginTimingList,
            problems={404: UNKNOWN},
        ),
        Endpoint(
            method="DELETE",
            path="/plugins/timings",
            summary="Forget how long the calls of plugins took so far",
            handler=endpoints.clear_timings,
            query=CallParameters,
            reply=PluginTimingList,
            problems={404: UNKNOWN},
        ),
        Endpoint(
            method="GET",
            path="/plugins/failures",
            summary="Show the last exceptions and errors of plugins, with pod and traceback",
            handler=endpoints.show_failures,
            query=FailureParameters,
            reply=FailureList,
            problems={404: UNKNOWN},
        ),
        Endpoint(
            method="PUT",
            path="/plugins/observation",
            summary="Start or end the observation of the calls of plugins",
            handler=endpoints.observe,
            body=Observation,
            reply=Observation,
            problems={409: "an external scheduler is used"},
        ),
    ]
