"""Selection of one node from totals: the maximum, and the tie rules.

In all kernels a total of -1 marks a slot that is not feasible.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.scheduler.kernels._jit import kernel

BLOCK = 512
"""Slots per block of `pick_settled`."""

BEST, TIES, FEASIBLE = 0, 1, 2
"""Positions in the state array of `settle`."""


@kernel
def pick_drawn(totals: I64Array, draw: int, found: I64Array) -> int:
    """Return one of the slots with the greatest total, each equally likely.

    Parameters
    ----------
    totals : (n_slots,) int64
        -1 where not feasible.
    draw : int
        In [0, 2**31).
    found : (3,) int64, written
        The greatest total, how many slots have it, and how many are feasible.

    Returns
    -------
    int
        The slot; -1 if none is feasible.
    """
    best = np.int64(-1)
    ties = 0
    feasible = 0
    for slot in range(len(totals)):
        total = totals[slot]
        if total < 0:
            continue
        feasible += 1
        if total > best:
            best = total
            ties = 1
        elif total == best:
            ties += 1
    found[0] = best
    found[1] = ties
    found[2] = feasible
    if ties == 0:
        return -1
    # Scales the draw from [0, 2**31) to [0, ties); the product fits an int64.
    left = (draw * ties) >> 31
    for slot in range(len(totals)):
        if totals[slot] == best:
            if left == 0:
                return slot
            left -= 1
    return -1


@kernel
def sift_down(totals: I64Array, heap: I32Array, start: int, count: int) -> None:
    """Sift down the slot at `start` until no child is strictly greater, like Go's `down`.

    Parameters
    ----------
    totals : (n_slots,) int64
    heap : (k,) int32, written
        Slots; the first `count` of them are the heap.
    start, count : int
    """
    parent = start
    while True:
        child = 2 * parent + 1
        if child >= count:
            break
        right = child + 1
        if right < count and totals[heap[right]] > totals[heap[child]]:
            child = right
        if totals[heap[child]] <= totals[heap[parent]]:
            break
        held = heap[parent]
        heap[parent] = heap[child]
        heap[child] = held
        parent = child


@kernel
def make_heap(totals: I64Array, order: I32Array) -> I32Array:
    """Return the slots of `order` as Go's container/heap arranges them: (k,) int32.

    Parameters
    ----------
    totals : (n_slots,) int64
        The greatest is on top.
    order : (k,) int32
        Slots.
    """
    heap = order.copy()
    count = len(heap)
    for start in range(count // 2 - 1, -1, -1):
        sift_down(totals, heap, start, count)
    return heap


@kernel
def pop_heap(totals: I64Array, heap: I32Array, count: int) -> int:
    """Take the top off a heap, as Go's `Pop` does: the last slot takes its place and sinks.

    Parameters
    ----------
    totals : (n_slots,) int64
    heap : (k,) int32, written
        As `make_heap` made it; afterwards the first `count - 1` slots are the heap.
    count : int
        How many slots are in the heap; at least one.

    Returns
    -------
    int
        The slot that was at the top.
    """
    last = count - 1
    top = heap[0]
    heap[0] = heap[last]
    heap[last] = top
    sift_down(totals, heap, 0, last)
    return int(top)


@kernel
def pick_by_heap(totals: I64Array, order: I32Array) -> int:
    """Return the slot that 1.36 takes: the top of a heap made over the nodes found.

    Parameters
    ----------
    totals : (n_slots,) int64
        -1 where not feasible.
    order : (k,) int32
        The feasible slots in the order in which they were found.

    Returns
    -------
    int
        The slot; -1 if `order` is empty.

    Notes
    -----
    Go's container/heap sifts down from the middle to the front; a child goes up only if it
    is strictly greater, and the left child is taken unless the right one is strictly
    greater. Upstream: pkg/scheduler/schedule_one.go, `nodeScoreHeap`.
    """
    if len(order) == 0:
        return -1
    return int(make_heap(totals, order)[0])


@kernel
def find_in_order(
    feasible: Mask, order: I32Array, start: int, target_count: int
) -> tuple[int, int]:
    """Walk `order` from `start`, wrapping around, until `target_count` feasible slots are found.

    Parameters
    ----------
    feasible : (n_slots,) bool
    order : (k,) int32
        Slots in visiting order.
    start : int
        Position in `order` where the walk starts.
    target_count : int
        The number of feasible slots at which the walk ends.

    Returns
    -------
    (found, visited)
        The numbers of feasible slots (at most `target_count`) and of positions visited up to
        the last of them. The feasible slot after that, which makes upstream stop, is not counted.
    """
    found = 0
    n = len(order)
    for visited in range(n):
        position = start + visited
        if position >= n:
            position -= n
        if feasible[order[position]]:
            if found == target_count:
                return found, visited
            found += 1
    return found, n


@kernel
def feasible_of(totals: I64Array, slots: I32Array) -> I32Array:
    """Return the slots whose total is not -1, in the order given.

    Parameters
    ----------
    totals : (n_slots,) int64
    slots : (k,) int32
    """
    found = np.empty(len(slots), dtype=np.int32)
    n = 0
    for slot in slots:
        if totals[slot] >= 0:
            found[n] = slot
            n += 1
    return found[:n]


@kernel
def has_code(codes: I64Array) -> bool:
    """Return whether any slot has a code.

    Parameters
    ----------
    codes : (n_slots,) int64
    """
    # The loop has no early exit, so that the compiler can vectorize it.
    seen = np.int64(0)
    for slot in range(len(codes)):
        seen |= codes[slot]
    return bool(seen != 0)


@kernel
def add_weighted(values: I64Array, weight: int, totals: I32Array) -> None:
    """Add weight x value to every total.

    Parameters
    ----------
    values : (n_slots,) int64
    weight : int
    totals : (n_slots,) int32, written
    """
    for slot in range(len(totals)):
        totals[slot] += np.int32(weight * values[slot])


@kernel
def reject(codes: I64Array, totals: I32Array) -> None:
    """Mark as not feasible (-1) every slot that has a code.

    Parameters
    ----------
    codes : (n_slots,) int64
    totals : (n_slots,) int32, written
    """
    for slot in range(len(totals)):
        if codes[slot] != 0:
            totals[slot] = -1


@kernel
def add_up_pair(
    first: I64Array,
    first_weight: int,
    second: I64Array,
    second_weight: int,
    constant: int,
    totals: I32Array,
) -> None:
    """Write the totals of two score rows and a constant; the usual case.

    Parameters
    ----------
    first, second : (n_slots,) int64
    first_weight, second_weight : int
    constant : int
    totals : (n_slots,) int32, written
    """
    for slot in range(len(totals)):
        total = constant + first_weight * first[slot] + second_weight * second[slot]
        totals[slot] = np.int32(total)


@kernel
def count_totals(totals: I32Array, counts: I32Array, state: I64Array) -> None:
    """Count the slots per total, from scratch.

    Parameters
    ----------
    totals : (n_slots,) int32
        -1 where not feasible.
    counts : (largest + 1,) int32, written
    state : (3,) int64, written
        As `settle` keeps it.
    """
    counts[:] = 0
    best = np.int32(-1)
    feasible = 0
    for slot in range(len(totals)):
        total = totals[slot]
        if total >= 0:
            counts[total] += 1
            feasible += 1
            best = max(best, total)
    state[BEST] = best
    state[TIES] = counts[best] if best >= 0 else 0
    state[FEASIBLE] = feasible


@kernel
def sum_up(totals: I32Array, state: I64Array) -> None:
    """Find what `count_totals` finds, where nothing is going to change.

    Parameters
    ----------
    totals : (n_slots,) int32
        -1 where not feasible.
    state : (3,) int64, written
        As `settle` keeps it.
    """
    best = np.int32(-1)
    for slot in range(len(totals)):
        best = max(best, totals[slot])
    feasible = np.int32(0)
    ties = np.int32(0)
    for slot in range(len(totals)):
        feasible += totals[slot] >= 0
        ties += totals[slot] == best
    state[BEST] = best
    state[TIES] = ties if best >= 0 else 0
    state[FEASIBLE] = feasible


@kernel
def settle(
    slots: I32Array, new_totals: I32Array, totals: I32Array, counts: I32Array, state: I64Array
) -> None:
    """Update the totals of some slots and the count of slots per total.

    Parameters
    ----------
    slots : (k,) int32
    new_totals : (k,) int32
        Per entry of `slots`; -1 where not feasible.
    totals : (n_slots,) int32, written
    counts : (largest + 1,) int32, written
        How many slots have each total.
    state : (3,) int64, written
        Greatest total (`BEST`; -1: none), slots that have it, feasible slots.
    """
    best = state[BEST]
    feasible = state[FEASIBLE]
    for i in range(len(slots)):
        slot = slots[i]
        old = totals[slot]
        new = new_totals[i]
        if new == old:
            continue
        totals[slot] = new
        if old >= 0:
            counts[old] -= 1
            feasible -= 1
        if new >= 0:
            counts[new] += 1
            feasible += 1
            best = max(best, np.int64(new))
    # Only after all updates: a later slot may have the total that an earlier one lost.
    while best >= 0 and counts[best] == 0:
        best -= 1
    state[BEST] = best
    state[TIES] = counts[best] if best >= 0 else 0
    state[FEASIBLE] = feasible


@kernel
def pick_settled(totals: I32Array, state: I64Array, draw: int) -> int:
    """Return one of the slots with the greatest total, each equally likely.

    Parameters
    ----------
    totals : (n_slots,) int32
    state : (3,) int64
        As `settle` left it.
    draw : int
        In [0, 2**31).

    Returns
    -------
    int
        The slot; -1 if none is feasible. The same slot as `pick_drawn` would take.
    """
    ties = state[TIES]
    if ties == 0:
        return -1
    best = np.int32(state[BEST])
    left = (draw * ties) >> 31
    n = len(totals)
    # Whole blocks first: counting equal values in a fixed-length run is done many at a time.
    start = 0
    while start + BLOCK <= n:
        here = 0
        for slot in range(start, start + BLOCK):
            here += totals[slot] == best
        if here > left:
            break
        left -= here
        start += BLOCK
    for slot in range(start, n):
        if totals[slot] == best:
            if left == 0:
                return slot
            left -= 1
    return -1
