"""Utilization: the incremental sums equal sums over all nodes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import Condition, Node, with_fields
from podwright.scheduler.columns import CPU, Cluster
from podwright.simulation.recording.usage.utilization import NodeAmounts, UtilizationMeter
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
