"""Values of a wrong type are rejected with the messages of Go's decoder."""

import json

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.cluster.api.endpoints.decoding.body_fields import TypeMismatchError, check_fields
from podwright.cluster.api.endpoints.decoding.go_type_errors import (
    conversion_error,
    type_error,
    with_wrapped_number,
)

TRAINS = CustomKind(
    CustomVersion(
        group="example.com", version="v1", names={"plural": "trains", "kind": "Train"},
        namespaced=True,
    )
)  # fmt: skip


def message(api_version, kind, document):
    found = built_in().find(api_version, kind)
    assert found is not None
    (problem,) = found.decoding_problems({"apiVersion": api_version, "kind": kind, **document})
    return type_error(found, problem)


def of_pod(spec):
    return message("v1", "Pod", {"spec": spec})


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({"volumes": [{"name": "v", "configMap": {"name": []}}]},
            "array into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap"
            ".LocalObjectReference.name of type string", id="embedded structs"),
        pytest.param({"containers": [{"restartPolicy": 1}]},
            "number into Go struct field Container.spec.containers.restartPolicy of type"
            " v1.ContainerRestartPolicy", id="a named type"),
        pytest.param({"containers": [{"resources": {"limits": "x"}}]},
            "string into Go struct field ResourceRequirements.spec.containers.resources.limits of"
            " type v1.ResourceList", id="a named map"),
        pytest.param({"priority": 2**31},
            "number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
            id="too large a number"),
    ],
)  # fmt: skip
def test_the_struct_the_path_and_the_type_are_those_of_go(spec, text):
    assert of_pod(spec) == f"json: cannot unmarshal {text}"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"items": {"type": 1}}, "number/items.type/string"),
        ({"items": [{"type": 1}]}, "number/items.type/string"),
        ({"items": {"properties": {"a": 1}}}, "number/items.properties/v1.JSONSchemaProps"),
        ({"maximum": "x"}, "string/maximum/float64"),
        ({"additionalProperties": {"type": 1}}, "number/additionalProperties.type/string"),
        ({"x-kubernetes-validations": ["x"]},
            "string/x-kubernetes-validations/v1.ValidationRule"),
    ],
)  # fmt: skip
def test_schemas_in_schemas_have_their_path(schema, text):
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    given, path, type_ = text.split("/")
    kind = "CustomResourceDefinition"
    assert message("apiextensions.k8s.io/v1", kind, {"spec": {"versions": versions}}) == (
        f"json: cannot unmarshal {given} into Go struct field JSONSchemaProps.spec.versions.schema"
        f".openAPIV3Schema.{path} of type {type_}"
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [("lineitems", "maxLength"), ("items", "maxLength"), ("a.items", "maxLength"), ("", "type")],
)
def test_only_a_field_that_decodes_itself_ends_the_decoding_of_a_schema(name, first):
    inner = {"properties": {name: {"type": 1}}} if name else {"items": {"type": 1}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"maxLength": "x", **inner}}}]
    found = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert found is not None
    with pytest.raises(TypeMismatchError, match=rf"\.{first} of type"):
        check_fields({"spec": {"versions": versions}}, found)


def test_a_value_in_place_of_a_schema_or_a_boolean_is_told_without_its_field():
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"additionalProperties": 1}}}]
    found = message(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {"versions": versions}}
    )
    assert found == "boolean or JSON schema expected"


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (("spec.cars", 'Invalid value: "string": must be of type integer', "x"),
         'spec.cars: Invalid value: "string": must be of type integer'),
        (("metadata.name", 'Invalid value: "integer": must be of type string', 5),
         "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        (("metadata.ownerReferences[0].uid", "", {}),
         "json: cannot unmarshal object into Go struct field OwnerReference.ownerReferences.uid of"
         " type types.UID"),
        (("metadata", "", 5),
         "json: cannot unmarshal number into Go struct field Train.metadata of type v1.ObjectMeta"),
    ],
)  # fmt: skip
def test_the_schema_of_a_custom_kind_speaks_for_itself_but_its_metadata_are_of_go(problem, text):
    assert type_error(TRAINS, problem) == text


def test_a_field_that_go_does_not_know_is_not_on_the_path():
    found = built_in().find("v1", "Pod")
    assert found is not None
    text = "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"
    assert type_error(found, ("spec.unknown", "", 5)) == text
    assert conversion_error(found, ("spec.unknown", "", 5)) == text


def test_unknown_fields_of_schemas_that_decode_themselves_are_no_problem():
    found = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert found is not None
    schema = {"items": {"x": 1}, "properties": {"a": {"additionalProperties": {"y": 1}}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    assert found.decoding_problems({"spec": {"versions": versions}}) == []


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (2**31, -(2**31)),
        (-(2**31) - 1, 2**31 - 1),
        (2**32 + 1, 1),
        (1e20, 0),
        (5e9, 5 * 10**9 - 2**32),
        (2**63, 0),
        (2**62 + 5, 5),
        (2**63 - 1, -1),
        (-(2**62) - 5, -5),
        (2.5, None),
        ("3", None),
        (True, None),
    ],
)
def test_whole_numbers_that_are_converted_keep_their_last_bits(sent, stored):
    found = built_in().find("v1", "Pod")
    assert found is not None
    path = "spec.containers[0].ports[1].containerPort"
    document = {"spec": {"containers": [{"ports": [{}, {"containerPort": sent}]}]}}
    made = with_wrapped_number(found, (path, "", sent), document)
    expected = {"spec": {"containers": [{"ports": [{}, {"containerPort": stored}]}]}}
    # What was written as a fraction is a whole number afterwards.
    assert json.dumps(made) == json.dumps(None if stored is None else expected)
    assert document["spec"]["containers"][0]["ports"][1] == {"containerPort": sent}
    assert with_wrapped_number(found, ("spec.nodeName", "", 5), {"spec": {}}) is None
    seconds = ("spec.activeDeadlineSeconds", "", 2**64)
    long = with_wrapped_number(found, seconds, {"spec": {"activeDeadlineSeconds": 2**64}})
    assert long == {"spec": {"activeDeadlineSeconds": -(2**63)}}


@pytest.mark.parametrize(("data", "shown"), [(["a"], "string"), ([1, {}], "object")])
def test_the_bytes_of_a_list_are_numbers(data, shown):
    assert message("v1", "Secret", {"data": {"a": data}}) == (
        f"json: cannot unmarshal {shown} into Go struct field Secret.data of type uint8"
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "value", "text"),
    [
        ("networking.k8s.io/v1", "NetworkPolicy", "spec.ingress[0].ports[0].port", {"number": 80},
         "json: cannot unmarshal object into Go value of type int32"),
        ("coordination.k8s.io/v1", "Lease", "spec.renewTime", [],
         "json: cannot unmarshal array into Go value of type string"),
    ],
)  # fmt: skip
def test_what_decodes_itself_is_converted_without_its_field(api_version, kind, path, value, text):
    found = built_in().find(api_version, kind)
    assert found is not None
    assert conversion_error(found, (path, "", value)) == text


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("2026-01-01T00:00:00Z", ' as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as'
         ' ".000000"'),
        ("2026-01-01T00:00:00.123456789Z", ' as "2006-01-02T15:04:05.000000Z07:00": cannot parse'
         ' "789Z" as "Z07:00"'),
        ("2026-13-01T00:00:00.000000Z", ": month out of range"),
        ("2026-02-30T00:00:00.000000Z", ": day out of range"),
        ("2026-02-20T00:00:00.000000Zz", ': extra text: "z"'),
        ("yesterday", ' as "2006-01-02T15:04:05.000000Z07:00": cannot parse "yesterday" as "2006"'),
    ],
)  # fmt: skip
def test_a_wrong_time_says_what_go_cannot_read(time, text):
    found = message("coordination.k8s.io/v1", "Lease", {"spec": {"renewTime": time}})
    assert found == f'parsing time "{time}"{text}'


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        ("x", 0), ("abcdx", 4), ("abcdefg", 4), ("ab!d", 2), ("abcd!", 4),
        # No padding may follow fewer than two letters of a group; a second sign follows the first.
        ("=", 0), ("====", 0), ("a=", 1), ("a===", 1), ("abcd=", 4), ("abcd====", 4),
        ("abcde===", 5),        ("ab=", 3), ("ab=x", 2), ("abcdef=", 7), ("abcdef=x", 6),
        ("ab==x", 4), ("abc=x", 4), ("abc==", 4), ("abcdefg=x", 8),
    ],
)  # fmt: skip
def test_wrong_base64_names_the_byte_that_go_names(text, byte):
    found = message("v1", "Secret", {"data": {"k": text}})
    assert found == f"illegal base64 data at input byte {byte}"


@pytest.mark.parametrize("key", ["x]y.z", "x]", "]", "a.b/c", "[", "]."])
def test_keys_of_maps_do_not_belong_to_the_path(server, key):
    body = {"metadata": {"name": "a", "labels": {key: 1}}}
    status, found = server.reply("POST", "/api/v1/namespaces/default/configmaps", body)
    text = "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type"
    assert (status, f"{text} string" in found["message"]) == (400, True)
