"""Results of preemption dry runs per slot, cached while they are valid.

A dry run on a slot depends on its pods, the node, the disruption budgets, and the preemptor's
requests and priority. Preemptors come from templates, and between two of them few slots change,
so the results of the other slots are reused. Slots with nominated pods are evaluated every
time. Filters that do not read pods are not part of the cached results.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from podwright._arrays import I8Array, I64Array, I64Matrix
from podwright.scheduler.columns.budgets import BudgetIndex
from podwright.scheduler.columns.nodes import NodeColumns

_MOST_KEPT = 4
"""The number of preemptor kinds that are cached; each takes 70 bytes per node and 1 per pod."""


class TriedSlots:
    """The results for one kind of preemptor: its priority and requests.

    Attributes
    ----------
    written : (n_slots,) int64
        The value of `RankedPods.written` for which the slot was evaluated; 0: the slot has no
        result.
    codes : (n_slots,) int64
    measures : (n_slots, 5) int64
    lower : (n_slots,) int64
        The number of its pods (the last ones) with a lower priority.
    marks : (n_pool,) int8
        By place in the pool of `RankedPods`.
    """

    __slots__ = ("_allowed", "_node_version", "codes", "lower", "marks", "measures", "written")

    def __init__(self, n_slots: int) -> None:
        self.written: I64Array = np.zeros(n_slots, dtype=np.int64)
        self.codes: I64Array = np.empty(n_slots, dtype=np.int64)
        self.measures: I64Matrix = np.empty((n_slots, 5), dtype=np.int64)
        self.lower: I64Array = np.empty(n_slots, dtype=np.int64)
        self.marks: I8Array = np.empty(0, dtype=np.int8)
        self._node_version = -1
        self._allowed: list[int] = []

    def forget(self) -> None:
        """Invalidate the results of all slots."""
        self.written.fill(0)

    def catch_up(self, nodes: NodeColumns, budgets: BudgetIndex, n_pool: int) -> None:
        """Invalidate results after changes of nodes and budgets; `written` covers pods."""
        version = nodes.node_journal.version
        if self._node_version != version:
            changed = nodes.node_journal.since(self._node_version)
            if changed is None:
                self.forget()
            else:
                self.written[changed] = 0
            self._node_version = version
        if self._allowed != budgets.allowed:
            # If a budget covers other pods than before, all slots are rewritten anyway.
            self.forget()
            self._allowed = list(budgets.allowed)
        if len(self.marks) < n_pool:
            longer: I8Array = np.empty(n_pool, dtype=np.int8)
            longer[: len(self.marks)] = self.marks
            self.marks = longer


class DryRunCache:
    """The results for the most recent kinds of preemptors."""

    def __init__(self, nodes: NodeColumns, budgets: BudgetIndex) -> None:
        self._nodes = nodes
        self._budgets = budgets
        self._kept: OrderedDict[tuple[int, bytes], TriedSlots] = OrderedDict()

    def of(self, priority: int, pairs: I64Array, n_pool: int) -> TriedSlots:
        """Return the results for a kind of preemptor, to read and to update.

        Parameters
        ----------
        priority : int
        pairs : (2 * n_requested,) int64
            Pairs of resource column and requested amount.
        n_pool : int
            The size of the pool of `RankedPods`.
        """
        n_slots = self._nodes.n_slots
        key = (priority, pairs.tobytes())
        tried = self._kept.pop(key, None)
        if tried is None and len(self._kept) >= _MOST_KEPT:
            # Reuse the arrays of the least recently used kind.
            _, tried = self._kept.popitem(last=False)
            tried.forget()
        if tried is None or len(tried.written) != n_slots:
            tried = TriedSlots(n_slots)
        self._kept[key] = tried
        tried.catch_up(self._nodes, self._budgets, n_pool)
        return tried
