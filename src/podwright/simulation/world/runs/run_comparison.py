"""The comparison of two runs by their figures: placed pods, waits, preemptions, utilization.

`podwright.diff` compares where pods are placed; this compares what a run is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from podwright._html import paragraphs, section, table
from podwright.apimachinery.objects import Document, require_type
from podwright.scheduler.framework import Plugin
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.run_options import PathLike
from podwright.simulation.world.runs.summary import Waits, waits_of

RunSide: TypeAlias = Run | str | PathLike
"""A run, or the folder of one."""

_COUNTS: Final = ("created", "placed", "succeeded", "failed", "deleted", "preemptions", "victims")
_WAITS: Final = {"mean": "mean_s", "p50": "p50_s", "p90": "p90_s", "p99": "p99_s", "max": "max_s"}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of two runs.

    Attributes
    ----------
    name : str
        What it counts or measures, such as ``wait p90`` or ``cpu mean``.
    unit : str
        ``pods``, ``s`` or ``share``; shares are of the allocatable or the free amount.
    before, after : float or None
        None if a run does not have it, such as the utilization of a resource that no node has.
    """

    name: str
    unit: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """The difference; None if one run does not have the figure."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    def cells(self) -> tuple[str, str, str]:
        """Return both values and the change as text; `-` for what is not there."""
        change = self.change
        signed = "-" if change is None else self._text(change)
        if change is not None and change > 0:
            signed = f"+{signed}"
        return self._text(self.before), self._text(self.after), signed

    def _text(self, value: float | None) -> str:
        if value is None:
            return "-"
        if self.unit == "share":
            return f"{100 * value:.2f}%"
        return f"{value:,.6g}s" if self.unit == "s" else f"{value:,.0f}"


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of two runs.

    Attributes
    ----------
    figures : tuple of Figure
    notes : tuple of str
        What limits the comparison, such as runs of different length.
    """

    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether no figure differs."""
        return all(each.before == each.after for each in self.figures)

    def __repr__(self) -> str:
        differing = sum(each.before != each.after for each in self.figures)
        return f"<RunComparison: {differing} of {len(self.figures)} figures differ>"

    def _repr_html_(self) -> str:
        rows = [(each.name, *each.cells()) for each in self.figures]
        heads = ("Figure", "Before", "After", "Change")
        return section("Two runs", table(heads, rows, count=len(rows)), paragraphs(self.notes))

    def document(self) -> Document:
        """Return the figures and the notes as a plain document, in units without a prefix."""
        figures = [
            {
                "name": each.name,
                "unit": each.unit,
                "before": each.before,
                "after": each.after,
                "change": each.change,
            }
            for each in self.figures
        ]
        return {"figures": figures, "notes": list(self.notes)}


def compare(
    before: RunSide, after: RunSide, *, plugins: Iterable[type[Plugin]] = ()
) -> RunComparison:
    """Compare two runs by their figures.

    Parameters
    ----------
    before, after : Run, or path
        A run, or the folder of one.
    plugins : iterable of type
        The custom plugin classes that the runs in folders were recorded with.

    Returns
    -------
    RunComparison
        Counts of pods, pending pods by reason, waits of all placed pods and of those of each
        priority, and of each resource the utilization and the fragmentation.

    Raises
    ------
    RunError, LogError
        If a folder has no run, or a run cannot be read.

    Examples
    --------
    >>> import podwright as pw
    >>> objects = [pw.testing.make_node("n1", cpu=1)]
    >>> pods = [pw.testing.make_pod(name, cpu=1) for name in "ab"]
    >>> one = pw.simulate([*objects, *pods], until="1m")
    >>> two = pw.simulate([*objects, pw.testing.make_node("n2", cpu=1), *pods], until="1m")
    >>> placed = next(each for each in pw.compare(one, two).figures if each.name == "placed")
    >>> placed.before, placed.after, placed.change
    (1, 2, 1)
    """
    own = tuple(plugins)
    runs = [
        side if isinstance(side, Run) else _opened(side, name, own)
        for name, side in (("before", before), ("after", after))
    ]
    first, second = ({name: (unit, value) for name, unit, value in figures(run)} for run in runs)
    names = [*first, *(name for name in second if name not in first)]
    return RunComparison(
        figures=tuple(
            Figure(
                name=name,
                unit=(first.get(name) or second[name])[0],
                before=first[name][1] if name in first else _absent(name),
                after=second[name][1] if name in second else _absent(name),
            )
            for name in names
        ),
        notes=tuple(_notes(*runs)),
    )


def figures(run: Run) -> Iterator[tuple[str, str, float]]:
    """Return name, unit and value of each figure of `run`."""
    summary = run.summary
    for name in _COUNTS:
        yield name, "pods", getattr(summary.counts, name)
    yield "pending", "pods", sum(summary.pending.values())
    for reason, count in sorted(summary.pending.items()):
        yield f"pending: {reason}", "pods", count
    yield from _waits("wait", summary.waits)
    by_priority: dict[int, list[int]] = {}
    waits = run.rows("waits")
    for priority, wait_ns, outcome in zip(
        waits["priority"], waits["wait_ns"], waits["outcome"], strict=True
    ):
        if outcome == "Scheduled":
            by_priority.setdefault(priority, []).append(wait_ns)
    if len(by_priority) > 1:
        for priority in sorted(by_priority, reverse=True):
            yield from _waits(f"wait of priority {priority}", waits_of(by_priority[priority]))
    for resource, use in summary.utilization.items():
        yield f"{resource} mean", "share", use.mean
        yield f"{resource} peak", "share", use.peak
        yield f"{resource} fragmented", "share", use.fragmentation


def _waits(of: str, waits: Waits) -> Iterator[tuple[str, str, float]]:
    yield f"{of}: pods", "pods", waits.count
    if waits.count:
        for name, field in _WAITS.items():
            yield f"{of} {name}", "s", getattr(waits, field)


def _absent(name: str) -> int | None:
    """Return what it means that a run lacks a figure: no such pod, or nothing to measure."""
    return 0 if name.startswith("pending: ") or name.endswith(": pods") else None


def _opened(side: str | PathLike, name: str, plugins: tuple[type[Plugin], ...]) -> Run:
    require_type(side, (str, PathLike), name, "a Run, or the path of a run folder")
    return Run.open(side, plugins=plugins)


def _notes(before: Run, after: Run) -> Iterator[str]:
    lengths = [run.summary.simulated_ns for run in (before, after)]
    if lengths[0] != lengths[1]:
        times = " and ".join(f"{each / 1e9:,.6g}s" for each in lengths)
        yield f"The runs have different lengths, {times}: means are over different times."
    for side, run in (("first", before), ("second", after)):
        if run.summary.is_interrupted:
            yield f"The {side} run was interrupted."
    if any(run.summary.pending for run in (before, after)):
        yield "Waits are of placed pods only."
