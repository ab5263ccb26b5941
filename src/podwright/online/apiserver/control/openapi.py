"""The OpenAPI 3.1 document of `/podwright/v1`, made from the table of endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
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


# Descriptions of schemas and their properties, from the docstrings of the structs.

_SECTION: Final = re.compile(r"\n(?P<title>[A-Z]\w+)\n-{3,}\n")
_ENTRY: Final = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : (?P<type>[^\n]*))?$", re.MULTILINE)
_FIELDS: Final = ("Attributes", "Parameters")


def describe(schema: Document) -> None:
    """Replace the docstring of a schema by its summary, and describe its properties.

    Parameters
    ----------
    schema : dict
        Of a struct; its description is the docstring, in the form of numpydoc.
    """
    docstring = schema.get("description")
    if not isinstance(docstring, str):
        return
    summary, *sections = _SECTION.split(inspect.cleandoc(docstring))
    schema["description"] = _one_line(summary)
    texts: dict[str, str] = {}
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        if title in _FIELDS:
            texts |= _texts(section)
    for name, shape in schema.get("properties", {}).items():
        text = texts.get(_snake(name), "")
        if text and isinstance(shape, dict):
            shape.setdefault("description", text)


def _texts(section: str) -> dict[str, str]:
    """Return the text of each field; fields without a text have none."""
    found: dict[str, str] = {}
    entries = list(_ENTRY.finditer(section))
    ends = [entry.start() for entry in entries[1:]] + [len(section)]
    for entry, end in zip(entries, ends, strict=True):
        text = _one_line(section[entry.end() : end])
        found |= dict.fromkeys(entry["names"].split(", "), text)
    return found


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def _one_line(text: str) -> str:
    """Return paragraphs of one line each."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)
