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
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import F64Matrix
from podwright._plots import line_style, new_figure
from podwright.apimachinery.documents import problem, raise_errors
from podwright.apimachinery.objects import ArgumentError, FieldError, InputError
from podwright.simulation.studies.fgd import FgdRun, Measure
from podwright.simulation.studies.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORTED_PCT: Final = (100, 130)
"""At how much arrived load the results are compared."""

_SHARED_BELOW_PCT: Final = 80
"""With so much arrived, all policies still place almost every pod."""

_PANELS: Final = ("GPUs allocated (%)", "GPU fragments (% of all GPUs)")
"""The columns of `Measure` that are drawn."""

PublishedMeans: TypeAlias = Mapping[tuple[str, str], Mapping[int, float]]
"""The allocated percentage by the arrived one, of each pod list and policy."""


@cache
def published_means() -> PublishedMeans:
    """Return the published means, by the name of the pod list and the policy."""
    file = resources.files("podwright.simulation.studies").joinpath("fgd_published.json")
    return {
        (workload, policy): dict(zip(REPORTED_PCT, means, strict=True))
        for workload, policies in json.loads(file.read_bytes()).items()
        for policy, means in policies.items()
    }


def read_published(text: str, source: str) -> PublishedMeans:
    """Read other published means: CSV with `workload`, `policy`, `alloc_mean_100` and so on.

    `text` is the content of the file, `source` its name.

    Raises
    ------
    InputError
        If a column is missing or a cell is not a number.
    """
    reader = csv.DictReader(StringIO(text))
    columns = {percent: f"alloc_mean_{percent}" for percent in REPORTED_PCT}
    required = ("workload", "policy", *columns.values())
    missing = [name for name in required if name not in (reader.fieldnames or ())]
    if missing:
        message = f"the column{'s' * (len(missing) > 1)} {', '.join(missing)} missing"
        raise InputError.of(source, message)
    found: dict[tuple[str, str], dict[int, float]] = {}
    errors: list[FieldError] = []
    for row in reader:
        try:
            means = {percent: float(row[name]) for percent, name in columns.items() if row[name]}
            found[row["workload"], row["policy"]] = means
        except ValueError as error:
            errors.append(problem(f"line {reader.line_num}", str(error)))
    raise_errors(errors, source=source)
    return found


class FgdMeans(msgspec.Struct, frozen=True, rename="camel"):
    """The means of runs at one arrived percentage, in percent; see `Measure`.

    Attributes
    ----------
    allocated_pct, fragment_pct, fragment_ratio_pct : Interval
    published_pct : float, optional
        The published mean of the allocated percentage.
    """

    allocated_pct: Interval
    fragment_pct: Interval
    fragment_ratio_pct: Interval
    published_pct: float | None = None

    @property
    def difference(self) -> float | None:
        """How far the mean is from the published one, in percentage points."""
        published = self.published_pct
        return None if published is None else self.allocated_pct.mean - published


class FgdResult(NamedTuple):
    """The runs of one policy on one pod list.

    Attributes
    ----------
    workload, policy : str
    runs : tuple of FgdRun
    means : dict of int to FgdMeans
        By the arrived percentage.
    """

    workload: str
    policy: str
    runs: tuple[FgdRun, ...]
    means: Mapping[int, FgdMeans]


class FgdTable(NamedTuple):
    """The results of a study.

    Attributes
    ----------
    results : tuple of FgdResult
        In the order of the pod lists and policies.
    """

    results: tuple[FgdResult, ...]

    @property
    def workloads(self) -> list[str]:
        """The names of the pod lists."""
        return list(dict.fromkeys(result.workload for result in self.results))

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
        names = self.workloads
        if workload is None and len(names) == 1:
            workload = names[0]
        if workload not in names:
            raise ArgumentError(f"workload: must be one of {', '.join(names)}, not {workload}")
        results = [result for result in self.results if result.workload == workload]
        figure, axes = new_figure(9, 3.6, 1, len(_PANELS))
        for column, (panel, label) in enumerate(zip(axes, _PANELS, strict=True)):
            for index, result in enumerate(results):
                arrived, mean, margin = curve(result.runs, column)
                style = line_style(index)
                panel.plot(arrived, mean, label=result.policy, linewidth=1, **style)
                if len(result.runs) > 1:
                    band = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
                    panel.fill_between(arrived, mean - margin, mean + margin, **band)
            panel.set_xlabel("GPUs requested by arrived pods (% of all GPUs)")
            panel.set_ylabel(label)
            panel.set_xlim(left=0)
            panel.set_ylim(bottom=0)
        if axes[0].get_xlim()[1] > _SHARED_BELOW_PCT + 20:
            axes[0].set_xlim(left=_SHARED_BELOW_PCT)
            curves = [curve(result.runs, 0) for result in results]
            means = [mean[arrived >= _SHARED_BELOW_PCT] for arrived, mean, _ in curves]
            axes[0].set_ylim(min(each.min(initial=_SHARED_BELOW_PCT) for each in means) - 1, 100)
        axes[0].legend(fontsize=7, frameon=False)
        runs = len(results[0].runs)
        figure.suptitle(f"{results[0].workload}: mean of {runs} runs, 95 % confidence", fontsize=9)
        return figure

    @property
    def greatest_difference(self) -> float | None:
        """The greatest distance from a published mean, in percentage points."""
        found = [means.difference for each in self.results for means in each.means.values()]
        return max((abs(each) for each in found if each is not None), default=None)


def summarize_fgd(
    runs: Iterable[tuple[str, FgdRun]],
    published: PublishedMeans | None = None,
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
        published_pct = known.get((workload, policy), {})
        means = {}
        for percent in REPORTED_PCT:
            if measures := _measures(several, percent):
                allocated, fragment, ratio = map(Interval.of, zip(*measures, strict=True))
                means[percent] = FgdMeans(allocated, fragment, ratio, published_pct.get(percent))
        results.append(FgdResult(workload, policy, several, means))
    return FgdTable(tuple(results))


def _measures(runs: Sequence[FgdRun], percent: int) -> list[Measure]:
    return [measure for run in runs if (measure := run.at(percent)) is not None]


def curve(runs: Sequence[FgdRun], column: int) -> F64Matrix:
    """Return one column of `Measure` at each whole percentage that all runs have.

    Returns
    -------
    (3, n) float64
        The arrived percentages, the means, and their margins.
    """
    greatest = max(int(run.arrived_pct.max(initial=0)) for run in runs)
    points = []
    for percent in range(greatest + 1):
        measures = _measures(runs, percent)
        if len(measures) == len(runs):
            interval = Interval.of([measure[column] for measure in measures])
            points.append((percent, interval.mean, interval.margin))
    return np.array(points, dtype=np.float64).reshape(len(points), 3).T
