"""Plans, trials and evidence of tunings, with a worker in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from math import inf
from pathlib import Path
from shutil import copy
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from distributed import Client, LocalCluster

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.online.sweep import RunFigures, SweepDataset, SweepError, read_goal
from podwright.online.sweep.figures_of_run import figures_of_run
from podwright.online.sweep.plan import SweepRun
from podwright.online.sweep.tuning import load_tuning_plan, tuning
from podwright.online.sweep.tuning.evidence import Comparison, TunedTrial, evidence_of
from podwright.online.sweep.tuning.search_space import with_values
from podwright.simulation.studies import Interval

NODES = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
PODS = "---".join(
    f"""
apiVersion: v1
kind: Pod
metadata: {{name: p{number}}}
spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}
"""
    for number, cpu in enumerate([1, 1, 3, 1])
)
STRATEGY = "args.NodeResourcesFit.scoringStrategy"


def document(folder: Path, **tune: Any) -> dict[str, Any]:
    """Return a plan for two nodes; packing leaves room for the large pod."""
    (folder / "nodes.yaml").write_text(NODES, encoding="utf-8")
    (folder / "pods.yaml").write_text(PODS, encoding="utf-8")
    parameters = {
        f"{STRATEGY}.type": {"choices": ["LeastAllocated", "MostAllocated"]},
        "weights.NodeResourcesBalancedAllocation": {"low": 0, "high": 3},
    }
    return {
        "inputs": [
            {
                "name": "four",
                "files": [str(folder / "nodes.yaml"), str(folder / "pods.yaml")],
                "pods": 3,
            }
        ],
        "configurations": [{"name": "today"}],
        "seeds": "0-1",
        "simulate": {"until": "30s"},
        "goals": ["+placed"],
        "tune": {"trials": 4, "batch": 2, "heldOutSeeds": "5-6", "parameters": parameters, **tune},
    }


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, Client(cluster) as connected:
        yield connected


def tuned(
    given: dict[str, Any], folder: Path, client: Client, *, batches: int = 99
) -> tuning._Tuning:
    """Return a tuning of which so many batches are done."""
    folder.mkdir(exist_ok=True)
    plan = load_tuning_plan(given)
    storage = tuning._storage(folder / "tuning.db")
    made = tuning._Tuning(plan, storage, SweepDataset(folder / "runs"), client)
    for done, _ in enumerate(made.batches()):
        if done == batches:
            break
    return made


# ---------------------------------------------------------------- plans


def test_the_mistakes_of_a_tuning_come_together(tmp_path: Path) -> None:
    given = document(tmp_path, trials=0, sampler="best", constraints=["few"], heldOutSeeds="1-2")
    given["goals"] = []
    given["tune"]["parameters"] = {
        "weights.NodeResourcesFit": {"low": 3, "high": 1},
        "args.NodeResourcesFit": {"choices": []},
        "percentageOfNodesToScore": {"low": "a", "high": 5},
    }
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    assert [error.path for error in caught.value.errors] == [
        "tune.sampler",
        "tune.parameters[weights.NodeResourcesFit].high",
        "tune.parameters[args.NodeResourcesFit].choices",
        "tune.parameters[percentageOfNodesToScore].low",
        "goals",
        "tune.trials",
        "tune.heldOutSeeds",
        "tune.constraints[0]",
    ]
    with pytest.raises(InputError, match="tune: Required value"):
        load_tuning_plan({**given, "tune": None})


@pytest.mark.parametrize(
    ("pruner", "goals", "expected"),
    [
        (None, ["+placed"], "median"),
        ("halving", ["+placed"], "halving"),
        ("none", ["+placed"], "none"),
        (None, ["+placed", "wait p99"], "none"),
        ("none", ["+placed", "wait p99"], "none"),
        ("median", ["+placed", "wait p99"], None),
    ],
)
def test_trials_with_one_goal_are_pruned(
    tmp_path: Path, pruner: str | None, goals: list[str], expected: str | None
) -> None:
    given = document(tmp_path, **({"pruner": pruner} if pruner else {})) | {"goals": goals}
    if expected is not None:
        assert load_tuning_plan(given).pruner == expected
        return
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    assert [(each.path, each.message) for each in caught.value.errors] == [
        (
            "tune.pruner",
            'Invalid value: "median": trials with several goals are not pruned',
        )
    ]


def test_values_that_make_a_configuration_invalid_are_named(tmp_path: Path) -> None:
    given = document(tmp_path)
    given["tune"]["parameters"] = {
        "weight.NodeResourcesFit": {"low": 0, "high": 1},
        "weights.Absent": {"low": 0, "high": 1},
        "percentageOfNodesToScore": {"low": 5, "high": 105},
        f"{STRATEGY}.type": {"choices": ["LeastAllocated", "Smallest"]},
        f"{STRATEGY}.resources[9].weight": {"low": 1, "high": 2},
    }
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    errors = {error.path.split("[", 1)[1]: error.message for error in caught.value.errors}
    assert "is neither percentageOfNodesToScore" in errors["weight.NodeResourcesFit]"]
    assert "Absent" in errors["weights.Absent]"]
    assert "105" in errors["percentageOfNodesToScore]"]
    assert "Smallest" in errors[f"{STRATEGY}.type]"]
    assert "the list has 2 entries" in errors[f"{STRATEGY}.resources[9].weight]"]


def test_values_change_their_fields_in_every_profile() -> None:
    base = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}
    values = {
        "weights.NodeAffinity": 7,
        "weights.ImageLocality": 0,
        "percentageOfNodesToScore": 40,
        "args.Own.list[cpu].weight": 3,
    }
    for profile in with_values(base, values)["profiles"]:
        assert profile["plugins"]["score"] == {
            "enabled": [{"name": "NodeAffinity", "weight": 7}],
            "disabled": [{"name": "ImageLocality"}],
        }
        assert profile["percentageOfNodesToScore"] == 40
        args = {"list": [{"name": "cpu", "weight": 3}]}
        assert profile["pluginConfig"] == [{"name": "Own", "args": args}]
    assert base["profiles"][0] == {"schedulerName": "a"}


# ---------------------------------------------------------------- trials


def test_an_interrupted_tuning_has_the_trials_of_a_whole_one(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = document(tmp_path)
    whole = tuned(given, tmp_path / "whole", client).result()
    assert [trial.state for trial in whole.trials].count("complete") >= 1
    tuned(given, tmp_path / "parts", client, batches=1)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tuning._Tuning, "_tell", stop)
        with pytest.raises(KeyboardInterrupt):
            tuned(given, tmp_path / "parts", client)
    parts = tuned(given, tmp_path / "parts", client).result()
    assert parts.document() == whole.document()
    parts.write(tmp_path)
    written = yaml.safe_load((tmp_path / "best.yaml").read_text(encoding="utf-8"))
    assert pw.read_configuration(written, source="best.yaml").profiles
    page = parts.page("Tuned").decode()
    assert page.count("<svg") == 2
    assert "What is worse" in page
    with pytest.raises(SweepError, match="the tuning of another plan"):
        tuned(document(tmp_path, seed=1), tmp_path / "parts", client)


def test_several_goals_have_a_front_and_constraints_exclude(client: Client, tmp_path: Path) -> None:
    given = document(tmp_path, constraints=["placed >= 99"], sampler="nsga2")
    given["goals"] = ["+placed", "cpu fragmented"]
    made = tuned(given, tmp_path / "none", client)
    made.check_figures()
    result = made.result()
    assert (result.best, result.front, result.configuration) == (None, (), None)
    assert list(result.sentences()) == ["No trial satisfies the constraints."]
    given["tune"]["constraints"] = []
    result = tuned(given, tmp_path / "some", client).result()
    assert result.best in result.front
    assert {each.goal.figure for each in result.comparisons} == {"placed", "cpu fragmented"}


@pytest.mark.parametrize(("goal", "best"), [("wait p99", 2), ("+wait p99", 1)])
def test_the_best_of_a_front_is_that_of_the_first_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goal: str, best: int
) -> None:
    given = document(tmp_path)
    given["goals"] = [goal, "cpu fragmented"]
    trials = [
        TunedTrial(number, {}, "complete", (mean, 0.0), True)
        for number, mean in enumerate([5.0, 9.0, 3.0, 1.0])
    ]
    study = SimpleNamespace(
        get_trials=lambda **_: trials, best_trials=[SimpleNamespace(number=n) for n in (2, 0, 1)]
    )
    monkeypatch.setattr(tuning, "_study", lambda *_: study)
    monkeypatch.setattr(tuning, "_trial", lambda _, trial: trial)
    monkeypatch.setattr(tuning._Tuning, "_run", lambda *_: [])
    monkeypatch.setattr(tuning, "evidence_of", lambda *given: given[2:4])
    nothing = cast(Any, None)
    made: Any = tuning._Tuning(load_tuning_plan(given), nothing, SweepDataset(tmp_path), nothing)
    assert made.result() == ([0, 1, 2], best)


def test_a_tuning_of_a_file_is_written_into_its_folder(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "workers", lambda **_: nullcontext(client))
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(document(tmp_path, trials=1, batch=1)), encoding="utf-8")
    result = pw.tune(plan, output=tmp_path / "out")
    assert len(result.trials) == 1
    assert (tmp_path / "out" / "best.yaml").exists()


def test_a_goal_that_no_run_has_is_named(client: Client, tmp_path: Path) -> None:
    given = document(tmp_path)
    given["goals"] = ["+palced"]
    with pytest.raises(SweepError, match="no run has palced; there are created"):
        tuned(given, tmp_path / "a", client, batches=0).check_figures()


# ---------------------------------------------------------------- evidence


def test_the_evidence_says_what_is_worse(tmp_path: Path) -> None:
    plan = load_tuning_plan(document(tmp_path))
    trial = TunedTrial(0, {f"{STRATEGY}.type": "MostAllocated"}, "complete", (3.0,), True)
    rows = {"today": [(2.0, 5.0), (2.0, 6.0)], "tuned": [(3.0, 9.0), (3.0, 10.0)]}
    results = [
        RunFigures(
            SweepRun(f"{name}{seed}", "four", name, seed),
            (("placed", "pods", placed), ("wait p99", "s", wait)),
        )
        for name, values in rows.items()
        for seed, (placed, wait) in zip((5, 6), values, strict=True)
    ]
    result = evidence_of(plan, [trial], [0], 0, results)
    assert [each.verdict for each in result.comparisons] == ["better"]
    assert [each.name for each in result.worse] == ["wait p99"]
    assert "It makes worse: wait p99." in list(result.sentences())
    assert result.placements is not None
    assert result.document()["placements"] == {
        "pods": len(result.placements.placements),
        "different": len(result.placements.differences),
        "counts": result.placements.counts,
    }


@pytest.mark.parametrize(
    ("mean", "margin", "runs", "verdict"),
    [
        pytest.param(1.0, 0.5, 4, "better", id="more than the margin"),
        pytest.param(-1.0, 0.5, 4, "worse", id="less"),
        pytest.param(1.0, 1.5, 4, "no difference", id="zero is in the interval"),
        pytest.param(1.0, inf, 1, "no difference", id="one run says nothing"),
    ],
)
def test_verdicts(mean: float, margin: float, runs: int, verdict: str) -> None:
    comparison = Comparison("i", "o", read_goal("+placed"), runs, Interval(mean, 0.0, margin))
    assert comparison.verdict == verdict


def test_the_plan_of_the_openb_trace_runs_on_its_tables(tmp_path: Path) -> None:
    examples = Path(__file__).parents[6] / "examples"
    for name in ("plan.py", "policies.py"):
        copy(examples / "tune-openb" / name, tmp_path)
    tables = tmp_path / "openb"
    tables.mkdir()
    copy(examples / "gpu-trace/nodes.csv", tables / "openb_node_list_gpu_node.csv")
    copy(examples / "gpu-trace/pods.csv", tables / "openb_pod_list_default.csv")
    plan = load_tuning_plan(tmp_path / "plan.py").sweep
    configurations = {each.name: each for each in plan.configurations}
    assert list(configurations) == ["default", "fgd", "bestFit", "packing", "dotProduct"]
    for run in (each for each in plan.runs() if each.seed == 0):
        given = configurations[run.configuration]
        result = figures_of_run(run, plan.inputs[0], given, plan.options)
        figures = {name: value for name, _, value in result.figures}
        assert not result.error
        assert "pending: SchedulerError" not in figures
        assert 0.1 < figures["alibabacloud.com/gpu-milli peak"] <= 1


class Reports:
    """A trial that keeps what it reports, and is pruned if its last value is above a limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.reported: list[tuple[float, int]] = []

    def report(self, value: float, step: int) -> None:
        self.reported.append((value, step))

    def should_prune(self) -> bool:
        return self.reported[-1][0] > self.limit


@pytest.mark.parametrize(
    ("figures", "limit", "step", "decision", "reported"),
    [
        ([4.0], 5.0, 0, None, [(4.0, 0)]),
        ([4.0, 7.0], 5.0, 1, {"state": "pruned", "means": {"pending": 5.5}}, [(5.5, 1)]),
        ([4.0, 7.0, 1.0], 0.0, 2, {"state": "complete", "means": {"pending": 4.0}}, []),
        # A figure that no run has is none: 0.
        ([], 0.0, 0, None, [(0.0, 0)]),
        ([], -1.0, 1, {"state": "pruned", "means": {}}, [(0.0, 1)]),
    ],
)
def test_a_trial_is_pruned_by_the_mean_of_its_first_goal(
    figures: list[float],
    limit: float,
    step: int,
    decision: dict[str, Any] | None,
    reported: list[tuple[float, int]],
) -> None:
    found = object.__new__(tuning._Tuning)
    sweep = SimpleNamespace(seeds=(1, 2, 3))
    found._plan = cast(Any, SimpleNamespace(sweep=sweep, goals=[read_goal("pending")]))
    run = SweepRun(id="0", input="i", configuration="c", seed=1)
    results = [RunFigures(run, (("pending", "", value),)) for value in figures]
    trial = Reports(limit)
    assert found._decision(cast(Any, trial), results, step) == decision
    assert trial.reported == reported
