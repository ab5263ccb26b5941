"""Pods that were placed, and wait for their volumes or for a plugin before they are bound."""

import pytest

from podwright.simulation.shadow.tests.test_shadow import (
    Cluster,
    node,
    pod,
    with_and_without_log,
    with_status,
)

HOSTNAME = "kubernetes.io/hostname"
LOCAL = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def labeled(document):
    name = document["metadata"]["name"]
    return document | {"metadata": document["metadata"] | {"labels": {HOSTNAME: name}}}


def volume(name, on, claim=""):
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [on]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/d"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    if claim:
        spec["claimRef"] = {"namespace": "a", "name": claim, "uid": f"uid-{claim}"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"phase": "Available"},
    }


def claim(name):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}"},
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def place(cluster, ms, waiting, on):
    """Place a pod that waits: its nomination is all that the API shows."""
    name = waiting["metadata"]["name"]
    cluster.log_line(ms, "attempt", name)
    cluster.log_line(ms + 1, "condition", name, nominatedNodeName=on, nominatingMode=1)
    cluster.update(ms + 3, with_status(waiting, nominatedNodeName=on))


def reject(cluster, ms, waiting):
    """Let a pod that waits return to the queue, for example because it was preempted."""
    name = waiting["metadata"]["name"]
    failed = {"conditionType": "PodScheduled", "conditionStatus": "False"}
    cluster.log_line(ms, "condition", name, nominatedNodeName="", nominatingMode=1, **failed)
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}
    cluster.update(ms + 2, with_status(waiting, conditions=[condition]))


def bound(cluster, has_log):
    return {one.pod: (one.outcome, one.reasons) for one in cluster.findings(has_log=has_log)}


@with_and_without_log
def test_a_placed_pod_that_waits_occupies_its_node_until_it_is_rejected(has_log):
    cluster = Cluster(node("n1"), node("n2", "3"))
    waiting = pod("waits", "2")
    cluster.add_pending(1000, waiting)
    place(cluster, 1010, waiting, "n1")
    # More than any delay after the nomination, and n1 has less room than n2 now.
    cluster.add_pending(3000, pod("second"))
    cluster.bind(3010, pod("second"), "n2")
    reject(cluster, 5000, waiting)
    cluster.add_pending(7000, pod("third"))
    cluster.bind(7010, pod("third"), "n1")
    assert bound(cluster, has_log) == {"a/second": ("agreed", ()), "a/third": ("agreed", ())}


@with_and_without_log
@pytest.mark.parametrize(("on", "outcome"), [("n1", "agreed"), ("n2", "unexplained")])
def test_the_decision_for_a_pod_that_waited_is_compared_at_its_nomination(on, outcome, has_log):
    cluster = Cluster(node("n1"), node("n2", "3"))
    waiting = pod("waits")
    cluster.add_pending(1000, waiting)
    place(cluster, 1010, waiting, on)
    nominated = with_status(waiting, nominatedNodeName=on)
    cluster.log_line(5000, "bound", "waits", node=on)
    cluster.update(5002, nominated | {"spec": nominated["spec"] | {"nodeName": on}})
    assert bound(cluster, has_log) == {"a/waits": (outcome, ())}


def test_a_volume_of_a_placed_pod_is_not_available_to_others():
    # Without the log, the first pod's volume may have been bound before the second decision.
    cluster = Cluster(
        labeled(node("n1", "32", memory="64Gi")),
        labeled(node("n2")),
        LOCAL,
        volume("v1", "n1"),
        volume("v2", "n2"),
        claim("c1"),
        claim("c2"),
    )

    def with_claim(name):
        return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])

    first, second = with_claim("c1"), with_claim("c2")
    cluster.add_pending(1000, first)
    cluster.add_pending(1001, second)
    place(cluster, 1010, first, "n1")
    place(cluster, 1012, second, "n2")
    cluster.update(1200, volume("v1", "n1", claim="c1"))
    cluster.update(1201, volume("v2", "n2", claim="c2"))
    for ms, waited, on in ((2000, first, "n1"), (2010, second, "n2")):
        nominated = with_status(waited, nominatedNodeName=on)
        cluster.log_line(ms, "bound", waited["metadata"]["name"], node=on)
        cluster.update(ms + 2, nominated | {"spec": nominated["spec"] | {"nodeName": on}})
    assert bound(cluster, has_log=True) == {"a/c1": ("agreed", ()), "a/c2": ("agreed", ())}
