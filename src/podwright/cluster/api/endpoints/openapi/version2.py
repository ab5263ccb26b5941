"""The document of version 2: all paths and schemas of the server in one.

It is made from the documents of version 3. Version 2 has neither defaults nor alternatives, and its
bodies are parameters. Upstream names shared parameters; here each operation has its own.

Upstream: k8s.io/kube-openapi/pkg/builder; staging/src/k8s.io/apiserver/pkg/server/routes/openapi.go
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.openapi.documents import SECURITY
from podwright.cluster.api.endpoints.openapi.names import META
from podwright.cluster.api.endpoints.openapi.plain_schemas import (
    COMMON_KINDS,
    INT_OR_STRING,
    QUANTITY,
    REGISTERED,
)
from podwright.cluster.api.endpoints.openapi.schemas import kind_document

_KINDS: Final = "x-kubernetes-group-version-kind"
_ORDER: Final = (
    "text/plain", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/json",
    "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)  # fmt: skip
"""The order of media types in upstream's document."""

_OPENID_TAGS: Final = ("WellKnown", "openid")
_PLAIN: Final[Document] = {
    QUANTITY: {"type": "string"},
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
}


def version2_document(documents: Iterable[Document], custom: Document) -> Document:
    """Return the document of version 2.

    Parameters
    ----------
    documents : iterable of dict
        The documents of version 3.
    custom : dict
        The schemas of custom resources in the form of version 2, by name.
    """
    paths: Document = {}
    definitions: Document = {}
    for each in documents:
        for path, item in each["paths"].items():
            paths[path] = _path(item)
        for name, schema in each["components"].get("schemas", {}).items():
            if name not in custom:
                definitions[name] = _definition(name, schema)
    definitions |= {name: _converted(schema) for name, schema in custom.items()}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": SECURITY,
        "security": [{"BearerToken": []}],
    }


def _definition(name: str, schema: Document) -> Document:
    found: Document = _PLAIN[name] if name in _PLAIN else _converted(schema)
    kind = name.rpartition(".")[2]
    if name == f"{META}.{kind}" and kind in COMMON_KINDS:
        return found | {_KINDS: [kind_document(*each, kind) for each in REGISTERED]}
    return found


def _converted(value: Any) -> Any:
    """Return a part of a schema in version 2."""
    if isinstance(value, list):
        return [_converted(each) for each in value]
    if not isinstance(value, dict):
        return value
    made: Document = {}
    for key, part in value.items():
        if key == "allOf":
            (only,) = part
            made |= _converted(only)
        elif key == "$ref":
            made[key] = part.replace("#/components/schemas/", "#/definitions/")
        elif key == "properties":
            made[key] = {name: _converted(each) for name, each in part.items()}
        elif key != "default":
            made[key] = _converted(part)
    return made


def _path(item: Document) -> Document:
    made: Document = {}
    for name, part in item.items():
        if name == "parameters":
            made[name] = [_parameter(each) for each in part]
        else:
            made[name] = _operation(part)
    return made


def _operation(operation: Document) -> Document:
    made = {
        name: part
        for name, part in operation.items()
        if name not in ("parameters", "requestBody", "responses")
    }
    body = operation.get("requestBody")
    responses = operation["responses"]
    types = responses["200"].get("content", {})
    made["produces"] = _ordered(types)
    made |= _consumed(operation, made["produces"])
    made["schemes"] = ["https"]
    parameters = [_parameter(each) for each in operation.get("parameters", ())]
    if body:
        (schema, *_) = [each["schema"] for each in body["content"].values()]
        required = {"required": True} if body.get("required") else {}
        parameters.insert(
            0, {"name": "body", "in": "body", **required, "schema": _converted(schema)}
        )
    if parameters:
        made["parameters"] = parameters
    made["responses"] = {status: _response(each) for status, each in responses.items()}
    return made


def _consumed(operation: Document, produced: list[str]) -> Document:
    """Return the media types of requests, which upstream names also if there is no body."""
    if body := operation.get("requestBody"):
        return {"consumes": _ordered(body["content"])}
    if produced == ["application/json", "application/yaml"]:
        return {"consumes": produced}
    if "x-kubernetes-action" in operation:
        return {"consumes": ["*/*"]}
    return {"consumes": produced} if operation["tags"][0] not in _OPENID_TAGS else {}


def _ordered(types: Collection[str]) -> list[str]:
    known = [each for each in _ORDER if each in types]
    return known + [each for each in types if each not in known]


def _response(response: Document) -> Document:
    made: Document = {"description": response["description"]}
    for content in response.get("content", {}).values():
        made["schema"] = _converted(content["schema"])
    return made


def _parameter(parameter: Document) -> Document:
    made: Document = dict(parameter["schema"])
    made |= {name: part for name, part in parameter.items() if name != "schema"}
    return made
