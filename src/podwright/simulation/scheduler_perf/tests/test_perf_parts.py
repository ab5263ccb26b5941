"""The parts of an execution by themselves: figures, documents, tasks of the background, waits."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, PodwrightError, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.store import kind_of
from podwright.scheduler.machine import METRIC_BY_NAME, Distribution
from podwright.simulation.scheduler_perf import execution
from podwright.simulation.scheduler_perf.execution import (
    Execution,
    _slice,
    _Task,
    _unrolled,
)
from podwright.simulation.scheduler_perf.measuring import (
    Collection,
    DataItem,
    Throughput,
    _difference,
    percentiles,
    quantile,
)
from podwright.simulation.scheduler_perf.operations import OPCODES, CreatePods, CreatePodSets
from podwright.simulation.scheduler_perf.results import Comparison, WorkloadResult, data_items_name
from podwright.simulation.scheduler_perf.templates import ObjectTemplate, decoded
from podwright.simulation.scheduler_perf.test_cases import (
    MetricsCollectorConfig,
    ThresholdMetricSelector,
    _CaseEntry,
    _WorkloadEntry,
    labels_match,
    load_test_cases,
)
from podwright.simulation.scheduler_perf.tested_cluster import (
    TestedCluster,
    WorkloadError,
    is_attempted,
)
from podwright.simulation.scheduler_perf.tests.test_scheduler_perf import (
    FILES,
    NODES,
    PODS,
    SECOND,
    Clock,
    case,
    read_from,
    run,
)
from podwright.simulation.world import START_NS
from podwright.testing import make_node, make_pod

MS = 1_000_000

# ---------------------------------------------------------------------------------- the document


def test_operations_leave_these_values_out():
    pods = {
        "opcode": "", "count": 0, "steadyState": False, "duration": 0, "collectMetrics": False,
        "namespace": "", "podTemplatePath": "", "skipWaitToCompletion": False,
        "persistentVolumeTemplatePath": "", "persistentVolumeClaimTemplatePath": "",
    }  # fmt: skip
    any_ = {"opcode": "", "namespace": "", "templatePath": "", "count": 1}
    expected: dict[str, dict[str, Any]] = {
        "allocResourceClaims": {"namespace": ""},
        "barrier": {"namespaces": [], "labelSelector": {}, "stageRequirement": ""},
        "churn": {"mode": "create", "number": 0, "intervalMilliseconds": 0, "namespace": "",
                  "templatePaths": []},
        "createAny": any_,
        "createNamespaces": {"count": 0, "prefix": "", "namespaceTemplatePath": ""},
        "createNodes": {"count": 0, "nodeTemplatePath": "", "nodeAllocatableStrategy": None,
                        "labelNodePrepareStrategy": None, "uniqueNodeLabelStrategy": None},
        "createPodSets": {"count": 0, "namespacePrefix": "", "createPodsOp": pods},
        "createPods": pods,
        "createResourceClaims": any_ | {"count": 0},
        "createResourceDriver": {"driverName": "", "nodes": "", "maxClaimsPerNode": 0},
        "deletePods": {"namespace": "", "labelSelector": {}, "skipWaitToCompletion": False,
                       "deletePodsPerSecond": 0},
        "sleep": {"duration": 0},
        "startCollectingMetrics": {"name": "", "namespaces": [], "labelSelector": {}},
        "stopCollectingMetrics": {},
        "updateAny": any_ | {"updatePerSecond": 0, "subresources": []},
    }  # fmt: skip
    found = {name: json.loads(msgspec.json.encode(kind())) for name, kind in OPCODES.items()}
    assert found == {name: {"opcode": ""} | fields for name, fields in expected.items()}
    collecting = {name for name, kind in OPCODES.items() if kind().collects}
    assert collecting == {"stopCollectingMetrics"}
    assert CreatePods(collect_metrics=True).collects
    assert CreatePodSets(create_pods_op=CreatePods(collect_metrics=True)).collects
    strategies: Any = [
        msgspec.convert({name: {}}, OPCODES["createNodes"])
        for name in ("nodeAllocatableStrategy", "uniqueNodeLabelStrategy")
    ]
    assert msgspec.to_builtins(strategies[0].node_allocatable_strategy) == {
        "nodeAllocatable": {}, "csiNodeAllocatable": {}, "migratedPlugins": (),
    }  # fmt: skip
    assert msgspec.to_builtins(strategies[1].unique_node_label_strategy) == {"labelKey": ""}


def test_entries_of_test_cases_leave_these_values_out():
    selector = {"name": "", "labels": {}, "dataBucket": "", "expectLower": False}
    entries: list[Any] = [
        ThresholdMetricSelector(), MetricsCollectorConfig(), _WorkloadEntry(), _CaseEntry()
    ]  # fmt: skip
    assert [json.loads(msgspec.json.encode(each)) for each in entries] == [
        selector,
        {"metrics": {}},
        {"name": "", "params": {}, "labels": [], "threshold": None,
         "thresholdMetricSelector": None, "featureGates": {}},
        {"name": "", "featureGates": {}, "metricsCollectorConfig": None, "workloadTemplate": [],
         "workloads": [], "schedulerConfigPath": "", "defaultPodTemplatePath": "", "labels": [],
         "defaultThresholdMetricSelector": None},
    ]  # fmt: skip


def errors_of(text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        load_test_cases("config.yaml", read_from(FILES | {"config.yaml": text}))
    return [str(error) for error in raised.value.errors]


MEASURED = {**PODS, "count": 1}


@pytest.mark.parametrize(
    ("operation", "errors"),
    [
        ({"opcode": "churn", "mode": "recreate", "templatePaths": ["pod.yaml"]},
         [".number: Invalid value: 0: must be greater than or equal to 1"]),
        ({"opcode": "churn"}, [".templatePaths: Required value"]),
        ({"opcode": "createPods", "steadyState": True, "skipWaitToCompletion": True},
         [".steadyState: Forbidden: may not be combined with skipWaitToCompletion",
          ".duration: Required value: a steady state lasts longer than 0s"]),
        ({"opcode": "createPods", "persistentVolumeClaimTemplatePath": "pvc.yaml"},
         [".persistentVolumeTemplatePath: Required value"]),
        ({**NODES, "uniqueNodeLabelStrategy": {"labelKey": "a"},
          "labelNodePrepareStrategy": {"labelKey": "b", "labelValues": ["c"]}},
         [": Forbidden: at most one strategy may be specified"]),
        ({**NODES, "labelNodePrepareStrategy": {"labelKey": "b"}},
         [".labelNodePrepareStrategy.labelValues: Required value"]),
        ({"opcode": "sleep", "durationParam": "never"},
         ['.durationParam: workload w: Invalid value: "never": must be "$" and the name of a'
          " parameter"]),
        ({"opcode": "createPodSets", "createPodsOp": {"podTemplatePath": "none.yaml"}},
         [".createPodsOp.podTemplatePath: none.yaml: cannot be read"]),
        ({"opcode": "churn", "templatePaths": ["pod.yaml", "none.yaml"]},
         [".templatePaths[1]: none.yaml: cannot be read"]),
        ({**NODES, "count": 10**9},
         [".count: Invalid value: 1000000000: must be between 0 and 1000000"]),
        ([], [".opcode: Unsupported value: \"None\""]),
    ],
)  # fmt: skip
def test_mistakes_of_an_operation(operation, errors):
    found = errors_of(case(operation, MEASURED))
    start = "config.yaml: [0].workloadTemplate[0]"
    assert len(found) == len(errors), found
    for text, error in zip(found, errors, strict=True):
        assert text.startswith(f"{start}{error}"), (text, error)


def cases_of(*entries: dict[str, Any]) -> str:
    return json.dumps(list(entries))


ONE: dict[str, Any] = {
    "name": "Case", "workloadTemplate": [NODES, MEASURED], "workloads": [{"name": "w"}]
}  # fmt: skip


def test_names_are_used_once_and_names_and_workloads_are_needed():
    assert errors_of(cases_of(ONE, ONE)) == ['config.yaml: [1].name: Duplicate value: "Case"']
    twice = ONE | {"workloads": [{"name": "w"}, {"name": "w"}]}
    assert errors_of(cases_of(twice)) == [
        'config.yaml: [0].workloads[1].name: Duplicate value: "w"'
    ]
    found = errors_of(cases_of({}, {}))
    assert not any("Duplicate" in text for text in found)
    assert [text.split(": ")[1] for text in found] == [
        f"[{index}].{name}"
        for index in (0, 1)
        for name in ("name", "workloadTemplate", "workloads")
    ]
    other = ONE | {"name": "Other", "labels": ["a"]}
    other["workloads"] = [{"name": "v", "labels": ["b"], "params": {"numNodeDeclaredFeatures": 3}}]
    workloads = load_test_cases("c", read_from(FILES | {"c": cases_of(ONE, other)}), topic="t")
    assert [(one.test_case, one.name, one.labels, one.topic) for one in workloads] == [
        ("Case", "w", (), "t"), ("Other", "v", ("a", "b"), "t"),
    ]  # fmt: skip
    assert [one.declared_features for one in workloads] == [0, 3]
    assert workloads[0].selector == ThresholdMetricSelector(
        name="SchedulingThroughput", data_bucket="Average"
    )


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (None, 0.0), (5, 5.0), ({"t": 3, "": 2}, 3.0), ({"u": 3, "": 2}, 2.0), ({"u": 3}, 0.0),
        ({"t": None, "": 2}, 2.0), (0, 0.0),
    ],
)  # fmt: skip
def test_the_threshold_of_a_topic(threshold, expected):
    text = case(NODES, MEASURED, threshold=threshold)
    (found,) = load_test_cases("c", read_from(FILES | {"c": text}), topic="t")
    assert (found.threshold, type(found.threshold)) == (expected, float)


def test_wrong_thresholds_have_their_path():
    found = errors_of(case(NODES, MEASURED, threshold={"t": True, "": "x"}))
    where = "config.yaml: [0].workloads[0].threshold"
    assert [text.split(": Invalid")[0] for text in found] == [f"{where}.t", where]


SELECTED = {"name": "scheduler_plugin_execution_duration_seconds", "dataBucket": "Average"}
SERIES = "[0].workloads[0].thresholdMetricSelector.labels"


@pytest.mark.parametrize(
    ("labels", "is_known"),
    [
        ({"plugin": "NodeName"}, True), ({"plugin": "Mine"}, False), ({"x": "y"}, False), ({}, True)
    ],
)  # fmt: skip
def test_a_threshold_is_about_a_series_that_is_collected(labels, is_known):
    text = case(NODES, MEASURED, thresholdMetricSelector=SELECTED | {"labels": labels})
    if is_known:
        load_test_cases("c", read_from(FILES | {"c": text}))
    else:
        (found,) = errors_of(text)
        assert found.startswith(f"config.yaml: {SERIES}: Invalid value: ")
    name = {"name": "scheduler_event_handling_duration_seconds", "labels": {"event": "any"}}
    text = case(NODES, MEASURED, thresholdMetricSelector=SELECTED | name)
    assert len(load_test_cases("c", read_from(FILES | {"c": text}))) == 1


def test_the_series_of_a_configuration_are_collected():
    metrics = {
        "scheduler_plugin_execution_duration_seconds": [
            {"label": "plugin", "values": ["A", "B"]}, {"label": "status", "values": []}
        ],
        "scheduler_event_handling_duration_seconds": {"label": "event", "values": ["X"]},
        "scheduler_pod_scheduling_duration_seconds": None,
        "other": {"label": "any", "values": []},
    }  # fmt: skip
    one = ONE | {"metricsCollectorConfig": {"metrics": metrics}}
    (found,) = load_test_cases("c", read_from(FILES | {"c": cases_of(one)}))
    assert found.metrics == {
        "scheduler_plugin_execution_duration_seconds": {"plugin": ("A", "B"), "status": ()},
        "scheduler_event_handling_duration_seconds": {"event": ("X",)},
        "scheduler_pod_scheduling_duration_seconds": {},
        "other": {"any": ()},
    }
    metrics["scheduler_event_handling_duration_seconds"] = {"label": "x", "values": []}
    (error,) = errors_of(cases_of(one))
    where = "[0].metricsCollectorConfig.metrics.scheduler_event_handling_duration_seconds"
    assert error.startswith(f'config.yaml: {where}: Unsupported value: "x": ')


def test_labels_match_if_all_are_there():
    assert labels_match({"a": "b", "c": "d"}, {"a": "b"})
    assert labels_match({}, {})
    assert not labels_match({"a": "b"}, {"a": "c"})
    assert not labels_match({"a": "b"}, {"a": "b", "c": "d"})


# --------------------------------------------------------------------------------- the figures


def test_percentiles_are_values():
    assert percentiles([3.0, 1.0]) == {
        "Average": 2.0, "Perc50": 1.0, "Perc90": 3.0, "Perc95": 3.0, "Perc99": 3.0,
    }  # fmt: skip
    hundred = [float(number) for number in range(1, 201)]
    assert percentiles(hundred) == {
        "Average": 100.5, "Perc50": 100.0, "Perc90": 180.0, "Perc95": 190.0, "Perc99": 198.0,
    }  # fmt: skip


def test_pods_that_are_scheduled_within_one_window_are_their_rate():
    throughput = Throughput(10 * SECOND)
    throughput.tick(11 * SECOND)
    assert (throughput.samples, throughput.result()) == ([], {})
    for _ in range(4):
        throughput.scheduled(10 * SECOND + SECOND // 2)
    throughput.tick(12 * SECOND)
    assert throughput.samples == []
    assert throughput.result()["Average"] == 8.0
    at_once = Throughput(SECOND)
    at_once.scheduled(SECOND)
    assert at_once.result()["Average"] == 1e9
    throughput.scheduled(14 * SECOND)
    throughput.tick(14 * SECOND)
    assert throughput.samples == [0.5], "one in the two seconds since the last window"
    assert throughput.result()["Average"] == 0.5
    throughput.tick(15 * SECOND)
    throughput.scheduled(16 * SECOND)
    throughput.tick(16 * SECOND)
    throughput.scheduled(17 * SECOND)
    throughput.tick(17 * SECOND)
    assert throughput.samples == [0.5, 0.5, 0.5, 1.0], "the window that was left out counts once"


@pytest.mark.parametrize(
    ("share", "counts", "expected"),
    [(0.25, [2, 2, 0], 0.5), (0.5, [0, 4, 0], 1.5), (1.0, [1, 0, 3], 2.0), (0.0, [0, 2, 2], 1.0)],
)
def test_quantiles(share, counts, expected):
    assert quantile(share, counts, [1.0, 2.0, float("inf")]) == expected


def test_there_is_no_quantile_of_nothing():
    with pytest.raises(AssertionError, match="no bucket has rank"):
        quantile(0.5, [0, 0], [1.0, float("inf")])


NAME = "scheduler_plugin_execution_duration_seconds"


def snapshot(*series: tuple[tuple[str, ...], int, int]) -> Any:
    """Return series of a histogram with so many durations in the second bucket."""
    made = []
    for labels, count, total_ns in series:
        counts = [0] * (len(METRIC_BY_NAME[NAME].bounds) + 1)
        counts[1] = count
        made.append(Distribution(labels, tuple(counts), total_ns))
    family = type("Family", (), {"name": NAME, "series": tuple(made)})
    return type("Snapshot", (), {"families": (family,)})


def test_a_difference_of_histograms_is_what_came_since():
    old, new = Distribution(("a",), (1, 2), 30), Distribution(("a",), (1, 5), 90)
    assert _difference(new, old) == Distribution(("a",), (0, 3), 60)
    assert _difference(new, None) is new


def collection(metrics: Any, before: Any, memory: Any) -> Collection:
    workload: Any = type("Workload", (), {"metrics": metrics})
    return Collection(
        "c", workload, ("ns",), {"a": "b"}, now_ns=10 * SECOND, before=before, read_memory=memory
    )


def shown(items: list[DataItem]) -> list[Any]:
    return [(dict(each.labels), each.data, each.unit) for each in items]


def test_a_collection_has_the_figures_of_its_time():
    memory = iter([1 << 20, 3 << 20, 2 << 20])
    attempts = "scheduler_scheduling_attempt_duration_seconds"
    names = METRIC_BY_NAME[NAME].labels
    first, second = (tuple(f"{label}-{each}" for label in names) for each in "xy")
    found = collection(
        {attempts: {"result": ("unschedulable", "scheduled")}, NAME: {names[0]: None}, "none": {}},
        snapshot((first, 1, SECOND)), lambda: next(memory),
    )  # fmt: skip
    assert found.due_ns == 10 * SECOND + SECOND // 2
    for at, name, namespace, labels in (
        (10.2, "p", "ns", {"a": "b"}), (10.3, "q", "other", {"a": "b"}), (10.4, "r", "ns", {})
    ):  # fmt: skip
        pod = make_pod(name, namespace=namespace, labels=labels, node="n")
        found.scheduled(pod, int(at * SECOND))
    found.sample(10 * SECOND + SECOND // 2 - 1)
    found.sample(10 * SECOND + SECOND // 2)
    assert found.due_ns == 11 * SECOND
    found.sample(12 * SECOND)
    assert found.due_ns == 12 * SECOND + SECOND // 2
    after = snapshot((first, 3, 5 * SECOND), (second, 1, SECOND))
    items = shown(found.items(13 * SECOND, after))
    by_metric = {labels["Metric"]: (data, unit) for labels, data, unit in items}
    # One pod of the namespace with the label, 0.2 s after the start.
    assert by_metric["SchedulingThroughput"][0]["Average"] == pytest.approx(5)
    assert by_metric["heap_memory_usage"] == (
        {"Average": 2.0, "Perc50": 2.0, "Perc90": 3.0, "Perc95": 3.0, "Perc99": 3.0, "Max": 3.0},
        "MB",
    )
    begun = collection({}, snapshot(), lambda: 1 << 20)
    at_once = {labels["Metric"]: data for labels, data, _ in shown(begun.items(10 * SECOND, after))}
    assert at_once["memory_growth_rate"] == {"GrowthRate": 0.0}
    # From 1 to 2 MB in two seconds.
    assert by_metric["memory_growth_rate"] == ({"GrowthRate": pytest.approx(30)}, "MB/min")
    assert by_metric["SchedulingDuration"] == ({"Duration": 3.0}, "s")
    assert {labels["Name"] for labels, _, _ in items} == {"c"}
    histograms = [(labels[names[0]], data["Average"]) for labels, data, _ in items
                  if labels["Metric"] == NAME]  # fmt: skip
    # Two in four seconds since the start, and one in a second; in milliseconds.
    assert histograms == [(first[0], 2000.0), (second[0], 1000.0)]
    assert attempts not in by_metric


# ----------------------------------------------------------------------------------- results


def comparison(value: float, threshold: float, *, expect_lower: bool) -> Comparison:
    return Comparison(
        name="n", metric="m", bucket="b", unit="s", value=value, threshold=threshold,
        expect_lower=expect_lower,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "threshold", "expect_lower", "is_met"),
    [
        (5, 0, False, True), (5, 0, True, True), (5, 4, False, True), (5, 5, False, False),
        (5, 6, False, False), (5, 6, True, True), (5, 5, True, False), (5, 4, True, False),
    ],
)  # fmt: skip
def test_a_value_is_on_the_right_side_of_its_threshold(value, threshold, expect_lower, is_met):
    assert comparison(value, threshold, expect_lower=expect_lower).is_met is is_met


def test_a_result_has_passed_without_an_error_if_all_thresholds_are_met():
    met, missed = (comparison(5, each, expect_lower=False) for each in (4, 6))
    for error, comparisons, has_passed in (
        ("", (), True), ("", (met,), True), ("", (met, missed), False), ("x", (met,), False)
    ):  # fmt: skip
        found = WorkloadResult(
            topic="t", test_case="c", workload="w", items=(), comparisons=comparisons, error=error
        )
        assert found.has_passed is has_passed
        document = found.document()
        assert document == {
            "topic": "t", "testCase": "c", "workload": "w", "items": (), "error": error,
            "comparisons": tuple(map(msgspec.to_builtins, comparisons)), "notes": (),
            "seconds": 0.0, "passed": has_passed,
        }  # fmt: skip
    assert msgspec.to_builtins(met)["expectLower"] is False
    assert data_items_name("t", "now") == "BenchmarkPerfScheduling_benchmark_t_now.json"


def test_a_figure_without_the_bucket_of_the_threshold_is_an_error():
    selector = {"name": "SchedulingDuration", "dataBucket": "Perc7"}
    one = {"metricsCollectorConfig": {"metrics": {"SchedulingDuration": None}}}
    entry = ONE | one
    entry["workloads"] = [{"name": "w", "threshold": 1, "thresholdMetricSelector": selector}]
    result = run(cases_of(entry))
    assert (result.error, result.comparisons) == ("SchedulingDuration has no Perc7", ())
    entry["workloads"] = [{"name": "w", "thresholdMetricSelector": selector}]
    assert run(cases_of(entry)).error == ""


# ------------------------------------------------------------------------------- templates


def test_numbers_of_templates():
    for expression, value in (
        ("Mod 7 -3", 1), ("Mod -7 3", -1), ("Mod 7.9 2.9", 1),
        ("AddInt 1.9 1", 2), ("MultiplyFloat 2 3 0.5", 3.0),
    ):  # fmt: skip
        template = ObjectTemplate(f"value: {{{{ {expression} }}}}\n".encode(), "t.yaml")
        assert template.document() == {"value": value}
    for expression, error in (
        ("DivideInt 1 0", "division by zero"), ('AddInt "x" 1', "cannot convert 'x' to a number"),
    ):  # fmt: skip
        template = ObjectTemplate(f"value: {{{{ {expression} }}}}\n".encode(), "t.yaml")
        with pytest.raises(PodwrightError, match=error) as raised:
            template.document()
        assert str(raised.value).startswith("t.yaml: ")
    with pytest.raises(PodwrightError, match=r"t\.yaml: must be an object"):
        ObjectTemplate(b"[]", "t.yaml").document()
    counted = ObjectTemplate(b'a: "{{ .Index }} {{ .Count }}"', "t")
    assert (counted.document(), counted.is_constant) == ({"a": "0 1"}, False)
    assert ObjectTemplate(b"a: b", "t").is_constant


def test_an_object_of_another_kind_is_an_error():
    node: Any = encode(make_node("n"))
    from podwright.apimachinery.objects import Pod

    with pytest.raises(InputError) as raised:
        decoded(node, "t", Pod)
    assert str(raised.value) == "t: kind: must be a Pod, not a Node"
    with pytest.raises(InputError, match="apiVersion"):
        decoded(node | {"apiVersion": 1}, "t", Pod)


# --------------------------------------------------------------------------- the execution


def made(*operations: dict[str, Any], **more: Any) -> Execution:
    text = case(*operations, **more)
    (workload,) = load_test_cases("c", read_from(FILES | {"c": text}))
    return Execution(workload, Clock(), "name")


def test_late_steps_are_not_repeated():
    steps = iter([1, 2, 3])
    task = _Task(0, 10, steps)
    due = []
    for now in (9, 10, 19, 45, 50, 60):
        task.run(now)
        due.append((task.due_ns, task.is_over))
    assert due == [(10, False), (20, False), (20, False), (50, False), (60, False), (70, True)]


def test_pod_sets_stand_for_creations():
    sets = CreatePodSets(
        opcode="createPodSets", count=2, namespace_prefix="ns", create_pods_op=CreatePods(count=3)
    )
    other = CreatePods(opcode="createPods", count=1)
    found = list(_unrolled([sets, other]))
    shown_as = [
        (one.opcode, one.namespace, one.count) for one in found if isinstance(one, CreatePods)
    ]
    assert shown_as == [("createPods", "ns-0", 3), ("createPods", "ns-1", 3), ("createPods", "", 1)]


def test_devices_of_a_node():
    assert _slice("d", "n", 0)["spec"] == {
        "driver": "d", "nodeName": "n", "pool": {"name": "n", "resourceSliceCount": 1},
        "devices": [],
    }  # fmt: skip
    found = _slice("d", "n", 2)
    assert (found["apiVersion"], found["kind"]) == ("resource.k8s.io/v1", "ResourceSlice")
    assert found["metadata"] == {"name": "n"}
    assert found["spec"]["devices"] == [
        {
            "name": f"instance-{index}",
            "attributes": {
                "model": {"string": "A100"}, "family": {"string": "GPU"},
                "driverVersion": {"version": "1.2.3"}, "dra.example.com/numa": {"int": index},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for index in range(2)
    ]  # fmt: skip
    decode(found)


def nodes_of(found: Execution) -> list[Any]:
    return [encode(node) for node in found._world.nodes]


def test_nodes_have_numbers_hostnames_and_what_prepares_them():
    labels = {"labelKey": "zone", "labelValues": ["a", "b"]}
    found = made(
        {"opcode": "createNodes", "count": 3, "labelNodePrepareStrategy": labels},
        {"opcode": "createNodes", "count": 1, "uniqueNodeLabelStrategy": {"labelKey": "own"}},
        {"opcode": "createNodes", "count": 1, "nodeAllocatableStrategy": {
            "nodeAllocatable": {"cpu": "7"}, "csiNodeAllocatable": {"d": {"count": 2}},
            "migratedPlugins": ["p", "q"]}},
        MEASURED,
    )  # fmt: skip
    found.run()
    nodes = nodes_of(found)
    names = [f"node-0-{number:05d}" for number in range(3)] + ["node-1-00003", "node-2-00004"]
    assert [node["metadata"]["name"] for node in nodes] == names
    assert [node["metadata"]["labels"]["kubernetes.io/hostname"] for node in nodes] == names
    assert [node["metadata"]["labels"].get("zone") for node in nodes] == ["a", "b", "a", None, None]
    assert nodes[3]["metadata"]["labels"]["own"] == nodes[3]["metadata"]["uid"]
    assert [node["status"]["allocatable"]["cpu"] for node in nodes] == ["4"] * 5
    assert nodes[0]["status"]["allocatable"] == {"pods": "110", "cpu": "4", "memory": "32Gi"}
    (csi_node,) = (
        encode(obj) for obj in found._world.store.list(("storage.k8s.io", "CSINode")).objects
    )
    assert csi_node["metadata"]["name"] == "node-2-00004"
    assert csi_node["metadata"]["annotations"] == {
        "storage.alpha.kubernetes.io/migrated-plugins": "p,q"
    }
    assert csi_node["spec"]["drivers"] == [
        {"name": "d", "nodeID": "node-2-00004", "allocatable": {"count": 2}}
    ]


@pytest.mark.parametrize(
    ("count", "gates", "declared"),
    [
        (2, {"NodeDeclaredFeatures": True}, ["Feature1", "Feature2"]),
        (0, {"NodeDeclaredFeatures": True}, None),
        (2, {}, None),
    ],
)
def test_nodes_declare_features_if_the_gate_is_set(count, gates, declared):
    params = {"numNodeDeclaredFeatures": count}
    found = made(NODES, MEASURED, params=params, featureGates=gates)
    written: list[Any] = []
    set_status = found._set_status

    def noted(obj: Any, fields: Any) -> None:
        written.append(fields)
        set_status(obj, fields)

    found._set_status = noted  # type: ignore[method-assign]
    found.run()
    assert written == ([{"declaredFeatures": declared}] * 2 if declared else [])
    statuses = [node["status"] for node in nodes_of(found)]
    assert [one.get("declaredFeatures") for one in statuses] == [declared] * 2
    assert all(one["allocatable"]["cpu"] == "4" for one in statuses), "the rest of it is kept"


def test_pods_and_nodes_without_templates():
    found = made(NODES, {"opcode": "createPods", "count": 2, "collectMetrics": True})
    found.run()
    pods = found.cluster.pods_of("namespace-1", {})
    assert len(pods) == 2
    (container,) = encode(pods[0])["spec"]["containers"]
    amounts = {"cpu": "100m", "memory": "500Mi"}
    assert container["resources"] == {"limits": amounts, "requests": amounts}
    assert (container["name"], container["image"]) == ("pause", "registry.k8s.io/pause:3.10.1")
    assert container["ports"][0]["containerPort"] == 80
    assert all(pod.metadata.name.startswith("pod-") for pod in pods)
    assert found.cluster.scheduled_counts == {"namespace-1": 2}


def error_of(*operations: dict[str, Any]) -> str:
    return run(case(*operations)).error


def test_operations_that_cannot_be_executed_say_why(monkeypatch):
    barrier = {"opcode": "barrier", "namespaces": ["ns"]}
    start = {"opcode": "startCollectingMetrics", "name": "a", "namespaces": ["ns"]}
    stop = {"opcode": "stopCollectingMetrics"}
    assert error_of(barrier, MEASURED) == "operation 0 (barrier): unknown namespace ns"
    assert error_of(NODES, stop) == (
        "operation 1 (stopCollectingMetrics): no collection of metrics has been started"
    )
    assert error_of(start, start, stop) == (
        "operation 1 (startCollectingMetrics): another collection of metrics has not been stopped"
    )
    monkeypatch.setattr(execution, "_WAIT_MAX_NS", SECOND)
    large = {"opcode": "createPods", "podTemplatePath": "large.yaml", "count": 2, "namespace": "ns"}
    found = error_of(NODES, {**large, "collectMetrics": True})
    assert found.startswith(
        "operation 1 (createPods): 2 pods of namespace ns are not scheduled; the first is ns/pod-"
    )
    both = made(NODES, {**PODS, "count": 1, "namespace": "ns"}, {**large, "collectMetrics": True})
    with pytest.raises(WorkloadError) as raised:
        both.run()
    waiting = {pod.key for pod in both.cluster.pods_of("ns", {}) if not pod.spec.node_name}
    assert len(waiting) == 2
    assert str(raised.value).rpartition(" ")[2] in waiting, "and not the first pod of the namespace"
    skipping = {**large, "skipWaitToCompletion": True}
    waits = {"opcode": "barrier", "namespaces": ["ns"]}
    assert error_of(NODES, skipping, waits, MEASURED).startswith(
        "operation 2 (barrier): 2 pods of namespace ns are not scheduled"
    )
    attempted = waits | {"stageRequirement": "Attempted"}
    assert error_of(NODES, skipping, attempted, MEASURED) == ""
    steady = {**large, "count": 1, "steadyState": True, "duration": "1s", "collectMetrics": True}
    assert error_of(NODES, steady) == (
        "operation 1 (createPods): no pod was scheduled during the steady state"
    )


def test_a_barrier_waits_for_all_namespaces_once():
    skipping = {**PODS, "collectMetrics": False, "skipWaitToCompletion": True, "count": 3}
    found = made(
        NODES, {**skipping, "namespace": "a"}, {**skipping, "namespace": "b"},
        {"opcode": "barrier"}, MEASURED,
    )  # fmt: skip
    found.run()
    assert found._expected == {"a": 0, "b": 0, "namespace-4": 0}
    assert found.cluster.scheduled_counts == {"a": 3, "b": 3, "namespace-4": 1}


def test_deletions_are_awaited_or_go_on_in_the_background():
    ends = {"opcode": "createPods", "podTemplatePath": "ends.yaml", "count": 4, "namespace": "a"}
    for skips, left in ((False, 0), (True, 4)):
        deletion = {
            "opcode": "deletePods", "namespace": "a", "deletePodsPerSecond": 2,
            "skipWaitToCompletion": skips,
        }  # fmt: skip
        found = made({"opcode": "createNodes", "count": 1}, ends, deletion, MEASURED)
        for index, operation in enumerate(_unrolled(found._workload.operations)):
            if index == 3:
                break
            found._index = index
            found._execute[type(operation)](operation)
        assert len(found.cluster.pods_of("a", {})) == left
        assert bool(found._tasks) is skips
    at_once = {"opcode": "deletePods", "namespace": "a", "labelSelector": {"type": "plain"}}
    found = made({"opcode": "createNodes", "count": 1}, ends, at_once, MEASURED)
    found.run()
    assert found.cluster.pods_of("a", {}) == []


def test_churn_creates_so_many_objects_or_replaces_them():
    def of(number: int, mode: str) -> Execution:
        churn = {
            "opcode": "churn", "mode": mode, "number": number, "intervalMilliseconds": 100,
            "namespace": "churned", "templatePaths": ["large.yaml", "class.yaml"],
        }  # fmt: skip
        found = made(NODES, churn, {"opcode": "sleep", "duration": "1s"}, MEASURED)
        found.run()
        return found

    created = of(3, "create")
    assert len(created.cluster.pods_of("churned", {})) == 3
    assert created._tasks == [], "it is over"
    # Two are created, then deleted, and so on: the tenth step deletes or creates the second.
    assert len(of(2, "recreate").cluster.pods_of("churned", {})) <= 2


def test_attempted_pods_have_a_node_a_gate_or_a_condition():
    waiting = make_pod("p")
    tried = decode(
        encode(waiting) | {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    )
    ready = decode(encode(waiting) | {"status": {"conditions": [{"type": "Ready"}]}})
    pods: list[Any] = [waiting, make_pod("q", node="n"), make_pod("r", gates=["g"]), tried, ready]
    assert [is_attempted(pod) for pod in pods] == [False, True, True, True, False]


# ---------------------------------------------------------------------------- the cluster


def test_requests_name_what_is_wrong():
    cluster: TestedCluster = made(NODES, MEASURED).cluster
    namespaced: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    node: Any = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    for document, namespace, error in (
        (namespaced, "", "ConfigMap is namespaced: set namespace"),
        (node, "ns", "Node is not namespaced"),
        (namespaced | {"kind": "Thing"}, "ns", "v1 Thing is not served"),
        (namespaced, "none", 'namespaces "none" not found'),
    ):
        with pytest.raises(WorkloadError) as raised:
            cluster.send("POST", document, namespace)
        assert str(raised.value) == error
    assert cluster.is_namespaced(namespaced)
    assert not cluster.is_namespaced(node)
    made_node = cluster.send("POST", node | {"spec": {"unschedulable": True}}, "")
    assert made_node["metadata"]["name"] == "n"
    changed = cluster.send("PUT", node | {"status": {"capacity": {"cpu": "3"}}}, "", "status")
    assert (changed["spec"]["unschedulable"], changed["status"]["capacity"]) == (True, {"cpu": "3"})
    cluster.send("DELETE", node, "")
    with pytest.raises(WorkloadError, match='nodes "n" not found'):
        cluster.send("DELETE", node, "")


def test_pods_are_counted_by_namespace_and_node():
    cluster: TestedCluster = made(NODES, MEASURED).cluster
    waiting, bound = make_pod("p", labels={"a": "b"}), make_pod("p", labels={"a": "b"}, node="n")
    cluster.changed(None, waiting, START_NS)
    assert (cluster.scheduled_counts, len(cluster.pods_of("default", {"a": "b"}))) == ({}, 1)
    cluster.changed(waiting, bound, START_NS)
    cluster.changed(bound, bound, START_NS)
    assert cluster.scheduled_counts == {"default": 1}
    assert cluster.pods_of("default", {"a": "c"}) == cluster.pods_of("other", {}) == []
    cluster.changed(bound, None, START_NS)
    assert (cluster.scheduled_counts, cluster.pods) == ({"default": 0}, {"default": {}})
    cluster.changed(None, make_node("n"), START_NS)
    assert cluster.pods == {"default": {}}


@pytest.mark.parametrize(
    ("gates", "off"),
    [
        ({}, set()),
        ({"PodLevelResources": True}, set()),
        ({"PodLevelResources": False}, {"InPlacePodLevelResourcesVerticalScaling"}),
        (
            {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False},
            set(),
        ),
    ],
)
def test_gates_that_depend_on_one_that_is_off_are_off(gates, off):
    notes = made(NODES, MEASURED, featureGates=gates).cluster.notes
    expected = [f"feature gate {name} is off, as it depends on PodLevelResources" for name in off]
    assert notes == expected


def test_the_scheduler_works_after_so_many_objects_were_created(monkeypatch):
    monkeypatch.setattr(execution, "_CREATED_AT_ONCE", 2)
    begun = made(NODES, MEASURED)
    worked: list[int] = []

    def turn() -> bool:
        worked.append(len(begun.cluster.world.store.list(kind_of(make_node("n"))).objects))
        return True

    monkeypatch.setattr(begun, "_turn", turn)
    begun._create_each(make_node(f"n{number}") for number in range(5))
    assert worked == [2, 4]
