"""The plugins of the scheduler, with their settings in each profile."""

from __future__ import annotations

from inspect import cleandoc
from sys import modules
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.online.apiserver.control.controlled_cluster import ControlledCluster
from podwright.online.apiserver.control.endpoints import Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.scheduler_parameter import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.scheduling.running_scheduler import ExternalScheduler
from podwright.scheduler.assembly import Registry, prepare
from podwright.scheduler.config import IN_TREE_POINTS, EffectiveProfile, args_to_document
from podwright.scheduler.machine import SchedulerOptions

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
    has_effect : bool
        Whether it takes part in decisions here.
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
    has_effect: bool
    points: list[str]
    profiles: list[PluginSettings]
    page: str


class PluginList(msgspec.Struct, frozen=True):
    """All plugins that a configuration can enable, by name."""

    plugins: list[PluginState]


def plugins_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of the plugins."""
    scheduler = cluster.scheduler

    async def show(request: Request) -> Response:
        try:
            scheduler.require_own()
        except ExternalScheduler as error:
            raise Problem(409, str(error)) from error
        served = chosen_scheduler(cluster.turns.cluster, request.state.query)
        return json_response(_listed(served.options))

    return [
        Endpoint(
            method="GET",
            path="/plugins",
            summary="List the plugins of the scheduler with their settings",
            handler=show,
            reply=PluginList,
            query=SchedulerParameter,
            problems={404: UNKNOWN, 409: "podwright does not schedule the pods"},
        )
    ]


def _listed(options: SchedulerOptions) -> PluginList:
    configuration, registry = prepare(options)
    own = {plugin.name for plugin in options.plugins}
    return PluginList(
        [
            PluginState(
                name=name,
                origin="own" if name in own else "in-tree",
                summary=_summary(registry, name, is_own=name in own),
                has_effect=registry.class_of(name) is not None,
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
