"""Cluster IPs and node ports: drawn, respected, and given back."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from podwright.cluster.api.stages.kinds import service_allocation
from podwright.cluster.api.stages.kinds.service_allocation import NODE_PORTS, SERVICE_NETWORK

SERVICES = "/api/v1/namespaces/default/services"


def service(name, **spec):
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def create(server, name, **spec):
    return server.reply("POST", SERVICES, service(name, **spec))


def test_every_service_has_an_address_of_its_own(server):
    count = SERVICE_NETWORK.num_addresses - 3  # without the ends, and the API's own
    found = {create(server, f"s{index}")[1]["spec"]["clusterIP"] for index in range(count)}
    assert len(found) == count
    assert all(ip_address(address) in SERVICE_NETWORK for address in found)
    status, error = create(server, "one-more")
    assert (status, error["details"]["causes"][0]["field"]) == (422, "spec.clusterIPs")


def test_a_deleted_service_gives_its_address_and_port_back(server):
    spec = {"type": "NodePort", "clusterIP": "10.0.0.77", "ports": [{"port": 1, "nodePort": 31000}]}
    assert create(server, "a", **spec)[0] == 201
    assert create(server, "b", **spec)[0] == 422
    server.reply("DELETE", f"{SERVICES}/a")
    assert create(server, "b", **spec)[0] == 201


def test_a_dry_run_allocates_nothing(server):
    body = service("a", clusterIP="10.0.0.77")
    assert server.reply("POST", f"{SERVICES}?dryRun=All", body)[0] == 201
    assert create(server, "b", clusterIP="10.0.0.77")[0] == 201


def test_a_dry_run_does_not_look_at_what_is_taken(server):
    assert create(server, "a", clusterIP="10.0.0.77")[0] == 201
    body = service("b", clusterIP="10.0.0.77")
    assert server.reply("POST", f"{SERVICES}?dryRun=All", body)[0] == 201
    assert server.reply("POST", SERVICES, body)[0] == 422


@pytest.mark.parametrize(
    ("address", "status"),
    [("10.0.0.0", 422), ("10.0.0.254", 201), ("10.0.0.255", 422), ("10.0.1.0", 422)],
)
def test_the_ends_of_the_range_are_no_addresses(server, address, status):
    assert create(server, "a", clusterIP=address)[0] == status


@pytest.mark.parametrize(
    ("port", "status"), [(29_999, 422), (30_000, 201), (32_767, 201), (32_768, 422)]
)
def test_node_ports_are_within_their_range(server, port, status):
    ports = [{"port": 1, "nodePort": port}]
    assert create(server, "a", type="NodePort", ports=ports)[0] == status


def test_a_node_port_is_taken_for_all_protocols_of_other_services(server):
    for name, protocol, status in (("a", "UDP", 201), ("b", "TCP", 422), ("c", "SCTP", 422)):
        ports = [{"port": 1, "protocol": protocol, "nodePort": 31000}]
        assert create(server, name, type="NodePort", ports=ports)[0] == status


def test_the_node_ports_of_one_service_differ_by_port_or_protocol(server, monkeypatch):
    monkeypatch.setattr(service_allocation, "NODE_PORTS", range(30_000, 30_002))
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    status, made = create(server, "a", type="NodePort", ports=ports)
    assert status == 201, made
    assert {port["nodePort"] for port in made["spec"]["ports"]} == {30_000, 30_001}
    server.reply("DELETE", f"{SERVICES}/a")
    ports = [{"name": "a", "port": 1, "nodePort": 30_000}, {"name": "b", "port": 2}]
    _, made = create(server, "b", type="NodePort", ports=ports)
    assert [port["nodePort"] for port in made["spec"]["ports"]] == [30_000, 30_001]
    server.reply("DELETE", f"{SERVICES}/b")
    ports = [{"name": str(n), "port": 1, "nodePort": 30_000, "protocol": each}
             for n, each in enumerate(("TCP", "UDP"))]  # fmt: skip
    assert create(server, "c", type="NodePort", ports=ports)[0] == 201


def test_a_change_of_type_allocates_and_releases(server):
    create(server, "a")
    _, found = server.patch(f"{SERVICES}/a", {"spec": {"type": "NodePort"}})
    assert found["spec"]["ports"][0]["nodePort"] in NODE_PORTS
    _, found = server.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
    assert "nodePort" not in found["spec"]["ports"][0]
    change = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    _, found = server.patch(f"{SERVICES}/a", change)
    assert "clusterIP" not in found["spec"]


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        pytest.param({}, ["IPv4"], "SingleStack", id="an address"),
        pytest.param(
            {"clusterIP": "None"}, ["IPv4", "IPv6"], "RequireDualStack", id="headless, no selector"
        ),
        pytest.param(
            {"clusterIP": "None", "selector": {"a": "b"}},
            ["IPv4"],
            "SingleStack",
            id="headless with a selector",
        ),
    ],
)
def test_families_follow_from_the_form(server, spec, families, policy):
    _, found = create(server, "a", **spec)
    assert (found["spec"]["ipFamilies"], found["spec"]["ipFamilyPolicy"]) == (families, policy)


def test_local_traffic_gets_a_port_for_health_checks(server):
    _, found = create(server, "a", type="LoadBalancer", externalTrafficPolicy="Local")
    spec = found["spec"]
    assert spec["healthCheckNodePort"] in NODE_PORTS
    assert spec["healthCheckNodePort"] != spec["ports"][0]["nodePort"]


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"type": "ClusterIP"}},
        {"spec": {"ports": [{"port": 80, "nodePort": 31001}]}},
        {"spec": {"type": "ExternalName", "externalName": "example.com", "clusterIP": None}},
        None,
    ],
    ids=["another type", "another port", "an external name", "a deletion"],
)
def test_a_port_that_is_given_up_is_free_again(server, change):
    ports = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31000}]}
    assert create(server, "a", **ports)[0] == 201
    assert create(server, "b", **ports)[0] == 422
    if change is None:
        assert server.reply("DELETE", f"{SERVICES}/a")[0] == 200
    else:
        status, reply = server.patch(f"{SERVICES}/a", change)
        assert status == 200, reply
    assert create(server, "b", **ports)[0] == 201
    assert create(server, "c", **ports)[0] == 422


def test_a_rejected_change_keeps_what_was_allocated(server):
    ports = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31000}]}
    create(server, "a", **ports)
    create(server, "b", type="NodePort", ports=[{"port": 80, "nodePort": 31001}])
    change = {"spec": {"ports": [{"port": 80, "nodePort": 31001}]}}
    assert server.patch(f"{SERVICES}/a", change)[0] == 422
    assert server.patch(f"{SERVICES}/a?dryRun=All", {"spec": {"type": "ClusterIP"}})[0] == 200
    assert create(server, "c", **ports)[0] == 422


def test_a_port_of_health_checks_is_free_again(server):
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}
    assert create(server, "a", **spec)[0] == 201
    status, error = create(server, "b", **spec)
    # Upstream reports it as an internal error, not as one of the field.
    assert (status, error["message"]) == (
        500,
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 31000:"
        " provided port is already allocated",
    )
    assert server.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})[0] == 200
    assert create(server, "b", **spec)[0] == 201


def test_a_port_of_health_checks_is_none_of_the_services_own(server):
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}
    assert create(server, "a", **spec, ports=[{"port": 80, "nodePort": 31000}])[0] == 500
    assert create(server, "a", **spec, ports=[{"port": 80, "nodePort": 31001}])[0] == 201
    # Other changes keep it.
    assert server.patch(f"{SERVICES}/a", {"metadata": {"labels": {"x": "y"}}})[0] == 200
    assert create(server, "b", type="NodePort", ports=[{"port": 80, "nodePort": 31000}])[0] == 422


def test_ports_keep_their_node_ports_by_name(server):
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    _, made = create(server, "a", type="NodePort", ports=ports)
    first, second = (port["nodePort"] for port in made["spec"]["ports"])
    made["spec"]["ports"] = [{"name": "b", "port": 82}, {"name": "c", "port": 80}]
    _, found = server.reply("PUT", f"{SERVICES}/a", made)
    kept = {port["name"]: port["nodePort"] for port in found["spec"]["ports"]}
    assert kept["b"] == second
    assert kept["c"] not in (first, second)


def test_a_service_without_node_ports_loses_those_that_it_had(server):
    _, made = create(server, "a", type="NodePort")
    made["spec"] |= {"type": "ClusterIP"}
    made["spec"]["ports"][0]["name"] = "a"
    made["spec"]["ports"].append({"name": "b", "port": 81})
    status, found = server.reply("PUT", f"{SERVICES}/a", made)
    assert status == 200
    assert all("nodePort" not in port for port in found["spec"]["ports"])


def test_a_headless_service_keeps_its_families_without_its_selector(server):
    _, made = create(server, "a", clusterIP="None", selector={"a": "b"})
    made["spec"] = {"ports": [{"port": 80}]}
    _, found = server.reply("PUT", f"{SERVICES}/a", made)
    assert (found["spec"]["ipFamilyPolicy"], found["spec"]["ipFamilies"]) == (
        "SingleStack",
        ["IPv4"],
    )


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_addresses_are_allocated_before_the_rest_is_checked(server, method):
    body = service("a")
    if method == "PUT":
        _, body = create(server, "a")
    body["metadata"]["labels"] = {"a": "-"}
    body["spec"] |= {"type": "x", "clusterIP": "1.2.3", "clusterIPs": ["1.2.3"]}
    _, found = server.reply(method, SERVICES if method == "POST" else f"{SERVICES}/a", body)
    fields = {each["field"] for each in found["details"]["causes"]}
    assert fields == {"spec.clusterIPs[0]"}
