"""Whatever storage objects come and go, what is read of them is what a new cluster finds.

A random walk is compared after each step with a cluster that never had anything else.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, PersistentVolume, PersistentVolumeClaim
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    attachment,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from podwright.scheduler.columns.volumes.volume_decisions import PodClaims, decide, utilization
from podwright.testing import make_node, make_pod

DRIVERS, NODES, NAMES = ("csi.x", "csi.y"), ("n0", "n1", "n2"), ("v0", "v1", "v2", "v3")


def decided(cluster: Cluster, claims: PodClaims) -> Any:
    nodes = cluster.nodes
    rows = cluster.live_slots()
    found = decide(claims, cluster.storage, nodes, rows)
    by_node = {
        nodes.names[slot]: (
            int(found.conflicts[row]),
            sorted((of.name, by.name) for of, by in found.bindings(row)),
            sorted(of.name for of in found.provisions(row)),
            [
                int(percent[row]) if counts[row] else None
                for percent, counts in utilization(found, cluster.storage, nodes, rows)
            ],
        )
        for row, slot in enumerate(rows.tolist())
    }
    return found.error, by_node


def seen(cluster: Cluster) -> dict[str, Any]:
    storage, slot_of = cluster.storage, cluster.nodes.slot_of
    use = storage.use
    claims = [one for name in NAMES if (one := storage.claim(f"default/{name}")) is not None]
    bound = tuple(one for one in claims if one.spec.volume_name)
    waiting = tuple(one for one in claims if not one.spec.volume_name)
    attached = {driver: use.attached(driver) for driver in DRIVERS}
    return {
        "attached": {
            (driver, name): int(attached[driver][slot])
            for driver in DRIVERS
            for name, slot in slot_of.items()
        },
        "errors": {name: use.errors().get(slot, "") for name, slot in slot_of.items()},
        "users": {key: count for key, count in use.claim_users.items() if count},
        "bound": decided(cluster, PodClaims(bound, ())),
        "waiting": decided(cluster, PodClaims((), waiting)),
        "both": decided(cluster, PodClaims(bound, waiting)),
        "assumed": [sorted(one.name for one in of) for of in storage.assumptions()],
    }


def made(random: Random) -> Any:
    """Return an object to be put; there are few of each kind, so that most change."""
    name, driver = random.choice(NAMES), random.choice(DRIVERS)
    of_class = random.choice(("local", "other"))
    found: Any
    match random.choice("vvvcccnsdkkpawww"):
        case "v":
            spec: dict[str, Any] = {}
            if random.random() < 0.5:
                spec["csi"] = {"driver": driver, "volumeHandle": name}
            if random.random() < 0.3:
                spec["claim"] = random.choice(NAMES)
            if random.random() < 0.5:
                spec["on"] = random.sample(NODES, random.randrange(1, 3))
            size = f"{random.randrange(4, 9)}Gi"
            found = volume(name, size, of_class=of_class, **spec)
        case "c":
            bound_to = random.choice((*NAMES, "", "", ""))
            size = f"{random.randrange(4, 9)}Gi"
            found = claim(name, size, of_class=of_class, bound_to=bound_to)
        case "n":
            node = random.choice(NODES)
            labels = {"kubernetes.io/hostname": node, "zone": random.choice("ab")}
            found = make_node(node, labels=labels)
        case "s":
            found = csi_node(random.choice(NODES), **{driver.replace(".", "_"): 3})
        case "d":
            found = csi_driver(driver, storage_capacity=random.random() < 0.7)
        case "k":
            provisioner = random.choice((driver, "kubernetes.io/no-provisioner"))
            found = storage_class(of_class, provisioner)
        case "p":
            zone = {"zone": random.choice("ab")}
            found = capacity(f"p{name}", of_class, zone, capacity=random.choice(("5Gi", "9Gi")))
        case "a":
            found = attachment(f"a{name}", driver, random.choice(NODES), name)
        case _:
            names = random.sample(NAMES, random.randrange(3))
            spec = {"volumes": using(*names)}
            found = make_pod(f"w{random.randrange(4)}", node=random.choice(NODES), spec=spec)
    return found


def change_assumptions(random: Random, cluster: Cluster) -> None:
    """Assume that a claim gets a volume, or forget all that is assumed."""
    storage = cluster.storage
    for of in storage.assumptions():
        for one in of:
            if isinstance(one, PersistentVolume):
                storage.restore_volume(one.name)
            else:
                assert isinstance(one, PersistentVolumeClaim)
                storage.restore_claim(one.key)
    name, other = random.sample(NAMES, 2)
    if random.random() < 0.5 and name in storage.volumes and f"default/{other}" in storage.claims:
        old = storage.volumes[name]
        storage.assume_volume(volume(name, of_class=old.spec.storage_class_name, claim=other))
        storage.assume_claim(claim(other, of_class=old.spec.storage_class_name, bound_to=name))


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_leaves_what_is_there(seed: int) -> None:
    random = Random(seed)
    cluster, objects = Cluster(), dict[str, Object]()
    for _ in range(90):
        version = cluster.storage.version
        if objects and random.random() < 0.3:
            key = random.choice(sorted(objects))
            cluster.delete(objects.pop(key))
        else:
            obj = made(random)
            objects[f"{obj.kind}/{obj.metadata.name}"] = obj
            cluster.put(obj)
        assert cluster.storage.version >= version
        if random.random() < 0.2:
            change_assumptions(random, cluster)
            seen(cluster)
            change_assumptions(Random(1), cluster)
        found = seen(cluster)
        if any(found.pop("assumed")):
            continue
        fresh = Cluster()
        for one in sorted(objects.values(), key=lambda one: one.kind != "Node"):
            fresh.put(one)
        expected = seen(fresh)
        del expected["assumed"]
        assert found == expected, seed
