"""What the API gives back where it is not what was sent, and who owns it."""

from __future__ import annotations

from typing import Any

import pytest

NAMESPACE = "namespaces/default"
SECRETS = f"/api/v1/{NAMESPACE}/secrets"
SETS = f"/apis/apps/v1/{NAMESPACE}/statefulsets"
CLAIMS = f"/apis/resource.k8s.io/v1/{NAMESPACE}/resourceclaims"


def created(server, path: str, kind: str, **fields: Any) -> dict[str, Any]:
    status, found = server.reply("POST", path, {"kind": kind, "metadata": {"name": "a"}, **fields})
    assert status == 201, found
    assert isinstance(found, dict)
    return found


def owned(found: dict[str, Any]) -> list[str]:
    entries = [entry["fieldsV1"] for entry in found["metadata"]["managedFields"]]
    return sorted(name for fields in entries for name in fields)


def workload(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}


def test_the_texts_of_a_secret_become_data(server):
    found = created(
        server, SECRETS, "Secret", data={"a": "YQ==", "b": "YQ=="}, stringData={"b": "ü"}
    )
    assert found["data"] == {"a": "YQ==", "b": "w7w="}
    assert "stringData" not in found
    assert owned(found) == ["f:data", "f:type"]
    _, found = server.patch(f"{SECRETS}/a", {"stringData": {"c": "text"}})
    assert found["data"] == {"a": "YQ==", "b": "w7w=", "c": "dGV4dA=="}
    assert "stringData" not in found


def test_the_creator_of_a_daemon_set_owns_the_generation_of_its_template(server):
    path = f"/apis/apps/v1/{NAMESPACE}/daemonsets"
    found = created(server, path, "DaemonSet", spec=workload())
    name = "deprecated.daemonset.template.generation"
    assert found["metadata"]["annotations"] == {name: "1"}
    (entry,) = found["metadata"]["managedFields"]
    assert f"f:{name}" in entry["fieldsV1"]["f:metadata"]["f:annotations"]


def test_a_stateful_set_has_no_field_of_a_gate_that_is_off(server):
    strategy = {"rollingUpdate": {"maxUnavailable": 2, "partition": 1}}
    found = created(server, SETS, "StatefulSet", spec=workload(updateStrategy=strategy))
    kept = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    assert found["spec"]["updateStrategy"] == kept
    _, found = server.patch(f"{SETS}/a", {"spec": {"updateStrategy": strategy}})
    assert found["spec"]["updateStrategy"] == kept


def test_a_lease_has_no_field_of_a_gate_that_is_off(server):
    path = f"/apis/coordination.k8s.io/v1/{NAMESPACE}/leases"
    spec = {"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b"}
    assert created(server, path, "Lease", spec=spec)["spec"] == {"holderIdentity": "a"}
    _, found = server.patch(f"{path}/a", {"spec": spec})
    assert found["spec"] == {"holderIdentity": "a"}


def test_the_secrets_of_an_account_have_names_only(server):
    path = f"/api/v1/{NAMESPACE}/serviceaccounts"
    found = created(server, path, "ServiceAccount", secrets=[{"name": "s", "namespace": "n"}])
    assert found["secrets"] == [{"name": "s"}]
    _, found = server.patch(f"{path}/a", {"secrets": [{"name": "t", "kind": "Secret"}]})
    assert found["secrets"] == [{"name": "t"}]


def test_another_daemon_set_with_the_same_spec_has_the_same_owners(server):
    path = f"/apis/apps/v1/{NAMESPACE}/daemonsets"
    owners = []
    for name in ("a", "b", "c"):
        body = {"kind": "DaemonSet", "metadata": {"name": name}, "spec": workload()}
        _, found = server.reply("POST", path, body)
        owners.append([entry["fieldsV1"] for entry in found["metadata"]["managedFields"]])
    assert owners[0] == owners[1] == owners[2]


def test_other_data_of_a_revision_is_a_conflict(server):
    path = f"/apis/apps/v1/{NAMESPACE}/controllerrevisions"
    created(server, path, "ControllerRevision", revision=1, data={"spec": {"a": "b"}})
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}}
    configured = {**body, "revision": 1, "data": {"spec": {}}}
    status, found = server.patch(f"{path}/a?fieldManager=m", configured, "apply-patch+yaml")
    assert (status, [each["field"] for each in found["details"]["causes"]]) == (409, [".data"])


@pytest.mark.parametrize(
    ("data", "patch_type", "status"),
    [
        pytest.param('{"a":1,"z":2}', "merge-patch+json", 200, id="the text of an encoder"),
        pytest.param('{"a": 1}', "merge-patch+json", 422, id="spaces are lost by a patch"),
        pytest.param('{"z":1,"a":2}', "merge-patch+json", 200, id="keys keep their order"),
        pytest.param(
            '{"z":1,"a":2}', "strategic-merge-patch+json", 422, id="keys are sorted by a converter"
        ),
    ],
)
def test_a_patch_encodes_the_data_of_a_revision_again(server, data, patch_type, status):
    path = f"/apis/apps/v1/{NAMESPACE}/controllerrevisions"
    body = f'{{"kind":"ControllerRevision","metadata":{{"name":"a"}},"data":{data}}}'
    assert server.reply("POST", path, body.encode())[0] == 201
    assert server.reply("PUT", f"{path}/a", body.encode())[0] == 200
    found, error = server.patch(f"{path}/a", {"revision": 2}, patch_type)
    assert found == status
    if status != 200:
        (cause,) = error["details"]["causes"]
        assert (cause["field"], cause["message"][-18:]) == ("data", "field is immutable")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"kind: ControllerRevision\nmetadata: {name: a}\ndata: {z: 1}\n", "application/yaml"),
        (
            b'{"kind":"ControllerRevision","metadata":{"name":"a"},"data":{"z":2,"z":1}}',
            "application/json",
        ),
    ],
)
def test_the_data_of_a_revision_in_other_forms(server, body, media_type):
    path = f"/apis/apps/v1/{NAMESPACE}/controllerrevisions"
    status, found = server.reply("POST", path, body, headers={"content-type": media_type})
    assert (status, found["data"]) == (201, {"z": 1})


def test_the_data_of_a_revision_is_immutable_as_text_also_with_a_field_twice(server):
    path = f"/apis/apps/v1/{NAMESPACE}/controllerrevisions"
    twice, once = (
        b'{"kind":"ControllerRevision","metadata":{"name":"a"},"data":{%b"z":1}}' % each
        for each in (b'"z":2,', b"")
    )
    assert server.reply("POST", path, twice)[0] == 201
    assert server.reply("PUT", f"{path}/a", twice)[0] == 200
    status, error = server.reply("PUT", f"{path}/a", once)
    assert (status, error["details"]["causes"][0]["field"]) == (422, "data")


def test_a_patch_encodes_the_parameters_of_a_claim_again(server):
    config = '[{"opaque":{"driver":"d.example.com","parameters":{"a": 1}}}]'
    spec = f'{{"devices":{{"config":{config}}}}}'
    for name in ("a", "b"):
        body = f'{{"kind":"ResourceClaim","metadata":{{"name":"{name}"}},"spec":{spec}}}'
        assert server.reply("POST", CLAIMS, body.encode())[0] == 201
        assert server.reply("PUT", f"{CLAIMS}/{name}", body.encode())[0] == 200
        status, error = server.patch(f"{CLAIMS}/{name}", {"metadata": {"labels": {"a": "b"}}})
        assert (status, error["details"]["causes"][0]["field"]) == (422, "spec")


def test_a_put_with_the_uid_of_a_deleted_object(server):
    path = f"/apis/coordination.k8s.io/v1/{NAMESPACE}/leases"
    found = created(server, path, "Lease", spec={})
    server.reply("DELETE", f"{path}/a")
    del found["metadata"]["resourceVersion"]
    status, error = server.reply("PUT", f"{path}/a", found)
    assert status == 409
    assert error["message"] == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "a": StorageError: invalid'
        " object, Code: 4, Key: /registry/leases/default/a, ResourceVersion: 0, AdditionalErrorMsg:"
        f" Precondition failed: UID in precondition: {found['metadata']['uid']}, UID in object"
        " meta: "
    )


@pytest.mark.parametrize("devices", [{}, {"requests": []}, {"requests": None}])
def test_a_claim_without_requests_has_null(server, devices):
    found = created(server, CLAIMS, "ResourceClaim", spec={"devices": devices})
    assert found["spec"] == {"devices": {"requests": None}}
    path = CLAIMS.replace("claims", "claimtemplates")
    found = created(server, path, "ResourceClaimTemplate", spec={"spec": {"devices": devices}})
    assert found["spec"]["spec"] == {"devices": {"requests": None}}


def test_a_revision_has_one_owner_of_its_data(server):
    path = f"/apis/apps/v1/{NAMESPACE}/controllerrevisions"
    found = created(server, path, "ControllerRevision", revision=1, data={"spec": {"a": "b"}})
    (entry,) = found["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {}, "f:revision": {}}


def test_nobody_owns_a_time_that_is_not_set(server):
    path = f"/api/v1/{NAMESPACE}/events"
    involved = {"namespace": "default", "name": "a"}
    found = created(server, path, "Event", involvedObject=involved, reason="R")
    assert (found["eventTime"], owned(found)) == (None, ["f:involvedObject", "f:reason"])


def test_a_slice_of_endpoints_is_updated_without_a_version(server):
    path = f"/apis/discovery.k8s.io/v1/{NAMESPACE}/endpointslices"
    created(server, path, "EndpointSlice", addressType="IPv4", endpoints=[])
    body = {
        "kind": "EndpointSlice",
        "metadata": {"name": "a"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.1.1"]}],
    }
    status, found = server.reply("PUT", f"{path}/a", body)
    assert (status, found["endpoints"][0]["addresses"]) == (200, ["10.1.1.1"])


def test_the_expressions_of_a_claim_are_not_checked_again(server):
    def request(expression: str) -> dict[str, Any]:
        exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
        return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}

    created(server, CLAIMS, "ResourceClaim", spec=request("true"))
    status, found = server.patch(f"{CLAIMS}/a", {"spec": request("device.driver ==")})
    assert status == 422
    assert [each["field"] for each in found["details"]["causes"]] == ["spec"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("/apis/batch/v1/jobs", 'field label "x" not supported for Job', id="jobs"),
        pytest.param("/apis/resource.k8s.io/v1/resourceslices",
                     "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
                     id="slices"),
        pytest.param("/api/v1/pods", "field label not supported: x", id="pods"),
        pytest.param("/apis/batch/v1/cronjobs?continue=x",
                     '"x" is not a known field selector: only "metadata.name",'
                     ' "metadata.namespace"', id="before the token of a page"),
    ],
)  # fmt: skip
def test_a_field_that_nothing_selects_by(server, path, message):
    query = "&fieldSelector=x%3D1" if "?" in path else "?fieldSelector=x%3D1"
    status, found = server.reply("GET", path + query)
    assert (status, found["message"]) == (400, message)


@pytest.mark.parametrize(
    ("path", "kind", "fields", "start"),
    [
        pytest.param(SECRETS, "Secret", {"data": {"a": "?"}},
                     "failed to convert new object (/a; /v1, Kind=Secret) to proper version: unable"
                     " to convert unstructured object to /v1, Kind=Secret: ", id="bytes"),
        pytest.param(f"/api/v1/{NAMESPACE}/limitranges", "LimitRange",
                     {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "abc"}}]}},
                     "failed to convert new object (/a; /v1, Kind=LimitRange) to proper version:"
                     " unable to convert unstructured object to /v1, Kind=LimitRange: quantities"
                     " must match the regular expression", id="a quantity"),
    ],
)  # fmt: skip
def test_an_applied_value_of_a_wrong_form(server, path, kind, fields, start):
    for metadata, place in (({}, "(/a;"), ({"namespace": "default"}, "(default/a;")):
        body = {"apiVersion": "v1", "kind": kind, "metadata": metadata | {"name": "a"}, **fields}
        status, found = server.patch(f"{path}/a?fieldManager=m", body, "apply-patch+yaml")
        assert (status, found.get("reason")) == (500, None)
        assert found["message"].startswith(start.replace("(/a;", place))


def test_the_selector_of_a_scale_keeps_the_form_of_expressions(server):
    path = f"/apis/apps/v1/{NAMESPACE}/deployments"
    labels = {"app": "web", "tier": "front"}
    expressions = [
        {"key": "tier", "operator": "In", "values": ["front"]},
        {"key": "old", "operator": "NotIn", "values": ["yes"]},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    spec = workload(selector=selector)
    spec["template"]["metadata"]["labels"] = labels
    created(server, path, "Deployment", spec=spec)
    _, scale = server.reply("GET", f"{path}/a/scale")
    assert scale["status"]["selector"] == "app=web,old notin (yes),tier in (front)"


def test_another_deletion_of_a_namespace_changes_nothing(server):
    server.reply("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    _, first = server.reply("DELETE", "/api/v1/namespaces/a")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
    _, second = server.reply("DELETE", "/api/v1/namespaces/a", options)
    assert first == second


def test_a_merged_value_that_is_no_base64(server):
    created(server, SECRETS, "Secret")
    _, found = server.patch(f"{SECRETS}/a", {"data": {"a": "?"}}, "strategic-merge-patch+json")
    assert ": error decoding from json: illegal base64" in found["message"]
    _, found = server.patch(f"{SECRETS}/a", {"data": {"a": 1}}, "strategic-merge-patch+json")
    assert found["message"].endswith(": cannot restore slice from int64")


def test_a_resize_removes_no_limit(server):
    path = f"/api/v1/{NAMESPACE}/pods"
    resources = {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    created(server, path, "Pod", spec={"containers": containers})
    changed = [{"name": "c", "resources": {"limits": None, "requests": None}}]
    body = {"spec": {"containers": changed}}
    _, found = server.patch(f"{path}/a/resize", body, "strategic-merge-patch+json")
    texts = [each["message"] for each in found["details"]["causes"]]
    assert {
        "Forbidden: resource requests cannot be removed",
        "Forbidden: resource limits cannot be removed",
    } <= set(texts)


def test_the_address_of_a_load_balancer_has_a_mode(server):
    path = f"/api/v1/{NAMESPACE}/services"
    found = created(server, path, "Service", spec={"type": "LoadBalancer", "ports": [{"port": 1}]})
    expected = {"loadBalancer": {"ingress": [{"ip": "10.9.8.7", "ipMode": "VIP"}]}}
    sent = {"loadBalancer": {"ingress": [{"ip": "10.9.8.7"}]}}
    status, found = server.reply("PUT", f"{path}/a/status", found | {"status": sent})
    assert (status, found["status"]) == (200, expected)
    status, found = server.patch(f"{path}/a/status", {"status": sent})
    assert (status, found["status"]) == (200, expected)
