"""The counts of a machine as plain values: the part of a checkpoint that holds metrics.

These are the counts of `Metrics`, not the series derived from them: few numbers per profile,
whatever the length of the run.
"""

from __future__ import annotations

import msgspec

from podwright.scheduler.machine.metrics.metric_snapshot import Distribution, Value

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
