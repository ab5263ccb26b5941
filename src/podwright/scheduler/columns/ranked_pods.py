"""The pods on every slot as columns, most important first.

Preemption removes the least important pods of a node, so it needs the pods in that order, with
their priorities, start times, requests and disruption budgets. The columns are a pool in which
each slot has a range with spare capacity; a slot that outgrows its range gets a new one at the
end. A slot is written when it is read after its pods have changed, so nothing is kept before
the first preemption.
"""

from __future__ import annotations

from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns.budgets import BudgetIndex
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.placement import NOT_STARTED, PlacedPod, importance

_LEAST_POOL = 1_024
_MIN_CAPACITY = 4
_WASTED_PART = 2
"""The pool is compacted when more than one part in so many lies idle."""

STALE = -1
"""The writing of a slot that has to be written before it is read."""


class Borrower(Protocol):
    """A reader that keeps a reference to `RankedPods.pods`."""

    def settle(self) -> object:
        """Copy the pods that are needed: the list is about to change."""


class RankedPods:
    """Columns over placed pods by slot and importance.

    Attributes
    ----------
    first, counts : (n_slots,) int64
        Where a slot's chunk starts, and how many pods it has.
    priorities, starts : (n_pool,) int64
    requests : (n_pool, n_resources) int64
    budget_sets : (n_pool,) int32
        0 if no budget covers the pod.
    set_first, set_members : int64
        The budgets of each set: `set_members[set_first[s]:set_first[s + 1]]`.
    pods : list of tuple of Pod
        Per slot, the pods of its chunk in the same order.
    written : (n_slots,) int64
        The number of the writing of each slot, never the same for two writings; `STALE` if its
        pods have changed since, and before the first one.
    reach : int
        The number of slots that the next search should write together, because it is likely to
        visit them; maintained by the search.
    latest_start_ns : int
        No pod that was ever written has started later. A pod that has not started is sorted
        as the last one; while another one starts in the future that is wrong.
    """

    def __init__(
        self, nodes: NodeColumns, pods_on: list[dict[str, PlacedPod]], budgets: BudgetIndex
    ) -> None:
        self._nodes = nodes
        self._pods_on = pods_on
        self._budgets = budgets
        self._borrowers: WeakSet[Borrower] = WeakSet()
        self._writing_count = 0
        self._start_over()

    def _start_over(self) -> None:
        nodes = self._nodes
        n_slots = nodes.n_slots
        self._pods_version = nodes.pods_journal.version
        self._room: I64Array = np.zeros(n_slots, dtype=np.int64)
        self._used = 0
        self._wasted = 0
        self.reach = 0
        self.latest_start_ns = 0
        self.first: I64Array = np.zeros(n_slots, dtype=np.int64)
        self.counts: I64Array = np.zeros(n_slots, dtype=np.int64)
        self.priorities: I64Array = np.zeros(_LEAST_POOL, dtype=np.int64)
        self.starts: I64Array = np.zeros(_LEAST_POOL, dtype=np.int64)
        self.requests: I64Matrix = np.zeros((_LEAST_POOL, len(nodes.resources)), dtype=np.int64)
        self.budget_sets: I32Array = np.zeros(_LEAST_POOL, dtype=np.int32)
        self.written: I64Array = np.full(n_slots, STALE, dtype=np.int64)
        self.pods: list[tuple[Pod, ...]] = [()] * n_slots
        self._set_views()
        self._drop_budgets()

    def _set_views(self) -> None:
        # Writing the few cells of a slot takes a third of the time for arrays.
        self._priority_cells = self.priorities.data
        self._start_cells = self.starts.data
        self._request_cells = self.requests.data
        self._budget_set_cells = self.budget_sets.data

    def _drop_budgets(self) -> None:
        self._budgets_version = self._budgets.version
        self._set_ids: dict[tuple[int, ...], int] = {(): 0}
        self.set_first: I64Array = np.zeros(2, dtype=np.int64)
        self.set_members: I64Array = np.zeros(0, dtype=np.int64)

    # ---------------------------------------------------------------- reading

    def bring_up_to_date(self, slots: I32Array) -> None:
        """Write the stretches of `slots` whose pods have changed.

        The arrays are replaced when they grow: take them from here after this call.
        """
        self.record_changes()
        self.write(slots)

    def record_changes(self) -> None:
        """Learn from the journal and the versions which slots have to be written again."""
        nodes = self._nodes
        changed = nodes.pods_journal.since(self._pods_version)
        if changed is None or nodes.n_slots < len(self.written):
            self._call_in()
            self._start_over()
            return
        if self._wasted > len(self.priorities) // _WASTED_PART:
            self._call_in()
            self._compact()
            return
        if nodes.n_slots > len(self.written):
            self._lengthen(nodes.n_slots)
        if len(nodes.resources) > self.requests.shape[1]:
            self.requests = _grown(self.requests, (len(self.priorities), len(nodes.resources)))
            self._set_views()
        if self._budgets.version != self._budgets_version:
            self._drop_budgets()
            self.written[:] = STALE
        self.written[changed] = STALE
        self._pods_version = nodes.pods_journal.version

    def write(self, slots: I32Array) -> None:
        """Write the stretches of `slots` that are stale, as `record_changes` has found."""
        self._call_in()
        for slot in slots[self.written[slots] == STALE].tolist():
            self._write(slot)

    def _compact(self) -> None:
        """Drop unused ranges; all slots are written again when they are read."""
        self._start_over()

    def lend(self, borrower: Borrower) -> None:
        """Register a reader of `pods`; it is notified before the list changes."""
        self._borrowers.add(borrower)

    def _call_in(self) -> None:
        for borrower in self._borrowers:
            borrower.settle()
        self._borrowers.clear()

    # ---------------------------------------------------------------- writing

    def _write(self, slot: int) -> None:
        # No two keys are equal, so pods are never compared.
        there = sorted(
            [(importance(placed.pod), placed) for placed in self._pods_on[slot].values()]
        )
        n = len(there)
        if n > self._room.item(slot):
            self._move(slot, n)
        self.counts[slot] = n
        self._writing_count += 1
        self.written[slot] = self._writing_count
        self.pods[slot] = tuple([placed.pod for _, placed in there])
        priorities, starts, requests = self._priority_cells, self._start_cells, self._request_cells
        budget_sets, has_budgets = self._budget_set_cells, bool(self._budgets)
        columns = range(self.requests.shape[1])
        place = self.first.item(slot)
        for (minus_priority, started, _), placed in there:
            priorities[place] = -minus_priority
            starts[place] = started
            if started != NOT_STARTED:
                self.latest_start_ns = max(self.latest_start_ns, started)
            for column in columns:
                requests[place, column] = 0
            for column, amount in placed.keys.amounts:
                requests[place, column] = amount
            budget_sets[place] = self._set_of(placed.pod) if has_budgets else 0
            place += 1

    def _set_of(self, pod: Pod) -> int:
        """Return the number of the set of budgets that cover `pod`."""
        budgets = self._budgets.of(pod)
        number = self._set_ids.get(budgets)
        if number is None:
            number = self._set_ids[budgets] = len(self._set_ids)
            self.set_members = np.append(self.set_members, np.array(budgets, dtype=np.int64))
            self.set_first = np.append(self.set_first, len(self.set_members))
        return number

    def _move(self, slot: int, n: int) -> None:
        """Give a slot a longer chunk at the end of the pool."""
        self._wasted += self._room.item(slot)
        room = max(_MIN_CAPACITY, n + n // 2)
        pool = len(self.priorities)
        if self._used + room > pool:
            pool = 2 * (self._used + room)
            self.priorities = _grown(self.priorities, (pool,))
            self.starts = _grown(self.starts, (pool,))
            self.budget_sets = _grown(self.budget_sets, (pool,))
            self.requests = _grown(self.requests, (pool, self.requests.shape[1]))
            self._set_views()
        self.first[slot] = self._used
        self._room[slot] = room
        self._used += room

    def _lengthen(self, n_slots: int) -> None:
        n_new = n_slots - len(self.written)
        self.written = np.append(self.written, np.full(n_new, STALE, dtype=np.int64))
        self.first = _grown(self.first, (n_slots,))
        self.counts = _grown(self.counts, (n_slots,))
        self._room = _grown(self._room, (n_slots,))
        self.pods += [()] * n_new


def _grown(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Any:
    """Return `array` extended with zeros."""
    grown = np.zeros(shape, dtype=array.dtype)
    grown[tuple(slice(n) for n in array.shape)] = array
    return grown
