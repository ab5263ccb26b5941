"""Requests through the server to nodes, pods and services that no connection answers."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints.tests.conftest import pod

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


@pytest.fixture
def filled(server):
    server.reply("POST", NODES, {"kind": "Node", "metadata": {"name": "bare"}})
    node = {"kind": "Node", "metadata": {"name": "other"}}
    addresses = [{"type": "Made", "address": "a"}]
    server.reply("POST", NODES, node | {"status": {"addresses": addresses}})
    node = {"kind": "Node", "metadata": {"name": "known"}}
    addresses = [{"type": "Hostname", "address": "known"}]
    server.reply("POST", NODES, node | {"status": {"addresses": addresses}})
    server.reply("POST", PODS, pod("p"))
    server.reply("POST", PODS, pod("running"))
    status = {"podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}]}
    server.patch(f"{PODS}/running/status", {"status": status})
    ports: list[dict[str, Any]] = [{"name": "web", "port": 80}]
    for name in ("s", "alone"):
        body: dict[str, Any] = {
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"ports": ports},
        }
        server.reply("POST", SERVICES, body)
    subsets: list[Any] = [{"addresses": [{"ip": "10.1.1.1"}], "ports": ports}]
    for name, found in (("s", subsets), ("empty", [])):
        endpoints = {"kind": "Endpoints", "metadata": {"name": name}, "subsets": found}
        server.reply("POST", ENDPOINTS, endpoints)
    return server


SIMULATED = "proxy is not possible, because containers are simulated"


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        (f"{NODES}/absent/proxy", 404, 'nodes "absent" not found'),
        (f"{NODES}/bare/proxy", 500, "no preferred addresses found; known addresses: []"),
        (f"{NODES}/other/proxy", 500, "no preferred addresses found; known addresses: [{Made a}]"),
        (f"{NODES}/known:10250/proxy/pods", 400, SIMULATED),
        (f"{NODES}/a:b:c/proxy", 400, 'invalid node request "a:b:c"'),
        (f"{PODS}/absent/proxy/", 404, 'pods "absent" not found'),
        (f"{PODS}/p:80/proxy", 400, "address not allowed"),
        (f"{PODS}/http:running:80/proxy/a/b", 400, SIMULATED),
        (f"{SERVICES}/absent/proxy", 404, 'services "absent" not found'),
        (f"{SERVICES}/absent:80/proxy", 404, 'services "absent" not found'),
        (f"{SERVICES}/alone/proxy", 404, 'services "alone" not found'),
        (f"{SERVICES}/s:81/proxy", 503, 'no service port 81 found for service "s"'),
        (f"{SERVICES}/s:{'9' * 5_000}/proxy", 503, 'no endpoints available for service "s:9'),
        (f"{SERVICES}/empty/proxy", 503, 'no endpoints available for service "empty"'),
        (f"{SERVICES}/s/proxy", 503, 'no endpoints available for service "s"'),
        (f"{SERVICES}/s:80/proxy", 400, SIMULATED),
        (f"{SERVICES}/s:web/proxy", 400, SIMULATED),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_what_is_answered_without_a_connection(filled, method, path, status, message):
    found, error = filled.reply(method, path)
    assert (found, error["message"][: len(message)]) == (status, message)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("10.1.1.1", True),
        ("8.8.8.8", True),
        ("fd00::1", True),
        ("127.0.0.1", False),
        ("::1", False),
        ("169.254.1.1", False),
        ("fe80::1", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("", False),
        ("x", False),
    ],
)
def test_addresses_of_pods_to_which_nothing_is_sent(server, address, is_allowed):
    server.reply("POST", PODS, pod("p"))
    stored = server.store.require(("", "Pod"), "default/p")
    server.store.put(decode(stored.raw | {"status": {"podIPs": [{"ip": address}, {"ip": "x"}]}}))
    status, error = server.reply("GET", f"{PODS}/p/proxy")
    assert (error["message"] != "address not allowed") is is_allowed
    assert status == 400


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p", "address not allowed"),
        ("p:", "address not allowed"),
        ("p:1", "address not allowed"),
        (":p:", "address not allowed"),
        ("http:p:1", "address not allowed"),
        ("https:p:", "address not allowed"),
        ("ftp:p:1", 'invalid pod request "ftp:p:1"'),
        (":1", 'invalid pod request ":1"'),
        ("http::1", 'invalid pod request "http::1"'),
        ("a:b:c:d", 'invalid pod request "a:b:c:d"'),
    ],
)
def test_the_parts_of_a_name(filled, name, message):
    assert filled.reply("GET", f"{PODS}/{name}/proxy")[1]["message"] == message


@pytest.mark.parametrize(
    ("subsets", "name", "message"),
    [
        ([{"addresses": [{"ip": "a"}], "ports": [{"name": "web"}]}], "s:web", SIMULATED),
        ([{"addresses": [{"ip": "a"}], "ports": [{"port": 1}]}], "s", SIMULATED),
        ([{"addresses": [{"ip": "a"}], "ports": [{"name": "x"}]}], "s:web", None),
        ([{"notReadyAddresses": [{"ip": "a"}], "ports": [{"name": "web"}]}], "s:web", None),
        ([{"addresses": [{"ip": "a"}]}], "s:web", None),
        (
            [{"ports": [{"name": "web"}]},
             {"addresses": [{"ip": "a"}], "ports": [{"name": "x"}, {"name": "web"}]}],
            "s:80", SIMULATED,
        ),
        ([{"ports": [{"name": "web"}]}], "s:80", None),
    ],
)  # fmt: skip
def test_endpoints_of_a_service(filled, subsets, name, message):
    stored = filled.store.require(("", "Endpoints"), "default/s")
    filled.store.put(decode(stored.raw | {"subsets": subsets}))
    _, error = filled.reply("GET", f"{SERVICES}/{name}/proxy")
    expected = message or f'no endpoints available for service "{name}"'
    assert error["message"][: len(expected)] == expected


@pytest.mark.parametrize(
    ("type_", "is_preferred"),
    [(type_, True) for type_ in
     ("ExternalDNS", "ExternalIP", "Hostname", "InternalDNS", "InternalIP")] + [("X", False)],
)  # fmt: skip
def test_addresses_of_nodes(filled, type_, is_preferred):
    addresses = [{"type": "Made", "address": "a"}, {"type": type_, "address": "b"}]
    filled.patch(f"{NODES}/known/status", {"status": {"addresses": addresses}})
    _, error = filled.reply("GET", f"{NODES}/known/proxy")
    shown = "no preferred addresses found; known addresses: [{Made a} {X b}]"
    assert error["message"].startswith(SIMULATED if is_preferred else shown)
