"""Trace the calls of plugins from Reserve to Bind without affecting them.

The decision log records the outcome of a pod, not the result of each plugin. A caller that
replays a run to obtain them wraps the plugins of one machine: each result is returned
unchanged, and also passed to a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.scheduler.framework.adapter import described, raised_at
from podwright.scheduler.framework.binding import Pending
from podwright.scheduler.framework.custom_results import custom_results
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.permit_answer import read_permit
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.status import Status

Point: TypeAlias = Literal["reserve", "permit", "pre_bind", "bind"]

_METHODS: dict[str, Point] = {
    "reserve": "reserve",
    "permit": "permit",
    "pre_bind": "pre_bind",
    "continue_pre_bind": "pre_bind",
    "bind": "bind",
    "continue_bind": "bind",
}


class PluginCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one plugin for one pod.

    Parameters
    ----------
    uid : str
        The uid of the pod.
    point : str
        The extension point.
    plugin : str
    status : Status, optional
        None: the plugin has not finished.
    timeout_ns : int
        How long a Permit plugin holds the pod at most.
    custom_results : dict of str to str
        The custom results that the call added, see `add_custom_result`.
    """

    uid: str
    point: Point
    plugin: str
    status: Status | None
    timeout_ns: int = 0
    custom_results: dict[str, str] = {}


def trace_plugins(profile: Profile, on_call: Callable[[PluginCall], None]) -> None:
    """Pass every call of a profile's plugins to `on_call` from now on."""
    for plugin in profile.all_plugins():
        for name, point in _METHODS.items():
            if name == point and not plugin.implements(name):
                continue
            # On the object, not on the class: other machines' plugins are not traced.
            setattr(plugin, name, _traced(plugin, getattr(plugin, name), point, on_call))


def _traced(
    plugin: Plugin,
    method: Callable[..., object],
    point: Point,
    on_call: Callable[[PluginCall], None],
) -> Callable[..., object]:
    def call(cycle: Cycle, node_name: str, *more: Any) -> object:
        before = custom_results(cycle)
        try:
            answer = method(cycle, node_name, *more)
        except Exception as error:
            where = f"pod {cycle.pod.key}, node {node_name}"
            failed = Status.error(raised_at(error, where))
            on_call(_call_of(plugin, point, cycle, failed, before))
            raise
        on_call(_call_of(plugin, point, cycle, answer, before))
        return answer

    return call


def _call_of(
    plugin: Plugin, point: Point, cycle: Cycle, answer: object, before: Mapping[str, str]
) -> PluginCall:
    timeout_ns = 0
    status: Status | None
    match answer:
        case Status():
            status = answer
        case Pending() if point in ("pre_bind", "bind"):
            status = None
        case tuple() if point == "permit":
            try:
                status, timeout_ns = read_permit(answer)
            except (ArgumentError, InputError) as error:
                status = Status.error(str(error))
        case _:
            status = Status.error(f"returned {described(answer)}, not a Status")
    return PluginCall(
        uid=cycle.pod.metadata.uid,
        point=point,
        plugin=plugin.name,
        status=status,
        timeout_ns=timeout_ns,
        custom_results={
            key: text for key, text in custom_results(cycle).items() if before.get(key) != text
        },
    )
