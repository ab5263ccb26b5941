"""Bodies in protobuf: the types of the schema, errors with upstream's words, damaged bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.schema import TypeRef, built_in
from podwright.cluster.api.endpoints.protobuf import (
    ProtobufError,
    ProtobufObjectError,
    decode_protobuf,
)
from podwright.cluster.api.endpoints.protobuf.encoding import (
    encoded_varint,
    envelope,
    field,
    message,
    number_field,
)
from podwright.cluster.api.endpoints.protobuf.wire import WireError, skip, varint
from podwright.cluster.api.endpoints.tests.conftest import Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = {"content-type": "application/vnd.kubernetes.protobuf"}
MAP = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"ConfigMap"))
NAME = field(1, field(1, b"c"))

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "labels": {"a": "1", "b": ""},
        "creationTimestamp": "2026-03-02T10:11:12Z",
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u",
             "controller": True}
        ],
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {".": {}}}}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "app:1",
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "web"}, "initialDelaySeconds": -1},
                "readinessProbe": {"tcpSocket": {"port": 8080}},
                "ports": [{"containerPort": 8080}],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "securityContext": {"supplementalGroups": [1, 2**40, -1]},
    },
}  # fmt: skip


def encoded_object(document):
    """Return an object of a built-in kind as a body."""
    kind = built_in().find(document["apiVersion"], document["kind"])
    assert kind is not None, document
    raw = message(kind.row.type, document)
    return envelope(document["apiVersion"], document["kind"], raw)


def test_a_pod_is_decoded_as_its_document():
    assert decode_protobuf(encoded_object(POD)) == POD


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"apiVersion": "v1", "kind": "Secret", "data": {"k": "AAE="}}, id="bytes"),
        pytest.param(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "spec": {"renewTime": "2026-03-02T10:11:12.000345Z"}}, id="micro time"),
        pytest.param(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
             "status": {"user": {"extra": {"a": ["1", "2"], "b": []}}}}, id="lists in a map"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": {"spec": [1, None]}},
            id="any object"),
        pytest.param(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
             "status": {"disruptedPods": {"p": "2026-03-02T10:11:12Z"}}}, id="times in a map"),
    ],
)  # fmt: skip
def test_special_scalars(document):
    assert decode_protobuf(encoded_object(document)) == document


def test_an_embedded_message_is_flattened():
    volume = field(1, b"v") + field(2, field(1, field(1, b"/data")))
    raw = field(2, field(1, volume))
    found = decode_protobuf(envelope("v1", "Pod", raw))
    assert found["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/data"}}]


def test_an_envelope_without_an_object_is_an_object_without_fields():
    assert decode_protobuf(MAP) == {"apiVersion": "v1", "kind": "ConfigMap"}


def test_messages_that_occur_twice_are_merged_and_scalars_replaced():
    raw = field(1, field(1, b"a") + field(3, b"n")) + field(1, field(1, b"b"))
    found = decode_protobuf(envelope("v1", "ConfigMap", raw))
    assert found["metadata"] == {"name": "b", "namespace": "n"}


def test_packed_and_single_numbers_are_the_same_list():
    def spec(content: bytes) -> bytes:
        return envelope("v1", "Pod", field(2, field(14, content)))

    packed = spec(field(4, encoded_varint(1) + encoded_varint(300)))
    single = spec(number_field(4, 1) + number_field(4, 300))
    assert decode_protobuf(packed) == decode_protobuf(single)


def test_unknown_fields_are_skipped():
    group = encoded_varint(99 << 3 | 3) + number_field(1, 5) + encoded_varint(99 << 3 | 4)
    unknown = field(77, b"x") + number_field(78, 1) + group + encoded_varint(79 << 3 | 5) + b"1234"
    found = decode_protobuf(envelope("v1", "ConfigMap", unknown + NAME))
    assert found["metadata"] == {"name": "c"}


def test_entries_of_maps_are_read_without_checks_of_their_tags():
    def labels(entry: bytes) -> bytes:
        return envelope("v1", "ConfigMap", field(1, field(11, entry)))

    entry = field(1, b"a") + field(2, b"1")
    found = decode_protobuf(labels(encoded_varint(0) + b"\x01" + entry))
    assert found["metadata"]["labels"] == {"a": "1"}
    with pytest.raises(ProtobufObjectError, match="proto: unexpected end of group"):
        decode_protobuf(labels(entry + encoded_varint(3 << 3 | 4)))
    assert decode_protobuf(labels(field(1, b"a")))["metadata"]["labels"] == {"a": ""}


def test_absent_kinds_are_those_of_the_request(server):
    body = b"k8s\0" + field(2, NAME)
    status, found = server.reply("POST", CONFIG_MAPS, body, headers=PROTOBUF)
    assert (status, found["metadata"]["name"]) == (201, "c")


def test_an_empty_time_is_null_and_an_empty_quantity_zero():
    raw = field(1, field(8, b"")) + field(2, field(32, field(1, b"cpu") + field(2, b"")))
    found = decode_protobuf(envelope("v1", "Pod", raw))
    assert found["metadata"] == {"creationTimestamp": None}
    assert found["spec"] == {"overhead": {"cpu": "0"}}


def test_schemas_of_definitions_are_decoded():
    integer = field(5, b"integer")
    schema = (
        field(29, field(1, b"a") + field(2, field(24, field(1, integer))))
        + field(30, number_field(1, 1))
        + field(33, field(2, integer))
        + field(32, field(1, b"d") + field(2, field(2, b"x")))
        + field(8, field(1, b'{"a":1}'))
    )
    version = field(1, b"v1") + field(4, field(1, schema))
    definition = field(2, field(7, version))
    found = decode_protobuf(
        envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition)
    )
    assert found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "properties": {"a": {"items": {"type": "integer"}}},
        "additionalProperties": True,
        "additionalItems": {"type": "integer"},
        "dependencies": {"d": ["x"]},
        "default": {"a": 1},
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "empty data", id="nothing"),
        pytest.param(b"k8s\0", "empty body", id="only the prefix"),
        pytest.param(b"k8s", "provided data does not appear to be a protobuf message, expected"
                     " prefix [107 56 115 0]", id="half a prefix"),
        pytest.param(b"k8s\0\x0a\xff", "unexpected EOF", id="cut off"),
        pytest.param(b"k8s\0" + b"\xff" * 11, "proto: integer overflow", id="long number"),
        pytest.param(b"k8s\0\x00", "proto: Unknown: illegal tag 0 (wire type 0)", id="tag"),
        pytest.param(b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group", id="end"),
        pytest.param(b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta", id="type"),
        pytest.param(
            b"k8s\0\x10\x01", "proto: wrong wireType = 0 for field Raw", id="object"
        ),
        pytest.param(
            b"k8s\0\x18\x01", "proto: wrong wireType = 0 for field ContentEncoding", id="encoding"
        ),
        pytest.param(
            b"k8s\0\x20\x01", "proto: wrong wireType = 0 for field ContentType", id="media type"
        ),
        pytest.param(
            b"k8s\0\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field APIVersion", id="version"
        ),
        pytest.param(
            b"k8s\0\x0a\x02\x10\x01", "proto: wrong wireType = 0 for field Kind", id="kind"
        ),
        pytest.param(b"k8s\0\x7e\x01", "proto: illegal wireType 6", id="unknown type"),
        pytest.param(b"k8s\0\x12" + b"\xff" * 9 + b"\x01",
                     "proto: negative length found during unmarshaling", id="length"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_envelope(body, message):
    with pytest.raises(ProtobufError) as caught:
        decode_protobuf(body)
    assert str(caught.value) == message
    assert not isinstance(caught.value, ProtobufObjectError)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"\x0a\x05ab", "unexpected EOF", id="cut off"),
        pytest.param(number_field(1, 5), "proto: wrong wireType = 0 for field Metadata", id="type"),
        pytest.param(field(1, number_field(5, 5)), "proto: wrong wireType = 0 for field UID",
                     id="initials"),
        pytest.param(field(1, field(8, number_field(1, 2**62))),
                     "Time.MarshalJSON: year outside of range [0,9999]", id="time"),
    ],
)  # fmt: skip
def test_objects_that_are_no_messages(server, raw, message):
    status, found = server.reply("POST", CONFIG_MAPS, MAP + field(2, raw), headers=PROTOBUF)
    assert status == 400
    assert (
        found["message"] == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {message}'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"k8s\0\x0a\xff", "unexpected EOF"), (b"{}", "provided data does not appear to be")],
)
def test_a_body_that_is_no_envelope_is_refused(server, body, message):
    status, found = server.reply("POST", CONFIG_MAPS, body, headers=PROTOBUF)
    assert status == 400
    expected = f"the object provided is unrecognized (must be of type ConfigMap): {message}"
    assert found["message"].startswith(expected)


def test_nesting_is_limited():
    schema = b""
    for _ in range(300):
        schema = field(28, schema)
    definition = field(2, field(7, field(4, field(1, schema))))
    body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition)
    with pytest.raises(ProtobufObjectError, match="exceeded max depth"):
        decode_protobuf(body)


def test_a_body_of_another_kind_is_refused(server):
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}
    status, found = server.reply("POST", CONFIG_MAPS, encoded_object(document), headers=PROTOBUF)
    assert status == 400
    assert "unknown conversion" in found["message"]


def test_options_of_a_deletion(server):
    finalized = {"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": "c", "finalizers": ["x.io/a"]}}  # fmt: skip
    server.reply("POST", CONFIG_MAPS, encoded_object(finalized), headers=PROTOBUF)
    options = field(2, field(1, b"another")) + number_field(1, 0)
    body = envelope("v1", "DeleteOptions", options)
    status, found = server.reply("DELETE", f"{CONFIG_MAPS}/c", body, headers=PROTOBUF)
    assert status == 409, found


# ------------------------------------------------------------------------- properties


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=5),
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bytes": st.sampled_from(["", "AA==", "YWJj"]),
    "quantity": st.sampled_from(["1", "500m", "2Gi"]),
    "int-or-string": st.one_of(st.integers(-(2**31), 2**31 - 1), st.text(max_size=3)),
    "time": st.just("2026-03-02T10:11:12Z"),
    "micro-time": st.just("2026-03-02T10:11:12.000001Z"),
    "object": st.dictionaries(st.text(max_size=3), st.integers(0, 9), min_size=1, max_size=2),
    "double": st.floats(-1e9, 1e9),
}


@st.composite
def documents(draw, struct: str, depth: int = 4) -> dict[str, Any]:
    fields = {
        name: each
        for name, each in built_in().type(struct).fields.items()
        if each.number and (depth > 0 or not is_message(each.type)) and each.type.innermost != "any"
    }
    names = (
        draw(st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)) if fields else []
    )
    return {name: draw(values(fields[name].type, depth)) for name in names}


def is_message(ref: TypeRef) -> bool:
    return "." in ref.innermost


def values(ref: TypeRef, depth: int) -> st.SearchStrategy[Any]:
    if ref.element is not None:
        inner = values(ref.element, depth)
        if ref.container == "list":
            return st.lists(inner, min_size=1, max_size=2)
        return st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=2)
    return documents(ref.name, depth - 1) if ref.is_struct else SCALARS[ref.name]


KINDS = sorted(
    (kind.api_version, kind.row.kind)
    for kind in built_in()
    if kind.row.type.startswith(
        ("core.", "apps.", "batch.", "resource.v1.", "storage.v1.", "rbac.")
    )
)


@effort(60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), of=st.sampled_from(KINDS))
def test_what_is_encoded_is_decoded(data, of):
    api_version, kind = of
    found = built_in().find(api_version, kind)
    assert found is not None
    content = data.draw(documents(found.row.type))
    document = content | {"apiVersion": api_version, "kind": kind}
    assert decode_protobuf(encoded_object(document)) == document


@effort(150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cut=st.integers(0, 400),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
)
def test_damaged_bodies_are_answered(cut, changes):
    server = Server()
    body = bytearray(encoded_object(POD))
    for place, byte in changes:
        body[place % len(body)] = byte
    version = server.store.resource_version
    status, found = server.reply(
        "POST", "/api/v1/namespaces/default/pods", bytes(body[: len(body) - cut]), headers=PROTOBUF
    )
    assert status in (201, 400, 403, 404, 415, 422), found
    if status != 201:
        assert found["kind"] == "Status"
        assert server.store.resource_version == version


@effort(200, deadline=None)
@given(body=st.binary(max_size=60))
def test_any_bytes_are_a_document_or_an_error(body):
    text = ""
    try:
        text = json.dumps(decode_protobuf(MAP + field(2, body)))
    except ProtobufError as error:
        text = str(error)
    assert text


@given(st.integers(0, 2**64 - 1))
def test_numbers_of_variable_length(number):
    data = encoded_varint(number)
    assert varint(data, 0, len(data)) == (number, len(data))


def test_an_open_group_is_cut_off():
    with pytest.raises(WireError, match="unexpected EOF"):
        skip(b"", 0, 0, 3)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(-62_135_596_798, "0001-01-01T00:00:02.000000Z", id="the third second"),
        pytest.param(253_402_300_799, "9999-12-31T23:59:59.000000Z", id="the last second"),
    ],
)
def test_times_reach_from_year_1_to_9999(seconds, text):
    spec = field(2, field(4, number_field(1, seconds % 2**64)))
    lease = field(1, field(1, b"coordination.k8s.io/v1") + field(2, b"Lease"))
    assert decode_protobuf(b"k8s\0" + lease + field(2, spec))["spec"] == {"renewTime": text}


def test_an_empty_list_of_metadata_has_no_items(server):
    plain = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    accept = {"accept": plain.replace("json", "vnd.kubernetes.protobuf")}
    found = server.send("GET", CONFIG_MAPS, headers=accept)
    assert found.status == 200
    document = json.loads(server.send("GET", CONFIG_MAPS, headers={"accept": plain}).body)
    meta = field(1, message("meta.v1.ListMeta", document["metadata"]))
    assert found.body == envelope("meta.k8s.io/v1", "PartialObjectMetadataList", meta)


def test_a_list_of_metadata_is_protobuf_where_that_is_accepted(server):
    for name in ("a", "b"):
        server.send("POST", CONFIG_MAPS, {"metadata": {"name": name, "labels": {"of": name}}})
    plain = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    accept = {"accept": f"{plain.replace('json', 'vnd.kubernetes.protobuf')},{plain}"}
    found = server.send("GET", CONFIG_MAPS, headers=accept)
    assert (found.status, found.header("content-type")) == (200, PROTOBUF["content-type"])
    # The items are those of the JSON form, without a kind.
    document = json.loads(server.send("GET", CONFIG_MAPS, headers={"accept": plain}).body)
    items = [
        field(2, field(1, message("meta.v1.ObjectMeta", item["metadata"])))
        for item in document["items"]
    ]
    meta = field(1, message("meta.v1.ListMeta", document["metadata"]))
    assert found.body == envelope(
        "meta.k8s.io/v1", "PartialObjectMetadataList", meta + b"".join(items)
    )
    # One object, and everything else, is JSON.
    accept = {"accept": accept["accept"].replace("MetadataList", "Metadata")}
    found = server.send("GET", f"{CONFIG_MAPS}/a", headers=accept)
    assert found.header("content-type") == "application/json"
