"""Nodes with their pods, the order in which nodes are visited, and the events that move pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import with_fields, with_nominated_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic import ClassicCluster
from podwright.scheduler.classic.cluster import MirroredCluster, identified
from podwright.scheduler.classic.events import MOVE_ALL, QueueCall, queue_calls
from podwright.scheduler.classic.node_info import (
    NodeInfo,
    Resources,
    occupied,
    requested_by,
    scoring_request,
    zone_key,
)
from podwright.scheduler.classic.node_tree import NodeTree, nodes_to_find
from podwright.testing import make_node, make_pod

ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
MIB = 1024 * 1024
GPU = "example.com/gpu"
NEAR: dict[str, Any] = {"affinity": {"podAffinity": {}}}


def container(name: str, ports: Any = (), **requests: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": {"requests": requests}, "ports": [*ports]}


def with_containers(
    *containers: Any, first: Any = (), name: str = "p", node: str = "", **spec: Any
) -> Any:
    listed = {"containers": [*containers], "initContainers": [*first]}
    return make_pod(name, spec=listed | spec, node=node)


# ------------------------------------------------------------------------------------ amounts


def test_the_amounts_of_a_pod() -> None:
    pod = with_containers(
        container("a", cpu="100m", memory="1Mi", **{GPU: "1", "hugepages-2Mi": "2Mi"}),
        container("b", cpu="0", **{"ephemeral-storage": "3Mi", GPU: "1"}),
        container("c"),
        first=[container("i", cpu="1", memory="0", **{GPU: "3", "example.com/x": "0"}),
               container("j", memory="5Mi", **{"ephemeral-storage": "4Mi"})],
    )  # fmt: skip
    scalars = {GPU: 2, "hugepages-2Mi": 2 * MIB}
    assert occupied(pod) == Resources(100, MIB, 3 * MIB, scalars)
    assert requested_by(pod) == Resources(1000, 5 * MIB, 4 * MIB, scalars | {GPU: 3})
    # 100m and 200 MiB for each container without a request; zero is one.
    assert scoring_request(pod) == (100 + 0 + 100, 401 * MIB)
    assert occupied(with_containers(container("a", pods="3"))) == Resources()
    assert occupied(with_containers(container("a", unknown="3", cpu="1m"))) == (Resources(1))
    limited = with_containers(container("a", **{"kubernetes.io/batch": "3", "attachable": "4"}))
    assert occupied(limited) == Resources(scalars={"kubernetes.io/batch": 3}), "as upstream"


def test_amounts_are_added_and_subtracted() -> None:
    total = Resources(1, 2, 3, {"a": 4})
    copy = total.copy()
    total.add(Resources(10, 20, 30, {"a": 40, "b": 50}))
    assert total == Resources(11, 22, 33, {"a": 44, "b": 50})
    total.subtract(Resources(1, 2, 3, {"a": 4, "c": 5}))
    assert total == Resources(10, 20, 30, {"a": 40, "b": 50, "c": -5})
    assert copy == Resources(1, 2, 3, {"a": 4})
    for amounts, is_nothing in (
        (Resources(), True), (Resources(1), False), (Resources(0, 1), False),
        (Resources(0, 0, 1), False), (Resources(scalars={"a": 0}), False),
    ):  # fmt: skip
        assert amounts.is_nothing is is_nothing


def state_of(info: NodeInfo) -> dict[str, Any]:
    return {
        "pods": sorted(info.pods), "with_affinity": sorted(info.pods_with_affinity),
        "requested": info.requested.copy(), "ports": sorted(info.used_ports),
        "scoring": (info.scoring_milli_cpu, info.scoring_memory_bytes),
    }  # fmt: skip


def test_a_node_counts_its_pods_and_forgets_them() -> None:
    info = NodeInfo("n")
    empty = state_of(info)
    port = {"containerPort": 1, "hostPort": 80}
    pod = with_containers(container("a", [port], cpu="1", **{GPU: "2"}), **NEAR)
    info.add_pod(pod)
    full = state_of(info)
    assert full == {
        "pods": ["default/p"], "with_affinity": ["default/p"],
        "requested": Resources(1000, 0, 0, {GPU: 2}), "ports": [("0.0.0.0", "TCP", 80)],
        "scoring": (1000, 200 * MIB),
    }  # fmt: skip
    copy = info.clone()
    # The same name replaces the pod, also with other amounts.
    info.add_pod(with_containers(container("a", cpu="3")))
    assert state_of(info) == {
        "pods": ["default/p"], "with_affinity": [],
        "requested": Resources(3000, 0, 0, {GPU: 0}), "ports": [], "scoring": (3000, 200 * MIB),
    }  # fmt: skip
    info.remove_pod(make_pod("unknown"))
    info.remove_pod(make_pod("p"))
    assert state_of(info) | {"requested": Resources()} == empty
    assert info.requested == Resources(scalars={GPU: 0})
    assert state_of(copy) == full
    copy.remove_pod(pod)
    assert (copy.pods, info.pods, copy.used_ports) == ({}, {}, [])


def test_a_node_has_the_properties_of_its_last_version() -> None:
    info = NodeInfo("n")
    node = make_node("n", cpu="2", memory="1Mi", pods=7, labels={ZONE: "z"}, unschedulable=True,
                     taints=["k:NoSchedule"], resources={GPU: "1"})  # fmt: skip
    info.set_node(node)
    copy = info.clone()
    for each in (info, copy):
        assert (each.name, each.labels[ZONE], each.zone) == ("n", "z", ":\x00:z")
        assert (each.allowed_pods, each.unschedulable, len(each.taints)) == (7, True, 1)
        assert each.allocatable == Resources(2000, MIB, 0, {GPU: 1})
        assert each.node is node
    info.set_node(None)
    assert (info.labels, info.zone, info.taints) == ({}, "", ())
    assert (info.allowed_pods, info.unschedulable, info.allocatable) == (0, False, Resources())
    # A node that reports no number takes no pod.
    info.set_node(with_fields(node, "status", allocatable={"cpu": "1"}))
    assert (info.allowed_pods, info.allocatable) == (0, Resources(1000))


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ""),
        ({ZONE: "z"}, ":\x00:z"),
        ({REGION: "r"}, "r:\x00:"),
        ({ZONE: "z", REGION: "r"}, "r:\x00:z"),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], zone: str) -> None:
    assert zone_key(labels) == zone


# -------------------------------------------------------------------------------- node order


def tree_of(**zones: str) -> tuple[NodeTree, dict[str, Any]]:
    nodes = {
        name: make_node(name, labels={ZONE: zone} if zone else {}) for name, zone in zones.items()
    }
    tree = NodeTree()
    for node in nodes.values():
        tree.add(node)
    return tree, nodes


def test_zones_are_visited_in_turn_and_start_again_when_all_are_exhausted() -> None:
    tree, nodes = tree_of(a1="a", a2="a", a3="a", b1="b", c1="c", c2="c")
    assert len(tree) == 6
    assert [tree.next() for _ in range(7)] == ["a1", "b1", "c1", "a2", "c2", "a3", "a1"]
    position = tree.position()
    following = [tree.next() for _ in range(4)]
    assert following == ["b1", "c1", "a2", "c2"]
    tree.restore_position(position)
    assert [tree.next() for _ in range(4)] == following
    # Adding the same node again changes nothing.
    tree.add(nodes["a1"])
    assert len(tree) == 6


def test_a_visit_goes_on_until_the_last_zone_is_exhausted() -> None:
    tree, _ = tree_of(a1="a", b1="b", c1="c", c2="c", c3="c")
    assert [tree.next() for _ in range(7)] == ["a1", "b1", "c1", "c2", "c3", "a1", "b1"]


def test_nodes_leave_and_change_their_zone() -> None:
    tree, nodes = tree_of(a1="a", b1="b", b2="b")
    assert tree.remove(nodes["a1"])
    assert not tree.remove(nodes["a1"])
    assert not tree.remove(make_node("b1", labels={ZONE: "a"}))
    assert (len(tree), [tree.next() for _ in range(3)]) == (2, ["b1", "b2", "b1"])
    moved = make_node("b1", labels={ZONE: "c"})
    tree.update(nodes["b1"], moved)
    tree.update(nodes["b2"], make_node("b2", labels={ZONE: "b", "x": "y"}))
    assert len(tree) == 2
    assert sorted({tree.next() for _ in range(4)}) == ["b1", "b2"]
    assert tree.remove(moved)
    assert tree.remove(nodes["b2"])
    assert (len(tree), tree.next()) == (0, "")


@pytest.mark.parametrize(
    ("count", "percentage", "found"),
    [
        (99, 0, 99), (99, 1, 99), (100, 0, 100), (101, 0, 100), (250, 0, 120), (1_000, 0, 420),
        (5_000, 0, 500), (5_624, 0, 337), (5_625, 0, 281), (6_000, -1, 300), (1_000, 30, 300),
        (1_000, 5, 100), (1_000, 99, 990), (1_000, 100, 1_000), (1_000, 101, 1_000), (200, 50, 100),
        (202, 50, 101),
    ],
)  # fmt: skip
def test_how_many_nodes_are_enough(count: int, percentage: int, found: int) -> None:
    assert nodes_to_find(count, percentage) == found


# ----------------------------------------------------------------------------------- cluster


def test_images_are_counted_by_the_nodes_that_have_them() -> None:
    cluster = ClassicCluster()
    cluster.put(make_node("a", images={"x:1": "10Mi", "y:1": "20Mi"}))
    cluster.put(make_node("b", images={"x:1": "30Mi"}))

    def images() -> dict[str, tuple[int, list[str]]]:
        return {
            name: (state.size_bytes // MIB, sorted(state.node_names))
            for name, state in cluster.images.items()
        }

    assert images() == {"x:1": (10, ["a", "b"]), "y:1": (20, ["a"])}
    cluster.put(make_node("a", images={"z:1": "5Mi"}))
    assert images() == {"x:1": (10, ["b"]), "z:1": (5, ["a"])}
    cluster.remove(make_node("b"))
    assert images() == {"z:1": (5, ["a"])}


def test_pods_stay_without_their_node_and_nodes_without_their_pods() -> None:
    cluster = ClassicCluster()
    pod = make_pod("p", node="n", spec=NEAR)
    cluster.put(pod)
    assert (cluster.nodes(), len(cluster.tree)) == ([], 0)
    assert [info.name for info in cluster.nodes_with_affinity()] == ["n"]
    cluster.put(make_node("n"))
    assert [list(info.pods) for info in cluster.nodes()] == [["default/p"]]
    cluster.remove(make_node("n"))
    cluster.remove(make_node("n"))
    assert (list(cluster.node_infos), len(cluster.tree)) == (["n"], 0)
    cluster.remove(pod)
    assert (list(cluster.node_infos), list(cluster.nodes_with_affinity())) == ([], [])
    cluster.put(make_node("n"))
    cluster.put(pod)
    cluster.remove(pod)
    cluster.remove(make_pod("unknown", node="m"))
    assert [info.name for info in cluster.nodes()] == ["n"]
    cluster.remove(make_node("n"))
    assert cluster.node_infos == {}


def test_pods_count_by_their_node_or_by_their_nomination() -> None:
    cluster = ClassicCluster()
    pod = identified(with_nominated_node_name(make_pod("p"), "n"))
    cluster.put(pod)
    assert [each.key for each in cluster.nominator.pods_on("n")] == ["default/p"]
    placed = with_fields(pod, "spec", node_name="n")
    cluster.put(placed)
    assert (cluster.nominator.nodes(), list(cluster.node_infos["n"].pods)) == ({}, ["default/p"])
    cluster.put(with_fields(placed, "status", phase="Succeeded"))
    assert cluster.node_infos == {}
    cluster.put(pod)
    cluster.remove(pod)
    assert cluster.nominator.nodes() == {}
    cluster.put(make_pod("q"))
    assert (cluster.nominator.nodes(), cluster.node_infos) == ({}, {})
    assert (pod.metadata.uid, identified(pod) is pod) == ("default/p", True)


def owner(kind: str, name: str, selector: Any, namespace: str = "default") -> Any:
    version = "v1" if kind in ("Service", "ReplicationController") else "apps/v1"
    metadata = {"name": name, "namespace": namespace}
    spec = {} if selector is None else {"selector": selector}
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


LABELED = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("objects", "count"),
    [
        pytest.param([owner("Service", "s", {"app": "web"})], 1, id="a service"),
        pytest.param([owner("Service", "s", {"app": "db"})], 0, id="a service of others"),
        pytest.param([owner("Service", "s", None)], 0, id="a service without a selector"),
        pytest.param([owner("Service", "s", {})], 1, id="a service with an empty selector"),
        pytest.param(
            [owner("Service", "s", {"app": "web"}, "other")], 0, id="in another namespace"
        ),
        pytest.param([owner("ReplicationController", "r", {"app": "web"})], 1, id="a controller"),
        pytest.param([owner("ReplicationController", "r", {})], 0, id="one that selects nothing"),
        pytest.param(
            [owner("ReplicationController", "r", {"app": "web"}, "other")], 0,
            id="a controller in another namespace",
        ),
        pytest.param([owner("ReplicaSet", "r", LABELED)], 1, id="a replica set"),
        pytest.param([owner("ReplicaSet", "r", {})], 0, id="an empty replica set"),
        pytest.param([owner("StatefulSet", "r", LABELED)], 1, id="a stateful set"),
        pytest.param(
            [owner("StatefulSet", "r", LABELED, "other")], 0, id="a set in another namespace"
        ),
        pytest.param(
            [owner("ReplicaSet", "r", LABELED), owner("StatefulSet", "r", LABELED),
             owner("Service", "s", {"app": "web"})], 3, id="all of them",
        ),
        pytest.param(
            [owner("ReplicaSet", "r", LABELED), owner("StatefulSet", "t", LABELED),
             owner("ReplicaSet", "u", {"matchExpressions": [{"key": "a", "operator": "In"}]})], 1,
            id="one that is not valid hides those of its kind",
        ),
    ],
)  # fmt: skip
def test_the_selectors_of_a_pod(objects: list[Any], count: int) -> None:
    cluster = ClassicCluster()
    for obj in objects:
        cluster.put(obj)
    assert len(cluster.selectors_of(make_pod("p", labels={"app": "web"}))) == count
    services = [each for each in objects if each.kind == "Service" and each.raw["spec"].get(
        "selector") == {} and each.namespace == "default"]  # fmt: skip
    assert len(cluster.selectors_of(make_pod("bare"))) == len(services)
    for obj in objects:
        cluster.remove(obj)
    assert cluster.selectors_of(make_pod("p", labels={"app": "web"})) == []


def test_a_mirrored_cluster_has_the_state_of_the_columns() -> None:
    cluster = MirroredCluster()
    node = make_node("n", labels={ZONE: "z"})
    cluster.put(node)
    cluster.put(owner("Service", "s", {"app": "web"}))
    pod = make_pod("p", labels={"app": "web"})
    slot = cluster.nodes.slot_of["n"]
    cluster.nominate(pod, "n")
    assert [each.key for each in cluster.classic.nominator.pods_on("n")] == ["default/p"]
    cluster.clear_nomination(pod)
    assert cluster.classic.nominator.nodes() == {}
    cluster.place(pod, slot)
    (counted,) = cluster.classic.node_infos["n"].pods.values()
    assert (counted.spec.node_name, counted.metadata.labels) == ("n", {"app": "web"})
    # A newer version is counted with its labels, once.
    newer = with_fields(make_pod("p", labels={"app": "db"}), "spec", node_name="n")
    cluster.put(newer)
    (counted,) = cluster.classic.node_infos["n"].pods.values()
    assert counted.metadata.labels == {"app": "db"}
    # A pod without a node is counted nowhere.
    cluster.put(make_pod("pending"))
    assert [*cluster.classic.node_infos["n"].pods] == [counted.key]
    assert cluster.classic.selectors_of(pod) != []
    cluster.delete(owner("Service", "s", {"app": "web"}))
    assert cluster.classic.selectors_of(pod) == []
    assert cluster.remove("default/p") is not None
    assert cluster.remove("default/p") is None
    assert cluster.classic.node_infos["n"].pods == {}
    # The zone of a deleted node is that of its stored version.
    cluster.delete(make_node("n"))
    assert (cluster.classic.node_infos, len(cluster.classic.tree)) == ({}, 0)


# ------------------------------------------------------------------------------------ events


def stored(kind: str, version: str = "v1", **fields: Any) -> Any:
    return decode({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}} | fields)


PENDING = make_pod("p")
PLACED = make_pod("p", node="n")
OTHERS = make_pod("p", spec={"schedulerName": "other"})
ENDED = with_fields(PLACED, "status", phase="Failed")
CHANGED = make_pod("p", labels={"a": "b"})
WAITING = stored("StorageClass", "storage.k8s.io/v1", provisioner="p",
                 volumeBindingMode="WaitForFirstConsumer")  # fmt: skip
AT_ONCE = stored("StorageClass", "storage.k8s.io/v1", provisioner="p",
                 volumeBindingMode="Immediate")  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "calls"),
    [
        (None, PENDING, [QueueCall("Add", PENDING)]),
        (PENDING, None, [QueueCall("Delete", PENDING)]),
        (PENDING, CHANGED, [QueueCall("Update", CHANGED, PENDING)]),
        (None, OTHERS, []),
        (OTHERS, PENDING, [QueueCall("Add", PENDING)]),
        (PENDING, OTHERS, [QueueCall("Delete", PENDING)]),
        (None, PLACED, [QueueCall("AssignedPodAdded", PLACED)]),
        (PENDING, PLACED, [QueueCall("AssignedPodAdded", PLACED), QueueCall("Delete", PENDING)]),
        (PLACED, PLACED, [QueueCall("AssignedPodUpdated", PLACED)]),
        (PLACED, None, [MOVE_ALL]),
        (PLACED, ENDED, [MOVE_ALL]),
        (ENDED, None, []),
        (None, ENDED, []),
        (ENDED, PLACED, [QueueCall("AssignedPodAdded", PLACED)]),
        (None, owner("Service", "s", {}), [MOVE_ALL]),
        (owner("Service", "s", {}), owner("Service", "s", {"a": "b"}), [MOVE_ALL]),
        (owner("Service", "s", {}), None, [MOVE_ALL]),
        (None, make_node("n"), [MOVE_ALL]),
        (make_node("n"), None, []),
        (None, WAITING, [MOVE_ALL]),
        (None, AT_ONCE, []),
        (AT_ONCE, WAITING, []),
        (WAITING, None, []),
        (None, stored("PersistentVolume"), [MOVE_ALL]),
        (stored("PersistentVolume"), stored("PersistentVolume"), [MOVE_ALL]),
        (stored("PersistentVolume"), None, []),
        (None, stored("PersistentVolumeClaim"), [MOVE_ALL]),
        (stored("PersistentVolumeClaim"), stored("PersistentVolumeClaim"), [MOVE_ALL]),
        (None, stored("CSINode", "storage.k8s.io/v1", spec={"drivers": []}), [MOVE_ALL]),
        (None, stored("ConfigMap"), []),
    ],
)
def test_the_calls_on_the_queue_of_an_event(old: Any, new: Any, calls: list[QueueCall]) -> None:
    # Whether pods are unschedulable matters for changes of nodes only.
    for unschedulable_count in (0, 1):
        assert queue_calls(old, new, unschedulable_count=unschedulable_count) == calls
    assert queue_calls(old, new) == calls


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        ({}, {}, False),
        ({"unschedulable": True}, {}, True),
        ({"unschedulable": True}, {"unschedulable": True, "images": {"x:1": "1Mi"}}, False),
        ({}, {"unschedulable": True}, False),
        ({"cpu": "1"}, {"cpu": "2"}, True),
        ({"cpu": "1"}, {"cpu": "1000m"}, True),
        ({"labels": {"a": "b"}}, {}, True),
        ({}, {"taints": ["k:NoSchedule"]}, True),
        ({}, {"images": {"x:1": "1Mi"}}, False),
    ],
)
def test_a_node_that_may_take_more_pods_moves_all(
    old: dict[str, Any], new: dict[str, Any], moves: bool
) -> None:
    nodes = make_node("n", **old), make_node("n", **new)
    assert queue_calls(*nodes, unschedulable_count=1) == ([MOVE_ALL] if moves else [])
    # Without unschedulable pods it costs nothing.
    assert queue_calls(*nodes, unschedulable_count=0) == [MOVE_ALL]


def test_without_another_count_no_pod_is_unschedulable() -> None:
    node = make_node("n")
    assert queue_calls(node, node) == [MOVE_ALL]


def test_another_condition_of_a_node_moves_all() -> None:
    def node(**conditions: str) -> Any:
        listed = [{"type": name, "status": status, "reason": "r"}
                  for name, status in conditions.items()]  # fmt: skip
        return stored("Node", status={"conditions": listed})

    for old, new, moves in (
        (node(Ready="True"), node(Ready="True"), False),
        (node(Ready="False"), node(Ready="True"), True),
        (node(), node(Ready="True"), True),
    ):
        assert queue_calls(old, new, unschedulable_count=1) == ([MOVE_ALL] if moves else [])


@pytest.mark.parametrize(
    ("section", "fields", "is_update"),
    [
        ("metadata", {"resource_version": "7"}, False),
        ("metadata", {"annotations": {"a": "b"}}, False),
        ("metadata", {"labels": {"a": "b"}}, True),
        ("spec", {"priority": 7}, True),
        ("status", {"phase": "Pending"}, True),
    ],
)
def test_the_event_of_the_schedulers_own_binding_is_no_update(
    section: Any, fields: dict[str, Any], is_update: bool
) -> None:
    newer = with_fields(PENDING, section, **fields)
    calls = queue_calls(PENDING, newer, assumed=PLACED)
    assert calls == ([QueueCall("Update", newer, PENDING)] if is_update else [])
    assert queue_calls(PENDING, newer) == [QueueCall("Update", newer, PENDING)]


def test_pods_of_another_scheduler_by_name() -> None:
    assert queue_calls(None, OTHERS, scheduler_name="other") == [QueueCall("Add", OTHERS)]
    assert queue_calls(None, PENDING, scheduler_name="other") == []
    assert queue_calls(None, PLACED, scheduler_name="other") == [
        QueueCall("AssignedPodAdded", PLACED)
    ]


def test_a_node_is_removed_from_the_zone_in_which_it_is_known() -> None:
    cluster = MirroredCluster()
    for name in ("a", "b"):
        cluster.put(make_node(name, labels={ZONE: "z"}))
    # The last event may have another version of the node, or no labels.
    cluster.delete(make_node("a", labels={ZONE: "other"}))
    assert [info.name for info in cluster.classic.nodes()] == ["b"]
    assert len(cluster.classic.tree) == 1
    cluster.delete(make_node("b"))
    cluster.delete(make_node("unknown"))
    assert len(cluster.classic.tree) == 0


@pytest.mark.parametrize("is_together", [False, True])
def test_pods_that_are_placed_together_are_counted_one_by_one(is_together: bool) -> None:
    cluster = MirroredCluster()
    for name in ("a", "b"):
        cluster.put(make_node(name))
    pods = [make_pod(f"p{number}", cpu="1") for number in range(3)]
    given = [(pod, number % 2, cluster.keys_of(pod)) for number, pod in enumerate(pods)]
    if is_together:
        cluster.place_all(given)
    else:
        for pod, slot, _ in given:
            cluster.place(pod, slot)
    assert {name: sorted(info.pods) for name, info in cluster.classic.node_infos.items()} == {
        "a": ["default/p0", "default/p2"],
        "b": ["default/p1"],
    }
    cluster.remove("default/p2")
    assert [*cluster.classic.node_infos["a"].pods] == ["default/p0"]
    assert sorted(cluster.pods) == ["default/p0", "default/p1"]
