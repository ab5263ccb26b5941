"""The metrics of pods and nodes, computed from the usage that pods declare."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import METRICS_VERSIONS, ApiServer, HttpReply, bare_options
from podwright.cluster.api.endpoints.tests.conftest import Server, pod
from podwright.cluster.api.versions.resources import DEFAULT_GROUP_VERSIONS

API = "/apis/metrics.k8s.io/v1beta1"
PODS = f"{API}/namespaces/default/pods"
USAGE = "kwok.x-k8s.io/usage-"


@pytest.fixture
def measuring() -> Server:
    """Return a server with metrics, and the nodes `a`, `b` and one that is not ready."""
    server = Server()
    versions = (*DEFAULT_GROUP_VERSIONS, *METRICS_VERSIONS)
    options = msgspec.structs.replace(bare_options(), group_versions=versions)
    server.api = ApiServer(server.store, options)
    for name, ready in (("a", "True"), ("b", None), ("lost", "Unknown")):
        conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        assert server.reply("POST", "/api/v1/nodes", node)[0] == 201
        status = {"status": {"conditions": conditions}}
        assert server.patch(f"/api/v1/nodes/{name}/status", status)[0] == 200
    return server


def run(
    server: Server,
    name: str,
    *,
    node: str = "a",
    phase: str = "Running",
    containers: int = 1,
    labels: dict[str, str] | None = None,
    **usage: str,
) -> None:
    document = pod(name, nodeName=node)
    document["spec"]["containers"] = [
        {"name": f"c{number}", "image": "app"} for number in range(containers)
    ]
    annotations = {f"{USAGE}{resource}": amount for resource, amount in usage.items()}
    document["metadata"] |= {"annotations": annotations, "labels": labels or {}}
    path = "/api/v1/namespaces/default/pods"
    assert server.reply("POST", path, document)[0] == 201
    assert server.patch(f"{path}/{name}/status", {"status": {"phase": phase}})[0] == 200


def names(found: Any) -> list[str]:
    return [each["metadata"]["name"] for each in found["items"]]


def test_each_container_of_a_running_pod_uses_what_the_pod_declares(measuring):
    run(measuring, "web", containers=2, labels={"app": "web"}, cpu="1.50", memory="300Mi")
    status, found = measuring.reply("GET", f"{PODS}/web")
    assert status == 200
    now = found["timestamp"]
    usage = {"cpu": "1500m", "memory": "300Mi"}
    assert found == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "creationTimestamp": now,
            "labels": {"app": "web"},
        },
        "timestamp": now,
        "window": "15s",
        "containers": [{"name": "c0", "usage": usage}, {"name": "c1", "usage": usage}],
    }


@pytest.mark.parametrize(
    "pod_",
    [
        pytest.param({}, id="nothing is declared"),
        pytest.param({"cpu": "1", "phase": "Pending"}, id="it does not run"),
        pytest.param({"cpu": "1", "phase": "Succeeded"}, id="it has ended"),
        pytest.param({"cpu": "lots"}, id="the usage is no amount"),
        pytest.param({"cpu": "-1"}, id="the usage is negative"),
    ],
)
def test_a_pod_without_metrics_is_not_found_and_not_listed(measuring, pod_):
    run(measuring, "web", **pod_)
    status, found = measuring.reply("GET", f"{PODS}/web")
    assert status == 404
    assert found["message"] == 'podmetrics.metrics.k8s.io "default/web" not found'
    assert names(measuring.reply("GET", PODS)[1]) == []
    assert measuring.reply("GET", f"{API}/nodes/a")[1]["usage"] == {"cpu": "0", "memory": "0"}


def test_a_node_uses_what_the_containers_on_it_use(measuring):
    run(measuring, "one", cpu="250m", memory="1Gi", containers=2)
    run(measuring, "two", cpu="1", memory="512Mi")
    run(measuring, "three", node="b", cpu="1", phase="Failed")
    status, found = measuring.reply("GET", f"{API}/nodes")
    assert status == 200
    assert found["kind"] == "NodeMetricsList"
    usage = {each["metadata"]["name"]: each["usage"] for each in found["items"]}
    assert usage == {
        "a": {"cpu": "1500m", "memory": "2560Mi"},
        "b": {"cpu": "0", "memory": "0"},
    }, "a node that is not ready is not measured"
    assert all("namespace" not in each["metadata"] for each in found["items"])
    assert measuring.reply("GET", f"{API}/nodes/lost")[0] == 404


def test_metrics_are_selected_and_shown_as_tables(measuring):
    run(measuring, "web", labels={"app": "web"}, cpu="1", memory="1Mi", containers=2)
    run(measuring, "db", labels={"app": "db"}, cpu="2")
    assert names(measuring.reply("GET", f"{API}/pods")[1]) == ["db", "web"]
    assert names(measuring.reply("GET", f"{PODS}?labelSelector=app%3Dweb")[1]) == ["web"]
    assert names(measuring.reply("GET", f"{PODS}?fieldSelector=metadata.name%3Ddb")[1]) == ["db"]
    assert names(measuring.reply("GET", f"{API}/namespaces/other/pods")[1]) == []
    for wrong in ("labelSelector=app%3D(", "fieldSelector=spec.nodeName%3Da"):
        assert measuring.reply("GET", f"{PODS}?{wrong}")[0] == 400
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = measuring.reply("GET", PODS, headers=table)
    assert [each["name"] for each in found["columnDefinitions"]] == [
        "Name", "cpu", "memory", "Window",
    ]  # fmt: skip
    assert [row["cells"] for row in found["rows"]] == [
        ["db", "2", "", "15s"],
        ["web", "2", "2Mi", "15s"],
    ]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{PODS}?watch=true", 405),
        ("POST", PODS, 405),
        ("DELETE", f"{PODS}/web", 405),
        ("PUT", f"{API}/nodes/a", 405),
    ],
)
def test_metrics_are_only_read(measuring, method, path, status):
    run(measuring, "web", cpu="1")
    assert measuring.reply(method, path, None if method == "GET" else {})[0] == status


def test_metrics_are_not_served_as_protobuf(measuring):
    headers = {"accept": "application/vnd.kubernetes.protobuf"}
    assert measuring.reply("GET", PODS, headers=headers)[0] == 406
    headers = {"accept": "application/vnd.kubernetes.protobuf,application/json"}
    found = measuring.send("GET", PODS, headers=headers)
    assert isinstance(found, HttpReply)
    assert dict(found.headers)["content-type"] == "application/json"


def test_kube_apiserver_alone_has_no_metrics(server):
    assert server.reply("GET", API)[0] == 404
    assert server.reply("GET", PODS)[0] == 404
