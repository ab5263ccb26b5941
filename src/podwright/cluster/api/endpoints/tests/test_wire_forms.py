"""Bytes and texts of replies and requests, with given values: protobuf, YAML, warnings, tables."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest
import yaml

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.openapi.version2 import _consumed
from podwright.cluster.api.endpoints.protobuf import wire
from podwright.cluster.api.endpoints.protobuf.messages import _number
from podwright.cluster.api.endpoints.protobuf.wire import WireError
from podwright.cluster.api.endpoints.replies.negotiation import MediaType
from podwright.cluster.api.endpoints.replies.responses import (
    encoded,
    internal_type,
    list_document,
    partial,
    parts_of,
    warning_headers,
)
from podwright.cluster.api.endpoints.replies.shown_patches import shown_applied
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.served.kept_objects import (
    address_object,
    api_services,
    default_network,
)
from podwright.cluster.api.endpoints.served.plain_paths import issuer_discovery
from podwright.cluster.api.endpoints.server import LONG_QUERY_BYTES
from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.versions.resources import built_in_resources

# ------------------------------------------------------------------------------ protobuf


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"\x00", 0),
        (b"\x7f", 127),
        (b"\x80\x01", 128),
        (b"\xac\x02", 300),
        (b"\xff" * 9 + b"\x01", 2**64 - 1),
        # Bits beyond the 64th are lost.
        (b"\xff" * 9 + b"\x7f", 2**64 - 1),
        (b"\x80" * 9 + b"\x02", 0),
    ],
)
def test_numbers_of_variable_length(data, number):
    assert wire.varint(data + b"\x05", 0, len(data)) == (number, len(data))
    assert wire.varint(b"\x05" + data, 1, len(data) + 1) == (number, len(data) + 1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "unexpected EOF"),
        (b"\x80", "unexpected EOF"),
        (b"\x80" * 9, "unexpected EOF"),
        (b"\x80" * 10, "proto: integer overflow"),
        (b"\x80" * 11, "proto: integer overflow"),
    ],
)
def test_numbers_that_have_no_end(data, text):
    with pytest.raises(WireError, match=f"^{text}$"):
        wire.varint(data, 0, len(data))


@pytest.mark.parametrize(
    ("number", "bits", "value"),
    [
        (0, 32, 0),
        (2**31 - 1, 32, 2**31 - 1),
        (2**31, 32, -(2**31)),
        (2**32, 32, 0),
        (2**32 + 5, 32, 5),
        (2**63, 64, -(2**63)),
        (2**64 - 1, 64, -1),
        (2**63 - 1, 64, 2**63 - 1),
    ],
)
def test_signed_numbers(number, bits, value):
    assert wire.signed(number, bits) == value


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x08", (1, wire.VARINT, 1)),
        (b"\x12", (2, wire.LENGTH, 1)),
        (b"\x1d", (3, wire.FIXED32, 1)),
        (b"\x82\x01", (16, wire.LENGTH, 2)),
        (b"\x04", "proto: M: wiretype end group for non-group"),
        (b"\x00", "proto: M: illegal tag 0 (wire type 0)"),
        (b"\x82\x80\x80\x80\x40", "proto: M: illegal tag -2147483648 (wire type 17179869186)"),
        (b"\x80", "unexpected EOF"),
    ],
)
def test_tags_of_fields(data, found):
    if isinstance(found, tuple):
        assert wire.tag(data, 0, len(data), "M") == found
        return
    with pytest.raises(WireError) as error:
        wire.tag(data, 0, len(data), "M")
    assert str(error.value) == found


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x00", (1, 1)),
        (b"\x02ab", (1, 3)),
        (b"\x02abc", (1, 3)),
        (b"\x02a", "unexpected EOF"),
        (b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
        (b"\xf7" + b"\xff" * 7 + b"\x7f", "proto: negative length found during unmarshaling"),
        (b"\xf6" + b"\xff" * 7 + b"\x7f", "unexpected EOF"),
        (b"", "unexpected EOF"),
    ],
)
def test_fields_with_a_length(data, found):
    if isinstance(found, tuple):
        assert wire.length_delimited(data, 0, len(data)) == found
        return
    with pytest.raises(WireError) as error:
        wire.length_delimited(data, 0, len(data))
    assert str(error.value) == found


GROUP = b"\x0b" + b"\x08\x05" + b"\x0b\x0c" + b"\x0c"


@pytest.mark.parametrize(
    ("wire_type", "data", "end"),
    [
        (wire.VARINT, b"\xac\x02x", 2),
        (wire.FIXED64, b"12345678x", 8),
        (wire.FIXED32, b"1234x", 4),
        (wire.LENGTH, b"\x02abx", 3),
        # A group ends with its own end, after those within it.
        (wire.START_GROUP, b"\x08\x05\x0cx", 3),
        (wire.START_GROUP, b"\x0b\x08\x05\x0c\x0cx", 5),
        (wire.START_GROUP, b"\x12\x01a\x0cx", 4),
        (wire.FIXED64, b"1234567", "unexpected EOF"),
        (wire.FIXED32, b"123", "unexpected EOF"),
        (wire.LENGTH, b"\x02a", "unexpected EOF"),
        (wire.START_GROUP, b"\x08\x05", "unexpected EOF"),
        (wire.END_GROUP, b"", "proto: unexpected end of group"),
        (6, b"abc", "proto: illegal wireType 6"),
    ],
)
def test_fields_that_are_skipped(wire_type, data, end):
    if isinstance(end, int):
        assert wire.skip(data, 0, len(data), wire_type) == end
        return
    with pytest.raises(WireError, match=f"^{end}$"):
        wire.skip(data, 0, len(data), wire_type)


@pytest.mark.parametrize(
    ("data", "scalar", "found"),
    [
        (struct.pack("<d", 1.5), "double", (1.5, 8)),
        (struct.pack("<d", 1.5)[:7], "double", "unexpected EOF"),
        (struct.pack("<d", float("inf")), "double", "json: unsupported value: inf"),
        (struct.pack("<d", float("nan")), "double", "json: unsupported value: nan"),
        (b"\x00", "bool", (False, 1)),
        (b"\x02", "bool", (True, 1)),
        (b"\xff" * 9 + b"\x01", "int32", (-1, 10)),
        (b"\xff\xff\xff\xff\x0f", "int32", (-1, 5)),
        (b"\xff\xff\xff\xff\x0f", "int64", (2**32 - 1, 5)),
    ],
)
def test_scalars(data, scalar, found):
    if isinstance(found, tuple):
        assert _number(data + b"x", 0, len(data), scalar) == found
        return
    # What follows belongs to another message.
    with pytest.raises(WireError, match=f"^{found}$"):
        _number(data + b"x" * 9, 0, len(data), scalar)


# ------------------------------------------------------------------------------ replies


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "a: plain\n"),
        ("true", 'a: "true"\n'),
        ("y", 'a: "y"\n'),
        ("N", 'a: "N"\n'),
        ("1", 'a: "1"\n'),
        ("", 'a: ""\n'),
        ("two\nlines", "a: |-\n  two\n  lines\n"),
        ("x " * 200 + "x", f"a: {'x ' * 200}x\n"),
        ("Grüße", "a: Grüße\n"),
        ([], "a: []\n"),
        ({"b": 1}, "a:\n  b: 1\n"),
        (None, "a: null\n"),
    ],
)
def test_yaml_is_written_as_upstream_does(value, text):
    body = encoded({"a": value}, MediaType(format="yaml"))
    assert body.decode() == text
    assert yaml.safe_load(body) == {"a": value}


def test_yaml_has_shared_parts_in_full_and_json_ends_with_a_line_feed():
    part = {"x": [1]}
    document = {"a": part, "b": part}
    assert b"&" not in encoded(document, MediaType(format="yaml"))
    assert encoded(document, MediaType()) == b'{"a":{"x":[1]},"b":{"x":[1]}}\n'


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ([], []),
        (["a", "", "b", "a"], ['299 - "a"', '299 - "b"']),
        (['say "x" \\ y'], ['299 - "say \\"x\\" \\\\ y"']),
        (["a\nb\tc"], ['299 - "a b c"']),
        (["a" * 4096], [f'299 - "{"a" * 4096}"']),
        # All together are too long: each is cut.
        (["a" * 4096, "b"], [f'299 - "{"a" * 256}"', '299 - "b"']),
        (["a" * 4097], [f'299 - "{"a" * 256}"']),
        (
            [f"{number:02}" + "x" * 300 for number in range(20)],
            [f'299 - "{number:02}{"x" * 254}"' for number in range(16)],
        ),
        (
            [*(f"{number:02}" + "x" * 300 for number in range(15)), *"ab", "c" * 300, "d"],
            [
                *(f'299 - "{number:02}{"x" * 254}"' for number in range(15)),
                '299 - "a"', '299 - "b"', f'299 - "{"c" * 256}"',
            ],
        ),
    ],
)  # fmt: skip
def test_warnings_are_distinct_headers_and_cut_if_they_are_long(texts, values):
    assert warning_headers(texts) == [("warning", value) for value in values]


DEPLOYMENT = built_in_resources()["apps/v1", "Deployment"]


def test_items_of_a_list_have_no_type_and_parts_of_one_all_objects():
    items = [{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a"}}]
    found = list_document(DEPLOYMENT, items, {"resourceVersion": "5"})
    assert found == {
        "kind": "DeploymentList",
        "apiVersion": "apps/v1",
        "metadata": {"resourceVersion": "5"},
        "items": [{"metadata": {"name": "a"}}],
    }
    custom = msgspec.structs.replace(DEPLOYMENT, is_custom=True)
    own = list_document(custom, items, {"resourceVersion": "5"})
    assert (own["items"], own["metadata"]) == (items, {"continue": "", "resourceVersion": "5"})
    many: Any = list(range(250))
    assert [len(part) for part in parts_of(many)] == [100, 100, 50]
    assert [each for part in parts_of(many) for each in part] == many
    assert [*parts_of([])] == []
    assert internal_type(DEPLOYMENT) == "*apps.Deployment"
    assert internal_type(DEPLOYMENT, is_list=True) == "*apps.DeploymentList"
    assert internal_type(custom) == "*unstructured.Unstructured"
    assert internal_type(custom, is_list=True) == "*unstructured.UnstructuredList"


TEMPLATE = "deprecated.daemonset.template.generation"


@pytest.mark.parametrize(
    ("kind", "metadata", "kept"),
    [
        ("Pod", {"name": "a", "annotations": {TEMPLATE: "1"}},
         {"name": "a", "annotations": {TEMPLATE: "1"}}),
        ("DaemonSet", {"name": "a", "annotations": {TEMPLATE: "1"}}, {"name": "a"}),
        ("DaemonSet", {"name": "a", "annotations": {TEMPLATE: "1", "b": "c"}},
         {"name": "a", "annotations": {"b": "c"}}),
        ("DaemonSet", {"name": "a"}, {"name": "a"}),
        ("Pod", None, {}),
    ],
)  # fmt: skip
def test_the_metadata_of_an_object(kind, metadata, kept):
    document = {"kind": kind, "metadata": metadata, "spec": {}}
    assert partial(document, "v1beta1") == {
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": kept,
    }  # fmt: skip


ISSUER = "https://kubernetes.default.svc"


@pytest.mark.parametrize(
    ("headers", "keys"),
    [
        ({"host": "10.0.0.1:6443"}, "https://10.0.0.1:6443/openid/v1/jwks"),
        ({}, f"{ISSUER}/openid/v1/jwks"),
    ],
)
def test_the_keys_of_the_issuer_are_at_the_address_of_the_request(headers, keys):
    for path in ("/.well-known/openid-configuration", "/.well-known/openid-configuration/"):
        reply = issuer_discovery(HttpRequest("GET", path, headers=headers))
        assert reply is not None
        assert msgspec.json.decode(reply.body) == {
            "issuer": ISSUER,
            "jwks_uri": keys,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["HS256"],
        }
        assert (reply.status, dict(reply.headers)["content-type"]) == (200, "application/json")
        assert "cache-control" in dict(reply.headers)


def test_the_keys_are_a_list_and_other_paths_are_of_others():
    reply = issuer_discovery(HttpRequest("GET", "/openid/v1/jwks"))
    assert reply is not None
    assert msgspec.json.decode(reply.body) == {"keys": []}
    assert dict(reply.headers)["content-type"] == "application/jwk-set+json"
    for path in ("/openid/v1", "/", "/api/openid/v1/jwks"):
        assert issuer_discovery(HttpRequest("GET", path)) is None
    with pytest.raises(Rejection) as error:
        issuer_discovery(HttpRequest("POST", "/openid/v1/jwks"))
    assert error.value.code == 405


@pytest.mark.parametrize(
    ("operation", "produced", "consumed"),
    [
        ({"requestBody": {"content": {"application/yaml": {}, "application/json": {}}}}, [],
         ["application/json", "application/yaml"]),
        ({"tags": ["x"]}, ["application/json", "application/yaml"],
         ["application/json", "application/yaml"]),
        ({"tags": ["x"], "x-kubernetes-action": "get"}, ["application/json"], ["*/*"]),
        ({"tags": ["x", "WellKnown"]}, ["application/json"], ["application/json"]),
        ({"tags": ["WellKnown", "x"]}, ["application/json"], None),
        ({"tags": ["openid"]}, ["application/jwk-set+json"], None),
    ],
)  # fmt: skip
def test_the_media_types_of_requests_in_version_2(operation, produced, consumed):
    expected = {} if consumed is None else {"consumes": consumed}
    assert _consumed(operation, produced) == expected


# ------------------------------------------------------------------------------ kept objects

NOW = "2026-01-01T00:00:00Z"
NOW_NS = 1_767_225_600 * 1_000_000_000


def test_the_priorities_of_group_versions_are_those_of_upstream():
    """pkg/controlplane/apiserver/apiservices.go, DefaultGenericAPIServicePriorities"""
    names = [
        "v1", "apps/v1", "apps/v1/deployments", "autoscaling/v1", "autoscaling/v2", "batch/v1",
        "certificates.k8s.io/v1", "networking.k8s.io/v1", "policy/v1",
        "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1", "admissionregistration.k8s.io/v1",
        "apiextensions.k8s.io/v1", "scheduling.k8s.io/v1", "coordination.k8s.io/v1",
        "node.k8s.io/v1", "discovery.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
        "events.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1",
        "resource.k8s.io/v1", "scheduling.k8s.io/v1alpha2/podgroups", "example.com/v1",
        "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3", "coordination.k8s.io/v1beta1",
        "internal.apiserver.k8s.io/v1alpha1", "metrics.k8s.io/v1beta1",
    ]  # fmt: skip
    found = [*api_services(names, NOW_NS)]
    assert {
        each["metadata"]["name"]: (
            each["spec"]["groupPriorityMinimum"], each["spec"]["versionPriority"]
        )
        for each in found
    } == {
        "v1.": (18000, 1),
        "v1.apps": (17800, 15),
        "v1.events.k8s.io": (17750, 15),
        "v1.authentication.k8s.io": (17700, 15),
        "v1.authorization.k8s.io": (17600, 15),
        "v1.autoscaling": (17500, 15),
        "v2.autoscaling": (17500, 30),
        "v1.batch": (17400, 15),
        "v1.certificates.k8s.io": (17300, 15),
        "v1.networking.k8s.io": (17200, 15),
        "v1.policy": (17100, 15),
        "v1.rbac.authorization.k8s.io": (17000, 15),
        "v1.storage.k8s.io": (16800, 15),
        "v1.admissionregistration.k8s.io": (16700, 15),
        "v1.apiextensions.k8s.io": (16700, 15),
        "v1.scheduling.k8s.io": (16600, 15),
        "v1alpha2.scheduling.k8s.io": (16600, 2),
        "v1.coordination.k8s.io": (16500, 15),
        "v1beta1.coordination.k8s.io": (16500, 13),
        "v1.node.k8s.io": (16300, 15),
        "v1.discovery.k8s.io": (16200, 15),
        "v1.resource.k8s.io": (16200, 21),
        "v1beta2.resource.k8s.io": (16200, 15),
        "v1alpha3.resource.k8s.io": (16200, 1),
        "v1.flowcontrol.apiserver.k8s.io": (16100, 21),
        "v1alpha1.internal.apiserver.k8s.io": (16000, 9),
        "v1beta1.metrics.k8s.io": (100, 100),
    }  # fmt: skip
    assert found[1] == {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": "v1.apps",
            "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"},
        },
        "spec": {
            "version": "v1",
            "groupPriorityMinimum": 17800,
            "versionPriority": 15,
            "group": "apps",
        },
        "status": {
            "conditions": [
                {
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": NOW,
                    "reason": "Local",
                    "message": "Local APIServices are always available",
                }
            ]
        },
    }
    assert "group" not in found[0]["spec"]


@pytest.mark.parametrize(("address", "family"), [("10.0.0.1", "IPv4"), ("fd00::1", "IPv6")])
def test_the_object_of_an_address(address, family):
    assert address_object(address, "n", "s") == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": address,
            "labels": {
                "ipaddress.kubernetes.io/ip-family": family,
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        },
        "spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}},
    }


def test_the_network_of_services():
    assert default_network(NOW_NS) == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": ["10.0.0.0/24"]},
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "",
                    "message": "Kubernetes default Service CIDR is ready",
                    "lastTransitionTime": NOW,
                }
            ]
        },
    }


def test_long_queries_may_compute_long(server: Server) -> None:
    assert LONG_QUERY_BYTES == 4096
    for length, is_long in ((4095, False), (4096, True)):
        request = HttpRequest("GET", "/api/v1/pods", "x" * length)
        assert server.api.computes_long(request) is is_long
    rendered = HttpRequest("GET", "/api/v1/pods", headers={"accept": "application/yaml"})
    assert server.api.computes_long(rendered)
    assert not server.api.computes_long(HttpRequest("GET", "/api/v1/pods"))


def test_an_applied_document_has_sorted_fields_with_fields_of_structs_inside():
    document = {
        "spec": {
            "nodeSelector": {"b": "1", "a": "2"},
            "containers": [{"image": "i", "name": "c"}],
        },
        "metadata": {"namespace": "n", "name": "p"},
        "kind": "Pod",
        "apiVersion": "v1",
    }
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    assert shown_applied(kind, document) == (
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},'
        '"spec":{"containers":[{"name":"c","image":"i"}],"nodeSelector":{"a":"2","b":"1"}}}'
    )
