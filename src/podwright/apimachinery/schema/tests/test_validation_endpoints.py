"""Validation of endpoints and endpoint slices: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

LABEL = "a lowercase RFC 1123 label must consist of"


def problems(api_version: str, name: str, **fields: Any) -> list[str]:
    of = built_in().find(api_version, name)
    assert of is not None
    document = of.with_defaults({"metadata": {"name": "x"}, **fields})
    assert of.with_defaults(document) is document
    assert of.decoding_problems(document) == []
    return [f"{path}: {message}" for path, message, _ in of.validation_problems(document)]


def of_slice(**fields: Any) -> list[str]:
    return problems("discovery.k8s.io/v1", "EndpointSlice", **{"addressType": "IPv4", **fields})


def of_address(address: str, address_type: str = "IPv4") -> list[str]:
    found = of_slice(addressType=address_type, endpoints=[{"addresses": [address]}])
    return [each.removeprefix(f'endpoints[0].addresses[0]: Invalid value: "{address}": ')
            for each in found]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "address_type", "expected"),
    [
        pytest.param("10.0.0.1", "IPv4", [], id="IPv4"),
        pytest.param("fd00::1", "IPv6", [], id="IPv6"),
        pytest.param("fd00::1", "IPv4",
            ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
            id="the other family"),
        pytest.param("x", "IPv6",
            ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"], id="no address"),
        pytest.param("fd00::0:1", "IPv6", ['must be in canonical form ("fd00::1")'],
            id="zeros that are left out"),
        pytest.param("0.0.0.0", "IPv4", ["may not be unspecified (0.0.0.0)"], id="unspecified"),
        pytest.param("127.0.0.1", "IPv4",
            ["may not be in the loopback range (127.0.0.0/8, ::1/128)"], id="loopback"),
        pytest.param("fe80::1", "IPv6",
            ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"], id="link-local"),
        pytest.param("224.0.0.1", "IPv4",
            ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
            id="multicast of the link"),
        pytest.param("ff02::1", "IPv6",
            ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
            id="multicast of the link, IPv6"),
        pytest.param("web.example.com", "FQDN", [], id="a name"),
        pytest.param("", "FQDN", ["endpoints[0].addresses[0]: Required value"], id="no name"),
        pytest.param("web", "FQDN",
            ["should be a domain with at least two segments separated by dots"], id="one segment"),
    ],
)  # fmt: skip
def test_an_address_has_the_type_of_its_slice(
    address: str, address_type: str, expected: list[str]
) -> None:
    assert of_address(address, address_type) == expected


@pytest.mark.parametrize(
    ("fields", "starts"),
    [
        pytest.param({}, [], id="empty"),
        pytest.param({"addressType": ""}, ["addressType: Required value"], id="no type"),
        pytest.param({"addressType": "IP"}, ['addressType: Unsupported value: "IP": supported'
            ' values: "FQDN", "IPv4", "IPv6"'], id="an unknown type"),
        pytest.param({"addressType": "FQDN", "endpoints": [{"addresses": ["A.b"]}]},
            ['endpoints[0].addresses[0]: Invalid value: "A.b": a lowercase RFC 1123 subdomain'],
            id="a wrong name"),
        pytest.param({"addressType": "FQDN", "endpoints": [{"addresses": [f"{'a' * 64}.b"]}]},
            [f'endpoints[0].addresses[0]: Invalid value: "{"a" * 64}": must be no more than 63'],
            id="a long label"),
        pytest.param({"endpoints": [{"addresses": []}]},
            ["endpoints[0].addresses: Required value: must contain at least 1 address"],
            id="no address"),
        pytest.param({"endpoints": [{"addresses": ["10.0.0.1"] * 101}]},
            ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
            id="many addresses"),
        pytest.param({"endpoints": [{"addresses": ["10.0.0.1"]}] * 1_001},
            ["endpoints: Too many: 1001: must have at most 1000 items"], id="many endpoints"),
        pytest.param({"endpoints": [{"addresses": ["10.0.0.1"], "hostname": "A", "nodeName": "N",
            "deprecatedTopology": {f"k{i}": "" for i in range(17)},
            "hints": {"forZones": [{"name": "a"}, {"name": "a"}, {"name": "-"}]}}]}, [
            'endpoints[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain',
            "endpoints[0].deprecatedTopology: Too many: 17: must have at most 16 items",
            f'endpoints[0].hostname: Invalid value: "A": {LABEL}',
            'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
            'endpoints[0].hints.forZones[2].name: Invalid value: "-": a valid label must'],
            id="wrong details"),
        pytest.param({"endpoints": [{"addresses": ["10.0.0.1"], "hints": {
            "forZones": [{"name": f"z{i}"} for i in range(9)]}}]},
            ["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"],
            id="many zones"),
        pytest.param({"ports": [{"port": 80}, {"port": 81}]},
            ['ports[1].name: Duplicate value: ""'], id="ports without names"),
        pytest.param({"ports": [{"name": "A", "protocol": "ICMP", "appProtocol": "a b"}]}, [
            f'ports[0].name: Invalid value: "A": {LABEL}',
            'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
            'ports[0].appProtocol: Invalid value: "a b": name part must consist of'],
            id="a wrong port"),
        pytest.param({"ports": [{"name": f"p{i}"} for i in range(20_001)]},
            ["ports: Too many: 20001: must have at most 20000 items"], id="many ports"),
    ],
)  # fmt: skip
def test_an_endpoint_slice_has_upstreams_errors(fields: Document, starts: list[str]) -> None:
    found = of_slice(**fields)
    assert len(found) == len(starts)
    for text, start in zip(found, starts, strict=True):
        assert text.startswith(start)


def test_an_endpoint_slice_keeps_its_type() -> None:
    of = built_in().find("discovery.k8s.io/v1", "EndpointSlice")
    assert of is not None
    new: Document = {"metadata": {}, "addressType": "IPv6"}
    old: Document = {"metadata": {}, "addressType": "IPv4"}
    assert [problem[:2] for problem in of.update_problems(new, old)] == [
        ("addressType", 'Invalid value: "IPv6": field is immutable')
    ]


@pytest.mark.parametrize(
    ("subset", "starts"),
    [
        pytest.param({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}, [], id="one"),
        pytest.param({}, ["subsets[0]: Required value: must specify `addresses` or"
            " `notReadyAddresses`"], id="empty"),
        pytest.param({"notReadyAddresses": [{"ip": "127.0.0.1", "hostname": "A", "nodeName": "N"}]},
            [f'subsets[0].notReadyAddresses[0].hostname: Invalid value: "A": {LABEL}',
             'subsets[0].notReadyAddresses[0].nodeName: Invalid value: "N": a lowercase RFC 1123',
             'subsets[0].notReadyAddresses[0].ip: Invalid value: "127.0.0.1": may not be in the'
             " loopback"], id="a wrong address"),
        pytest.param({"addresses": [{"ip": "x"}]},
            ['subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (',
             'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address'],
            id="no address"),
        pytest.param({"addresses": [{"ip": "01.02.0.4"}]},
            ["subsets[0].addresses[0].ip: Invalid value: \"01.02.0.4\": must not have leading 0s"],
            id="leading zeros"),
        pytest.param({"addresses": [{"ip": "10.0.0.1"}], "ports": [
            {"port": 80}, {"name": "A", "port": 0, "protocol": "ICMP"}]}, [
            "subsets[0].ports[0].name: Required value",
            f'subsets[0].ports[1].name: Invalid value: "A": {LABEL}',
            "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            'subsets[0].ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP"',
        ], id="wrong ports"),
    ],
)  # fmt: skip
def test_endpoints_have_upstreams_errors(subset: Document, starts: list[str]) -> None:
    found = problems("v1", "Endpoints", subsets=[subset])
    assert len(found) == len(starts)
    for text, start in zip(found, starts, strict=True):
        assert text.startswith(start)
    of = built_in().find("v1", "Endpoints")
    assert of is not None
    changed = of.with_defaults({"metadata": {}, "subsets": [subset]})
    assert len(of.update_problems(changed, {"metadata": {}})) == len(starts)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"driverName": "a.io", "parameters": {"a": "b"}}, [], id="a class"),
        pytest.param({"driverName": "", "parameters": {}}, ["driverName: Required value",
            "parameters: Required value: must contain at least one key/value pair"], id="empty"),
    ],
)  # fmt: skip
def test_a_class_of_volume_attributes(fields: Document, expected: list[str]) -> None:
    assert problems("storage.k8s.io/v1", "VolumeAttributesClass", **fields) == expected


def test_a_revision_has_data() -> None:
    assert problems("apps/v1", "ControllerRevision", revision=1, data={"a": 1}) == []
    assert problems("apps/v1", "ControllerRevision", revision=-1) == [
        "revision: Invalid value: -1: must be greater than or equal to 0",
        "data: Required value: data is mandatory",
    ]
