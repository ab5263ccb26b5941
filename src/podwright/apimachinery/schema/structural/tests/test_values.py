"""Values against schemas: upstream's texts, alternatives, and what an update may leave invalid."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural.defaulting import with_defaults, without_nulls
from podwright.apimachinery.schema.structural.formats import has_format, known_format
from podwright.apimachinery.schema.structural.values import Correlation, validate_value
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

NESTED = {"type": "object", "required": ["b"], "properties": {"b": {"type": "integer"}}}


def problems(value: Any, schema: Any, **more: Any) -> list[tuple[str, str]]:
    errors = FieldErrors()
    validate_value(errors, value, schema, **more)
    return [(path, message) for path, message, _ in errors.problems]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param({"type": "integer"}, 2.0, "", id="a whole number is an integer"),
        pytest.param({"type": "number"}, 2, "", id="an integer is a number"),
        pytest.param(
            {"type": "integer", "format": "int32"}, 2**31,
            'Invalid value: "": Checked value must be of type integer with format int32 in a',
            id="a format of integers is a range",
        ),
        pytest.param(
            {"type": "number", "maximum": 1.5, "exclusiveMaximum": True}, 1.5,
            "Invalid value: 1.5: a in body should be less than 1.5", id="an exclusive maximum",
        ),
        pytest.param(
            {"type": "number", "maximum": 1.5}, 2,
            "Invalid value: 2: a in body should be less than or equal to 1",
            id="an integer is compared with the integer part",
        ),
        pytest.param(
            {"type": "number", "multipleOf": 0.1}, 0.25,
            "Invalid value: 0.25: a in body should be a multiple of 0.1", id="a fraction",
        ),
        pytest.param({"type": "number", "multipleOf": 0.1}, 0.3, "", id="a rounded multiple"),
        pytest.param(
            {"type": "string", "format": "date-time"}, 5,
            'Invalid value: "int64": a in body must be of type date-time: "int64"',
            id="a format in place of the type",
        ),
        pytest.param({"type": "string", "format": "unknown"}, "x", "", id="an unknown format"),
        pytest.param(
            {"type": "string", "pattern": "("}, "x",
            "Invalid value: \"x\": a in body should match '(, but pattern is invalid: error parsing"
            " regexp: missing closing ): `(`'",
            id="a pattern that is none",
        ),
        pytest.param(
            {"type": "integer", "format": "int32"}, "x",
            'Invalid value: "string": a in body must be of type integer: "string"',
            id="a text in place of a number with a format",
        ),
        pytest.param({"type": "string", "maxLength": 1}, "é", "", id="lengths are of characters"),
        pytest.param({"type": "string"}, None,
                     'Invalid value: "null": a in body must be of type string: "null"', id="null"),
        pytest.param({"type": "string", "nullable": True}, None, "", id="a null that is allowed"),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1},
            {"x": 1, "y": 2}, "Too many: 2: must have at most 1 item", id="too many fields",
        ),
        pytest.param(
            {"type": "object", "minProperties": 1}, {},
            "Invalid value: 0: a in body should have at least 1 properties", id="too few fields",
        ),
        pytest.param({"enum": [1, "x"]}, 2,
                     'Unsupported value: 2: supported values: "1", "x"', id="an enumeration"),
        pytest.param({"enum": [1]}, True,
                     'Unsupported value: true: supported values: "1"', id="true is not 1"),
    ],
)  # fmt: skip
def test_one_value(schema: Any, value: Any, message: str) -> None:
    found = problems({"a": value}, {"type": "object", "properties": {"a": schema}})
    assert [text for _, text in found] == ([message] if message else [])


def test_paths_and_required_fields_below_lists_and_maps() -> None:
    schema = {"type": "object", "properties": {
        "list": {"type": "array", "items": NESTED},
        "map": {"type": "object", "additionalProperties": NESTED},
    }}  # fmt: skip
    value = {"list": [{"b": 1}, {}], "map": {"k": {"b": "x"}}}
    assert problems(value, schema) == [
        ("list[1].b", "Required value"),
        ("map.k.b", 'Invalid value: "string": map.k.b in body must be of type integer: "string"'),
    ]


def test_a_path_of_the_value_begins_the_paths_but_not_the_texts() -> None:
    assert problems({"b": "x"}, NESTED, path="status") == [
        ("status.b", 'Invalid value: "string": b in body must be of type integer: "string"')
    ]


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        pytest.param(
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {},
            ['Invalid value: "": "" must validate at least one schema (anyOf)', "Required value"],
            id="none of any",
        ),
        pytest.param(
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1},
            ['Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid'
             " alternatives"],
            id="two of one",
        ),
        pytest.param(
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1},
            ["Required value", 'Invalid value: "": "" must validate all the schemas (allOf)'],
            id="one of all",
        ),
        pytest.param(
            {"not": {"required": ["a"]}}, {"a": 1},
            ['Invalid value: "": "" must not validate the schema (not)'], id="not",
        ),
    ],
)  # fmt: skip
def test_alternatives(schema: Any, value: Any, messages: list[str]) -> None:
    assert [text for _, text in problems(value, schema)] == messages


def test_the_same_error_is_reported_once() -> None:
    schema = {"allOf": [NESTED, NESTED]}
    assert [path for path, _ in problems({}, schema)] == ["b", "<nil>"]


def test_unchanged_parts_may_be_invalid() -> None:
    fields = {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 3}}
    rows = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": fields},
    }
    schema = {"type": "object", "properties": {
        "rows": rows, "plain": {"type": "array", "items": {"type": "integer", "maximum": 3}},
    }}  # fmt: skip
    old = {"rows": [{"k": "a", "n": 9}, {"k": "b", "n": 9}], "plain": [9]}
    new = {"rows": [{"k": "b", "n": 9}, {"k": "a", "n": 8}], "plain": [9]}
    found = problems(new, schema, old=Correlation(new, old, schema))
    assert [path for path, _ in found] == ["rows[1].n"]
    new = {"rows": old["rows"], "plain": [9, 1]}
    found = problems(new, schema, old=Correlation(new, old, schema))
    assert [path for path, _ in found] == ["plain[0]"]


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("date-time", "2026-03-02t10:11:12.5Z", "2026-03-02 10:11:12Z"),
        ("date-time", "2026-12-02T10:11:12Z", "2026-13-02T10:11:12Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("duration", "9223372036854775807 s", "9223372036854775808 s"),
        ("uuid3", "3f333df6-90a4-3fda-8dd3-9485d27cee36", "3f333df6-90a4-4fda-8dd3-9485d27cee36"),
        ("uuid5", "3f333df6-90a4-5fda-8dd3-9485d27cee36", "3f333df6-90a4-5fda-0dd3-9485d27cee36"),
        ("isbn", "0321751043", "032175104"),
        ("isbn", "978-0321751041", "978032175104"),
        ("isbn13", "978-3-16-148410-0", "978-3-16-148410-1"),
        ("creditcard", "5555-5555-5555-4444", "5555-5555-5555-4445"),
        ("creditcard", "4111111111111111", "0"),
        ("duration", "2 days", "soon"),
        ("date", "0000-02-29", "0001-02-29"),
        ("duration", "1h30m", ""),
        ("duration", "x 1 dayx", "1 sec 99999999999999999999 s"),
        ("duration", "1 µs", "\u0663 s"),
        ("email", "a@example.com", "a@"),
        ("email", "A. B <a@example.com>", "A B <a@example.com> x"),
        ("email", "\xe4@example.com", "a@example.com, b@example.com"),
        ("email", "a@[192.0.2.1]", "a@[IPv6:::1]"),
        ("hostname", "a-b.example.com", "a_b"),
        ("hostname", "a." * 126 + "abc", "a." * 126 + "abcd"),
        ("ipv4", "192.0.2.1", "192.0.2.256"),
        ("ipv4", "::01.2.3.4", "1.2.3"),
        ("ipv4", "001.2.3.100", "1.2.3.4 "),
        ("ipv6", "2001:db8::1", "192.0.2.1"),
        ("ipv6", "::1.2.3.4", "::1.02.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
        ("uri", "https://example.com/a", "a b"),
        ("uri", "*", ""),
        ("uuid", "3F333DF6-90A4-4FDA-8DD3-9485D27CEE36", "3f333df6"),
        ("uuid4", "3f333df6-90a4-4fda-8dd3-9485d27cee36", "3f333df6-90a4-1fda-8dd3-9485d27cee36"),
        ("byte", "aGVsbG8=", "aGVsbG8"),
        ("isbn10", "0321751043", "0321751044"),
        ("isbn13", "978-0321751041", "978-0321751042"),
        ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
        ("ssn", "111-22-3333", "111-22-333"),
        ("ssn", "111 22-3333", "111223333"),
        ("hexcolor", "#FFFFFF", "#FFFF"),
        ("rgbcolor", "rgb(1, 2,255)", "rgb(1,2,256)"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
        ("k8s-short-name", "abc", "a.b"),
        ("k8s-long-name", "a.b", "A"),
    ],
)
def test_formats(name: str, valid: str, invalid: str) -> None:
    assert has_format(valid, name)
    assert not has_format(invalid, name)


def test_any_text_is_a_password() -> None:
    assert has_format("", "password")
    assert has_format("a b", "password")


def test_only_formats_of_the_type_are_checked() -> None:
    assert [known_format("date", each) for each in ("", "string", "integer")] == [
        "date",
        "date",
        "",
    ]
    assert known_format("int32", "integer") == "int32"
    assert known_format("int32", "string") == ""


ONE_FIELD: dict[str, Any] = {"properties": {"a": {}}}


@pytest.mark.parametrize(
    ("value", "schema", "made"),
    [
        ({"a": None, "b": None, "c": 1}, {"properties": {"a": {}, "b": {"nullable": True}}},
         {"b": None, "c": 1}),
        ({"a": None}, {"properties": {"a": {"default": 1}}}, {"a": None}),
        ({"a": None}, {"additionalProperties": {}}, {}),
        ({"a": None}, {"additionalProperties": True}, {"a": None}),
        ({"a": None}, {"properties": {"b": {}}}, {"a": None}),
        ({"a": None}, None, {"a": None}),
        ([{"a": None}, None], {"items": ONE_FIELD}, [{}, None]),
        ([{"a": None}], {"items": True}, [{"a": None}]),
        ([{"a": None}], None, [{"a": None}]),
        ({"b": {"a": None}}, ONE_FIELD, {"b": {"a": None}}),
        ({"b": {"a": None}}, {"additionalProperties": ONE_FIELD}, {"b": {}}),
        ({"a": {"a": None}}, {"properties": {"a": ONE_FIELD}, "additionalProperties": {}},
         {"a": {}}),
        ("a", ONE_FIELD, "a"),
    ],
)  # fmt: skip
def test_nulls_that_are_not_allowed_are_dropped(value: Any, schema: Any, made: Any) -> None:
    found = without_nulls(value, schema)
    assert found == made
    assert (found is value) == (made == value)


@pytest.mark.parametrize(
    ("value", "schema", "made"),
    [
        ({"k": None}, {"additionalProperties": {"default": 2}}, {"k": 2}),
        ({"k": None}, {"additionalProperties": {"default": 2, "nullable": True}}, {"k": None}),
        ({"k": None}, {"additionalProperties": True}, {"k": None}),
        ({"k": {}}, {"additionalProperties": {"properties": {"a": {"default": 1}}}},
         {"k": {"a": 1}}),
        ({"k": {}}, {}, {"k": {}}),
        ([None, 1], {"items": {"default": 5}}, [5, 1]),
        ([None], {"items": {"default": 5, "nullable": True}}, [None]),
        ([None], {"items": True}, [None]),
        ([{}], None, [{}]),
        ({"a": 1}, {"properties": {"a": {"default": 2}, "b": {"default": 3}}}, {"a": 1, "b": 3}),
        ({"a": None}, {"properties": {"a": {"default": 2}}}, {"a": 2}),
        ({"a": None}, {"properties": {"a": {}}}, {"a": None}),
        ({"a": {}}, {"properties": {"a": {}}, "additionalProperties":
                     {"properties": {"b": {"default": 1}}}}, {"a": {}}),
    ],
)  # fmt: skip
def test_defaults_are_set_where_a_value_is_absent_or_a_null_not_allowed(
    value: Any, schema: Any, made: Any
) -> None:
    found = with_defaults(value, schema)
    assert found == made
    assert (found is value) == (made == value)
