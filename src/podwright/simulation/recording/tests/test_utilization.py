"""Utilization: the incremental sums equal sums over all nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import Condition, Node, with_fields
from podwright.scheduler.columns import CPU, Cluster
from podwright.simulation.recording.usage.utilization import (
    NodeAmounts,
    TimeWeightedShare,
    UtilizationMeter,
    is_ready,
)
from podwright.testing import make_node, make_pod

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 3), st.integers(1, 8)),
        st.tuples(st.just("pod"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("gpu"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("remove"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("time"), st.just(0), st.integers(1, 9)),
    ),
    max_size=40,
)


@given(STEPS)
def test_means_and_peaks_equal_those_of_sums_over_all_nodes(steps):
    cluster, meter, amounts = Cluster(), UtilizationMeter(), NodeAmounts()
    now_ns = count = lasted_ns = 0
    area, peak = 0.0, 0.0
    present: dict[str, Node] = {}
    for kind, number, amount in steps:
        name = f"n{number}"
        if kind in ("node", "gpu"):
            present[name] = make_node(name, cpu=amount, gpu=amount if kind == "gpu" else 0)
            cluster.put(present[name])
        elif kind == "remove" and name in present:
            cluster.delete(present.pop(name))
        elif kind == "pod":
            cluster.put(make_pod(f"p{count}", cpu=amount, node=name))
            count += 1
        elif kind == "time":
            meter.advance(amounts, amounts.update(cluster.nodes), now_ns, now_ns + amount)
            share = cpu_share(cluster)
            if share is not None:
                area, lasted_ns, peak = area + share * amount, lasted_ns + amount, max(peak, share)
            now_ns += amount
    meter.end(amounts, amounts.update(cluster.nodes), now_ns)
    last = cpu_share(cluster)
    mean, found_peak = meter.means().get("cpu", (0.0, 0.0))
    assert found_peak == max(peak, last or 0.0)
    assert mean == pytest.approx(area / lasted_ns if lasted_ns else last or 0.0)


def cpu_share(cluster: Cluster) -> float | None:
    """Return the utilization now, by sums over all nodes."""
    nodes = cluster.nodes
    allocatable = int(nodes.allocatable[nodes.alive, CPU].sum())
    return int(nodes.requested[nodes.alive, CPU].sum()) / allocatable if allocatable else None


def test_a_node_that_is_not_ready_counts_neither_its_capacity_nor_its_pods():
    cluster, amounts = Cluster(), NodeAmounts(only_ready=True)
    cluster.put(make_node("n0", cpu=4))
    cluster.put(make_node("n1", cpu=4))
    cluster.put(make_pod("p0", cpu=1, node="n0"))
    cluster.put(make_pod("p1", cpu=4, node="n1"))
    for status, expected in (
        ("True", (8000, 5000)),
        ("Unknown", (4000, 1000)),
        ("True", (8000, 5000)),
    ):
        conditions = (Condition(type="Ready", status=status),)
        cluster.put(with_fields(make_node("n1", cpu=4), "status", conditions=conditions))
        amounts.update(cluster.nodes)
        assert (amounts.allocatable_sums[CPU], amounts.requested_sums[CPU]) == expected
    assert NodeAmounts().update(cluster.nodes) is None


def amounts_of(allocatable: int, requested: int) -> NodeAmounts:
    """Return amounts of one resource."""
    amounts = NodeAmounts()
    amounts.columns = {"cpu": 0}
    amounts.allocatable_sums = np.array([allocatable])
    amounts.requested_sums = np.array([requested])
    return amounts


SLOT = np.array([0])
NO_SLOT = SLOT[:0]


@pytest.mark.parametrize(
    ("steps", "mean", "peak"),
    [
        # Each step: allocatable, requested, and how long it lasts.
        pytest.param([(10, 4, 30), (10, 8, 10)], (0.4 * 30 + 0.8 * 10) / 40, 0.8, id="two"),
        pytest.param([(10, 4, 30), (10, 9, 0), (10, 8, 10)], 0.5, 0.8, id="one lasts no time"),
        pytest.param([(10, 4, 30), (10, 9, 0)], 0.4, 0.9, id="the last one counts as a peak"),
        pytest.param([(10, 4, 0)], 0.4, 0.4, id="the only one lasts no time"),
        pytest.param([(10, 4, 30), (0, 0, 50)], 0.4, 0.4, id="a time without the resource"),
        pytest.param([(0, 0, 50), (10, 4, 30)], 0.4, 0.4, id="a time before the resource"),
        pytest.param([(10, 4, 10), (0, 0, 50), (10, 6, 10)], 0.5, 0.6, id="a time between"),
        pytest.param([(10, 0, 10)], 0.0, 0.0, id="nothing requested"),
        pytest.param([(10, 12, 10)], 1.2, 1.2, id="more than there is"),
    ],
)
def test_means_are_weighted_by_time_and_peaks_lasted(steps, mean, peak):
    meter, now_ns = UtilizationMeter(), 100
    amounts = NodeAmounts()
    for allocatable, requested, lasts_ns in steps:
        amounts = amounts_of(allocatable, requested)
        meter.advance(amounts, SLOT, now_ns, now_ns + lasts_ns)
        now_ns += lasts_ns
    meter.end(amounts, NO_SLOT, now_ns)
    assert list(meter.means()) == ["cpu"]
    assert meter.means()["cpu"] == pytest.approx((mean, peak))


@pytest.mark.parametrize(("share", "mean"), [(-1.0, 0.0), (0.0, 0.0), (0.5, 0.5), (1.5, 1.5)])
def test_the_mean_of_what_has_not_lasted_is_the_last_share(share, mean):
    assert TimeWeightedShare(share=share, since_ns=5).mean == mean


def test_a_share_holds_until_it_changes():
    found = TimeWeightedShare(share=0.5, since_ns=10)
    found.change(0.5, 14)
    assert found == TimeWeightedShare(share=0.5, since_ns=10)
    found.change(0.25, 16)
    assert found == TimeWeightedShare(share=0.25, since_ns=16, area_ns=3.0, lasted_ns=6)
    found.change(-1, 18)
    # While no node has the resource, no time passes for the mean.
    found.change(1.0, 30)
    assert found == TimeWeightedShare(share=1.0, since_ns=30, area_ns=3.5, lasted_ns=8)
    assert found.mean == 3.5 / 8


def test_a_resource_that_no_node_ever_had_is_not_measured():
    meter = UtilizationMeter()
    meter.end(amounts_of(0, 0), None, 10)
    assert meter.means() == {}


def test_nothing_is_measured_again_where_no_slot_changed():
    meter = UtilizationMeter()
    meter.advance(amounts_of(10, 4), None, 0, 10)
    meter.advance(amounts_of(10, 8), NO_SLOT, 10, 20)
    assert meter.uses["cpu"].share == 0.4
    meter.advance(amounts_of(10, 8), None, 20, 30)
    assert (meter.uses["cpu"].share, meter.uses["cpu"].lasted_ns) == (0.8, 20)


def updated(amounts: NodeAmounts, cluster: Cluster) -> list[int] | None:
    slots = amounts.update(cluster.nodes)
    return None if slots is None else slots.tolist()


def test_an_update_returns_the_slots_that_may_have_changed():
    cluster, amounts = Cluster(), NodeAmounts()
    for name in ("n0", "n1", "n2"):
        cluster.put(make_node(name))
    assert updated(amounts, cluster) is None
    assert updated(amounts, cluster) == []
    cluster.put(make_pod("a", cpu=1, node="n2"))
    cluster.put(make_node("n2", cpu=8))
    cluster.put(make_pod("b", cpu=1, node="n0"))
    assert updated(amounts, cluster) == [0, 2]
    assert amounts.requested[:3, CPU].tolist() == [1000, 0, 1000]
    assert amounts.allocatable[:3, CPU].tolist() == [4000, 4000, 8000]
    assert (amounts.requested_sums[CPU], amounts.allocatable_sums[CPU]) == (2000, 16000)
    cluster.put(make_node("n1", gpu=1))
    assert updated(amounts, cluster) is None, "there is one more column"
    assert amounts.columns == dict(cluster.nodes.resources)


@pytest.mark.parametrize("only_ready", [False, True])
@pytest.mark.parametrize("most", ["nodes", "pods", "conditions"])
def test_each_journal_is_read_from_where_it_was_read_last(most, only_ready):
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(make_node(name))
    # Of one kind of change there have been many more than of the others.
    for number in range(9):
        match most:
            case "nodes":
                cluster.put(make_node("n0", cpu=4 + number % 2))
            case "pods":
                cluster.put(make_pod(f"p{number}", cpu="1m", node="n0"))
            case _:
                ready = (Condition(type="Ready", status=("True", "False")[number % 2]),)
                cluster.put(with_fields(make_node("n0"), "status", conditions=ready))
    amounts = NodeAmounts(only_ready=only_ready)
    assert updated(amounts, cluster) is None
    assert updated(amounts, cluster) == []
    cluster.put(make_pod("a", cpu=1, node="n1"))
    assert updated(amounts, cluster) == [1]
    cluster.put(make_node("n1", cpu=8))
    assert updated(amounts, cluster) == [1]


def test_conditions_concern_only_those_who_count_ready_nodes():
    cluster = Cluster()
    cluster.put(make_node("n0", cpu=4))
    all_nodes, ready = NodeAmounts(), NodeAmounts(only_ready=True)
    for each in (all_nodes, ready):
        each.update(cluster.nodes)
    conditions = (Condition(type="Ready", status="False"),)
    cluster.put(with_fields(make_node("n0", cpu=4), "status", conditions=conditions))
    all_nodes.update(cluster.nodes)
    assert updated(ready, cluster) == [0]
    assert (all_nodes.allocatable_sums[CPU], ready.allocatable_sums[CPU]) == (4000, 0)
    assert not ready.allocatable[0].any()


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], True),
        ([("Ready", "True")], True),
        ([("Ready", "False")], False),
        ([("Ready", "Unknown")], False),
        ([("MemoryPressure", "False"), ("Ready", "True")], True),
        ([("DiskPressure", "True"), ("Ready", "False")], False),
    ],
)
def test_a_node_is_ready_unless_its_condition_is_not_true(conditions, expected):
    listed = tuple(Condition(type=kind, status=status) for kind, status in conditions)
    assert is_ready(with_fields(make_node("n"), "status", conditions=listed)) is expected


@pytest.mark.parametrize("many", ["nodes", "pods", "conditions"])
def test_all_slots_are_read_again_after_more_changes_than_are_kept(many):
    cluster, amounts = Cluster(), NodeAmounts(only_ready=True)
    nodes = [make_node("n0", cpu=4), make_node("n0", cpu=5)]
    pods = [make_pod("p", cpu=1, node="n0"), make_pod("p", cpu=2, node="n0")]
    ready = [(Condition(type="Ready", status=status),) for status in ("False", "True")]
    changing = [with_fields(nodes[1], "status", conditions=each) for each in ready]
    cluster.put(nodes[1])
    cluster.put(make_node("n1", cpu=8))
    cluster.put(pods[1])
    assert updated(amounts, cluster) is None
    for number in range(5000):
        match many:
            case "nodes":
                cluster.put(nodes[number % 2])
            case "pods":
                cluster.put(pods[number % 2])
            case _:
                cluster.put(changing[number % 2])
    assert updated(amounts, cluster) is None
    assert (amounts.requested_sums[CPU], amounts.allocatable_sums[CPU]) == (2000, 13000)
    assert updated(amounts, cluster) == []
