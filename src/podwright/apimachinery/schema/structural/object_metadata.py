"""Metadata in custom resources: of the object itself, and of whole objects embedded in it.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.field_suggestions import UNKNOWN_FIELD
from podwright.apimachinery.schema.kind_index import built_in
from podwright.apimachinery.schema.structural.pruning import Schema, _shared
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, printed
from podwright.apimachinery.schema.validation.metadata import validate_object_meta
from podwright.apimachinery.schema.validation.names import dns_1035_label

_STRUCT: Final = "meta.v1.ObjectMeta"


def metadata_problems(document: Document, path: str = "metadata") -> list[Problem]:
    """Return every unknown field and wrong type in the metadata of an object."""
    metadata = document.get("metadata")
    if metadata is None:
        return []
    return built_in().struct_problems(_STRUCT, metadata, path)


def with_go_metadata(document: Document) -> Document:
    """Return an object with its metadata as Go writes it."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    made = built_in().struct_form(_STRUCT, metadata)
    if made.get("creationTimestamp") is None:
        made.pop("creationTimestamp", None)
    return document | {"metadata": made}


# ------------------------------------------------------------------- embedded objects


def has_embedded(schema: Schema) -> bool:
    """Whether a schema or one below it is of an embedded object."""
    if schema.get("x-kubernetes-embedded-resource"):
        return True
    parts = [schema.get("items"), schema.get("additionalProperties")]
    parts += (schema.get("properties") or {}).values()
    return any(has_embedded(part) for part in parts if isinstance(part, Mapping))


def embedded_problems(value: Any, schema: Schema, path: str = "") -> Iterator[Problem]:
    """Yield what keeps the embedded objects of a value from being decoded."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                text = f"Invalid value: {printed(value[name])}: must be a string"
                yield f"{path}.{name}", text, value[name]
        at = f"{path}.metadata"
        for problem in metadata_problems(value, at):
            if problem[1].startswith(UNKNOWN_FIELD):
                yield problem
            else:
                # Go's decoder reports the whole metadata, and what it could not decode.
                text = f"Invalid value: {printed(value['metadata'])}: json: {problem[1]}"
                yield at, text, value["metadata"]
    for part, inner, at in _parts(value, schema, path):
        yield from embedded_problems(part, inner, at)


def with_embedded_metadata(value: Any, schema: Schema) -> Any:
    """Return a value whose embedded objects have their metadata as Go writes it."""
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        return _shared(value, [with_embedded_metadata(each, items) for each in value])
    if not isinstance(value, dict):
        return value
    made = value
    if schema.get("x-kubernetes-embedded-resource"):
        made = with_go_metadata(value)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    for name, part in value.items():
        inner = properties.get(name, values)
        if isinstance(inner, Mapping) and isinstance(part, dict | list):
            changed = with_embedded_metadata(part, inner)
            if changed is not part:
                made = made | {name: changed}
    return made


def validate_embedded(errors: FieldErrors, value: Any, schema: Schema, path: str = "") -> None:
    """Check `apiVersion`, `kind` and `metadata` of the embedded objects of a value."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        _validate_object(errors, value, path)
    for part, inner, at in _parts(value, schema, path):
        validate_embedded(errors, part, inner, at)


def _validate_object(errors: FieldErrors, value: Document, path: str) -> None:
    prefix = f"{path}." if path else ""
    for name in ("apiVersion", "kind"):
        if name not in value:
            errors.required(f"{prefix}{name}")
    version, kind = value.get("apiVersion"), value.get("kind")
    if "apiVersion" in value:
        at = f"{prefix}apiVersion"
        if not isinstance(version, str):
            errors.invalid(at, version, "must be a string")
        elif not version:
            errors.invalid(at, version, "must not be empty")
        elif version.count("/") > 1:
            errors.invalid(at, version, f"unexpected GroupVersion string: {version}")
    if "kind" in value:
        at = f"{prefix}kind"
        if not isinstance(kind, str):
            errors.invalid(at, kind, "must be a string")
        elif not kind:
            errors.invalid(at, kind, "must not be empty")
        elif problems := dns_1035_label(kind.lower()):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.invalid(at, kind, text)
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and not any(metadata_problems(value)):
        # An embedded object may have no name yet.
        named = metadata if metadata.get("name") else metadata | {"name": "fakename"}
        errors.problems += validate_object_meta(
            named,
            name_rule="path",
            is_namespaced=bool(metadata.get("namespace")),
            path=f"{prefix}metadata",
            qualifies_finalizers=False,
        )


def _parts(value: Any, schema: Schema, path: str) -> Iterator[tuple[Any, Schema, str]]:
    """Yield the parts of a value that have schemas, with their paths."""
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, each in enumerate(value):
                yield each, items, f"{path}[{index}]"
    elif isinstance(value, dict):
        properties: Mapping[str, Any] = schema.get("properties") or {}
        values = schema.get("additionalProperties")
        for name, part in value.items():
            if name in properties:
                yield part, properties[name], f"{path}.{name}" if path else name
            elif isinstance(values, Mapping):
                yield part, values, f"{path}[{name}]"
