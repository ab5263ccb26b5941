"""Messages of protobuf field by field: what a few bytes mean, and what is wrong with them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.protobuf.encoding import (
    encoded_varint,
    field,
    message,
    number_field,
)
from podwright.cluster.api.endpoints.protobuf.messages import Messages
from podwright.cluster.api.endpoints.protobuf.wire import WireError, varint

MESSAGES = Messages(built_in().type)


def number_of(struct_name: str, name: str) -> int:
    """Return the number of a field that is not of an embedded struct."""
    found = {each.name: each.number for each in built_in().type(struct_name).fields.values()}
    (number,) = found[name]
    return number


def read(struct_name: str, data: bytes, **options: Any) -> Any:
    return MESSAGES.read(struct_name, data, 0, len(data), **options)


def one(struct_name: str, name: str, content: bytes) -> bytes:
    return field(number_of(struct_name, name), content)


def number(struct_name: str, name: str, value: int) -> bytes:
    return number_field(number_of(struct_name, name), value)


META, CONTAINER, POD = "meta.v1.ObjectMeta", "core.v1.Container", "core.v1.PodSpec"
PORT, SERVICE = "core.v1.ContainerPort", "core.v1.ServicePort"
EMPTY_DIR, PARTS = "core.v1.EmptyDirVolumeSource", "apiextensions.v1.CustomResourceSubresources"
RESOURCES, SECRET = "core.v1.ResourceRequirements", "core.v1.Secret"
SCHEMA, TIMES = "apiextensions.v1.JSONSchemaProps", "core.v1.Event"
KEY, VALUE = (lambda text: field(1, text.encode())), (lambda content: field(2, content))


def time(seconds: int = 0, nanos: int = 0) -> bytes:
    return (number_field(1, seconds % 2**64) if seconds else b"") + (
        number_field(2, nanos % 2**64) if nanos else b""
    )


@pytest.mark.parametrize(
    ("name", "data", "document"),
    [
        (META, b"", {}),
        (META, one(META, "name", b"a"), {"name": "a"}),
        (META, one(META, "name", b"a") + one(META, "name", b"b"), {"name": "b"}),
        (META, one(META, "name", b"\xff"), {"name": "�"}),
        (META, one(META, "finalizers", b"a") + one(META, "finalizers", b"b"),
         {"finalizers": ["a", "b"]}),
        (META, number(META, "generation", 7), {"generation": 7}),
        (META, number(META, "generation", 2**64 - 1), {"generation": -1}),
        (PORT, number(PORT, "containerPort", 2**32 - 1), {"containerPort": -1}),
        (POD, number(POD, "hostNetwork", 0), {"hostNetwork": False}),
        (POD, number(POD, "hostNetwork", 5), {"hostNetwork": True}),
        # Maps: entries in order, without a key, without a value, with unknown fields.
        (META, one(META, "labels", KEY("a") + VALUE(b"1")) + one(META, "labels", KEY("b")),
         {"labels": {"a": "1", "b": ""}}),
        (META, one(META, "labels", VALUE(b"1")), {"labels": {"": "1"}}),
        (META, one(META, "labels", b""), {"labels": {"": ""}}),
        (META, one(META, "labels", KEY("a") + field(3, b"x") + VALUE(b"1")),
         {"labels": {"a": "1"}}),
        (META, one(META, "labels", KEY("a") + VALUE(b"1") + VALUE(b"2")), {"labels": {"a": "2"}}),
        (RESOURCES, one(RESOURCES, "limits", KEY("cpu")), {"limits": {"cpu": "0"}}),
        (RESOURCES, one(RESOURCES, "limits", KEY("cpu") + VALUE(b"")), {"limits": {"cpu": "0"}}),
        (RESOURCES, one(RESOURCES, "limits", KEY("cpu") + VALUE(field(1, b"2"))),
         {"limits": {"cpu": "2"}}),
        (EMPTY_DIR, one(EMPTY_DIR, "sizeLimit", b""), {"sizeLimit": "0"}),
        (EMPTY_DIR, one(EMPTY_DIR, "sizeLimit", field(1, b"2")) + one(EMPTY_DIR, "sizeLimit", b""),
         {"sizeLimit": "2"}),
        # A struct without fields.
        (PARTS, one(PARTS, "status", field(7, b"x")), {"status": {}}),
        (SECRET, one(SECRET, "data", KEY("a") + VALUE(b"xyz")), {"data": {"a": "eHl6"}}),
        (SECRET, one(SECRET, "data", KEY("a")), {"data": {"a": ""}}),
        # Messages that occur twice are merged.
        (
            POD,
            one(POD, "securityContext", number("core.v1.PodSecurityContext", "runAsUser", 1))
            + one(POD, "securityContext", number("core.v1.PodSecurityContext", "runAsGroup", 2)),
            {"securityContext": {"runAsUser": 1, "runAsGroup": 2}},
        ),
        (
            POD, one(POD, "containers", one(CONTAINER, "name", b"a"))
            + one(POD, "containers", one(CONTAINER, "name", b"b")),
            {"containers": [{"name": "a"}, {"name": "b"}]},
        ),
        # Numbers of a list, one by one and packed.
        (
            "core.v1.PodSecurityContext",
            number("core.v1.PodSecurityContext", "supplementalGroups", 1)
            + one("core.v1.PodSecurityContext", "supplementalGroups", b"\x02\x83\x01"),
            {"supplementalGroups": [1, 2, 131]},
        ),
        (
            "core.v1.PodSecurityContext",
            one("core.v1.PodSecurityContext", "supplementalGroups", b""),
            {"supplementalGroups": []},
        ),
        # A number or a text.
        (SERVICE, one(SERVICE, "targetPort", b""), {"targetPort": 0}),
        (SERVICE, one(SERVICE, "targetPort", number_field(2, 80)), {"targetPort": 80}),
        (SERVICE, one(SERVICE, "targetPort", number_field(1, 1) + field(3, b"web")),
         {"targetPort": "web"}),
        (SERVICE, one(SERVICE, "targetPort", number_field(1, 1)), {"targetPort": ""}),
        (SERVICE, one(SERVICE, "targetPort", number_field(2, 80) + field(3, b"web")),
         {"targetPort": 80}),
        # Times.
        (META, one(META, "creationTimestamp", b""), {"creationTimestamp": None}),
        (META, one(META, "creationTimestamp", time(1_767_225_600)),
         {"creationTimestamp": "2026-01-01T00:00:00Z"}),
        (META, one(META, "creationTimestamp", time(0, 5)),
         {"creationTimestamp": "1970-01-01T00:00:00Z"}),
        (META, one(META, "creationTimestamp", time(-62_135_596_800)),
         {"creationTimestamp": None}),
        (META, one(META, "creationTimestamp", time(-62_135_596_800, 1)),
         {"creationTimestamp": "0001-01-01T00:00:00Z"}),
        (META, one(META, "creationTimestamp", time(253_402_300_799)),
         {"creationTimestamp": "9999-12-31T23:59:59Z"}),
        (TIMES, one(TIMES, "eventTime", time(1_767_225_600, 123_456_789)),
         {"eventTime": "2026-01-01T00:00:00.123456Z"}),
        (TIMES, one(TIMES, "eventTime", time(1_767_225_600)),
         {"eventTime": "2026-01-01T00:00:00.000000Z"}),
        (TIMES, one(TIMES, "eventTime", time(1_767_225_600, -1_999)),
         {"eventTime": "2025-12-31T23:59:59.999999Z"}),
        (TIMES, one(TIMES, "eventTime", b""), {"eventTime": None}),
        # Schemas.
        (SCHEMA, one(SCHEMA, "additionalProperties", number_field(1, 1)),
         {"additionalProperties": True}),
        (SCHEMA, one(SCHEMA, "additionalProperties", b""), {"additionalProperties": False}),
        (SCHEMA, one(SCHEMA, "additionalProperties", field(2, b"")),
         {"additionalProperties": {}}),
        (SCHEMA, one(SCHEMA, "items", field(1, one(SCHEMA, "type", b"string"))),
         {"items": {"type": "string"}}),
        (SCHEMA, one(SCHEMA, "items", field(2, one(SCHEMA, "type", b"a")) + field(2, b"")),
         {"items": [{"type": "a"}, {}]}),
        (SCHEMA, one(SCHEMA, "dependencies", KEY("a") + VALUE(field(2, b"b") + field(2, b"c"))),
         {"dependencies": {"a": ["b", "c"]}}),
        (SCHEMA, one(SCHEMA, "dependencies", KEY("a") + VALUE(field(1, b""))),
         {"dependencies": {"a": {}}}),
        (SCHEMA, one(SCHEMA, "default", field(1, b'{"a": 1}')), {"default": {"a": 1}}),
        (SCHEMA, one(SCHEMA, "default", b""), {"default": None}),
        (
            SCHEMA,
            encoded_varint(number_of(SCHEMA, "maximum") << 3 | 1) + struct.pack("<d", 1.5),
            {"maximum": 1.5},
        ),
        # A list of texts inside a map is a message.
        (
            "authentication.v1.UserInfo",
            one("authentication.v1.UserInfo", "extra",
                KEY("a") + VALUE(field(1, b"x") + field(1, b"y"))),
            {"extra": {"a": ["x", "y"]}},
        ),
        (
            "authentication.v1.UserInfo",
            one("authentication.v1.UserInfo", "extra", KEY("a")), {"extra": {"a": []}},
        ),
    ],
)  # fmt: skip
def test_what_the_fields_of_a_message_mean(name: str, data: bytes, document: Any) -> None:
    assert read(name, data) == document
    assert read(name, field(999, b"x") + number_field(998, 1) + data) == document


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        (META, number(META, "name", 1), "proto: wrong wireType = 0 for field Name"),
        (META, one(META, "generation", b"a"), "proto: wrong wireType = 2 for field Generation"),
        (META, number(META, "labels", 1), "proto: wrong wireType = 0 for field Labels"),
        (META, number(META, "uid", 1), "proto: wrong wireType = 0 for field UID"),
        (META, one(META, "name", b"abc")[:-1], "unexpected EOF"),
        (META, b"\x0a", "unexpected EOF"),
        (
            SCHEMA, encoded_varint(number_of(SCHEMA, "maximum") << 3 | 1) + b"\0" * 7,
            "unexpected EOF",
        ),
        (
            SCHEMA,
            encoded_varint(number_of(SCHEMA, "maximum") << 3 | 1)
            + struct.pack("<d", float("inf")),
            "json: unsupported value: inf",
        ),
        (
            META, one(META, "creationTimestamp", time(253_402_300_800)),
            "Time.MarshalJSON: year outside of range [0,9999]",
        ),
        (
            META, one(META, "creationTimestamp", time(-62_135_596_801)),
            "Time.MarshalJSON: year outside of range [0,9999]",
        ),
        (
            SERVICE, one(SERVICE, "targetPort", number_field(1, 2)),
            "impossible IntOrString.Type 2",
        ),
        (SCHEMA, one(SCHEMA, "default", field(1, b"{")), "json: error calling MarshalJSON"),
        (META, b"\x00", "proto: ObjectMeta: illegal tag 0 (wire type 0)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_message(name: str, data: bytes, text: str) -> None:
    with pytest.raises(WireError) as error:
        read(name, data)
    assert text in str(error.value)


def test_messages_add_to_what_was_read_before_and_end_at_a_depth() -> None:
    before = {"name": "a", "labels": {"x": "1"}}
    data = one(META, "namespace", b"n") + one(META, "labels", KEY("y") + VALUE(b"2"))
    assert read(META, data, before=before) == {
        "name": "a", "namespace": "n", "labels": {"x": "1", "y": "2"},
    }  # fmt: skip
    padded = b"\xff\xff" + one(META, "name", b"a") + b"\xff"
    assert MESSAGES.read(META, padded, 2, len(padded) - 1) == {"name": "a"}
    with pytest.raises(WireError, match="exceeded max depth"):
        read(META, b"", depth=101)
    assert read(META, b"", depth=100) == {}


@pytest.mark.parametrize(
    ("struct_name", "names"),
    [
        ("core.v1.PersistentVolumeSpec", {
            "awsElasticBlockStore": "AWSElasticBlockStore", "csi": "CSI", "fc": "FC",
            "gcePersistentDisk": "GCEPersistentDisk", "iscsi": "ISCSI", "nfs": "NFS", "rbd": "RBD",
            "cephfs": "CephFS", "storageos": "StorageOS",
        }),
        (POD, {"dnsPolicy": "DNSPolicy", "os": "OS", "serviceAccount": "DeprecatedServiceAccount",
               "hostIPC": "HostIPC"}),
        (CONTAINER, {"tty": "TTY", "stdin": "Stdin"}),
        ("core.v1.WindowsSecurityContextOptions", {"gmsaCredentialSpec": "GMSACredentialSpec"}),
        ("core.v1.LifecycleHandler", {"httpGet": "HTTPGet", "tcpSocket": "TCPSocket"}),
        ("core.v1.Probe", {"terminationGracePeriodSeconds": "TerminationGracePeriodSeconds"}),
        ("core.v1.LoadBalancerIngress", {"ip": "IP", "ipMode": "IPMode"}),
        ("core.v1.ISCSIPersistentVolumeSource", {
            "iqn": "IQN", "chapAuthDiscovery": "DiscoveryCHAPAuth",
            "chapAuthSession": "SessionCHAPAuth",
        }),
        ("core.v1.GCEPersistentDiskVolumeSource", {"pdName": "PDName"}),
        ("core.v1.PhotonPersistentDiskVolumeSource", {"pdID": "PdID"}),
        ("core.v1.FCVolumeSource", {"wwids": "WWIDs"}),
        ("core.v1.PodSecurityContext", {"seLinuxOptions": "SELinuxOptions"}),
        ("core.v1.ScaleIOPersistentVolumeSource", {"sslEnabled": "SSLEnabled"}),
        ("batch.v1.JobSpec", {"ttlSecondsAfterFinished": "TTLSecondsAfterFinished"}),
        ("admissionregistration.v1.WebhookClientConfig", {"url": "URL"}),
        ("authentication.v1.BoundObjectReference", {"uid": "UID", "apiVersion": "APIVersion"}),
    ],
)  # fmt: skip
def test_errors_name_fields_as_in_go(struct_name, names):
    fields = built_in().type(struct_name).fields
    for name, go_name in names.items():
        *outer, number = fields[name].number
        data = encoded_varint(number << 3 | 5) + b"1234"
        for each in outer:
            data = field(each, data)
        with pytest.raises(WireError) as error:
            read(struct_name, data)
        assert str(error.value) == f"proto: wrong wireType = 5 for field {go_name}"


def test_bits_of_a_number_beyond_64_are_dropped():
    assert varint(b"\xff" * 9 + b"\x7f", 0, 10) == (2**64 - 1, 10)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        (SCHEMA, {"default": {"a": [1, None]}, "maximum": -1.5, "nullable": True}),
        (SCHEMA, {"default": "text", "minItems": 3, "enum": [1, "b"]}),
        (SCHEMA, {"properties": {"a": {"type": "string"}, "b": {"default": 0}}}),
        (SECRET, {"data": {"a": "YQ==", "b": ""}, "type": "Opaque", "immutable": False}),
        (CONTAINER, {"name": "c", "resources": {"requests": {"cpu": "100m"}}, "args": ["a", "b"]}),
        (SERVICE, {"port": 80, "targetPort": 8080}),
        (SERVICE, {"port": 80, "targetPort": "http"}),
        (META, {"name": "a", "labels": {"x": "y"}, "creationTimestamp": "2026-01-01T00:00:00Z"}),
        (META, {"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]}),
    ],
)  # fmt: skip
def test_a_message_that_is_written_is_read_again(name, document):
    found = read(name, message(name, document))
    assert {key: found[key] for key in document} == document
