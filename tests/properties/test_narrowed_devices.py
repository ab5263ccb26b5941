"""Rankings that pods with equal claims share give the decisions of a full cycle."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod, ResourceClaim, decode_pod, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import PluginRunner
from podwright.testing import make_node
from podwright.testing.parity.sequence import ClusterHandle, profiles_of

_DRIVER = "gpu.example.com"
_NODES = ("a", "b", "c", "d", "e", "f")
_MODELS = ("old", "new")


def _object(kind: str, name: str, spec: dict[str, Any]) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    api_version = "resource.k8s.io/v1"
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def _slice(random: Random, node: str) -> Object:
    """Return the devices of a node, or of all nodes."""
    devices = [
        {"name": f"d{index}", "attributes": {"model": {"string": random.choice(_MODELS)}}}
        for index in range(random.randint(1, 3))
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": random.choice((1, 1, 1, 2))}
    where = {"allNodes": True} if node == "shared" else {"nodeName": node}
    return _object(
        "ResourceSlice", node, {"driver": _DRIVER, "pool": pool, "devices": devices} | where
    )


def _claim(random: Random, name: str) -> ResourceClaim:
    exactly: dict[str, Any] = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    exactly["count"] = random.choice((1, 1, 2))
    if random.random() < 0.6:
        model = random.choice(_MODELS)
        expression = f'device.attributes["{_DRIVER}"].model == "{model}"'
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    request: dict[str, Any] = {"name": "r", "exactly": exactly}
    if random.random() < 0.1:
        one = {"name": "one", "deviceClassName": "gpu"}
        two = {"name": "two", "deviceClassName": "gpu", "count": 2}
        request = {"name": "r", "firstAvailable": [two, one]}
    claim = _object("ResourceClaim", name, {"devices": {"requests": [request]}})
    assert isinstance(claim, ResourceClaim)
    return claim


def _pod(name: str, claims: list[str]) -> Pod:
    entries = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"name": name, "namespace": "default", "uid": name}
    spec = {"containers": [container], "resourceClaims": entries}
    return decode_pod({"metadata": metadata, "spec": spec})


class _World:
    """A cluster in which claims and slices come and go, seen by two runners."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        (profile,) = profiles_of(None).values()
        self.cluster = Cluster()
        for name in _NODES[:-1]:
            self.cluster.put(make_node(name, cpu="4"))
        self.cluster.put(_object("DeviceClass", "gpu", {}))
        for node in _NODES:
            self.cluster.put(_slice(self.random, node))
        ClusterHandle(self.cluster, 0).give_to(profile)
        self.narrowing = PluginRunner(profile, self.cluster)
        self.full = PluginRunner(profile, self.cluster, keeps_totals=True)
        self.plugin = next(p for p in profile.reserve if p.name == "DynamicResources")
        self.placed: list[tuple[str, list[str]]] = []
        self.decided_narrowly = 0

    def schedule(self, number: int) -> None:
        names = [f"claim-{number}-{place}" for place in range(self.random.choice((1, 1, 2)))]
        for name in names:
            self.cluster.put(_claim(self.random, name))
        if self.placed and self.random.random() < 0.1:
            # An allocated claim is shared.
            names.append(self.random.choice(self.placed)[1][0])
        pod = _pod(f"pod-{number}", names)
        expected = self.full.decide(pod, cycle_number=number)
        found = self.narrowing.decide(pod, cycle_number=number)
        for field in ("node", "feasible_count", "tie_count", "total", "error", "message"):
            assert getattr(found, field) == getattr(expected, field), field
        if not found.node:
            return
        self.decided_narrowly += bool(self.narrowing.ranking.own_state)
        allocations = []
        for runner in (self.full, self.narrowing):
            cycle = runner.own_cycle(pod)
            assert self.plugin.reserve(cycle, found.node).is_success
            uids = [name for name in names if self.cluster.devices.pending(name) is not None]
            allocations.append({uid: self.cluster.devices.pending(uid) for uid in uids})
            if runner is self.full:
                for uid in uids:
                    self.cluster.devices.remove_pending(uid)
        assert allocations[0] == allocations[1]
        self.write(allocations[1])
        self.cluster.place(pod, found.slot)
        self.placed.append((pod.key, names))

    def write(self, allocations: dict[str, Any]) -> None:
        """Put the claims with what was reserved for them."""
        devices = self.cluster.devices
        for uid, allocation in allocations.items():
            claim = devices.claims[f"default/{uid}"]
            self.cluster.put(with_fields(claim, "status", allocation=allocation))
            devices.remove_pending(uid)

    def change(self) -> None:
        random, cluster = self.random, self.cluster
        match random.randrange(8):
            case 0 | 1 | 2 if self.placed:
                key, names = self.placed.pop(random.randrange(len(self.placed)))
                cluster.remove(key)
                still = {name for _, others in self.placed for name in others}
                for name in names:
                    claim = cluster.devices.claims.get(f"default/{name}")
                    if claim is not None and name not in still:
                        cluster.delete(claim)
            case 3:
                cluster.put(_slice(random, random.choice(_NODES)))
            case 4:
                old = random.choice(cluster.devices.slice_objects())
                cluster.delete(old)
                cluster.put(_slice(random, random.choice(_NODES)))
            case 5:
                cluster.put(_slice(random, "shared"))
            case 6:
                driver = random.choice((_DRIVER, _DRIVER, "other.example.com"))
                selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
                cluster.put(_object("DeviceClass", "gpu", {"selectors": [selector]}))
            case _:
                # The last one is missing at first.
                cluster.put(make_node(random.choice(_NODES), cpu=random.choice(("2", "4"))))


@pytest.mark.parametrize("seed", range(12))
def test_narrower_keys_give_the_decisions_of_full_cycles(seed: int) -> None:
    world = _World(seed)
    for number in range(60):
        world.schedule(number)
        for _ in range(world.random.randrange(3)):
            world.change()
    assert world.decided_narrowly > 3
