"""Fields of gates that are off are dropped from updates before anything else is done with them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import pod

NAMESPACE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "app"}]},
}
STRATEGIC = "strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("path", "kind", "selector"),
    [
        (f"{NAMESPACE}/replicationcontrollers", "ReplicationController", {"a": "b"}),
        (f"{APPS}/replicasets", "ReplicaSet", {"matchLabels": {"a": "b"}}),
        (f"{APPS}/deployments", "Deployment", {"matchLabels": {"a": "b"}}),
        (f"{APPS}/daemonsets", "DaemonSet", {"matchLabels": {"a": "b"}}),
    ],
)
def test_a_dropped_field_does_not_count_as_a_change(server, path, kind, selector):
    version = "v1" if path.startswith(NAMESPACE) else "apps/v1"
    workload = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w"},
        "spec": {"selector": selector, "template": TEMPLATE},
    }
    assert server.reply("POST", path, workload)[0] == 201
    grouped = {"schedulingGroup": {"podGroupName": "g"}}
    status, found = server.patch(f"{path}/w", {"spec": {"template": {"spec": grouped}}})
    assert status == 200
    assert "schedulingGroup" not in found["spec"]["template"]["spec"]
    assert found["metadata"]["generation"] == 1
    stopped = {"name": "c", "image": "app", "lifecycle": {"stopSignal": "SIGTERM"}}
    patch = {"spec": {"template": {"spec": {"containers": [stopped]}}}}
    _, found = server.patch(f"{path}/w", patch, STRATEGIC)
    assert "lifecycle" not in found["spec"]["template"]["spec"]["containers"][0]
    assert found["metadata"]["generation"] == 1


def test_the_stop_signal_of_a_pod_is_dropped_from_updates_too(server):
    server.reply("POST", f"{NAMESPACE}/pods", pod("p"))
    container: dict[str, Any] = {"name": "c", "lifecycle": {"stopSignal": "SIGTERM"}}
    status, found = server.patch(
        f"{NAMESPACE}/pods/p", {"spec": {"containers": [container]}}, STRATEGIC
    )
    assert status == 200
    assert "lifecycle" not in found["spec"]["containers"][0]
    container["lifecycle"] |= {"preStop": {"sleep": {"seconds": 1}}}
    status, found = server.patch(
        f"{NAMESPACE}/pods/p", {"spec": {"containers": [container]}}, STRATEGIC
    )
    assert status == 422, "the rest of the lifecycle is a change"
    assert "stopSignal" not in found["message"].partition("StopSignal")[0]


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("merge-patch+json", "spec.devices[0].attributes.a.unknown"),
        (STRATEGIC, "spec.devices[0].attributes.unknown"),
    ],
)
def test_paths_of_unknown_fields_have_keys_of_maps_unless_upstream_converts(server, form, path):
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    device: dict[str, Any] = {"name": "d0", "attributes": {"a": {"string": "x"}}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d.x", "nodeName": "n", "pool": pool, "devices": [device]},
    }
    assert server.reply("POST", slices, document)[0] == 201
    device["attributes"]["a"]["unknown"] = 1
    headers = {"content-type": f"application/{form}"}
    found = server.send("PATCH", f"{slices}/s", {"spec": {"devices": [device]}}, headers=headers)
    assert dict(found.headers)["warning"] == f'299 - "unknown field \\"{path}\\""'


def test_the_reason_of_an_event_is_checked_twice(server):
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2021-01-01T00:00:00.000000Z",
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "reportingController": "a.b/c",
        "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "n", "namespace": "default"},
    }
    assert server.reply("POST", path, event)[0] == 201
    status, found = server.patch(f"{path}/e", {"reason": "other", "type": "Warning"})
    assert status == 422
    fields = [cause["field"] for cause in found["details"]["causes"]]
    assert fields == ["reason", "reason", "type"]


def test_a_dropped_empty_list_is_not_checked_in_updates(server):
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    spec = {
        "driver": "gpu.example.com", "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d", "attributes": {"a": {"int": 0}}}],
    }  # fmt: skip
    _, made = server.reply("POST", slices, {"metadata": {"name": "s"}, "spec": spec})
    made["spec"]["devices"][0]["attributes"]["a"]["strings"] = []
    made["metadata"]["labels"] = {"a": "-"}
    _, found = server.reply("PUT", f"{slices}/s", made)
    assert {each["field"] for each in found["details"]["causes"]} == {"metadata.labels"}


def test_a_request_policy_is_checked_where_only_the_sharing_changes(server):
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    policy = {"default": "1", "validValues": ["1"]}
    spec = {
        "driver": "gpu.example.com", "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d", "allowMultipleAllocations": True,
                     "capacity": {"m": {"value": "4", "requestPolicy": policy}}}],
    }  # fmt: skip
    status, made = server.reply("POST", slices, {"metadata": {"name": "s"}, "spec": spec})
    assert status == 201
    del made["spec"]["devices"][0]["allowMultipleAllocations"]
    _, found = server.reply("PUT", f"{slices}/s", made)
    assert found["details"]["causes"][0]["field"] == "spec.devices[0].capacity[m].requestPolicy"


def test_a_projected_trust_bundle_is_dropped(server):
    sources = [{"clusterTrustBundle": {"path": "a"}}, {"configMap": {"name": "c"}}]
    body = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}],
                 "volumes": [{"name": "v", "projected": {"sources": sources}}]},
    }  # fmt: skip
    status, found = server.reply("POST", "/api/v1/namespaces/default/pods", body)
    assert status == 201
    assert "clusterTrustBundle" not in str(found["spec"]["volumes"][0])


NETWORK_POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        ({"spec": {"ingress": []}}, 2),
        ({"spec": {"podSelector": {"matchLabels": {}}}}, 2),
        ({"spec": {"podSelector": {}}}, 1),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
    ],
)
def test_an_empty_list_counts_as_a_change_of_a_network_policy(server, change, generation):
    spec = {"podSelector": {}, "policyTypes": ["Ingress"]}
    server.reply("POST", NETWORK_POLICIES, {"metadata": {"name": "n"}, "spec": spec})
    _, found = server.patch(f"{NETWORK_POLICIES}/n", change)
    assert (found["metadata"]["generation"], found["spec"]) == (generation, spec)
    server.patch(f"{NETWORK_POLICIES}/n", {"spec": {"ingress": [{}]}})
    _, found = server.patch(f"{NETWORK_POLICIES}/n", {"spec": {"ingress": None}})
    assert "f:ingress" not in str(found["metadata"]["managedFields"])
