"""Scenario files: what they say happens, and all their mistakes are reported at once."""

from __future__ import annotations

import pickle
import re
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, PodwrightError, encode
from podwright.simulation.scenarios import ScenarioFile, is_scenario, json_schema, read_scenario
from podwright.simulation.scenarios.document import Load, Trace
from podwright.simulation.scenarios.load import trace_workload
from podwright.testing import make_node

HEAD = "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\n"

WEB = """
    objects:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 2
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""


def scenario(spec: str, files: dict[str, str] | None = None) -> ScenarioFile:
    contents = {name: text.encode() for name, text in (files or {}).items()}

    def read(names: Any) -> Any:
        absent = [name for name in names if name not in contents]
        if absent:
            raise InputError.of(absent[0], "cannot be read: No such file or directory")
        return tuple((name, contents[name]) for name in names)

    return read_scenario(f"{HEAD}spec:\n{spec}", source="s.yaml", read=read)


def errors_of(spec: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        scenario(spec).prepare()
    return [str(error) for error in raised.value.errors]


def run(spec: str, **files: str) -> pw.Run:
    return pw.simulate(scenario(spec, files), progress=False)


def seconds(found: pw.Run) -> float:
    return found.summary.simulated_ns / 1e9


def test_operations_wait_for_what_they_name_and_time_goes_on_from_there() -> None:
    found = run(
        f"""
  cluster:
    nodes: [{{name: node, count: 2, cpu: "4"}}]{WEB}
  operations:
  - {{waitUntil: {{scheduled: app=web, count: 2}}}}
  - {{after: 5m, scale: deployment/web, replicas: 4}}
  - {{when: {{object: deployment/web, cel: self.status.readyReplicas == 4}}, drain: node-0}}
  - {{when: {{drained: node-0}}, after: 1m, patch: deployment/web, with: {{spec: {{replicas: 1}}}}}}
  - {{waitUntil: {{object: deployment/web, condition: Available}}}}
  - {{done: true}}
"""
    )
    assert list(found.node_of.values()) == ["node-1"]
    assert found.summary.counts.created == 6, "two of four pods were on the drained node"
    assert not found.warnings
    assert seconds(found) == 360, "5m, then 1m; pods are ready at once"


def test_a_step_starts_when_nothing_is_left_of_the_step_before() -> None:
    found = run(
        """
  cluster:
    nodes: [{name: node, cpu: "1"}]
  operations:
  - {step: 1, create: {apiVersion: v1, kind: Pod, metadata: {name: first}, spec:
      {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}
  - {step: 2, create: {apiVersion: v1, kind: Pod, metadata: {name: second}, spec:
      {priority: 0, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}
  - {step: 3, delete: pod/first, gracePeriodSeconds: 0}
  - {step: 4, done: true}
"""
    )
    assert found.node_of == {"default/second": "node-0"}


def test_what_never_comes_to_hold_is_reported_and_ends_the_operations_not_the_run() -> None:
    found = run(
        """
  cluster: {nodes: [{name: node}]}
  operations:
  - {when: {object: deployment/web, exists: true, timeout: 2m}, fail: node-0}
  load:
  - {name: batch, arrivals: {every: 1m, process: regular, count: 5},
     object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}}
"""
    )
    assert found.summary.counts.placed == 5
    (warning,) = found.warnings
    assert warning == (
        "s.yaml: spec.operations[0]: deployment/web does not exist after the timeout; this"
        " operation and those after it were left out"
    )


@pytest.mark.parametrize(
    ("stop", "ended_s"),
    [
        pytest.param("{at: 90s}", 90, id="a time"),
        pytest.param("{when: {scheduled: '', count: 3}}", 120, id="a condition"),
        pytest.param("{at: 90s, when: {scheduled: '', count: 3}}", 90, id="the first of both"),
        pytest.param("{}", 240, id="nothing is left"),
    ],
)
def test_a_scenario_ends(stop: str, ended_s: int) -> None:
    found = run(
        f"""
  cluster: {{nodes: [{{name: node}}]}}
  stop: {stop}
  load:
  - {{name: batch, arrivals: {{every: 1m, process: regular, count: 5}},
     object: {{apiVersion: v1, kind: Pod, spec: {{containers: [{{name: c, image: i}}]}}}}}}
"""
    )
    assert seconds(found) == ended_s


LOAD = """
  cluster: {nodes: [{name: node, count: 3, cpu: "64"}]}
  load:
  - name: batch
    object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}
    arrivals: {every: 10s, until: 1h}
    requests:
      cpu: {distribution: lognormal, median: 500m, sigma: 0.5, max: "4"}
      memory: {distribution: choice, values: [1Gi, 2Gi], weights: [3, 1]}
    duration: {distribution: exponential, mean: 5m}
  - name: churn
    object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}
    arrivals: {every: 1m, process: regular, count: 20}
    lifetime: {distribution: uniform, min: 1m, max: 3m}
"""


def test_a_load_is_drawn_from_the_seed_and_has_the_named_distributions() -> None:
    one, again = (scenario(LOAD).simulate(seed=1, progress=False) for _ in range(2))
    assert one.summary == again.summary
    counts = one.summary.counts
    assert 300 < counts.created < 440, "an arrival every 10 s for an hour, and 20"
    assert counts.deleted == 20
    assert scenario(LOAD).simulate(seed=2, progress=False).summary.counts != counts


def test_one_load_does_not_change_the_draws_of_another() -> None:
    batch, churn = scenario(LOAD).event_files(0)
    reordered = scenario(LOAD.replace("name: churn", "name: other")).event_files(0)
    assert list(batch.lines()) == list(reordered[0].lines())
    assert list(churn.lines()) != list(reordered[1].lines())


def test_a_trace_is_a_load() -> None:
    found = run(
        """
  cluster: {nodes: [{name: node}]}
  load:
  - name: t
    trace: {file: t.csv, arrival: at, cpu: cpus, duration: ran, unit: {arrival: s, duration: s}}
""",
        **{"t.csv": "at,cpus,ran\n0,1,60\n30,0.5,60\n"},
    )
    assert found.summary.counts.succeeded == 2
    assert seconds(found) == 90


def test_the_cells_of_a_trace_are_numbers_with_the_unit_of_their_column_or_texts() -> None:
    trace = Trace(
        file="t.csv",
        arrival="at",
        cpu="cpus",
        memory="mem",
        priority="prio",
        unit={"arrival": "min", "memory": "GiB"},
    )
    data = b"at,cpus,mem,prio\n0,0.5,2,7\n1.5,1500m,512Mi,high\n2,,1,\n3h\n"
    found = trace_workload(Load(name="t"), trace, data)
    specs = [line["apply"]["spec"] for line in found]
    assert [line["apply"]["metadata"]["name"] for line in found] == ["t-0", "t-1", "t-2", "t-3"]
    assert [line["at"] for line in found] == ["0s", "1m30s", "2m0s", "3h0m0s"]
    assert [spec["containers"][0].get("resources", {}).get("requests", {}) for spec in specs] == [
        {"cpu": "0.5", "memory": f"{2 << 30}"},
        {"cpu": "1500m", "memory": "512Mi"},
        {"memory": f"{1 << 30}"},
        {},
    ]
    assert [spec.get("priority") for spec in specs] == [7, None, None, None]
    assert [spec.get("priorityClassName") for spec in specs] == [None, "high", None, None]


def test_the_requests_of_a_load_are_amounts_of_their_resource() -> None:
    batch, _ = scenario(LOAD).event_files(0)
    requests = [
        line["apply"]["spec"]["containers"][0]["resources"]["requests"]
        for line in (msgspec.json.decode(text) for _, text, _ in batch.lines())
    ]
    assert {each["memory"] for each in requests} == {f"{1 << 30}", f"{2 << 30}"}
    assert all(each["cpu"].endswith("m") for each in requests)
    assert 100 < min(int(each["cpu"][:-1]) for each in requests) < 500
    assert 500 < max(int(each["cpu"][:-1]) for each in requests) <= 4_000


def test_what_is_a_name_or_has_fields_is_both_in_the_schema() -> None:
    selected = [{"type": "string"}, {"$ref": "#/$defs/Selected"}, {"type": "null"}]
    found: dict[str, list[Any]] = {
        name: shown["anyOf"]
        for definition in json_schema()["$defs"].values()
        for name, shown in definition["properties"].items()
        if {"type": "string"} in shown.get("anyOf", ())
        and any("$ref" in each or each == {"type": "object"} for each in shown["anyOf"])
    }
    assert found == {
        **dict.fromkeys(("cordon", "uncordon", "drain", "fail", "restore"), selected),
        "timing": [{"type": "string"}, {"type": "object"}],
    }


def test_a_live_cluster_is_read_by_the_function_that_reads_clusters(tmp_path: Any) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(HEAD + "spec:\n  cluster: {files: ['cluster:prod']}\n")
    names: list[str] = []

    def read(given: Any) -> tuple[tuple[str, bytes], ...]:
        names.extend(given)
        node = msgspec.json.encode(encode(make_node("n1")))
        return (("cluster:prod", node),)

    found = pw.load_scenario(path, read=read)
    assert names == ["cluster:prod"]
    assert [obj.name for obj in found.loaded.objects] == ["n1"]

    def fail(_: Any) -> Any:
        raise PodwrightError("does not answer")

    with pytest.raises(InputError) as raised:
        pw.load_scenario(path, read=fail)
    (error,) = raised.value.errors
    assert (error.path, error.message) == (
        "spec.cluster.files[0]", "cluster:prod: does not answer",
    )  # fmt: skip


def test_event_files_are_part_of_a_scenario() -> None:
    line = (
        '{"at": "1m", "apply": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}}\n'
    )
    assert seconds(run("  events: [e.jsonl]", **{"e.jsonl": line})) == 60


def test_a_recorded_run_at_a_time_is_an_initial_state(tmp_path: Any) -> None:
    source = scenario(
        "  cluster: {nodes: [{name: node}]}\n"
        "  operations:\n"
        "  - {at: 1m, create: {apiVersion: v1, kind: Pod, metadata: {name: a},"
        " spec: {containers: [{name: c, image: i}]}}}\n"
    )
    source.simulate(output=tmp_path / "run", progress=False)
    for at, pods in (("30s", {}), ("", {"default/a": "node-0"})):
        spec = f"  cluster: {{run: {{folder: {tmp_path}/run, at: '{at}'}}}}"
        assert scenario(spec).simulate(progress=False).node_of == pods
    with pytest.raises(InputError) as found:
        scenario(f"  cluster: {{run: {{folder: {tmp_path}/run, at: noon}}}}")
    (error,) = found.value.errors
    assert error.path == "spec.cluster.run.at"
    assert error.message.startswith('Invalid value: "noon": must be a duration since the start')


def test_configurations_are_chosen_by_name() -> None:
    spec = """
  cluster:
    nodes: [{name: node, count: 2}]
    objects:
    - apiVersion: v1
      kind: Pod
      metadata: {name: a}
      spec: {schedulerName: packed, containers: [{name: c, image: i}]}
  configurations:
  - {name: default}
  - name: packed
    configuration:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles: [{schedulerName: packed}]
"""
    found = scenario(spec)
    assert found.configurations == ("default", "packed")
    assert not found.simulate(progress=False).node_of
    assert found.simulate(configuration="packed", progress=False).node_of
    with pytest.raises(InputError, match=r"there are default, packed"):
        found.simulate(configuration="pack")


def test_a_scenario_is_complete_so_it_can_be_simulated_in_another_process() -> None:
    found = scenario(LOAD)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.digest == found.digest
    assert copy.simulate(progress=False).summary == found.simulate(progress=False).summary


@pytest.mark.parametrize(
    ("second", "has_names"),
    [
        pytest.param("metadata: {name: n1, labels: {a: b}}", True, id="two of one name"),
        pytest.param("metadata: {name: n_2}", True, id="a name that is not valid"),
        pytest.param("metadata: 2", False, id="an object that cannot be read"),
    ],
)
def test_names_are_checked_if_all_objects_are_known(second: str, has_names: bool) -> None:
    nodes = "{apiVersion: v1, kind: Node, metadata: {name: n1}}, {apiVersion: v1, kind: Node, %s}"
    found = errors_of(f"  cluster: {{objects: [{nodes % second}]}}\n  operations: [{{drain: n9}}]")
    assert "s.yaml: spec.cluster.objects[1]" in found[0]
    assert (
        found[1:]
        == ['s.yaml: spec.operations[0].drain: Node "n9" does not exist at that time'] * has_names
    )


def test_five_mistakes_are_five_errors_with_paths() -> None:
    assert errors_of(
        """
  sed: 3
  cluster:
    nodes: [{name: node, count: -4}]
    objects:
    - apiVersion: v1
      kind: Pod
      metadata: {name: p}
      spec: {containers: [{name: c, image: i, imag: i}]}
  operations:
  - {at: 5m, drian: node-1}
  - {at: 3m, scale: deployment/web}
"""
    ) == [
        's.yaml: spec.sed: unknown field "sed"; did you mean "seed"?',
        "s.yaml: spec.cluster.nodes[0].count: Invalid value: -4: must be between 0 and 200,000",
        's.yaml: spec.operations[0].drian: unknown field "drian"; did you mean "drain"?',
        "s.yaml: spec.operations[1].replicas: Required value",
        "s.yaml: spec.cluster.objects[0].spec.containers[0].imag: unknown field;"
        ' did you mean "image"?',
    ]


def test_a_mistake_is_one_error_however_much_follows_from_it() -> None:
    assert errors_of(
        """
  cluster: {nodes: [{name: node, count: 1}]}
  load:
  - name: a
    object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}
    arrivals: {every: 1s, count: 2}
    duration: {exponential: 5s}
  configurations: [{name: a, plugins: [absent.py]}, {name: a}]
  expectations:
  - {allScheduledWithin: 5s}
  - {samePlacement: [a, b]}
  - {spread: {topologyKey: "", maxSkew: 1}}
  stop: {at: -5m}
"""
    ) == [
        's.yaml: spec.load[0].duration.exponential: unknown field "exponential"; known here:'
        " distribution, value, mean, median, min, max, sigma, shape, values, weights, percents",
        's.yaml: spec.expectations[0].allScheduledWithin: unknown field "allScheduledWithin";'
        ' did you mean "scheduledWithin"?',
        "s.yaml: spec.expectations[2].spread.topologyKey: Required value: a label of nodes",
        's.yaml: spec.stop.at: Invalid value: "-5m": must not be before the start,'
        " 2026-01-01T00:00:00Z",
        's.yaml: spec.configurations[1].name: Duplicate value: "a"',
        's.yaml: spec.expectations[1].samePlacement[1]: Unsupported value: "b":'
        ' supported values: "a"',
        "s.yaml: spec.configurations[0].plugins[0]: absent.py: cannot be read:"
        " No such file or directory",
    ]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        pytest.param(
            "  load: [{name: a, object: {kind: Pod}, arrivals: {every: 1s}}]",
            "spec.load[0].arrivals: Required value: never ends; set count or until here,"
            " or spec.stop.at",
            id="a scenario that never ends",
        ),
        pytest.param(
            "  cluster: {objects: [{apiVersion: batch/v1, kind: CronJob, metadata: {name: c},"
            " spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec:"
            " {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}]}",
            "spec.schedule: starts jobs without end; set spec.stop.at",
            id="jobs that never end",
        ),
        pytest.param("  operations: [{drain: x}]", 'Node "x" does not exist', id="no such node"),
        pytest.param(
            "  operations: [{step: 2, done: true}, {step: 1, done: true}]",
            "spec.operations[1].step: Invalid value: 1: steps must not decrease",
            id="steps that decrease",
        ),
        pytest.param(
            "  operations: [{waitUntil: {}}]",
            "spec.operations[0].waitUntil: Required value: specify one of scheduled",
            id="a wait for nothing",
        ),
        pytest.param(
            "  operations: [{waitUntil: {cel: 'self.'}}]",
            "spec.operations[0].waitUntil.cel: Forbidden: needs object",
            id="an expression about nothing",
        ),
        pytest.param(
            "  operations: [{waitUntil: {object: pod/a, cel: 'self.'}}]",
            "spec.operations[0].waitUntil.cel: Invalid value",
            id="an expression that is not one",
        ),
        pytest.param(
            "  operations: [{waitUntil: {scheduled: '=', timeout: 5}}]",
            "spec.operations[0].waitUntil.timeout: Invalid value: 5: must be a string",
            id="a timeout that is not a duration",
        ),
        pytest.param(
            "  operations: [{patch: pod/a, with: [], type: merge}]",
            "spec.operations[0].with: Invalid value",
            id="a patch of the wrong form",
        ),
        pytest.param("  stop: {at: soon}", "spec.stop.at: ", id="a stop that is not a time"),
        pytest.param(
            "  configurations: [{}, {}]", "spec.configurations[1].name: Duplicate", id="names"
        ),
        pytest.param(
            "  seed: 1\n  seed: 2", 'spec.seed: duplicate field "seed"', id="a field twice"
        ),
    ],
)
def test_mistakes_have_a_path(spec: str, error: str) -> None:
    assert any(error in each for each in errors_of(spec)), errors_of(spec)


KEP_140 = """
apiVersion: simulation.kube-scheduler-simulator.x-k8s.io/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  operations:
  - {id: "3", step: 3, doneOperation: {}}
  - id: "1"
    step: 1
    createOperation:
      object:
        {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {pods: "9"}}}
  - id: "2"
    step: 2
    createOperation:
      object:
        {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
  - id: "4"
    step: 2
    patchOperation:
      typeMeta: {apiVersion: v1, kind: Node}
      objectMeta: {name: n1}
      patch: '{"metadata": {"labels": {"x": "y"}}}'
      patchType: application/merge-patch+json
  - id: "5"
    step: 4
    deleteOperation: {typeMeta: {apiVersion: v1, kind: Pod}, objectMeta: {name: a}}
  controllers:
    simulationControllers: {enabled: [{name: scheduler}, {name: autoscaler}]}
"""


def nothing(names: Any) -> Any:
    assert not names
    return ()


def test_a_scenario_of_kube_scheduler_simulator_is_one() -> None:
    found = read_scenario(KEP_140, source="k.yaml", read=nothing)
    result = found.simulate(progress=False)
    assert result.node_of == {"default/a": "n1"}, "the scenario is done before the deletion"
    (warning,) = result.warnings
    assert "autoscaler is not simulated" in warning
    assert is_scenario(KEP_140.encode())


def test_the_errors_of_a_scenario_of_kube_scheduler_simulator_have_its_paths() -> None:
    wrong = KEP_140.replace("kind: Pod}", "kind: Pud}").replace("doneOperation: {}", "")
    with pytest.raises(InputError) as raised:
        read_scenario(wrong, source="k.yaml", read=nothing)
    assert [(each.path, each.message.partition(":")[0]) for each in raised.value.errors] == [
        ("spec.operations[0]", "Required value"),
        ("spec.operations[4].deleteOperation.typeMeta", "Invalid value"),
    ]


def test_so_have_those_that_only_a_run_finds() -> None:
    wrong = KEP_140.replace("image: i}", "imag: i}")
    wrong = wrong.replace("objectMeta: {name: n1}", "objectMeta: {name: n2}")
    with pytest.raises(InputError) as raised:
        read_scenario(wrong, source="k.yaml", read=nothing).prepare()
    assert {each.path for each in raised.value.errors} == {
        "spec.operations[2].createOperation.object.spec.containers[0].imag",
        "spec.operations[2].createOperation.object.spec.containers[0].image",
        "spec.operations[3].patchOperation",
    }


def test_options_of_a_run_that_a_scenario_determines_are_errors() -> None:
    with pytest.raises(InputError, match="until: is an option of the scenario"):
        pw.simulate(scenario(LOAD), until="1h")


def test_each_field_of_an_operation_is_a_time_an_operation_or_beside_one() -> None:
    from podwright.simulation.world.inputs import operation_line

    fields = set(operation_line.OperationLine.__struct_encode_fields__)
    beside = set().union(*operation_line._BESIDE.values())
    assert fields == {*operation_line.TIMES, *operation_line.OPERATIONS, *beside}


def test_manifests_are_not_scenarios() -> None:
    assert not is_scenario(msgspec.json.encode({"apiVersion": "v1", "kind": "Pod"}))


ARRIVING = """
  cluster: {nodes: [{name: node, count: 1, cpu: "64"}]}
  load:
  - name: job
    object:
      apiVersion: v1
      kind: Pod
      metadata: {name: job}
      spec: {containers: [{name: c, image: i}]}
    arrivals: {process: regular, every: 1m}
"""
OLD_NODE = """
apiVersion: v1
kind: Node
metadata: {name: n, uid: u, creationTimestamp: "2025-03-01T00:00:00Z"}
status: {allocatable: {cpu: "4", pods: "20"}}
"""


@pytest.mark.parametrize(
    ("more", "files"),
    [
        pytest.param("  stop: {at: 5m}\n", {}, id="a duration"),
        pytest.param(
            '  options: {start: "2025-01-01T00:00:00Z"}\n  stop: {at: "2025-01-01T00:05:00Z"}\n',
            {},
            id="a time of an early start",
        ),
        pytest.param(
            '  options: {start: "2031-01-01T00:00:00Z"}\n  stop: {at: "2031-01-01T00:05:00Z"}\n',
            {},
            id="a time of a late start",
        ),
        pytest.param(
            '  stop: {at: "2025-03-01T00:05:00Z"}\n',
            {"dump.yaml": OLD_NODE},
            id="a time after that of a dump",
        ),
    ],
)
def test_a_load_ends_with_the_scenario(more: str, files: dict[str, str]) -> None:
    spec = ARRIVING if not files else ARRIVING.replace("{nodes", "{files: [dump.yaml], nodes")
    found = scenario(spec + more, files)
    (load,) = found.event_files(seed=0)
    assert len([*load.lines()]) == 6
    assert found.simulate(progress=False).summary.counts.placed == 6


def test_an_end_before_the_start_is_an_error() -> None:
    more = '  options: {start: "2031-01-01T00:00:00Z"}\n  stop: {at: "2030-01-01T00:05:00Z"}\n'
    assert errors_of(ARRIVING + more) == [
        's.yaml: spec.stop.at: Invalid value: "2030-01-01T00:05:00Z": must not be before the start,'
        " 2031-01-01T00:00:00Z"
    ]


def test_what_a_load_creates_is_not_missing_beside_another_mistake() -> None:
    spec = ARRIVING.replace("kind: Pod", "kind: Node").replace("spec: {c", "x: {c")
    more = "  operations: [{at: 2m, drain: job-1}]\n  stop: {at: 5m}\n  sed: 1\n"
    assert [error for error in errors_of(spec + more) if "does not exist" in error] == []


def test_a_class_may_be_created_by_an_event_file() -> None:
    expected = "  expectations: [{noPreemptionOf: high}]\n  events: [e.jsonl]\n"
    line = '{"at": "1s", "cordon": "node-0"}\n'
    scenario(ARRIVING + expected + "  stop: {at: 5m}\n", {"e.jsonl": line})


def test_a_scenario_is_called_by_its_name_or_its_file() -> None:
    assert scenario(ARRIVING + "  stop: {at: 5m}\n").name == "s.yaml"
    text = f"{HEAD}metadata: {{name: mine}}\nspec: {{cluster: {{}}}}\n"
    assert read_scenario(text, source="s.yaml", read=lambda _: ()).name == "mine"


def test_the_folder_of_a_run_is_where_the_caller_says() -> None:
    text = f"{HEAD}spec:\n  cluster: {{run: {{folder: night}}}}\n"
    for given, folder in ((None, "here/night"), (lambda name: f"/runs/{name}", "/runs/night")):
        with pytest.raises(InputError, match=re.escape(folder)):
            read_scenario(
                text, source="s.yaml", read=lambda _: (), folder="here/", run_folder=given
            )
