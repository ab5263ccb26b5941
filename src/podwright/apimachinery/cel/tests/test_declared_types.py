"""What a schema without limits lets into a list or a map, by the fewest bytes of an element."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel.estimate import Range
from podwright.apimachinery.cel.uses.schema_types import (
    MAX_REQUEST_SIZE,
    declared_type,
    with_object_meta,
)

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "fewest", "most"),
    [
        pytest.param({"type": "boolean"}, 4, 0, id="true"),
        pytest.param({"type": "integer"}, 1, 0, id="one digit"),
        pytest.param({"type": "number"}, 1, 0, id="one digit of a number"),
        pytest.param(TEXT, 2, MAX_REQUEST_SIZE - 2, id="two quotes"),
        pytest.param(TEXT | {"maxLength": 5}, 2, 20, id="four bytes a character"),
        pytest.param(TEXT | {"maxLength": -1}, 2, 0, id="no negative length"),
        pytest.param(TEXT | {"enum": ["a", "éé", 3]}, 2, 4, id="bytes of the longest value"),
        pytest.param(TEXT | {"enum": ["abc"], "maxLength": 2}, 2, 8, id="a limit before values"),
        pytest.param(TEXT | {"enum": [3]}, 2, 0, id="no text among the values"),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "maxLength": -1}, 1, 0, id="either, never long"
        ),
        pytest.param(TEXT | {"format": "byte"}, 2, MAX_REQUEST_SIZE - 2, id="bytes"),
        pytest.param(TEXT | {"format": "byte", "maxLength": 5}, 2, 5, id="bytes with a limit"),
        pytest.param(TEXT | {"format": "duration"}, 3, 32, id="0s"),
        pytest.param(TEXT | {"format": "date"}, 12, 12, id="a date"),
        pytest.param(TEXT | {"format": "date-time"}, 21, 32, id="a time"),
        pytest.param({"x-kubernetes-int-or-string": True}, 1, MAX_REQUEST_SIZE - 2, id="either"),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "maxLength": 3}, 1, 12, id="either with a limit"
        ),
        pytest.param({"type": "array", "items": TEXT, "maxItems": 3}, 2, 3, id="a list"),
        pytest.param({"type": "array", "items": TEXT, "maxItems": -3}, 2, 0, id="an empty list"),
        pytest.param(
            {"type": "object", "additionalProperties": TEXT, "maxProperties": 3}, 2, 3, id="a map"
        ),
        pytest.param({"type": "object", "properties": {"a": TEXT}}, 2, 0, id="nothing required"),
        pytest.param(
            {
                "type": "object",
                "properties": {"é": TEXT, "b": TEXT | {"default": "x"}, "c": TEXT},
                "required": ["é", "b"],
            },
            10,
            0,
            id="a required field without default, by its bytes",
        ),
    ],
)
def test_an_element_bounds_what_contains_it(schema: dict[str, Any], fewest: int, most: int) -> None:
    element = declared_type(schema, "e")
    assert element is not None
    assert (element.min_size, element.max_elements) == (fewest, most)
    items = declared_type({"type": "array", "items": schema}, "l")
    entries = declared_type({"type": "object", "additionalProperties": schema}, "m")
    assert items is not None
    assert entries is not None
    # A comma after each item; quotes of the key, a colon and a comma around each entry.
    assert items.max_elements == (MAX_REQUEST_SIZE - 2) // (fewest + 1)
    assert entries.max_elements == (MAX_REQUEST_SIZE - 2) // (fewest + 6)


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "object", "additionalProperties": {}},
    ],
)
def test_values_without_a_type_are_not_seen(schema: dict[str, Any]) -> None:
    assert declared_type(schema, "e") is None


@pytest.mark.parametrize(
    ("known", "is_kept"),
    [
        pytest.param({"name": TEXT, "generateName": TEXT, "labels": TEXT}, True, id="both names"),
        pytest.param({"name": TEXT, "labels": TEXT}, False, id="one name"),
        pytest.param({}, False, id="none"),
    ],
)
def test_declared_metadata_is_kept_if_it_has_both_names(
    known: dict[str, Any], is_kept: bool
) -> None:
    metadata = {"type": "object", "properties": known}
    properties = {"metadata": metadata, "spec": TEXT}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    found = with_object_meta(schema)["properties"]
    assert (found["metadata"] is metadata) is is_kept
    assert {"name", "generateName"} <= found["metadata"]["properties"].keys()
    assert (found["kind"], found["apiVersion"], found["spec"]) == (TEXT, TEXT, TEXT)
    assert schema["properties"]["metadata"] is metadata


def test_what_is_not_declared_has_no_size() -> None:
    schema = {"type": "object", "properties": {"a": TEXT | {"maxLength": 2}}}
    declared = declared_type(schema, "x")
    assert declared is not None
    assert declared.size(("a",)) == Range(0, 8)
    for path in (("b",), ("a", "b"), ("b", "c")):
        assert declared.size(path) is None
