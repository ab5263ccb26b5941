"""How long the calls of plugins took, per plugin and extension point.

A driver that observes the plugins (`framework.observe_plugins`) reports each call with the duration
that it measured. The durations affect no decision and are part of no snapshot.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.framework import OBSERVED_POINTS, ObservedMethod, Status
from podwright.machine.snapshot_builder import BOUNDS, Histogram
from podwright.objects import Pod

EXECUTION_TIME: Final = "scheduler_plugin_execution_duration_seconds"
_POINT_TIME: Final = "scheduler_framework_extension_point_duration_seconds"
_NEUTRAL: Final = frozenset({"Filter", "PreScore", "Score"})
"""Extension points whose rejections are, as upstream counts them, no failures of the point."""


class PluginTiming(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The calls of one plugin at one extension point.

    Attributes
    ----------
    plugin, point : str
        The extension point has its name in upstream's metrics.
    call_count : int
    statuses : dict of str to int
        The number of calls by status.
    total_ns : int
        The duration of all calls.
    longest_ns : int
        The duration of the longest call.
    longest_pod : str
        The pod of the longest call.
    """

    plugin: str
    point: str
    call_count: int
    statuses: dict[str, int]
    total_ns: int
    longest_ns: int
    longest_pod: str


class PluginTimings:
    """The durations of calls.

    Attributes
    ----------
    executions : dict of (str, str, str) to Histogram
        Durations of calls, by plugin, extension point and status.
    """

    def __init__(self) -> None:
        self.executions: dict[tuple[str, ...], Histogram] = {}
        self._longest: dict[tuple[str, str], tuple[int, str]] = {}
        self._points: dict[tuple[str, ...], Histogram] = {}
        self._run: tuple[str, str, str] | None = None
        """Extension point, profile and pod of the calls that were reported last."""
        self._run_status = ""
        self._run_ns = 0

    def add(
        self,
        method: ObservedMethod,
        pod: Pod,
        status: Status,
        duration_ns: int,
        *,
        is_nested: bool = False,
    ) -> None:
        """Add a call.

        Parameters
        ----------
        method : ObservedMethod
        pod : Pod
        status : Status
            As `status_of` reads it.
        duration_ns : int
        is_nested : bool
            Whether another plugin made the call, such as a filter in a dry run of preemption. Its
            duration is not added to its extension point.
        """
        plugin, point, label = method.plugin, method.point, status.code.label
        histogram = self.executions.get((plugin, point, label))
        if histogram is None:
            histogram = Histogram(BOUNDS[EXECUTION_TIME])
            self.executions[plugin, point, label] = histogram
        histogram.observe(duration_ns)
        longest = self._longest.get((plugin, point))
        if longest is None or duration_ns > longest[0]:
            self._longest[plugin, point] = duration_ns, pod.key
        if not is_nested:
            self._add_to_point(method, pod, label, duration_ns)

    def _add_to_point(self, method: ObservedMethod, pod: Pod, label: str, duration_ns: int) -> None:
        run = (method.point, method.profile, pod.metadata.uid)
        if run != self._run:
            self._end_run()
            self._run, self._run_ns, self._run_status = run, 0, "Success"
        self._run_ns += duration_ns
        if label not in {"Success", "Skip"} and (method.point not in _NEUTRAL or label == "Error"):
            self._run_status = label

    def _end_run(self) -> None:
        """Add the duration of the extension point that ran last."""
        if self._run is None:
            return
        point, profile, _ = self._run
        self._run = None
        labels = point, self._run_status, profile
        histogram = self._points.get(labels)
        if histogram is None:
            histogram = self._points[labels] = Histogram(BOUNDS[_POINT_TIME])
        histogram.observe(self._run_ns)

    def points(self) -> dict[tuple[str, ...], Histogram]:
        """Return the durations of whole extension points, by point, status and profile."""
        self._end_run()
        return self._points

    def rows(self) -> list[PluginTiming]:
        """Return the calls per plugin and extension point, in the order of the points."""
        found: dict[tuple[str, str], dict[str, Histogram]] = {}
        for (plugin, point, label), histogram in self.executions.items():
            found.setdefault((plugin, point), {})[label] = histogram
        order = {point: index for index, point in enumerate(OBSERVED_POINTS)}
        rows = []
        for plugin, point in sorted(found, key=lambda key: (order[key[1]], key[0])):
            statuses = {
                label: sum(histogram.counts)
                for label, histogram in sorted(found[plugin, point].items())
            }
            longest_ns, longest_pod = self._longest[plugin, point]
            rows.append(
                PluginTiming(
                    plugin=plugin,
                    point=point,
                    call_count=sum(statuses.values()),
                    statuses=statuses,
                    total_ns=sum(each.total for each in found[plugin, point].values()),
                    longest_ns=longest_ns,
                    longest_pod=longest_pod,
                )
            )
        return rows
