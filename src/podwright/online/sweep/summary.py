"""The figures of a sweep: means with intervals, and differences on common random numbers.

Two configurations with the same input and seed have the same random numbers, so their difference
is taken run by run; its interval is narrower than that of two means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podwright._plots import Points, draw_intervals, new_figure
from podwright.apimachinery.objects import ArgumentError
from podwright.online.sweep.dataset import results_table
from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.plan import SweepPlan, SweepRun
from podwright.simulation.recording import library
from podwright.simulation.studies import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS: Final = 12
_UNITS: Final = {"s": "seconds", "share": "%"}


class SweepFigure(NamedTuple):
    """One figure of one configuration on one input.

    Attributes
    ----------
    input, configuration, name, unit : str
    runs : int
    value : Interval
    change : Interval, optional
        The difference from the first configuration; None for that one itself, or if no run of both
        has the figure.
    """

    input: str
    configuration: str
    name: str
    unit: str
    runs: int
    value: Interval
    change: Interval | None

    @property
    def differs(self) -> bool:
        """Whether any run differs from that of the first configuration."""
        return self.change is not None and (self.change.mean != 0 or self.change.deviation > 0)


class SweepSummary(NamedTuple):
    """The results of a sweep.

    Attributes
    ----------
    figures : tuple of SweepFigure
        By input, figure and configuration, in the order of the plan.
    failed : tuple of RunFigures
    missing : int
        Runs without a result.
    results : tuple of RunFigures
        All runs with a result.
    """

    figures: tuple[SweepFigure, ...]
    failed: tuple[RunFigures, ...]
    missing: int
    results: tuple[RunFigures, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on runs, a sentence each with how many runs it is about, and the first one."""
        found: dict[str, list[SweepRun]] = {}
        for result in self.results:
            for text in result.warnings:
                found.setdefault(text, []).append(result.run)
        return tuple(
            f"{text} ({len(runs)} of {len(self.results)} runs, first that of"
            f" {runs[0].input}, {runs[0].configuration}, seed {runs[0].seed})"
            for text, runs in found.items()
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all figures."""
        return tuple(dict.fromkeys(each.name for each in self.figures))

    def differing(self) -> list[SweepFigure]:
        """Return the figures in which configurations differ on an input."""
        found = {(each.input, each.name) for each in self.figures if each.differs}
        return [each for each in self.figures if (each.input, each.name) in found]

    def best(self, name: str, *, is_greatest: bool = False) -> SweepFigure | None:
        """Return the configuration with the best mean of a figure; of several inputs, summed.

        A configuration that lacks the figure on an input, because its runs failed, is not compared.

        Parameters
        ----------
        name : str
            The name of the figure, such as `wait p99`.
        is_greatest : bool
            Whether the greatest mean is the best; by default the least one is.

        Returns
        -------
        SweepFigure, optional
            That of the first input; None if no run has the figure.
        """
        found: dict[str, list[SweepFigure]] = {}
        for figure in self.figures:
            if figure.name == name:
                found.setdefault(figure.configuration, []).append(figure)
        inputs = {figure.input for figures in found.values() for figure in figures}
        complete = [figures for figures in found.values() if len(figures) == len(inputs)]
        if not complete:
            return None
        choose = max if is_greatest else min
        return choose(complete, key=lambda each: sum(figure.value.mean for figure in each))[0]

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with a row for each figure of each run, as in the data set."""
        return results_table(self.results)

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a `pandas.DataFrame`.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        library("pandas", "pip install pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return `to_arrow` as a `polars.DataFrame`.

        Raises
        ------
        MissingExtra
            If polars is not installed.
        """
        return library("polars", "pip install polars").from_arrow(self.to_arrow())

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset`: a variable for each figure, by input, configuration and seed.

        A figure that a run does not have is NaN; the attribute `units` of a variable is its unit.

        Raises
        ------
        MissingExtra
            If xarray is not installed.
        """
        library("xarray", "pip install xarray")
        frame = self.to_pandas()
        axes = {name: frame[name].unique() for name in ("input", "configuration", "seed")}
        figures = frame[frame["figure"] != ""]
        table = figures.pivot(index=list(axes), columns="figure", values="value")
        dataset = table.to_xarray().reindex(axes | {"seed": sorted(axes["seed"])})
        for name, unit in zip(figures["figure"], figures["unit"], strict=True):
            dataset[name].attrs["units"] = unit
        return dataset

    def plot(self, *names: str) -> Figure:
        """Return a figure: means with 95 % intervals, and the changes from the first configuration.

        Parameters
        ----------
        *names : str
            The figures that are shown; by default the first ones that differ.

        Raises
        ------
        ArgumentError
            If no run has a figure of that name, or nothing differs.
        ImportError
            If Matplotlib is not installed.
        """
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise ArgumentError(
                f"names: no run has {unknown[0]}; there are {', '.join(self.names)}"
            )
        shown = names or tuple(dict.fromkeys(each.name for each in self.differing()))[:_MOST_PANELS]
        if not shown:
            raise ArgumentError("names: no figure differs between the configurations; name some")
        rows = list(dict.fromkeys(each.configuration for each in self.figures))
        inputs = list(dict.fromkeys(each.input for each in self.figures))
        height = 0.6 + len(shown) * (0.7 + 0.22 * len(rows))
        figure, panels = new_figure(8, height, len(shown), 2)
        for place, name in enumerate(shown):
            own = [each for each in self.figures if each.name == name]
            panel, changes = panels[2 * place : 2 * place + 2]
            for axes, label in ((panel, name), (changes, f"change from {rows[0]}")):
                points = [_points(own, given, change=axes is changes) for given in inputs]
                draw_intervals(axes, rows, points)
                axes.set_xlabel(f"{label} ({_UNITS.get(own[0].unit, own[0].unit)})")
                if own[0].unit == "share":
                    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}")
            changes.axvline(0, color="#666666", linewidth=0.8)
            changes.set_yticklabels([])
        if len(inputs) > 1:
            panels[0].legend(fontsize=7, frameon=False)
        figure.suptitle("means of runs, 95 % confidence; changes run by run", fontsize=9)
        return figure


def _points(figures: Sequence[SweepFigure], given: str, *, change: bool) -> Points:
    """Return the means of a figure on an input, or their changes."""
    found = {
        each.configuration: interval
        for each in figures
        if each.input == given and (interval := each.change if change else each.value) is not None
    }
    return Points(
        given,
        {name: interval.mean for name, interval in found.items()},
        {name: interval.margin for name, interval in found.items() if isfinite(interval.margin)},
    )


def is_count(name: str) -> bool:
    """Return whether a figure counts pods of one kind, `name`: a run without them lacks it."""
    return name.startswith("pending: ") or name.endswith(": pods")


def summarize_sweep(plan: SweepPlan, results: Iterable[RunFigures]) -> SweepSummary:
    """Return the figures of `results`, which are those of `plan`.

    A figure that counts pods of one kind, such as those pending for a reason, is 0 in a run that
    has none.
    """
    known = tuple(results)
    units = {name: unit for result in known for name, unit, _ in result.figures}
    counts = [name for name in units if is_count(name)]
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for (_, given, configuration, seed), found, error, _ in known:
        if not error:
            complete = dict.fromkeys(counts, 0.0) | {name: value for name, _, value in found}
            for name, value in complete.items():
                values.setdefault((given, name, configuration), {})[seed] = value
    figures = []
    inputs = [each.name for each in plan.inputs]
    configurations = [each.name for each in plan.configurations]
    first = configurations[0]
    for given, name, configuration in product(inputs, units, configurations):
        own = values.get((given, name, configuration), {})
        if own:
            base = values.get((given, name, first), {}) if configuration != first else {}
            changes = [own[seed] - base[seed] for seed in own if seed in base]
            change = Interval.of(changes) if changes else None
            mean = Interval.of(list(own.values()))
            figures.append(
                SweepFigure(given, configuration, name, units[name], len(own), mean, change)
            )
    failed = tuple(result for result in known if result.error)
    missing = len({run.id for run in plan.runs()}) - len({result.run.id for result in known})
    return SweepSummary(tuple(figures), failed, missing, known)
