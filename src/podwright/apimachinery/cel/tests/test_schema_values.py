"""Values of schemas as rules see them, and rules that are refused or stop."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from podwright.apimachinery.cel.tests.test_schema_rules import PROPERTIES, a_schema, rules_of
from podwright.apimachinery.cel.uses.rule_nodes import RuleError
from podwright.apimachinery.cel.uses.schema_rules import compile_rules
from podwright.apimachinery.cel.uses.schema_types import MapList, SetList, schema_value
from podwright.apimachinery.cel.values import Duration, ErrorValue, Timestamp

NEW_YEAR = Timestamp(1_704_067_200_000_000_000)


@pytest.mark.parametrize(
    ("schema", "given", "made"),
    [
        ({"type": "object", "properties": {"a-b": {"type": "number"}}}, {"a-b": 1, "c": 2},
         {"a__dash__b": 1.0}),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1, "b": 0.5},
         {"a": 1.0, "b": 0.5}),
        ({"type": "array", "items": {"type": "number"}}, [1, True], [1.0, True]),
        ({"type": "array"}, ["a", 1], ["a", 1]),
        ({"type": "array", "items": {"type": "object", "properties": {"v": {"type": "number"}}}},
         [{"v": 1, "kind": "K"}], [{"v": 1.0}]),
        ({"type": "string"}, "a", "a"),
        ({"type": "string", "format": "duration"}, "1m30s", Duration(90_000_000_000)),
        ({"type": "string", "format": "date"}, "2024-01-01", NEW_YEAR),
        ({"type": "string", "format": "date-time"}, "2024-01-01T00:00:00Z", NEW_YEAR),
        ({"type": "string", "format": "byte"}, "aGk=", b"hi"),
        ({"type": "string", "format": "byte"}, "aG\nk=", b"hi"),
        ({"type": "integer"}, 3, 3),
        ({"type": "boolean"}, True, True),
        ({"type": "integer"}, None, None),
        ({"x-kubernetes-int-or-string": True, "type": "integer"}, "80", "80"),
        ({}, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_has_the_type_of_its_schema(schema: Any, given: Any, made: Any) -> None:
    found = schema_value(given, schema)
    assert (found, type(found)) == (made, type(made))


@pytest.mark.parametrize(
    ("schema", "given", "message"),
    [
        ({"type": "object"}, [],
         "invalid data, expected a map for the provided schema with type=object"),
        ({"type": "array"}, {},
         "invalid data, expected an array for the provided schema with type=array"),
        ({"type": "string"}, 5, "invalid data, expected string, got int64"),
        ({"type": "string", "format": "duration"}, "x", "Invalid duration x"),
        ({"type": "string", "format": "date"}, "2024-02-30", "Invalid date 2024-02-30"),
        ({"type": "string", "format": "date-time"}, "2024", "Invalid date-time 2024"),
        ({"type": "string", "format": "byte"}, "!", "Invalid byte formatted string !"),
        ({"type": "integer"}, 4.5, "invalid data, expected int, got float64"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_an_error(schema: Any, given: Any, message: str) -> None:
    found = schema_value(given, schema)
    assert isinstance(found, ErrorValue)
    assert found.message == message


def test_lists_have_the_type_that_the_schema_declares() -> None:
    items = {"type": "object", "properties": {"k-x": {"type": "string"}, "v": {"type": "number"}}}
    of_map = {"type": "array", "items": items, "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["k-x"]}  # fmt: skip
    one = schema_value([{"k-x": "a", "v": 1}, {"k-x": "b", "v": 2}], of_map)
    other = schema_value([{"k-x": "b", "v": 3}, {"k-x": "c", "v": 4}], of_map)
    assert isinstance(one, MapList)
    assert one.keys == ("k__dash__x",)
    both = one.add_list(other)
    assert [(each["k__dash__x"], each["v"]) for each in both] == [("a", 1), ("b", 3), ("c", 4)]
    assert isinstance(both, MapList)
    assert both.keys == one.keys
    assert one.equals_list(list(reversed(one)))
    assert not one.equals_list(other)
    assert not one.equals_list(one[:1])
    assert isinstance(
        schema_value(["a"], {"type": "array", "x-kubernetes-list-type": "set"}), SetList
    )
    assert type(schema_value(["a"], {"type": "array"})) is list


@pytest.mark.parametrize(
    ("rule", "path", "detail"),
    [
        ({"rule": "true", "optionalOldSelf": True}, "optionalOldSelf",
         "may not be set if oldSelf is not used in rule"),
        ({"rule": "true", "optionalOldSelf": False}, "optionalOldSelf",
         "may not be set if oldSelf is not used in rule"),
        ({"rule": "int(' 5') == 5"}, "rule", "program instantiation failed: "),
        ({"rule": "true", "messageExpression": "string(int(' 5'))"}, "messageExpression",
         "messageExpression instantiation failed: "),
    ],
)  # fmt: skip
def test_a_rule_is_refused(rule: Any, path: str, detail: str) -> None:
    (problem,) = rules_of(rule).problems()
    prefix = "properties[spec].x-kubernetes-validations[0]."
    assert problem.path.removeprefix(prefix) == path
    assert str(problem.detail).startswith(detail)


def test_a_rule_that_is_not_compiled_is_an_error_of_every_object() -> None:
    errors, _ = rules_of("1", "self.size == 1").validate({"spec": {"size": 2}})
    assert errors == [
        RuleError("spec", "FieldValueInvalid", "object",
                  "rule compile error: cel expression must evaluate to a bool"),
        RuleError("spec", "FieldValueInvalid", UNSET, "failed rule: self.size == 1"),
    ]  # fmt: skip


def test_nothing_is_evaluated_for_null_or_after_the_budget() -> None:
    costly = {"x-kubernetes-validations": [{"rule": "self.words.all(w, w != 'x')"}]}
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": PROPERTIES, "allOf": [costly, costly]},
        "status": {"type": "object", "x-kubernetes-validations": [{"rule": "false"}]},
    }}  # fmt: skip
    rules = compile_rules(schema)
    assert rules is not None
    assert rules.validate({"spec": None, "status": None}) == ([], [])
    document = {"spec": {"words": ["a"] * 100}, "status": {}}
    assert [error.path for error in rules.validate(document)[0]] == ["status"]
    errors, _ = rules.validate(document, budget=50)
    assert [error.path for error in errors] == ["spec"]
    assert [error.path for error in rules.validate(document, budget=0)[0]] == ["spec"]


def test_the_old_list_counts_with_the_new_one() -> None:
    rule = "(oldSelf.rows + self.rows).map(r, r.v) == [2, 3]"
    rules = compile_rules(a_schema(rule))
    assert rules is not None
    old = {"spec": {"rows": [{"k": "a", "v": 1}]}}
    new = {"spec": {"rows": [{"k": "a", "v": 2}, {"k": "b", "v": 3}]}}
    assert rules.validate(new, old) == ([], [])
    assert len(rules.validate(old, new)[0]) == 1


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"c": 2}, {"c": 2}),
        ({"a b": 1, "c": 2}, {"c": 2}),
        ({"a-b": 1}, {"a__dash__b": 1}),
        ({"unknown": 1}, {}),
    ],
)
def test_an_object_has_the_fields_that_an_expression_can_name(
    value: dict[str, Any], found: dict[str, Any]
) -> None:
    number = {"type": "integer"}
    schema = {"type": "object", "properties": {"a b": number, "a-b": number, "c": number}}
    assert schema_value(value, schema) == found
