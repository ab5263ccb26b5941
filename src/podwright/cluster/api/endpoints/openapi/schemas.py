"""Schemas of structs, with the facts of the schema table and our own descriptions.

Upstream: k8s.io/kube-openapi/cmd/openapi-gen
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import (
    Field,
    Schema,
    StructType,
    TypeRef,
    description,
    go_ordered,
    parse_field,
)
from podwright.cluster.api.endpoints.openapi.names import META, reference, schema_name
from podwright.cluster.api.endpoints.openapi.plain_schemas import (
    COMMON_KINDS,
    JSON,
    META_KINDS,
    OPAQUE,
    PLAIN,
    RAW_EXTENSION,
    SCALARS,
    STRUCTS,
    UNIONS,
)

_PLAIN_TYPES: Final[dict[str, Document]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0}
"""The defaults of fields that are always written; none of them is a `double` or `bytes`."""
_BARE: Final = frozenset({"networking.v1.IngressRule.http"})
"""References that upstream writes without `allOf`, besides those of `JSONSchemaProps`."""

_FACTS: Final[dict[str, Document]] = {
    "core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses": {
        "additionalProperties": {
            "type": "string",
            "enum": ["ControllerResizeInProgress", "ControllerResizeInfeasible",
                     "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"],
        },
        "x-kubernetes-map-type": "granular",
    },
    "core.v1.PersistentVolumeSpec.claimRef": {"x-kubernetes-map-type": "granular"},
    "policy.v1.PodDisruptionBudgetSpec.selector": {"x-kubernetes-patch-strategy": "replace"},
}  # fmt: skip
"""Facts that the schema table does not have."""

COMMON: Final = "*"
"""The table of descriptions for the fields that all kinds have."""

_LIST_METADATA: Final = "The metadata of the list, such as its resource version."


class Schemas:
    """Makes the schemas of structs.

    Parameters
    ----------
    schema : Schema
        The structs and kinds.
    group_versions : iterable of pairs
        The group versions that have the common kinds, in order.
    """

    def __init__(self, schema: Schema, group_versions: Iterable[tuple[str, str]]) -> None:
        self._schema = schema
        self._group_versions = list(group_versions)

    def closure(self, names: Iterable[str]) -> dict[str, Document]:
        """Return schemas with all that they refer to, by name in alphabetical order."""
        found: dict[str, Document] = {}
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in found or (made := self.make(name)) is None:
                continue
            found[name] = made
            pending.extend(references(made))
        return dict(sorted(found.items()))

    def make(self, name: str) -> Document | None:
        """Return the schema of a name; None for a name that this class does not know."""
        if name in PLAIN:
            return PLAIN[name]
        if name in STRUCTS:
            rows = STRUCTS[name]
            fields = [parse_field(field, text) for field, text in rows.items()]
            made = self._struct(name, fields)
            return made | self._of_kinds(name)
        if (item := self._lists.get(name)) is not None:
            return self._list(item)
        struct = self._structs.get(name)
        if struct is None:
            return None
        made = self._struct(struct.name, list(go_ordered(struct)))
        if struct.is_atomic:
            made["x-kubernetes-map-type"] = "atomic"
        if struct.name in UNIONS:
            made["x-kubernetes-unions"] = UNIONS[struct.name]
        return made | self._of_kinds(name)

    # -------------------------------------------------------------------------- tables

    @cached_property
    def _structs(self) -> dict[str, StructType]:
        return {schema_name(name): self._schema.type(name) for name in self._schema.type_names()}

    @cached_property
    def _kinds(self) -> Mapping[str, list[tuple[str, str, str]]]:
        """By schema, the groups, versions and names of its kinds."""
        found: dict[str, list[tuple[str, str, str]]] = {}
        for kind in self._schema:
            row = kind.row
            found.setdefault(schema_name(row.type), []).append((row.group, row.version, row.kind))
        for name in META_KINDS:
            found[f"{META}.{name}"] = [("", "v1", name)]
        for name in COMMON_KINDS:
            found[f"{META}.{name}"] = [(*each, name) for each in self._group_versions]
        return found

    @cached_property
    def _lists(self) -> dict[str, str]:
        """By name of a list, the schema of its items."""
        return {
            f"{name}List": name
            for kind in self._schema
            if "list" in kind.row.verbs
            for name in [schema_name(kind.row.type)]
        }

    def _of_kinds(self, name: str) -> Document:
        kinds = self._kinds.get(name)
        if not kinds:
            return {}
        return {"x-kubernetes-group-version-kind": [kind_document(*each) for each in kinds]}

    # ------------------------------------------------------------------------- structs

    def _struct(self, name: str, fields: list[Field]) -> Document:
        made: Document = {"type": "object"}
        if sentence := description(name):
            made = {"description": sentence} | made
        if required := [field.name for field in fields if field.is_required]:
            made["required"] = required
        is_kind = schema_name(name) in self._kinds or name in self._kinds
        made["properties"] = {
            field.name: _property(name, field, is_of_kind=is_kind)
            for field in sorted(fields, key=lambda each: each.name)
        }
        return made

    def _list(self, item: str) -> Document:
        group, version, kind = self._kinds[item][0]
        metadata = {
            "description": _LIST_METADATA,
            "default": {},
            "allOf": [reference(f"{META}.ListMeta")],
        }
        return {
            "description": f"A list of objects of the kind {kind}.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"description": description(COMMON, "apiVersion"), "type": "string"},
                "items": {
                    "description": "The objects of the list.",
                    "type": "array",
                    "items": reference(item),
                },
                "kind": {"description": description(COMMON, "kind"), "type": "string"},
                "metadata": metadata,
            },
            "x-kubernetes-group-version-kind": [kind_document(group, version, f"{kind}List")],
        }


def kind_document(group: str, version: str, kind: str) -> Document:
    """Return a kind as an entry of `x-kubernetes-group-version-kind`."""
    return {"group": group, "kind": kind, "version": version}


def references(value: Any) -> Iterator[str]:
    """Yield the names of the schemas to which a part of a document refers."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "$ref" and isinstance(part, str):
                yield part.rpartition("/")[2]
            else:
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def _property(struct: str, field: Field, *, is_of_kind: bool) -> Document:
    path = f"{struct}.{field.name}"
    made = _typed(path, field.type, field.enum)
    default = _default(field)
    facts: Document = {}
    sentence = description(struct, field.name)
    if not sentence and is_of_kind:
        sentence = description(COMMON, field.name)
    if sentence:
        facts["description"] = sentence
    if default is not None:
        facts["default"] = default
    is_bare = path in _BARE or (
        struct == "apiextensions.v1.JSONSchemaProps" and field.name != "default"
    )
    if "$ref" in made and (facts or not is_bare):
        made = {"allOf": [made]}
    return facts | made | _merging(field) | _FACTS.get(path, {})


def _default(field: Field) -> Any:
    if field.default is not None or not field.is_zero:
        return field.default
    return {} if field.type.container else _ZEROS.get(field.type.name, {})


def _typed(path: str, ref: TypeRef, enum: tuple[str, ...]) -> Document:
    if ref.element is not None:
        inner = _typed(path, ref.element, enum)
        if ref.container == "list":
            return {"type": "array", "items": inner}
        return {"type": "object", "additionalProperties": inner}
    if ref.name in _PLAIN_TYPES:
        plain = _PLAIN_TYPES[ref.name]
        return plain | {"enum": list(enum)} if enum else dict(plain)
    if ref.name in SCALARS:
        return reference(SCALARS[ref.name])
    if ref.name in ("object", "any"):
        opaque = RAW_EXTENSION if ref.name == "object" else JSON
        return reference(OPAQUE.get(path, opaque))
    return reference(ref.name if ref.name.startswith("io.k8s.") else schema_name(ref.name))


def _merging(field: Field) -> Document:
    made: Document = {}
    if field.list_type:
        is_list = field.type.container == "list" or field.type.name == "bytes"
        made[f"x-kubernetes-{'list' if is_list else 'map'}-type"] = field.list_type
    if field.keys:
        made["x-kubernetes-list-map-keys"] = list(field.keys)
    if field.merge_key:
        made["x-kubernetes-patch-merge-key"] = field.merge_key
    strategies = ["merge"] * field.is_merged + ["retainKeys"] * field.retains_keys
    if strategies:
        made["x-kubernetes-patch-strategy"] = ",".join(strategies)
    return made
