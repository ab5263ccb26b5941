"""Calls of plugins from Reserve on; every error of a plugin becomes a status.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunReservePluginsReserve` (and the other
runners).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

from podwright.apimachinery.objects import ArgumentError, InputError, Pod
from podwright.scheduler.framework import (
    BIND_BY_API,
    ApiCall,
    Cycle,
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


def notify_plugin(plugin: Plugin, point: str, cycle: Cycle, node: str) -> Status:
    """Call a plugin that returns nothing (Unreserve, PostBind)."""
    answer = _call(plugin, cycle, node, getattr(plugin, point))
    return answer if isinstance(answer, Status) else Status.OK


def notify_pod_ended(plugins: Iterable[Plugin], pod: Pod) -> None:
    """Call the plugins that release something when a pod ends; errors are ignored."""
    for plugin in plugins:
        # As for Unreserve: the pod is gone, so there is no attempt that could fail.
        with suppress(Exception):
            plugin.pod_ended(pod)


def with_point(status: Status, point: str) -> Status:
    """Return an error with the extension point in its text; a rejection unchanged.

    Parameters
    ----------
    point : str
        As upstream names it, for example ``PreBind``.
    """
    if status.is_rejection:
        return status
    return Status.error(f'running {point} plugin "{status.plugin}": {status.message}').by(
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
