"""Structs as upstream prints them in messages: with the names of its internal Go fields.

Upstream validates internal objects, most of which have no names for JSON: fields have their names
in Go and the order of the struct, and those that are not set have their zero value.
`internal_types.json` has these structs, one per line, with the fields `NAME TYPE` or
`NAME TYPE NAME-IN-JSON`; `~` marks those that are left out if they are empty.
`tests/real_parts/internal_types` made it.

Upstream: pkg/apis/*/types.go; staging/src/k8s.io/apimachinery/pkg/util/diff/diff.go.
"""

from __future__ import annotations

import difflib
import json
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document

_ZERO: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int": 0,
    "bytes": None,
    "!Quantity": "0",
    "!IntOrString": 0,
    "!Time": None,
    "!MicroTime": None,
    "!RawExtension": None,
}
_IN_SECURITY_CONTEXT: Final = (
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
)
"""Fields of a pod's spec that the internal object has in its security context."""


class _Field(msgspec.Struct, frozen=True):
    go_name: str
    type: str
    path: tuple[str, ...]
    is_omitted: bool


def internal_form(value: Any, go_type: str) -> Any:
    """Return a value with the names of Go's fields, as `json.Marshal` writes it.

    Parameters
    ----------
    value : object
        A value of a document.
    go_type : str
        Its internal type: `PodSpec`, `[NAME]` for a list, `*NAME` for a pointer.
    """
    if go_type in _ZERO:
        return _ZERO[go_type] if value is None else value
    if value is None and go_type[0] in "*[{":
        return None
    match go_type[0]:
        case "*":
            return internal_form(value, go_type[1:])
        case "[":
            return [internal_form(each, go_type[1:-1]) for each in value]
        case "{":
            return {key: internal_form(value[key], go_type[1:-1]) for key in sorted(value)}
        case _:
            return _go_struct(value or {}, go_type)


def _go_struct(document: Document, go_type: str) -> Document:
    if go_type == "PodSpec":
        moved = {name: document[name] for name in _IN_SECURITY_CONTEXT if name in document}
        document = document | {"securityContext": (document.get("securityContext") or {}) | moved}
    found = {}
    for field in _fields(go_type):
        part = _at(document, field.path)
        if part or not field.is_omitted:
            found[field.go_name] = internal_form(part, field.type)
    return found


def _at(document: Document, path: tuple[str, ...]) -> Any:
    value: Any = document
    for name in path:
        value = (value or {}).get(name)
    return value


@cache
def _fields(go_type: str) -> tuple[_Field, ...]:
    """Return the fields of a struct, in their order."""
    written = _structs()[go_type]
    return tuple(map(_field, written.split(","))) if written else ()


def _field(text: str) -> _Field:
    marked, go_type, *names = text.split(" ")
    go_name = marked.removeprefix("~")
    path = names[0] if names else go_name[0].lower() + go_name[1:]
    return _Field(go_name, go_type, tuple(path.split(".")), is_omitted=go_name != marked)


@cache
def _structs() -> dict[str, str]:
    data = (
        resources.files("podwright.apimachinery.schema")
        .joinpath("internal_types.json")
        .read_bytes()
    )
    return msgspec.json.decode(data, type=dict[str, str])


# Differences between specs, for the messages of fields that an update may not change.

_CONTEXT_LINES: Final = 3
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def difference(old: Any, new: Any, go_type: str) -> str:
    """Return a unified diff of two values as indented JSON, without the names of files.

    Parameters
    ----------
    old, new : Any
        Values of documents.
    go_type : str
        Their internal type: `PodSpec`, or `[NAME]` for a list.
    """
    before, after = (_lines(internal_form(value, go_type)) for value in (old, new))
    found = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    return "\n".join([*list(found)[2:], ""])


def _lines(value: Any) -> list[str]:
    # Go escapes these characters for HTML.
    return json.dumps(value, indent=1, ensure_ascii=False).translate(_ESCAPED).splitlines()
