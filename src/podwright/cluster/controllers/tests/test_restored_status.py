"""Controllers write the status again that somebody else changed."""

from __future__ import annotations

from podwright.cluster.api import patched
from podwright.cluster.controllers.apps.replica_set import ReplicaSetController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, document

REPLICA_SET = ("apps", "ReplicaSet")


def test_the_ready_replicas_of_a_set_are_those_of_its_pods():
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    cluster = Cluster((ReplicaSetController,))
    cluster.add(
        document("Node", "n1"),
        document("ReplicaSet", "r", api="apps/v1", namespace="default", spec=spec),
    )
    cluster.run(5)
    before = cluster.status(REPLICA_SET, "default/r")
    assert before["readyReplicas"] == 2
    changed = patched(cluster.get(REPLICA_SET, "default/r"), status={"readyReplicas": 0})
    cluster.put(changed, "status")
    assert cluster.status(REPLICA_SET, "default/r") == before
