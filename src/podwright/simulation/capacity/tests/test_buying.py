"""Buying nodes: never above the optimum plus one node, the bound below it, errors with paths."""

from __future__ import annotations

import random
from itertools import product

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, Object, decode
from podwright.simulation.capacity import pool_types, read_node_types
from podwright.testing import make_node, make_pod

SMALL = pw.NodeType(name="small", price=1, allocatable={"cpu": "2", "memory": "4Gi"})
LARGE = pw.NodeType(name="large", price=1.8, allocatable={"cpu": "4", "memory": "8Gi"}, max=2)


def optimum(objects, types, most):
    """Return the price of the cheapest mix, by trying all of them in new schedulers."""
    prices = []
    for counts in product(range(most + 1), repeat=len(types)):
        if any(t.max is not None and n > t.max for t, n in zip(types, counts, strict=True)):
            continue
        new = [t.node(f"{t.name}{k}") for t, n in zip(types, counts, strict=True) for k in range(n)]
        scheduler = pw.Scheduler()
        scheduler.add(*objects, *new)
        decisions = [scheduler.schedule(pod.key) for pod in scheduler.in_queue_order()]
        if all(decision.node for decision in decisions):
            prices.append(sum(t.price * n for t, n in zip(types, counts, strict=True)))
    return min(prices)


@pytest.mark.parametrize("seed", range(6))
def test_never_above_the_optimum_plus_one_node(seed, monkeypatch):
    draw = random.Random(seed)
    types = [SMALL, LARGE]
    objects: list[Object] = [
        make_node("old", cpu="2", memory="4Gi"),
        *(
            make_pod(f"p{i}", cpu=f"{draw.randint(2, 20) * 100}m", memory=f"{draw.randint(1, 4)}Gi")
            for i in range(5)
        ),
    ]
    best = optimum(objects, types, 4)
    found = pw.buy_nodes(objects, types)
    assert not found.unplaced
    assert found.bound <= best <= found.price + 1e-9
    assert found.price == pytest.approx(best), "all cheaper mixes were tried"
    monkeypatch.setattr("podwright.simulation.capacity.buying.MOST_MIXES", 0)
    assert pw.buy_nodes(objects, types).price <= best + 1.8 + 1e-9


def test_pods_that_fit_need_no_nodes_and_impossible_ones_are_named():
    pods = [make_pod("fits", cpu="1"), make_pod("huge", cpu="64")]
    found = pw.buy_nodes([make_node("n1", cpu="4"), *pods], [SMALL])
    assert (found.nodes, found.price, found.scheduled) == ({}, 0.0, 1)
    assert [each.pod for each in found.unplaced] == ["default/huge"]


def test_new_nodes_get_the_pods_of_daemon_sets():
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}
    agents = decode(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template},
        }
    )
    pods = [make_pod(f"p{i}", cpu="1") for i in range(3)]
    assert pw.buy_nodes(pods, [SMALL]).nodes == {"small": 2}
    assert pw.buy_nodes([agents, *pods], [SMALL]).nodes == {"small": 3}


def test_pools_are_types():
    nodes = [make_node("n1", cpu="4", labels={"pool": "a"}), make_node("n2", cpu="8")]
    (pool,) = pool_types(nodes)
    assert (pool.name, pool.price, pool.allocatable["cpu"]) == ("a", 1.0, "4")


def test_each_mistake_has_its_path():
    text = b"""types:
- {name: a, price: -1, allocatable: {cpu: "4"}}
- {name: b, price: 1}
- {name: c, cost: 1, max: -2, allocatable: {cpu: four}}
"""
    with pytest.raises(InputError) as caught:
        read_node_types(text, "types.yaml")
    paths = [error.path for error in caught.value.errors]
    for path in ("[0].price", "[1].allocatable", "[2].cost", "[2].max", "[2].allocatable"):
        assert any(each.startswith(f"types{path}") for each in paths), (path, paths)
    with pytest.raises(InputError, match="no pod is pending"):
        pw.buy_nodes([make_node("n1")], [SMALL])
