"""What the API server refuses in CustomResourceDefinitions."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in

FIELD = "spec.validation.openAPIV3Schema"
SPEC = f"{FIELD}.properties[spec]"


def kind() -> Kind:
    found = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert found is not None
    return found


def definition(spec: Any = None, **changes: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec or {"type": "object"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "trains.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "trains", "singular": "train", "kind": "Train",
                      "listKind": "TrainList"},
            "versions": [version | changes.pop("version", {})],
            "conversion": {"strategy": "None"},
        } | changes,
    }  # fmt: skip


def problems(document: Any) -> list[tuple[str, str]]:
    return [(path, message) for path, message, _ in kind().validation_problems(document)]


def test_a_valid_definition() -> None:
    assert problems(definition()) == []


def test_each_version_has_its_own_schema() -> None:
    document = definition()
    first = document["spec"]["versions"][0]
    other = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    document["spec"]["versions"].append(first | {"name": "v2", "storage": False, "schema": other})
    assert problems(document) == []
    del document["spec"]["versions"][1]["schema"]
    assert problems(document) == [("spec.versions[1].schema.openAPIV3Schema", "Required value")]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        pytest.param({"group": "example"}, "spec.group",
                     'Invalid value: "example": should be a domain with at least one dot',
                     id="group"),
        pytest.param({"scope": "Global"}, "spec.scope",
                     'Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
                     id="scope"),
        pytest.param({"version": {"storage": False}}, "spec.versions", "Invalid value: ",
                     id="storage"),
        pytest.param({"version": {"deprecationWarning": "old"}},
                     "spec.versions[0].deprecationWarning",
                     'Invalid value: "old": can only be set for deprecated versions', id="warning"),
        pytest.param({"version": {"schema": {}}}, "spec.versions[0].schema.openAPIV3Schema",
                     "Required value", id="no schema"),
        pytest.param({"version": {"additionalPrinterColumns": [{"name": "a", "type": "int",
                                                                "jsonPath": ".a"}]}},
                     "spec.additionalPrinterColumns[0].type",
                     'Invalid value: "int": must be one of boolean,date,integer,number,string',
                     id="column"),
        pytest.param({"version": {"subresources": {"scale": {"specReplicasPath": ".replicas",
                                                             "statusReplicasPath": ".status.n"}}}},
                     "spec.subresources.scale.specReplicasPath",
                     'Invalid value: ".replicas": should be a json path under .spec', id="scale"),
        pytest.param({"version": {"selectableFields": [{"jsonPath": ".spec.x"}]}},
                     "spec.selectableFields[0].jsonPath",
                     'Invalid value: ".spec.x": is an invalid path: does not refer to a valid'
                     " field",
                     id="selectable"),
        pytest.param({"conversion": {"strategy": "Webhook"}}, "spec.conversion.webhookClientConfig",
                     "Required value: required when strategy is set to Webhook", id="webhook"),
        pytest.param({"preserveUnknownFields": True}, "spec.preserveUnknownFields",
                     "Invalid value: true: cannot set to true, set "
                     "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema"
                     " instead",
                     id="preserve"),
    ],
)  # fmt: skip
def test_the_spec(changes: Any, field: str, message: str) -> None:
    document = definition(**changes)
    document["metadata"]["name"] = f"trains.{document['spec']['group']}"
    found = problems(document)
    assert any(path == field and text.startswith(message) for path, text in found), found


@pytest.mark.parametrize(
    ("schema", "field", "message"),
    [
        pytest.param({"properties": {}}, f"{SPEC}.type",
                     "Required value: must not be empty for specified object fields", id="type"),
        pytest.param({"type": "array"}, f"{SPEC}.items", "Required value: must be specified",
                     id="items"),
        pytest.param({"type": "text"}, f"{SPEC}.type",
                     'Unsupported value: "text": supported values: "array", "boolean", "integer",'
                     ' "number", "object", "string"', id="unknown type"),
        pytest.param({"type": "string", "pattern": "("}, f"{SPEC}.pattern",
                     'Invalid value: "(": must be a valid regular expression, but isn\'t: error'
                     " parsing regexp: missing closing ): `(`", id="pattern"),
        pytest.param({"type": "object", "anyOf": [{"type": "object"}]}, f"{SPEC}.anyOf[0].type",
                     "Forbidden: must be empty to be structural", id="nested type"),
        pytest.param({"type": "object", "additionalProperties": {"type": "string"},
                      "properties": {"a": {"type": "string"}}}, f"{SPEC}.additionalProperties",
                     "Forbidden: additionalProperties and properties are mutual exclusive",
                     id="map"),
        pytest.param({"type": "integer", "default": "x"}, f"{SPEC}.default",
                     'Invalid value: "string":  in body must be of type integer: "string"',
                     id="default"),
        pytest.param({"type": "object", "default": {"x": 1}}, f"{SPEC}.default",
                     'Invalid value: {"x":1}: must not have unknown fields', id="unpruned default"),
        pytest.param({"type": "array", "x-kubernetes-list-type": "map",
                      "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                      "x-kubernetes-list-map-keys": ["k"]},
                     f"{SPEC}.items.properties[k].default",
                     "Required value: this property is in x-kubernetes-list-map-keys, so it must"
                     " have a default or be a required property", id="key"),
        pytest.param({"type": "array", "x-kubernetes-list-type": "set",
                      "items": {"type": "object"}}, f"{SPEC}.items.x-kubernetes-map-type",
                     "Invalid value: null: must be atomic as item of a list with"
                     " x-kubernetes-list-type=set", id="set"),
        pytest.param({"type": "string", "x-kubernetes-list-type": "set"}, f"{SPEC}.type",
                     'Invalid value: "string": must be array if x-kubernetes-list-type is'
                     " specified",
                     id="list type"),
        pytest.param({"type": "object", "uniqueItems": True}, f"{SPEC}.uniqueItems",
                     "Forbidden: uniqueItems cannot be set to true since the runtime complexity"
                     " becomes quadratic", id="unique"),
        pytest.param({"type": "object", "$ref": "#/x"}, f"{SPEC}.$ref",
                     "Forbidden: $ref is not supported", id="reference"),
        pytest.param({"type": "object", "x-kubernetes-validations": [{"rule": "self.a"}]},
                     f"{SPEC}.x-kubernetes-validations[0].rule", "Invalid value: ", id="rule"),
        pytest.param({"type": "object", "x-kubernetes-validations": [
                         {"rule": "true", "fieldPath": ".a"}]},
                     f"{SPEC}.x-kubernetes-validations[0].fieldPath",
                     'Invalid value: ".a": must be a valid path', id="field path"),
        pytest.param({"type": "object", "x-kubernetes-validations": [
                         {"rule": "true", "optionalOldSelf": True}]},
                     f"{SPEC}.x-kubernetes-validations[0].optionalOldSelf",
                     "Invalid value: true: may not be set if oldSelf is not used in rule",
                     id="optional"),
        pytest.param({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [
                         {"rule": "self == oldSelf"}]}},
                     f"{SPEC}.items.x-kubernetes-validations[0].rule",
                     'Invalid value: "self == oldSelf": oldSelf cannot be used on the'
                     f" uncorrelatable portion of the schema within {SPEC}", id="uncorrelatable"),
    ],
)  # fmt: skip
def test_the_schema(schema: Any, field: str, message: str) -> None:
    found = problems(definition(schema))
    assert any(path == field and text.startswith(message) for path, text in found), found


def test_wrong_schemas_are_found_wherever_they_are() -> None:
    wrong = {"type": "x"}
    spec = {"type": "object", "definitions": {"a": wrong}, "dependencies": {"b": wrong, "c": ["d"]}}
    paths = [path.removeprefix(SPEC) for path, _ in problems(definition(spec))]
    assert paths == [".definitions", ".dependencies", ".definitions[a].type",
                     ".dependencies[b].type"]  # fmt: skip


def test_rules_are_compiled_beside_wrong_schemas_but_not_around_them() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "1"}]}
    inner = {"type": "object", "properties": {"x": {"type": "integer", **rules}}, **rules}
    spec = {"type": "object", "properties": {"a": inner, "b": {"type": "weird"}}, **rules}
    paths = [path.removeprefix(f"{SPEC}.properties") for path, _ in problems(definition(spec))]
    at = "x-kubernetes-validations[0].rule"
    assert paths == ["[b].type", f"[a].properties[x].{at}", f"[a].{at}"]


@pytest.mark.parametrize(
    ("schema", "at", "message"),
    [
        ({"items": {"properties": "x"}}, "items.properties", 'Invalid value: "x": must be a map'),
        (
            {"items": {"properties": {"a": 3}}},
            "items.properties[a]",
            "Invalid value: 3: must be an object",
        ),
        ({"additionalProperties": 3}, "additionalProperties", "boolean or JSON schema expected"),
    ],
)
def test_a_schema_with_values_of_wrong_types_is_not_examined_further(
    schema: Any, at: str, message: str
) -> None:
    kind = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert kind is not None
    document = definition(version={"schema": {"openAPIV3Schema": {"type": "array", **schema}}})
    _, ((path, text, _),) = kind.checked(document)
    assert path == f"spec.versions[0].schema.openAPIV3Schema.{at}"
    assert text.startswith(message)
    assert "schema" not in kind.decodable(document)["spec"]["versions"][0]


def test_an_empty_list_of_items_is_none() -> None:
    assert problems(definition({"type": "array", "items": []})) == [
        (f"{SPEC}.items", "Required value: must be specified")
    ]


def test_a_version_without_a_name_is_one_error() -> None:
    found = problems(definition(version={"name": ""}))
    assert [path for path, _ in found] == ["spec.versions[0].name"]


def test_a_conversion_has_no_default_strategy() -> None:
    document = kind().with_defaults(definition(conversion={}))
    assert problems(document) == [("spec.conversion.strategy", "Required value")]


def test_value_validations_of_the_root_name_fields_of_the_structure() -> None:
    document = definition()
    nested = {"required": ["a"], "properties": {"a": {}}}
    document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["not"] = nested
    text = f"Required value: because it is defined in {FIELD}.not.properties[a]"
    assert problems(document) == [(f"{FIELD}.properties[a]", text)]


def test_errors_of_versions_that_differ_are_at_the_version() -> None:
    document = definition({"type": "object"})
    second = copy.deepcopy(document["spec"]["versions"][0])
    second |= {"name": "v2", "storage": False}
    second["schema"]["openAPIV3Schema"]["properties"]["spec"] = {"properties": {}}
    document["spec"]["versions"].append(second)
    assert [path for path, _ in problems(document)] == [
        "spec.versions[1].schema.openAPIV3Schema.properties[spec].type"
    ]


def test_the_name_has_the_plural_and_the_group() -> None:
    document = definition()
    document["metadata"]["name"] = "cars.example.com"
    text = 'Invalid value: "cars.example.com": must be spec.names.plural+"."+spec.group'
    assert problems(document) == [("metadata.name", text)]


def test_updates_keep_what_objects_depend_on() -> None:
    old = definition()
    old["status"] = {
        "storedVersions": ["v1"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    new = copy.deepcopy(old)
    new["spec"] |= {"scope": "Cluster", "group": "other.example.com"}
    new["spec"]["versions"][0]["name"] = "v2"
    new["metadata"]["name"] = "trains.other.example.com"
    found = [path for path, _, _ in kind().update_problems(new, old)]
    assert found == [
        "metadata.name", "spec.scope", "spec.group", "status.storedVersions",
        "status.storedVersions[0]",
    ]  # fmt: skip


def test_what_a_stored_definition_violates_may_stay() -> None:
    schema = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}
    old = definition(schema)
    assert problems(old)
    assert not kind().update_problems(copy.deepcopy(old), old)
