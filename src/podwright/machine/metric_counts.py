"""What a machine has counted, as plain values: its metrics' part of a checkpoint.

These are the counts that `Metrics` keeps, not the series that they unfold into: few numbers
per profile, however long the machine has run.
"""

from __future__ import annotations

import msgspec

from podwright.machine.metric_snapshot import Distribution, Value

Points = tuple[tuple[str, str], ...]
"""Extension points and their statuses, as an `ExtensionPath` has them."""


class DecisionCount(msgspec.Struct, frozen=True, array_like=True):
    """How many decisions of a profile went one way, and which plugins had nothing to do."""

    profile: str
    points: Points
    skipped_filters: tuple[str, ...]
    skipped_scores: tuple[str, ...]
    times: int


class PathCount(msgspec.Struct, frozen=True, array_like=True, order=True):
    """How many pods of a profile that were given a node went one way."""

    profile: str
    points: Points
    times: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was counted; sorted by name and labels.

    Parameters
    ----------
    scheduled : dict of str to Distribution
        Durations of attempts that ended with a bound pod, by profile.
    failed : tuple of Distribution
        Durations of the others, by result and profile.
    by_attempts : dict of int to Distribution
        Time from first entry to binding, by the number of attempts.
    handled : dict of str to int
        Changes that were taken in, by the label of the cluster event.
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
