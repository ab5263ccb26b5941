"""Inter-pod affinity and anti-affinity, given counts per topology domain.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.spread import BASE, LOWEST, STRIDE, UNIT


@kernel
def require_counted(
    domains: I32Array,
    counts: I64Array,
    label_is_enough: bool,  # noqa: FBT001 - kernels take no keywords
    code: int,
    rows: I32Array,
    codes: I64Array,
) -> None:
    """Reject the slots in whose domain no pod is counted.

    Parameters
    ----------
    domains : (n_slots,) int32
        Negative where the node lacks the label: rejected in any case.
    counts : (n_domains,) int64
    label_is_enough : bool
        True requires only the topology label.
    code : int
        What rejected slots get.
    rows : (k,) int32
    codes : (n_slots,) int64, written
        At `rows` that have 0.
    """
    for i in range(len(rows)):
        slot = rows[i]
        if codes[slot] == 0:
            domain = domains[slot]
            if domain < 0 or not (label_is_enough or counts[domain] > 0):
                codes[slot] = code


@kernel
def reject_counted(
    domains: I32Array, counts: I64Array, code: int, rows: I32Array, codes: I64Array
) -> None:
    """Reject the slots in whose domain a pod is counted; nodes without the label pass.

    Parameters
    ----------
    domains : (n_slots,) int32
    counts : (n_domains,) int64
    code : int
        What rejected slots get.
    rows : (k,) int32
    codes : (n_slots,) int64, written
        At `rows` that have 0.
    """
    for i in range(len(rows)):
        slot = rows[i]
        if codes[slot] == 0:
            domain = domains[slot]
            if domain >= 0 and counts[domain] > 0:
                codes[slot] = code


@kernel
def reject_groups(
    counts: I64Array,
    digits: I64Array,
    requires: bool,  # noqa: FBT001 - kernels take no keywords
    label_is_enough: bool,  # noqa: FBT001
    rejected: Mask,
) -> None:
    """Reject groups of slots as `require_counted` or `reject_counted` rejects slots.

    Parameters
    ----------
    counts : (n_domains,) int64
    digits : (5,) int64
        As for `spread.add_digits`.
    requires : bool
        True for `require_counted`.
    label_is_enough : bool
        As there.
    rejected : (n_groups,) bool, written
    """
    unit, lowest = digits[UNIT], digits[LOWEST]
    base, stride = digits[BASE], digits[STRIDE]
    for group in range(len(rejected)):
        digit = group // stride % base
        if digit == base - 1:
            rejected[group] |= requires
        elif (lowest + digit * unit if unit else counts[digit]) > 0:
            rejected[group] |= not requires
        else:
            rejected[group] |= requires and not label_is_enough


@kernel
def is_any_counted(counts: I64Array) -> bool:
    """Return whether any of (n_domains,) int64 counts is above 0."""
    for i in range(len(counts)):  # noqa: SIM110 - numba compiles loops, not generators
        if counts[i] > 0:
            return True
    return False


@kernel
def add_counts(domains: I32Array, counts: I64Array, rows: I32Array, values: I64Array) -> None:
    """Add to each slot the count of its domain.

    One call for each topology key: a tuple of all would be another type, and another compilation,
    for each number of keys.

    Parameters
    ----------
    domains : (n_slots,) int32
    counts : (n_domains,) int64
    rows : (k,) int32
    values : (n_slots,) int64, written
    """
    for i in range(len(rows)):
        domain = domains[rows[i]]
        if domain >= 0:
            values[rows[i]] += counts[domain]


@kernel
def normalize_between(rows: I32Array, values: I64Array) -> None:
    """Spread raw scores from 0 for the least to 100 for the greatest; all equal gives 0.

    Parameters
    ----------
    rows : (k,) int32
    values : (n_slots,) int64, written
        100 * ((value - least) / (greatest - least)), cut down.
    """
    if len(rows) == 0:
        return
    least = values[rows[0]]
    greatest = least
    for i in range(1, len(rows)):
        least = min(least, values[rows[i]])
        greatest = max(greatest, values[rows[i]])
    # Float64, divided before it is multiplied, as in upstream's `NormalizeScore`:
    # 100 * (29 / 100) is 28.999..., which is cut down to 28.
    difference = float(greatest - least)
    for i in range(len(rows)):
        slot = rows[i]
        if difference > 0:
            values[slot] = np.int64(100.0 * (float(values[slot] - least) / difference))
        else:
            values[slot] = 0
