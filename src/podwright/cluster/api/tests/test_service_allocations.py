"""Addresses and node ports of services, allocated among the services of a given store."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.kinds.service_allocation import (
    ServiceAllocations,
    check_address_owner,
    check_addresses,
)
from podwright.cluster.api.strategies.parts import without
from podwright.cluster.store import ObjectStore


def service(name: str = "new", **spec: Any) -> Document:
    return {"metadata": {"name": name, "namespace": "n"}, "spec": spec}


def port(number: int, node: int = 0, protocol: str = "TCP") -> Document:
    return {"port": number, "protocol": protocol} | ({"nodePort": node} if node else {})


def with_services(*services: Document) -> tuple[ObjectStore, ServiceAllocations]:
    store = ObjectStore()
    for each in services:
        store.put(decode({"apiVersion": "v1", "kind": "Service", **each}))
    return store, ServiceAllocations(store)


TAKEN = service(
    "taken", type="NodePort", clusterIP="10.0.0.7", clusterIPs=["10.0.0.7"],
    ports=[port(80, 31000)], healthCheckNodePort=31001,
)  # fmt: skip
IP: dict[str, Any] = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}


def allocated(given: Document, stored: Document | None = None, **options: bool) -> Document:
    _, allocations = with_services(TAKEN)
    made = allocations.allocate(given, stored, is_dry_run=options.get("is_dry_run", False))
    spec: Document = made["spec"]
    return spec


def test_an_address_and_ports_are_drawn_and_are_free():
    given = service(type="NodePort", ports=[port(80), port(81), port(80, protocol="UDP")], **IP)
    spec = allocated(given)
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["clusterIP"].startswith("10.0.0.")
    # The lowest addresses are for those that are named.
    assert int(spec["clusterIP"].split(".")[3]) > 16
    numbers = [each["nodePort"] for each in spec["ports"]]
    assert all(30000 <= number <= 32767 for number in numbers)
    # Two protocols of one port of a new service share their number.
    assert numbers[0] == numbers[2] != numbers[1]
    assert 31000 not in numbers
    assert "nodePort" not in given["spec"]["ports"][0]
    changed = allocated(given, service(type="ClusterIP", clusterIP="10.0.0.9"))
    numbers = [each["nodePort"] for each in changed["ports"]]
    assert len(numbers) == 3


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"type": "ExternalName", "internalTrafficPolicy": "Cluster"}, {"type": "ExternalName"}),
        ({"clusterIP": "None", "clusterIPs": ["None"], **IP},
         {"clusterIP": "None", "clusterIPs": ["None"], **IP}),
        ({"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], **IP},
         {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], **IP}),
        ({"type": "ClusterIP", "clusterIP": "10.0.0.9", "ports": [port(1)], **IP},
         {"type": "ClusterIP", "clusterIP": "10.0.0.9", "ports": [port(1)], **IP}),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1, 31002)], **IP},
         {"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1, 31002)], **IP}),
        ({"type": "LoadBalancer", "clusterIP": "10.0.0.9", "ports": [port(1), port(2, 31002)],
          "allocateLoadBalancerNodePorts": False, **IP},
         {"type": "LoadBalancer", "clusterIP": "10.0.0.9", "ports": [port(1), port(2, 31002)],
          "allocateLoadBalancerNodePorts": False, **IP}),
        ({"type": "LoadBalancer", "clusterIP": "10.0.0.9", "externalTrafficPolicy": "Local",
          "healthCheckNodePort": 31005, "ports": [], **IP},
         {"type": "LoadBalancer", "clusterIP": "10.0.0.9", "externalTrafficPolicy": "Local",
          "healthCheckNodePort": 31005, "ports": [], **IP}),
    ],
)  # fmt: skip
def test_what_needs_nothing_stays(spec, found):
    assert allocated(service(**spec)) == found


@pytest.mark.parametrize(
    ("spec", "path", "text"),
    [
        ({"clusterIP": "10.0.0.7"}, "spec.clusterIPs", 'Invalid value: ["10.0.0.7"]: failed to'
         " allocate IP 10.0.0.7: provided IP is already allocated"),
        ({"clusterIP": "10.0.0.255"}, "spec.clusterIPs", 'Invalid value: ["10.0.0.255"]: failed to'
         " allocate IP 10.0.0.255: the provided IP (10.0.0.255) is not in the valid range. The"
         " range of valid IPs is 10.0.0.0/24"),
        ({"clusterIP": "10.0.1.1"}, "spec.clusterIPs", 'Invalid value: ["10.0.1.1"]: failed to'
         " allocate IP 10.0.1.1: the provided network does not match the current range"),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1), port(2, 31000)]},
         "spec.ports[1].nodePort", "Invalid value: 31000: provided port is already allocated"),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(2, 31000, "UDP")]},
         "spec.ports[0].nodePort", "Invalid value: 31000: provided port is already allocated"),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(2, 31001)]},
         "spec.ports[0].nodePort", "Invalid value: 31001: provided port is already allocated"),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1, 31002), port(2, 31002)]},
         "spec.ports[1].nodePort", "Invalid value: 31002: provided port is already allocated"),
        ({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1, 29999)]},
         "spec.ports[0].nodePort", "Invalid value: 29999: provided port is not in the valid range."
         " The range of valid ports is 30000-32767"),
    ],
)  # fmt: skip
def test_what_is_taken_or_out_of_range(spec, path, text):
    with pytest.raises(Rejection) as error:
        allocated(service(**spec, **IP))
    (cause,) = error.value.causes
    assert (cause["field"], cause["message"]) == (path, text)
    assert error.value.code == 422


def test_a_service_keeps_its_own_address_and_ports():
    own = service("taken", **TAKEN["spec"], **IP)
    found = allocated(own, TAKEN)
    assert (found["clusterIP"], found["ports"]) == ("10.0.0.7", [port(80, 31000)])
    # Two protocols may share a number within one service.
    both = {**own["spec"], "ports": [port(80, 31000), port(80, 31000, "UDP")]}
    assert allocated(service("taken", **both), TAKEN)["ports"] == both["ports"]


def test_a_service_of_a_taken_name_does_not_own_its_address_and_ports():
    again = TAKEN["spec"] | IP
    for spec, field in (
        (again, "spec.clusterIPs"),
        (without(again, "clusterIP", "clusterIPs"), "spec.ports[0].nodePort"),
    ):
        with pytest.raises(Rejection) as error:
            allocated(service("taken", **spec))
        assert [each["field"] for each in error.value.causes] == [field]


def test_a_node_port_is_not_the_port_of_health_checks_of_its_service():
    stored = service("taken", **LOCAL, ports=[port(1, 31004)], healthCheckNodePort=31003)
    changed = service("taken", **LOCAL, ports=[port(1, 31003)], healthCheckNodePort=31003)
    with pytest.raises(Rejection, match="31003: provided port is already allocated"):
        allocated(changed, stored)


def test_a_dry_run_does_not_look_at_what_is_taken():
    given = service(clusterIP="10.0.0.7", **IP)
    assert allocated(given, is_dry_run=True)["clusterIP"] == "10.0.0.7"
    assert allocated(service(**IP), is_dry_run=True)["clusterIP"] == "10.0.0.0"
    ports: dict[str, Any] = {"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [port(1, 9)]}
    assert allocated(service(**ports, **IP), is_dry_run=True)["ports"] == [port(1, 9)]
    with pytest.raises(Rejection, match=r"The range of valid IPs is 10\.0\.0\.0/24"):
        allocated(service(clusterIP="10.0.1.1", **IP), is_dry_run=True)


LOCAL: dict[str, Any] = {
    "type": "LoadBalancer",
    "clusterIP": "10.0.0.9",
    "externalTrafficPolicy": "Local",
    **IP,
}


def test_the_port_of_health_checks_is_one_of_its_own():
    spec = allocated(service(ports=[port(1, 31002)], **LOCAL))
    assert spec["healthCheckNodePort"] not in {31000, 31001, 31002}
    for taken in (31000, 31001, 31002):
        with pytest.raises(Rejection) as error:
            allocated(service(ports=[port(1, 31002)], healthCheckNodePort=taken, **LOCAL))
        assert error.value.message == (
            f"Internal error occurred: failed to allocate requested HealthCheck NodePort {taken}:"
            " provided port is already allocated"
        )
    without = allocated(service(ports=[port(1)], allocateLoadBalancerNodePorts=False, **LOCAL))
    assert without["ports"] == [port(1)]
    assert 30000 <= without["healthCheckNodePort"] <= 32767
    # One that needed it before has it already.
    again = allocated(service(ports=[], **LOCAL), service(**LOCAL))
    assert "healthCheckNodePort" not in again
    cluster = LOCAL | {"externalTrafficPolicy": "Cluster"}
    assert "healthCheckNodePort" not in allocated(service(ports=[], **cluster))


def test_what_services_give_up_is_free_again():
    store, allocations = with_services(TAKEN)
    asked = service(type="NodePort", clusterIP="10.0.0.7", ports=[port(1, 31000)], **IP)
    with pytest.raises(Rejection):
        allocations.allocate(asked, None, is_dry_run=False)
    other = service("taken", type="ClusterIP", clusterIP="10.0.0.8", clusterIPs=["10.0.0.8"])
    store.put(decode({"apiVersion": "v1", "kind": "Service", **other}))
    assert allocations.allocate(asked, None, is_dry_run=False)["spec"] == asked["spec"]
    with pytest.raises(Rejection, match="already allocated"):
        allocations.allocate(service(clusterIP="10.0.0.8", **IP), None, is_dry_run=False)
    store.drop(("", "Service"), "n/taken")
    free = allocations.allocate(service(clusterIP="10.0.0.8", **IP), None, is_dry_run=False)
    assert free["spec"]["clusterIP"] == "10.0.0.8"


@pytest.mark.parametrize(
    ("name", "spec", "detail"),
    [
        ("a", {}, None),
        ("", {"type": "ExternalName"}, None),
        ("", {"clusterIP": "10.0.0.9"}, None),
        ("", {"ipFamilyPolicy": "RequireDualStack"}, None),
        ("", {}, "Required value"),
        ("a/b", {}, "Invalid value: \"a/b\": may not contain '/'"),
        ("a/%", {}, "Invalid value: \"a/%\": may not contain '/'"),
    ],
)
def test_the_owner_of_an_address_has_a_name(name, spec, detail):
    if detail is None:
        check_address_owner(service(name, **spec))
        return
    with pytest.raises(Rejection) as error:
        check_address_owner(service(name, **spec))
    (cause,) = error.value.causes
    assert cause["field"] == "spec.clusterIPs"
    assert cause["message"] == (
        'Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "10.0.0.17" is'
        f" invalid: spec.parentRef.name: {detail}"
    )


@pytest.mark.parametrize(
    ("type_", "problem", "prevents"),
    [
        ("ClusterIP", ("spec.clusterIP", "Invalid value: x"), True),
        ("ClusterIP", ("spec.clusterIPs[0]", "Invalid value: x"), True),
        ("ClusterIP", ("spec.ipFamilies[0]", "Invalid value: x"), True),
        ("ClusterIP", ("spec.ipFamilyPolicy", "Invalid value: x"), True),
        ("ClusterIP", ("spec.ports", "Required value"), False),
        ("ExternalName", ("spec.clusterIP", "Invalid value: x"), False),
        ("ClusterIP", ("spec.clusterIPs[0]", "x: may not be set to 'None' for LoadBalancer"),
         False),
        ("ClusterIP", ("spec.clusterIPs[0]", "x: may not change once set"), False),
    ],
)  # fmt: skip
def test_mistakes_on_which_addresses_depend_come_alone(type_, problem, prevents):
    found = [("metadata.name", "Required value", None), (*problem, None)]
    if not prevents:
        check_addresses(service(type=type_), found)
        return
    with pytest.raises(Rejection) as error:
        check_addresses(service(type=type_), found)
    assert [cause["field"] for cause in error.value.causes] == [problem[0]]
    text = f"{problem[0]}: {problem[1]}"
    assert error.value.message == f'Service "new" is invalid: {text}'
