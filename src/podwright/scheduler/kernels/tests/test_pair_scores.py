"""Both ways of scoring two resources give the same."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.pair_scores import (
    CHUNK,
    LARGEST,
    balances,
    first_of_run,
    pair_allocation_scores,
    pair_balanced_scores,
    score_allocation,
    score_balance,
)
from podwright.scheduler.kernels.resource_scores import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED,
    allocation_scores,
    balanced_scores,
)

amounts = st.integers(0, 1 << 46)
slots = st.lists(st.tuples(amounts, amounts, amounts, amounts), min_size=1, max_size=300)
requests = st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40))


# All slots, a run of them that does not begin with the first, or one with a gap.
left_out = st.none() | st.integers(0, 300)


def rows_of(nodes, without):
    return np.array([slot for slot in range(len(nodes)) if slot != without], dtype=np.int32)


def columns(nodes):
    table = np.array(nodes, dtype=np.int64)
    return np.ascontiguousarray(table[:, :2]), np.ascontiguousarray(table[:, 2:])


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        pytest.param([], -1, id="no slots"),
        pytest.param([3], 3, id="one slot"),
        pytest.param([0, 1, 2], 0, id="all slots"),
        pytest.param([4, 5, 6], 4, id="a run further on"),
        pytest.param([0, 2, 3], -1, id="a gap"),
        pytest.param([0, 2, 1, 3], -1, id="between the right ends, out of order"),
    ],
)
def test_slots_that_follow_each_other_are_a_run(rows, first):
    assert first_of_run(np.array(rows, dtype=np.int32)) == first


@pytest.mark.property
@given(
    nodes=slots,
    request=requests,
    weights=st.tuples(st.integers(1, 100), st.integers(1, 100)),
    without=left_out,
)
@pytest.mark.parametrize("strategy", [LEAST_ALLOCATED, MOST_ALLOCATED])
def test_allocation_scores_are_equal_in_chunks_and_slot_by_slot(
    nodes, request, weights, without, strategy
):
    allocatable, used = columns(nodes)
    plan = np.array(
        [REQUESTED, 0, request[0], weights[0], REQUESTED, 1, request[1], weights[1]],
        dtype=np.int64,
    )
    one_by_one = np.zeros(len(nodes), dtype=np.int64)
    in_chunks = np.zeros(len(nodes), dtype=np.int64)
    rows = rows_of(nodes, without)
    allocation_scores(allocatable, used, used, plan, strategy, rows, one_by_one)
    assert pair_allocation_scores(allocatable, used, plan, strategy, rows, in_chunks)
    assert in_chunks.tolist() == one_by_one.tolist()


@pytest.mark.property
@given(nodes=slots, request=requests, without=left_out)
def test_balance_scores_are_equal_in_chunks_and_slot_by_slot(nodes, request, without):
    allocatable, used = columns(nodes)
    plan = np.array([0, request[0], 1, request[1]], dtype=np.int64)
    one_by_one = np.zeros(len(nodes), dtype=np.int64)
    in_chunks = np.zeros(len(nodes), dtype=np.int64)
    rows = rows_of(nodes, without)
    balanced_scores(allocatable, used, plan, rows, one_by_one)
    assert pair_balanced_scores(allocatable, used, plan, rows, in_chunks)
    assert in_chunks.tolist() == one_by_one.tolist()


def test_one_chunk_is_scored_with_upstreams_formula():
    capacity_a, used_a = np.array([4000.0, 4000.0, 0.0]), np.array([1000.0, 4000.0, 0.0])
    capacity_b, used_b = np.array([8000.0, 8000.0, 8000.0]), np.array([2000.0, 0.0, 2000.0])
    result = np.zeros(3)
    plan = np.array([REQUESTED, 0, 1000, 1, REQUESTED, 1, 0, 1])
    score_allocation(capacity_a, used_a, capacity_b, used_b, plan, LEAST_ALLOCATED, 3, result)
    # (50 + 75) / 2; none free and all free; and the second resource alone.
    assert result.tolist() == [62, 50, 75]
    before = np.zeros(3)
    balances(capacity_a, used_a, capacity_b, used_b, (0.0, 0.0), 3, before)
    balances(capacity_a, used_a, capacity_b, used_b, (1000.0, 0.0), 3, result)
    # 1/4 and 1/4 become 1/2 and 1/4; full and empty are unchanged; no pair to balance.
    assert before.tolist() == [100, 50, 100]
    assert result.tolist() == [87, 50, 100]
    score_balance(before, 3, result)
    assert result.tolist() == [50 + (50 + 87 - 100) // 2, 75, 75]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([0, 1, 2], id="a run"),
        pytest.param([1, 2], id="a run further on"),
        pytest.param([2, 0], id="slots in any order"),
        pytest.param([2, 0, 1], id="all slots in another order"),
    ],
)
def test_slots_are_scored_where_they_are(rows):
    # cpu and memory: half free and a quarter free, then the reverse, then all free.
    allocatable = np.array([[4000, 8000], [8000, 4000], [100, 100]], dtype=np.int64)
    used = np.array([[1000, 5000], [5000, 1000], [0, 0]], dtype=np.int64)
    slots = np.array(rows, dtype=np.int32)
    plan = np.array([REQUESTED, 0, 1000, 3, REQUESTED, 1, 1000, 1], dtype=np.int64)

    def written(kernel, *settings):
        scores = np.full(3, -1, dtype=np.int64)
        assert kernel(allocatable, used, *settings, slots, scores)
        return scores.tolist()

    def at_rows(expected):
        return [score if slot in rows else -1 for slot, score in enumerate(expected)]

    # The third node is overcommitted by the request: nothing is free, and all is in use.
    assert written(pair_allocation_scores, plan, LEAST_ALLOCATED) == at_rows([43, 31, 0])
    assert written(pair_allocation_scores, plan, MOST_ALLOCATED) == at_rows([56, 68, 100])
    pair = np.array([0, 1000, 1, 0], dtype=np.int64)
    # A balance of 81 becomes 93; one of 81 becomes 75; one of 100 becomes 50.
    assert written(pair_balanced_scores, pair) == at_rows([81, 72, 50])


def test_a_node_beyond_float64_is_left_to_the_other_kernel():
    huge = np.array([[1 << 60, 1]], dtype=np.int64)
    rows = np.zeros(1, dtype=np.int32)
    out = np.zeros(1, dtype=np.int64)
    assert not pair_balanced_scores(huge, huge, np.array([0, 1, 1, 1]), rows, out)


@pytest.mark.parametrize("rows", [[0, 1], [1, 0]])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(("capacity", "is_scored"), [(LARGEST, True), (LARGEST + 1, False)])
def test_the_largest_capacity_of_any_node_counts(rows, column, capacity, is_scored):
    allocatable = np.ones((2, 2), dtype=np.int64)
    allocatable[1, column] = capacity
    used, scores = np.zeros((2, 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
    plan = np.array([0, 1, 1, 1], dtype=np.int64)
    slots = np.array(rows, dtype=np.int32)
    assert pair_balanced_scores(allocatable, used, plan, slots, scores) is is_scored


def test_the_balance_before_is_that_without_the_pod():
    allocatable, used = np.array([[2, 4]]), np.array([[1, 2]])
    plan, rows = np.array([0, 1, 1, 0]), np.zeros(1, dtype=np.int32)
    for kernel in (pair_balanced_scores, balanced_scores):
        scores = np.zeros(1, dtype=np.int64)
        kernel(allocatable, used, plan, rows, scores)
        # Both halves are in use; with the pod, all of the first.
        assert scores.tolist() == [50 + (50 + 75 - 100) // 2]


@pytest.mark.parametrize("capacity", [(0, 4), (4, 0), (0, 0), (4, 4), (1, 1)])
@pytest.mark.parametrize("used", [(0, 0), (0, 2), (2, 0), (1, 3)])
@pytest.mark.parametrize("requests", [(1, 0), (0, 1), (1, 2)])
def test_a_resource_that_a_node_lacks_is_not_balanced(capacity, used, requests):
    allocatable, requested = np.array([capacity]), np.array([used])
    plan, rows = np.array([0, requests[0], 1, requests[1]]), np.zeros(1, dtype=np.int32)
    at_once, apart = np.zeros((2, 1), dtype=np.int64)
    assert pair_balanced_scores(allocatable, requested, plan, rows, at_once)
    balanced_scores(allocatable, requested, plan, rows, apart)
    assert at_once.tolist() == apart.tolist()
    if 0 in capacity:
        # Without a pair nothing changes, which scores 75.
        assert at_once.tolist() == [75]


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("is_run", [True, False])
def test_any_number_of_slots_is_scored_chunk_by_chunk(count, first, is_run):
    n = 2 * count + first + 1
    nodes = [(4_000 + i, 9_000 - i, i * 37 % 4_100, i * 53 % 9_000) for i in range(n)]
    allocatable, used = columns(nodes)
    rows = np.arange(first, first + count, dtype=np.int32)
    if not is_run:
        rows = np.ascontiguousarray(2 * rows[::-1] - first)
    plan = np.array([REQUESTED, 0, 300, 2, REQUESTED, 1, 700, 3], dtype=np.int64)
    pair = np.array([0, 300, 1, 700], dtype=np.int64)
    at_once, apart = np.full((2, n), -1, dtype=np.int64)
    for strategy in (LEAST_ALLOCATED, MOST_ALLOCATED):
        assert pair_allocation_scores(allocatable, used, plan, strategy, rows, at_once)
        allocation_scores(allocatable, used, used, plan, strategy, rows, apart)
        assert at_once.tolist() == apart.tolist()
        assert (at_once >= 0).sum() == count
    assert pair_balanced_scores(allocatable, used, pair, rows, at_once)
    balanced_scores(allocatable, used, pair, rows, apart)
    assert at_once.tolist() == apart.tolist()


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (2, 0), (1, 2), (0, 2), (2, 1)])
@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0]])
def test_a_pair_may_be_any_two_columns(pair, rows):
    allocatable = np.array([[4_000, 8_000, 100], [8_000, 4_000, 70], [100, 900, 5]])
    used = np.array([[1_000, 5_000, 30], [5_000, 1_000, 60], [0, 0, 1]])
    slots, (a, b) = np.array(rows, dtype=np.int32), pair
    plan = np.array([REQUESTED, a, 20, 3, REQUESTED, b, 10, 1], dtype=np.int64)
    at_once, apart = np.full((2, 3), -1, dtype=np.int64)
    for strategy in (LEAST_ALLOCATED, MOST_ALLOCATED):
        assert pair_allocation_scores(allocatable, used, plan, strategy, slots, at_once)
        allocation_scores(allocatable, used, used[:, :2].copy(), plan, strategy, slots, apart)
        assert at_once.tolist() == apart.tolist()
    balance = np.array([a, 20, b, 10], dtype=np.int64)
    assert pair_balanced_scores(allocatable, used, balance, slots, at_once)
    balanced_scores(allocatable, used, balance, slots, apart)
    assert at_once.tolist() == apart.tolist()
