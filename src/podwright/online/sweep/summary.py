"""The figures of a sweep: means with intervals, and differences on common random numbers.

Two configurations with the same input and seed have the same random numbers, so their difference
is taken run by run; its interval is narrower than that of two means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.plan import SweepPlan
from podwright.simulation.studies import Interval


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


class SweepSummary(NamedTuple):
    """The results of a sweep.

    Attributes
    ----------
    figures : tuple of SweepFigure
        By input, figure and configuration, in the order of the plan.
    failed : tuple of RunFigures
    missing : int
        Runs without a result.
    """

    figures: tuple[SweepFigure, ...]
    failed: tuple[RunFigures, ...]
    missing: int

    def best(self, name: str, *, is_greatest: bool = False) -> SweepFigure | None:
        """Return the configuration with the best mean of a figure; of several inputs, summed.

        Returns
        -------
        SweepFigure, optional
            That of the first input; None if no run has the figure.
        """
        totals: dict[str, float] = {}
        first: dict[str, SweepFigure] = {}
        for figure in self.figures:
            if figure.name == name:
                totals[figure.configuration] = (
                    totals.get(figure.configuration, 0.0) + figure.value.mean
                )
                first.setdefault(figure.configuration, figure)
        if not totals:
            return None
        choose = max if is_greatest else min
        return first[choose(totals, key=lambda each: totals[each])]


def summarize_sweep(plan: SweepPlan, results: Iterable[RunFigures]) -> SweepSummary:
    """Return the figures of the results of a plan."""
    given = list(results)
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    units: dict[str, str] = {}
    for result in given:
        for name, unit, value in result.figures:
            units.setdefault(name, unit)
            key = (result.run.input, name, result.run.configuration)
            values.setdefault(key, {})[result.run.seed] = value
    first = plan.configurations[0].name
    figures = []
    for entry in plan.inputs:
        for name, unit in units.items():
            base = values.get((entry.name, name, first), {})
            for configuration in plan.configurations:
                found = values.get((entry.name, name, configuration.name))
                if found is None:
                    continue
                shared = [seed for seed in found if seed in base]
                change = None
                if configuration.name != first and shared:
                    change = Interval.of([found[seed] - base[seed] for seed in shared])
                mean = Interval.of(list(found.values()))
                figures.append(
                    SweepFigure(
                        entry.name, configuration.name, name, unit, len(found), mean, change
                    )
                )
    total = len({run.id for run in plan.runs()})
    failed = tuple(result for result in given if result.error)
    return SweepSummary(tuple(figures), failed, total - _distinct(given))


def _distinct(results: Sequence[RunFigures]) -> int:
    return len({result.run.id for result in results})
