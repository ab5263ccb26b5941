"""`podwright sweep` and `tune`: what is printed of given results, and one run of each."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import typer
from distributed import Client, LocalCluster

from podwright import _progress
from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.planning.plan_inputs import Planned
from podwright.cli.research import plan_run
from podwright.cli.research.options import SweepOptions, TuneOptions
from podwright.cli.research.plan_run import (
    _print_failures,
    _print_sweep,
    _print_tuning,
    _resumable,
    _shown,
    _workers,
)
from podwright.cli.tests.served import command
from podwright.online.sweep import (
    RunFigures,
    SweepConfiguration,
    SweepError,
    SweepFigure,
    SweepInput,
    SweepPlan,
    SweepSummary,
    TuningResult,
    read_goal,
)
from podwright.online.sweep.plan import SweepRun
from podwright.online.sweep.tuning.evidence import Comparison, TunedTrial
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.studies import Interval

PLAN = SweepPlan(
    inputs=(SweepInput(name="day"),),
    configurations=(SweepConfiguration(name="spread"), SweepConfiguration(name="packed")),
    seeds=(0, 1, 2),
    goals=(read_goal("wait p99"),),
)
OPTIONS: dict[str, Any] = {"plan": Path("plan.yaml"), "out": Path("out")}


def figure(configuration: str, name: str, mean: float, change: Interval | None) -> SweepFigure:
    return SweepFigure("day", configuration, name, "s", 3, Interval(mean, 0.5, 0.25), change)


FIGURES = (
    figure("spread", "wait p99", 8.0, None),
    figure("packed", "wait p99", 6.0, Interval(-2.0, 1.0, 0.5)),
    figure("spread", "wait p50", 1.0, None),
    figure("packed", "wait p50", 1.5, Interval(0.5, 1.0, 0.75)),
    figure("spread", "placed", 4.0, None),
    figure("packed", "placed", 4.0, Interval(0.0, 0.0, 0.0)),
)
FAILED = tuple(
    RunFigures(SweepRun(f"id{seed}", "day", "packed", seed), (), f"error {seed}")
    for seed in range(7)
)
SUMMARY = SweepSummary(figures=FIGURES, failed=FAILED[:1], missing=2)


def sweep_output(capsys: pytest.CaptureFixture[str], plan: SweepPlan = PLAN, **options: Any) -> str:
    """Return what is printed of the summary."""
    given = SweepOptions(**OPTIONS, **options)
    _print_sweep(SUMMARY, _shown(SUMMARY, given), plan, given)
    return capsys.readouterr().out


HEAD = "INPUT  FIGURE    CONFIGURATION  RUNS  MEAN  ±95%   CHANGE  ±95%\n"
P99 = """\
day    wait p99  spread         3     8s    0.25s
day    wait p99  packed         3     6s    0.25s  -2s     0.5s
"""
P50 = """\
day    wait p50  spread         3     1s    0.25s
day    wait p50  packed         3     1.5s  0.25s  +0.5s   0.75s
"""
SAME = """\
day    placed    spread         3     4s    0.25s
day    placed    packed         3     4s    0.25s  0s      0s
"""
BEST = "\nBest by wait p99: packed, -2s ±0.5s from spread\n"
GREATEST = msgspec.structs.replace(PLAN, goals=(read_goal("+wait p50"), read_goal("wait p99")))
CHANCE = "\nBest by wait p50: packed, +0.5s ±0.75s from spread; that may be chance\n"
TWO_INPUTS = msgspec.structs.replace(PLAN, inputs=(*PLAN.inputs, SweepInput(name="night")))


@pytest.mark.parametrize(("plan", "options", "text"), [
    (PLAN, {}, HEAD + P99 + P50 + BEST),
    (PLAN, {"output": "wide"}, HEAD + P99 + P50 + SAME + BEST),
    (PLAN, {"figures": ("placed", "wait p50"), "best": "+placed"},
     HEAD + P50 + SAME + "\nBest by placed: spread\n"),
    (PLAN, {"figures": ("wait p99",), "best": "wait p50"},
     HEAD + P99 + "\nBest by wait p50: spread\n"),
    (GREATEST, {"figures": ("wait p50",)}, HEAD + P50 + CHANCE + BEST),
    (TWO_INPUTS, {"figures": ("wait p99",)}, HEAD + P99 + "\nBest by wait p99: packed\n"),
    (PLAN, {"output": "name"}, "wait p99\nwait p50\nplaced\n"),
    (PLAN, {"output": "name", "figures": ("placed",)}, "placed\n"),
])  # fmt: skip
def test_a_sweep_is_printed_as_a_table_of_figures(plan, options, text, capsys):
    assert sweep_output(capsys, plan, **options) == text


def test_a_sweep_as_a_document_has_its_figures_failures_and_best(capsys):
    document = msgspec.json.decode(sweep_output(capsys, output="json", figures=("placed",)))
    value = {"mean": 4.0, "deviation": 0.5, "margin": 0.25}
    row = {"input": "day", "name": "placed", "unit": "s", "runs": 3, "value": value}
    nothing = {"mean": 0.0, "deviation": 0.0, "margin": 0.0}
    failed = {"id": "id0", "input": "day", "configuration": "packed", "seed": 0}
    assert document == {
        "figures": [
            row | {"configuration": "spread", "change": None},
            row | {"configuration": "packed", "change": nothing},
        ],
        "failed": [failed | {"error": "error 0"}],
        "missing": 2,
        "best": [{"figure": "wait p99", "configuration": "packed"}],
        "warnings": [],
    }


def test_where_nothing_differs_the_table_is_a_sentence(capsys):
    summary = SUMMARY._replace(figures=FIGURES[4:])
    options = SweepOptions(**OPTIONS)
    plan = msgspec.structs.replace(PLAN, goals=())
    _print_sweep(summary, _shown(summary, options), plan, options)
    assert capsys.readouterr().out == (
        "INPUT  FIGURE  CONFIGURATION  RUNS  MEAN  ±95%  CHANGE  ±95%\n"
        "No figure differs between the configurations (-o wide shows all).\n"
    )


@pytest.mark.parametrize(("plan", "options", "error"), [
    (PLAN, {"figures": ("nothing", "none")}, "--figure: no run has nothing or none"),
    (PLAN, {"best": "nothing"}, "--best: no run has nothing"),
    (msgspec.structs.replace(PLAN, goals=(read_goal("x"),)), {}, "goals: no run has x"),
])  # fmt: skip
def test_an_unknown_figure_is_an_error_with_those_that_there_are(plan, options, error, capsys):
    with pytest.raises(SweepError) as caught:
        sweep_output(capsys, plan, **options)
    assert str(caught.value) == f"{error}; there are wait p99, wait p50, placed"


def test_of_runs_that_all_failed_no_figure_is_unknown(capsys):
    nothing = SweepSummary(figures=(), failed=FAILED, missing=0)
    options = SweepOptions(**OPTIONS, figures=("wait",), best="wait", output="name")
    _print_sweep(nothing, _shown(nothing, options), PLAN, options)
    assert capsys.readouterr().out == ""


def test_five_failures_are_printed_and_more_are_counted(capsys):
    five = "".join(f"day, packed, seed {seed}: error {seed}\n" for seed in range(5))
    for failed, text in ((FAILED[:5], five), (FAILED, f"{five}and 2 more runs failed\n")):
        _print_failures(failed)
        assert capsys.readouterr().err == text


TUNED = TuningResult(
    configuration={"kind": "KubeSchedulerConfiguration"},
    best=1,
    front=(1,),
    trials=(
        TunedTrial(0, {"a": 1}, "complete", (9.0,), False),
        TunedTrial(1, {"weights.Fit": 3, "type": "Most"}, "complete", (6.0,), True),
    ),
    goals=(read_goal("wait p99"),),
    held_out=SUMMARY._replace(failed=()),
    comparisons=(Comparison("day", "spread", read_goal("wait p99"), 3, Interval(-2, 1, 0.5)),),
    placements=None,
)
PARAMETERS = """\
PARAMETER    VALUE
weights.Fit  3
type         "Most"

"""
SENTENCES = """\

day, wait p99: better than spread (-2 ±0.5, 3 held-out seeds).
It makes worse: nothing that was measured.
"""


@pytest.mark.parametrize(("result", "output", "text"), [
    (TUNED, "table", PARAMETERS + HEAD + P99 + SENTENCES),
    (TUNED, "wide", PARAMETERS + HEAD + P99 + P50 + SAME + SENTENCES),
    (TUNED, "name", "trial/1\n"),
    (TUNED._replace(best=0), "name", "trial/0\n"),
    (TUNED._replace(best=None), "name", ""),
    (TUNED._replace(best=None), "table", "No trial satisfies the constraints.\n"),
])  # fmt: skip
def test_a_tuning_is_printed_with_its_evidence(result, output, text, capsys):
    _print_tuning(result, TuneOptions(**OPTIONS, output=output))
    assert capsys.readouterr().out == text


def test_a_tuning_as_a_document_is_its_evidence(capsys):
    _print_tuning(TUNED, TuneOptions(**OPTIONS, output="json"))
    assert msgspec.json.decode(capsys.readouterr().out) == TUNED.document()


def test_the_workers_are_those_of_the_options():
    found = _workers(SweepOptions(**OPTIONS, jobs=3, per_run_memory="2Gi"))
    assert {**found, "announce": None} == {
        "address": "", "worker_count": 3, "memory_bytes": 2**31, "announce": None
    }  # fmt: skip
    found = _workers(SweepOptions(**OPTIONS, dask_scheduler="tcp://h:1"))
    assert (found["address"], found["memory_bytes"]) == ("tcp://h:1", None)


# ---------------------------------------------------------------- whole commands

OBJECTS = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
SWEEP_PLAN = """\
inputs: [{name: small, files: [objects.yaml]}]
configurations: [{name: one}, {name: broken, plugins: [broken.py]}]
seeds: 0-1
simulate: {until: 1m}
"""
BROKEN = """\
import podwright as pw

class Broken(pw.Plugin):
    name = "Broken"

    def __init__(self):
        raise ValueError("broken")

    def filter(self, cycle, node):
        return pw.Status()
"""
TUNE_PLAN = """\
inputs: [{name: small, files: [objects.yaml]}]
configurations: [{name: today}]
seeds: 0-1
simulate: {until: 1m}
goals: [wait p99]
tune:
  trials: 9
  heldOutSeeds: 5-6
  parameters:
    weights.NodeResourcesFit: {low: 1, high: 2}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, Client(cluster):
        yield cluster.scheduler_address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in (
        ("objects.yaml", OBJECTS), ("plan.yaml", SWEEP_PLAN), ("tune.yaml", TUNE_PLAN),
        ("broken.py", BROKEN),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WHY = 'broken.py: line 7: initializing plugin "Broken": broken'
FAILURES = f"small, broken, seed 0: {WHY}\nsmall, broken, seed 1: {WHY}\n"
REFUSED = (
    "Usage: podwright {0} [OPTIONS] PLAN\nTry 'podwright {0} -h' for help.\n\nerror: Invalid value"
    " for '--{1}': has no effect with --dask-scheduler: the workers are those of the scheduler.\n"
)


def called(line: str) -> tuple[str, str, int]:
    """Run a command; messages are without the address of the dashboard."""
    out, err, status = command(line)
    return out, re.sub(r"dashboard: \S+", "dashboard: URL", err), status


def test_a_sweep_runs_what_is_missing_and_reports_what_failed(address, folder):
    line = f"sweep plan.yaml --out out --dask-scheduler {address} --figure placed"
    table = """\
INPUT  FIGURE  CONFIGURATION  RUNS  MEAN  ±95%  CHANGE  ±95%
small  placed  one            2     1     0
"""
    written = "4 runs; Dask's dashboard: URL\nwrote report.html\n"
    assert called(f"{line} -o wide --report report.html") == (table, written + FAILURES, 1)
    page = (folder / "report.html").read_text("utf-8")
    assert "<title>plan</title>" in page
    plots = page.count("<svg")
    # All have a result; without figures the page has the plots of those that differ.
    assert called(f"{line} -o name") == ("placed\n", FAILURES, 1)
    messages = f"2 runs; Dask's dashboard: URL\n{FAILURES}"
    assert called(f"{line} -o name --retry-failed") == ("placed\n", messages, 1)
    assert plots == 1
    every = f"sweep plan.yaml --out out --dask-scheduler {address} -o wide --report other.html"
    assert called(every)[1:] == (f"wrote other.html\n{FAILURES}", 1)
    assert "<svg" not in (folder / "other.html").read_text("utf-8"), "none differs"
    out, err, status = called(f"{line} -o name --seeds 1,7")
    failures = FAILURES.replace("seed 1", "seed 7").replace("seed 0", "seed 1")
    assert (out, err, status) == ("placed\n", f"2 runs; Dask's dashboard: URL\n{failures}", 1)


def test_a_tuning_writes_the_best_configuration(address, folder):
    line = f"tune tune.yaml --out tuned --dask-scheduler {address} --trials 2 -o name"
    messages = "2 trials; Dask's dashboard: URL\nwrote tuned/best.yaml and evidence.json\n"
    out, err, status = called(line)
    assert (out[:-2], err, status) == ("trial/", messages, 1)
    evidence = msgspec.json.decode((folder / "tuned/evidence.json").read_bytes())
    assert len(evidence["trials"]) == 2
    assert (folder / "tuned/best.yaml").is_file()
    plan = TUNE_PLAN.replace("tune:\n", "tune:\n  constraints: [placed >= 2]\n")
    (folder / "tune.yaml").write_text(plan)
    out, err, status = called(line.replace("--out tuned", "--out none"))
    assert (out, err, status) == ("", "2 trials; Dask's dashboard: URL\n", 1)
    assert not (folder / "none/best.yaml").exists(), "one pod cannot be two"


@pytest.mark.parametrize(("name", "plan", "option", "value"), [
    ("sweep", "plan.yaml", "jobs", "0"), ("tune", "tune.yaml", "per-run-memory", "2Gi")
])  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_options_of_own_workers_have_no_effect_on_others(name, plan, option, value):
    line = f"{name} {plan} --out out --dask-scheduler tcp://127.0.0.1:1 --{option} {value}"
    assert called(line) == ("", REFUSED.format(name, option), 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_sweep_with_its_status_and_says_how_to_continue(number, capsys) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(typer.Exit) as ended, _resumable(Path("results")):
        signal.raise_signal(number)
    assert ended.value.exit_code == 128 + number
    assert capsys.readouterr().err == (
        "interrupted; results keeps what is finished: repeat the command to continue\n"
    )
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_the_runs_of_a_plan_show_how_far_they_are(monkeypatch):
    monkeypatch.setattr(_progress._Current, "display", None)
    options: Any = SimpleNamespace(
        report=None, dask_scheduler="", given=frozenset(), jobs=2, per_run_memory="1Ki"
    )
    workers = plan_run._workers(options)
    assert (workers["worker_count"], workers["memory_bytes"]) == (2, 1024)
    assert _progress._Current.display is not None


@pytest.mark.parametrize(
    ("source", "path", "named"),
    [
        pytest.param("", "pods[2].spec", "options: --pod", id="a field of the question"),
        pytest.param("", "nodes", "options: NODE", id="another one"),
        pytest.param("", "spec", "cluster.yaml: spec", id="something of the cluster"),
        pytest.param("pods", "metadata", "more.yaml: metadata", id="something of the pods"),
        pytest.param("other", "metadata", "other: metadata", id="what has a source of its own"),
    ],
)
def test_an_error_of_a_question_has_the_option_or_the_file_that_it_is_about(source, path, named):
    of = Planned([], SchedulerOptions(), None, "cluster.yaml")
    error = FieldError(source=source, path=path, message="is wrong")
    with (
        pytest.raises(InputError) as caught,
        of.asking("asking", {"pods": "--pod", "nodes": "NODE"}, "more.yaml"),
    ):
        raise InputError([error])
    assert list(map(str, caught.value.errors)) == [f"{named}: is wrong"]
