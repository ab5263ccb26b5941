"""The free shares of devices after each change are those of a table made anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.columns import Cluster
from podwright.simulation.recording.usage.utilization import DeviceShares
from podwright.testing import make_node

GROUP = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"


def gpus(node: str, count: int) -> Object:
    """Return a slice of GPUs with 1,000 shares each."""
    devices: list[dict[str, Any]] = [
        {
            "name": f"gpu-{index}",
            "allowMultipleAllocations": True,
            "capacity": {"gpu_milli": {"value": "1000"}},
        }
        for index in range(count)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    metadata = {"name": f"{node}-gpus"}
    return decode(
        {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}
    )


def used(node: str, share: str) -> Object:
    """Return a claim to a share of the first GPU of a node."""
    request = {"deviceClassName": "gpu", "count": 1}
    result: dict[str, Any] = {"request": "r", "driver": DRIVER, "pool": node, "device": "gpu-0"}
    result |= {"shareID": f"share-{share}", "consumedCapacity": {"gpu_milli": share}}
    return decode({
        "apiVersion": GROUP, "kind": "ResourceClaim",
        "metadata": {"name": f"c-{share}", "namespace": "default", "uid": share},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    })  # fmt: skip


@pytest.fixture
def cluster() -> Cluster:
    return Scheduler().cluster


def test_the_shares_after_each_change_are_those_of_a_new_table(cluster: Cluster) -> None:
    def put_all(objects: Iterable[Object]) -> None:
        for each in objects:
            cluster.put(each)

    shares = DeviceShares()
    changes = [
        lambda: cluster.put(make_node("n1")),
        lambda: cluster.put(gpus("n1", 2)),
        lambda: cluster.put(make_node("n2")),
        lambda: cluster.put(gpus("n2", 1)),
        lambda: cluster.put(used("n1", "300")),
        lambda: cluster.put(used("n2", "450")),
        lambda: put_all(make_node(f"more-{index}") for index in range(40)),
        lambda: cluster.put(gpus("more-7", 3)),
        lambda: cluster.delete(make_node("n1")),
        lambda: cluster.put(make_node("new")),
        lambda: cluster.put(gpus("new", 1)),
        lambda: cluster.delete(used("n2", "450")),
    ]
    totals = []
    for change in changes:
        change()
        shares.update(cluster)
        anew = DeviceShares()
        anew.update(cluster)
        assert shares.free.keys() == anew.free.keys()
        for resource, table in anew.free.items():
            found = shares.free[resource]
            assert found.shape[1] >= table.shape[1]
            assert (found[: len(table), : table.shape[1]] == table).all()
            assert (found[:, table.shape[1] :] == -1).all()
        totals.append(sum(int(each[each > 0].sum()) for each in anew.free.values()))
    assert totals == [0, 2000, 2000, 3000, 2700, 2250, 2250, 5250, 3550, 3550, 4550, 5000]
