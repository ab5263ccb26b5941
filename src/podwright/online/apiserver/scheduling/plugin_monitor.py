"""Observes the plugins of a served cluster: durations of calls, and failures with tracebacks.

Without `start`, nothing is observed and nothing is slower.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Pod, timestamp_text_nano
from podwright.online.apiserver.breakpoints import Breakpoints
from podwright.scheduler.framework import (
    Code,
    ObservedMethod,
    Status,
    node_of,
    observe_plugins,
    pod_of,
    raised,
    status_of,
)
from podwright.scheduler.machine import PluginTimings
from podwright.simulation.world import World

FAILURES_MAX: Final = 200
"""So many of the last failures are kept."""

_FRAMES_MAX: Final = 20
_MESSAGE_MAX: Final = 2_000


class PluginFailureRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A call of a plugin that raised an exception or returned an error.

    Attributes
    ----------
    number : int
        Counts all failures; the first is 1.
    time : str
        The time of the cluster.
    pod : str
        The `namespace/name`.
    uid : str
    attempt : int
        The attempt since the configuration of the scheduler was last changed; 0 before the first,
        and at PostBind.
    plugin, point : str
        The extension point has its name in upstream's metrics.
    node : str
        "" for a call for all nodes, or for none.
    message : str
    traceback : str
        "" if the plugin returned an error.
    """

    number: int
    time: str
    pod: str
    uid: str
    attempt: int
    plugin: str
    point: str
    node: str
    message: str
    traceback: str


class PluginMonitor:
    """The observed calls of plugins of a cluster: a `framework.PluginObserver`.

    Parameters
    ----------
    world : World
        Whose scheduler has the plugins.
    breakpoints : Breakpoints
        Those about calls of plugins receive each call.

    Attributes
    ----------
    read_ns : callable
        Returns the reading of the clock that measures calls.
    timings : PluginTimings
        Since the start of the observation, or the last change of the scheduler.
    failures : deque of PluginFailureRecord
        The last failures, oldest first; also those of schedulers before.
    failure_count : int
        The number of all failures.
    """

    def __init__(self, world: World, breakpoints: Breakpoints) -> None:
        self.calls: list[ObservedMethod] = []
        self.read_ns = time.perf_counter_ns
        self.timings = PluginTimings()
        self.failures: deque[PluginFailureRecord] = deque(maxlen=FAILURES_MAX)
        self.failure_count = 0
        self._breakpoints = breakpoints
        breakpoints.attempt_of = self.attempt_of
        self._world = world
        self._ends: list[Callable[[], None]] = []

    @property
    def is_observing(self) -> bool:
        """Whether calls are observed."""
        return bool(self._ends)

    def start(self) -> None:
        """Observe the plugins from now on."""
        if self._ends:
            return
        machine = self._world.machine
        machine.metrics.plugin_timings = self.timings
        self._ends = [observe_plugins(profile, self) for profile in machine.profiles.values()]

    def stop(self) -> None:
        """End the observation; what was observed is kept."""
        for end in self._ends:
            end()
        self._ends = []
        self.calls.clear()

    def clear(self) -> None:
        """Forget the durations so far."""
        self.timings = PluginTimings()
        if self._world.machine.metrics.plugin_timings is not None:
            self._world.machine.metrics.plugin_timings = self.timings

    def follow(self, world: World) -> None:
        """Observe the plugins of another scheduler if those of the one before were observed."""
        is_observing = self.is_observing
        self.stop()
        self._world = world
        self.timings = PluginTimings()
        if is_observing:
            self.start()

    def returned(
        self, method: ObservedMethod, arguments: tuple[Any, ...], duration_ns: int, answer: object
    ) -> None:
        """Receive a call that returned."""
        status = status_of(method, answer)
        self._add(method, arguments, status, duration_ns)
        if self._breakpoints.has_call_conditions:
            self._breakpoints.called(method, arguments, status, answer)
        if status.code == Code.ERROR:
            self._failed(method, arguments, status.message, "")

    def raised(
        self,
        method: ObservedMethod,
        arguments: tuple[Any, ...],
        duration_ns: int,
        error: Exception,
    ) -> None:
        """Receive a call that raised an exception."""
        status = Status.error(raised(error))
        self._add(method, arguments, status, duration_ns)
        if self._breakpoints.has_call_conditions:
            self._breakpoints.called(method, arguments, status, None)
        self._failed(method, arguments, status.message, _traceback_text(error))

    def attempt_of(self, pod: Pod) -> int:
        """Return the number of the current attempt of a pod, or of the last one."""
        return self._world.machine.attempts_of(pod)

    def _add(
        self, method: ObservedMethod, arguments: tuple[Any, ...], status: Status, duration_ns: int
    ) -> None:
        pod = pod_of(arguments)
        self.timings.add(method, pod, status, duration_ns, is_nested=bool(self.calls))

    def _failed(
        self, method: ObservedMethod, arguments: tuple[Any, ...], message: str, text: str
    ) -> None:
        pod = pod_of(arguments)
        self.failure_count += 1
        self.failures.append(
            PluginFailureRecord(
                number=self.failure_count,
                time=timestamp_text_nano(self._world.now_ns),
                pod=pod.key,
                uid=pod.metadata.uid,
                attempt=self.attempt_of(pod),
                plugin=method.plugin,
                point=method.point,
                node=node_of(arguments),
                message=message[:_MESSAGE_MAX],
                traceback=text,
            )
        )


def _traceback_text(error: Exception) -> str:
    """Return the traceback of an exception without the frame of `ObservedMethod`."""
    frames = error.__traceback__
    found = traceback.TracebackException(
        type(error), error, None if frames is None else frames.tb_next, limit=-_FRAMES_MAX
    )
    try:
        return "".join(found.format())
    except Exception:  # noqa: BLE001 - `__str__` of a user's exception may raise
        return raised(error)
