"""Means and changes of figures, the best configuration, rows of failed runs."""

from __future__ import annotations

import errno
import re
import sys
from base64 import b64decode
from html import unescape
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import ArgumentError
from podwright.online.sweep.dataset import SweepDataset, SweepError, results_table
from podwright.online.sweep.figures_of_run import (
    RunFigures,
    _drawn,
    _scheduler,
    _written,
    figures_of_run,
)
from podwright.online.sweep.plan import (
    SweepConfiguration,
    SweepInput,
    SweepOptions,
    SweepPlan,
    SweepRun,
)
from podwright.online.sweep.report_page import (
    FIGURE_HEADS,
    figure_cells,
    sweep_page,
    table_of,
)
from podwright.online.sweep.summary import (
    SweepFigure,
    SweepSummary,
    is_count,
    summarize_sweep,
)
from podwright.simulation.files import load_bytes
from podwright.simulation.recording import parquet_bytes
from podwright.simulation.recording.folders.tables import MissingExtra
from podwright.simulation.studies import Interval

NODES = b"{apiVersion: v1, kind: Node, metadata: {name: n}}"


def plan_of(inputs: str = "x", configurations: str = "ab", seeds: int = 2) -> SweepPlan:
    return SweepPlan(
        inputs=tuple(SweepInput(name=name, pods=ord(name)) for name in inputs),
        configurations=tuple(
            SweepConfiguration(name=name, packages=(name,)) for name in configurations
        ),
        seeds=tuple(range(seeds)),
    )


def summary_of(plan: SweepPlan, rows: dict[tuple[str, str, int], dict[str, float] | None]) -> Any:
    """Return the summary of runs by input, configuration and seed; None is a failed one."""
    names = {(run.input, run.configuration, run.seed): run for run in plan.runs()}
    results = [
        RunFigures(names[key], (), "failed")
        if figures is None
        else RunFigures(names[key], tuple((name, "pods", value) for name, value in figures.items()))
        for key, figures in rows.items()
    ]
    return summarize_sweep(plan, results)


def test_changes_are_taken_run_by_run_from_the_first_configuration():
    found = summary_of(
        plan_of(),
        {
            ("x", "a", 0): {"placed": 10, "wait": 1},
            ("x", "a", 1): {"placed": 20},
            ("x", "b", 0): {"placed": 11},
            ("x", "b", 1): {"placed": 23, "wait": 5},
        },
    )
    assert [(each.name, each.configuration, each.runs) for each in found.figures] == [
        ("placed", "a", 2),
        ("placed", "b", 2),
        ("wait", "a", 1),
        ("wait", "b", 1),
    ]
    first, second, _, wait = found.figures
    assert (first.value, first.change) == (Interval.of([10, 20]), None)
    assert (second.value, second.change) == (Interval.of([11, 23]), Interval.of([1, 3]))
    assert wait.change is None, "no run of both has it"
    assert [each.differs for each in found.figures] == [False, True, False, False]
    assert found.names == ("placed", "wait")
    assert [each.name for each in found.differing()] == ["placed", "placed"]
    assert (found.missing, found.failed) == (0, ())


def test_failed_and_missing_runs_are_counted_and_have_no_figures():
    found = summary_of(plan_of(), {("x", "a", 0): {"placed": 10}, ("x", "b", 0): None})
    assert [(each.configuration, each.runs) for each in found.figures] == [("a", 1)]
    assert [each.run.configuration for each in found.failed] == ["b"]
    assert found.missing == 2


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (None, False),
        (Interval(0.0, 0.0, 0.0), False),
        (Interval(0.0, float("nan"), 0.0), False),
        (Interval(0.0, 1.0, 0.0), True),
        (Interval(-1.0, 0.0, 0.0), True),
    ],
)
def test_a_figure_differs_if_any_run_does(change, differs):
    figure = SweepFigure("x", "b", "placed", "pods", 2, Interval(1.0, 0.0, 0.0), change)
    assert figure.differs is differs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pending: Insufficient cpu", True),
        ("batch: pods", True),
        ("pods", False),
        ("x: wait", False),
    ],
)
def test_counts_of_kinds_of_pods_are_told_by_their_names(name, expected):
    assert is_count(name) is expected


def test_the_best_of_several_inputs_has_the_least_sum():
    found = summary_of(
        plan_of("xy", "abc", seeds=1),
        {
            ("x", "a", 0): {"wait": 5},
            ("y", "a", 0): {"wait": 5},
            ("x", "b", 0): {"wait": 1},
            ("y", "b", 0): {"wait": 8},
            ("x", "c", 0): {"wait": 0},
            ("y", "c", 0): None,
        },
    )
    best, greatest = found.best("wait"), found.best("wait", is_greatest=True)
    assert (best.configuration, best.input) == ("b", "x")
    assert greatest.configuration == "a"
    assert found.best("placed") is None
    assert SweepSummary((), (), 0).best("wait") is None


def test_remarks_on_runs_are_counted():
    runs = [SweepRun(str(seed), "x", name, seed) for name in "ab" for seed in (3, 4)]
    remarks = [("one",), (), ("one", "two"), ("one",)]
    results = [RunFigures(run, (), "", each) for run, each in zip(runs, remarks, strict=True)]
    assert SweepSummary((), (), 0, tuple(results)).warnings == (
        "one (3 of 4 runs, first that of x, a, seed 3)",
        "two (1 of 4 runs, first that of x, b, seed 3)",
    )


def test_results_of_versions_without_remarks_have_none(tmp_path):
    run = SweepRun("id", "x", "a", 3)
    table = results_table([RunFigures(run, (("p", "pods", 2.0),), "", ("one",))])
    (tmp_path / "id.parquet").write_bytes(parquet_bytes(table.drop_columns("warnings")))
    (found,) = SweepDataset(tmp_path).results([run])
    assert (found.figures, found.warnings) == ((("p", "pods", 2.0),), ())


def test_a_failed_run_is_a_row_without_a_figure():
    run = SweepRun("id", "x", "a", 3)
    table = results_table([RunFigures(run, (), "no"), RunFigures(run, (("p", "pods", 2.0),))])
    assert table.to_pylist() == [
        {
            "run": "id",
            "input": "x",
            "configuration": "a",
            "seed": 3,
            "figure": "",
            "unit": "",
            "value": None,
            "error": "no",
            "warnings": "",
        },
        {
            "run": "id",
            "input": "x",
            "configuration": "a",
            "seed": 3,
            "figure": "p",
            "unit": "pods",
            "value": 2.0,
            "error": "",
            "warnings": "",
        },
    ]


def test_figures_are_shown_by_input_up_to_a_number():
    names = [f"figure {number:02d}" for number in range(14)]
    found = summary_of(
        plan_of("xy", seeds=2),
        {
            (i, c, s): {name: float(s + (c == "b") * number) for number, name in enumerate(names)}
            for i in "xy"
            for c in "ab"
            for s in (0, 1)
        },
    )
    figure = found.plot()
    labels = [each.get_xlabel() for each in figure.axes]
    assert labels[:2] == ["figure 01 (pods)", "change from a (pods)"], "the first one is equal"
    assert len(labels) == 24
    legend = figure.axes[0].get_legend()
    assert [each.get_text() for each in legend.get_texts()] == ["x", "y"]
    assert found.plot("figure 00").axes[0].get_xlabel() == "figure 00 (pods)"
    with pytest.raises(ArgumentError) as raised:
        summary_of(plan_of(), {("x", "a", 0): {"placed": 1}}).plot()
    assert str(raised.value) == ("names: no figure differs between the configurations; name some")


def summary_of_shares() -> SweepSummary:
    """Return a summary of two inputs with two seeds; `c` has one run, on the first input."""
    runs = {
        ("x", "a"): (0.5, 0.7), ("x", "b"): (0.25, 0.35), ("x", "c"): (0.5,),
        ("y", "a"): (0.1, 0.3), ("y", "b"): (0.1, 0.3),
    }  # fmt: skip
    return summarize_sweep(
        plan_of("xy", "abc"),
        [
            RunFigures(SweepRun(f"{i}{c}{seed}", i, c, seed), (("cpu mean", "share", value),))
            for (i, c), values in runs.items()
            for seed, value in enumerate(values)
        ],
    )


def drawn_in(axes: Any) -> list[tuple[list[float], list[float], list[float]]]:
    """Return the means, the rows and the halves of the bars of each input in a panel."""
    found = []
    for each in axes.containers:
        line, _, (bars,) = each.lines
        widths = [np.ptp(np.asarray(bar)[:, 0]) / 2 for bar in bars.get_segments()]
        found.append(tuple(np.round(list(part), 4).tolist() for part in (*line.get_data(), widths)))
    return found


def test_a_panel_has_the_means_of_each_input_and_the_changes_beside_them():
    figure = summary_of_shares().plot()
    panel, changes = figure.axes
    assert [each.get_xlabel() for each in (panel, changes)] == [
        "cpu mean (%)",
        "change from a (%)",
    ]
    assert [each.xaxis.get_major_formatter()(0.125, 0) for each in (panel, changes)] == ["12.5"] * 2
    assert [each.get_text() for each in panel.get_yticklabels()] == ["a", "b", "c"]
    assert [each.get_text() for each in changes.get_yticklabels()] == ["", "", ""]
    margins = [Interval.of(values).margin for values in ([0.5, 0.7], [0.25, 0.35], [-0.25, -0.35])]
    first, second, third = np.round(margins, 4).tolist()
    assert drawn_in(panel) == [
        ([0.6, 0.3, 0.5], [-0.125, 0.875, 1.875], [first, second, 0.0]),
        ([0.2, 0.2], [0.125, 1.125], [first, first]),
    ]
    assert drawn_in(changes) == [
        ([-0.3, 0.0], [0.875, 1.875], [third, 0.0]),
        ([0.0], [1.125], [0.0]),
    ]
    lines = [line for line in changes.get_lines() if line.get_color() == "#666666"]
    assert [(np.asarray(line.get_xdata()).tolist(), line.get_linewidth()) for line in lines] == [
        ([0, 0], 0.8)
    ]
    legend: Any = panel.get_legend()
    assert changes.get_legend() is None
    assert [each.get_text() for each in legend.get_texts()] == ["x", "y"]
    assert not legend.get_frame_on()
    assert {each.get_fontsize() for each in legend.get_texts()} == {7}
    assert [each.get_fontsize() for each in figure.texts] == [9]
    assert figure.get_suptitle() == "means of runs, 95 % confidence; changes run by run"
    assert figure.get_size_inches().tolist() == pytest.approx([8, 0.6 + 0.7 + 3 * 0.22])


def test_a_panel_of_one_input_has_no_legend_and_each_figure_has_a_row_of_panels():
    found = summary_of(
        plan_of(seeds=1),
        {("x", "a", 0): {"p": 1, "q": 2}, ("x", "b", 0): {"p": 2, "q": 2}},
    )
    figure = found.plot("q", "p")
    assert [each.get_xlabel() for each in figure.axes] == [
        "q (pods)", "change from a (pods)", "p (pods)", "change from a (pods)",
    ]  # fmt: skip
    assert [drawn_in(axes)[0][0] for axes in figure.axes] == [[2, 2], [0], [1, 2], [1]]
    assert all(axes.get_legend() is None for axes in figure.axes)
    assert figure.get_size_inches().tolist() == pytest.approx([8, 0.6 + 2 * (0.7 + 2 * 0.22)])
    with pytest.raises(ArgumentError) as raised:
        found.plot("p", "r", "s")
    assert str(raised.value) == "names: no run has r; there are p, q"


def test_twelve_figures_that_differ_are_shown_by_default():
    figures: dict[str, float] = {f"f{number}": number for number in range(14)}
    other = {name: value + (name != "f3") for name, value in figures.items()}
    found = summary_of(plan_of(seeds=1), {("x", "a", 0): figures, ("x", "b", 0): other})
    assert [axes.get_xlabel() for axes in found.plot().axes[::2]] == [
        f"f{number} (pods)" for number in range(13) if number != 3
    ]


@pytest.mark.parametrize(("method", "name"), [("to_xarray", "xarray"), ("to_polars", "polars")])
def test_a_dataset_needs_its_library(monkeypatch, method, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=f"pip install {name}"):
        getattr(SweepSummary((), (), 0, ()), method)()


def test_a_dataset_has_the_seeds_in_order_and_no_number_for_what_a_run_lacks():
    rows: list[Any] = [
        ("a", 2, (("wait", "s", 2.0), ("placed", "pods", 1.0)), ""),
        ("a", 0, (("wait", "s", 1.0),), ""),
        ("b", 1, (), "failed"),
    ]
    runs = [RunFigures(SweepRun(f"{c}{s}", "x", c, s), *rest) for c, s, *rest in rows]
    array = SweepSummary((), (), 0, tuple(runs)).to_xarray()
    assert {name: values.values.tolist() for name, values in array.coords.items()} == {
        "input": ["x"],
        "configuration": ["a", "b"],
        "seed": [0, 1, 2],
    }
    values = {
        name: [None if isnan(value) else value for value in each.values.ravel()]
        for name, each in array.data_vars.items()
    }
    assert values == {
        "wait": [1.0, None, 2.0, None, None, None],
        "placed": [None, None, 1.0, None, None, None],
    }
    assert {name: each.attrs for name, each in array.data_vars.items()} == {
        "wait": {"units": "s"},
        "placed": {"units": "pods"},
    }


# ---------------------------------------------------------------- a page


@pytest.mark.parametrize(
    ("unit", "value", "change", "cells"),
    [
        pytest.param(
            "s",
            (1234.56, 0.25),
            None,
            ["1,235s", "0.25s", "", ""],
            id="what others are compared to",
        ),
        pytest.param(
            "pods", (12.0, 0.0), (1.5, 2.0), ["12", "0", "+1.5", "2"], id="more has its sign"
        ),
        pytest.param("pods", (12.0, 0.0), (0.0, 2.0), ["12", "0", "0", "2"], id="no change"),
        pytest.param("pods", (12.0, 0.0), (-3.0, 2.0), ["12", "0", "-3", "2"], id="less"),
        pytest.param(
            "share",
            (0.12345, 0.01),
            (0.1, 0.05),
            ["12.35%", "1.00%", "+10.00%", "5.00%"],
            id="shares are percentages",
        ),
        pytest.param(
            "s",
            (2.0, float("inf")),
            (1.0, float("inf")),
            ["2s", "", "+1s", ""],
            id="one run has no interval",
        ),
    ],
)
def test_the_cells_of_a_figure(unit, value, change, cells):
    mean, margin = value
    difference = None if change is None else Interval(change[0], 1.0, change[1])
    figure = SweepFigure("x", "b", "f", unit, 3, Interval(mean, 1.0, margin), difference)
    assert figure_cells(figure) == ["x", "f", "b", "3", *cells]


def tables_in(page: str) -> dict[str, list[list[str]]]:
    """Return the rows of the tables of a page by their titles; the first one has the heads."""
    found = {}
    parts = re.findall(r"<strong>([^<]*)</strong>(<table>.*?</table>)", page, flags=re.DOTALL)
    for title, rest in parts:
        rows = re.findall(r"<tr>(.*?)</tr>", rest, flags=re.DOTALL)
        if rows:
            cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows)
            found[title] = [[unescape(cell) for cell in row] for row in cells]
    return found


def page_of(*names: str) -> str:
    plan = plan_of(configurations="ab", seeds=2)
    found = summary_of(
        plan,
        {
            ("x", "a", 0): {"same": 1, "other": 5},
            ("x", "a", 1): {"same": 1, "other": 7},
            ("x", "b", 0): {"same": 1, "other": 6},
            ("x", "b", 1): None,
        },
    )
    return sweep_page(found, "Title", names).decode()


@pytest.mark.parametrize(
    ("names", "shown", "others"),
    [
        pytest.param((), ["other"], ["same"], id="what differs is shown"),
        pytest.param(("same",), ["same"], ["other"], id="or what is named"),
        pytest.param(("same", "other"), ["other", "same"], [], id="without a table of nothing"),
    ],
)
def test_a_page_has_the_figures_that_differ_or_are_named_before_the_others(names, shown, others):
    page = page_of(*names)
    tables = tables_in(page)
    assert list(tables) == ["Figures", *["Other figures"][: len(others)], "Failed runs"]
    found = [
        sorted({row[1] for row in tables.get(title, [[]])[1:]})
        for title in ("Figures", "Other figures")
    ]
    assert found == [shown, others]
    assert tables["Figures"][0] == list(FIGURE_HEADS)
    assert tables["Failed runs"] == [
        ["Input", "Configuration", "Seed", "Error"],
        ["x", "b", "1", "failed"],
    ]
    assert "4 runs, 1 of them failed, 0 are missing" in page
    assert "No figure differs" not in page
    assert page.count("<svg") == 1


def test_a_page_has_all_values_as_a_table_that_can_be_saved():
    page = page_of()
    expected = (
        "input,configuration,seed,figure,unit,value\n"
        "x,a,0,same,pods,1\nx,a,0,other,pods,5\nx,a,1,same,pods,1\nx,a,1,other,pods,7\n"
        "x,b,0,same,pods,1\nx,b,0,other,pods,6\n"
    )
    (link,) = re.findall(r'download="values.csv" href="data:text/csv;base64,([^"]*)"', page)
    assert b64decode(link).decode() == expected
    assert f"<summary>All values</summary><pre>{expected}</pre>" in page


def test_a_table_without_figures_is_nothing():
    assert table_of("Figures", []) == ""


# ---------------------------------------------------------------- the data set


def test_a_result_that_cannot_be_read_or_written_is_named_and_leaves_nothing(tmp_path):
    dataset = SweepDataset(tmp_path / "a/b")
    run, other = SweepRun("id", "x", "a", 3), SweepRun("other", "x", "a", 4)
    (tmp_path / "a/b/id.parquet").mkdir()
    with pytest.raises(SweepError) as raised:
        dataset.add(RunFigures(run, ()))
    assert str(raised.value) == (
        f"{tmp_path}/a/b/id.parquet cannot be written: Is a directory; finished runs have been"
        " kept, and the same sweep runs what is missing"
    )
    assert [path.name for path in dataset.folder.iterdir()] == ["id.parquet"]
    (tmp_path / "a/b/other.parquet").write_bytes(b"PAR")
    with pytest.raises(
        SweepError, match=r"^/.*/other\.parquet: not the result of a run: .*; delete it$"
    ):
        dataset.results([other])
    table = results_table([])
    for found in (table, table.drop(["figure"])):
        (tmp_path / "a/b/other.parquet").write_bytes(parquet_bytes(found))
        with pytest.raises(SweepError, match=r"not the result of a run: it has the columns run, "):
            dataset.results([other])
    failed = RunFigures(other, (), "no", ("one remark", "another"))
    dataset.add(failed)
    assert SweepDataset(tmp_path / "a/b").results([other]) == [failed]
    assert dataset.finished() == {"id", "other"}


# ---------------------------------------------------------------- one run


def pods(*names: str) -> bytes:
    text = "\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}},"
        " spec: {containers: [{name: c, image: i}]}}"
        for name in names
    )
    return text.encode()


def test_pods_are_drawn_after_the_other_objects_and_without_a_number_none_are():
    loaded = load_bytes((("p.yaml", pods("a", "b", "c")), ("n.yaml", NODES)))
    assert _drawn(loaded, 0, 1) is loaded
    found = [each.name for each in _drawn(loaded, 3, 1).objects]
    assert found[0] == "n"
    assert sorted(found[1:]) == ["a", "b", "c"]
    with pytest.raises(ArgumentError, match="pods: 4 cannot be drawn of 3"):
        _drawn(loaded, 4, 1)


def test_files_of_events_are_written_under_the_ends_of_their_names(tmp_path):
    files = [("far/events.jsonl", b"1"), ("events.jsonl", b"2")]
    paths = _written(files, tmp_path)
    assert [path.removeprefix(f"{tmp_path}/") for path in paths] == [
        "0-events.jsonl",
        "1-events.jsonl",
    ]
    assert (tmp_path / "1-events.jsonl").read_bytes() == b"2"


def test_a_worker_needs_the_packages_of_the_client():
    text = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration"
    given = SweepConfiguration(name="c", configuration=("c.yaml", text))
    assert _scheduler(given, 7).seed == 7
    other = SweepConfiguration(
        name="c", configuration=("c.yaml", text), packages=("far==1", "near==2")
    )
    with pytest.raises(ArgumentError) as raised:
        _scheduler(other, 7)
    assert str(raised.value) == (
        "the plugins of far==1, near==2 are needed, and this worker has none: install the same "
        "packages on all workers"
    )


def test_a_worker_with_more_packages_than_the_client_is_an_error(tmp_path, monkeypatch):
    for name in ("rack", "zone"):
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[podwright.plugins]\nKeep = {name}:Keep\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        b"profiles: [{plugins: {filter: {enabled: [{name: Keep}]}}}]\n"
    )
    given = SweepConfiguration(name="c", configuration=("c.yaml", text))
    with pytest.raises(ArgumentError) as raised:
        _scheduler(given, 7)
    assert str(raised.value) == (
        "the plugins of no package are needed, and this worker has rack 1.2, zone 1.2: install the"
        " same packages on all workers"
    )
    assert "rack" not in sys.modules


PLUGIN = (
    b"import podwright as pw\n"
    b"class Refuse(pw.Plugin):\n"
    b"    name = 'Refuse'\n"
    b"    def filter(self, cycle, node):\n"
    b"        return pw.Status.unschedulable('node(s) refused')\n"
)
EVENT = b'{"at": "10s", "delete": "pod/a"}\n'


@pytest.mark.parametrize(
    ("given", "configuration", "options", "expected"),
    [
        pytest.param({}, {}, {}, {"created": 2.0, "placed": 2.0}, id="all objects"),
        pytest.param({"pods": 1}, {}, {}, {"created": 1.0, "placed": 1.0}, id="drawn pods"),
        pytest.param(
            {"events": (("e.jsonl", EVENT),)},
            {},
            {},
            {"created": 2.0, "placed": 2.0, "deleted": 1.0},
            id="events",
        ),
        pytest.param(
            {"events": (("e.jsonl", EVENT),)},
            {},
            {"until": "5s"},
            {"created": 2.0, "placed": 2.0},
            id="options of the plan",
        ),
        pytest.param(
            {},
            {"plugins": (("p.py", PLUGIN),)},
            {},
            {"created": 2.0, "pending": 2.0},
            id="plugins of the configuration",
        ),
    ],
)
def test_a_run_simulates_its_input_with_its_configuration(given, configuration, options, expected):
    nodes = b"{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {pods: 9}}}"
    whole = SweepInput(name="x", objects=(("n.yaml", nodes), ("p.yaml", pods("a", "b"))))
    found = figures_of_run(
        SweepRun("id", "x", "c", 0),
        SweepInput(name="x", objects=whole.objects, **given),
        SweepConfiguration(name="c", **configuration),
        SweepOptions(**options),
    )
    assert (found.run, found.error) == (SweepRun("id", "x", "c", 0), "")
    counts = {name: value for name, _, value in found.figures if value}
    names = ("created", "placed", "pending", "deleted")
    assert {name: counts[name] for name in names if name in counts} == expected
    assert {type(value) for _, _, value in found.figures} == {float}


def test_an_error_of_a_plugin_has_its_type_and_one_of_the_input_does_not():
    run = SweepRun("id", "x", "c", 0)
    default = SweepConfiguration(name="c")
    wrong = SweepInput(name="x", objects=(("n.yaml", b"kind: ["),))
    found = figures_of_run(run, wrong, default, SweepOptions())
    assert found.figures == ()
    assert found.error.startswith("n.yaml: line ")
    plugin = SweepConfiguration(name="c", plugins=(("p.py", b"\xff"),))
    assert figures_of_run(run, wrong, plugin, SweepOptions()).error.startswith("UnicodeDecodeError")


def test_a_folder_that_is_read_only_is_named(tmp_path, monkeypatch):
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    dataset = SweepDataset(tmp_path)
    for name in ("write_bytes", "unlink"):
        monkeypatch.setattr(Path, name, fail)
    with pytest.raises(SweepError, match=r"^/.*/id\.parquet cannot be written: Read-only file"):
        dataset.add(RunFigures(SweepRun("id", "x", "a", 3), ()))
