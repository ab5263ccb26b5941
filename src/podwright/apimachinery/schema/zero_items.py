"""Null items of lists and maps, which Go decodes as zero values."""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.schema.quantities import TypeOf
from podwright.apimachinery.schema.types import StructType, TypeRef

_ZERO: Final[dict[str, Any]] = {"string": "", "int32": 0, "int64": 0, "bool": False}


def with_zero_items(value: Any, struct: StructType, type_of: TypeOf) -> Any:
    """Return an object with empty structs and zeros in the places of null items.

    A value of a wrong type is returned as it is.
    """
    if not isinstance(value, dict):
        return value
    return {
        name: current
        if current is None or (field := struct.fields.get(name)) is None
        else _filled(current, field.type, type_of)
        for name, current in value.items()
    }


def _filled(value: Any, ref: TypeRef, type_of: TypeOf) -> Any:
    if ref.element is None:
        return with_zero_items(value, type_of(ref.name), type_of) if ref.is_struct else value
    element = ref.element
    if ref.container == "list" and isinstance(value, list | tuple):
        return [_item(entry, element, type_of) for entry in value]
    if ref.container == "map" and isinstance(value, dict):
        return {key: _item(entry, element, type_of) for key, entry in value.items()}
    return value


def _item(entry: Any, element: TypeRef, type_of: TypeOf) -> Any:
    if entry is not None:
        return _filled(entry, element, type_of)
    return {} if element.is_struct else _ZERO.get(element.name)
