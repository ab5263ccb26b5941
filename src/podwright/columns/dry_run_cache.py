"""What dry runs of preemption found per slot, kept as long as it is right.

A dry run on a slot depends on the pods there, the node, the disruption budgets, and what the
preemptor asks for at which priority. Preemptors come from templates, and between two of them
few slots change: what was found for the others is found again. Slots with nominated pods are
tried anew each time; what filters say that do not look at pods is not part of this.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from podwright._arrays import I8Array, I64Array, I64Matrix
from podwright.columns.budgets import BudgetIndex
from podwright.columns.nodes import NodeColumns

_MOST_KEPT = 4
"""For so many kinds of preemptors; each takes some 70 bytes per node and one per pod."""


class TriedSlots:
    """What was found for one kind of preemptor.

    Attributes
    ----------
    written : (n_slots,) int64
        The number of the writing of the slot's pods for which it was tried
        (`RankedPods.written`); 0: the rest says nothing of the slot.
    codes : (n_slots,) int64
    measures : (n_slots, 5) int64
    lower : (n_slots,) int64
        How many of its pods, the last ones, have a lower priority.
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
        """Let all slots be tried again."""
        self.written.fill(0)

    def catch_up(self, nodes: NodeColumns, budgets: BudgetIndex, n_pool: int) -> None:
        """Forget what is no longer right, but for what `written` says of pods."""
        version = nodes.node_journal.version
        if self._node_version != version:
            changed = nodes.node_journal.since(self._node_version)
            if changed is None:
                self.forget()
            else:
                self.written[changed] = 0
            self._node_version = version
        if self._allowed != budgets.allowed:
            # If a budget covers other pods than before, all pods are written again anyway.
            self.forget()
            self._allowed = list(budgets.allowed)
        if len(self.marks) < n_pool:
            longer: I8Array = np.empty(n_pool, dtype=np.int8)
            longer[: len(self.marks)] = self.marks
            self.marks = longer


class DryRunCache:
    """What was found for the kinds of preemptors that came last."""

    def __init__(self, nodes: NodeColumns, budgets: BudgetIndex) -> None:
        self._nodes = nodes
        self._budgets = budgets
        self._kept: OrderedDict[tuple[int, bytes], TriedSlots] = OrderedDict()

    def of(self, priority: int, pairs: I64Array, n_pool: int) -> TriedSlots:
        """Return what is known for a kind of preemptor, to read and to write.

        Parameters
        ----------
        priority : int
        pairs : (2 * n_requested,) int64
            Pairs of resource column and amount that it asks for.
        n_pool : int
            The size of the pool of `RankedPods`.
        """
        n_slots = self._nodes.n_slots
        key = (priority, pairs.tobytes())
        tried = self._kept.pop(key, None)
        if tried is None and len(self._kept) >= _MOST_KEPT:
            # The arrays of the one that was asked for longest ago are used again.
            _, tried = self._kept.popitem(last=False)
            tried.forget()
        if tried is None or len(tried.written) != n_slots:
            tried = TriedSlots(n_slots)
        self._kept[key] = tried
        tried.catch_up(self._nodes, self._budgets, n_pool)
        return tried
