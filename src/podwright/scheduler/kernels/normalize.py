"""Normalization of raw scores to 0..100, and sums of rows."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.division import divide


@kernel
def add_default_normalized(
    raw: I64Array,
    totals: I64Array,
    weight: int,
    is_reversed: bool,  # noqa: FBT001 - kernels take no keywords
) -> None:
    """Add weight x normalized score to the totals of all feasible slots.

    Parameters
    ----------
    raw : (n_slots,) int64
    totals : (n_slots,) int64, written
        -1 marks slots that are not feasible; they neither count nor change.
    weight : int
    is_reversed : bool
        Whether the greatest raw score becomes 0; else it becomes 100.

    Notes
    -----
    Divisions are cut off towards zero, as Go's: a slightly negative raw score becomes 0.
    Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go
    """
    # As upstream's, the maximum starts at 0: negative raw scores alone are not scaled.
    greatest = np.int64(0)
    for slot in range(len(raw)):
        if totals[slot] >= 0:
            greatest = max(greatest, raw[slot])
    if greatest == 0:
        if is_reversed:
            for slot in range(len(raw)):
                if totals[slot] >= 0:
                    totals[slot] += weight * 100
        else:
            for slot in range(len(raw)):
                if totals[slot] >= 0:
                    totals[slot] += weight * raw[slot]
        return
    for slot in range(len(raw)):
        if totals[slot] >= 0:
            score = divide(100 * raw[slot], greatest)
            if is_reversed:
                score = 100 - score
            totals[slot] += weight * score


@kernel
def add_rows(values: I64Array, rows: I32Array, totals: I64Array, weight: int) -> None:
    """Add weight x value to the totals of some slots.

    Parameters
    ----------
    values : (n_slots,) int64
    rows : (k,) int32
    totals : (n_slots,) int64, written
    weight : int
    """
    for i in range(len(rows)):
        totals[rows[i]] += weight * values[rows[i]]


@kernel
def extremes(values: I64Array, rows: I32Array) -> tuple[int, int]:
    """Return the least and the greatest value at `rows`; (0, 0) if there are none.

    Parameters
    ----------
    values : (n,) int64
    rows : (k,) int32
        Indexes of `values`.
    """
    if len(rows) == 0:
        return 0, 0
    least = values[rows[0]]
    greatest = least
    for i in range(1, len(rows)):
        value = values[rows[i]]
        least = min(least, value)
        greatest = max(greatest, value)
    return least, greatest


@kernel
def merge_verdicts(codes: I64Array, totals: I64Array) -> None:
    """Mark as not feasible (-1) every slot that has a code.

    Parameters
    ----------
    codes : (n_slots,) int64
    totals : (n_slots,) int64, written
    """
    for slot in range(len(codes)):
        if codes[slot] != 0:
            totals[slot] = -1


@kernel
def feasible_rows(totals: I64Array, mask: Mask, rows: I32Array) -> int:
    """List the slots whose total is not -1, and mark them.

    Parameters
    ----------
    totals : (n_slots,) int64
    mask : (n_slots,) bool, written
    rows : (n_slots,) int32, written
        The first entries are the slots, ascending.

    Returns
    -------
    int
        How many there are.
    """
    count = 0
    for slot in range(len(totals)):
        mask[slot] = totals[slot] >= 0
        if totals[slot] >= 0:
            rows[count] = slot
            count += 1
    return count
