"""The OpenAPI 3.1 document of `/podwright/v1`, made from the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.apiserver.control.described_schemas import describe
from podwright.online.apiserver.control.endpoints import Endpoint
from podwright.online.apiserver.control.problems import CONTENT_TYPE, ProblemDocument

_REFERENCE: Final = "#/components/schemas/{name}"


def openapi_document(endpoints: Iterable[Endpoint], version: str) -> Document:
    """Return the OpenAPI document of endpoints.

    Parameters
    ----------
    endpoints : iterable of Endpoint
    version : str
        Of podwright.
    """
    table = list(endpoints)
    types: list[Any] = [ProblemDocument]
    for each in table:
        types += [t for t in (*_replies(each), each.body) if t is not None and t not in types]
    references, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    for schema in schemas.values():
        describe(schema)
    schema_of = dict(zip(types, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in table:
        paths.setdefault(each.url, {})[each.method.lower()] = _operation(each, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "podwright", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # Without a token, the request is that of the anonymous user.
        "security": [{"token": []}, {}],
    }


def _replies(endpoint: Endpoint) -> tuple[Any, ...]:
    if endpoint.reply is None:
        return ()
    return endpoint.reply if isinstance(endpoint.reply, tuple) else (endpoint.reply,)


def _operation(endpoint: Endpoint, schema_of: dict[Any, Any]) -> Document:
    replies = [schema_of[each] for each in _replies(endpoint)]
    shape: Document = {}
    if replies:
        shape["schema"] = replies[0] if len(replies) == 1 else {"anyOf": replies}
    problem = {CONTENT_TYPE: {"schema": schema_of[ProblemDocument]}}
    forms: dict[str, Document] = {each: {} for each in endpoint.other_media_types}
    forms[endpoint.media_type] = shape
    answers: dict[str, Any] = {"200": {"description": HTTPStatus.OK.phrase, "content": forms}}
    for status, meaning in endpoint.statuses.items():
        answers[str(status)] = {"description": meaning, "content": problem}
    words = re.findall(r"[a-z0-9]+", endpoint.path)
    if endpoint.is_at_root:
        words.append("at-root")
    operation: Document = {
        "operationId": "-".join([endpoint.method.lower(), *words]),
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": answers,
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": schema_of[endpoint.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(endpoint: Endpoint) -> list[Document]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[Document]:
    if endpoint.query is None:
        return []
    (_,), components = msgspec.json.schema_components([endpoint.query], ref_template=_REFERENCE)
    described = components[endpoint.query.__name__]
    describe(described)
    return [_parameter(name, schema) for name, schema in described["properties"].items()]


def _parameter(name: str, schema: Document) -> Document:
    text = schema.pop("description", "")
    parameter: Document = {"name": name, "in": "query", "schema": schema}
    return parameter | ({"description": text} if text else {})
