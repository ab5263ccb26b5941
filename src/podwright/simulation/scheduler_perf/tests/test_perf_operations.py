"""Operations and settings as upstream's files use them: templates, selectors, churn, updates."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, encode
from podwright.simulation.scheduler_perf.execution import Execution
from podwright.simulation.scheduler_perf.operations import AllocResourceClaims
from podwright.simulation.scheduler_perf.results import run_workload
from podwright.simulation.scheduler_perf.test_cases import PerfWorkload, load_test_cases
from podwright.simulation.scheduler_perf.tested_cluster import WorkloadError
from podwright.simulation.scheduler_perf.tests.test_perf_parts import MEASURED, made
from podwright.simulation.scheduler_perf.tests.test_scheduler_perf import (
    FILES,
    NODES,
    PODS,
    SECOND,
    Clock,
    case,
    item,
    read_from,
    run,
)

NODE = """
apiVersion: v1
kind: Node
metadata: {generateName: "large-{{ .Index }}-of-{{ .Count }}-", labels: {team: a}}
status: {allocatable: {cpu: "9", pods: "5"}, capacity: {cpu: "9", pods: "5"}}
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: other, labels: {team: a}}
"""
LENIENT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}
"""
UPDATE = """
apiVersion: v1
kind: Node
metadata: {name: "node-0-0000{{ .Index }}", labels: {count: "{{ .Count }}"}}
spec: {unschedulable: true}
status: {capacity: {cpu: "7"}}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 80}]}
"""
OTHERS = {
    "service.yaml": SERVICE,
    "node.yaml": NODE,
    "named-node.yaml": NODE.replace("generateName", "name").replace("-of-{{ .Count }}-", ""),
    "namespace.yaml": NAMESPACE,
    "lenient.yaml": LENIENT,
    "update.yaml": UPDATE,
    "labelled.yaml": FILES["ends.yaml"].replace("type: plain", "type: other"),
}


def workload(*operations: dict[str, Any], case_fields: Any = None, **fields: Any) -> PerfWorkload:
    """Return the only workload of a file whose test case has more fields."""
    workloads = [{"name": "w", **fields}]
    entry = {"name": "Case", "workloadTemplate": list(operations), "workloads": workloads}
    entry |= case_fields or {}
    files = FILES | OTHERS | {"c": json.dumps([entry])}
    (found,) = load_test_cases("c", read_from(files))
    return found


def executed(*operations: dict[str, Any], case_fields: Any = None, **fields: Any) -> Execution:
    found = Execution(workload(*operations, case_fields=case_fields, **fields), Clock(), "name")
    found.run()
    return found


def stored(found: Execution, group: str, kind: str) -> list[Any]:
    return [encode(obj) for obj in found._world.store.list((group, kind)).objects]


# ---------------------------------------------------------------------------------- the file


def test_templates_are_found_from_the_folder_of_their_file():
    pods = {**PODS, "podTemplatePath": "../templates/pod.yaml", "count": 1}
    files = {"a/b/config.yaml": case(NODES, pods), "a/templates/pod.yaml": FILES["pod.yaml"]}
    (found,) = load_test_cases("a/b/config.yaml", read_from(files))
    assert list(found.templates) == ["../templates/pod.yaml"]
    with pytest.raises(InputError) as raised:
        load_test_cases("a/b/config.yaml", read_from({**files, "a/templates/pod.yaml": "{{"}))
    (error,) = raised.value.errors
    assert str(error).startswith(
        "a/b/config.yaml: [0].workloadTemplate[1].podTemplatePath: a/templates/pod.yaml: "
    )


def test_the_configuration_of_a_test_case_decides():
    pods = {**MEASURED, "podTemplatePath": "large.yaml"}
    found = executed(NODES, pods, case_fields={"schedulerConfigPath": "lenient.yaml"})
    assert found.cluster.scheduled_counts == {"namespace-1": 1}, "8 cores on a node of 4"
    assert workload(NODES, MEASURED).configuration is None
    with pytest.raises(InputError) as raised:
        workload(NODES, MEASURED, case_fields={"schedulerConfigPath": "x/../pod.yaml"})
    assert {error.source for error in raised.value.errors} == {"pod.yaml"}


def test_pods_have_the_template_of_the_test_case_unless_they_have_one():
    fields = {"defaultPodTemplatePath": "pod.yaml"}
    pods = {"opcode": "createPods", "count": 1}
    own = {**pods, "podTemplatePath": "labelled.yaml", "collectMetrics": True}
    found = executed(NODES, pods, own, case_fields=fields)
    labels = [pod["metadata"]["labels"] for pod in stored(found, "", "Pod")]
    assert labels == [{"type": "plain"}, {"type": "other"}]


def test_what_a_workload_says_is_before_what_its_test_case_says():
    selectors = [
        {"name": "SchedulingThroughput", "dataBucket": bucket} for bucket in ("Perc50", "Perc99")
    ]
    fields = {
        "defaultThresholdMetricSelector": selectors[0],
        "featureGates": {"SchedulerAsyncPreemption": True, "NodeDeclaredFeatures": True},
        "labels": ["case"],
    }
    found = workload(NODES, MEASURED, case_fields=fields)
    assert (found.selector.data_bucket, found.labels) == ("Perc50", ("case",))
    found = workload(
        NODES, MEASURED, case_fields=fields, thresholdMetricSelector=selectors[1],
        featureGates={"SchedulerAsyncPreemption": False}, labels=["own"],
    )  # fmt: skip
    assert (found.selector.data_bucket, found.labels) == ("Perc99", ("case", "own"))
    assert found.gates == {"SchedulerAsyncPreemption": False, "NodeDeclaredFeatures": True}


# --------------------------------------------------------------------- nodes and namespaces


def test_nodes_are_what_their_template_says():
    many = {"opcode": "createNodes", "count": 2, "nodeTemplatePath": "node.yaml"}
    named = {"opcode": "createNodes", "count": 1, "nodeTemplatePath": "named-node.yaml"}
    found = executed(many, named, {**many, "count": 1}, MEASURED)
    nodes = stored(found, "", "Node")
    names = ["large-0", "large-0-of-1-00003", "large-0-of-2-00000", "large-1-of-2-00001"]
    assert [node["metadata"]["name"] for node in nodes] == names
    assert [node["metadata"]["labels"] for node in nodes] == [
        {"team": "a", "kubernetes.io/hostname": name} for name in names
    ]
    assert {node["status"]["allocatable"]["cpu"] for node in nodes} == {"9"}


def test_declared_features_are_sorted_as_the_api_requires():
    params = {"numNodeDeclaredFeatures": 10}
    found = executed(NODES, MEASURED, params=params, featureGates={"NodeDeclaredFeatures": True})
    expected = ["Feature1", "Feature10", *(f"Feature{number}" for number in range(2, 10))]
    assert [node["status"]["declaredFeatures"] for node in stored(found, "", "Node")] == [
        expected, expected,
    ]  # fmt: skip


def test_claims_and_their_volumes_are_bound_when_their_pods_are_created():
    paths = {"persistentVolumeTemplatePath": "pv.yaml",
             "persistentVolumeClaimTemplatePath": "pvc.yaml"}  # fmt: skip
    found = executed(NODES, {**MEASURED, **paths, "count": 2})
    for kind in ("PersistentVolume", "PersistentVolumeClaim"):
        assert [each["status"]["phase"] for each in stored(found, "", kind)] == ["Bound"] * 2
    assert found.cluster.scheduled_counts == {"namespace-1": 2}


def test_namespaces_are_like_their_template_but_for_the_name():
    creation = {"opcode": "createNamespaces", "prefix": "own", "count": 2}
    found = executed(
        NODES, {**creation, "namespaceTemplatePath": "namespace.yaml"},
        {**creation, "prefix": "plain", "count": 1}, MEASURED,
    )  # fmt: skip
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"].get("team")
        for each in stored(found, "", "Namespace")
        if each["metadata"]["name"].startswith(("own", "plain", "other"))
    }
    assert labels == {"own-0": "a", "own-1": "a", "plain-0": None}


# -------------------------------------------------------------------------------------- pods


def test_a_barrier_forgets_pods_that_are_scheduled_and_not_those_that_were_only_tried():
    """Upstream: test/integration/scheduler_perf/executor.go, runBarrierOp"""
    skipping = {"opcode": "createPods", "count": 2, "skipWaitToCompletion": True}
    barrier = {"opcode": "barrier", "namespaces": ["a"]}
    tried = executed(
        NODES, {**skipping, "namespace": "a"}, {**skipping, "namespace": "a"},
        {**barrier, "stageRequirement": "Attempted"}, MEASURED,
    )  # fmt: skip
    assert tried._expected["a"] == 4
    scheduled = executed(
        NODES, {**skipping, "namespace": "a"}, {**skipping, "namespace": "b"}, barrier, MEASURED
    )
    assert (scheduled._expected["a"], scheduled._expected["b"]) == (0, 2)


def test_a_barrier_with_an_unknown_namespace_does_not_wait_for_the_others():
    large = {"opcode": "createPods", "podTemplatePath": "large.yaml", "count": 1, "namespace": "ns"}
    barrier = {"opcode": "barrier", "namespaces": ["ns", "other"]}
    selector = {"name": "SchedulingDuration", "dataBucket": "Perc7"}
    metrics = {"metricsCollectorConfig": {"metrics": {"SchedulingDuration": None}}}
    operations = (MEASURED, {**large, "skipWaitToCompletion": True}, barrier)
    found = run_workload(
        workload(
            NODES, *operations, threshold=1, thresholdMetricSelector=selector, case_fields=metrics
        ),
        Clock(),
    )
    # And not that the figure of the threshold is absent.
    assert found.error == "operation 3 (barrier): unknown namespace other"
    assert found.seconds < 60


def test_only_pods_with_the_labels_are_deleted():
    pods = [
        {"opcode": "createPods", "count": 2, "namespace": "a", "podTemplatePath": path}
        for path in ("ends.yaml", "labelled.yaml")
    ]
    deletion = {"opcode": "deletePods", "namespace": "a", "labelSelector": {"type": "other"}}
    found = executed(NODES, *pods, deletion, MEASURED)
    left = found.cluster.pods_of("a", {})
    assert [pod.metadata.labels["type"] for pod in left] == ["plain", "plain"]


@pytest.mark.parametrize(
    ("subresources", "changed"),
    [
        pytest.param([], True, id="the object and its status"),
        pytest.param(["status"], False, id="the status alone"),
    ],
)
@pytest.mark.parametrize("rate", [0, 4])
def test_an_update_replaces_the_object_or_a_subresource_and_then_the_status(
    subresources, changed, rate
):
    """Upstream: test/integration/scheduler_perf/update.go"""
    update = {
        "opcode": "updateAny", "templatePath": "update.yaml", "count": 2,
        "subresources": subresources, "updatePerSecond": rate,
    }  # fmt: skip
    found = executed({"opcode": "createNodes", "count": 3}, update, MEASURED)
    assert found._tasks == [], "the operation ends with the last update"
    nodes = stored(found, "", "Node")
    assert [node["status"]["capacity"]["cpu"] for node in nodes] == ["7", "7", "4"]
    assert [node.get("spec", {}).get("unschedulable", False) for node in nodes] == [
        changed, changed, False,
    ]  # fmt: skip
    # A status of a node has its labels too (registry/core/node/strategy.go).
    labels = [node["metadata"]["labels"].get("count") for node in nodes]
    assert labels == ["2", "2", None]


@pytest.mark.parametrize("subresources", [[], ["status"]])
def test_an_update_needs_the_name_of_the_object(subresources):
    # staging/src/k8s.io/client-go/dynamic/simple.go
    update = {"opcode": "updateAny", "templatePath": "node.yaml", "subresources": subresources}
    with pytest.raises(WorkloadError, match=r"^operation 1 \(updateAny\): Node: name is required$"):
        executed(NODES, update, MEASURED)


def test_an_update_creates_its_namespace():
    # A Service is created by an update (pkg/registry/core/service/strategy.go).
    update = {"opcode": "updateAny", "templatePath": "service.yaml", "namespace": "new"}
    found = executed(NODES, update, MEASURED)
    services = [each["metadata"] for each in stored(found, "", "Service")]
    assert [each["name"] for each in services if each["namespace"] == "new"] == ["s"]


# -------------------------------------------------------------------------------------- time


def test_pods_have_ten_minutes_to_be_scheduled():
    clock = Clock()
    large = {"opcode": "createPods", "podTemplatePath": "large.yaml", "count": 1}
    execution = Execution(workload(NODES, {**large, "collectMetrics": True}), clock, "")
    with pytest.raises(WorkloadError):
        execution.run()
    assert 600 * SECOND <= clock.now_ns < 601 * SECOND


def test_a_sleep_may_last_longer_than_any_wait_for_pods():
    clock = Clock()
    found = Execution(workload({"opcode": "sleep", "duration": "11m"}, NODES, MEASURED), clock, "")
    found.run()
    assert clock.now_ns > 660 * SECOND


def test_memory_is_sampled_twice_a_second_while_nothing_is_due():
    class Counting(Clock):
        times: list[int]

        def read_memory(self) -> int:
            self.times.append(self.now_ns)
            return super().read_memory()

    clock = Counting()
    clock.times = []
    start = {"opcode": "startCollectingMetrics", "name": "a", "namespaces": ["ns"]}
    sleep, stop = {"opcode": "sleep", "duration": "10s"}, {"opcode": "stopCollectingMetrics"}
    Execution(workload(NODES, start, sleep, stop), clock, "").run()
    between = [b - a for a, b in pairwise(clock.times)]
    assert len(between) == 19
    assert all(SECOND // 2 <= each < SECOND // 2 + SECOND // 1000 for each in between)


def test_the_scheduler_gives_way_to_what_is_due_at_a_rate():
    class Slow(Clock):
        def read_ns(self) -> int:
            self.now_ns += 99_000
            return super().read_ns()

    pods = {"opcode": "createPods", "skipWaitToCompletion": True}
    found = Execution(
        workload(
            {"opcode": "createNodes", "count": 9},
            {**pods, "podTemplatePath": "ends.yaml", "count": 99, "namespace": "a",
             "skipWaitToCompletion": False},
            {**pods, "podTemplatePath": "large.yaml", "count": 400, "namespace": "b"},
            {"opcode": "deletePods", "namespace": "a", "deletePodsPerSecond": 200,
             "skipWaitToCompletion": True},
            {"opcode": "sleep", "duration": "200ms"}, MEASURED,
        ), Slow(), "",
    )  # fmt: skip
    for index, operation in enumerate(found._workload.operations[:-1]):
        found._index = index
        found._execute[type(operation)](operation)
    assert len(found.cluster.pods_of("a", {})) < 99 - 10


def test_batching_is_off_unless_the_file_sets_its_gate():
    """Upstream: test/integration/scheduler_perf/scheduler_perf.go, setupTestCase"""
    for gates, is_on in (
        ({}, False),
        ({"OpportunisticBatching": False}, False),
        ({"OpportunisticBatching": True}, True),
    ):
        found = Execution(workload(NODES, MEASURED, featureGates=gates), Clock(), "")
        (profile,) = found._world.machine._state.profiles.values()
        assert (profile.batch is not None) is is_on


# ------------------------------------------------------------------------------------- churn


def churned(steps: int, **fields: Any) -> list[int]:
    """Return how many pods there are after each step of a churn."""
    churn = {"opcode": "churn", "templatePaths": ["large.yaml"], **fields}
    found = made(NODES, churn, MEASURED)
    for index, operation in enumerate(found._workload.operations[:2]):
        found._index = index
        found._execute[type(operation)](operation)
    (task,) = found._tasks
    counts = []
    for _ in range(steps):
        if next(task._steps, task) is task:
            break
        namespaces = [pod["metadata"]["namespace"] for pod in stored(found, "", "Pod")]
        assert set(namespaces) <= {fields.get("namespace", "namespace-1")}
        counts.append(len(namespaces))
    return counts


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        pytest.param({"mode": "create", "number": 3}, [1, 2, 3], id="so many"),
        pytest.param({"mode": "create"}, [1, 2, 3, 4, 5, 6, 7], id="without an end"),
        pytest.param({"mode": "recreate", "number": 1}, [1, 0, 1, 0, 1, 0, 1], id="one in turn"),
        pytest.param(
            {"mode": "recreate", "number": 3}, [1, 2, 3, 2, 1, 0, 1], id="the oldest is deleted"
        ),
        pytest.param({"number": 2, "namespace": "own"}, [1, 2], id="in a namespace"),
    ],
)
def test_churn_creates_and_deletes_in_turn(fields, counts):
    """Upstream: test/integration/scheduler_perf/executor.go, runChurnOp"""
    assert churned(7, **fields) == counts


def test_churn_creates_objects_that_are_in_no_namespace():
    churn = {"opcode": "churn", "templatePaths": ["node.yaml", "namespace.yaml"],
             "mode": "create", "number": 1, "intervalMilliseconds": 20}  # fmt: skip
    found = executed(NODES, churn, MEASURED)
    names = [node["metadata"]["name"] for node in stored(found, "", "Node")]
    assert sum(name.startswith("large-0-of-1-") for name in names) == 1
    assert "other" in [each["metadata"]["name"] for each in stored(found, "", "Namespace")]


@pytest.mark.parametrize(("interval", "expected"), [(0, 500), (20, 20)])
def test_churn_has_an_interval(interval, expected):
    churn = {"opcode": "churn", "templatePaths": ["large.yaml"], "intervalMilliseconds": interval}
    found = made(NODES, churn, MEASURED)
    found._execute[type(found._workload.operations[1])](found._workload.operations[1])
    (task,) = found._tasks
    assert task._interval_ns == expected * 1_000_000


# ----------------------------------------------------------------------- devices and figures


def test_devices_are_published_of_nodes_whose_names_match():
    driver = {"opcode": "createResourceDriver", "driverName": "d", "maxClaimsPerNode": 1}
    found = executed(
        {"opcode": "createNodes", "count": 12}, {**driver, "nodes": "node-0-0000[12]"}, MEASURED
    )
    slices = stored(found, "resource.k8s.io", "ResourceSlice")
    assert [each["spec"]["nodeName"] for each in slices] == ["node-0-00001", "node-0-00002"]


def test_the_claims_of_all_namespaces_are_allocated_once():
    claims = {"opcode": "createResourceClaims", "templatePath": "claim.yaml", "count": 1}
    found = executed(
        {"opcode": "createNodes", "count": 1},
        {"opcode": "createResourceDriver", "driverName": "d", "nodes": "*", "maxClaimsPerNode": 2},
        {"opcode": "createAny", "templatePath": "class.yaml"},
        {**claims, "namespace": "a"}, {**claims, "namespace": "b"},
        {"opcode": "allocResourceClaims"}, MEASURED,
    )  # fmt: skip
    found._allocate_claims(AllocResourceClaims())
    devices = [
        one["status"]["allocation"]["devices"]["results"][0]["device"]
        for one in stored(found, "resource.k8s.io", "ResourceClaim")
    ]
    assert sorted(devices) == ["instance-0", "instance-1"]


def test_figures_have_the_name_of_their_collection():
    start = {"opcode": "startCollectingMetrics", "name": "mine", "namespaces": ["ns"]}
    pods = {"opcode": "createPods", "count": 2, "namespace": "ns"}
    others = {"opcode": "createPods", "count": 5}
    result = run(case(NODES, start, pods, others, {"opcode": "stopCollectingMetrics"}))
    assert [each.name for each in result.comparisons] == ["mine"]
    name = "BenchmarkPerfScheduling/Case/w/mine"
    assert item(result, "SchedulingDuration", Name=name)["Duration"] > 0
