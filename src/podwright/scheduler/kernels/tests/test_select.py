"""Choosing a slot: each kernel compared with plain Python."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import TIE_STREAM, draw
from podwright.scheduler.kernels.select import (
    BEST,
    BLOCK,
    FEASIBLE,
    TIES,
    add_up_pair,
    add_weighted,
    count_totals,
    feasible_of,
    find_in_order,
    has_code,
    make_heap,
    pick_by_heap,
    pick_drawn,
    pick_settled,
    pop_heap,
    reject,
    settle,
    sift_down,
    sum_up,
)

LARGEST = 6
some_totals = st.lists(st.integers(-1, LARGEST), max_size=12)
draws = st.integers(0, 2**31 - 1)


def settled(totals: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    column = np.array(totals, dtype=np.int32)
    # What they contain does not matter: all of it is written.
    counts = np.full(LARGEST + 1, 7, dtype=np.int32)
    state = np.full(3, 7, dtype=np.int64)
    count_totals(column, counts, state)
    return column, counts, state


def best_slots(totals: list[int]) -> list[int]:
    best = max(totals, default=-1)
    return [slot for slot, total in enumerate(totals) if total == best] if best >= 0 else []


@given(some_totals, draws)
def test_a_drawn_slot_is_the_best_one_at_the_drawn_position(totals: list[int], number: int) -> None:
    found = np.zeros(3, dtype=np.int64)
    slot = pick_drawn(np.array(totals, dtype=np.int64), number, found)
    best = best_slots(totals)
    assert slot == (best[number * len(best) >> 31] if best else -1)
    assert found.tolist() == [max(totals, default=-1), len(best), sum(t >= 0 for t in totals)]


@given(some_totals)
def test_settled_totals_are_summarized_as_if_counted(totals: list[int]) -> None:
    column, _, counted = settled(totals)
    state = np.zeros(3, dtype=np.int64)
    sum_up(column, state)
    assert state.tolist() == counted.tolist()


@given(some_totals, st.integers(1, 2 * BLOCK), draws)
def test_settled_totals_give_the_slot_that_a_scan_gives(
    totals: list[int], repeated: int, number: int
) -> None:
    totals = (totals * repeated)[: 3 * BLOCK]
    column, _, state = settled(totals)
    scanned = pick_drawn(column.astype(np.int64), number, np.zeros(3, dtype=np.int64))
    assert pick_settled(column, state, number) == scanned


@given(
    st.lists(st.integers(-1, LARGEST), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(-1, LARGEST)), max_size=8),
)
def test_settling_changes_equals_counting_from_scratch(
    totals: list[int], changes: list[tuple[int, int]]
) -> None:
    column, counts, state = settled(totals)
    slots = [slot % len(totals) for slot, _ in changes]
    # A slot that is named twice has the same new total both times.
    new = {slot: total for slot, (_, total) in zip(slots, changes, strict=True)}
    settle(
        np.array(slots, dtype=np.int32),
        np.array([new[slot] for slot in slots], dtype=np.int32),
        column,
        counts,
        state,
    )
    expected, expected_counts, expected_state = settled(
        [new.get(slot, total) for slot, total in enumerate(totals)]
    )
    assert column.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()
    assert state[[BEST, TIES, FEASIBLE]].tolist() == expected_state[[BEST, TIES, FEASIBLE]].tolist()


@pytest.mark.parametrize(
    ("totals", "changes", "state"),
    [
        pytest.param([3, 5, 5], {}, [5, 2, 3], id="nothing changes"),
        pytest.param([3, 5, 5], {1: 4}, [5, 1, 3], id="one of the best loses"),
        pytest.param([3, 5, 5], {1: 4, 2: 3}, [4, 1, 3], id="all of the best lose"),
        pytest.param([3, 5, 5], {0: 6}, [6, 1, 3], id="another one is the best"),
        pytest.param([3, 5], {1: 3, 0: 5}, [5, 1, 2], id="another gets what the best one had"),
        pytest.param([3, 5], {1: -1}, [3, 1, 1], id="the best one is not feasible any more"),
        pytest.param([0, -1], {0: -1}, [-1, 0, 0], id="the last one with a total of 0 goes"),
        pytest.param([1, 0], {0: -1}, [0, 1, 1], id="one with a total of 0 is left"),
        pytest.param([6, 2], {0: -1, 1: -1}, [-1, 0, 0], id="no slot is left"),
        pytest.param([-1, -1], {1: 0}, [0, 1, 1], id="the first feasible one"),
    ],
)
def test_the_best_after_changes(
    totals: list[int], changes: dict[int, int], state: list[int]
) -> None:
    column, counts, found = settled(totals)
    slots = np.array([*changes], dtype=np.int32)
    settle(slots, np.array([*changes.values()], dtype=np.int32), column, counts, found)
    assert found[[BEST, TIES, FEASIBLE]].tolist() == state
    summed = np.zeros(3, dtype=np.int64)
    sum_up(column, summed)
    assert summed.tolist() == found.tolist()


@given(some_totals)
def test_the_heap_brings_up_a_best_slot(totals: list[int]) -> None:
    column = np.array(totals, dtype=np.int64)
    order = np.arange(len(totals), dtype=np.int32)[column >= 0]
    slot = pick_by_heap(column, order)
    assert slot in (best_slots(totals) or [-1])


@pytest.mark.parametrize(
    ("totals", "slot"),
    [
        pytest.param([], -1, id="no slot"),
        pytest.param([5, 5, 5], 0, id="equal ones are not moved"),
        pytest.param([1, 5, 5], 1, id="the left child wins a tie"),
        pytest.param([1, 1, 2, 5, 5], 3, id="the first one is kept"),
        pytest.param([0, 3, 4, 4, 0], 3, id="a tie is decided on the way up"),
    ],
)
def test_the_heap_takes_the_slot_that_go_takes(totals: list[int], slot: int) -> None:
    order = np.arange(len(totals), dtype=np.int32)
    assert pick_by_heap(np.array(totals, dtype=np.int64), order) == slot


@given(some_totals)
def test_a_heap_gives_up_its_slots_best_first(totals: list[int]) -> None:
    column = np.array(totals, dtype=np.int64)
    heap = make_heap(column, np.arange(len(totals), dtype=np.int32))
    popped = [pop_heap(column, heap, count) for count in range(len(totals), 0, -1)]
    assert sorted(popped) == list(range(len(totals)))
    assert [totals[slot] for slot in popped] == sorted(totals, reverse=True)


@pytest.mark.parametrize(
    ("totals", "popped"),
    [
        pytest.param([5, 5, 5], [0, 2, 1], id="the last of equals takes the top's place"),
        pytest.param([5, 5, 5, 5, 5], [0, 4, 3, 2, 1], id="and is kept there"),
        pytest.param([1, 5, 5], [1, 2, 0], id="the one that was sifted down is last"),
    ],
)
def test_the_heap_gives_up_its_slots_in_the_order_of_go(
    totals: list[int], popped: list[int]
) -> None:
    column = np.array(totals, dtype=np.int64)
    heap = make_heap(column, np.arange(len(totals), dtype=np.int32))
    assert [pop_heap(column, heap, count) for count in range(len(totals), 0, -1)] == popped
    # As after Go's Pop, what was taken off is behind the heap.
    assert heap.tolist() == popped[::-1]


def test_a_heap_leaves_the_order_of_which_it_is_made() -> None:
    order = np.array([2, 0, 1], dtype=np.int32)
    totals = np.array([1, 9, 5], dtype=np.int64)
    assert make_heap(totals, order).tolist() == [1, 0, 2]
    assert pick_by_heap(totals, order) == 1
    assert order.tolist() == [2, 0, 1]


def test_a_slot_sinks_past_its_greater_children_only_within_the_heap() -> None:
    heap = np.array([0, 1, 2, 3], dtype=np.int32)
    sift_down(np.array([1, 3, 2, 9], dtype=np.int64), heap, 0, 3)
    assert heap.tolist() == [1, 0, 2, 3]


@given(
    st.lists(st.booleans(), min_size=1, max_size=9),
    st.integers(0, 8),
    st.integers(1, 9),
)
def test_a_walk_ends_before_the_feasible_slot_that_is_too_many(
    feasible: list[bool], start: int, count: int
) -> None:
    start %= len(feasible)
    order = np.arange(len(feasible), dtype=np.int32)
    walked = [*feasible[start:], *feasible[:start]]
    visited = next(
        (at for at in range(len(walked)) if walked[at] and sum(walked[:at]) == count), len(walked)
    )
    found = find_in_order(np.array(feasible), order, start, count)
    assert found == (sum(walked[:visited]), visited)


@given(some_totals, st.randoms(use_true_random=False))
def test_the_feasible_slots_keep_the_order_in_which_they_are_given(
    totals: list[int], random: Random
) -> None:
    slots = random.sample(range(len(totals)), random.randint(0, len(totals)))
    found = feasible_of(np.array(totals, dtype=np.int64), np.array(slots, dtype=np.int32))
    assert found.dtype == np.int32
    assert found.tolist() == [slot for slot in slots if totals[slot] >= 0]


@given(some_totals, st.integers(-3, 3))
def test_rows_are_added_and_rejected_slot_by_slot(values: list[int], weight: int) -> None:
    totals = np.ones(len(values), dtype=np.int32)
    add_weighted(np.array(values, dtype=np.int64), weight, totals)
    assert totals.tolist() == [1 + weight * value for value in values]
    codes = np.array([max(value, 0) for value in values], dtype=np.int64)
    reject(codes, totals)
    expected = [-1 if value > 0 else 1 + weight * value for value in values]
    assert totals.tolist() == expected
    assert has_code(codes) == any(value > 0 for value in values)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100))), st.integers(0, 9))
def test_two_rows_are_summed_in_one_call(rows: list[tuple[int, int]], constant: int) -> None:
    first = np.array([a for a, _ in rows], dtype=np.int64)
    second = np.array([b for _, b in rows], dtype=np.int64)
    totals = np.full(len(rows), -1, dtype=np.int32)
    add_up_pair(first, 2, second, 3, constant, totals)
    assert totals.tolist() == [constant + 2 * a + 3 * b for a, b in rows]


def test_draws_are_spread_evenly() -> None:
    drawn = [draw(7, TIE_STREAM, counter) * 4 >> 31 for counter in range(4_000)]
    assert all(900 < drawn.count(quarter) < 1_100 for quarter in range(4))
    assert drawn[:8] == [draw(7, TIE_STREAM, counter) * 4 >> 31 for counter in range(8)]
