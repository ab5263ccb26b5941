"""The errors of definitions, names and paths, rule by rule: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.structural.field_paths import FieldPathError, schema_at
from podwright.apimachinery.schema.tests import pod_errors as p
from podwright.apimachinery.schema.tests.kind_errors import (
    definition,
    of_definition,
    of_new,
    of_schema,
    of_status,
    of_update,
    of_whole,
    version,
)
from podwright.apimachinery.schema.validation import metadata as metadata_rules, names

Document = dict[str, Any]
FIELDS = {
    "type": "object",
    "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}},
}


def path(text: str, **options: Any) -> list[str]:
    try:
        return [schema_at(text, FIELDS, **options)[0]]
    except FieldPathError as error:
        return [f"error: {error}"]


def decoded(version: Document) -> list[str]:
    kind = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert kind is not None
    problems = kind.decoding_problems({"spec": {"versions": [version]}})
    return [f"{at}: {text}".removeprefix("spec.versions[0].") for at, text, _ in problems]


def schema(part: Document) -> list[str]:
    found = decoded({"name": "v1", "schema": {"openAPIV3Schema": part}})
    return [line.removeprefix("schema.openAPIV3Schema") for line in found]


def changed_metadata(
    new: Document, old: Document | None = None, *, is_namespaced: bool = True
) -> list[str]:
    documents = {"metadata": new}, {"metadata": old or new}
    problems = metadata_rules.changed_metadata_problems(*documents, is_namespaced=is_namespaced)
    return [f"{at}: {p.shown(text)}" for at, text, _ in problems]


def simple(metadata: object, rule: str = "subdomain") -> bool:
    return metadata_rules.is_simple_and_valid(metadata, rule)


def finalizer(text: str) -> list[str]:
    return [p.shown(message) for _, message, _ in metadata_rules.finalizer_problems("f", text)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_new("CustomResourceDefinition", definition(group="a.k8s.io") | {
          "metadata": {"name": "cars.a.k8s.io"}}),
         ["metadata.annotations[api-approved.kubernetes.io]: Required value: protected"
           ' groups must have approval annotation "api-approved.kubernetes.io", see'
           " https://github.com/kubernetes/enhancements/pull/1111"]),
        (lambda: of_new("CustomResourceDefinition", definition(group="a.kubernetes.io") | {
          "metadata": {"name": "cars.a.kubernetes.io", "annotations": {
          "api-approved.kubernetes.io": "x"}}}),
         ['metadata.annotations[api-approved.kubernetes.io]: Invalid value: "x": protected'
           ' groups must have approval annotation "api-approved.kubernetes.io" with either a'
           ' URL or a reason starting with "unapproved", see'
           " https://github.com/kubernetes/enhancements/pull/1111"]),
        (lambda: of_new("CustomResourceDefinition", definition(group="k8s.io") | {"metadata":
          {"name": "cars.k8s.io", "annotations": {"api-approved.kubernetes.io":
          "unapproved, x"}}}), []),
        (lambda: of_new("CustomResourceDefinition", definition(group="k8s.io") | {"metadata":
          {"name": "cars.k8s.io", "annotations": {"api-approved.kubernetes.io":
          "https://a.b/1"}}}), []),
        (lambda: of_new("CustomResourceDefinition", definition(group="k8s.io") | {"metadata":
          {"name": "cars.k8s.io", "annotations": {"api-approved.kubernetes.io": "/a"}}}),
         ['metadata.annotations[api-approved.kubernetes.io]: Invalid value: "/a": protected'
           ' groups must have approval annotation "api-approved.kubernetes.io" with either a'
           ' URL or a reason starting with "unapproved", see'
           " https://github.com/kubernetes/enhancements/pull/1111"]),
        (lambda: of_new("CustomResourceDefinition", definition(group="k8s.io") | {"metadata":
          {"name": "cars.k8s.io", "annotations": {"api-approved.kubernetes.io":
          "https://a b/%zz"}}}),
         ['metadata.annotations[api-approved.kubernetes.io]: Invalid value: "https://a'
           ' b/%zz": protected groups must have approval annotation'
           ' "api-approved.kubernetes.io" with either a URL or a reason starting with'
           ' "unapproved", see https://github.com/kubernetes/enhancements/pull/1111']),
        (lambda: of_new("CustomResourceDefinition", definition(group="ak8s.io") | {"metadata":
          {"name": "cars.ak8s.io"}}), []),
        (lambda: of_whole({"type": "object", "properties": {"metadata": {"type": "object",
          "properties": {"labels": {"type": "object", "additionalProperties": {"type":
          "string", "default": "x"}}}}}}),
         [".properties[metadata]: Forbidden: must not specify anything other than name and"
           " generateName, but metadata is implicitly specified",
          ".properties[metadata].properties[labels].additionalProperties.default:"
           " Forbidden: must not be set inside additionalProperties applying to object"
           " metadata"]),
        (lambda: of_schema({"type": "array", "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["a"], "items": [{"type": "object"}]}),
         [".items: Forbidden: items must be a schema object and not an array",
          '.items: Invalid value: [{"type":"object"}]: must only have a single schema if'
           " x-kubernetes-list-type is map"]),
        (lambda: of_new("CustomResourceDefinition", definition() | {"status": {
          "storedVersions": [], "acceptedNames": {"plural": "cars", "kind": "Car", "listKind":
          "CarList", "singular": "car"}}}),
         ["status.storedVersions: Invalid value: []: must have at least one stored version"]),
        (lambda: of_definition({"preserveUnknownFields": True, "conversion": {"strategy":
          "Webhook"}, "versions": [version("v1", schema={"openAPIV3Schema": {"type": "object",
          "properties": {"f": {"type": "string", "default": "a"}}}})]}),
         ["spec.preserveUnknownFields: Invalid value: true: must be false in order to use"
           " defaults in the schema",
          'spec.conversion.strategy: Invalid value: "Webhook": must be None if'
           " spec.preserveUnknownFields is true",
          "spec.conversion.webhookClientConfig: Required value: required when strategy is"
           " set to Webhook",
          "spec.conversion.conversionReviewVersions: Required value",
          "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set"
           " x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        (lambda: of_definition({"versions": [version("v1", schema={"openAPIV3Schema": {"type":
          "object", "properties": {"metadata": {"type": "object", "properties": {"name": {
          "type": "string"}}}, **{f'f{i}': {"type": "string"} for i in range(9)}}}},
          selectableFields=[{"jsonPath": ".metadata.name"}, {"jsonPath": ".f0[0]"}, {
          "jsonPath": ".f0"}, {"jsonPath": ".f0"}])]}),
         ['spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not'
           " point to fields in metadata",
          'spec.selectableFields[1].jsonPath: Invalid value: ".f0[0]": is an invalid path:'
           " array notation is not allowed",
          'spec.selectableFields[3].jsonPath: Duplicate value: ".f0"']),
        (lambda: of_definition({"versions": [version("v1", schema={"openAPIV3Schema": {"type":
          "object", "properties": {f'f{i}': {"type": "string"} for i in range(9)}}},
          selectableFields=[{"jsonPath": f'.f{i}'} for i in range(9)])]}),
         ["spec.selectableFields: Too many: 9: must have at most 8 items"]),
        (lambda: of_definition({"versions": [version("v1", schema={"openAPIV3Schema": {"type":
          "object", "properties": {f'f{i}': {"type": "string"} for i in range(9)}}},
          selectableFields=[{"jsonPath": f'.f{i}'} for i in range(8)])]}), []),
        (lambda: of_definition({"conversion": {"strategy": "None", "webhook": {"clientConfig":
          {"url": "https://a"}, "conversionReviewVersions": ["v1"]}}}),
         ["spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy"
           " is not set to Webhook",
          "spec.conversion.conversionReviewVersions: Forbidden: should not be set when"
           " strategy is not set to Webhook"]),
        (lambda: of_definition({"conversion": {"strategy": "Webhook", "webhook": {
          "clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1", "v1",
          "1"]}}}),
         ['spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate'
           " version",
          'spec.conversion.conversionReviewVersions[2]: Invalid value: "1": a DNS-1035'
           " label must consist of lower case alphanumeric characters or '-', start with an"
           " alphabetic character, and end with an alphanumeric character (e.g. 'my-name', "
           " or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        (lambda: of_definition({"conversion": {"strategy": "Webhook", "webhook": {
          "conversionReviewVersions": ["v2"]}}}),
         ["spec.conversion.webhookClientConfig: Required value: required when strategy is"
           " set to Webhook",
          'spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at'
           " least one of v1, v1beta1"]),
        (lambda: of_status("CustomResourceDefinition", {"acceptedNames": {"plural": "A",
          "kind": "Car"}}),
         ['status.acceptedNames.plural: Invalid value: "A": a DNS-1035 label must consist'
           " of lower case alphanumeric characters or '-', start with an alphabetic"
           " character, and end with an alphanumeric character (e.g. 'my-name',  or"
           " 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        (lambda: of_schema({"type": "integer", "default": 3, "x-kubernetes-validations": [{
          "rule": "self > 5", "message": "small"}]}),
         [".default: Invalid value: 3: small"]),
        (lambda: of_schema({"type": "integer", "default": 3, "x-kubernetes-validations": [{
          "rule": "self > oldSelf", "message": "grows"}, {"rule": "self > 1"}]}),
         [".default: Invalid value: 3: grows"]),
        (lambda: of_new("CustomResourceDefinition", definition() | {"status": {"acceptedNames":
          {"plural": "cars", "kind": "Car"}, "storedVersions": []}}),
         ["status.storedVersions: Invalid value: []: must have at least one stored version"]),
        (lambda: of_new("CustomResourceDefinition", definition() | {"status": {"acceptedNames":
          {"plural": "cars", "kind": "Car"}, "storedVersions": ["v1"]}}), []),
        (lambda: of_new("CustomResourceDefinition", definition() | {"status": {"acceptedNames":
          {"plural": "cars", "kind": "Car"}, "storedVersions": ["v2"]}}),
         ['status.storedVersions: Invalid value: ["v2"]: must have the storage version v1',
          'status.storedVersions[0]: Invalid value: "v2": missing from spec.versions; v2'
           " was previously a storage version, and must remain in spec.versions until a"
           " storage migration ensures no data remains persisted in v2 and removes v2 from"
           " status.storedVersions"]),
        # A scope and a kind may change until the names are established.
        (lambda: of_update("CustomResourceDefinition", definition(scope="Cluster"), definition()
          | {"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}]}}), []),
        (lambda: of_update("CustomResourceDefinition", definition(scope="Cluster"), definition()
          | {"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type":
          "Established", "status": "True"}]}}),
         ['spec.scope: Invalid value: "Cluster": field is immutable']),
        (lambda: of_update("CustomResourceDefinition", definition(preserveUnknownFields=True),
          definition(preserveUnknownFields=True)), []),
        (lambda: of_update("CustomResourceDefinition", definition(preserveUnknownFields=True),
          definition()),
         ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set"
           " x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        # One version with a default is enough.
        (lambda: of_definition({"preserveUnknownFields": True, "versions": [version("v1"),
          version("v2", storage=False, schema={"openAPIV3Schema": {"type": "object", "properties":
          {"a": {"type": "string", "default": "b"}}}})]})[:1],
         ["spec.preserveUnknownFields: Invalid value: true: must be false in order to use"
           " defaults in the schema"]),
        (lambda: of_definition({"preserveUnknownFields": True, "versions": [version("v1",
          schema={"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "array",
          "items": {"type": "string"}, "enum": [[]]}}}})]})[:1],
         ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set"
           " x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        (lambda: of_definition({"versions": [version("v1"), {"name": "v2", "served": True,
          "storage": False}]}),
         ["spec.versions[1].schema.openAPIV3Schema: Required value"]),
        (lambda: of_definition({"versions": [version("v1", deprecated=True,
          deprecationWarning="é\t")]}),
         ['spec.versions[0].deprecationWarning: Invalid value: "é\\t": must only contain'
           " printable UTF-8 characters; non-printable character found at index 2"]),
        (lambda: of_definition({"versions": [version("v1", subresources={"scale":
          {"specReplicasPath": "spec.a", "statusReplicasPath": ".spec.a", "labelSelectorPath":
          ".a"}})]}),
         ['spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a'
           " simple json path starting with .",
          'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.a": should be'
           " a json path under .status",
          'spec.subresources.scale.labelSelectorPath: Invalid value: ".a": should be a json'
           " path under either .spec or .status"]),
        (lambda: of_definition({"versions": [version("v1", subresources={"scale":
          {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath":
          ".spec.a"}})]}), []),
        (lambda: of_definition({"versions": [version("v1", subresources={"scale":
          {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath":
          ""}})]}), []),
        (lambda: of_schema({"type": "integer", "default": 3, "x-kubernetes-validations":
          [{"rule": "self > oldSelf", "message": "grows"}, {"rule": "self > 5", "message":
          "small"}]}),
         [".default: Invalid value: 3: grows",
          ".default: Invalid value: 3: small"]),
        (lambda: of_schema({"type": "integer", "default": 3, "x-kubernetes-validations":
          [{"rule": "self > 5", "message": "small"}, {"rule": "oldSelf.hasValue()",
          "optionalOldSelf": True, "message": "new"}]}),
         [".default: Invalid value: 3: small"]),
        (lambda: of_schema({"type": "integer", "default": 3, "x-kubernetes-validations":
          [{"rule": "oldSelf.hasValue()", "optionalOldSelf": True, "message": "new"}]}),
         [".default: Invalid value: 3: new"]),
    ],
)  # fmt: skip
def test_parts_of_definitions(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: schema({"additionalProperties": "x", "additionalItems": 3}),
         [".additionalProperties: boolean or JSON schema expected",
          ".additionalItems: boolean or JSON schema expected"]),
        (lambda: schema({"additionalProperties": True, "additionalItems": None}), []),
        (lambda: schema({"items": {"type": 1}, "additionalProperties": {"nullable": "x",
          "bogus": 1}, "dependencies": {"a": ["b", 3, None], "c": {"type": 2}, "d": 4}}),
         [".items.type: Invalid value: 1: must be a string; put it in quotes",
          '.additionalProperties.nullable: Invalid value: "x": must be true or false',
          ".dependencies[a][1]: Invalid value: 3: must be a string",
          ".dependencies[c].type: Invalid value: 2: must be a string; put it in quotes"]),
        (lambda: schema({"allOf": [None, {"items": [{"type": 1}, None, {"type": "x"}]}],
          "not": {"additionalItems": {"type": 5}}, "properties": {"a": {"items": {"type": 5}},
          "b": None}, "patternProperties": 5, "definitions": {"c": {"additionalProperties":
          1}}}),
         [".patternProperties: Invalid value: 5: must be a map",
          ".allOf[1].items[0].type: Invalid value: 1: must be a string; put it in"
           " quotes",
          ".not.additionalItems.type: Invalid value: 5: must be a string; put it in"
           " quotes",
          ".properties[a].items.type: Invalid value: 5: must be a string; put it in"
           " quotes",
          ".definitions[c].additionalProperties: boolean or JSON schema expected"]),
        (lambda: decoded({"name": "v1", "subresources": {"status": {"x": 1}}}),
         ["subresources.status.x: unknown field"]),
        (lambda: decoded({"name": "v1", "subresources": {"status": "x"}}),
         ['subresources.status: Invalid value: "x": must be an object']),
    ],
)  # fmt: skip
def test_types_in_definitions(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: path(".a['x']", allows_brackets=False),
         ["error: array notation is not allowed"]),
        (lambda: path(".a['x'."),
         ["error: expected ] but got ."]),
        (lambda: path(".a['x\\']"),
         ["error: expected single quoted string but got 'x\\']"]),
        (lambda: path(".a['x\\\\']"),
         ["error: expected single quoted string but got 'x\\\\']"]),
        (lambda: path(".a['\\n\\t\\'\\\\']"),
         ["error: expected single quoted string but got '\\n\\t\\'\\\\']"]),
        (lambda: path(".a['\\x']"),
         ["error: invalid string literal: invalid escape sequence"]),
        (lambda: path(".a['x\\'"),
         ["error: invalid string literal: invalid escape sequence"]),
        (lambda: path(".a['x\\\\'"),
         ["error: unexpected end of JSON path"]),
        (lambda: path(".a[']"),
         ["error: expected single quoted string but got ']"]),
        (lambda: path(".a.b", allows_brackets=False),
         ["a[b]"]),
        (lambda: path(""),
         [""]),
        (lambda: path("."),
         ["error: unexpected end of JSON path"]),
        (lambda: path(".a..b"),
         ["error: expected [ or . but got: b"]),
    ],
)  # fmt: skip
def test_paths_of_fields(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: changed_metadata({"generateName": "a/", "name": "b%", "namespace": "A_",
          "finalizers": ["x y"], "labels": {"a b": "c"}}),
         ["metadata.generateName: Invalid value: \"a/\": may not contain '/'",
          "metadata.name: Invalid value: \"b%\": may not contain '%'",
          'metadata.namespace: Invalid value: "A_": LABEL',
          'metadata.labels: Invalid value: "a b": NAME PART',
          'metadata.finalizers: Invalid value: "x y": NAME PART',
          'metadata.labels: Invalid value: "a b": NAME PART']),
        (lambda: changed_metadata({}),
         ["metadata.name: Required value: name or generateName is required"]),
        (lambda: changed_metadata({"generateName": "..", "name": ".."}),
         ["metadata.name: Invalid value: \"..\": may not be '..'"]),
        (lambda: changed_metadata({"name": "a", "namespace": "A_"}, is_namespaced=False), []),
        (lambda: changed_metadata({"name": "a", "uid": "1"}, {"name": "b", "uid": "2"}),
         ['metadata.name: Invalid value: "a": field is immutable',
          'metadata.uid: Invalid value: "1": field is immutable']),
    ],
)  # fmt: skip
def test_changed_metadata_of_any_kind(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (names.decimal_integer(""), ["must be non-empty"]),
        (names.decimal_integer("01"), ["must be a valid decimal integer in canonical form"]),
        (names.decimal_integer("-0"), ["must be a valid decimal integer in canonical form"]),
        (names.decimal_integer("-10"), []),
        (names.decimal_integer("0"), []),
        (names.path_segment("."), ["may not be '.'"]),
        (names.path_segment(".."), ["may not be '..'"]),
        (names.path_segment("a/b%"), ["may not contain '/'", "may not contain '%'"]),
        (names.path_segment("..."), []),
        (names.port_name("a-b"), []),
        (names.port_name("a--b"), ["must not contain consecutive hyphens"]),
        (names.port_name("-a"), ["must not begin or end with a hyphen"]),
        (names.port_name("a-"), ["must not begin or end with a hyphen"]),
        (names.port_name("1"), ["must contain at least one letter (a-z)"]),
        (names.port_name("a" * 15), []),
        (names.port_name("a" * 16), ["must be no more than 15 characters"]),
        (names.interface_address("10.9.8.7/24"), []),
        (names.interface_address("10.9.8.07/24"),
         ['must be in canonical form ("10.9.8.7/24")']),
        (names.interface_address("::ffff:1.2.3.4/120"),
         ['must be in canonical form ("1.2.3.4/24")']),
        (names.interface_address("::ffff:1.2.3.4/96"),
         ['must be in canonical form ("1.2.3.4/0")']),
        (names.interface_address("::ffff:1.2.3.4/95"),
         ['must be in canonical form ("::ffff:102:304/95")']),
        (names.interface_address("2001:DB8::1/64"),
         ['must be in canonical form ("2001:db8::1/64")']),
        (names.interface_address("10.9.8.7"),
         ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]),
        (finalizer("orphan"), []),
        (finalizer("a.b/c"), []),
        (finalizer("a"),
         ['Invalid value: "a": name is neither a standard finalizer name nor is it fully'
          " qualified"]),
        (finalizer("a b"),
         ['Invalid value: "a b": NAME PART',
          'Invalid value: "a b": name is neither a standard finalizer name nor is it fully'
          " qualified"]),
    ],
)  # fmt: skip
def test_names(found: Any, expected: list[str]) -> None:
    assert list(found) == expected


@pytest.mark.parametrize(
    ("metadata", "is_simple"),
    [
        ({"name": "a"}, True),
        ({"name": "a", "uid": "x"}, False),
        ([], False),
        (None, False),
        ({"name": ""}, False),
        ({"name": 1}, False),
        ({"name": "A"}, False),
        ({"name": "a", "namespace": "A"}, False),
        ({"name": "a", "namespace": 1}, False),
        ({"name": "a", "namespace": ""}, True),
        ({"name": "a", "creationTimestamp": None}, True),
        ({"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}, False),
        ({"name": "a", "labels": []}, False),
        ({"name": "a", "labels": None}, True),
        ({"name": "a", "labels": {"a": 1}}, False),
        ({"name": "a", "labels": {"a b": "c"}}, False),
        ({"name": "a", "labels": {"a": "c d"}}, False),
        ({"name": "a", "labels": {"a": "b"}, "namespace": "d"}, True),
    ],
)
def test_simple_metadata_needs_no_more_rules(metadata: object, *, is_simple: bool) -> None:
    assert simple(metadata) == is_simple
    assert simple({"name": "a.b"})
    assert not simple({"name": "a.b"}, "label")
