"""A drain evicts all pods, unless a budget blocks it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.cluster.controllers.interface import DrainNode
from podwright.cluster.controllers.kinds import NODE, PDB
from podwright.cluster.controllers.nodes.drain import DrainController
from podwright.cluster.controllers.policies.disruption_budget import DisruptionController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document
from podwright.cluster.controllers.tests.test_disruption_budget import a_budget
from podwright.cluster.kubelets.pod_statuses import STOP_DELAY
from podwright.cluster.store import POD

MAKERS = (DisruptionController, DrainController)
WEB = {"app": "web"}


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster(MAKERS)
    cluster.add(document("Node", "n1"), *objects)
    return cluster


def on_node(cluster: Cluster, node: str = "n1") -> list[str]:
    return [pod.name for pod in cluster.pods() if pod.spec.node_name == node]


def slow(name: str, seconds: int = 20, **parts: Any) -> Any:
    annotations = {STOP_DELAY: f"{seconds}s"}
    return a_pod(name, annotations=annotations, terminationGracePeriodSeconds=seconds, **parts)


def test_a_drain_cordons_the_node_and_evicts_its_pods():
    cluster = cluster_with(slow("a"), a_pod("b"))
    cluster.send(DrainNode("n1"))
    assert cluster.raw(NODE, "n1")["spec"]["unschedulable"] is True
    assert on_node(cluster) == ["a"]
    condition = cluster.status(POD, "default/a")["conditions"][-1]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "DisruptionTarget",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    )
    cluster.run(21)
    assert on_node(cluster) == []
    assert cluster.controllers.state().controller_states["drain"] == {
        "draining": {},
        "tried_ns": {},
    }


def test_daemon_and_mirror_pods_are_skipped():
    daemon = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}]
    cluster = cluster_with(
        a_pod("agent", owners=[daemon[0] | {"controller": True}]),
        a_pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        a_pod("plain"),
    )
    cluster.send(DrainNode("n1"))
    assert on_node(cluster) == ["agent", "static"]


def test_a_budget_allows_one_eviction_at_a_time():
    pods = [slow(f"p{n}", 7, labels=WEB) for n in range(3)]
    cluster = cluster_with(*pods, a_budget(minAvailable=2))
    cluster.add(document("Node", "n2"))
    gone: list[tuple[float, list[str]]] = []
    cluster.send(DrainNode("n1"))
    for second in range(1, 60):
        cluster.run(second)
        if not gone or gone[-1][1] != on_node(cluster):
            gone.append((second, on_node(cluster)))
            # Another pod becomes healthy elsewhere.
            if len(gone) > 1:
                cluster.add(a_pod(f"new{len(gone)}", labels=WEB))
    # A pod takes 7 s to stop, and retries happen at multiples of 5 s.
    assert gone == [(1, ["p0", "p1", "p2"]), (7, ["p1", "p2"]), (17, ["p2"]), (27, [])]


def test_a_budget_without_disruptions_blocks_the_drain():
    cluster = cluster_with(a_pod("p", labels=WEB), a_budget(minAvailable=1))
    cluster.send(DrainNode("n1"))
    cluster.run(10)
    assert cluster.heap.next_ns is None  # nothing to wait for
    cluster.run(601)
    assert on_node(cluster) == ["p"]
    cluster.delete(PDB, "default/b")
    assert on_node(cluster) == ["p"]
    cluster.run(605)
    assert on_node(cluster) == []


def test_pods_added_during_a_drain_are_not_evicted():
    cluster = cluster_with(slow("a"))
    cluster.send(DrainNode("n1"))
    cluster.add(a_pod("late", nodeName="n1"))
    cluster.run(60)
    assert on_node(cluster) == ["late"]


def test_a_drain_of_a_missing_node_ends_at_once():
    cluster = cluster_with(a_pod("a"))
    cluster.send(DrainNode("n2"))
    assert cluster.controllers.state().controller_states["drain"] == {
        "draining": {},
        "tried_ns": {},
    }
    assert on_node(cluster) == ["a"]


@effort(40)
@given(data=st.data())
def test_no_drain_violates_a_budget_and_unblocked_drains_complete(data):
    count = data.draw(st.integers(1, 5))
    healthy = data.draw(st.integers(0, 5))
    seconds = data.draw(st.sampled_from([0, 3, 12]))
    pods = [slow(f"p{n}", seconds, labels=WEB) for n in range(count)]
    cluster = cluster_with(*pods, a_budget(minAvailable=healthy))
    cluster.add(document("Node", "n2"))
    replaces = data.draw(st.booleans())
    cluster.send(DrainNode("n1"))
    for second in range(1, 150):
        if data.draw(st.integers(0, 40)) == 0:
            cluster.replace_controllers()
        cluster.run(second)
        there = [pod for pod in cluster.pods() if not pod.is_terminating]
        assert len(there) >= min(healthy, count)
        if replaces and len(there) < count:
            cluster.add(a_pod(f"new{second}", labels=WEB))
    left = on_node(cluster)
    assert len(left) == (0 if replaces and healthy < count else min(healthy, count))
