"""Calls of plugins from Reserve on, with whatever they do wrong turned into a status.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunReservePluginsReserve` and the
other runners.
"""

from __future__ import annotations

from collections.abc import Callable

from podwright.framework import (
    BIND_BY_API,
    ApiCall,
    Cycle,
    Pending,
    Plugin,
    Progress,
    Status,
    described,
    raised_at,
)

_LONGEST_NS = 2**63 - 1


def ask(plugin: Plugin, point: str, cycle: Cycle, node: str) -> Status:
    """Call a plugin at an extension point that answers with a status.

    Parameters
    ----------
    point : str
        The name of the method.

    Returns
    -------
    Status
        Its answer, signed. An exception, or anything that is not a Status, is an ERROR.
    """
    answer = _call(plugin, cycle, node, getattr(plugin, point))
    return answer if isinstance(answer, Status) else _rubbish(plugin, cycle, node, answer)


def ask_patiently(
    plugin: Plugin, point: str, cycle: Cycle, node: str, progress: Progress | None
) -> Status | Pending:
    """Call a plugin that may have to wait: `pre_bind` or `bind`, or go on with it.

    Parameters
    ----------
    progress : Progress, optional
        None: it is asked for the first time.
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
        is_sensible = answer is BIND_BY_API or _makes_sense(answer)
        return answer if is_sensible else _rubbish(plugin, cycle, node, answer)
    if isinstance(answer, Status):
        return answer.by(plugin.name)
    return _rubbish(plugin, cycle, node, answer)


def ask_permit(plugin: Plugin, cycle: Cycle, node: str) -> tuple[Status, int]:
    """Call a Permit plugin; returns its status and how long it holds the pod, in ns."""
    answer = _call(plugin, cycle, node, plugin.permit)
    if isinstance(answer, Status):
        return answer, 0
    match answer:
        case (Status() as status, int() as timeout_ns) if timeout_ns >= 0:
            return status.by(plugin.name), timeout_ns
        case _:
            return _rubbish(plugin, cycle, node, answer), 0


def tell(plugin: Plugin, point: str, cycle: Cycle, node: str) -> Status:
    """Call a plugin that has nothing to answer (Unreserve, PostBind)."""
    answer = _call(plugin, cycle, node, getattr(plugin, point))
    return answer if isinstance(answer, Status) else Status.OK


def worded(status: Status, point: str) -> Status:
    """Return an error with the extension point in its text; a refusal as it is.

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


def _makes_sense(pending: Pending) -> bool:
    """Tell whether the calls can be made and the time can be waited for."""
    calls: object = pending.calls
    delay_ns: object = pending.delay_ns
    return (
        isinstance(calls, tuple)
        and all(isinstance(call, ApiCall) for call in calls)
        and (delay_ns is None or (isinstance(delay_ns, int) and 0 <= delay_ns <= _LONGEST_NS))
    )


def _raised(plugin: Plugin, cycle: Cycle, node: str, error: Exception) -> Status:
    text = raised_at(error, f"pod {cycle.pod.key}, node {node}")
    return Status.error(text).by(plugin.name)


def _rubbish(plugin: Plugin, cycle: Cycle, node: str, answer: object) -> Status:
    text = f"returned {described(answer)}, not a Status (pod {cycle.pod.key}, node {node})"
    return Status.error(text).by(plugin.name)
