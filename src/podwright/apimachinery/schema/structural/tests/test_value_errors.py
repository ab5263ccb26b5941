"""Values against schemas, check by check: a row is a schema and a value, and the lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural.values import Correlation, validate_value
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

INT: dict[str, Any] = {"type": "integer", "maximum": 3}
T: dict[str, Any] = {"type": "string", "maxLength": 1}
A: dict[str, Any] = {"required": ["a"]}
B: dict[str, Any] = {"required": ["b"]}
INT_OR_STRING: dict[str, Any] = {"x-kubernetes-int-or-string": True}


def of(kind: str, **rules: Any) -> dict[str, Any]:
    return {"type": kind} | rules


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def rows(items: Any, *keys: str) -> dict[str, Any]:
    kind = {"type": "array", "x-kubernetes-list-type": "map"}
    return kind | {"x-kubernetes-list-map-keys": list(keys), "items": items}


K = fields(k={"type": "string"}, n=INT)


def of_value(schema: Any, value: Any, path: str = "") -> list[str]:
    errors = FieldErrors()
    validate_value(errors, value, schema, path=path)
    return [f"{at}: {message}" for at, message, _ in errors.problems]


def of_field(schema: Any, value: Any) -> list[str]:
    return of_value(fields(a=schema), {"a": value})


def of_change(schema: Any, value: Any, old: Any) -> list[str]:
    errors = FieldErrors()
    validate_value(errors, value, schema, old=Correlation(value, old, schema))
    return [f"{at}: {message}" for at, message, _ in errors.problems]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((of("boolean"), "true"),
         ['a: Invalid value: "string": a in body must be of type boolean: "string"']),
        ((of("boolean"), 1),
         ['a: Invalid value: "integer": a in body must be of type boolean: "integer"']),
        ((of("boolean"), True), []),
        ((of("string"), True),
         ['a: Invalid value: "boolean": a in body must be of type string: "boolean"']),
        ((of("string"), 1.5),
         ['a: Invalid value: "number": a in body must be of type string: "number"']),
        ((of("string"), []),
         ['a: Invalid value: "array": a in body must be of type string: "array"']),
        ((of("string"), {}),
         ['a: Invalid value: "object": a in body must be of type string: "object"']),
        ((of("array"), {}),
         ['a: Invalid value: "object": a in body must be of type array: "object"']),
        ((of("object"), []),
         ['a: Invalid value: "array": a in body must be of type object: "array"']),
        ((of("object"), "x"),
         ['a: Invalid value: "string": a in body must be of type object: "string"']),
        ((of("integer"), True),
         ['a: Invalid value: "boolean": a in body must be of type integer: "boolean"']),
        ((of("integer"), 1.5),
         ['a: Invalid value: "number": a in body must be of type integer: "number"',
          '<nil>: Invalid value: "": Checked value must be of type integer (default format)'
           " in a"]),
        ((of("number"), True),
         ['a: Invalid value: "boolean": a in body must be of type number: "boolean"']),
        ((of("number"), "1"),
         ['a: Invalid value: "string": a in body must be of type number: "string"']),
        ((of("integer"), 2.0), []),
        ((of("integer"), 2.0 ** 53),
         ['a: Invalid value: "number": a in body must be of type integer: "number"']),
        ((of("integer"), -2.0 ** 53 + 1), []),
        ((of("integer"), 2.0000000001),
         ['<nil>: Invalid value: "": Checked value must be of type integer (default format)'
           " in a"]),
        ((of("integer"), 2.001),
         ['a: Invalid value: "number": a in body must be of type integer: "number"',
          '<nil>: Invalid value: "": Checked value must be of type integer (default format)'
           " in a"]),
        ((of("integer"), -0.0), []),
        ((of("integer"), 1e-12),
         ['a: Invalid value: "number": a in body must be of type integer: "number"',
          '<nil>: Invalid value: "": Checked value must be of type integer (default format)'
           " in a"]),
        ((INT_OR_STRING, 1), []),
        ((INT_OR_STRING, "x"), []),
        ((INT_OR_STRING, 1.5),
         ['a: Invalid value: "number": a in body must be of type integer,string: "number"']),
        ((INT_OR_STRING, True),
         ['a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"']),
        ((INT_OR_STRING, None),
         ['a: Invalid value: "null": a in body must be of type integer,string: "null"']),
        ((INT_OR_STRING | {"nullable": True}, None), []),
        ((INT_OR_STRING | {"pattern": "^a"}, "b"),
         ["a: Invalid value: \"b\": a in body should match '^a'"]),
        ((INT_OR_STRING | {"maximum": 3}, 4),
         ["a: Invalid value: 4: a in body should be less than or equal to 3"]),
        (({}, None), []),
        ((of("object", nullable=True), None), []),
        ((of("object"), None),
         ['a: Invalid value: "null": a in body must be of type object: "null"']),
        (({"enum": ["x"]}, None),
         ['a: Unsupported value: null: supported values: "x"']),
        ((of("string", nullable=True, enum=["x"]), None),
         ['a: Unsupported value: null: supported values: "x"']),
        ((of("string", nullable=True, enum=["x", None]), None),
         ['a: Unsupported value: null: supported values: "x", "null"']),
        ((of("string", format="date"), "x"),
         ['a: Invalid value: "x": a in body must be of type date: "x"']),
        ((of("string", format="date"), "2020-01-01"), []),
        ((of("string", format="date"), 1),
         ['a: Invalid value: "int64": a in body must be of type date: "int64"']),
        ((of("string", format="date"), True),
         ['a: Invalid value: "": a in body must be of type date: ""']),
        ((of("string", format="date"), []), []),
        ((of("string", format="date"), {}),
         ['a: Invalid value: "": a in body must be of type date: ""']),
        ((of("integer", format="int32"), "1"),
         ['a: Invalid value: "string": a in body must be of type integer: "string"']),
        ((of("integer", format="int64"), True),
         ['a: Invalid value: "": a in body must be of type int64: ""']),
        ((of("integer", format="int32"), []),
         ['a: Invalid value: "array": a in body must be of type integer: "array"']),
        ((of("number", format="double"), "x"),
         ['a: Invalid value: "string": a in body must be of type number: "string"']),
        ((of("number", format="double"), 3), []),
        ((of("integer", format="int32"), 2 ** 31 - 1), []),
        ((of("integer", format="int32"), 2 ** 31),
         ['<nil>: Invalid value: "": Checked value must be of type integer with format int32'
           " in a"]),
        ((of("integer", format="int32"), -2 ** 31), []),
        ((of("integer", format="int32"), -2 ** 31 - 1),
         ['<nil>: Invalid value: "": Checked value must be of type integer with format int32'
           " in a"]),
        ((of("integer", format="int64"), 2 ** 63 - 1), []),
        ((of("integer"), 2 ** 31), []),
        ((of("integer", format="int32"), 2.0), []),
        ((of("integer", format="int32"), 3000000000.0),
         ['<nil>: Invalid value: "": Checked value must be of type integer with format int32'
           " in a"]),
        ((of("number", format="float"), 3.4028234663852886e+38), []),
        ((of("number", format="float"), 3.5e+38),
         ['<nil>: Invalid value: "": Checked value must be of type number with format float'
           " in a"]),
        ((of("number", format="float"), -3.5e+38),
         ['<nil>: Invalid value: "": Checked value must be of type number with format float'
           " in a"]),
        ((of("number", format="double"), 3.5e+38), []),
        ((of("number"), 3.5e+38), []),
        ((of("string", enum=["x", "y"]), "y"), []),
        ((of("string", enum=["x", "y"]), "z"),
         ['a: Unsupported value: "z": supported values: "x", "y"']),
        (({"enum": [1, {"a": "b"}, ["c"]]}, {"a": "c"}),
         ['a: Unsupported value: {"a":"c"}: supported values: "1", "{\\"a\\":\\"b\\"}",'
           ' "[\\"c\\"]"']),
        (({"enum": [{"a": "b"}]}, {"a": "b"}), []),
        (({"enum": [False]}, 0),
         ['a: Unsupported value: 0: supported values: "false"']),
        (({"enum": [0]}, False),
         ['a: Unsupported value: false: supported values: "0"']),
        (({"enum": [False]}, False), []),
        ((of("number", enum=[2]), 2.5), []),
        ((of("number", enum=[2.5]), 2.5), []),
        ((of("number", enum=[2.5]), 2),
         ['a: Unsupported value: 2: supported values: "2.5"']),
        (({"enum": []}, 1), []),
        (({"enum": ["1"]}, 1),
         ['a: Unsupported value: 1: supported values: "1"']),
        ((of("string", maxLength=2), "ab"), []),
        ((of("string", maxLength=2), "abc"),
         ["a: Too long: may not be more than 2 bytes"]),
        ((of("string", maxLength=0), "a"),
         ["a: Too long: may not be more than 0 bytes"]),
        ((of("string", minLength=2), "ab"), []),
        ((of("string", minLength=2), "a"),
         ['a: Invalid value: "a": a in body should be at least 2 chars long']),
        ((of("string", minLength=2, pattern="^b"), "a"),
         ['a: Invalid value: "a": a in body should be at least 2 chars long']),
        ((of("string", maxLength=1, minLength=3), "ab"),
         ["a: Too long: may not be more than 1 byte"]),
        ((of("string", pattern="b"), "abc"), []),
        ((of("string", pattern="^b"), "abc"),
         ["a: Invalid value: \"abc\": a in body should match '^b'"]),
        ((of("string", pattern="^b", format="date", enum=["c"]), "abc"),
         ["a: Invalid value: \"abc\": a in body should match '^b'",
          'a: Invalid value: "abc": a in body must be of type date: "abc"',
          'a: Unsupported value: "abc": supported values: "c"']),
        ((of("string", pattern=""), "abc"), []),
        ((of("integer", minimum=2), 2), []),
        ((of("integer", minimum=2), 1),
         ["a: Invalid value: 1: a in body should be greater than or equal to 2"]),
        ((of("integer", minimum=2, exclusiveMinimum=True), 2),
         ["a: Invalid value: 2: a in body should be greater than 2"]),
        ((of("integer", minimum=2, exclusiveMinimum=True), 3), []),
        ((of("integer", maximum=2), 2), []),
        ((of("integer", maximum=2), 3),
         ["a: Invalid value: 3: a in body should be less than or equal to 2"]),
        ((of("integer", maximum=2, exclusiveMaximum=True), 2),
         ["a: Invalid value: 2: a in body should be less than 2"]),
        ((of("integer", maximum=2, exclusiveMaximum=True), 1), []),
        ((of("number", minimum=1.5), 1.4),
         ["a: Invalid value: 1.4: a in body should be greater than or equal to 1.5"]),
        ((of("number", minimum=1.5), 1), []),
        ((of("number", minimum=1.5), 1.5), []),
        ((of("number", maximum=2.5), 3),
         ["a: Invalid value: 3: a in body should be less than or equal to 2"]),
        ((of("number", maximum=2), 2.5),
         ["a: Invalid value: 2.5: a in body should be less than or equal to 2"]),
        ((of("number", minimum=1e+21), 1.5),
         ["a: Invalid value: 1.5: a in body should be greater than or equal to 1e+21"]),
        ((of("number", minimum=-1e-05), -1.0),
         ["a: Invalid value: -1: a in body should be greater than or equal to -1e-05"]),
        ((of("number", minimum=0.0001), 0.0),
         ["a: Invalid value: 0: a in body should be greater than or equal to 0.0001"]),
        ((of("number", maximum=-2.5e-07), 0.5),
         ["a: Invalid value: 0.5: a in body should be less than or equal to -2.5e-07"]),
        ((of("integer", maximum=0), 1),
         ["a: Invalid value: 1: a in body should be less than or equal to 0"]),
        ((of("integer", minimum=0), -1),
         ["a: Invalid value: -1: a in body should be greater than or equal to 0"]),
        ((of("integer", minimum=3, maximum=1), 2),
         ["a: Invalid value: 2: a in body should be greater than or equal to 3",
          "a: Invalid value: 2: a in body should be less than or equal to 1"]),
        ((of("integer", format="int32", maximum=2 ** 31), 1),
         ['<nil>: Invalid value: "": Maximum boundary value must be of type integer with'
           " format int32 in a"]),
        ((of("integer", format="int32", minimum=-2 ** 31 - 1), 1),
         ['<nil>: Invalid value: "": Minimum boundary value must be of type integer with'
           " format int32 in a"]),
        ((of("integer", format="int32", multipleOf=2 ** 31), 4),
         ['<nil>: Invalid value: "": MultipleOf value must be of type integer with format'
           " int32 in a",
          "a: Invalid value: 4: a in body should be a multiple of 2147483648"]),
        ((of("integer", maximum=1.5), 2),
         ['<nil>: Invalid value: "": Maximum boundary value must be of type integer (default'
           " format) in a",
          "a: Invalid value: 2: a in body should be less than or equal to 1.5"]),
        ((of("integer", maximum=1.5), 1),
         ['<nil>: Invalid value: "": Maximum boundary value must be of type integer (default'
           " format) in a"]),
        ((of("number", format="float", maximum=3.5e+38), 1.5),
         ['<nil>: Invalid value: "": Maximum boundary value must be of type number with'
           " format float in a"]),
        ((of("integer", multipleOf=3), 6), []),
        ((of("integer", multipleOf=3), 7),
         ["a: Invalid value: 7: a in body should be a multiple of 3"]),
        ((of("integer", multipleOf=3), 0), []),
        ((of("integer", multipleOf=-3), 6),
         ["a: Invalid value: -3: factor MultipleOf declared for a must be positive: -3"]),
        ((of("integer", multipleOf=0), 6),
         ["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"]),
        ((of("number", multipleOf=0.5), 1.5), []),
        ((of("number", multipleOf=0.5), 1.25),
         ["a: Invalid value: 1.25: a in body should be a multiple of 0.5"]),
        ((of("number", multipleOf=0.5), 2),
         ["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"]),
        ((of("number", multipleOf=2.5), 4), []),
        ((of("number", multipleOf=2.5), 5.0), []),
        ((of("number", multipleOf=2), 5.0),
         ["a: Invalid value: 5: a in body should be a multiple of 2"]),
        ((of("number", multipleOf=2.0), 5),
         ["a: Invalid value: 5: a in body should be a multiple of 2"]),
        ((of("number", multipleOf=0.1), 0.7), []),
        ((of("array", maxItems=1), [1]), []),
        ((of("array", maxItems=1), [1, 2]),
         ["a: Too many: 2: must have at most 1 item"]),
        ((of("array", minItems=1), []),
         ["a: Invalid value: 0: a in body should have at least 1 items"]),
        ((of("array", minItems=1), [1]), []),
        ((of("array", maxItems=0), [1]),
         ["a: Too many: 1: must have at most 0 items"]),
        ((of("array", minItems=2, maxItems=0), [1]),
         ["a: Invalid value: 1: a in body should have at least 2 items",
          "a: Too many: 1: must have at most 0 items"]),
        ((of("array", items=of("string")), [1, "x", None]),
         ['a[0]: Invalid value: "integer": a[0] in body must be of type string: "integer"',
          'a[2]: Invalid value: "null": a[2] in body must be of type string: "null"']),
        ((of("array", items=of("array", items=of("string", maxLength=1))), [["ab"], ["a", "bc"]]),
         ["a[0][0]: Too long: may not be more than 1 byte",
          "a[1][1]: Too long: may not be more than 1 byte"]),
        ((of("object", maxProperties=1), {"b": 1}), []),
        ((of("object", maxProperties=1), {"b": 1, "c": 2}),
         ["a: Too many: 2: must have at most 1 item"]),
        ((of("object", minProperties=1), {"b": 1}), []),
        ((of("object", minProperties=1), {}),
         ["a: Invalid value: 0: a in body should have at least 1 properties"]),
        ((of("object", additionalProperties=False), {"b": 1}),
         ['a: Invalid value: "b": a.b in body is a forbidden property']),
        ((of("object", additionalProperties=False, properties={"b": of("integer")}), {"b": 1,
          "c": 2}),
         ['a: Invalid value: "c": a.c in body is a forbidden property']),
        ((of("object", additionalProperties=True), {"b": 1}), []),
        ((of("object", additionalProperties=of("string"), properties={"b": of("integer")}), {"b":
          1, "c": 2}),
         ['a.c: Invalid value: "integer": a.c in body must be of type string: "integer"']),
        ((of("object", properties={"c": of("string"), "b": of("string")}), {"c": 1, "b": 2, "d":
          3}),
         ['a.b: Invalid value: "integer": a.b in body must be of type string: "integer"',
          'a.c: Invalid value: "integer": a.c in body must be of type string: "integer"']),
        ((of("object", required=["b", "c"]), {"c": None}),
         ["a.b: Required value"]),
        ((of("object", required=["c", "b"], properties={"b": of("string")}), {}),
         ["a.c: Required value",
          "a.b: Required value"]),
        ((of("object", properties={"b": of("string")}), {"b": None}),
         ['a.b: Invalid value: "null": a.b in body must be of type string: "null"']),
    ],
)  # fmt: skip
def test_one_field(row: Any, expected: list[str]) -> None:
    assert of_field(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((of("integer"), "x"),
         ['<nil>: Invalid value: "string":  in body must be of type integer: "string"']),
        ((of("integer"), "x", "status"),
         ['status: Invalid value: "string":  in body must be of type integer: "string"']),
        ((fields(a=INT), {"a": 4}, "status"),
         ["status.a: Invalid value: 4: a in body should be less than or equal to 3"]),
        (({"anyOf": [A, B]}, {"b": 1}), []),
        (({"anyOf": [A, B]}, {}),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          "a: Required value"]),
        (({"anyOf": [A, of("object", required=["b"])]}, {}),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          "b: Required value"]),
        (({"anyOf": [{"properties": {"c": of("string")}, "required": ["a"]}, A]}, {"c": 1}),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          'c: Invalid value: "integer": c in body must be of type string: "integer"',
          "a: Required value"]),
        (({"anyOf": [A, {"properties": {"c": INT, "d": INT}}]}, {"c": 9, "d": 1}),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          "c: Invalid value: 9: c in body should be less than or equal to 3"]),
        (({"anyOf": [{"maximum": 1}, {"minimum": 5}]}, 3),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          "<nil>: Invalid value: 3:  in body should be less than or equal to 1"]),
        (({"anyOf": [of("integer"), of("string")]}, True),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          '<nil>: Invalid value: "boolean":  in body must be of type integer: "boolean"']),
        (({"oneOf": [A, B]}, {"a": 1}), []),
        (({"oneOf": [A, B]}, {}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " none valid",
          "a: Required value"]),
        (({"oneOf": [A, B]}, {"a": 1, "b": 1}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " 2 valid alternatives"]),
        (({"oneOf": [A, B, {}]}, {"a": 1, "b": 1}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " 3 valid alternatives"]),
        (({"oneOf": [B, A, {"properties": {"c": INT, "d": INT}}]}, {"c": 9, "d": 1}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " none valid",
          "c: Invalid value: 9: c in body should be less than or equal to 3"]),
        (({"oneOf": [{"properties": {"c": INT}}, A]}, {"c": 9}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " none valid",
          "c: Invalid value: 9: c in body should be less than or equal to 3"]),
        (({"oneOf": [A, of("object", required=["b"]), B]}, {}),
         ['<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " none valid",
          "b: Required value"]),
        (({"allOf": [A, B]}, {"a": 1, "b": 2}), []),
        (({"allOf": [A, B]}, {"a": 1}),
         ["b: Required value",
          '<nil>: Invalid value: "": "" must validate all the schemas (allOf)']),
        (({"allOf": [A, B]}, {}),
         ["a: Required value",
          "b: Required value",
          '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated']),
        (({"allOf": [A, A]}, {}),
         ["a: Required value",
          '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated']),
        (({"allOf": [A]}, {}),
         ["a: Required value",
          '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated']),
        (({"not": A}, {}), []),
        (({"not": A}, {"a": 1}),
         ['<nil>: Invalid value: "": "" must not validate the schema (not)']),
        (({"not": {}}, 1),
         ['<nil>: Invalid value: "": "" must not validate the schema (not)']),
        (({"anyOf": [A], "oneOf": [B], "allOf": [A], "not": {}}, {}),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          "a: Required value",
          '<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found'
           " none valid",
          "b: Required value",
          '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated',
          '<nil>: Invalid value: "": "" must not validate the schema (not)']),
        ((fields(a={"anyOf": [A, B]}), {"a": {}}),
         ['<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
          "a.a: Required value"]),
        ((of("string", minLength=2, anyOf=[{"minLength": 2}]), "x"),
         ['<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
          '<nil>: Invalid value: "x":  in body should be at least 2 chars long']),
    ],
)  # fmt: skip
def test_alternatives_and_paths(row: Any, expected: list[str]) -> None:
    assert of_value(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((INT, 9, 9), []),
        ((INT, 9, 8),
         ["<nil>: Invalid value: 9:  in body should be less than or equal to 3"]),
        ((INT, 9, 9.0),
         ["<nil>: Invalid value: 9:  in body should be less than or equal to 3"]),
        ((T, "ab", "ab"), []),
        ((T, "ab", "cd"),
         ["<nil>: Too long: may not be more than 1 byte"]),
        ((fields(a=INT), {"a": 9}, {"a": 9}), []),
        ((fields(a=INT), {"a": 9}, {"a": 8}),
         ["a: Invalid value: 9: a in body should be less than or equal to 3"]),
        ((fields(a=INT), {"a": 9}, {}),
         ["a: Invalid value: 9: a in body should be less than or equal to 3"]),
        ((fields(a=INT, b=T), {"a": 9, "b": "cd"}, {"a": 9, "b": "ab"}),
         ["b: Too long: may not be more than 1 byte"]),
        ((fields(a=INT), {"a": 9}, []),
         ["a: Invalid value: 9: a in body should be less than or equal to 3"]),
        ((of("object", additionalProperties=INT), {"a": 9, "b": 9}, {"a": 9, "b": 8}),
         ["b: Invalid value: 9: .b in body should be less than or equal to 3"]),
        ((of("object", properties={"a": INT}, additionalProperties=T), {"a": 9, "b": "cd"}, {"a":
          9, "b": "cd", "c": 1}), []),
        ((fields(a=fields(b=INT, c=INT)), {"a": {"b": 9, "c": 9}}, {"a": {"b": 9, "c": 1}}),
         ["a.c: Invalid value: 9: a.c in body should be less than or equal to 3"]),
        ((fields(apiVersion=T, kind=T, a=fields(kind=T)), {"apiVersion": "ab", "kind": "cd", "a":
          {"kind": "ef"}}, {"apiVersion": "ab", "kind": "cd", "a": {"kind": "ef"}, "b": 1}),
         ["apiVersion: Too long: may not be more than 1 byte",
          "kind: Too long: may not be more than 1 byte"]),
        ((of("object", required=["a"], properties={"b": INT}), {"b": 9}, {"b": 9}), []),
        ((of("object", required=["a"], properties={"b": INT}), {"b": 1}, {"b": 2}),
         ["a: Required value"]),
        ((fields(a=of("array", items=INT, maxItems=1)), {"a": [9]}, {"a": [9]}), []),
        ((fields(a=of("array", items=INT)), {"a": [9, 1]}, {"a": [9]}),
         ["a[0]: Invalid value: 9: a[0] in body should be less than or equal to 3"]),
        ((rows(K, "k"), [{"k": "a", "n": 9}], [{"k": "a", "n": 9}]), []),
        ((rows(K, "k"), [{"k": "a", "n": 9}], [{"k": "b", "n": 9}]),
         ["[0].n: Invalid value: 9: [0].n in body should be less than or equal to 3"]),
        ((rows(K, "k"), [{"k": "a", "n": 9}, {"k": "b", "n": 9}], [{"k": "b", "n": 9}, {"k": "a",
          "n": 9}]), []),
        ((rows(K, "k"), [{"k": "a", "n": 9}, {"k": "b", "n": 9}], [{"k": "a", "n": 9}, {"k": "b",
          "n": 8}]),
         ["[1].n: Invalid value: 9: [1].n in body should be less than or equal to 3"]),
        ((rows(K, "k"), [{"k": "a", "n": 9}, {"k": "b", "n": 1}], [{"k": "a", "n": 9}]), []),
        ((rows(K, "k", "j"), [{"k": "a", "n": 9}], [{"k": "a", "n": 9}]), []),
        ((rows(K, "k", "j"), [{"k": "a", "j": "x", "n": 9}], [{"k": "a", "n": 9}, {"k": "a", "j":
          "x", "n": 9}, {"k": "a", "j": "x", "n": 1}]), []),
        ((rows(K), [{"n": 9}], [{"n": 9}, {"n": 8}]), []),
        ((rows(K | {"maxProperties": 1}, "k") | {"maxItems": 1}, [{"k": "b", "n": 1}, {"k": "a",
          "n": 1}], [{"k": "a", "n": 1}, {"k": "b", "n": 1}]), []),
        ((rows(K, "k") | {"maxItems": 1}, [{"k": "b"}, {"k": "a"}], [{"k": "a"}, {"k": "b"}]), []),
        ((rows(K, "k") | {"maxItems": 1}, [{"k": "b"}, {"k": "a"}], [{"k": "a"}, {"k": "c"}]),
         ["<nil>: Too many: 2: must have at most 1 item"]),
        ((rows(K, "k") | {"maxItems": 1}, [{"k": "a"}, {"k": "b"}], [{"k": "a"}]),
         ["<nil>: Too many: 2: must have at most 1 item"]),
        ((rows(INT, "k"), [9], [9]),
         ["[0]: Invalid value: 9: [0] in body should be less than or equal to 3"]),
        ((rows(INT, "k"), [9, 1], [9]),
         ["[0]: Invalid value: 9: [0] in body should be less than or equal to 3"]),
        ((rows(K, "k"), [{"k": "a", "n": 9}], {}),
         ["[0].n: Invalid value: 9: [0].n in body should be less than or equal to 3"]),
        ((rows(K, "k"), [{"k": "a", "n": 9}], ["a"]),
         ["[0].n: Invalid value: 9: [0].n in body should be less than or equal to 3"]),
        (({"anyOf": [INT, T]}, 9, 9), []),
        ((fields(a={"anyOf": [INT, T]}, b=INT), {"a": 9, "b": 1}, {"a": 9, "b": 2}), []),
        ((fields(a={"allOf": [fields(b=INT)]}), {"a": {"b": 9, "c": 1}}, {"a": {"b": 9}}),
         ["a.b: Invalid value: 9: a.b in body should be less than or equal to 3",
          '<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated']),
        ((fields(a={"not": {}}, b=INT), {"a": 1, "b": 2}, {"a": 1}), []),
    ],
)  # fmt: skip
def test_what_an_update_leaves_is_not_checked(row: Any, expected: list[str]) -> None:
    assert of_change(*row) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_field(of("string", format="date"), "é"),
         ['a: Invalid value: "é": a in body must be of type date: "é"']),
        (lambda: of_field({"format": "date"}, 5),
         ['a: Invalid value: "int64": a in body must be of type date: "int64"']),
        (lambda: of_field({"format": "date"}, ["a"]), []),
        (lambda: of_field(INT_OR_STRING, []),
         ['a: Invalid value: "array": a in body must be of type integer,string: "array"']),
        (lambda: of_field(of("integer", multipleOf=1.5), 2),
         ['<nil>: Invalid value: "": MultipleOf value must be of type integer (default'
           " format) in a",
          "a: Invalid value: 2: a in body should be a multiple of 1.5"]),
        (lambda: of_field(of("integer", multipleOf=0.1), 1),
         ['<nil>: Invalid value: "": MultipleOf value must be of type integer (default'
           " format) in a"]),
        (lambda: of_field(of("number", multipleOf=2.0), 3.5),
         ["a: Invalid value: 3.5: a in body should be a multiple of 2"]),
        (lambda: of_field(of("number", multipleOf=-2.0), 1.5),
         ["a: Invalid value: -2: factor MultipleOf declared for a must be positive: -2"]),
        (lambda: of_field(of("number", multipleOf=0.5), 1.5), []),
        (lambda: of_field(of("number", multipleOf=0.5), 0.25),
         ["a: Invalid value: 0.25: a in body should be a multiple of 0.5"]),
        (lambda: of_change(fields(a=INT), {"a": 5}, 5),
         ["a: Invalid value: 5: a in body should be less than or equal to 3"]),
        (lambda: of_change(fields(a=INT), {"a": 5}, {"a": 5}), []),
        (lambda: of_change(fields(a=INT), {"a": 5}, None),
         ["a: Invalid value: 5: a in body should be less than or equal to 3"]),
    ],
)  # fmt: skip
def test_numbers_texts_and_other_shapes(call: Any, expected: list[str]) -> None:
    assert call() == expected
