"""Hearing what plugins answer from Reserve on, without taking part.

The log of a run says what became of a pod, not what each plugin had said on the way. Whoever
repeats a run to find out listens to the plugins of one machine: every answer is passed on,
and given to the listener.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from podwright.framework.adapter import described, raised_at
from podwright.framework.binding import Pending
from podwright.framework.custom_results import custom_results
from podwright.framework.cycle import Cycle
from podwright.framework.plugin import Plugin
from podwright.framework.profile import Profile
from podwright.framework.status import Status

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
    """What one plugin said of one pod.

    Parameters
    ----------
    uid : str
        The pod's.
    point : str
        The extension point.
    plugin : str
    status : Status, optional
        None: it is not done yet.
    timeout_ns : int
        How long a Permit plugin wants to hold the pod at most.
    custom_results : dict of str to str
        What it left to be said of the pod, see `add_custom_result`.
    """

    uid: str
    point: Point
    plugin: str
    status: Status | None
    timeout_ns: int = 0
    custom_results: dict[str, str] = {}


def trace_plugins(profile: Profile, tell: Callable[[PluginCall], None]) -> None:
    """Hear every answer of a profile's plugins from now on; other profiles are not changed."""
    for plugin in profile.all_plugins():
        for name, point in _METHODS.items():
            if name == point and not plugin.implements(name):
                continue
            # On the object, not on the class: only this machine's plugin is listened to.
            setattr(plugin, name, _overheard(plugin, getattr(plugin, name), point, tell))


def _overheard(
    plugin: Plugin, method: Callable[..., object], point: Point, tell: Callable[[PluginCall], None]
) -> Callable[..., object]:
    def call(cycle: Cycle, node_name: str, *more: Any) -> object:
        before = custom_results(cycle)
        try:
            answer = method(cycle, node_name, *more)
        except Exception as error:
            where = f"pod {cycle.pod.key}, node {node_name}"
            failed = Status.error(raised_at(error, where))
            tell(_heard(plugin, point, cycle, failed, before))
            raise
        tell(_heard(plugin, point, cycle, answer, before))
        return answer

    return call


def _heard(
    plugin: Plugin, point: Point, cycle: Cycle, answer: object, before: Mapping[str, str]
) -> PluginCall:
    timeout_ns = 0
    status: Status | None
    match answer:
        case Status():
            status = answer
        case Pending() if point in ("pre_bind", "bind"):
            status = None
        case (Status() as status, int() as timeout_ns) if point == "permit":
            pass
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
