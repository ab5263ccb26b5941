"""The rules of endpoints one by one: ports, pods, selectors, times, names and limits."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.controllers import Lister
from podwright.cluster.controllers.network.endpoint_parts import (
    ServicePods,
    addresses_of,
    endpoint_key,
    hostname_of,
    is_endpoint,
    is_headless,
    new_slice,
    port_number,
    ports_key,
    repacked,
    selector_of,
    service_of,
    slices_of,
    trigger_time,
)
from podwright.cluster.controllers.network.endpoints import ADDRESSES_MAX, _truncated
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

WEB = {"app": "web"}


def a_pod(name="p", status=None, labels=(), metadata=(), **spec):
    spec = {"containers": [{"name": "main", "image": "app"}], "nodeName": "n1"} | spec
    made: Any = document(
        "Pod", name, namespace="default", metadata={"labels": dict(labels), **dict(metadata)},
        spec=spec, status=status or {},
    )  # fmt: skip
    return made


def a_service(name="web", **spec):
    return document("Service", name, namespace="default", spec=spec)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (NOW, "2026-01-01T00:00:00Z"),
        (NOW + 500_000_000, "2026-01-01T00:00:00.5Z"),
        (NOW + 1, "2026-01-01T00:00:00.000000001Z"),
        (NOW + 120_000_000, "2026-01-01T00:00:00.12Z"),
    ],
)
def test_a_trigger_time_has_no_zeros_at_its_end(ns, text):
    assert trigger_time(ns) == text


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        ({"selector": WEB}, WEB),
        ({"selector": {}}, None),
        ({}, None),
        ({"selector": WEB, "type": "ExternalName"}, None),
    ],
)
def test_the_endpoints_of_a_service_are_those_of_pods_if_it_selects_some(spec, selector):
    assert selector_of(a_service(**spec)) == selector


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({"clusterIP": "None"}, True), ({"clusterIP": ""}, True), ({}, True),
     ({"clusterIP": "10.0.0.1"}, False)],
)  # fmt: skip
def test_a_service_without_a_cluster_address_is_headless(spec, expected):
    assert is_headless(a_service(**spec)) is expected


def port(name="", number=80, protocol="TCP"):
    return {"containerPort": number} | ({"name": name} if name else {}) | (
        {"protocol": protocol} if protocol != "TCP" else {}
    )  # fmt: skip


PORTS = a_pod(
    containers=[
        {"name": "a", "image": "i", "ports": [port("www", 8080), port("dns", 53, "UDP")]},
        {"name": "b", "image": "i", "ports": [port("www", 9090)]},
    ],
    initContainers=[
        {"name": "i", "image": "i", "ports": [port("early", 1)]},
        {"name": "s", "image": "i", "restartPolicy": "Always", "ports": [port("side", 2)]},
    ],
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"port": 80}, 80),
        ({"port": 80, "targetPort": 81}, 81),
        ({"port": 80, "targetPort": "www"}, 8080),
        ({"port": 53, "targetPort": "dns", "protocol": "UDP"}, 53),
        ({"port": 53, "targetPort": "dns"}, None),
        ({"port": 80, "targetPort": "side"}, 2),
        ({"port": 80, "targetPort": "early"}, None),
        ({"port": 80, "targetPort": "none"}, None),
    ],
)
def test_the_port_of_a_service_on_a_pod(given, expected):
    assert port_number(PORTS, given) == expected


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        ({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
         ["10.0.0.1", "fd00::1"]),
        ({"podIP": "10.0.0.1"}, ["10.0.0.1"]),
        ({"podIPs": [{"ip": ""}], "podIP": "10.0.0.2"}, ["10.0.0.2"]),
        ({}, []),
    ],
)  # fmt: skip
def test_the_addresses_of_a_pod(status, addresses):
    pod = a_pod(status=status)
    assert addresses_of(pod) == addresses
    assert is_endpoint(pod, with_terminating=False) is bool(addresses)


@pytest.mark.parametrize(
    ("phase", "is_deleted", "with_terminating", "expected"),
    [("Running", False, False, True), ("Succeeded", False, True, False),
     ("Failed", False, False, False), ("Running", True, False, False),
     ("Running", True, True, True)],
)  # fmt: skip
def test_a_pod_that_has_ended_is_no_endpoint(phase, is_deleted, with_terminating, expected):
    metadata = {"deletionTimestamp": at(0)} if is_deleted else {}
    pod = a_pod(status={"phase": phase, "podIP": "10.0.0.1"}, metadata=metadata)
    assert is_endpoint(pod, with_terminating=with_terminating) is expected


@pytest.mark.parametrize(
    ("spec", "hostname"),
    [
        ({"hostname": "db", "subdomain": "web"}, "db"),
        ({"hostname": "db", "subdomain": "other"}, ""),
        ({"hostname": "db"}, ""),
        ({"subdomain": "web"}, ""),
    ],
)
def test_a_pod_has_its_host_name_in_the_domain_of_its_service(spec, hostname):
    assert hostname_of(a_pod(**spec), a_service()) == hostname


def test_ports_and_endpoints_are_identified_by_what_upstream_hashes():
    some = [{"name": "b", "port": 2}, {"port": 1, "protocol": "UDP", "appProtocol": "x"}]
    assert ports_key(some) == (("", 1, "UDP", "x"), ("b", 2, "TCP", ""))
    assert ports_key(reversed(some)) == ports_key(some)
    target = {"namespace": "default", "name": "p", "uid": "u"}
    given = {"addresses": ["b", "a"], "hostname": "h", "targetRef": target, "nodeName": "n"}
    assert endpoint_key(given) == (("a", "b"), "h", "default", "p")
    assert endpoint_key({}) == ((), "", "", "")


LABELS = {
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "m",
}


def test_the_slices_of_a_service_are_found_by_their_labels():
    lister = Lister(has_namespaces=True)
    for name, namespace, changes in (
        ("b", "default", {}),
        ("a", "default", {}),
        ("other", "default", {"kubernetes.io/service-name": "db"}),
        ("foreign", "default", {"endpointslice.kubernetes.io/managed-by": "x"}),
        ("elsewhere", "team", {}),
    ):
        lister.put(
            document("EndpointSlice", name, api="discovery.k8s.io/v1", namespace=namespace,
                     metadata={"labels": LABELS | changes})
        )  # fmt: skip
    gone = document("EndpointSlice", "gone", api="discovery.k8s.io/v1", namespace="default",
                    metadata={"labels": LABELS, "deletionTimestamp": at(0)})  # fmt: skip
    lister.put(gone)
    found = slices_of(lister, "default/web", "m")
    assert [each.name for each in found] == ["a", "b"]
    assert service_of(found[0]) == "default/web"
    assert service_of(document("EndpointSlice", "x", namespace="default")) == ""


@pytest.mark.parametrize(("length", "prefix"), [(252, "-"), (253, "")])
def test_the_name_of_a_slice_starts_with_that_of_its_owner(length, prefix):
    owner = a_service("x" * length)
    found = new_slice(owner, ports=[], address_type="IPv4", labels={"a": "b"}, annotations={})
    assert found["metadata"]["generateName"] == f"{owner.name}{prefix}"
    assert "annotations" not in found["metadata"]
    (reference,) = found["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["controller"]) == ("Service", True)
    assert (found["addressType"], found["endpoints"], found["ports"]) == ("IPv4", [], [])


# ------------------------------------------------------------------- the pods of services


def changed(pods, old, new):
    return pods.observe_pod(old, new)


def ready(name, since=5, *, ip="10.0.0.1", is_ready=True, labels=WEB, **spec):
    condition = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": at(since)}
    return a_pod(name, {"phase": "Running", "podIP": ip, "conditions": [condition]}, labels, **spec)


def test_a_change_of_a_pod_concerns_the_services_that_select_it_or_did():
    lister = Lister(has_namespaces=True)
    pods = ServicePods(lister)
    first = ready("p")
    lister.put(first)
    for name, selector in (("web", WEB), ("db", {"app": "db"}), ("all", {"x": "y"})):
        pods.observe_service(a_service(name, selector=selector), f"default/{name}")
    assert [pod.name for pod in pods.of("default/web")] == ["p"]
    assert changed(pods, first, first) == []
    assert changed(pods, first, ready("p", since=6)) == ["default/web"]
    assert changed(pods, first, ready("p", ip="10.0.0.2")) == ["default/web"]
    assert changed(pods, first, ready("p", nodeName="n2")) == ["default/web"]
    other = ready("p", labels={"app": "db", "x": "y"})
    assert changed(pods, first, other) == ["default/web", "default/db", "default/all"]
    lister.put(other)
    assert [pod.name for pod in pods.of("default/db")] == ["p"]
    assert changed(pods, other, None) == ["default/db", "default/all"]
    assert changed(pods, None, ready("q", labels={"app": "none"})) == []
    pods.observe_service(None, "default/db")
    assert changed(pods, None, ready("q", labels={"app": "db"})) == []


def test_a_service_that_selects_other_pods_has_those_that_are_there():
    lister = Lister(has_namespaces=True)
    pods = ServicePods(lister)
    for name, app in (("a", "web"), ("b", "db"), ("c", "db")):
        lister.put(ready(name, labels={"app": app}))
    found = []
    for selector in (WEB, {"app": "db"}, WEB, None, {"app": "db"}):
        spec = {} if selector is None else {"selector": selector}
        pods.observe_service(a_service(**spec), "default/web")
        found.append("".join(pod.name for pod in pods.of("default/web")))
    assert found == ["a", "bc", "a", "", "bc"]
    assert changed(pods, None, ready("d", labels={"app": "db"})) == ["default/web"]
    assert changed(pods, None, ready("e")) == []


def test_a_large_service_is_synced_once_a_second():
    lister = Lister(has_namespaces=True)
    pods = ServicePods(lister)
    for number in range(101):
        lister.put(ready(f"p{number:03}"))
    pods.observe_service(a_service(selector=WEB), "default/web")
    assert pods.delay("default/web", "c", NOW) == []
    (later,) = pods.delay("default/web", "c", NOW + SECOND - 1)
    assert (later.due_ns, later.event.controller, later.event.key) == (
        NOW + SECOND, "c", "default/web",
    )  # fmt: skip
    assert pods.delay("default/web", "c", NOW + SECOND) == []
    last = lister.get(("", "Pod"), "default/p100")
    pods.observe_pod(last, None)
    assert pods.delay("default/web", "c", NOW + SECOND + 1) == [], "a hundred are not many"


def test_the_trigger_time_is_that_of_the_first_change_since_the_last_sync():
    pods = ServicePods(Lister())
    service = document(
        "Service", "web", namespace="default", metadata={"creationTimestamp": at(1)},
        spec={"selector": WEB},
    )  # fmt: skip

    def trigger(*given):
        found = pods.trigger_ns(service, given)
        return None if found is None else (found - NOW) // SECOND

    assert trigger(ready("a", 5)) == 1
    assert trigger(ready("a", 5)) is None
    assert trigger(ready("a", 5), ready("b", 9), ready("c", 7)) == 7
    assert trigger(ready("a", 11), ready("b", 9)) == 11
    pods.observe_service(None, "default/web")
    assert trigger(ready("a", 11)) == 1, "another service of the name"


# ----------------------------------------------------------------------------- subsets


def address(number, uid="u"):
    return {"ip": f"10.0.{number // 250}.{number % 250}", "targetRef": {"uid": uid}}


def test_subsets_are_packed_by_addresses_and_ports():
    http, metrics = {"port": 80, "protocol": "TCP"}, {"port": 90, "protocol": "TCP"}
    packed = repacked(
        [
            {"addresses": [address(10)], "ports": [http]},
            {"addresses": [address(9)], "ports": [http]},
            {"addresses": [address(9)], "ports": [metrics]},
            {"notReadyAddresses": [address(10)], "ports": [metrics]},
            {"notReadyAddresses": [address(9)], "ports": [http]},
        ]
    )
    assert packed == [
        {"addresses": [address(10)], "notReadyAddresses": [address(9)], "ports": [http]},
        {"addresses": [address(9)], "notReadyAddresses": [address(10)], "ports": [metrics]},
    ]
    both = repacked([{"addresses": [address(10), address(9)], "ports": [http, metrics]}])
    assert both == [{"addresses": [address(9), address(10)], "ports": [http, metrics]}]
    assert repacked([{"addresses": [address(1)]}]) == [{"addresses": [address(1)]}]


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        pytest.param([(1_000, 0)], None, id="as many as there may be"),
        pytest.param([(600, 400)], None, id="together"),
        pytest.param([(1_001, 0)], [(1_000, 0)], id="one too many"),
        pytest.param([(600, 600)], [(600, 400)], id="ready ones first"),
        pytest.param([(1_500, 5)], [(1_000, 0)], id="no room for others"),
        pytest.param([(900, 0), (600, 0)], [(600, 0), (400, 0)], id="in proportion"),
        pytest.param([(0, 900), (600, 600)], [(0, 240), (600, 160)], id="both in proportion"),
        pytest.param([(1_000, 0)] * 3, [(334, 0), (334, 0), (332, 0)], id="rounded up"),
        pytest.param(
            [(0, 500)] * 3 + [(100, 0)],
            [(0, 300), (0, 300), (0, 300), (100, 0)],
            id="others in what is left",
        ),
        pytest.param([(1_400, 0), (0, 9)], [(1_000, 0)], id="a subset without any"),
        pytest.param([(1, 0), (1, 0), (1_000, 0)], [(1, 0), (1, 0), (998, 0)], id="the rest"),
    ],
)
def test_a_thousand_addresses_are_kept(subsets, expected):
    given = [
        {field: [address(n) for n in range(count)]
         for field, count in zip(("addresses", "notReadyAddresses"), counts, strict=True) if count}
        for counts in subsets
    ]  # fmt: skip
    found, is_truncated = _truncated(given)
    assert is_truncated is (expected is not None)
    counts = [
        tuple(len(each.get(field, ())) for field in ("addresses", "notReadyAddresses"))
        for each in found
    ]
    assert counts == (expected or subsets)
    assert sum(map(sum, counts)) <= ADDRESSES_MAX == 1_000


def test_pods_concern_nothing_once_the_last_service_of_their_namespace_is_gone():
    pods = ServicePods(Lister())
    for name in ("web", "other"):
        pods.observe_service(a_service(name, selector=WEB), f"default/{name}")
    pods.observe_service(None, "default/web")
    assert list(pods.selectors["default"]) == ["default/other"]
    assert list(pods._pods) == ["default/other"]
    pods.observe_service(a_service("other"), "default/other")
    assert pods.selectors == {}
