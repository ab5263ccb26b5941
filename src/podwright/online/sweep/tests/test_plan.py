"""What a plan says: whole errors, files, seeds, names of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import FieldError, InputError
from podwright.online.sweep import SweepDataset, sweep
from podwright.online.sweep.execution import missing_runs
from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.goals import Constraint, Goal, read_constraint, read_goal
from podwright.online.sweep.plan import (
    MOST_SEEDS,
    SweepConfiguration,
    SweepInput,
    SweepOptions,
    SweepPlan,
    files_of,
    load_plan,
    read_each,
    read_plan,
    read_seeds,
    seeds_of,
)

MINIMAL: dict[str, Any] = {
    "inputs": [{"name": "a", "events": ["e.jsonl"]}],
    "configurations": [{"name": "c"}],
}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def errors_of(folder: Path, **changes: Any) -> list[tuple[str, str]]:
    errors: list[FieldError] = []
    (folder / "e.jsonl").write_bytes(b"")
    read_plan({**MINIMAL, **changes}, folder, errors)
    return [(each.path, each.message) for each in errors]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"inputs": []}, [("inputs", "Required value")]),
        ({"configurations": []}, [("configurations", "Required value")]),
        (
            {"configurations": [{"name": "c"}, {"name": ""}, {"name": "c"}]},
            [
                ("configurations[1].name", "Required value"),
                ("configurations[2].name", 'Duplicate value: "c"'),
            ],
        ),
        (
            {"inputs": [{"name": "a", "events": ["e.jsonl"], "pods": -1}]},
            [("inputs[0].pods", "Invalid value: -1: must be at least 0")],
        ),
        (
            {"configurations": [{"name": "c", "config": 3}]},
            [
                (
                    "configurations[0].config",
                    "Invalid value: 3: a path or an object is expected",
                )
            ],
        ),
        ({"seeds": ""}, [("seeds", "Required value: seeds such as 0-9 or 1,5,7 are expected")]),
        (
            {"seeds": "5-2"},
            [("seeds", 'Invalid value: "5-2": a range starts with its least seed')],
        ),
        (
            {"runs": [{"inputs": ["b"]}]},
            [("runs[0].inputs[0]", 'Invalid value: "b": no such name in inputs')],
        ),
        (
            {
                "configurations": [{"name": "packed"}],
                "runs": [{}, {"configurations": ["packed", "paked"]}],
            },
            [
                (
                    "runs[1].configurations[1]",
                    'Invalid value: "paked": no such name in configurations; did you mean '
                    '"packed"?',
                )
            ],
        ),
        (
            {"goals": ["placed", "+"]},
            [
                (
                    "goals[1]",
                    "Invalid value: \"+\": a figure such as 'wait p99' or +placed is expected",
                )
            ],
        ),
        ({"simulate": {"until": "2h", "jobDuration": "1m"}}, []),
    ],
)
def test_each_mistake_has_its_path_and_says_what_is_expected(tmp_path, changes, expected):
    assert errors_of(tmp_path, **changes) == expected


@pytest.mark.parametrize("other", [{"files": ["e.jsonl"]}, {"events": ["e.jsonl"]}, {"pods": 1}])
def test_a_scenario_is_an_input_alone(tmp_path, other):
    (tmp_path / "s.yaml").write_text(
        "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\nspec: {cluster: {nodes: [{name: a}]}}"
    )
    given = {"name": "a", "scenario": "s.yaml"}
    assert errors_of(tmp_path, inputs=[given]) == []
    message = "Forbidden: cannot be combined with files, events, run and pods"
    assert errors_of(tmp_path, inputs=[given | other]) == [("inputs[0].scenario", message)]
    message = "Forbidden: its options are in the scenario; leave out simulate"
    assert errors_of(tmp_path, inputs=[given], simulate={"until": "1h"}) == [
        ("inputs[0].scenario", message)
    ]


def test_files_that_cannot_be_read_are_named_with_their_place(tmp_path):
    errors: list[FieldError] = []
    (tmp_path / "one.yaml").write_bytes(b"1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "two.yaml").write_bytes(b"2")
    found = files_of(["one.yaml", "none", "folder"], "x.files", tmp_path, errors)
    assert [(Path(name).name, data) for name, data in found] == [
        ("one.yaml", b"1"),
        ("two.yaml", b"2"),
    ]
    assert [each.path for each in errors] == ["x.files[1]"]
    assert errors[0].message.startswith('Invalid value: "none": ')
    assert files_of(["none"], "x.config", tmp_path, errors) == ()
    assert errors[1].path == "x.config", "one file has no number"


def test_an_inline_configuration_is_a_document_of_its_name(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b"")
    (tmp_path / "p.py").write_bytes(b"import podwright")
    given = [
        {"name": "c", "config": CONFIGURATION, "plugins": ["p.py"]},
        {"name": "d", "config": {**CONFIGURATION, "parallelism": "x"}},
    ]
    errors: list[FieldError] = []
    plan = read_plan({**MINIMAL, "configurations": given}, tmp_path, errors)
    first = plan.configurations[0]
    assert first.configuration is not None
    assert (first.configuration[0], json.loads(first.configuration[1])) == ("c.json", CONFIGURATION)
    assert [data for _, data in first.plugins] == [b"import podwright"]
    (error,) = errors
    assert error.path == "configurations[1].config"
    assert error.message.startswith("parallelism: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", (3,)),
        ("0-2", (0, 1, 2)),
        ("2-2", (2,)),
        ("5,1,7", (5, 1, 7)),
        (" 1 - 3 , 9", (1, 2, 3, 9)),
        ("1,0-2,1", (1, 0, 2)),
    ],
)
def test_seeds_are_numbers_and_ranges_each_once(text, expected):
    assert read_seeds(text) == expected


def test_a_range_of_too_many_seeds_is_taken_for_a_mistake():
    assert len(read_seeds(f"1-{MOST_SEEDS}")) == MOST_SEEDS
    with pytest.raises(ValueError, match="at most 100,000 seeds are expected"):
        read_seeds(f"0-{MOST_SEEDS}")
    errors: list[FieldError] = []
    assert seeds_of("x", "runs[0].seeds", errors) == ()
    assert [each.path for each in errors] == ["runs[0].seeds"]


def plan_of(**changes: Any) -> SweepPlan:
    given: dict[str, Any] = {
        "inputs": (SweepInput(name="i"), SweepInput(name="j", pods=1)),
        "configurations": (SweepConfiguration(name="c"), SweepConfiguration(name="d")),
        "seeds": (0, 1),
    }
    return SweepPlan(**given | changes)


def test_the_grid_has_the_configurations_of_one_input_and_seed_together():
    runs = [(run.input, run.seed, run.configuration) for run in plan_of().runs()]
    assert runs == [(i, s, c) for i in "ij" for s in (0, 1) for c in "cd"]
    cases = (("j", 7, "d"), ("i", 7, "d"))
    assert [each[1:] for each in plan_of(cases=cases).runs()] == [("j", "d", 7), ("i", "d", 7)]


def ids(plan: SweepPlan) -> list[str]:
    return [run.id for run in plan.runs()]


def test_a_run_has_another_name_if_anything_that_it_depends_on_is_different():
    file = ("folder/nodes.yaml", b"a")
    named = {
        "nothing": {},
        "content": {"objects": (file,)},
        "another content": {"objects": (("folder/nodes.yaml", b"b"),)},
        "another name": {"objects": (("folder/nodes.csv", b"a"),)},
        "events": {"events": (file,)},
        "drawn": {"objects": (file,), "pods": 3},
        "others drawn": {"objects": (file,), "pods": 4},
    }
    digests = {what: SweepInput(name="i", **given).digest for what, given in named.items()}  # type: ignore[arg-type]
    assert len(set(digests.values())) == len(named)
    moved = SweepInput(name="other", objects=(("elsewhere/nodes.yaml", b"a"),))
    assert moved.digest == digests["content"]
    configurations: list[dict[str, Any]] = [
        {},
        {"configuration": ("c.yaml", b"c")},
        {"plugins": (("c.yaml", b"c"),)},
        {"packages": ("p==1",)},
        {"packages": ("p==2",)},
    ]
    found = {SweepConfiguration(name="c", **given).digest for given in configurations}
    assert len(found) == len(configurations)
    until = plan_of(options=SweepOptions(until="1h"))
    assert not set(ids(plan_of())) & set(ids(until))
    assert len(set(ids(plan_of()))) == 4, "c and d are the same configuration"
    assert all(len(each) == 32 for each in ids(until))


def test_options_are_the_arguments_of_a_simulation():
    assert SweepOptions().keywords() == {}
    assert SweepOptions(until="1h", job_duration="1m").keywords() == {
        "until": "1h",
        "job_duration": "1m",
    }
    # A plan without a timing model has the names of runs that it had before there was one.
    encoded = msgspec.json.encode(SweepOptions())
    assert b"timing" not in encoded
    assert b'"jobDuration":null' in encoded


def test_a_document_has_paths_that_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "e.jsonl").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert [each.name for each in load_plan(MINIMAL).inputs] == ["a"]
    assert load_plan(MINIMAL).seeds == (0,)
    with pytest.raises(InputError, match=r"^plan: seeds: Invalid value"):
        load_plan({**MINIMAL, "seeds": "x"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wait p99", Goal("wait p99")),
        ("+placed", Goal("placed", is_greatest=True)),
        ("+ placed ", Goal("placed", is_greatest=True)),
    ],
)
def test_a_goal_is_a_figure_and_its_direction(text, expected):
    assert read_goal(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pending <= 5", Constraint("pending", is_greatest=True, bound=5.0)),
        (" cpu mean>=0.5 ", Constraint("cpu mean", is_greatest=False, bound=0.5)),
        ("a <= b <= 1e3", Constraint("a <= b", is_greatest=True, bound=1000.0)),
    ],
)
def test_a_constraint_is_a_figure_and_its_bound(text, expected):
    assert read_constraint(text) == expected


@pytest.mark.parametrize("text", ["pending <= inf", "pending <= nan"])
def test_a_bound_is_a_number(text):
    errors: list[FieldError] = []
    assert read_each(read_constraint, [text, "a <= 1"], "tune.constraints", errors) == (
        Constraint("a", is_greatest=True, bound=1.0),
    )
    assert [each.path for each in errors] == ["tune.constraints[0]"]


def test_a_sweep_takes_a_plan_or_its_document_and_reads_what_is_there(tmp_path, monkeypatch):
    (tmp_path / "e.jsonl").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    document = {**MINIMAL, "seeds": "0-2"}
    plan = load_plan(document)
    dataset = SweepDataset(tmp_path / "runs")
    _, *later = plan.runs()
    for run in later:
        dataset.add(RunFigures(run, (("placed", "pods", float(run.seed)),)))
    assert [each.run.seed for each in dataset.results(plan.runs())] == [1, 2]
    (first,) = missing_runs(plan, dataset)
    dataset.add(RunFigures(first, (("placed", "pods", 0.0),)))
    for given in (plan, document):
        (figure,) = sweep(given, tmp_path / "runs").figures
        assert (figure.name, figure.runs, figure.value.mean) == ("placed", 3, 1.0)
