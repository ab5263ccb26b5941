"""Inputs that few runs have: empty and cut files, labels and times of any form, options alone."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import LoadedObjects, Sourced
from podwright.simulation.recording import TABLES
from podwright.simulation.world import START_NS
from podwright.simulation.world.inputs.conditions import Condition, OperationSequence, Step
from podwright.simulation.world.inputs.frame_columns import number_of, valid_label, valid_name
from podwright.simulation.world.inputs.operations import Create, Delete
from podwright.simulation.world.inputs.run_inputs import (
    EventFile,
    Inputs,
    _initial_operations,
    _problems_of,
)
from podwright.simulation.world.runs.disruptions import (
    BlockedEviction,
    DrainRecord,
    Evictions,
    LostPod,
    NodeDrain,
)
from podwright.simulation.world.runs.report import Report
from podwright.simulation.world.runs.run_comparison import Figure, RunComparison
from podwright.simulation.world.runs.simulation import Simulation
from podwright.simulation.world.runs.start import (
    RunArguments,
    _timing,
    prepared_run,
    start_simulation,
)
from podwright.simulation.world.runs.summary import Summary, Use, Waits
from podwright.simulation.world.runs.workload_health import Availability, Rollout, WorkloadRecord
from podwright.simulation.world.timing.distributions import (
    Distribution,
    amount_parser,
    parse_duration_ns,
    problems_of,
)
from podwright.simulation.world.timing.model import Timing
from podwright.simulation.world.traces.trace_lines import _with_run_time
from podwright.simulation.world.traces.trace_model import (
    ArrivalModel,
    LifetimeModel,
    SizeModel,
    TraceModel,
)
from podwright.simulation.world.traces.trace_output import TraceDescription, TraceFigure
from podwright.simulation.world.world_state import WorldState
from podwright.testing import make_node, make_pod


def inputs_of(*lines: tuple[bytes, bool]) -> Inputs:
    numbered = [(number, *line) for number, line in enumerate(lines, 1)]
    file = EventFile("e", lambda: iter(numbered))
    return Inputs(LoadedObjects(), [file], start_ns=START_NS, is_complete=False)


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        pytest.param([], "e: no lines in this file; a line is ", id="empty"),
        pytest.param(
            [(b'{"at": "2100000h", "drain": "n"}', True)],
            "e: line 1: at: Invalid value: \"2100000h\": the years from 1678", id="in 240 years",
        ),
    ],
)  # fmt: skip
def test_files_of_events_have_lines_of_years_that_can_be_simulated(lines, start):
    with pytest.raises(InputError) as caught:
        inputs_of(*lines)
    (error,) = caught.value.errors
    assert str(error).startswith(start)


def test_a_last_line_that_was_cut_is_left_out_and_named():
    whole = (b'{"at": "1s", "drain": "n"}', True)
    assert inputs_of(whole).unterminated == []
    cut = inputs_of(whole, (b'{"at": "2s", "dra', False))
    assert cut.unterminated == ["e: line 2"]
    assert cut.end_ns == START_NS + 1_000_000_000


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ({"apply": CONFIG, "subresource": "status"}, 'apply: ConfigMap "d/c" does not exist'),
        ({"delete": "configmap/c", "namespace": "d"}, 'delete: ConfigMap "d/c" does not exist'),
        (
            {"patch": "configmap/c", "namespace": "d", "with": {"data": {}}},
            'patch: ConfigMap "d/c" does not exist',
        ),
        (
            {"scale": "deployment/w", "replicas": 1},
            'scale: Deployment "default/w" does not exist',
        ),
    ],
)
def test_a_line_about_an_object_that_no_line_has_made_has_its_place(line, error):
    numbered = [(1, msgspec.json.encode({"at": "1s", **line}), True)]
    file = EventFile("e", lambda: iter(numbered))
    with pytest.raises(InputError) as caught:
        Inputs(LoadedObjects(), [file], start_ns=START_NS)
    assert [str(each) for each in caught.value.errors] == [f"e: line 1: {error} at that time"]


# ------------------------------------------------------------------------------- workloads


def workload(frame: dict[str, Any], **columns: Any) -> pw.Workload:
    return pw.Workload.from_frame(frame, arrival="t", unit={"arrival": "s"}, **columns)


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        ({"l": ["x"]}, {"labels": {"a b": "l"}}, "labels['a b']: Invalid value: \"a b\": "),
        ({"s": ["x"]}, {"node_selector": {"-": "s"}}, "node_selector['-']: Invalid value: \"-\": "),
        ({"ns": ["日本"]}, {"namespace": "ns"},
         'ns[0]: Invalid value: "日本": must be a name with a letter a-z or a digit'),
        ({"t": ["2026-13-01"]}, {}, 't[0]: Invalid value: "2026-13-01": must be a duration of 0'),
    ],
)  # fmt: skip
def test_keys_names_and_times_that_are_none_are_errors(frame, columns, message):
    with pytest.raises(InputError) as caught:
        workload({"t": [0], **frame}, **columns)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "label", "name"),
    [
        ("A_b", "a-b", "a-b"),
        ("a.B_.c.", "a-b-c", "a.b.c"),
        ("_.-", "", ""),
        ("x" * 64, "x" * 63, "x" * 64),
        ("x" * 62 + "_y", "x" * 62, "x" * 62 + "-y"),
        ("x" * 254, "x" * 63, "x" * 253),
        ("x" * 252 + ".y", "x" * 63, "x" * 252),
    ],
)
def test_names_are_as_long_as_kubernetes_accepts(text, label, name):
    """Upstream: apimachinery/pkg/util/validation/validation.go, DNS1123LabelMaxLength"""
    assert (valid_label(text), valid_name(text)) == (label, name)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (np.float32(0.1), Fraction(1, 10)), (np.float16(2.5), Fraction(5, 2)),
        (np.float64(0.1), Fraction(1, 10)), (np.int8(7), 7), (np.uint64(2**63), 2**63),
        (np.str_(" 1e3 "), 1000), ("1/2", None), (np.bool_(1), None), (True, None),
        (np.float64("nan"), None), (np.bytes_(b"1"), None), (np.timedelta64(1, "s"), None),
        (timedelta(seconds=1), None), (np.timedelta64(1), None), (np.array(3), None),
        (np.datetime64("2020"), None), (Fraction(4), 4), (Fraction(1, 2), None),
        (Decimal("0.30"), Fraction(3, 10)), (1j, None), ([1], None), (None, None),
    ],
)  # fmt: skip
def test_numbers_are_those_that_are_written(value, number):
    assert number_of(value) == number


def test_names_have_a_start():
    with pytest.raises(InputError) as caught:
        workload({"t": [0]}, prefix="")
    text = "must consist of lower-case letters, digits, hyphens and dots"
    assert str(caught.value) == f'prefix: Invalid value: "": {text}'


def test_a_frame_whose_columns_are_all_missing_has_no_nodes():
    with pytest.raises(InputError) as caught:
        pw.nodes_from_frame({"t": [0]}, labels={"a": "none"})
    missing, last = caught.value.errors
    assert str(missing) == "none: no such column"
    assert str(last) == "frame: no column is read; name at least one, such as cpu= or name="


def test_labels_are_the_texts_of_values():
    frame = {"t": [0] * 5, "l": [True, False, 1.0, 1.5, "x"]}
    labels = [
        line["apply"]["metadata"]["labels"]["a"] for line in workload(frame, labels={"a": "l"})
    ]
    assert labels == ["true", "false", "1", "1.5", "x"]


def test_a_workload_is_shown_as_its_pods():
    frame = {"t": [0, 90], "c": [2, None], "g": ["a", "a"]}
    shown = workload(frame, cpu="c", group="g")._repr_html_()
    assert "Workload: 2 pods" in shown
    for cell in ("pod-0", "pod-1", "cpu 2", "1m30s"):
        assert cell in shown
    assert "PodGroup" not in shown


def test_a_group_may_be_a_number():
    frame = {"t": [0, 0, 0], "g": [7.0, None, 7.0]}
    names = [line["apply"]["metadata"]["name"] for line in workload(frame, group="g")]
    assert names == ["7", "pod-0", "pod-1", "pod-2"]


def test_another_prefix_is_that_of_names_and_of_groups():
    frame = {"t": [0, 0], "g": ["a", None], "l": ["x", None]}
    found = workload(frame, group="g", labels={"app": "l"}).with_prefix("pod2")
    metadata = [line["apply"]["metadata"] for line in found]
    group = {"scheduling.x-k8s.io/pod-group": "pod2-a"}
    assert metadata == [
        {"name": "pod2-a", "namespace": "default"},
        {"name": "pod2-0", "namespace": "default", "labels": {"app": "x", **group}},
        {"name": "pod2-1", "namespace": "default"},
    ]
    assert [line["apply"]["kind"] for line in found] == ["PodGroup", "Pod", "Pod"]
    assert found.is_from_frame
    assert not found.has_default_names


# ------------------------------------------------------------------------------------ runs


def test_a_plan_simulates_itself():
    plan = SimpleNamespace(simulate=lambda **given: given["seed"])
    found: Any = pw.simulate(plan, seed=4)
    assert found == 4


def errors_of(given: RunArguments) -> list[str]:
    with pytest.raises(InputError) as caught:
        prepared_run([make_node("n"), make_pod("p")], SchedulerOptions(), given)
    return [str(error) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ({"checkpoint_events": 5}, "checkpoint_events: has no effect without output"),
        ({"ending": "never"}, 'ending: Unsupported value: "never": supported values: '),
        ({"ending": "after_run_time"}, "ending: has no effect without pods of the openb trace"),
    ],
)
def test_options_without_effect_are_errors(given, start):
    (error,) = errors_of(RunArguments(**given))
    assert error.startswith(start)


@pytest.mark.parametrize(
    ("duration", "written"), [("90s", "90s"), (timedelta(seconds=90), "1m30s"), (None, None)]
)
def test_a_manifest_has_the_duration_of_jobs_as_it_was_written(duration, written):
    given = RunArguments(job_duration=duration)
    found = prepared_run([make_node("n")], SchedulerOptions(), given).manifest.options
    assert found.get("jobDuration") == written


def test_a_timing_is_read_from_a_path(tmp_path):
    path = tmp_path / "timing.yaml"
    path.write_text(
        "apiVersion: podwright.dev/v1alpha1\nkind: Timing\ncycle: {constant: 2ms}\n",
        encoding="utf-8",
    )
    found = _timing(path)
    assert isinstance(found, Timing)
    assert found.cycle is not None
    assert found.cycle.constant == "2ms"


def test_a_workload_of_lines_is_an_input_as_others():
    lines = pw.Workload([{"at": "5s", "apply": msgspec.to_builtins(make_pod("p").raw)}])
    found = prepared_run([make_node("n")], SchedulerOptions(), RunArguments(events=lines))
    assert [(each.role, each.path) for each in found.manifest.inputs] == [
        ("objects", "objects"), ("events", "workload 0"),
    ]  # fmt: skip
    assert found.inputs.end_ns == found.options.scheduler.start_ns + 5_000_000_000
    empty = prepared_run([make_node("n")], SchedulerOptions(), RunArguments(events=pw.Workload([])))
    assert [each.role for each in empty.manifest.inputs] == ["objects"]


def test_files_that_are_read_in_part_have_all_their_mistakes_named(tmp_path):
    path = tmp_path / "objects.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: 5}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        prepared_run([str(path)], SchedulerOptions(), RunArguments(ending="never"))  # type: ignore[arg-type]
    paths = [error.path for error in caught.value.errors]
    assert "spec.containers" in paths
    assert any(str(error).startswith("ending: ") for error in caught.value.errors)
    with pytest.raises(InputError) as missing:
        prepared_run([str(tmp_path / "none.yaml")], SchedulerOptions(), RunArguments())
    assert "none.yaml" in str(missing.value)


def test_a_simulation_measures_its_plugins_if_it_has_a_clock():
    prepared = prepared_run([make_node("n"), make_pod("p")], SchedulerOptions(), RunArguments())
    assert Simulation(prepared.options, prepared.inputs).plugin_timings == []
    ticks = count(0, 1_000)
    options = msgspec.structs.replace(prepared.options, read_ns=lambda: next(ticks))
    simulation = Simulation(options, prepared.inputs)
    list(simulation.steps())
    assert "NodeResourcesFit" in {each.plugin for each in simulation.plugin_timings}


def test_a_run_is_new_unless_it_is_resumed(tmp_path):
    pytest.importorskip("pyarrow")
    prepared = prepared_run([make_node("n")], SchedulerOptions(), RunArguments())
    folder = str(tmp_path / "run")
    simulation = start_simulation(*prepared[:3], output=folder)
    simulation.complete()
    assert pw.Run.open(folder).summary == simulation.result().summary
    with pytest.raises(pw.RunError):
        start_simulation(*prepared[:3], output=folder)
    with pytest.raises(pw.RunError):
        start_simulation(*prepared[:3], output=str(tmp_path / "none"), resumes=True)


def test_pods_of_a_dump_are_in_the_order_of_their_creation_and_other_objects_as_given():
    def dumped(obj: Any, day: int) -> Any:
        document: Any = encode(obj)
        made = {"uid": obj.name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
        return decode({**document, "metadata": {**document["metadata"], **made}})

    objects = [dumped(make_pod("p"), 3), dumped(make_node("b"), 2), dumped(make_pod("q"), 1),
               dumped(make_node("a"), 1), make_pod("new")]  # fmt: skip
    operations: list[Any] = _initial_operations(objects, 0)
    names = [each.obj.name for each in operations]
    assert names == ["b", "a", "new", "q", "p"]


def test_tables_are_shown_by_their_names():
    tables = pw.simulate([make_node("n")], until="1m").tables
    assert len(tables) == len(TABLES)
    assert repr(tables) == f"<Tables: {', '.join(TABLES)}>"
    shown = tables._repr_html_()
    assert all(column in shown for columns in TABLES.values() for column in columns)


def test_a_table_that_does_not_exist_is_an_unknown_key_of_all_runs(tmp_path):
    pytest.importorskip("pyarrow")
    run = pw.simulate([make_node("n")], until="1m", output=tmp_path / "run")
    for each in (run, pw.Run.open(tmp_path / "run"), pw.simulate([make_node("n")], until="1m")):
        assert set(each.tables) == set(TABLES)
        assert "pods_" not in each.tables
        with pytest.raises(KeyError, match=r"^'pods_'$"):
            each.tables["pods_"]


def config(name: str) -> Any:
    metadata = {"name": name, "namespace": "default"}
    return decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def test_waits_end_at_their_timeout_unless_what_they_wait_for_is_there_by_then():
    world = pw.World(stages=(), controllers=())
    timeouts = {"early": "5s", "too": "5s", "late": "6999ms", "just": "7s", "long": "1h"}
    for name, timeout in timeouts.items():
        wait = Condition(object="configmap/awaited", exists=True, timeout=timeout)
        step = Step(place=name, wait=wait, operation=Create(config(name)))
        world.add_sequence(OperationSequence(iter([step])))
    endless = Condition(object="configmap/none", exists=True)
    world.add_sequence(OperationSequence(iter([Step(place="endless", wait=endless)])))
    world.add(config("awaited"), at="7s")
    world.run(until="20s")
    failures = [each.failure for each in world.sequences]
    assert [" after the timeout" in failure for failure in failures] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert failures[3:5] == ["", ""]
    assert " at the end of the run" in failures[5]
    names = {obj.name for obj in world.store.list(("", "ConfigMap")).objects}
    assert names >= {"awaited", "just", "long"}
    assert names.isdisjoint({"early", "too", "late"})


@pytest.mark.parametrize(
    ("deletion", "left"),
    [
        pytest.param(Delete(("", "Pod"), "default/p", 0), [], id="any pod"),
        pytest.param(
            Delete(("", "Pod"), "default/p", 0, only_pending=True), ["p"], id="only a pending one"
        ),
    ],
)
def test_a_deletion_is_of_any_pod_unless_it_says_otherwise(deletion, left):
    world = pw.World()
    world.add(make_node("n"), make_pod("p"))
    world.run(until="1s")
    assert world.node_of == {"default/p": "n"}
    world.do(deletion)
    world.run(until="2s")
    assert [pod.name for pod in world.pods] == left


# ---------------------------------------------------------------------------------- traces


@pytest.mark.parametrize(
    "struct",
    [
        ArrivalModel, Availability, BlockedEviction, DrainRecord, Evictions, Figure, LifetimeModel,
        LostPod, NodeDrain, Report, Rollout, RunComparison, SizeModel, Summary, TraceDescription,
        TraceFigure, TraceModel, Use, Waits, WorkloadRecord, WorldState,
    ],
)  # fmt: skip
def test_records_are_made_by_keyword(struct):
    """Numbers and names of one type after another are mistaken for each other by position."""
    with pytest.raises(TypeError, match="positional"):
        struct(*[1] * len(struct.__struct_fields__))


RUNS: dict[str, Any] = {"metadata": {"annotations": {RUN_DELAY: "1m30s"}}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kind": "Pod"}, {"kind": "Pod", **RUNS, "spec": {"restartPolicy": "Never"}}),
        (
            {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"hostname": "h"}},
            {
                "kind": "Pod", "metadata": {"name": "p", **RUNS["metadata"]},
                "spec": {"hostname": "h", "restartPolicy": "Never"},
            },
        ),
        ({"kind": "Job", "spec": None}, {"kind": "Job", "spec": {"template": RUNS}}),
        (
            {"kind": "Job", "spec": {"completions": 2, "template": {"spec": {}}}},
            {"kind": "Job", "spec": {"completions": 2, "template": {"spec": {}, **RUNS}}},
        ),
        ({"kind": "Deployment", "spec": {"a": 1}}, {"kind": "Deployment", "spec": {"a": 1}}),
    ],
)  # fmt: skip
def test_pods_and_jobs_of_a_trace_run_so_long_and_pods_of_others_restart(given, expected):
    assert _with_run_time(given, 90_000_000_000) == expected


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"values": ["1s", "1s", "2s"]}, [], id="in order"),
        pytest.param({"values": ["2s", "1s"]}, ["d.values"], id="not in order"),
        pytest.param({"values": ["2s", "x", "3s"], "max": "9s"}, ["d.values[1]"], id="no duration"),
        pytest.param({"values": ["x", "0s"], "max": "9s"}, ["d.values[0]"], id="nor at first"),
        pytest.param({"values": ["1s", "2s"], "max": "0s", "min": "1s"}, ["d.max"], id="limits"),
    ],
)
def test_each_mistake_of_quantiles_is_one_error(fields, paths):
    entry = msgspec.convert({"distribution": "quantiles", **fields}, Distribution)
    assert [error.path for error in problems_of(entry, "d", parse_duration_ns)] == paths


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [("cpu", "1500m", 1_500), ("cpu", "2", 2_000), ("memory", "1Ki", 1_024), ("a.b/c", "3", 3)],
)
def test_amounts_of_a_distribution_are_milli_cpu_bytes_or_counts(resource, text, amount):
    assert amount_parser(resource)(text) == amount


def test_objects_of_a_server_and_pods_are_not_checked_again():
    def problems(kind: str, **metadata: Any) -> list[str]:
        parts: Any = {"data": {"a b": ""}} if kind == "ConfigMap" else {"spec": {"containers": []}}
        document = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", **metadata}}
        return [str(each) for each in _problems_of([Sourced("f", decode(document | parts))])]

    (problem,) = problems("ConfigMap")
    assert problem.startswith('f: data[a b]: Invalid value: "a b": ')
    assert problems("ConfigMap", uid="u") == problems("Pod") == problems("Pod", uid="u") == []
