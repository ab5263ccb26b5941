"""Fragmentation, against the definition applied node by node."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import Node, Pod, PodSpec
from podwright.scheduler.columns import PODS, Cluster
from podwright.simulation.recording.usage import fragmentation_meter
from podwright.simulation.recording.usage.fragmentation_meter import (
    EACH,
    FragmentationMeter,
    Shape,
    TypicalPods,
    sums_of_products,
)
from podwright.simulation.recording.usage.utilization import NodeAmounts
from podwright.testing import make_node, make_pod

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


@pytest.mark.property
@given(NODES, TYPICAL)
def test_unusable_amounts_are_weighted_by_the_typical_pods(nodes, typical):
    pods = typical_pods(typical, COLUMNS)
    free = np.array(nodes, dtype=np.int64).reshape(len(nodes), 5)
    sums = sums_of_products(free, pods.weights(free))
    count = pods.typical_count
    assert [each / count if count else 0.0 for each in sums] == node_by_node(nodes, typical)


@pytest.mark.property
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


@pytest.mark.property
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


# ------------------------------------------------------------------ the typical pods


def counted(*counts: int) -> TypicalPods:
    """Count so many pods of each shape."""
    pods = TypicalPods()
    for number, count in enumerate(counts, start=1):
        pod = make_pod("p", cpu=number)
        for _ in range(count):
            pods.add(pod)
    return pods


@pytest.mark.parametrize(
    ("counts", "typical"),
    [
        pytest.param((95, 5), [95], id="95 % are enough"),
        pytest.param((94, 6), [94, 6], id="less is not"),
        pytest.param((5, 95), [95], id="the most frequent first"),
        pytest.param((10, 10), [10, 10], id="equally frequent"),
        pytest.param((1,) * 200, [1] * 128, id="at most 128 shapes"),
        pytest.param((), [], id="no pods"),
    ],
)
def test_the_typical_shapes_are_the_most_frequent_ones(counts, typical):
    pods = counted(*counts)
    assert pods.update() is bool(counts)
    found = pods.state()["typical"]
    assert [count for _, count in found] == typical
    assert pods.typical_count == sum(typical)
    shapes = [dict(shape)["cpu"] for shape, _ in found]
    by_count = sorted(range(len(counts)), key=lambda number: (-counts[number], number))
    assert shapes == [1000 * (number + 1) for number in by_count[: len(typical)]]


def test_the_typical_shapes_are_found_again_when_there_are_more_than_two_percent_more_pods():
    pods = counted(100)
    assert pods.update()
    assert not pods.update()
    other = make_pod("other", cpu=7)
    found = []
    for _ in range(10):
        pods.add(other)
        found.append(pods.update())
    assert found == [False, False, True, False, False, True, False, False, True, False]
    assert pods.typical_count == 109


def test_pods_with_the_same_requests_in_another_order_have_one_shape():
    pods = TypicalPods()
    amounts = [("cpu", "1"), ("memory", "1Ki"), ("a.b/c", "2")]
    for order in permutations(amounts):
        pods.add(make_pod("p", resources=dict(order)))
    pods.update()
    (only,) = pods.state()["typical"]
    assert only == ((("a.b/c", 2), ("cpu", 1000), ("memory", 1024)), 6)


def test_a_continued_count_has_the_typical_pods_of_before():
    pods = counted(5, 5)
    pods.update()
    again = TypicalPods()
    again.restore(pods.state())
    assert (again.typical_count, again.update()) == (10, False)


def test_specs_of_many_templates_are_not_kept(monkeypatch):
    monkeypatch.setattr(fragmentation_meter, "_CACHED_SPECS", 4)
    pods = TypicalPods()
    kept = []
    for number in range(10):
        pods.add(Pod(spec=PodSpec(priority=number)))
        kept.append(len(pods._shape_of))
    assert kept == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    pods.update()
    assert [count for _, count in pods.state()["typical"]] == [10]


# ---------------------------------------------------------------------- shared devices

MILLI = "gpu.example.com/gpu-milli"
SHARED = COLUMNS | {GPU: 5, MILLI: 4}
HALF = (("cpu", 1), (EACH + MILLI, 500), (MILLI, 500))
TWO_HALVES = (("cpu", 1), (EACH + MILLI, 500), (MILLI, 1000))
SUM = (("cpu", 1), (MILLI, 500))
PLAIN = (("cpu", 1),)


@pytest.mark.parametrize(
    ("typical", "free", "devices", "expected"),
    [
        # Of 4 pods, 3 request half of a device. The columns: cpu, the sum, each device.
        pytest.param(HALF, (4, 600), (300, 300), (3, 4, 4, 4), id="no device has enough"),
        pytest.param(HALF, (4, 1000), (700, 300), (0, 1, 1, 4), id="one device has enough"),
        pytest.param(HALF, (4, 1000), (500, 500), (0, 1, 1, 1), id="exactly enough"),
        pytest.param(HALF, (4, 999), (500, 499), (0, 1, 1, 4), id="one less than enough"),
        pytest.param(HALF, (4, 600), (0, 0), (3, 4, 4, 4), id="full devices, and a larger sum"),
        pytest.param(HALF, (4, 600), (0, -1), (3, 4, 4, 4), id="one full device, which is all"),
        pytest.param(HALF, (4, 400), (-1, -1), (3, 4, 4, 4), id="no devices, and too little"),
        pytest.param(HALF, (4, 600), (-1, -1), (0, 1, 4, 4), id="the sum, without devices"),
        pytest.param(HALF, (0, 1000), (500, 500), (4, 4, 4, 4), id="no room for any pod"),
        pytest.param(TWO_HALVES, (4, 1000), (500, 500), (0, 1, 1, 1), id="two devices"),
        pytest.param(TWO_HALVES, (4, 1000), (1000, 0), (3, 4, 4, 4), id="one of two devices"),
        pytest.param(SUM, (4, 600), (300, 300), (0, 1, 1, 1), id="no share of each device"),
        pytest.param(SUM, (4, 400), (400, 0), (3, 4, 4, 4), id="too little in sum"),
    ],
)
def test_a_device_is_unusable_for_pods_whose_share_it_does_not_have(
    typical, free, devices, expected
):
    pods = typical_pods(((typical, 3), (PLAIN, 1)), SHARED)
    pods.set_columns(SHARED, [SHARED[MILLI]] * 2)
    cpu, milli = free
    row = np.array([[cpu, 9, 9, 9, milli, 9, *devices]], dtype=np.int64)
    weights = pods.weights(row)[0].tolist()
    assert (weights[0], weights[4], *weights[6:]) == expected
    assert weights[1:4] == [weights[0]] * 3
    assert weights[5] == 4, "no pod requests the other devices"


def test_a_pod_that_requests_what_no_node_has_fits_nowhere():
    typical = (((("cpu", 1), ("example.com/missing", 1)), 3), (PLAIN, 1))
    pods = typical_pods(typical, COLUMNS)
    assert pods.weights(np.full((1, 5), 9, dtype=np.int64)).tolist() == [[3, 3, 3, 3, 4]]
    zero = typical_pods((((("cpu", 1), ("example.com/missing", 0)), 3),), COLUMNS)
    assert zero.weights(np.full((1, 5), 9, dtype=np.int64)).tolist() == [[0, 0, 0, 0, 3]]


def metered(pods: TypicalPods, cluster: Cluster, shares: dict[str, list[list[int]]]):
    """Measure a cluster from 0 on."""
    amounts, meter = NodeAmounts(), FragmentationMeter(pods)
    meter.advance(amounts, amounts.update(cluster.nodes), 0, as_tables(shares))
    return amounts, meter


def as_tables(shares):
    return {name: np.array(table, dtype=np.int64) for name, table in shares.items()}


def milli_cluster(*amounts: int) -> tuple[Cluster, int]:
    cluster = Cluster()
    for number, amount in enumerate(amounts):
        cluster.put(make_node(f"n{number}", resources={MILLI: amount} if amount else None))
    return cluster, cluster.nodes.resources[MILLI]


def half_requesting() -> TypicalPods:
    return typical_pods(((HALF, 3), (PLAIN, 1)), COLUMNS)


def test_what_is_free_is_counted_by_device_where_there_are_devices():
    # n0 has two devices, n1 the resource only, n2 devices that its node does not count.
    cluster, column = milli_cluster(2000, 800, 0)
    shares = {MILLI: [[700, 300], [-1, -1], [900, -1]], "unknown.example.com/x": [[5]] * 3}
    amounts, meter = metered(half_requesting(), cluster, shares)
    assert meter.free[column] == 700 + 300 + 800
    # Of 4 pods, 1 can use none of it, and the other 3 not the second device.
    assert meter.unusable[column] == (700 * 1 + 300 * 4 + 800 * 1) / 4
    assert meter.shares[MILLI].share == meter.unusable[column] / meter.free[column]
    assert len(meter.free) == len(meter.unusable) == len(amounts.columns)


def test_changed_devices_are_exchanged():
    cluster, column = milli_cluster(2000, 1000)
    before = {MILLI: [[700, 300], [400, -1]]}
    after = {MILLI: [[200, 300], [600, -1]]}
    amounts, meter = metered(half_requesting(), cluster, before)
    changed = np.arange(2, dtype=np.int64)
    meter.advance(amounts, changed[:1], 10, {MILLI: np.array([[200, 300], [400, -1]])})
    assert meter.free[column] == 200 + 300 + 400
    meter.advance(amounts, changed[1:], 20, as_tables(after))
    _, anew = metered(half_requesting(), cluster, after)
    assert (meter.free, meter.unusable) == (anew.free, anew.unusable)
    meter.end(amounts, changed[:0], 40, as_tables(after))
    held = [(700 + 1200 + 1600) / 4 / 1400, 1.0, (2000 + 600) / 4 / 1100]
    assert meter.means()[MILLI] == pytest.approx((10 * held[0] + 10 * held[1] + 20 * held[2]) / 40)


def test_nodes_are_measured_in_blocks(monkeypatch):
    cluster = Cluster()
    for number in range(1, 8):
        cluster.put(make_node(f"n{number}", cpu=number))
    whole = metered(typical_pods((((("cpu", 4000),), 1),), COLUMNS), cluster, {})[1]
    assert whole.unusable[0] == 1000 + 2000 + 3000
    monkeypatch.setattr(fragmentation_meter, "_ROWS_AT_ONCE", 2)
    blocks = metered(typical_pods((((("cpu", 4000),), 1),), COLUMNS), cluster, {})[1]
    assert blocks.unusable == whole.unusable


def test_a_resource_that_no_node_has_any_more_does_not_count():
    cluster = Cluster()
    cluster.put(make_node("n0", gpu=2))
    pods = typical_pods(((PLAIN, 1),), COLUMNS)
    amounts, meter = metered(pods, cluster, {})
    assert meter.shares[GPU_RESOURCE].share == 1.0
    cluster.put(make_node("n0"))
    meter.advance(amounts, amounts.update(cluster.nodes), 10)
    meter.end(amounts, amounts.update(cluster.nodes), 30)
    assert (meter.shares[GPU_RESOURCE].share, meter.shares[GPU_RESOURCE].lasted_ns) == (-1, 10)


def test_pods_beyond_what_a_node_has_leave_nothing_free():
    cluster = Cluster()
    cluster.put(make_node("n0", cpu=2))
    cluster.put(make_node("n1", cpu=4))
    cluster.put(make_pod("large", cpu=3, node="n0"))
    meter = metered(typical_pods(((PLAIN, 1),), COLUMNS), cluster, {})[1]
    assert meter.free[0] == 4000
