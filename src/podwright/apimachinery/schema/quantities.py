"""Quantities in the form in which the API server returns them.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Quantity.String
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from podwright.apimachinery.objects import format_quantity
from podwright.apimachinery.schema.types import StructType, TypeRef

TypeOf: TypeAlias = Callable[[str], StructType]


def with_canonical_quantities(value: Any, struct: StructType, type_of: TypeOf) -> Any:
    """Return an object with canonical quantities; it is the same one if nothing changes."""
    changes: dict[str, Any] = {}
    for name, ref in _fields_with_quantities(struct, type_of):
        current = value.get(name)
        if current is not None:
            new = _canonical(current, ref, type_of)
            if new is not current:
                changes[name] = new
    return value | changes if changes else value


def _canonical(value: Any, ref: TypeRef, type_of: TypeOf) -> Any:
    if ref.element is None:
        if ref.name == "quantity":
            text = format_quantity(value)
            return value if text == value else text
        return with_canonical_quantities(value, type_of(ref.name), type_of)
    inner = ref.element
    if ref.container == "map":
        entries = {
            key: entry if entry is None else _canonical(entry, inner, type_of)
            for key, entry in value.items()
        }
        return value if all(entries[key] is value[key] for key in value) else entries
    items = [entry if entry is None else _canonical(entry, inner, type_of) for entry in value]
    return value if all(new is old for new, old in zip(items, value, strict=True)) else items


def _fields_with_quantities(struct: StructType, type_of: TypeOf) -> list[tuple[str, TypeRef]]:
    if struct.quantity_fields is None:
        struct.quantity_fields = []  # a struct that contains itself ends the search here
        struct.quantity_fields = [
            (field.name, field.type)
            for field in struct.fields.values()
            if _has_quantities(field.type, type_of)
        ]
    return struct.quantity_fields


def _has_quantities(ref: TypeRef, type_of: TypeOf) -> bool:
    if ref.element is not None:
        return _has_quantities(ref.element, type_of)
    if ref.is_struct:
        return bool(_fields_with_quantities(type_of(ref.name), type_of))
    return ref.name == "quantity"
