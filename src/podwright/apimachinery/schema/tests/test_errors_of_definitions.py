"""The errors of definitions and of their schemas: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    definition,
    of_definition,
    of_schema,
    of_update,
    version,
)
from podwright.apimachinery.schema.validation.custom.definition_schemas import (
    printed_schema,
    printed_version,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, []),
        ({"group": "a"},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          'spec.group: Invalid value: "a": should be a domain with at least one dot']),
        ({"group": "A.b", "scope": "x"},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          'spec.group: Invalid value: "A.b": SUBDOMAIN',
          'spec.scope: Unsupported value: "x": supported values: "Cluster", "Namespaced"']),
        ({"names": {}},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          "spec.names.plural: Required value",
          "spec.names.singular: Required value",
          "spec.names.kind: Required value",
          "spec.names.listKind: Required value"]),
        ({"names": {"plural": "cars", "singular": "C", "kind": "car!", "listKind": "car!",
         "shortNames": ["A", "b"], "categories": ["-"]}},
         ['spec.names.singular: Invalid value: "C": a DNS-1035 label must consist of lower'
          " case alphanumeric characters or '-', start with an alphabetic character, and end"
          " with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
          " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.kind: Invalid value: "car!": may have mixed case, but should otherwise'
          " match: a DNS-1035 label must consist of lower case alphanumeric characters or"
          " '-', start with an alphabetic character, and end with an alphanumeric character"
          " (e.g. 'my-name',  or 'abc-123', regex used for validation is"
          " '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.listKind: Invalid value: "car!": may have mixed case, but should'
          " otherwise match: a DNS-1035 label must consist of lower case alphanumeric"
          " characters or '-', start with an alphabetic character, and end with an"
          " alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation"
          " is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.shortNames[0]: Invalid value: "A": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.listKind: Invalid value: "car!": kind and listKind may not be the same',
          'spec.names.categories[0]: Invalid value: "-": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"names": {"plural": "cars", "singular": "car", "kind": "Car", "listKind": "Car"}},
         ['spec.names.listKind: Invalid value: "Car": kind and listKind may not be the same']),
        ({"preserveUnknownFields": True},
         ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set"
          " x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        ({"versions": []},
         ["spec.versions: Invalid value: null: must have exactly one version marked as"
          " storage version"]),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]},
         ["spec.versions[0].schema.openAPIV3Schema: Required value"]),
        ({"versions": [version("A_b")]},
         ['spec.versions[0].name: Invalid value: "A_b": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.version: Invalid value: "A_b": a DNS-1035 label must consist of lower case'
          " alphanumeric characters or '-', start with an alphabetic character, and end with"
          " an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
          " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"versions": [version("v1"), version("v1")]},
         ["spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning'
          '":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selectab'
          'leFields":null},{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"Depr'
          'ecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":'
          'null,"SelectableFields":null}]: must contain unique version names',
          "spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning'
          '":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selectab'
          'leFields":null},{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"Depr'
          'ecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":'
          'null,"SelectableFields":null}]: must have exactly one version marked as storage'
          " version"]),
        ({"versions": [version("v1"), version("v2", storage=False)]}, []),
        ({"versions": [version("v1", storage=False)]},
         ["spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarnin'
          'g":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selecta'
          'bleFields":null}]: must have exactly one version marked as storage version']),
        ({"versions": [version("v1", deprecationWarning="a")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "a": can only be set for'
          " deprecated versions"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string']),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a\tb")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "a\\tb": must only contain'
          " printable UTF-8 characters; non-printable character found at index 1"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a" * 257)]},
         ['spec.versions[0].deprecationWarning: Invalid value: "aa*256a": must be <= 256'
          " characters long"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a" * 256)]}, []),
        ({"versions": [version("v1", additionalPrinterColumns=[{}, {"name": "A", "type": "x",
         "jsonPath": "a", "format": "y"}, {"name": "A", "type": "string",
         "jsonPath": ".a"}])]},
         ["spec.additionalPrinterColumns[0].name: Required value",
          "spec.additionalPrinterColumns[0].type: Required value: must be one of"
          " boolean,date,integer,number,string",
          "spec.additionalPrinterColumns[0].JSONPath: Required value",
          'spec.additionalPrinterColumns[1].type: Invalid value: "x": must be one of'
          " boolean,date,integer,number,string",
          'spec.additionalPrinterColumns[1].format: Invalid value: "y": must be one of'
          " byte,date,date-time,double,float,int32,int64,password",
          'spec.additionalPrinterColumns[1].JSONPath: Invalid value: "a": must be a simple'
          " json path starting with ."]),
        ({"versions": [version("v1", subresources={"scale": {}})]},
         ["spec.subresources.scale.specReplicasPath: Required value",
          "spec.subresources.scale.statusReplicasPath: Required value"]),
        ({"versions": [version("v1", subresources={"scale": {"specReplicasPath": "spec.a",
         "statusReplicasPath": ".a", "labelSelectorPath": ".spec"}})]},
         ['spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a'
          " simple json path starting with .",
          'spec.subresources.scale.statusReplicasPath: Invalid value: ".a": should be a json'
          " path under .status",
          'spec.subresources.scale.labelSelectorPath: Invalid value: ".spec": should be a'
          " json path under either .spec or .status"]),
        ({"versions": [version("v1", subresources={"scale": {"specReplicasPath": ".spec.a",
         "statusReplicasPath": ".status.a", "labelSelectorPath": ".status.b"},
         "status": {}})]},
         []),
        ({"versions": [version("v1", selectableFields=[{}, {"jsonPath": "a"},
         {"jsonPath": ".spec.x"}, {"jsonPath": ".metadata.name"}])]},
         ["spec.selectableFields[0].jsonPath: Required value",
          'spec.selectableFields[1].jsonPath: Invalid value: "a": is an invalid path:'
          " expected [ or . but got: a",
          'spec.selectableFields[2].jsonPath: Invalid value: ".spec.x": is an invalid path:'
          " does not refer to a valid field",
          'spec.selectableFields[3].jsonPath: Invalid value: ".metadata.name": is an invalid'
          " path: does not refer to a valid field"]),
        ({"versions": [version("v1", selectableFields=[{"jsonPath": ".x"}]),
                       version("v2", storage=False)]},
         ['spec.versions[0].selectableFields: Invalid value: "": may only be set when'
          " `version.schema.openAPIV3Schema` is not included"]),
        ({"versions": [
            version("v1", selectableFields=[{"jsonPath": ".x"}]),
            version("v2", storage=False, selectableFields=[{"jsonPath": ".x"}],
                    schema={"openAPIV3Schema": {"type": "object", "description": "other"}})]},
         ['spec.selectableFields: Invalid value: "": may only be set when validations.schema is'
          " included"]),
        ({"conversion": {}}, ["spec.conversion.strategy: Required value"]),
        ({"conversion": {"strategy": "x"}},
         ['spec.conversion.strategy: Unsupported value: "x": supported values: "None",'
          ' "Webhook"']),
        ({"conversion": {"strategy": "Webhook"}},
         ["spec.conversion.webhookClientConfig: Required value: required when strategy is set"
          " to Webhook",
          "spec.conversion.conversionReviewVersions: Required value"]),
        ({"conversion": {"strategy": "None",
         "webhook": {"conversionReviewVersions": ["v1"]}}},
         ["spec.conversion.conversionReviewVersions: Forbidden: should not be set when"
          " strategy is not set to Webhook"]),
        ({"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v2",
          "-"], "clientConfig": {}}}},
         ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service"
          " is required",
          'spec.conversion.conversionReviewVersions[1]: Invalid value: "-": a DNS-1035 label'
          " must consist of lower case alphanumeric characters or '-', start with an"
          " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or"
          " 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.conversion.conversionReviewVersions: Invalid value: ["v2","-"]: must include'
          " at least one of v1, v1beta1"]),
        ({"conversion": {"strategy": "Webhook",
         "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "http://a",
         "service": {"name": "a", "namespace": "b"}}}}},
         ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service"
          " is required"]),
    ],
)  # fmt: skip
def test_definitions(row: Any, expected: list[str]) -> None:
    assert of_definition(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "string"}, []),
        ({"type": "x"},
         ['.type: Unsupported value: "x": supported values: "array", "boolean", "integer",'
          ' "number", "object", "string"']),
        ({"type": "null"},
         ['.type: Unsupported value: "null": supported values: "array", "boolean", "integer",'
          ' "number", "object", "string"',
          ".type: Forbidden: type cannot be set to null, use nullable as an alternative"]),
        ({}, [".type: Required value: must not be empty for specified object fields"]),
        ({"type": "string", "default": 1},
         ['.default: Invalid value: "integer":  in body must be of type string: "integer"']),
        ({"type": "object", "uniqueItems": True, "properties": {"a": {"type": "string"}},
         "additionalProperties": {"type": "string"}},
         [".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime"
          " complexity becomes quadratic",
          ".additionalProperties: Forbidden: additionalProperties and properties are mutual"
          " exclusive"]),
        ({"type": "array"}, [".items: Required value: must be specified"]),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True},
         [".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime"
          " complexity becomes quadratic"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "x"},
         ['.x-kubernetes-list-type: Unsupported value: "x": supported values: "atomic",'
          ' "set", "map"']),
        ({"type": "string", "x-kubernetes-list-type": "set"},
         ['.type: Invalid value: "string": must be array if x-kubernetes-list-type is'
          " specified"]),
        ({"x-kubernetes-int-or-string": True, "x-kubernetes-list-type": "atomic"},
         [".type: Required value: must be array if x-kubernetes-list-type is specified"]),
        ({"type": "string", "x-kubernetes-map-type": "granular"},
         ['.type: Invalid value: "string": must be object if x-kubernetes-map-type is'
          " specified"]),
        ({"type": "object", "x-kubernetes-map-type": "x"},
         ['.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic",'
          ' "granular"']),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": False},
         [".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or"
          " undefined"]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"},
         "x-kubernetes-list-type": "set"}, "x-kubernetes-list-type": "set"},
         ['.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a'
          " list with x-kubernetes-list-type=set"]),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
         [".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a"
          " list with x-kubernetes-list-type=set"]),
        ({"type": "array", "items": {"type": "string", "nullable": True},
         "x-kubernetes-list-type": "set"},
         [".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["a"]},
         [".x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys"
          " is non-empty"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic",
         "x-kubernetes-list-map-keys": ["a"]},
         ['.x-kubernetes-list-type: Invalid value: "atomic": must be map if'
          " x-kubernetes-list-map-keys is non-empty"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a"]},
         [".items.type: Invalid value: \"string\": must be object if parent array's"
          " x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
         [".x-kubernetes-list-map-keys: Required value: must not be empty if"
          " x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "object"},
          "b": {"type": "string", "nullable": True}}}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a", "b", "b", "c"]},
         ['.items.properties[a].type: Invalid value: "object": must be a scalar type if'
          " parent array's x-kubernetes-list-type is map",
          '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: must not contain'
          " duplicate entries",
          '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: entries must all be'
          " names of item properties",
          ".items.properties[a].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].nullable: Forbidden: this property is in"
          " x-kubernetes-list-map-keys, so it cannot be nullable",
          ".items.properties[b].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].nullable: Forbidden: this property is in"
          " x-kubernetes-list-map-keys, so it cannot be nullable"]),
        ({"type": "array", "items": {"type": "object",
         "properties": {"a": {"type": "string"}}, "required": ["a"], "nullable": True},
         "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
         [".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string",
         "default": "b"}}}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a"]},
         []),
        ({"type": "object", "x-kubernetes-validations": [{}, {"rule": " "}, {"rule": "true",
         "message": " "}, {"rule": "true", "message": "a\nb"}, {"rule": "true\n"},
         {"rule": "true ||\n true"}]},
         [".x-kubernetes-validations[0].rule: Required value: rule is not specified",
          ".x-kubernetes-validations[1].rule: Required value: rule is not specified",
          '.x-kubernetes-validations[2].message: Invalid value: " ": must be non-empty if'
          " specified",
          '.x-kubernetes-validations[3].message: Invalid value: "a\\nb": must not contain line'
          " breaks",
          ".x-kubernetes-validations[5].message: Required value: message must be specified if"
          " rule contains line breaks"]),
        ({"type": "object", "x-kubernetes-validations": [{"rule": "true",
         "messageExpression": " "}, {"rule": "true", "reason": "x"}, {"rule": "true",
         "reason": "FieldValueInvalid", "fieldPath": " "}, {"rule": "true",
         "fieldPath": "a\nb"}, {"rule": "true", "fieldPath": ".x"}]},
         [".x-kubernetes-validations[0].messageExpression: Required value: messageExpression"
          " must be non-empty if specified",
          '.x-kubernetes-validations[1].reason: Unsupported value: "x": supported values:'
          ' "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",'
          ' "FieldValueRequired"',
          '.x-kubernetes-validations[2].fieldPath: Invalid value: " ": must be non-empty if'
          " specified",
          '.x-kubernetes-validations[2].fieldPath: Invalid value: " ": must be a valid path',
          '.x-kubernetes-validations[3].fieldPath: Invalid value: "a\\nb": must not contain'
          " line breaks",
          '.x-kubernetes-validations[3].fieldPath: Invalid value: "a\\nb": must be a valid'
          " path",
          '.x-kubernetes-validations[4].fieldPath: Invalid value: ".x": must be a valid path']),
        ({"type": "object", "properties": {"a": {"type": "string"}},
         "x-kubernetes-validations": [{"rule": "self.a == 'b'", "fieldPath": ".a"},
         {"rule": "self.a", "message": "m"}, {"rule": "self.b"}]},
         [".x-kubernetes-validations[1].rule: Invalid value:"
          ' {"Rule":"self.a","Message":"m","MessageExpression":"","Reason":null,"FieldPath":"'
          '","OptionalOldSelf":null}: cel expression must evaluate to a bool',
          ".x-kubernetes-validations[2].rule: Invalid value:"
          ' {"Rule":"self.b","Message":"","MessageExpression":"","Reason":null,"FieldPath":""'
          ',"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field'
          " 'b'\n | self.b\n | ....^"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
         "properties": {"metadata": {"type": "object",
         "properties": {"name": {"type": "string",
         "x-kubernetes-embedded-resource": True}}}}},
         [".properties[metadata].properties[name].properties: Required value: must not be"
          " empty if x-kubernetes-embedded-resource is true without"
          " x-kubernetes-preserve-unknown-fields",
          '.properties[metadata].properties[name].type: Invalid value: "string": must be'
          " object if x-kubernetes-embedded-resource is true",
          ".properties[metadata].properties[name].x-kubernetes-embedded-resource: Forbidden:"
          " must not be used inside of resource meta"]),
        ({"allOf": [{"type": "string"}], "type": "string", "not": {"default": 1},
         "anyOf": [{"nullable": True}], "oneOf": [{"title": "a"}]},
         [".allOf[0].type: Forbidden: must be empty to be structural",
          ".anyOf[0].nullable: Forbidden: must be false to be structural",
          ".not.default: Forbidden: must be undefined to be structural",
          ".oneOf[0].title: Forbidden: must be empty to be structural"]),
        ({"type": "object", "definitions": {"a": {"type": "string"}},
         "dependencies": {"b": ["c"]}, "$ref": "d", "id": "e",
         "patternProperties": {"f": {"type": "string"}}, "additionalItems": True},
         [".id: Forbidden: id is not supported",
          ".additionalItems: Forbidden: additionalItems is not supported",
          ".patternProperties: Forbidden: patternProperties is not supported",
          ".definitions: Forbidden: definitions is not supported",
          ".dependencies: Forbidden: dependencies is not supported",
          ".$ref: Forbidden: $ref is not supported"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
          "x-kubernetes-preserve-unknown-fields": True,
          "default": {"apiVersion": "v1", "kind": "-", "metadata": {"labels": 5, "name": 6}}},
         ['.default.metadata: Invalid value: {"labels":5,"name":6}: json: Invalid value: 5: must be'
          " a map"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
          "x-kubernetes-preserve-unknown-fields": True,
          "default": {"apiVersion": "v1", "kind": "A", "metadata": {"x": 5}}}, []),
        ({"type": "object", "definitions": {}, "dependencies": {}, "$ref": "", "id": "",
         "patternProperties": {}, "additionalItems": False},
         [".additionalItems: Forbidden: additionalItems is not supported",
          ".dependencies: Forbidden: dependencies is not supported",
          ".$ref: Forbidden: $ref is not supported"]),
    ],
)  # fmt: skip
def test_schemas(row: Any, expected: list[str]) -> None:
    assert of_schema(row) == expected


@pytest.mark.parametrize(
    ("root", "is_allowed"),
    [
        ({"minLength": 0}, True),
        ({"exclusiveMaximum": False, "allOf": [], "format": ""}, True),
        ({"nullable": False}, True),
        ({"uniqueItems": False}, True),
        ({"minProperties": 0}, False),
        ({"x-kubernetes-map-type": "granular"}, False),
    ],
)
def test_the_root_of_objects_with_a_status_has_few_fields(
    root: dict[str, Any], *, is_allowed: bool
) -> None:
    schema = {"openAPIV3Schema": {"type": "object", **root}}
    found = of_definition({"versions": [version("v1", schema=schema, subresources={"status": {}})]})
    assert [line.rpartition(": ")[2][:24] for line in found] == (
        [] if is_allowed else ["only [Description Type F"]
    )


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    root = {"openAPIV3Schema": {"type": "object", "properties": {"f": schema}}}
    return definition(versions=[version("v1", schema=root)])


def of_changed(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    start = "spec.validation.openAPIV3Schema.properties[f]"
    found = of_update("CustomResourceDefinition", whole(new), whole(old))
    return [line.removeprefix(start) for line in found]


def mapped(**field: Any) -> dict[str, Any]:
    items = {"type": "object", "properties": {"k": {"type": "string"} | field}}
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    return {"type": "array", "items": items} | kind


SET = {"type": "array", "x-kubernetes-list-type": "set"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # A wrong type may stay, and another be added, if one was there.
        (lambda: of_changed({"type": "x", "title": "t"}, {"type": "x"}), []),
        (lambda: of_changed({"type": "x"}, {"type": "string"}),
         ['.type: Unsupported value: "x": supported values: "array", "boolean", "integer",'
           ' "number", "object", "string"']),
        (lambda: of_changed({}, {"type": "string"}),
         [".type: Required value: must not be empty for specified object fields"]),
        (lambda: of_changed({"title": "t"}, {}), []),
        (lambda: of_changed({}, {"type": "object", "$ref": "d"}), []),
        (lambda: of_changed(SET | {"items": {"type": "object"}}, {"type": "string"}),
         [".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a"
           " list with x-kubernetes-list-type=set"]),
        (lambda: of_changed(SET | {"items": {"type": "object"}}, SET | {"items": {"type":
          "object", "title": "t"}}), []),
        (lambda: of_changed(mapped(), {"type": "string"}),
         [".items.properties[k].default: Required value: this property is in"
           " x-kubernetes-list-map-keys, so it must have a default or be a required property"]),
        (lambda: of_changed(mapped(), mapped(title="t")), []),
        (lambda: of_changed(mapped(default="a"), {"type": "string"}), []),
        (lambda: of_schema({"type": "object", "additionalProperties": {"type": "string",
          "default": "a"}}), []),
        (lambda: of_schema(SET | {"items": {"type": "object", "x-kubernetes-map-type":
          "atomic"}}), []),
        (lambda: of_schema(SET | {"items": {"type": "array", "items": {"type": "string"},
          "x-kubernetes-list-type": "atomic"}}), []),
        (lambda: of_schema(SET | {"items": {"type": "array", "items": {"type": "string"}}}), []),
        (lambda: [line[:45] for line in of_definition({"versions": [version("v1",
          subresources={"status": {}}, schema={"openAPIV3Schema": {"type": "object",
          "maxProperties": 1}}), version("v2", storage=False, schema={"openAPIV3Schema": {"type":
          "object", "maxProperties": 2}})]})],
         ["spec.versions[0].schema.openAPIV3Schema: Inva"]),
        (lambda: of_changed({"type": "x"}, {"type": "string", "allOf": [{"type": "x"}]}), []),
        (lambda: of_changed({"type": "x"}, {"type": "string", "not": {"type": "x"}}), []),
        (lambda: of_schema({"type": "object", "not": {"additionalProperties": {}, "default":
          {}}}),
         [".not.additionalProperties: Forbidden: must be undefined to be structural",
          ".not.default: Forbidden: must be undefined to be structural"]),
        (lambda: of_schema({"type": "object", "properties": {"kind": {"type": "string",
          "default": 5}}}),
         ['.properties[kind].default: Invalid value: "integer":  in body must be of type'
           ' string: "integer"']),
        (lambda: of_schema({"type": "object", "default": {"kind": "a"}}),
         ['.default: Invalid value: {"kind":"a"}: must not have unknown fields']),
        (lambda: of_schema({"type": "object", "x-kubernetes-embedded-resource": True,
          "x-kubernetes-preserve-unknown-fields": True, "default": {"apiVersion": "v1"}}),
         [".default.kind: Required value"]),
        (lambda: of_schema({"type": "object", "x-kubernetes-embedded-resource": True,
          "x-kubernetes-preserve-unknown-fields": True, "default": {"apiVersion": "v1", "kind":
          "A", "metadata": {"name": "a/b"}}}),
         [".default.metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
        (lambda: of_schema({"type": "array", "items": {"type": "string", "default": 5}}),
         ['.items.default: Invalid value: "integer":  in body must be of type string: "integer"']),
        # Only an object's own metadata is such.
        (lambda: of_schema({"type": "object", "properties": {"metadata": {"type": "object",
          "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True,
          "x-kubernetes-preserve-unknown-fields": True}}}}}), []),
        (lambda: of_schema({"type": "object", "properties": {"metadata": {"type": "object",
          "additionalProperties": {"type": "string", "default": "a"}}}}), []),
        (lambda: of_schema(mapped() | {"x-kubernetes-list-map-keys": ["x", "k"]}),
         ['.x-kubernetes-list-map-keys: Invalid value: ["x","k"]: entries must all be names'
           " of item properties",
          ".items.properties[k].default: Required value: this property is in"
           " x-kubernetes-list-map-keys, so it must have a default or be a required property"]),
    ],
)  # fmt: skip
def test_changed_schemas(call: Any, expected: list[str]) -> None:
    assert call() == expected


def test_a_schema_is_printed_with_the_structs_of_upstream() -> None:
    empty = printed_schema({})
    assert {name for name, value in empty.items() if value not in (None, "", False, 0)} == set()
    for schema, name, expected in (
        ({"not": {"type": "a"}}, "Not", empty | {"Type": "a"}),
        ({"not": {}}, "Not", empty),
        ({"items": {"type": "a"}}, "Items",
         {"Schema": empty | {"Type": "a"}, "JSONSchemas": None}),
        ({"items": [{"type": "a"}]}, "Items",
         {"Schema": None, "JSONSchemas": [empty | {"Type": "a"}]}),
        ({"additionalProperties": {"type": "a"}}, "AdditionalProperties",
         {"Allows": True, "Schema": empty | {"Type": "a"}}),
        ({"additionalProperties": True}, "AdditionalProperties",
         {"Allows": True, "Schema": None}),
        ({"additionalItems": False}, "AdditionalItems", {"Allows": False, "Schema": None}),
        ({"properties": {"b": {}, "a": {}}}, "Properties", {"a": empty, "b": empty}),
        ({"allOf": [{"type": "a"}]}, "AllOf", [empty | {"Type": "a"}]),
        ({"required": ["a"]}, "Required", ["a"]),
    ):  # fmt: skip
        assert printed_schema(schema) == empty | {name: expected}
        assert list(printed_schema(schema)) == list(empty)


def test_a_version_is_printed_with_what_it_does_not_share() -> None:
    scale = {"specReplicasPath": ".a", "statusReplicasPath": ".b", "labelSelectorPath": ".c"}
    written = {
        "name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "a"}},
        "subresources": {"status": {}, "scale": scale},
        "selectableFields": [{"jsonPath": ".d"}],
        "additionalPrinterColumns": [{"name": "N", "jsonPath": ".e"}],
    }  # fmt: skip
    own = {
        "Name": "v1", "Served": True, "Storage": False, "Deprecated": False,
        "DeprecationWarning": None, "Schema": None, "Subresources": None,
        "AdditionalPrinterColumns": None, "SelectableFields": None,
    }  # fmt: skip
    assert printed_version(written, set(written) - {"name", "served"}) == own
    assert printed_version(written, ()) == own | {
        "Schema": {"OpenAPIV3Schema": printed_schema({"type": "a"})},
        "Subresources": {
            "Status": {},
            "Scale": {
                "SpecReplicasPath": ".a",
                "StatusReplicasPath": ".b",
                "LabelSelectorPath": ".c",
            },
        },
        "SelectableFields": [{"JSONPath": ".d"}],
        "AdditionalPrinterColumns": [
            {"Name": "N", "Type": "", "Format": "", "Description": "", "Priority": 0,
             "JSONPath": ".e"},
        ],
    }  # fmt: skip
