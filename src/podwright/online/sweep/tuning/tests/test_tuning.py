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
from optuna import pruners, samplers
from optuna.distributions import IntDistribution
from optuna.storages import InMemoryStorage

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.online.sweep import RunFigures, SweepDataset, SweepError, read_goal
from podwright.online.sweep.figures_of_run import figures_of_run
from podwright.online.sweep.goals import read_constraint
from podwright.online.sweep.plan import SweepRun
from podwright.online.sweep.tuning import load_tuning_plan, tuning
from podwright.online.sweep.tuning.evidence import Comparison, TunedTrial, evidence_of
from podwright.online.sweep.tuning.search_space import Parameter, with_values
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


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("trials", 0, ("tune.trials", "Invalid value: 0: must be at least 1")),
        ("batch", 0, ("tune.batch", "Invalid value: 0: must be at least 1")),
        (
            "heldOutSeeds",
            "0,5",
            (
                "tune.heldOutSeeds",
                'Invalid value: "0,5": the trials have the seed 0, too; use others',
            ),
        ),
        (
            "heldOutSeeds",
            "",
            ("tune.heldOutSeeds", "Required value: must be seeds, such as 0-9 or 1,5,7"),
        ),
        (
            "constraints",
            ["placed >= 1", "few"],
            (
                "tune.constraints[1]",
                "Invalid value: \"few\": must be a bound of a figure, such as 'pending <= 5'",
            ),
        ),
    ],
)
def test_each_mistake_of_a_tuning_has_its_path(
    tmp_path: Path, field: str, value: Any, expected: tuple[str, str]
) -> None:
    with pytest.raises(InputError) as caught:
        load_tuning_plan(document(tmp_path, **{field: value}))
    assert [(each.path, each.message) for each in caught.value.errors] == [expected]


def test_a_tuning_has_goals_and_no_list_of_runs(tmp_path: Path) -> None:
    given = document(tmp_path) | {"goals": [], "runs": [{"seeds": "1"}]}
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    assert [(each.path, each.message) for each in caught.value.errors] == [
        ("goals", "Required value"),
        ("runs", "Forbidden: a trial has all inputs and seeds"),
    ]


def test_a_configuration_that_cannot_be_assembled_is_not_tuned(tmp_path: Path) -> None:
    wrong = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Absent"}]}}}],
    }
    given = document(tmp_path) | {"configurations": [{"name": "today", "config": wrong}]}
    given["tune"]["parameters"] = {"unknown": {"low": 0, "high": 1}}
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    (error,) = caught.value.errors
    assert error.path == "configurations[0].config"
    assert 'FilterPlugin "Absent" does not exist' in error.message


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"goals": []}, ["goals"]),
        ({"goals": [], "configurations": []}, ["configurations", "goals"]),
        ({}, ["tune.parameters[unknown]"]),
    ],
)
def test_parameters_are_looked_up_in_the_configuration_of_a_plan_without_mistakes(
    tmp_path: Path, changed: dict[str, Any], expected: list[str]
) -> None:
    given = document(tmp_path) | changed
    given["tune"]["parameters"] = {"unknown": {"low": 0, "high": 1}}
    with pytest.raises(InputError) as caught:
        load_tuning_plan(given)
    assert [error.path for error in caught.value.errors] == expected


def test_a_plan_has_the_settings_of_its_section_and_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        yaml.safe_dump(document(tmp_path, dump=["nodes.yaml"])), encoding="utf-8"
    )
    plan = load_tuning_plan(tmp_path / "plan.yaml")
    names = ("trials", "batch", "sampler", "pruner", "seed", "held_out", "constraints")
    assert [getattr(plan, name) for name in names] == [4, 2, "tpe", "median", 0, (5, 6), ()]
    assert [Path(name).name for name, _ in plan.dump] == ["nodes.yaml"]
    given = document(tmp_path, seed=3, sampler="random", constraints=["wait p99 <= 5"])
    del given["tune"]["trials"], given["tune"]["batch"]
    plan = load_tuning_plan(given)
    assert [getattr(plan, name) for name in names] == [
        50, 1, "random", "median", 3, (5, 6), (read_constraint("wait p99 <= 5"),),
    ]  # fmt: skip
    assert plan.dump == ()
    assert [each.name for each in plan.parameters] == [
        f"{STRATEGY}.type",
        "weights.NodeResourcesBalancedAllocation",
    ]
    assert plan.base["profiles"][0]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(
    ("plan", "tune", "is_other"),
    [
        pytest.param({}, {"trials": 9}, False, id="more trials"),
        pytest.param({}, {"heldOutSeeds": "7"}, False, id="other held-out seeds"),
        pytest.param({}, {"dump": ["nodes.yaml"]}, False, id="another dump"),
        pytest.param({}, {"batch": 1}, True, id="the batch"),
        pytest.param({}, {"seed": 1}, True, id="the seed"),
        pytest.param({}, {"sampler": "random"}, True, id="the sampler"),
        pytest.param({}, {"pruner": "none"}, True, id="the pruner"),
        pytest.param({}, {"constraints": ["placed >= 1"]}, True, id="constraints"),
        pytest.param(
            {},
            {"parameters": {f"{STRATEGY}.type": {"choices": ["LeastAllocated"]}}},
            True,
            id="ranges",
        ),
        pytest.param({"goals": ["placed"]}, {}, True, id="goals"),
        pytest.param({"seeds": "0"}, {}, True, id="seeds of trials"),
        pytest.param(
            {"configurations": [{"name": "today", "config": "half.yaml"}]}, {}, True, id="the base"
        ),
    ],
)
def test_a_tuning_is_another_one_if_its_trials_depend_on_what_changed(
    tmp_path: Path, plan: dict[str, Any], tune: dict[str, Any], is_other: bool
) -> None:
    (tmp_path / "half.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 50\n"
    )
    path = tmp_path / "plan.yaml"
    digests = []
    for changed in (document(tmp_path), document(tmp_path, **tune) | plan):
        path.write_text(yaml.safe_dump(changed), encoding="utf-8")
        digests.append(load_tuning_plan(path).digest)
    assert (digests[0] != digests[1]) is is_other


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


@pytest.mark.parametrize(
    ("goals", "front", "best"),
    [
        (["wait p99", "cpu fragmented"], [0, 1, 2], 2),
        (["+wait p99", "cpu fragmented"], [0, 1, 2], 1),
        # Of one goal, the trials that share the best value are no front: the first one is best.
        (["wait p99"], [0], 0),
        (["+wait p99"], [0], 0),
    ],
)
def test_the_best_of_a_front_is_that_of_the_first_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goals: list[str], front: list[int], best: int
) -> None:
    given = document(tmp_path)
    given["goals"] = goals
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
    assert made.result() == (front, best)


def test_a_tuning_of_a_file_is_written_into_its_folder(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    shown: list[Any] = []

    def connected(**given: Any) -> Any:
        asked.append(given)
        return nullcontext(client)

    def metered(*given: Any, is_shown: bool | None) -> Any:
        shown.append((*given, is_shown))
        return nullcontext(SimpleNamespace(advance=shown.append))

    monkeypatch.setattr(tuning, "workers", connected)
    monkeypatch.setattr(tuning, "metered", metered)
    said: list[str] = []
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(document(tmp_path, trials=1, batch=1)), encoding="utf-8")
    options: dict[str, Any] = {
        "worker_count": 3, "memory_bytes": 5, "progress": True, "announce": said.append,
    }  # fmt: skip
    result = pw.tune(plan, output=tmp_path / "out", **options)
    assert len(result.trials) == 1
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "best.yaml", "evidence.json", "runs", "tuning.db",
    }  # fmt: skip
    assert asked == [{"address": "", "count": 3, "memory_bytes": 5}]
    assert said == [f"1 trials; Dask's dashboard: {client.dashboard_link}"]
    assert shown == [("tuning", 1, True), 0, 1]
    # A plan that was read already, with nothing left to run but what is there.
    again = pw.tune(load_tuning_plan(plan), output=tmp_path / "out")
    assert again.document() == result.document()
    assert shown[3:] == [("tuning", 1, None), 1]


def test_a_goal_that_no_run_has_is_named(client: Client, tmp_path: Path) -> None:
    given = document(tmp_path)
    given["goals"] = ["+palced"]
    with pytest.raises(SweepError, match="no run has palced; there are created"):
        tuned(given, tmp_path / "a", client, batches=0).check_figures()


@pytest.mark.parametrize(
    ("results", "message"),
    [
        pytest.param([(("placed", "pods", 1.0), ("wait", "s", 2.0))], None, id="all are there"),
        pytest.param(
            [(("placed", "pods", 1.0),), (("wait", "s", 2.0),)],
            None,
            id="each in the run of some input",
        ),
        pytest.param(
            [(("placed", "pods", 1.0), ("cpu", "share", 2.0))],
            "goals: no run has wait; there are placed, cpu",
            id="a constraint has a figure, too",
        ),
        pytest.param(
            [(("wait", "s", 1.0),)], "goals: no run has placed; there are wait", id="a goal"
        ),
        pytest.param(["no such node"], "today cannot be run: no such node", id="a run that fails"),
    ],
)
def test_the_figures_of_goals_and_constraints_are_looked_for_in_one_run_of_each_input(
    results: list[Any], message: str | None
) -> None:
    ran: list[tuple[Any, ...]] = []
    found = object.__new__(tuning._Tuning)
    sweep = SimpleNamespace(configurations=["today", "other"], seeds=(7, 8))
    constraints = [read_constraint("wait <= 5"), read_constraint("pending: Insufficient cpu <= 5")]
    goals = [read_goal("+placed"), read_goal("pending: no node")]
    plan = SimpleNamespace(sweep=sweep, goals=goals, constraints=constraints)
    found._plan = cast(Any, plan)
    run = SweepRun("0", "i", "today", 7)

    def runs(*given: Any) -> list[RunFigures]:
        ran.append(given)
        return [
            RunFigures(run, (), each) if isinstance(each, str) else RunFigures(run, each)
            for each in results
        ]

    found._run = runs  # type: ignore[method-assign,assignment]
    if message is None:
        found.check_figures()
    else:
        with pytest.raises(SweepError) as raised:
            found.check_figures()
        assert str(raised.value) == message
    assert ran == [(["today"], (7,))]


class Decided:
    """A trial with its number, what becomes of it, and what is set."""

    def __init__(self, number: int, decision: dict[str, Any] | None = None) -> None:
        self.number = number
        self.user_attrs: dict[str, Any] = {} if decision is None else {"decision": decision}
        self.params = {"p": number, "c": f'"{number}"', "unknown": 0}
        self.constraints: dict[str, float] = {}

    def set_user_attr(self, name: str, value: Any) -> None:
        self.user_attrs[name] = value

    def set_constraint(self, name: str, excess: float) -> None:
        self.constraints[name] = excess


def test_the_trials_of_a_batch_are_run_seed_by_seed_until_they_are_decided() -> None:
    ran: list[tuple[Any, ...]] = []
    asked: list[tuple[int, list[float], int]] = []
    found = object.__new__(tuning._Tuning)
    plan = SimpleNamespace(
        sweep=SimpleNamespace(seeds=(5, 6, 7)), candidate=lambda name, values: f"{name}: {values}"
    )
    found._plan = cast(Any, plan)
    ends = {0: 2, 1: 0, 3: 1}
    trials = [Decided(0), Decided(1), Decided(2, {"state": "kept"}), Decided(3)]

    def runs(configurations: Any, seeds: Any) -> list[RunFigures]:
        ran.append((configurations, seeds))
        names = [each.split(": ")[0] for each in configurations]
        return [
            RunFigures(SweepRun(f"{name} {i}", i, name, seeds[0]), (("f", "", float(seeds[0])),))
            for i in "xy"
            for name in names
        ]

    def decision(trial: Any, results: Any, step: int) -> Any:
        asked.append((trial.number, [each.figures[0][2] for each in results], step))
        return {"state": f"step {step}"} if ends[trial.number] == step else None

    found._run = runs  # type: ignore[method-assign]
    found._decision = decision  # type: ignore[method-assign]
    found._values = lambda trial: trial.number  # type: ignore[method-assign,assignment,return-value]
    found._decide(cast(Any, trials))
    assert ran == [
        (["trial 0: 0", "trial 1: 1", "trial 3: 3"], [5]),
        (["trial 0: 0", "trial 3: 3"], [6]),
        (["trial 0: 0"], [7]),
    ]
    assert asked == [
        (0, [5, 5], 0), (1, [5, 5], 0), (3, [5, 5], 0),
        (0, [5, 5, 6, 6], 1), (3, [5, 5, 6, 6], 1),
        (0, [5, 5, 6, 6, 7, 7], 2),
    ]  # fmt: skip
    assert [each.user_attrs["decision"]["state"] for each in trials] == [
        "step 2", "step 0", "kept", "step 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("decision", "reported", "constraints"),
    [
        pytest.param(
            {"state": "complete", "means": {"wait": 7.0, "placed": 3.0}},
            {"values": [3.0, 0.0]},
            {"wait <= 5": 2.0, "cpu >= 1": 1.0},
            id="a figure without a value is 0",
        ),
        pytest.param(
            {"state": "pruned", "means": {"placed": 3.0}}, {"state": "PRUNED"}, {}, id="pruned"
        ),
        pytest.param({"state": "failed", "error": "no"}, {"state": "FAIL"}, {}, id="failed"),
    ],
)
def test_the_study_gets_the_goals_and_constraints_of_a_complete_trial(
    decision: dict[str, Any], reported: dict[str, Any], constraints: dict[str, float]
) -> None:
    calls: list[Any] = []

    def tell(_: Any, values: Any = None, state: Any = None) -> None:
        given = {"values": values, "state": state and state.name}
        calls.append({name: value for name, value in given.items() if value is not None})

    found = object.__new__(tuning._Tuning)
    bounds = [read_constraint("wait <= 5"), read_constraint("cpu >= 1")]
    plan = SimpleNamespace(goals=[read_goal("+placed"), read_goal("cpu")], constraints=bounds)
    found._plan = cast(Any, plan)
    found._study = cast(Any, SimpleNamespace(tell=tell))
    trial = Decided(0, decision)
    found._tell(cast(Any, trial))
    assert calls == [reported]
    assert trial.constraints == constraints


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        pytest.param(
            {"state": "complete", "means": {"placed": 3.0, "wait": 5.0}},
            ("complete", (3.0, 0.0), True),
            id="a bound that is reached is allowed",
        ),
        pytest.param(
            {"state": "pruned", "means": {"placed": 3.0, "wait": 5.5}},
            ("pruned", (3.0, 0.0), False),
            id="a bound that is broken",
        ),
        pytest.param({"state": "failed", "error": "no"}, ("failed", (), True), id="without means"),
        pytest.param(None, ("failed", (), True), id="never decided"),
    ],
)
def test_a_trial_of_the_study_is_one_of_the_result(
    decision: dict[str, Any] | None, expected: tuple[str, tuple[float, ...], bool]
) -> None:
    parameters = (Parameter("p", 0, 9), Parameter("c", choices=("3", "4")), Parameter("new", 0, 1))
    plan = SimpleNamespace(
        parameters=parameters,
        goals=[read_goal("+placed"), read_goal("cpu")],
        constraints=[read_constraint("wait <= 5")],
    )
    found = tuning._trial(cast(Any, plan), Decided(3, decision))
    assert found == TunedTrial(3, {"p": 3, "c": "3"}, *expected)


def test_the_sampler_of_a_trial_has_the_seed_of_its_number() -> None:
    drawn = [
        [
            tuning._sampler(cast(Any, SimpleNamespace(sampler="random", seed=seed)), number)
            .sample_independent(cast(Any, None), cast(Any, None), "p", IntDistribution(0, 10**9))
            for number in (0, 1, 1_000_003)
        ]
        for seed in (0, 1)
    ]  # fmt: skip
    assert drawn[0][2] == drawn[1][0], "the seeds of two samplers are far apart"
    assert len({*drawn[0], *drawn[1]}) == 5
    kinds = {"tpe": samplers.TPESampler, "nsga2": samplers.NSGAIISampler}
    for name, kind in kinds.items():
        plan = SimpleNamespace(sampler=name, seed=2**32 - 1)
        assert type(tuning._sampler(cast(Any, plan), 5)) is kind


@pytest.mark.parametrize(
    ("pruner", "goals", "kind", "directions"),
    [
        ("median", ["placed"], pruners.MedianPruner, ["MINIMIZE"]),
        ("halving", ["+placed"], pruners.SuccessiveHalvingPruner, ["MAXIMIZE"]),
        ("none", ["wait", "+placed"], pruners.NopPruner, ["MINIMIZE", "MAXIMIZE"]),
    ],
)
def test_the_study_of_a_folder_is_that_of_one_plan(
    pruner: str, goals: list[str], kind: type, directions: list[str]
) -> None:
    plan = SimpleNamespace(pruner=pruner, goals=[read_goal(each) for each in goals], digest="one")
    storage = InMemoryStorage()
    for _ in range(2):
        study = tuning._study(cast(Any, plan), storage, Path("out/runs"))
        assert type(study.pruner) is kind
        assert [each.name for each in study.directions] == directions
    plan.digest = "two"
    with pytest.raises(SweepError) as raised:
        tuning._study(cast(Any, plan), storage, Path("out/runs"))
    assert str(raised.value) == (
        "out has the tuning of another plan: only the number of trials, the held-out seeds and the"
        " dump may change; name another folder"
    )


def test_what_workers_have_of_a_trial_is_forgotten_and_of_inputs_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_tuning_plan(document(tmp_path))
    asked: list[tuple[Any, ...]] = []

    def run_missing(part: Any, dataset: Any, client: Any, *, sent: dict[str, Any]) -> Iterator[int]:
        asked.append(([each.name for each in part.configurations], part.seeds, client))
        sent.update(dict.fromkeys([each.digest for each in (*part.inputs, *part.configurations)]))
        for run in part.runs():
            dataset.add(RunFigures(run, (("placed", "pods", 1.0),)))
            yield 0

    monkeypatch.setattr(tuning, "run_missing", run_missing)
    found = object.__new__(tuning._Tuning)
    found._plan, found._dataset = plan, SweepDataset(tmp_path / "runs")
    found._client, found._sent = cast(Any, "client"), {}
    one, two = plan.candidate("one", {}), plan.candidate("two", {"percentageOfNodesToScore": 5})
    results = found._run([one, two], [3, 4])
    assert asked == [(["one", "two"], (3, 4), "client")]
    assert [each.run[1:] for each in results] == [
        ("four", name, seed) for seed in (3, 4) for name in ("one", "two")
    ]
    assert list(found._sent) == [plan.sweep.inputs[0].digest]


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
        # A figure that no run has is not 0, which may be the best value.
        ([], -1.0, 0, None, []),
        ([], -1.0, 2, {"state": "failed", "error": "no run has pending"}, []),
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
    plan = SimpleNamespace(sweep=sweep, goals=[read_goal("pending")], constraints=())
    found._plan = cast(Any, plan)
    run = SweepRun(id="0", input="i", configuration="c", seed=1)
    results = [RunFigures(run, (("pending", "", value),)) for value in figures]
    trial = Reports(limit)
    assert found._decision(cast(Any, trial), results, step) == decision
    assert trial.reported == reported
