"""Scores of a node's free or requested resources.

The parameters of `allocation_scores` and `shaped_scores` are encoded in a plan, one array of
rows of `PLAN_WIDTH` numbers, so that a call for a single slot has few arguments. A row has the
location of a resource and the pod's request: (source, column, request, weight). `source` is
`REQUESTED` for the columns of all resources, and `NON_ZERO` for cpu and memory with the default
requests of scoring. Indices are unsigned, which saves the check for negative indices.

Upstream: pkg/scheduler/framework/plugins/noderesources/, resource_allocation.go,
least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go, balanced_allocation.go
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.division import divide

PLAN_WIDTH = 4
REQUESTED, NON_ZERO = 0, 1

LEAST_ALLOCATED, MOST_ALLOCATED = 0, 1
"""The strategies of `allocation_scores`."""


@kernel
def allocation_scores(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    plan: I64Array,
    strategy: int,
    rows: I32Array,
    scores: I64Array,
) -> None:
    """Score slots by the share of their resources that is free, or in use.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
    non_zero : (n_slots, 2) int64
    plan : (PLAN_WIDTH * n_scored,) int64
    strategy : int
        `LEAST_ALLOCATED` or `MOST_ALLOCATED`.
    rows : (k,) int32
    scores : (n_slots,) int64, written at `rows`
        0 to 100: the weighted mean over the resources that the node has.
    """
    n_scored = len(plan) // PLAN_WIDTH
    for row in rows:
        slot = np.uintp(row)
        total = np.int64(0)
        weights = np.int64(0)
        for i in range(n_scored):
            column = np.uintp(plan[PLAN_WIDTH * i + 1])
            capacity = allocatable[slot, column]
            if capacity == 0:
                continue
            used = plan[PLAN_WIDTH * i + 2]
            if plan[PLAN_WIDTH * i] == NON_ZERO:
                used += non_zero[slot, column]
            else:
                used += requested[slot, column]
            weight = plan[PLAN_WIDTH * i + 3]
            # `used` can exceed the capacity: pods without requests count with defaults.
            if strategy == LEAST_ALLOCATED:
                score = np.int64(0)
                if used <= capacity:
                    score = divide((capacity - used) * 100, capacity)
            else:
                score = divide(min(used, capacity) * 100, capacity)
            total += score * weight
            weights += weight
        # Upstream cuts off twice, per resource and here; one division would give other scores.
        scores[slot] = divide(total, weights) if weights != 0 else 0


@kernel
def shaped_scores(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    plan: I64Array,
    shape: I64Array,
    rows: I32Array,
    scores: I64Array,
) -> None:
    """Score slots by a function of how much of each resource is in use.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
    non_zero : (n_slots, 2) int64
    plan : (PLAN_WIDTH * n_scored,) int64
    shape : (101,) int64
        The score for 0 to 100 per cent of utilization.
    rows : (k,) int32
    scores : (n_slots,) int64, written at `rows`

    Notes
    -----
    A resource that scores 0 is left out, with its weight; the mean is rounded, halves away
    from zero.
    """
    n_scored = len(plan) // PLAN_WIDTH
    for row in rows:
        slot = np.uintp(row)
        total = np.int64(0)
        weights = np.int64(0)
        for i in range(n_scored):
            column = np.uintp(plan[PLAN_WIDTH * i + 1])
            capacity = allocatable[slot, column]
            if capacity == 0:
                continue
            used = plan[PLAN_WIDTH * i + 2]
            if plan[PLAN_WIDTH * i] == NON_ZERO:
                used += non_zero[slot, column]
            else:
                used += requested[slot, column]
            utilization = np.int64(100)
            if used <= capacity:
                # Outside 0..100 only if the product overflowed: the ends of the shape apply then.
                utilization = divide(used * 100, capacity)
                utilization = min(max(utilization, np.int64(0)), np.int64(100))
            score = shape[np.uintp(utilization)]
            if score > 0:
                weight = plan[PLAN_WIDTH * i + 3]
                total += score * weight
                weights += weight
        if weights == 0:
            scores[slot] = 0
        else:
            # Go's `math.Round` for values that are not negative; NumPy's rounds halves to even.
            scores[slot] = np.int64(np.floor(total / weights + 0.5))


@kernel
def balanced_scores(
    allocatable: I64Matrix,
    requested: I64Matrix,
    plan: I64Array,
    rows: I32Array,
    scores: I64Array,
) -> None:
    """Score slots by how the pod changes the balance between their resources.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
    plan : (2 * n_scored,) int64
        Pairs of resource column and the pod's request.
    rows : (k,) int32
    scores : (n_slots,) int64, written at `rows`
        75 if the pod changes nothing, more if the node is better balanced with it.

    Notes
    -----
    Balance is (1 - deviation) * 100, truncated to an integer, where deviation is the standard
    deviation of the requested fractions. Two fractions have a separate formula. The order of
    operations is upstream's, because the last bit can decide the truncated value.
    """
    n_scored = len(plan) // 2
    for row in rows:
        slot = np.uintp(row)
        n = 0
        before = after = 0.0
        sum_before = sum_after = 0.0
        first_before = first_after = 0.0
        for i in range(n_scored):
            column = np.uintp(plan[2 * i])
            capacity = allocatable[slot, column]
            if capacity == 0:
                continue
            used = requested[slot, column]
            before = min(used / capacity, 1.0)
            after = min((used + plan[2 * i + 1]) / capacity, 1.0)
            if n == 0:
                first_before = before
                first_after = after
            sum_before += before
            sum_after += after
            n += 1
        deviation_before = deviation_after = 0.0
        # The deviation of two values is half their difference; `before` and `after` are the second.
        if n == 2:
            deviation_before = abs((first_before - before) / 2)
            deviation_after = abs((first_after - after) / 2)
        elif n > 2:
            mean_before = sum_before / n
            mean_after = sum_after / n
            squares_before = squares_after = 0.0
            for i in range(n_scored):
                column = np.uintp(plan[2 * i])
                capacity = allocatable[slot, column]
                if capacity == 0:
                    continue
                used = requested[slot, column]
                before = min(used / capacity, 1.0)
                after = min((used + plan[2 * i + 1]) / capacity, 1.0)
                squares_before += (before - mean_before) * (before - mean_before)
                squares_after += (after - mean_after) * (after - mean_after)
            deviation_before = np.sqrt(squares_before / n)
            deviation_after = np.sqrt(squares_after / n)
        # A deviation of fractions is at most 0.5, so the change is from -50 to 50.
        change = np.int64((1 - deviation_after) * 100) - np.int64((1 - deviation_before) * 100)
        scores[slot] = 50 + divide(50 + change, np.int64(2))
