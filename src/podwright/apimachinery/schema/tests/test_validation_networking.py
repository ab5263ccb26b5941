"""Validation of ingresses, network policies and addresses: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in

Document = dict[str, Any]

VERSION = "networking.k8s.io/v1"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com', regex used for"
    r" validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def kind(name: str) -> Kind:
    found = built_in().find(VERSION, name)
    assert found is not None
    return found


def problems(name: str, spec: Document, **metadata: Any) -> list[str]:
    document = kind(name).with_defaults({"metadata": {"name": "x", **metadata}, "spec": spec})
    assert kind(name).decoding_problems(document) == []
    return [f"{path}: {message}" for path, message, _ in kind(name).validation_problems(document)]


def update_problems(name: str, new: Document, old: Document) -> list[str]:
    of = kind(name)
    changed, stored = (of.with_defaults({"metadata": {}, "spec": spec}) for spec in (new, old))
    return [f"{path}: {message}" for path, message, _ in of.update_problems(changed, stored)]


def of_path(**fields: Any) -> Document:
    path = {"path": "/", "pathType": "Prefix", "backend": BACKEND, **fields}
    return {"rules": [{"http": {"paths": [path]}}]}


def of_backend(**fields: Any) -> Document:
    return {"defaultBackend": fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(of_path(), [], id="a path"),
        pytest.param({"rules": [{"host": "*.example.com"}]}, [], id="a wildcard"),
        pytest.param({"rules": []},
            ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"],
            id="no rules"),
        pytest.param({"rules": [{"host": "Web"}]},
            [f'spec.rules[0].host: Invalid value: "Web": {SUBDOMAIN}'], id="a wrong host"),
        pytest.param({"rules": [{"http": {"paths": []}}]},
            ["spec.rules[0].http.paths: Required value"], id="no paths"),
        pytest.param(of_path(path="//a/.."), [
            'spec.rules[0].http.paths[0].path: Invalid value: "//a/..": must not contain \'//\'',
            'spec.rules[0].http.paths[0].path: Invalid value: "//a/..": cannot end with \'/..\'',
        ], id="a path that leads elsewhere"),
        pytest.param(of_path(path="", pathType="Exact"),
            ['spec.rules[0].http.paths[0].path: Invalid value: "": must be an absolute path'],
            id="an exact path that is empty"),
        pytest.param(of_path(path="", pathType="ImplementationSpecific"), [],
            id="a path that the controller chooses"),
        pytest.param(of_path(path="a", pathType="ImplementationSpecific"),
            ['spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path'],
            id="a relative path"),
        pytest.param(of_backend(), [
            'spec.defaultBackend: Invalid value: "": resource or service backend is required',
        ], id="an empty backend"),
        pytest.param(of_backend(resource={"kind": "Bucket", "name": "b"}, **BACKEND), [
            'spec.defaultBackend: Invalid value: "": cannot set both resource and service backends',
        ], id="two backends"),
        pytest.param(of_backend(resource={"kind": "", "name": "a/b", "apiGroup": "X"}), [
            f'spec.defaultBackend.resource.apiGroup: Invalid value: "X": {SUBDOMAIN}',
            "spec.defaultBackend.resource.kind: Required value",
            'spec.defaultBackend.resource.name: Invalid value: "a/b": may not contain \'/\'',
        ], id="a wrong resource"),
        pytest.param(of_backend(service={"name": ""}), [
            "spec.defaultBackend.service.name: Required value",
            "spec.defaultBackend: Required value: port name or number is required",
        ], id="a service without name and port"),
        pytest.param(of_backend(service={"name": "w", "port": {"name": "a", "number": 1}}), [
            'spec.defaultBackend: Invalid value: "": cannot set both port name & port number',
        ], id="a port with name and number"),
        pytest.param(of_backend(service={"name": "w", "port": {"number": 70000}}), [
            "spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and"
            " 65535, inclusive",
        ], id="a wrong number"),
        pytest.param(of_backend(service={"name": "w", "port": {"name": "1"}}), [
            'spec.defaultBackend.service.port.name: Invalid value: "1": must contain at least one'
            " letter (a-z)",
        ], id="a wrong name"),
        pytest.param({**of_path(), "tls": [{"hosts": ["A"], "secretName": "B"}]}, [
            f'spec.tls[0].hosts[0]: Invalid value: "A": {SUBDOMAIN}',
            f'spec.tls[0].secretName: Invalid value: "B": {SUBDOMAIN}',
        ], id="wrong TLS"),
    ],
)  # fmt: skip
def test_an_ingress_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert problems("Ingress", spec) == expected


def test_the_class_of_an_ingress_has_one_name() -> None:
    spec = {**of_path(), "ingressClassName": "a"}
    annotation = "kubernetes.io/ingress.class"
    assert problems("Ingress", spec, annotations={annotation: "a"}) == []
    assert problems("Ingress", spec, annotations={annotation: "b"}) == [
        f'annotations.{annotation}: Invalid value: "b": must match `ingressClassName` when both are'
        " specified"
    ]


WRONG_TLS: Document = {"tls": [{"secretName": "B"}]}
WRONG_WILDCARD: Document = {"rules": [{"host": "*.a", "http": {"paths": []}}]}
SECRET_ERROR = f'spec.tls[0].secretName: Invalid value: "B": {SUBDOMAIN}'
WILDCARD_ERROR = "spec.rules[0].http.paths: Required value"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({**WRONG_TLS, **WRONG_WILDCARD}, {**WRONG_TLS, **WRONG_WILDCARD}, []),
        ({**WRONG_TLS, **of_path()}, {**WRONG_TLS, **WRONG_WILDCARD}, [WILDCARD_ERROR]),
        (WRONG_WILDCARD, {**WRONG_TLS, **WRONG_WILDCARD}, [SECRET_ERROR]),
        ({"tls": [{}, {"secretName": ""}, {"secretName": "a"}], "rules": [{"host": "*.a"}]},
         {**WRONG_TLS, **WRONG_WILDCARD}, [WILDCARD_ERROR, SECRET_ERROR]),
        ({"tls": [{}, *WRONG_TLS["tls"]], "rules": [{}, *WRONG_WILDCARD["rules"]]},
         {**WRONG_TLS, **WRONG_WILDCARD}, []),
        ({"rules": [{"host": "a", "http": {"paths": []}}]}, WRONG_WILDCARD, [WILDCARD_ERROR]),
        (WRONG_WILDCARD, {"rules": [{"host": "a", "http": {"paths": []}}]}, [WILDCARD_ERROR]),
    ],
)  # fmt: skip
def test_what_was_invalid_in_an_ingress_may_stay(
    old: Document, new: Document, expected: list[str]
) -> None:
    assert update_problems("Ingress", new, old) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"controller": "example.com/c"}, [], id="a controller"),
        pytest.param({}, ["spec.controller: Required value"], id="no controller"),
        pytest.param({"controller": "c"}, [
            'spec.controller: Invalid value: "c": must be a domain-prefixed path (such as'
            ' "acme.io/foo")'], id="a controller without a domain"),
        pytest.param({"controller": f"a.b/{'c' * 300}"},
            ["spec.controller: Too long: may not be more than 250 bytes"], id="a long controller"),
        pytest.param({"controller": "a.b/c", "parameters": {"kind": "K", "name": "n"}}, [],
            id="parameters in the cluster by default"),
        pytest.param({"controller": "a.b/c", "parameters": {
            "kind": "K", "name": "n", "scope": "Namespace"}}, [
            "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
        ], id="parameters without a namespace"),
        pytest.param({"controller": "a.b/c", "parameters": {
            "kind": "K", "name": "n", "scope": "Cluster", "namespace": "a"}}, [
            "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
        ], id="parameters with a namespace"),
        pytest.param({"controller": "a.b/c", "parameters": {
            "kind": "K", "name": "n", "scope": "World"}}, [
            'spec.parameters.scope: Unsupported value: "World": supported values: "Cluster",'
            ' "Namespace"'], id="an unknown scope"),
    ],
)  # fmt: skip
def test_an_ingress_class_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert problems("IngressClass", spec) == expected


def test_an_ingress_class_keeps_its_controller() -> None:
    new, old = {"controller": "a.b/d"}, {"controller": "a.b/c"}
    assert update_problems("IngressClass", new, old) == [
        'spec.controller: Invalid value: "a.b/d": field is immutable'
    ]


def of_peer(**peer: Any) -> Document:
    return {"podSelector": {}, "ingress": [{"from": [peer]}]}


def of_port(**port: Any) -> Document:
    return {"podSelector": {}, "egress": [{"ports": [port]}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(of_peer(), ["spec.ingress[0].from[0]: Required value: must specify a peer"],
            id="an empty peer"),
        pytest.param(of_peer(podSelector={}, namespaceSelector={}), [], id="two selectors"),
        pytest.param(of_peer(ipBlock={"cidr": ""}),
            ["spec.ingress[0].from[0].ipBlock.cidr: Required value"], id="no range"),
        pytest.param(of_peer(ipBlock={"cidr": "10.0.0.0/24", "except": [
            "10.0.0.0/25", "10.0.0.0/24", "10.1.0.0/25", "x", "fd00::/64"]}), [
            'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "10.0.0.0/24": must be a'
            " strict subset of `cidr`",
            'spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: "10.1.0.0/25": must be a'
            " strict subset of `cidr`",
            'spec.ingress[0].from[0].ipBlock.except[3]: Invalid value: "x": must be a valid CIDR'
            " value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            'spec.ingress[0].from[0].ipBlock.except[4]: Invalid value: "fd00::/64": must be a'
            " strict subset of `cidr`",
        ], id="exceptions"),
        pytest.param(of_port(endPort=9), [
            "spec.egress[0].ports[0].endPort: Invalid value: 9: may not be specified when `port` is"
            " not specified"], id="an end without a port"),
        pytest.param(of_port(port=0), [
            "spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535,"
            " inclusive",
        ], id="port zero"),
        pytest.param(of_port(port=1, endPort=70000), [
            "spec.egress[0].ports[0].endPort: Invalid value: 70000: must be between 1 and 65535,"
            " inclusive"], id="an end out of range"),
        pytest.param(of_port(protocol="ICMP"), [
            'spec.egress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP",'
            ' "UDP", "SCTP"'], id="an unknown protocol"),
        pytest.param({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, [
            "spec.podSelector.matchExpressions[0].values: Required value: must be specified when"
            " `operator` is 'In' or 'NotIn'"], id="a wrong selector"),
        pytest.param({"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]}, [
            'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more'
            " than two policyTypes"], id="three types"),
    ],
)  # fmt: skip
def test_a_network_policy_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert problems("NetworkPolicy", spec) == expected


def test_a_changed_network_policy_is_checked() -> None:
    assert update_problems("NetworkPolicy", of_peer(), {"podSelector": {}}) != []
    block = of_peer(ipBlock={"cidr": "10.0.0.0/8", "except": [""]})
    assert update_problems("NetworkPolicy", block, of_peer(podSelector={})) == [
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "": must be a valid CIDR value,'
        " (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    ]


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        pytest.param({"resource": "services", "namespace": "a", "name": "b"}, [], id="a service"),
        pytest.param(None, ["spec.parentRef: Required value"], id="none"),
        pytest.param({"group": "X", "namespace": "a/b"}, [
            f'spec.parentRef.group: Invalid value: "X": {SUBDOMAIN}',
            "spec.parentRef.resource: Required value", "spec.parentRef.name: Required value",
            'spec.parentRef.namespace: Invalid value: "a/b": may not contain \'/\'',
        ], id="incomplete"),
    ],
)  # fmt: skip
def test_an_address_has_a_parent(parent: Document | None, expected: list[str]) -> None:
    assert problems("IPAddress", {"parentRef": parent}) == expected


def test_an_address_keeps_its_parent_and_is_its_name() -> None:
    old = {"parentRef": {"resource": "services", "name": "a"}}
    new = {"parentRef": {"resource": "services", "name": "b"}}
    assert update_problems("IPAddress", new, old) == [
        'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"",'
        '"Name":"b"}: field is immutable'
    ]
    metadata = {"metadata": {"name": "web"}}
    (problem,) = kind("IPAddress").metadata_problems(metadata)
    assert "must be a valid IP address" in problem[1]
    assert kind("IPAddress").metadata_problems({"metadata": {"name": "10.0.0.1"}}) == []


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        pytest.param(["10.0.0.0/16", "fd00::/108"], [], id="one of each family"),
        pytest.param([], ["spec.cidrs: Required value: at least one CIDR required"], id="none"),
        pytest.param(["10.0.0.0/16", "10.1.0.0/16"], [
            'spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one'
            " IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"], id="one family"),
        pytest.param(["a", "b", "c"], [
            'spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values',
        ], id="three"),
        pytest.param(["10.0.0.1/16"], [
            'spec.cidrs[0]: Invalid value: "10.0.0.1/16": must not have bits set beyond the prefix'
            " length"], id="bits beyond the prefix"),
        pytest.param(["::ffff:10.0.0.0/112"], [
            'spec.cidrs[0]: Invalid value: "::ffff:10.0.0.0/112": must not have an IPv4-mapped IPv6'
            " address"], id="a mapped address"),
    ],
)  # fmt: skip
def test_a_range_of_addresses_has_upstreams_errors(cidrs: list[str], expected: list[str]) -> None:
    assert problems("ServiceCIDR", {"cidrs": cidrs}) == expected


def test_a_range_of_addresses_may_get_the_other_family() -> None:
    old = {"cidrs": ["10.0.0.0/16"]}
    assert update_problems("ServiceCIDR", old, old) == []
    assert update_problems("ServiceCIDR", {"cidrs": ["10.0.0.0/16", "fd00::/108"]}, old) == []
    assert update_problems("ServiceCIDR", {"cidrs": ["10.1.0.0/16"]}, old) == [
        'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable'
    ]
    assert update_problems("ServiceCIDR", {"cidrs": []}, old) == [
        "spec.cidrs: Invalid value: []: field is immutable"
    ]
    assert update_problems("ServiceCIDR", {}, old) == [
        "spec.cidrs: Invalid value: null: field is immutable"
    ]


_BLOCK_PATH = "spec.ingress[0].from[0].ipBlock.cidr"


def _policy(cidr: str) -> Document:
    return {"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": cidr}}]}]}}


@pytest.mark.parametrize(
    ("cidr", "expected"),
    [
        ("10.0.0.0/8", None),
        ("fe80::/64", None),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ],
)
def test_new_networks_of_a_policy_are_strict_and_former_ones_stay(
    cidr: str, expected: str | None
) -> None:
    kind = built_in().find("networking.k8s.io/v1", "NetworkPolicy")
    assert kind is not None
    texts = [] if expected is None else [(_BLOCK_PATH, f'Invalid value: "{cidr}": {expected}')]
    new = {"metadata": {"name": "a"}} | _policy(cidr)
    assert [each[:2] for each in kind.validation_problems(new)] == texts
    old = {"metadata": {"name": "a"}} | _policy("10.0.0.0/8")
    assert [each[:2] for each in kind.update_problems(new, old)] == texts
    assert kind.update_problems(new, new) == []


def test_the_status_of_an_ingress_is_checked() -> None:
    kind = built_in().find("networking.k8s.io/v1", "Ingress")
    assert kind is not None
    bad = {"loadBalancer": {"ingress": [{"ip": "01.2.3.4"}, {"hostname": "1.2.3.4"}]}}
    old: Document = {"metadata": {"name": "a"}}
    assert [each[0] for each in kind.status_problems(old | {"status": bad}, old)] == [
        "status.loadBalancer.ingress[0].ip",
        "status.loadBalancer.ingress[1].hostname",
    ]
    known = {"loadBalancer": {"ingress": [{"ip": "01.2.3.4"}]}}
    assert not kind.status_problems(old | {"status": known}, old | {"status": known})


def test_new_networks_of_a_node_are_strict() -> None:
    kind = built_in().find("v1", "Node")
    assert kind is not None
    node: Document = {"metadata": {"name": "n"}, "spec": {"podCIDRs": ["10.0.0.1/24"]}}
    assert [each[0] for each in kind.validation_problems(node)] == ["spec.podCIDRs[0]"]
    assert kind.update_problems(node, node) == []


def test_new_source_ranges_of_a_service_are_strict_and_may_have_spaces() -> None:
    kind = built_in().find("v1", "Service")
    assert kind is not None

    def service(*ranges: str) -> Document:
        spec = {"type": "LoadBalancer", "loadBalancerSourceRanges": list(ranges)}
        return {"metadata": {"name": "s"}, "spec": spec | {"ports": [{"port": 80}]}}

    def found(new: Document, old: Document) -> list[str]:
        return [path for path, *_ in kind.update_problems(new, old) if "Source" in path]

    new = service(" 10.0.0.0/8 ", "10.0.0.1/8")
    assert found(new, service()) == ["spec.LoadBalancerSourceRanges[1]"]
    assert found(new, service("10.0.0.1/8 ")) == []


RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
AT = f"metadata.annotations[{RANGES}]"


@pytest.mark.parametrize(
    ("ranges", "spec", "before", "expected"),
    [
        pytest.param(" 10.0.0.0/8 , 11.0.0.0/8", {}, None, [], id="spaces"),
        pytest.param(" ", {}, None, [], id="none"),
        pytest.param("10.0.0.1/8,,x", {}, None, [AT, AT, AT], id="each range"),
        pytest.param("10.0.0.1/8", {}, "10.0.0.1/8", [], id="as before"),
        pytest.param("10.0.0.1/8", {}, "10.0.0.2/8", [AT], id="others before"),
        pytest.param("x", {"loadBalancerSourceRanges": ["10.0.0.0/8"]}, None, [],
                     id="the field counts"),
        pytest.param("10.0.0.0/8", {"type": "ClusterIP"}, "10.0.0.0/8", [AT], id="no balancer"),
    ],
)  # fmt: skip
def test_source_ranges_of_a_service_in_its_annotation(
    ranges: str, spec: Document, before: str | None, expected: list[str]
) -> None:
    kind = built_in().find("v1", "Service")
    assert kind is not None

    def service(value: str | None) -> Document:
        metadata = {"name": "s", "annotations": {} if value is None else {RANGES: value}}
        return {"metadata": metadata,
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]} | spec}  # fmt: skip

    new = service(ranges)
    found = kind.update_problems(new, service(before))
    assert [path for path, *_ in found if path == AT] == expected
    if before is None:
        assert [path for path, *_ in kind.validation_problems(new) if path == AT] == expected
