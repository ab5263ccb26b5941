"""New versions of a placed pod: the columns are then those of a cluster that had only that one."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, Requirement, Selector, decode_pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.testing import make_node

APP_A = PodSelector(Selector((Requirement("app", "In", ("a",)),)), frozenset({"default"}))


def pod(
    cpu: str = "1",
    node: str = "n1",
    uid: str = "p",
    app: str = "a",
    status: dict[str, Any] | None = None,
    port: int = 0,
    **metadata: Any,
) -> Pod:
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    head = {"name": "p", "namespace": "default", "uid": uid, "labels": {"app": app}} | metadata
    spec = {"containers": [container], "nodeName": node}
    return decode_pod({"metadata": head, "spec": spec, "status": status or {}})


def cluster_with(*pods: Pod) -> Cluster:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.put(make_node(name, labels={"zone": name}))
    for one in pods:
        cluster.put(one)
    return cluster


def columns(cluster: Cluster) -> dict[str, Any]:
    counts = {
        of_live: cluster.selectors.counter(
            DomainRule.of_key("zone"), (((APP_A,), 1),), of_live=of_live
        )
        .current()
        .tolist()
        for of_live in (False, True)
    }
    return {
        "requested": cluster.nodes.requested.tolist(),
        "pods": {
            key: (cluster.nodes.names[placed.slot], placed.pod)
            for key, placed in cluster.pods.items()
        },
        "counts": counts,
        "nominated": {name: [*pods] for name, pods in cluster.nominated.items()},
        "ports": cluster.ports.slots(),
        "missing": cluster.pods_on_missing_nodes(),
    }


DYING: dict[str, Any] = {
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 1,
}


@pytest.mark.parametrize(
    ("new", "is_kept"),
    [
        pytest.param(pod(status={"phase": "Running"}), True, id="its status changes"),
        pytest.param(pod(app="b"), True, id="its labels change"),
        pytest.param(pod(**DYING), True, id="it terminates"),
        pytest.param(pod(app="b", **DYING), True, id="both"),
        pytest.param(pod(cpu="2"), False, id="it requests more"),
        pytest.param(pod(port=80), False, id="it uses a port"),
        pytest.param(pod(node="n2"), False, id="it is on another node"),
        pytest.param(pod(node="gone"), None, id="that does not exist"),
        pytest.param(pod(uid="q"), False, id="it is another pod"),
        pytest.param(pod(status={"phase": "Succeeded"}), None, id="it has ended"),
        pytest.param(pod(node=""), None, id="it is pending"),
        pytest.param(
            pod(node="", status={"nominatedNodeName": "n2"}), None, id="it is nominated elsewhere"
        ),
        pytest.param(
            pod(
                status={
                    "containerStatuses": [
                        {"name": "c", "resources": {"requests": {"cpu": "3"}}, "ready": True}
                    ],
                    "conditions": [{"type": "PodResizeInProgress", "status": "True"}],
                }
            ),
            False,
            id="it still has more than it requests",
        ),
    ],
)
def test_a_new_version_of_a_pod(new: Pod, is_kept: bool | None) -> None:
    cluster = cluster_with(pod())
    columns(cluster)
    placed, journal = cluster.pods["default/p"], cluster.nodes.pods_journal
    version = journal.version
    cluster.put(new)
    changed = journal.since(version)
    assert changed is not None
    assert 0 in changed.tolist(), "filters and scores that read pods learn of it"
    assert columns(cluster) == columns(cluster_with(new))
    found = cluster.pods.get("default/p")
    assert (None if found is None else found is placed) is is_kept


def test_a_pod_on_a_node_that_comes_later_counts_there_once() -> None:
    cluster = cluster_with(pod(node="late"))
    assert cluster.pods_on_missing_nodes() == {"late": (pod(node="late"),)}
    cluster.put(make_node("late", labels={"zone": "late"}))
    assert cluster.pods_on_missing_nodes() == {}
    assert cluster.nodes.requested[:, 0].tolist() == [0, 0, 1000]
    cluster.put(pod(node="n1"))
    assert cluster.nodes.requested[:, 0].tolist() == [1000, 0, 0]
