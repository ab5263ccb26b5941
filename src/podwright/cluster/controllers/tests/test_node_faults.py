"""Unresponsive and removed nodes, and their pods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import SOURCE_UID
from podwright.apimachinery.schema import decode
from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.controllers.core import pod_gc
from podwright.cluster.controllers.core.pod_gc import PodGarbageCollector
from podwright.cluster.controllers.kinds import NODE
from podwright.cluster.controllers.nodes import node_lifecycle
from podwright.cluster.controllers.nodes.node_lifecycle import NodeLifecycleController
from podwright.cluster.controllers.nodes.taint_eviction import TaintEvictionController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.kubelets.pod_statuses import RUN_DELAY
from podwright.cluster.store import POD
from podwright.cluster.store.history import with_metadata

MAKERS = (NodeLifecycleController, TaintEvictionController, PodGarbageCollector)
UNREACHABLE = "node.kubernetes.io/unreachable"
PATIENT = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", UNREACHABLE)
]

IMPATIENT = [{**each, "tolerationSeconds": 0} for each in PATIENT]


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster(MAKERS)
    cluster.add(document("Node", "n1"), document("Node", "n9"), *objects)
    return cluster


def taints(cluster: Cluster, node: str = "n1") -> list[tuple[str, str]]:
    written = cluster.raw(NODE, node).get("spec", {}).get("taints", ())
    return [(each["key"].removeprefix("node.kubernetes.io/"), each["effect"]) for each in written]


def ready(cluster: Cluster, kind: tuple[str, str], key: str) -> Any:
    return next(each for each in cluster.status(kind, key)["conditions"] if each["type"] == "Ready")


def test_an_unresponsive_node_is_unknown_after_the_grace_period():
    cluster = cluster_with(a_pod("a", tolerations=PATIENT))
    cluster.run(10)
    cluster.send(NodeDown("n1"))
    cluster.run(59)
    assert taints(cluster) == []
    cluster.run(60)
    conditions = {each["type"]: each for each in cluster.status(NODE, "n1")["conditions"]}
    for name in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
        assert conditions[name]["status"] == "Unknown"
        assert conditions[name]["reason"] == "NodeStatusUnknown"
        assert conditions[name]["message"] == "Kubelet stopped posting node status."
        assert conditions[name]["lastTransitionTime"] == at(60)
    assert taints(cluster) == [("unreachable", "NoSchedule")]
    condition = ready(cluster, POD, "default/a")
    assert (condition["status"], condition["lastTransitionTime"]) == ("False", at(60))
    assert cluster.event_notes("NodeNotReady") == [
        "Node n1 status is now: NodeNotReady",
        "Node is not ready",
    ]
    cluster.run(65)
    assert taints(cluster) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
    added = [each["timeAdded"] for each in cluster.raw(NODE, "n1")["spec"]["taints"]]
    assert added == [at(60), at(65)]


def test_a_node_that_returns_in_time_is_unchanged():
    cluster = cluster_with(a_pod("a", tolerations=PATIENT))
    cluster.send(NodeDown("n1"))
    cluster.run(40)
    cluster.send(NodeUp("n1"))
    cluster.run(500)
    assert taints(cluster) == []
    assert ready(cluster, NODE, "n1")["status"] == "True"
    assert cluster.events == []


def test_a_node_that_returns_late_is_ready_again_and_keeps_its_pods():
    cluster = cluster_with(a_pod("a", tolerations=PATIENT), a_pod("daemon"))
    cluster.edit(POD, "default/daemon", "spec", tolerations=[{"operator": "Exists"}])
    cluster.run(3)
    before = ready(cluster, POD, "default/a")
    cluster.send(NodeDown("n1"))
    cluster.run(200)
    assert ready(cluster, POD, "default/a")["status"] == "False"
    cluster.replace_controllers()
    cluster.send(NodeUp("n1"))
    cluster.run(1_000)
    # A kubelet overwrites a status that differs from its own.
    assert ready(cluster, POD, "default/a") == before
    assert ready(cluster, POD, "default/daemon")["status"] == "True"
    assert taints(cluster) == []
    assert ready(cluster, NODE, "n1")["status"] == "True"
    assert [pod.name for pod in cluster.pods()] == ["a", "daemon"]
    assert cluster.event_notes("TaintManagerEviction") == ["Cancelling deletion of Pod default/a"]


def test_pods_of_an_unreachable_node_are_deleted_after_their_toleration_and_stay_terminating():
    cluster = cluster_with(a_pod("a", tolerations=PATIENT), a_pod("b", tolerations=IMPATIENT))
    cluster.send(NodeDown("n1"))
    cluster.run(54)
    assert cluster.get(POD, "default/b").metadata.deletion_timestamp is None
    cluster.run(56)
    assert cluster.get(POD, "default/b").metadata.deletion_timestamp is not None
    assert cluster.get(POD, "default/a").metadata.deletion_timestamp is None
    cluster.run(354)
    assert cluster.get(POD, "default/a").metadata.deletion_timestamp is None
    cluster.run(356)
    assert cluster.get(POD, "default/a").metadata.deletion_timestamp is not None
    condition = cluster.status(POD, "default/a")["conditions"][-1]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "DisruptionTarget",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert cluster.event_notes("TaintManagerEviction") == [
        "Marking for deletion Pod default/b",
        "Marking for deletion Pod default/a",
    ]
    cluster.run(5_000)
    assert [pod.name for pod in cluster.pods()] == ["a", "b"]
    cluster.send(NodeUp("n1"))
    assert cluster.pods() == []


@pytest.mark.parametrize(
    ("tolerations", "leaves_after"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([{"key": "other", "operator": "Exists"}], 0, id="another key"),
        pytest.param([{"key": "t", "operator": "Exists", "tolerationSeconds": 7}], 7, id="a while"),
        pytest.param([{"key": "t", "operator": "Exists", "tolerationSeconds": -1}], 0, id="past"),
        pytest.param([{"key": "t", "operator": "Exists"}], None, id="without limit"),
        pytest.param([{"operator": "Exists"}], None, id="everything"),
    ],
)
def test_tolerations_limit_the_time_on_a_tainted_node(tolerations, leaves_after):
    cluster = cluster_with(a_pod("a", tolerations=tolerations))
    cluster.edit(NODE, "n1", "spec", taints=[{"key": "t", "effect": "NoExecute"}])
    for second in range(20):
        cluster.run(second)
        assert cluster.has(POD, "default/a") == (leaves_after is None or second < leaves_after)


def tolerating(**seconds: int | None) -> list[dict[str, Any]]:
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute"}
        | ({} if time is None else {"tolerationSeconds": time})
        for key, time in seconds.items()
    ]


def taint_with(cluster: Cluster, *keys: str) -> None:
    taints = [{"key": key, "effect": "NoExecute"} for key in keys]
    cluster.edit(NODE, "n1", "spec", taints=taints or None)


def leaves_at(cluster: Cluster) -> int | None:
    while cluster.now < 60:
        if not cluster.has(POD, "default/a"):
            return int(cluster.now)
        cluster.run(cluster.now + 1)
    return None


CANCELLED = "Cancelling deletion of Pod default/a"
MARKED = "Marking for deletion Pod default/a"


def test_the_shortest_toleration_of_several_taints_applies():
    cluster = cluster_with(a_pod("a", tolerations=tolerating(s=30, t=20, u=None)))
    taint_with(cluster, "s", "t", "u")
    assert leaves_at(cluster) == 20


def matching(*tolerations: tuple[str, str, int | None]) -> list[dict[str, Any]]:
    """Return tolerations of (key, effect, seconds); an empty key or effect matches all."""
    return [
        {"operator": "Exists"}
        | ({"key": key} if key else {})
        | ({"effect": effect} if effect else {})
        | ({} if seconds is None else {"tolerationSeconds": seconds})
        for key, effect, seconds in tolerations
    ]


@pytest.mark.parametrize(
    ("tolerations", "leaves"),
    [
        pytest.param([("t", "NoExecute", 20), ("t", "", 3)], 20, id="the longer one first"),
        pytest.param([("t", "", 3), ("t", "NoExecute", 20)], 3, id="the shorter one first"),
        pytest.param([("t", "", 20), ("", "", 3), ("t", "", 9)], 20, id="the first of three"),
        pytest.param([("t", "", None), ("t", "", 3)], None, id="for ever first"),
        pytest.param([("t", "", 3), ("t", "", None)], 3, id="for ever second"),
        pytest.param([("", "", 20), ("t", "", 3)], 20, id="the general one first"),
        pytest.param([("x", "", 3), ("t", "", 20)], 20, id="another key before it"),
        pytest.param([("t", "NoSchedule", 3), ("t", "", 20)], 20, id="another effect before it"),
        pytest.param([("t", "", 0), ("t", "", 20)], 0, id="no time first"),
        pytest.param([("t", "", 20), ("t", "", 0)], 20, id="no time second"),
        pytest.param([("t", "", 1), ("t", "", 20)], 1, id="a second first"),
    ],
)
def test_the_first_matching_toleration_limits_the_time(tolerations, leaves):
    cluster = cluster_with(a_pod("a", tolerations=matching(*tolerations)))
    taint_with(cluster, "t")
    assert leaves_at(cluster) == leaves


@pytest.mark.parametrize(
    ("tolerations", "leaves"),
    [
        pytest.param([("s", "", 30), ("", "", 5)], 5, id="one for both after one of its own"),
        pytest.param([("", "", 30), ("t", "", 5)], 30, id="one for both before one of its own"),
        pytest.param([("t", "", None), ("", "", 5)], 5, id="for ever for one of them"),
        pytest.param([("s", "", 30), ("s", "", None)], 0, id="two for one, none for the other"),
    ],
)
def test_each_taint_has_its_own_first_toleration(tolerations, leaves):
    cluster = cluster_with(a_pod("a", tolerations=matching(*tolerations)))
    taint_with(cluster, "s", "t")
    assert leaves_at(cluster) == leaves


@pytest.mark.parametrize(
    ("later", "leaves", "said"),
    [
        pytest.param(("s",), 20, [MARKED], id="as before"),
        pytest.param(("s", "t"), 20, [MARKED], id="one more that would be shorter"),
        pytest.param(("t",), 20, [MARKED], id="another that would be shorter"),
        pytest.param(("s", "w"), 5, [CANCELLED, MARKED], id="one that is not tolerated"),
        pytest.param(("u",), None, [CANCELLED], id="one that is tolerated for ever"),
        pytest.param((), None, [CANCELLED], id="none"),
    ],
)
def test_taints_that_change_before_a_scheduled_deletion(later, leaves, said):
    cluster = cluster_with(a_pod("a", tolerations=tolerating(s=20, t=3, u=None)))
    taint_with(cluster, "s")
    cluster.run(5)
    cluster.replace_controllers()
    taint_with(cluster, *later)
    assert leaves_at(cluster) == leaves
    assert cluster.event_notes("TaintManagerEviction") == said


def test_changed_tolerations_do_not_move_a_scheduled_deletion():
    cluster = cluster_with(a_pod("a", tolerations=tolerating(t=20)))
    taint_with(cluster, "t")
    cluster.run(5)
    cluster.edit(POD, "default/a", "spec", tolerations=tolerating(t=40))
    assert leaves_at(cluster) == 20


def test_a_pod_that_is_removed_before_its_scheduled_deletion():
    cluster = cluster_with(a_pod("a", tolerations=tolerating(t=20)))
    taint_with(cluster, "t")
    cluster.run(5)
    cluster.delete(POD, "default/a", grace_seconds=0)
    assert cluster.event_notes("TaintManagerEviction") == [CANCELLED]
    states = cluster.controllers.state().controller_states
    assert states["taint-eviction-controller"] == {"scheduled": {}}


def test_a_pod_bound_to_a_tainted_node_is_deleted_too():
    cluster = cluster_with()
    cluster.edit(NODE, "n1", "spec", taints=[{"key": "t", "effect": "NoExecute"}])
    cluster.add(a_pod("a", nodeName="n1"))
    assert cluster.pods() == []


@pytest.mark.parametrize(
    ("condition", "status", "expected"),
    [
        ("Ready", "False", [("not-ready", "NoSchedule")]),
        ("MemoryPressure", "True", [("memory-pressure", "NoSchedule")]),
        ("DiskPressure", "True", [("disk-pressure", "NoSchedule")]),
        ("PIDPressure", "True", [("pid-pressure", "NoSchedule")]),
        ("NetworkUnavailable", "True", [("network-unavailable", "NoSchedule")]),
        ("MemoryPressure", "Unknown", []),
    ],
)
def test_conditions_add_and_remove_taints(condition, status, expected):
    cluster = Cluster(MAKERS, stages=())
    own = {"key": "own", "effect": "NoSchedule"}
    conditions = [{"type": "Ready", "status": "True"}]
    cluster.add(document("Node", "n1", spec={"taints": [own]}, status={"conditions": conditions}))
    new = [each for each in conditions if each["type"] != condition]
    cluster.edit(NODE, "n1", "status", conditions=[*new, {"type": condition, "status": status}])
    assert taints(cluster) == [("own", "NoSchedule"), *expected]
    cluster.edit(NODE, "n1", "status", conditions=conditions)
    assert taints(cluster) == [("own", "NoSchedule")]


def test_a_cordon_and_the_taint_of_a_new_node():
    cluster = Cluster(MAKERS)
    new = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    cluster.add(document("Node", "n1", spec={"taints": new}))
    assert taints(cluster) == []
    cluster.edit(NODE, "n1", "spec", unschedulable=True)
    assert taints(cluster) == [("unschedulable", "NoSchedule")]
    cluster.edit(NODE, "n1", "spec", unschedulable=None)
    assert taints(cluster) == []


# ---------------------------------------------------------------------- rates of eviction


def zones_with(counts: dict[str, int]) -> Cluster:
    cluster = Cluster(MAKERS)
    for zone, count in counts.items():
        labels = {"topology.kubernetes.io/zone": zone}
        for index in range(count):
            cluster.add(document("Node", f"{zone}{index:02}", metadata={"labels": labels}))
    return cluster


def fail(cluster: Cluster, zone: str, count: int) -> None:
    for index in range(count):
        cluster.send(NodeDown(f"{zone}{index:02}"))


def evicting(cluster: Cluster) -> list[str]:
    return [
        node.name
        for node in cluster.nodes()
        if any(taint.effect == "NoExecute" for taint in node.spec.taints)
    ]


@pytest.mark.parametrize(
    ("counts", "failed", "tainted_at"),
    [
        pytest.param({"a": 10}, {"a": 3}, {54: 0, 55: 1, 64: 1, 65: 2, 75: 3}, id="one in 10 s"),
        pytest.param({"a": 20}, {"a": 10}, {55: 1, 145: 10}, id="half of a zone"),
        pytest.param({"a": 20}, {"a": 11}, {55: 0, 5_000: 0}, id="55 % of a small zone"),
        pytest.param({"a": 3}, {"a": 2}, {55: 1, 65: 2}, id="two nodes are not yet most"),
        pytest.param(
            {"a": 60}, {"a": 40}, {55: 1, 154: 1, 155: 2, 3_955: 40}, id="most of a large zone"
        ),
        pytest.param({"a": 4, "b": 1}, {"a": 4}, {55: 1, 65: 2, 85: 4}, id="a whole zone"),
        pytest.param({"a": 5, "b": 5}, {"a": 2, "b": 2}, {55: 2, 65: 4}, id="each zone its own"),
        pytest.param({"a": 4, "b": 1}, {"a": 4, "b": 1}, {55: 0, 5_000: 0}, id="every node"),
    ],
)
def test_the_rate_of_eviction_taints(counts, failed, tainted_at):
    cluster = zones_with(counts)
    for zone, count in failed.items():
        fail(cluster, zone, count)
    for second, expected in tainted_at.items():
        cluster.run(second)
        assert (second, len(evicting(cluster))) == (second, expected)
    silent = sum(failed.values())
    scheduled = [n for n in cluster.nodes() if any(t.effect == "NoSchedule" for t in n.spec.taints)]
    assert len(scheduled) == silent


def test_taints_are_removed_when_no_node_is_ready_and_return_with_the_first():
    cluster = zones_with({"a": 3, "b": 1})
    fail(cluster, "a", 3)
    cluster.run(66)
    assert evicting(cluster) == ["a00", "a01"]
    fail(cluster, "b", 1)
    cluster.run(121)
    assert evicting(cluster) == []
    cluster.run(1_000)
    assert evicting(cluster) == []
    cluster.replace_controllers()
    cluster.send(NodeUp("b00"))
    cluster.run(1_014)
    assert evicting(cluster) == []
    cluster.run(1_015)
    assert evicting(cluster) == ["a00"]
    cluster.run(1_035)
    assert evicting(cluster) == ["a00", "a01", "a02"]


def test_a_node_that_is_ready_again_leaves_the_queue():
    cluster = zones_with({"a": 10})
    fail(cluster, "a", 3)
    cluster.run(60)
    cluster.send(NodeUp("a01"))
    cluster.run(70)
    assert evicting(cluster) == ["a00", "a02"]


def test_the_eviction_taint_of_a_node_follows_its_ready_condition():
    cluster = Cluster(MAKERS, stages=())
    ready, not_ready = ({"type": "Ready", "status": each} for each in ("True", "False"))
    cluster.add(
        document("Node", "n1", status={"conditions": [not_ready]}),
        document("Node", "n2", status={"conditions": [ready]}),
    )
    cluster.run(5)
    assert taints(cluster) == [("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]
    cluster.edit(NODE, "n1", "status", conditions=[{"type": "Ready", "status": "Unknown"}])
    assert taints(cluster) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
    cluster.edit(NODE, "n1", "status", conditions=[ready])
    assert taints(cluster) == []


def test_nodes_that_are_excluded_from_disruption_are_not_counted():
    cluster = zones_with({"a": 2})
    out = {"labels": {"topology.kubernetes.io/zone": "a"}}
    out["labels"]["node.kubernetes.io/exclude-disruption"] = ""
    cluster.add(*(document("Node", f"x{index}", metadata=out) for index in range(5)))
    for index in range(5):
        cluster.send(NodeDown(f"x{index}"))
    cluster.run(96)
    assert evicting(cluster) == ["x0", "x1", "x2", "x3", "x4"]


# ------------------------------------------------------------------------------- pod GC


def test_the_pods_of_a_removed_node_fail_and_are_deleted():
    cluster = cluster_with(a_pod("a"), a_pod("done", annotations={RUN_DELAY: "1s"}))
    cluster.run(5)
    failed: list[Any] = []
    cluster.invariants.append(
        lambda c: failed.extend(p.raw["status"] for p in c.pods() if p.status.phase == "Failed")
    )
    cluster.delete(NODE, "n1")
    cluster.run(44)
    assert [pod.name for pod in cluster.pods()] == ["a", "done"]
    cluster.run(46)
    assert cluster.pods() == []
    (condition,) = [each for each in failed[0]["conditions"] if each["type"] == "DisruptionTarget"]
    assert (condition["reason"], condition["message"]) == (
        "DeletionByPodGC",
        "PodGC: node no longer exists",
    )


def test_a_node_that_returns_within_the_quarantine_keeps_its_pods():
    cluster = cluster_with(a_pod("a", tolerations=PATIENT))
    cluster.send(NodeDown("n1"))
    cluster.run(60)
    cluster.delete(NODE, "n1")
    cluster.run(90)
    cluster.add(document("Node", "n1"))
    cluster.run(200)
    assert [pod.name for pod in cluster.pods()] == ["a"]
    assert ready(cluster, POD, "default/a")["status"] == "True"


def test_a_terminating_pod_of_an_unresponsive_node_is_removed_with_the_node():
    cluster = cluster_with(a_pod("a"))
    cluster.send(NodeDown("n1"))
    cluster.delete(POD, "default/a")
    cluster.run(100)
    assert len(cluster.pods()) == 1
    cluster.delete(NODE, "n1")
    cluster.replace_controllers()
    cluster.run(141)
    assert cluster.pods() == []


@pytest.mark.parametrize("is_deleted_first", [True, False])
def test_terminating_pods_of_an_out_of_service_node_are_removed(is_deleted_first):
    cluster = cluster_with(a_pod("a"), a_pod("b", tolerations=[{"operator": "Exists"}]))
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"}
    cluster.send(NodeDown("n1"))
    if is_deleted_first:
        cluster.delete(POD, "default/a")
    cluster.run(51)
    written = cluster.raw(NODE, "n1")["spec"]["taints"]
    assert len(cluster.pods()) == 2
    cluster.edit(NODE, "n1", "spec", taints=[*written, taint])
    if not is_deleted_first:
        cluster.delete(POD, "default/a")
    assert [pod.name for pod in cluster.pods()] == ["b"]


def test_a_ready_node_with_the_out_of_service_taint_stops_its_own_pods():
    cluster = cluster_with(a_pod("a"))
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"}
    cluster.edit(NODE, "n1", "spec", taints=[taint])
    failed: list[str] = []
    cluster.invariants.append(lambda c: failed.extend(p.status.phase for p in c.pods()))
    cluster.delete(POD, "default/a")
    cluster.run(100)
    assert cluster.pods() == []
    assert "Failed" not in failed


def test_an_unbound_terminating_pod_is_removed():
    cluster = Cluster(MAKERS, schedules=False)
    held = a_pod("a")
    held.raw["metadata"]["finalizers"] = ["x/hold"]
    cluster.add(document("Pod", "a", namespace="default", metadata=held.raw["metadata"]))
    cluster.delete(POD, "default/a")
    assert cluster.status(POD, "default/a")["phase"] == "Failed"
    cluster.edit(POD, "default/a", "metadata", finalizers=None)
    assert cluster.pods() == []


def test_terminated_pods_beyond_the_threshold_are_deleted(monkeypatch):
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 3)
    cluster = cluster_with()
    for second in range(6):
        cluster.run(second)
        cluster.add(a_pod(f"p{5 - second}"))
        cluster.edit(POD, f"default/p{5 - second}", "status", phase="Succeeded")
    assert len(cluster.pods()) == 6
    cluster.run(60)
    assert [pod.name for pod in cluster.pods()] == ["p0", "p1", "p2"]


def test_the_oldest_terminated_pods_stay_known_until_they_are_removed():
    cluster = cluster_with()
    for name in ("a", "b"):
        cluster.add(a_pod(name))
        cluster.edit(POD, f"default/{name}", "status", phase="Succeeded")
    (collector,) = (
        each
        for each in cluster.controllers._controllers.values()
        if isinstance(each, PodGarbageCollector)
    )
    for _ in range(2):
        assert [pod.name for pod in collector._oldest_terminated(1)] == ["a"]


@pytest.mark.parametrize("stale_max", [0, 1_000])
def test_a_terminated_pod_of_a_reused_name_counts_once(monkeypatch, stale_max):
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 2)
    monkeypatch.setattr(pod_gc, "_STALE_MAX", stale_max)
    cluster = cluster_with()
    for name in ("a", "a", "a", "b", "c", "d"):
        if cluster.has(POD, f"default/{name}"):
            cluster.delete(POD, f"default/{name}", grace_seconds=0)
        cluster.add(a_pod(name))
        cluster.edit(POD, f"default/{name}", "status", phase="Failed")
    cluster.run(60)
    assert [pod.name for pod in cluster.pods()] == ["c", "d"]


# --------------------------------------------------------------------------------- laws


@effort(40)
@given(data=st.data())
def test_nodes_recover_completely_from_faults(data):
    cluster = cluster_with(document("Node", "n2"), a_pod("a", tolerations=PATIENT), a_pod("b"))
    names = ("n1", "n2")
    for _ in range(data.draw(st.integers(1, 10))):
        node = data.draw(st.sampled_from(names))
        what = data.draw(st.sampled_from(["down", "up", "wait", "restore", "pod", "delete"]))
        if what == "down":
            cluster.send(NodeDown(node))
        elif what == "up":
            cluster.send(NodeUp(node))
        elif what == "restore":
            cluster.replace_controllers()
        elif what == "pod" and not cluster.has(POD, "default/more"):
            cluster.add(a_pod("more", nodeName=node))
        elif what == "delete" and cluster.pods():
            cluster.delete(POD, cluster.pods()[0].key)
        else:
            cluster.run(cluster.now + data.draw(st.sampled_from([1, 30, 60, 400])))
    for node in names:
        cluster.send(NodeUp(node))
    cluster.run(cluster.now + 1_000)
    for node in names:
        assert taints(cluster, node) == []
        assert ready(cluster, NODE, node)["status"] == "True"
    assert not [pod.name for pod in cluster.pods() if pod.is_terminating]
    states = cluster.controllers.state().controller_states
    assert states["node-lifecycle-controller"]["unresponsive_since_ns"] == {}
    assert states["node-lifecycle-controller"]["monitor_ns"] is None
    for zone in states["node-lifecycle-controller"]["zones"]["zones"].values():
        assert (zone["disruption"], zone["waiting"]) == ("Normal", {})
    assert states["taint-eviction-controller"] == {"scheduled": {}}


@pytest.mark.parametrize("annotations", [{}, {SOURCE_UID: "u"}])
def test_conditions_and_taints_of_a_mirrored_node_are_those_of_its_source(annotations):
    raw = document("Node", "away").raw
    metadata = {**raw["metadata"], "annotations": annotations}
    status = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    cluster = Cluster((NodeLifecycleController,))
    cluster.add(decode({**raw, "metadata": metadata, "status": status}))
    cluster.run(120)
    # The simulated kubelet of another node reports it ready again.
    assert ready(cluster, NODE, "away")["status"] == ("Unknown" if annotations else "True")
    assert taints(cluster, "away") == []


def test_a_new_pod_under_an_old_name_has_its_own_time():
    cluster = Cluster((TaintEvictionController,), stages=())
    taint = {"key": "k", "effect": "NoExecute"}
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}
    cluster.add(document("Node", "n1", spec={"taints": [taint]}))

    def bound() -> Any:
        return a_pod("a", nodeName="n1", tolerations=[toleration])

    cluster.add(bound())
    cluster.run(60)
    # The old pod goes and the new one comes before the controller has looked again.
    cluster.store.drop(POD, "default/a")
    cluster.store.put(with_metadata(cluster.api.admission.admit_new(bound()), uid="other"))
    cluster.settle()
    cluster.run(159)
    (pod,) = cluster.pods()
    assert not pod.is_terminating
    assert cluster.event_notes("TaintManagerEviction") == []
    cluster.run(160)
    (pod,) = cluster.pods()
    assert pod.is_terminating
    assert cluster.event_notes("TaintManagerEviction") == ["Marking for deletion Pod default/a"]


@pytest.mark.parametrize(
    ("ready", "gates", "phase", "is_ready"),
    [
        ([True], {}, "Running", True),
        ([True, False], {}, "Running", False),
        ([], {}, "Running", False),
        ([True], {}, "Succeeded", False),
        ([True], {"a": "True"}, "Running", True),
        ([True], {"a": "False"}, "Running", False),
        ([True], {"a": None}, "Running", False),
    ],
)
def test_a_pod_of_a_node_that_returned_is_ready_with_all_containers_and_gates(
    ready, gates, phase, is_ready
):
    conditions = [{"type": "Ready", "status": "False"}]
    conditions += [{"type": name, "status": status} for name, status in gates.items() if status]
    pod: Any = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"readinessGates": [{"conditionType": name} for name in gates]},
            "status": {
                "phase": phase,
                "conditions": conditions,
                "containerStatuses": [{"ready": each} for each in ready],
            },
        }
    )
    assert node_lifecycle._runs_ready(pod) is is_ready


def test_a_deletion_that_is_scheduled_again_is_not_lost():
    cluster = Cluster((TaintEvictionController,), stages=())
    toleration = {"key": "k", "operator": "Exists", "tolerationSeconds": 100}
    cluster.add(document("Node", "n1"), a_pod("a", nodeName="n1", tolerations=[toleration]))
    for second, taints in ((0, ["k"]), (50, []), (60, ["k"])):
        cluster.run(second)
        taint_with(cluster, *taints)
    cluster.run(159)
    assert not cluster.pods()[0].is_terminating
    cluster.run(160)
    assert cluster.pods()[0].is_terminating
