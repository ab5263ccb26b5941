"""The summary of a run: placed and pending pods, waiting times, utilization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from podwright._html import facts, paragraphs, section, table
from podwright.apimachinery.objects import SECOND_NS, timestamp_text_nano
from podwright.scheduler.config import format_duration
from podwright.simulation.recording import FOREIGN, GATED, Counts, Rows, RunTables
from podwright.simulation.world.runs.report import Report


def _with_seconds(name: str) -> str:
    """Return the key of a field; seconds are spelled out, as in Kubernetes' APIs."""
    return f"{name.removesuffix('_s')}Seconds" if name.endswith("_s") else name


class Waits(msgspec.Struct, frozen=True, kw_only=True, rename=_with_seconds):
    """Waiting times of pods, in seconds of virtual time.

    Attributes
    ----------
    count : int
        The pods that were placed.
    mean_s, max_s : float
        The mean and the longest time.
    p50_s, p90_s, p99_s : float
        So many of a hundred waited no longer.
    """

    count: int = 0
    mean_s: float = 0.0
    p50_s: float = 0.0
    p90_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """The utilization of a resource, as shares of the allocatable amount.

    Attributes
    ----------
    mean : float
        Weighted by time, while a node has the resource.
    peak : float
        The highest share that lasted.
    fragmentation : float
        The mean share of the free amount that typical pods could not use, weighted by time.
    """

    mean: float
    peak: float
    fragmentation: float


class Summary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The summary of a run.

    Attributes
    ----------
    start, end : str
        When it started and ended, in simulated time.
    simulated_ns : int
        How long that was.
    is_interrupted : bool
        Whether the run can be resumed.
    counts : Counts
    pending : dict of str to int
        Per main reason, how many pods were left without a node.
    excluded : int
        The pods among them that are gated, or use another scheduler.
    waits : Waits
    utilization : dict of str to Use
        Per resource.
    report : Report, optional
        Drains, evictions, availability, rollouts, lost pods; None in run folders of earlier
        versions.
    """

    start: str
    end: str
    simulated_ns: int
    is_interrupted: bool = msgspec.field(name="interrupted")
    counts: Counts
    pending: dict[str, int]
    excluded: int
    waits: Waits
    utilization: dict[str, Use]
    report: Report | None = None

    def __repr__(self) -> str:
        counts, simulated = self.counts, format_duration(self.simulated_ns)
        return (
            f"<Summary of {simulated}: {counts.created} pods, {counts.placed} placed,"
            f" {sum(self.pending.values())} pending>"
        )

    def _repr_html_(self) -> str:
        counts, waits = self.counts, self.waits
        known = {
            "Decisions": counts.decisions,
            "Pods": counts.created,
            "Placed": counts.placed,
            "Succeeded": counts.succeeded,
            "Failed": counts.failed,
            "Deleted": counts.deleted,
            "Preemptions": counts.preemptions,
            "Victims": counts.victims,
        }
        seconds = (waits.mean_s, waits.p50_s, waits.p90_s, waits.p99_s, waits.max_s)
        shown = [[f"{second:.6g} s" for second in seconds]] if waits.count else []
        uses = [
            (name, *(f"{share:.2%}" for share in (use.mean, use.peak, use.fragmentation)))
            for name, use in self.utilization.items()
        ]
        reasons = sorted(self.pending.items(), key=lambda pair: (-pair[1], pair[0]))
        return section(
            f"{format_duration(self.simulated_ns)} from {self.start}",
            paragraphs(["Interrupted." if self.is_interrupted else ""]),
            facts(known),
            table(("Mean wait", "P50", "P90", "P99", "Max"), shown),
            table(("Resource", "Mean", "Peak", "Fragmented"), uses),
            table(("Unscheduled pods because of", "Pods"), reasons),
        )

    @property
    def pending_count(self) -> int:
        """The number of unscheduled pods, without gated ones and those of other schedulers."""
        return sum(self.pending.values()) - self.excluded


def summary_of(
    tables: RunTables,
    parts: Iterable[Rows],
    *,
    start_ns: int,
    end_ns: int,
    is_interrupted: bool = False,
    report: Report | None = None,
) -> Summary:
    """Return the summary of a run that is over.

    Parameters
    ----------
    parts : iterable of dict
        The rows of the tables, in order.
    report : Report, optional
        Without the pods that were never tried, which the tables know.
    """
    pending = tables.pending_by_reason()
    if report is not None:
        report = msgspec.structs.replace(report, never_tried=tables.never_tried())
    return Summary(
        start=timestamp_text_nano(start_ns),
        end=timestamp_text_nano(end_ns),
        simulated_ns=end_ns - start_ns,
        is_interrupted=is_interrupted,
        counts=tables.counts,
        pending=pending,
        excluded=sum(count for name, count in pending.items() if name in (FOREIGN, GATED)),
        waits=waits_of(
            wait_ns
            for rows in parts
            for wait_ns, outcome in zip(
                rows["waits"]["wait_ns"], rows["waits"]["outcome"], strict=True
            )
            if outcome == "Scheduled"
        ),
        utilization=_utilization(tables),
        report=report,
    )


def waits_of(waits_ns: Iterable[int]) -> Waits:
    """Return mean, percentiles and maximum of the waits of placed pods, in nanoseconds."""
    waited = sorted(waits_ns)
    if not waited:
        return Waits()
    return Waits(
        count=len(waited),
        mean_s=_seconds(sum(waited) / len(waited)),
        p50_s=_seconds(_percentile(waited, 50)),
        p90_s=_seconds(_percentile(waited, 90)),
        p99_s=_seconds(_percentile(waited, 99)),
        max_s=_seconds(waited[-1]),
    )


def _percentile(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest value that this percentage, at least 1, of the values do not exceed."""
    # The nearest rank, rounded up in integers: floats could round to another rank.
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _seconds(duration_ns: float) -> float:
    return round(duration_ns / SECOND_NS, 6)


def _utilization(tables: RunTables) -> dict[str, Use]:
    unusable = tables.fragmentation.means()
    return {
        resource: Use(
            mean=round(mean, 6), peak=round(peak, 6), fragmentation=round(unusable[resource], 6)
        )
        for resource, (mean, peak) in tables.utilization.means().items()
    }
