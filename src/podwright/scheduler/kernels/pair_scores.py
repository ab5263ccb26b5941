"""The scores of two resources, for many slots at once.

The default configuration scores cpu and memory. `kernels.resource_scores` computes that slot by
slot. The kernels here take slots in chunks: they gather the numbers of a chunk into contiguous
float64 columns, so that the processor divides eight at a time. Every number is an integer below
2**53, or a quotient of two such integers, so float64 gives the same result as upstream's int64
arithmetic (see `kernels.division`). If a node is larger than that, the kernel returns False and
the caller falls back to `kernels.resource_scores`. A property test compares the two ways.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import F64Array, I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel

CHUNK = 256
"""Slots per chunk: the six columns of one chunk fit into the L1 cache."""

FEWEST = 64
"""With fewer slots the slot-by-slot kernels are faster."""

BALANCE = 2
"""The measure of `score_balance`, beside the two strategies of `score_allocation`."""

LARGEST = 1 << 46
"""A capacity up to here, times 100, is an exact float64."""


@kernel
def first_of_run(rows: I32Array) -> int:
    """Return the first of consecutive slots; -1 if there is a gap.

    Most calls cover all slots; consecutive slots need no look-up in `rows`.

    Parameters
    ----------
    rows : (k,) int32
    """
    if len(rows) == 0:
        return -1
    first = np.int64(rows[0])
    # The loop has no early exit, so that the compiler can vectorize it.
    is_run = True
    for i in range(len(rows)):
        is_run &= rows[i] == first + i
    return int(first) if is_run else -1


@kernel
def score_allocation(
    capacity_a: F64Array,
    used_a: F64Array,
    capacity_b: F64Array,
    used_b: F64Array,
    plan: I64Array,
    strategy: int,
    size: int,
    result: F64Array,
) -> None:
    """Score one chunk by the share of two resources that is free, or in use.

    Parameters
    ----------
    capacity_a, used_a, capacity_b, used_b : (CHUNK,) float64
        What each slot has of the two resources, and how much of that is in use.
    plan, strategy
        As for `pair_allocation_scores`.
    size : int
        How many slots there are.
    result : (CHUNK,) float64, written
    """
    first_request, second_request = plan[2], plan[6]
    first_weight, second_weight = plan[3], plan[7]
    for i in range(size):
        a, b = capacity_a[i], capacity_b[i]
        in_use_a = used_a[i] + first_request
        in_use_b = used_b[i] + second_request
        if strategy == 0:
            part_a = max(a - in_use_a, 0.0)
            part_b = max(b - in_use_b, 0.0)
        else:
            part_a = min(in_use_a, a)
            part_b = min(in_use_b, b)
        weight_a = first_weight if a > 0.0 else 0.0
        weight_b = second_weight if b > 0.0 else 0.0
        # Where a capacity is 0 its weight is 0 too; the divisor 1 only avoids 0 / 0.
        score_a = np.floor(part_a * 100.0 / max(a, 1.0))
        score_b = np.floor(part_b * 100.0 / max(b, 1.0))
        total = score_a * weight_a + score_b * weight_b
        result[i] = np.floor(total / max(weight_a + weight_b, 1.0))


@kernel
def balances(
    capacity_a: F64Array,
    used_a: F64Array,
    capacity_b: F64Array,
    used_b: F64Array,
    requests: tuple[float, float],
    size: int,
    result: F64Array,
) -> None:
    """Calculate the balance between two resources on one chunk, with a pod or without one.

    Parameters
    ----------
    capacity_a, used_a, capacity_b, used_b : (CHUNK,) float64
        What each slot has of the two resources, and how much of that is in use.
    requests : (float, float)
        The pod's; 0 without one.
    size : int
        How many slots there are.
    result : (CHUNK,) float64, written
        Whole numbers from 50 to 100.
    """
    first_request, second_request = requests
    for i in range(size):
        a, b = capacity_a[i], capacity_b[i]
        part_a = min((used_a[i] + first_request) / max(a, 1.0), 1.0)
        part_b = min((used_b[i] + second_request) / max(b, 1.0), 1.0)
        # A node that lacks one of the two has nothing to balance.
        deviation = abs((part_a - part_b) / 2.0) if (a > 0.0) & (b > 0.0) else 0.0
        result[i] = np.floor((1.0 - deviation) * 100.0)


@kernel
def score_balance(before: F64Array, size: int, result: F64Array) -> None:
    """Score one chunk by how the pod changes the balance between two resources.

    Parameters
    ----------
    before : (CHUNK,) float64
        The balances without the pod.
    size : int
        How many slots there are.
    result : (CHUNK,) float64, written
        The balances with the pod, then the scores.
    """
    for i in range(size):
        # From -50 to 50, so half of it is never negative before it is cut.
        result[i] = 50.0 + np.floor((50.0 + result[i] - before[i]) / 2.0)


@kernel
def pair_scores(
    allocatable: I64Matrix,
    used: I64Matrix,
    columns: tuple[int, int],
    plan: I64Array,
    measure: int,
    rows: I32Array,
    scores: I64Array,
) -> bool:
    """Gather the two resources of each chunk of slots, score the chunk, and write the scores.

    Parameters
    ----------
    allocatable, used, rows, scores
        As for `pair_allocation_scores`.
    columns : (int, int)
        The columns of the two resources, in both matrices.
    plan : (n,) int64
        Of the function that calculates the measure.
    measure : int
        A strategy of `score_allocation`, or `BALANCE`.

    Returns
    -------
    bool
        False if a node is too large for this kernel; `scores` is undefined then.
    """
    first, second = np.uintp(columns[0]), np.uintp(columns[1])
    work = np.empty((6, CHUNK), dtype=np.float64)
    capacity_a, used_a, capacity_b, used_b = work[0], work[1], work[2], work[3]
    before, result = work[4], work[5]
    largest = np.int64(0)
    run = first_of_run(rows)
    for start in range(0, len(rows), CHUNK):
        size = min(CHUNK, len(rows) - start)
        # Two loops: the compiler vectorizes the first, whose slots need no look-up.
        if run >= 0:
            for i in range(size):
                slot = np.uintp(run + start + i)
                there_a, there_b = allocatable[slot, first], allocatable[slot, second]
                largest = max(largest, there_a, there_b)
                capacity_a[i] = there_a
                used_a[i] = used[slot, first]
                capacity_b[i] = there_b
                used_b[i] = used[slot, second]
        else:
            for i in range(size):
                slot = np.uintp(rows[start + i])
                there_a, there_b = allocatable[slot, first], allocatable[slot, second]
                largest = max(largest, there_a, there_b)
                capacity_a[i] = there_a
                used_a[i] = used[slot, first]
                capacity_b[i] = there_b
                used_b[i] = used[slot, second]
        if measure == BALANCE:
            requests = np.float64(plan[1]), np.float64(plan[3])
            balances(capacity_a, used_a, capacity_b, used_b, (0.0, 0.0), size, before)
            balances(capacity_a, used_a, capacity_b, used_b, requests, size, result)
            score_balance(before, size, result)
        else:
            score_allocation(capacity_a, used_a, capacity_b, used_b, plan, measure, size, result)
        for i in range(size):
            slot = np.uintp(run + start + i) if run >= 0 else np.uintp(rows[start + i])
            scores[slot] = np.int64(result[i])
    return bool(largest <= LARGEST)


@kernel
def pair_allocation_scores(
    allocatable: I64Matrix,
    used: I64Matrix,
    plan: I64Array,
    strategy: int,
    rows: I32Array,
    scores: I64Array,
) -> bool:
    """Score slots by the share of two resources that is free, or in use.

    Parameters
    ----------
    allocatable : (n_slots, n_resources) int64
    used : (n_slots, >= 2) int64
        Both resources are counted here, in the columns of the plan.
    plan : (8,) int64
        As for `resource_scores.allocation_scores`.
    strategy : int
        `resource_scores.LEAST_ALLOCATED` (0) or `MOST_ALLOCATED` (1).
    rows : (k,) int32
    scores : (n_slots,) int64, written at `rows`

    Returns
    -------
    bool
        False if a node is too large for this kernel; `scores` is undefined then.
    """
    columns = (plan[1], plan[5])
    return pair_scores(allocatable, used, columns, plan, strategy, rows, scores)


@kernel
def pair_balanced_scores(
    allocatable: I64Matrix,
    requested: I64Matrix,
    plan: I64Array,
    rows: I32Array,
    scores: I64Array,
) -> bool:
    """Score slots by how the pod changes the balance between two resources.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
    plan : (4,) int64
        As for `resource_scores.balanced_scores`.
    rows : (k,) int32
    scores : (n_slots,) int64, written at `rows`

    Returns
    -------
    bool
        False if a node is too large for this kernel; `scores` is undefined then.
    """
    columns = (plan[0], plan[2])
    return pair_scores(allocatable, requested, columns, plan, BALANCE, rows, scores)
