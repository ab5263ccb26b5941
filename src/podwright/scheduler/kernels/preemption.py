"""Preemption dry runs for pods whose filters depend only on sums of requests.

For a pod whose filters depend on other pods only through the sums of their requests, removing
and adding pods is subtraction and addition. For each slot, `try_slots` computes what
`podwright.scheduler.preemption.victims` computes by calling the filters: remove all pods of lower
priority, check, add back first those whose removal would violate a disruption budget and then
the others; the pods that cannot be added back are the victims. `visit` collects the candidates in
the order of the search, and stops at a slot that has to be tried first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podwright._arrays import I8Array, I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel
from podwright.scheduler.kernels.fit import (
    FIRST_RESOURCE_BIT,
    MOST_RESOURCE_BITS,
    TOO_MANY_PODS,
    UNRESOLVABLE,
)

NO_LOWER_PRIORITY = -1
"""Code of a slot: no pod there has a lower priority."""
BLOCKED_BEFORE = -2
BLOCKED_AFTER = -3
"""Code of a slot: a filter that does not read pods rejects it, before or after the sums."""
HAS_ROOM = -4
"""Code of a slot: the pod fits there without preemption."""

NOT_STARTED = (1 << 63) - 1
"""The start time of pods that have none."""

_PODS = 3
# Upstream adds MaxInt32 + 1 to each victim's priority, so that no victim lowers the sum.
_EACH = 1 << 31
_SPARED, _VICTIM, _VIOLATING, _OTHER, _NOBODY = 0, 1, 2, 3, 4

_WRITTEN, _CODE, LOWER, END, VIOLATIONS, N_RESULTS = 0, 1, 2, 3, 4, 9
"""Columns of `KnownResults.rows`."""


class Room(NamedTuple):
    """Allocatable and requested amounts of the nodes, and the requests of the pod.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
        Base units; column 3 counts pods.
    pairs : (2 * n_requested,) int64
        Pairs of resource column and amount.
    reserved_row : (n_slots,) int32
        Per slot the row of `reserved` that also counts there; -1 for none. Empty: no slot has one.
    reserved : (n_rows, n_resources) int64
        The requests of nominated pods.
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
        Where the stretch starts and how long it is.
    priorities, starts : (n_pool,) int64
    requests : (n_pool, n_resources) int64
    budget_sets : (n_pool,) int32
        Which disruption budgets cover the pod; 0 for none.
    set_first : (n_sets + 1,) int64
    set_members : (k,) int64
        Numbers of the budgets of a set: `set_members[set_first[s]:set_first[s + 1]]`.
    written : (n_slots,) int64
        The number of the writing of the stretch; greater than 0 where it is tried.
    """

    first: I64Array
    counts: I64Array
    priorities: I64Array
    starts: I64Array
    requests: I64Matrix
    budget_sets: I32Array
    set_first: I64Array
    set_members: I64Array
    written: I64Array


class KnownResults(NamedTuple):
    """Results for one kind of preemptor, by slot.

    Parameters
    ----------
    rows : (n_slots, N_RESULTS) int64
        Columns: the writing of the slot's pods that was tried, 0 if nothing is known; the code as
        of `visit`, blocked slots apart; how many pods of lower priority there are; the place in
        the pool behind the last one; for candidates the values of the criteria, the last of which
        is -`NOT_STARTED` where the current time is used.
    marks : (n_pool,) int8
        By place in the pool, 1 if the pod is a victim.
    """

    rows: I64Matrix
    marks: I8Array


@kernel
def slots_with(codes: I64Array, slots: I32Array, target: int) -> I32Array:
    """Return the slots that have one code, in the order given.

    Parameters
    ----------
    codes : (n_slots,) int64
    slots : (k,) int32
    target : int
        The code.
    """
    found = np.empty(len(slots), dtype=np.int32)
    n = 0
    for slot in slots:
        if codes[slot] == target:
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
    """Add up per slot the requests of nominated pods of at least `priority`.

    Parameters
    ----------
    slots : (n,) int32
        Where each pod is nominated to; -1 for nodes that are not there.
    priorities : (n,) int64
    requests : (n, n_resources) int64
    own_row : int
        The pod that is being scheduled, if it is nominated itself; else -1.
    priority : int
        Its priority.
    n_slots : int

    Returns
    -------
    (touched, reserved_row, reserved)
        Slots that have such pods: (k,) int32; per slot the row of its sum, or -1: (n_slots,)
        int32; the sums: (k, n_resources) int64.
    """
    reserved_row = np.full(n_slots, -1, dtype=np.int32)
    touched = np.empty(len(slots), dtype=np.int32)
    n_resources = requests.shape[1]
    reserved = np.zeros((len(slots), n_resources), dtype=np.int64)
    n = 0
    for i in range(len(slots)):
        slot = slots[i]
        # As in upstream's `addGENominatedPods`: equal priorities count, the pod itself does not.
        if slot < 0 or priorities[i] < priority or i == own_row:
            continue
        row = reserved_row[slot]
        if row < 0:
            row = n
            reserved_row[slot] = n
            touched[n] = slot
            n += 1
        for column in range(n_resources):
            reserved[row, column] += requests[i, column]
    return touched[:n], reserved_row, reserved[:n]


@kernel
def fit_codes_with_reserved(room: Room, slots: I32Array, blocked: I8Array, codes: I64Array) -> None:
    """Write the codes with the nominated pods counted.

    Parameters
    ----------
    room : Room
    slots : (k,) int32
        Slots that have a row in `room.reserved`.
    blocked : (n_slots,) int8
        As in `visit`.
    codes : (k,) int64, written
        By position in `slots`; 0 where the pod fits, and where an earlier filter rejects.
    """
    allocatable, requested, pairs = room.allocatable, room.requested, room.pairs
    reserved_row, reserved = room.reserved_row, room.reserved
    n_requested = len(pairs) // 2
    slack = np.empty(n_requested + 1, dtype=np.int64)
    for i in range(len(slots)):
        slot = slots[i]
        codes[i] = 0
        if len(blocked) and blocked[slot] == 1:
            continue
        row = reserved_row[slot]
        lacks = False
        for j in range(n_requested + 1):
            column = pairs[2 * j] if j < n_requested else _PODS
            amount = pairs[2 * j + 1] if j < n_requested else 1
            free = allocatable[slot, column] - requested[slot, column] - reserved[row, column]
            slack[j] = free - amount
            lacks |= slack[j] < 0
        if lacks:
            codes[i] = _code_of(slack, allocatable[slot], pairs)


@kernel
def _code_of(slack: I64Array, allocatable: I64Array, pairs: I64Array) -> np.int64:
    """Return the code of `kernels.fit.fit_codes`.

    Parameters
    ----------
    slack : (n_requested + 1,) int64
        The remainder of each requested resource; in the last place, of the number of pods.
    allocatable : (n_resources,) int64
    pairs : (2 * n_requested,) int64
        Pairs of resource column and amount.
    """
    n_requested = len(slack) - 1
    code = np.int64(0)
    if slack[n_requested] < 0:
        code |= TOO_MANY_PODS
    for j in range(n_requested):
        if slack[j] < 0:
            code |= np.int64(1) << min(FIRST_RESOURCE_BIT + j, MOST_RESOURCE_BITS)
            if pairs[2 * j + 1] > allocatable[pairs[2 * j]]:
                code |= UNRESOLVABLE
    return code


@kernel
def visit(
    slots: I32Array,
    start: int,
    blocked: I8Array,
    written: I64Array,
    rows: I64Matrix,
    goal: I64Array,
    codes: I64Array,
    found: I32Array,
) -> int:
    """Collect candidates until there are enough, or a slot has to be tried first.

    Parameters
    ----------
    slots : (k,) int32
        The slots to visit, in order.
    start : int
        Where in `slots` to begin.
    blocked : (n_slots,) int8
        1 where a filter that does not read pods rejects before the sums are checked, 2 where
        one does after them; empty: on no slot.
    written : (n_slots,) int64
        The writing of each slot's pods.
    rows : (n_slots, N_RESULTS) int64
        See `KnownResults`.
    goal : (3,) int64, read and written
        The required number of candidates; the number found, and how many of those violate no
        budget.
    codes : (n_slots,) int64, written at the visited slots
        0 for candidates; otherwise one of the codes of this module, or the code of `fit_codes`
        after all pods of lower priority are removed.
    found : (k,) int32, written
        The candidates.

    Returns
    -------
    int
        The place in `slots` behind the last slot that was visited.
    """
    target, n, harmless = goal[0], goal[1], goal[2]
    visited = len(slots)
    for i in range(start, len(slots)):
        slot = slots[i]
        # Upstream's `DryRunPreemption` continues until a candidate violates no budget.
        if (harmless > 0 and n >= target) or rows[slot, _WRITTEN] != written[slot]:
            visited = i
            break
        code = rows[slot, _CODE]
        # Upstream's dry run looks for pods of lower priority before it runs any filter.
        if len(blocked) and code != NO_LOWER_PRIORITY:
            if blocked[slot] == 1:
                code = BLOCKED_BEFORE
            elif blocked[slot] == 2 and code <= 0:
                code = BLOCKED_AFTER
        codes[slot] = code
        if code == 0:
            found[n] = slot
            n += 1
            harmless += rows[slot, VIOLATIONS] == 0
    goal[1], goal[2] = n, harmless
    return visited


@kernel
def measures_at(rows: I64Matrix, places: I32Array, now_ns: int) -> I64Matrix:
    """Return the values of the criteria of candidates.

    Parameters
    ----------
    rows : (n, N_RESULTS) int64
        See `KnownResults`.
    places : (k,) int32
        Rows.
    now_ns : int
        The start of a pod that has not started.

    Returns
    -------
    (k, 5) int64
        See `preemption.victims.measures_of`.
    """
    measures = np.empty((len(places), N_RESULTS - VIOLATIONS), dtype=np.int64)
    for i in range(len(places)):
        for j in range(N_RESULTS - VIOLATIONS):
            measures[i, j] = rows[places[i], VIOLATIONS + j]
        # A missing start counts as now, which a result that is kept cannot contain.
        if measures[i, -1] == -NOT_STARTED:
            measures[i, -1] = -now_ns
    return measures


@kernel
def settled(slots: I32Array, rows: I64Matrix, marks: I8Array) -> tuple[I64Matrix, I8Array]:
    """Copy the results of some slots.

    Parameters
    ----------
    slots : (n,) int32
    rows : (n_slots, N_RESULTS) int64
    marks : (n_pool,) int8
        See `KnownResults`.

    Returns
    -------
    (rows, marks)
        The same by place in `slots`, with their own pool.
    """
    n_marks = 0
    for slot in slots:
        n_marks += rows[slot, LOWER]
    own_rows = np.empty((len(slots), N_RESULTS), dtype=np.int64)
    own_marks = np.empty(n_marks, dtype=np.int8)
    end = 0
    for i in range(len(slots)):
        for j in range(N_RESULTS):
            own_rows[i, j] = rows[slots[i], j]
        for place in range(own_rows[i, END] - own_rows[i, LOWER], own_rows[i, END]):
            own_marks[end] = marks[place]
            end += 1
        own_rows[i, END] = end
    return own_rows, own_marks


@kernel
def try_slots(  # noqa: PLR0913, PLR0917 - see below
    slots: I32Array,
    allocatable: I64Matrix,
    requested: I64Matrix,
    pairs: I64Array,
    reserved_row: I32Array,
    reserved: I64Matrix,
    first: I64Array,
    counts: I64Array,
    priorities: I64Array,
    starts: I64Array,
    requests: I64Matrix,
    budget_sets: I32Array,
    set_first: I64Array,
    set_members: I64Array,
    written: I64Array,
    rows: I64Matrix,
    marks: I8Array,
    left: I64Array,
    priority: int,
) -> None:
    """Try preemption on the slots whose results are not known for the current writing.

    The arrays are those of `Room`, `Ranked` and `KnownResults`: a call with tuples takes ten
    times as long.

    Parameters
    ----------
    slots : (k,) int32
    rows, marks : written
    left : (n_budgets,) int64
        Disruptions that each budget has left; changed for a moment.
    priority : int
        The preemptor's.
    """
    room = Room(allocatable, requested, pairs, reserved_row, reserved)
    pods = Ranked(
        first, counts, priorities, starts, requests, budget_sets, set_first, set_members, written
    )
    tried = KnownResults(rows, marks)
    for slot in slots:
        if rows[slot, _WRITTEN] != written[slot]:
            row = reserved_row[slot] if len(reserved_row) else -1
            _try_slot(slot, row, room, pods, tried, left, priority)
            rows[slot, _WRITTEN] = written[slot]


@kernel
def _try_slot(  # noqa: C901, PLR0912 - a call with these arrays costs more than a part
    slot: int,
    row: int,
    room: Room,
    pods: Ranked,
    tried: KnownResults,
    left: I64Array,
    priority: int,
) -> None:
    """Write to `tried` what preempting on a slot would do, filters that block it apart.

    Parameters
    ----------
    slot : int
    row : int
        Of `room.reserved`; -1 for none.
    priority : int
        The preemptor's.
    """
    allocatable, requested, pairs = room.allocatable, room.requested, room.pairs
    priorities, starts, requests = pods.priorities, pods.starts, pods.requests
    out = tried.rows[slot]
    first, end = pods.first[slot], pods.first[slot] + pods.counts[slot]
    # The most important pods come first, so those of lower priority are the last ones.
    while first < end and priorities[first] >= priority:
        first += 1
    out[LOWER], out[END] = end - first, end
    if first == end:
        out[_CODE] = NO_LOWER_PRIORITY
        return

    # Remove all pods of lower priority.
    n_requested = len(pairs) // 2 + 1
    columns = np.full(n_requested, _PODS, dtype=np.int64)
    columns[:-1] = pairs[::2]
    slack = np.empty(n_requested, dtype=np.int64)
    lacks = False
    for j in range(n_requested):
        column = columns[j]
        left_over = allocatable[slot, column] - requested[slot, column]
        left_over -= pairs[2 * j + 1] if j < n_requested - 1 else 1
        if row >= 0:
            left_over -= room.reserved[row, column]
        for place in range(first, end):
            left_over += requests[place, column]
        slack[j] = left_over
        lacks |= left_over < 0
    if lacks:
        out[_CODE] = _code_of(slack, allocatable[slot], pairs)
        return

    # Add back the pods that fit, first those whose budgets allow no disruption.
    marks = tried.marks[first:end]
    marks[:] = _OTHER
    is_violating = len(left) > 0 and _mark_violating(pods, first, left, marks)
    violations = 0
    for group in (_VIOLATING, _OTHER) if is_violating else (_OTHER, _NOBODY):
        for i in range(len(marks)):
            if marks[i] != group:
                continue
            fits = True
            for j in range(n_requested):
                fits &= slack[j] >= requests[first + i, columns[j]]
            if fits:
                for j in range(n_requested):
                    slack[j] -= requests[first + i, columns[j]]
                marks[i] = _SPARED
            else:
                marks[i] = _VICTIM
                violations += group == _VIOLATING

    # The values of the criteria.
    victims, total, greatest, earliest = 0, np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(marks)):
        if marks[i] == _VICTIM:
            value = priorities[first + i]
            if victims == 0:
                greatest, earliest = value, starts[first + i]
            elif value == greatest:
                earliest = min(earliest, starts[first + i])
            victims += 1
            total += value + _EACH
    out[_CODE] = 0 if victims else HAS_ROOM
    # `narrow` takes the least value, and the latest of the earliest starts is best: negated.
    out[4], out[5], out[6], out[7], out[8] = violations, greatest, total, victims, -earliest


@kernel
def _mark_violating(pods: Ranked, first: int, left: I64Array, marks: I8Array) -> bool:
    """Mark the pods that would violate a budget; return whether there are any."""
    budget_sets, set_first, set_members = pods.budget_sets, pods.set_first, pods.set_members
    is_violating = False
    for i in range(len(marks)):
        group = budget_sets[first + i]
        for j in range(set_first[group], set_first[group + 1]):
            budget = set_members[j]
            # As in upstream's `filterPodsWithPDBViolation`, a violation does not end the charging.
            left[budget] -= 1
            if left[budget] < 0:
                marks[i] = _VIOLATING
                is_violating = True
    # The charges are reverted: each slot is tried against the same budgets.
    for i in range(len(marks)):
        group = budget_sets[first + i]
        for j in range(set_first[group], set_first[group + 1]):
            left[set_members[j]] += 1
    return is_violating


@kernel
def narrow(measures: I64Matrix) -> tuple[I64Array, int]:
    """Return the rows that are equal in all columns, and the column that decided.

    Parameters
    ----------
    measures : (n, k) int64
        Smaller is better; the first column counts before the second.

    Returns
    -------
    (rows, column)
        Ascending. `column` is k if several rows are left.
    """
    left = np.arange(len(measures))
    n = len(left)
    for column in range(measures.shape[1]):
        best = measures[left[0], column]
        kept = 0
        for i in range(n):
            value = measures[left[i], column]
            if value < best:
                best = value
                kept = 0
            if value == best:
                left[kept] = left[i]
                kept += 1
        n = kept
        if n == 1:
            return left[:1], column
    return left[:n], measures.shape[1]


@kernel
def least_ranked(rows: I64Array, slots: I32Array, ranks: I32Array) -> np.int64:
    """Return the row whose slot has the least rank; the first one of equals.

    Parameters
    ----------
    rows : (k,) int64
        Indices of `slots`; at least one.
    slots : (n,) int32
    ranks : (n_slots,) int32
    """
    best = rows[0]
    least = ranks[slots[best]]
    for row in rows:
        rank = ranks[slots[row]]
        if rank < least:
            best, least = row, rank
    return np.int64(best)
