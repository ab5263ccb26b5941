"""Fit and resource scores of a pod in one call: the results of three plugins, summed.

NodeResourcesFit and NodeResourcesBalancedAllocation run for every pod, and read the same few
numbers of a node. Their parameters are encoded in one array, the *recipe*, so that a call for a
single slot has few arguments, and a call for all slots reads each number once:

    constant, share weight, strategy, balance weight, a, b, c, sums..., shares..., balance...

`constant` is added to every slot; a, b and c are the lengths of the three plans that follow: of
`fit.fit_codes`, of `resource_scores.allocation_scores`, and of
`resource_scores.balanced_scores`. A score that is not enabled has an empty plan.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import F64Matrix, I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.fit import fit_codes
from podwright.scheduler.kernels.pair_scores import (
    CHUNK,
    LARGEST,
    balances,
    score_allocation,
    score_balance,
)
from podwright.scheduler.kernels.resource_scores import allocation_scores, balanced_scores
from podwright.scheduler.kernels.select import settle

HEAD = 7
"""Numbers of a recipe before its plans."""

PAIR_COLUMNS = 8
"""Columns of `gather_pairs`."""

_PODS = 3


@kernel
def request_totals(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    recipe: I64Array,
    slots: I32Array,
    held: I64Matrix,
    totals: I32Array,
) -> None:
    """Write the totals of the slots in `slots`.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
    non_zero : (n_slots, 2) int64
    recipe : (HEAD + a + b + c,) int64
    slots : (k,) int32
    held : (3, n_slots) int64, written
        Room.
    totals : (k,) int32, written
        Per entry of `slots`; -1 where the pod does not fit.
    """
    shares_at = HEAD + recipe[4]
    balance_at = shares_at + recipe[5]
    codes, shares, balances = held[0], held[1], held[2]
    fit_codes(allocatable, requested, recipe[HEAD:shares_at], slots, codes)
    if recipe[5]:
        plan = recipe[shares_at:balance_at]
        allocation_scores(allocatable, requested, non_zero, plan, recipe[2], slots, shares)
    if recipe[6]:
        balanced_scores(allocatable, requested, recipe[balance_at:], slots, balances)
    for i in range(len(slots)):
        slot = np.uintp(slots[i])
        total = recipe[0]
        if recipe[5]:
            total += recipe[1] * shares[slot]
        if recipe[6]:
            total += recipe[3] * balances[slot]
        totals[i] = np.int32(total) if codes[slot] == 0 else np.int32(-1)


@kernel
def settle_requests(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    recipe: I64Array,
    slots: I32Array,
    held: I64Matrix,
    base: I32Array,
    settled: tuple[I32Array, I32Array, I64Array],
) -> None:
    """Update the totals of some slots, as `request_totals` and `select.settle` do together.

    Parameters
    ----------
    allocatable, requested, non_zero, recipe, slots, held
        As in `request_totals`.
    base : (n_slots,) int32
        What is added to each slot; -1 where the pod does not fit. Empty: nothing.
    settled : (totals, counts, state)
        As in `select.settle`, written.
    """
    new_totals = np.empty(len(slots), dtype=np.int32)
    request_totals(allocatable, requested, non_zero, recipe, slots, held, new_totals)
    if len(base):
        for i in range(len(slots)):
            added = base[slots[i]]
            if added < 0:
                new_totals[i] = -1
            elif new_totals[i] >= 0:
                new_totals[i] += added
    totals, counts, state = settled
    settle(slots, new_totals, totals, counts, state)


@kernel
def is_pair_recipe(recipe: I64Array) -> bool:
    """Return whether all three read the same two resources, as they do for cpu and memory."""
    if recipe[4] != 4 or recipe[5] != 8 or recipe[6] != 4:
        return False
    first, second = recipe[HEAD], recipe[HEAD + 2]
    shares, balance = HEAD + 4, HEAD + 12
    return bool(
        # Counted as scoring counts them, of which there are two.
        recipe[shares] == 1
        and recipe[shares + 4] == 1
        and first < 2
        and second < 2
        and recipe[shares + 1] == first
        and recipe[shares + 5] == second
        and recipe[balance] == first
        and recipe[balance + 2] == second
    )


@kernel
def gather_pairs(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    slots: I32Array,
    columns: F64Matrix,
) -> None:
    """Copy what `pair_request_totals` reads of some slots.

    Parameters
    ----------
    allocatable, requested, non_zero
        As in `request_totals`.
    slots : (k,) int32
    columns : (PAIR_COLUMNS, n_slots) float64, written at `slots`
        CPU and memory that a node has, that is requested, and that is counted by scores; how many
        pods fit; the balance without a pod.
    """
    none = 0.0, 0.0
    for i in range(len(slots)):
        slot = np.uintp(slots[i])
        for resource in range(2):
            columns[resource, slot] = allocatable[slot, resource]
            columns[2 + resource, slot] = requested[slot, resource]
            columns[4 + resource, slot] = non_zero[slot, resource]
        columns[6, slot] = allocatable[slot, _PODS] - requested[slot, _PODS]
        here = columns[:, slot : slot + 1]
        balances(here[0], here[2], here[1], here[3], none, 1, here[7])


@kernel
def pair_request_totals(columns: F64Matrix, recipe: I64Array, totals: I32Array) -> bool:
    """Do the same as `request_totals` for all slots, where `is_pair_recipe`.

    Parameters
    ----------
    columns : (PAIR_COLUMNS, n_slots) float64
        As `gather_pairs` writes them: a processor takes eight numbers of a column at a time.
    recipe
        As there.
    totals : (n_slots,) int32, written

    Returns
    -------
    bool
        False if a node is too large for this kernel; `totals` is undefined then.
    """
    first, second = recipe[HEAD], recipe[HEAD + 2]
    first_request, second_request = np.float64(recipe[HEAD + 1]), np.float64(recipe[HEAD + 3])
    requests = first_request, second_request
    share_plan = recipe[HEAD + 4 : HEAD + 12]
    constant, share_weight, balance_weight = recipe[0], recipe[1], recipe[3]
    held = np.empty((2, CHUNK), dtype=np.float64)
    shares, after = held[0], held[1]
    is_small = True
    for start in range(0, len(totals), CHUNK):
        size = min(CHUNK, len(totals) - start)
        end = start + size
        capacity_a, capacity_b = columns[first, start:end], columns[second, start:end]
        used_a, used_b = columns[2 + first, start:end], columns[2 + second, start:end]
        counted_a, counted_b = columns[4 + first, start:end], columns[4 + second, start:end]
        pods_left, before = columns[6, start:end], columns[7, start:end]
        chunk = totals[start:end]
        score_allocation(
            capacity_a, counted_a, capacity_b, counted_b, share_plan, recipe[2], size, shares
        )
        balances(capacity_a, used_a, capacity_b, used_b, requests, size, after)
        score_balance(before, size, after)
        for i in range(size):
            is_small &= (capacity_a[i] <= LARGEST) & (capacity_b[i] <= LARGEST)
            fits = (
                (pods_left[i] >= 1.0)
                & (first_request <= capacity_a[i] - used_a[i])
                & (second_request <= capacity_b[i] - used_b[i])
            )
            total = constant + share_weight * shares[i] + balance_weight * after[i]
            chunk[i] = np.int32(total) if fits else np.int32(-1)
    return is_small
