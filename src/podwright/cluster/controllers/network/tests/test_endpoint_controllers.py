"""Services have endpoints and slices with the addresses of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.network import (
    EndpointsController,
    EndpointSliceController,
    EndpointSliceMirroringController,
)
from podwright.cluster.controllers.network.endpoint_parts import repacked
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document

SERVICE = ("", "Service")
ENDPOINTS = ("", "Endpoints")
SLICE = ("discovery.k8s.io", "EndpointSlice")
POD = ("", "Pod")
NODE = ("", "Node")
WEB = {"app": "web"}


@pytest.fixture
def cluster():
    cluster = Cluster(
        (
            EndpointsController,
            EndpointSliceController,
            EndpointSliceMirroringController,
            GarbageCollector,
        ),
        stages=(),
        schedules=False,
    )
    zone = {"topology.kubernetes.io/zone": "a"}
    cluster.add(document("Node", "n1", metadata={"labels": zone}))
    return cluster


def a_service(name="web", *, labels=(), **spec):
    spec = {"selector": WEB, "clusterIP": "10.0.0.9", "ipFamilies": ["IPv4"]} | spec
    spec.setdefault("ports", [{"name": "http", "port": 80, "targetPort": "www"}])
    spec = {key: value for key, value in spec.items() if value is not None}
    return document(
        "Service", name, namespace="default", metadata={"labels": dict(labels)}, spec=spec
    )


def web(name, ip, *, ready=True, node="n1", phase="Running", port=8080, **more):
    ports = [{"name": "www", "containerPort": port}]
    made: Any = a_pod(
        name,
        labels=more.pop("labels", WEB),
        nodeName=node,
        containers=[{"name": "main", "image": "app", "ports": ports}],
        **more,
    )
    ips = [ip] if isinstance(ip, str) else ip
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:05Z"
    status = {"phase": phase, "podIP": ips[0], "podIPs": [{"ip": each} for each in ips]}
    status["conditions"] = [condition]
    return document(
        "Pod", name, namespace="default", metadata=made.raw["metadata"], spec=made.raw["spec"],
        status=status,
    )  # fmt: skip


def subsets(cluster, name="web"):
    """Return the addresses and ports of the subsets of endpoints."""
    return [
        (
            [each["ip"] for each in subset.get("addresses") or ()],
            [each["ip"] for each in subset.get("notReadyAddresses") or ()],
            [each["port"] for each in subset.get("ports") or ()],
        )
        for subset in cluster.raw(ENDPOINTS, f"default/{name}").get("subsets") or ()
    ]


def slices(cluster):
    """Return the addresses, readiness and ports of each slice."""
    return [
        (
            [(*each["addresses"], each["conditions"]["ready"]) for each in raw["endpoints"] or ()],
            [each["port"] for each in raw["ports"] or ()],
        )
        for raw in (obj.raw for obj in cluster.all(SLICE))
    ]


def test_ready_and_other_pods_are_listed_apart(cluster):
    cluster.add(
        a_service(labels={"tier": "front"}),
        web("a", "10.1.0.2"),
        web("b", "10.1.0.1", ready=False),
        web("done", "10.1.0.3", phase="Succeeded"),
        web("other", "10.1.0.4", labels={"app": "db"}),
    )
    assert subsets(cluster) == [(["10.1.0.2"], ["10.1.0.1"], [8080])]
    endpoints = cluster.raw(ENDPOINTS, "default/web")
    assert endpoints["metadata"]["labels"] == {
        "tier": "front",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }
    (address,) = endpoints["subsets"][0]["addresses"]
    assert address["nodeName"] == "n1"
    assert address["targetRef"] == {
        "kind": "Pod", "namespace": "default", "name": "a",
        "uid": cluster.get(POD, "default/a").uid,
    }  # fmt: skip
    assert slices(cluster) == [([("10.1.0.2", True), ("10.1.0.1", False)], [8080])]
    (endpoint_slice,) = cluster.all(SLICE)
    assert endpoint_slice.metadata.labels == {
        "tier": "front",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    first = endpoint_slice.raw["endpoints"][0]
    assert (first["nodeName"], first["zone"]) == ("n1", "a")
    assert first["conditions"] == {"ready": True, "serving": True, "terminating": False}


def test_endpoints_follow_labels_readiness_and_removal(cluster):
    cluster.add(a_service(), web("a", "10.1.0.1"), web("b", "10.1.0.2"))
    cluster.edit(POD, "default/b", "metadata", labels={"app": "db"})
    assert subsets(cluster) == [(["10.1.0.1"], [], [8080])]
    condition = {"type": "Ready", "status": "False"}
    cluster.edit(POD, "default/a", "status", conditions=[condition])
    assert subsets(cluster) == [([], ["10.1.0.1"], [8080])]
    cluster.delete(POD, "default/a", grace_seconds=0)
    assert subsets(cluster) == []
    assert slices(cluster) == [([], [])]  # a slice without endpoints is kept
    (endpoint_slice,) = cluster.all(SLICE)
    assert (endpoint_slice.raw["endpoints"], endpoint_slice.raw["ports"]) == (None, None)


def test_a_terminating_pod_serves_but_is_not_ready(cluster):
    cluster.add(a_service(), web("a", "10.1.0.1"))
    cluster.delete(POD, "default/a")
    (endpoint_slice,) = cluster.all(SLICE)
    (endpoint,) = endpoint_slice.raw["endpoints"]
    assert endpoint["conditions"] == {"ready": False, "serving": True, "terminating": True}
    assert subsets(cluster) == []


def test_changes_and_removals_by_others_are_undone(cluster):
    cluster.add(a_service(), web("a", "10.1.0.1"))
    cluster.edit(ENDPOINTS, "default/web", "metadata", labels={"foreign": "yes"})
    assert "foreign" not in cluster.get(ENDPOINTS, "default/web").metadata.labels
    cluster.delete(ENDPOINTS, "default/web")
    (endpoint_slice,) = cluster.all(SLICE)
    cluster.delete(SLICE, endpoint_slice.key)
    assert subsets(cluster) == [(["10.1.0.1"], [], [8080])]
    assert slices(cluster) == [([("10.1.0.1", True)], [8080])]
    cluster.delete(SERVICE, "default/web")
    assert not cluster.has(ENDPOINTS, "default/web")
    assert cluster.all(SLICE) == []


def test_pods_with_other_ports_have_slices_of_their_own(cluster):
    cluster.add(a_service(), web("a", "10.1.0.1"), web("b", "10.1.0.2", port=9090))
    assert subsets(cluster) == [(["10.1.0.1"], [], [8080]), (["10.1.0.2"], [], [9090])]
    assert sorted(slices(cluster)) == [
        ([("10.1.0.1", True)], [8080]),
        ([("10.1.0.2", True)], [9090]),
    ]


def test_a_headless_service_without_ports_publishes_host_names(cluster):
    service = a_service(clusterIP="None", ports=[], publishNotReadyAddresses=True)
    cluster.add(service, web("a", "10.1.0.1", ready=False, hostname="one", subdomain="web"))
    endpoints = cluster.raw(ENDPOINTS, "default/web")
    assert endpoints["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (subset,) = endpoints["subsets"]
    assert subset["addresses"][0]["hostname"] == "one"
    assert "ports" not in subset
    assert slices(cluster) == [([("10.1.0.1", True)], [])]


@pytest.mark.parametrize(
    ("address", "ports", "expected"),
    [
        ("None", [{"port": 80, "targetPort": "www"}], [(["10.1.0.1"], [], [8080])]),
        ("None", [{"port": 80, "targetPort": "none"}], []),
        ("None", [], [(["10.1.0.1"], [], [])]),
        ("10.0.0.9", [{"port": 80, "targetPort": "www"}], [(["10.1.0.1"], [], [8080])]),
        ("10.0.0.9", [], []),
    ],
    ids=["headless", "headless, another port", "headless, no ports", "ports", "no ports"],
)
def test_only_a_headless_service_has_endpoints_without_ports(cluster, address, ports, expected):
    """Upstream: endpoints_controller.go, syncService"""
    cluster.add(a_service(clusterIP=address, ports=ports), web("a", "10.1.0.1"))
    assert subsets(cluster) == expected


def test_a_service_of_two_families_has_slices_of_both(cluster):
    service = a_service(ipFamilies=["IPv6", "IPv4"])
    cluster.add(service, web("a", ["10.1.0.1", "fd00:0::1"]))
    assert subsets(cluster) == [(["fd00::1"], [], [8080])]
    found = {obj.raw["addressType"]: obj.raw["endpoints"] for obj in cluster.all(SLICE)}
    assert {family: each[0]["addresses"] for family, each in found.items()} == {
        "IPv4": ["10.1.0.1"],
        "IPv6": ["fd00::1"],
    }
    cluster.edit(SERVICE, "default/web", "spec", ipFamilies=["IPv6"])
    assert [obj.raw["addressType"] for obj in cluster.all(SLICE)] == ["IPv6"]


def test_a_slice_has_at_most_a_hundred_endpoints_and_keeps_them(cluster):
    pods = [web(f"p{index:03}", f"10.1.{index // 200}.{index % 200 + 1}") for index in range(150)]
    cluster.add(*pods, a_service())
    assert sorted(len(found) for found, _ in slices(cluster)) == [50, 100]
    for obj in cluster.all(SLICE):
        first = obj.raw["endpoints"][0]["targetRef"]["name"]
        others = [each.key for each in cluster.all(SLICE) if each.key != obj.key]
        before = {key: cluster.get(SLICE, key).metadata.resource_version for key in others}
        cluster.run(cluster.now + 2)
        cluster.delete(POD, f"default/{first}", grace_seconds=0)
        cluster.run(cluster.now + 2)
        after = {key: cluster.get(SLICE, key).metadata.resource_version for key in others}
        assert before == after
    assert sorted(len(found) for found, _ in slices(cluster)) == [49, 99]


@pytest.mark.parametrize(
    ("distribution", "pod", "hints"),
    [
        ("PreferClose", {}, {"forZones": [{"name": "a"}]}),
        ("PreferSameZone", {}, {"forZones": [{"name": "a"}]}),
        ("PreferSameNode", {}, {"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]}),
        ("PreferSameNode", {"ready": False}, None),
        ("PreferSameNode", {"node": None}, None),
        (None, {}, None),
    ],
)
def test_hints_follow_the_traffic_distribution(cluster, distribution, pod, hints):
    # A pod without a node has an endpoint if its Service publishes pods that are not ready.
    service = a_service(trafficDistribution=distribution, publishNotReadyAddresses="node" in pod)
    cluster.add(service, web("a", "10.1.0.1", **pod))
    (endpoint_slice,) = cluster.all(SLICE)
    assert endpoint_slice.raw["endpoints"][0].get("hints") == hints


def test_a_pod_on_a_missing_node_is_left_out_of_slices(cluster):
    cluster.add(a_service(), web("a", "10.1.0.1", node="n2"))
    assert slices(cluster) == [([], [])]
    cluster.replace_controllers()
    cluster.add(document("Node", "n2"))
    assert slices(cluster) == [([("10.1.0.1", True)], [8080])]


def endpoints_of_users(*ips, labels=(), name="web"):
    subset = {"addresses": [{"ip": ip} for ip in ips], "ports": [{"port": 80, "protocol": "TCP"}]}
    return document(
        "Endpoints", name, namespace="default", metadata={"labels": dict(labels)}, subsets=[subset]
    )


def test_endpoints_of_users_are_mirrored(cluster):
    cluster.add(a_service(selector=None), endpoints_of_users("10.9.0.1", "fd00::9"))
    found = {obj.raw["addressType"]: obj.raw for obj in cluster.all(SLICE)}
    assert sorted(found) == ["IPv4", "IPv6"]
    assert found["IPv4"]["endpoints"] == [
        {"addresses": ["10.9.0.1"], "conditions": {"ready": True}}
    ]
    labels = found["IPv4"]["metadata"]["labels"]
    manager = "endpointslicemirroring-controller.k8s.io"
    assert labels["endpointslice.kubernetes.io/managed-by"] == manager
    subset = {"notReadyAddresses": [{"ip": "10.9.0.2"}], "ports": [{"port": 80, "protocol": "TCP"}]}
    obj = cluster.get(ENDPOINTS, "default/web")
    cluster.put(document("Endpoints", "web", namespace="default", subsets=[subset]))
    assert obj.uid == cluster.get(ENDPOINTS, "default/web").uid
    (only,) = cluster.all(SLICE)
    assert only.raw["endpoints"] == [{"addresses": ["10.9.0.2"], "conditions": {"ready": False}}]
    cluster.edit(SERVICE, "default/web", "spec", selector=WEB)
    managers = [
        each.metadata.labels["endpointslice.kubernetes.io/managed-by"]
        for each in cluster.all(SLICE)
    ]
    assert managers == ["endpointslice-controller.k8s.io"]


def test_ports_are_mirrored_with_their_names(cluster):
    ports = [
        {"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"},
        {"name": "dns", "port": 53, "protocol": "UDP"},
    ]
    subset = {"addresses": [{"ip": "10.9.0.1"}], "ports": ports}
    endpoints = document("Endpoints", "web", namespace="default", subsets=[subset])
    cluster.add(a_service(selector=None), endpoints)
    (only,) = cluster.all(SLICE)
    assert sorted(only.raw["ports"], key=lambda port: port["name"]) == [ports[1], ports[0]]


def test_endpoints_that_say_so_are_not_mirrored(cluster):
    skipped = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    cluster.add(a_service(selector=None), endpoints_of_users("10.9.0.1", labels=skipped))
    assert cluster.all(SLICE) == []


def test_a_port_of_endpoints_has_the_protocol_of_the_service_or_is_of_tcp(cluster):
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "web", "port": 80}]
    cluster.add(a_service(ports=ports), web("p", "10.1.0.1"))
    cluster.run(2)
    (subset,) = cluster.raw(ENDPOINTS, "default/web")["subsets"]
    found = {(each["name"], each["port"], each["protocol"]) for each in subset["ports"]}
    assert found == {("dns", 53, "UDP"), ("web", 80, "TCP")}


def test_a_port_of_endpoints_has_the_names_and_the_protocols_of_the_service(cluster):
    ports = [
        {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "h2c"},
        {"name": "dns", "port": 53, "targetPort": "www", "protocol": "UDP"},
    ]
    cluster.add(a_service(ports=ports[:1]), web("p1", "10.1.0.1"), a_service("other", ports=ports))
    cluster.run(2)
    (subset,) = cluster.raw(ENDPOINTS, "default/web")["subsets"]
    assert subset["ports"] == [
        {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "h2c"}
    ]
    (subset,) = cluster.raw(ENDPOINTS, "default/other")["subsets"]
    assert [(each["name"], each["protocol"]) for each in subset["ports"]] == [("http", "TCP")]


def test_large_endpoints_are_truncated(cluster):
    ready = [f"10.{index // 200}.0.{index % 200 + 1}" for index in range(1_100)]
    pods = [web(f"p{index:04}", ip) for index, ip in enumerate(ready)]
    cluster.add(a_service(), *pods)
    cluster.run(2)
    ((addresses, others, _),) = subsets(cluster)
    assert (len(addresses), len(others)) == (1_000, 0)
    annotations = cluster.get(ENDPOINTS, "default/web").metadata.annotations
    assert annotations["endpoints.kubernetes.io/over-capacity"] == "truncated"
    assert sum(len(found) for found, _ in slices(cluster)) == 1_100


def test_addresses_are_packed_by_their_ports():
    def one(ip, port, field="addresses"):
        return {field: [{"ip": ip}], "ports": [{"port": port}]}

    assert repacked([one("1.1.1.2", 80), one("1.1.1.1", 80), one("1.1.1.1", 81)]) == [
        {"addresses": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}], "ports": [{"port": 80}]},
        {"addresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 81}]},
    ]
    both = [one("1.1.1.1", 80), one("1.1.1.1", 80, "notReadyAddresses")]
    assert repacked(both) == [{"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 80}]}]


def test_endpoints_without_annotations_have_no_empty_map(cluster):
    cluster.add(a_service(), web("p1", "10.1.0.1"))
    cluster.run(2)
    assert cluster.get(ENDPOINTS, "default/web").metadata.annotations
    cluster.edit(SERVICE, "default/web", "metadata", labels={"tier": "front"})
    cluster.run(2)
    found = cluster.get(ENDPOINTS, "default/web")
    assert found.metadata.labels["tier"] == "front"
    assert "annotations" not in found.raw["metadata"]


def numbered(first, last):
    return [web(f"p{n:03}", f"10.1.{n // 200}.{n % 200 + 1}") for n in range(first, last)]


def filled(cluster):
    """Return the numbers of endpoints of the slices by their name."""
    return {obj.name: len(obj.raw["endpoints"]) for obj in cluster.all(SLICE)}


def test_slices_are_filled_to_their_limit(cluster):
    cluster.add(a_service(), *numbered(0, 99))
    cluster.run(2)
    first = filled(cluster)
    assert list(first.values()) == [99]
    cluster.add(*numbered(99, 100))
    cluster.run(4)
    assert filled(cluster) == dict.fromkeys(first, 100)
    cluster.add(*numbered(100, 101))
    cluster.run(6)
    assert filled(cluster) | dict.fromkeys(first, 1) == dict.fromkeys(filled(cluster), 1)
    cluster.add(*numbered(101, 250))
    cluster.run(8)
    assert sorted(filled(cluster).values()) == [50, 100, 100]
    for part in slices(cluster):
        assert len({ip for ip, _ in part[0]}) == len(part[0])


def test_endpoints_that_fit_go_into_the_slice_with_the_least_room(cluster):
    cluster.add(a_service(), *numbered(0, 300))
    cluster.run(2)
    names = list(filled(cluster))
    for name, fewer in zip(names, (10, 5, 20), strict=True):
        each = cluster.get(SLICE, f"default/{name}").raw
        for endpoint in each["endpoints"][:fewer]:
            cluster.delete(POD, f"default/{endpoint['targetRef']['name']}", grace_seconds=0)
        cluster.run(cluster.now + 2)
    assert filled(cluster) == dict(zip(names, (90, 95, 80), strict=True))
    for count, sizes in ((6, (96, 95, 80)), (5, (96, 100, 80)), (10, (96, 100, 90))):
        there = len(cluster.all(POD))
        cluster.add(*numbered(400 + there, 400 + there + count))
        cluster.run(cluster.now + 2)
        assert filled(cluster) == dict(zip(names, sizes, strict=True))


def test_a_slice_that_changes_anyway_is_filled_first(cluster):
    cluster.add(a_service(), *numbered(0, 150))
    cluster.run(2)
    large, small = sorted(cluster.all(SLICE), key=lambda each: -len(each.raw["endpoints"]))
    for obj in numbered(200, 203):
        cluster.store.create(obj, cluster.heap.now_ns)
    gone = large.raw["endpoints"][7]["targetRef"]["name"]
    cluster.delete(POD, f"default/{gone}", grace_seconds=0)
    cluster.run(4)
    assert filled(cluster)[large.name] + filled(cluster)[small.name] == 152
    assert filled(cluster)[large.name] == 100


def test_of_slices_that_change_anyway_the_fullest_is_filled_first(cluster):
    cluster.add(a_service(), *numbered(0, 150))
    cluster.run(2)
    large, small = sorted(cluster.all(SLICE), key=lambda each: -len(each.raw["endpoints"]))
    cluster.store.create(numbered(200, 201)[0], cluster.heap.now_ns)
    for each in (small, large):
        gone = each.raw["endpoints"][7]["targetRef"]["name"]
        cluster.store.delete(POD, f"default/{gone}", cluster.heap.now_ns, grace_seconds=0)
    cluster.settle()
    cluster.run(4)
    assert filled(cluster) == {large.name: 100, small.name: 49}


def test_slices_of_an_earlier_service_of_the_name_are_deleted():
    cluster = Cluster((EndpointSliceController,), stages=(), schedules=False)
    cluster.add(document("Node", "n1"), a_service(), web("a", "10.1.0.1"))
    cluster.run(2)
    (own,) = cluster.all(SLICE)
    owner = own.raw["metadata"]["ownerReferences"][0] | {"uid": "before"}
    metadata = {"name": "earlier", "namespace": "default", "ownerReferences": [owner],
                "labels": own.raw["metadata"]["labels"]}  # fmt: skip
    cluster.add(decode({**own.raw, "metadata": metadata}))
    cluster.run(4)
    assert [each.name for each in cluster.all(SLICE)] == [own.name]


def test_a_service_that_terminates_gets_no_further_slice(cluster):
    service = a_service().raw
    service["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.add(decode(service))
    cluster.run(2)
    cluster.delete(SERVICE, "default/web")
    cluster.add(*numbered(0, 120))
    cluster.run(4)
    assert len(cluster.all(SLICE)) == 1


def test_a_named_port_of_a_sidecar_is_found_and_that_of_an_init_container_is_not(cluster):
    def beside(name, ip, **fields):
        made = web(name, ip).raw
        ports = [{"name": "side", "containerPort": 9000}]
        one = {"name": "i", "image": "i", "ports": ports, **fields}
        spec = {**made["spec"], "initContainers": [one]}
        return document("Pod", name, namespace="default", metadata=made["metadata"], spec=spec,
                        status=made["status"])  # fmt: skip

    ports = [{"name": "x", "port": 80, "targetPort": "side"}]
    cluster.add(
        a_service(ports=ports),
        beside("a", "10.1.0.1", restartPolicy="Always"),
        beside("b", "10.1.0.2"),
    )
    assert ([("10.1.0.1", True)], [9000]) in slices(cluster)
    assert not any("10.1.0.2" in str(part) and part[1] for part in slices(cluster))


@pytest.mark.parametrize(
    ("ready", "unready", "listed", "skipped"),
    [(1_000, 0, 1_000, 0), (999, 1, 1_000, 0), (1_000, 1, 1_000, 1), (999, 3, 1_000, 2)],
)
def test_a_thousand_addresses_of_a_subset_are_mirrored(cluster, ready, unready, listed, skipped):
    addresses = [{"ip": f"10.2.{n // 200}.{n % 200 + 1}"} for n in range(ready + unready)]
    subset = {"addresses": addresses[:ready], "ports": [{"port": 80}]}
    if unready:
        subset["notReadyAddresses"] = addresses[ready:]
    cluster.add(a_service(selector=None))
    cluster.add(document("Endpoints", "web", namespace="default", subsets=[subset]))
    assert sum(len(part) for part, _ in slices(cluster)) == listed
    notes = {note.rpartition(". ")[2] for note in cluster.event_notes("TooManyAddressesToMirror")}
    assert notes == ({f"{skipped} addresses were skipped"} if skipped else set())


def test_a_slice_that_loses_all_its_endpoints_is_deleted_and_the_others_stay(cluster):
    cluster.add(a_service(), *numbered(0, 100))
    cluster.run(2)
    (first,) = filled(cluster)
    cluster.add(*numbered(100, 102))
    cluster.run(4)
    assert sorted(filled(cluster).values()) == [2, 100]
    for number in (100, 101):
        cluster.delete(POD, f"default/p{number}", grace_seconds=0)
    cluster.run(6)
    assert filled(cluster) == {first: 100}


def test_ports_keep_their_protocols(cluster):
    ports = [
        {"name": "http", "port": 80, "targetPort": "www", "appProtocol": "kubernetes.io/h2c"},
        {"name": "dns", "port": 53, "protocol": "UDP", "appProtocol": ""},
        {"port": 1},
    ]
    cluster.add(a_service(ports=ports), web("a", "10.1.0.1"))
    cluster.run(2)
    (found,) = cluster.all(SLICE)
    assert found.raw["ports"] == [
        {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"},
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "", "port": 1, "protocol": "TCP"},
    ]


def test_a_pod_without_an_address_of_the_family_is_left_out(cluster):
    cluster.add(
        a_service(ipFamilies=["IPv6"]), web("a", "10.1.0.1"), web("b", ["10.1.0.2", "fd00::2"])
    )
    cluster.run(2)
    (subset,) = cluster.get(ENDPOINTS, "default/web").raw["subsets"]
    assert [address["ip"] for address in subset["addresses"]] == ["fd00::2"]


def test_endpoints_that_are_left_without_a_service_are_deleted_but_for_those_of_leaders():
    election = {"control-plane.alpha.kubernetes.io/leader": "{}"}
    left, leader = (
        document("Endpoints", name, namespace="default", metadata={"annotations": annotations})
        for name, annotations in (("left", {"a": "b"}), ("leader", election))
    )
    sync = SingleSync(EndpointsController, left, leader)
    assert [sync.sync(f"default/{name}") for name in ("left", "leader", "none")] == [
        ["delete Endpoints default/left"], [], [],
    ]  # fmt: skip


def the_slice(cluster):
    """Return the annotations, labels and ports of the only slice, and its addresses."""
    (found,) = cluster.all(SLICE)
    raw = found.raw
    kept = dict(found.metadata.annotations)
    kept.pop("endpoints.kubernetes.io/last-change-trigger-time", None)
    ports = [each["name"] for each in raw["ports"] or ()]
    addresses = [each["addresses"][0] for each in raw["endpoints"] or ()]
    return kept, found.metadata.labels.get("tier"), ports, addresses


def test_a_slice_keeps_the_annotations_and_the_order_of_ports_that_it_has(cluster):
    named = [{"name": name, "port": port, "protocol": "TCP"} for name, port in (("a", 1), ("b", 2))]
    cluster.add(a_service(ports=named), web("a", "10.1.0.1"))
    (made,) = cluster.all(SLICE)
    cluster.edit(SLICE, made.key, "metadata", annotations={"team": "a"})
    cluster.edit(SERVICE, "default/web", "spec", ports=named[::-1])
    cluster.add(web("b", "10.1.0.2"))
    both = ["10.1.0.1", "10.1.0.2"]
    assert the_slice(cluster) == ({"team": "a"}, None, ["a", "b"], both), "it is filled"
    cluster.edit(SERVICE, "default/web", "metadata", labels={"tier": "x"})
    assert the_slice(cluster) == ({"team": "a"}, "x", ["a", "b"], both), "it is changed"
    cluster.delete(POD, "default/a", grace_seconds=0)
    assert the_slice(cluster) == ({"team": "a"}, "x", ["a", "b"], both[1:]), "it is emptied in part"
    cluster.delete(POD, "default/b", grace_seconds=0)
    assert the_slice(cluster) == ({}, "x", [], []), "another one takes its place"


@pytest.mark.parametrize("label", ["service-name", "managed-by"])
def test_a_slice_that_another_service_or_manager_takes_is_replaced(cluster, label):
    cluster.add(a_service(), web("a", "10.1.0.1"))
    (made,) = cluster.all(SLICE)
    prefix = "kubernetes.io" if label == "service-name" else "endpointslice.kubernetes.io"
    labels = made.metadata.labels | {f"{prefix}/{label}": "other"}
    cluster.edit(SLICE, made.key, "metadata", labels=labels)
    assert slices(cluster) == [([("10.1.0.1", True)], [8080])] * 2


def test_a_service_with_a_pod_on_a_missing_node_has_an_event():
    lost = [web("a", ("10.1.0.1", "fd00::1"), node="n9"), web("b", "10.1.0.2", node="n9")]
    service = a_service(ipFamilies=["IPv4", "IPv6"])
    found = SingleSync(EndpointSliceController, document("Node", "n1"), service, *lost)
    (event,) = [each for each in found.sync("default/web") if each.startswith("Warning")]
    assert event == (
        "Warning Service default/web FailedToUpdateEndpointSlices by endpoint-slice-controller:"
        " Error updating Endpoint Slices for Service default/web:"
        " [skipping Pod a for Service default/web: Node n9 Not Found,"
        " skipping Pod b for Service default/web: Node n9 Not Found]"
    )
    assert found.put(document("Node", "n9")) == ["default/web"]
    assert not [each for each in found.sync("default/web") if each.startswith("Warning")]


def test_garbage_collection_removes_the_empty_slice_of_an_earlier_service():
    cluster = Cluster((EndpointSliceController,), stages=(), schedules=False)
    cluster.add(a_service())
    (empty,) = cluster.all(SLICE)
    cluster.delete(SERVICE, "default/web")
    cluster.add(a_service())
    assert cluster.all(SLICE) == [empty]
    cluster.delete(SLICE, empty.key)
    assert [each.uid == empty.uid for each in cluster.all(SLICE)] == [False]
