"""The counters of a machine, under kube-scheduler's metric names (`metric_table`).

Theory of operation
-------------------
The parts of the machine report once per cycle and once per attempt; a report costs one or two
dictionary accesses on plain integers. `snapshot` expands the counts into families of series,
and `exposition.render_text` prints them. Redundant numbers are stored once: a counter that
belongs to a histogram is the count of that histogram, the counters of the queue
(`QueueMetrics`) are read from there, and gauges are read from the machine.

There is no clock. A duration is the difference of `now_ns` between two events: virtual time
in a simulation, real time on a real cluster. Within one event no time passes, so the decision
for one pod has duration 0 unless the driver measures the handling of the event and reports it
with `report_spent`. Such a report changes the metrics only.

The counts are part of a machine's snapshot (`capture`), so a restored machine continues them.
Reports of drivers are not: they do not follow from the events, and a repeated run must write
the same snapshots.

Upstream: pkg/scheduler/metrics/metrics.go, pkg/scheduler/schedule_one.go
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from podwright.scheduler.framework import Profile
from podwright.scheduler.machine.cycles.plugin_calls import BOUND, ExtensionPath, path_through
from podwright.scheduler.machine.metrics.metric_snapshot import (
    BOUNDS,
    Counts,
    DecisionCount,
    Histogram,
    Labels,
    Levels,
    MetricsSnapshot,
    PathCount,
    Points,
    SnapshotBuilder,
    Value,
)
from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME
from podwright.scheduler.machine.metrics.plugin_timings import EXECUTION_TIME, PluginTimings
from podwright.scheduler.queueing import QueuedPod, QueueMetrics

FailureResult = Literal["unschedulable", "error"]
SCHEDULED = "scheduled"

_MOST_ATTEMPTS = 15
_NO_PLUGINS: frozenset[str] = frozenset()
_ATTEMPTS = "scheduler_schedule_attempts_total"
_ATTEMPT_TIME = "scheduler_scheduling_attempt_duration_seconds"
_ALGORITHM_TIME = "scheduler_scheduling_algorithm_duration_seconds"
_POINT_TIME = "scheduler_framework_extension_point_duration_seconds"
_HANDLING_TIME = "scheduler_event_handling_duration_seconds"
_SLI_TIME = "scheduler_pod_scheduling_sli_duration_seconds"
_ATTEMPT_BOUNDS = BOUNDS[_ATTEMPT_TIME]
_SLI_BOUNDS = BOUNDS[_SLI_TIME]
_DecisionKey = tuple[str, ExtensionPath, frozenset[str], frozenset[str]]
"""Profile, path, and the plugins that returned Skip at PreFilter and at PreScore."""
_COUNTED_BY = {
    _ATTEMPTS: _ATTEMPT_TIME,
    "scheduler_preemption_goroutines_execution_total": (
        "scheduler_preemption_goroutines_duration_seconds"
    ),
    "scheduler_async_api_call_execution_total": (
        "scheduler_async_api_call_execution_duration_seconds"
    ),
    "scheduler_podgroup_schedule_attempts_total": (
        "scheduler_podgroup_scheduling_attempt_duration_seconds"
    ),
}
"""Counters that upstream counts together with a histogram of the same labels."""


class Metrics:
    """The counts of a machine.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By schedulerName; they determine the plugins of each extension point.

    Attributes
    ----------
    plugin_timings : PluginTimings, optional
        The durations of plugin calls, if a driver measures them.
    """

    __slots__ = (
        "_by_attempts",
        "_counters",
        "_decisions",
        "_distributions",
        "_ended_at_once",
        "_failed",
        "_flushed_count",
        "_gauges",
        "_handled",
        "_paths",
        "_profiles",
        "_scheduled",
        "_spent",
        "_subject",
        "plugin_timings",
    )

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles
        # Plain dictionaries on the hot path: a Counter's items are slower to add to.
        self._scheduled: dict[str, Histogram] = {}
        """Durations of attempts that ended with a bound pod, by profile."""
        self._failed: dict[tuple[str, str], Histogram] = {}
        """Durations of the others, by (result, profile)."""
        self._by_attempts: dict[int, Histogram] = {}
        """Time from first entry to binding, by the number of attempts."""
        self._decisions: dict[_DecisionKey, list[int]] = {}
        """Cycles; each count is a list of one element, so that its key is hashed only once."""
        self._paths: Counter[tuple[str, ExtensionPath]] = Counter()
        """Paths of pods that a node was selected for, by profile, except `BOUND`."""
        self._handled: dict[str, int] = {}
        """Cluster events that were handled, by label."""
        self._flushed_count = 0
        self._counters: dict[str, Counter[Labels]] = {}
        self._distributions: dict[str, dict[Labels, Histogram]] = {}
        self._gauges: dict[str, dict[Labels, int]] = {}
        self._spent: dict[str, dict[Labels, Histogram]] = {}
        """Corrections of `report_spent` to other histograms; counts may be negative."""
        self._subject = ""
        """The subject of the time spent in this event: a histogram's name, or an event's label."""
        self.plugin_timings: PluginTimings | None = None
        self._ended_at_once: Labels | None = None
        """Result and profile of the attempt that started and ended in this event."""

    # ------------------------------------------------------------ the scheduling cycle

    def decided(
        self,
        profile: str,
        path: ExtensionPath,
        skipped_filters: frozenset[str] = _NO_PLUGINS,
        skipped_scores: frozenset[str] = _NO_PLUGINS,
        *,
        duration_ns: int = 0,
    ) -> None:
        """Count a decision; once per cycle, before the attempt ends.

        Parameters
        ----------
        profile : str
            Its schedulerName.
        path : ExtensionPath
            `plugin_calls.decision_path` of the decision.
        skipped_filters, skipped_scores : frozenset of str
            Plugins that returned Skip for the pod.
        duration_ns : int
            The duration of a cycle that waited for extenders; `report_spent` does not change
            it.
        """
        key = (profile, path, skipped_filters, skipped_scores)
        cell = self._decisions.get(key)
        if cell is None:
            cell = self._decisions[key] = [0]
        cell[0] += 1
        self._subject = _ALGORITHM_TIME
        self._ended_at_once = None
        if duration_ns:
            self._subject = ""
            self.observe(_ALGORITHM_TIME, (), duration_ns)

    def scheduled(
        self,
        profile: str,
        queued: QueuedPod,
        started_ns: int,
        now_ns: int,
        path: ExtensionPath = BOUND,
    ) -> None:
        """Count a pod that was bound.

        Parameters
        ----------
        started_ns : int
            When its last cycle started.
        path : ExtensionPath
            `plugin_calls.binding_path` up to PostBind.
        """
        histogram = self._scheduled.get(profile)
        if histogram is None:
            histogram = self._scheduled[profile] = Histogram(_ATTEMPT_BOUNDS)
        # `observe` inlined: this is the only part that counts per pod.
        duration_ns = now_ns - started_ns
        histogram.counts[bisect_left(_ATTEMPT_BOUNDS, duration_ns)] += 1
        histogram.total += duration_ns
        histogram = self._by_attempts.get(queued.attempts)
        if histogram is None:
            histogram = self._by_attempts[queued.attempts] = Histogram(_SLI_BOUNDS)
        entered_ns = queued.initial_attempt_ns
        duration_ns = 0 if entered_ns is None else now_ns - entered_ns
        histogram.counts[bisect_left(_SLI_BOUNDS, duration_ns)] += 1
        histogram.total += duration_ns
        if queued.was_flushed:
            self._flushed_count += 1
        if path is not BOUND:
            self._paths[profile, path] += 1

    def failed(
        self,
        profile: str,
        result: FailureResult,
        *,
        started_ns: int,
        now_ns: int,
        path: ExtensionPath | None = None,
    ) -> None:
        """Count an attempt that ended without a bound pod.

        Parameters
        ----------
        path : ExtensionPath, optional
            `plugin_calls.binding_path`, if a node had been selected for the pod.
        """
        if path is not None:
            self._paths[profile, path] += 1
        histogram = self._failed.get((result, profile))
        if histogram is None:
            histogram = self._failed[result, profile] = Histogram(_ATTEMPT_BOUNDS)
        duration_ns = now_ns - started_ns
        histogram.observe(duration_ns)
        if not duration_ns:
            self._ended_at_once = (result, profile)

    # ------------------------------------------------------------ outside the cycle

    def handled(self, event: str) -> None:
        """Count a cluster event that was handled.

        Parameters
        ----------
        event : str
            The label of the cluster event, for example ``NodeAdd``.
        """
        self._handled[event] = self._handled.get(event, 0) + 1
        self._subject = event

    def preemption_tried(self, victim_count: int = 0) -> None:
        """Count a preemption attempt and its victims."""
        self.count("scheduler_preemption_attempts_total")
        if victim_count:
            self.observe("scheduler_preemption_victims", (), victim_count)

    def victims_removed(self, *, has_failed: bool, duration_ns: int) -> None:
        """Count a completed preemption."""
        result = "error" if has_failed else "success"
        self.observe("scheduler_preemption_goroutines_duration_seconds", (result,), duration_ns)

    def permit_waited(self, status: str, duration_ns: int) -> None:
        """Count a completed wait at Permit.

        Parameters
        ----------
        status : str
            The label of the resulting `Code`.
        """
        self.observe("scheduler_permit_wait_duration_seconds", (status,), duration_ns)

    def pod_group_ended(self, profile: str, result: str, duration_ns: int) -> None:
        """Count an attempt to schedule a pod group; the values of `result` are those of a pod."""
        name = "scheduler_podgroup_scheduling_attempt_duration_seconds"
        self.observe(name, (result, profile), duration_ns)

    # ------------------------------------------------------------ any other metric

    def count(self, name: str, labels: Labels = (), times: int = 1) -> None:
        """Add to a counter of the table.

        Raises
        ------
        AssertionError
            If there is no such counter, or its labels are others.
        """
        found = self._counters.get(name)
        if found is None or labels not in found:
            _check(name, "counter", labels)
            found = self._counters.setdefault(name, Counter())
        found[labels] += times

    def observe(self, name: str, labels: Labels, value: int) -> None:
        """Add a value, or a duration in nanoseconds, to a histogram of the table.

        Raises
        ------
        AssertionError
            If there is no such histogram, or its labels are others.
        """
        found = self._distributions.get(name)
        if found is None or labels not in found:
            _check(name, "histogram", labels)
            found = self._distributions.setdefault(name, {})
            found[labels] = Histogram(BOUNDS[name])
        found[labels].observe(value)

    def set_gauge(self, name: str, labels: Labels, value: int) -> None:
        """Set a gauge of the table that a driver reports.

        Raises
        ------
        AssertionError
            If there is no such gauge, or its labels are others.
        """
        _check(name, "gauge", labels)
        self._gauges.setdefault(name, {})[labels] = value

    def report_spent(self, spent_ns: int) -> None:
        """Report the measured duration of handling the last event.

        The duration applies to the decision of a cycle and to an attempt that ended with it, or
        to the cluster event. It is ignored for any other event, and so is a second report about
        the same event.
        """
        subject, self._subject = self._subject, ""
        if subject == _ALGORITHM_TIME:
            self._spent_on(_ALGORITHM_TIME, ()).observe(spent_ns)
            if self._ended_at_once is not None:
                self._spent_on(_ATTEMPT_TIME, self._ended_at_once).replace(0, spent_ns)
                self._ended_at_once = None
        elif subject:
            self._spent_on(_HANDLING_TIME, (subject,)).observe(spent_ns)

    def _spent_on(self, name: str, labels: Labels) -> Histogram:
        series = self._spent.setdefault(name, {})
        if labels not in series:
            series[labels] = Histogram(BOUNDS[name])
        return series[labels]

    # ------------------------------------------------------------ checkpoints

    def capture(self) -> Counts:
        """Return the counts, without the reports of drivers."""
        decisions: Counter[tuple[str, Points, tuple[str, ...], tuple[str, ...]]] = Counter()
        for (profile, path, skipped_filters, skipped_scores), (times,) in self._decisions.items():
            skipped = tuple(sorted(skipped_filters)), tuple(sorted(skipped_scores))
            decisions[profile, path.points, *skipped] += times
        return Counts(
            scheduled={name: found.read(()) for name, found in sorted(self._scheduled.items())},
            failed=tuple(found.read(labels) for labels, found in sorted(self._failed.items())),
            by_attempts={
                attempts: found.read(()) for attempts, found in sorted(self._by_attempts.items())
            },
            decisions=tuple(DecisionCount(*key, times) for key, times in sorted(decisions.items())),
            paths=tuple(
                sorted(
                    PathCount(profile, path.points, times)
                    for (profile, path), times in self._paths.items()
                )
            ),
            handled=dict(sorted(self._handled.items())),
            flushed_count=self._flushed_count,
            counters={
                name: tuple(Value(labels, times) for labels, times in sorted(found.items()))
                for name, found in sorted(self._counters.items())
            },
            distributions={
                name: tuple(found[labels].read(labels) for labels in sorted(found))
                for name, found in sorted(self._distributions.items())
            },
        )

    def restore(self, counts: Counts) -> None:
        """Continue from restored counts; the metrics must be new."""
        assert not self._decisions, "only new metrics can be restored"
        for profile, saved in counts.scheduled.items():
            self._scheduled[profile] = Histogram.of(_ATTEMPT_BOUNDS, saved)
        for saved in counts.failed:
            result, profile = saved.labels
            self._failed[result, profile] = Histogram.of(_ATTEMPT_BOUNDS, saved)
        for attempts, saved in counts.by_attempts.items():
            self._by_attempts[attempts] = Histogram.of(_SLI_BOUNDS, saved)
        for decision in counts.decisions:
            skipped = frozenset(decision.skipped_filters), frozenset(decision.skipped_scores)
            path = path_through(*decision.points)
            self._decisions[decision.profile, path, *skipped] = [decision.times]
        for passed in counts.paths:
            self._paths[passed.profile, path_through(*passed.points)] = passed.times
        self._handled.update(counts.handled)
        self._flushed_count = counts.flushed_count
        for name, values in counts.counters.items():
            self._counters[name] = Counter({one.labels: int(one.value) for one in values})
        for name, distributions in counts.distributions.items():
            self._distributions[name] = {
                saved.labels: Histogram.of(BOUNDS[name], saved) for saved in distributions
            }

    # ------------------------------------------------------------ reading

    def snapshot(self, queue: QueueMetrics, levels: Levels) -> MetricsSnapshot:
        """Return the current values of all metrics.

        Parameters
        ----------
        queue : QueueMetrics
            The counters of the queue, up to date.
        levels : Levels
        """
        builder = SnapshotBuilder()
        self._expand_attempts(builder)
        self._expand_points(builder)
        _read_queue(builder, queue)
        _read_levels(builder, levels)
        for name, counter in self._counters.items():
            for labels, value in counter.items():
                builder.put(name, labels, value)
        for name, gauges in self._gauges.items():
            for labels, value in gauges.items():
                builder.put(name, labels, value)
        for kept in (self._distributions, self._spent):
            for name, distributions in kept.items():
                for labels, distribution in distributions.items():
                    builder.merge(name, labels, distribution)
        for event, times in self._handled.items():
            builder.fill_up(_HANDLING_TIME, (event,), times)
        builder.fill_up(_ALGORITHM_TIME, (), sum(times for (times,) in self._decisions.values()))
        for name, histogram_name in _COUNTED_BY.items():
            builder.count_histogram(name, histogram_name)
        return MetricsSnapshot(builder.families())

    def _expand_attempts(self, builder: SnapshotBuilder) -> None:
        for profile, histogram in self._scheduled.items():
            builder.merge(_ATTEMPT_TIME, (SCHEDULED, profile), histogram)
        for labels, histogram in self._failed.items():
            builder.merge(_ATTEMPT_TIME, labels, histogram)
        for attempts, histogram in self._by_attempts.items():
            label = str(attempts) if attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
            builder.merge(_SLI_TIME, (label,), histogram)
            times = sum(histogram.counts)
            builder.histogram("scheduler_pod_scheduling_attempts", ()).observe(attempts, times)
        builder.put("scheduler_pod_scheduled_after_flush_total", (), self._flushed_count)

    def _expand_points(self, builder: SnapshotBuilder) -> None:
        times_of: Counter[tuple[str, str, str]] = Counter()
        evaluations: Counter[Labels] = Counter()
        for (name, path, skipped_filters, skipped_scores), (times,) in self._decisions.items():
            for point, status in path.points:
                times_of[point, status, name] += times
                for plugin in _not_skipped(
                    self._profiles[name], point, skipped_filters, skipped_scores
                ):
                    evaluations[plugin, point, name] += times
        bound = Counter({name: sum(found.counts) for name, found in self._scheduled.items()})
        for (name, path), times in self._paths.items():
            if path.is_bound:
                bound[name] -= times
            for point, status in path.points:
                times_of[point, status, name] += times
        for name, times in bound.items():
            for point, status in BOUND.points:
                times_of[point, status, name] += times
        self._expand_durations(builder, times_of)
        for evaluated, times in evaluations.items():
            builder.put("scheduler_plugin_evaluation_total", evaluated, times)

    def _expand_durations(
        self, builder: SnapshotBuilder, times_of: Mapping[tuple[str, str, str], int]
    ) -> None:
        timings = self.plugin_timings
        if timings is not None:
            for labels, histogram in timings.executions().items():
                builder.merge(EXECUTION_TIME, labels, histogram)
            for labels, histogram in timings.points().items():
                builder.merge(_POINT_TIME, labels, histogram)
        for labels, times in times_of.items():
            if times:
                # A run without a call, because all results were cached, took no time.
                histogram = builder.histogram(_POINT_TIME, labels)
                histogram.observe(0, max(times - sum(histogram.counts), 0))


def _check(name: str, kind: str, labels: Labels) -> None:
    metric = METRIC_BY_NAME.get(name)
    assert metric is not None, f"no metric has the name {name}"
    assert metric.kind == kind, f"{name} is a {metric.kind}, not a {kind}"
    assert name not in _COUNTED_BY, f"{name} is the count of {_COUNTED_BY[name]}: observe that"
    assert len(labels) == len(metric.labels), f"{name} has labels {metric.labels}, not {labels}"


def _not_skipped(
    profile: Profile,
    point: str,
    skipped_filters: frozenset[str],
    skipped_scores: frozenset[str],
) -> Iterable[str]:
    """Return the plugins that did not skip an extension point.

    Upstream: pkg/scheduler/framework/runtime/instrumented_plugins.go
    """
    match point:
        case "PreFilter":
            plugins, skipped = profile.pre_filter, skipped_filters
        case "Filter":
            plugins, skipped = profile.filter, skipped_filters
        case "PreScore":
            plugins, skipped = profile.pre_score, skipped_scores
        case "Score":
            plugins, skipped = tuple(plugin for plugin, _ in profile.score), skipped_scores
        case _:
            return ()
    return [plugin.name for plugin in plugins if plugin.name not in skipped]


def _read_queue(builder: SnapshotBuilder, queue: QueueMetrics) -> None:
    for labels, times in queue.queue_incoming_pods_total.items():
        builder.put("scheduler_queue_incoming_pods_total", labels, times)
    for place, waiting in queue.pending_pods.items():
        builder.put("scheduler_pending_pods", (place,), waiting)
    for plugin, waiting in queue.unschedulable_pods.items():
        builder.put("scheduler_unschedulable_pods", plugin, waiting)
    for event, kept in queue.inflight_events.items():
        builder.put("scheduler_inflight_events", (event,), kept)
    name = "scheduler_queueing_hint_execution_duration_seconds"
    for hint, times in queue.queueing_hint_executions_total.items():
        builder.histogram(name, hint).observe(0, times)


def _read_levels(builder: SnapshotBuilder, levels: Levels) -> None:
    builder.put("scheduler_cache_size", ("nodes",), levels.nodes)
    builder.put("scheduler_cache_size", ("pods",), levels.pods)
    builder.put("scheduler_cache_size", ("assumed_pods",), levels.assumed_pods)
    builder.put("scheduler_goroutines", ("binding",), levels.binding)
    extender = ("prioritizing_extender",)
    builder.put("scheduler_goroutines", extender, levels.prioritizing_extender)
    builder.put("podwright_permit_waiting_pods", (), levels.permit_waiting)
    builder.put("podwright_preempting_pods", (), levels.preempting)
