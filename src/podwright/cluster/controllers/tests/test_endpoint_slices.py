"""A service has as many slices as its endpoints need, and one if it has none."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.controllers.kinds import ENDPOINT_SLICE, SERVICE
from podwright.cluster.controllers.network import EndpointSliceController, endpoint_slices
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.store import POD


def a_service(**spec: Any) -> Any:
    ports = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    spec = {"selector": {"app": "web"}, "ports": ports, "ipFamilies": ["IPv4"]} | spec
    return document("Service", "web", namespace="default", spec=spec)


def a_backend(number: int) -> Any:
    found = a_pod(f"p{number}", labels={"app": "web"}, nodeName="n1")
    status = {
        "phase": "Running",
        "podIP": f"10.1.0.{number}",
        "podIPs": [{"ip": f"10.1.0.{number}"}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": at(0)}],
    }
    return document(
        "Pod", found.name, namespace="default", metadata=found.raw["metadata"],
        spec=found.raw["spec"], status=status,
    )  # fmt: skip


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster([EndpointSliceController], schedules=False, stages=())
    cluster.add(document("Node", "n1"), *objects)
    return cluster


def sizes(cluster: Cluster) -> list[int]:
    return sorted(len(each.raw.get("endpoints") or ()) for each in cluster.all(ENDPOINT_SLICE))


def touch(cluster: Cluster) -> int:
    """Change the service in nothing that its slices have; return the number of writes."""
    before = len(cluster.writes)
    was = cluster.raw(SERVICE, "default/web")["spec"].get("sessionAffinity")
    affinity = "None" if was == "ClientIP" else "ClientIP"
    cluster.edit(SERVICE, "default/web", "spec", sessionAffinity=affinity)
    return len(cluster.writes) - before


def test_a_service_without_endpoints_keeps_its_one_empty_slice():
    cluster = cluster_with(a_service())
    (empty,) = cluster.all(ENDPOINT_SLICE)
    assert not empty.raw.get("endpoints")
    assert touch(cluster) == 0
    assert cluster.all(ENDPOINT_SLICE) == [empty]


def test_the_first_endpoint_takes_the_empty_slice_and_the_last_leaves_it():
    cluster = cluster_with(a_service())
    (empty,) = cluster.all(ENDPOINT_SLICE)
    cluster.add(a_backend(1))
    (filled,) = cluster.all(ENDPOINT_SLICE)
    assert (filled.uid, sizes(cluster)) == (empty.uid, [1])
    assert touch(cluster) == 0
    cluster.delete(POD, "default/p1", grace_seconds=0)
    (left,) = cluster.all(ENDPOINT_SLICE)
    assert (left.uid, sizes(cluster)) == (empty.uid, [0])
    assert touch(cluster) == 0


@pytest.mark.parametrize(
    ("count", "expected"), [(2, [2]), (3, [3]), (4, [1, 3]), (6, [3, 3]), (7, [1, 3, 3])]
)
def test_slices_are_filled_to_their_limit(count, expected, monkeypatch):
    monkeypatch.setattr(endpoint_slices, "ENDPOINTS_MAX", 3)
    cluster = cluster_with(*[a_backend(number) for number in range(1, count + 1)], a_service())
    assert sizes(cluster) == expected
    assert touch(cluster) == 0
    addresses = [
        address
        for each in cluster.all(ENDPOINT_SLICE)
        for endpoint in each.raw["endpoints"]
        for address in endpoint["addresses"]
    ]
    assert sorted(addresses) == [f"10.1.0.{number}" for number in range(1, count + 1)]


def test_each_family_of_addresses_has_its_slice():
    cluster = cluster_with(a_service(ipFamilies=["IPv4", "IPv6"]))
    families = [each.raw["addressType"] for each in cluster.all(ENDPOINT_SLICE)]
    assert sorted(families) == ["IPv4", "IPv6"]
    cluster.edit(SERVICE, "default/web", "spec", ipFamilies=["IPv6"])
    (left,) = cluster.all(ENDPOINT_SLICE)
    assert left.raw["addressType"] == "IPv6"
