"""What a plan says: whole errors, files, seeds, names of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podwright as pw
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

API = "podwright.dev/v1alpha1"
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
                    "Invalid value: 3: must be a path or an object",
                )
            ],
        ),
        ({"inputs": {"a": 1}}, [("inputs", 'Invalid value: {"a":1}: must be a list')]),
        ({"configurations": 3}, [("configurations", "Invalid value: 3: must be a list")]),
        ({"seeds": ""}, [("seeds", "Required value: must be seeds, such as 0-9 or 1,5,7")]),
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
                    "Invalid value: \"+\": must be a figure, such as 'wait p99' or +placed",
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Scenario", "apiVersion: Required value"),
        ("a: [", "line 2, column 1: "),
        (None, "cannot be read"),
    ],
)
def test_the_mistakes_of_a_scenario_stand_at_the_input(tmp_path, text, message):
    if text is not None:
        (tmp_path / "s.yaml").write_text(text)
    found = errors_of(tmp_path, inputs=[{"name": "a", "scenario": "s.yaml"}])
    assert {path for path, _ in found} == {"inputs[0].scenario"}
    prefix = 'Invalid value: "s.yaml": '
    assert all(each.startswith(prefix) for _, each in found)
    assert message in found[0][1].removeprefix(prefix)
    assert not found[0][1].removeprefix(prefix).startswith(":")


def test_a_scenario_has_its_name_and_its_files_beside_it(tmp_path):
    (tmp_path / "far").mkdir()
    head = (
        "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\nspec:\n  cluster: {files: [n.yaml]}\n"
    )
    (tmp_path / "far/s.yaml").write_text(head)
    (tmp_path / "far/n.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: n}}")
    errors: list[FieldError] = []
    given = [{"name": "a", "scenario": "far/s.yaml"}]
    plan = read_plan({**MINIMAL, "inputs": given}, tmp_path, errors)
    assert errors == []
    (found,) = plan.inputs
    assert found.scenario is not None
    assert found.digest == found.scenario.digest
    assert (found.objects, found.events, found.pods) == ((), (), 0)


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


FOO = {"filter": {"enabled": [{"name": "Foo"}]}}


def test_an_inline_configuration_is_a_document_of_its_name(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b"")
    (tmp_path / "p.py").write_bytes(b"import podwright")
    given = [
        {"name": "c", "config": CONFIGURATION, "plugins": ["p.py"]},
        {"name": "d", "config": {**CONFIGURATION, "parallelism": "x"}},
        {"name": "e", "config": {**CONFIGURATION, "profiles": [{"plugins": FOO}]}},
    ]
    errors: list[FieldError] = []
    plan = read_plan({**MINIMAL, "configurations": given}, tmp_path, errors)
    first = plan.configurations[0]
    assert first.configuration is not None
    assert (first.configuration[0], json.loads(first.configuration[1])) == ("c.json", CONFIGURATION)
    assert [data for _, data in first.plugins] == [b"import podwright"]
    error, unknown = errors
    assert error.path == "configurations[1].config"
    assert error.message.startswith("parallelism: ")
    assert unknown.message.endswith(
        "; name the file of a custom plugin in configurations[2].plugins, or install its package"
    )


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


@pytest.mark.parametrize("text", ["1 2", "1-2 3", "1,", "-1", "1--2", "1.5"])
def test_seeds_that_are_no_numbers_and_ranges_are_not_read(text):
    with pytest.raises(ValueError, match="must be seeds, such as 0-9 or 1,5,7"):
        read_seeds(text)


def test_a_range_of_too_many_seeds_is_taken_for_a_mistake():
    assert len(read_seeds(f"1-{MOST_SEEDS}")) == MOST_SEEDS
    with pytest.raises(ValueError, match="must be at most 100,000 seeds"):
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def plan(): return [1]",
            "must define a function plan() that returns the document of a plan",
        ),
        ("plan = {}", "must define a function plan() that returns the document of a plan"),
        ("def plan(): return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_of_python_without_a_plan_is_one_error(tmp_path, text, message):
    (tmp_path / "plan.py").write_text(text)
    with pytest.raises(InputError) as raised:
        load_plan(tmp_path / "plan.py")
    assert [(each.path, each.message) for each in raised.value.errors] == [("", message)]
    assert str(raised.value) == f"{tmp_path}/plan.py: {message}"


def test_a_function_may_return_tuples_and_its_paths_are_relative_to_its_file(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b"event")
    (tmp_path / "plan.py").write_text(
        "def plan():\n"
        "    return {'inputs': ({'name': 'a', 'events': ('e.jsonl',)},),"
        " 'configurations': ({'name': 'c'},)}\n"
    )
    (given,) = load_plan(tmp_path / "plan.py").inputs
    assert [(Path(name).name, text) for name, text in given.events] == [("e.jsonl", b"event")]


def test_a_recorded_run_is_read_from_the_folder_of_the_plan(tmp_path):
    node = pw.testing.make_node("n1", cpu=2)
    pod = pw.testing.make_pod("late", cpu=1)
    pw.simulate([node], events=[{"at": "10s", "apply": pod}], output=tmp_path / "far/run")
    errors: list[FieldError] = []
    (tmp_path / "e.jsonl").write_bytes(b"first")
    given = [
        {"name": "a", "run": "far/run", "events": ["e.jsonl"]},
        {"name": "b", "run": "far/none"},
    ]
    first, second = read_plan({**MINIMAL, "inputs": given}, tmp_path, errors).inputs
    assert [Path(name).name for name, _ in first.events] == ["e.jsonl", "run.jsonl"]
    lines = first.events[1][1].splitlines()
    assert any(b'"late"' in line for line in lines)
    assert (second.events, second.objects) == ((), ())
    assert [each.path for each in errors] == ["inputs[1].run"]
    assert errors[0].message.startswith('Invalid value: "far/none": ')


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"until": "yesterday"}, ["simulate.until"]),
        ({"jobDuration": "5"}, ["simulate.jobDuration"]),
        ({"until": "", "jobDuration": "-"}, ["simulate.until", "simulate.jobDuration"]),
        ({"until": "2026-01-01T00:00:10Z", "jobDuration": "5s"}, []),
        ({"timing": 3}, ["simulate.timing"]),
    ],
)
def test_the_options_of_a_plan_are_checked_when_it_is_read(tmp_path, options, expected):
    assert [path for path, _ in errors_of(tmp_path, simulate=options)] == expected


def test_a_timing_model_is_read_from_its_file_and_names_the_runs(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b"")
    text = "apiVersion: podwright.dev/v1alpha1\nkind: Timing\n"
    (tmp_path / "t.yaml").write_text(text)
    plans = []
    for simulate in ({}, {"timing": "t.yaml"}, {"timing": {"kind": "Timing", "apiVersion": API}}):
        errors: list[FieldError] = []
        plans.append(read_plan({**MINIMAL, "simulate": simulate}, tmp_path, errors))
        assert errors == []
    none, of_file, of_document = plans
    assert none.options.timing is msgspec.UNSET
    assert of_file.options.timing is not msgspec.UNSET
    assert len({tuple(ids(each)) for each in (none, of_file)}) == 2
    assert type(of_document.options.timing) is type(of_file.options.timing)
    assert of_file.options.keywords() == {"timing": of_file.options.timing}


def test_the_packages_of_a_configuration_are_noted(tmp_path, monkeypatch):
    info = tmp_path / "rack-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rack\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[podwright.plugins]\nKeep = rack:Keep\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    keep = {"plugins": {"filter": {"enabled": [{"name": "Keep"}]}}}
    given = [{"name": "c", "config": CONFIGURATION | {"profiles": [keep]}}, {"name": "d"}]
    errors: list[FieldError] = []
    (tmp_path / "e.jsonl").write_bytes(b"")
    plan = read_plan({**MINIMAL, "configurations": given}, tmp_path, errors)
    assert errors == []
    assert [each.packages for each in plan.configurations] == [("rack 1.2",), ()]


def test_a_configuration_is_the_first_file_of_its_path(tmp_path):
    (tmp_path / "c.yaml").write_text(json.dumps(CONFIGURATION))
    (tmp_path / "wrong.yaml").write_text("kind: Wrong")
    args = {"scoringStrategy": {"type": "MostAlocated"}}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}
    given = [
        {"name": "c", "config": "c.yaml"},
        {"name": "d", "config": "wrong.yaml"},
        {"name": "e", "config": CONFIGURATION | {"profiles": [profile]}},
    ]
    errors: list[FieldError] = []
    plan = read_plan({**MINIMAL, "configurations": given}, tmp_path, errors)
    found = plan.configurations[0].configuration
    assert found is not None
    assert (Path(found[0]).name, json.loads(found[1])) == ("c.yaml", CONFIGURATION)
    own = [each for each in errors if each.path.startswith("configurations")]
    assert {each.path for each in own} == {f"configurations[{index}].config" for index in (1, 2)}
    assert own[0].message.startswith("apiVersion: ")
    assert own[-1].message.endswith('did you mean "MostAllocated"?'), "all arguments are checked"


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
