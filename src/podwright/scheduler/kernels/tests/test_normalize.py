"""Rows of scores and verdicts, against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.normalize import (
    add_default_normalized,
    add_rows,
    extremes,
    feasible_rows,
    merge_verdicts,
)
from podwright.scheduler.kernels.tally import tally

codes = st.lists(st.integers(0, 40), max_size=40)


@pytest.mark.parametrize(
    ("raw", "is_reversed", "expected"),
    [
        pytest.param([0, 5, 10], 0, [0, 50, 100], id="the greatest becomes 100"),
        pytest.param([0, 5, 10], 1, [100, 50, 0], id="reversed, it becomes 0"),
        pytest.param([0, 0, 0], 0, [0, 0, 0], id="all zero remains zero"),
        pytest.param([0, 0, 0], 1, [100, 100, 100], id="reversed, zero is best"),
        pytest.param([1, 2, 3], 0, [33, 66, 100], id="divisions are cut off"),
        pytest.param([1, 2, 3], 1, [67, 34, 0], id="cut off before turning round"),
        pytest.param([-1, 0, 400], 0, [0, 0, 100], id="cut off towards zero, not down"),
        pytest.param([-1, 0, 400], 1, [100, 100, 0], id="also before turning round"),
        pytest.param([-5, 0, -1], 0, [-5, 0, -1], id="beside 0, negative ones are not scaled"),
        pytest.param([-5, -2, -1], 0, [-5, -2, -1], id="negative ones alone are not scaled"),
        pytest.param([-5, -2, -1], 1, [100, 100, 100], id="reversed, they are best"),
        pytest.param([-5, 0, 200], 0, [-2, 0, 100], id="negative ones remain negative"),
    ],
)
def test_default_normalisation(raw: list[int], is_reversed: int, expected: list[int]) -> None:
    before = [7, 0, 0]
    totals = np.array([*before, -1], dtype=np.int64)
    add_default_normalized(np.array([*raw, 1_000]), totals, 2, bool(is_reversed))
    found = [total + 2 * score for total, score in zip(before, expected, strict=True)]
    assert totals.tolist() == [*found, -1]


@given(st.lists(st.integers(-9, 9), max_size=9), st.data())
def test_rows_are_added_where_they_are_named(values: list[int], data: st.DataObject) -> None:
    named = data.draw(st.lists(st.sampled_from(range(len(values))), unique=True)) if values else []
    rows = np.array(named, dtype=np.int32)
    column = np.array(values, dtype=np.int64)
    totals = np.zeros(len(values), dtype=np.int64)
    add_rows(column, rows, totals, 3)
    assert totals.tolist() == [3 * v if i in named else 0 for i, v in enumerate(values)]
    picked = [values[row] for row in named] or [0]
    assert extremes(column, rows) == (min(picked), max(picked))


@given(codes)
def test_a_code_takes_a_slot_out(some: list[int]) -> None:
    totals = np.arange(len(some), dtype=np.int64)
    merge_verdicts(np.array(some, dtype=np.int64), totals)
    assert totals.tolist() == [-1 if code else slot for slot, code in enumerate(some)]
    mask = np.empty(len(some), dtype=np.bool_)
    rows = np.empty(len(some), dtype=np.int32)
    count = feasible_rows(totals, mask, rows)
    assert mask.tolist() == [code == 0 for code in some]
    assert rows[:count].tolist() == [slot for slot, code in enumerate(some) if code == 0]


@given(codes)
def test_codes_are_counted_in_the_order_in_which_they_appear(some: list[int]) -> None:
    slots = np.arange(len(some), dtype=np.int32)[::-1].copy()
    distinct, counts, passing = tally(np.array(some, dtype=np.int64), slots)
    expected = Counter(code for code in reversed(some) if code)
    assert list(zip(distinct.tolist(), counts.tolist(), strict=True)) == list(expected.items())
    assert passing.tolist() == [slot for slot in slots.tolist() if some[slot] == 0]


def test_many_distinct_codes_are_counted() -> None:
    some = [*range(40, 0, -1), *range(1, 41, 2), 0, 7, 7]
    slots = np.arange(len(some), dtype=np.int32)
    distinct, counts, passing = tally(np.array(some, dtype=np.int64), slots)
    assert distinct.tolist() == [*range(40, 0, -1)]
    expected = {code: 1 + code % 2 for code in range(1, 41)} | {7: 4}
    assert counts.tolist() == [expected[code] for code in distinct.tolist()]
    assert passing.tolist() == [60]
