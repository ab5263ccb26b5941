"""Volumes, claims, classes and drivers, and which of them the placed pods use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podwright.columns.nodes import NodeColumns
from podwright.objects import Object

if TYPE_CHECKING:
    from podwright.columns.placement import PlacedPod


class StorageIndex:
    """Storage objects by name; `version` grows with every change that a plugin could see."""

    def __init__(self, nodes: NodeColumns) -> None:
        self.version = 0
        self._nodes = nodes

    def put(self, obj: Object) -> None:
        """Take over a new or changed object; other kinds are left alone."""

    def delete(self, obj: Object) -> None:
        """Drop an object; unknown ones are ignored."""

    def count(self, placed: PlacedPod, sign: int) -> None:
        """Count (1) or stop counting (-1) the volumes of a pod on its slot."""

    def node_changed(self, slot: int) -> None:
        """Learn that the node in `slot` came, changed or went."""

    def renumber(self) -> None:
        """Forget what is known per slot: nodes get new slots and their pods are counted anew."""
