"""Nodes are registered and get their beta labels and the annotation for caches."""

from __future__ import annotations

from podwright.cluster.controllers.nodes import NodeRegistrationController, NodeTTLController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, document

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
