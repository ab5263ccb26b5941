"""Calls of plugins from Reserve on; every error of a plugin becomes a status.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunReservePluginsReserve` (and the other
runners).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import numpy as np

from podwright.apimachinery.objects import ArgumentError, InputError, Pod
from podwright.scheduler.framework import (
    BIND_BY_API,
    ApiCall,
    Code,
    Cycle,
    Decision,
    Pending,
    Plugin,
    Progress,
    Status,
    described,
    raised_at,
    read_permit,
)

_LONGEST_NS = 2**63 - 1


def call_plugin(plugin: Plugin, point: str, cycle: Cycle, node: str) -> Status:
    """Call a plugin at an extension point that returns a status.

    Parameters
    ----------
    point : str
        The name of the method.

    Returns
    -------
    Status
        What the plugin returned, with its name. An exception, or any other type, is an ERROR.
    """
    answer = _call(plugin, cycle, node, getattr(plugin, point))
    return answer if isinstance(answer, Status) else _invalid_answer(plugin, cycle, node, answer)


def call_or_resume(
    plugin: Plugin, point: str, cycle: Cycle, node: str, progress: Progress | None
) -> Status | Pending:
    """Call `pre_bind` or `bind` of a plugin, or resume a call that returned `Pending`.

    Parameters
    ----------
    progress : Progress, optional
        None: the first call.
    """
    try:
        answer: object
        if progress is None:
            answer = getattr(plugin, point)(cycle, node)
        else:
            answer = getattr(plugin, f"continue_{point}")(cycle, node, progress)
    except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
        return _raised(plugin, cycle, node, error)
    if isinstance(answer, Pending):
        is_valid = answer is BIND_BY_API or _is_valid(answer)
        return answer if is_valid else _invalid_answer(plugin, cycle, node, answer)
    if isinstance(answer, Status):
        return answer.by(plugin.name)
    return _invalid_answer(plugin, cycle, node, answer)


def call_permit(plugin: Plugin, cycle: Cycle, node: str) -> tuple[Status, int]:
    """Call a Permit plugin; returns its status and how long it holds the pod, in ns."""
    answer = _call(plugin, cycle, node, plugin.permit)
    try:
        status, timeout_ns = read_permit(answer)
    except (ArgumentError, InputError) as error:
        where = f"(pod {cycle.pod.key}, node {node})"
        return Status.error(f"{error} {where}").by(plugin.name), 0
    return status.by(plugin.name), timeout_ns


def notify_plugin(
    plugin: Plugin, point: str, cycle: Cycle, node: str, report: Callable[[str], None] | None
) -> None:
    """Call a plugin that returns nothing (Unreserve, PostBind); an error has no effect.

    Parameters
    ----------
    point : str
        The name of the method.
    report : callable, optional
        Receives the text of an error.
    """
    try:
        getattr(plugin, point)(cycle, node)
    except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
        if report is not None:
            status = _raised(plugin, cycle, node, error)
            report(with_point(status, _NOTIFIED[point]).message)


_NOTIFIED: Final = {"unreserve": "Unreserve", "post_bind": "PostBind"}


def notify_pod_ended(
    plugins: Iterable[Plugin], pod: Pod, report: Callable[[str], None] | None
) -> None:
    """Call the plugins that release something when a pod ends; as `notify_plugin`."""
    for plugin in plugins:
        try:
            plugin.pod_ended(pod)
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            # As for Unreserve: the pod is gone, so there is no attempt that could fail.
            if report is not None:
                status = Status.error(raised_at(error, f"pod {pod.key}")).by(plugin.name)
                report(with_point(status, "PodEnded").message)


def with_point(status: Status, point: str) -> Status:
    """Return an error with the extension point in its text; a rejection unchanged.

    Parameters
    ----------
    point : str
        As upstream names it, for example ``PreBind``.
    """
    if status.is_rejection:
        return status
    return Status.error(f'running {point} plugin "{status.plugin}": {status.failure}').by(
        status.plugin
    )


def _call(
    plugin: Plugin, cycle: Cycle, node: str, method: Callable[[Cycle, str], object]
) -> object:
    try:
        answer = method(cycle, node)
    except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
        return _raised(plugin, cycle, node, error)
    return answer.by(plugin.name) if isinstance(answer, Status) else answer


def _is_valid(pending: Pending) -> bool:
    """Report whether the calls can be made and the delay is in range."""
    calls: object = pending.calls
    delay_ns: object = pending.delay_ns
    if not isinstance(calls, tuple):
        return False
    for call in calls:
        if not isinstance(call, ApiCall):
            return False
    if delay_ns is None:
        return True
    return isinstance(delay_ns, int | np.integer) and 0 <= int(delay_ns) <= _LONGEST_NS


def _raised(plugin: Plugin, cycle: Cycle, node: str, error: Exception) -> Status:
    text = raised_at(error, f"pod {cycle.pod.key}, node {node}")
    return Status.error(text).by(plugin.name)


def _invalid_answer(plugin: Plugin, cycle: Cycle, node: str, answer: object) -> Status:
    text = f"returned {described(answer)}, not a Status (pod {cycle.pod.key}, node {node})"
    return Status.error(text).by(plugin.name)


# The extension points that an attempt passed, with the status of each.
#
# A cycle has few different paths, and each path is one object that is created once. The metrics
# count paths, which costs one dictionary access per cycle, and expand them into extension points
# only for a snapshot.

_Points = tuple[tuple[str, str], ...]
_SUCCESS = Code.SUCCESS.label


class ExtensionPath:
    """A path through extension points.

    Attributes
    ----------
    points : tuple of (str, str)
        Extension point and status, in upstream's spelling.
    is_bound : bool
        Whether the path ends with a bound pod.
    """

    __slots__ = ("is_bound", "points")

    def __init__(self, *points: tuple[str, str]) -> None:
        self.points = points
        self.is_bound = points[-1:] == (("PostBind", _SUCCESS),)

    def __repr__(self) -> str:
        return " ".join([f"{point}={status}" for point, status in self.points])


@cache
def path_through(*points: tuple[str, str]) -> ExtensionPath:
    """Return the path through these points; equal points give the same object."""
    return ExtensionPath(*points)


_BEGIN = (("PreFilter", _SUCCESS), ("Filter", _SUCCESS))
_SCORED = path_through(*_BEGIN, ("PreScore", _SUCCESS), ("Score", _SUCCESS))
_SINGLE = path_through(*_BEGIN)
_NOWHERE = path_through()
_PLACING = ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind")


def decision_path(decision: Decision) -> ExtensionPath:
    """Return the path of a decision, including PostFilter.

    Notes
    -----
    Filter succeeds whether or not a node remains. An error does not name its extension point,
    so its path is empty; so is the path in a cluster without nodes.
    Upstream: pkg/scheduler/schedule_one.go, `findNodesThatPassFilters`
    """
    if decision.node:
        return _SINGLE if decision.total is None else _SCORED
    diagnosis = decision.diagnosis
    if diagnosis is None or not diagnosis.node_count:
        return _NOWHERE
    pre_filter, post_filter = diagnosis.pre_filter, decision.post_filter
    return _failed_path(
        None if pre_filter is None else pre_filter.code,
        None if post_filter is None else post_filter.status.code,
    )


@cache
def _failed_path(pre_filter: Code | None, post_filter: Code | None) -> ExtensionPath:
    points: _Points = _BEGIN if pre_filter is None else (("PreFilter", pre_filter.label),)
    if post_filter is not None:
        points += (("PostFilter", post_filter.label),)
    return path_through(*points)


@cache
def binding_path(
    last: str,
    code: Code,
    *,
    has_waited: bool = False,
    has_work: bool = False,
    has_pre_flight: bool = True,
) -> ExtensionPath:
    """Return the path of a pod after a node was selected.

    Parameters
    ----------
    last : str
        The last extension point that ran, from Reserve to PostBind.
    code : Code
        The result of that extension point. Unreserve follows unless PostBind succeeded.
    has_waited : bool
        Whether a Permit plugin returned Wait. The result of the wait does not count as the
        status of Permit.
    has_work : bool
        Whether a PreBind plugin had work to do.
    has_pre_flight : bool
        Whether PreBindPreFlight ran (gate NominatedNodeNameForExpectation).
    """
    statuses = {
        "Permit": Code.WAIT if has_waited else Code.SUCCESS,
        "PreBindPreFlight": Code.SUCCESS if has_work else Code.SKIP,
    }
    passed = _PLACING[: _PLACING.index(last)]
    points = [
        (point, statuses.get(point, Code.SUCCESS).label)
        for point in passed
        if has_pre_flight or point != "PreBindPreFlight"
    ]
    points.append((last, code.label))
    if points[-1] != ("PostBind", _SUCCESS):
        points.append(("Unreserve", _SUCCESS))
    return path_through(*points)


BOUND = binding_path("PostBind", Code.SUCCESS)
"""The path of a pod that was bound without waiting."""
