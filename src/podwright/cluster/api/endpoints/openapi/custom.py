"""Documents of custom resources: their paths, and their schemas in both versions.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/unfold.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, cast

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in, description
from podwright.cluster.api.endpoints.openapi.documents import document
from podwright.cluster.api.endpoints.openapi.names import (
    META,
    custom_schema_name,
    reference,
    schema_name,
)
from podwright.cluster.api.endpoints.openapi.operations import (
    CUSTOM_PATCH_TYPES,
    CUSTOM_TYPES,
    LISTING,
    STATUS,
    Operation,
    ResourcePaths,
)
from podwright.cluster.api.endpoints.openapi.plain_schemas import REGISTERED_FOR_CUSTOM
from podwright.cluster.api.endpoints.openapi.schemas import (
    COMMON,
    Schemas,
    kind_document,
    references,
)
from podwright.cluster.api.versions.resources import Resource

_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SCALE: Final = schema_name("autoscaling.v1.Scale")
_OBJECT_META: Final = f"{META}.ObjectMeta"
_KEPT: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_INT_OR_STRING_TYPES: Final = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf", "not")


class CustomVersion(Protocol):
    """What is read of the version of a definition."""

    @property
    def names(self) -> Document:
        """The accepted names."""

    @property
    def schema(self) -> Document | None:
        """`openAPIV3Schema`; None if the version has none."""

    @property
    def selectable(self) -> tuple[str, ...]:
        """The paths of fields for field selectors."""

    @property
    def preserves_unknown(self) -> bool:
        """Whether unknown fields are kept everywhere."""


def custom_version(resource: Resource) -> CustomVersion:
    """Return the version of the definition behind a custom resource."""
    return cast(CustomVersion, cast(Any, resource.kind).version)


def custom_document(resources: Sequence[Resource]) -> Document:
    """Return the document of a group version of custom resources, in version 3."""
    paths: Document = {}
    own: Document = {}
    for resource in resources:
        paths |= dict(_CustomPaths(resource).items())
        own |= custom_schemas(resource)
    others = Schemas(built_in(), REGISTERED_FOR_CUSTOM).closure(references([paths, own]))
    return document(paths, dict(sorted((others | own).items())), _INFO, is_secured=False)


# ----------------------------------------------------------------------------- paths


class _CustomPaths(ResourcePaths):
    """The paths of a custom resource, whose operations upstream describes in fewer words."""

    def __init__(self, resource: Resource) -> None:
        row = resource.kind.row
        super().__init__(row)
        self._schema = custom_schema_name(row.group, row.version, row.kind)
        self._deleted = STATUS
        self._changes: dict[str, dict[str, Any]] = {
            "list": {"answer": _list_name(resource)},
            "get": {"parameters": ("pretty", "resourceVersion")},
            "deletecollection": {"parameters": ("pretty", *LISTING), "body": ""},
            "patch": {"body_types": CUSTOM_PATCH_TYPES, "statuses": (200,)},
        }

    def _plain(self, method: str, verb: str, noun: str) -> Operation:
        changes = {"body_types": CUSTOM_TYPES, "answer_types": CUSTOM_TYPES}
        return msgspec.structs.replace(
            super()._plain(method, verb, noun), **changes | self._changes.get(verb, {})
        )

    def _description(self, _verb: str, _part: str = "") -> str:
        return ""

    def _watches(self, _one: str) -> Iterator[tuple[str, list[Operation]]]:
        return iter(())

    def _part_kind(self, where: str) -> tuple[Document, str]:
        return self._kind, _SCALE if where else self._schema


# ---------------------------------------------------------------------------- schemas


def _list_name(resource: Resource) -> str:
    row = resource.kind.row
    kind = custom_version(resource).names.get("listKind") or f"{row.kind}List"
    return custom_schema_name(row.group, row.version, kind)


def custom_schemas(resource: Resource, *, is_version2: bool = False) -> Document:
    """Return the schemas of the objects and of the list, by name."""
    row = resource.kind.row
    version = custom_version(resource)
    name, list_name = custom_schema_name(row.group, row.version, row.kind), _list_name(resource)
    made = _object_schema(version, is_version2=is_version2)
    made["x-kubernetes-group-version-kind"] = [kind_document(row.group, row.version, row.kind)]
    list_kind = list_name.rpartition(".")[2]
    listed: Document = {
        "description": f"{list_kind} is a list of objects of the kind {row.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_fields(),
            "items": {
                "description": f"The list of {row.resource}.",
                "type": "array",
                "items": reference(name),
            },
            "metadata": _described("The metadata of the list.", f"{META}.ListMeta"),
        },
        "x-kubernetes-group-version-kind": [kind_document(row.group, row.version, list_kind)],
    }
    if version.selectable:
        paths = [{"fieldPath": path.removeprefix(".")} for path in version.selectable]
        made["x-kubernetes-selectable-fields"] = listed["x-kubernetes-selectable-fields"] = paths
    return {name: made, list_name: listed}


def _object_schema(version: CustomVersion, *, is_version2: bool) -> Document:
    schema = version.schema
    keeps = schema is not None and (schema.get(_KEPT) or version.preserves_unknown)
    if schema is None or (is_version2 and keeps):
        return {"type": "object"}
    made = _version2(schema) if is_version2 else _unfolded(schema)
    properties = _type_fields() | {
        "metadata": _described(description(COMMON, "metadata"), _OBJECT_META)
    }
    made["properties"] = (made.get("properties") or {}) | properties
    return _with_embedded(made, is_version2=is_version2)


def _type_fields() -> Document:
    return {
        "apiVersion": {"description": description(COMMON, "apiVersion"), "type": "string"},
        "kind": {"description": description(COMMON, "kind"), "type": "string"},
    }


def _described(sentence: str, name: str) -> Document:
    return {"description": sentence, "allOf": [reference(name)]}


def _mapped(schema: Document, change: Any) -> Document:
    """Return a schema whose inner schemas are changed."""
    made = dict(schema)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: change(each) for name, each in made["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = change(made[name])
    return made


def _unfolded(schema: Document) -> Document:
    """Return a schema that says in words of JSON Schema what `int-or-string` means."""
    made = _mapped(schema, _unfolded)
    if not made.get(_INT_OR_STRING):
        return made
    any_of, all_of = made.get("anyOf"), made.get("allOf")
    first = all_of[0].get("anyOf") if all_of else None
    if _INT_OR_STRING_TYPES in (any_of, first):
        return made
    if any_of:
        made["allOf"] = [{"anyOf": _INT_OR_STRING_TYPES}, *(all_of or ())]
    else:
        made["anyOf"] = _INT_OR_STRING_TYPES
    return made


def _version2(schema: Document) -> Document:
    """Return a schema without what version 2 does not have, and what kubectl misunderstands."""
    made = _mapped(schema, _version2)
    is_nullable, keeps = schema.get("nullable"), schema.get(_KEPT)
    dropped = {*_JUNCTORS, "default", "nullable"}
    if is_nullable or keeps:
        dropped |= {"items", "properties"}
    kind = made.get("type")
    has_no_items = kind == "array" and ("items" in dropped or "items" not in made)
    if is_nullable or has_no_items or (keeps and kind == "object"):
        dropped.add("type")
    inner = schema.get("properties") or {}
    required = [each for each in made.get("required") or ()
                if not (inner.get(each) or {}).get("nullable")]  # fmt: skip
    extra = schema.get("additionalProperties")
    if not required or (isinstance(extra, dict) and extra.get("nullable")):
        dropped.add("required")
    elif required:
        made["required"] = required
    return {name: part for name, part in made.items() if name not in dropped}


def _with_embedded(schema: Document, *, is_version2: bool) -> Document:
    """Return a schema in which embedded resources have the fields of every object."""
    made = _mapped(schema, lambda each: _with_embedded(each, is_version2=is_version2))
    if not made.get(_EMBEDDED) or (is_version2 and made.get(_KEPT)):
        return made
    properties = _type_fields() | {
        "metadata": _described(description(COMMON, "metadata"), _OBJECT_META)
    }
    made["properties"] = (made.get("properties") or {}) | properties
    required = list(made.get("required") or ())
    made["required"] = required + [each for each in ("kind", "apiVersion") if each not in required]
    return made
