"""One call gives what the kernels of three plugins give, added up."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.fit import fit_codes
from podwright.scheduler.kernels.pair_scores import CHUNK
from podwright.scheduler.kernels.request_totals import (
    HEAD,
    PAIR_COLUMNS,
    gather_pairs,
    is_pair_recipe,
    pair_request_totals,
    request_totals,
    settle_requests,
)
from podwright.scheduler.kernels.resource_scores import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    NON_ZERO,
    REQUESTED,
    allocation_scores,
    balanced_scores,
)
from podwright.scheduler.kernels.select import count_totals

amounts = st.integers(0, 1 << 46)
nodes = st.lists(
    st.tuples(amounts, amounts, amounts, amounts, st.integers(0, 3), st.integers(0, 3)),
    min_size=1,
    max_size=300,
)
requests = st.integers(0, 1 << 40)
weights = st.integers(1, 100)


def columns(drawn):
    """Return allocatable, requested and non-zero requested: cpu, memory, storage and pods."""
    table = np.array(drawn, dtype=np.int64)
    n = len(table)
    allocatable, requested = np.zeros((2, n, 4), dtype=np.int64)
    allocatable[:, :2], allocatable[:, 3] = table[:, :2], table[:, 4]
    requested[:, :2], requested[:, 3] = table[:, 2:4], table[:, 5]
    return allocatable, requested, requested[:, :2] + np.arange(n)[:, None] % 3 * 1_000_000_000


def gathered(there):
    """Return the columns of a pair of resources, gathered slot after slot from the last."""
    found = np.zeros((PAIR_COLUMNS, len(there[0])))
    slots = np.arange(len(there[0]), dtype=np.int32)[::-1].copy()
    gather_pairs(there[0], there[1], there[2], slots, found)
    return found


def recipe_of(constant, weights, strategy, sums, shares, balance):
    head = (constant, weights[0], strategy, weights[1], len(sums), len(shares), len(balance))
    return np.array([*head, *sums, *shares, *balance], dtype=np.int64)


def apart(there, recipe, slots):
    """Return what the kernels of the three plugins give."""
    allocatable, requested, non_zero = there
    codes, shares, balances = np.zeros((3, len(allocatable)), dtype=np.int64)
    at = np.cumsum([HEAD, *recipe[4:7]])
    sums, plan, pairs = (recipe[at[i] : at[i + 1]] for i in range(3))
    fit_codes(allocatable, requested, sums, slots, codes)
    if len(plan):
        allocation_scores(allocatable, requested, non_zero, plan, recipe[2], slots, shares)
    if len(pairs):
        balanced_scores(allocatable, requested, pairs, slots, balances)
    totals = recipe[0] + recipe[1] * shares + recipe[3] * balances
    return np.where(codes == 0, totals, -1)[slots].tolist()


@pytest.mark.property
@given(
    drawn=nodes,
    cpu=requests,
    memory=requests,
    weights=st.tuples(weights, weights),
    strategy=st.sampled_from([LEAST_ALLOCATED, MOST_ALLOCATED]),
    first=st.sampled_from([0, 1]),
)
def test_a_call_for_all_slots_equals_a_call_per_slot(drawn, cpu, memory, weights, strategy, first):
    there = allocatable, requested, non_zero = columns(drawn)
    shares = (NON_ZERO, first, cpu, 2, NON_ZERO, 1 - first, memory, 1)
    pair = (first, cpu, 1 - first, memory)
    recipe = recipe_of(300, weights, strategy, pair, shares, pair)
    slots = np.arange(len(drawn), dtype=np.int32)
    one_by_one = np.empty(len(drawn), dtype=np.int32)
    at_once = np.empty(len(drawn), dtype=np.int32)
    held = np.zeros((3, len(drawn)), dtype=np.int64)
    request_totals(allocatable, requested, non_zero, recipe, slots, held, one_by_one)
    assert is_pair_recipe(recipe)
    assert pair_request_totals(gathered(there), recipe, at_once)
    assert one_by_one.tolist() == at_once.tolist() == apart(there, recipe, slots)


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
@pytest.mark.parametrize("strategy", [LEAST_ALLOCATED, MOST_ALLOCATED])
def test_any_number_of_slots_is_summed_part_by_part(count, strategy):
    drawn = [
        (4_000 + number, 9_000 - number, number * 37 % 4_100, number * 53 % 9_000, 2, number % 3)
        for number in range(count)
    ]
    there = allocatable, requested, non_zero = columns(drawn)
    pair = (0, 300, 1, 700)
    recipe = recipe_of(7, (2, 3), strategy, pair, (NON_ZERO, 0, 300, 2, NON_ZERO, 1, 700, 1), pair)
    slots = np.arange(count, dtype=np.int32)
    at_once, one_by_one = np.empty((2, count), dtype=np.int32)
    assert pair_request_totals(gathered(there), recipe, at_once)
    held = np.zeros((3, count), dtype=np.int64)
    request_totals(allocatable, requested, non_zero, recipe, slots, held, one_by_one)
    assert at_once.tolist() == one_by_one.tolist() == apart(there, recipe, slots)


def test_small_amounts_are_balanced_as_exactly_as_large_ones():
    drawn = [(4, 6, used, other, 9, 0) for used in range(5) for other in range(7)]
    there = allocatable, requested, _ = columns(drawn)
    non_zero = requested[:, :2].copy()
    recipe = recipe_of(
        0, (1, 1), LEAST_ALLOCATED, (0, 0, 1, 0), (1, 0, 0, 1, 1, 1, 0, 1), (0, 0, 1, 0)
    )
    assert is_pair_recipe(recipe)
    found = np.empty(len(drawn), dtype=np.int32)
    there = allocatable, requested, non_zero
    assert pair_request_totals(gathered(there), recipe, found)
    assert found.tolist() == apart(there, recipe, np.arange(len(drawn), dtype=np.int32))


@pytest.mark.parametrize(
    ("sums", "shares", "balance"),
    [
        pytest.param((), (), (), id="no requests and no scores"),
        pytest.param((0, 500), (NON_ZERO, 0, 500, 1), (), id="cpu alone, and no balance"),
        pytest.param((), (), (0, 500, 1, 700), id="balance alone"),
        pytest.param(
            (0, 500, 1, 700, 2, 10),
            (NON_ZERO, 0, 500, 1, REQUESTED, 2, 10, 3),
            (0, 500, 1, 700, 2, 10),
            id="three resources",
        ),
    ],
)
def test_any_plan_is_summed_for_the_requested_slots(sums, shares, balance):
    drawn = [(1_000 * i, 1_500, 300 * (i % 3), 200 * i, 2, i % 3) for i in range(9)]
    there = allocatable, requested, non_zero = columns(drawn)
    # What an earlier call left is not read.
    held = np.full((3, 9), 77, dtype=np.int64)
    recipe = recipe_of(7, (2, 3), LEAST_ALLOCATED, sums, shares, balance)
    slots = np.array([8, 6, 1, 5, 3], dtype=np.int32)
    totals = np.empty(5, dtype=np.int32)
    request_totals(allocatable, requested, non_zero, recipe, slots, held, totals)
    assert not is_pair_recipe(recipe)
    assert totals.tolist() == apart(there, recipe, slots)
    if len(sums) < 6:
        assert (max(totals.tolist()) > 7) is bool(shares or balance), "some score more"


@pytest.mark.parametrize(
    ("sums", "shares", "balance"),
    [
        pytest.param(
            (0, 1, 1, 1),
            (REQUESTED, 0, 1, 1, REQUESTED, 1, 1, 1),
            (0, 1, 1, 1),
            id="counted elsewhere",
        ),
        pytest.param(
            (0, 1, 1, 1, 1, 0),
            (NON_ZERO, 0, 1, 1, 1, 1, 0, 1),
            (1, 1, 0, 1),
            id="three requests, before numbers like those of a pair",
        ),
        pytest.param(
            (0, 1, 1, 1),
            (NON_ZERO, 0, 1, 1, NON_ZERO, 1, 1, 1, 0, 1, 1, 1),
            (0, 1, 1, 1),
            id="three shares, of which two are those of a pair",
        ),
        pytest.param(
            (0, 1, 1, 1),
            (NON_ZERO, 0, 1, 1, NON_ZERO, 1, 1, 1),
            (0, 1, 1, 1, 2, 1),
            id="three balanced resources, of which two are those of a pair",
        ),
        pytest.param(
            (0, 1, 1, 1),
            (NON_ZERO, 1, 1, 1, NON_ZERO, 0, 1, 1),
            (0, 1, 1, 1),
            id="in another order",
        ),
        pytest.param(
            (0, 1, 2, 1),
            (NON_ZERO, 0, 1, 1, NON_ZERO, 1, 1, 1),
            (0, 1, 1, 1),
            id="other resources are requested",
        ),
    ],
)
def test_other_plans_are_no_pair(sums, shares, balance):
    assert not is_pair_recipe(recipe_of(0, (1, 1), LEAST_ALLOCATED, sums, shares, balance))


@pytest.mark.parametrize(
    ("columns_read", "is_pair"),
    [
        ((0, 1), True), ((1, 0), True), ((0, 0), True), ((1, 1), True),
        ((0, 2), False), ((2, 0), False), ((1, 3), False), ((3, 1), False), ((2, 3), False),
    ],
)  # fmt: skip
def test_a_pair_is_of_what_scoring_counts(columns_read, is_pair):
    first, second = columns_read
    pair = (first, 5, second, 7)
    shares = (NON_ZERO, first, 5, 1, NON_ZERO, second, 7, 1)
    assert is_pair_recipe(recipe_of(0, (1, 1), LEAST_ALLOCATED, pair, shares, pair)) is is_pair


@pytest.mark.parametrize("place", range(16))
def test_a_pair_is_the_same_in_all_parts(place):
    parts = [0, 5, 1, 7], [NON_ZERO, 0, 5, 1, NON_ZERO, 1, 7, 1], [0, 5, 1, 7]
    numbers = [number for part in parts for number in part]
    numbers[place] = 1 - numbers[place] if numbers[place] < 2 else numbers[place] + 1
    sums, shares, balance = numbers[:4], numbers[4:12], numbers[12:]
    recipe = recipe_of(0, (1, 1), LEAST_ALLOCATED, sums, shares, balance)
    # Amounts and weights may differ, and resources may not.
    assert is_pair_recipe(recipe) is (place in (1, 3, 6, 7, 10, 11, 13, 15))


@pytest.mark.parametrize("capacity", [((1 << 46) + 1, 1), (1, (1 << 46) + 1)])
def test_a_node_that_is_too_large_is_reported(capacity):
    there = columns([(1, 1, 0, 0, 1, 0), (*capacity, 0, 0, 1, 0), (1, 1, 0, 0, 1, 0)])
    pair = (0, 1, 1, 1)
    recipe = recipe_of(0, (1, 1), 0, pair, (NON_ZERO, 0, 1, 1, NON_ZERO, 1, 1, 1), pair)
    totals = np.empty(3, dtype=np.int32)
    assert not pair_request_totals(gathered(there), recipe, totals)


@pytest.mark.property
@given(data=st.data(), drawn=nodes, cpu=requests, weights=st.tuples(weights, weights))
@pytest.mark.parametrize("is_based", [False, True])
def test_settled_totals_equal_those_that_are_counted_again(is_based, data, drawn, cpu, weights):
    allocatable, requested, non_zero = columns(drawn)
    n = len(drawn)
    shares = (NON_ZERO, 0, cpu, 2, NON_ZERO, 1, cpu, 1)
    recipe = recipe_of(300, weights, LEAST_ALLOCATED, (0, cpu), shares, (0, cpu, 1, cpu))
    added = st.lists(st.integers(-1, 200), min_size=n, max_size=n)
    base = np.array(data.draw(added) if is_based else (), dtype=np.int32)
    largest = 500 + 100 * sum(weights)

    def counted_again():
        there = apart((allocatable, requested, non_zero), recipe, np.arange(n, dtype=np.int32))
        there = np.array(there, dtype=np.int32)
        totals = np.where((there < 0) | (base < 0), -1, there + base) if is_based else there
        counts, state = np.zeros(largest + 1, dtype=np.int32), np.zeros(3, dtype=np.int64)
        count_totals(totals.astype(np.int32), counts, state)
        return totals.astype(np.int32), counts, state

    settled = counted_again()
    slots = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    slots = np.array(slots, dtype=np.int32)
    requested[slots, :2] = allocatable[slots, :2] * data.draw(st.integers(0, 8), "eighths") // 8
    held = np.zeros((3, n), dtype=np.int64)
    settle_requests(allocatable, requested, non_zero, recipe, slots, held, base, settled)
    for one, another in zip(settled, counted_again(), strict=True):
        assert one.tolist() == another.tolist()


def test_a_slot_without_a_base_is_not_feasible():
    allocatable, requested, non_zero = columns([(1000, 1000, 0, 0, 3, 0)] * 4)
    requested[3, 0] = 1000
    pair = (0, 100, 1, 100)
    shares = (NON_ZERO, 0, 100, 1, NON_ZERO, 1, 100, 1)
    recipe = recipe_of(7, (1, 1), LEAST_ALLOCATED, pair, shares, pair)
    slots = np.arange(4, dtype=np.int32)
    held, totals = np.zeros((3, 4), dtype=np.int64), np.zeros(4, dtype=np.int32)
    request_totals(allocatable, requested, non_zero, recipe, slots, held, totals)
    alone = totals.tolist()
    assert alone[3] == -1
    settled = totals, np.zeros(1_000, dtype=np.int32), np.zeros(3, dtype=np.int64)
    count_totals(totals, settled[1], settled[2])
    base = np.array([0, 5, -1, 5], dtype=np.int32)
    settle_requests(allocatable, requested, non_zero, recipe, slots, held, base, settled)
    assert settled[0].tolist() == [alone[0], alone[1] + 5, -1, -1]
