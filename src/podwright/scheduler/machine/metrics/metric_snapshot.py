"""A snapshot of all metrics: plain data for drivers, tests and the decision log."""

from __future__ import annotations

import msgspec

from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME

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
