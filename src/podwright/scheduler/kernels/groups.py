"""Totals of slots in few groups, where each group gets one additional score.

Slots are counted per group and local total. So the greatest local total of each group is
available without a scan, and from it, for any scores of the groups, the greatest of all totals.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I32Matrix, I64Array, I64Matrix, Mask
from podwright.scheduler.kernels._jit import kernel

BLOCK = 256
"""Slots per block of `pick_of_groups`."""

BEST, SIZE = 0, 1
"""Rows of the state that `count_groups` makes."""


# Where several plugins group the slots, the group of a slot is a number whose digits are the
# groups of the plugins. The last digit, with the stride 1, is that of the first plugin.


@kernel
def add_digit(slots: I32Array, digits: I32Array, stride: int, groups: I32Array) -> None:
    """Add the digit of another plugin to the groups of slots.

    Parameters
    ----------
    slots : (k,) int32
        A slot may be named twice.
    digits : (n_slots,) int32
        The groups of the plugin, at `slots`.
    stride : int
        How many groups there are without this digit.
    groups : (n_slots,) int32, written
        At `slots`.
    """
    for i in range(len(slots)):
        slot = slots[i]
        groups[slot] = np.int32(groups[slot] % stride + stride * digits[slot])


@kernel
def close_groups(rejected: Mask, stride: int, closed: Mask) -> None:
    """Close the groups with a digit that its plugin rejects.

    Parameters
    ----------
    rejected : (base,) bool
        By digit.
    stride : int
        Of the digit.
    closed : (n_groups,) bool, written
    """
    base = len(rejected)
    for group in range(len(closed)):
        closed[group] |= rejected[group // stride % base]


@kernel
def open_sizes(sizes: I64Array, closed: Mask, stride: int, found: I64Array) -> None:
    """Count the slots of open groups by their first digit.

    Parameters
    ----------
    sizes : (n_groups,) int64
    closed : (n_groups,) bool
    stride : int
        Of the first digit.
    found : (n_groups / stride,) int64, written
    """
    found[:] = 0
    for group in range(len(sizes)):
        if not closed[group]:
            found[group // stride] += sizes[group]


@kernel
def open_points(points: I64Array, closed: Mask, stride: int, found: I64Array) -> None:
    """Give each group the points of its first digit, -1 if it is closed.

    Parameters
    ----------
    points : (n_groups / stride,) int64
        0 for all if there are none.
    closed : (n_groups,) bool
    stride : int
        Of the first digit.
    found : (n_groups,) int64, written
    """
    for group in range(len(found)):
        of_digit = points[group // stride] if len(points) else np.int64(0)
        found[group] = np.int64(-1) if closed[group] else of_digit


@kernel
def count_groups(
    totals: I32Array,
    groups: I32Array,
    least: int,
    counts: I32Matrix,
    state: I64Matrix,
) -> None:
    """Count the feasible slots per group and local total, from scratch.

    Parameters
    ----------
    totals : (n_slots,) int32
        -1 where not feasible.
    groups : (n_slots,) int32
        The group of each feasible slot.
    least : int
        The total of the first column of `counts`.
    counts : (n_groups, n) int32, written
        Per group, how many feasible slots have each total.
    state : (2, n_groups) int64, written
        `BEST`: the greatest total in each group, less `least`, and -1 in empty ones. `SIZE`:
        how many feasible slots are in each.
    """
    counts[:] = 0
    best, sizes = state[BEST], state[SIZE]
    best[:] = -1
    sizes[:] = 0
    for slot in range(len(totals)):
        if totals[slot] >= 0:
            group = groups[slot]
            column = totals[slot] - least
            counts[group, column] += 1
            sizes[group] += 1
            best[group] = max(best[group], column)


@kernel
def regroup(
    slots: I32Array,
    new_totals: I32Array,
    new_groups: I32Array,
    totals: I32Array,
    groups: I32Array,
    least: int,
    counts: I32Matrix,
    state: I64Matrix,
) -> None:
    """Update the totals and groups of some slots.

    Parameters
    ----------
    slots : (k,) int32
    new_totals : (k,) int32
        Per entry of `slots`; -1 where not feasible.
    new_groups : (n_slots,) int32
        Read at `slots`.
    totals, groups : (n_slots,) int32, written
    least, counts, state
        As in `count_groups`; the last two are written.
    """
    best, sizes = state[BEST], state[SIZE]
    for i in range(len(slots)):
        slot = slots[i]
        if totals[slot] >= 0:
            group = groups[slot]
            counts[group, totals[slot] - least] -= 1
            sizes[group] -= 1
            # Only a removal can lower the greatest total: to the next one that some slot has.
            while best[group] >= 0 and counts[group, best[group]] == 0:
                best[group] -= 1
        totals[slot] = new_totals[i]
        groups[slot] = new_groups[slot]
        if totals[slot] >= 0:
            group = groups[slot]
            column = totals[slot] - least
            counts[group, column] += 1
            sizes[group] += 1
            best[group] = max(best[group], column)


@kernel
def pick_of_groups(
    totals: I32Array,
    groups: I32Array,
    least: int,
    counts: I32Matrix,
    state: I64Matrix,
    scores: I64Array,
    weight: int,
    draw: int,
) -> tuple[int, int, int, int]:
    """Return one of the slots with the greatest total, each equally likely.

    Parameters
    ----------
    totals, groups : (n_slots,) int32
    least, counts, state
        As in `count_groups`.
    scores : (n_groups,) int64
        What slots of each group get, times `weight`, on top of their local total; -1 for groups
        that are not feasible.
    weight : int
    draw : int
        In [0, 2**31).

    Returns
    -------
    (slot, total, ties, feasible)
        The slot, -1 if none is feasible, as `select.pick_drawn` would take it; the greatest
        total; how many slots have it, and how many are feasible.
    """
    best = state[BEST]
    feasible = np.int64(0)
    greatest = np.int64(-1)
    ties = np.int64(0)
    # -2 equals no total; -1 would select the slots that are not feasible.
    target = np.full(len(best), -2, dtype=np.int64)
    for group in range(len(best)):
        if best[group] < 0 or scores[group] < 0:
            continue
        feasible += state[SIZE, group]
        total = least + best[group] + weight * scores[group]
        if total > greatest:
            greatest = total
            ties = np.int64(0)
            # These groups were tied at a lower total.
            target[:group] = -2
        if total == greatest:
            ties += counts[group, best[group]]
            target[group] = least + best[group]
    left = (draw * ties) >> 31
    n = len(totals) if ties else 0
    # Whole blocks first, without branches in the loop.
    start = 0
    while start + BLOCK <= n:
        here = 0
        for slot in range(start, start + BLOCK):
            here += totals[slot] == target[groups[slot]]
        if here > left:
            break
        left -= here
        start += BLOCK
    for slot in range(start, n):
        if totals[slot] == target[groups[slot]]:
            if left == 0:
                return slot, int(greatest), int(ties), int(feasible)
            left -= 1
    return -1, int(greatest), int(ties), int(feasible)
