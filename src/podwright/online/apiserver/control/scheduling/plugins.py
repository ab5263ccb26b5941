"""The plugins of the scheduler, with their settings in each profile."""

from __future__ import annotations

from inspect import cleandoc
from itertools import islice
from sys import modules
from typing import Annotated, Any, Final, Literal

import msgspec

from podwright.online.apiserver.control.endpoints import (
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.configuration import (
    EXTERNAL,
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.scheduling.plugin_monitor import PluginFailureRecord, PluginMonitor
from podwright.online.apiserver.scheduling.running_scheduler import ExternalScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.assembly import Registry, prepare
from podwright.scheduler.config import IN_TREE_POINTS, EffectiveProfile, args_to_document
from podwright.scheduler.machine import PluginTiming, SchedulerOptions

_PAGE = "docs/reference/plugins.md"


class PluginSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plugin in a profile.

    Attributes
    ----------
    scheduler_name : str
        Of the profile.
    points : list of str
        The extension points at which it is enabled.
    weight : int, optional
        Of its scores, if it scores.
    args : any
        Its arguments with all defaults; null if it takes none.
    """

    scheduler_name: str
    points: list[str]
    weight: int | None
    args: Any


class PluginState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plugin.

    Attributes
    ----------
    name : str
    origin : str
        `in-tree`, or `own` for one that was given at the start.
    summary : str
        What it does, in one line.
    points : list of str
        Its extension points.
    profiles : list of PluginSettings
        The profiles in which it is enabled.
    page : str
        Its documentation; "" for own plugins.
    """

    name: str
    origin: Literal["in-tree", "own"]
    summary: str
    points: list[str]
    profiles: list[PluginSettings]
    page: str


class PluginList(msgspec.Struct, frozen=True):
    """All plugins that a configuration can enable, by name."""

    plugins: list[PluginState]


def plugins_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of the plugins."""
    scheduler = cluster.scheduler

    @endpoint("GET", "/plugins", problems={404: UNKNOWN, 409: EXTERNAL})
    async def show(query: SchedulerParameter) -> PluginList:
        """List the plugins of the scheduler with their settings."""
        try:
            scheduler.require_own()
        except ExternalScheduler as error:
            raise Problem(409, str(error)) from error
        return _listed(chosen_scheduler(cluster.turns.cluster, query).options)

    return declared(show)


def _listed(options: SchedulerOptions) -> PluginList:
    configuration, registry = prepare(options)
    own = {plugin.name for plugin in options.plugins}
    return PluginList(
        [
            PluginState(
                name=name,
                origin="own" if name in own else "in-tree",
                summary=_summary(registry, name, is_own=name in own),
                points=sorted(registry.points_of(name) or ()),
                profiles=[
                    found
                    for profile in configuration.profiles
                    if (found := _settings(profile, name)) is not None
                ],
                page="" if name in own else f"{_PAGE}#{name.lower()}",
            )
            for name in sorted(own | set(IN_TREE_POINTS))
        ]
    )


def _settings(profile: EffectiveProfile, name: str) -> PluginSettings | None:
    points = [p for p, enabled in profile.plugins.items() if any(n == name for n, _ in enabled)]
    if not points:
        return None
    weights = dict(profile.plugins.get("score", ()))
    args = profile.args.get(name)
    return PluginSettings(
        scheduler_name=profile.scheduler_name,
        points=points,
        weight=weights.get(name),
        args=None if args is None else args_to_document(args),
    )


def _summary(registry: Registry, name: str, *, is_own: bool) -> str:
    cls = registry.class_of(name)
    if cls is None:
        return "accepted for compatibility; it has no effect here"
    text = (cls if is_own else modules[cls.__module__]).__doc__ or ""
    return cleandoc(text).partition("\n")[0].removeprefix(f"{name}: ")


# The observed calls of plugins over HTTP: durations, and failures with tracebacks.


class Observation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
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


class CallParameters(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parameters of observed calls.

    Attributes
    ----------
    scheduler_name : str, optional
        Only the calls of the scheduler with this schedulerName; all schedulers if left out.
    """

    scheduler_name: str | None = None


class FailureParameters(CallParameters, frozen=True, kw_only=True):
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

    @endpoint("GET", "/plugins/timings", problems={404: UNKNOWN})
    async def show_timings(self, query: CallParameters) -> PluginTimingList:
        """Show how long the calls of plugins took, per plugin and extension point."""
        return await self._turns.call(lambda _: self._timings(query))

    @endpoint("DELETE", "/plugins/timings", problems={404: UNKNOWN})
    async def clear_timings(self, query: CallParameters) -> PluginTimingList:
        """Forget how long the calls of plugins took so far."""

        def clear(_: int) -> PluginTimingList:
            for each in self._monitors(query):
                each.clear()
            return self._timings(query)

        return await self._turns.call(clear)

    def _timings(self, parameters: CallParameters) -> PluginTimingList:
        monitors = self._monitors(parameters)
        return PluginTimingList(
            is_observing=monitors[0].is_observing,
            timings=[row for each in monitors for row in each.timings.rows()],
        )

    @endpoint("GET", "/plugins/failures", problems={404: UNKNOWN})
    async def show_failures(self, query: FailureParameters) -> FailureList:
        """Show the last exceptions and errors of plugins, with pod and traceback."""
        return await self._turns.call(lambda _: self._failures(query))

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

    @endpoint("PUT", "/plugins/observation", problems={409: "an external scheduler is used"})
    async def observe(self, body: Observation) -> Observation:
        """Start or end the observation of the calls of plugins."""

        def change(_: int) -> None:
            if not self._turns.cluster.world.components.options.has_scheduler:
                raise Problem(409, "an external scheduler is used, so no plugin is called")
            for each in self._monitors():
                if body.is_observing:
                    each.start()
                else:
                    each.stop()

        await self._turns.call(change)
        return body


def plugin_call_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the calls of plugins."""
    return declared(_PluginCalls(turns))
