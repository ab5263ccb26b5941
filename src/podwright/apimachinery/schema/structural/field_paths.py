"""Paths of fields below a schema: `fieldPath` of rules, and `jsonPath` of selectable fields.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go,
ValidFieldPath
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podwright.apimachinery.schema.structural.pruning import Schema

_ESCAPES = {"\\": "\\", "'": "'", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
            "t": "\t", "v": "\v"}  # fmt: skip


class FieldPathError(ValueError):
    """A path that leads nowhere; the message is upstream's."""


def schema_at(path: str, schema: Schema, *, allows_brackets: bool = True) -> tuple[str, Schema]:
    """Return a path as errors write it, and the schema at it.

    Parameters
    ----------
    path : str
        Such as `.spec.name` or `.spec['a.b']`.
    schema : mapping
        Where the path starts.
    allows_brackets : bool
        Whether names in brackets are allowed.

    Raises
    ------
    FieldPathError
        The path cannot be parsed, or the schema does not have the field.
    """
    shown = ""
    tokens = _tokens(path)
    for token in tokens:
        if token == "[":
            if not allows_brackets:
                raise FieldPathError("array notation is not allowed")
            quoted = _next(tokens)
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            name = _unescaped(quoted[1:-1])
            shown, schema = _step(shown, name, schema)
            if (closing := _next(tokens)) != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            shown, schema = _step(shown, _next(tokens), schema)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return shown, schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _step(shown: str, name: str, schema: Schema) -> tuple[str, Schema]:
    properties: Mapping[str, Any] | None = schema.get("properties")
    values = schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return (f"{shown}.{name}" if shown else name), properties[name]
    if isinstance(values, Mapping):
        return f"{shown}[{name}]", values
    raise FieldPathError("does not refer to a valid field")


def _tokens(path: str) -> Iterator[str]:
    position = 0
    while position < len(path):
        end = position + 1
        if path[position] == "'":
            while end < len(path) and (path[end] != "'" or path[end - 1] == "\\"):
                end += 1
            end += 1
        elif path[position] not in ".[]":
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[position:end]
        position = end


def _unescaped(text: str) -> str:
    if text.endswith("\\") and not text.endswith("\\\\"):
        raise FieldPathError("invalid string literal: invalid escape sequence")
    found, position = "", 0
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 1
            if text[position] not in _ESCAPES:
                raise FieldPathError("invalid string literal: invalid escape sequence")
            letter = _ESCAPES[text[position]]
        found += letter
        position += 1
    return found
