"""The cluster of a workload by itself: its slices, what it counts, its requests, its gates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import encode, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import METRIC_BY_NAME, Distribution
from podwright.simulation.scheduler_perf.measuring import Collection, _difference
from podwright.simulation.scheduler_perf.test_cases import load_test_cases
from podwright.simulation.scheduler_perf.tested_cluster import (
    TestedCluster,
    WorkloadError,
    is_attempted,
    is_scheduled,
)
from podwright.simulation.scheduler_perf.tests.test_perf_parts import MEASURED, made
from podwright.simulation.scheduler_perf.tests.test_scheduler_perf import (
    FILES,
    NODES,
    SECOND,
    Clock,
    case,
    read_from,
)
from podwright.simulation.world import START_NS, Create
from podwright.testing import make_node, make_pod


def cluster_of(clock: Clock, **more: Any) -> TestedCluster:
    (workload,) = load_test_cases("c", read_from(FILES | {"c": case(NODES, MEASURED, **more)}))
    return TestedCluster(workload, clock.read_ns)


class Recorded:
    """What a cluster tells its collection."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def decided(self, pod: Any, began_ns: int, now_ns: int, *, is_placed: bool) -> None:
        self.calls.append((pod.key, began_ns - START_NS, now_ns - START_NS, is_placed))

    def scheduled(self, pod: Any, now_ns: int) -> None:
        self.calls.append((pod.key, now_ns - START_NS))


def test_a_slice_ends_at_its_time_and_has_its_times():
    clock = Clock()
    cluster = cluster_of(clock)
    asked: list[Any] = []

    def catch_up(now_ns: int, is_over: Any) -> bool:
        clock.now_ns = 8_000
        asked.append(now_ns - START_NS)
        asked.extend((is_over(), cluster._step_ns - START_NS) for _ in range(3))
        return True

    cluster.world.catch_up = catch_up  # type: ignore[method-assign]
    begin_ns = cluster._begin_ns
    clock.now_ns = begin_ns + 2_000
    # The clock moves by 1,000 with each reading.
    assert cluster.catch_up(START_NS + 10_000 - begin_ns)
    start_ns = 8_000 - begin_ns
    assert asked == [
        3_000, (False, start_ns + 1_000), (True, start_ns + 2_000), (True, start_ns + 3_000)
    ]  # fmt: skip


def test_a_volume_that_is_bound_in_a_slice_leaves_something_for_the_next():
    cluster = cluster_of(Clock())
    bound = decode({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"claimRef": {"namespace": "ns", "name": "c"}},
    })  # fmt: skip
    free = decode({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}})
    found = []
    for volume in (bound, free, None):

        def catch_up(*_: object, volume: Any = volume) -> bool:
            cluster.changed(None, volume, 0)
            return True

        cluster.world.catch_up = catch_up  # type: ignore[method-assign, assignment]
        found.append(cluster.catch_up(START_NS + SECOND))
    cluster.world.catch_up = lambda *_: False  # type: ignore[method-assign]
    assert [*found, cluster.catch_up(START_NS + SECOND)] == [False, True, True, False]


def test_pods_are_counted_by_namespace_and_what_is_bound_is_measured_once():
    clock = Clock()
    cluster = cluster_of(clock)
    pod, other = make_pod("p", namespace="a"), make_pod("q", namespace="b")
    bound = with_node_name(pod, "n")
    cluster.changed(None, pod, 0)
    cluster.changed(None, make_node("n"), 0)
    cluster.changed(None, with_node_name(other, "n"), 0)
    recorded = Recorded()
    cluster.collection = recorded  # type: ignore[assignment]
    clock.now_ns = cluster._begin_ns + 4_000
    cluster.changed(pod, bound, 0)
    cluster.changed(bound, bound, 0)
    assert recorded.calls == [("a/p", 5_000)]
    assert cluster.scheduled_counts == {"a": 1, "b": 1}
    assert cluster.pods == {"a": {"p": bound}, "b": {"q": with_node_name(other, "n")}}
    cluster.changed(bound, None, 0)
    cluster.changed(with_node_name(other, "n"), other, 0)
    assert cluster.scheduled_counts == {"a": 0, "b": 0}
    assert cluster.pods == {"a": {}, "b": {"q": other}}
    assert len(recorded.calls) == 1


def test_a_decision_began_when_the_step_before_it_ended():
    clock = Clock()
    cluster = cluster_of(clock)
    begin_ns = cluster._begin_ns
    decisions: Any = [
        SimpleNamespace(pod=make_pod("p"), node="n"), SimpleNamespace(pod=make_pod("q"), node=None)
    ]  # fmt: skip
    clock.now_ns = begin_ns + 1_000
    cluster.decided(decisions, 0)  # nothing is measured
    recorded = Recorded()
    cluster.collection = recorded  # type: ignore[assignment]
    clock.now_ns = begin_ns + 6_000
    cluster.decided(decisions, 0)
    assert recorded.calls == [
        ("default/p", 2_000, 7_000, True), ("default/q", 2_000, 7_000, False)
    ]  # fmt: skip


def test_requests_are_those_of_a_client():
    cluster = cluster_of(Clock())
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert cluster.send("POST", node, "")["metadata"]["name"] == "n"
    status = cluster.send("PUT", node | {"status": {"capacity": {"cpu": "3"}}}, "", "status")
    assert status["status"]["capacity"] == {"cpu": "3"}
    assert cluster.send("DELETE", node, "")["status"] == "Success"
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    assert cluster.is_namespaced(claim)
    assert not cluster.is_namespaced(node)
    for document, namespace, message in (
        (node, "ns", "Node is not namespaced"),
        (claim, "", "ResourceClaim is namespaced: set namespace"),
        ({"apiVersion": "x/v1", "kind": "Box"}, "", "x/v1 Box is not served"),
        ({"apiVersion": "v1", "kind": "Box"}, "", "v1 Box is not served"),
        (node | {"metadata": {}}, "", "name or generateName is required"),
        (node | {"spec": {"odd": 1}}, "", 'strict decoding error: unknown field "spec.odd"'),
    ):
        with pytest.raises(WorkloadError) as wrong:
            cluster.send("POST", document, namespace)
        assert message in str(wrong.value)


def test_the_priority_of_a_template_is_kept():
    cluster = cluster_of(Clock())
    spec = {"containers": [{"name": "c", "image": "i"}], "priority": 7}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert cluster.send("POST", pod, "default")["spec"]["priority"] == 7


def test_pods_are_found_by_all_labels():
    cluster = cluster_of(Clock())
    for name, labels in (("p", {"a": "b"}), ("q", {"a": "b", "c": "d"}), ("r", {})):
        cluster.changed(None, make_pod(name, namespace="ns", labels=labels), 0)
    names = [
        [pod.metadata.name for pod in cluster.pods_of(namespace, labels)]
        for namespace, labels in (
            ("ns", {}), ("ns", {"a": "b"}), ("ns", {"a": "b", "c": "d"}), ("ns", {"c": ""}),
            ("x", {}),
        )
    ]  # fmt: skip
    assert names == [["p", "q", "r"], ["p", "q"], ["q"], [], []]


@pytest.mark.parametrize(
    ("changes", "attempted"),
    [
        ({}, False),
        ({"spec": {"nodeName": "n"}}, True),
        ({"spec": {"schedulingGates": [{"name": "g"}]}}, True),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}, True),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
    ],
)
def test_a_pod_was_attempted_if_the_scheduler_has_said_something(changes, attempted):
    document: Any = encode(make_pod("p"))
    for part, fields in changes.items():
        document[part] = {**document.get(part, {}), **fields}
    pod: Any = decode(document)
    assert is_attempted(pod) is attempted
    assert is_scheduled(pod) is ("nodeName" in changes.get("spec", {}))


def test_gates_that_cannot_be_set_are_noted():
    cluster = cluster_of(Clock(), featureGates={"DynamicResourceAllocation": False})
    assert cluster.notes == [
        "feature gate DynamicResourceAllocation is locked in 1.36, so it is true"
    ]
    assert cluster_of(Clock()).notes == []


def test_the_status_of_an_object_keeps_what_is_not_set():
    found = made(NODES, MEASURED)
    found.run()
    (node, *_) = found._world.nodes
    before = encode(node)["status"]
    found._set_status(node, {"phase": "Running"})
    (after, *_) = found._world.nodes
    assert encode(after)["status"] == before | {"phase": "Running"}
    claim = decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "namespace-1"},
        "spec": {"devices": {"requests": []}},
    })  # fmt: skip
    found._world.do(Create(claim))
    (stored,) = found._world.store.list(("resource.k8s.io", "ResourceClaim")).objects
    found._set_status(stored, {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]})
    (stored,) = found._world.store.list(("resource.k8s.io", "ResourceClaim")).objects
    assert encode(stored)["status"]["reservedFor"][0]["name"] == "p"


NAME = "scheduler_plugin_execution_duration_seconds"
ATTEMPTS = "scheduler_scheduling_attempt_duration_seconds"


def collection_of(metrics: Any, *before: Distribution) -> Collection:
    workload: Any = SimpleNamespace(metrics=metrics)
    return Collection(
        "c", workload, ("ns",), {}, now_ns=0, before=snapshot(*before), read_memory=lambda: 1 << 20
    )  # fmt: skip


def snapshot(*series: Distribution) -> Any:
    return SimpleNamespace(families=(SimpleNamespace(name=NAME, series=series),))


def series(plugin: str, counts: dict[int, int], total_ns: int) -> Distribution:
    labels = tuple({"plugin": plugin}.get(each, each) for each in METRIC_BY_NAME[NAME].labels)
    buckets = len(METRIC_BY_NAME[NAME].bounds) + 1
    return Distribution(labels, tuple(counts.get(at, 0) for at in range(buckets)), total_ns)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([series("A", {0: 2}, 4 * SECOND)], {"A": 2000.0}),
        ([series("A", {0: 2}, 0)], {}),
        ([series("A", {}, SECOND)], {}),
        ([series("A", {0: 1}, SECOND), series("B", {1: 1}, 3 * SECOND)],
         {"A": 1000.0, "B": 3000.0}),
    ],
)  # fmt: skip
def test_a_histogram_without_durations_is_left_out(found, expected):
    items = collection_of({NAME: {"plugin": None}}).items(SECOND, snapshot(*found))
    shown = {
        each.labels["plugin"]: each.data["Average"]
        for each in items
        if each.labels["Metric"] == NAME
    }
    assert shown == expected


def test_series_with_the_labels_of_a_figure_are_added():
    found = [series("A", {0: 1}, SECOND), series("B", {1: 3}, 3 * SECOND)]
    (item,) = [
        each
        for each in collection_of({NAME: {}}).items(SECOND, snapshot(*found))
        if each.labels["Metric"] == NAME
    ]
    bounds = METRIC_BY_NAME[NAME].bounds
    low, high = bounds[0], bounds[1]
    assert item.labels == {"Metric": NAME, "Name": "c"}
    assert item.unit == "ms"
    assert item.data == {
        "Average": pytest.approx(1000.0),
        "Perc50": pytest.approx(1000 * (low + (high - low) / 3)),
        "Perc90": pytest.approx(1000 * (low + (high - low) * (3.6 - 1) / 3)),
        "Perc95": pytest.approx(1000 * (low + (high - low) * (3.8 - 1) / 3)),
        "Perc99": pytest.approx(1000 * (low + (high - low) * (3.96 - 1) / 3)),
    }
    assert _difference(found[0], series("A", {0: 1}, 1)) == series("A", {}, SECOND - 1)


def test_the_windows_of_a_collection_end_at_each_second():
    found = collection_of({})
    for at, is_pod in (
        (0.1, True), (0.5, False), (1, False), (1.2, True), (1.5, False), (1.7, True),
        (2, False), (2.9, True), (3.4, False),
    ):  # fmt: skip
        if is_pod:
            pod = make_pod(f"p{at}", namespace="ns", labels={"a": "b"}, node="n")
            found.scheduled(pod, int(at * SECOND))
        else:
            found.sample(int(at * SECOND))
    assert found._throughput.samples == [2.0, pytest.approx(1 / 1.4)]
    assert found.due_ns == int(3.9 * SECOND)
    found.sample(int(3.9 * SECOND))
    assert found.due_ns == 4 * SECOND


@pytest.mark.parametrize(
    ("filters", "results"),
    [
        pytest.param({}, ["unschedulable", "scheduled"], id="all results"),
        pytest.param({"result": ["scheduled"]}, ["scheduled"], id="a result"),
        pytest.param({"result": ["error", "unschedulable"]}, ["unschedulable"], id="one of two"),
    ],
)
def test_attempts_last_from_their_cycle_until_the_binding_or_the_rejection(filters, results):
    found = collection_of({ATTEMPTS: filters})
    pods = [make_pod(name, namespace="ns") for name in "pqrs"]
    found.decided(pods[0], 1_000_000, 3_000_000, is_placed=True)
    found.decided(pods[1], 2_000_000, 4_000_000, is_placed=False)
    found.decided(pods[2], 2_000_000, 8_000_000, is_placed=False)
    found.scheduled(pods[0], 9_000_000)
    found.scheduled(pods[0], 99_000_000)
    found.scheduled(pods[3], 99_000_000)
    shown = {
        each.labels["result"]: (each.data["Average"], each.data["Perc99"], each.unit)
        for each in found.items(SECOND, snapshot())
        if each.labels["Metric"] == ATTEMPTS
    }
    known = {"unschedulable": (4.0, 6.0, "ms"), "scheduled": (8.0, 8.0, "ms")}
    assert shown == {result: known[result] for result in results}


@pytest.mark.parametrize(
    ("gates", "served"),
    [
        ({}, []),
        ({"DynamicResourceAllocation": True}, ["DeviceTaintRule"]),
        ({"DynamicResourceAllocation": False}, []),
        ({"DRADeviceTaintRules": True}, ["DeviceTaintRule"]),
        ({"GenericWorkload": True}, ["PodGroup"]),
        ({"GenericWorkload": True, "DynamicResourceAllocation": True},
         ["DeviceTaintRule", "PodGroup"]),
    ],
)  # fmt: skip
def test_kinds_of_a_gate_are_served_with_it(gates, served):
    cluster = cluster_of(Clock(), featureGates=gates)
    kinds = {
        "DeviceTaintRule": "resource.k8s.io/v1alpha3",
        "PodGroup": "scheduling.k8s.io/v1alpha2",
    }
    for kind, api_version in kinds.items():
        document = {"apiVersion": api_version, "kind": kind}
        if kind in served:
            cluster.is_namespaced(document)
        else:
            with pytest.raises(WorkloadError, match=f"^{api_version} {kind} is not served$"):
                cluster.is_namespaced(document)
    assert cluster.is_namespaced(
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim"}
    ), "all versions of the API of devices"
