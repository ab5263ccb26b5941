"""What of the free resources is of no use, against the rule told node by node."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podwright.columns import PODS
from podwright.recording.run_tables import RunTables, Shape, _wanted, sums_of

pytestmark = pytest.mark.property

COLUMNS = {"cpu": 0, "memory": 1, "pods": PODS}
AMOUNTS = st.one_of(st.integers(0, 4), st.sampled_from([2**52, 2**53 - 1, 2**53 + 1, 2**58]))
NODES = st.lists(st.lists(AMOUNTS, min_size=4, max_size=4), max_size=6)
SHAPES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/nobody-has-it"]), st.integers(1, 2**53)
).map(lambda asked: tuple(sorted(asked.items())))
TYPICAL = st.dictionaries(SHAPES, st.integers(1, 2**40), max_size=4).map(
    lambda counts: tuple(counts.items())
)


def told_node_by_node(
    nodes: list[list[int]], typical: tuple[tuple[Shape, int], ...]
) -> list[float]:
    lost = [Fraction(0)] * 4
    total = sum(count for _, count in typical)
    for free in nodes:
        for shape, count in typical:
            has_room = all(
                free[COLUMNS[name]] >= amount if name in COLUMNS else amount <= 0
                for name, amount in shape
            )
            if free[PODS] < 1 or not has_room:
                lost = [
                    so_far + Fraction(amount * count, total)
                    for so_far, amount in zip(lost, free, strict=True)
                ]
    return [float(each) for each in lost]


@given(NODES, TYPICAL)
def test_what_is_unusable_is_weighted_by_the_typical_pods_without_room(nodes, typical):
    tables = RunTables(1)
    tables._typical, tables._wanted = typical, _wanted(typical)
    free = np.array(nodes, dtype=np.int64).reshape(len(nodes), 4)
    assert tables._unusable(free, COLUMNS) == told_node_by_node(nodes, typical)


@given(NODES, st.data())
def test_sums_are_exact_however_large(nodes, data):
    amounts = np.array(nodes, dtype=np.int64).reshape(len(nodes), 4)
    rows = st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes))
    chosen = data.draw(st.lists(rows, max_size=3))
    found = sums_of(np.array(chosen, dtype=np.bool_).reshape(len(chosen), len(nodes)), amounts)
    assert found.tolist() == [
        [
            sum(node[column] for node, is_chosen in zip(nodes, row, strict=True) if is_chosen)
            for column in range(4)
        ]
        for row in chosen
    ]
