"""The Scale of a workload: what it shows, and what a write of it changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.endpoints import ApiServer, bare_options
from podwright.cluster.api.endpoints.kinds.scale import scale_of
from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.cluster.api.endpoints.tests.test_custom_resources import (
    TRAINS,
    define,
    train,
    version,
)
from podwright.cluster.api.versions.resources import built_in_resources

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        ({"matchLabels": {"a": "1"}, "matchExpressions": []}, "a=1"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, "a in (1)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]},
         "a notin (1)"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "1"]}]},
         "a in (1,2)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2", "1"]}]},
         "a notin (1,2)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist", "values": []}]}, "!a"),
        (
            {"matchLabels": {"b": "1"},
             "matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]},
            "a in (1),b=1",
        ),
        # The selector of a ReplicationController is a map.
        ({"b": "2", "a": "1"}, "a=1,b=2"),
        ({"matchLabels": "x"}, "matchLabels=x"),
    ],
)  # fmt: skip
def test_the_selector_of_a_scale(selector: Any, text: str) -> None:
    resource = built_in_resources()["apps/v1", "Deployment"]
    spec = {"replicas": 1} if selector is None else {"replicas": 1, "selector": selector}
    scale = scale_of(resource, {"metadata": {"name": "d"}, "spec": spec})
    assert scale["status"].get("selector", "") == text


def test_what_a_scale_has_of_its_workload() -> None:
    resource = built_in_resources()["apps/v1", "Deployment"]
    own = {
        "name": "d",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    more = {"labels": {"a": "1"}, "managedFields": [{}], "generation": 3, "annotations": {}}
    document = {"metadata": own | more, "spec": {"replicas": 2}, "status": {"replicas": 1}}
    assert scale_of(resource, document) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": own,
        "spec": {"replicas": 2},
        "status": {"replicas": 1},
    }
    empty: tuple[dict[str, Any], ...] = (
        {},
        {"spec": None, "status": None},
        {"spec": {}, "status": {}},
    )
    for parts in empty:
        bare = scale_of(resource, {"metadata": {"name": "d"}, **parts})
        assert bare["metadata"]["name"] == "d"
        assert bare["spec"] in ({}, {"replicas": 0})
        assert bare["status"] == {"replicas": 0}


def deployment() -> dict[str, Any]:
    labels = {"a": "1"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "d"}, "spec": spec}


NAMELESS = "the name of the object (d based on URL) was undeterminable: name must be provided"
WITHOUT_NAMES: tuple[dict[str, Any], ...] = (
    {}, {"spec": {"replicas": 3}}, {"metadata": None}, {"metadata": {}},
)  # fmt: skip


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"metadata": {"name": "d"}, "spec": {"replicas": 3}}, 200, ""),
        ({"metadata": {"name": "d"}, "spec": {}}, 200, ""),
        ({"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}, 200, ""),
        (
            {"metadata": {"name": "d"}, "spec": {"replicas": -1}}, 422,
            'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater'
            " than or equal to 0",
        ),
        *((body, 400, NAMELESS) for body in WITHOUT_NAMES),
        (
            {"metadata": {"name": "x"}, "spec": {"replicas": 3}}, 400,
            "the name of the object (x) does not match the name on the URL (d)",
        ),
        (
            {"metadata": {"name": "d", "namespace": "other"}, "spec": {"replicas": 3}}, 400,
            "the namespace of the provided object does not match the namespace sent on the"
            " request",
        ),
        (
            {"metadata": {"name": "d", "uid": "x"}, "spec": {"replicas": 3}}, 409, None,
        ),
        (
            {"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 3}}, 409,
            'Operation cannot be fulfilled on deployments.apps "d": the object has been modified;'
            " please apply your changes to the latest version and try again",
        ),
    ],
)  # fmt: skip
def test_a_scale_is_replaced(
    server: Server, body: dict[str, Any], code: int, message: str | None
) -> None:
    _, made = server.reply("POST", DEPLOYMENTS, deployment())
    status, found = server.reply("PUT", f"{DEPLOYMENTS}/d/scale", body)
    if message is None:
        message = (
            'Operation cannot be fulfilled on deployments.apps "d": StorageError: invalid object,'
            " Code: 4, Key: /registry/deployments/default/d, ResourceVersion: 0,"
            " AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta:"
            f" {made['metadata']['uid']}"
        )
    assert (status, found.get("message", "")) == (code, message)
    _, after = server.reply("GET", f"{DEPLOYMENTS}/d")
    if code == 200:
        replicas = body["spec"].get("replicas", 0)
        assert after["spec"]["replicas"] == replicas
        assert found["spec"].get("replicas", 0) == replicas
        assert found["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
        assert "managedFields" not in found["metadata"]
        assert after["metadata"]["generation"] == 2
        owners = [each.get("subresource") for each in after["metadata"]["managedFields"]]
        assert owners == (["scale", None] if replicas else [None])
    else:
        assert after["spec"]["replicas"] == 1
        assert after["metadata"]["generation"] == 1


def test_a_change_of_a_scale_warns_about_the_workload(server: Server) -> None:
    """Upstream stores the workload: pkg/registry/apps/deployment/storage/storage.go, ScaleREST."""
    secrets = [{"name": "a"}, {"name": "a"}]
    server.reply("POST", DEPLOYMENTS, deployment())
    template = {"spec": {"imagePullSecrets": secrets}}
    server.patch(f"{DEPLOYMENTS}/d", {"spec": {"template": template}})
    text = 'spec.template.spec.imagePullSecrets[1].name: duplicate name \\"a\\"'
    for replicas, warning in ((3, f'299 - "{text}"'), (3, None)):
        body = {"metadata": {"name": "d"}, "spec": {"replicas": replicas}}
        found = server.send("PUT", f"{DEPLOYMENTS}/d/scale", body)
        assert (found.status, found.header("warning")) == (200, warning)  # type: ignore[union-attr]


def test_a_scale_of_a_replication_controller(server: Server) -> None:
    sent = deployment()
    sent["spec"]["selector"] = {"a": "1"}
    assert server.reply("POST", CONTROLLERS, sent)[0] == 201
    _, found = server.reply("GET", f"{CONTROLLERS}/d/scale")
    assert found["kind"] == "Scale"
    assert found["status"]["selector"] == "a=1"
    for kind, patch in (
        ("merge-patch+json", {"spec": {"replicas": 4}}),
        ("json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 4}]),
        ("strategic-merge-patch+json", {"spec": {"replicas": 4}}),
    ):
        server.patch(CONTROLLERS + "/d", {"spec": {"replicas": 1}})
        status, found = server.patch(f"{CONTROLLERS}/d/scale", patch, kind)
        assert (status, found["spec"]["replicas"]) == (200, 4), kind
    _, after = server.reply("GET", f"{CONTROLLERS}/d")
    assert after["spec"]["replicas"] == 4


def test_a_scale_is_applied(server: Server) -> None:
    server.reply("POST", DEPLOYMENTS, deployment())
    configuration = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d"},
        "spec": {"replicas": 5},
    }
    path = f"{DEPLOYMENTS}/d/scale?fieldManager=hpa"
    status, found = server.patch(path, configuration, "apply-patch+yaml")
    assert status == 409
    assert found["details"]["causes"][0]["field"] == ".spec.replicas"
    status, found = server.patch(f"{path}&force=true", configuration, "apply-patch+yaml")
    assert (status, found["spec"]) == (200, {"replicas": 5})
    _, after = server.reply("GET", f"{DEPLOYMENTS}/d")
    applied = [each for each in after["metadata"]["managedFields"] if each["operation"] == "Apply"]
    assert [(each["manager"], each["subresource"], each["fieldsV1"]) for each in applied] == [
        ("hpa", "scale", {"f:spec": {"f:replicas": {}}})
    ]


PATHS = {
    "specReplicasPath": ".spec.cars",
    "statusReplicasPath": ".status.cars",
    "labelSelectorPath": ".status.selector",
}
LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for name in ("spec", "status")
    },
}


@pytest.mark.parametrize(
    ("spec", "status", "code", "shown"),
    [
        ({"cars": 2}, {}, 200, {"spec": {"replicas": 2}, "status": {"replicas": 0}}),
        (
            {"cars": 2}, {"cars": 1, "selector": "a=b"}, 200,
            {"spec": {"replicas": 2}, "status": {"replicas": 1, "selector": "a=b"}},
        ),
        (
            {"cars": 2}, {"selector": ""}, 200,
            {"spec": {"replicas": 2}, "status": {"replicas": 0}},
        ),
        ({}, {}, 500, 'Internal error occurred: the spec replicas field ".spec.cars" does not'
         " exist"),
    ],
)  # fmt: skip
def test_the_scale_of_a_custom_resource(
    server: Server, spec: dict[str, Any], status: dict[str, Any], code: int, shown: Any
) -> None:
    define(server, version(schema=LOOSE, subresources={"status": {}, "scale": PATHS}))
    server.reply("POST", TRAINS, train("t1", **spec))
    server.patch(f"{TRAINS}/t1/status", {"status": status})
    found_code, found = server.reply("GET", f"{TRAINS}/t1/scale")
    assert found_code == code
    if code == 200:
        assert {name: found[name] for name in ("spec", "status")} == shown
    else:
        assert found["message"] == shown


def test_writes_of_the_scale_of_a_custom_resource(server: Server) -> None:
    define(server, version(schema=LOOSE, subresources={"status": {}, "scale": PATHS}))
    server.reply("POST", TRAINS, train("t1", cars=1, line="red"))
    path = f"{TRAINS}/t1/scale"
    head = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "t1"}}
    status, found = server.reply("PUT", path, head | {"spec": {"replicas": 7}})
    assert (status, found["spec"]) == (200, {"replicas": 7})
    _, after = server.reply("GET", f"{TRAINS}/t1")
    assert after["spec"] == {"cars": 7, "line": "red"}
    for body, code, message in (
        (head | {"spec": {}}, 200, None),
        (
            {"kind": "Train", "apiVersion": "example.com/v1", "metadata": {"name": "t1"}}, 400,
            'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
        ),
    ):  # fmt: skip
        status, found = server.reply("PUT", path, body)
        assert (status, found.get("message")) == (code, message), body
    assert server.patch(path, {"spec": {"replicas": None}})[0] == 200
    _, after = server.reply("GET", f"{TRAINS}/t1")
    assert after["spec"] == {"cars": 0, "line": "red"}
    # Nobody owns the replicas of 0, so that no field of the Scale is managed.
    forced = f"{path}?fieldManager=x&force=true"
    status, found = server.patch(forced, head | {"spec": {"replicas": 9}}, "apply-patch+yaml")
    assert (status, found["message"]) == (
        500,
        "failed to create manager for existing fields: failed to convert live object (/;"
        " autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid"
        " group/version: autoscaling/v1",
    )
    server.reply("POST", TRAINS, train("t2", cars=1))
    forced, head = forced.replace("t1", "t2"), head | {"metadata": {"name": "t2"}}
    assert server.patch(f"{TRAINS}/t2/scale", {"spec": {"replicas": 3}})[0] == 200
    for replicas, code, message in (
        (3, 200, None),
        (
            9, 500,
            "failed to convert new object (/t2; autoscaling/v1, Kind=Scale) to proper version:"
            " request to convert CR to an invalid group/version: autoscaling/v1",
        ),
    ):  # fmt: skip
        sent = head | {"spec": {"replicas": replicas}}
        status, found = server.patch(forced, sent, "apply-patch+yaml")
        assert (status, found.get("message")) == (code, message)


def test_absent_replicas_of_a_custom_resource_are_set_first(server: Server) -> None:
    """Upstream: pkg/registry/customresource/etcd.go, scaleUpdatedObjectInfo"""
    define(server, version(schema=LOOSE, subresources={"scale": PATHS}))
    server.reply("POST", TRAINS, train("t1", line="red"))
    path = f"{TRAINS}/t1/scale"
    status, found = server.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert (status, found["message"]) == (
        400, 'the spec replicas field ".spec.cars" cannot be empty'
    )  # fmt: skip
    status, found = server.patch(path, {"spec": {"replicas": 2}})
    assert (status, found["spec"]) == (200, {"replicas": 2})
    assert server.reply("GET", f"{TRAINS}/t1")[1]["spec"] == {"cars": 2, "line": "red"}


POLICIES = "/apis/admissionregistration.k8s.io/v1"


def a_policy(server: Server, kind: str, part: dict[str, Any]) -> None:
    """Create a policy for scales and its binding."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/scale"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}} | part
    for plural, body in (
        (f"{kind}ies", spec),
        (f"{kind}ybindings", {"policyName": "p"}
         | ({"validationActions": ["Deny"]} if "validations" in part else {})),
    ):  # fmt: skip
        status, made = server.reply(
            "POST", f"{POLICIES}/{plural}", {"metadata": {"name": "p"}, "spec": body}
        )
        assert status == 201, made


def test_admission_sees_the_scale_and_not_the_workload(server: Server) -> None:
    options = msgspec.structs.replace(bare_options(), admission=default_plugins)
    server.api = ApiServer(server.store, options)
    workload = deployment()
    workload["metadata"]["labels"] = {"a": "1"}
    assert server.reply("POST", DEPLOYMENTS, workload)[0] == 201
    patch = "[JSONPatch{op: 'add', path: '/spec/replicas', value: object.spec.replicas + 4}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    a_policy(server, "mutatingadmissionpolic", {
        "reinvocationPolicy": "Never", "mutations": [mutation],
    })  # fmt: skip
    shown = "[object, oldObject].map(o, o.kind + ' ' + string(o.spec.replicas)).join(', ')"
    a_policy(server, "validatingadmissionpolic", {"validations": [{
        "expression": "object.spec.replicas < 9 || has(object.metadata.labels)",
        "messageExpression": shown,
    }]})  # fmt: skip
    body = {"metadata": {"name": "d"}, "spec": {"replicas": 3}}
    status, found = server.reply("PUT", f"{DEPLOYMENTS}/d/scale", body)
    assert (status, found["spec"]) == (200, {"replicas": 7})
    status, found = server.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 5}})
    assert (status, found["message"]) == (
        422,
        "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied"
        " request: Scale 9, Scale 7",
    )
    assert server.reply("GET", f"{DEPLOYMENTS}/d")[1]["spec"]["replicas"] == 7


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"metadata": {"labels": {"a": "b"}}}, 200, ""),
        (
            {"metadata": {"labels": {"a": "-"}, "finalizers": ["x"]}, "spec": {"replicas": -1}},
            422,
            'Scale.autoscaling "d" is invalid: [metadata.labels: Invalid value: "-": ',
        ),
        (
            {"metadata": {"uid": "x"}}, 409,
            'Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID'
            " in precondition: x, UID in object meta: ",
        ),
    ],
)  # fmt: skip
def test_the_metadata_of_a_patched_scale_is_checked(
    server: Server, patch: dict[str, Any], code: int, message: str
) -> None:
    server.reply("POST", DEPLOYMENTS, deployment())
    status, found = server.patch(f"{DEPLOYMENTS}/d/scale", patch)
    assert (status, found.get("message", "")[: len(message)]) == (code, message)
    if code == 422:
        assert [each["field"] for each in found["details"]["causes"]] == [
            "metadata.labels", "metadata.finalizers[0]", "spec.replicas",
        ]  # fmt: skip
