"""Spreading of pods over topology domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring}.go
"""

from __future__ import annotations

import math

import numpy as np

from podwright._arrays import F64Array, I32Array, I64Array, Mask
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.division import EXACT, divide

MISSING_LABEL, TOO_SKEWED = 1, 2
"""Codes of the filter."""

UNIT, LOWEST, BASE, STRIDE, IS_CAPPED = 0, 1, 2, 3, 4
"""What the digits of a group mean; see `add_digits`."""

MAX_SKEW_LESS_ONE, IS_PER_NODE, ABSENT_DOMAIN = 0, 1, 2
"""Columns of the settings of soft constraints.

Kernels read one constraint at a time: a tuple of the arrays of all would be another type, and
another compilation of seconds, for each number of constraints.
"""


@kernel
def _least_count(counts: I64Array, eligible: int, min_domains: int) -> int:
    """Return the least count of the eligible domains; 0 if there are too few of them."""
    low = np.int64(0)
    if eligible >= min_domains and eligible > 0:
        low = counts[0]
        for domain in range(1, eligible):
            low = min(low, counts[domain])
    return int(low)


@kernel
def reject_skewed(
    domains: I32Array,
    counts: I64Array,
    eligible: int,
    min_domains: int,
    most: int,
    rows: I32Array,
    codes: I64Array,
) -> None:
    """Reject the slots on which one more pod would exceed the skew of a constraint.

    Parameters
    ----------
    domains : (n_slots,) int32
        The domain of each slot; negative where the node lacks the label.
    counts : (n_domains,) int64
        Matching pods per domain.
    eligible : int
        The first `eligible` domains count for the minimum.
    min_domains : int
        With fewer eligible domains the minimum is 0.
    most : int
        By how much a domain may exceed the minimum now: maxSkew, less one if the pod
        matches its own selector.
    rows : (k,) int32
    codes : (n_slots,) int64, written
        `MISSING_LABEL` or `TOO_SKEWED` at `rows` that have 0.
    """
    # Upstream's `count + self - minimum > maxSkew`, solved for the count.
    limit = _least_count(counts, eligible, min_domains) + most
    for i in range(len(rows)):
        slot = rows[i]
        if codes[slot] == 0:
            domain = domains[slot]
            if domain < 0:
                codes[slot] = MISSING_LABEL
            elif counts[domain] > limit:
                codes[slot] = TOO_SKEWED


@kernel
def _distinct(domains: I32Array, n_domains: int, absent_domain: int, rows: I32Array) -> int:
    """Count the distinct domains of `rows`; nodes without one are in `absent_domain`."""
    seen = np.zeros(n_domains, dtype=np.bool_)
    size = 0
    for i in range(len(rows)):
        domain = np.int64(domains[rows[i]])
        if domain < 0:
            domain = np.int64(absent_domain)
        if domain >= 0 and not seen[domain]:
            seen[domain] = True
            size += 1
            if size == n_domains:
                break
    return size


@kernel
def _with_domain(domains: I32Array, rows: I32Array) -> int:
    """Count those of `rows` that have a domain."""
    size = 0
    for i in range(len(rows)):
        if domains[rows[i]] >= 0:
            size += 1
    return size


@kernel
def _rounded(value: float) -> int:
    """Round to the nearest integer, halves up."""
    # Not floor(value + 0.5): that sum rounds 0.49999999999999994 up to 1.
    whole = math.floor(value)
    rounded = np.int64(whole)
    if value - whole >= 0.5:
        rounded += 1
    return int(rounded)


@kernel
def add_spread_scores(
    domains: I32Array,
    counts: I64Array,
    setting: I64Array,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    rows: I32Array,
    sums: F64Array,
) -> None:
    """Add what slots get for the matching pods in their domains of one constraint.

    Parameters
    ----------
    domains : (n_slots,) int32
        The domain of each slot, negative where it has none.
    counts : (n_domains,) int64
        The matching pods per domain.
    setting : (3,) int64
        `MAX_SKEW_LESS_ONE`, `IS_PER_NODE` (each node is a domain) and `ABSENT_DOMAIN` (the
        domain that nodes without the label are counted in, or -1).
    requires_all : bool
        Whether nodes without a domain are ignored: they get nothing and do not count as domains.
        They then have none for any constraint.
    rows : (k,) int32
        The feasible slots.
    sums : (k,) float64, written
        Plus count * ln(domains + 2) + maxSkew - 1, for each of `rows`. Fewer is better.
    """
    if not setting[IS_PER_NODE]:
        size = _distinct(domains, len(counts), setting[ABSENT_DOMAIN], rows)
    elif requires_all:
        size = _with_domain(domains, rows)
    else:
        size = len(rows)
    # Upstream's `topologyNormalizingWeight`; the 2 keeps it above 0 without any domain.
    weight = math.log(float(size + 2))
    rest = float(setting[MAX_SKEW_LESS_ONE])
    for i in range(len(rows)):
        domain = domains[rows[i]]
        if domain >= 0:
            # Added per constraint as upstream does: the last bit can decide the rounding.
            sums[i] += float(counts[domain]) * weight + rest


@kernel
def round_scores(sums: F64Array, rows: I32Array, values: I64Array) -> None:
    """Write the sums of all constraints as scores, before normalizing.

    Parameters
    ----------
    sums : (k,) float64
    rows : (k,) int32
    values : (n,) int64, written
        At `rows`.
    """
    for i in range(len(rows)):
        values[rows[i]] = _rounded(sums[i])


@kernel
def normalize_spread(
    domains: I32Array,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    rows: I32Array,
    values: I64Array,
) -> None:
    """Turn raw scores to 100 for the least and less for more.

    Parameters
    ----------
    domains : (n_slots,) int32
        Negative where a node is ignored, if `requires_all`; ignored nodes get 0.
    requires_all : bool
    rows : (k,) int32
    values : (n_slots,) int64, written
    """
    least = np.int64(2**63 - 1)
    greatest = np.int64(0)
    for i in range(len(rows)):
        slot = rows[i]
        if requires_all and domains[slot] < 0:
            continue
        least = min(least, values[slot])
        greatest = max(greatest, values[slot])
    is_exact = 200 * greatest <= EXACT
    divisor = float(greatest)
    for i in range(len(rows)):
        slot = rows[i]
        if requires_all and domains[slot] < 0:
            values[slot] = 0
        elif greatest == 0:
            values[slot] = 100
        elif is_exact:
            # As `divide` does, without its checks in the loop.
            values[slot] = np.int64(float(100 * (greatest + least - values[slot])) / divisor)
        else:
            values[slot] = divide(100 * (greatest + least - values[slot]), greatest)


@kernel
def common_counts(domains: I32Array, counts: I64Array, found: I64Array) -> bool:
    """Find what the counts of hosts, or of other domains with one slot each, have in common.

    Parameters
    ----------
    domains, counts
        As for `add_spread_scores`.
    found : (3,) int64, written
        The greatest common divisor of the counts, the least and the greatest of them.

    Returns
    -------
    bool
        False if a domain has several slots, or no slot has a domain; `found` is undefined then.
    """
    is_seen = np.zeros(len(counts), dtype=np.bool_)
    divisor = least = greatest = last = np.int64(0)
    is_first = True
    for slot in range(len(domains)):
        domain = domains[slot]
        if domain < 0:
            continue
        if is_seen[domain]:
            return False
        is_seen[domain] = True
        count = counts[domain]
        if is_first:
            is_first = False
            least = greatest = count
        least, greatest = min(least, count), max(greatest, count)
        if count != last:
            last, rest = count, abs(count)
            while rest:
                divisor, rest = rest, divisor % rest
    found[0], found[1], found[2] = divisor, least, greatest
    return not is_first


@kernel
def add_digits(
    domains: I32Array,
    counts: I64Array,
    digits: I64Array,
    slots: I32Array,
    groups: I32Array,
) -> bool:
    """Add the digit of one counter to the groups of slots that a plugin does not tell apart.

    Parameters
    ----------
    domains, counts
        As for `add_spread_scores`.
    digits : (5,) int64
        `UNIT`: if it is not 0, digit d means a count of `LOWEST` + d x `UNIT`; otherwise it is a
        domain. `BASE`: how many digits there are; the last one means that the slot has no domain.
        `STRIDE`: the product of the bases of the counters before. `IS_CAPPED`: the last digit
        but one means that count and all above.
    slots : (k,) int32
    groups : (n_slots,) int32, written
        At `slots`. The first counter has the last digit.

    Returns
    -------
    bool
        False if there is no digit for a slot; `groups` is undefined then.
    """
    unit, lowest = digits[UNIT], digits[LOWEST]
    base, stride = digits[BASE], digits[STRIDE]
    for i in range(len(slots)):
        slot = slots[i]
        domain = domains[slot]
        digit = base - 1
        if domain >= 0:
            digit = domain
            if unit:
                digit = (counts[domain] - lowest) // unit
                if digits[IS_CAPPED]:
                    digit = min(digit, base - 2)
                elif lowest + digit * unit != counts[domain]:
                    return False
            if digit < 0 or digit >= base - 1:
                return False
        # A slot may occur twice, so what was there before is replaced.
        groups[slot] = groups[slot] % stride + stride * digit
    return True


@kernel
def reject_groups(
    counts: I64Array,
    digits: I64Array,
    eligible: int,
    min_domains: int,
    most: int,
    rejected: Mask,
) -> None:
    """Reject the groups on whose slots one more pod would exceed the skew of a constraint.

    Parameters
    ----------
    counts, eligible, min_domains, most
        As for `reject_skewed`.
    digits : (5,) int64
        As for `add_digits`.
    rejected : (n_groups,) bool, written
    """
    limit = _least_count(counts, eligible, min_domains) + most
    unit, lowest = digits[UNIT], digits[LOWEST]
    base, stride = digits[BASE], digits[STRIDE]
    for group in range(len(rejected)):
        digit = group // stride % base
        if digit == base - 1 or (lowest + digit * unit if unit else counts[digit]) > limit:
            rejected[group] = True


@kernel
def add_counted(counts: I64Array, digits: I64Array, values: I64Array) -> None:
    """Add to each group what is counted in its domain.

    Parameters
    ----------
    counts : (n_domains,) int64
    digits : (5,) int64
        As for `add_digits`.
    values : (n_groups,) int64, written
    """
    unit, lowest = digits[UNIT], digits[LOWEST]
    base, stride = digits[BASE], digits[STRIDE]
    for group in range(len(values)):
        digit = group // stride % base
        if digit < base - 1:
            values[group] += lowest + digit * unit if unit else counts[digit]


@kernel
def _distinct_digits(absent_domain: int, base: int, stride: int, rows: I32Array) -> int:
    """Count the distinct digits of groups; the greatest digit means `absent_domain`."""
    seen = np.zeros(base, dtype=np.bool_)
    size = 0
    for i in range(len(rows)):
        digit = np.int64(rows[i] // stride % base)
        if digit == base - 1:
            digit = np.int64(absent_domain)
        if digit >= 0 and not seen[digit]:
            seen[digit] = True
            size += 1
    return size


@kernel
def _slots_without(digit: int, base: int, stride: int, rows: I32Array, sizes: I64Array) -> int:
    """Count the slots in groups that do not have this digit."""
    size = np.int64(0)
    for i in range(len(rows)):
        if rows[i] // stride % base != digit:
            size += sizes[rows[i]]
    return int(size)


@kernel
def filled_groups(sizes: I64Array, rows: I32Array) -> int:
    """Find the groups that are not empty.

    Parameters
    ----------
    sizes : (n_groups,) int64
        How many feasible slots are in each group.
    rows : (n_groups,) int32, written
        The groups, ascending, from the front.

    Returns
    -------
    int
        How many there are.
    """
    count = 0
    for group in range(len(sizes)):
        if sizes[group]:
            rows[count] = group
            count += 1
    return count


@kernel
def add_group_scores(
    counts: I64Array,
    setting: I64Array,
    base: int,
    stride: int,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    sizes: I64Array,
    rows: I32Array,
    sums: F64Array,
) -> None:
    """Add what groups get for one constraint, as `add_spread_scores` does for their slots.

    Parameters
    ----------
    counts, setting, requires_all
        As for `add_spread_scores`.
    base, stride
        `BASE` and `STRIDE` of `add_digits`.
    sizes : (n_groups,) int64
        How many feasible slots are in each group.
    rows : (k,) int32
        The groups that are not empty.
    sums : (k,) float64, written
    """
    none = base - 1
    is_per_node = setting[IS_PER_NODE] != 0
    if is_per_node:
        # No digit is -1: all slots count then.
        absent = none if requires_all else -1
        size = _slots_without(absent, base, stride, rows, sizes)
    else:
        size = _distinct_digits(setting[ABSENT_DOMAIN], base, stride, rows)
    weight = math.log(float(size + 2))
    rest = setting[MAX_SKEW_LESS_ONE]
    for i in range(len(rows)):
        digit = rows[i] // stride % base
        if digit != none:
            count = digit if is_per_node else counts[digit]
            sums[i] += float(count) * weight + rest


@kernel
def normalize_groups(
    sums: F64Array,
    base: int,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    rows: I32Array,
    values: I64Array,
) -> None:
    """Turn the sums of groups into points, as `normalize_spread` does for their slots.

    Parameters
    ----------
    sums : (k,) float64
    base : int
        Of the first constraint.
    requires_all : bool
    rows : (k,) int32
        The groups that are not empty.
    values : (n_groups,) int64, written
        0 to 100 at `rows`.
    """
    first = np.zeros(len(values), dtype=np.int32)
    for i in range(len(rows)):
        digit = rows[i] % base
        first[rows[i]] = -1 if digit == base - 1 else digit
    round_scores(sums, rows, values)
    normalize_spread(first, requires_all, rows, values)
