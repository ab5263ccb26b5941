"""The output of `podwright simulate` besides the summary: drains, availability, lost pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from podwright.apimachinery.objects import timestamp_ns
from podwright.cli.console import duration_text, print_heading, print_paragraph, print_table, write
from podwright.scheduler.advice import format_amount
from podwright.scheduler.config import format_duration
from podwright.simulation.world import (
    STARTS_AT_ONCE,
    TIMING_NOTE,
    Evictions,
    InputReview,
    LoadEstimate,
    NodeDrain,
    Report,
)

_ROWS_SHOWN = 10
_WARNED_PODS = 20
"""An estimate is a warning if at least so many pods, and more than fit, cannot be scheduled."""


def warnings_of_review(review: InputReview) -> Iterator[str]:
    """Yield what is to be known before a run."""
    if review.job_note:
        yield review.job_note
    estimate = review.estimate
    if estimate is not None and estimate.pods - estimate.fitting >= max(
        _WARNED_PODS, estimate.fitting
    ):
        yield _estimate_text(estimate)


def print_report(report: Report, start: str, *, shows_all: bool) -> None:
    """Print the sections of a report that are not empty.

    Parameters
    ----------
    start : str
        The start of the run; times are printed since then.
    shows_all : bool
        Whether to print all rows; otherwise the first ones of each section.
    """
    shown = None if shows_all else _ROWS_SHOWN
    start_ns = timestamp_ns(start) or 0

    def since(text: str) -> str:
        return format_duration((timestamp_ns(text) or 0) - start_ns)

    drains = [
        (each.node, each.status, since(each.since), str(each.evicted), _blocked_by(each, start_ns))
        for each in report.drains
    ]
    _print_rows("Drains:", ("NODE", "STATUS", "SINCE", "EVICTED", "BLOCKED BY"), drains, shown)
    groups = [
        (
            each.name,
            str(each.sizes[0].size),
            str(max(change.size for change in each.sizes)),
            str(each.sizes[-1].size),
            f"{each.node_hours:.2f}",
            f"{each.cost:.2f}",
        )
        for each in report.node_groups
    ]
    group_heads = ("GROUP", "START", "PEAK", "END", "NODE HOURS", "COST")
    _print_rows("Node groups:", group_heads, groups, shown)
    availability = [
        (
            each.workload,
            f"{each.lowest}/{each.lowest_target}",
            since(each.lowest_at),
            duration_text(each.below_target_ns),
            "deleted" if each.is_deleted else f"{each.available}/{each.target}",
        )
        for each in report.availability
        if each.below_target_ns
    ]
    heads = ("WORKLOAD", "LOWEST", "AT", "BELOW TARGET", "AT THE END")
    _print_rows("Workloads below their target:", heads, availability, shown)
    rollouts = [
        (
            each.workload,
            since(each.started),
            duration_text(each.duration_ns),
            each.status,
            f"{each.updated}/{each.target}",
        )
        for each in report.rollouts
        if each.reason == "updated" or each.status != "complete" or each.duration_ns
    ]
    heads = ("WORKLOAD", "STARTED", "DURATION", "STATUS", "UPDATED")
    _print_rows("Rollouts:", heads, rollouts, shown)
    failed = [
        (each.owner, str(each.count), since(each.first), since(each.last), each.message)
        for each in report.failed_creations
    ]
    heads = ("OWNER", "TIMES", "FIRST", "LAST", "REASON")
    _print_rows("Objects that could not be created:", heads, failed, shown)
    lost = [
        (each.pod, each.node, each.cause, since(each.time), each.owner) for each in report.lost_pods
    ]
    _print_rows(
        "Lost pods (not replaced):", ("POD", "NODE", "CAUSE", "AT", "MISSING OWNER"), lost, shown
    )
    missing: dict[str, list[str]] = {}
    for pod, owner in report.missing_owners.items():
        missing.setdefault(owner, []).append(pod)
    owners = [(owner, str(len(pods)), pods[0]) for owner, pods in missing.items()]
    title = "Missing owners (their pods are not replaced):"
    _print_rows(title, ("MISSING OWNER", "PODS", "SUCH AS"), owners, shown)
    never_tried = [(pod,) for pod in report.never_tried]
    _print_rows("Pods that were never tried:", ("POD",), never_tried, shown)
    ignored = [(each.kind, str(each.count), each.effect) for each in report.ignored_kinds]
    _print_rows("Kinds without effect:", ("KIND", "OBJECTS", "EFFECT"), ignored, shown)
    if STARTS_AT_ONCE in report.notes and (drains or availability or rollouts):
        print_heading(f"Note: {STARTS_AT_ONCE}.")


def _print_rows(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]], shown: int | None
) -> None:
    if not rows:
        return
    # A column that is empty in all rows is left out.
    kept = [index for index in range(len(heads)) if any(row[index] for row in rows)]
    print_heading(title)
    cells = [tuple(row[index] for index in kept) for row in rows[:shown]]
    print_table([heads[index] for index in kept], cells, indent=2)
    if shown is not None and len(rows) > shown:
        print_paragraph(f"and {len(rows) - shown} more (--output wide)", indent=2)


def print_timing(report: Report) -> None:
    """Print what takes virtual time, if anything does."""
    for note in report.notes:
        if note.startswith(TIMING_NOTE):
            print_paragraph(f"{note[0].upper()}{note[1:]}.")


def print_evictions(evictions: Evictions) -> None:
    """Print the numbers of evictions, if there are any."""
    parts = [*_eviction_texts(evictions)]
    if parts:
        write(f"Evictions: {', '.join(parts)}.")


def _eviction_texts(evictions: Evictions) -> Iterator[str]:
    if evictions.evicted or evictions.rejected:
        rejected = evictions.rejected
        attempts = f" ({rejected} attempt{'s' * (rejected != 1)} rejected)" if rejected else ""
        yield f"{evictions.evicted} by drains{attempts}"
    if evictions.by_taint:
        yield f"{evictions.by_taint} by taints"
    if evictions.node_deleted:
        yield f"{evictions.node_deleted} with deleted nodes"


def _blocked_by(drain: NodeDrain, start_ns: int) -> str:
    if not drain.blocked_pods or drain.blocked_since is None:
        return ""
    since = format_duration((timestamp_ns(drain.blocked_since) or 0) - start_ns)
    names = _names(drain.blocked_by) or drain.blocked_pods[0].message
    count = len(drain.blocked_pods)
    return f"{names} since {since}, {count} pod{'s' * (count != 1)} left"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"poddisruptionbudget/{name}" for name in names)


def _estimate_text(estimate: LoadEstimate) -> str:
    requested = format_amount(estimate.resource, estimate.requested)
    allocatable = format_amount(estimate.resource, estimate.allocatable)
    left = estimate.pods - estimate.fitting
    return (
        f"at least {left} of {estimate.pods} pods do not fit on the initial nodes and never end:"
        f" they request {requested} {estimate.resource} of {allocatable}; the run ends when only"
        " their retries remain, or at --until"
    )


# The table of how long the calls of plugins took.

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))


def times_table(
    timings: Sequence[Mapping[str, Any]], *, is_wide: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows of a table; the plugins that took longest are first.

    Parameters
    ----------
    timings : sequence of mapping
        Documents of `PluginTiming`.
    is_wide : bool
        Whether there is a column of profiles.
    """
    heads = "PLUGIN", "POINT", "CALLS", "ERRORS", "TOTAL", "MEAN", "LONGEST", "LONGEST-POD"
    rows = [
        (
            *((row["profile"],) if is_wide else ()),
            row["plugin"],
            row["point"],
            str(row["callCount"]),
            str(row["statuses"].get("Error", 0)),
            _duration(row["totalNs"]),
            _duration(row["totalNs"] // row["callCount"]),
            _duration(row["longestNs"]),
            row["longestPod"],
        )
        for row in sorted(timings, key=lambda row: -row["totalNs"])
    ]
    return ("PROFILE", *heads) if is_wide else heads, rows


def _duration(duration_ns: int) -> str:
    """Return a duration with three significant digits, such as 12.3ms."""
    for unit, unit_ns in _UNITS:
        if duration_ns >= unit_ns:
            return f"{duration_ns / unit_ns:.3g}{unit}"
    return f"{duration_ns}ns"
