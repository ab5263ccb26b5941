"""The errors of ingresses, policies, ranges and endpoints: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests.pod_errors import shown

Document = dict[str, Any]
NETWORKING = "networking.k8s.io/v1"


def lines(problems: list[Any]) -> list[str]:
    return [f"{path}: {shown(text)}".removeprefix("spec.") for path, text, _ in problems]


def of_network(kind: str, new: Document, old: Document | None = None) -> list[str]:
    found = built_in().find("discovery.k8s.io/v1" if kind == "EndpointSlice" else
                            "v1" if kind == "Endpoints" else NETWORKING, kind)  # fmt: skip
    assert found is not None
    usual = {"metadata": {"name": "x", "namespace": "d", "uid": "u", "resourceVersion": "1"}}
    if kind in ("IngressClass", "ServiceCIDR", "IPAddress"):
        del usual["metadata"]["namespace"]
    made, stored = (found.with_defaults(usual | (each or {})) for each in (new, old))
    if old is None:
        return lines(found.validation_problems(made))
    return lines(found.update_problems(made, stored))


def of_path(path: str, kind: str | None = "Prefix", **backend: Any) -> list[str]:
    service = {"service": {"name": "s", "port": {"number": 80}}}
    rule = {"path": path, "pathType": kind, "backend": backend or service}
    found = of_network("Ingress", {"spec": {"rules": [{"http": {"paths": [rule]}}]}})
    return [line.removeprefix("rules[0].http.paths[0].") for line in found]


def of_hosts(new: list[Document], old: list[Document] | None = None) -> list[str]:
    before = None if old is None else {"spec": {"rules": old}}
    return of_network("Ingress", {"spec": {"rules": new}}, before)


def of_tls(tls: Document, old: Document | None = None) -> list[str]:
    backend = {"defaultBackend": {"resource": {"kind": "k", "name": "n"}}}
    before = None if old is None else {"spec": backend | {"tls": [old]}}
    return of_network("Ingress", {"spec": backend | {"tls": [tls]}}, before)


def of_parameters(parameters: Document, controller: str = "a.b/c") -> list[str]:
    spec = {"controller": controller, "parameters": parameters}
    return of_network("IngressClass", {"spec": spec})


def of_port(port: Document) -> list[str]:
    spec = {"podSelector": {}, "egress": [{"ports": [port]}]}
    found = of_network("NetworkPolicy", {"spec": spec})
    return [line.removeprefix("egress[0].ports[0].") for line in found]


def of_peer(peer: Document, old: Document | None = None) -> list[str]:
    spec = {"podSelector": {}, "ingress": [{"from": [peer]}]}
    before = None if old is None else {"spec": {"podSelector": {}, "egress": [{"to": [old]}]}}
    found = of_network("NetworkPolicy", {"spec": spec}, before)
    return [line.removeprefix("ingress[0].from[0]") for line in found]


def of_block(cidr: str, *excluded: str) -> list[str]:
    return of_peer({"ipBlock": {"cidr": cidr, "except": list(excluded)}})


def of_ranges(ranges: list[str], old: list[str] | None = None) -> list[str]:
    before = None if old is None else {"spec": {"cidrs": old}}
    return of_network("ServiceCIDR", {"spec": {"cidrs": ranges}}, before)


def of_address(kind: str, *addresses: str) -> list[str]:
    made = {"addressType": kind, "endpoints": [{"addresses": list(addresses)}]}
    return of_network("EndpointSlice", made)


def of_slice(**fields: Any) -> list[str]:
    return of_network("EndpointSlice", {"addressType": "IPv4"} | fields)


def of_endpoint(**fields: Any) -> list[str]:
    return of_slice(endpoints=[{"addresses": ["10.0.0.1"]} | fields])


def of_subset(subset: Document) -> list[str]:
    found = of_network("Endpoints", {"subsets": [subset]})
    return [each.removeprefix("subsets[0]") for each in found]


BACKEND = {"resource": {"kind": "k", "name": "n"}}
PATHS = [{"pathType": "Prefix", "path": "/", "backend": BACKEND}]
BAD = {"http": {"paths": [{"pathType": "Prefix", "path": "", "backend": BACKEND}]}}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_path("/"), []),
        (lambda: of_path("a"),
         ['path: Invalid value: "a": must be an absolute path']),
        (lambda: of_path(""),
         ['path: Invalid value: "": must be an absolute path']),
        (lambda: of_path("", "ImplementationSpecific"), []),
        (lambda: of_path("a//b", "ImplementationSpecific"),
         ['path: Invalid value: "a//b": must be an absolute path']),
        (lambda: of_path("/a//b", "ImplementationSpecific"), []),
        (lambda: of_path("/a/../b/./c//d%2fe%2F/.."),
         ["path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": must not contain '//'",
          "path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": must not contain '/./'",
          "path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": must not contain '/../'",
          "path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": must not contain '%2f'",
          "path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": must not contain '%2F'",
          "path: Invalid value: \"/a/../b/./c//d%2fe%2F/..\": cannot end with '/..'"]),
        (lambda: of_path("/a/.", "Exact"),
         ["path: Invalid value: \"/a/.\": cannot end with '/.'"]),
        (lambda: of_path("a", None),
         ["pathType: Required value: pathType must be specified"]),
        (lambda: of_path("a", "x"),
         ['pathType: Unsupported value: "x": supported values: "Exact",'
           ' "ImplementationSpecific", "Prefix"']),
        (lambda: of_path("/", service={"name": "s", "port": {"number": 80}},
          resource={"kind": "k", "name": "n"}),
         ['backend: Invalid value: "": cannot set both resource and service backends']),
        (lambda: of_path("/", service={"name": "S", "port": {"name": "http"}}),
         ['backend.service.name: Invalid value: "S": LABEL']),
        (lambda: of_path("/", service={"name": "", "port": {"name": "a" * 16}}),
         ["backend.service.name: Required value",
          'backend.service.port.name: Invalid value: "aaaaaaaaaaaaaaaa": must be no more than'
           " 15 characters"]),
        (lambda: of_path("/", service={"name": "s", "port": {"number": 65536}}),
         ["backend.service.port.number: Invalid value: 65536: must be between 1 and 65535,"
           " inclusive"]),
        (lambda: of_path("/", service={"name": "s", "port": {"number": 1, "name": "a"}}),
         ['backend: Invalid value: "": cannot set both port name & port number']),
        (lambda: of_path("/", service={"name": "s", "port": {}}),
         ["backend: Required value: port name or number is required"]),
        (lambda: of_path("/", resource={"apiGroup": "A", "kind": "", "name": "a/b"}),
         ['backend.resource.apiGroup: Invalid value: "A": SUBDOMAIN',
          "backend.resource.kind: Required value",
          "backend.resource.name: Invalid value: \"a/b\": may not contain '/'"]),
        (lambda: of_path("/", other={}),
         ['backend: Invalid value: "": resource or service backend is required']),
        (lambda: of_hosts([{"host": "a.b"}, {"host": "A"}, {"host": "10.0.0.1"}, {"host":
          "*.a"}, {"host": "*a"}]),
         ['rules[1].host: Invalid value: "A": SUBDOMAIN',
          'rules[2].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
          'rules[4].host: Invalid value: "*a": a wildcard DNS-1123 subdomain must start with'
           " '*.', followed by a valid DNS subdomain, which must consist of lower case"
           " alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g."
           " '*.example.com', regex used for validation is"
           " '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]),
        (lambda: of_hosts([]),
         ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"]),
        (lambda: of_hosts([{"http": {"paths": []}}]),
         ["rules[0].http.paths: Required value"]),
        (lambda: of_hosts([BAD | {"host": "*.a"}], [BAD | {"host": "*.a"}]), []),
        (lambda: of_hosts([BAD | {"host": "*.a"}, BAD | {"host": "a"}], [BAD | {"host":
          "*.a"}]),
         ['rules[1].http.paths[0].path: Invalid value: "": must be an absolute path']),
        (lambda: of_hosts([BAD | {"host": "*.a"}], [BAD | {"host": "a"}]),
         ['rules[0].http.paths[0].path: Invalid value: "": must be an absolute path']),
        (lambda: of_tls({"hosts": ["a", "*.a", "A"], "secretName": "S"}),
         ['tls[0].hosts[2]: Invalid value: "A": SUBDOMAIN',
          'tls[0].secretName: Invalid value: "S": SUBDOMAIN']),
        (lambda: of_tls({"secretName": "S"}, {"secretName": "S"}), []),
        (lambda: of_tls({"secretName": "S"}, {"secretName": "s"}),
         ['tls[0].secretName: Invalid value: "S": SUBDOMAIN']),
        (lambda: of_network("Ingress", {"spec": {"defaultBackend": BACKEND,
          "ingressClassName": "A"}}),
         ['ingressClassName: Invalid value: "A": SUBDOMAIN']),
        (lambda: of_network("Ingress", {"spec": {"defaultBackend": BACKEND,
          "ingressClassName": "a"}, "metadata": {"annotations":
          {"kubernetes.io/ingress.class": "b"}}}),
         ['annotations.kubernetes.io/ingress.class: Invalid value: "b": must match'
           " `ingressClassName` when both are specified"]),
        (lambda: of_network("Ingress", {"spec": {"defaultBackend": BACKEND,
          "ingressClassName": "a"}, "metadata": {"annotations":
          {"kubernetes.io/ingress.class": "a"}}}), []),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Cluster"}), []),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Cluster", "namespace":
          "a"}),
         ["parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"]),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Namespace"}),
         ["parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"]),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Namespace",
          "namespace": "A"}),
         ['parameters.namespace: Invalid value: "A": LABEL']),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "x", "apiGroup": "A"}),
         ['parameters.apiGroup: Invalid value: "A": SUBDOMAIN',
          'parameters.scope: Unsupported value: "x": supported values: "Cluster", "Namespace"']),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Cluster"}, "a"),
         ['controller: Invalid value: "a": must be a domain-prefixed path (such as'
           ' "acme.io/foo")']),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Cluster"},
          "a.b/" + "c" * 246), []),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "Cluster"},
          "a.b/" + "c" * 247),
         ["controller: Too long: may not be more than 250 bytes"]),
        (lambda: of_port({"port": 80}), []),
        (lambda: of_port({"port": 0, "protocol": "x"}),
         ['protocol: Unsupported value: "x": supported values: "TCP", "UDP", "SCTP"',
          "port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (lambda: of_port({"port": "a" * 16}),
         ['port: Invalid value: "aaaaaaaaaaaaaaaa": must be no more than 15 characters']),
        (lambda: of_port({"port": 80, "endPort": 80}), []),
        (lambda: of_port({"port": 80, "endPort": 79}),
         ["endPort: Invalid value: 80: must be greater than or equal to `port`"]),
        (lambda: of_port({"port": 80, "endPort": 65536}),
         ["endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"]),
        (lambda: of_port({"port": "a", "endPort": 80}),
         ["endPort: Invalid value: 80: may not be specified when `port` is non-numeric"]),
        (lambda: of_port({"endPort": 80}),
         ["endPort: Invalid value: 80: may not be specified when `port` is not specified"]),
        (lambda: of_peer({}),
         [": Required value: must specify a peer"]),
        (lambda: of_peer({"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}),
         [": Forbidden: may not specify both ipBlock and another peer"]),
        (lambda: of_peer({"namespaceSelector": {"matchLabels": {"-": "a"}}}),
         ['.namespaceSelector.matchLabels: Invalid value: "-": NAME PART']),
        (lambda: of_peer({"ipBlock": {}}),
         [".ipBlock.cidr: Required value"]),
        (lambda: of_block("10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/16",
          "::/16", "x"),
         ['.ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
          '.ipBlock.except[2]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
          '.ipBlock.except[3]: Invalid value: "::/16": must be a strict subset of `cidr`',
          '.ipBlock.except[4]: Invalid value: "x": must be a valid CIDR value, (e.g.'
           " 10.9.8.0/24 or 2001:db8::/64)"]),
        (lambda: of_block("10.0.0.1/8", "x"),
         ['.ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the'
           " prefix length",
          '.ipBlock.except[0]: Invalid value: "x": must be a valid CIDR value, (e.g.'
           " 10.9.8.0/24 or 2001:db8::/64)"]),
        (lambda: of_block("10.1.0.0/16", "10.0.0.0/8"),
         ['.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`']),
        (lambda: of_peer({"ipBlock": {"cidr": "10.0.0.1/8"}}, {"ipBlock": {"cidr":
          "10.0.0.1/8"}}), []),
        (lambda: of_peer({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.1/16"]}},
          {"ipBlock": {"cidr": "11.0.0.0/8", "except": ["10.1.0.1/16"]}}), []),
        (lambda: of_peer({"ipBlock": {"cidr": "10.0.0.1/8"}}, {"podSelector": {}}),
         ['.ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the'
           " prefix length"]),
        (lambda: of_network("NetworkPolicy", {"spec": {"podSelector": {}, "policyTypes":
          ["Ingress", "Egress", "Ingress"]}}),
         ['policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more'
           " than two policyTypes"]),
        (lambda: of_network("NetworkPolicy", {"spec": {"podSelector": {}, "policyTypes":
          ["Egress", "x"]}}),
         ['policyTypes[1]: Unsupported value: "x": supported values: "Ingress", "Egress"']),
        (lambda: of_network("Ingress", {"spec": {"defaultBackend": BACKEND}, "metadata":
          {"annotations": {"kubernetes.io/ingress.class": "b"}}}), []),
        (lambda: of_parameters({"kind": "k", "name": "n", "scope": "x", "namespace": "a"}),
         ['parameters.scope: Unsupported value: "x": supported values: "Cluster", "Namespace"']),
        (lambda: of_parameters({"kind": "k", "name": "n"}), []),
        (lambda: of_network("IngressClass", {"spec": {"controller": "a"}}, {"spec":
          {"controller": "a"}}),
         ['controller: Invalid value: "a": must be a domain-prefixed path (such as'
           ' "acme.io/foo")']),
        (lambda: of_network("IngressClass", {"spec": {"controller": "a.b/c"}}, {"spec":
          {"controller": "a.b/d"}}),
         ['controller: Invalid value: "a.b/c": field is immutable']),
    ],
)  # fmt: skip
def test_ingresses_and_policies(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_ranges([]),
         ["cidrs: Required value: at least one CIDR required"]),
        (lambda: of_ranges(["10.0.0.0/24", "2001:db8::/64"]), []),
        (lambda: of_ranges(["10.0.0.0/24", "10.0.1.0/24"]),
         ['cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one'
           " IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"]),
        (lambda: of_ranges(["10.0.0.0/24", "x"]),
         ['cidrs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or'
           " 2001:db8::/64)"]),
        (lambda: of_ranges(["10.0.0.1/24"]),
         ['cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix'
           " length"]),
        (lambda: of_ranges(["a", "b", "c"]),
         ['cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values']),
        (lambda: of_ranges(["10.0.0.0/24", "2001:db8::/64"], ["10.0.0.0/24"]), []),
        (lambda: of_ranges(["10.0.1.0/24", "2001:db8::/64"], ["10.0.0.0/24"]),
         ['cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']),
        (lambda: of_ranges(["10.0.0.0/24"], ["10.0.0.0/24", "2001:db8::/64"]),
         ['cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable']),
        (lambda: of_ranges(["10.0.0.0/24", "10.0.1.0/24"], ["10.0.0.0/24"]),
         ['cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one'
           " IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"]),
        (lambda: of_ranges(["10.0.1.0/24"], ["10.0.0.0/24"]),
         ['cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']),
        (lambda: of_address("IPv4", "10.0.0.1"), []),
        (lambda: of_address("IPv4"),
         ["endpoints[0].addresses: Required value: must contain at least 1 address"]),
        (lambda: of_address("IPv4", "::1", "x", "0.0.0.0", "127.0.0.1", "169.254.0.1",
          "224.0.0.1", "224.0.1.1"),
         ['endpoints[0].addresses: Invalid value: "::1": must be an IPv4 address',
          'endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range'
           " (127.0.0.0/8, ::1/128)",
          'endpoints[0].addresses[1]: Invalid value: "x": must be a valid IP address, (e.g.'
           " 10.9.8.7 or 2001:db8::ffff)",
          'endpoints[0].addresses[2]: Invalid value: "0.0.0.0": may not be unspecified'
           " (0.0.0.0)",
          'endpoints[0].addresses[3]: Invalid value: "127.0.0.1": may not be in the loopback'
           " range (127.0.0.0/8, ::1/128)",
          'endpoints[0].addresses[4]: Invalid value: "169.254.0.1": may not be in the'
           " link-local range (169.254.0.0/16, fe80::/10)",
          'endpoints[0].addresses[5]: Invalid value: "224.0.0.1": may not be in the'
           " link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        (lambda: of_address("IPv6", "2001:db8::1", "2001:0db8::1", "10.0.0.1", "::",
          "fe80::1", "ff02::1", "ff05::1"),
         ['endpoints[0].addresses[1]: Invalid value: "2001:0db8::1": must be in canonical'
           ' form ("2001:db8::1")',
          'endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address',
          'endpoints[0].addresses[3]: Invalid value: "::": may not be unspecified (::)',
          'endpoints[0].addresses[4]: Invalid value: "fe80::1": may not be in the link-local'
           " range (169.254.0.0/16, fe80::/10)",
          'endpoints[0].addresses[5]: Invalid value: "ff02::1": may not be in the link-local'
           " multicast range (224.0.0.0/24, ff02::/10)"]),
        (lambda: of_address("FQDN", "a.b", "a.b.", "a", "", "A.b", "a." + "b" * 64),
         ['endpoints[0].addresses[2]: Invalid value: "a": should be a domain with at least'
           " two segments separated by dots",
          "endpoints[0].addresses[3]: Required value",
          'endpoints[0].addresses[4]: Invalid value: "A.b": SUBDOMAIN',
          'endpoints[0].addresses[5]: Invalid value: "bb*64": must be no more than 63'
           " characters"]),
        (lambda: of_address("x", "a"),
         ['addressType: Unsupported value: "x": supported values: "FQDN", "IPv4", "IPv6"']),
        (lambda: of_address("", "a"),
         ["addressType: Required value"]),
        (lambda: of_slice(endpoints=[{"addresses": [f"10.0.0.{i}" for i in range(1,
          102)]}]),
         ["endpoints[0].addresses: Too many: 101: must have at most 100 items"]),
        (lambda: of_slice(endpoints=[{"addresses": [f"10.0.0.{i}" for i in range(1,
          101)]}]), []),
        (lambda: of_slice(endpoints=[{"addresses": ["10.0.0.1"]}] * 1001),
         ["endpoints: Too many: 1001: must have at most 1000 items"]),
        (lambda: of_slice(endpoints=[{"addresses": ["10.0.0.1"]}] * 1000), []),
        (lambda: of_endpoint(nodeName="N", hostname="H", deprecatedTopology={"-": ""}),
         ['endpoints[0].nodeName: Invalid value: "N": SUBDOMAIN',
          'endpoints[0].deprecatedTopology: Invalid value: "-": NAME PART',
          'endpoints[0].hostname: Invalid value: "H": LABEL']),
        (lambda: of_endpoint(deprecatedTopology={f"a{i}": "" for i in range(17)}),
         ["endpoints[0].deprecatedTopology: Too many: 17: must have at most 16 items"]),
        (lambda: of_endpoint(deprecatedTopology={f"a{i}": "" for i in range(16)}), []),
        (lambda: of_endpoint(hints={"forZones": [{"name": "a"}, {"name": "a"}, {"name":
          "-"}], "forNodes": [{"name": "N"}, {"name": "N"}]}),
         ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
          'endpoints[0].hints.forZones[2].name: Invalid value: "-": a valid label must be an'
           " empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
           " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
           " '12345', regex used for validation is"
           " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          'endpoints[0].hints.forNodes[0].name: Invalid value: "N": SUBDOMAIN',
          'endpoints[0].hints.forNodes[1].name: Duplicate value: "N"',
          'endpoints[0].hints.forNodes[1].name: Invalid value: "N": SUBDOMAIN']),
        (lambda: of_endpoint(hints={"forZones": [{"name": f"z{i}"} for i in range(9)],
          "forNodes": [{"name": f"n{i}"} for i in range(9)]}),
         ["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
          "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"]),
        (lambda: of_endpoint(hints={"forZones": [{"name": f"z{i}"} for i in range(8)]}), []),
        (lambda: of_slice(endpoints=[], ports=[{"name": "a"}, {"name": "a"}, {"name": "A"},
          {"name": "", "protocol": "x", "appProtocol": "-"}]),
         ['ports[1].name: Duplicate value: "a"',
          'ports[2].name: Invalid value: "A": LABEL',
          'ports[3].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
          'ports[3].appProtocol: Invalid value: "-": NAME PART']),
        (lambda: of_slice(endpoints=[], ports=[{"name": "a"}, {}, {}]),
         ['ports[2].name: Duplicate value: ""']),
        (lambda: of_slice(endpoints=[], ports=[{"name": f"p{i}"} for i in range(20_001)]),
         ["ports: Too many: 20001: must have at most 20000 items"]),
        (lambda: of_network("EndpointSlice", {"addressType": "IPv4", "endpoints":
          [{"addresses": ["x"]}]}, {"addressType": "IPv4", "endpoints": [{"addresses":
          ["x"]}]}), []),
        (lambda: of_network("EndpointSlice", {"addressType": "IPv4", "endpoints":
          [{"addresses": ["x"]}]}, {"addressType": "IPv4", "endpoints": [{"addresses":
          ["y"]}]}),
         ['endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, (e.g.'
           " 10.9.8.7 or 2001:db8::ffff)"]),
        (lambda: of_network("EndpointSlice", {"addressType": "IPv6", "endpoints": []},
          {"addressType": "IPv4", "endpoints": []}),
         ['addressType: Invalid value: "IPv6": field is immutable']),
        (lambda: of_subset({}),
         [": Required value: must specify `addresses` or `notReadyAddresses`"]),
        (lambda: of_subset({"ports": [{"port": 80}]}),
         [": Required value: must specify `addresses` or `notReadyAddresses`"]),
        (lambda: of_subset({"addresses": [{"ip": "x"}, {}, {"ip": "127.0.0.1", "hostname":
          "A", "nodeName": "N"}]}),
         ['.addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7'
           " or 2001:db8::ffff)",
          '.addresses[0].ip: Invalid value: "x": must be a valid IP address',
          '.addresses[1].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or'
           " 2001:db8::ffff)",
          '.addresses[1].ip: Invalid value: "": must be a valid IP address',
          '.addresses[2].hostname: Invalid value: "A": LABEL',
          '.addresses[2].nodeName: Invalid value: "N": SUBDOMAIN',
          '.addresses[2].ip: Invalid value: "127.0.0.1": may not be in the loopback range'
           " (127.0.0.0/8, ::1/128)"]),
        (lambda: of_subset({"addresses": [{"ip": "ff12::1"}, {"ip": "ff01::1"}, {"ip":
          "fe02::1"}, {"ip": "224.0.0.9"}, {"ip": "224.1.0.1"}, {"ip": "224.0.1.1"}, {"ip":
          "223.0.0.1"}]}),
         ['.addresses[0].ip: Invalid value: "ff12::1": may not be in the link-local multicast'
           " range (224.0.0.0/24, ff02::/10)",
          '.addresses[3].ip: Invalid value: "224.0.0.9": may not be in the link-local'
           " multicast range (224.0.0.0/24, ff02::/10)"]),
        (lambda: of_subset({"addresses": [{"ip": "::ffff:127.0.0.1"}, {"ip":
          "::ffff:10.0.0.1"}, {"ip": "010.0.0.1"}, {"ip": "127.000.0.01"}]}),
         ['.addresses[0].ip: Invalid value: "::ffff:127.0.0.1": must not be an IPv4-mapped'
           " IPv6 address",
          '.addresses[0].ip: Invalid value: "::ffff:127.0.0.1": may not be in the loopback'
           " range (127.0.0.0/8, ::1/128)",
          '.addresses[1].ip: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped'
           " IPv6 address",
          '.addresses[2].ip: Invalid value: "010.0.0.1": must not have leading 0s',
          '.addresses[3].ip: Invalid value: "127.000.0.01": must not have leading 0s',
          '.addresses[3].ip: Invalid value: "127.000.0.01": may not be in the loopback range'
           " (127.0.0.0/8, ::1/128)"]),
        (lambda: of_subset({"addresses": [{"ip": "0" * 5_000 + ".0.0.1"}, {"ip": "9" * 5_000 +
          ".0.0.1"}, {"ip": "\u0663.0.0.1"}]}),
         ['.addresses[0].ip: Invalid value: "00*5000.0.0.1": must not have leading 0s',
          '.addresses[1].ip: Invalid value: "99*5000.0.0.1": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          '.addresses[1].ip: Invalid value: "99*5000.0.0.1": must be a valid IP address',
          '.addresses[2].ip: Invalid value: "\u0663.0.0.1": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          '.addresses[2].ip: Invalid value: "\u0663.0.0.1": must be a valid IP address']),
        (lambda: of_subset({"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port":
          0}]}),
         [".ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (lambda: of_subset({"notReadyAddresses": [{"ip": "169.254.0.1"}], "ports":
          [{"port": 1}, {"port": 2, "name": "A", "protocol": "x"}]}),
         ['.notReadyAddresses[0].ip: Invalid value: "169.254.0.1": may not be in the'
           " link-local range (169.254.0.0/16, fe80::/10)",
          ".ports[0].name: Required value",
          '.ports[1].name: Invalid value: "A": LABEL',
          '.ports[1].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"']),
        (lambda: of_ranges(["10.0.0.1/24"], ["10.0.0.1/24"]), []),
        (lambda: of_address("IPv4", "2001:0db8::1"),
         ['endpoints[0].addresses: Invalid value: "2001:0db8::1": must be an IPv4 address']),
        (lambda: of_subset({"addresses": [{"ip": "ff03::1"}, {"ip": "ff02::1:2"}]}),
         ['.addresses[1].ip: Invalid value: "ff02::1:2": may not be in the link-local'
           " multicast range (224.0.0.0/24, ff02::/10)"]),
        (lambda: of_slice(endpoints=[], ports=[{"name": f"p{i}"} for i in range(20_000)]), []),
    ],
)  # fmt: skip
def test_addresses(call: Any, expected: list[str]) -> None:
    assert call() == expected
