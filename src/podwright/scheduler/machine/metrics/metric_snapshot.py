"""A snapshot of all metrics: plain data for drivers, tests and the decision log.

Notes
-----
Upstream: pkg/scheduler/metrics/resources/resources.go.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import HUGE_PAGES_PREFIX, Pod, limit_nanos, request_nanos
from podwright.scheduler.machine.metrics.metric_table import (
    METRIC_BY_NAME,
    METRICS,
    METRICS_PATH,
    Metric,
)
from podwright.scheduler.queueing import SECOND_NS

Labels = tuple[str, ...]
"""Label values, in the order of the metric's label names."""


class Value(msgspec.Struct, frozen=True, tag=True):
    """A counter or gauge.

    Parameters
    ----------
    labels : tuple of str
        Values, in the order of the metric's label names.
    value : int or float
    """

    labels: Labels
    value: int | float


class Distribution(msgspec.Struct, frozen=True, tag=True):
    """A histogram.

    Parameters
    ----------
    labels : tuple of str
    counts : tuple of int
        Per bucket, not cumulative; one more than the metric has bounds.
    total : int
        The sum of the observed values, durations in nanoseconds.
    """

    labels: Labels
    counts: tuple[int, ...]
    total: int

    @property
    def count(self) -> int:
        """The number of observed values."""
        return sum(self.counts)


class Family(msgspec.Struct, frozen=True):
    """One metric with all its series, sorted by labels."""

    name: str
    series: tuple[Value | Distribution, ...]


class MetricsSnapshot(msgspec.Struct, frozen=True):
    """All metrics, sorted by name; metrics with labels but without series are omitted."""

    families: tuple[Family, ...]

    def distribution(self, name: str, *labels: str) -> Distribution:
        """Return one series of a histogram; an empty one if it has no values."""
        found = self._find(name, labels)
        if found is None:
            return Distribution(labels, (0,) * (len(METRIC_BY_NAME[name].bounds) + 1), 0)
        assert isinstance(found, Distribution), f"{name} is not a histogram"
        return found

    def count(self, name: str, *labels: str) -> int | float:
        """Return the value of a series, or its number of observed values; 0 without one."""
        found = self._find(name, labels)
        if found is None:
            return 0
        return found.value if isinstance(found, Value) else found.count

    def _find(self, name: str, labels: Labels) -> Value | Distribution | None:
        for family in self.families:
            if family.name == name:
                for series in family.series:
                    if series.labels == labels:
                        return series
        return None


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """The current values of gauges.

    Parameters
    ----------
    nodes, pods, assumed_pods : int
        In the scheduler cache; assumed pods count as pods, too.
    binding, prioritizing_extender : int
        Binding cycles, and calls to the prioritize verb of extenders, in progress.
    permit_waiting, preempting : int
        Pods waiting at Permit; pods with a preemption in progress.
    """

    nodes: int = 0
    pods: int = 0
    assumed_pods: int = 0
    binding: int = 0
    prioritizing_extender: int = 0
    permit_waiting: int = 0
    preempting: int = 0


# The counts of a machine as plain values: the part of a checkpoint that holds metrics.
#
# These are the counts of `Metrics`, not the series derived from them: few numbers per profile,
# whatever the length of the run.

Points = tuple[tuple[str, str], ...]
"""Extension points and their statuses, as an `ExtensionPath` has them."""


class DecisionCount(msgspec.Struct, frozen=True, array_like=True):
    """The number of decisions of a profile with one path and one set of skipped plugins."""

    profile: str
    points: Points
    skipped_filters: tuple[str, ...]
    skipped_scores: tuple[str, ...]
    times: int


class PathCount(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The number of pods of a profile with one path after a node was selected."""

    profile: str
    points: Points
    times: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """All counts, sorted by names and labels.

    Parameters
    ----------
    scheduled : dict of str to Distribution
        Durations of attempts that ended with a bound pod, by profile.
    failed : tuple of Distribution
        Durations of the others, by result and profile.
    by_attempts : dict of int to Distribution
        Time from first entry to binding, by the number of attempts.
    handled : dict of str to int
        Cluster events that were handled, by label.
    flushed_count : int
        Pods that were scheduled after the flush of the unschedulable set.
    counters : dict of str to tuple of Value
    distributions : dict of str to tuple of Distribution
        Other metrics, by name.
    """

    scheduled: dict[str, Distribution] = {}
    failed: tuple[Distribution, ...] = ()
    by_attempts: dict[int, Distribution] = {}
    decisions: tuple[DecisionCount, ...] = ()
    paths: tuple[PathCount, ...] = ()
    handled: dict[str, int] = {}
    flushed_count: int = 0
    counters: dict[str, tuple[Value, ...]] = {}
    distributions: dict[str, tuple[Distribution, ...]] = {}


# Histograms of integers, and the builder of a metrics snapshot.
#
# Upstream compares float seconds with float bounds. Here both are integers (durations are
# nanoseconds) and fall into the same buckets.


def bounds_of(metric: Metric) -> list[int]:
    """Return the greatest integer of each bucket.

    Durations are nanoseconds here. Upstream compares float seconds, so a bound such as
    1.5000000000000002e-05 s becomes the last nanosecond whose seconds do not exceed it.
    """
    if not metric.is_duration:
        return [math.floor(bound) for bound in metric.bounds]
    return [_last_ns(bound) for bound in metric.bounds]


def _last_ns(bound: float) -> int:
    # The product may be rounded down; the loop corrects a start that is too high.
    nanoseconds = math.floor(bound * SECOND_NS) + 1
    while nanoseconds / SECOND_NS > bound:
        nanoseconds -= 1
    return nanoseconds


class Histogram:
    """Integers by bucket.

    Parameters
    ----------
    bounds : list of int
        The greatest value of each bucket except the last, which is unbounded.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: list[int]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0

    @classmethod
    def of(cls, bounds: list[int], saved: Distribution) -> Histogram:
        """Return a histogram that continues from a saved one."""
        histogram = cls(bounds)
        assert len(saved.counts) == len(histogram.counts), saved
        histogram.counts, histogram.total = list(saved.counts), saved.total
        return histogram

    def observe(self, value: int, times: int = 1) -> None:
        """Add a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def replace(self, old: int, new: int) -> None:
        """Replace a value that was added before."""
        self.observe(old, -1)
        self.observe(new)

    def add(self, other: Histogram) -> None:
        """Add the counts of another histogram with the same bounds."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def read(self, labels: Labels) -> Distribution:
        """Return the histogram as a series."""
        return Distribution(labels, tuple(self.counts), self.total)


BOUNDS: Final[Mapping[str, list[int]]] = {
    metric.name: bounds_of(metric) for metric in METRICS if metric.kind == "histogram"
}
"""The bucket bounds of every histogram, by name."""


class SnapshotBuilder:
    """Collect values and histograms into the families of a snapshot."""

    def __init__(self) -> None:
        self._values: dict[str, dict[Labels, int]] = {}
        self._histograms: dict[str, dict[Labels, Histogram]] = {}

    def put(self, name: str, labels: Labels, value: int) -> None:
        """Set a counter or gauge."""
        self._values.setdefault(name, {})[labels] = value

    def histogram(self, name: str, labels: Labels) -> Histogram:
        """Return the histogram of a series; it is empty at first."""
        series = self._histograms.setdefault(name, {})
        if labels not in series:
            series[labels] = Histogram(BOUNDS[name])
        return series[labels]

    def merge(self, name: str, labels: Labels, histogram: Histogram) -> None:
        """Add the counts of a histogram."""
        self.histogram(name, labels).add(histogram)

    def fill_up(self, name: str, labels: Labels, times: int) -> None:
        """Add zeros up to `times` values: durations without a report count as zero."""
        histogram = self.histogram(name, labels)
        missing = times - sum(histogram.counts)
        assert missing >= 0, f"{name}{labels}: {-missing} more durations reported than events"
        histogram.observe(0, missing)

    def count_histogram(self, name: str, histogram_name: str) -> None:
        """Set a counter to the number of values of a histogram, for all its labels."""
        for labels, histogram in self._histograms.get(histogram_name, {}).items():
            self.put(name, labels, sum(histogram.counts))

    def families(self) -> tuple[Family, ...]:
        """Return all families, with zeros for metrics without labels that were never counted."""
        families = []
        for metric in sorted(METRICS, key=lambda metric: metric.name):
            if metric.path != METRICS_PATH:
                continue
            series = self._series_of(metric)
            if series:
                families.append(Family(metric.name, series))
        return tuple(families)

    def _series_of(self, metric: Metric) -> tuple[Value | Distribution, ...]:
        name = metric.name
        if metric.kind == "histogram":
            if not metric.labels:
                self.histogram(name, ())
            histograms = self._histograms.get(name, {})
            return tuple([histograms[labels].read(labels) for labels in sorted(histograms)])
        if not metric.labels and name not in self._values:
            self.put(name, (), 0)
        values = self._values.get(name, {})
        return tuple([Value(labels, values[labels]) for labels in sorted(values)])


# The requests and limits of pods, one series per pod and resource: ``/metrics/resources``.

_NANOS = 10**9
_IN_BYTES = {"memory", "storage", "ephemeral-storage"}


def resource_snapshot(pods: Iterable[Pod]) -> MetricsSnapshot:
    """Return requests and limits of pods, without pods that have terminated on their node."""
    requests: list[Value] = []
    limits: list[Value] = []
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in {"Succeeded", "Failed"}:
            continue
        requests += _values(pod, request_nanos(pod))
        limits += _values(pod, limit_nanos(pod))
    return MetricsSnapshot(
        tuple(
            [
                Family(name, tuple(sorted(values, key=lambda value: value.labels)))
                for name, values in (
                    ("kube_pod_resource_limit", limits),
                    ("kube_pod_resource_request", requests),
                )
                if values
            ]
        )
    )


def _values(pod: Pod, amounts: dict[str, int]) -> list[Value]:
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    owner = (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)
    scheduler = pod.spec.scheduler_name
    return [
        Value((*owner, scheduler, priority, resource, _unit(resource)), nanos / _NANOS)
        for resource, nanos in amounts.items()
        if nanos
    ]


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _IN_BYTES or resource.startswith(HUGE_PAGES_PREFIX):
        return "bytes"
    return "integer"


# Metrics in the text exposition format of Prometheus, version 0.0.4.
#
# Families are sorted by name, series by their labels, and labels by name as in upstream's library,
# with `le` last.
#
# https://prometheus.io/docs/instrumenting/exposition_formats/

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render_text(snapshot: MetricsSnapshot) -> str:
    """Return the metrics of a snapshot as text; "" for an empty snapshot."""
    lines: list[str] = []
    for family in snapshot.families:
        metric = METRIC_BY_NAME[family.name]
        stability = f"[{metric.stability}] " if metric.stability else ""
        lines.append(f"# HELP {metric.name} {_escape_help(stability + metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for series in family.series:
            if isinstance(series, Distribution):
                lines += _histogram_lines(metric, series)
            else:
                lines.append(_value_line(metric, series))
    return "".join([f"{line}\n" for line in lines])


def _value_line(metric: Metric, series: Value) -> str:
    return f"{metric.name}{_labels(metric, series.labels)} {_number(series.value)}"


def _histogram_lines(metric: Metric, series: Distribution) -> Iterator[str]:
    count = 0
    for bound, in_bucket in zip((*metric.bounds, None), series.counts, strict=True):
        count += in_bucket
        limit = "+Inf" if bound is None else _number(bound)
        yield f"{metric.name}_bucket{_labels(metric, series.labels, limit)} {count}"
    labels = _labels(metric, series.labels)
    total = series.total / SECOND_NS if metric.is_duration else series.total
    yield f"{metric.name}_sum{labels} {_number(total)}"
    yield f"{metric.name}_count{labels} {count}"


def _labels(metric: Metric, values: tuple[str, ...], limit: str = "") -> str:
    pairs = sorted(zip(metric.labels, values, strict=True))
    if limit:
        pairs.append(("le", limit))
    if not pairs:
        return ""
    return "{" + ",".join([f'{name}="{_escape_value(value)}"' for name, value in pairs]) + "}"


def _number(value: float) -> str:
    """Return a number as upstream prints it: integers without a decimal point."""
    return repr(value).removesuffix(".0")


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_value(text: str) -> str:
    return _escape_help(text).replace('"', '\\"')
