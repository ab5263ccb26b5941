"""Plans, runs and results of sweeps; with workers in threads, and once with processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from distributed import Client, LocalCluster

from podwright.apimachinery.objects import InputError
from podwright.online.sweep import (
    Files,
    RunFigures,
    SweepConfiguration,
    SweepDataset,
    SweepError,
    SweepInput,
    SweepPlan,
    SweepRun,
    figures_of_run,
    load_plan,
    missing_runs,
    read_plan,
    read_seeds,
    run_missing,
    summarize_sweep,
    sweep,
    workers,
)

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


def nothing(_: object) -> Files:
    return ()


def test_the_mistakes_of_a_plan_come_together() -> None:
    text = (
        "inputs: [{name: a, files: [x]}, {name: a}, {fils: []}]\n"
        "configurations: []\nseeds: 9-1\nsimulate: {openbGpus: all}\n"
    )
    with pytest.raises(InputError) as caught:
        read_plan(text, source="plan.yaml", read=nothing)
    assert [(error.path, error.message.split(": ")[0]) for error in caught.value.errors] == [
        ("inputs[2].fils", 'unknown field "fils"; did you mean "files"?'),
        ("inputs[1].name", "Duplicate value"),
        ("inputs[2].name", "Required value"),
        ("configurations", "Required value"),
        ("inputs[1].files", "Required value"),
        ("inputs[2].files", "Required value"),
        ("simulate.openbGpus", "Unsupported value"),
        ("seeds", "Invalid value"),
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


def test_a_scenario_has_its_files_and_options() -> None:
    text = "inputs: [{name: s, scenario: s.yaml, files: [f]}]\nconfigurations: [{name: a}]\n"
    with pytest.raises(InputError) as raised:
        read_plan(f"{text}simulate: {{until: 1h}}", source="plan.yaml", read=nothing)
    assert [error.path for error in raised.value.errors] == ["inputs[0].scenario"] * 2


@pytest.mark.parametrize(
    ("configuration", "error"),
    [(BROKEN, "wrong.yaml"), (SweepConfiguration(name="x", plugins=(("p.py", b"1/0"),)), "p.py")],
)
def test_a_failed_run_is_a_result(configuration: SweepConfiguration, error: str) -> None:
    plan = plan_with(configuration)
    run = next(plan.runs())
    result = figures_of_run(run, plan.inputs[0], configuration, plan.options)
    assert error in result.error
    assert not result.figures


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


def test_results_are_written_at_once_and_read_back(tmp_path: Path) -> None:
    dataset = SweepDataset(tmp_path)
    run = SweepRun("id", "i", "c", 1)
    result = RunFigures(run, (("placed", "pods", 1.0),))
    dataset.add(result)
    assert [path.name for path in tmp_path.iterdir()] == ["id.parquet"]
    assert dataset.results([run, SweepRun("other", "i", "c", 2)]) == [result]
    (tmp_path / "id.parquet").write_bytes(b"")
    with pytest.raises(SweepError, match="delete it"):
        dataset.results([run])


def test_no_scheduler_is_one_error() -> None:
    with (
        pytest.raises(SweepError, match=r"no Dask scheduler at tcp://127.0.0.1:9"),
        workers(address="tcp://127.0.0.1:9", connect_timeout="100ms"),
    ):
        pass


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
