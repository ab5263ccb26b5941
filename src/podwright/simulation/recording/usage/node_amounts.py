"""The amounts of the live nodes and their sums, kept up to date from the journals of the columns.

An update costs as much as the number of slots that changed since the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from podwright._arrays import I64Array, I64Matrix, Mask
from podwright.apimachinery.objects import Node
from podwright.scheduler.columns import NodeColumns

_NOTHING: Final[I64Array] = np.zeros(0, dtype=np.int64)


class NodeAmounts:
    """A copy of the allocatable and requested amounts, as of the last update.

    Parameters
    ----------
    only_ready : bool
        Whether nodes whose condition `Ready` is not True count as absent, with their pods.

    Attributes
    ----------
    columns : mapping of str to int
        The column of each resource.
    allocatable, requested : (n_slots, n_resources) int64
        0 in slots without a node that counts.
    allocatable_sums, requested_sums : (n_resources,) int64
    """

    def __init__(self, *, only_ready: bool = False) -> None:
        self._only_ready = only_ready
        self.columns: Mapping[str, int] = {}
        self.allocatable: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.requested: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.allocatable_sums: I64Array = np.zeros(0, dtype=np.int64)
        self.requested_sums: I64Array = np.zeros(0, dtype=np.int64)
        self._versions: tuple[int, int, int] | None = None

    def update(self, nodes: NodeColumns) -> I64Array | None:
        """Update the amounts.

        Returns
        -------
        (k,) int64, or None
            The slots that may have changed, each once; None for all.
        """
        versions = (
            nodes.node_journal.version,
            nodes.pods_journal.version,
            nodes.condition_journal.version if self._only_ready else 0,
        )
        if versions == self._versions:
            return _NOTHING
        slots = self._changed_slots(nodes)
        self._versions = versions
        if slots is None:
            self.columns = dict(nodes.resources)
            alive = self._counted(nodes, np.arange(nodes.n_slots))
            self.allocatable = np.where(alive, nodes.allocatable, 0)
            self.requested = np.where(alive, nodes.requested, 0)
            self.allocatable_sums = self.allocatable.sum(axis=0)
            self.requested_sums = self.requested.sum(axis=0)
            return None
        alive = self._counted(nodes, slots)
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
        conditions = nodes.condition_journal.since(self._versions[2]) if self._only_ready else ()
        if changed is None or changed_pods is None or conditions is None:
            return None
        # A slot in several journals must change the sums once.
        slots: I64Array = np.unique(np.concatenate((changed, changed_pods, conditions)))
        return slots.astype(np.int64)

    def _counted(self, nodes: NodeColumns, slots: I64Array) -> Mask:
        """Return which slots have a node that counts: (k, 1) bool."""
        counted: Mask = nodes.alive[slots]
        if self._only_ready:
            objects = nodes.objects
            counted = counted & np.array(
                [(node := objects[slot]) is not None and is_ready(node) for slot in slots.tolist()],
                dtype=np.bool_,
            )
        return counted[:, None]


def is_ready(node: Node) -> bool:
    """Report whether a node is ready; one without the condition `Ready` counts as ready."""
    return all(each.type != "Ready" or each.status == "True" for each in node.status.conditions)
