"""The results of many runs of the study: a table beside the published one, and figures.

`fgd_published.json` has the published means of 17 pod lists, at 100 and at 130 percent arrived.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from podwright._arrays import F64Array
from podwright._plots import line_style, new_figure, picture
from podwright.apimachinery.objects import ArgumentError, FieldError, InputError
from podwright.simulation.studies.fgd import FgdRun, Measure
from podwright.simulation.studies.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REPORTED_PCT: Final = (100, 130)
"""At how much arrived load the results are compared."""


class PublishedMean(NamedTuple):
    """The published result of a policy on a pod list.

    Attributes
    ----------
    allocated_pct : dict of int to float
        The mean, by the arrived percentage.
    deviation_pct : dict of int to float
        The standard deviation over runs; empty if it is not known.
    """

    allocated_pct: Mapping[int, float]
    deviation_pct: Mapping[int, float]


@cache
def published_means() -> Mapping[tuple[str, str], PublishedMean]:
    """Return the published means, by the name of the pod list and the policy."""
    file = resources.files("podwright.simulation.studies").joinpath("fgd_published.json")
    return {
        (workload, policy): PublishedMean(dict(zip(REPORTED_PCT, means, strict=True)), {})
        for workload, policies in json.loads(file.read_bytes()).items()
        for policy, means in policies.items()
    }


def read_published(text: str, source: str) -> Mapping[tuple[str, str], PublishedMean]:
    """Read other published means: CSV with `workload`, `policy`, `alloc_mean_100` and so on.

    `text` is the content of the file, `source` its name.

    Raises
    ------
    InputError
        If a column is missing or a cell is not a number.
    """
    reader = csv.DictReader(StringIO(text))
    columns = reader.fieldnames or ()
    required = ("workload", "policy", *(f"alloc_mean_{percent}" for percent in REPORTED_PCT))
    missing = [name for name in required if name not in columns]
    if missing:
        message = f"the column{'s' * (len(missing) > 1)} {', '.join(missing)} missing"
        raise InputError([FieldError(source=source, path="", message=message)])
    found: dict[tuple[str, str], PublishedMean] = {}
    errors: list[FieldError] = []
    for row in reader:
        values = {}
        for kind in ("mean", "sd"):
            names = {p: f"alloc_{kind}_{p}" for p in REPORTED_PCT}
            given = {p: row[name] for p, name in names.items() if row.get(name)}
            try:
                values[kind] = {percent: float(text) for percent, text in given.items()}
            except ValueError as error:
                path = f"line {reader.line_num}"
                errors.append(FieldError(source=source, path=path, message=str(error)))
        if len(values) == 2:
            found[row["workload"], row["policy"]] = PublishedMean(values["mean"], values["sd"])
    if errors:
        raise InputError(errors)
    return found


class FgdResult(NamedTuple):
    """The runs of one policy on one pod list.

    Attributes
    ----------
    workload, policy : str
    runs : tuple of FgdRun
    allocated, fragment, fragment_ratio : dict of int to Interval
        By the arrived percentage, in percent; see `Measure`.
    published : PublishedMean, optional
    """

    workload: str
    policy: str
    runs: tuple[FgdRun, ...]
    allocated: Mapping[int, Interval]
    fragment: Mapping[int, Interval]
    fragment_ratio: Mapping[int, Interval]
    published: PublishedMean | None

    def difference(self, percent: int) -> float | None:
        """Return how far the mean is from the published one, in percentage points.

        `percent` is how much had arrived: 100, or another column of the published means.
        """
        if self.published is None or percent not in self.published.allocated_pct:
            return None
        if percent not in self.allocated:
            return None
        return self.allocated[percent].mean - self.published.allocated_pct[percent]


class FgdTable(NamedTuple):
    """The results of a study.

    Attributes
    ----------
    results : tuple of FgdResult
        In the order of the pod lists and policies.
    """

    results: tuple[FgdResult, ...]

    def plot(self, workload: str | None = None) -> Figure:
        """Return the figures of one pod list: allocation and fragments over the arrived load.

        Parameters
        ----------
        workload : str, optional
            The name of the pod list; it can be left out if there is only one.

        Raises
        ------
        ArgumentError
            If there is no such list, or several and no name.
        ImportError
            If Matplotlib is not installed.
        """
        names = list(dict.fromkeys(result.workload for result in self.results))
        if workload is None and len(names) == 1:
            workload = names[0]
        if workload not in names:
            raise ArgumentError(f"workload: one of {', '.join(names)} is expected, not {workload}")
        return _figure([result for result in self.results if result.workload == workload])

    @property
    def greatest_difference(self) -> float | None:
        """The greatest distance from a published mean, in percentage points."""
        found = [
            abs(difference)
            for result in self.results
            for percent in REPORTED_PCT
            if (difference := result.difference(percent)) is not None
        ]
        return max(found, default=None)


def summarize_fgd(
    runs: Iterable[tuple[str, FgdRun]],
    published: Mapping[tuple[str, str], PublishedMean] | None = None,
) -> FgdTable:
    """Return the means of runs, by the pod list and the policy.

    Parameters
    ----------
    runs : iterable of (str, FgdRun)
        Each with the name of its pod list, in any order.
    published : mapping, optional
        The published means, `published_means()` by default.
    """
    known = published_means() if published is None else published
    ordered = sorted(runs, key=lambda entry: (entry[0], entry[1].policy, entry[1].seed))
    results = []
    for (workload, policy), group in groupby(ordered, lambda entry: (entry[0], entry[1].policy)):
        several = tuple(run for _, run in group)
        measured = {p: _measures(several, p) for p in REPORTED_PCT}
        at = {percent: measures for percent, measures in measured.items() if measures}
        allocated, fragment, ratio = (
            {percent: Interval.of([measure[i] for measure in at[percent]]) for percent in at}
            for i in range(3)
        )
        mean = known.get((workload, policy))
        results.append(FgdResult(workload, policy, several, allocated, fragment, ratio, mean))
    return FgdTable(tuple(results))


def _measures(runs: Sequence[FgdRun], percent: int) -> list[Measure]:
    return [measure for run in runs if (measure := run.at(percent)) is not None]


class Curve(NamedTuple):
    """A series over the arrived load, as the mean of runs.

    Attributes
    ----------
    arrived_pct : (n,) float64
    mean, margin : (n,) float64
        See `Interval`.
    """

    arrived_pct: F64Array
    mean: F64Array
    margin: F64Array


def curve(runs: Sequence[FgdRun], column: int) -> Curve:
    """Return one column of `Measure` at each whole percentage that all runs have."""
    greatest = max((int(run.arrived_pct.max(initial=0)) for run in runs), default=0)
    points = []
    for percent in range(greatest + 1):
        measures = _measures(runs, percent)
        if len(measures) == len(runs):
            interval = Interval.of([measure[column] for measure in measures])
            points.append((percent, interval.mean, interval.margin))
    return Curve(*np.array(points, dtype=np.float64).reshape(-1, 3).T)


# ---------------------------------------------------------------- figures

_SHARED_BELOW_PCT: Final = 80
"""With so much arrived, all policies still place almost every pod."""

_PANELS: Final = (
    (0, "GPUs allocated (%)"),
    (1, "GPU fragments (% of all GPUs)"),
)


def draw_fgd(results: Sequence[FgdResult], file_format: str = "svg") -> bytes:
    """Return the figures of one pod list as a file; the same results give the same bytes.

    Parameters
    ----------
    results : sequence of FgdResult
        Of one workload; a line each, with its 95 % confidence interval.
    file_format : str
        `svg`, `png` or `pdf`.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    return picture(_figure(results), file_format)


def _figure(results: Sequence[FgdResult]) -> Figure:
    figure, axes = new_figure(9, 3.6, 1, len(_PANELS))
    for panel, (column, label) in zip(axes, _PANELS, strict=True):
        for index, result in enumerate(results):
            _draw_line(panel, result, column, index)
        panel.set_xlabel("GPUs requested by arrived pods (% of all GPUs)")
        panel.set_ylabel(label)
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
    if axes[0].get_xlim()[1] > _SHARED_BELOW_PCT + 20:
        axes[0].set_xlim(left=_SHARED_BELOW_PCT)
        axes[0].set_ylim(_least_shown(results), 100)
    axes[0].legend(fontsize=7, frameon=False)
    runs = len(results[0].runs)
    figure.suptitle(f"{results[0].workload}: mean of {runs} runs, 95 % confidence", fontsize=9)
    return figure


def _draw_line(panel: Axes, result: FgdResult, column: int, index: int) -> None:
    line = curve(result.runs, column)
    style = line_style(index)
    panel.plot(line.arrived_pct, line.mean, label=result.policy, linewidth=1, **style)
    if len(result.runs) > 1:
        low, high = line.mean - line.margin, line.mean + line.margin
        panel.fill_between(
            line.arrived_pct, low, high, color=style["color"], alpha=0.2, linewidth=0
        )


def _least_shown(results: Sequence[FgdResult]) -> float:
    """Return the least mean where the policies differ, less a margin."""
    means = [curve(result.runs, 0) for result in results]
    shown = [line.mean[line.arrived_pct >= _SHARED_BELOW_PCT] for line in means]
    return float(min(each.min(initial=_SHARED_BELOW_PCT) for each in shown)) - 1
