"""Structs as upstream prints them in errors: with the names of its internal Go fields.

A pointer, list or map that is absent is null, and fields have the order of their protobuf numbers,
which is that of the Go struct.
"""

from __future__ import annotations

from typing import Any, Final

from podwright.objects import Document
from podwright.schema.schema import built_in
from podwright.schema.types import Field, TypeRef

_NOT_POINTERS: Final = {
    "allocationMode": "", "count": 0, "effect": "", "key": "", "operator": "", "value": "",
}  # fmt: skip
"""Optional fields that are not pointers, with their zero values."""

_INITIALISMS: Final = {"cel": "CEL", "uid": "UID", "apiGroup": "APIGroup", "ips": "IPs"}
_ZERO: Final = {"string": "", "bool": False, "int32": 0, "int64": 0}


def internal_struct(document: Document, type_name: str) -> dict[str, Any]:
    """Return a struct of the API with upstream's internal names.

    Parameters
    ----------
    document : dict
        Its defaults are set.
    type_name : str
        The struct in the table, such as `resource.v1.ResourceClaimSpec`.
    """
    fields = sorted(built_in().type(type_name).fields.values(), key=lambda field: field.number)
    return {_go_name(field.name): _value(document.get(field.name), field) for field in fields}


def _go_name(name: str) -> str:
    return _INITIALISMS.get(name) or name[0].upper() + name[1:]


def _value(value: Any, field: Field) -> Any:
    if value is not None:
        return _printed(value, field.type)
    if field.is_zero and field.type.is_struct:
        return internal_struct({}, field.type.name)
    if field.is_required and field.type.name in _ZERO:
        return _ZERO[field.type.name]
    return _NOT_POINTERS.get(field.name)


def _printed(value: Any, ref: TypeRef) -> Any:
    if ref.element is not None:
        inner = ref.element
        if ref.container == "map":
            return {key: _printed(each, inner) for key, each in sorted(value.items())} or None
        return [_printed(each, inner) for each in value] or None
    return internal_struct(value, ref.name) if ref.is_struct else value
