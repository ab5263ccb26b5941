"""The reservation of claims for pods that are bound without the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import KubernetesObject, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UpdateObject
from podwright.cluster.controllers import Lister
from podwright.cluster.controllers.devices.resource_claim import ResourceClaimController

_POD = "pod:default/a"
_NOW_NS = 0


def _pod(node: str = "n", **status: Any) -> KubernetesObject:
    claims = [{"name": "gpu", "resourceClaimName": "c"}]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "default", "uid": "a"},
            "spec": {
                "nodeName": node,
                "resourceClaims": claims,
                "containers": [{"name": "c", "image": "app"}],
            },
            "status": status,
        }
    )


def _claim(*users: str, is_allocated: bool = True) -> ResourceClaim:
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "d0"}
    status: dict[str, Any] = {
        "reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users]
    }
    if is_allocated:
        status["allocation"] = {"devices": {"results": [result]}}
    claim = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {},
            "status": status,
        }
    )
    assert isinstance(claim, ResourceClaim)
    return claim


class _Cluster:
    """A lister with one controller."""

    def __init__(self, *objects: KubernetesObject) -> None:
        self.lister = Lister()
        self.controller = ResourceClaimController(self.lister)
        for obj in objects:
            self.put(obj)

    def put(self, obj: KubernetesObject) -> list[str]:
        """Change an object; return the keys that are to be synced."""
        return list(self.controller.observe(self.lister.put(obj), obj))

    def reserved(self) -> list[str]:
        """Sync the pod; return the users of the claim as written, [] without a write."""
        written = self.controller.sync(_POD, _NOW_NS)
        return [
            user.name
            for action in written
            if isinstance(action, UpdateObject) and isinstance(action.obj, ResourceClaim)
            for user in action.obj.status.reserved_for
        ]


def test_an_allocated_claim_is_reserved_for_a_bound_pod() -> None:
    cluster = _Cluster(_claim("b"))
    assert cluster.put(_pod()) == [_POD]
    assert cluster.reserved() == ["b", "a"]


@pytest.mark.parametrize("first", [None, _claim(is_allocated=False)])
def test_a_bound_pod_is_visited_again_when_its_claim_is_allocated(
    first: KubernetesObject | None,
) -> None:
    cluster = _Cluster(_pod(), *(() if first is None else (first,)))
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_pod_that_was_visited_waits_until_the_claim_is_allocated() -> None:
    cluster = _Cluster(_pod())
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim(is_allocated=False))
    assert cluster.reserved() == []
    restored = ResourceClaimController(cluster.lister)
    restored.restore(cluster.controller.state())
    cluster.controller = restored
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_claim_with_256_users_is_reserved_when_one_leaves() -> None:
    users = [f"p{number}" for number in range(256)]
    cluster = _Cluster(_claim(*users), _pod())
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim(*users[1:]))
    assert cluster.reserved() == [*users[1:], "a"]


def test_a_reservation_that_is_removed_is_made_again() -> None:
    cluster = _Cluster(_pod(), _claim("a"))
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_pod_without_a_node_reserves_nothing_and_does_not_wait() -> None:
    cluster = _Cluster(_pod(node=""), _claim(is_allocated=False))
    assert cluster.reserved() == []
    assert _POD not in cluster.put(_claim())
    assert cluster.reserved() == []
