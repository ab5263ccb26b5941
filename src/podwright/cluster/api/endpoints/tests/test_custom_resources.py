"""Custom resources: definitions take effect, objects go by their schemas, deletion takes both."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import ApiServer, HttpReply, bare_options
from podwright.cluster.api.endpoints.custom_resources.definitions import Definitions
from podwright.cluster.api.endpoints.tests.conftest import Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TRAINS = "/apis/example.com/v1/namespaces/default/trains"
TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "cars": {"type": "integer", "minimum": 0, "default": 4},
                "line": {"type": "string", "enum": ["red", "blue"]},
                "stops": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            },
            "x-kubernetes-validations": [
                {
                    "rule": "!has(oldSelf.line) || self.line == oldSelf.line",
                    "message": "the line is fixed",
                    "fieldPath": ".line",
                    "reason": "FieldValueForbidden",
                }
            ],
        },
        "status": {"type": "object", "properties": {"late": {"type": "boolean"}}},
    },
}


def version(name: str = "v1", schema: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or SCHEMA},
        **more,
    }


def definition(*versions: dict[str, Any], plural: str = "trains", **names: Any) -> dict[str, Any]:
    kind = plural[:-1].capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind} | names,
            "versions": list(versions) or [version()],
        },
    }


def train(name: str = "t1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Train",
        "metadata": {"name": name},
        "spec": spec,
    }


def define(server: Server, *versions: dict[str, Any], **more: Any) -> None:
    status, body = server.reply("POST", DEFINITIONS, definition(*versions, **more))
    assert status == 201, body


def conditions(server: Server, name: str) -> dict[str, tuple[str, str]]:
    _, body = server.reply("GET", f"{DEFINITIONS}/{name}.example.com")
    return {each["type"]: (each["status"], each["reason"]) for each in body["status"]["conditions"]}


# ------------------------------------------------------------------------- definitions


def test_a_definition_is_served_as_soon_as_it_is_written(server: Server) -> None:
    watch = server.watch(f"{DEFINITIONS}?watch=true&resourceVersion=1")
    define(server)
    types = [
        [(each["type"], each["status"]) for each in obj["status"]["conditions"] or ()]
        for _, obj in server.events(watch)
    ]
    assert types == [
        [],
        [("NamesAccepted", "True"), ("Established", "False")],
        [("NamesAccepted", "True"), ("Established", "True")],
    ]
    assert server.reply("POST", TRAINS, train())[0] == 201
    assert server.reply("GET", "/apis/example.com/v1")[1]["resources"][0]["name"] == "trains"


def test_a_definition_is_examined_after_changes_and_the_end_of_what_it_awaits(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(server)
    kept = train("kept") | {"metadata": {"name": "kept", "finalizers": ["example.com/a"]}}
    server.reply("POST", TRAINS, kept)
    server.reply("DELETE", f"{DEFINITIONS}/trains.example.com")
    define(server, plural="boats")
    boats = TRAINS.replace("trains", "boats")
    assert server.reply("POST", boats, train("last") | {"kind": "Boat"})[0] == 201
    server.api = ApiServer(server.store, bare_options())
    server.reply("GET", boats)  # all are examined at the start
    examined = []
    settle = Definitions._settle

    def noted(self: Definitions, key: str, now_ns: int) -> None:
        examined.append(key)
        settle(self, key, now_ns)

    monkeypatch.setattr(Definitions, "_settle", noted)
    assert server.reply("DELETE", f"{boats}/last")[0] == 200
    assert server.reply("GET", f"{TRAINS}/kept")[0] == 200
    assert examined == []
    patch = {"metadata": {"finalizers": None}}
    assert server.patch(f"{TRAINS}/kept", patch)[0] == 200
    assert server.reply("GET", f"{DEFINITIONS}/trains.example.com")[0] == 404
    assert examined[0] == "trains.example.com"


def test_definitions_that_are_in_the_store_at_the_start_are_served(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train(line="red"))
    server.api = ApiServer(server.store, bare_options())
    status, body = server.reply("GET", f"{TRAINS}/t1")
    assert (status, body["spec"]) == (200, {"cars": 4, "line": "red"})


def test_a_name_in_use_is_accepted_when_its_definition_is_gone(server: Server) -> None:
    define(server)
    define(server, plural="coaches", kind="Train", listKind="CoachList")
    assert conditions(server, "coaches") == {
        "NamesAccepted": ("False", "KindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    path = "/apis/example.com/v1/namespaces/default/coaches"
    assert server.reply("GET", path) == (404, "404 page not found\n")
    assert server.reply("DELETE", f"{DEFINITIONS}/trains.example.com")[0] == 200
    assert conditions(server, "coaches")["Established"] == ("True", "InitialNamesAccepted")
    assert server.reply("GET", path)[0] == 200
    assert server.reply("GET", TRAINS)[0] == 404


def test_a_version_that_is_no_longer_served_is_not_found(server: Server) -> None:
    define(server, version(), version("v2"))
    assert server.reply("GET", TRAINS.replace("v1", "v2"))[0] == 200
    patch = [{"op": "replace", "path": "/spec/versions/1/served", "value": False}]
    assert server.patch(f"{DEFINITIONS}/trains.example.com", patch, "json-patch+json")[0] == 200
    assert server.reply("GET", TRAINS.replace("v1", "v2"))[0] == 404
    assert server.reply("GET", TRAINS)[0] == 200


def test_a_definition_in_a_group_of_kubernetes_needs_an_approval(server: Server) -> None:
    body = definition()
    body["spec"]["group"] = "trains.k8s.io"
    body["metadata"]["name"] = "trains.trains.k8s.io"
    status, found = server.reply("POST", DEFINITIONS, body)
    assert status == 422
    assert found["details"]["causes"][0]["field"] == (
        "metadata.annotations[api-approved.kubernetes.io]"
    )
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    assert server.reply("POST", DEFINITIONS, body)[0] == 201
    _, found = server.reply("GET", f"{DEFINITIONS}/trains.trains.k8s.io")
    approval = found["status"]["conditions"][2 if len(found["status"]["conditions"]) > 2 else 1]
    assert any(
        each["reason"] == "UnapprovedAnnotation" for each in found["status"]["conditions"]
    ), approval


# ---------------------------------------------------------------------------- versions


def test_versions_share_their_objects(server: Server) -> None:
    second = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "cars": {"type": "integer"}, "color": {"type": "string", "default": "grey"},
    }}}}  # fmt: skip
    define(server, version(), version("v2", second))
    server.reply("POST", TRAINS, train(line="red"))
    _, found = server.reply("GET", f"{TRAINS.replace('v1', 'v2')}/t1")
    assert found["apiVersion"] == "example.com/v2"
    # What the other version does not have is cut off, and its defaults are for its own bodies.
    assert found["spec"] == {"cars": 4}
    body = train("t2", cars=1) | {"apiVersion": "example.com/v2"}
    status, made = server.reply("POST", TRAINS.replace("v1", "v2"), body)
    assert (status, made["spec"]) == (201, {"cars": 1})
    assert server.reply("GET", f"{TRAINS}/t2")[1]["spec"] == {"cars": 1}


def test_older_objects_are_read_by_the_schema_of_today(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train(line="red"))
    _, before = server.reply("GET", f"{TRAINS}/t1")
    patch = [
        {"op": "add", "path": f"{_PROPERTIES}/class", "value": TEXT | {"default": "second"}},
        {"op": "remove", "path": f"{_PROPERTIES}/line"},
        {"op": "remove", "path": f"{_SPEC}/x-kubernetes-validations"},
    ]
    status, _ = server.patch(f"{DEFINITIONS}/trains.example.com", patch, "json-patch+json")
    assert status == 200
    _, after = server.reply("GET", f"{TRAINS}/t1")
    assert after["spec"] == {"cars": 4, "class": "second"}
    assert after["metadata"] == before["metadata"]
    assert server.reply("GET", TRAINS)[1]["items"][0]["spec"] == after["spec"]
    # A dry run shows the change, and a mark does not bring the old fields back.
    _, shown = server.patch(f"{TRAINS}/t1?dryRun=All", {"spec": {"cars": 6}})
    assert shown["spec"] == {"cars": 6, "class": "second"}
    _, marked = server.reply("DELETE", f"{TRAINS}/t1?dryRun=All&propagationPolicy=Foreground")
    assert marked["spec"] == after["spec"]


_SPEC = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
_PROPERTIES = f"{_SPEC}/properties"


def test_requests_to_a_deprecated_version_are_warned(server: Server) -> None:
    old = version("v1beta1", deprecated=True)
    define(server, old, version())
    found = server.send("GET", TRAINS.replace("v1", "v1beta1"))
    text = "example.com/v1beta1 Train is deprecated; use example.com/v1 Train"
    assert found.header("warning") == f'299 - "{text}"'  # type: ignore[union-attr]


def test_a_patch_type_that_a_deprecated_version_does_not_have_is_warned_about(
    server: Server,
) -> None:
    define(server, version("v1beta1", deprecated=True), version())
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = f"{TRAINS.replace('v1', 'v1beta1')}/t"
    found = server.send("PATCH", path, {}, headers=headers)
    assert isinstance(found, HttpReply)
    assert (found.status, "deprecated" in (found.header("warning") or "")) == (415, True)


def test_the_error_of_a_head_request_has_no_body(server: Server) -> None:
    define(server, version())
    found = server.send("HEAD", f"{TRAINS}/nosuch")
    assert isinstance(found, HttpReply)
    assert (found.status, found.body) == (404, b"")


def test_the_status_of_a_definition_has_no_table(server: Server) -> None:
    define(server, version())
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trains.example.com"
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert server.reply("GET", path, headers=accept)[0] == 200
    assert server.reply("GET", f"{path}/status", headers=accept)[0] == 406


# ----------------------------------------------------------------------------- objects


def test_nobody_owns_fields_that_another_version_does_not_have(server: Server) -> None:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    define(server, version(), version("v2", loose))
    server.reply("POST", TRAINS, train())
    path = f"{TRAINS.replace('v1', 'v2')}/t1"
    _, found = server.patch(path, {"spec": {"cars": 5}})
    assert [each["apiVersion"] for each in found["metadata"]["managedFields"]] == [
        "example.com/v1", "example.com/v2",
    ]  # fmt: skip
    _, found = server.patch(path, {"spec": {"color": "red"}})
    assert "managedFields" not in found["metadata"]


def test_a_write_of_the_status_keeps_the_metadata(server: Server) -> None:
    define(server, version(subresources={"status": {}}))
    server.reply("POST", TRAINS, train())
    status, found = server.patch(f"{TRAINS}/t1/status", {"metadata": {"uid": "x"}})
    assert (status, found["metadata"]["uid"] != "x") == (200, True)


def test_the_subresource_status_is_an_object(server: Server) -> None:
    body = definition(version(subresources={"status": "text"}))
    status, found = server.reply("POST", DEFINITIONS, body)
    field = "CustomResourceSubresources.spec.versions.subresources.status of type"
    assert (status, field in found["message"]) == (400, True)


def test_a_write_of_the_status_owns_no_metadata(server: Server) -> None:
    define(server, version(subresources={"status": {}}))
    server.reply("POST", TRAINS, train())
    patch = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Ready"}}
    _, found = server.patch(f"{TRAINS}/t1/status", patch)
    assert "labels" not in found["metadata"]
    owned = [each["fieldsV1"] for each in found["metadata"]["managedFields"]]
    assert owned[-1].keys() == {"f:status"}


@pytest.mark.parametrize(
    ("patch", "field", "reason"),
    [
        pytest.param({"spec": {"line": "blue"}}, "spec.line", "FieldValueForbidden", id="rule"),
        pytest.param({"spec": {"cars": -1}}, "spec.cars", "FieldValueInvalid", id="minimum"),
        pytest.param({"spec": {"cars": "1"}}, "spec.cars", "FieldValueTypeInvalid", id="type"),
        pytest.param(
            {"spec": {"stops": ["a", "a"]}}, "spec.stops[1]", "FieldValueDuplicate", id="set"
        ),
    ],
)
def test_a_patch_that_violates_the_schema_changes_nothing(
    server: Server, patch: Any, field: str, reason: str
) -> None:
    define(server)
    _, before = server.reply("POST", TRAINS, train(line="red"))
    status, found = server.patch(f"{TRAINS}/t1", patch)
    assert status == 422
    assert (found["details"]["causes"][0]["field"], found["details"]["causes"][0]["reason"]) == (
        field,
        reason,
    )
    assert server.reply("GET", f"{TRAINS}/t1")[1] == before


def test_what_does_not_change_may_stay_invalid(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train(line="red", stops=["a"]))
    patch = [{"op": "replace", "path": f"{_PROPERTIES}/line/enum", "value": ["green"]}]
    assert server.patch(f"{DEFINITIONS}/trains.example.com", patch, "json-patch+json")[0] == 200
    assert server.patch(f"{TRAINS}/t1", {"spec": {"cars": 5}})[0] == 200
    assert server.reply("POST", TRAINS, train("t2", line="red"))[0] == 422


def test_generation_counts_the_status_only_without_the_subresource(server: Server) -> None:
    define(server, version(subresources={"status": {}}))
    server.reply("POST", TRAINS, train() | {"status": {"late": True}})
    _, found = server.patch(f"{TRAINS}/t1/status", {"status": {"late": True}})
    assert (found["metadata"]["generation"], found["status"]) == (1, {"late": True})
    define(server, plural="boats")
    path = TRAINS.replace("trains", "boats")
    server.reply("POST", path, train() | {"kind": "Boat", "status": {"late": True}})
    _, found = server.patch(f"{path}/t1", {"status": {"late": False}})
    assert (found["metadata"]["generation"], found["status"]) == (2, {"late": False})


def test_scale_reads_and_writes_the_paths_of_the_definition(server: Server) -> None:
    scale = {
        "specReplicasPath": ".spec.cars",
        "statusReplicasPath": ".status.cars",
        "labelSelectorPath": ".status.selector",
    }
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    define(server, version("v1", schema, subresources={"scale": scale, "status": {}}))
    server.reply("POST", TRAINS, train())
    status, found = server.reply("GET", f"{TRAINS}/t1/scale")
    assert (status, found["message"]) == (
        500,
        'Internal error occurred: the spec replicas field ".spec.cars" does not exist',
    )
    server.patch(f"{TRAINS}/t1/status", {"status": {"cars": 2, "selector": "app=t"}})
    status, found = server.patch(f"{TRAINS}/t1/scale", {"spec": {"replicas": 3}})
    assert (status, found["spec"], found["status"]) == (
        200,
        {"replicas": 3},
        {"replicas": 2, "selector": "app=t"},
    )
    assert server.reply("GET", f"{TRAINS}/t1")[1]["spec"] == {"cars": 3}
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": "x"}}
    status, found = server.reply("PUT", f"{TRAINS}/t1/scale", body)
    text = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
    assert (status, found["message"]) == (400, text)
    status, found = server.patch(f"{TRAINS}/t1", {"spec": {"cars": "many"}})
    assert (status, found["details"]["causes"][0]["message"]) == (
        422,
        "Invalid value: 0: .spec.cars accessor error: many is of the type string, expected int64",
    )


def test_apply_merges_by_the_schema(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train(stops=["a"]))
    body = train(stops=["b"], line="red")
    status, found = server.patch(f"{TRAINS}/t1?fieldManager=m", body, "apply-patch+yaml")
    assert (status, found["spec"]["stops"]) == (200, ["a", "b"])


@pytest.mark.parametrize("field", ["creationTimestamp", "deletionTimestamp"])
@pytest.mark.parametrize("value", ["2026-11-28", 5])
def test_what_is_no_time_is_ignored_in_applied_metadata(
    server: Server, field: str, value: Any
) -> None:
    """Upstream does not decode an applied custom resource; accessors read its metadata."""
    define(server)
    body = train(cars=5)
    for cars in (5, 6):
        body["spec"]["cars"] = cars
        body["metadata"][field] = value
        status, found = server.patch(f"{TRAINS}/t1?fieldManager=m", body, "apply-patch+yaml")
        assert status in (200, 201), found
        assert found["spec"]["cars"] == cars
        assert found["metadata"]["creationTimestamp"].endswith("Z")
        assert "deletionTimestamp" not in found["metadata"]


def test_nulls_that_are_not_allowed_are_dropped_where_an_object_is_decoded(server: Server) -> None:
    # Upstream does not decode what server-side apply has made. A null with a default is replaced.
    define(server)
    apply = f"{TRAINS}/t1?fieldManager=m&force=true"
    cause = 'Invalid value: "null": spec.line in body must be of type string: "null"'
    for created in (False, True):
        body = train(line=None, cars=None)
        status, found = server.patch(apply, body, "apply-patch+yaml")
        assert (status, found["details"]["causes"][0]["message"]) == (422, cause), created
        if not created:
            status, found = server.reply("POST", TRAINS, body)
            assert (status, found["spec"]) == (201, {"cars": 4})
    status, found = server.patch(apply, train(cars=None), "apply-patch+yaml")
    assert (status, found["spec"]) == (200, {"cars": 4})


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (2**63 - 1, 2**63 - 1),
        (2**63, 9.223372036854776e18),
        (-(2**63), -(2**63)),
        (-(2**63) - 1, -(2**63)),  # the nearest float, which is whole and fits
    ],
)
def test_integers_beyond_64_bits_are_floats(server: Server, sent: int, stored: float) -> None:
    weights = {"type": "array", "items": {"type": "number"}}
    define(server, version(schema={"type": "object", "properties": {"weights": weights}}))
    weighted = train() | {"weights": [sent]}
    del weighted["spec"]
    patch = [{"op": "add", "path": "/weights", "value": [sent, 1]}]
    created = server.reply("POST", TRAINS, weighted)[1]["weights"]
    merged = server.patch(f"{TRAINS}/t1", {"weights": [1, sent]})[1]["weights"]
    patched = server.patch(f"{TRAINS}/t1", patch, "json-patch+json")[1]["weights"]
    assert (created, merged, patched) == ([stored], [1, stored], [stored, 1])
    assert {*map(type, created)} == {type(stored)}


def test_an_integer_that_no_float_can_have_is_not_decoded(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train())
    for name, reply in (
        ("", server.reply("POST", TRAINS, train("t2", cars=10**309))),
        ("patch", server.patch(f"{TRAINS}/t1", {"spec": {"cars": 10**309}})),
    ):
        assert reply[0] == 400, name
        text = f"json: cannot unmarshal number {10**309} into Go value of type float64"
        assert reply[1]["message"].endswith(text), name


def test_finalizers_without_a_path_are_warned_about(server: Server) -> None:
    define(server)
    body = train()
    body["metadata"]["finalizers"] = ["keep.example.com"]
    found = server.send("POST", TRAINS, body)
    text = (
        '299 - "metadata.finalizers: \\"keep.example.com\\": prefer a domain-qualified finalizer'
        ' name including a path (/) to avoid accidental conflicts with other finalizer writers"'
    )
    assert found.header("warning") == text  # type: ignore[union-attr]


# ---------------------------------------------------------------------------- deletion


def test_a_definition_is_deleted_with_its_objects(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train())
    watch = server.watch(f"{TRAINS}?watch=true&resourceVersion=1")
    server.events(watch)
    status, found = server.reply("DELETE", f"{DEFINITIONS}/trains.example.com")
    assert (status, found["metadata"]["finalizers"]) == (
        200,
        ["customresourcecleanup.apiextensions.k8s.io"],
    )
    assert [type_ for type_, _ in server.events(watch)] == ["DELETED"]
    assert server.reply("GET", f"{DEFINITIONS}/trains.example.com")[0] == 404
    define(server)
    assert server.reply("GET", TRAINS)[1]["items"] == []


def test_objects_with_finalizers_keep_the_definition(server: Server) -> None:
    define(server)
    body = train()
    body["metadata"]["finalizers"] = ["example.com/keep"]
    server.reply("POST", TRAINS, body)
    server.reply("DELETE", f"{DEFINITIONS}/trains.example.com")
    assert conditions(server, "trains")["Terminating"] == ("True", "InstanceDeletionInProgress")
    status, found = server.reply("POST", TRAINS, train("t2"))
    assert (status, found["message"]) == (
        403,
        'trains.example.com "t2" is forbidden: create not allowed while custom resource definition'
        " is terminating",
    )
    (listed, *_) = server.reply("GET", "/apis/example.com/v1")[1]["resources"]
    assert listed["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    assert server.patch(f"{TRAINS}/t1", {"metadata": {"finalizers": None}})[0] == 200
    assert server.reply("GET", f"{DEFINITIONS}/trains.example.com")[0] == 404
    assert server.reply("GET", TRAINS) == (404, "404 page not found\n")


def test_changes_of_other_kinds_are_not_kept_until_the_next_request(server: Server) -> None:
    def write(count: int) -> None:
        for number in range(count):
            metadata = {"name": "a", "namespace": "default", "uid": "u"}
            data = {"text": f"{number:010000}"}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            server.store.put(decode(obj))
        server.store.compact(server.store.resource_version)

    server.reply("GET", DEFINITIONS)
    write(5)
    tracemalloc.start()
    try:
        write(50)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000


def test_a_dry_run_defines_and_deletes_nothing(server: Server) -> None:
    assert server.reply("POST", f"{DEFINITIONS}?dryRun=All", definition())[0] == 201
    assert server.reply("GET", TRAINS)[0] == 404
    define(server)
    assert server.reply("DELETE", f"{DEFINITIONS}/trains.example.com?dryRun=All")[0] == 200
    assert "Terminating" not in conditions(server, "trains")


# ------------------------------------------------------------------ the forms of requests


def test_a_patch_to_another_kind_or_version_is_invalid(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train())
    status, found = server.patch(f"{TRAINS}/t1", {"kind": "Boat"})
    text = 'Boat.example.com "t1" is invalid: kind: Invalid value: "Boat": must be Train'
    assert (status, found["message"]) == (422, text)
    status, found = server.patch(f"{TRAINS}/t1", {"apiVersion": "example.com/v9"})
    assert (status, found["details"]["causes"][0]["field"]) == (422, "apiVersion")


def test_items_of_lists_of_type_map_may_lack_one_of_several_keys(server: Server) -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "required": ["port"],
            "properties": {"port": {"type": "integer"}, "protocol": TEXT | {"default": "TCP"}},
        },
    }
    spec = {"type": "object", "properties": {"ports": ports}}
    define(server, version("v1", {"type": "object", "properties": {"spec": spec}}))
    body = train(ports=[{"protocol": "UDP"}])
    status, found = server.patch(f"{TRAINS}/t1?fieldManager=m", body, "apply-patch+yaml")
    assert (status, found["details"]["causes"][0]["field"]) == (422, "spec.ports[0].port")


def test_objects_are_selected_by_the_fields_of_the_definition(server: Server) -> None:
    define(server, version(selectableFields=[{"jsonPath": ".spec.line"}]))
    for name, line in (("a", "red"), ("b", "blue"), ("c", "red")):
        server.reply("POST", TRAINS, train(name, line=line))
    _, found = server.reply("GET", f"{TRAINS}?fieldSelector=spec.line%3Dred")
    assert [each["metadata"]["name"] for each in found["items"]] == ["a", "c"]
    status, found = server.reply("GET", f"{TRAINS}?fieldSelector=spec.cars%3D4")
    assert (status, found["message"]) == (400, "field label not supported: spec.cars")


def test_an_object_of_another_kind_is_invalid_and_one_without_a_kind_is_not_read(
    server: Server,
) -> None:
    define(server)
    status, found = server.reply("POST", TRAINS, train(stops=["a", "a"]) | {"kind": "Boat"})
    assert (status, [each["field"] for each in found["details"]["causes"]]) == (
        422,
        ["kind", "spec.stops[1]"],
    )
    status, found = server.reply("POST", TRAINS, {"apiVersion": "example.com/v1"})
    assert (status, found["message"]) == (
        400,
        "the object provided is unrecognized (must be of type Train): Object 'Kind' is missing in"
        ' \'{"apiVersion": "example.com/v1"}\' ({"apiVersion": "example.com/v1 ...)',
    )
    status, found = server.reply("POST", TRAINS, train() | {"apiVersion": "example.com/v3"})
    assert (status, found["message"]) == (
        400,
        "the API version in the data (example.com/v3) does not match the expected API version"
        " (example.com/v1)",
    )


def test_the_verb_decides_about_requests_to_custom_resources(server: Server) -> None:
    define(server)
    status, found = server.reply("OPTIONS", TRAINS)
    assert (status, found["message"]) == (
        405,
        ' is not supported on resources of kind "trains.example.com"',
    )
    assert server.reply("PUT", TRAINS, train())[1]["message"] == "name must be provided"
    assert server.reply("POST", f"{TRAINS}/anything", train("t2"))[0] == 201
    assert server.reply("HEAD", f"{TRAINS}/t2") == (200, "")


def test_a_definition_is_deleted_only_under_its_preconditions(server: Server) -> None:
    define(server)
    path = f"{DEFINITIONS}/trains.example.com?resourceVersion=1"
    status, found = server.reply("DELETE", path)
    assert status == 409
    assert "Precondition failed: ResourceVersion in precondition: 1," in found["message"]


def test_schemas_inside_of_items_are_decoded_but_not_strictly(server: Server) -> None:
    items = {"type": "object", "bogus": 1, "nullable": False}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "array", "items": items}},
    }
    found = server.send("POST", DEFINITIONS, definition(version("v1", schema)))
    assert found.header("warning") is None  # type: ignore[union-attr]
    _, made = server.reply("GET", f"{DEFINITIONS}/trains.example.com")
    stored = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert stored["items"] == {"type": "object"}
    items["properties"] = "none"
    assert server.reply("POST", DEFINITIONS, definition(version("v1", schema)))[0] == 400


HOOK: dict[str, Any] = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/convert"}},
    },
}
OTHER = TRAINS.replace("/v1/", "/v2/")


def test_rules_that_unchanged_parts_violate_are_warnings(server: Server) -> None:
    define(server, version(subresources={"status": {}}))
    assert server.reply("POST", TRAINS, train(cars=1))[0] == 201
    properties = SCHEMA["properties"]["spec"]["properties"]
    rule = {"rule": "self > 1", "message": "too short"}
    cars = properties["cars"] | {"x-kubernetes-validations": [rule]}
    spec = SCHEMA["properties"]["spec"] | {"properties": properties | {"cars": cars}}
    schema = SCHEMA | {"properties": SCHEMA["properties"] | {"spec": spec}}
    _, stored = server.reply("GET", f"{DEFINITIONS}/trains.example.com")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    assert server.reply("PUT", f"{DEFINITIONS}/trains.example.com", stored)[0] == 200
    headers = {"content-type": "application/merge-patch+json"}
    labels = {"metadata": {"labels": {"a": "b"}}}
    for path, patch in (
        (f"{TRAINS}/t1", labels),
        (f"{TRAINS}/t1/status", {"status": {"late": True}}),
    ):
        found = server.send("PATCH", path, patch, headers=headers)
        text = '299 - "spec.cars: Invalid value: 1: too short"'
        assert isinstance(found, HttpReply)
        assert (found.status, found.header("warning")) == (200, text)
    status, _ = server.patch(f"{TRAINS}/t1", {"spec": {"cars": 0}})
    assert status == 422


def define_converted(server: Server, conversion: Any) -> None:
    made = definition(version("v1"), version("v2"))
    made["spec"]["conversion"] = conversion
    status, body = server.reply("POST", DEFINITIONS, made)
    assert status == 201, body


def test_objects_that_a_webhook_would_convert_are_used_in_the_stored_version_only(
    server: Server,
) -> None:
    define_converted(server, HOOK)
    assert server.reply("POST", TRAINS, train())[0] == 201
    assert server.reply("GET", f"{TRAINS}/t1")[0] == 200
    assert server.patch(f"{TRAINS}/t1", {"spec": {"cars": 5}})[0] == 200
    version_before = server.store.resource_version
    text = (
        'conversion webhook for example.com/{}, Kind=Train failed: Post "https://s.n.svc:443/'
        'convert?timeout=30s": this server calls no webhooks'
    )
    second = train("t2") | {"apiVersion": "example.com/v2"}
    for method, path, body, sent in (
        ("GET", f"{OTHER}/t1", None, "v1"),
        ("GET", OTHER, None, "v1"),
        ("DELETE", f"{OTHER}/t1", None, "v1"),
        ("DELETE", OTHER, None, "v1"),
        ("POST", OTHER, second, "v2"),
        ("POST", f"{OTHER}?dryRun=All", second, "v2"),
    ):
        status, found = server.reply(method, path, body)
        assert (status, found["message"]) == (500, text.format(sent)), path
    assert server.patch(f"{OTHER}/t1", {"spec": {"cars": 6}})[0] == 500
    assert server.store.resource_version == version_before
    watch = server.watch(f"{OTHER}?watch=true")
    assert [(type_, body["message"]) for type_, body in server.events(watch)] == [
        ("ERROR", text.format("v1"))
    ]
    assert watch.is_closed(server.now_ns)
    assert server.reply("GET", f"{OTHER}/other")[0] == 404


def test_no_object_needs_a_webhook_when_the_strategy_changes(server: Server) -> None:
    define_converted(server, HOOK)
    server.reply("POST", TRAINS, train())
    name = f"{DEFINITIONS}/trains.example.com"
    change = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    assert server.patch(name, change)[0] == 200
    assert server.reply("GET", f"{OTHER}/t1")[1]["apiVersion"] == "example.com/v2"


def test_protobuf_of_custom_resources_is_metadata_only(server: Server) -> None:
    define(server)
    server.reply("POST", TRAINS, train())
    protobuf = "application/vnd.kubernetes.protobuf"

    def status(accept: str, path: str = f"{TRAINS}/t1", method: str = "GET") -> int:
        return server.reply(method, path, headers={"accept": accept})[0]

    assert status(protobuf) == 406
    assert status(protobuf, TRAINS) == 406
    assert status(protobuf, f"{TRAINS}/t1", "DELETE") == 406
    assert status(f"{protobuf};as=Table;g=meta.k8s.io;v=v1") == 406
    assert status(f"{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1") == 200
    assert status(f"{protobuf},application/json") == 200


def test_a_definition_without_versions_names_the_list_as_it_was_sent(server: Server) -> None:
    empty = definition()
    empty["spec"]["versions"] = []
    absent = definition()
    del absent["spec"]["versions"]
    for body, shown in ((empty, "[]"), (absent, "null")):
        status, found = server.reply("POST", DEFINITIONS, body)
        text = f"spec.versions: Invalid value: {shown}: must have exactly one version marked"
        assert status == 422
        assert text in found["message"]


def test_the_condition_of_schemas_that_are_not_structural_does_not_stay(server: Server) -> None:
    define(server)
    name = f"{DEFINITIONS}/trains.example.com/status"
    _, found = server.reply("GET", name)
    added = {"type": "NonStructuralSchema", "status": "True", "reason": "R", "message": "m"}
    held = [*found["status"]["conditions"], added]
    status, body = server.patch(name, {"status": {"conditions": held}})
    assert (status, body["status"]["conditions"][-1]["type"]) == (200, "NonStructuralSchema")
    assert sorted(conditions(server, "trains")) == ["Established", "NamesAccepted"]


def test_a_version_that_is_null_has_no_fields(server: Server) -> None:
    body = definition()
    body["spec"]["versions"] = [None]
    status, found = server.reply("POST", DEFINITIONS, body)
    assert status == 422
    assert "spec.versions[0].name: Invalid value" in found["message"]


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [None]},
        {"anyOf": [None]},
        {"oneOf": [None]},
        {"not": {"properties": {"q": None}}},
        {"not": {"allOf": [None]}},
        {"not": {"items": [None]}},
        {"allOf": [{"properties": {"q": None}}]},
    ],
    ids=str,
)
def test_a_null_in_a_schema_is_a_schema_without_fields(
    server: Server, schema: dict[str, Any]
) -> None:
    properties = {"spec": {"type": "object", **schema}}
    made = version(schema={"type": "object", "properties": properties})
    status, reply = server.reply("POST", DEFINITIONS, definition(made))
    assert status in (201, 422), reply
    if status == 201:
        status, reply = server.reply("POST", TRAINS, train(q=1))
        assert status in (201, 422), reply
