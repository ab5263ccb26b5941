"""Plans, runs and results of sweeps; with workers in threads, and once with processes."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import msgspec
import pytest
from distributed import Client, LocalCluster

import podwright as pw
from podwright._progress import NO_METER, Meter, set_display
from podwright._version import __version__
from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.online.sweep import (
    RunFigures,
    SweepConfiguration,
    SweepDataset,
    SweepError,
    SweepInput,
    SweepPlan,
    SweepSummary,
    execution,
    figure_cells,
    load_plan,
    read_goal,
    read_seeds,
    run_missing,
    sweep,
    sweep_page,
    workers,
)
from podwright.online.sweep.execution import missing_runs
from podwright.online.sweep.figures_of_run import _drawn, figures_of_run
from podwright.online.sweep.goals import read_constraint
from podwright.online.sweep.plan import SweepRun
from podwright.online.sweep.summary import summarize_sweep
from podwright.simulation.files import load_bytes

EXAMPLES = Path(__file__).parents[5] / "examples"
NODES = b"""
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
"""
PODS = b"""
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
EVENT = b'{"at": "10s", "delete": "pod/web"}\n'
PLUGIN = b"""
import podwright as pw

class Refuse(pw.Plugin):
    name = "Refuse"

    def filter(self, cycle, node):
        return pw.Status.unschedulable("node(s) refused")
"""


def plan_with(*configurations: SweepConfiguration, seeds: int = 2) -> SweepPlan:
    return SweepPlan(
        inputs=(
            SweepInput(
                name="small",
                objects=(("nodes.yaml", NODES), ("pods.yaml", PODS)),
                events=(("events.jsonl", EVENT),),
            ),
        ),
        configurations=configurations or (SweepConfiguration(name="default"),),
        seeds=tuple(range(seeds)),
    )


REFUSING = SweepConfiguration(name="refusing", plugins=(("refuse.py", PLUGIN),))
BROKEN = SweepConfiguration(name="broken", configuration=("wrong.yaml", b"kind: Wrong"))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, Client(cluster) as connected:
        yield connected


# ---------------------------------------------------------------- plans


def test_the_mistakes_of_a_plan_come_together(tmp_path: Path) -> None:
    text = (
        "inputs: [{name: a, files: [x]}, {name: a}, {fils: []}, {name: r, run: none, pods: -1}]\n"
        "configurations: [{name: c, config: 1}, {name: d, config: {kind: Wrong}}]\n"
        "seeds: 9-1\nsimulate: {openbGpus: all, until: never, jobDuration: 1x}\ngoals: [+]\n"
        "runs: [{inputs: [b], configurations: [e], seeds: x}]\n"
    )
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_plan(tmp_path / "plan.yaml")
    assert [(error.path, error.message.split(": ")[0]) for error in caught.value.errors] == [
        ("inputs[2].fils", 'unknown field "fils"; did you mean "files"?'),
        ("simulate.openbGpus", "Unsupported value"),
        ("inputs[1].name", "Duplicate value"),
        ("inputs[2].name", "Required value"),
        ("simulate.until", "Invalid value"),
        ("simulate.jobDuration", "Invalid value"),
        ("seeds", "Invalid value"),
        ("inputs[0].files[0]", "Invalid value"),
        ("inputs[1].files", "Required value"),
        ("inputs[2].files", "Required value"),
        ("inputs[3].pods", "Invalid value"),
        ("inputs[3].run", "Invalid value"),
        ("configurations[0].config", "Invalid value"),
        ("configurations[1].config", "apiVersion"),
        ("runs[0].inputs[0]", "Invalid value"),
        ("runs[0].configurations[0]", "Invalid value"),
        ("runs[0].seeds", "Invalid value"),
        ("goals[0]", "Invalid value"),
    ]


def test_a_plan_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"plan.yaml: line \d"):
        load_plan(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path / "absent.yaml")


def test_files_are_relative_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/nodes.yaml").write_bytes(NODES)
    path = tmp_path / "plan.yaml"
    path.write_text(
        "inputs: [{name: a, files: [files]}]\nconfigurations: [{name: b}]\nseeds: 1,3\n",
        encoding="utf-8",
    )
    plan = load_plan(path)
    assert plan.inputs[0].objects[0][1] == NODES
    assert [run.seed for run in plan.runs()] == [1, 3]


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "0-9999999", "1.5"])
def test_wrong_seeds(text: str) -> None:
    with pytest.raises(ValueError, match="seed"):
        read_seeds(text)


def test_a_run_is_named_by_what_it_depends_on() -> None:
    plan = plan_with(SweepConfiguration(name="a"), REFUSING)
    ids = {run.id for run in plan.runs()}
    assert len(ids) == 4
    renamed = plan_with(SweepConfiguration(name="other"), REFUSING)
    assert {run.id for run in renamed.runs()} == ids
    changed = msgspec.structs.replace(
        plan, inputs=(SweepInput(name="small", objects=(("nodes.yaml", NODES + b"#"),)),)
    )
    assert ids.isdisjoint(run.id for run in changed.runs())


# ---------------------------------------------------------------- runs


def test_a_run_returns_the_figures_of_its_seed() -> None:
    plan = plan_with()
    run = next(plan.runs())
    result = figures_of_run(run, plan.inputs[0], plan.configurations[0], plan.options)
    assert not result.error
    assert ("placed", "pods", 1.0) in result.figures
    assert ("deleted", "pods", 1.0) in result.figures


SCENARIO = """
apiVersion: podwright.dev/v1alpha1
kind: Scenario
spec:
  cluster: {nodes: [{name: node}]}
  load:
  - name: batch
    object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}
    arrivals: {every: 1m, count: 3}
"""


def test_a_scenario_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/s.yaml").write_text(SCENARIO, encoding="utf-8")
    text = (
        "inputs: [{name: s, scenario: scenarios/s.yaml}]\nconfigurations: [{name: a}]\nseeds: 0-1"
    )
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    plan = load_plan(tmp_path / "plan.yaml")
    (given,), (configuration,) = plan.inputs, plan.configurations
    one, other = (
        figures_of_run(run, given, configuration, plan.options).figures for run in plan.runs()
    )
    assert ("placed", "pods", 3.0) in one
    assert one != other, "the load is drawn from the seed of the run"
    shown: list[str] = []

    def display(what: str, *_: object) -> Meter:
        shown.append(what)
        return NO_METER

    set_display(display)
    try:
        figures_of_run(next(plan.runs()), given, configuration, plan.options)
    finally:
        set_display(None)
    assert shown == [], "the display is that of the sweep"
    refused = figures_of_run(next(plan.runs()), given, REFUSING, plan.options).figures
    assert ("pending", "pods", 3.0) in refused


def test_remarks_on_a_run_come_with_its_figures(tmp_path: Path) -> None:
    for name, text in {
        "e.jsonl": '{"at": "1m", "delete": "pod/none"}\n',
        "n.yaml": "{apiVersion: v1, kind: Node, metadata: {name: n}}",
        "plan.yaml": "inputs: [{name: s, files: [n.yaml], events: [e.jsonl]}]\n"
        "configurations: [{name: a}]\nseeds: '0'",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    plan = load_plan(tmp_path / "plan.yaml")
    (run,), (given,), (configuration,) = plan.runs(), plan.inputs, plan.configurations
    (remark,) = figures_of_run(run, given, configuration, plan.options).warnings
    assert 'e.jsonl: line 1: Pod "default/none" does not exist' in remark


def test_a_scenario_has_its_files_and_options(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    path = tmp_path / "plan.yaml"
    path.write_text(
        "inputs: [{name: s, scenario: s.yaml, files: [s.yaml]}, {name: t, scenario: t.yaml}]\n"
        "configurations: [{name: a}]\nsimulate: {until: 1h}",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as raised:
        load_plan(path)
    paths = [error.path for error in raised.value.errors]
    assert paths == [*["inputs[0].scenario"] * 2, "inputs[1].scenario", "inputs[1].scenario"]
    assert "t.yaml" in str(raised.value)


@pytest.mark.parametrize(
    ("configuration", "error"),
    [(BROKEN, "wrong.yaml"), (SweepConfiguration(name="x", plugins=(("p.py", b"1/0"),)), "p.py")],
)
def test_a_failed_run_is_a_result(configuration: SweepConfiguration, error: str) -> None:
    plan = plan_with(configuration)
    run = next(plan.runs())
    result = figures_of_run(run, plan.inputs[0], configuration, plan.options)
    assert error in result.error
    assert (result.run, result.figures) == (run, ())


def test_a_run_that_ends_with_any_exception_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(*_arguments: object, **_keywords: object) -> None:
        raise ZeroDivisionError("no nodes")

    monkeypatch.setattr("podwright.online.sweep.figures_of_run.simulate", simulate)
    plan = plan_with()
    run = next(plan.runs())
    result = figures_of_run(run, plan.inputs[0], plan.configurations[0], plan.options)
    assert result == RunFigures(run, (), "ZeroDivisionError: no nodes")


def test_the_runs_of_one_process_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_with(seeds=8)
    running, most = set[int](), []

    def simulate(*_: Any, configuration: Any, **__: Any) -> None:
        running.add(configuration.seed)
        time.sleep(0.01)
        most.append(len(running))
        running.discard(configuration.seed)
        raise ArgumentError("enough")

    monkeypatch.setattr("podwright.online.sweep.figures_of_run.simulate", simulate)
    both = plan.inputs[0], plan.configurations[0], plan.options
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda run: figures_of_run(run, *both), plan.runs())
    assert [result.error for result in results] == ["enough"] * 8
    assert max(most) == 1


def test_a_sweep_does_what_is_missing(client: Client, tmp_path: Path) -> None:
    plan = plan_with(SweepConfiguration(name="default"), REFUSING, BROKEN)
    dataset = SweepDataset(tmp_path)
    done = list(run_missing(plan, dataset, client))
    assert len(done) == 6
    assert not missing_runs(plan, dataset)
    assert len(missing_runs(plan, dataset, retries_failed=True)) == 2
    more = msgspec.structs.replace(plan, seeds=(0, 1, 2))
    assert {each.run.seed for each in run_missing(more, dataset, client)} == {2}
    assert not list(run_missing(more, dataset, client))

    summary = summarize_sweep(more, dataset.results(more.runs()))
    by_name = {(each.configuration, each.name): each for each in summary.figures}
    assert by_name["default", "placed"].value.mean == 1
    refusing = by_name["refusing", "placed"]
    assert refusing.change is not None
    assert (refusing.runs, refusing.change.mean, refusing.change.margin) == (3, -1, 0)
    assert len(summary.failed) == 3
    assert summary.missing == 0
    best = summary.best("placed", is_greatest=True)
    assert best is not None
    assert best.configuration == "default"
    assert summary.best("absent") is None


def test_runs_that_have_to_wait_for_a_worker_have_results_too(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_IN_FLIGHT_PER_WORKER", 1)
    plan = plan_with(seeds=5)
    found = [each.run.seed for each in run_missing(plan, SweepDataset(tmp_path), client)]
    assert sorted(found) == [0, 1, 2, 3, 4]


def test_a_sweep_connects_to_workers_only_for_what_is_missing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    @contextmanager
    def connected(**given: Any) -> Iterator[Client]:
        asked.append(given)
        yield client

    shown: list[Any] = []

    def metered(*given: Any) -> Any:
        shown.append(given)
        return nullcontext(SimpleNamespace(advance=shown.append))

    monkeypatch.setattr(execution, "workers", connected)
    monkeypatch.setattr(execution, "metered", metered)
    said: list[str] = []
    plan = plan_with(seeds=1)
    first = sweep(plan, output=tmp_path, worker_count=3, announce=said.append)
    assert asked == [{"address": "", "count": 3, "memory_bytes": None}]
    assert said == [f"1 runs; Dask's dashboard: {client.dashboard_link}"]
    assert not first.missing
    again = sweep(plan, output=tmp_path)
    assert len(asked) == 1
    assert again.figures == first.figures
    sweep(plan_with(BROKEN, seeds=1), output=tmp_path)
    assert len(asked) == 2
    sweep(plan_with(BROKEN, seeds=1), output=tmp_path, retries_failed=True)
    assert len(asked) == 3
    sweep(plan_with(seeds=3), output=tmp_path)
    assert shown == [*[("running", 1), 1] * 3, ("running", 2), 1, 2]


def test_the_cells_of_a_figure_have_its_unit() -> None:
    (wait,) = summary_of_rows(a=[1234.5, 1235.5]).figures
    assert figure_cells(wait)[:5] == ["small", "wait p99", "a", "2", "1,235s"]
    cells = {unit: figure_cells(wait._replace(unit=unit))[4] for unit in ("s", "pods", "share")}
    assert cells == {"s": "1,235s", "pods": "1,235", "share": "123500.00%"}


def test_results_are_written_at_once_and_read_back(tmp_path: Path) -> None:
    dataset = SweepDataset(tmp_path)
    run = SweepRun("id", "i", "c", 1)
    result = RunFigures(run, (("placed", "pods", 1.0),))
    dataset.add(result)
    assert [path.name for path in tmp_path.iterdir()] == ["id.parquet"]
    assert dataset.results([run, SweepRun("other", "i", "c", 2)]) == [result]
    query = f"SELECT figure, value FROM '{tmp_path}/*.parquet'"
    relation: Any = duckdb.sql(query)
    assert relation.fetchall() == [("placed", 1.0)]
    (tmp_path / "id.parquet").write_bytes(b"")
    with pytest.raises(SweepError, match="delete it"):
        dataset.results([run])


def test_no_scheduler_is_one_error() -> None:
    with (
        pytest.raises(SweepError, match=r"no Dask scheduler at tcp://127.0.0.1:9"),
        workers(address="tcp://127.0.0.1:9", connect_timeout="100ms"),
    ):
        pass


def test_workers_of_another_version_are_one_error(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.scheduler is not None
    address = client.scheduler.address
    assert address is not None
    monkeypatch.setattr(execution, "__version__", "0.0")
    found = (
        rf"1 of 1 workers have another version of podwright: .* has {__version__}, 0.0 is needed"
    )
    with (
        pytest.raises(SweepError, match=found),
        workers(address=address),
    ):
        pass


def test_a_full_disk_is_one_error_and_loses_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, dataset, written = plan_with(seeds=5), SweepDataset(tmp_path), Path.write_bytes

    def until_full(path: Path, content: bytes) -> int:
        count = written(path, content[: len(content) // 2])
        if len(dataset.finished()) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return count + written(path, content)

    monkeypatch.setattr(Path, "write_bytes", until_full)
    with pytest.raises(SweepError, match=r"No space left on device; finished runs have been kept"):
        list(run_missing(plan, dataset, client))
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.undo()
    assert len(list(run_missing(plan, dataset, client))) == 2
    assert not missing_runs(plan, dataset)


def test_two_clients_share_a_data_set(client: Client, tmp_path: Path) -> None:
    assert client.scheduler is not None
    plan, dataset = plan_with(seeds=12), SweepDataset(tmp_path)
    with Client(client.scheduler.address) as other, ThreadPoolExecutor() as pool:
        several = [pool.submit(list, run_missing(plan, dataset, each)) for each in (client, other)]
        first, second = (each.result() for each in several)
    assert {each.run for each in (*first, *second)} == set(plan.runs())
    assert len(list(tmp_path.iterdir())) == 12
    assert not missing_runs(plan, dataset)
    assert sorted(first) == sorted(dataset.results(each.run for each in sorted(first)))


def test_a_list_of_runs_and_a_function(tmp_path: Path) -> None:
    text = (
        "def plan():\n"
        "    grid = [{'name': str(at), 'config': {'percentageOfNodesToScore': at, 'kind':"
        " 'KubeSchedulerConfiguration', 'apiVersion': 'kubescheduler.config.k8s.io/v1'}}"
        " for at in (5, 50)]\n"
        "    return {'inputs': [{'name': 'a', 'files': ['nodes.yaml']}], 'configurations': grid,"
        " 'seeds': '0-9', 'runs': [{'configurations': ['50'], 'seeds': '1-2'}, {'seeds': '2'}]}\n"
    )
    (tmp_path / "nodes.yaml").write_bytes(NODES)
    path = tmp_path / "plan.py"
    path.write_text(text, encoding="utf-8")
    runs = [run[1:] for run in load_plan(path).runs()]
    assert runs == [("a", "50", 1), ("a", "50", 2), ("a", "5", 2)]
    for wrong, message in [
        ("plan = 1", "a function plan()"),
        ("1/0", "ZeroDivisionError"),
        ("int('x')", "plan.py: ValueError: invalid literal"),
    ]:
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            load_plan(path)


def test_a_recorded_run_is_an_input(tmp_path: Path) -> None:
    nodes = [pw.testing.make_node("n1", cpu=2)]
    events = [{"at": "10s", "apply": pw.testing.make_pod("late", cpu=1)}]
    pw.simulate(nodes, events=events, output=tmp_path / "run")
    document = {
        "inputs": [{"name": "recorded", "run": str(tmp_path / "run")}],
        "configurations": [{"name": "default"}],
    }
    plan = load_plan(document)
    result = figures_of_run(next(plan.runs()), plan.inputs[0], plan.configurations[0], plan.options)
    assert not result.error
    assert ("placed", "pods", 1.0) in result.figures


def test_pods_are_drawn_by_the_seed() -> None:
    pods = b"---".join(PODS.replace(b"web", b"p%d" % number) for number in range(6))
    given = SweepInput(name="few", objects=(("n.yaml", NODES), ("p.yaml", pods)), pods=2)
    drawn = {
        tuple(pod.name for pod in _drawn(load_bytes(given.objects), 2, seed).of(pw.Pod))
        for seed in range(8)
    }
    assert len(drawn) > 2
    assert all(len(set(names)) == 2 for names in drawn)
    plan = plan_with()
    too_many = msgspec.structs.replace(given, pods=7)
    result = figures_of_run(next(plan.runs()), too_many, plan.configurations[0], plan.options)
    assert result.error == "pods: 7 cannot be drawn of 6"


# ---------------------------------------------------------------- results


def summary_of_rows(**values: list[float | None]) -> SweepSummary:
    """Return a summary of the runs of configurations; None is a failed run."""
    plan = plan_with(*(SweepConfiguration(name=name) for name in values), seeds=2)
    results = [
        RunFigures(SweepRun(f"{name}{seed}", "small", name, seed), figures, error)
        for name, row in values.items()
        for seed, value in enumerate(row)
        for figures, error in [
            ((), "failed") if value is None else ((("wait p99", "s", value),), "")
        ]
    ]
    return summarize_sweep(plan, results)


def test_the_best_has_the_least_or_greatest_mean() -> None:
    summary = summary_of_rows(a=[2, 3], b=[1, 1])
    best = summary.best("wait p99")
    assert best is not None
    assert best.configuration == "b"
    assert best.change is not None
    assert best.change.mean == -1.5
    greatest = summary.best("wait p99", is_greatest=True)
    assert greatest is not None
    assert greatest.configuration == "a"


def test_a_configuration_that_failed_on_an_input_is_not_the_best() -> None:
    plan = msgspec.structs.replace(
        plan_with(SweepConfiguration(name="a"), SweepConfiguration(name="b"), seeds=1),
        inputs=(SweepInput(name="x"), SweepInput(name="y")),
    )
    rows = [("x", "a", 5.0), ("y", "a", 5.0), ("x", "b", 6.0)]
    summary = summarize_sweep(
        plan,
        [
            RunFigures(SweepRun(f"{i}{c}", i, c, 0), (("placed", "pods", value),))
            for i, c, value in rows
        ],
    )
    best = summary.best("placed")
    assert best is not None
    assert best.configuration == "a"


def test_runs_without_pods_of_a_kind_count_as_zero() -> None:
    rows = [(("pending: Insufficient cpu", "pods", 4.0),), (("placed", "pods", 1.0),)]
    summary = summarize_sweep(
        plan_with(),
        [RunFigures(SweepRun(str(i), "small", "default", i), row) for i, row in enumerate(rows)],
    )
    assert [each.value.mean for each in summary.figures if each.name != "placed"] == [2.0]


def test_results_as_frames() -> None:
    summary = summary_of_rows(a=[2, 3], b=[1, None])
    frame = summary.to_pandas()
    assert list(frame["value"][:3]) == [2, 3, 1]
    assert frame["error"].iloc[3] == "failed"
    assert summary.to_polars()["seed"].to_list() == [0, 1, 0, 1]
    array = summary.to_xarray()["wait p99"]
    assert array.attrs["units"] == "s"
    assert array.sel(input="small", configuration="a").values.tolist() == [2, 3]
    assert array.sel(configuration="b", seed=1).isnull().all()


def test_a_figure_and_a_page_have_the_numbers() -> None:
    summary = summary_of_rows(a=[2, 3], b=[1, None])
    panel, changes = summary.plot("wait p99").axes
    assert panel.get_xlabel() == "wait p99 (seconds)"
    assert [label.get_text() for label in panel.get_yticklabels()] == ["a", "b"]
    assert changes.get_xlabel() == "change from a (seconds)"
    content = sweep_page(summary, "A <sweep>")
    text = content.decode()
    assert content == sweep_page(summary, "A <sweep>")
    assert text.count("<svg") == 1
    assert "A &lt;sweep&gt;" in text
    assert "small,b,0,wait p99,s,1" in text
    (failed,) = text.partition("Failed runs")[2].partition("<tbody>")[2].split("</tr>")[:1]
    assert [cell.partition(">")[2].partition("<")[0] for cell in failed.split("<td")[1:]] == [
        "small",
        "b",
        "1",
        "failed",
    ]
    with pytest.raises(ArgumentError, match="no run has cpu; there are wait p99"):
        summary.plot("cpu")
    same = summary_of_rows(a=[2, 3], b=[2, 3])
    with pytest.raises(ArgumentError, match="no figure differs"):
        same.plot()
    assert b"No figure differs" in sweep_page(same, "same")


@pytest.mark.parametrize("text", ["", "+"])
def test_wrong_goals(text: str) -> None:
    with pytest.raises(ValueError, match="must be a figure, such as"):
        read_goal(text)


@pytest.mark.parametrize("text", ["", "pending", "pending < 5", "pending <= x", "<= 5"])
def test_wrong_constraints(text: str) -> None:
    with pytest.raises(ValueError, match="a bound of a figure"):
        read_constraint(text)


def test_constraints_are_bounds() -> None:
    most, least = read_constraint("pending <= 5"), read_constraint("cpu mean>=0.5")
    assert (most.excess(7), least.excess(0.25)) == (2, 0.25)
    assert [str(most), str(least)] == ["pending <= 5", "cpu mean >= 0.5"]
    assert [str(read_goal(text)) for text in ("+placed", "wait p99")] == ["+placed", "wait p99"]


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    plan = plan_with(seeds=30)
    dataset = SweepDataset(tmp_path / "killed")
    with workers(count=2) as client:
        victims = list(client.run(os.getpid).values())
        results = run_missing(plan, dataset, client)
        next(results)
        os.kill(victims[0], signal.SIGKILL)
        rest = list(results)
    assert len(rest) == 29
    summary = sweep(plan, tmp_path / "whole", worker_count=1)
    assert not summary.failed
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert names == {path.name for path in dataset.folder.iterdir()}
    assert all(
        (dataset.folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        for name in names
    )


@pytest.mark.slow
def test_the_bytes_of_results_are_the_same_on_threads_processes_and_tcp(
    client: Client, tmp_path: Path
) -> None:
    plan = plan_with(SweepConfiguration(name="default"), REFUSING, seeds=3)
    for _ in run_missing(plan, SweepDataset(tmp_path / "threads"), client):
        pass
    sweep(plan, tmp_path / "processes", worker_count=2)
    with dask_over_tcp(tmp_path, 2) as address:
        sweep(plan, tmp_path / "tcp", address=address)
    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("threads", "processes", "tcp")
    ]
    assert len(contents[0]) == 6
    assert contents[0] == contents[1] == contents[2]


@contextmanager
def dask_over_tcp(folder: Path, count: int) -> Iterator[str]:
    """Start `dask scheduler` and so many `dask worker` on loopback; yield the address."""
    dask, known = f"{sys.prefix}/bin/dask", folder / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard")
    commands = [
        (dask, "scheduler", *here, "--port", "0", "--scheduler-file", str(known)),
        *[(dask, "worker", *here, "--no-nanny", "--nthreads", "1", "--scheduler-file", str(known))]
        * count,
    ]
    with ExitStack() as started:
        for command in commands:
            process = started.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            started.callback(process.terminate)
        with Client(scheduler_file=known, timeout="120s") as client:
            client.wait_for_workers(count, timeout=120)
            assert client.scheduler is not None
            yield client.scheduler.address


@pytest.mark.slow
def test_a_killed_client_loses_only_what_was_running(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    (tmp_path / "small.yaml").write_bytes(NODES + b"---" + PODS)
    plan.write_text(
        "inputs: [{name: small, files: [small.yaml]}]\nconfigurations: [{name: c}]\nseeds: 0-59\n"
    )
    command = (f"{sys.prefix}/bin/podwright", "sweep", str(plan), "--jobs", "1", "--out")
    results = tmp_path / "results"
    with subprocess.Popen((*command, str(results)), stdout=subprocess.DEVNULL) as first:
        while not (results.is_dir() and any(results.glob("*.parquet"))):
            assert first.poll() is None
        first.kill()
    kept = {path.name: path.stat().st_mtime_ns for path in results.glob("*.parquet")}
    assert 0 < len(kept) < 60
    subprocess.run((*command, str(results)), check=True, stdout=subprocess.DEVNULL)
    after = {path.name: path.stat().st_mtime_ns for path in results.glob("*.parquet")}
    assert len(after) == 60
    assert after.items() >= kept.items(), "a finished run was run again"


def test_a_mean_of_one_run_has_no_interval() -> None:
    packed = str(EXAMPLES / "diff/packed.yaml")
    document = {
        "inputs": [{"name": "a", "files": [str(EXAMPLES / "quickstart")]}],
        "configurations": [
            {"name": "default"},
            {"name": "packed", "config": packed},
        ],
        "seeds": "3",
    }
    plan = load_plan(document)
    configurations = {each.name: each for each in plan.configurations}
    results = [
        figures_of_run(run, plan.inputs[0], configurations[run.configuration], plan.options)
        for run in plan.runs()
    ]
    summary = summarize_sweep(plan, results)
    differing = summary.differing()
    assert {each.name for each in differing} >= {"pods fragmented", "cpu fragmented"}
    assert not any(each.name == "created" for each in differing)
    (cells,) = (
        figure_cells(each)
        for each in differing
        if (each.name, each.configuration) == ("pods fragmented", "packed")
    )
    assert cells[5] == cells[7] == ""
    assert cells[6].startswith("+")
    assert summary.plot("pods fragmented") is not None
