"""Absent and empty fields have one outcome where Go's structs do not tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in
from podwright.apimachinery.schema.tests.test_recorded_validation import record
from podwright.apimachinery.schema.types import TypeRef

Document = dict[str, Any]
KINDS = {
    f"{kind.api_version}/{kind.row.kind}": kind
    for kind in built_in()
    if kind.is_stored and kind.row.group != "resource.k8s.io"
}
ZEROS: dict[str, Any] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "double": 0, "bytes": "",
    "quantity": "0", "int-or-string": 0,
}  # fmt: skip
DEEPEST = 9
POINTERS = {"failurePolicy", "matchPolicy", "scope", "dependencies", "data", "binaryData"}
"""Fields whose zero value upstream tells from their absence, although its writer leaves it out.

Of an immutable ConfigMap, an empty map is not equal to none.
"""
TEMPLATED = {"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob",
             "ReplicationController", "PodTemplate", "CustomResourceDefinition"}  # fmt: skip
NOTHING = re.compile(r"\[\]|\{\}")


def skeleton(ref: TypeRef, outer: tuple[str, ...] = ()) -> Any:
    """Return a value with one item in each list and map, and without scalars."""
    if ref.element is not None:
        item = skeleton(ref.element, outer)
        return [item] if ref.container == "list" else {"k": item}
    if not ref.is_struct:
        return ZEROS.get(ref.name)
    if ref.name in (*outer, "core.v1.PodSpec") or len(outer) > DEEPEST:
        return {}
    fields = built_in().type(ref.name).fields
    return {
        name: skeleton(field.type, (*outer, ref.name))
        for name, field in fields.items()
        if field.type.element is not None or field.type.is_struct
    }


def bare(kind: Kind) -> Document:
    """Return an object of empty structs: each list has an item, and no scalar is set."""
    found: Document = skeleton(TypeRef(name=kind.row.type))
    return found | {"metadata": {"name": "x", "namespace": "d"}}


def places(value: Any, ref: TypeRef, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield the path of each field of a value, and the zero value of its type."""
    if ref.element is not None:
        for key, each in enumerate(value) if ref.container == "list" else value.items():
            yield from places(each, ref.element, (*at, key))
    elif ref.is_struct:
        for name, field in built_in().type(ref.name).fields.items():
            if name != "metadata":
                empty: Any = {"list": [], "map": {}}.get(field.type.container)
                zero = {} if field.type.is_struct else ZEROS.get(field.type.name, empty)
                if zero is not None:
                    yield (*at, name), zero
                if value.get(name):
                    yield from places(value[name], field.type, (*at, name))


ABSENT = object()


def replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """Return a copy of a value with another leaf."""
    key, *rest = path
    if rest:
        leaf = replaced(value[key], tuple(rest), leaf)
    if isinstance(value, list):
        return [leaf if index == key else each for index, each in enumerate(value)]
    others = {name: each for name, each in value.items() if name != key}
    return others if leaf is ABSENT else others | {key: leaf}


def outcomes(kind: Kind, document: Document, other: Document) -> list[Any]:
    """Return the errors of an object that is new, and of one that does not change."""
    changes = kind.update_problems, kind.status_problems
    for problems in changes:
        problems(document, other)
        problems(other, document)
    found = [kind.validation_problems(document), *(each(document, document) for each in changes)]
    return [[(path, re.sub(NOTHING, "null", text)) for path, text, _ in each] for each in found]


def told_apart(kind: Kind, document: Document) -> list[str]:
    """Return the fields whose absence has other errors than their zero value."""
    found = []
    for path, zero in places(document, TypeRef(name=kind.row.type)):
        absent, present = (replaced(document, path, leaf) for leaf in (ABSENT, zero))
        expected = outcomes(kind, absent, document)
        is_told_apart = path[-1] in POINTERS or path == ("status",)  # a manifest has no status
        is_one = kind.go_form(present) == kind.go_form(absent) and not is_told_apart
        if is_one and outcomes(kind, present, document) != expected:
            found.append(".".join(map(str, path)))
    return found


@pytest.mark.parametrize("name", KINDS)
def test_an_absent_field_of_an_empty_struct_has_the_errors_of_its_zero_value(name: str) -> None:
    kind = KINDS[name]
    assert told_apart(kind, bare(kind)) == []


@pytest.mark.parametrize("part", range(20))
def test_an_absent_field_of_an_object_has_the_errors_of_its_zero_value(part: int) -> None:
    for document in record()[0][part::20]:
        kind = KINDS.get(f"{document['apiVersion']}/{document['kind']}")
        if kind is not None and kind.row.kind not in TEMPLATED:
            assert told_apart(kind, document) == [], document
