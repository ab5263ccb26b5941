"""Dry runs of preemption on nodes whose pods only add up.

For a pod whose filters look at other pods only through their sums, taking pods away and
putting them back is subtraction and addition. `dry_run_sums` does for each slot what
`podwright.preemption.victims` does by asking the filters: take all pods of lower priority
away, check, put back first those that would violate a disruption budget and then the
others, and keep as victims those that cannot be put back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podwright._arrays import I8Array, I32Array, I64Array, I64Matrix
from podwright.kernels._jit import kernel
from podwright.kernels.fit import (
    FIRST_RESOURCE_BIT,
    MOST_RESOURCE_BITS,
    TOO_MANY_PODS,
    UNRESOLVABLE,
)

NOBODY_LOWER = -1
"""Code of a slot: no pod there has a lower priority."""
BLOCKED_BEFORE = -2
BLOCKED_AFTER = -3
"""Code of a slot: a filter rejects it that does not look at pods; it comes before or after."""
HAS_ROOM = -4
"""Code of a slot: the pod fits there although nobody leaves."""

NOT_STARTED = (1 << 63) - 1
"""The start time of pods that have none."""

_PODS = 3
_EACH = 1 << 31
_SPARED, _VICTIM, _UNDECIDED = 0, 1, 2


class Room(NamedTuple):
    """What there is, what is taken, and what the pod asks for.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
        Base units; column 3 counts pods.
    pairs : (2 * n_requested,) int64
        Pairs of resource column and amount.
    reserved_row : (n_slots,) int32
        Per slot the row of `reserved` that counts there too; -1 for none. Empty: nowhere.
    reserved : (n_rows, n_resources) int64
        What nominated pods ask for.
    """

    allocatable: I64Matrix
    requested: I64Matrix
    pairs: I64Array
    reserved_row: I32Array
    reserved: I64Matrix


class Ranked(NamedTuple):
    """The pods of each slot in one stretch of a pool, the most important first.

    Parameters
    ----------
    first, counts : (n_slots,) int64
        Where the stretch begins and how long it is.
    priorities, starts : (n_pool,) int64
    requests : (n_pool, n_resources) int64
    budget_sets : (n_pool,) int32
        Which disruption budgets cover the pod; 0 for none.
    set_first : (n_sets + 1,) int64
    set_members : (k,) int64
        Numbers of the budgets of a set: `set_members[set_first[s]:set_first[s + 1]]`.
    """

    first: I64Array
    counts: I64Array
    priorities: I64Array
    starts: I64Array
    requests: I64Matrix
    budget_sets: I32Array
    set_first: I64Array
    set_members: I64Array


@kernel
def slots_with(codes: I64Array, slots: I32Array, wanted: int) -> I32Array:
    """Return the slots that have one code, in the order given.

    Parameters
    ----------
    codes : (n_slots,) int64
    slots : (k,) int32
    """
    found = np.empty(len(slots), dtype=np.int32)
    n = 0
    for slot in slots:
        if codes[slot] == wanted:
            found[n] = slot
            n += 1
    return found[:n]


@kernel
def add_reserved(
    slots: I32Array,
    priorities: I64Array,
    requests: I64Matrix,
    own_row: int,
    priority: int,
    n_slots: int,
) -> tuple[I32Array, I32Array, I64Matrix]:
    """Add up per slot what nominated pods of at least `priority` ask for.

    Parameters
    ----------
    slots : (n,) int32
        Where each pod is nominated to; -1 for nodes that are not there.
    priorities : (n,) int64
    requests : (n, n_resources) int64
    own_row : int
        The pod that is being scheduled, if it is nominated itself; else -1.

    Returns
    -------
    (touched, reserved_row, reserved)
        Slots that have such pods: (k,) int32; per slot the row of its sum, or -1: (n_slots,)
        int32; the sums: (k, n_resources) int64.
    """
    reserved_row = np.full(n_slots, -1, dtype=np.int32)
    touched = np.empty(len(slots), dtype=np.int32)
    reserved = np.zeros((len(slots), requests.shape[1]), dtype=np.int64)
    n = 0
    for i in range(len(slots)):
        slot = slots[i]
        if slot < 0 or priorities[i] < priority or i == own_row:
            continue
        row = reserved_row[slot]
        if row < 0:
            row = n
            reserved_row[slot] = n
            touched[n] = slot
            n += 1
        reserved[row] += requests[i]
    return touched[:n], reserved_row, reserved[:n]


@kernel
def fit_code_of(room: Room, slot: int, used: I64Array) -> np.int64:
    """Return the code of `kernels.fit.fit_codes` for one slot, with other sums.

    Parameters
    ----------
    used : (n_resources,) int64
        What counts as requested on the slot.
    """
    code = np.int64(0)
    if used[_PODS] + 1 > room.allocatable[slot, _PODS]:
        code |= TOO_MANY_PODS
    for i in range(len(room.pairs) // 2):
        column = room.pairs[2 * i]
        amount = room.pairs[2 * i + 1]
        there = room.allocatable[slot, column]
        if amount > there - used[column]:
            code |= np.int64(1) << min(FIRST_RESOURCE_BIT + i, MOST_RESOURCE_BITS)
            if amount > there:
                code |= UNRESOLVABLE
    return code


@kernel
def fit_codes_with_reserved(room: Room, slots: I32Array, blocked: I8Array, codes: I64Array) -> None:
    """Write codes as if the nominated pods were there.

    Parameters
    ----------
    slots : (k,) int32
    blocked : (n_slots,) int8
        As in `dry_run_sums`.
    codes : (k,) int64, written
        By position in `slots`; 0 where the pod fits, and where an earlier filter rejects
        anyway.
    """
    used = np.empty(room.requested.shape[1], dtype=np.int64)
    for i in range(len(slots)):
        slot = slots[i]
        if len(blocked) and blocked[slot] == 1:
            codes[i] = 0
            continue
        used[:] = room.requested[slot]
        used += room.reserved[room.reserved_row[slot]]
        codes[i] = fit_code_of(room, slot, used)


@kernel
def dry_run_sums(
    slots: I32Array,
    blocked: I8Array,
    room: Room,
    pods: Ranked,
    left: I64Array,
    goal: I64Array,
    codes: I64Array,
) -> tuple[int, I32Array, I64Matrix, I64Array, I8Array]:
    """Try preemption on one slot after the other, until there are enough candidates.

    Parameters
    ----------
    slots : (k,) int32
        The slots to visit, in order.
    blocked : (n_slots,) int8
        1 where a filter that does not look at pods rejects before the sums are checked, 2
        where one does after; empty: nowhere.
    room : Room
    pods : Ranked
    left : (n_budgets,) int64
        Disruptions that each budget has left; changed for a moment.
    goal : (5,) int64, read and written
        The preemptor's priority; the present in ns; how many candidates are wanted; how many
        there are, and how many of those violate no budget.
    codes : (n_slots,) int64, written at the visited slots
        0 for candidates; otherwise one of the codes of this module, or what `fit_codes`
        says after everybody lower has left.

    Returns
    -------
    (visited, found, measures, first_mark, marks)
        How many slots were visited. The candidates: (c,) int32. What the criteria compare:
        (c, 5) int64, see `podwright.preemption.candidates`. Per candidate where its marks
        begin, and the end: (c + 1,) int64. Per pod of lower priority, the most important
        first, 1 if it is a victim: int8.
    """
    priority, now_ns, wanted = goal[0], goal[1], goal[2]
    n_marks = 0
    for slot in slots:
        n_marks += pods.counts[slot]
    marks = np.empty(n_marks, dtype=np.int8)
    first_mark = np.zeros(len(slots) + 1, dtype=np.int64)
    found = np.empty(len(slots), dtype=np.int32)
    measures = np.empty((len(slots), 5), dtype=np.int64)
    used = np.empty(room.requested.shape[1], dtype=np.int64)
    n = 0
    visited = 0
    for slot in slots:
        visited += 1
        end = pods.first[slot] + pods.counts[slot]
        start = pods.first[slot]
        while start < end and pods.priorities[start] >= priority:
            start += 1
        block = blocked[slot] if len(blocked) else 0
        code = _without_lower(room, pods, slot, start, end, block, used)
        own_marks = marks[first_mark[n] : first_mark[n] + end - start]
        if code == 0 and not _choose_victims(
            room, pods, slot, start, left, used, own_marks, measures[n]
        ):
            code = np.int64(HAS_ROOM)
        codes[slot] = code
        if code:
            continue
        if measures[n, 4] == -NOT_STARTED:
            measures[n, 4] = -now_ns
        found[n] = slot
        first_mark[n + 1] = first_mark[n] + end - start
        goal[3] += 1
        if measures[n, 0] == 0:
            goal[4] += 1
        n += 1
        if goal[4] > 0 and goal[3] >= wanted:
            break
    return visited, found[:n], measures[:n], first_mark[: n + 1], marks[: first_mark[n]]


@kernel
def _without_lower(
    room: Room, pods: Ranked, slot: int, start: int, end: int, block: int, used: I64Array
) -> np.int64:
    """Take the pods from `start` on away; return the slot's code, and in `used` what remains."""
    if start == end:
        return np.int64(NOBODY_LOWER)
    if block == 1:
        return np.int64(BLOCKED_BEFORE)
    used[:] = room.requested[slot]
    if len(room.reserved_row) and room.reserved_row[slot] >= 0:
        used += room.reserved[room.reserved_row[slot]]
    for i in range(start, end):
        used -= pods.requests[i]
    code = fit_code_of(room, slot, used)
    if code == 0 and block == 2:
        return np.int64(BLOCKED_AFTER)
    return code


@kernel
def _choose_victims(
    room: Room,
    pods: Ranked,
    slot: int,
    start: int,
    left: I64Array,
    used: I64Array,
    marks: I8Array,
    out: I64Array,
) -> int:
    """Put back whom we can; write marks and measures, and return how many victims remain."""
    violations = 0
    if _mark_violating(pods, start, left, marks):
        for i in range(len(marks)):
            if marks[i] == _VICTIM:
                marks[i] = _put_back(room, slot, used, pods.requests[start + i])
                violations += marks[i]
            else:
                marks[i] = _UNDECIDED
    else:
        marks[:] = _UNDECIDED
    for i in range(len(marks)):
        if marks[i] == _UNDECIDED:
            marks[i] = _put_back(room, slot, used, pods.requests[start + i])
    out[0] = violations
    return _measure(pods, start, marks, out)


@kernel
def _mark_violating(pods: Ranked, start: int, left: I64Array, marks: I8Array) -> int:
    """Mark the pods that would violate a budget with 1, the others with 0; return how many."""
    n_violating = 0
    for i in range(len(marks)):
        marks[i] = _SPARED
        group = pods.budget_sets[start + i]
        for j in range(pods.set_first[group], pods.set_first[group + 1]):
            budget = pods.set_members[j]
            left[budget] -= 1
            if left[budget] < 0:
                marks[i] = _VICTIM
        n_violating += marks[i]
    for i in range(len(marks)):
        group = pods.budget_sets[start + i]
        for j in range(pods.set_first[group], pods.set_first[group + 1]):
            left[pods.set_members[j]] += 1
    return n_violating


@kernel
def _put_back(room: Room, slot: int, used: I64Array, request: I64Array) -> int:
    """Add a pod if the preemptor still fits; return 1 if it does not."""
    used += request
    if fit_code_of(room, slot, used) == 0:
        return _SPARED
    used -= request
    return _VICTIM


@kernel
def _measure(pods: Ranked, start: int, marks: I8Array, out: I64Array) -> int:
    """Write what criteria 2 to 5 compare; return how many victims there are."""
    victims = 0
    total = np.int64(0)
    earliest = np.int64(0)
    greatest = np.int64(0)
    for i in range(len(marks)):
        if marks[i] != _VICTIM:
            continue
        priority = pods.priorities[start + i]
        if victims == 0:
            greatest = priority
            earliest = pods.starts[start + i]
        elif priority == greatest:
            earliest = min(earliest, pods.starts[start + i])
        victims += 1
        total += priority + _EACH
    out[1], out[2], out[3], out[4] = greatest, total, victims, -earliest
    return victims
