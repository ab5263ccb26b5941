"""Sums over the entries of a placement log, per topology domain.

An entry is twice the slot of a pod, plus one if the pod terminates; its complement, which is
negative, stands for a pod that was removed.
"""

from __future__ import annotations

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.kernels._jit import kernel


@kernel
def count_ordered(
    entries: I32Array,
    first: I64Array,
    groups: I32Array,
    amounts: I64Array,
    domains: I32Array,
    of_live: bool,  # noqa: FBT001 - kernels take no keywords
    counts: I64Array,
) -> None:
    """Add the pods of some groups, of which all are there, in the domains of their slots.

    Parameters
    ----------
    entries : (n,) int32
        Ordered by group; none is a removal.
    first : (m + 1,) int64
        The entries of group `g` are those from `first[g]` to before `first[g + 1]`; groups from
        `m` on have none.
    groups : (k,) int32
        Distinct.
    amounts : (n_groups,) int64
        What each pod of a group adds.
    domains : (n_slots,) int32
        The domain of each slot; negative ones are not counted.
    of_live : bool
        True leaves out terminating pods.
    counts : (n_domains,) int64, written
    """
    last = len(first) - 1
    for i in range(len(groups)):
        group = groups[i]
        if group >= last:
            continue
        amount = amounts[group]
        for at in range(first[group], first[group + 1]):
            entry = entries[at]
            if of_live and entry & 1:
                continue
            domain = domains[entry >> 1]
            if domain >= 0:
                counts[domain] += amount


@kernel
def count_recorded(
    entries: I32Array,
    groups: I32Array,
    amounts: I64Array,
    domains: I32Array,
    of_live: bool,  # noqa: FBT001 - kernels take no keywords
    counts: I64Array,
) -> None:
    """Add pods that came, and subtract pods that left, in the domains of their slots.

    Parameters
    ----------
    entries, groups : (n,) int32
        The entries, and the group of each, in any order.
    amounts : (n_groups,) int64
        What each pod of a group adds; 0 for groups that are not counted.
    domains, of_live, counts
        As for `count_ordered`.
    """
    for at in range(len(entries)):
        amount = amounts[groups[at]]
        if amount == 0:
            continue
        entry = entries[at]
        if entry < 0:
            entry, amount = ~entry, -amount
        if of_live and entry & 1:
            continue
        domain = domains[entry >> 1]
        if domain >= 0:
            counts[domain] += amount
