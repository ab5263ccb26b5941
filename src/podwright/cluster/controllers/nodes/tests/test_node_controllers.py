"""Nodes are registered and get their beta labels and the annotation for caches."""

from __future__ import annotations

import pytest

from podwright.cluster.api import NodeDown, UpdateObject
from podwright.cluster.controllers.core import pod_gc
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.nodes import (
    NodeRegistrationController,
    NodeTTLController,
    node_lifecycle,
)
from podwright.cluster.controllers.nodes.node_lifecycle import NodeLifecycleController, Zone
from podwright.cluster.controllers.tests.staged_cluster import Cluster, at, document
from podwright.cluster.store.history import with_metadata

NODE = ("", "Node")
TTL = "node.alpha.kubernetes.io/ttl"


def a_node(name, **labels):
    return document("Node", name, metadata={"labels": labels})


def test_nodes_are_registered_and_removed_with_events():
    cluster = Cluster((NodeRegistrationController,), stages=())
    cluster.add(a_node("n1"))
    cluster.replace_controllers()
    cluster.delete(NODE, "n1")
    assert [(reason, note) for _, _, reason, note in cluster.events] == [
        ("RegisteredNode", "Node n1 event: Registered Node n1 in Controller"),
        ("RemovingNode", "Node n1 event: Removing Node n1 from Controller"),
    ]


def test_the_beta_labels_follow_the_stable_ones():
    cluster = Cluster((NodeRegistrationController,), stages=())
    cluster.add(a_node("n1", **{"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}))
    labels = cluster.get(NODE, "n1").metadata.labels
    assert labels["beta.kubernetes.io/os"] == "linux"
    assert labels["beta.kubernetes.io/arch"] == "arm64"
    cluster.edit(NODE, "n1", "metadata", labels={**labels, "kubernetes.io/os": "windows"})
    assert cluster.get(NODE, "n1").metadata.labels["beta.kubernetes.io/os"] == "windows"


def test_the_ttl_grows_with_the_cluster_and_shrinks_later():
    cluster = Cluster((NodeTTLController,), stages=())
    cluster.add(*(a_node(f"n{index:03}") for index in range(100)))

    def ttl(name):
        return cluster.get(NODE, name).metadata.annotations[TTL]

    assert ttl("n099") == "0"
    cluster.add(a_node("n100"))
    assert ttl("n100") == "15"
    for index in range(10, 21):
        cluster.delete(NODE, f"n{index:03}")
    cluster.edit(NODE, "n000", "metadata", labels={"changed": "yes"})
    assert ttl("n000") == "15"  # 90 nodes are not fewer than 90
    cluster.delete(NODE, "n021")
    cluster.edit(NODE, "n001", "metadata", labels={"changed": "yes"})
    assert ttl("n001") == "0"


def test_another_node_under_the_name_is_registered_again():
    cluster = Cluster((NodeRegistrationController,), stages=())
    cluster.add(a_node("n1"))
    renamed = a_node("n1", a="b")
    cluster.store.put(with_metadata(renamed, uid="second"))
    cluster.settle()
    assert [reason for *_, reason, _ in cluster.events] == [
        "RegisteredNode", "RemovingNode", "RegisteredNode",
    ]  # fmt: skip


def test_labels_that_are_right_are_not_written_and_only_known_ones_get_an_old_name():
    cluster = Cluster((NodeRegistrationController,), stages=())
    cluster.add(
        a_node("right", **{"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}),
        a_node("none", **{"beta.kubernetes.io/arch": "amd64"}),
        a_node("one", **{"kubernetes.io/arch": "amd64", "a": "b"}),
    )
    cluster.edit(NODE, "one", "spec", unschedulable=True)
    written = [each.obj for each in cluster.writes if isinstance(each, UpdateObject)]
    assert [obj.name for obj in written] == ["one"]
    assert cluster.get(NODE, "one").metadata.labels == {
        "kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "amd64", "a": "b",
    }  # fmt: skip


class OneNode(Lister):
    """A lister that has the same node under each name."""

    node = a_node("n")

    def get(self, kind, name):
        del kind, name
        return self.node


def test_the_ttl_has_the_steps_of_upstream_in_both_directions():
    """Upstream: pkg/controller/ttl/ttl_controller.go, ttlBoundaries."""
    controller, node = NodeTTLController(OneNode()), OneNode.node

    def seconds():
        (update,) = controller.sync("n", 0)
        assert isinstance(update, UpdateObject)
        return int(update.obj.metadata.annotations[TTL])

    def steps(count, change):
        """Return the number of nodes and the seconds after each change of the seconds."""
        found, last = [], seconds()
        for _ in range(count):
            change()
            if (now := seconds()) != last:
                last = now
                found.append((controller._count, now))
        return found

    grown = steps(2_100, lambda: controller.observe(None, node))
    assert grown == [(101, 15), (501, 30), (1_001, 60), (2_001, 300)]
    shrunk = steps(2_100, lambda: controller.observe(node, None))
    assert shrunk == [(1_799, 60), (899, 30), (449, 15), (89, 0)]
    assert controller.observe(node, node) == ("n",)
    assert controller._count == 0


@pytest.mark.parametrize(
    ("before", "after", "next_ns", "expected_ns"),
    [
        pytest.param(10, 10, 7, 7, id="the same rate changes nothing"),
        pytest.param(10, 100, 50, 50, id="one that was due at this moment stays due"),
        pytest.param(10, 100, 20, 50, id="one that was due stays due"),
        pytest.param(10, 100, 51, 150, id="one that was not due waits a whole interval"),
        pytest.param(None, 100, 0, 150, id="a queue that stood still waits"),
        pytest.param(10, None, 51, 50, id="a queue that stands still has no time"),
    ],
)
def test_a_zone_that_changes_its_rate(before, after, next_ns, expected_ns):
    zone = Zone(interval_ns=before, next_ns=next_ns)
    zone.set_interval(after, 50)
    assert (zone.interval_ns, zone.next_ns) == (after, expected_ns)


def test_a_kubelet_that_never_posted_a_status_is_reported_as_that():
    cluster = Cluster((NodeLifecycleController,), stages=())
    beat = {"type": "DiskPressure", "status": "False", "lastHeartbeatTime": at(1)}
    cluster.add(document("Node", "n1", status={"conditions": [beat]}))
    cluster.send(NodeDown("n1"))
    cluster.run(51)
    found = {each["type"]: each for each in cluster.status(NODE, "n1")["conditions"]}
    assert {
        name: (each["status"], each["reason"], each["message"], each["lastHeartbeatTime"])
        for name, each in found.items()
    } == {
        "DiskPressure": (
            "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", at(1),
        ),
        **dict.fromkeys(
            ("Ready", "MemoryPressure", "PIDPressure"),
            # As upstream, since the node was created.
            ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.", at(0)),
        ),
    }  # fmt: skip


def test_the_defaults_of_the_flags_are_those_of_kube_controller_manager():
    second = 1_000_000_000
    assert {
        "node-monitor-grace-period": node_lifecycle.GRACE_NS / second,
        "node-monitor-period": node_lifecycle.PERIOD_NS / second,
        "node-eviction-rate": second / node_lifecycle.EVICTION_INTERVAL_NS,
        "secondary-node-eviction-rate": second / node_lifecycle.SECONDARY_INTERVAL_NS,
        "large-cluster-size-threshold": node_lifecycle.LARGE_ZONE_NODES,
        "unhealthy-zone-threshold": node_lifecycle.UNHEALTHY_PERCENT / 100,
        "terminated-pod-gc-threshold": pod_gc.TERMINATED_PODS_MAX,
        "quarantine of pods without a node": pod_gc.QUARANTINE_NS / second,
    } == {
        "node-monitor-grace-period": 50,
        "node-monitor-period": 5,
        "node-eviction-rate": 0.1,
        "secondary-node-eviction-rate": 0.01,
        "large-cluster-size-threshold": 50,
        "unhealthy-zone-threshold": 0.55,
        "terminated-pod-gc-threshold": 12_500,
        "quarantine of pods without a node": 40,
    }
