"""Spreading of pods over topology domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring}.go
"""

from __future__ import annotations

import math

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.kernels._jit import kernel
from podwright.kernels.division import EXACT, divide

MISSING_LABEL, TOO_SKEWED = 1, 2
"""Codes of the filter."""

MAX_SKEW_LESS_ONE, IS_PER_NODE, ABSENT_DOMAIN = 0, 1, 2
"""Columns of the settings of soft constraints."""


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
    low = np.int64(0)
    if eligible >= min_domains and eligible > 0:
        low = counts[0]
        for domain in range(1, eligible):
            low = min(low, counts[domain])
    # Upstream's `count + self - minimum > maxSkew`, solved for the count.
    limit = low + most
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
def spread_scores(
    domains: tuple[I32Array, ...],
    counts: tuple[I64Array, ...],
    settings: I64Matrix,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    rows: I32Array,
    values: I64Array,
) -> None:
    """Score slots by the matching pods in their domains; fewer is better, before normalizing.

    Parameters
    ----------
    domains : tuple of (n_slots,) int32
        Per constraint the domain of each slot, negative where it has none.
    counts : tuple of (n_domains,) int64
        Per constraint the matching pods per domain.
    settings : (n_constraints, 3) int64
        Columns `MAX_SKEW_LESS_ONE`, `IS_PER_NODE` (each node is a domain) and
        `ABSENT_DOMAIN` (the domain that nodes without the label are counted in, or -1).
    requires_all : bool
        Whether nodes without a domain are ignored: they get 0 and do not count as domains.
        They then have none for any constraint.
    rows : (k,) int32
        The feasible slots.
    values : (n_slots,) int64, written
        round(sum of count * ln(domains + 2) + maxSkew - 1).
    """
    sums = np.zeros(len(rows), dtype=np.float64)
    for c in range(len(domains)):
        domain_of = domains[c]
        count_of = counts[c]
        if not settings[c, IS_PER_NODE]:
            size = _distinct(domain_of, len(count_of), settings[c, ABSENT_DOMAIN], rows)
        elif requires_all:
            size = _with_domain(domain_of, rows)
        else:
            size = len(rows)
        # Upstream's `topologyNormalizingWeight`; the 2 keeps it above 0 without any domain.
        weight = math.log(float(size + 2))
        rest = float(settings[c, MAX_SKEW_LESS_ONE])
        for i in range(len(rows)):
            domain = domain_of[rows[i]]
            if domain >= 0:
                # Added per constraint as upstream does: the last bit can decide the rounding.
                sums[i] += float(count_of[domain]) * weight + rest
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
def spread_groups(
    domains: tuple[I32Array, ...],
    counts: tuple[I64Array, ...],
    settings: I64Matrix,
    bases: I64Array,
    slots: I32Array,
    groups: I32Array,
) -> bool:
    """Give slots numbers by what spreading sees of them.

    Parameters
    ----------
    domains, counts, settings
        As for `spread_scores`.
    bases : (n_constraints,) int64
        How many digits there are per constraint. A digit is the domain, or the count where
        `IS_PER_NODE`; the last one means that the slot has no domain.
    slots : (k,) int32
    groups : (n_slots,) int32, written
        At `slots`. The first constraint has the last digit.

    Returns
    -------
    bool
        False if there is no digit for a slot; `groups` is undefined then.
    """
    for i in range(len(slots)):
        slot = slots[i]
        group = np.int64(0)
        stride = np.int64(1)
        for c in range(len(domains)):
            domain = domains[c][slot]
            digit = bases[c] - 1
            if domain >= 0:
                digit = counts[c][domain] if settings[c, IS_PER_NODE] else np.int64(domain)
                if digit >= bases[c] - 1:
                    return False
            group += stride * digit
            stride *= bases[c]
        groups[slot] = group
    return True


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
def score_spread_groups(
    counts: tuple[I64Array, ...],
    settings: I64Matrix,
    bases: I64Array,
    requires_all: bool,  # noqa: FBT001 - kernels take no keywords
    sizes: I64Array,
    values: I64Array,
) -> None:
    """Score groups as `spread_scores` and `normalize_spread` score their slots.

    Parameters
    ----------
    counts, settings, requires_all
        As for `spread_scores`.
    bases : (n_constraints,) int64
        As for `spread_groups`.
    sizes : (n_groups,) int64
        How many feasible slots are in each group.
    values : (n_groups,) int64, written
        0 to 100; anything for empty groups.
    """
    n_groups = len(sizes)
    rows = np.empty(n_groups, dtype=np.int32)
    n_rows = 0
    for group in range(n_groups):
        if sizes[group] > 0:
            rows[n_rows] = group
            n_rows += 1
    rows = rows[:n_rows]
    first = np.zeros(n_groups, dtype=np.int32)
    sums = np.zeros(n_rows, dtype=np.float64)
    stride = 1
    for c in range(len(counts)):
        count_of = counts[c]
        base = int(bases[c])
        none = base - 1
        is_per_node = settings[c, IS_PER_NODE] != 0
        if is_per_node:
            # No digit is -1: all slots count then.
            absent = none if requires_all else -1
            size = _slots_without(absent, base, stride, rows, sizes)
        else:
            size = _distinct_digits(settings[c, ABSENT_DOMAIN], base, stride, rows)
        weight = math.log(float(size + 2))
        rest = float(settings[c, MAX_SKEW_LESS_ONE])
        for i in range(n_rows):
            digit = rows[i] // stride % base
            if c == 0:
                first[rows[i]] = -1 if digit == none else digit
            if digit != none:
                count = digit if is_per_node else count_of[digit]
                sums[i] += float(count) * weight + rest
        stride *= base
    for i in range(n_rows):
        values[rows[i]] = _rounded(sums[i])
    normalize_spread(first, requires_all, rows, values)
