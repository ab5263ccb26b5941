"""The fields of an object, as `managedFields` records who set them.

A field set is a tree of dictionaries: `f:name` is a field, `k:{...}` an entry of a list of type
map, `v:...` an element of a list of type set. `.` marks that an entry itself is set, besides its
parts. Atomic values have no parts.

Upstream: sigs.k8s.io/structured-merge-diff/typed/tofieldset.go, fieldpath/serialize.go
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from podwright.objects import Document
from podwright.schema.types import Field, StructType, TypeRef

FieldSet: TypeAlias = dict[str, Any]
"""Path elements to the sets below them; {} for a leaf."""

TypeOf: TypeAlias = Callable[[str], StructType]

_UNOWNED = frozenset({"apiVersion", "kind"})
_UNOWNED_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
     "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}
)  # fmt: skip


def field_set(document: Document, struct: StructType, type_of: TypeOf) -> FieldSet:
    """Return the fields of an object, without those that the server sets.

    Parameters
    ----------
    document : dict
        The object.
    struct : StructType
        Its type.
    type_of : callable
        Returns a struct type of the table by its name.
    """
    found: FieldSet = {}
    for name, value in document.items():
        field = struct.fields.get(name)
        if field is None or name in _UNOWNED or value is None:
            continue
        if name == "metadata":
            own = {key: one for key, one in value.items() if key not in _UNOWNED_METADATA}
            inside = _of_struct(own, type_of(field.type.name), type_of)
            if inside:
                found["f:metadata"] = inside
        else:
            found[f"f:{name}"] = _of_field(value, field, type_of)
    return found


def _of_struct(value: Document, struct: StructType, type_of: TypeOf) -> FieldSet:
    return {
        f"f:{name}": _of_field(one, struct.fields[name], type_of)
        for name, one in value.items()
        if one is not None and name in struct.fields
    }


def _of_field(value: Any, field: Field, type_of: TypeOf) -> FieldSet:
    ref = field.type
    if ref.container == "list":
        if field.list_type == "map":
            return _of_entries(value, field, type_of)
        return _of_elements(value) if field.list_type == "set" else {}
    if field.list_type == "atomic":
        return {}
    if ref.element is not None:
        found = {f"f:{key}": _of_value(one, ref.element, type_of) for key, one in value.items()}
        return {key: {".": {}} | inside if inside else {} for key, inside in found.items()}
    return _of_value(value, ref, type_of)


def _of_value(value: Any, ref: TypeRef, type_of: TypeOf) -> FieldSet:
    if not ref.is_struct or not isinstance(value, dict):
        return {}
    struct = type_of(ref.name)
    return {} if struct.is_atomic else _of_struct(value, struct, type_of)


def _of_entries(value: list[Document], field: Field, type_of: TypeOf) -> FieldSet:
    element = field.type.element
    assert element is not None
    struct = type_of(element.name)
    found: FieldSet = {}
    for entry in value:
        key = {
            name: entry.get(name, struct.fields[name].default)
            for name in sorted(field.keys)
            if entry.get(name, struct.fields[name].default) is not None
        }
        found[f"k:{_compact(key)}"] = {".": {}} | _of_struct(entry, struct, type_of)
    return found


def _of_elements(value: list[Any]) -> FieldSet:
    return {f"v:{_compact(element)}": {} for element in value}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
