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

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.fit import fit_codes
from podwright.scheduler.kernels.pair_scores import CHUNK, LARGEST, score_allocation, score_balance
from podwright.scheduler.kernels.resource_scores import allocation_scores, balanced_scores
from podwright.scheduler.kernels.select import settle

HEAD = 7
"""Numbers of a recipe before its plans."""

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
def pair_request_totals(
    allocatable: I64Matrix,
    requested: I64Matrix,
    non_zero: I64Matrix,
    recipe: I64Array,
    totals: I32Array,
) -> bool:
    """Do the same as `request_totals` for all slots, where `is_pair_recipe`.

    Parameters
    ----------
    allocatable, requested, non_zero, recipe
        As there.
    totals : (n_slots,) int32, written

    Returns
    -------
    bool
        False if a node is too large for this kernel; `totals` is undefined then.
    """
    first, second = np.uintp(recipe[HEAD]), np.uintp(recipe[HEAD + 2])
    first_request, second_request = recipe[HEAD + 1], recipe[HEAD + 3]
    share_plan, balance_plan = recipe[HEAD + 4 : HEAD + 12], recipe[HEAD + 12 :]
    constant = np.float64(recipe[0])
    share_weight, balance_weight = np.float64(recipe[1]), np.float64(recipe[3])
    held = np.empty((8, CHUNK), dtype=np.float64)
    capacity_a, used_a, counted_a = held[0], held[1], held[2]
    capacity_b, used_b, counted_b = held[3], held[4], held[5]
    shares, balances = held[6], held[7]
    fits = np.empty(CHUNK, dtype=np.bool_)
    largest = np.int64(0)
    for start in range(0, len(totals), CHUNK):
        size = min(CHUNK, len(totals) - start)
        for i in range(size):
            slot = np.uintp(start + i)
            there_a, there_b = allocatable[slot, first], allocatable[slot, second]
            taken_a, taken_b = requested[slot, first], requested[slot, second]
            largest = max(largest, there_a, there_b)
            fits[i] = (
                (requested[slot, _PODS] + 1 <= allocatable[slot, _PODS])
                & (first_request <= there_a - taken_a)
                & (second_request <= there_b - taken_b)
            )
            capacity_a[i], capacity_b[i] = there_a, there_b
            used_a[i], used_b[i] = taken_a, taken_b
            counted_a[i], counted_b[i] = non_zero[slot, first], non_zero[slot, second]
        score_allocation(
            capacity_a, counted_a, capacity_b, counted_b, share_plan, recipe[2], size, shares
        )
        score_balance(capacity_a, used_a, capacity_b, used_b, balance_plan, size, balances)
        for i in range(size):
            total = constant + share_weight * shares[i] + balance_weight * balances[i]
            totals[start + i] = np.int32(total) if fits[i] else np.int32(-1)
    return bool(largest <= LARGEST)
