"""The kernels against plain Python that follows upstream line by line."""

import math

import numpy as np
import pytest

from podwright.scheduler.kernels.resource_scores import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    NON_ZERO,
    REQUESTED,
    allocation_scores,
    balanced_scores,
    shaped_scores,
)

ONE = np.zeros(1, dtype=np.int32)


def arrays(capacity, used):
    capacity = np.array([capacity], dtype=np.int64)
    used = np.array([used], dtype=np.int64)
    return capacity, used


def plan_of(requests, weights, source=REQUESTED):
    rows = [(source, i, r, w) for i, (r, w) in enumerate(zip(requests, weights, strict=True))]
    return np.array(rows, dtype=np.int64).reshape(-1)


def score(kernel, capacity, used, plan, *settings):
    allocatable, requested = arrays(capacity, used)
    out = np.full(1, -1, dtype=np.int64)
    kernel(allocatable, requested, requested, plan, *settings, ONE, out)
    return int(out[0])


def plain_allocation(capacity, used, weights, strategy):
    total = weight_sum = 0
    for c, u, w in zip(capacity, used, weights, strict=True):
        if c == 0:
            continue
        if strategy == LEAST_ALLOCATED:
            total += w * (0 if u > c else (c - u) * 100 // c)
        else:
            total += w * (min(u, c) * 100 // c)
        weight_sum += w
    return total // weight_sum if weight_sum else 0


def plain_balance(capacity, used):
    fractions = [min(u / c, 1.0) for c, u in zip(capacity, used, strict=True) if c]
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return int((1 - deviation) * 100)


@pytest.mark.parametrize(
    ("strategy", "capacity", "used", "request_", "expected"),
    [
        pytest.param(LEAST_ALLOCATED, [4000], [1000], [1000], 50, id="half is free"),
        pytest.param(LEAST_ALLOCATED, [4000], [4000], [1], 0, id="overcommitted"),
        pytest.param(LEAST_ALLOCATED, [0], [0], [1], 0, id="the node has none of it"),
        pytest.param(LEAST_ALLOCATED, [3, 0], [0, 5], [1, 1], 66, id="absent ones do not count"),
        pytest.param(MOST_ALLOCATED, [4000], [1000], [1000], 50, id="half is in use"),
        pytest.param(MOST_ALLOCATED, [4000], [5000], [1], 100, id="more than all is all"),
    ],
)
def test_allocation_scores(strategy, capacity, used, request_, expected):
    plan = plan_of(request_, [1] * len(request_))
    assert score(allocation_scores, capacity, used, plan, strategy) == expected


@pytest.mark.parametrize("strategy", [LEAST_ALLOCATED, MOST_ALLOCATED])
def test_allocation_scores_agree_with_plain_python(strategy):
    draws = np.random.default_rng(11)
    for most in (10, 10**4, 2**40, 2**53 // 100 + 5, 2**56):
        for _ in range(200):
            capacity = draws.integers(0, most, 3).tolist()
            used = draws.integers(0, most, 3).tolist()
            request = draws.integers(0, most // 2, 3).tolist()
            weights = draws.integers(1, 101, 3).tolist()
            after = [u + r for u, r in zip(used, request, strict=True)]
            expected = plain_allocation(capacity, after, weights, strategy)
            plan = plan_of(request, weights, NON_ZERO)
            assert score(allocation_scores, capacity, used, plan, strategy) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param([0, 0], 0, id="all score zero"),
        pytest.param([10, 0], 10, id="a resource that scores zero is left out"),
        pytest.param([10, 11], 11, id="a half is rounded up"),
        pytest.param([1, 60], 31, id="a score of one is none of zero"),
        pytest.param([200, 200], 100, id="more than all is the end of the shape"),
    ],
)
def test_shaped_scores(used, expected):
    shape = np.arange(101, dtype=np.int64)
    plan = plan_of([0, 0], [1, 1])
    assert score(shaped_scores, [100, 100], used, plan, shape) == expected


def test_shaped_scores_of_a_node_that_lacks_a_resource_and_of_the_counts_for_scoring():
    allocatable = np.array([[0, 200], [100, 100]], dtype=np.int64)
    requested = np.array([[5, 20], [50, 60]], dtype=np.int64)
    non_zero = np.array([[7, 40], [70, 80]], dtype=np.int64)
    shape = np.arange(101, dtype=np.int64)
    rows = np.arange(2, dtype=np.int32)
    scores = np.full(2, -1, dtype=np.int64)
    # 24 or 44 of 200; (52 + 2 x 64) / 3, or (72 + 2 x 84) / 3.
    for source, expected in ((REQUESTED, [12, 60]), (NON_ZERO, [22, 80])):
        plan = plan_of([2, 4], [1, 2], source)
        shaped_scores(allocatable, requested, non_zero, plan, shape, rows, scores)
        assert scores.tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_balanced_scores_agree_with_plain_python(n):
    draws = np.random.default_rng(n)
    for most in (10, 10**4, 2**40, 2**60):
        for _ in range(300):
            capacity = draws.integers(0, most, n).tolist()
            used = draws.integers(0, most, n).tolist()
            request = draws.integers(0, most // 2, n).tolist()
            after = [u + r for u, r in zip(used, request, strict=True)]
            change = 50 + plain_balance(capacity, after) - plain_balance(capacity, used)
            expected = 50 + (abs(change) // 2) * (1 if change >= 0 else -1)
            allocatable, requested = arrays(capacity, used)
            plan = np.array(list(enumerate(request)), dtype=np.int64).reshape(-1)
            out = np.full(1, -1, dtype=np.int64)
            balanced_scores(allocatable, requested, plan, ONE, out)
            assert int(out[0]) == expected


def test_a_utilization_is_the_whole_of_the_shape_up_to_the_greatest_product():
    shape = np.full(101, 5, dtype=np.int64)
    shape[0], shape[99:] = 3, 7
    amount = (2**63 - 1) // 100
    assert score(shaped_scores, [amount], [amount], plan_of([0], [1]), shape) == 7
