"""The way of an object through its schema: pruning, nulls, defaults, metadata, columns."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural.custom_kind import CustomKind, CustomVersion
from podwright.apimachinery.schema.structural.field_paths import FieldPathError, schema_at

NOW_NS = 1_772_445_600_000_000_000
NAMES = {"plural": "trains", "singular": "train", "kind": "Train", "listKind": "TrainList"}


def kind(spec: Any, **more: Any) -> CustomKind:
    schema = {"type": "object", "properties": {"spec": spec}}
    return CustomKind(
        CustomVersion(
            group="example.com", version="v1", names=NAMES, namespaced=True, schema=schema, **more
        )
    )


def train(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Train",
        "metadata": {"name": "t"} | metadata,
        "spec": spec,
    }


def completed(of: CustomKind, spec: Any) -> Any:
    return of.go_form(of.with_defaults(of.go_form(train(spec))))["spec"]


def unknown(of: CustomKind, document: Any) -> list[str]:
    return [path for path, _, _ in of.decoding_problems(document)]


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "given", "kept", "paths"),
    [
        pytest.param({"type": "object", "properties": {"a": {"type": "object"}}},
                     {"a": {"x": 1}, "b": 2}, {"a": {}}, ["spec.a.x", "spec.b"], id="unknown"),
        pytest.param(OPEN, {"a": {"x": 1}}, {"a": {"x": 1}}, [], id="preserved"),
        pytest.param(OPEN | {"properties": {"a": {"type": "object"}}}, {"a": {"x": 1}, "b": 1},
                     {"a": {}, "b": 1}, ["spec.a.x"], id="specified inside of preserved"),
        pytest.param({"type": "object", "additionalProperties": {"type": "string"}},
                     {"a": "x"}, {"a": "x"}, [], id="a map"),
        pytest.param({"type": "array", "items": {"type": "object"}}, [{"x": 1}, 2], [{}, 2],
                     ["spec[0].x"], id="a list"),
        pytest.param({"type": "object", "x-kubernetes-embedded-resource": True, "properties": {
                         "spec": {"type": "object"}}},
                     {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "x": 1},
                     {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, ["spec.x"],
                     id="an embedded object"),
    ],
)  # fmt: skip
def test_fields_that_no_schema_specifies_are_cut_off(
    schema: Any, given: Any, kept: Any, paths: list[str]
) -> None:
    assert completed(kind(schema), given) == kept
    assert unknown(kind(schema), train(given)) == paths


def test_unknown_metadata_is_reported_and_dropped() -> None:
    document = train({}, bogus=1)
    of = kind(OPEN)
    assert unknown(of, document) == ["metadata.bogus"]
    assert of.go_form(document)["metadata"] == {"name": "t"}


@pytest.mark.parametrize(
    ("field", "given", "made"),
    [
        pytest.param({"type": "integer", "default": 1}, {}, {"a": 1}, id="absent"),
        pytest.param({"type": "integer", "default": 1}, {"a": None}, {"a": 1}, id="null"),
        pytest.param({"type": "integer"}, {"a": None}, {}, id="null without a default"),
        pytest.param({"type": "integer", "nullable": True, "default": 1}, {"a": None},
                     {"a": None}, id="null that is allowed"),
        pytest.param({"type": "object", "default": {}, "properties": {
                         "b": {"type": "string", "default": "x"}}}, {}, {"a": {"b": "x"}},
                     id="inside of a default"),
        pytest.param({"type": "array", "items": {"type": "object", "properties": {
                         "b": {"type": "string", "default": "x"}}}}, {"a": [{}, {"b": "y"}]},
                     {"a": [{"b": "x"}, {"b": "y"}]}, id="items"),
        pytest.param({"type": "object", "additionalProperties": {
                         "type": "integer", "default": 2}}, {"a": {"k": None}}, {"a": {"k": 2}},
                     id="null in a map"),
    ],
)  # fmt: skip
def test_defaults(field: Any, given: Any, made: Any) -> None:
    assert completed(kind({"type": "object", "properties": {"a": field}}), given) == made


def test_nothing_changes_the_document_that_is_given() -> None:
    given = {"a": {"x": 1}, "c": None}
    schema = {"type": "object", "properties": {"a": {"type": "object"}, "c": {"type": "string"}}}
    completed(kind(schema), given)
    assert given == {"a": {"x": 1}, "c": None}


def test_rules_are_not_evaluated_for_values_of_wrong_types() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.a > 1"}],
    }
    of = kind(schema)
    assert [path for path, _, _ in of.validation_problems(train({"a": "x"}))] == ["spec.a", "<nil>"]
    assert of.validation_problems(train({"a": 1})) == [
        ("spec", "Invalid value: failed rule: self.a > 1", None)
    ]


def test_embedded_objects_need_a_kind_and_valid_metadata() -> None:
    embedded = OPEN | {"x-kubernetes-embedded-resource": True}
    of = kind({"type": "object", "properties": {"template": embedded}})
    value = train({"template": {"kind": "Pod", "metadata": {"labels": {"a b": "c"}}}})
    assert [path for path, _, _ in of.validation_problems(value)] == [
        "spec.template.apiVersion",
        "spec.template.metadata.labels",
    ]


# ----------------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        pytest.param({"type": "string", "jsonPath": ".spec.tags[*]"}, "x", id="the first value"),
        pytest.param({"type": "string", "jsonPath": ".spec.map"}, '{"a":1,"b":[2]}', id="JSON"),
        pytest.param({"type": "string", "jsonPath": ".spec.on"}, "true", id="a boolean as text"),
        pytest.param({"type": "string", "jsonPath": ".spec.none"}, "<no value>", id="null"),
        pytest.param({"type": "string", "jsonPath": ".spec.absent"}, None, id="absent"),
        pytest.param({"type": "integer", "jsonPath": ".spec.size"}, 2, id="an integer"),
        pytest.param({"type": "integer", "jsonPath": ".spec.on"}, None, id="another type"),
        pytest.param({"type": "integer", "jsonPath": ".spec.most"}, -(2**63), id="no int64"),
        pytest.param({"type": "string", "jsonPath": ".spec['map.a']"}, "1", id="a path in quotes"),
        pytest.param({"type": "string", "jsonPath": r".spec['a\.b']"}, "ab", id="an escaped dot"),
        pytest.param({"type": "number", "jsonPath": ".spec.size"}, 2.0, id="a number"),
        pytest.param({"type": "boolean", "jsonPath": ".spec.on"}, True, id="a boolean"),
        pytest.param({"type": "date", "jsonPath": ".spec.at"}, "10m", id="a date is an age"),
        pytest.param({"type": "date", "jsonPath": ".spec.tags[0]"}, "<invalid>", id="no date"),
        pytest.param({"type": "date", "jsonPath": ".spec.word"}, "<unknown>", id="null in quotes"),
        pytest.param({"type": "string", "jsonPath": ".spec.rows[?(@.k=='b')].v"}, "2", id="filter"),
        pytest.param({"type": "string", "jsonPath": ".metadata.annotations.a\\.b/c"}, "x",
                     id="an escaped dot"),
    ],
)  # fmt: skip
def test_cells(column: Any, cell: Any) -> None:
    of = kind(OPEN, columns=[{"name": "C"} | column])
    spec = {
        "tags": ["x", "y"], "map": {"b": [2], "a": 1}, "on": True, "none": None, "size": 2.5 - 0.5,
        "at": "2026-03-02T09:50:00Z", "word": "null", "most": 1e21, "a.b": "ab",
        "rows": [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}],
    }  # fmt: skip
    document = train(spec, annotations={"a.b/c": "x"})
    assert of.cells(document, NOW_NS) == ["t", cell]


def test_the_age_is_the_column_of_definitions_without_any() -> None:
    of = kind(OPEN)
    assert [column.name for column in of.row.columns] == ["Name", "Age"]
    assert of.cells(train({}, creationTimestamp="2026-03-02T09:58:30Z"), NOW_NS) == ["t", "90s"]


# ------------------------------------------------------------------------- field paths

FIELDS = {"type": "object", "properties": {
    "a": {"type": "object", "additionalProperties": {"type": "string"}}, "b.c": {"type": "integer"},
}}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.key", ("a[key]", "string")),
        (".a['x.y']", ("a[x.y]", "string")),
        ("['b.c']", ("b.c", "integer")),
        (".b", "does not refer to a valid field"),
        ("a", "expected [ or . but got: a"),
        (".a[0]", "expected single quoted string but got 0"),
        (".a['x'", "unexpected end of JSON path"),
    ],
)
def test_field_paths(path: str, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(FieldPathError) as error:
            schema_at(path, FIELDS)
        assert str(error.value) == found
    else:
        shown, schema = schema_at(path, FIELDS)
        assert (shown, schema["type"]) == found
