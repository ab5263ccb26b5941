"""Which version a server has, and whether two addresses lead to one cluster."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.online.client.cluster.errors import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.versions import (
    ServerVersion,
    cluster_identity,
    is_same_cluster,
    server_version,
)

IDENTITY = "/api/v1/namespaces/kube-system"
ADDRESSES = "/api/v1/namespaces/default/endpoints/kubernetes"


class Connection:
    """Answers with given documents; a number is the status of a rejection."""

    def __init__(self, **replies: Any) -> None:
        self.access = SimpleNamespace(server="https://a:1")
        self.paths: list[str] = []
        self._replies = {
            IDENTITY: replies.get("identity"),
            ADDRESSES: replies.get("addresses"),
            "/version": replies.get("version"),
        }

    async def get(self, path: str) -> bytes:
        self.paths.append(path)
        found = self._replies[path]
        if isinstance(found, int):
            raise RejectedRequest("no", status=found)
        return found if isinstance(found, bytes) else json.dumps(found).encode()


def cluster(uid: str = "u", created: str = "2026-01-01T00:00:00Z", addresses: Any = None) -> Any:
    identity = {"metadata": {"uid": uid, "creationTimestamp": created}}
    return Connection(identity=identity, addresses={"subsets": addresses})


def same(one: Any, other: Any) -> bool:
    return asyncio.run(is_same_cluster(one, other))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(cluster(addresses=[1]), True, id="the same in all"),
        pytest.param(cluster(addresses=[2]), False, id="another address"),
        pytest.param(cluster(addresses=None), False, id="no address"),
        pytest.param(cluster("v", addresses=[1]), False, id="another uid"),
        pytest.param(cluster("u", "2027", addresses=[1]), False, id="another time"),
    ],
)
def test_two_addresses_lead_to_one_cluster_if_uid_time_and_address_are_equal(other, expected):
    one = cluster(addresses=[1])
    assert same(one, other) is expected
    assert same(other, one) is expected


def test_without_the_right_to_read_addresses_the_identity_decides():
    closed = cluster(addresses=[1])
    closed._replies[ADDRESSES] = 403
    assert same(cluster(addresses=[2]), closed)
    assert same(closed, cluster(addresses=[2]))
    assert not same(cluster("v"), closed)


def test_addresses_are_read_only_of_clusters_with_one_identity():
    one, other = cluster("a"), cluster("b")
    assert not same(one, other)
    assert one.paths == other.paths == [IDENTITY]


def test_the_identity_is_uid_and_age_of_the_system_namespace():
    assert asyncio.run(cluster_identity(cluster("u", "t"))) == "u t"
    with pytest.raises(UnreachableCluster) as raised:
        asyncio.run(cluster_identity(Connection(identity={"metadata": {}})))  # type: ignore[arg-type]
    assert str(raised.value) == (
        "https://a:1 is not a Kubernetes API server: its namespace kube-system has no uid; "
        "check the address in the command line or the kubeconfig"
    )
    assert not raised.value.is_passing


@pytest.mark.parametrize(
    ("text", "minor"), [("v1.36.0", 36), ("v1.30.1-gke.100", 30), ("1.9.11", 9)]
)
def test_the_version_is_read(text, minor):
    connection: Any = Connection(version={"gitVersion": text, "major": "1"})
    assert asyncio.run(server_version(connection)) == ServerVersion(text, minor)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_rejected_question_about_the_version_is_that_rejection(status):
    connection: Any = Connection(version=status)
    with pytest.raises(RejectedRequest) as raised:
        asyncio.run(server_version(connection))
    assert raised.value.status == status


@pytest.mark.parametrize("version", [404, {}, {"gitVersion": "v1"}, b"hello"])
def test_what_has_no_version_is_no_api_server(version):
    connection: Any = Connection(version=version)
    with pytest.raises(UnreachableCluster) as raised:
        asyncio.run(server_version(connection))
    assert str(raised.value) == (
        "https://a:1 is not a Kubernetes API server: it has no /version; check its address in "
        "the command line or the kubeconfig"
    )
    assert not raised.value.is_passing


@pytest.mark.parametrize(
    ("minor", "warning"),
    [
        (36, ""),
        (
            37,
            "the server runs v1.x, and podwright follows v1.36.2: fields and kinds that are newer "
            "are kept, and have no effect; compare the decisions before you rely on them",
        ),
        (
            35,
            "the server runs v1.x, and podwright follows v1.36.2: kinds that it does not serve are "
            "left out; compare the decisions before you rely on them",
        ),
    ],
)
def test_a_difference_of_the_version_is_explained(minor, warning):
    assert ServerVersion("v1.x", minor).warning("v1.36.2") == warning
