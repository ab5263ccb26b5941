"""Fragmentation, against the definition applied node by node."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podwright.columns import PODS
from podwright.recording.fragmentation import Shape, TypicalPods, sums_of

pytestmark = pytest.mark.property

GPU = "example.com/gpu"
COLUMNS = {"cpu": 0, "memory": 1, "pods": PODS, GPU: 4}
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


@given(NODES, TYPICAL)
def test_unusable_amounts_are_weighted_by_the_typical_pods(nodes, typical):
    pods = TypicalPods()
    pods._set_typical(typical)
    free = np.array(nodes, dtype=np.int64).reshape(len(nodes), 5)
    assert pods.unusable(free, COLUMNS) == node_by_node(nodes, typical)


@given(NODES, st.data())
def test_sums_are_exact_however_large(nodes, data):
    amounts = np.array(nodes, dtype=np.int64).reshape(len(nodes), 5)
    rows = st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes))
    chosen = data.draw(st.lists(rows, max_size=3))
    found = sums_of(np.array(chosen, dtype=np.bool_).reshape(len(chosen), len(nodes)), amounts)
    assert found.tolist() == [
        [
            sum(node[column] for node, is_chosen in zip(nodes, row, strict=True) if is_chosen)
            for column in range(5)
        ]
        for row in chosen
    ]
