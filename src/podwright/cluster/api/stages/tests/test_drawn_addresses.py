"""The order in which addresses and node ports are drawn, and what exhausts them."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.kinds.service_allocation import NODE_PORTS, ServiceAllocations
from podwright.cluster.store import ObjectStore, change_of

FIRST = IPv4Address("10.0.0.1")


def a_service(name: str = "new", **spec: Any) -> Document:
    spec = {"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]} | spec
    return {
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }  # fmt: skip


def allocated(store: ObjectStore, service: Document | None = None, **facts: Any) -> Document:
    options = {"is_dry_run": False} | facts
    stored = options.pop("stored", None)
    made = ServiceAllocations(store).allocate(service or a_service(), stored, **options)
    spec: Document = made["spec"]
    return spec


def with_address(name: str, address: str) -> Document:
    return a_service(name, clusterIP=address, clusterIPs=[address])


def other(seed: int) -> ObjectStore:
    """Return a store whose version is that of one with a service."""
    store = ObjectStore(seed=seed)
    store.put(decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "a", "namespace": "default"}}))  # fmt: skip
    return store


def test_the_next_address_follows_one_that_is_taken() -> None:
    found = set()
    for seed in range(12):
        drawn = IPv4Address(allocated(other(seed))["clusterIP"])
        assert FIRST + 16 <= drawn <= FIRST + 253
        store = ObjectStore(seed=seed)
        store.put(decode(with_address("taken", str(drawn))))
        after = IPv4Address(allocated(store)["clusterIP"])
        assert after == (drawn + 1 if drawn < FIRST + 253 else FIRST + 16)
        found.add(drawn)
    assert len(found) > 8


def test_the_lowest_addresses_are_drawn_last_and_then_there_are_none() -> None:
    store = ObjectStore(seed=5)
    for offset in range(16, 254):
        store.put(decode(with_address(f"s{offset}", str(FIRST + offset))))
    assert allocated(store)["clusterIPs"] == ["10.0.0.1"]
    store.put(decode(with_address("s0", "10.0.0.1")))
    assert allocated(store)["clusterIP"] == "10.0.0.2"
    for offset in range(1, 15):
        store.put(decode(with_address(f"s{offset}", str(FIRST + offset))))
    assert allocated(store)["clusterIP"] == "10.0.0.16"
    store.put(decode(with_address("s15", "10.0.0.16")))
    with pytest.raises(Rejection) as error:
        allocated(store)
    assert error.value.status["message"] == (
        'Service "" is invalid: spec.clusterIPs: Internal error: range is full'
    )
    assert allocated(store, is_dry_run=True)["clusterIP"] == "10.0.0.0"
    # An address that is given back is drawn again.
    key, kind = "default/s100", ("", "Service")
    current = store.require(kind, key)
    store.commit(change_of(store.resource_version + 1, kind, key, current, None))
    assert allocated(store)["clusterIP"] == str(FIRST + 100)


def with_ports(name: str, *ports: Document) -> Document:
    return a_service(name, type="NodePort", clusterIP="None", clusterIPs=["None"], ports=[*ports])


def test_the_next_port_follows_one_that_is_taken_by_any_protocol() -> None:
    new = with_ports("new", {"port": 80, "protocol": "TCP"})
    found = set()
    for seed in range(12):
        drawn = allocated(other(seed), new)["ports"][0]["nodePort"]
        assert 30_000 <= drawn <= 32_767
        for protocol in ("TCP", "UDP", "SCTP"):
            store = ObjectStore(seed=seed)
            taken = {"port": 1, "protocol": protocol, "nodePort": drawn}
            store.put(decode(with_ports("taken", taken)))
            after = allocated(store, new)["ports"][0]["nodePort"]
            assert after == (drawn + 1 if drawn < 32_767 else 30_000)
        store = ObjectStore(seed=seed)
        health = {"healthCheckNodePort": drawn, "externalTrafficPolicy": "Local"}
        store.put(decode(a_service("taken", type="LoadBalancer", clusterIP="None") | {
            "spec": with_ports("taken")["spec"] | health}))  # fmt: skip
        assert allocated(store, new)["ports"][0]["nodePort"] != drawn
        found.add(drawn)
    assert len(found) > 8


def test_ports_of_one_service() -> None:
    store = other(1)
    tcp, udp = {"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}
    web = {"port": 80, "protocol": "TCP"}
    ports = allocated(store, with_ports("new", tcp, udp, web))["ports"]
    numbers = [each["nodePort"] for each in ports]
    # A new service has one number for one port of several protocols.
    assert numbers[0] == numbers[1] != numbers[2]
    assert numbers[2] == numbers[0] + 1
    given = allocated(store, with_ports("new", tcp, udp | {"nodePort": 30_053}))["ports"]
    assert [each["nodePort"] for each in given] == [30_053, 30_053]
    old = with_ports("new", tcp | {"nodePort": 30_001})
    changed = with_ports("new", tcp | {"nodePort": 30_001}, udp)
    first, second = allocated(store, changed, stored=old)["ports"]
    assert first["nodePort"] == 30_001
    assert second["nodePort"] != 30_001
    balancer = a_service(
        type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=[tcp], clusterIP="None"
    )
    assert allocated(store, balancer)["ports"] == [tcp]


TAKEN = "provided port is already allocated"
OUTSIDE = "provided port is not in the valid range. The range of valid ports is 30000-32767"


@pytest.mark.parametrize(
    ("ports", "problem"),
    [
        ([30_000], None),
        ([32_767], None),
        ([29_999], f"spec.ports[0].nodePort: Invalid value: 29999: {OUTSIDE}"),
        ([32_768], f"spec.ports[0].nodePort: Invalid value: 32768: {OUTSIDE}"),
        ([30_007], f"spec.ports[0].nodePort: Invalid value: 30007: {TAKEN}"),
        ([30_001, 30_001], f"spec.ports[1].nodePort: Invalid value: 30001: {TAKEN}"),
        # Upstream allocates one after the other, and ends at the first that it cannot have.
        ([30_007, 29_999], f"spec.ports[0].nodePort: Invalid value: 30007: {TAKEN}"),
    ],
)
def test_ports_that_are_requested(ports: list[int], problem: str | None) -> None:
    store = ObjectStore()
    store.put(decode(with_ports("taken", {"port": 1, "protocol": "UDP", "nodePort": 30_007})))
    sent = [{"port": 80 + i, "protocol": "TCP", "nodePort": each} for i, each in enumerate(ports)]
    if problem is None:
        assert allocated(store, with_ports("new", *sent))["ports"] == sent
    else:
        with pytest.raises(Rejection) as error:
            allocated(store, with_ports("new", *sent))
        assert error.value.status["message"] == f'Service "new" is invalid: {problem}'
    # A service may keep its own.
    own = with_ports("taken", {"port": 1, "protocol": "UDP", "nodePort": 30_007})
    assert allocated(store, own, stored=own)["ports"][0]["nodePort"] == 30_007


@pytest.mark.parametrize(
    ("address", "options", "problem"),
    [
        ("10.0.0.5", {}, None),
        ("10.0.0.254", {}, None),
        ("10.0.0.9", {}, "provided IP is already allocated"),
        ("10.0.0.9", {"is_dry_run": True}, None),
        *(
            (address, {}, f"the provided IP ({address}) is not in the valid range. The range of"
             " valid IPs is 10.0.0.0/24")
            for address in ("10.0.0.0", "10.0.0.255")
        ),
        ("10.0.1.1", {}, "the provided network does not match the current range"),
        (
            "10.0.1.1", {"is_dry_run": True},
            "the provided IP (10.0.1.1) is not in the valid range. The range of valid IPs is"
            " 10.0.0.0/24",
        ),
    ],
)  # fmt: skip
def test_addresses_that_are_requested(address: str, options: Document, problem: str | None) -> None:
    store = ObjectStore()
    store.put(decode(with_address("taken", "10.0.0.9")))
    sent = with_address("new", address)
    if problem is None:
        assert allocated(store, sent, **options)["clusterIPs"] == [address]
        return
    with pytest.raises(Rejection) as error:
        allocated(store, sent, **options)
    assert error.value.status["message"] == (
        f'Service "new" is invalid: spec.clusterIPs: Invalid value: ["{address}"]: failed to'
        f" allocate IP {address}: {problem}"
    )
    own = with_address("taken", "10.0.0.9")
    assert allocated(store, own, stored=own)["clusterIP"] == "10.0.0.9"


def test_the_port_of_health_checks() -> None:
    local: Document = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    for spec, is_drawn in (
        (local, True),
        (local | {"externalTrafficPolicy": "Cluster"}, False),
        (local | {"type": "NodePort"}, False),
    ):
        made = allocated(other(2), a_service(**spec))
        assert ("healthCheckNodePort" in made) is is_drawn
        if is_drawn:
            assert made["healthCheckNodePort"] not in [each["nodePort"] for each in made["ports"]]
    store = ObjectStore()
    store.put(decode(with_ports("taken", {"port": 1, "protocol": "UDP", "nodePort": 30_007})))
    for number, problem in (
        (30_008, None), (30_007, TAKEN), (29_999, OUTSIDE), (30_005, TAKEN),
    ):  # fmt: skip
        port = {"port": 1, "protocol": "TCP", "nodePort": 30_005}
        service = a_service(**local, ports=[port], healthCheckNodePort=number)
        if problem is None:
            assert allocated(store, service)["healthCheckNodePort"] == number
            continue
        with pytest.raises(Rejection) as error:
            allocated(store, service)
        assert error.value.status["message"] == (
            "Internal error occurred: failed to allocate requested HealthCheck NodePort"
            f" {number}: {problem}"
        )
    # One that has it keeps it.
    had = a_service(**local, healthCheckNodePort=30_007)
    assert allocated(store, had, stored=had)["healthCheckNodePort"] == 30_007


def test_an_external_name_has_no_policy_for_internal_traffic() -> None:
    external = a_service(type="ExternalName", internalTrafficPolicy="Cluster", externalName="a.b")
    made = allocated(ObjectStore(), external)
    assert "internalTrafficPolicy" not in made
    assert "clusterIP" not in made
    plain = allocated(ObjectStore(), a_service(internalTrafficPolicy="Cluster"))
    assert plain["internalTrafficPolicy"] == "Cluster"


def test_each_address_that_a_service_requests_has_to_be_free() -> None:
    store = ObjectStore(seed=1)
    store.put(decode(with_address("taken", "10.0.0.9")))
    for addresses, problem in (
        (["10.0.0.5"], None),
        (["10.0.0.5", "10.0.0.9"], "10.0.0.9: provided IP is already allocated"),
        (
            ["10.0.0.5", "10.0.1.1"],
            "10.0.1.1: the provided network does not match the current range",
        ),
        ([], None),
    ):
        service = a_service(clusterIP="10.0.0.5", clusterIPs=addresses)
        if problem is None:
            assert allocated(store, service)["clusterIP"] == "10.0.0.5"
            continue
        with pytest.raises(Rejection) as error:
            allocated(store, service)
        shown = ",".join(f'"{each}"' for each in addresses)
        assert error.value.status["message"] == (
            f'Service "new" is invalid: spec.clusterIPs: Invalid value: [{shown}]: failed to'
            f" allocate IP {problem}"
        )


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy"),
        ({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}, "spec.ipFamilyPolicy"),
        ({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]"),
    ],
)
def test_a_service_of_families_that_the_cluster_lacks_gets_no_address(spec, field) -> None:
    store = ObjectStore(seed=1)
    with pytest.raises(Rejection) as error:
        allocated(store, a_service(**spec))
    assert (error.value.code, error.value.reason) == (422, "Invalid")
    assert error.value.message.startswith(f'Service "new" is invalid: {field}: Invalid value: ')


def test_no_node_port_is_left() -> None:
    store = ObjectStore(seed=1)
    ports = [{"port": 1, "protocol": "TCP", "nodePort": number} for number in NODE_PORTS]
    store.put(decode(a_service("all", type="NodePort", ports=ports[:-1])))
    found = allocated(store, a_service(type="NodePort"))
    assert [each["nodePort"] for each in found["ports"]] == [NODE_PORTS[-1]]
    store.put(decode(a_service("last", type="NodePort", ports=ports[-1:])))
    with pytest.raises(Rejection) as error:
        allocated(store, a_service(type="NodePort"))
    assert error.value.message.endswith("spec.ports: Internal error: all node ports are taken")
