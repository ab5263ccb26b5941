"""Each part of a scenario by itself: defaults, loads, errors, configurations and their reports."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import FieldError, InputError, encode
from podwright.cluster.api import EvictPod
from podwright.simulation.recording import find_cycle
from podwright.simulation.scenarios import json_schema, load, load_scenario, read_scenario
from podwright.simulation.scenarios.checking import CheckReport
from podwright.simulation.scenarios.document import (
    Arrivals,
    BudgetLimit,
    Configuration,
    Document,
    Expectation,
    Load,
    NodeGroup,
    Placement,
    RunState,
    SpreadLimit,
    Trace,
    UtilizationRange,
    _described,
    pod_of,
)
from podwright.simulation.scenarios.expectations import CheckResult, RunObserver, found_by
from podwright.simulation.scenarios.kep140 import _Delete, _Operation, _Patch, converted
from podwright.simulation.scenarios.new_check import decision_scenario, snapshot_scenario
from podwright.simulation.scenarios.reading import _created
from podwright.simulation.scenarios.tests.test_checks import cluster, nodes, pod
from podwright.simulation.scenarios.tests.test_observed import (
    POD,
    SECOND_NS,
    checked,
    expect,
    lines,
    observed,
    rejection,
    waited,
)
from podwright.simulation.scenarios.tests.test_scenarios import (
    HEAD,
    errors_of,
    nothing,
    scenario,
)
from podwright.testing import make_node, make_pod

# --------------------------------------------------------------------------------- the document


def test_what_a_scenario_leaves_out_has_these_values():
    trace = dict.fromkeys(
        ("file", "arrival", "duration", "name", "cpu", "memory", "priority", "namespace", "group",
         "replicas"), "",
    )  # fmt: skip
    expectation = dict.fromkeys(
        ("scheduledWithin", "pendingAtMost", "spread", "noPreemptionOf", "utilization",
         "budgetBlocked", "placed"), None,
    )  # fmt: skip
    found: list[Any] = [
        NodeGroup(), RunState(), Arrivals(), Trace(), Load(), Configuration(), SpreadLimit(),
        UtilizationRange(), BudgetLimit(), Placement(), Expectation(), Document(),
    ]  # fmt: skip
    assert [json.loads(msgspec.json.encode(each)) for each in found] == [
        {"name": "node", "count": 1, "cpu": "8", "memory": "32Gi", "pods": "110", "resources": {},
         "zones": [], "labels": {}, "taints": []},
        {"folder": "", "at": ""},
        {"process": "poisson", "every": "", "burst": 1, "start": "", "until": "", "count": None},
        trace | {"resources": {}, "labels": {}, "nodeSelector": {}, "unit": {}},
        {"name": "", "object": None, "arrivals": None, "requests": {}, "duration": None,
         "lifetime": None, "trace": None},
        {"name": "default", "file": "", "configuration": None, "plugins": [], "featureGates": ""},
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1},
        {"resource": "cpu", "of": "mean", "atLeast": 0.0, "atMost": None},
        {"budget": "", "atMost": "0s"},
        {"pod": "", "nodes": []},
        expectation | {"name": "", "configurations": [], "pods": "", "namespace": "",
                       "priorityClass": "", "samePlacement": []},
        {
            "apiVersion": "podwright.dev/v1alpha1", "kind": "Scenario",
            "metadata": {"name": "", "labels": {}, "annotations": {}},
            "spec": {
                "cluster": {"files": [], "run": None, "nodes": [], "objects": []},
                "operations": [], "events": [], "load": [], "configurations": [], "seed": 0,
                "stop": {"at": "", "when": None},
                "options": {"start": "", "sample": "1m", "jobDuration": "",
                            "ending": "at_deletion_time", "openbGpus": ""},
                "autoscaling": None, "timing": None, "expectations": [],
            },
        },
    ]  # fmt: skip


def test_the_schema_describes_every_struct_and_field_and_allows_no_others():
    schema = json_schema()
    assert schema["$ref"] == "#/$defs/Document"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    definitions = schema["$defs"]
    assert list(definitions) == sorted(definitions)
    assert definitions["Document"]["required"] == ["apiVersion", "kind", "spec"]
    own = {name for name, one in definitions.items() if one["type"] == "object"}
    assert {"Spec", "Load", "OperationLine", "Selected", "Condition", "Distribution"} <= own
    for name in own:
        definition = definitions[name]
        assert definition["additionalProperties"] is False, name
        assert definition["description"], name
    assert definitions["RunState"]["description"] == "The cluster of a recorded run at a time."
    shown = {
        name: one["description"] for name, one in definitions["RunState"]["properties"].items()
    }
    assert shown == {
        "folder": "The run folder, relative to the scenario.",
        "at": "A duration since the start of the run, or a time; its end if empty.",
    }
    several = definitions["Arrivals"]["properties"]
    assert several["process"]["description"] == (
        "poisson (random, with the mean interval `every`), or regular (each `every`)."
    )
    timing = definitions["Spec"]["properties"]["timing"]
    assert timing["anyOf"] == [{"type": "string"}, {"type": "object"}]
    assert "description" not in definitions["Spec"]["properties"]["cluster"]


def test_descriptions_of_a_docstring():
    text = (
        "Some\n    words.\n\n    Attributes\n    ----------\n    a, b : str\n        One\n"
        "        line.\n    c : int\n\n    d : str\n        Another.\n    "
    )
    described = {"a": "One line.", "b": "One line.", "c": "", "d": "Another."}
    assert _described(text) == ("Some words.", described)
    assert _described("Alone.") == ("Alone.", {})


def test_the_template_of_a_manifest_is_found_or_made():
    assert pod_of(POD) is POD
    deployment: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment"}
    made = pod_of(deployment)
    assert made == {}
    assert made is deployment["spec"]["template"]
    for other in ({}, {"kind": "Node"}, {"apiVersion": [], "kind": "Job"}):
        assert pod_of(other) is None


LOAD_HEAD = "  load:\n  - {name: a, arrivals: {every: 1s, count: 1}, "


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        (f"{LOAD_HEAD}object: {{apiVersion: v1, kind: Pod}}, requests: {{cpu: {{distribution:"
         " constant, value: x}}}",
         ["spec.load[0].requests[cpu].value"]),
        (f"{LOAD_HEAD}object: {{apiVersion: v1, kind: Node}}, duration: {{distribution: constant,"
         " value: 1s}}",
         ["spec.load[0].duration"]),
        (f"{LOAD_HEAD}object: {{kind: ''}}}}",
         ["spec.load[0].object.apiVersion", "spec.load[0].object.kind"]),
        (f"{LOAD_HEAD}object: {{apiVersion: v1, kind: Pod, spec: {{containers: {{}}, x: 1}}}},"
         " duration: {distribution: constant, value: 1s}}",
         ["spec.load[0].object.spec.containers"]),
        (f"{LOAD_HEAD}object: {{apiVersion: a.b/v1, kind: Own, metadata: 1}}}}",
         ["spec.load[0].object.metadata"]),
        ("  cluster: {objects: [x]}", ["spec.cluster.objects[0]"]),
        ("  operations: [{at: 1s, create: {apiVersion: v1, kind: Pod, metadata: 1}}]\n"
         "  expectations: [{noPreemptionOf: x}]",
         ["spec.expectations[0].noPreemptionOf", "spec.operations[0].create.metadata",
          "spec.operations[0].create.spec.containers"]),
        ("  load: [{name: a}]", ["spec.load[0].object", "spec.load[0].arrivals"]),
        ("  load: [{name: a, trace: {file: x, arrival: t}, lifetime: {distribution: constant,"
         " value: 1s}}]", ["spec.load[0].trace", "spec.load[0].trace.file"]),
        ("  configurations: [{file: a.yaml}, {name: b, file: b.yaml, configuration: {}}]",
         ["spec.configurations[1].configuration", "spec.configurations[0].file",
          "spec.configurations[1].file"]),
        ("  configurations: [{file: a.yaml}, {name: b, file: a.yaml, plugins: [p.py, p.py]}]",
         ["spec.configurations[0].file", "spec.configurations[1].file",
          "spec.configurations[1].plugins[0]", "spec.configurations[1].plugins[1]"]),
        ("  expectations: [{utilization: {atLeast: -0.1, atMost: 1.5}}]",
         ["spec.expectations[0].utilization.atLeast", "spec.expectations[0].utilization.atMost"]),
        ("  expectations: [{utilization: {atLeast: 0, atMost: 1}}, {spread: {topologyKey: ''}}]",
         ["spec.expectations[1].spread.topologyKey"]),
        ("  expectations: [{samePlacement: [default]}]", ["spec.expectations[0].samePlacement"]),
    ],
)  # fmt: skip
def test_each_mistake_has_its_path(spec, paths):
    found = [text.partition(": ")[2].partition(":")[0] for text in errors_of(spec)]
    assert found == paths


def test_mistakes_in_files_and_in_the_scenario_are_reported_together():
    files = {"nodes.yaml": "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: 5}"}
    with pytest.raises(InputError) as raised:
        scenario(
            "  cluster: {files: [nodes.yaml], objects: [{apiVersion: v1, kind: Node,"
            " metadata: {name: b}, spec: 6}]}",
            files,
        )
    assert [(one.source, one.path) for one in raised.value.errors] == [
        ("nodes.yaml: document 1 (line 1)", "spec"), ("s.yaml", "spec.cluster.objects[0].spec"),
    ]  # fmt: skip


def test_a_name_under_which_there_is_nothing_is_as_an_empty_file():
    text = "  configurations: [{file: none}]"
    with pytest.raises(InputError) as raised:
        read_scenario(f"{HEAD}spec:\n{text}", source="s.yaml", read=lambda _: ()).prepare()
    (error,) = raised.value.errors
    assert (error.source, error.message) == (
        "none", "must be a KubeSchedulerConfiguration, not an empty document",
    )  # fmt: skip


def test_a_document_that_is_no_mapping_is_an_error():
    for text in ("- a", "text", "5"):
        with pytest.raises(InputError):
            read_scenario(text, source="s.yaml", read=nothing)


def test_a_wrong_configuration_is_found_wherever_it_stands():
    head = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration"
    found = errors_of(
        f"  configurations: [{{configuration: {head}}}}}, {{name: b, configuration: {head},"
        " parallelism: many}}]"
    )
    (error,) = found
    where = "s.yaml: spec.configurations[1].configuration: parallelism"
    assert error.startswith(f"{where}: Invalid value: ")


def test_configurations_are_read_beside_other_mistakes_and_wrong_ones_once():
    head = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration"
    found = errors_of(
        "  seed: x\n"
        f"  configurations: [{{file: 5}}, {{name: b, configuration: {head}, parallelism: many}}}}]"
    )
    assert [text.split(": ")[1] for text in found] == [
        "spec.seed", "spec.configurations[0].file", "spec.configurations[1].configuration",
    ]  # fmt: skip


# ----------------------------------------------------------------------------------------- loads


def test_more_arrivals_than_so_many_are_a_mistake(monkeypatch):
    monkeypatch.setattr(load, "MOST_ARRIVALS", 3)
    every = {"process": "regular", "every": "10s"}
    assert len(lines(arrivals=every | {"until": "20s"})) == 3
    for more in ({"until": "30s"}, {"count": 4}):
        with pytest.raises(InputError) as raised:
            lines(arrivals=every | more)
        assert str(raised.value) == (
            "load web: more than 3 arrivals; set a longer interval or an end"
        )


def test_deletions_come_before_the_arrivals_of_their_time():
    found = lines(
        arrivals={"process": "regular", "every": "10s", "count": 4},
        lifetime={"distribution": "constant", "value": "20s"},
    )
    assert [(line["at"], "delete" if "delete" in line else "apply") for line in found] == [
        ("0s", "apply"), ("10s", "apply"), ("20s", "delete"), ("20s", "apply"),
        ("30s", "delete"), ("30s", "apply"), ("40s", "delete"), ("50s", "delete"),
    ]  # fmt: skip
    assert (found[2]["delete"], found[2]["namespace"]) == ("Pod/web-0", "team")


def test_requests_are_those_of_the_first_container():
    manifest = POD | {"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "i"}]}}
    (line,) = lines(
        object=manifest,
        arrivals={"every": "0s", "count": 1},
        requests={
            "cpu": {"distribution": "constant", "value": "250m"},
            "memory": {"distribution": "constant", "value": "1Gi"},
        },
    )
    first, second = line["apply"]["spec"]["containers"]
    assert first["resources"] == {"requests": {"cpu": "250m", "memory": str(1 << 30)}}
    assert first["image"] == "registry.k8s.io/pause:3.10"
    assert second == {"name": "b", "image": "i"}


ENDLESS = """
  load:
  - {name: batch, arrivals: {every: 1m, process: regular},
     object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}}
"""


def test_a_load_ends_with_the_scenario_and_its_lines_are_numbered():
    for stop, count in (("90s", 2), ("2m", 3)):
        (file,) = scenario(f"  stop: {{at: {stop}}}{ENDLESS}").event_files(0)
        found = list(file.lines())
        assert [number for number, _, _ in found] == list(range(1, count + 1))
        assert all(is_whole for _, _, is_whole in found)
        assert file.source == "s.yaml: load batch"


# -------------------------------------------------------------------------------- configurations

PARALLEL = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_the_field_is_named_that_has_the_files_of_unknown_plugins():
    enabled = {"plugins": {"filter": {"enabled": [{"name": "Foo"}]}}}
    given = json.dumps(PARALLEL | {"profiles": [enabled]})
    with pytest.raises(InputError) as raised:
        scenario(f"  configurations: [{{}}, {{name: a, configuration: {given}}}]\n")
    (error,) = raised.value.errors
    assert error.source == "s.yaml: spec.configurations[1].configuration"
    assert error.message.endswith(
        'FilterPlugin "Foo" does not exist; name the file of a custom plugin in'
        " spec.configurations[1].plugins, or install its package"
    )


def test_a_configuration_is_a_file_or_stands_in_the_scenario():
    inline = json.dumps(PARALLEL | {"parallelism": 3})
    found = scenario(
        "  configurations:\n"
        "  - {name: of-file, file: c.yaml, featureGates: DRAExtendedResource=false}\n"
        f"  - {{name: inline, configuration: {inline}}}\n",
        {"c.yaml": json.dumps(PARALLEL | {"parallelism": 2})},
    )
    first, second = (found.scheduler_options(name, 7) for name in ("of-file", "inline"))
    assert first.configuration is not None
    assert second.configuration is not None
    assert (first.configuration.parallelism, second.configuration.parallelism) == (2, 3)
    inline = "s.yaml: spec.configurations[1].configuration"
    assert (first.source, second.source, first.seed) == ("c.yaml", inline, 7)
    assert "DRAExtendedResource" not in first.gates
    assert "DRAExtendedResource" in second.gates
    assert found.scheduler_options("", 0).configuration == first.configuration
    with pytest.raises(InputError) as raised:
        found.scheduler_options("none", 0)
    assert str(raised.value) == (
        's.yaml: spec.configurations: "none" is not a configuration; there are of-file, inline'
    )


def test_seed_and_scheduler_of_a_run_are_those_that_are_given():
    found = scenario("  seed: 5\n  cluster: {nodes: [{name: node}]}")
    assert found.prepare().options.scheduler.seed == 5
    assert found.prepare(seed=0).options.scheduler.seed == 0
    given = found.scheduler_options("", 9)
    assert found.prepare(scheduler=given).options.scheduler.seed == 9


def test_errors_of_options_have_the_paths_of_the_scenario():
    found = scenario("  seed: 1")
    cases = {
        "until": "spec.stop.at", "start": "spec.options.start", "sample": "spec.options.sample",
        "job_duration": "spec.options.jobDuration", "ending": "spec.options.ending",
        "openb_gpus": "spec.options.openbGpus", "seed": "spec.seed",
        "node_groups": "spec.autoscaling",
    }  # fmt: skip
    for source, path in cases.items():
        for inner, whole in (("", path), ("x[0]", f"{path}.x[0]")):
            error = found._with_path(FieldError(source=source, path=inner, message="set until"))
            assert (error.source, error.path) == ("s.yaml", whole)
            assert error.message == "set spec.stop.at"
    other = FieldError(source="n.yaml", path="spec.operations[0].create.x", message="wrong")
    assert found._with_path(other) == other
    kep = msgspec.structs.replace(found, is_kep140=True)
    assert kep._with_path(other).path == "spec.operations[0].createOperation.object.x"
    with pytest.raises(InputError) as raised:
        scenario("  options: {sample: soon, start: never}").prepare()
    assert sorted(error.path for error in raised.value.errors) == [
        "spec.options.sample", "spec.options.start",
    ]  # fmt: skip


# --------------------------------------------------------------------------- kinds and references


def test_operations_of_kube_scheduler_simulator_name_their_objects():
    def meta(version, kind, **named):
        return {
            "typeMeta": {"apiVersion": version, "kind": kind}, "objectMeta": {"name": "x"} | named
        }  # fmt: skip

    patch = msgspec.convert(
        meta("apps/v1", "Deployment", namespace="team")
        | {"patch": '{"a": 1}', "patchType": "application/merge-patch+json"}, _Patch,
    )  # fmt: skip
    assert patch.line() == {
        "patch": "deployments/x", "namespace": "team", "with": {"a": 1}, "type": "merge",
    }  # fmt: skip
    assert msgspec.structs.replace(patch, patch_type=_Patch().patch_type).line()["type"] == (
        "strategic"
    )
    without = msgspec.convert(meta("v1", "Node", namespace="team"), _Delete)
    assert without.line() == {"delete": "nodes/x"}
    graceful = meta("v1", "Pod") | {"deleteOptions": {"gracePeriodSeconds": 0}}
    assert msgspec.convert(graceful, _Delete).line() == {
        "delete": "pods/x", "gracePeriodSeconds": 0,
    }  # fmt: skip
    done = msgspec.convert({"doneOperation": {}}, _Operation)
    assert done.line() == {"step": 0, "when": {"settled": True}, "done": True}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"name": "a"}, {"name": "a"}), ({"name": 5}, {}), ({}, {}), ({"labels": {}}, {})],
)
def test_the_name_of_a_scenario_of_kube_scheduler_simulator_is_kept(metadata, expected):
    errors: list[FieldError] = []
    controllers = {"simulationControllers": {"enabled": [{"name": "x"}, {"name": "scheduler"}]}}
    read = converted({"metadata": metadata, "spec": {"controllers": controllers}}, errors)
    assert (errors, read.places, read.document["metadata"]) == ([], (), expected)
    assert read.document["spec"] == {"operations": []}
    assert read.warnings == (
        "spec.controllers.simulationControllers: x is not simulated as a controller of steps",
    )


def test_objects_that_a_scenario_creates_are_known_by_kind_and_name():
    found = scenario(
        """
  operations:
  - {create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}}}
  - {apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
  - {done: true}
  load:
  - {name: c, arrivals: {every: 1s, count: 1}, object: {apiVersion: v1, kind: ConfigMap}}
"""
    )
    known: list[Any] = [make_node("n"), make_pod("p", namespace="team")]
    assert list(_created(found.document.spec, known)) == [
        ("Node", "default/n"), ("Pod", "team/p"), ("ConfigMap", "team/a"),
        ("ConfigMap", "default/b"), ("ConfigMap", "default/c-0"),
    ]  # fmt: skip


def test_only_classes_and_budgets_are_known_as_such():
    found = errors_of(
        cluster(nodes(1), pod("a"))
        + "\n  expectations: [{noPreemptionOf: a}, {budgetBlocked: {budget: default/a}}]"
    )
    assert [text.split(": ", 2)[2] for text in found] == [
        'there is no PriorityClass "a"', 'there is no PodDisruptionBudget "default/a"',
    ]  # fmt: skip


# --------------------------------------------------------------------------------- expectations


class Use:
    """The utilization of a resource."""

    mean = 0.25
    peak = 0.75


def with_use():
    found = checked(waited("a", 1))
    run: Any = found.run
    run.summary = type("Summary", (), {"utilization": {"cpu": Use}})
    return found


@pytest.mark.parametrize(
    ("expectation", "run", "expected"),
    [
        (expect(pendingAtMost=0), checked(waited("a", 1)), (True, "0 of 1 pods are pending")),
        (
            expect(noPreemptionOf="low"), checked(waited("a", 1, priority_class="low")),
            (True, "0 of 1 pods were preempted"),
        ),
        (expect(utilization={"atLeast": 0.25}), with_use(), (True, "mean cpu 25.00%")),
        (expect(utilization={"atLeast": 0.26}), with_use(), (False, "mean cpu 25.00%")),
        (
            expect(utilization={"of": "peak", "atMost": 0.74}), with_use(),
            (False, "peak cpu 75.00%"),
        ),
        (expect(utilization={"resource": "x"}), with_use(), (False, "no node has x")),
    ],
)  # fmt: skip
def test_what_is_found_in_words(expectation, run, expected):
    assert found_by(expectation, run) == expected


def test_an_eviction_ends_the_wait_of_its_pod_only():
    seen = RunObserver()
    pods = [observed(name, uid=name) for name in "ab"]
    for at, each in enumerate(pods):
        seen.removal_handled(
            each, EvictPod(each.key, each.uid, "user"), rejection("x"), at * SECOND_NS
        )
    seen.removal_handled(pods[0], EvictPod(pods[0].key, pods[0].uid, "user"), None, 5 * SECOND_NS)
    assert seen.blocked_ns == {"default/x": 5 * SECOND_NS}
    seen.end(9 * SECOND_NS)
    assert seen.blocked_ns == {"default/x": 8 * SECOND_NS}


CONFIGURED = """
  cluster:
    nodes: [{name: node, count: 2, cpu: "2"}]
    objects:
    - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
  configurations: [{name: one}, {name: two}]
  expectations:
  - {name: fits, pendingAtMost: 0, configurations: [two]}
  - {name: both, pendingAtMost: 0}
  - {name: same, samePlacement: [one, two]}
"""


def test_each_configuration_is_checked_for_what_concerns_it():
    report = pw.check(scenario(CONFIGURED))
    assert [(one.configuration, one.expectation, one.passed) for one in report.results] == [
        ("one", "both", True), ("two", "fits", True), ("two", "both", True),
        ("one, two", "same", True),
    ]  # fmt: skip
    text = report.html()
    for name in ("one", "two"):
        assert f"<h2>s.yaml ({name})</h2>" in text or f">s.yaml ({name})<" in text
    assert text.count("<table") > 1
    assert "4 of 4 expectations are met." in text


def test_a_report_lists_what_failed_first():
    results = tuple(
        CheckResult(scenario="s", configuration="c", expectation=name, passed=passed, message=text)
        for name, passed, text in (("a", True, "fine"), ("b", False, "1|2\n3"), ("c", True, "ok"))
    )
    report = CheckReport(results)
    assert not report.passed
    assert repr(report) == "<CheckReport: 3 expectations, 1 failed>"
    assert report.markdown().splitlines() == [
        "### podwright check: 1 of 3 expectations failed", "",
        "| | scenario | expectation | found |", "|---|---|---|---|",
        "| ❌ | s (c) | b | 1\\|2 3 |", "| ✅ | s (c) | a | fine |", "| ✅ | s (c) | c | ok |",
    ]  # fmt: skip
    assert report.junit().splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuites tests="3" failures="1">',
        '  <testsuite name="s (c)" tests="3" failures="1">',
        '    <testcase classname="s (c)" name="a" />',
        '    <testcase classname="s (c)" name="b">',
        '      <failure message="1|2&#10;3">1|2',
        "3</failure>",
        "    </testcase>",
        '    <testcase classname="s (c)" name="c" />',
        "  </testsuite>",
        "</testsuites>",
    ]
    rows = report.html().partition("<table")[2].split("<tr>")[2:]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    assert [(row[0], row[3], row[4]) for row in cells] == [
        ("failed", "b", "1|2\n3"), ("passed", "a", "fine"), ("passed", "c", "ok"),
    ]  # fmt: skip
    assert CheckReport(results[:1]).markdown().startswith("### podwright check: 1 passed\n")


# ------------------------------------------------------------------------------------ new checks


def test_a_past_decision_is_written_whole():
    run = scenario(cluster(nodes(2, "4"), pod("a", "3"), pod("b", "3"), pod("c", "9"))).simulate(
        progress=False
    )
    setup = msgspec.structs.replace(run.log.setup, configuration={"parallelism": 4})
    document = decision_scenario(find_cycle(run.log, "default/b"), setup)
    spec = document["spec"]
    assert (document["apiVersion"], document["kind"], document["metadata"]) == (
        "podwright.dev/v1alpha1", "Scenario", {"name": "b-1"},
    )  # fmt: skip
    assert spec["configurations"] == [{"name": "recorded", "configuration": {"parallelism": 4}}]
    first, second = run.node_of["default/a"], run.node_of["default/b"]
    assert spec["expectations"] == [
        {"name": "decision", "placed": {"pod": "default/b", "nodes": [second]}}
    ]
    objects = [
        (one["kind"], one["metadata"]["name"], one.get("spec", {}).get("nodeName", ""))
        for one in spec["cluster"]["objects"]
        if one["kind"] in ("Node", "Pod")
    ]
    # c has no node, and is left out; b is as it was created.
    assert sorted(objects) == sorted([
        ("Node", "node-0", ""), ("Node", "node-1", ""), ("Pod", "a", first), ("Pod", "b", ""),
    ])  # fmt: skip
    decided = spec["cluster"]["objects"][-1]
    assert decided["metadata"]["name"] == "b"
    assert "status" not in decided
    setup = run.log.setup
    default = decision_scenario(find_cycle(run.log, "default/b"), setup)
    assert "configurations" not in default["spec"]
    setup = msgspec.structs.replace(
        setup, gates={"GenericWorkload": True, "DRAPrioritizedList": False}
    )
    gated = decision_scenario(find_cycle(run.log, "default/b"), setup, ["own.py"])
    assert gated["spec"]["configurations"] == [
        {
            "name": "recorded",
            "featureGates": "GenericWorkload=true,DRAPrioritizedList=false",
            "plugins": ["own.py"],
        }
    ]
    without = decision_scenario(find_cycle(run.log, "default/c"), setup)["spec"]["expectations"]
    assert without == [{"name": "decision", "placed": {"pod": "default/c", "nodes": []}}]


def test_the_check_of_a_snapshot_is_written_whole():
    assert snapshot_scenario(["a.yaml", "b"], "s", 3) == {
        "apiVersion": "podwright.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"},
        "spec": {
            "cluster": {"files": ["a.yaml", "b"]},
            "expectations": [{"name": "not more pending pods", "pendingAtMost": 3}],
        },
    }  # fmt: skip
    assert snapshot_scenario(["a.yaml"], "s", 0, end="10m")["spec"]["stop"] == {"at": "10m"}


def test_a_recorded_run_may_be_elsewhere(tmp_path):
    made = scenario(cluster(nodes(1), pod("a")))
    made.simulate(output=tmp_path / "run", progress=False)
    text = {"apiVersion": "podwright.dev/v1alpha1", "kind": "Scenario"}
    found: Any = None
    for folder, beside in ((str(tmp_path / "run"), "/elsewhere/"), ("run", f"{tmp_path}/")):
        spec = {"cluster": {"run": {"folder": folder}}}
        found = read_scenario(
            msgspec.json.encode(text | {"spec": spec}), source="s.yaml", read=nothing, folder=beside
        )
        assert [name for name, _ in found.files] == [f"{tmp_path}/run.json"]
        kinds = {encode(one)["kind"] for one in found.loaded.objects}
        assert {"Node", "Pod"} <= kinds
    path = tmp_path / "s.json"
    path.write_bytes(msgspec.json.encode(text | {"spec": {"cluster": {"run": {"folder": "run"}}}}))
    assert load_scenario(path).files == found.files
