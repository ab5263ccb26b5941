"""OpenAPI version 2 as protobuf, which kubectl reads to validate lists.

Only the messages and fields that the document of an API server has are encoded. Values of any type,
such as those of extensions, are YAML text in upstream's messages; JSON is YAML.

Upstream: github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.protobuf.encoding import encoded_varint, field, number_field
from podwright.cluster.api.endpoints.protobuf.wire import FIXED64

Encode: TypeAlias = Callable[[int, Any], bytes]
"""Returns a field with a value; empty for the zero value."""
Table: TypeAlias = Mapping[str, tuple[int, Encode]]


def version2_message(document: Document) -> bytes:
    """Return a document of OpenAPI version 2 as a message `openapi.v2.Document`."""
    return _message(document, _DOCUMENT, extensions=16)


def _message(value: Document, table: Table, *, extensions: int = 0) -> bytes:
    """Return a message; `extensions` is the number of the field with those, 0 for none."""
    parts: list[bytes] = []
    for name, one in value.items():
        known = table.get(name)
        if known is not None:
            number, encode = known
            parts.append(encode(number, one))
        elif extensions and name.startswith("x-"):
            parts.append(field(extensions, _named(name, _any(one))))
    return b"".join(parts)


def _text(number: int, value: str) -> bytes:
    return field(number, value.encode()) if value else b""


def _texts(number: int, value: Iterable[str]) -> bytes:
    return b"".join(field(number, one.encode()) for one in value)


def _flag(number: int, value: bool) -> bytes:  # noqa: FBT001 - the value of a field
    return number_field(number, 1) if value else b""


def _integer(number: int, value: int) -> bytes:
    return number_field(number, value) if value else b""


def _double(number: int, value: float) -> bytes:
    return encoded_varint(number << 3 | FIXED64) + struct.pack("<d", value) if value else b""


def _any(value: Any) -> bytes:
    return field(2, msgspec.json.encode(value) + b"\n")


def _any_field(number: int, value: Any) -> bytes:
    return field(number, _any(value))


def _any_fields(number: int, value: Iterable[Any]) -> bytes:
    return b"".join(field(number, _any(one)) for one in value)


def _named(name: str, content: bytes) -> bytes:
    return field(1, name.encode()) + field(2, content)


def _named_fields(encode: Callable[[Any], bytes], *, entry: int = 1) -> Encode:
    """Return the encoder of a map: a message whose repeated field has names and values."""

    def encoded(number: int, value: Mapping[str, Any]) -> bytes:
        entries = (field(entry, _named(name, encode(one))) for name, one in value.items())
        return field(number, b"".join(entries))

    return encoded


# ----------------------------------------------------------------------------- schemas


def _schema(value: Document) -> bytes:
    return _message(value, _SCHEMA, extensions=31)


def _schema_field(number: int, value: Document) -> bytes:
    return field(number, _schema(value))


def _schema_fields(number: int, value: Iterable[Document]) -> bytes:
    return b"".join(field(number, _schema(one)) for one in value)


def _type(number: int, value: str | list[str]) -> bytes:
    return field(number, _texts(1, [value] if isinstance(value, str) else value))


def _items(number: int, value: Document | list[Document]) -> bytes:
    return field(number, _schema_fields(1, value if isinstance(value, list) else [value]))


def _additional(number: int, value: Document | bool) -> bytes:  # noqa: FBT001 - as OpenAPI has it
    inside = number_field(2, int(value)) if isinstance(value, bool) else field(1, _schema(value))
    return field(number, inside)


_SCHEMA: Final[Table] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any_field),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _texts),
    "enum": (20, _any_fields),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _items),
    "allOf": (24, _schema_fields),
    "properties": (25, _named_fields(_schema)),
    "example": (30, _any_field),
}

# -------------------------------------------------------------------------------- paths

_BODY: Final[Table] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema_field),
}
_QUERY: Final[Table] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}
_PATH: Final[Table] = {**_QUERY, "type": (5, _text), "uniqueItems": (19, _flag)}
_NON_BODY: Final[Mapping[str, tuple[int, Table]]] = {"query": (3, _QUERY), "path": (4, _PATH)}
"""The number of the alternative, by the place of a parameter."""


def _parameter(value: Document) -> bytes:
    if "$ref" in value:
        return field(2, _text(1, value["$ref"]))
    if value["in"] == "body":
        return field(1, field(1, _message(value, _BODY, extensions=6)))
    number, table = _NON_BODY[value["in"]]
    return field(1, field(2, field(number, _message(value, table))))


def _parameters(number: int, value: Iterable[Document]) -> bytes:
    return b"".join(field(number, _parameter(one)) for one in value)


def _response(value: Document) -> bytes:
    return field(1, _message(value, _RESPONSE, extensions=5))


def _response_schema(number: int, value: Document) -> bytes:
    return field(number, field(1, _schema(value)))


_RESPONSE: Final[Table] = {"description": (1, _text), "schema": (2, _response_schema)}
_OPERATION: Final[Table] = {
    "tags": (1, _texts),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _named_fields(_response)),
    "schemes": (10, _texts),
    "deprecated": (11, _flag),
}


def _operation(number: int, value: Document) -> bytes:
    return field(number, _message(value, _OPERATION, extensions=13))


_VERBS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_PATH_ITEM: Final[Table] = {
    **{verb: (number, _operation) for number, verb in enumerate(_VERBS, start=2)},
    "parameters": (9, _parameters),
}


def _path_item(value: Document) -> bytes:
    return _message(value, _PATH_ITEM, extensions=10)


# ------------------------------------------------------------------------- the document

_INFO: Final[Table] = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}
_API_KEY: Final[Table] = {
    "type": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "description": (4, _text),
}


def _info(number: int, value: Document) -> bytes:
    return field(number, _message(value, _INFO))


def _security_definition(value: Document) -> bytes:
    assert value["type"] == "apiKey", value
    return field(2, _message(value, _API_KEY))


def _security(number: int, value: Iterable[Mapping[str, list[str]]]) -> bytes:
    requirement = _named_fields(lambda scopes: _texts(1, scopes))
    return b"".join(requirement(number, one) for one in value)


_DOCUMENT: Final[Table] = {
    "swagger": (1, _text),
    "info": (2, _info),
    "paths": (8, _named_fields(_path_item, entry=2)),
    "definitions": (9, _named_fields(_schema)),
    "security": (12, _security),
    "securityDefinitions": (13, _named_fields(_security_definition)),
}
