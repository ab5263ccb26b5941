"""Requests, ports, images, nominations and ranked pods of a cluster in which things come and go.

A random walk is compared after each step with a cluster that never had anything else.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod
from podwright.scheduler.columns import Cluster, host_ports
from podwright.scheduler.columns.tests.test_ranked_pods import ranked_after, rows_of
from podwright.scheduler.preemption.tests.situations import budget, pod
from podwright.testing import make_node

NODES, IMAGES = ("n0", "n1", "n2"), ("a:1", "b:1", "c:1")
GPU, NIC = "x.com/gpu", "x.com/nic"


def named(cluster: Cluster, slots: Any) -> list[str]:
    return sorted(cluster.nodes.names[slot] for slot in slots)


def amounts(cluster: Cluster, row: Any) -> dict[str, int]:
    """Return the amounts of a row by resource, zeros left out."""
    found = {name: int(row[index]) for name, index in cluster.nodes.resources.items()}
    return {name: amount for name, amount in found.items() if amount}


def budgets_by_name(cluster: Cluster, slot: int) -> list[Any]:
    names = [*cluster.budgets.names()]
    return [
        (name, priority, cpu, sorted(names[number] for number in numbers))
        for name, priority, cpu, numbers in rows_of(cluster, slot)
    ]


def nominated(cluster: Cluster) -> dict[str, Any]:
    slots, priorities, requests = cluster.nominations.columns()
    rows = zip(slots.tolist(), priorities.tolist(), requests, strict=True)
    by_row = [
        (cluster.nodes.names[slot] if slot >= 0 else "", priority, amounts(cluster, row))
        for slot, priority, row in rows
    ]
    of_pods = cluster.nominations.node_of()
    there = {name: sorted(pods) for name, pods in cluster.nominated.items() if pods}
    return {"rows": sorted(by_row, key=repr), "node of": of_pods, "by node": there}


def seen(cluster: Cluster, asked: Pod) -> dict[str, Any]:
    nodes = cluster.nodes
    ranked_after(cluster)
    ports = host_ports(asked)
    states = {name: cluster.images.find(name) for name in IMAGES}
    return {
        "allocatable": {
            n: amounts(cluster, nodes.allocatable[s]) for n, s in nodes.slot_of.items()
        },
        "requested": {n: amounts(cluster, nodes.requested[s]) for n, s in nodes.slot_of.items()},
        "non-zero": {n: nodes.non_zero_requested[s].tolist() for n, s in nodes.slot_of.items()},
        "ports": named(cluster, cluster.ports.slots()),
        "conflicts": named(cluster, set(cluster.ports.conflicting_slots(ports))),
        "conflicts of slots": [
            n for n, s in sorted(nodes.slot_of.items()) if cluster.ports.conflicts(s, ports)
        ],
        "images": {
            name: named(cluster, state.slots().tolist())
            for name, state in states.items()
            if state is not None
        },
        "ranked": {name: budgets_by_name(cluster, slot) for name, slot in nodes.slot_of.items()},
        "nominated": nominated(cluster),
        "labels": {
            key: sorted(n for n, s in nodes.slot_of.items() if nodes.label_ids(key)[s] >= 0)
            for key in ("a", "b")
        },
    }


def made_pod(random: Random) -> Pod:
    requests = {"cpu": random.choice(("100m", "2"))}
    if random.random() < 0.3:
        requests[random.choice((GPU, NIC))] = "1"
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if random.random() < 0.4:
        port = {
            "hostPort": random.choice((80, 81)),
            "containerPort": 1,
            "hostIP": random.choice(("", "10.0.0.1", "10.0.0.2")),
            "protocol": random.choice(("TCP", "UDP")),
        }
        container["ports"] = [port]
    fields: dict[str, Any] = {"on": random.choice(NODES)}
    if random.random() < 0.3:
        fields = {"nominated": random.choice(NODES)}
    if random.random() < 0.5:
        fields["labels"] = {"app": random.choice("xy")}
    name = f"p{random.randrange(6)}"
    return pod(name, priority=random.randrange(3), containers=[container], **fields)


def made(random: Random) -> Object:
    kind = random.random()
    if kind < 0.6:
        return made_pod(random)
    if kind < 0.7:
        return budget(f"b{random.choice('12')}", random.randrange(3), {"app": random.choice("xy")})
    resources = {name: random.randrange(1, 4) for name in (GPU, NIC) if random.random() < 0.3}
    images = dict.fromkeys(random.sample(IMAGES, random.randrange(3)), "1Mi")
    labels = {key: "" for key in ("a", "b") if random.random() < 0.5}
    return make_node(random.choice(NODES), resources=resources, images=images, labels=labels)


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_leaves_what_is_there(seed: int) -> None:
    random = Random(seed)
    cluster, objects = Cluster(), dict[str, Object]()
    for _ in range(80):
        if objects and random.random() < 0.3:
            cluster.delete(objects.pop(random.choice(sorted(objects))))
        else:
            obj = made(random)
            objects[f"{obj.kind}/{obj.metadata.name}"] = obj
            cluster.put(obj)
        fresh = Cluster()
        for one in sorted(objects.values(), key=lambda one: one.kind != "Node"):
            fresh.put(one)
        asked = made_pod(random)
        found, expected = seen(cluster, asked), seen(fresh, asked)
        assert found == expected, seed
        assert found["conflicts"] == found["conflicts of slots"]
