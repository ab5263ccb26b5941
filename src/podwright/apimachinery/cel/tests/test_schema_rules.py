"""Validation rules of schemas: what is refused when they are written, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from podwright.apimachinery.cel.uses.rule_nodes import RuleError
from podwright.apimachinery.cel.uses.schema_rules import (
    OBJECT_COST_BUDGET,
    SchemaRules,
    compile_rules,
    cost_message,
)
from podwright.apimachinery.cel.uses.schema_types import escape

TEXT = {"type": "string", "maxLength": 16}
PROPERTIES: dict[str, Any] = {
    "size": {"type": "integer"},
    "ratio": {"type": "number"},
    "name": TEXT,
    "free": {"type": "string"},
    "port": {"x-kubernetes-int-or-string": True},
    "when": {"type": "string", "format": "date-time"},
    "wait": {"type": "string", "format": "duration"},
    "data": {"type": "string", "format": "byte"},
    "a-b.c/d__e": {"type": "integer"},
    "in": {"type": "boolean"},
    "tags": {"type": "array", "items": TEXT, "maxItems": 8, "x-kubernetes-list-type": "set"},
    "words": {"type": "array", "items": {"type": "string"}},
    "rows": {
        "type": "array",
        "maxItems": 4,
        "items": {"type": "object", "properties": {"k": TEXT, "v": {"type": "integer"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    },
    "plain": {"type": "array", "maxItems": 4, "items": {"type": "integer"}},
    "labels": {"type": "object", "additionalProperties": TEXT, "maxProperties": 4},
    "hidden": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "parts.of/it": {"type": "object", "properties": {"k": TEXT}},
    "named": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"k": TEXT}},
    },
}


def a_schema(*rules: dict[str, Any] | str, at: str = "spec", **changes: Any) -> dict[str, Any]:
    """Return a schema with rules at `spec`, or at a field of it."""
    properties = {**PROPERTIES, **changes}
    spec: dict[str, Any] = {"type": "object", "properties": properties}
    target = spec if at == "spec" else properties[at]
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    placed = {**target, "x-kubernetes-validations": written}
    if at == "spec":
        spec = placed
    else:
        spec["properties"] = {**properties, at: placed}
    return {"type": "object", "properties": {"spec": spec}}


def rules_of(*rules: dict[str, Any] | str, at: str = "spec", **changes: Any) -> SchemaRules:
    compiled = compile_rules(a_schema(*rules, at=at, **changes))
    assert compiled is not None
    return compiled


def errors_of(
    rule: dict[str, Any] | str, spec: dict[str, Any], old: dict[str, Any] | None = None, **at: str
) -> list[RuleError]:
    before = None if old is None else {"spec": old}
    return rules_of(rule, **at).validate({"spec": spec}, before)[0]


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("size", "size"), ("a-b.c/d", "a__dash__b__dot__c__slash__d"), ("in", "__in__"),
        ("a__b", "a__underscores__b"), ("1a", None), ("a$", None), ("", None),
    ],
)  # fmt: skip
def test_names_are_escaped(name: str, escaped: str | None) -> None:
    assert escape(name) == escaped


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("self.size != 7", {"size": 6}),
        ("self.ratio == 2.0", {"ratio": 2}),
        ("self.port == 80 || self.port == 'http'", {"port": "http"}),
        ("self.when < timestamp('2025-01-01T00:00:00Z')", {"when": "2024-01-01T00:00:00Z"}),
        ("self.wait == duration('90s')", {"wait": "1m30s"}),
        ("self.data == b'hi'", {"data": "aGk="}),
        ("self.a__dash__b__dot__c__slash__d__underscores__e == 1", {"a-b.c/d__e": 1}),
        ("self.__in__", {"in": True}),
        ("self.tags == ['b', 'a']", {"tags": ["a", "b"]}),
        ("self.tags != ['c', 'a'] && self.tags != ['a']", {"tags": ["a", "b"]}),
        ("self.tags + ['a'] == ['a', 'b']", {"tags": ["a", "b"]}),
        ("self.rows.exists(r, r.k == 'a' && r.v == 1)", {"rows": [{"k": "a", "v": 1}]}),
        ("self.labels.all(k, self.labels[k].startsWith('x'))", {"labels": {"a": "xa"}}),
        ("has(self.name) || self.size == 1", {"size": 1}),
        ("!has(self.name)", {"name": None} | {}),
        ("size(self.words) == 2 && self.words[0].contains('a')", {"words": ["a", "b"]}),
    ],
)
def test_a_rule_accepts(rule: str, spec: dict[str, Any]) -> None:
    spec = {key: value for key, value in spec.items() if value is not None}
    assert not errors_of(rule, spec)


@pytest.mark.parametrize(
    ("rule", "spec", "error"),
    [
        (
            {"rule": "self.size != 7", "message": "seven is unlucky"},
            {"size": 7},
            RuleError("spec", "FieldValueInvalid", UNSET, "seven is unlucky"),
        ),
        (
            "self.size != 7",
            {"size": 7},
            RuleError("spec", "FieldValueInvalid", UNSET, "failed rule: self.size != 7"),
        ),
        (
            {
                "rule": "self.size < 5",
                "messageExpression": "'size ' + string(self.size)",
                "reason": "FieldValueForbidden",
                "fieldPath": ".size",
            },
            {"size": 7},
            RuleError("spec.size", "FieldValueForbidden", UNSET, "size 7"),
        ),
        (
            {"rule": "false", "message": "m", "fieldPath": ".labels['a.b/c']"},
            {},
            RuleError("spec.labels[a.b/c]", "FieldValueInvalid", UNSET, "m"),
        ),
        (
            {"rule": "false", "message": "m", "messageExpression": "''"},
            {},
            RuleError("spec", "FieldValueInvalid", UNSET, "m"),
        ),
        (
            "self.name == 'a'",
            {},
            RuleError(
                "spec",
                "FieldValueInvalid",
                "object",
                "no such key: name evaluating rule: self.name == 'a'",
            ),
        ),
        (
            "self.port + 1 == 2",
            {"port": "a"},
            RuleError(
                "spec",
                "FieldValueInvalid",
                "object",
                "'no such overload': call arguments did not match a supported operator, function "
                "or macro signature for rule: self.port + 1 == 2",
            ),
        ),
        (
            "self.size > 3",
            {"size": 4.0},
            RuleError(
                "spec",
                "FieldValueInvalid",
                "object",
                "invalid data, expected int, got float64 evaluating rule: self.size > 3",
            ),
        ),
    ],
)
def test_a_rule_refuses(rule: Any, spec: dict[str, Any], error: RuleError) -> None:
    assert errors_of(rule, spec) == [error]


def test_rules_of_parts_name_the_part() -> None:
    compiled = rules_of("self == 'a'", at="labels", labels={**PROPERTIES["labels"]})
    assert compiled is not None
    elements = {**TEXT, "x-kubernetes-validations": [{"rule": "self != 'a'"}]}
    schema = a_schema(
        "true",
        labels={**PROPERTIES["labels"], "additionalProperties": elements},
        words={"type": "array", "items": elements},
    )
    rules = compile_rules(schema)
    assert rules is not None
    spec = {"labels": {"k": "a", "m": "b"}, "words": ["b", "a"]}
    errors, _ = rules.validate({"spec": spec})
    assert [error.path for error in errors] == ["spec.labels[k]", "spec.words[1]"]
    assert {error.value for error in errors} == {"a"}


def test_rules_of_all_of_apply_to_the_schema_around_it() -> None:
    part = {"x-kubernetes-validations": [{"rule": "self.size > 1"}]}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": PROPERTIES, "allOf": [part]}},
    }
    rules = compile_rules(schema)
    assert rules is not None
    assert [e.path for e in rules.validate({"spec": {"size": 1}})[0]] == ["spec"]
    assert not rules.validate({"spec": {"size": 2}})[0]
    # Such an error is a warning if what is around the part is unchanged, and not the part alone.
    old = {"spec": {"size": 1}}
    for new, is_error in (({"spec": {"size": 1}}, False), ({**old, "kind": "A"}, True)):
        errors, warnings = rules.validate(new, old)
        assert [each.path for each in errors + warnings] == ["spec"]
        assert bool(errors) is is_error


WRONG: dict[str, Any] = {"type": "object", "x-kubernetes-validations": [{"rule": "self.absent"}]}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (WRONG, ""),
        ({"properties": {"a": WRONG}}, "properties[a]"),
        ({"properties": {"a": {"type": "array", "items": WRONG}}}, "properties[a].items"),
        ({"properties": {"a": {"type": "object", "additionalProperties": WRONG}}},
         "properties[a].additionalProperties"),
        ({"properties": {"a": {"type": "object", "allOf": [{}, WRONG]}}}, "properties[a].allOf[1]"),
        ({"properties": {"a": {"type": "object"}}, "allOf": [{"properties": {"a": WRONG}}]},
         "allOf[0].properties[a]"),
        ({"allOf": [WRONG]}, "allOf[0]"),
        ({"type": "array", "items": WRONG}, "items"),
        ({"additionalProperties": WRONG}, "additionalProperties"),
    ],
)  # fmt: skip
def test_a_problem_has_the_place_of_its_rule_in_the_schema(
    schema: dict[str, Any], path: str
) -> None:
    rules = compile_rules({"type": "object", **schema})
    assert rules is not None
    assert [each.path for each in rules.problems()] == [
        f"{path}.x-kubernetes-validations[0].rule".removeprefix(".")
    ]


@pytest.mark.parametrize("ratio", [3, 3.0])
def test_a_number_without_a_fraction_is_a_double(ratio: float) -> None:
    assert not errors_of("self.ratio / 2.0 == 1.5 && type(self.ratio) == double", {"ratio": ratio})
    assert not errors_of("type(self.size) == int", {"size": 3})


def test_an_object_has_its_name_and_kind() -> None:
    schema = a_schema("true")
    schema["x-kubernetes-validations"] = [{"rule": "self.metadata.name == self.kind"}]
    rules = compile_rules(schema)
    assert rules is not None
    assert not rules.problems()
    assert not rules.validate({"kind": "A", "metadata": {"name": "A"}})[0]
    assert rules.validate({"kind": "A", "metadata": {"name": "b"}})[0]


def test_a_rule_about_a_change_needs_an_old_value() -> None:
    rule = "self.size >= oldSelf.size"
    assert not errors_of(rule, {"size": 1})
    assert not errors_of(rule, {"size": 2}, {"size": 1})
    assert errors_of(rule, {"size": 1}, {"size": 2})
    optional = {"rule": "!oldSelf.hasValue() || self.size > 0", "optionalOldSelf": True}
    assert not errors_of(optional, {"size": 0})
    assert errors_of(optional, {"size": 0}, {"size": 1})


def test_elements_of_a_list_of_type_map_are_compared_by_their_keys() -> None:
    items = {
        **PROPERTIES["rows"]["items"],
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v"}],
    }
    schema = a_schema("true", rows={**PROPERTIES["rows"], "items": items})
    rules = compile_rules(schema)
    assert rules is not None
    old = {"spec": {"rows": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}}
    new = {"spec": {"rows": [{"k": "b", "v": 1}, {"k": "a", "v": 4}, {"k": "c", "v": 0}]}}
    assert [error.path for error in rules.validate(new, old)[0]] == ["spec.rows[1]"]


def test_all_keys_of_an_element_count() -> None:
    names = ("host", "port")
    row: dict[str, Any] = {"type": "object", "properties": dict.fromkeys((*names, "size"), TEXT)}
    row["x-kubernetes-validations"] = [{"rule": "self.size == oldSelf.size"}]
    rows = PROPERTIES["rows"] | {"items": row, "x-kubernetes-list-map-keys": list(names)}
    rules = compile_rules(a_schema("true", rows=rows))
    assert rules is not None
    one, two = ({"host": "a", "port": port, "size": port} for port in "12")
    changed = two | {"size": "3"}
    found = rules.validate({"spec": {"rows": [changed, one]}}, {"spec": {"rows": [one, two]}})
    assert [error.path for error in found[0]] == ["spec.rows[0]"]


def test_a_rule_about_a_change_leaves_the_other_rules_of_a_new_value() -> None:
    rules = rules_of("self.size >= oldSelf.size", "self.size < 5")
    (error,) = rules.validate({"spec": {"size": 7}}, None)[0]
    assert error.detail == "failed rule: self.size < 5"


def test_errors_of_an_unchanged_part_are_warnings() -> None:
    rules = rules_of("self != 'bad'", at="name")
    old = {"spec": {"name": "bad", "size": 1}}
    errors, warnings = rules.validate({"spec": {"name": "bad", "size": 2}}, old)
    assert not errors
    assert [warning.path for warning in warnings] == ["spec.name"]
    assert rules.validate({"spec": {"name": "bad", "size": 2}}, {"spec": {"name": "b"}})[0]


@pytest.mark.parametrize(
    ("rule", "at", "path", "detail"),
    [
        ("self.sise == 1", "spec", "rule", "compilation failed: ERROR: <input>:1:5: undefined"),
        ("self.hidden.x == 1", "spec", "rule", "compilation failed: ERROR: <input>:1:12: "),
        ("self.parts__dot__of__slash__it == 1", "spec", "rule",
         "compilation failed: ERROR: <input>:1:32: found no matching overload for '_==_' applied "
         "to '(selfType.parts__dot__of__slash__it, int)'"),
        ("self.rows == self.named", "spec", "rule",
         "compilation failed: ERROR: <input>:1:11: found no matching overload for '_==_' applied "
         "to '(list(selfType.rows.@idx), map(string, selfType.named.@elem))'"),
        ("self == 1", "named", "rule",
         "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied "
         "to '(map(string, selfType.@elem), int)'"),
        ("self.size", "spec", "rule", "cel expression must evaluate to a bool"),
        ("  ", "spec", "rule", "rule is not specified"),
        ("int('x') == 1", "spec", "rule",
         "program instantiation failed: type conversion error from 'string' to 'int'"),
        ({"rule": "true", "messageExpression": "string(int('x'))"}, "spec", "messageExpression",
         "messageExpression instantiation failed: type conversion error from 'string' to"),
        ({"rule": "true", "messageExpression": "1"}, "spec", "messageExpression",
         "messageExpression must evaluate to a string"),
        ({"rule": "true", "messageExpression": "x"}, "spec", "messageExpression",
         "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'x'"),
        ("self.words.all(a, self.words.all(b, a == b))", "spec", "rule",
         "estimated rule cost exceeds budget by factor of more than 100x (try simplifying"),
    ],
)  # fmt: skip
def test_a_schema_is_refused(rule: Any, at: str, path: str, detail: str) -> None:
    problems = rules_of(rule, at=at).problems()
    prefix = "properties[spec]" + f".properties[{at}]" * (at != "spec")
    prefix += ".x-kubernetes-validations[0]"
    found = [each for each in problems if each.path == f"{prefix}.{path}"]
    assert found, problems
    assert found[0].detail.startswith(detail)


def test_old_values_are_refused_where_elements_cannot_be_compared() -> None:
    items = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}]}
    rules = compile_rules(a_schema("true", plain={**PROPERTIES["plain"], "items": items}))
    assert rules is not None
    (problem,) = rules.problems()
    assert problem.path == (
        "properties[spec].properties[plain].items.x-kubernetes-validations[0].rule"
    )
    assert problem.detail.startswith("oldSelf cannot be used on the uncorrelatable portion")


def test_the_cost_of_a_rule_counts_for_each_element() -> None:
    item = {"type": "string", "x-kubernetes-validations": [{"rule": "self.contains('a')"}]}
    unbounded = a_schema("true", words={"type": "array", "items": item})
    rules = compile_rules(unbounded)
    assert rules is not None
    details = [problem.detail for problem in rules.problems()]
    assert any("more than 100x" in detail for detail in details)
    assert any("total for entire OpenAPIv3 schema" in detail for detail in details)
    bounded = a_schema(
        "true", words={"type": "array", "items": item | {"maxLength": 10}, "maxItems": 5}
    )
    assert not (compile_rules(bounded) or rules).problems()


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        pytest.param([300, *range(992, 1_004)], [12, 11, 10, 9], id="the first four"),
        pytest.param([4_000, 300], [0], id="none below a hundredth of the limit"),
        pytest.param([1_000] * 11, [], id="the limit is not exceeded"),
    ],
)
def test_the_rules_of_a_schema_have_a_total_cost(sizes: list[int], named: list[int]) -> None:
    """Upstream: TotalCost.ObserveExpressionCost, and ValidateCustomResourceDefinition, both in
    pkg/apis/apiextensions/validation of apiextensions-apiserver.
    """
    rule = [{"rule": "self.all(a, self.all(b, a == b))"}]
    item = {"type": "string", "maxLength": 10}
    lists: dict[str, Any] = {
        f"list{index}": {
            "type": "array", "items": item, "maxItems": size, "x-kubernetes-validations": rule,
        }
        for index, size in enumerate(sizes)
    }  # fmt: skip
    rules = compile_rules(a_schema("true", **lists))
    assert rules is not None
    found = [each for each in rules.problems() if "OpenAPIv3 schema" in each.detail]
    assert {(each.reason, each.value) for each in found} <= {("FieldValueForbidden", None)}
    assert [each.path for each in found] == [
        *(f"properties[spec].properties[list{index}].x-kubernetes-validations[0].rule"
          for index in named),
        *([""] if named else []),
    ]  # fmt: skip


@pytest.mark.parametrize(("bounds", "is_refused"), [({}, True), ({"maxProperties": 100}, False)])
def test_a_map_has_as_many_values_as_a_request_can_have(
    bounds: dict[str, int], is_refused: bool
) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "boolean"}, **bounds}
    rules = rules_of("self.all(a, self.all(b, self[a] == self[b]))", at="labels", labels=schema)
    details = [problem.detail for problem in rules.problems()]
    assert any("estimated rule cost exceeds budget" in each for each in details) == is_refused


def test_the_factor_of_a_cost_is_shown_as_upstream_shows_it() -> None:
    assert "by factor of 1.100000x (try" in cost_message("c", 11, 10)
    assert "by factor of 54.2x (try" in cost_message("c", 542, 10)


def test_an_object_has_a_budget() -> None:
    rules = rules_of("self.words.all(w, w != 'x')", "self.size == 1")
    spec = {"words": ["a"] * 100, "size": 2}
    errors, _ = rules.validate({"spec": spec}, budget=50)
    (error,) = errors
    assert error.detail == (
        "validation failed due to running out of cost budget, no further validation rules will "
        "be run"
    )
    errors, _ = rules.validate({"spec": spec})
    assert [each.detail for each in errors] == ["failed rule: self.size == 1"]


def test_a_schema_without_rules_has_none() -> None:
    assert compile_rules({"type": "object", "properties": {"spec": {"type": "object"}}}) is None


@pytest.mark.parametrize(
    ("budget", "expression", "message"),
    [
        (
            20,
            "self.words.map(w, w + w).join('')",
            "messageExpression evaluation failed due to running out of cost budget, no further "
            "validation rules will be run",
        ),
        (
            OBJECT_COST_BUDGET,
            "self.words.map(w, self.words.map(v, v + w).join('')).join('')",
            "no further validation rules will be run due to call cost exceeds limit for "
            "messageExpression: \"self.words.map(w, self.words.map(v, v + w).join('')).join('')\"",
        ),
    ],
)
def test_a_message_has_a_limit(budget: int, expression: str, message: str) -> None:
    rules = rules_of({"rule": "false", "messageExpression": expression}, "false")
    errors, _ = rules.validate({"spec": {"words": ["w"] * 300}}, budget=budget)
    assert errors == [RuleError("spec", "FieldValueInvalid", "object", message)]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("self.labels.all(key, key.split('/')[0].size() < 253)", id="keys of maps"),
        pytest.param("self.rows.all(a, self.rows.exists_one(b, a.v == b.v))", id="numbers"),
        pytest.param("type(self) == map", id="the name of a type"),
    ],
)
def test_what_has_no_size_upstream_costs_nothing(rule: str) -> None:
    assert not rules_of(rule).problems()


@pytest.mark.parametrize(("name", "is_refused"), [("key", False), ("value", True)])
def test_in_a_loop_over_both_the_key_of_a_map_has_no_size(name: str, is_refused: bool) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1000}
    rules = rules_of(f"self.all(key, value, {name}.contains('a'))", at="labels", labels=schema)
    assert bool(rules.problems()) == is_refused


def least_budget(*rules: dict[str, Any] | str, spec: dict[str, Any], is_valid: bool = True) -> int:
    """Return the least budget with which the rules are evaluated to their end."""
    compiled = rules_of(*rules)

    def suffices(budget: int) -> bool:
        errors = compiled.validate({"spec": spec}, None, budget)[0]
        return not any("cost budget" in error.detail for error in errors)

    assert bool(compiled.validate({"spec": spec})[0]) is not is_valid
    return next(budget for budget in range(1, 500) if suffices(budget))


def test_all_rules_of_an_object_share_its_budget() -> None:
    spec = {"words": ["a"] * 9, "size": 2}
    rules = ("self.words.all(w, w != 'x')", "self.size == 2")
    both = least_budget(*rules, spec=spec)
    assert both == sum(least_budget(rule, spec=spec) for rule in rules)


def test_the_message_of_a_rule_takes_from_the_budget() -> None:
    plain = {"rule": "self.size == 1"}
    told = plain | {"messageExpression": "'not ' + string(self.size)"}
    alone = least_budget(plain, spec={"size": 2}, is_valid=False)
    with_message = least_budget(told, spec={"size": 2}, is_valid=False)
    assert with_message > alone
    twice = least_budget(told, told, spec={"size": 2}, is_valid=False)
    assert twice == 2 * with_message


def test_a_rule_about_a_change_is_an_error_also_of_an_unchanged_value() -> None:
    rules = rules_of("self.size > oldSelf.size", "self.size == 7")
    errors, warnings = rules.validate({"spec": {"size": 1}}, {"spec": {"size": 1}})
    assert [error.detail for error in errors] == ["failed rule: self.size > oldSelf.size"]
    assert [warning.detail for warning in warnings] == ["failed rule: self.size == 7"]


@pytest.mark.parametrize(("length", "is_used"), [(5_120, True), (5_121, False)])
def test_a_message_of_an_expression_is_one_line_of_limited_length(
    length: int, is_used: bool
) -> None:
    rule = {"rule": "self.size == 1", "message": "plain", "messageExpression": "self.free"}
    (error,) = errors_of(rule, {"size": 2, "free": "x" * length})
    assert error.detail == ("x" * length if is_used else "plain")
    (error,) = errors_of(rule, {"size": 2, "free": "two\nlines"})
    assert error.detail == "plain"


def test_the_errors_of_all_parts_are_found() -> None:
    positive = {"x-kubernetes-validations": [{"rule": "self > 0"}]}
    rules = rules_of(
        "true",
        size=PROPERTIES["size"] | positive,
        ratio={"type": "number", "x-kubernetes-validations": [{"rule": "self > 0.0"}]},
        plain=PROPERTIES["plain"] | {"items": {"type": "integer"} | positive},
    )
    errors, _ = rules.validate({"spec": {"size": -1, "ratio": -1, "plain": [1, -1, 2, -2]}})
    assert [each.path for each in errors] == [
        "spec.size",
        "spec.ratio",
        "spec.plain[1]",
        "spec.plain[3]",
    ]


def test_a_part_without_a_counterpart_is_as_new_as_what_contains_it() -> None:
    row = PROPERTIES["rows"]["items"] | {"x-kubernetes-validations": [{"rule": "self.v > 0"}]}
    rules = rules_of("true", rows=PROPERTIES["rows"] | {"items": row})
    old = {"spec": {"rows": [{"k": "a", "v": 0}]}}
    errors, warnings = rules.validate(
        {"spec": {"rows": [{"k": "a", "v": 0}, {"k": "b", "v": 0}]}}, old
    )
    assert [each.path for each in errors] == ["spec.rows[1]"]
    assert [each.path for each in warnings] == ["spec.rows[0]"]


@pytest.mark.parametrize(
    ("message", "detail"),
    [("  plain\n", "plain"), ("a  b", "a  b"), ("", "failed rule: self.size == 1")],
)
def test_a_message_has_no_space_around_it(message: str, detail: str) -> None:
    (error,) = errors_of({"rule": "self.size == 1", "message": message}, {"size": 2})
    assert error.detail == detail


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        pytest.param(
            "self.waits['a'] == duration('90s')", {"waits": {"a": "1m30s"}}, id="values of a map"
        ),
        pytest.param(
            "dyn(self.rows) != dyn([{'k': dyn('b'), 'v': dyn(1)}])",
            {"rows": [{"k": "a", "v": 1}]},
            id="another key",
        ),
        pytest.param(
            "dyn(self.rows) != dyn([{'k': dyn('a'), 'v': dyn(2)}])",
            {"rows": [{"k": "a", "v": 1}]},
            id="another value",
        ),
        pytest.param(
            "dyn(self.one) == dyn(self.other)",
            {"one": {"n": 1, "kind": "x"}, "other": {"n": 1}},
            id="undeclared fields do not count",
        ),
    ],
)
def test_values_are_those_that_the_schema_declares(rule: str, spec: dict[str, Any]) -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer"}}}
    waits = {"type": "object", "additionalProperties": PROPERTIES["wait"], "maxProperties": 3}
    rules = rules_of(rule, one=part, other=part, waits=waits)
    assert rules.validate({"spec": spec})[0] == []


def test_an_undeclared_field_is_no_change_of_a_part() -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer"}}}
    rules = rules_of("self == oldSelf", at="one", one=part)
    old = {"spec": {"one": {"n": 1}}}
    assert rules.validate({"spec": {"one": {"n": 1, "kind": "x"}}}, old)[0] == []
    assert rules.validate({"spec": {"one": {"n": 2}}}, old)[0] != []


def test_values_of_an_unknown_type_of_map_cannot_be_compared() -> None:
    size = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}]}
    part: dict[str, Any] = {"type": "object", "properties": {"size": size}}
    for kind, is_refused in (("granular", False), ("atomic", False), ("third", True)):
        rules = rules_of("true", part=part | {"x-kubernetes-map-type": kind})
        details = [each.detail for each in rules.problems()]
        assert bool(details) is is_refused
        assert all("uncorrelatable portion" in each for each in details)
