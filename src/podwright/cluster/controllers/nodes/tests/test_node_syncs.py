"""What the controllers of nodes request in one sync: conditions, taints, attachments and drains.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go
"""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from typing import Any

import pytest

from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.controllers.interface import DrainNode
from podwright.cluster.controllers.nodes import AttachDetachController
from podwright.cluster.controllers.nodes.drain import DrainController
from podwright.cluster.controllers.nodes.node_lifecycle import NodeLifecycleController, Zone, Zones
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

PREFIX = "node.kubernetes.io/"


def a_node(
    name: str = "n", ready: str | None = "True", *, taints: Any = (), cordoned: bool = False,
    conditions: Any = (), uid: str = "u", notes: Any = None, status: Any = None, **labels: str,
) -> Any:  # fmt: skip
    found = [] if ready is None else [{"type": "Ready", "status": ready}]
    found += [{"type": kind, "status": value} for kind, value in conditions]
    spec: dict[str, Any] = {"taints": list(taints)} if taints else {}
    spec |= {"unschedulable": True} if cordoned else {}
    metadata = {"labels": labels, "uid": uid} | ({"annotations": notes} if notes else {})
    return document("Node", name, metadata=metadata, spec=spec,
                    status={"conditions": found} | (status or {}))  # fmt: skip


def taint(key: str, effect: str, second: int | None = None) -> dict[str, str]:
    full = key if "/" in key else PREFIX + key
    found = {"key": full, "effect": effect}
    return found if second is None else found | {"timeAdded": at(second)}


ZONED: Any = {"topology.kubernetes.io/zone": "z"}
OTHER_ZONE: Any = {"topology.kubernetes.io/zone": "other"}
EXCLUDED: Any = {f"{PREFIX}exclude-disruption": ""}
OWN = {"key": "mine", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node", "taints"),
    [
        pytest.param(a_node(), None, id="ready"),
        pytest.param(a_node(ready=None), None, id="no status yet"),
        pytest.param(
            a_node(ready=None, cordoned=True, conditions=[("DiskPressure", "True")],
                   taints=[taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute", 1)]),
            [taint("not-ready", "NoExecute", 1), taint("disk-pressure", "NoSchedule", 5),
             taint("unschedulable", "NoSchedule", 5)], id="no status yet, but other conditions",
        ),
        pytest.param(
            a_node(ready="Perhaps", taints=[taint("not-ready", "NoExecute")]), "-",
            id="another status",
        ),
        pytest.param(a_node(ready="False"), [taint("not-ready", "NoSchedule", 5)], id="not ready"),
        pytest.param(
            a_node(ready="Unknown"), [taint("unreachable", "NoSchedule", 5)], id="unknown",
        ),
        pytest.param(a_node(cordoned=True), [taint("unschedulable", "NoSchedule", 5)], id="cordon"),
        pytest.param(
            a_node(conditions=[("MemoryPressure", "True"), ("DiskPressure", "True"),
                               ("PIDPressure", "True"), ("NetworkUnavailable", "True")]),
            [taint(f"{each}-pressure", "NoSchedule", 5) for each in ("memory", "disk", "pid")]
            + [taint("network-unavailable", "NoSchedule", 5)], id="under pressure",
        ),
        pytest.param(
            a_node(conditions=[("MemoryPressure", "False"), ("DiskPressure", "Unknown"),
                               ("Own", "True")]), None, id="under no pressure",
        ),
        pytest.param(
            a_node(ready="False", taints=[taint("not-ready", "NoSchedule", 1), OWN]), None,
            id="tainted before",
        ),
        pytest.param(
            a_node(taints=[taint("not-ready", "NoSchedule", 1), OWN]), [OWN], id="ready again",
        ),
        pytest.param(
            a_node(ready="Unknown", taints=[OWN, taint("not-ready", "NoSchedule", 1)]),
            [OWN, taint("unreachable", "NoSchedule", 5)], id="another state",
        ),
        pytest.param(
            a_node(ready="Unknown",
                   taints=[taint("not-ready", "NoExecute", 1), taint("unreachable", "NoSchedule")]),
            [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute", 5)],
            id="evicting for another reason",
        ),
        pytest.param(
            a_node(taints=[taint("unreachable", "NoExecute", 1)]), "-", id="evicting no more",
        ),
        pytest.param(
            a_node(ready="False", taints=[taint("not-ready", "NoSchedule"),
                                          taint("not-ready", "NoExecute")]), None, id="evicting",
        ),
        pytest.param(
            a_node(taints=[taint("not-ready", "PreferNoSchedule"),
                           taint("memory-pressure", "NoExecute")]), None,
            id="of users, by their effects",
        ),
        pytest.param(
            a_node(ready="False", notes={"podwright.dev/source-uid": "x"}), None, id="mirrored",
        ),
    ],
)  # fmt: skip
def test_the_taints_of_a_node_follow_its_conditions(node, taints) -> None:
    """Upstream: doNoScheduleTaintingPass, processTaintBaseEviction."""
    bench = SingleSync(NodeLifecycleController, node)
    head = "update Node n whole: "
    expected = [] if taints is None else [f"{head}spec.taints={json.dumps(taints)}"]
    assert bench.sync("n", 5) == ([f"{head}-spec.taints"] if taints == "-" else expected)
    assert bench.sync("none", 5) == []


REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def test_a_node_whose_kubelet_stopped_is_unknown_after_fifty_seconds() -> None:
    beat = {"lastHeartbeatTime": at(-9), "lastTransitionTime": at(-99), "reason": "r"}
    conditions = [
        {"type": "Ready", "status": "True", **beat},
        {"type": "MemoryPressure", "status": "Unknown", **beat},
        {"type": "Own", "status": "True", **beat},
    ]
    node = document("Node", "n", status={"conditions": conditions})
    bench = SingleSync(NodeLifecycleController, node)
    controller: Any = bench.controller
    assert controller.on_node_event(NodeDown("n"), NOW + 2 * SECOND) == ("n",)
    assert controller.on_node_event(NodeDown("n"), NOW + 9 * SECOND) == ("n",), "once"
    assert controller.on_node_event(DrainNode("n"), NOW) == ()
    assert bench.sync("n", 2) == ["sync n at 52"]
    assert bench.sync("n", 51.5) == ["sync n at 52"]
    unknown = {
        "status": "Unknown", "lastTransitionTime": at(52), "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }  # fmt: skip
    never = unknown | {
        "lastHeartbeatTime": at(52), "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
    }  # fmt: skip
    write, event = bench.sync("n", 52)
    assert event == (
        "Normal Node n NodeNotReady by node-controller: Node n status is now: NodeNotReady"
    )
    update: Any = controller.sync("n", NOW + 52 * SECOND)[0]
    assert write.startswith("update Node n whole: spec.taints=")
    assert update.obj.raw["spec"]["taints"] == [taint("unreachable", "NoSchedule", 52)]
    found = {each["type"]: each for each in update.obj.raw["status"]["conditions"]}
    assert found == {
        "Ready": {"type": "Ready", "lastHeartbeatTime": at(-9), **unknown},
        "MemoryPressure": conditions[1],
        "Own": conditions[2],
        "DiskPressure": {"type": "DiskPressure", **never},
        "PIDPressure": {"type": "PIDPressure", **never},
    }
    assert controller.on_node_event(NodeUp("n"), NOW) == ("n",)
    assert bench.sync("n", 60) == []


def a_pod(
    name: str, *, ready: str | None = "True", phase: str = "Running", gates: Any = (),
    containers: Any = (True,), more: Any = (), node: str = "n", volumes: Any = (), **metadata: Any,
) -> Any:  # fmt: skip
    conditions = [] if ready is None else [
        {"type": "Ready", "status": ready, "lastTransitionTime": at(-5)}
    ]  # fmt: skip
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
    spec |= {"readinessGates": [{"conditionType": each} for each in gates]} if gates else {}
    spec |= {"volumes": list(volumes)} if volumes else {}
    status = {
        "phase": phase, "conditions": [*conditions, *more],
        "containerStatuses": [{"name": "c", "ready": each} for each in containers],
    }  # fmt: skip
    return document("Pod", name, namespace="shop", metadata={"uid": f"{name}-uid", **metadata},
                    spec=spec, status=status)  # fmt: skip


def ready_condition(status: str, second: int, *others: Any) -> str:
    first = {"type": "Ready", "status": status, "lastTransitionTime": at(second)}
    return f"status.conditions={json.dumps([first, *others])}"


def test_the_pods_of_a_node_are_not_ready_while_it_is_not() -> None:
    other = {"type": "Own", "status": "True"}
    gate = {"type": "gate", "status": "True"}
    since = {"type": "ContainersReady", "status": "True", "lastTransitionTime": at(-3)}
    pods = [
        a_pod("b", more=[other]), a_pod("a"), a_pod("0", ready="False", containers=(False,)),
        a_pod("none", ready=None),
        a_pod("far", node="m"),
    ]  # fmt: skip
    bench = SingleSync(NodeLifecycleController, a_node(), *pods)
    controller: Any = bench.controller
    controller.on_node_event(NodeDown("n"), NOW)
    note = "Node is not ready"
    assert bench.sync("n", 50)[2:] == [
        f"update Pod shop/a status: {ready_condition('False', 50)}",
        f"Warning Pod shop/a NodeNotReady by node-controller: {note}",
        f"update Pod shop/b status: {ready_condition('False', 50, other)}",
        f"Warning Pod shop/b NodeNotReady by node-controller: {note}",
    ]
    controller.on_node_event(NodeUp("n"), NOW + 60 * SECOND)
    rows = [
        a_pod("a", ready="False"),
        a_pod("b", ready="False", more=[since]),
        a_pod("c", ready="False", phase="Pending"),
        a_pod("d", ready="False", containers=(True, False)),
        a_pod("e", ready="False", containers=()),
        a_pod("f", ready="False", gates=["gate"]),
        a_pod("g", ready="False", gates=["gate"], more=[gate]),
        a_pod("h", ready="False", gates=["gate"], more=[gate | {"status": "False"}]),
        a_pod("i"),
    ]
    for each in rows:
        bench.lister.put(each)
    assert bench.sync("n", 61) == [
        f"update Pod shop/a status: {ready_condition('True', 61)}",
        f"update Pod shop/b status: {ready_condition('True', -3, since)}",
        f"update Pod shop/g status: {ready_condition('True', 61, gate)}",
    ]
    assert bench.sync("n", 62) == [], "once"


def test_a_node_is_synced_when_its_conditions_labels_or_spec_change() -> None:
    bench = SingleSync(NodeLifecycleController)
    assert bench.put(a_node()) == ["n", "*"]
    assert bench.put(a_node()) == []
    assert bench.put(a_node(status={"images": []})) == []
    assert bench.put(a_node(rack="r")) == ["n"]
    assert bench.put(a_node(rack="r", cordoned=True)) == ["n"]
    assert bench.put(a_node(ready="False")) == ["n", "*"]
    assert bench.put(a_node(ready="Unknown")) == ["n"], "as unhealthy"
    zoned = a_node(ready="Unknown", **ZONED)
    assert bench.put(zoned) == ["n", "*"]
    assert bench.put(a_node(ready="Unknown", **EXCLUDED)) == ["n", "*"]
    assert bench.remove(a_node()) == ["*"]


def test_a_new_node_has_a_kubelet_that_runs() -> None:
    bench = SingleSync(NodeLifecycleController)
    controller: Any = bench.controller
    controller.on_node_event(NodeDown("n"), NOW)
    bench.put(a_node())
    assert bench.sync("n", 60) == []


def test_another_node_under_a_name_has_another_kubelet() -> None:
    for has_pods in (False, True):
        bench = SingleSync(NodeLifecycleController, a_node())
        controller: Any = bench.controller
        if has_pods:
            bench.lister.put(a_pod("p"))
        for again in ("changed", "removed"):
            controller.on_node_event(NodeDown("n"), NOW)
            bench.sync("n", 60)
            assert controller.state()["marked"] == {"n": None}
            if again == "changed":
                assert bench.put(a_node(uid="second")) == ["n", "*"]
            else:
                bench.remove(a_node())
                assert bench.put(a_node(uid="third")) == ["n", "*"]
            assert controller.state()["unresponsive_since_ns"] == {}
            # With pods left, the kubelet may register the node again.
            assert controller.state()["marked"] == ({"n": None} if has_pods else {})
            controller._marked.clear()


# ------------------------------------------------------------------------------- the zones


@pytest.mark.parametrize(
    ("total", "ready", "excluded", "disruption", "interval"),
    [
        pytest.param(1, 0, 0, "FullDisruption", None, id="all of one"),
        pytest.param(9, 1, 0, "PartialDisruption", None, id="most of a small zone"),
        pytest.param(4, 2, 0, "Normal", 10, id="two of four"),
        pytest.param(3, 1, 0, "Normal", 10, id="two of three"),
        pytest.param(20, 9, 0, "PartialDisruption", None, id="55 percent"),
        pytest.param(20, 10, 0, "Normal", 10, id="half"),
        pytest.param(50, 1, 0, "PartialDisruption", None, id="most of fifty"),
        pytest.param(51, 1, 0, "PartialDisruption", 100, id="most of a large zone"),
        pytest.param(2, 2, 9, "Normal", 10, id="excluded nodes do not count"),
    ],
)
def test_the_rate_of_a_zone(total, ready, excluded, disruption, interval) -> None:
    """Upstream: ComputeZoneState, setLimiterInZone; another zone is well."""
    zones = Zones()
    zones.put(a_node("other", **OTHER_ZONE))
    for index in range(total):
        zones.put(a_node(f"n{index:02}", "True" if index < ready else "Unknown"))
    for index in range(excluded):
        zones.put(a_node(f"x{index}", "False", **EXCLUDED))
    assert not zones.monitor([], NOW)
    state = zones.state()["zones"]
    found = next(zone for name, zone in state.items() if "other" not in name)
    expected_ns = None if interval is None else interval * SECOND
    if disruption == "FullDisruption":
        expected_ns = 10 * SECOND  # only where every zone is disrupted nothing is tainted
    as_struct = found if isinstance(found, Zone) else Zone(**found)
    assert (as_struct.disruption, as_struct.interval_ns) == (disruption, expected_ns)
    assert len(as_struct.waiting) == total - ready + excluded


def test_a_node_gets_its_taint_when_its_turn_comes() -> None:
    nodes = [a_node(name, "True") for name in "wxyz"]
    bench = SingleSync(NodeLifecycleController, *nodes)
    assert bench.sync("*", 1) == []
    for name, ready in (("b", "Unknown"), ("a", "False")):
        bench.put(a_node(name, ready))
    assert bench.sync("*", 1) == ["sync * at 5"]

    def evicts(name: str, key: str, second: int) -> str:
        taints = json.dumps([taint(key, "NoExecute", second)])
        return f"update Node {name} whole: spec.taints={taints}"

    assert bench.sync("*", 5) == [evicts("a", "not-ready", 5), "sync * at 15"]
    bench.lister.put(a_node("a", "False", taints=[taint("not-ready", "NoExecute")]))
    assert bench.sync("*", 15) == [evicts("b", "unreachable", 15)]
    bench.lister.put(a_node("b", "Unknown", taints=[taint("unreachable", "NoExecute")]))
    assert bench.sync("*", 20) == []


def test_a_node_without_the_condition_ready_waits_for_no_taint_but_counts() -> None:
    """Upstream: monitorNodeHealth, ComputeZoneState."""
    bench = SingleSync(NodeLifecycleController, a_node("a", None), a_node("b", "Perhaps"))
    bench.put(a_node("c"))
    bench.put(a_node("d"))
    assert bench.sync("*", 1) == []
    bench.put(a_node("d", "False"))
    assert bench.sync("*", 2) == ["sync * at 5"]
    assert bench.sync("*", 5) == [], "three of four nodes are not ready: no eviction"
    controller: Any = bench.controller
    (zone,) = controller.state()["zones"]["zones"].values()
    assert (zone["disruption"], list(zone["waiting"])) == ("PartialDisruption", ["d"])


def tainted_nodes(requests: list[str]) -> list[str]:
    return [each.split()[2] for each in requests if each.startswith("update Node")]


def test_each_zone_has_its_turns_and_the_first_of_them_is_next() -> None:
    bench = SingleSync(NodeLifecycleController, a_node("0"), a_node("9", **ZONED))
    for name in ("c", "a"):
        bench.put(a_node(name, "False", **ZONED))
    for name in ("d", "b"):
        bench.put(a_node(name, "False"))
    assert bench.sync("*", 1) == ["sync * at 5"]
    assert tainted_nodes(bench.sync("*", 5)) == ["b", "a"], "zone by zone, name by name"
    for name, labels in (("b", {}), ("a", ZONED)):
        bench.put(a_node(name, "False", taints=[taint("not-ready", "NoExecute")], **labels))
    bench.put(a_node("d"))
    bench.put(a_node("f", "False"))
    assert bench.sync("*", 6) == ["sync * at 10"], "f is not in its queue yet"
    assert bench.sync("*", 10) == ["sync * at 15"]
    assert tainted_nodes(bench.sync("*", 15)) == ["f", "c"]


def test_a_zone_that_has_lost_its_last_node_does_not_count() -> None:
    bench = SingleSync(NodeLifecycleController, a_node("gone", **ZONED), a_node("b"))
    bench.put(a_node("a", "False", taints=[taint("not-ready", "NoExecute")]))
    assert bench.sync("*", 0) == []
    bench.remove(a_node("gone", **ZONED))
    bench.put(a_node("b", "False"))
    assert bench.sync("*", 1) == ["sync * at 5"]
    assert tainted_nodes(bench.sync("*", 5)) == ["a"], "its taint is removed: no zone is left"


def test_the_queues_are_empty_after_all_nodes_have_failed() -> None:
    """Upstream: handleDisruption, markNodeAsReachable"""
    bench = SingleSync(NodeLifecycleController, *(a_node(name) for name in "abcdefgz"))
    bench.put(a_node("c", "False"))
    bench.sync("*", 1)
    assert tainted_nodes(bench.sync("*", 5)) == ["c"]
    bench.put(a_node("c", "False", taints=[taint("not-ready", "NoExecute")]))
    bench.put(a_node("b", "False"))
    bench.sync("*", 6)
    assert tainted_nodes(bench.sync("*", 10)) == []
    for name in "adefgz":
        bench.put(a_node(name, "False"))
    bench.sync("*", 11)
    assert tainted_nodes(bench.sync("*", 15)) == ["c"]
    bench.put(a_node("c", "False"))
    assert bench.sync("*", 16) == ["sync * at 20"]
    assert bench.sync("*", 20) == []
    for name in "cdefgz":
        bench.put(a_node(name))
    assert bench.sync("*", 21) == ["sync * at 25"]
    assert bench.sync("*", 25) == ["sync * at 35"]
    assert tainted_nodes(bench.sync("*", 35)) == ["a"], "it waits as long as b"


def test_when_all_nodes_fail_taints_are_removed() -> None:
    mine = [OWN, taint("not-ready", "NoExecute")]
    bench = SingleSync(NodeLifecycleController, a_node("b", "True"))
    bench.put(a_node("a", "False", taints=mine))
    assert bench.sync("*", 0) == []
    bench.put(a_node("b", "Unknown"))
    assert bench.sync("*", 1) == ["sync * at 5"]
    removed = f"update Node a whole: spec.taints={json.dumps([OWN])}"
    assert bench.sync("*", 5) == [removed, "sync * at 10"]
    bench.put(a_node("a", "False", taints=[OWN]))
    # Then one node is ready again: the other one gets its taint.
    bench.put(a_node("b", "True"))
    assert bench.sync("*", 6) == ["sync * at 10"]
    assert bench.sync("*", 10) == ["sync * at 20"]
    (write,) = bench.sync("*", 20)
    assert write.startswith("update Node a whole: spec.taints=")


# ----------------------------------------------------------------------------- attachments

DRIVER = "disk.example.com"
USED = f"kubernetes.io/csi/{DRIVER}^vol-"


def a_volume(name: str, mode: str = "ReadWriteOnce", driver: str = DRIVER) -> Any:
    spec = {
        "accessModes": [mode],
        "csi": {"driver": driver, "volumeHandle": name.replace("pv", "vol")},
    }
    return document("PersistentVolume", name, spec=spec)


def a_claim(name: str, volume: str = "") -> Any:
    return document("PersistentVolumeClaim", name, namespace="shop",
                    spec={"volumeName": volume} if volume else {})  # fmt: skip


def user(
    name: str, *claims: str, node: str = "n", phase: str = "Running", mounts: bool = True
) -> Any:
    volumes = [{"name": f"v{c}", "persistentVolumeClaim": {"claimName": c}} for c in claims]
    pod = a_pod(name, node=node, phase=phase, volumes=volumes)
    spec = dict(pod.raw["spec"])
    if mounts:
        used = [{"name": each["name"], "mountPath": "/d"} for each in volumes]
        spec["containers"] = [spec["containers"][0] | {"volumeMounts": used}]
    return document("Pod", name, namespace="shop", metadata={"uid": f"{name}-uid"}, spec=spec,
                    status=pod.raw["status"])  # fmt: skip


def attachment_name(volume: str, node: str = "n") -> str:
    handle = volume.replace("pv", "vol")
    return f"csi-{sha256(f'{handle}{DRIVER}{node}'.encode()).hexdigest()}"


def an_attachment(volume: str, node: str = "n", *, attached: bool = True, name: str = "",
                  **metadata: Any) -> Any:  # fmt: skip
    return document(
        "VolumeAttachment", name or attachment_name(volume, node), api="storage.k8s.io/v1",
        metadata=metadata, status={"attached": attached},
        spec={"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}},
    )  # fmt: skip


def attaches(volume: str, node: str = "n") -> str:
    return "create " + json.dumps(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": attachment_name(volume, node)},
            "spec": {
                "attacher": DRIVER,
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
            "status": {"attached": False},
        }
    )


def node_status(*volumes: str, in_use: Any = None) -> Any:
    entries = [{"name": f"{USED}{each}", "devicePath": ""} for each in volumes]
    used = [f"{USED}{each}" for each in (volumes if in_use is None else in_use)]
    status: dict[str, Any] = {"volumesAttached": entries} if entries else {}
    return a_node(status=status | ({"volumesInUse": used} if used else {}))


ATTACH: Any = partial(AttachDetachController, has_kubelets=False)
STORAGE = [a_volume("pv-1"), a_volume("pv-2"), a_claim("c1", "pv-1"), a_claim("c2", "pv-2")]


def attached(*objects: Any, maker: Any = ATTACH) -> list[str]:
    return SingleSync(maker, *objects).sync("n", 3)


def test_the_volumes_of_the_pods_of_a_node_are_attached_to_it() -> None:
    assert attached(a_node(), *STORAGE, user("p", "c2", "c1", "c0")) == [
        attaches("pv-2"), attaches("pv-1"),
    ]  # fmt: skip
    assert attached(a_node(), *STORAGE, user("p", "c1", phase="Succeeded")) == []
    assert attached(a_node(), *STORAGE, user("p", "c1", node="m")) == []
    assert attached(*STORAGE, user("p", "c1")) == [], "no node"
    unbound = [a_volume("pv-1"), a_claim("c1")]
    assert attached(a_node(), *unbound, user("p", "c1")) == []


def test_an_attachment_is_confirmed_reported_and_removed() -> None:
    done = 'AttachVolume.Attach succeeded for volume "pv-1" '
    confirmed = f"update VolumeAttachment {attachment_name('pv-1')} status: status.attached=true"
    writes = "update Node n status: status.volumesAttached="
    own = [{"name": f"{USED}1", "devicePath": ""}]
    pods = [user("b", "c1"), user("a", "c1")]
    assert attached(a_node(), *STORAGE, *pods, an_attachment("pv-1", attached=False)) == [
        confirmed,
        f"Normal Pod shop/a SuccessfulAttachVolume by attachdetach-controller: {done}",
        f"Normal Pod shop/b SuccessfulAttachVolume by attachdetach-controller: {done}",
        f"{writes}{json.dumps(own)}",
    ]
    both = [an_attachment("pv-2"), an_attachment("pv-1")]
    all_used = user("p", "c1", "c2")
    two = [{"name": f"{USED}{each}", "devicePath": ""} for each in "12"]
    assert attached(a_node(), *STORAGE, all_used, *both) == [f"{writes}{json.dumps(two)}"]
    assert attached(node_status("1", "2"), *STORAGE, all_used, *both) == []
    gone = f"delete VolumeAttachment {attachment_name('pv-2')}"
    assert attached(node_status("1", "2"), *STORAGE, user("p", "c1"), *both) == [
        gone, f"{writes}{json.dumps(own)}",
    ]  # fmt: skip
    assert attached(node_status("1"), *STORAGE, an_attachment("pv-1")) == [
        f"delete VolumeAttachment {attachment_name('pv-1')}",
        "update Node n status: -status.volumesAttached",
    ]
    going = an_attachment("pv-1", deletionTimestamp=at(0))
    assert attached(a_node(), *STORAGE, going) == []
    mine = an_attachment("pv-1", name="csi-mine", attached=False)
    assert attached(a_node(), *STORAGE, user("p", "c1"), mine) == [attaches("pv-1")]
    no_volume = [a_claim("c1", "pv-1"), user("p", "c1"), an_attachment("pv-1")]
    assert attached(a_node(), *no_volume) == [f"delete VolumeAttachment {attachment_name('pv-1')}"]


@pytest.mark.parametrize(
    ("mode", "waits"),
    [("ReadWriteOnce", True), ("ReadWriteOncePod", True), ("ReadWriteMany", False),
     ("ReadOnlyMany", False)],
)  # fmt: skip
def test_a_volume_of_one_node_waits_until_it_is_free(mode, waits) -> None:
    volume, elsewhere = a_volume("pv-1", mode), an_attachment("pv-1", "m")
    objects = [a_node(), volume, a_claim("c1", "pv-1"), user("p", "c1")]
    bench = SingleSync(ATTACH, *objects, elsewhere, an_attachment("pv-2", "m"))
    if not waits:
        assert bench.sync("n") == [attaches("pv-1")]
        return
    note = (
        'Multi-Attach error for volume "pv-1" Volume is already exclusively attached to one node'
        " and can't be attached to another"
    )
    warning = f"Warning Pod shop/p FailedAttachVolume by attachdetach-controller: {note}"
    assert bench.sync("n") == [warning]
    assert bench.sync("n") == [], "once"
    assert bench.remove(an_attachment("pv-2", "m")) == ["m"]
    assert bench.remove(elsewhere) == ["m", "n"]
    assert bench.sync("n") == [attaches("pv-1")]
    bench.put(elsewhere)
    assert bench.sync("n") == [warning], "it waits again"
    bench.remove(elsewhere)
    for name in ("r", "q"):
        bench.put(user(name, "c1", node="m"))
    bench.put(user("done", "c1", node="m", phase="Failed"))
    bench.put(user("other", "c2", node="m"))
    bench.put(elsewhere)
    used = 'Multi-Attach error for volume "pv-1" Volume is already used by pod(s) q, r'
    assert bench.sync("n") == [warning.replace(note, used)]


def test_the_volumes_that_containers_use_are_in_use() -> None:
    attachments = [an_attachment("pv-1"), an_attachment("pv-2")]
    node = node_status("1", "2", in_use=())
    objects = [*STORAGE, user("p", "c1", "c2"), *attachments]
    both = json.dumps([f"{USED}1", f"{USED}2"])
    assert attached(node, *objects, maker=AttachDetachController) == [
        f"update Node n status: status.volumesInUse={both}", "sync n at 3",
    ]  # fmt: skip
    assert attached(node_status("1", "2"), *objects, maker=AttachDetachController) == []
    idle = [*STORAGE, user("p", "c1", "c2", mounts=False), *attachments]
    assert attached(node_status("1", "2"), *idle, maker=AttachDetachController) == [
        "update Node n status: -status.volumesInUse", "sync n at 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("required", "is_attached"), [(None, True), (True, True), (False, False), ("none", True)]
)
def test_a_driver_may_need_no_attachments(required, is_attached) -> None:
    spec = {} if required is None else {"attachRequired": required}
    drivers = [] if required == "none" else [
        document("CSIDriver", DRIVER, api="storage.k8s.io/v1", spec=spec)
    ]  # fmt: skip
    found = attached(a_node(), *STORAGE, *drivers, user("p", "c1"))
    assert found == ([attaches("pv-1")] if is_attached else [])


def test_which_changes_concern_the_volumes_of_a_node() -> None:
    bench = SingleSync(ATTACH)
    assert bench.put(a_node()) == ["n"]
    assert bench.put(a_node(rack="r")) == []
    assert bench.put(node_status("1")) == ["n"]
    assert bench.remove(a_node()) == []
    assert bench.put(user("p", "c1")) == ["n"]
    assert bench.put(user("q", "c1", node="m")) == ["m"]
    assert bench.put(user("r", "c1", node="")) == []
    assert bench.put(a_pod("plain")) == []
    assert bench.put(a_claim("c1")) == []
    assert bench.put(a_claim("c1", "pv-1")) == ["n", "m"]
    assert bench.put(a_claim("c1", "pv-1")) == []
    assert bench.remove(a_claim("c1", "pv-1")) == []
    assert bench.put(an_attachment("pv-1")) == ["n"]
    assert bench.remove(an_attachment("pv-1")) == ["n"]
    controller: Any = bench.controller
    assert controller._attached == {}
    assert bench.remove(user("p", "c1")) == ["n"]


# ---------------------------------------------------------------------------------- drains


def drained(*objects: Any) -> SingleSync:
    bench = SingleSync(DrainController, *objects)
    controller: Any = bench.controller
    assert controller.on_node_event(DrainNode("n"), NOW) == ("n",)
    return bench


def test_a_drain_evicts_pod_by_pod_and_tries_again_every_five_seconds() -> None:
    owner = {"apiVersion": "apps/v1", "name": "d", "uid": "d", "controller": True}
    mirror: Any = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    pods = [
        a_pod("b"), a_pod("a"), a_pod("far", node="m"), a_pod("mirror", **mirror),
        a_pod("daemon", ownerReferences=[owner | {"kind": "DaemonSet"}]),
        a_pod("done", phase="Succeeded", ownerReferences=[owner | {"kind": "DaemonSet"}]),
        a_pod("set", ownerReferences=[owner | {"kind": "ReplicaSet"}]),
    ]  # fmt: skip
    evicted = ["evict shop/a", "evict shop/b", "evict shop/done", "evict shop/set"]
    bench = drained(a_node(), *pods)
    assert bench.sync("n", 2) == ["update Node n main: spec.unschedulable=true", *evicted]
    assert bench.sync("n", 2) == ["sync n at 7"]
    assert bench.sync("n", 6) == ["sync n at 7"]
    bench.lister.put(a_pod("a", deletionTimestamp=at(0)))
    bench.lister.delete(a_pod("done"))
    bench.lister.put(a_pod("set", uid="another"))
    assert bench.sync("n", 7) == ["evict shop/b"]
    assert bench.controller.state()["draining"] == {"n": {"shop/a": "a-uid", "shop/b": "b-uid"}}
    bench.lister.put(a_pod("b", deletionTimestamp=at(0)))
    assert bench.sync("n", 8) == [], "nothing is blocked"
    for name in "ab":
        bench.lister.delete(a_pod(name))
    assert bench.sync("n", 9) == []
    assert bench.controller.state() == {"draining": {}, "tried_ns": {}}
    assert bench.sync("n", 10) == []


def test_a_drain_waits_for_its_pods_and_for_budgets() -> None:
    bench = drained(a_node(cordoned=True), a_pod("a"))
    assert bench.sync("n", 0) == ["evict shop/a"]
    budget = document("PodDisruptionBudget", "b", api="policy/v1", namespace="shop")
    assert bench.put(budget) == ["n"]
    assert bench.put(a_pod("a", phase="Failed")) == ["n"]
    assert bench.put(a_pod("late")) == []
    assert bench.put(a_pod("far", node="m")) == []
    assert bench.remove(a_pod("a")) == ["n"]
    controller: Any = bench.controller
    controller.on_node_event(DrainNode("n"), NOW)
    assert bench.sync("n", 1) == ["evict shop/late"], "it starts again"
    assert controller.on_node_event(NodeDown("n"), NOW) == ()
    bench.lister.delete(a_node())
    assert bench.sync("n", 5) == []
    assert controller.state() == {"draining": {}, "tried_ns": {}}
    assert bench.put(budget) == []


def test_a_node_without_pods_is_drained_at_once() -> None:
    bench = drained(a_node(cordoned=True))
    assert bench.sync("n") == []
    assert bench.controller.state() == {"draining": {}, "tried_ns": {}}
