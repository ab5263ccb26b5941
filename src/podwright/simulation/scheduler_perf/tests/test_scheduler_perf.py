"""Files of scheduler_perf: what is read, executed and measured, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import FieldError, InputError, Pod
from podwright.simulation.scheduler_perf import (
    WorkloadResult,
    data_items_document,
    load_test_cases,
    run_workload,
)
from podwright.simulation.scheduler_perf.measuring import Throughput, quantile
from podwright.simulation.scheduler_perf.operations import OPCODES
from podwright.simulation.scheduler_perf.templates import ObjectTemplate, decoded

SECOND = 1_000_000_000
POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-, labels: {type: plain}}
spec:
  containers:
  - {name: pause, image: pause, resources: {requests: {cpu: 100m}}}
"""
NAMED_POD = POD.replace("generateName: pod-", 'name: "pod-{{ .Index }}"')
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "claim-{{ .Index }}"}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu}}]}}
"""
CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
"""
FILES = {
    "pod.yaml": POD,
    "named.yaml": NAMED_POD,
    "gated.yaml": NAMED_POD.replace("spec:", "spec:\n  schedulingGates: [{name: example.com/g}]"),
    "large.yaml": POD.replace("100m", '"8"'),
    "claim.yaml": CLAIM,
    "class.yaml": CLASS,
    "pv.yaml": """
apiVersion: v1
kind: PersistentVolume
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  csi: {driver: ebs.csi.aws.com}
""",
    "pvc.yaml": """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
""",
    "crd.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
""",
    "thing.yaml": """
apiVersion: example.com/v1
kind: Thing
metadata: {name: one}
""",
    "ends.yaml": POD.replace("spec:", "spec:\n  terminationGracePeriodSeconds: 0"),
}


class Clock:
    """A clock that moves by a microsecond with each reading, and by what is slept."""

    def __init__(self) -> None:
        self.now_ns = 0

    def read_ns(self) -> int:
        self.now_ns += 1_000
        return self.now_ns

    def sleep(self, duration_ns: int) -> None:
        self.now_ns += duration_ns

    def read_memory(self) -> int:
        return 1 << 20


def read_from(files: Mapping[str, str]) -> Any:
    """Return a function that reads files of a mapping."""

    def read(path: str) -> bytes:
        try:
            return files[path].encode()
        except KeyError:
            raise InputError([FieldError(source=path, path="", message="cannot be read")]) from None

    return read


def case(*operations: dict[str, Any], params: dict[str, Any] | None = None, **more: Any) -> str:
    """Return a file with one workload."""
    workload = {"name": "w", "params": params or {}} | more
    return msgspec.json.encode(
        [{"name": "Case", "workloadTemplate": list(operations), "workloads": [workload]}]
    ).decode()


def run(text: str, topic: str = "") -> WorkloadResult:
    """Run the only workload of a file."""
    read = read_from(FILES | {"config.yaml": text})
    (workload,) = load_test_cases("config.yaml", read, topic=topic)
    return run_workload(workload, Clock())


def item(found_in: WorkloadResult, metric: str, /, **labels: str) -> dict[str, float]:
    """Return the values of the only item of a metric with labels."""
    (found,) = [
        each.data
        for each in found_in.items
        if each.labels["Metric"] == metric and labels.items() <= each.labels.items()
    ]
    return found


PLAIN = {"type": "plain"}
NODES = {"opcode": "createNodes", "count": 2}
PODS = {"opcode": "createPods", "podTemplatePath": "pod.yaml", "collectMetrics": True}


def test_pods_are_created_scheduled_and_measured():
    result = run(case(NODES, {**PODS, "countParam": "$pods"}, params={"pods": 40}))
    assert result.error == ""
    (comparison,) = result.comparisons
    assert (comparison.name, comparison.metric, comparison.bucket) == (
        "namespace-1",
        "SchedulingThroughput",
        "Average",
    )
    assert comparison.value > 0
    assert item(result, "heap_memory_usage")["Max"] == 1
    assert item(result, "SchedulingDuration")["Duration"] > 0
    attempts = item(result, "scheduler_scheduling_attempt_duration_seconds", result="scheduled")
    assert set(attempts) == {"Average", "Perc50", "Perc90", "Perc95", "Perc99"}
    handled = item(result, "scheduler_event_handling_duration_seconds", event="UnschedulablePodAdd")
    assert handled["Average"] > 0


def test_a_result_has_the_seconds_that_the_workload_took():
    text = case(NODES, {**PODS, "count": 4})
    (workload,) = load_test_cases("config.yaml", read_from(FILES | {"config.yaml": text}))
    clock = Clock()
    clock.now_ns = began_ns = 3_600 * SECOND
    result = run_workload(workload, clock)
    assert 0 < result.seconds <= (clock.now_ns - began_ns) / SECOND


def test_a_threshold_is_missed_or_met_and_topics_have_their_own():
    text = case(NODES, {**PODS, "count": 4}, threshold={"slow": 1e9, "": 1})
    assert run(text).has_passed
    missed = run(text, topic="slow")
    assert not missed.has_passed
    assert item(missed, "SchedulingThroughput")["AverageThreshold"] == 1e9


def test_a_threshold_may_be_an_upper_bound_of_a_histogram():
    selector = {
        "name": "scheduler_scheduling_attempt_duration_seconds",
        "labels": {"result": "scheduled"},
        "dataBucket": "Perc99",
        "expectLower": True,
    }
    text = case(NODES, {**PODS, "count": 4}, threshold=1, thresholdMetricSelector=selector)
    result = run(text)
    (comparison,) = result.comparisons
    assert (comparison.unit, comparison.is_met) == ("ms", comparison.value < 1)


def test_gates_are_removed_by_updates_at_a_rate():
    result = run(
        case(
            NODES,
            {"opcode": "startCollectingMetrics", "name": "gated", "namespaces": ["ns"]},
            {
                "opcode": "createPods",
                "count": 5,
                "namespace": "ns",
                "podTemplatePath": "gated.yaml",
                "skipWaitToCompletion": True,
            },
            {
                "opcode": "barrier",
                "stageRequirement": "Attempted",
                "labelSelector": {"type": "plain"},
            },
            {
                "opcode": "updateAny",
                "count": 5,
                "namespace": "ns",
                "templatePath": "named.yaml",
                "updatePerSecond": 2,
            },
            {"opcode": "barrier", "labelSelector": PLAIN},
            {"opcode": "stopCollectingMetrics"},
        )
    )
    assert result.error == ""
    # One pod each half a second: the first window is left out, so 2 pods a second.
    assert item(result, "SchedulingThroughput")["Perc50"] == pytest.approx(2, rel=0.1)


def test_deletions_make_room_in_the_background():
    deletion = {
        "opcode": "deletePods",
        "namespace": "first",
        "deletePodsPerSecond": 10,
        "skipWaitToCompletion": True,
    }
    pods = {"opcode": "createPods", "count": 40, "podTemplatePath": "ends.yaml"}
    result = run(
        case(
            {"opcode": "createNodes", "count": 1},
            {**pods, "namespace": "first"},
            {**pods, "namespace": "second", "skipWaitToCompletion": True},
            {"opcode": "barrier", "namespaces": ["second"], "stageRequirement": "Attempted"},
            {"opcode": "startCollectingMetrics", "name": "freed", "namespaces": ["second"]},
            deletion,
            {"opcode": "barrier", "namespaces": ["second"]},
            {"opcode": "stopCollectingMetrics"},
        )
    )
    assert result.error == ""
    assert item(result, "SchedulingDuration")["Duration"] == pytest.approx(4, abs=1)


def test_a_steady_state_replaces_its_pods_until_its_time_is_over():
    text = case(
        NODES,
        {**PODS, "count": 10, "steadyStateParam": "$steady", "durationParam": "$for"},
        params={"steady": True, "for": "2s"},
    )
    result = run(text)
    assert result.error == ""
    assert item(result, "SchedulingDuration")["Duration"] == pytest.approx(2, abs=0.2)
    # Ten pods alone are scheduled within some milliseconds.
    assert 10 < item(result, "SchedulingThroughput")["Average"] < 5_000


def test_churn_goes_on_in_the_background():
    churn = {
        "opcode": "churn",
        "mode": "recreate",
        "number": 1,
        "intervalMilliseconds": 100,
        "namespace": "churned",
        "templatePaths": ["large.yaml"],
    }
    measured = {"opcode": "startCollectingMetrics", "name": "churn", "namespaces": ["ns"]}
    sleep = {"opcode": "sleep", "durationParam": "$sleep"}
    text = case(
        NODES, churn, measured, sleep, {"opcode": "stopCollectingMetrics"}, params={"sleep": "2s"}
    )
    result = run(text)
    assert result.error == ""
    rejected = item(result, "scheduler_scheduling_attempt_duration_seconds", result="unschedulable")
    assert rejected["Average"] > 0


def test_claims_of_volumes_are_bound_and_pods_use_them():
    text = case(
        {
            "opcode": "createNodes",
            "count": 2,
            "nodeAllocatableStrategy": {
                "nodeAllocatable": {},
                "csiNodeAllocatable": {"ebs.csi.aws.com": {"count": 3}},
            },
        },
        {
            **PODS,
            "count": 6,
            "persistentVolumeTemplatePath": "pv.yaml",
            "persistentVolumeClaimTemplatePath": "pvc.yaml",
        },
    )
    assert run(text).error == ""
    seven = run(text.replace('"count":6', '"count":7'))
    assert "7 pods of namespace namespace-1 are not scheduled" in seven.error


def test_devices_are_published_and_claims_allocated():
    driver = {
        "opcode": "createResourceDriver",
        "driverName": "gpu.example.com",
        "nodes": "node-0-*",
        "maxClaimsPerNodeParam": "$claims",
    }
    measured = {"opcode": "startCollectingMetrics", "name": "none", "namespaces": ["ns"]}
    operations = (
        NODES,
        measured,
        driver,
        {"opcode": "createAny", "templatePath": "class.yaml"},
        {
            "opcode": "createResourceClaims",
            "count": 4,
            "namespace": "ns",
            "templatePath": "claim.yaml",
        },
        {"opcode": "allocResourceClaims", "namespace": "ns"},
        {"opcode": "stopCollectingMetrics"},
    )
    assert run(case(*operations, params={"claims": 2})).error == ""
    few = run(case(*operations, params={"claims": 1}))
    assert few.error.startswith("operation 5 (allocResourceClaims): no node has devices for claim")


def test_objects_of_a_kind_are_created_once_it_is_defined():
    defined = {"opcode": "createAny", "templatePath": "crd.yaml"}
    created = {"opcode": "createAny", "templatePath": "thing.yaml", "namespace": "own"}
    assert run(case(NODES, defined, created, {**PODS, "count": 1})).error == ""
    too_early = run(case(NODES, created, {**PODS, "count": 1}))
    assert too_early.error == "operation 1 (createAny): example.com/v1 Thing is not served"


def test_pod_sets_and_namespaces_have_numbers():
    text = case(
        NODES,
        {"opcode": "createNamespaces", "prefix": "ns", "count": 2},
        {
            "opcode": "createPodSets",
            "count": 2,
            "namespacePrefix": "ns",
            "createPodsOp": {**PODS, "opcode": "createPods", "countParam": "$pods"},
        },
        params={"pods": 3},
    )
    result = run(text)
    assert [each.name for each in result.comparisons] == ["ns-0", "ns-1"]


def test_results_have_the_form_of_the_dashboard():
    document = data_items_document([run(case(NODES, {**PODS, "count": 2}))])
    assert document["version"] == "v1"
    labels = {tuple(each["labels"]) for each in document["dataItems"]}
    assert labels == {("Metric", "Name", "event", "extension_point", "plugin", "result")}
    names = {each["labels"]["Name"] for each in document["dataItems"]}
    assert names == {"BenchmarkPerfScheduling/Case/w/namespace-1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{}", ["must be a list of test cases"], id="no list"),
        pytest.param(
            case({"opcode": "createNode"}, {**NODES, "count": -1}, {**PODS, "count": 1}),
            [
                '[0].workloadTemplate[0].opcode: Unsupported value: "createNode"',
                "[0].workloadTemplate[1].count: Invalid value: -1",
            ],
            id="an unknown opcode does not hide what follows",
        ),
        pytest.param(
            case({**PODS, "count": 1}, params={"numNodeDeclaredFeatures": "many"}),
            ['[0].workloads[0].params.numNodeDeclaredFeatures: Invalid value: "many"'],
            id="no number of features",
        ),
        pytest.param(
            case(NODES),
            ["[0].workloadTemplate: no operation collects metrics"],
            id="nothing is measured",
        ),
        pytest.param(
            case(
                {**NODES, "cuont": 1},
                {**PODS, "countParam": "$pods", "skipWaitToCompletion": True},
                {"opcode": "sleep", "durationParam": "$never"},
                {"opcode": "createAny", "templatePath": "absent.yaml"},
                params={"pods": -1, "idle": 1},
                threshold=-1,
                featureGates={"NoGate": True},
            ),
            [
                '[0].workloadTemplate[0].cuont: unknown field "cuont"',
                "[0].workloadTemplate[3].templatePath: absent.yaml: cannot be read",
                "[0].workloads[0].featureGates: Unsupported value",
                "[0].workloadTemplate[1].count: workload w: Invalid value: -1",
                "[0].workloadTemplate[1].collectMetrics: workload w: Forbidden: may not",
                "[0].workloadTemplate[2].durationParam: workload w: the workload has no",
                "[0].workloads[0].params.idle: no operation has this parameter",
                "[0].workloads[0].threshold: Invalid value: -1",
            ],
            id="all mistakes at once",
        ),
        pytest.param(
            case(
                NODES,
                {**PODS, "count": 1},
                thresholdMetricSelector={"name": "scheduler_nothing", "dataBucket": ""},
            ),
            [
                "[0].workloads[0].thresholdMetricSelector.dataBucket: Required value",
                "[0].workloads[0].thresholdMetricSelector.name: Unsupported value",
            ],
            id="a selector of nothing",
        ),
    ],
)
def test_mistakes_are_reported_with_their_paths(text, expected):
    with pytest.raises(InputError) as raised:
        load_test_cases("config.yaml", read_from(FILES | {"config.yaml": text}))
    texts = [str(each) for each in raised.value.errors]
    for beginning in expected:
        assert any(beginning in each for each in texts), (beginning, texts)
    assert len(texts) == len(expected), texts
    assert all(each.message for each in raised.value.errors)


def test_labels_select_workloads():
    (workload,) = load_test_cases(
        "c", read_from(FILES | {"c": case(NODES, {**PODS, "count": 1}, labels=["short", "a"])})
    )
    assert workload.is_enabled("")
    assert workload.is_enabled("short,+a,-performance")
    assert not workload.is_enabled("performance")
    assert not workload.is_enabled("-short")


def test_locked_feature_gates_are_noted():
    text = case(NODES, {**PODS, "count": 1}, featureGates={"SchedulerQueueingHints": False})
    assert run(text).notes == (
        "feature gate SchedulerQueueingHints is locked in 1.36, so it is true",
    )


def test_templates_compute_as_go_does():
    text = (
        'a: "{{ AddInt 1 .Index }} {{ SubtractInt 1 .Count }} {{ MultiplyInt 2 "3" }}'
        ' {{ DivideInt 7 2 }} {{ Mod .Index 3 }} {{ AddFloat 0.5 1 }} {{ DivideFloat 1 4 }}"'
    )
    template = ObjectTemplate(text.encode(), "t")
    assert template.document(4, 5) == {"a": "5 -4 6 3 1 1.5 0.25"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('AddFloat "1.5" 2', 3.5),
        ('SubtractFloat "1.5" .Index', -0.5),
        ('MultiplyFloat "1.5" .Index', 3.0),
        ("DivideFloat 7 .Index", 3.5),
        ("DivideInt 7 .Index", 3),
    ],
)
def test_functions_of_templates_read_texts_as_numbers(expression, value):
    template = ObjectTemplate(f"value: {{{{ {expression} }}}}\n".encode(), "t.yaml")
    assert template.document(2, 3) == {"value": value}


def test_fields_of_templates_may_be_written_in_any_case():
    document = ObjectTemplate(POD.replace("containers", "Containers").encode(), "t").document()
    assert decoded(document, "t", Pod).spec.containers[0].name == "pause"


def test_windows_without_pods_are_joined_with_the_next():
    throughput = Throughput(0)
    for second, scheduled in enumerate([5, 10, 0, 0, 30], start=1):
        for _ in range(scheduled):
            throughput.scheduled(second * SECOND - 1)
        throughput.tick(second * SECOND)
    assert throughput.samples == [10, 10, 10, 10]


@pytest.mark.parametrize(
    ("share", "counts", "expected"),
    [
        pytest.param(0.5, [2, 2, 0], 1.0, id="at a bound"),
        pytest.param(0.75, [2, 2, 0], 1.5, id="within a bucket"),
        pytest.param(0.99, [0, 0, 4], 2.0, id="beyond the last bound"),
    ],
)
def test_quantiles_are_interpolated_as_prometheus_does(share, counts, expected):
    assert quantile(share, counts, [1.0, 2.0, float("inf")]) == expected


def test_every_opcode_of_upstream_is_known():
    assert len(OPCODES) == 15
