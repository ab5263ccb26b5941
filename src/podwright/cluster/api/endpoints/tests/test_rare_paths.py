"""Requests on paths and with bodies that few clients use, and what a driver asks of the server."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import (
    ApiServer,
    HttpReply,
    HttpRequest,
    User,
    bare_options,
    bare_store,
)
from podwright.cluster.api.endpoints.paths import is_malformed, request_info
from podwright.cluster.api.endpoints.tests.conftest import START_NS, Server, config_map, pod
from podwright.cluster.api.endpoints.tests.test_custom_resources import (
    DEFINITIONS,
    TRAINS,
    define,
    definition,
    train,
    version,
)

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
BINDINGS = "/api/v1/namespaces/default/bindings"


# --------------------------------------------------------------------------------- bindings


def binding(name: str | None, node: str = "n1", **parts: Any) -> dict[str, Any]:
    metadata = {} if name is None else {"name": name}
    target = {"kind": "Node", "name": node}
    head = {"apiVersion": "v1", "kind": "Binding"}
    return head | {"metadata": metadata, "target": target} | parts


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        (BINDINGS, binding("p"), 201, None),
        (f"{PODS}/p/binding", binding("p"), 201, None),
        (BINDINGS, binding("p", metadata={"name": "p", "uid": "other"}), 201, None),
        (BINDINGS, binding(None), 400, "Name parameter required."),
        (BINDINGS, binding("q"), 404, 'pods "q" not found'),
        (
            f"{PODS}/p/binding", binding("q"), 400,
            "name in URL does not match name in Binding object",
        ),
        (
            f"{PODS}/p/binding", binding(None), 400,
            "name in URL does not match name in Binding object",
        ),
        (
            f"{BINDINGS}?dryRun=All", binding("p"), 201, None,
        ),
    ],
)  # fmt: skip
def test_a_pod_is_bound_by_its_path_or_by_the_collection_of_bindings(
    server: Server, path: str, body: Any, code: int, message: str | None
) -> None:
    server.reply("POST", PODS, pod("p"))
    found, reply = server.reply("POST", path, body)
    assert (found, reply.get("message")) == (code, message), reply
    _, after = server.reply("GET", f"{PODS}/p")
    is_bound = code == 201 and "dryRun" not in path
    assert after["spec"].get("nodeName") == ("n1" if is_bound else None)
    if code == 201:
        assert (reply["kind"], reply["status"], reply["code"]) == ("Status", "Success", 201)


def test_an_eviction_is_of_the_pod_on_the_path(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q"}}
    status, found = server.reply("POST", f"{PODS}/p/eviction", body)
    assert (status, found["message"]) == (
        400, "name in URL does not match name in Eviction object",
    )  # fmt: skip
    bare = {"kind": "Eviction", "metadata": {"name": "p"}}
    status, found = server.reply("POST", f"{PODS}/p/eviction?dryRun=All", bare)
    assert (status, found["status"]) == (201, "Success")
    assert server.reply("GET", f"{PODS}/p")[0] == 200


# ----------------------------------------------------------------------------------- bodies

NO_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type"
    ' struct {{ APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }}'
)


@pytest.mark.parametrize(
    ("body", "name"),
    [(b'"x"', "string"), (b"[]", "array"), (b"1", "number"), (b"true", "bool")],
)
def test_a_body_that_is_no_object(server: Server, body: bytes, name: str) -> None:
    for content_type in ("application/json", "application/yaml"):
        headers = {"content-type": content_type}
        status, found = server.reply("POST", CONFIG_MAPS, body, headers=headers)
        assert (status, found["reason"]) == (400, "BadRequest")
        assert NO_OBJECT.format(name) in found["message"]


def test_bodies_of_yaml_without_a_text_or_a_value(server: Server) -> None:
    headers = {"content-type": "application/yaml"}
    status, found = server.reply("POST", CONFIG_MAPS, b"a: \xff", headers=headers)
    expected = (
        "the object provided is unrecognized (must be of type ConfigMap): yaml: invalid start byte"
    )
    assert (status, found["message"]) == (400, f"{expected} (613a20ff)")
    for body in (b"# nothing", b"---\n"):
        status, found = server.reply("POST", CONFIG_MAPS, body, headers=headers)
        assert (status, found["reason"]) == (422, "Invalid")


# -------------------------------------------------------------------------- lists and watches


def test_a_long_list_of_a_version_that_is_to_come_is_refused(server: Server) -> None:
    for number in range(101):
        server.reply("POST", CONFIG_MAPS, config_map(f"c{number:03}"))
    backend = server.api._backend
    for in_parts in (False, True):
        server.api._backend = msgspec.structs.replace(backend, sends_lists_in_parts=in_parts)
        future = server.store.resource_version + 1
        status, found = server.reply("GET", f"{CONFIG_MAPS}?resourceVersion={future}")
        assert (status, found["reason"], found["details"]["causes"][0]["reason"]) == (
            504, "Timeout", "ResourceVersionTooLarge",
        )  # fmt: skip
        assert (
            found["message"]
            == f"Timeout: Too large resource version: {future}, current: {future - 1}"
        )


@pytest.mark.parametrize(("count", "has_parts"), [(100, False), (101, True)])
def test_a_deleted_collection_is_sent_in_parts_as_a_list(
    server: Server, count: int, *, has_parts: bool
) -> None:
    for number in range(count):
        server.reply("POST", CONFIG_MAPS, config_map(f"c{number:03}"))
    server.api._backend = msgspec.structs.replace(server.api._backend, sends_lists_in_parts=True)
    reply = server.send("DELETE", CONFIG_MAPS)
    assert isinstance(reply, HttpReply)
    assert (reply.rest is not None) is has_parts
    sent = json.loads(reply.body + b"".join(reply.rest or ()))
    names = [each["metadata"]["name"] for each in sent["items"]]
    assert names == [f"c{number:03}" for number in range(count)]
    assert server.store.count(("", "ConfigMap"), "default") == 0


def test_events_are_selected_by_the_names_of_their_version(server: Server) -> None:
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    for name, regarding in (("a", "p"), ("b", "q")):
        body = {
            "metadata": {"name": name}, "regarding": {"kind": "Pod", "name": regarding,
                                                      "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": f"c.io/{name}",
            "reportingInstance": "i", "action": "x", "reason": f"r{name}", "type": "Normal",
        }  # fmt: skip
        status, found = server.reply("POST", events, body)
        assert status == 201, found
    for selector, names in (
        ("regarding.name=p", ["a"]),
        ("regarding.name!=p", ["b"]),
        ("regarding.kind=Pod", ["a", "b"]),
        ("reason=rb", ["b"]),
        ("reportingController=c.io/a", ["a"]),
        ("metadata.name=b", ["b"]),
        ("type=Warning", []),
    ):
        status, found = server.reply("GET", f"{events}?fieldSelector={selector}")
        assert status == 200, found
        assert [each["metadata"]["name"] for each in found["items"]] == names, selector
    for field in ("involvedObject.name", "source", "deprecatedSource", "reportingComponent"):
        status, found = server.reply("GET", f"{events}?fieldSelector={field}=p")
        assert (status, found["message"]) == (400, f"field label not supported: {field}")


def test_a_watch_without_bookmarks_is_due_at_its_end_only(server: Server) -> None:
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&timeoutSeconds=90")
    assert watch.next_due_ns == watch.deadline_ns == server.now_ns + 90 * 1_000_000_000
    marked = server.watch(f"{CONFIG_MAPS}?watch=true&timeoutSeconds=90&allowWatchBookmarks=true")
    assert marked.next_due_ns < marked.deadline_ns


def test_custom_objects_keep_their_kind_in_lists(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train("a"))
    _, listed = server.reply("GET", TRAINS)
    assert [(each["kind"], each["apiVersion"]) for each in listed["items"]] == [
        ("Train", "example.com/v1")
    ]
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    _, listed = server.reply("GET", CONFIG_MAPS)
    assert "kind" not in listed["items"][0]
    form = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    status, found = server.reply("GET", f"{TRAINS}/a", headers={"accept": form})
    assert (status, found["message"]) == (500, "content is not a list")


# ------------------------------------------------------------------- scales of custom resources

LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALE = {"specReplicasPath": ".spec.cars.count", "statusReplicasPath": ".status.cars"}


def test_values_of_wrong_types_on_the_paths_of_a_scale(server: Server) -> None:
    schema = {"type": "object", "properties": {"spec": LOOSE, "status": LOOSE}}
    define(server, version(schema=schema))
    # Objects that are older than the scale of their definition.
    for name, spec in (("text", {"cars": {"count": "a"}}), ("list", {"cars": []})):
        assert server.reply("POST", TRAINS, train(name, **spec))[0] == 201
    with_scale = {"spec": {"versions": [version(schema=schema, subresources={"scale": SCALE})]}}
    status, found = server.patch(f"{DEFINITIONS}/trains.example.com", with_scale)
    assert status == 200, found
    for name, message in (
        ("text", ".spec.cars.count accessor error: a is of the type string, expected int64"),
        (
            "list",
            ".spec.cars.count accessor error: [] is of the type []interface {}, expected"
            " map[string]interface{}",
        ),
    ):
        status, found = server.reply("GET", f"{TRAINS}/{name}/scale")
        assert (status, found["message"]) == (500, message)


# ------------------------------------------------------------------------- what a driver asks


@pytest.mark.parametrize(
    ("path", "is_wrong"),
    [
        (b"/api/v1", False),
        (b"/api/%41", False),
        (b"/api/%zz", True),
        (b"/api/%4", True),
        (b"/api/%", True),
        (b"/%2Fa%2f", False),
    ],
)
def test_paths_that_cannot_be_decoded(path: bytes, is_wrong: bool) -> None:
    assert is_malformed(path) is is_wrong


@pytest.mark.parametrize(
    ("method", "path", "verb", "resource_path"),
    [
        ("GET", "/api/v1/watch", "get", None),
        ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch", "pods"),
        ("HEAD", "/api/v1/watch/namespaces/a/pods/p", "watch", "pods"),
        ("DELETE", "/api/v1/watch/namespaces/a/pods/p", "delete", "pods"),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", "create", "pods/binding"),
        ("OPTIONS", "/api/v1/namespaces/a/pods/p", "", "pods"),
        ("GET", "/apis/apps/v1", "get", None),
        ("GET", "//api/v1/pods", "get", None),
    ],
)
def test_the_verb_and_the_resource_of_a_path(
    method: str, path: str, verb: str, resource_path: str | None
) -> None:
    info = request_info(HttpRequest(method, path))
    assert (info.verb, info.is_resource) == (verb, resource_path is not None)
    if resource_path is not None:
        assert info.resource_path == resource_path


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_requests_are_authenticated_before_they_begin(server: Server) -> None:
    request = HttpRequest("GET", CONFIG_MAPS, "", bearer("nobody"))
    reply = server.api.serve(request, START_NS)
    assert isinstance(reply, HttpReply)
    found = json.loads(reply.body)
    assert (reply.status, found["reason"]) == (401, "Unauthorized")
    as_yaml = HttpRequest("GET", CONFIG_MAPS, "", bearer("nobody") | {"accept": "application/yaml"})
    reply = server.api.serve(as_yaml, START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.header("content-type") == "application/yaml"
    request = HttpRequest("GET", CONFIG_MAPS, "", bearer("admin-token"))
    reply = server.api.serve(request, START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.status == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (bearer("admin-token"), None),
        (bearer("nobody"), 401),
        (bearer("alice-token"), 403),
        ({}, 403),
        (bearer("admin-token") | {"impersonate-user": "alice"}, 403),
        (bearer("alice-token") | {"impersonate-user": "admin"}, 403),
    ],
)
def test_who_may_use_paths_that_the_driver_serves(
    server: Server, headers: dict[str, str], code: int | None
) -> None:
    error = server.api.path_rejection(HttpRequest("GET", "/x/y", "", headers), START_NS)
    assert (None if error is None else error.status["code"]) == code


def test_which_requests_may_compute_long(server: Server) -> None:
    define(server)

    def computes(method: str, path: str, size: int = 2, query: str = "", **headers: str) -> bool:
        body = b"" if method == "GET" else b" " * size
        return server.api.computes_long(HttpRequest(method, path, query, headers, body))

    large, custom = 64 * 1024, 4 * 1024
    found = {
        "a read": computes("GET", CONFIG_MAPS),
        "a read as YAML": computes("GET", CONFIG_MAPS, accept="application/yaml"),
        "a read with a long query": computes("GET", CONFIG_MAPS, query="a" * 100_000),
        "a write": computes("POST", CONFIG_MAPS),
        "a write of medium size": computes("POST", CONFIG_MAPS, custom),
        "a long write": computes("POST", CONFIG_MAPS, 1 << 20),
        "a custom write": computes("POST", TRAINS),
        "a custom write that is longer": computes("POST", TRAINS, large),
        "a custom patch": computes("PATCH", f"{TRAINS}/a"),
        "a patch": computes("PATCH", f"{CONFIG_MAPS}/a"),
        "a patch of what is not served": computes("PATCH", "/apis/x.io/v1/things/a"),
    }
    assert {name for name, is_long in found.items() if is_long} == {
        "a read as YAML", "a read with a long query", "a long write",
        "a custom write that is longer", "a custom patch",
    }  # fmt: skip
    server.reply("POST", CONFIG_MAPS, config_map("large", text="x" * 600_000))
    server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert computes("PATCH", f"{CONFIG_MAPS}/large")
    assert computes("DELETE", f"{CONFIG_MAPS}/large")
    assert not computes("PATCH", f"{CONFIG_MAPS}/small")
    assert not computes("PATCH", "/api/v1/nodes/n")
    before = server.api.has_policies
    group = "/apis/admissionregistration.k8s.io/v1"
    spec = {"policyName": "p", "validationActions": ["Deny"]}
    body = {"metadata": {"name": "b"}, "spec": spec}
    status, made = server.reply("POST", f"{group}/validatingadmissionpolicybindings", body)
    assert status == 201, made
    assert (before, server.api.has_policies) == (False, True)
    assert computes("POST", CONFIG_MAPS)


def test_a_user_of_a_certificate_request_may_have_it_approved() -> None:
    api = ApiServer(bare_store(START_NS), bare_options())
    for groups, is_allowed in ((["system:masters"], True), (["x"], False)):
        spec = {"username": "ada", "groups": groups}
        assert api.allows_approval(spec, "nodeclient") is is_allowed


def test_a_token_of_another_server_is_no_user(server: Server) -> None:
    text = base64.urlsafe_b64encode(b"{}").decode().rstrip("=")
    request = HttpRequest("GET", CONFIG_MAPS, "", bearer(f"{text}.{text}.x"))
    reply = server.api.serve(request, START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.status == 401
    assert User("a") != User("b")


@pytest.mark.parametrize("scope", ["Cluster", "Namespaced"])
def test_writes_of_namespaced_custom_resources_alone_need_a_namespace(
    server: Server, scope: str
) -> None:
    body = definition(version())
    body["spec"]["scope"] = scope
    assert server.reply("POST", DEFINITIONS, body)[0] == 201
    path, is_found = "/apis/example.com/v1/trains", scope == "Cluster"
    assert server.reply("GET", path)[0] == 200
    for method, where, given, code in (
        ("POST", path, train(), 201), ("GET", f"{path}/t1", None, 200),
        ("DELETE", f"{path}/t1", None, 200),
    ):  # fmt: skip
        assert server.reply(method, where, given)[0] == (code if is_found else 404), method


def test_an_applied_object_with_a_uid_is_not_created(server: Server) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "x"}}
    path = f"{CONFIG_MAPS}/a?fieldManager=me"
    status, found = server.patch(path, body, "apply-patch+yaml")
    assert (status, found["message"]) == (
        409,
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object'
        " specified uid x, and no existing object was found",
    )
    assert server.reply("GET", f"{CONFIG_MAPS}/a")[0] == 404
