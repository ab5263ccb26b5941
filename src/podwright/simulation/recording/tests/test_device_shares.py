"""The free shares of devices after each change are those of a table made anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, decode, decode_pod
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.columns import Cluster
from podwright.simulation.recording.usage.fragmentation_meter import EACH, TypicalPods
from podwright.simulation.recording.usage.utilization import DeviceShares, requested_shares
from podwright.testing import make_node, make_pod

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


MILLI = f"{DRIVER}/gpu-milli"


def table(shares: DeviceShares) -> dict[str, list[list[int]]]:
    return {resource: free[:2].tolist() for resource, free in shares.free.items()}


def test_an_update_returns_the_slots_whose_shares_may_have_changed(cluster: Cluster) -> None:
    shares = DeviceShares()

    def updated() -> list[int] | None:
        slots = shares.update(cluster)
        return None if slots is None else slots.tolist()

    cluster.put(make_node("n0"))
    assert updated() == [], "there are no shares"
    cluster.put(make_node("n1"))
    assert updated() == [], "there are still none"
    cluster.put(gpus("n1", 2))
    assert updated() is None, "the first shares are a new table"
    assert table(shares) == {MILLI: [[-1, -1], [1000, 1000]]}
    assert updated() == []
    cluster.put(used("n1", "300"))
    assert updated() == [1]
    assert table(shares) == {MILLI: [[-1, -1], [700, 1000]]}
    cluster.put(gpus("n0", 1))
    assert updated() == [0]
    assert table(shares) == {MILLI: [[1000, -1], [700, 1000]]}
    cluster.put(gpus("n0", 3))
    assert updated() is None, "the table has no room for so many"
    assert table(shares) == {MILLI: [[1000, 1000, 1000], [700, 1000, -1]]}
    cluster.delete(make_node("n0"))
    assert updated() == [0]
    assert table(shares) == {MILLI: [[-1, -1, -1], [700, 1000, -1]]}
    everywhere = gpus("n1", 1).raw
    spec = {name: part for name, part in everywhere["spec"].items() if name != "nodeName"}
    spec |= {"allNodes": True, "pool": spec["pool"] | {"name": "all"}}
    cluster.put(decode(everywhere | {"metadata": {"name": "all"}, "spec": spec}))
    assert updated() is None, "the devices of each node may have changed"
    cluster.put(used("n1", "450"))
    assert updated() == [1]
    cluster.nodes.node_journal.forget()
    assert updated() is None, "each node may have changed, or has another slot"
    assert table(shares) == {MILLI: [[-1, -1], [250, 1000]]}


def test_devices_that_are_not_shared_or_of_no_node_have_no_shares(cluster: Cluster) -> None:
    cluster.put(make_node("n0"))
    whole = gpus("n0", 1).raw
    whole["spec"]["devices"][0].pop("allowMultipleAllocations")
    cluster.put(decode(whole))
    anywhere = gpus("n0", 1).raw
    anywhere["metadata"] = {"name": "anywhere"}
    anywhere["spec"].pop("nodeName")
    anywhere["spec"]["allNodes"] = True
    anywhere["spec"]["pool"]["name"] = "anywhere"
    cluster.put(decode(anywhere))
    shares = DeviceShares()
    shares.update(cluster)
    assert shares.free == {}


def test_more_consumed_than_there_is_leaves_nothing(cluster: Cluster) -> None:
    cluster.put(make_node("n0"))
    cluster.put(gpus("n0", 1))
    cluster.put(used("n0", "1300"))
    shares = DeviceShares()
    shares.update(cluster)
    assert table(shares) == {MILLI: [[0]]}


def with_requests(pod: Any, resources: dict[str, int]) -> Any:
    """Return a pod that requests amounts; CPU in milli-CPU."""
    amounts = {name: f"{n}m" if name == "cpu" else str(n) for name, n in resources.items()}
    raw, claims = make_pod("p", resources=amounts).raw, pod.raw["spec"]["resourceClaims"]
    return decode_pod(raw | {"spec": raw["spec"] | {"resourceClaims": claims}})


@pytest.mark.parametrize(
    ("request_", "claim", "resources", "expected"),
    [
        pytest.param({"gpu_milli": "250"}, "c", {MILLI: 500}, {MILLI: 250}, id="a share"),
        pytest.param({"x.io/gpu_milli": "250"}, "c", {MILLI: 500}, {MILLI: 250}, id="qualified"),
        pytest.param({"memory": "2Gi"}, "c", {MILLI: 500}, {}, id="of another capacity"),
        pytest.param({"gpu_milli": "250"}, "c", {"cpu": 1}, {}, id="of no requested resource"),
        pytest.param({"gpu_milli": "250"}, "other", {MILLI: 500}, {}, id="a missing claim"),
        pytest.param(None, "c", {MILLI: 500}, {}, id="a request without capacities"),
        pytest.param("alternatives", "c", {MILLI: 500}, {}, id="a request of alternatives"),
    ],
)
def test_the_share_that_a_pod_requests_of_each_device(
    cluster: Cluster,
    request_: Any,
    claim: str,
    resources: dict[str, int],
    expected: dict[str, int],
) -> None:
    exactly: dict[str, Any] = {"deviceClassName": "gpu", "count": 2}
    if isinstance(request_, dict):
        exactly["capacity"] = {"requests": request_}
    entry: dict[str, Any] = {"name": "r", "exactly": exactly}
    if request_ == "alternatives":
        entry = {"name": "r", "firstAvailable": [exactly | {"name": "a"}]}
    cluster.put(decode({
        "apiVersion": GROUP, "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default", "uid": "c"},
        "spec": {"devices": {"requests": [entry]}},
    }))  # fmt: skip
    raw = make_pod("p").raw
    spec = raw["spec"] | {"resourceClaims": [{"name": "g", "resourceClaimName": claim}]}
    pod = decode_pod(raw | {"spec": spec})
    assert dict(requested_shares(cluster.devices, pod, resources)) == expected
    typical = TypicalPods()
    typical.add(with_requests(pod, resources), cluster.devices)
    (shape,) = typical._counts
    assert {name[len(EACH) :]: n for name, n in shape if name.startswith(EACH)} == expected
