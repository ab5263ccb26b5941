"""Measures a workload: throughput, histograms of the scheduler, memory, and the whole duration.

The figures, their names and their units are those of scheduler_perf. There is no clock here: the
executor passes the time of each sample.

Upstream: test/integration/scheduler_perf/util.go; component-base/metrics/testutil/metrics.go
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS, Pod
from podwright.scheduler.machine import METRIC_BY_NAME, Distribution, MetricsSnapshot
from podwright.simulation.scheduler_perf.test_cases import (
    THROUGHPUT,
    LabelFilter,
    Labels,
    PerfWorkload,
    labels_match,
)

THROUGHPUT_INTERVAL_NS: Final = SECOND_NS
MEMORY_INTERVAL_NS: Final = SECOND_NS // 2
_PERCENTILES: Final = (50, 90, 95, 99)
_MIB: Final = 1 << 20
_MS_PER_SECOND: Final = 1_000
_ATTEMPTS: Final = "scheduler_scheduling_attempt_duration_seconds"


class DataItem(msgspec.Struct, frozen=True, kw_only=True):
    """One measured figure with its values.

    Attributes
    ----------
    data : dict of str to float
        By bucket, such as Average or Perc99.
    unit : str
    labels : dict of str to str
    """

    data: dict[str, float]
    unit: str
    labels: dict[str, str]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the average and percentiles of values; there must be one."""
    ordered = sorted(values)
    found = {"Average": sum(ordered) / len(ordered)}
    for share in _PERCENTILES:
        found[f"Perc{share}"] = ordered[math.ceil(len(ordered) * share / 100) - 1]
    return found


class Throughput:
    """Scheduled pods a second, in windows of a second.

    The first window with a scheduled pod is left out, and one without any is joined with the next:
    each of both counts with their rate. Pods that are scheduled faster than that are one window.
    """

    def __init__(self, now_ns: int) -> None:
        self._begin_ns = self._last_ns = self._scheduled_ns = now_ns
        self._count = self._last_count = 0
        self._skipped = 0
        self._has_started = False
        self.samples: list[float] = []

    def scheduled(self, now_ns: int) -> None:
        """Receive that a pod was scheduled."""
        self._count += 1
        self._scheduled_ns = now_ns

    def tick(self, now_ns: int) -> None:
        """End a window."""
        if not self._count:
            return
        new = self._count - self._last_count
        if not self._has_started:
            self._has_started = True
        elif not new:
            self._skipped += 1
            return
        else:
            rate = new * SECOND_NS / (now_ns - self._last_ns)
            self.samples += [rate] * (self._skipped + 1)
        self._skipped = 0
        self._last_count, self._last_ns = self._count, now_ns

    def result(self) -> dict[str, float]:
        """Return the figures; nothing if no pod was scheduled."""
        samples = self.samples
        if not samples and self._count:
            samples = [self._count * SECOND_NS / max(self._scheduled_ns - self._begin_ns, 1)]
        return percentiles(samples) if samples else {}


class Collection:
    """What is measured from a start to a stop.

    An attempt takes from the start of a cycle until the pod is bound, or rejected. All cycles are
    of one thread, so a cycle starts when the step before it ends.

    Parameters
    ----------
    name : str
        Of the results.
    workload : PerfWorkload
    namespaces, label_selector
        The pods that count for the throughput.
    now_ns : int
    before : MetricsSnapshot
        The histograms at the start.
    read_memory : callable
        Returns the memory of the process, in bytes.
    """

    def __init__(
        self,
        name: str,
        workload: PerfWorkload,
        namespaces: Sequence[str],
        label_selector: Labels,
        *,
        now_ns: int,
        before: MetricsSnapshot,
        read_memory: Callable[[], int],
    ) -> None:
        self._labels = {"Name": name}
        self._workload = workload
        self._namespaces = frozenset(namespaces)
        self._label_selector = label_selector
        self._begin_ns = now_ns
        self._before = before
        self._read_memory = read_memory
        self._throughput = Throughput(now_ns)
        self._throughput_due_ns = now_ns + THROUGHPUT_INTERVAL_NS
        self._memory = [(now_ns, read_memory() / _MIB)]
        self._started: dict[str, int] = {}
        self._durations: dict[str, list[int]] = {}

    @property
    def due_ns(self) -> int:
        """When the next sample is due."""
        return min(self._throughput_due_ns, self._memory[-1][0] + MEMORY_INTERVAL_NS)

    def decided(self, pod: Pod, began_ns: int, now_ns: int, *, is_placed: bool) -> None:
        """Receive a decision, and when its cycle began."""
        if is_placed:
            self._started[pod.uid] = began_ns
        else:
            self._durations.setdefault("unschedulable", []).append(now_ns - began_ns)

    def scheduled(self, pod: Pod, now_ns: int) -> None:
        """Receive that a pod was bound."""
        if pod.uid in self._started:
            duration_ns = now_ns - self._started.pop(pod.uid)
            self._durations.setdefault("scheduled", []).append(duration_ns)
        if pod.namespace in self._namespaces and labels_match(
            pod.metadata.labels, self._label_selector
        ):
            self._throughput.scheduled(now_ns)

    def sample(self, now_ns: int) -> None:
        """Take the samples that are due."""
        if now_ns >= self._throughput_due_ns:
            self._throughput.tick(now_ns)
            passed = (now_ns - self._throughput_due_ns) // THROUGHPUT_INTERVAL_NS + 1
            self._throughput_due_ns += passed * THROUGHPUT_INTERVAL_NS
        if now_ns >= self._memory[-1][0] + MEMORY_INTERVAL_NS:
            self._memory.append((now_ns, self._read_memory() / _MIB))

    def items(self, now_ns: int, after: MetricsSnapshot) -> list[DataItem]:
        """Return the results."""
        found = [self._item(THROUGHPUT, self._throughput.result(), "pods/s")]
        for name, filters in self._workload.metrics.items():
            if name == _ATTEMPTS:
                found += self._attempt_items(filters)
            elif name in METRIC_BY_NAME:
                found += self._histogram_items(name, filters, after)
        memory = [amount for _, amount in self._memory]
        heap = percentiles(memory) | {"Max": max(memory)}
        found.append(self._item("heap_memory_usage", heap, "MB"))
        (first_ns, first), (last_ns, last) = self._memory[0], self._memory[-1]
        minutes = (last_ns - first_ns) / (60 * SECOND_NS)
        growth = (last - first) / minutes if minutes else 0.0
        found.append(self._item("memory_growth_rate", {"GrowthRate": growth}, "MB/min"))
        duration = (now_ns - self._begin_ns) / SECOND_NS
        found.append(self._item("SchedulingDuration", {"Duration": duration}, "s"))
        return found

    def _item(self, metric: str, data: dict[str, float], unit: str, **labels: str) -> DataItem:
        return DataItem(data=data, unit=unit, labels={"Metric": metric, **self._labels, **labels})

    def _attempt_items(self, filters: LabelFilter) -> Iterator[DataItem]:
        for result in filters.get("result") or self._durations:
            if durations := self._durations.get(result):
                in_ms = [each * _MS_PER_SECOND / SECOND_NS for each in durations]
                yield self._item(_ATTEMPTS, percentiles(in_ms), "ms", result=result)

    def _histogram_items(
        self, name: str, filters: LabelFilter, after: MetricsSnapshot
    ) -> Iterator[DataItem]:
        metric = METRIC_BY_NAME[name]
        old = {each.labels: each for each in _series(self._before, name)}
        new = [_difference(each, old.get(each.labels)) for each in _series(after, name)]
        rows = [dict(zip(metric.labels, each.labels, strict=True)) for each in new]
        values = [
            sorted({row[label] for row in rows}) if listed is None else listed
            for label, listed in filters.items()
        ]
        bounds = (*metric.bounds, math.inf)
        for chosen in product(*values):
            labels = dict(zip(filters, chosen, strict=True))
            series = [d for d, row in zip(new, rows, strict=True) if labels_match(row, labels)]
            total = sum(each.total for each in series)
            counts = [sum(column) for column in zip(*(d.counts for d in series), strict=True)]
            # Upstream leaves out what has no durations, too.
            if not total or not sum(counts):
                continue
            data = {f"Perc{p}": quantile(p / 100, counts, bounds) for p in _PERCENTILES}
            data["Average"] = total / SECOND_NS / sum(counts)
            in_ms = {bucket: value * _MS_PER_SECOND for bucket, value in data.items()}
            yield self._item(name, in_ms, "ms", **labels)


def _series(snapshot: MetricsSnapshot, name: str) -> list[Distribution]:
    found: list[Any] = [f.series for f in snapshot.families if f.name == name]
    return [each for series in found for each in series if isinstance(each, Distribution)]


def _difference(new: Distribution, old: Distribution | None) -> Distribution:
    if old is None:
        return new
    counts = tuple(a - b for a, b in zip(new.counts, old.counts, strict=True))
    return Distribution(new.labels, counts, new.total - old.total)


def quantile(share: float, counts: Sequence[int], bounds: Sequence[float]) -> float:
    """Return a quantile of a histogram, interpolated within its bucket, as Prometheus does.

    Parameters
    ----------
    share : float
        From 0 to 1.
    counts : sequence of int
        Per bucket; one of them must be positive.
    bounds : sequence of float
        The upper bounds of the buckets; the last one is infinite.
    """
    rank, passed = share * sum(counts), 0
    for index, (count, bound) in enumerate(zip(counts, bounds, strict=True)):
        if passed + count >= rank and count:
            lower = bounds[index - 1] if index else 0.0
            # Beyond the last bound nothing is known.
            return lower if math.isinf(bound) else lower + (bound - lower) * (rank - passed) / count
        passed += count
    raise AssertionError(f"no bucket has rank {rank}")
