"""Means and changes of figures, the best configuration, rows of failed runs."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import ArgumentError
from podwright.online.sweep.dataset import results_table
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
from podwright.online.sweep.summary import (
    SweepFigure,
    SweepSummary,
    is_count,
    summarize_sweep,
)
from podwright.simulation.files import load_bytes
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
        "plugins of far==1, near==2 are expected, and this worker has none: install the same "
        "packages on all workers"
    )


def test_an_error_of_a_plugin_has_its_type_and_one_of_the_input_does_not():
    run = SweepRun("id", "x", "c", 0)
    default = SweepConfiguration(name="c")
    wrong = SweepInput(name="x", objects=(("n.yaml", b"kind: ["),))
    found = figures_of_run(run, wrong, default, SweepOptions())
    assert found.figures == ()
    assert found.error.startswith("n.yaml: line ")
    plugin = SweepConfiguration(name="c", plugins=(("p.py", b"\xff"),))
    assert figures_of_run(run, wrong, plugin, SweepOptions()).error.startswith("UnicodeDecodeError")
