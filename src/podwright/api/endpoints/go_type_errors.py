"""The messages of Go's decoder and of upstream's converter for values of a wrong type.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, fromUnstructured;
sigs.k8s.io/json
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from podwright.api.endpoints.resources import ObjectKind
from podwright.schema import BOOLEAN_OR_SCHEMA, Problem
from podwright.schema.structural import CustomKind

_PATH_INDEX: Final = re.compile(r"\[[^\]]*\]")
_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "bool"}
_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def go_kind(value: Any) -> str:
    """Return what Go's decoder calls a JSON value."""
    if value is None:
        return "null"
    return _NAMES.get(type(value), "number")


def type_error(kind: ObjectKind, problem: Problem) -> str:
    """Return the message of Go's decoder for a value of a wrong type."""
    path, message, value = problem
    if message == BOOLEAN_OR_SCHEMA:
        return message
    is_custom = isinstance(kind, CustomKind)
    if is_custom and message.startswith("Invalid value: ") and not path.startswith("metadata"):
        return f"{path}: {message}"
    type_name = go_type_at(kind, path)
    if type_name == "quantity":
        return _QUANTITY
    if type_name in ("time", "micro-time") and isinstance(value, str):
        layout = "2006-01-02T15:04:05Z07:00"
        if type_name == "micro-time":
            layout = "2006-01-02T15:04:05.000000Z07:00"
        return f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
    if type_name == "bytes" and isinstance(value, str):
        return f"illegal base64 data at input byte {_base64_error(value)}"
    plain = _PATH_INDEX.sub("", path)
    shown = go_kind(value)
    if shown == "number" and type_name in ("int32", "int64"):
        shown = f"number {json.dumps(value)}"
    struct, go_type = _struct_and_type(kind, plain, is_element=path.endswith("]"))
    return f"json: cannot unmarshal {shown} into Go struct field {struct}.{plain} of type {go_type}"


def conversion_error(kind: ObjectKind, problem: Problem) -> str:
    """Return the message of upstream's converter for a value of a wrong type.

    Upstream: apimachinery pkg/runtime/converter.go, fromUnstructured
    """
    path, _, value = problem
    plain = _PATH_INDEX.sub("", path)
    find = getattr(kind, "field", None)
    field = find(plain) if find is not None and plain else None
    if field is None:
        return type_error(kind, problem)
    ref = field.type
    kinds = {dict: "map", list: "slice", str: "string", bool: "bool", float: "float64"}
    given = kinds.get(type(value), "int64")
    if ref.container and not path.endswith("]"):
        return f"cannot restore {'slice' if ref.container == 'list' else 'map'} from {given}"
    inner = ref.innermost
    if inner == "bytes" and not isinstance(value, str):
        return f"cannot restore slice from {given}"
    if inner in ("quantity", "time", "micro-time", "bytes", "int-or-string"):
        decoding = "error decoding from json: " if inner == "bytes" else ""
        return decoding + type_error(kind, problem)
    if "." in inner:
        return f"cannot restore struct from: {given}"
    names = {"double": "float64", "any": "interface"}
    if inner == "string" and given == "int64" and isinstance(value, int):
        return "cannot convert int64 to string"
    if inner in ("int32", "int64") and isinstance(value, float):
        return f"cannot convert float64 to {inner}"
    return f"unrecognized type: {names.get(inner, inner)}"


def _base64_error(text: str) -> int:
    found = re.match(r"[A-Za-z0-9+/]*", text)
    return min(len(found[0]) if found else 0, len(text))


def go_type_at(kind: ObjectKind, path: str) -> str:
    """Return the schema's innermost type of the field at a path, "" where there is no field."""
    plain = _PATH_INDEX.sub("", path)
    find = getattr(kind, "field", None)
    field = find(plain) if find is not None and plain else None
    return field.type.innermost if field is not None else ""


def _struct_and_type(kind: ObjectKind, path: str, *, is_element: bool) -> tuple[str, str]:
    """Return the names of Go's struct and type of a field, or of an element of it."""
    find = getattr(kind, "field", None)
    field = find(path) if find is not None and path else None
    outer = find(path.rpartition(".")[0]) if find is not None and "." in path else None
    struct = kind.row.kind if outer is None else outer.type.innermost.rpartition(".")[2]
    if field is None:
        return struct, "string"
    names = {"double": "float64", "quantity": "resource.Quantity", "any": "interface {}"}
    inner = field.type.innermost
    go_type = names.get(inner, inner)
    if "." in inner:
        go_type = f"v1.{inner.rpartition('.')[2]}"
    if is_element:
        return struct, go_type
    return struct, {"list": f"[]{go_type}", "map": f"map[string]{go_type}"}.get(
        field.type.container, go_type
    )
