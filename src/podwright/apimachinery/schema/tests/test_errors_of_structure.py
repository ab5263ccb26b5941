"""The structure of the schemas of definitions: a row is a schema, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import of_schema, of_whole


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "object", "properties": {"b": {}, "a": {"type": "array", "items": {}}}},
         [".properties[a].items.type: Required value: must not be empty for specified array"
          " items",
          ".properties[b].type: Required value: must not be empty for specified object fields"]),
        ({"type": "object", "additionalProperties": {}},
         [".additionalProperties.type: Required value: must not be empty for specified object"
          " fields"]),
        ({"type": "object", "additionalProperties": True}, []),
        ({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True,
         "x-kubernetes-embedded-resource": True},
         [".type: Required value: must be object if x-kubernetes-embedded-resource is true",
          ".x-kubernetes-embedded-resource: Invalid value: true: must be false if"
          " x-kubernetes-int-or-string is true",
          ".x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if"
          " x-kubernetes-int-or-string is true"]),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type":
         "string"}]},
         []),
        ({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [{"type": "integer"},
         {"type": "string"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}]},
         [".allOf[1].anyOf[0].type: Forbidden: must be empty to be structural",
          ".allOf[1].anyOf[1].type: Forbidden: must be empty to be structural"]),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "string"}, {"type":
         "integer"}]},
         [".anyOf[0].type: Forbidden: must be empty to be structural",
          ".anyOf[1].type: Forbidden: must be empty to be structural"]),
        ({"type": "string", "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
        ({"x-kubernetes-preserve-unknown-fields": True}, []),
        ({"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields":
         True},
         [".type: Required value: must be object if x-kubernetes-embedded-resource is true"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
         "x-kubernetes-preserve-unknown-fields": True},
         []),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties":
         {"type": "string"}, "x-kubernetes-preserve-unknown-fields": True},
         [".additionalProperties: Forbidden: must not be used if"
          " x-kubernetes-embedded-resource is set"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"kind":
         {"type": "integer"}, "apiVersion": {"x-kubernetes-preserve-unknown-fields": True},
         "metadata": {"type": "array", "items": {"type": "string"}}}},
         ['.properties[apiVersion].type: Invalid value: "": must be string',
          '.properties[kind].type: Invalid value: "integer": must be string',
          '.properties[metadata].type: Invalid value: "array": must be object']),
        ({"type": "object", "properties": {"kind": {"type": "integer"}, "metadata": {"type":
         "string"}}},
         []),
        ({"type": "string", "pattern": "a("},
         [".pattern: Invalid value: \"a(\": must be a valid regular expression, but isn't:"
          " error parsing regexp: missing closing ): `a(`"]),
        ({"type": "string", "pattern": "a(b)?"}, []),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "not": {"properties":
         {"a": {"pattern": "["}, "b": {"minLength": 1}, "metadata": {}}, "items": {"type":
         "x"}}},
         [".not.items.type: Forbidden: must be empty to be structural",
          '.not.properties[a].pattern: Invalid value: "[": must be a valid regular'
          " expression, but isn't: error parsing regexp: missing closing ]: `[`",
          ".not.properties[metadata]: Forbidden: must not be specified in a nested context",
          '.not.items.type: Unsupported value: "x": supported values: "array", "boolean",'
          ' "integer", "number", "object", "string"']),
        ({"type": "object", "allOf": [{"properties": {"a": {"minLength": 1}}}], "oneOf":
         [{"items": {"minLength": 1}}]},
         []),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type":
         "string"}}}, "anyOf": [{"items": {"properties": {"a": {"minLength": 1}, "b":
         {"minLength": 1}}, "not": {"properties": {"c": {"maxLength": 1}}}}}]},
         []),
        ({"type": "string", "not": {"type": "", "nullable": False, "default": {},
         "description": "a", "additionalProperties": {},
         "x-kubernetes-preserve-unknown-fields": True}},
         [".not.additionalProperties: Forbidden: must be undefined to be structural",
          ".not.default: Forbidden: must be undefined to be structural",
          ".not.description: Forbidden: must be empty to be structural",
          ".not.x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be"
          " structural"]),
        ({"type": "object", "properties": {"a": {"type": "integer", "default": "b"}, "c":
         {"type": "string", "maxLength": 1, "default": "dd"}, "e": {"type": "array", "items":
         {"type": "string", "default": 1}, "default": [1]}}},
         ['.properties[a].default: Invalid value: "string":  in body must be of type integer:'
          ' "string"',
          ".properties[c].default: Too long: may not be more than 1 byte",
          '.properties[e].default.[0]: Invalid value: "integer": [0] in body must be of type'
          ' string: "integer"',
          '.properties[e].items.default: Invalid value: "integer":  in body must be of type'
          ' string: "integer"']),
        ({"type": "object", "default": {"a": 1, "b": 2}, "properties": {"a": {"type":
         "string"}}},
         ['.default: Invalid value: {"a":1,"b":2}: must not have unknown fields',
          '.default.a: Invalid value: "integer": a in body must be of type string: "integer"']),
        ({"type": "string", "nullable": True, "default": None}, []),
        ({"type": "string", "format": "hostname", "default": ".".join(["a" * 63] * 4)}, []),
        ({"type": "string", "format": "hostname",
         "default": ".".join(["a" * 63] * 3 + ["b" * 62, "c"])},
         ['.default: Invalid value: "aa*62a.aa*62a.aa*62a.bb*62.c":  in body must be of type'
          ' hostname: "aa*62a.aa*62a.aa*62a.bb*62.c"']),
        ({"type": "string", "format": "hostname", "default": "a" * 64},
         ['.default: Invalid value: "aa*64":  in body must be of type hostname: "aa*64"']),
        ({"type": "integer", "minimum": 5, "maximum": 3, "default": 4},
         [".default: Invalid value: 4:  in body should be greater than or equal to 5",
          ".default: Invalid value: 4:  in body should be less than or equal to 3"]),
    ],
)  # fmt: skip
def test_structure(row: Any, expected: list[str]) -> None:
    assert of_schema(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "string"}, ['.type: Invalid value: "string": must be object at the root']),
        ({}, [".type: Required value: must not be empty at the root"]),
        ({"type": "object", "additionalProperties": {"type": "string"}},
         [".additionalProperties: Forbidden: must not be used at the root"]),
        ({"type": "object", "properties": {"metadata": {"type": "string"}}},
         ['.properties[metadata].type: Invalid value: "string": must be object']),
        ({"type": "object", "properties": {"metadata": {"type": "object", "properties":
         {"name": {"type": "string", "maxLength": 3}, "generateName": {"type": "string"}}}}},
         []),
        ({"type": "object", "properties": {"metadata": {"type": "object", "properties":
         {"labels": {"type": "object"}}}}},
         [".properties[metadata]: Forbidden: must not specify anything other than name and"
          " generateName, but metadata is implicitly specified"]),
        ({"type": "object", "properties": {"metadata": {"type": "object", "description":
         "a"}}},
         [".properties[metadata]: Forbidden: must not specify anything other than name and"
          " generateName, but metadata is implicitly specified"]),
        ({"type": "object", "properties": {"metadata": {"type": "object", "minProperties": 0}}},
         [".properties[metadata]: Forbidden: must not specify anything other than name and"
          " generateName, but metadata is implicitly specified"]),
        ({"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}},
         [".properties[metadata].default: Forbidden: must not be set in top-level metadata"]),
        ({"type": "object", "properties": {"kind": {"type": "integer"}, "apiVersion": {"type":
          "string"}}},
         ['.properties[kind].type: Invalid value: "integer": must be string']),
        ({"type": "object", "default": {}}, []),
        ({"type": "object", "nullable": True},
         [".nullable: Forbidden: nullable cannot be true at the root"]),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, []),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type":
         "object"}}}, "anyOf": [{"properties": {"b": {"minLength": 1}, "a": {"items":
         {"properties": {"c": {}}}}}}], "not": {"properties": {"d": {"allOf": [{"properties":
         {"e": {}}}]}}}},
         [".properties[a].items.properties[c]: Required value: because it is defined in"
          " spec.validation.openAPIV3Schema.anyOf[0].properties[a].items.properties[c]",
          ".properties[b]: Required value: because it is defined in"
          " spec.validation.openAPIV3Schema.anyOf[0].properties[b]",
          ".properties[d]: Required value: because it is defined in"
          " spec.validation.openAPIV3Schema.not.properties[d]"]),
        ({"type": "object", "oneOf": [{"items": {"minLength": 1}}, {"not": {"properties":
         {"f": {}}}}]},
         [".items: Required value: because it is defined in"
          " spec.validation.openAPIV3Schema.oneOf[0].items",
          ".properties[f]: Required value: because it is defined in"
          " spec.validation.openAPIV3Schema.oneOf[1].not.properties[f]"]),
        ({"type": "object",
         "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a'"}]},
         []),
        ({"type": "object",
         "x-kubernetes-validations": [{"rule": "self.metadata.labels == {}"}]},
         ['.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.metadata.labels =='
          ' {}","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOld'
          "Self\":null}: compilation failed: ERROR: <input>:1:14: undefined field 'labels'\n |"
          " self.metadata.labels == {}\n | .............^"]),
    ],
)  # fmt: skip
def test_whole_schemas(row: Any, expected: list[str]) -> None:
    assert of_whole(row) == expected
