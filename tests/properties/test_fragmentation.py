"""Fragmentation, against the definition applied node by node."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import Node
from podwright.scheduler.columns import PODS, Cluster
from podwright.simulation.recording.usage.fragmentation_meter import (
    FragmentationMeter,
    Shape,
    TypicalPods,
    sums_of_products,
)
from podwright.simulation.recording.usage.utilization import NodeAmounts
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.property

GPU = "example.com/gpu"
GPU_RESOURCE = "nvidia.com/gpu"
COLUMNS = {"cpu": 0, "memory": 1, "ephemeral-storage": 2, "pods": PODS, GPU: 4}
AMOUNTS = st.one_of(st.integers(0, 4), st.sampled_from([2**52, 2**53 - 1, 2**53 + 1, 2**58]))
NODES = st.lists(st.lists(AMOUNTS, min_size=5, max_size=5), max_size=6)
SHAPES = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU, "example.com/missing"]), st.integers(1, 2**53)
).map(lambda requests: tuple(sorted(requests.items())))
TYPICAL = st.dictionaries(SHAPES, st.integers(1, 2**40), max_size=4).map(
    lambda counts: tuple(counts.items())
)


def node_by_node(nodes: list[list[int]], typical: tuple[tuple[Shape, int], ...]) -> list[float]:
    unusable = [Fraction(0)] * 5
    total = sum(count for _, count in typical)
    for free in nodes:
        for shape, count in typical:
            has_room = free[PODS] >= 1 and all(
                free[COLUMNS[name]] >= amount if name in COLUMNS else amount <= 0
                for name, amount in shape
            )
            for column, amount in enumerate(free):
                is_idle_device = column == COLUMNS[GPU] and GPU not in dict(shape)
                if not has_room or is_idle_device:
                    unusable[column] += Fraction(amount * count, total)
    return [float(each) for each in unusable]


def typical_pods(typical: tuple[tuple[Shape, int], ...], columns: dict[str, int]) -> TypicalPods:
    pods = TypicalPods()
    count = sum(number for _, number in typical)
    pods.restore({"counts": {}, "typical": typical, "pod_count": count, "typical_pod_count": count})
    pods.set_columns(columns)
    return pods


@given(NODES, TYPICAL)
def test_unusable_amounts_are_weighted_by_the_typical_pods(nodes, typical):
    pods = typical_pods(typical, COLUMNS)
    free = np.array(nodes, dtype=np.int64).reshape(len(nodes), 5)
    sums = sums_of_products(free, pods.weights(free))
    count = pods.typical_count
    assert [each / count if count else 0.0 for each in sums] == node_by_node(nodes, typical)


@given(NODES, st.data())
def test_sums_are_exact_however_large(nodes, data):
    amounts = np.array(nodes, dtype=np.int64).reshape(len(nodes), 5)
    rows = st.lists(st.integers(0, 2**50), min_size=5, max_size=5)
    weights = data.draw(st.lists(rows, min_size=len(nodes), max_size=len(nodes)))
    expected = [
        sum(node[c] * weight[c] for node, weight in zip(nodes, weights, strict=True))
        for c in range(5)
    ]
    found = sums_of_products(amounts, np.array(weights, dtype=np.int64).reshape(len(nodes), 5))
    assert found == expected


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 3), st.integers(1, 8)),
        st.tuples(st.just("gpu"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("pod"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("gpu pod"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("remove"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("time"), st.just(0), st.integers(1, 9)),
    ),
    max_size=40,
)


@given(STEPS)
def test_means_equal_those_of_measuring_every_node_each_time(steps):
    """The meter exchanges changed nodes; its twin measures all of them, at each time."""
    cluster, amounts, pods = Cluster(), NodeAmounts(), TypicalPods()
    meter = FragmentationMeter(pods)
    now_ns = count = 0
    areas: dict[str, float] = {}
    lasted: dict[str, int] = {}
    present: dict[str, Node] = {}
    for kind, number, amount in [*steps, ("time", 0, 1)]:
        name = f"n{number}"
        if kind in ("node", "gpu"):
            present[name] = make_node(name, cpu=amount, gpu=amount if kind == "gpu" else 0)
            cluster.put(present[name])
        elif kind == "remove" and name in present:
            cluster.delete(present.pop(name))
        elif kind in ("pod", "gpu pod"):
            gpu = amount if kind == "gpu pod" else 0
            pod = make_pod(f"p{count}", cpu=amount, gpu=gpu, node=name)
            pods.add(pod)
            cluster.put(pod)
            count += 1
        elif kind == "time":
            meter.advance(amounts, amounts.update(cluster.nodes), now_ns)
            for resource, share in shares_now(cluster, pods).items():
                areas[resource] = areas.get(resource, 0.0) + share * amount
                lasted[resource] = lasted.get(resource, 0) + amount
            now_ns += amount
    meter.end(amounts, amounts.update(cluster.nodes), now_ns)
    expected = {resource: area / lasted[resource] for resource, area in areas.items()}
    assert meter.means() == pytest.approx(expected)


def shares_now(cluster: Cluster, pods: TypicalPods) -> dict[str, float]:
    """Return the fragmentation now, by the definition applied to each node and shape."""
    nodes, typical = cluster.nodes, pods.state()["typical"]
    total = sum(count for _, count in typical)
    free = {
        name: {
            resource: max(int((nodes.allocatable - nodes.requested)[slot, column]), 0)
            for resource, column in nodes.resources.items()
        }
        for name, slot in nodes.slot_of.items()
    }
    found = {}
    for resource, column in nodes.resources.items():
        if not nodes.allocatable[nodes.alive, column].sum():
            continue
        unusable = Fraction(0)
        for there in free.values():
            for shape, count in typical:
                requests = dict(shape)
                has_room = there["pods"] >= 1 and all(
                    there.get(name, 0) >= amount for name, amount in shape
                )
                if not has_room or (resource == GPU_RESOURCE and not requests.get(resource)):
                    unusable += Fraction(there[resource] * count, total)
        left = sum(there[resource] for there in free.values())
        found[resource] = float(unusable / left) if left else 0.0
    return found
