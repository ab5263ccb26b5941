"""Means of runs and their intervals, the published table beside them, and figures."""

from __future__ import annotations

from math import gamma, inf, isnan, pi
from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.simulation.studies import FgdRun, read_published, summarize_fgd
from podwright.simulation.studies.fgd import Measure
from podwright.simulation.studies.fgd_table import FgdMeans, FgdTable, curve
from podwright.simulation.studies.intervals import Interval


def run_of(
    arrived: list[int], allocated: list[float], *, policy: str = "p", seed: int = 1
) -> FgdRun:
    column = np.array(allocated, dtype=np.float64)
    percents = np.array(arrived, dtype=np.int64)
    return FgdRun(policy, seed, percents, column, column + 1, column + 2, failed=0)


@pytest.mark.parametrize(
    ("values", "quantile"), [(2, 12.706), (3, 4.303), (31, 2.042), (32, 1.960), (50, 1.960)]
)
def test_the_margin_is_that_of_the_distribution_of_so_many_values(values, quantile):
    given = [float(each) for each in range(values)]
    found = Interval.of(given)
    deviation = float(np.std(given, ddof=1))
    assert found.mean == pytest.approx(sum(given) / values)
    assert found.deviation == pytest.approx(deviation)
    assert found.margin == pytest.approx(quantile * deviation / values**0.5)


@pytest.mark.parametrize("degrees", range(1, 31))
def test_the_quantiles_are_those_of_students_distribution(degrees):
    quantile = Interval.of([0.0] * degrees + [1.0]).margin * (degrees + 1) ** 0.5
    quantile /= float(np.std([0.0] * degrees + [1.0], ddof=1))
    scale = gamma((degrees + 1) / 2) / gamma(degrees / 2) / (degrees * pi) ** 0.5
    at = np.linspace(-quantile, quantile, 200_001)
    density = scale * (1 + at**2 / degrees) ** (-(degrees + 1) / 2)
    inside = float(((density[1:] + density[:-1]) / 2).sum() * (at[1] - at[0]))
    assert inside == pytest.approx(0.95, abs=1e-4)


def test_one_value_has_no_margin_and_is_not_certain():
    found = Interval.of([3.0])
    assert (found.mean, found.margin, isnan(found.deviation)) == (3.0, inf, True)
    assert not found.is_certain


@pytest.mark.parametrize(
    ("mean", "margin", "is_certain"),
    [(2.0, 1.9, True), (-2.0, 1.9, True), (2.0, 2.0, False), (-2.0, 2.0, False), (0.0, 0.0, False)],
)
def test_a_mean_is_certain_where_zero_is_outside(mean, margin, is_certain):
    assert Interval(mean, 1.0, margin).is_certain is is_certain


def test_entries_at_a_percentage_are_averaged_else_those_beside_it():
    run = run_of([99, 100, 100, 102, 104], [1, 10, 20, 30, 40])
    assert run.at(100) == Measure(15.0, 16.0, 17.0)
    assert run.at(103) == Measure(35.0, 36.0, 37.0)  # 102 and 104
    assert run.at(98) == Measure(1.0, 2.0, 3.0)
    assert run.at(97) is None
    assert run.at(106) is None


def test_results_are_ordered_by_list_policy_and_seed():
    runs = [
        ("b", run_of([100], [1])),
        ("a", run_of([100], [2], policy="q")),
        ("a", run_of([100], [3], seed=2)),
        ("a", run_of([130], [4])),
    ]
    published = {("a", "p"): {100: 5.0}, ("b", "p"): {}}
    table = summarize_fgd(runs, published)
    assert table.workloads == ["a", "b"]
    names = [
        (each.workload, each.policy, [run.seed for run in each.runs]) for each in table.results
    ]
    assert names == [("a", "p", [1, 2]), ("a", "q", [1]), ("b", "p", [1])]
    first, second, _ = table.results
    assert {percent: means.allocated_pct.mean for percent, means in first.means.items()} == {
        100: 3.0,  # of the run that has it
        130: 4.0,
    }
    assert first.means[100].difference == -2.0
    assert (first.means[130].published_pct, first.means[130].difference) == (None, None)
    assert list(second.means) == [100]
    assert table.greatest_difference == 2.0
    assert summarize_fgd([]) == FgdTable(())
    assert FgdTable(()).greatest_difference is None


def test_a_difference_has_the_sign_of_the_mean():
    interval = Interval(90.0, 1.0, 1.0)
    assert FgdMeans(interval, interval, interval, 91.5).difference == -1.5
    assert FgdMeans(interval, interval, interval, 0.0).difference == 90.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workload,policy,alloc_mean_100\n", "p.csv: the column alloc_mean_130 missing"),
        ("", "p.csv: the columns workload, policy, alloc_mean_100, alloc_mean_130 missing"),
    ],
)
def test_columns_that_are_missing_are_named(text, message):
    with pytest.raises(InputError) as raised:
        read_published(text, "p.csv")
    assert str(raised.value) == message


def test_an_empty_cell_is_no_mean_and_each_wrong_one_is_an_error():
    head = "workload,policy,alloc_mean_100,alloc_mean_130\n"
    assert read_published(f"{head}w,p,,96\nv,p,1,\n", "p.csv") == {
        ("w", "p"): {130: 96.0},
        ("v", "p"): {100: 1.0},
    }
    with pytest.raises(InputError) as raised:
        read_published(f"{head}w,p,x,96\nv,p,1,2\nu,p,1,y\n", "p.csv")
    assert [(each.source, each.path) for each in raised.value.errors] == [
        ("p.csv", "line 2"),
        ("p.csv", "line 4"),
    ]


def test_a_curve_has_the_percentages_that_all_runs_have():
    runs = [run_of([0, 1, 3, 6], [0, 10, 20, 30]), run_of([1, 3], [12, 24], seed=2)]
    arrived, mean, margin = curve(runs, 0)
    assert arrived.tolist() == [0, 1, 2, 3, 4]  # with those beside them
    assert mean.tolist() == [6.0, 11.0, (15 + 18) / 2, 22.0, 22.0]
    assert margin[1] == pytest.approx(12.706 * 2**0.5 / 2**0.5)
    assert curve(runs, 1)[1].tolist() == [each + 1 for each in mean]
    assert curve([run_of([], [])], 0).shape == (3, 0)
    # It ends where no more pods arrive, although a run has a value beside that.
    assert curve([run_of([0, 1, 3], [1, 2, 3])], 0)[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("workload", "asked"), [(None, "None"), ("c", "c")])
def test_a_figure_is_of_one_list_of_pods(workload, asked):
    table = summarize_fgd([("a", run_of([1], [1])), ("b", run_of([1], [1]))], {})
    with pytest.raises(ArgumentError) as raised:
        table.plot(workload)
    assert str(raised.value) == f"workload: must be one of a, b, not {asked}"


def test_a_figure_is_nine_inches_wide():
    figure = summarize_fgd([("a", run_of([1], [1]))], {}).plot()
    assert tuple(figure.get_size_inches()) == (9, 3.6)


def test_a_figure_begins_where_the_policies_part():
    high = run_of([50, 80, 100, 130], [50, 79, 92, 95])
    low = run_of([50, 80, 100, 130], [50, 70, 85, 88], policy="q")
    allocated, fragments = summarize_fgd([("a", high), ("a", low)], {}).plot().axes
    places = [axes.get_position() for axes in (allocated, fragments)]
    assert places[0].y0 == places[1].y0, "beside each other"
    assert places[0].x1 < places[1].x0
    assert allocated.get_xlim()[0] == 80
    assert allocated.get_ylim() == (69, 100)
    assert [line.get_label() for line in allocated.get_lines()] == ["p", "q"]
    assert allocated.get_legend() is not None
    assert fragments.get_legend() is None
    assert fragments.get_xlim()[0] == 0
    assert (allocated.get_ylabel(), fragments.get_ylabel()) == (
        "GPUs allocated (%)",
        "GPU fragments (% of all GPUs)",
    )
    early, _ = summarize_fgd([("a", run_of([10, 60], [10, 60]))], {}).plot().axes
    assert early.get_xlim()[0] == 0
    assert early.figure.get_suptitle() == "a: mean of 1 runs, 95 % confidence"
    assert not early.collections, "one run has no band"
    banded, _ = summarize_fgd([("a", high), ("a", high._replace(seed=2))], {}).plot("a").axes
    assert len(banded.collections) == 1


def test_a_figure_has_the_mean_of_each_policy_within_its_interval():
    measured: dict[str, list[list[float]]] = {
        "p": [[50, 80, 90, 95], [48, 78, 92, 97]],
        "q": [[50, 70, 85, 88], [50, 74, 83, 86]],
    }
    runs = [
        run_of([50, 80, 100, 130], series, policy=policy, seed=seed)
        for policy, several in measured.items()
        for seed, series in enumerate(several)
    ]
    table = summarize_fgd([("a", run) for run in runs], {})
    figure = table.plot()
    for column, panel in enumerate(figure.axes):
        curves = [curve(result.runs, column) for result in table.results]
        for line, band, (arrived, mean, margin) in zip(
            panel.get_lines(), panel.collections, curves, strict=True
        ):
            assert np.asarray(line.get_data()).tolist() == [arrived.tolist(), mean.tolist()]
            assert line.get_linewidth() == 1
            (path,) = band.get_paths()
            points = {(float(x), round(float(y), 6)) for x, y in np.asarray(path.vertices)}
            ends = {*zip(arrived, mean - margin, strict=True)}
            ends |= {*zip(arrived, mean + margin, strict=True)}
            assert points == {(float(x), round(float(y), 6)) for x, y in ends}
            assert (band.get_alpha(), band.get_linewidth()) == (0.2, [0])
        assert panel.get_xlabel() == "GPUs requested by arrived pods (% of all GPUs)"
        assert len({line.get_color() for line in panel.get_lines()}) == 2
    allocated, fragments = figure.axes
    assert fragments.get_ylim()[0] == 0
    limits = list(allocated.get_ylim())
    assert limits == pytest.approx([71, 100]), "one below the least mean from 80 on"
    legend: Any = allocated.get_legend()
    assert [each.get_text() for each in legend.get_texts()] == ["p", "q"]
    assert not legend.get_frame_on()
    assert {each.get_fontsize() for each in legend.get_texts()} == {7}
    assert [each.get_fontsize() for each in figure.texts] == [9]
    assert figure.get_suptitle() == "a: mean of 2 runs, 95 % confidence"
