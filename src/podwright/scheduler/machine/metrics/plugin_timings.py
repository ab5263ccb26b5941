"""How long the calls of plugins took, per plugin and extension point.

A driver that observes the plugins (`framework.observe_plugins`) reports each call with the duration
that it measured. The durations affect no decision and are part of no snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import OBSERVED_POINTS, Code, ObservedMethod, Status
from podwright.scheduler.machine.metrics.metric_snapshot import BOUNDS, Histogram

EXECUTION_TIME: Final = "scheduler_plugin_execution_duration_seconds"
_POINT_TIME: Final = "scheduler_framework_extension_point_duration_seconds"
_FAILED: Final = Code.ERROR.label
_GOOD: Final = frozenset({Code.SUCCESS, Code.SKIP})
_DURATIONS_MAX: Final = 4_096


class PluginTiming(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The calls of one plugin at one extension point.

    Attributes
    ----------
    profile : str
        The schedulerName.
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

    profile: str
    plugin: str
    point: str
    call_count: int
    statuses: dict[str, int]
    total_ns: int
    longest_ns: int
    longest_pod: str


class _Calls:
    """The calls of one method of one plugin object."""

    __slots__ = ("_durations", "histograms", "longest_ns", "longest_pod")

    def __init__(self) -> None:
        self._durations: dict[Code, list[int]] = {}
        """Durations that are not in `histograms` yet: appending to a list is cheap."""
        self.histograms: dict[Code, Histogram] = {}
        self.longest_ns = -1
        self.longest_pod = ""

    def add(self, code: Code, duration_ns: int, pod: Pod) -> None:
        durations = self._durations.get(code)
        if durations is None:
            durations = self._durations[code] = []
        durations.append(duration_ns)
        if duration_ns > self.longest_ns:
            self.longest_ns, self.longest_pod = duration_ns, pod.key
        if len(durations) >= _DURATIONS_MAX:
            self.flush()

    def flush(self) -> None:
        """Move all durations to the histograms."""
        for code, durations in self._durations.items():
            histogram = self.histograms.get(code)
            if histogram is None:
                histogram = self.histograms[code] = Histogram(BOUNDS[EXECUTION_TIME])
            for duration_ns in durations:
                histogram.observe(duration_ns)
            durations.clear()


class PluginTimings:
    """The durations of calls."""

    def __init__(self) -> None:
        self._calls: dict[ObservedMethod, _Calls] = {}
        self._points: dict[tuple[str, ...], Histogram] = {}
        self._run: ObservedMethod | None = None
        """A method of the extension point whose calls were reported last, for `_run_pod`."""
        self._run_pod: Pod | None = None
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
        calls = self._calls.get(method)
        if calls is None:
            calls = self._calls[method] = _Calls()
        code = status.code
        calls.add(code, duration_ns, pod)
        if is_nested:
            return
        run = self._run
        if run is not method or pod is not self._run_pod:
            is_same = (
                run is not None
                and run.point == method.point
                and run.profile == method.profile
                and pod is self._run_pod
            )
            if not is_same:
                self._end_run()
                self._run_pod, self._run_ns, self._run_status = pod, 0, "Success"
            self._run = method
        self._run_ns += duration_ns
        if code not in _GOOD and (method.point != "Filter" or code == Code.ERROR):
            # As upstream counts points: Filter rejects nodes without failing, and PreScore turns
            # a rejection into an error.
            self._run_status = _FAILED if method.point == "PreScore" else code.label

    def _end_run(self) -> None:
        """Add the duration of the extension point that ran last."""
        run = self._run
        if run is None:
            return
        self._run = self._run_pod = None
        labels = run.point, self._run_status, run.profile
        histogram = self._points.get(labels)
        if histogram is None:
            histogram = self._points[labels] = Histogram(BOUNDS[_POINT_TIME])
        histogram.observe(self._run_ns)

    def executions(self) -> dict[tuple[str, ...], Histogram]:
        """Return the durations of calls, by plugin, extension point and status."""
        found: dict[tuple[str, ...], Histogram] = {}
        for method, calls in self._calls.items():
            calls.flush()
            for code, histogram in calls.histograms.items():
                labels = method.plugin, method.point, code.label
                found.setdefault(labels, Histogram(histogram.bounds)).add(histogram)
        return found

    def points(self) -> dict[tuple[str, ...], Histogram]:
        """Return the durations of whole extension points, by point, status and profile."""
        self._end_run()
        return self._points

    def rows(self) -> list[PluginTiming]:
        """Return the calls per profile, plugin and extension point, in the order of the points."""
        found: dict[tuple[str, str, str], list[_Calls]] = {}
        for method, calls in self._calls.items():
            calls.flush()
            found.setdefault((method.profile, method.plugin, method.point), []).append(calls)
        order = {point: index for index, point in enumerate(OBSERVED_POINTS)}
        return [
            _row(*called, found[called])
            for called in sorted(found, key=lambda called: (order[called[2]], called))
        ]


def _row(profile: str, plugin: str, point: str, several: Sequence[_Calls]) -> PluginTiming:
    """Return a row of the calls of all methods of one extension point."""
    statuses: Counter[str] = Counter()
    for calls in several:
        for code, histogram in calls.histograms.items():
            statuses[code.label] += sum(histogram.counts)
    longest = max(several, key=lambda calls: calls.longest_ns)
    return PluginTiming(
        profile=profile,
        plugin=plugin,
        point=point,
        call_count=statuses.total(),
        statuses=dict(sorted(statuses.items())),
        total_ns=sum(each.total for calls in several for each in calls.histograms.values()),
        longest_ns=longest.longest_ns,
        longest_pod=longest.longest_pod,
    )
