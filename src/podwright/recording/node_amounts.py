"""The amounts of the live nodes and their sums, kept up to date from the journals of the columns.

An update costs as much as the number of slots that changed since the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.columns import NodeColumns

_NOTHING: Final[I64Array] = np.zeros(0, dtype=np.int64)


class NodeAmounts:
    """A copy of the allocatable and requested amounts, as of the last update.

    Attributes
    ----------
    columns : mapping of str to int
        The column of each resource.
    allocatable, requested : (n_slots, n_resources) int64
        0 in slots without a node.
    allocatable_sums, requested_sums : (n_resources,) int64
    """

    def __init__(self) -> None:
        self.columns: Mapping[str, int] = {}
        self.allocatable: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.requested: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.allocatable_sums: I64Array = np.zeros(0, dtype=np.int64)
        self.requested_sums: I64Array = np.zeros(0, dtype=np.int64)
        self._versions: tuple[int, int] | None = None

    def update(self, nodes: NodeColumns) -> I64Array | None:
        """Update the amounts.

        Returns
        -------
        (k,) int64, or None
            The slots that may have changed, each once; None for all.
        """
        versions = (nodes.node_journal.version, nodes.pods_journal.version)
        if versions == self._versions:
            return _NOTHING
        slots = self._changed_slots(nodes)
        self._versions = versions
        if slots is None:
            self.columns = dict(nodes.resources)
            alive = nodes.alive[:, None]
            self.allocatable = np.where(alive, nodes.allocatable, 0)
            self.requested = np.where(alive, nodes.requested, 0)
            self.allocatable_sums = self.allocatable.sum(axis=0)
            self.requested_sums = self.requested.sum(axis=0)
            return None
        alive = nodes.alive[slots, None]
        allocatable = np.where(alive, nodes.allocatable[slots], 0)
        requested = np.where(alive, nodes.requested[slots], 0)
        self.allocatable_sums += (allocatable - self.allocatable[slots]).sum(axis=0)
        self.requested_sums += (requested - self.requested[slots]).sum(axis=0)
        self.allocatable[slots], self.requested[slots] = allocatable, requested
        return slots

    def _changed_slots(self, nodes: NodeColumns) -> I64Array | None:
        """Return the slots that changed since the last update; None for all."""
        if self._versions is None or self.allocatable.shape != nodes.allocatable.shape:
            return None
        changed = nodes.node_journal.since(self._versions[0])
        changed_pods = nodes.pods_journal.since(self._versions[1])
        if changed is None or changed_pods is None:
            return None
        # A slot in both journals must change the sums once.
        slots: I64Array = np.unique(np.concatenate((changed, changed_pods))).astype(np.int64)
        return slots
