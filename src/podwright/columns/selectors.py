"""How many placed pods match a selector, per slot and per topology domain.

Counters are kept up to date as pods come and go; nothing is recounted per pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podwright.columns.interning import Interner
from podwright.columns.nodes import NodeColumns
from podwright.objects import Pod

if TYPE_CHECKING:
    from podwright.columns.placement import PlacedPod


class SelectorCounters:
    """Counters of placed pods; `terms_version` grows when a new kind of term is placed."""

    def __init__(self, nodes: NodeColumns) -> None:
        self.terms_version = 0
        self._nodes = nodes
        self._classes: Interner[tuple[str, frozenset[tuple[str, str]]]] = Interner()

    def class_of(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the number of the (namespace, labels) class."""
        return self._classes.id_of((namespace, frozenset(labels.items())))

    def terms_of(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the pod's own (anti-)affinity terms."""
        return ()

    def placed(self, placed: PlacedPod, sign: int) -> None:
        """Count (1) or stop counting (-1) a pod on its slot."""

    def node_added(self, slot: int) -> None:
        """Learn that `slot` is new."""

    def node_changed(self, slot: int) -> None:
        """Learn that the Node object of `slot` changed (perhaps its labels)."""

    def node_removed(self, slot: int) -> None:
        """Learn that the node in `slot` is gone; its pods were taken out before."""

    def namespaces_changed(self, labels_of: Mapping[str, Mapping[str, str]]) -> None:
        """Learn the labels of all namespaces anew."""

    def renumber(self) -> None:
        """Forget what is known per slot: nodes get new slots and their pods are counted anew."""
