"""Solutions that nodes with the same devices share are those of a search on each node."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from podwright.apimachinery.devices import AllocationError, Features, allocation_results
from podwright.apimachinery.objects import AllocationResult, Object, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, SearchSettings
from podwright.testing import make_node

_DRIVERS = ("gpu.example.com", "nic.example.com")
_NODES = ("a", "b", "c", "d", "e", "f")
_SETTINGS = tuple(
    SearchSettings(features=Features(binding_conditions=waits)) for waits in (True, False)
)


def _object(kind: str, name: str, spec: dict[str, Any]) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    api_version = "resource.k8s.io/v1"
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def _devices(random: Random, *, counts: bool, chooses_node: bool) -> list[dict[str, Any]]:
    """Return two devices; each aspect has few values, so that nodes differ in one of them."""
    devices: list[dict[str, Any]] = [{"name": "d0"}, {"name": "d1"}]
    model = random.choice(("old", "new"))
    for index, device in enumerate(devices):
        device["attributes"] = {"model": {"string": model if index else "new"}}
        if chooses_node:
            device["nodeName"] = random.choice(_NODES)
    if counts:
        amount = random.choice(("1", "2"))
        taken = {"counterSet": "card", "counters": {"slots": {"value": amount}}}
        devices[0]["consumesCounters"] = devices[1]["consumesCounters"] = [taken]
    aspect = random.randrange(6)
    if aspect == 0:
        devices[1]["allowMultipleAllocations"] = True
        devices[1]["capacity"] = {"memory": {"value": "4Gi"}}
    elif aspect == 1:
        devices[0]["taints"] = [{"key": random.choice(("k", "l")), "effect": "NoSchedule"}]
    elif aspect == 2:
        devices[0]["bindingConditions"] = ["Ready"]
        devices[0]["bindingFailureConditions"] = ["Failed"]
    return devices


def _slices(random: Random, node: str, driver: str) -> list[Object]:
    """Return the slices of a pool."""
    counts, is_shared = random.random() < 0.5, node == "shared"
    chooses_node = is_shared and random.random() < 0.5
    where: dict[str, Any] = {"nodeName": node}
    if is_shared:
        where = {"perDeviceNodeSelection": True} if chooses_node else {"allNodes": True}
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2 if counts else 1}
    devices = _devices(random, counts=counts, chooses_node=chooses_node)
    name = f"{node}-{driver}"
    found = [
        _object("ResourceSlice", name, {"driver": driver, "pool": pool, "devices": devices} | where)
    ]
    if counts:
        sets = [{"name": "card", "counters": {"slots": {"value": random.choice(("1", "2"))}}}]
        of_counters = {"driver": driver, "pool": pool, "sharedCounters": sets} | where
        of_counters.pop("perDeviceNodeSelection", None)
        if chooses_node:
            of_counters["allNodes"] = True
        found.append(_object("ResourceSlice", f"{name}-counters", of_counters))
    return found


def _claim(random: Random, name: str) -> ResourceClaim:
    exactly: dict[str, Any] = {"deviceClassName": "any", "allocationMode": "ExactCount"}
    exactly["count"] = random.choice((1, 1, 2))
    if random.random() < 0.4:
        expression = f'device.attributes["{_DRIVERS[0]}"].?model.orValue("") == "new"'
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    if random.random() < 0.3:
        exactly["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if random.random() < 0.2:
        exactly["capacity"] = {"requests": {"memory": random.choice(("1Gi", "3Gi"))}}
    devices: dict[str, Any] = {"requests": [{"name": "r", "exactly": exactly}]}
    if random.random() < 0.3:
        devices["constraints"] = [{"matchAttribute": f"{_DRIVERS[0]}/model"}]
    claim = _object("ResourceClaim", name, {"devices": devices})
    assert isinstance(claim, ResourceClaim)
    return claim


def _outcome(
    cluster: Cluster, slot: int, claim: ResourceClaim, settings: SearchSettings, *, fresh: bool
) -> Any:
    fits = cluster.device_fits
    try:
        if fresh:
            solution = fits.search(slot, (claim,), settings).run()
        else:
            solution = fits.solve(slot, (claim,), settings)
    except AllocationError as error:
        return str(error)
    if solution is None:
        return None
    classes = cluster.devices.classes
    name = cluster.nodes.names[slot]
    return solution.score, allocation_results(solution, [claim], classes, name)


@pytest.mark.parametrize("seed", range(10))
def test_shared_solutions_are_those_of_a_search_on_the_node(seed: int) -> None:
    random = Random(seed)
    cluster = Cluster()
    for name in _NODES:
        cluster.put(make_node(name))
    cluster.put(_object("DeviceClass", "any", {}))
    kinds = [_claim(random, f"kind-{number}") for number in range(5)]
    pending: dict[str, AllocationResult] = {}
    outcomes: Counter[str] = Counter()
    for step in range(80):
        if step < 12 or random.random() < 0.2:
            node = random.choice((*_NODES, *_NODES, "shared"))
            for each in _slices(random, node, random.choice(_DRIVERS)):
                cluster.put(each)
        if step == 40:
            expression = f'device.driver == "{_DRIVERS[0]}"'
            cluster.put(
                _object("DeviceClass", "any", {"selectors": [{"cel": {"expression": expression}}]})
            )
        if pending and random.random() < 0.3:
            uid = random.choice(sorted(pending))
            del pending[uid]
            cluster.devices.remove_pending(uid)
        claim, settings = random.choice(kinds), random.choice(_SETTINGS)
        for slot in range(len(_NODES)):
            before = cluster.device_fits.search_count
            found = _outcome(cluster, slot, claim, settings, fresh=False)
            outcomes["shared"] += cluster.device_fits.search_count == before
            assert found == _outcome(cluster, slot, claim, settings, fresh=True)
            outcomes[type(found).__name__] += 1
            if isinstance(found, tuple) and random.random() < 0.2:
                pending[f"{step}-{slot}"] = found[1][0]
                cluster.devices.set_pending(f"{step}-{slot}", found[1][0])
    assert outcomes["shared"] > 100
    assert outcomes["tuple"] > 20
    assert outcomes["NoneType"] > 20
