"""A dump of a running cluster, as `kubectl get nodes,pods -A -o json` prints it, is served."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, Pod, encode
from podwright.apimachinery.schema import decode
from podwright.online.apiserver import Cluster, new_cluster
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import LoadedObjects, Sourced
from podwright.simulation.world import Inputs

SECOND_NS = 1_000_000_000
START_NS = 1_767_225_600 * SECOND_NS
STARTED = "2025-12-31T23:00:00Z"
OWNER = {
    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "not-in-the-dump",
    "controller": True, "blockOwnerDeletion": True,
}  # fmt: skip
FROM_KUBELET = {
    "containerStatuses": [
        {
            "name": "main", "image": "nginx:1", "imageID": "nginx@sha256:12", "ready": True,
            "containerID": "containerd://34", "restartCount": 2, "started": True, "lastState": {},
            "state": {"running": {"startedAt": STARTED}},
        }
    ],
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": STARTED}],
    "hostIP": "10.0.0.7", "hostIPs": [{"ip": "10.0.0.7"}], "podIP": "10.1.0.9",
    "podIPs": [{"ip": "10.1.0.9"}], "phase": "Running", "qosClass": "BestEffort",
    "startTime": STARTED,
}  # fmt: skip


def pod_of(status: Document, **metadata: Any) -> Document:
    """Return a pod of a dump, on a node, with a volume that needs what controllers create."""
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1", "namespace": "shop", "uid": "u1", "resourceVersion": "7",
            "creationTimestamp": STARTED, "ownerReferences": [OWNER],
        } | metadata,
        "spec": {
            "nodeName": "n1", "schedulerName": "default-scheduler", "priority": 0,
            "containers": [{"name": "main", "image": "nginx:1"}],
            "initContainers": [{"name": "init", "image": "nginx:1"}],
            "volumes": [{"name": "ca", "configMap": root}],
        },
        "status": status,
    }  # fmt: skip


def served(pod: Document, seconds: int = 60) -> Cluster:
    """Serve a node and a pod for a while."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u0"}}
    loaded = LoadedObjects(sourced=tuple(Sourced("dump", decode(each)) for each in (node, pod)))
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS)
    for _, operation in Inputs(loaded, start_ns=START_NS):
        cluster.do(operation)
    for second in range(seconds):
        while not cluster.catch_up(START_NS + second * SECOND_NS, lambda: False):
            pass
    return cluster


def pod_in(cluster: Cluster) -> Pod:
    pod = cluster.store.get(("", "Pod"), "shop/web-1")
    assert isinstance(pod, Pod)
    return pod


def test_a_pod_that_runs_keeps_the_status_that_its_kubelet_wrote() -> None:
    init = {"name": "init", "state": {"terminated": {"exitCode": 0}}, "ready": True}
    written = FROM_KUBELET | {"initContainerStatuses": [init]}
    cluster = served(pod_of(written))
    status = encode(pod_in(cluster))["status"]
    moved = {"startTime", "containerStatuses", "conditions"}
    assert {name: status[name] for name in status if name not in moved} == {
        name: written[name] for name in written if name not in moved
    }
    assert status["containerStatuses"][0]["imageID"] == "nginx@sha256:12"
    assert status["containerStatuses"][0]["restartCount"] == 2
    assert not cluster.store.list(("", "Event"), namespace="shop").objects


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running", "qosClass": "BestEffort"},
        {"phase": "Running", "startTime": STARTED},
        {"phase": "Running", "podIP": "10.1.0.9", "startTime": STARTED},
    ],
    ids=["only the phase", "with a start", "with an address"],
)
def test_a_pod_that_is_called_running_runs_without_starting(status: Document) -> None:
    cluster = served(pod_of(status))
    found = encode(pod_in(cluster))["status"]
    assert found["phase"] == "Running"
    (main,) = found["containerStatuses"]
    assert "running" in main["state"]
    assert main["ready"]
    assert main["restartCount"] == 0
    (init,) = found["initContainerStatuses"]
    assert init["state"]["terminated"]["exitCode"] == 0
    assert found["podIP"] == status.get("podIP", found["podIP"])
    assert not cluster.store.list(("", "Event"), namespace="shop").objects


def test_a_pod_that_is_called_running_and_not_ready_becomes_ready_by_its_probes_only() -> None:
    unready = [{"type": "Ready", "status": "False", "lastTransitionTime": STARTED}]
    pod = pod_of({"phase": "Running", "conditions": unready, "qosClass": "BestEffort"})
    found = encode(pod_in(served(pod)))["status"]
    assert "running" in found["containerStatuses"][0]["state"]
    assert not found["containerStatuses"][0]["ready"]


def test_the_namespace_of_a_dump_has_what_controllers_create() -> None:
    cluster = served(pod_of(FROM_KUBELET))
    for kind, name in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")):
        assert cluster.store.get(("", kind), f"shop/{name}") is not None


@pytest.mark.parametrize("metadata", [{}, {"uid": "", "resourceVersion": ""}], ids=["uid", "none"])
def test_a_pod_stays_without_its_owner(metadata: dict[str, str]) -> None:
    cluster = served(pod_of(FROM_KUBELET, **metadata))
    pod = pod_in(cluster)
    assert not pod.metadata.owner_references
    assert pod.metadata.deletion_timestamp is None
    assert pod.status.phase == "Running"


def test_a_pod_that_terminates_ends() -> None:
    deleted = {"deletionTimestamp": STARTED, "deletionGracePeriodSeconds": 30}
    cluster = served(pod_of(FROM_KUBELET, **deleted))
    assert cluster.store.get(("", "Pod"), "shop/web-1") is None
