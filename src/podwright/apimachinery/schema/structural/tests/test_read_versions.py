"""Objects of a custom kind as they are applied, converted and read: nulls, defaults, numbers."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.apimachinery.schema.structural.custom_kind import with_go_numbers

EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    },
}
SPEC_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 3},
        "note": {"type": "string"},
        "maybe": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "inner": EMBEDDED,
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.note) || self.note != 'bad'", "message": "a bad note"}
    ],
}
SUBRESOURCES = {"status": {}, "scale": {"specReplicasPath": ".spec.size",
                                        "statusReplicasPath": ".status.replicas"}}  # fmt: skip
UNCHECKED = "<nil>"


def a_kind(*, preserves: bool = False, subresources: Any = None) -> CustomKind:
    properties = {"spec": SPEC_SCHEMA, "status": {"type": "object", "properties": {
        "replicas": {"type": "integer"}}}}  # fmt: skip
    version = {
        "name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": subresources,
    }
    definition = {"group": "example.com", "scope": "Namespaced", "preserveUnknownFields": preserves}
    return CustomKind(CustomVersion.of(definition, version, {"plural": "sets", "kind": "Set"}))


def an_object(kind: str = "Set", api: str = "example.com/v1", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "s", "namespace": "n"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def paths(problems: Any) -> list[str]:
    return [path for path, *_ in problems]


@pytest.mark.parametrize(
    ("spec", "old", "expected"),
    [
        pytest.param({"note": None}, None, ["spec.note", UNCHECKED], id="a null"),
        pytest.param({"note": None, "size": 0}, None, ["spec.note", "spec.size", UNCHECKED],
                     id="and what else is wrong"),
        pytest.param({"note": None}, {"size": 2}, ["spec.note", UNCHECKED], id="in a change"),
        pytest.param({"note": None}, {"note": None}, [], id="one that was there before"),
        pytest.param({"size": None}, None, [], id="a null for which there is a default"),
        pytest.param({"maybe": None}, None, [], id="a null that is allowed"),
        pytest.param({"size": 0}, None, [], id="no null: checked as all objects are"),
        pytest.param({"size": 0}, {"size": 2}, [], id="no null in a change"),
        pytest.param({}, None, [], id="nothing"),
    ],
)  # fmt: skip
def test_an_applied_null_is_checked_if_it_is_not_allowed(
    spec: Any, old: Any, expected: list[str]
) -> None:
    """Upstream: customresource_handler.go, unstructuredSchemaCoercer"""
    before = None if old is None else an_object(**old)
    kind = a_kind()
    found = paths(kind.null_problems(an_object(**spec), before))
    assert sorted(found) == sorted(expected)
    # Of other objects the schema says nothing, and old definitions keep what they do not know.
    assert kind.null_problems(an_object(kind="Other", **spec), before) == []
    assert kind.null_problems(an_object(api="example.com/v2", **spec), before) == []
    assert a_kind(preserves=True).null_problems(an_object(**spec), before) == []


@pytest.mark.parametrize(
    ("spec", "converted", "read"),
    [
        pytest.param({"size": 2}, {"size": 2}, {"size": 2}, id="as it is"),
        pytest.param({}, {}, {"size": 3}, id="a default"),
        pytest.param({"x": 1, "size": 2}, {"size": 2}, {"size": 2}, id="an unknown field"),
        pytest.param({"note": None}, {}, {"size": 3}, id="a null"),
        pytest.param({"size": None}, {"size": None}, {"size": 3}, id="a null with a default"),
        pytest.param({"maybe": None, "size": 1}, {"maybe": None, "size": 1},
                     {"maybe": None, "size": 1}, id="a null that is allowed"),
    ],
)  # fmt: skip
def test_a_stored_object_is_read_by_the_schema_of_today(
    spec: Any, converted: Any, read: Any
) -> None:
    kind, given = a_kind(), an_object(**spec)
    assert kind.as_converted(given)["spec"] == converted
    assert kind.as_read(given)["spec"] == read
    if spec == read:
        assert kind.as_read(given) is given
    assert given == an_object(**spec)


def test_an_old_definition_keeps_what_it_does_not_know() -> None:
    kind, given = a_kind(preserves=True), an_object(x=1, note=None, size=2)
    assert kind.as_converted(given) is given
    assert kind.as_read(given) is given
    assert kind.as_read(an_object(x=1))["spec"] == {"x": 1, "size": 3}
    assert kind.decoding_problems(given) == []
    assert paths(a_kind().decoding_problems(given)) == ["spec.x"]


def test_the_metadata_of_embedded_objects_is_read_as_that_of_all_objects() -> None:
    inner = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "x": 1}, "more": {"y": 2}}
    kind, given = a_kind(), an_object(inner=inner)
    read = kind.as_read(given)["spec"]["inner"]
    assert read == {**inner, "metadata": {"name": "a"}}
    assert paths(kind.decoding_problems(given)) == ["spec.inner.metadata.x"]
    unnamed = an_object(inner={"kind": "X"}, size=1)
    for found in (
        kind.validation_problems(unnamed),
        kind.update_problems(unnamed, an_object(size=1)),
        kind.problems_of_other_kind([], unnamed, None),
        kind.problems_of_other_kind([], unnamed, an_object(size=1)),
    ):
        assert paths(found) == ["spec.inner.apiVersion", UNCHECKED]


@pytest.mark.parametrize(
    ("spec", "old", "expected"),
    [
        ({}, None, ["kind"]),
        ({"size": 0}, None, ["kind"]),
        ({"tags": ["a", "a"]}, None, ["kind", "spec.tags[1]"]),
        ({"tags": ["a", "a"]}, {"tags": ["a"]}, ["kind", "spec.tags[1]"]),
        ({"tags": ["a", "a"]}, {"tags": ["b", "b"]}, ["kind"]),
        ({"note": "bad"}, None, ["kind", "spec"]),
        ({"note": "bad"}, {"note": "good"}, ["kind", "spec"]),
    ],
)
def test_of_an_object_of_another_kind_lists_and_rules_are_checked(
    spec: Any, old: Any, expected: list[str]
) -> None:
    before = None if old is None else an_object(**old)
    wrong: Any = [("kind", "Invalid value", None)]
    found = a_kind().problems_of_other_kind(wrong, an_object(kind="Other", **spec), before)
    assert paths(found) == expected
    assert wrong == [("kind", "Invalid value", None)]


@pytest.mark.parametrize(
    ("subresources", "has_status", "names"),
    [
        (None, False, []),
        ({}, False, []),
        ({"status": {}}, True, ["status"]),
        ({"status": None, "scale": None}, False, []),
        (SUBRESOURCES, True, ["status", "scale"]),
    ],
)
def test_the_subresources_of_a_version(subresources: Any, has_status: bool, names: list[str]):
    kind = a_kind(subresources=subresources)
    assert (kind.has_status, list(kind.row.subresources)) == (has_status, names)
    assert (kind.scale_paths is None) is ("scale" not in names)
    negative = an_object(size=-1)
    expected = ["spec.size", ".spec.size"] if "scale" in names else ["spec.size"]
    assert paths(kind.validation_problems(negative)) == expected
    assert paths(kind.update_problems(negative, an_object(size=2))) == expected
    status = {**an_object(size=-1), "status": {"replicas": -1}}
    expected = [".status.replicas"] if "scale" in names else []
    assert paths(kind.status_problems(status, an_object(size=-1))) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3.0, 3),
        (-0.0, 0),
        (0.5, 0.5),
        (-(2.0**63), -(2**63)),
        (2.0**63, 2.0**63),
        (2.0**63 - 1024, 2**63 - 1024),
        (1e30, 1e30),
        (float("inf"), float("inf")),
        (True, True),
        ("3.0", "3.0"),
        (None, None),
        ({"a": [1.0, {"b": 2.0}], "c": 0.5}, {"a": [1, {"b": 2}], "c": 0.5}),
        ([[2.0], []], [[2], []]),
    ],
)
def test_whole_numbers_are_written_without_a_fraction(value: Any, written: Any) -> None:
    found = with_go_numbers(value)
    assert found == written
    assert repr(found) == repr(written)


@pytest.mark.parametrize("value", [{"a": [1, 0.5, {"b": "c"}]}, [1, [0.5]], {}, [], 7])
def test_what_has_no_whole_fraction_is_the_same_value(value: Any) -> None:
    assert with_go_numbers(value) is value
