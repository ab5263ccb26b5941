"""The messages of Go's decoder and of upstream's converter for values of a wrong type.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, fromUnstructured;
sigs.k8s.io/json
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Final

from podwright.apimachinery.objects import go_quoted, quantity_error
from podwright.apimachinery.schema import (
    BOOLEAN_OR_SCHEMA,
    SCALARS,
    Field,
    Problem,
    TypeRef,
    built_in,
)
from podwright.apimachinery.schema.structural import CustomKind
from podwright.cluster.api.versions.resources import ObjectKind

_PATH_INDEX: Final = re.compile(r"\[[^\]]*\]")
_FIELD: Final = re.compile(r"Go struct field \S+(?= of type)")
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_INTEGER_BITS: Final = {"int32": 32, "int64": 64}
_PART: Final = re.compile(r"\.?([^.\[]+)")
_ELEMENT_OF: Final = re.compile(r"^(?:\[\]|map\[[^\]]*\])\*?")
_GO_SCALARS: Final = {"double": "float64", "quantity": "resource.Quantity", "any": "interface {}",
                      # Times decode a string.
                      "time": "string", "micro-time": "string", "bytes": "[]uint8",
                      # IntOrString decodes what is not a string as an int32.
                      "int-or-string": "int32"}  # fmt: skip
_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "bool"}


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
    type_name = value_type_at(kind, path)
    if type_name == "quantity":
        return quantity_error(value)
    if type_name in ("time", "micro-time") and isinstance(value, str):
        return _time_error(value, is_micro=type_name == "micro-time")
    if type_name == "bytes" and isinstance(value, list):
        # Go also decodes lists of numbers.
        value = next((each for each in value if not isinstance(each, int)), value)
        name, _ = _go_field(kind, path)
        return f"json: cannot unmarshal {go_kind(value)} into Go struct field {name} of type uint8"
    if type_name == "bytes" and isinstance(value, str):
        return f"illegal base64 data at input byte {_base64_error(value)}"
    shown = go_kind(value)
    if shown == "number" and type_name in ("int32", "int64", "int-or-string"):
        shown = f"number {json.dumps(value)}"
    name, go_type = _go_field(kind, path)
    return f"json: cannot unmarshal {shown} into Go struct field {name} of type {go_type}"


def conversion_error(kind: ObjectKind, problem: Problem) -> str:
    """Return the message of upstream's converter for a value of a wrong type.

    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, fromUnstructured
    """
    path, _, value = problem
    field = _field_at(kind, path)
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
        # What a type decodes itself has no field.
        text = type_error(kind, problem)
        return decoding + _FIELD.sub("Go value", text)
    if "." in inner:
        return f"cannot restore struct from: {given}"
    names = {"double": "float64", "any": "interface"}
    if inner == "string" and given == "int64":
        return "cannot convert int64 to string"
    if inner in ("int32", "int64") and isinstance(value, float):
        return f"cannot convert float64 to {inner}"
    return f"unrecognized type: {names.get(inner, inner)}"


def with_wrapped_number(
    kind: ObjectKind, problem: Problem, document: dict[str, Any]
) -> dict[str, Any] | None:
    """Return a document without one problem: a whole number that upstream's converter cuts off.

    None if the problem is another. The last bits of an integer are kept; a number beyond 64 bits
    is the smallest one, of which an int32 has the last bits.

    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, fromUnstructured
    """
    path, _, value = problem
    name = value_type_at(kind, path)
    if name not in _INTEGER_BITS or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if value != value // 1:
        return None
    bits = _INTEGER_BITS[name]
    whole = int(value) if abs(value) < 2**63 else -(2**63)
    wrapped = (whole + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    made = copy.deepcopy(document)
    holder: Any = made
    *outer, last = (index or field for field, index in _STEP.findall(path))
    for step in outer:
        holder = holder[int(step) if isinstance(holder, list) else step]
    holder[int(last) if isinstance(holder, list) else last] = wrapped
    return made


_TIME: Final = (
    ("2006", "[0-9]{4}", ""), ("-", "-", ""), ("01", "0[1-9]|1[0-2]", "month"), ("-", "-", ""),
    ("02", "[0-9]{2}", ""), ("T", "T", ""), ("15", "[01]?[0-9]|2[0-3]", "hour"), (":", ":", ""),
    ("04", "[0-5][0-9]", "minute"), (":", ":", ""),
)  # fmt: skip
"""The elements of Go's layouts, each with its form and its name where it has a range."""
_SECOND: Final = (("05", "[0-5][0-9](?:[.,][0-9]+)?", "second"),)
_MICRO: Final = (("05", "[0-5][0-9]", "second"), (".000000", "[.,][0-9]{6}", ""))
_ZONE: Final = (("Z07:00", "Z|[+-][0-9]{2}:[0-9]{2}", ""),)


def _time_error(text: str, *, is_micro: bool) -> str:
    """Return the error of Go for a text that is not a time.

    Upstream: Go src/time/format.go, parse
    """
    elements = (*_TIME, *(_MICRO if is_micro else _SECOND), *_ZONE)
    layout = "".join(element for element, _, _ in elements)
    rest = text
    for element, form, name in elements:
        found = re.match(form, rest)
        if found is None and name and re.match("[0-9]{2}", rest):
            return f"parsing time {go_quoted(text)}: {name} out of range"
        if found is None:
            shown = go_quoted(rest)
            start = f"parsing time {go_quoted(text)} as {go_quoted(layout)}"
            return f"{start}: cannot parse {shown} as {go_quoted(element)}"
        rest = rest[found.end() :]
    if rest:
        return f"parsing time {go_quoted(text)}: extra text: {go_quoted(rest)}"
    return f"parsing time {go_quoted(text)}: day out of range"


def _base64_error(text: str) -> int:
    """Return the place of the error in a text that is not base64.

    Upstream: Go src/encoding/base64/base64.go, decodeQuantum
    """
    found = re.match(r"[A-Za-z0-9+/]*", text)
    end = len(found[0]) if found else 0
    if end == len(text):
        return end - end % 4  # what is cut off is an error of its whole group of four
    if text[end] != "=" or end % 4 < 2:
        return end
    if end % 4 == 2 and text[end + 1 : end + 2] != "=":
        return end if end + 1 < len(text) else len(text)
    return end + 4 - end % 4  # what is after the end


def value_type_at(kind: ObjectKind, path: str) -> str:
    """Return the schema's scalar or struct of a value; "" for a list, a map, or no field."""
    field = _field_at(kind, path)
    is_container = field is not None and field.type.container and not path.endswith("]")
    return "" if field is None or is_container else field.type.innermost


def _field_at(kind: ObjectKind, path: str) -> Field | None:
    plain = _PATH_INDEX.sub("", path)
    if isinstance(kind, CustomKind) and plain.startswith("metadata."):
        return built_in().type("meta.v1.ObjectMeta").fields.get(plain.removeprefix("metadata."))
    find = getattr(kind, "field", None)
    return find(plain) if find is not None and plain else None


def _go_field(kind: ObjectKind, path: str) -> tuple[str, str]:
    """Return Go's name of a field, and the type of the field or of an element of it.

    The name has the innermost struct, then the path with the embedded structs in it:
    `ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.items`. The metadata of a custom
    resource is decoded alone, so that its path starts there.
    """
    inner = kind.row.type
    if isinstance(kind, CustomKind):
        if not path.startswith("metadata."):
            return f"{kind.row.kind}.{path}", "v1.ObjectMeta"
        inner, path = "meta.v1.ObjectMeta", path.removeprefix("metadata.")
    struct = inner
    names, go_type = list[str](), "string"
    while found := _PART.match(path):
        if inner in SCALARS:
            # The schemas inside of schemas decode themselves.
            inner = "apiextensions.v1.JSONSchemaProps"
        field = built_in().type(inner).fields.get(found[1])
        if field is None:
            break
        struct = inner
        names += [field.embedded, field.name] if field.embedded else [field.name]
        go_type = field.go_type or _go_type(field.type)
        inner = field.type.innermost
        path = path[found.end() :]
        if path.startswith("["):
            if _ELEMENT_OF.match(go_type):
                go_type = _ELEMENT_OF.sub("", go_type)
            elif field.type.element is not None:
                go_type = _go_type(field.type.element)
            # A key of a map can have dots and brackets; what follows it is a field of a struct.
            is_schema = field.go_type.startswith("v1.JSONSchema")
            if is_schema:
                # Of a list of schemas or of names; what else is there decodes itself.
                go_type = "string" if field.type.element else "v1.JSONSchemaProps"
            end = path.find("].") if is_schema or inner not in SCALARS else -1
            path = path[end + 1 :] if end >= 0 else ""
    return f"{struct.rpartition('.')[2]}.{'.'.join(names)}", go_type


def _go_type(ref: TypeRef) -> str:
    if ref.element is not None:
        start = "[]" if ref.container == "list" else "map[string]"
        return start + _go_type(ref.element)
    # Without the group: `core.v1.PodSpec`, a struct of the package v1.
    return _GO_SCALARS.get(ref.name) or ref.name.partition(".")[2] or ref.name
