"""OpenAPI documents: operations, descriptions, addresses with hashes, custom resources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import KindRow, built_in, go_ordered
from podwright.apimachinery.schema.structural.custom_kind import VERBS
from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.openapi import OpenApi, version2_protobuf
from podwright.cluster.api.endpoints.openapi.custom import custom_document, custom_schemas
from podwright.cluster.api.endpoints.openapi.names import META
from podwright.cluster.api.endpoints.protobuf.encoding import field
from podwright.cluster.api.endpoints.protobuf.wire import varint
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.versions.resources import DEFAULT_GROUP_VERSIONS, Resource, Resources

ALL_VERSIONS = tuple(dict.fromkeys(kind.api_version for kind in built_in()))
VERSION2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

BOAT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["len", "note"],
            "properties": {
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "ios": {"x-kubernetes-int-or-string": True},
                "len": {"type": "integer", "default": 3, "minimum": 1},
                "note": {"type": "string", "nullable": True},
                "crew": {"type": "array", "items": {"oneOf": [{"minimum": 1}], "type": "integer"}},
                "inner": {"type": "object", "x-kubernetes-embedded-resource": True},
            },
        }
    },
}


class CustomVersion(msgspec.Struct):
    names: dict[str, Any]
    schema: dict[str, Any] | None
    selectable: tuple[str, ...] = ()
    preserves_unknown: bool = False


def boats(schema: dict[str, Any] | None = BOAT, **facts: Any) -> Resource:
    """Return a custom resource."""
    row = KindRow(
        group="sea.example.com", version="v1", kind="Boat", type="", resource="boats",
        singular="boat", namespaced=True, verbs=VERBS, subresources={"status": ""},
    )  # fmt: skip

    class Kind:
        def __init__(self) -> None:
            self.row = row
            self.version = CustomVersion({"listKind": "BoatList"}, schema, **facts)

    kind: Any = Kind()
    return Resource(kind=kind, storage=("sea.example.com", "Boat"), storage_kind=kind,
                    is_custom=True)  # fmt: skip


def get(
    path: str,
    accept: str = "",
    *,
    resources: Resources | None = None,
    query: str = "",
    known: str = "",
) -> HttpReply:
    request = HttpRequest("GET", path, query, {"accept": accept, "if-none-match": known})
    found = OpenApi(resources or Resources())(request, 0)
    assert found is not None, path
    return found


def document(api_version: str) -> Any:
    start = "apis" if "/" in api_version else "api"
    path = f"/openapi/v3/{start}/{api_version}"
    return json.loads(get(path, resources=Resources(ALL_VERSIONS)).body)


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and those inside it."""
    yield schema
    inner = list(schema.get("properties", {}).values())
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for each in inner:
        yield from parts_of(each)


def test_every_kind_can_be_validated_by_kubectl():
    """A path of the kind's group version has a PATCH with `fieldValidation` and `dryRun`."""
    for kind in built_in():
        if "patch" not in kind.row.verbs:
            continue
        row = kind.row
        own = {"group": row.group, "version": row.version, "kind": row.kind}
        found = [
            {each["name"] for each in item["patch"]["parameters"]}
            for item in document(kind.api_version)["paths"].values()
            if item.get("patch", {}).get("x-kubernetes-group-version-kind") == own
        ]
        assert found, kind.api_version
        assert all({"fieldValidation", "dryRun"} <= names for names in found)


@pytest.mark.parametrize(
    ("api_version", "plural", "text"),
    [
        ("v1", "pods", "a Pod"),
        ("v1", "events", "an Event"),
        ("networking.k8s.io/v1", "ingresses", "an Ingress"),
        ("storage.k8s.io/v1", "storageclasses", "a StorageClass"),
        ("v1", "endpoints", "Endpoints"),
    ],
)
def test_operations_are_described_with_the_article_of_their_kind(api_version, plural, text):
    paths = document(api_version)["paths"]
    (listed,) = [path for path in paths if path.endswith(f"/{plural}") and "post" in paths[path]]
    assert paths[listed]["post"]["description"] == f"create {text}"
    assert paths[f"{listed}/{{name}}"]["delete"]["description"] == f"delete {text}"
    kind = text.rpartition(" ")[2]
    assert paths[listed]["get"]["description"] == f"list or watch objects of kind {kind}"
    assert paths[listed]["delete"]["description"] == f"delete collection of {kind}"


@pytest.mark.parametrize("group", ["apps", "batch", "networking.k8s.io"])
def test_a_group_has_a_document_of_its_versions(group):
    found = json.loads(get(f"/openapi/v3/apis/{group}").body)
    assert list(found["paths"]) == [f"/apis/{group}/"]


def test_operation_ids_are_unique():
    for api_version in ALL_VERSIONS:
        ids = [
            operation["operationId"]
            for item in document(api_version)["paths"].values()
            for method, operation in item.items()
            if method != "parameters"
        ]
        assert len(ids) == len(set(ids)), api_version


def test_fields_and_kinds_are_described():
    schemas = document("v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert pod["description"]
    assert pod["properties"]["kind"]["description"]
    assert schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["affinity"] == {
        "description": "Further requirements and preferences for the node, and for other pods near"
        " or far.",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Affinity"}],
    }


def test_required_fields_are_in_the_order_of_go():
    found = document("batch/v1")["components"]["schemas"]["io.k8s.api.batch.v1.CronJobSpec"]
    struct = built_in().type("batch.v1.CronJobSpec")
    assert found["required"] == [each.name for each in go_ordered(struct) if each.is_required]


# -------------------------------------------------------------------------- addresses


def test_the_index_has_an_address_for_each_document():
    reply = get("/openapi/v3")
    assert reply.header("content-type") == "text/plain; charset=utf-8"
    paths = json.loads(reply.body)["paths"]
    for api_version in DEFAULT_GROUP_VERSIONS:
        key = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        address = paths[key]["serverRelativeURL"]
        path, _, query = address.partition("?")
        found = get(path, query=query)
        assert found.status == 200
        assert found.header("cache-control") == "public, immutable"
        assert found.header("expires") == "Fri, 01 Jan 1971 00:00:00 GMT"
        assert query == f"hash={(found.header('etag') or '').strip(chr(34))}"


def test_a_wrong_hash_leads_to_the_right_address():
    etag = (get("/openapi/v3/apis/apps/v1").header("etag") or "").strip('"')
    found = get("/openapi/v3/apis/apps/v1", query="hash=0")
    assert found.status == 301
    assert found.header("location") == f"/openapi/v3/apis/apps/v1?hash={etag}"


@pytest.mark.parametrize("path", ["/openapi/v3/apis/apps/v1", "/openapi/v2"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}'])
def test_a_known_document_is_not_sent_again(path, form):
    etag = get(path).header("etag") or ""
    found = get(path, known=form.format(etag))
    assert (found.status, found.body) == (304, b"")
    assert get(path, known='"other"').status == 200


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/openapi/v3/apis/apps/v1", "application/json, */*", 200),
        ("/openapi/v3/apis/apps/v1", "text/html", 406),
        ("/openapi/v3/apis/nosuch/v1", "application/json", 404),
        ("/openapi/v3/", "application/json", 404),
        ("/openapi/v3", "text/html", 200),
        ("/openapi/v2", "application/json", 200),
        ("/openapi/v2", f"{VERSION2_PROTOBUF},application/json", 200),
        ("/openapi/v2", "text/html", 406),
    ],
)
def test_representations(path, accept, status):
    assert get(path, accept).status == status


def test_a_known_document_does_not_meet_the_condition_of_a_post(server):
    etag = server.send("GET", "/openapi/v2").header("etag")
    reply = server.send("POST", "/openapi/v2", {}, headers={"if-none-match": etag})
    assert reply.status == 412


def test_version_2_is_there_as_protobuf_for_kubectl():
    found = get("/openapi/v2", VERSION2_PROTOBUF)
    assert found.header("content-type") == VERSION2_PROTOBUF.replace("@", ".")
    assert found.header("etag") == get("/openapi/v2").header("etag")
    document = fields_of(found.body)
    assert document[1] == [b"2.0"]
    names = [fields_of(each)[1][0].decode() for each in fields_of(document[9][0])[1]]
    written = json.loads(get("/openapi/v2").body)
    assert names == list(written["definitions"])
    paths = [fields_of(each)[1][0].decode() for each in fields_of(document[8][0])[2]]
    assert paths == list(written["paths"])


def test_a_schema_of_version_2_has_its_fields_as_protobuf():
    (document,) = fields_of(get("/openapi/v2", VERSION2_PROTOBUF).body)[9]
    schemas = {
        parts[1][0]: fields_of(parts[2][0]) for parts in map(fields_of, fields_of(document)[1])
    }
    pod = schemas[b"io.k8s.api.core.v1.Pod"]
    assert pod[22] == [field(1, b"object")]
    name, extension = fields_of(pod[31][0]).values()
    assert name == [b"x-kubernetes-group-version-kind"]
    assert json.loads(fields_of(extension[0])[2][0]) == [
        {"group": "", "kind": "Pod", "version": "v1"}
    ]
    properties = {
        parts[1][0]: fields_of(parts[2][0]) for parts in map(fields_of, fields_of(pod[25][0])[1])
    }
    assert properties[b"spec"][1] == [b"#/definitions/io.k8s.api.core.v1.PodSpec"]


SCHEMA_FIELDS = (
    "$ref", "format", "title", "description", "default", "multipleOf", "maximum",
    "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
    "maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "required", "enum",
    "additionalProperties", "type", "items", "allOf", "properties",
)  # fmt: skip
"""In the order of their numbers, from 1."""


@pytest.mark.parametrize(
    ("table", "numbers"),
    [
        (
            version2_protobuf._SCHEMA,
            {name: number for number, name in enumerate(SCHEMA_FIELDS, 1)} | {"example": 30},
        ),
        (
            version2_protobuf._BODY,
            {"description": 1, "name": 2, "in": 3, "required": 4, "schema": 5},
        ),
        (
            version2_protobuf._QUERY,
            {"required": 1, "in": 2, "description": 3, "name": 4, "type": 6, "uniqueItems": 20},
        ),
        (
            version2_protobuf._PATH,
            {"required": 1, "in": 2, "description": 3, "name": 4, "type": 5, "uniqueItems": 19},
        ),
        (version2_protobuf._RESPONSE, {"description": 1, "schema": 2}),
        (
            version2_protobuf._OPERATION,
            {
                "tags": 1, "summary": 2, "description": 3, "operationId": 5, "produces": 6,
                "consumes": 7, "parameters": 8, "responses": 9, "schemes": 10, "deprecated": 11,
            },
        ),
        (
            version2_protobuf._PATH_ITEM,
            {
                "get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8,
                "parameters": 9,
            },
        ),
        (version2_protobuf._API_KEY, {"type": 1, "name": 2, "in": 3, "description": 4}),
        (version2_protobuf._INFO, {"title": 1, "version": 2, "description": 3}),
        (
            version2_protobuf._DOCUMENT,
            {
                "swagger": 1, "info": 2, "paths": 8, "definitions": 9, "security": 12,
                "securityDefinitions": 13,
            },
        ),
    ],
)  # fmt: skip
def test_the_numbers_of_fields_are_those_of_gnostic(table, numbers):
    # github.com/google/gnostic-models, openapiv2/OpenAPIv2.proto
    assert {name: number for name, (number, _) in table.items()} == numbers


def fields_of(message):
    """Return the fields of a message with a length, by number."""
    found: dict[int, list[bytes]] = {}
    index = 0
    while index < len(message):
        key, index = varint(message, index, len(message))
        length, index = varint(message, index, len(message))
        if key & 7 == 2:
            found.setdefault(key >> 3, []).append(message[index : index + length])
            index += length
    return found


def test_other_methods_get_the_document_and_head_only_its_headers(server):
    assert server.send("POST", "/openapi/v3", {}).status == 200
    head = server.send("HEAD", "/openapi/v3/apis/apps/v1")
    assert (head.status, head.body) == (200, b"")
    assert head.header("etag")
    assert server.reply("GET", "/openapi/v1") == (404, "404 page not found\n")


# -------------------------------------------------------------------------- version 2


def test_version_2_has_neither_defaults_nor_alternatives():
    found = json.loads(get("/openapi/v2").body)
    pod = found["definitions"]["io.k8s.api.core.v1.Pod"]
    assert pod["properties"]["spec"]["$ref"] == "#/definitions/io.k8s.api.core.v1.PodSpec"
    for schema in found["definitions"].values():
        for part in parts_of(schema):
            assert not part.keys() & {"default", "allOf", "oneOf", "anyOf"}
            assert not part.get("$ref", "").startswith("#/components")
    quantity = found["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity == {"type": "string"}
    create = found["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]
    assert create["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"},
    }
    options = found["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    groups = [each["group"] for each in options["x-kubernetes-group-version-kind"]]
    assert {"", "apps", "batch", "extensions"} <= set(groups)
    of_one_group = found["definitions"]["io.k8s.api.core.v1.Pod"]
    assert len(of_one_group["x-kubernetes-group-version-kind"]) == 1
    part = found["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    assert "x-kubernetes-group-version-kind" not in part
    jwks = found["paths"]["/openid/v1/jwks/"]["get"]
    assert "consumes" not in jwks


# ------------------------------------------------------------------- custom resources


def test_custom_resources_appear_and_disappear():
    resources = Resources(["v1"])
    serve = OpenApi(resources)
    index = HttpRequest("GET", "/openapi/v3")
    path = "/openapi/v3/apis/sea.example.com/v1"

    def listed() -> bool:
        reply = serve(index, 0)
        assert reply is not None
        return "apis/sea.example.com/v1" in json.loads(reply.body)["paths"]

    def version2() -> str | None:
        reply = serve(HttpRequest("GET", "/openapi/v2"), 0)
        assert reply is not None
        return reply.header("etag")

    before = version2()
    assert not listed()
    resources.add(boats())
    first = serve(HttpRequest("GET", path), 0)
    assert listed()
    assert version2() != before
    resources.add(boats({"type": "object"}))
    second = serve(HttpRequest("GET", path), 0)
    assert first is not None
    assert second is not None
    assert first.header("etag") != second.header("etag")
    resources.remove("sea.example.com", "v1", "boats")
    assert not listed()
    assert version2() == before


def test_documents_compute_long_until_they_are_made():
    resources = Resources(["v1"])
    serve = OpenApi(resources)
    as_json = HttpRequest("GET", "/openapi/v2")
    accept = {"accept": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}
    as_protobuf = HttpRequest("GET", "/openapi/v2", headers=accept)
    assert not serve.computes_long(HttpRequest("GET", "/api/v1/pods"))
    assert serve.computes_long(as_json)
    serve(as_json, 0)
    assert not serve.computes_long(as_json)
    assert serve.computes_long(as_protobuf)
    serve(as_protobuf, 0)
    assert not serve.computes_long(as_protobuf)
    resources.add(boats())
    assert serve.computes_long(as_json)


def test_the_document_of_a_custom_resource():
    found = custom_document([boats()])
    assert list(found["components"]["schemas"]) == sorted(found["components"]["schemas"])
    schema = found["components"]["schemas"]["com.example.sea.v1.Boat"]
    spec = schema["properties"]["spec"]["properties"]
    assert spec["ios"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert spec["len"] == BOAT["properties"]["spec"]["properties"]["len"]
    assert spec["inner"]["required"] == ["kind", "apiVersion"]
    assert set(spec["inner"]["properties"]) == {"apiVersion", "kind", "metadata"}
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in found["components"]["schemas"]
    item = found["paths"]["/apis/sea.example.com/v1/namespaces/{namespace}/boats/{name}"]
    ids = [item[method]["operationId"] for method in ("get", "put", "delete", "patch")]
    assert ids == [f"{verb}SeaExampleComV1NamespacedBoat"
                   for verb in ("read", "replace", "delete", "patch")]  # fmt: skip
    assert (
        f"{'/apis/sea.example.com/v1/namespaces/{namespace}/boats/{name}'}/status"
        in (found["paths"])
    )
    assert BOAT["properties"]["spec"]["properties"]["ios"] == {"x-kubernetes-int-or-string": True}


def test_a_custom_schema_in_version_2():
    schema = custom_schemas(boats(), is_version2=True)["com.example.sea.v1.Boat"]
    spec = schema["properties"]["spec"]
    assert spec["required"] == ["len"]
    assert spec["properties"]["free"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert spec["properties"]["ios"] == {"x-kubernetes-int-or-string": True}
    assert spec["properties"]["len"] == {"type": "integer", "minimum": 1}
    assert spec["properties"]["note"] == {}
    assert spec["properties"]["crew"] == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize("is_version2", [False, True])
@pytest.mark.parametrize(
    ("schema", "keeps"), [(None, False), ({"type": "object"}, True), (BOAT, True)]
)
def test_schemas_that_keep_unknown_fields(schema, keeps, is_version2):
    resource = boats(schema, preserves_unknown=keeps)
    found = custom_schemas(resource, is_version2=is_version2)["com.example.sea.v1.Boat"]
    kinds = found.pop("x-kubernetes-group-version-kind")
    assert kinds == [{"group": "sea.example.com", "kind": "Boat", "version": "v1"}]
    if schema is None or is_version2:
        assert found == {"type": "object"}
    else:
        assert "metadata" in found["properties"]


def test_selectable_fields_of_custom_resources():
    found = custom_schemas(boats(selectable=(".spec.len",)))
    for schema in found.values():
        assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.len"}]


@pytest.mark.parametrize(
    ("path", "document_key", "name"),
    [
        ("/version", "version", "io.k8s.apimachinery.pkg.version.Info"),
        ("/api", "api", f"{META}.APIVersions"),
        ("/apis", "apis", f"{META}.APIGroupList"),
        ("/apis/apps", "apis/apps", f"{META}.APIGroup"),
        ("/apis/apps/v1", "apis/apps/v1", f"{META}.APIResourceList"),
        ("/api/v1", "api/v1", f"{META}.APIResourceList"),
    ],
)
def test_what_is_no_object_has_the_fields_of_its_schema(server, path, document_key, name):
    schemas = json.loads(get(f"/openapi/v3/{document_key}").body)["components"]["schemas"]

    def check(value, schema, place):
        (reference,) = [each["$ref"] for each in schema.get("allOf", ())] or [schema.get("$ref")]
        if reference:
            schema = schemas[reference.rpartition("/")[2]]
        for each in value if isinstance(value, list) else ():
            check(each, schema["items"], place)
        if isinstance(value, dict):
            assert value.keys() <= schema["properties"].keys(), place
            assert set(schema.get("required", ())) <= value.keys(), place
            for key, part in value.items():
                check(part, schema["properties"][key], f"{place}.{key}")

    status, found = server.reply("GET", path)
    assert status == 200
    check(found, schemas[name], path)
