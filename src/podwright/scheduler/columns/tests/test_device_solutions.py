"""Nodes share solutions of searches only if nothing that a search reads differs."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import Features
from podwright.apimachinery.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    Object,
    ResourceClaim,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, SearchSettings
from podwright.testing import make_node

_DRIVER, _OTHER = "gpu.example.com", "nic.example.com"
_READY = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}

Document = dict[str, Any]


def _object(kind: str, name: str, spec: Document) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    api_version = "resource.k8s.io/v1"
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def _claim(count: int = 1, **fields: Any) -> ResourceClaim:
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count} | fields
    request = {"name": "r", "exactly": exactly}
    found = _object("ResourceClaim", "c", {"devices": {"requests": [request]}})
    assert isinstance(found, ResourceClaim)
    return found


def _slice(name: str, pool: str, count: int = 1, driver: str = _DRIVER, **spec: Any) -> Object:
    of_pool = {"name": pool, "generation": 1, "resourceSliceCount": count}
    return _object("ResourceSlice", name, {"driver": driver, "pool": of_pool} | spec)


def _node_devices(node: str, *devices: Document) -> list[Object]:
    named = [{"name": f"d{index}"} | device for index, device in enumerate(devices)]
    return [_slice(node, node, nodeName=node, devices=named)]


def _counting(node: str, pool: str, driver: str, left: str, taken: str) -> list[Object]:
    consumption = {"counterSet": "card", "counters": {"slots": {"value": taken}}}
    devices = [{"name": "d0", "consumesCounters": [consumption]}]
    sets = [{"name": "card", "counters": {"slots": {"value": left}}}]
    return [
        _slice(f"{pool}-{driver}", pool, 2, driver, nodeName=node, devices=devices),
        _slice(f"{pool}-{driver}-sets", pool, 2, driver, nodeName=node, sharedCounters=sets),
    ]


_SELECTED: Document = {
    "selectors": [{"cel": {"expression": f'device.attributes["{_DRIVER}"].model == "new"'}}]
}


def _model(name: str) -> Document:
    return {"attributes": {"model": {"string": name}}}


def _per_device() -> list[Object]:
    devices = [
        {"name": "d0", "nodeName": "b"} | _model("new"),
        {"name": "d1", "nodeName": "a"} | _model("old"),
    ]
    return [_slice("shared", "shared", perDeviceNodeSelection=True, devices=devices)]


def _two_drivers(node: str, *pools: str) -> list[Object]:
    """Return two pools of one device each, with one counter each."""
    return [
        each
        for pool, driver in zip(pools, (_DRIVER, _OTHER), strict=True)
        for each in _counting(node, pool, driver, "1", "1")
    ]


_WITHOUT_CONDITIONS = SearchSettings(features=Features(binding_conditions=False))


@pytest.mark.parametrize(
    ("of_a", "of_b", "claim", "settings"),
    [
        pytest.param(
            _node_devices("a", {"taints": [{"key": "k", "effect": "NoSchedule"}]}),
            _node_devices("b", {}),
            _claim(),
            SearchSettings(),
            id="taints",
        ),
        pytest.param(
            _node_devices("a", _model("old")),
            _node_devices("b", _model("new")),
            _claim(**_SELECTED),
            SearchSettings(),
            id="attributes",
        ),
        pytest.param(
            _node_devices("a", _READY),
            _node_devices("b", {}),
            _claim(),
            _WITHOUT_CONDITIONS,
            id="binding conditions",
        ),
        pytest.param(
            _per_device(), [], _claim(**_SELECTED), SearchSettings(), id="nodes of a device"
        ),
        pytest.param(
            _counting("a", "a", _DRIVER, "1", "2"),
            _counting("b", "b", _DRIVER, "1", "1"),
            _claim(),
            SearchSettings(),
            id="consumed counters",
        ),
        pytest.param(
            _counting("a", "a", _DRIVER, "1", "2"),
            _counting("b", "b", _DRIVER, "2", "2"),
            _claim(),
            SearchSettings(),
            id="available counters",
        ),
        pytest.param(
            _two_drivers("a", "one", "one"),
            _two_drivers("b", "two", "three"),
            _claim(count=2),
            SearchSettings(),
            id="names of pools that two drivers share",
        ),
        pytest.param(
            [],
            _node_devices("b", {}),
            _claim(),
            SearchSettings(),
            id="number of devices",
        ),
    ],
)
def test_nodes_that_differ_do_not_share_a_solution(
    of_a: list[Object], of_b: list[Object], claim: ResourceClaim, settings: SearchSettings
) -> None:
    cluster = Cluster()
    for each in (make_node("a"), make_node("b"), _object("DeviceClass", "any", {}), *of_a, *of_b):
        cluster.put(each)
    fits = cluster.device_fits
    assert fits.solve(0, (claim,), settings) is None
    solution = fits.solve(1, (claim,), settings)
    assert solution is not None
    assert solution == fits.search(1, (claim,), settings).run()


def _share(node: str, amount: str) -> AllocationResult:
    result = DeviceRequestAllocationResult(
        request="r",
        driver=_DRIVER,
        pool=node,
        device="d0",
        share_id="one",
        consumed_capacity={"memory": amount},
    )
    return AllocationResult(devices=DeviceAllocationResult(results=(result,)))


def test_consumed_capacities_are_part_of_the_state() -> None:
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4Gi"}}}
    cluster = Cluster()
    slices = [*_node_devices("a", shared), *_node_devices("b", shared)]
    for each in (make_node("a"), make_node("b"), _object("DeviceClass", "any", {}), *slices):
        cluster.put(each)
    cluster.devices.set_pending("large", _share("a", "3Gi"))
    cluster.devices.set_pending("small", _share("b", "1Gi"))
    claim = _claim(capacity={"requests": {"memory": "2Gi"}})
    found = [cluster.device_fits.solve(slot, (claim,), SearchSettings()) for slot in (0, 1)]
    assert [solution is not None for solution in found] == [False, True]


def test_equal_nodes_are_searched_once() -> None:
    cluster = Cluster()
    names = ("a", "b", "c")
    slices = [each for name in names for each in _node_devices(name, {}, {})]
    for each in (*map(make_node, names), _object("DeviceClass", "any", {}), *slices):
        cluster.put(each)
    fits, claim = cluster.device_fits, _claim()
    pools = []
    for slot in range(3):
        solution = fits.solve(slot, (claim,), SearchSettings())
        assert solution is not None
        pools.append(solution.chosen[0][0].device.id.pool)
    assert (pools, fits.search_count) == (["a", "b", "c"], 1)
