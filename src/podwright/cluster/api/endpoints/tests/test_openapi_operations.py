"""Every operation of some documents in a text of one line each, which is kept beside the tests.

`PODWRIGHT_UPDATE_STORIES=1` writes the text again; the difference is reviewed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.openapi.custom import custom_document
from podwright.cluster.api.endpoints.openapi.documents import (
    PLAIN_PATHS,
    group_document,
    plain_document,
    version_document,
)
from podwright.cluster.api.endpoints.openapi.operations import ResourcePaths
from podwright.cluster.api.endpoints.openapi.plain_schemas import REGISTERED, REGISTERED_FOR_CUSTOM
from podwright.cluster.api.endpoints.openapi.schemas import Schemas
from podwright.cluster.api.endpoints.openapi.version2 import version2_document
from podwright.cluster.api.endpoints.tests.test_openapi import boats
from podwright.cluster.api.versions.resources import built_in_resources

TEXT = Path(__file__).with_name("openapi_operations.txt")
KINDS = {
    "v1": ("Binding", "ComponentStatus", "Endpoints", "Namespace", "Pod", "ServiceAccount"),
    "apps/v1": ("Deployment",),
    "certificates.k8s.io/v1": ("CertificateSigningRequest",),
    "authentication.k8s.io/v1": ("TokenReview",),
}
SCHEMAS = (
    "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.ContainerPort",
    "io.k8s.api.core.v1.EnvVar", "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
    "io.k8s.api.core.v1.PersistentVolumeSpec", "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.core.v1.ServicePort", "io.k8s.api.core.v1.ServiceSpec",
    "io.k8s.api.apps.v1.DeploymentSpec", "io.k8s.api.networking.v1.IngressRule",
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
)  # fmt: skip
"""The schemas that are recorded with their fields, but without descriptions."""

_SHORT = {
    "#/components/schemas/": "@",
    "io.k8s.apimachinery.pkg.apis.meta.v1.": "meta.",
    "io.k8s.api.": "api.",
    "application/vnd.kubernetes.protobuf": "a/pb",
    "application/": "a/",
}


def shown(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    return text.replace('"', "")


def parameter(one: Document) -> str:
    """Return `NAME` of a unique text in the query, and otherwise what differs from it."""
    plain = {"in": "query", "schema": {"type": "string", "uniqueItems": True}}
    rest = {name: part for name, part in one.items() if name != "name"}
    return str(one["name"]) + (
        "" if rest == plain else shown(rest).replace("uniqueItems:true", "u")
    )


def content(one: Document) -> str:
    """Return the media types of a body, and the schema that they have."""
    schemas = {shown(each) for each in one.values()}
    return f"{shown(list(one))}{'|'.join(sorted(schemas))}" if one else "none"


def operation(one: Document) -> str:
    rest = dict(one)
    parts = [",".join(map(parameter, rest.pop("parameters", ())))]
    if body := rest.pop("requestBody", None):
        parts.append(f"body {content(body.pop('content'))}{shown(body)}")
    for status, each in rest.pop("responses").items():
        answer = dict(each)
        parts.append(f"{status} {content(answer.pop('content', {}))}{shown(answer)}")
    return f"{shown(rest)} {' '.join(parts)}"


_PARTS = ("paths", "components")


def lines_of(document: Document) -> Iterator[str]:
    """Yield the facts of a document, but for its schemas, whose names are enough."""
    yield shown({name: part for name, part in document.items() if name not in _PARTS})
    for path, item in document["paths"].items():
        yield f"{path} {','.join(map(parameter, item.get('parameters', ())))}"
        for method, one in item.items():
            if method != "parameters":
                yield f"  {method} {operation(one)}"
    components = document["components"]
    yield f"{len(components.get('schemas', ()))} schemas"
    yield f"security {shown(components.get('securitySchemes'))}"


def documents() -> Iterator[tuple[str, Document]]:
    for key in PLAIN_PATHS:
        yield key, plain_document(key)
    yield "apis/rbac.authorization.k8s.io", group_document("rbac.authorization.k8s.io")
    for api_version, kinds in KINDS.items():
        group, _, version = api_version.rpartition("/")
        found = [built_in().find(api_version, kind) for kind in kinds]
        rows = [kind.row for kind in found if kind is not None]
        yield api_version, version_document(group, version, rows)
    yield "boats", custom_document([boats()])
    cluster = boats(selectable=(".spec.len",))
    parts = {"scale": "autoscaling/v1/Scale"}
    row = msgspec.structs.replace(cluster.kind.row, namespaced=False, subresources=parts)
    kind: Any = cluster.kind
    kind.row = row
    yield "boats without namespaces", custom_document([cluster])


def without_descriptions(value: Any) -> Any:
    """Return a schema in which a description is its last character."""
    if isinstance(value, list):
        return [without_descriptions(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: part[-1:] if isinstance(part, str) and name == "description"
        else without_descriptions(part)
        for name, part in value.items()
    }  # fmt: skip


def schema_lines() -> Iterator[str]:
    known = Schemas(built_in(), dict.fromkeys([("", "v1"), ("apps", "v1")])).closure(SCHEMAS)
    for name in SCHEMAS:
        yield f"{name} {shown(without_descriptions(known[name]))}"


def test_operations_and_schemas_are_the_recorded_ones() -> None:
    found = [line for name, each in documents() for line in (f"# {name}", *lines_of(each), "")]
    found += ["# schemas", *schema_lines()]
    if os.environ.get("PODWRIGHT_UPDATE_STORIES"):
        TEXT.write_text("\n".join(found) + "\n")
    recorded = TEXT.read_text().split("\n")[:-1]
    assert found == recorded, "\n".join(unified_diff(recorded, found, n=0, lineterm=""))


def test_each_path_of_a_kind_is_made_once() -> None:
    for api_version, kinds in KINDS.items():
        for name in kinds:
            kind = built_in().find(api_version, name)
            assert kind is not None
            paths = [path for path, _ in ResourcePaths(kind.row).items()]
            assert len(paths) == len(set(paths)), name


NOT_SERVED = {
    "admission.k8s.io": "v1 v1beta1", "apiextensions.k8s.io": "v1beta1",
    "apiregistration.k8s.io": "v1beta1", "apps": "v1beta1 v1beta2",
    "authentication.k8s.io": "v1alpha1 v1beta1", "authorization.k8s.io": "v1beta1",
    "batch": "v1beta1", "discovery.k8s.io": "v1beta1", "events.k8s.io": "v1beta1",
    "extensions": "v1beta1", "flowcontrol.apiserver.k8s.io": "v1beta1 v1beta2 v1beta3",
    "imagepolicy.k8s.io": "v1alpha1", "node.k8s.io": "v1alpha1 v1beta1", "policy": "v1beta1",
    "rbac.authorization.k8s.io": "v1alpha1 v1beta1", "scheduling.k8s.io": "v1beta1",
    "storage.k8s.io": "v1alpha1",
}  # fmt: skip
"""The versions of groups that upstream's scheme has and no server offers."""


def test_the_common_kinds_have_all_versions_that_upstream_knows() -> None:
    served = {
        tuple(version.rpartition("/")[::2])
        for version, _ in built_in_resources()
        if not version.startswith("metrics.k8s.io/")
    }
    unserved = {
        (group, version) for group, versions in NOT_SERVED.items() for version in versions.split()
    }
    assert unserved.isdisjoint(served)
    assert list(REGISTERED) == sorted(served | unserved)
    of_servers = {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
                  "imagepolicy.k8s.io"}  # fmt: skip
    of_custom = [each for each in REGISTERED if each[0] not in of_servers]
    assert list(REGISTERED_FOR_CUSTOM) == of_custom


def test_a_document_of_version_2_as_a_whole() -> None:
    ref = "#/components/schemas/"
    query = {"name": "a", "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    in_path = {
        "name": "name", "in": "path", "required": True, "schema": {"type": "string"},
    }  # fmt: skip
    answer = {"schema": {"$ref": f"{ref}b.B"}}
    get = {
        "tags": ["core_v1"],
        "description": "read",
        "operationId": "get",
        "parameters": [query],
        "responses": {
            "200": {
                "description": "OK",
                "content": {"application/yaml": answer, "application/json": answer},
            },
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": "get",
    }
    put = get | {
        "operationId": "put",
        "requestBody": {
            "content": {"x/y": answer, "application/json-patch+json": answer},
            "required": True,
        },
        "responses": {
            "200": {
                "description": "OK",
                "content": {"text/plain": answer, "z/z": answer, "application/json": answer},
            }
        },
    }
    plain = {
        "tags": ["openid"],
        "operationId": "plain",
        "responses": {"200": {"description": "OK", "content": {"a/b": {"schema": {}}}}},
    }
    text = {name: part for name, part in get.items() if name != "parameters"} | {
        "responses": {"200": {"description": "OK", "content": {"text/plain": answer}}}
    }
    delete = put | {"requestBody": {"content": {"*/*": answer}}}
    version3 = {
        "paths": {
            "/b": {"get": get, "put": put, "parameters": [in_path]},
            "/a": {"get": plain, "delete": delete},
            "/d": {"get": text},
            "/c": {"get": plain | {"tags": ["core"]}},
            "/e": {"get": plain | {"tags": ["WellKnown"]}},
        },
        "components": {
            "schemas": {
                "b.B": {
                    "type": "object",
                    "default": {},
                    "properties": {
                        "default": {"type": "string", "default": ""},
                        "c": {"description": "d", "allOf": [{"$ref": f"{ref}a.A"}]},
                        "l": {"type": "array", "items": {"$ref": f"{ref}a.A"}},
                    },
                    "required": ["c", "default"],
                },
                "a.A": {"enum": ["x", {"default": 1, "y": 2}]},
                "own": {"type": "string"},
                "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {"type": "object"},
                "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": []},
                "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"oneOf": []},
            }
        },
    }
    found = version2_document(
        [version3, {"paths": {}, "components": {}}], {"own": {"type": "object", "default": 1}}
    )
    b = {"$ref": "#/definitions/b.B"}
    produced = ["application/json", "application/yaml"]
    shared = {"type": "string", "uniqueItems": True, "name": "a", "in": "query"}
    kinds = found["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"].pop(
        "x-kubernetes-group-version-kind"
    )
    assert {"group": "", "kind": "DeleteOptions", "version": "v1"} in kinds
    assert {each["kind"] for each in kinds} == {"DeleteOptions"}
    responses = {"200": {"description": "OK", "schema": b}}
    in_body = {"name": "body", "in": "body", "required": True, "schema": b}
    types = ["text/plain", "application/json", "z/z"]
    of_put = {
        "tags": ["core_v1"],
        "description": "read",
        "operationId": "put",
        "x-kubernetes-action": "get",
        "produces": types,
        "consumes": ["application/json-patch+json", "x/y"],
        "schemes": ["https"],
        "parameters": [in_body, shared],
        "responses": responses,
    }
    of_plain = {
        "tags": ["openid"],
        "operationId": "plain",
        "produces": ["a/b"],
        "schemes": ["https"],
        "responses": {"200": {"description": "OK", "schema": {}}},
    }
    without = {key: in_body[key] for key in ("name", "in", "schema")}
    assert found == {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {
            "/a": {
                "get": of_plain,
                "delete": of_put | {"consumes": ["*/*"], "parameters": [without, shared]},
            },
            "/b": {
                "get": {
                    "tags": ["core_v1"],
                    "description": "read",
                    "operationId": "get",
                    "x-kubernetes-action": "get",
                    "produces": produced,
                    "consumes": produced,
                    "schemes": ["https"],
                    "parameters": [shared],
                    "responses": responses | {"401": {"description": "Unauthorized"}},
                },
                "put": of_put,
                "parameters": [
                    {"type": "string", "name": "name", "in": "path", "required": True}
                ],
            },
            "/c": {"get": of_plain | {"tags": ["core"], "consumes": ["a/b"]}},
            "/d": {
                "get": {
                    "tags": ["core_v1"],
                    "description": "read",
                    "operationId": "get",
                    "x-kubernetes-action": "get",
                    "produces": ["text/plain"],
                    "consumes": ["*/*"],
                    "schemes": ["https"],
                    "responses": responses,
                }
            },
            "/e": {"get": of_plain | {"tags": ["WellKnown"]}},
        },
        "definitions": {
            "a.A": {"enum": ["x", {"y": 2}]},
            "b.B": {
                "type": "object",
                "properties": {
                    "default": {"type": "string"},
                    "c": {"description": "d", "$ref": "#/definitions/a.A"},
                    "l": {"type": "array", "items": {"$ref": "#/definitions/a.A"}},
                },
                "required": ["c", "default"],
            },
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
            "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {"type": "object"},
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
                "type": "string", "format": "int-or-string",
            },
            "own": {"type": "object"},
        },
        "securityDefinitions": {
            "BearerToken": {
                "type": "apiKey",
                "description": "Bearer Token authentication",
                "name": "authorization",
                "in": "header",
            }
        },
        "security": [{"BearerToken": []}],
    }  # fmt: skip
    assert list(found["paths"]) == sorted(found["paths"])
    assert list(found["definitions"]) == sorted(found["definitions"])
