"""Measures the calls of the plugins of a machine, for drivers that need no more than durations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.scheduler.framework import (
    ObservedMethod,
    Status,
    observe_plugins,
    pod_of,
    raised,
    status_of,
)
from podwright.scheduler.machine.machine import Machine
from podwright.scheduler.machine.metrics.plugin_timings import PluginTimings


class PluginTimer:
    """The durations of the calls of the plugins of a machine: a `framework.PluginObserver`.

    Parameters
    ----------
    machine : Machine
        Its metrics do not get the durations, so they stay the same in every run.
    read_ns : callable
        Returns the reading of the clock that measures calls.

    Attributes
    ----------
    timings : PluginTimings
    """

    def __init__(self, machine: Machine, read_ns: Callable[[], int]) -> None:
        self.calls: list[ObservedMethod] = []
        self.read_ns = read_ns
        self.timings = PluginTimings()
        for profile in machine.profiles.values():
            observe_plugins(profile, self)

    def returned(
        self, method: ObservedMethod, arguments: tuple[Any, ...], duration_ns: int, answer: object
    ) -> None:
        """Receive a call that returned."""
        self._add(method, arguments, status_of(method, answer), duration_ns)

    def raised(
        self,
        method: ObservedMethod,
        arguments: tuple[Any, ...],
        duration_ns: int,
        error: Exception,
    ) -> None:
        """Receive a call that raised an exception."""
        self._add(method, arguments, Status.error(raised(error)), duration_ns)

    def _add(
        self, method: ObservedMethod, arguments: tuple[Any, ...], status: Status, duration_ns: int
    ) -> None:
        is_nested = bool(self.calls)
        self.timings.add(method, pod_of(arguments), status, duration_ns, is_nested=is_nested)
