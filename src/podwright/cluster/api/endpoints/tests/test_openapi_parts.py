"""Parts of OpenAPI documents: schemas of custom resources, protobuf, resolved schemas, replies."""

from __future__ import annotations

import json
import struct
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.cel import MatchedKind
from podwright.cluster.api.endpoints.openapi import KindSchemas, OpenApi
from podwright.cluster.api.endpoints.openapi.custom import custom_schemas
from podwright.cluster.api.endpoints.openapi.kind_schemas import _resolved
from podwright.cluster.api.endpoints.openapi.names import (
    GroupVersionNames,
    camel_case,
    custom_schema_name,
    schema_name,
)
from podwright.cluster.api.endpoints.openapi.version2_protobuf import version2_message
from podwright.cluster.api.endpoints.protobuf.encoding import field, number_field
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.tests.test_openapi import VERSION2_PROTOBUF, boats, get
from podwright.cluster.api.versions.resources import Resources

NAME = "com.example.sea.v1.Boat"
KEEPS = {"x-kubernetes-preserve-unknown-fields": True}
IOS = {"x-kubernetes-int-or-string": True}
TEXT = {"type": "string"}
EITHER = [{"type": "integer"}, {"type": "string"}]


def inner(schema: dict[str, Any], *, is_version2: bool = False) -> dict[str, Any]:
    """Return a schema that is below `spec` of a custom resource, as documents have it."""
    outer = {"type": "object", "properties": {"spec": schema}}
    found = custom_schemas(boats(outer), is_version2=is_version2)[NAME]
    part: dict[str, Any] = found["properties"]["spec"]
    return part


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string", "nullable": True, "default": "a"}, {}),
        ({"type": "string", "default": "a", "maxLength": 3}, {"type": "string", "maxLength": 3}),
        ({"type": "object", **KEEPS, "properties": {"a": {"type": "string"}}}, KEEPS),
        ({"type": "string", **KEEPS}, {"type": "string", **KEEPS}),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT}),
        ({"type": "array"}, {}),
        ({"type": "array", "items": {"type": "string"}, "nullable": True}, {}),
        ({"type": "array", "items": {"type": "string"}, **KEEPS}, KEEPS),
        ({**IOS, "anyOf": EITHER}, IOS),
        (
            {"type": "integer", "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "not": {},
             "minimum": 1},
            {"type": "integer", "minimum": 1},
        ),
        # Fields that may be null are not required.
        (
            {"type": "object", "required": ["b", "a"],
             "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}}},
            {"type": "object", "required": ["b"],
             "properties": {"a": {}, "b": {"type": "string"}}},
        ),
        (
            {"type": "object", "required": ["a"],
             "properties": {"a": {"type": "string", "nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
        ),
        # Without a schema of the field, it is required.
        (
            {"type": "object", "required": ["x"], "properties": {"a": {"type": "string"}}},
            {"type": "object", "required": ["x"], "properties": {"a": {"type": "string"}}},
        ),
        (
            {"type": "object", "required": ["x"], "additionalProperties": {"type": "string"}},
            {"type": "object", "required": ["x"], "additionalProperties": {"type": "string"}},
        ),
        (
            {"type": "object", "required": ["x"],
             "additionalProperties": {"type": "string", "nullable": True}},
            {"type": "object", "additionalProperties": {}},
        ),
        (
            {"type": "object", "required": ["x"], "additionalProperties": True},
            {"type": "object", "required": ["x"], "additionalProperties": True},
        ),
        (
            {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}},
             "required": ["a"]},
            {"required": ["a"]},
        ),
        ({"type": "object", "properties": None}, {"type": "object", "properties": None}),
    ],
)  # fmt: skip
def test_what_version_2_has_of_a_custom_schema(
    schema: dict[str, Any], shown: dict[str, Any]
) -> None:
    assert inner(schema, is_version2=True) == shown


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (IOS, {**IOS, "anyOf": EITHER}),
        ({**IOS, "anyOf": EITHER}, {**IOS, "anyOf": EITHER}),
        ({**IOS, "allOf": [{"anyOf": EITHER}]}, {**IOS, "allOf": [{"anyOf": EITHER}]}),
        (
            {**IOS, "allOf": [{"minimum": 1}]},
            {**IOS, "allOf": [{"minimum": 1}], "anyOf": EITHER},
        ),
        (
            {**IOS, "anyOf": [{"minimum": 1}]},
            {**IOS, "anyOf": [{"minimum": 1}], "allOf": [{"anyOf": EITHER}]},
        ),
        (
            {**IOS, "anyOf": [{"minimum": 1}], "allOf": [{"maximum": 2}]},
            {**IOS, "anyOf": [{"minimum": 1}], "allOf": [{"anyOf": EITHER}, {"maximum": 2}]},
        ),
        (
            {"type": "object", "properties": {"a": IOS}, "additionalProperties": IOS},
            {"type": "object", "properties": {"a": {**IOS, "anyOf": EITHER}},
             "additionalProperties": {**IOS, "anyOf": EITHER}},
        ),
        ({"type": "array", "items": IOS}, {"type": "array", "items": {**IOS, "anyOf": EITHER}}),
        (
            {"type": "object", "additionalProperties": True},
            {"type": "object", "additionalProperties": True},
        ),
        ({"type": "string", "nullable": True, "default": "a"},
         {"type": "string", "nullable": True, "default": "a"}),
    ],
)  # fmt: skip
def test_what_version_3_has_of_a_custom_schema(
    schema: dict[str, Any], shown: dict[str, Any]
) -> None:
    assert inner(schema) == shown


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


def test_an_embedded_resource_has_the_fields_of_every_object() -> None:
    def fields(found: dict[str, Any]) -> tuple[list[str], list[str]]:
        return list(found.get("properties", ())), found.get("required", [])

    head = ["apiVersion", "kind", "metadata"]
    for is_version2 in (False, True):
        own = EMBEDDED | {"properties": {"a": {"type": "string"}}, "required": ["a", "kind"]}
        assert fields(inner(own, is_version2=is_version2)) == (
            ["a", *head], ["a", "kind", "apiVersion"],
        )  # fmt: skip
        assert fields(inner(EMBEDDED, is_version2=is_version2)) == (head, ["kind", "apiVersion"])
        below = inner({"type": "array", "items": EMBEDDED}, is_version2=is_version2)["items"]
        assert fields(below) == (head, ["kind", "apiVersion"])
    assert fields(inner(EMBEDDED | KEEPS)) == (head, ["kind", "apiVersion"])
    assert inner(EMBEDDED | KEEPS, is_version2=True) == {
        "x-kubernetes-embedded-resource": True, **KEEPS,
    }  # fmt: skip
    found = inner(EMBEDDED)["properties"]
    assert found["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert (found["kind"]["type"], found["apiVersion"]["type"]) == ("string", "string")
    assert found["kind"]["description"] != found["apiVersion"]["description"]
    assert found["metadata"]["description"].startswith("Standard object's metadata")


def test_the_schemas_of_an_object_and_of_its_list() -> None:
    found = custom_schemas(boats({"type": "object", "properties": {"metadata": {"x": 1}}}))
    meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1."
    assert list(found) == [NAME, f"{NAME}List"]
    texts = {name: part["description"] for name, part in found[NAME]["properties"].items()}
    head: dict[str, Any] = {
        name: {"description": texts[name], "type": "string"} for name in ("apiVersion", "kind")
    }

    def kind(name: str) -> list[dict[str, str]]:
        return [{"group": "sea.example.com", "kind": name, "version": "v1"}]

    assert found[NAME] == {
        "type": "object",
        "properties": {
            "metadata": {
                "description": texts["metadata"], "allOf": [{"$ref": f"{meta}ObjectMeta"}],
            },
            **head,
        },
        "x-kubernetes-group-version-kind": kind("Boat"),
    }  # fmt: skip
    assert found[f"{NAME}List"] == {
        "description": "BoatList is a list of objects of the kind Boat.",
        "type": "object",
        "required": ["items"],
        "properties": {
            **head,
            "items": {
                "description": "The list of boats.",
                "type": "array",
                "items": {"$ref": f"#/components/schemas/{NAME}"},
            },
            "metadata": {
                "description": "The metadata of the list.", "allOf": [{"$ref": f"{meta}ListMeta"}],
            },
        },
        "x-kubernetes-group-version-kind": kind("BoatList"),
    }  # fmt: skip


def test_the_kind_of_a_list_without_a_name_of_its_own() -> None:
    resource = boats()
    kind: Any = resource.kind
    kind.version.names = {}
    assert list(custom_schemas(resource)) == [NAME, f"{NAME}List"]
    kind.version.names = {"listKind": "Fleet"}
    assert list(custom_schemas(resource)) == [NAME, "com.example.sea.v1.Fleet"]


def test_names_of_documents() -> None:
    assert schema_name("meta.v1.Status") == "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
    assert schema_name("apps.v1.Deployment") == "io.k8s.api.apps.v1.Deployment"
    assert schema_name("metrics.v1beta1.PodMetrics") == (
        "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics"
    )
    assert schema_name("apiregistration.v1.APIService") == (
        "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"
    )
    assert custom_schema_name("a.b.c", "v1", "K") == "c.b.a.v1.K"
    assert [camel_case(text) for text in ("a.b", "1a", "a1", "a_b", "-a", "")] == [
        "AB", "A", "A1", "A_b", "A", "",
    ]  # fmt: skip
    assert camel_case("a-b", is_capitalized=False) == "aB"
    for group, version, infix, tag in (
        ("", "v1", "CoreV1", "core_v1"),
        ("apps", "v1", "AppsV1", "apps_v1"),
        ("rbac.authorization.k8s.io", "v1beta1", "RbacAuthorizationV1beta1",
         "rbacAuthorization_v1beta1"),
        ("apps", "", "Apps", "apps"),
        ("sea.example.com", "v1", "SeaExampleComV1", "seaExampleCom_v1"),
    ):  # fmt: skip
        names = GroupVersionNames(group, version)
        assert (names.infix, names.tag) == (infix, tag)


# --------------------------------------------------------------------- resolved schemas


def test_references_are_replaced_by_their_schemas() -> None:
    ref = "#/components/schemas/"
    known: dict[str, Any] = {
        "a": {"type": "object", "properties": {"b": {"$ref": f"{ref}b"}, "a": {"$ref": f"{ref}a"}}},
        "b": {"type": "string"},
        "l": {"type": "array", "items": {"allOf": [{"$ref": f"{ref}b"}], "default": {}}},
        "m": {"type": "object", "additionalProperties": {"$ref": f"{ref}l"}},
        "t": {"type": "object", "additionalProperties": True, "properties": {"x": True}},
        "io": {"$ref": f"{ref}io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
        "gone": {"$ref": f"{ref}nothing"},
    }
    end = {"type": "object"}
    lists = {"type": "array", "items": {"type": "string"}}
    for name, shown in (
        ("a", {"type": "object", "properties": {"b": {"type": "string"}, "a": end}}),
        ("b", {"type": "string"}),
        ("l", lists),
        ("m", {"type": "object", "additionalProperties": lists}),
        ("t", known["t"]),
        ("io", {"x-kubernetes-int-or-string": True}),
        ("gone", end),
    ):
        assert _resolved(known[name], known.get, {name}) == shown, name


def test_kinds_by_their_resources_and_their_names() -> None:
    resources = Resources()
    resources.add(boats())
    found = KindSchemas(resources)

    def names(kinds: list[MatchedKind]) -> list[tuple[str, str, str]]:
        return [(each.group, each.version, each.kind) for each in kinds]

    boat = ("sea.example.com", "v1", "Boat")
    deployment = ("apps", "v1", "Deployment")
    assert names(found.kinds_of("apps", "v1", "deployments")) == [deployment]
    assert names(found.kinds_of("apps", "v1", "deployment")) == [deployment]
    assert names(found.kinds_of("", "v1", "deployments")) == [deployment]
    assert names(found.kinds_of("", "v1", "events")) == [
        ("events.k8s.io", "v1", "Event"), ("", "v1", "Event"),
    ]  # fmt: skip
    for group, version, resource in (
        ("apps", "v1", "Deployment"), ("apps", "v2", "deployments"), ("batch", "v1", "deployments"),
        ("apps", "v1", "pods"),
    ):  # fmt: skip
        assert found.kinds_of(group, version, resource) == []
    assert names(found.kinds_of("", "v1", "boats")) == [boat]
    assert found.kind("apps", "v1", "Nothing") == MatchedKind("apps", "v1", "Nothing", None)
    assert found.kind("apps", "v2", "Deployment").schema is None
    custom = found.kind(*boat).schema
    assert custom is not None
    spec = custom["properties"]["spec"]["properties"]
    assert spec["ios"]["x-kubernetes-int-or-string"] is True
    assert custom["properties"]["metadata"]["properties"]["name"]["type"] == "string"
    built_in = found.kind(*deployment).schema
    assert built_in is not None
    rolling = built_in["properties"]["spec"]["properties"]["strategy"]["properties"]
    assert rolling["rollingUpdate"]["properties"]["maxSurge"] == {
        "x-kubernetes-int-or-string": True
    }
    # A schema that contains itself ends.
    definition = found.kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition").schema
    assert definition is not None
    assert '"$ref"' not in msgspec.json.encode(built_in).decode()
    assert '"$ref":"' not in msgspec.json.encode(definition).decode()


# ------------------------------------------------------------------------ protobuf


def yaml(value: Any) -> bytes:
    return field(2, msgspec.json.encode(value) + b"\n")


def named(name: str, content: bytes) -> bytes:
    return field(1, name.encode()) + field(2, content)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, b""),
        ({"unknown": 1, "format": ""}, b""),
        ({"type": "string"}, field(22, field(1, b"string"))),
        ({"type": ["string", "null"]}, field(22, field(1, b"string") + field(1, b"null"))),
        ({"default": {"a": 1}}, field(5, yaml({"a": 1}))),
        ({"multipleOf": 0.5}, b"\x31" + struct.pack("<d", 0.5)),
        (
            {"maximum": 3, "exclusiveMaximum": True},
            b"\x39" + struct.pack("<d", 3) + number_field(8, 1),
        ),
        ({"maximum": 0, "exclusiveMaximum": False, "maxLength": 0}, b""),
        ({"maxLength": 7}, number_field(11, 7)),
        ({"required": ["a", "b"]}, field(19, b"a") + field(19, b"b")),
        ({"enum": ["a", 1]}, field(20, yaml("a")) + field(20, yaml(1))),
        ({"additionalProperties": True}, field(21, number_field(2, 1))),
        ({"additionalProperties": False}, field(21, number_field(2, 0))),
        ({"additionalProperties": {"title": "x"}}, field(21, field(1, field(3, b"x")))),
        ({"items": {"title": "x"}}, field(23, field(1, field(3, b"x")))),
        ({"items": [{"title": "x"}, {}]}, field(23, field(1, field(3, b"x")) + field(1, b""))),
        ({"allOf": [{"title": "x"}, {}]}, field(24, field(3, b"x")) + field(24, b"")),
        (
            {"properties": {"p": {"title": "x"}, "q": {}}},
            field(25, field(1, named("p", field(3, b"x"))) + field(1, named("q", b""))),
        ),
        ({"example": 1}, field(30, yaml(1))),
        ({"x-a": [1]}, field(31, named("x-a", yaml([1])))),
    ],
)
def test_a_schema_as_a_message(schema: dict[str, Any], message: bytes) -> None:
    found = version2_message({"definitions": {"n": schema}})
    assert found == field(9, field(1, named("n", message)))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"swagger": "2.0"}, field(1, b"2.0")),
        ({"info": {"title": "t", "version": "1"}}, field(2, field(1, b"t") + field(2, b"1"))),
        ({"x-e": 1}, field(16, named("x-e", yaml(1)))),
        ({"security": [{"B": []}, {"C": ["s", "t"]}]},
         field(12, field(1, named("B", b"")))
         + field(12, field(1, named("C", field(1, b"s") + field(1, b"t"))))),
        (
            {"securityDefinitions": {"B": {
                "type": "apiKey", "description": "d", "name": "n", "in": "header",
            }}},
            field(13, field(1, named("B", field(2, field(1, b"apiKey") + field(4, b"d")
                                                + field(2, b"n") + field(3, b"header"))))),
        ),
        (
            {"paths": {"/a": {"x-p": 1, "parameters": [{"$ref": "#/x"}]}}},
            field(8, field(2, named("/a", field(10, named("x-p", yaml(1)))
                                    + field(9, field(2, field(1, b"#/x")))))),
        ),
        (
            {"paths": {"/a": {"delete": {
                "tags": ["t"], "operationId": "o", "deprecated": True, "schemes": ["https"],
                "consumes": ["c"], "produces": ["p"], "x-k": 1,
                "parameters": [
                    {"in": "body", "name": "b", "required": True, "schema": {"title": "s"},
                     "x-b": 1},
                    {"in": "query", "name": "q", "type": "string", "uniqueItems": True},
                    {"in": "path", "name": "p", "type": "string", "uniqueItems": True,
                     "required": True},
                ],
                "responses": {"200": {"description": "OK", "schema": {"title": "r"}, "x-r": 1}},
            }}}},
            field(8, field(2, named("/a", field(5, b"".join([
                field(1, b"t"), field(5, b"o"), number_field(11, 1), field(10, b"https"),
                field(7, b"c"), field(6, b"p"), field(13, named("x-k", yaml(1))),
                field(8, field(1, field(1, b"".join([
                    field(3, b"body"), field(2, b"b"), number_field(4, 1),
                    field(5, field(3, b"s")), field(6, named("x-b", yaml(1))),
                ])))),
                field(8, field(1, field(2, field(3, b"".join([
                    field(2, b"query"), field(4, b"q"), field(6, b"string"), number_field(20, 1),
                ]))))),
                field(8, field(1, field(2, field(4, b"".join([
                    field(2, b"path"), field(4, b"p"), field(5, b"string"), number_field(19, 1),
                    number_field(1, 1),
                ]))))),
                field(9, field(1, named("200", field(1, b"".join([
                    field(1, b"OK"), field(2, field(1, field(3, b"r"))),
                    field(5, named("x-r", yaml(1))),
                ]))))),
            ]))))),
        ),
    ],
)  # fmt: skip
def test_a_document_as_a_message(document: dict[str, Any], message: bytes) -> None:
    assert version2_message(document) == message


# ------------------------------------------------------------------------- replies


def test_the_index_and_the_documents_of_a_small_server() -> None:
    resources = Resources(["v1", "apps/v1"])
    resources.add(boats())
    index = json.loads(get("/openapi/v3", resources=resources).body)["paths"]
    assert list(index) == [
        ".well-known/openid-configuration", "api", "api/v1", "apis", "apis/apps", "apis/apps/v1",
        "apis/sea.example.com/v1", "openid/v1/jwks", "version",
    ]  # fmt: skip
    for key, each in index.items():
        start, _, digest = each["serverRelativeURL"].partition("?hash=")
        assert start == f"/openapi/v3/{key}"
        reply = get(start, resources=resources, query=f"hash={digest}")
        assert reply.header("etag") == f'"{digest}"'
        assert reply.header("cache-control") == "public, immutable"
        assert reply.header("expires") == "Fri, 01 Jan 1971 00:00:00 GMT"
        assert list(json.loads(reply.body)) == ["openapi", "info", "paths", "components"]
        plain = get(start, resources=resources)
        assert dict(plain.headers) == {
            "cache-control": "no-cache, private", "vary": "Accept", "etag": f'"{digest}"',
            "content-type": "application/json",
        }  # fmt: skip
        moved = get(start, resources=resources, query="hash=x")
        assert (moved.status, moved.header("location")) == (301, each["serverRelativeURL"])
        assert moved.header("etag") == f'"{digest}"'
    for path in ("/openapi/v3/apis/sea.example.com", "/openapi/v3/apis/batch/v1", "/openapi/v3/x"):
        assert get(path, resources=resources).status == 404
    for path in ("/openapi", "/openapi/v1", "/openapi/v2/", "/api"):
        assert OpenApi(resources)(HttpRequest("GET", path, headers={}), 0) is None


def test_custom_schemas_are_those_of_version_2_in_its_document() -> None:
    resources = Resources(["v1"])
    resources.add(boats({"type": "object", "properties": {"a": {"type": "string", "default": ""}}}))
    found = json.loads(get("/openapi/v2", resources=resources).body)
    assert found["definitions"][NAME]["properties"]["a"] == {"type": "string"}
    items = found["definitions"][f"{NAME}List"]["properties"]["items"]["items"]
    assert items == {"$ref": f"#/definitions/{NAME}"}
    other = {"type": "object", "required": ["x"], "properties": {
        "x": {"type": "string", "nullable": True}, "y": {"type": "array"},
    }}  # fmt: skip
    resources.add(boats(other))
    found = json.loads(get("/openapi/v2", resources=resources).body)["definitions"][NAME]
    assert "required" not in found
    assert (found["properties"]["x"], found["properties"]["y"]) == ({}, {})


def test_a_client_that_has_a_document_of_version_2() -> None:
    resources = Resources(["authentication.k8s.io/v1"])
    etag = get("/openapi/v2", resources=resources).header("etag") or ""
    for known, status in (
        (etag, 304), (f"W/{etag}", 304), (f'"x", {etag}', 304), ("*", 304), ('"x"', 200), ("", 200),
    ):  # fmt: skip
        for accept in ("application/json", VERSION2_PROTOBUF):
            found = get("/openapi/v2", accept, known=known, resources=resources)
            assert found.status == status, (known, accept)
            assert dict(found.headers) == {
                "cache-control": "no-cache, private", "vary": "Accept-Encoding, Accept",
                "etag": etag,
            } | ({} if status == 304 else {"content-type": accept.replace("@", ".")})  # fmt: skip
    refused = get("/openapi/v2", "text/html")
    assert (refused.status, dict(refused.headers)) == (
        406, {"cache-control": "no-cache, private", "vary": "Accept-Encoding, Accept"},
    )  # fmt: skip
    assert isinstance(refused, HttpReply)
