"""Requests that clients rarely send, as kube-apiserver 1.36 answers them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints import HttpReply, User
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def causes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in found["details"]["causes"]]


def test_pods_of_a_template_with_a_dot_in_the_name_are_warned_about(server: Server) -> None:
    for name in ("a", "b", "c", "d", "a.b", "e"):
        reply = server.send("POST", PODS, pod(name))
        assert isinstance(reply, HttpReply)
        assert reply.status == 201
        has_warning = any("a DNS label is recommended" in value for _, value in reply.headers)
        assert has_warning == ("." in name)


def test_a_dry_run_returns_the_version_that_was_sent(server: Server) -> None:
    body = config_map("a")
    body["metadata"]["resourceVersion"] = "7"
    status, found = server.reply("POST", f"{CONFIG_MAPS}?dryRun=All", body)
    assert (status, found["metadata"]["resourceVersion"]) == (201, "7")
    assert server.reply("POST", CONFIG_MAPS, body)[0] == 500
    _, found = server.reply("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
    assert "resourceVersion" not in found["metadata"]


def test_a_kind_that_counts_no_changes_keeps_the_generation(server: Server) -> None:
    body = {"metadata": {"name": "s", "generation": 3}, "provisioner": "a.b/c"}
    assert server.reply("POST", CLASSES, body)[1]["metadata"]["generation"] == 3
    body = {"metadata": {"name": "t", "generation": -1}, "provisioner": "a.b/c"}
    status, found = server.reply("POST", CLASSES, body)
    expected = ("metadata.generation", "Invalid value: -1: must be greater than or equal to 0")
    assert (status, expected in causes(found)) == (422, True)
    counted = pod("p")
    counted["metadata"]["generation"] = 9
    assert server.reply("POST", PODS, counted)[1]["metadata"]["generation"] == 1


def test_the_prefix_of_a_changed_object_is_checked(server: Server) -> None:
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    status, found = server.patch(f"{CONFIG_MAPS}/a", {"metadata": {"generateName": "A_b"}})
    assert (status, causes(found)[0][0]) == (422, "metadata.generateName")


def test_new_pods_have_no_stop_signals(server: Server) -> None:
    containers = [{"name": "c", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}]
    status, found = server.reply("POST", PODS, pod("p", containers=containers))
    assert status == 201
    assert "lifecycle" not in found["spec"]["containers"][0]


def test_ephemeral_containers_of_a_new_pod_are_checked_and_forbidden(server: Server) -> None:
    status, found = server.reply("POST", PODS, pod("p", ephemeralContainers=[{"name": "e"}]))
    assert status == 422
    assert causes(found) == [
        ("spec.ephemeralContainers[0].image", "Required value"),
        ("spec.ephemeralContainers", "Forbidden: cannot be set on create"),
    ]


@pytest.mark.parametrize(
    ("sent", "source", "reference"),
    [
        pytest.param({"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}},
                     {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "a"},
                     {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "a"},
                     id="of the older field"),
        pytest.param({"dataSource": {"kind": "Other", "name": "a"}}, None, None, id="dropped"),
        pytest.param({"dataSourceRef": {"apiGroup": "x.io", "kind": "Other", "name": "a"}},
                     {"apiGroup": "x.io", "kind": "Other", "name": "a"},
                     {"apiGroup": "x.io", "kind": "Other", "name": "a"}, id="of the newer field"),
    ],
)  # fmt: skip
def test_the_source_of_a_new_claim_is_in_both_fields(
    server: Server, sent: Any, source: Any, reference: Any
) -> None:
    amounts = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": amounts, **sent}
    status, found = server.reply("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    assert status == 201, found
    made = found["spec"]
    assert (made.get("dataSource"), made.get("dataSourceRef")) == (source, reference)


def test_the_version_in_the_query_of_a_collection_is_no_precondition(server: Server) -> None:
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert server.reply("DELETE", f"{CONFIG_MAPS}?resourceVersion=1")[0] == 200
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert server.reply("DELETE", f"{CONFIG_MAPS}/a?resourceVersion=1")[0] == 409


def test_an_applied_object_with_a_uid_is_read_before_it_is_missed(server: Server) -> None:
    body = config_map("a") | {"nosuch": 1}
    body["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111"
    path = f"{CONFIG_MAPS}/a?fieldManager=m"
    status, found = server.patch(path, body, "apply-patch+yaml")
    assert (status, "field not declared in schema" in found["message"]) == (500, True)
    del body["nosuch"]
    assert server.patch(path, body, "apply-patch+yaml")[0] == 409


def test_a_scale_has_a_table_of_its_own(server: Server) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("p")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 3}
    server.reply("POST", deployments, {"metadata": {"name": "d"}, "spec": spec})
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    status, found = server.reply("GET", f"{deployments}/d/scale", headers=accept)
    assert status == 200
    names = [each["name"] for each in found["columnDefinitions"]]
    assert names == ["Name", "Desired", "Available", "Age"]
    assert found["rows"][0]["cells"][:3] == ["d", 3, 0]


def test_a_binding_needs_a_name(server: Server) -> None:
    status, found = server.reply("POST", "/api/v1/namespaces/default/bindings", {"target": {}})
    assert (status, found["message"]) == (400, "Name parameter required.")


@pytest.mark.parametrize("subresource", ["status", "resize"])
def test_the_version_of_a_read_subresource_is_parsed(server: Server, subresource: str) -> None:
    server.reply("POST", PODS, pod("p"))
    status, found = server.reply("GET", f"{PODS}/p/{subresource}?resourceVersion=x")
    assert (status, "strconv.ParseUint" in found["message"]) == (500, True)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"gmsaCredentialSpecName": "A_b"}, "gmsaCredentialSpecName"),
        ({"gmsaCredentialSpec": ""}, "gmsaCredentialSpec"),
        ({"runAsUserName": ""}, "runAsUserName"),
        ({"runAsUserName": "a\\b\\c"}, "runAsUserName"),
        ({"runAsUserName": "a@b"}, "runAsUserName"),
        ({"runAsUserName": "*\\b"}, "runAsUserName"),
    ],
)
def test_options_of_windows_are_checked(server: Server, options: Any, field: str) -> None:
    security = {"windowsOptions": options}
    status, found = server.reply("POST", PODS, pod("p", securityContext=security))
    path = f"spec.securityContext.windowsOptions.{field}"
    assert (status, [each for each, _ in causes(found)]) == (422, [path])


def test_processes_of_a_windows_host_need_its_network(server: Server) -> None:
    security = {"windowsOptions": {"hostProcess": True}}
    status, found = server.reply("POST", PODS, pod("p", securityContext=security))
    assert (status, [each for each, _ in causes(found)]) == (422, ["spec.hostNetwork"])


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("r.io:80/a/b:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("Upper", "IfNotPresent"),
        ("a b", "IfNotPresent"),
        ("-a", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
    ],
)
def test_an_image_that_cannot_be_parsed_is_pulled_once(
    server: Server, image: str, policy: str
) -> None:
    body = pod("p", containers=[{"name": "c", "image": image}])
    _, found = server.reply("POST", PODS, body)
    assert found["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_the_issuer_of_tokens_is_described(server: Server) -> None:
    headers = {"host": "127.0.0.1:1"}
    path = "/.well-known/openid-configuration"
    status, found = server.reply("GET", path, headers=headers)
    assert status == 200
    assert found["issuer"] == "https://kubernetes.default.svc"
    assert found["jwks_uri"] == "https://127.0.0.1:1/openid/v1/jwks"
    reply = server.send("GET", "/openid/v1/jwks/")
    assert isinstance(reply, HttpReply)
    assert (reply.status, reply.body) == (200, b'{"keys":[]}')
    assert reply.header("content-type") == "application/jwk-set+json"
    assert server.reply("POST", path)[0] == 405


def test_accounts_may_read_about_the_issuer_and_others_may_not(server: Server) -> None:
    account = User("system:serviceaccount:a:b", "u", ("system:serviceaccounts",))
    alice = User("alice", "u", ("system:authenticated",))
    assert server.reply("GET", "/openid/v1/jwks", user=account)[0] == 200
    assert server.reply("GET", "/openid/v1/jwks", user=alice)[0] == 403


@pytest.mark.parametrize(
    ("spec", "stored", "dry_run"),
    [
        pytest.param({"clusterIP": "10.0.0.1"}, 422, 201, id="a taken address"),
        pytest.param({"clusterIP": "192.0.2.1"}, 422, 422, id="an address out of range"),
        pytest.param({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, 422, 201,
                     id="a port out of range"),
    ],
)  # fmt: skip
def test_a_dry_run_allocates_nothing(
    server: Server, spec: dict[str, Any], stored: int, dry_run: int
) -> None:
    services = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}
    version = server.store.resource_version
    assert server.reply("POST", f"{services}?dryRun=All", body)[0] == dry_run
    assert server.reply("POST", services, body)[0] == stored
    assert server.store.resource_version == version


def test_finalizers_of_a_namespace_are_checked(server: Server) -> None:
    server.reply("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    body: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b"]}}
    status, found = server.reply("PUT", "/api/v1/namespaces/n/finalize", body)
    assert (status, [each for each, _ in causes(found)]) == (422, ["spec.finalizers[0]"])
    body["spec"]["finalizers"] = ["kubernetes", "x.io/a"]
    assert server.reply("PUT", "/api/v1/namespaces/n/finalize", body)[0] == 200


def test_a_changed_claim_without_the_newer_field_keeps_its_source(server: Server) -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    amounts = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": amounts, "dataSource": source}
    body: Any = {"metadata": {"name": "c"}, "spec": spec}
    server.reply("POST", CLAIMS, body)
    body["metadata"]["labels"] = {"a": "b"}
    status, found = server.reply("PUT", f"{CLAIMS}/c", body)
    assert (status, found["spec"]["dataSourceRef"]) == (200, source)


def test_an_unknown_source_is_dropped_from_a_changed_claim_without_one(server: Server) -> None:
    amounts = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": amounts}
    server.reply("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    patch = {"spec": {"dataSource": {"kind": "Other", "name": "o"}}}
    status, found = server.patch(f"{CLAIMS}/c", patch)
    assert (status, "dataSource" in found["spec"]) == (200, False)


def test_a_status_of_a_volume_keeps_the_time_of_its_phase(server: Server) -> None:
    path = "/api/v1/persistentvolumes"
    spec: Any = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec["hostPath"] = {"path": "/x"}
    _, made = server.reply("POST", path, {"metadata": {"name": "v"}, "spec": spec})
    time = made["status"]["lastPhaseTransitionTime"]
    patch: Any = {"status": {"lastPhaseTransitionTime": None}}
    _, found = server.patch(f"{path}/v/status", patch)
    assert found["status"]["lastPhaseTransitionTime"] == time
    patch["status"]["phase"] = "Available"
    _, found = server.patch(f"{path}/v/status", patch)
    assert found["status"]["lastPhaseTransitionTime"] > time


def test_the_generation_of_a_driver_counts_its_changes_only(server: Server) -> None:
    path = "/apis/storage.k8s.io/v1/csidrivers"
    _, found = server.reply("POST", path, {"metadata": {"name": "d"}, "spec": {}})
    assert "generation" not in found["metadata"]
    for expected in (1, 2):
        patch = {"spec": {"requiresRepublish": expected == 1}}
        _, found = server.patch(f"{path}/d", patch)
        assert found["metadata"]["generation"] == expected
    _, found = server.patch(f"{path}/d", {"metadata": {"labels": {"a": "b"}}})
    assert found["metadata"]["generation"] == 2


def test_a_name_in_use_beside_a_prefix_is_reported_as_drawn(server: Server) -> None:
    body = config_map("a")
    body["metadata"]["generateName"] = "b-"
    server.reply("POST", CONFIG_MAPS, body)
    reply = server.send("POST", CONFIG_MAPS, body)
    assert isinstance(reply, HttpReply)
    text = b"already exists, the server was not able to generate a unique name for the object"
    assert (reply.status, text in reply.body) == (409, True)
    assert reply.header("retry-after") == "1"


def test_templates_of_pods_have_no_stop_signals(server: Server) -> None:
    containers = [{"name": "c", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}]
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    status, found = server.reply("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    assert status == 201, found
    assert "lifecycle" not in found["spec"]["template"]["spec"]["containers"][0]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    status, found = server.patch(f"{path}/d", patch)
    assert (status, found["metadata"]["generation"]) == (200, 1)


def test_empty_resources_of_a_whole_pod_take_the_place_of_those_of_containers(
    server: Server,
) -> None:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    _, found = server.reply("POST", PODS, pod("p", containers=containers, resources={}))
    assert found["status"]["qosClass"] == "BestEffort"


def test_a_container_with_claims_is_not_resized(server: Server) -> None:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": "g"}]}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    claims = [{"name": "g", "resourceClaimName": "x"}]
    server.reply("POST", PODS, pod("p", containers=containers, resourceClaims=claims))
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    status, found = server.patch(f"{PODS}/p/resize", patch, "strategic-merge-patch+json")
    expected = ("spec", "Forbidden: only cpu and memory resources are mutable")
    assert (status, causes(found)) == (422, [expected])


def test_the_error_of_an_attachment_has_a_time(server: Server) -> None:
    path = "/apis/storage.k8s.io/v1/volumeattachments"
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    server.reply("POST", path, {"metadata": {"name": "a"}, "spec": spec})
    patch = {"status": {"attached": False, "attachError": {"message": "m"}}}
    _, found = server.patch(f"{path}/a/status", patch)
    assert found["status"]["attachError"] == {"time": None, "message": "m"}


@pytest.mark.parametrize("entries", [[], [{}]])
def test_empty_managed_fields_remove_them(server: Server, entries: Any) -> None:
    server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))
    patch = {"metadata": {"managedFields": entries}}
    assert "managedFields" not in server.patch(f"{CONFIG_MAPS}/a", patch)[1]["metadata"]
    server.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "w"}})
    body = config_map("a", k="w")
    body["metadata"]["managedFields"] = entries
    assert "managedFields" not in server.reply("PUT", f"{CONFIG_MAPS}/a", body)[1]["metadata"]
