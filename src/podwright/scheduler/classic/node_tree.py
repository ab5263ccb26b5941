"""The order in which nodes are visited, and how many of them.

Zones are visited in turn, one node of each, in the order in which the zones appeared. The position
is kept from one pod to the next, so a scheduler that examines a part of the nodes per pod examines
all of them over time. A zone without further nodes in this round is skipped. When one call has met
as many such zones as there are zones, all zones start again.

Added and removed nodes do not move the position: until the next restart nodes may be skipped or
visited twice.

Upstream: pkg/scheduler/internal/cache/node_tree.go,
pkg/scheduler/core/generic_scheduler.go (numFeasibleNodesToFind)
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Node
from podwright.scheduler.classic.node_info import ZoneKey, zone_key

_DEFAULT_PERCENTAGE: Final = 50
_LEAST_PERCENTAGE: Final = 5
_LEAST_COUNT: Final = 100
_NODES_PER_PERCENT: Final = 125


class NodeTree:
    """Node names by zone, with a position."""

    def __init__(self) -> None:
        self._names: dict[ZoneKey, list[str]] = {}  # ordered by the appearance of the zone
        self._next_index: dict[ZoneKey, int] = {}
        self._zones: list[ZoneKey] = []
        self._zone_index = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, node: Node) -> None:
        """Append the node to its zone; a node that is in it keeps its position."""
        zone = zone_key(node.metadata.labels)
        if zone not in self._names:
            self._names[zone] = []
            self._next_index[zone] = 0
            self._zones.append(zone)
        if node.name not in self._names[zone]:
            self._names[zone].append(node.name)
            self._count += 1

    def remove(self, node: Node) -> bool:
        """Remove the node; return False if it is not in the zone of its labels."""
        zone = zone_key(node.metadata.labels)
        names = self._names.get(zone, [])
        if node.name not in names:
            return False
        names.remove(node.name)
        self._count -= 1
        if not names:
            del self._names[zone], self._next_index[zone]
            self._zones.remove(zone)
        return True

    def update(self, old: Node, new: Node) -> None:
        """Move the node to the end of another zone, if its zone changed."""
        if zone_key(old.metadata.labels) != zone_key(new.metadata.labels):
            self.remove(old)
            self.add(new)

    def next(self) -> str:
        """Return the next name; empty if there is no node."""
        exhausted_count = 0
        while self._zones:
            if self._zone_index >= len(self._zones):
                self._zone_index = 0
            zone = self._zones[self._zone_index]
            self._zone_index += 1
            names, index = self._names[zone], self._next_index[zone]
            if index < len(names):
                self._next_index[zone] = index + 1
                return names[index]
            exhausted_count += 1
            if exhausted_count >= len(self._zones):
                self._restart()
        return ""

    def position(self) -> tuple[int, dict[ZoneKey, int]]:
        """Return the position of the next visit; valid until a node is added or removed."""
        return self._zone_index, dict(self._next_index)

    def restore_position(self, position: tuple[int, dict[ZoneKey, int]]) -> None:
        """Set the position to one that `position` returned."""
        self._zone_index = position[0]
        self._next_index = dict(position[1])

    def _restart(self) -> None:
        self._zone_index = 0
        for zone in self._zones:
            self._next_index[zone] = 0


def nodes_to_find(nodes_count: int, percentage: int = 0) -> int:
    """Return the number of feasible nodes at which the search ends.

    Parameters
    ----------
    nodes_count : int
        The number of nodes. Below 100 all of them are examined.
    percentage : int
        `percentageOfNodesToScore`; 0 or less selects a percentage by the size of the cluster.

    Examples
    --------
    >>> [nodes_to_find(count) for count in (99, 100, 1_000, 5_000, 10_000)]
    [99, 100, 420, 500, 500]
    """
    if nodes_count < _LEAST_COUNT:
        return nodes_count
    if percentage <= 0:
        percentage = max(_DEFAULT_PERCENTAGE - nodes_count // _NODES_PER_PERCENT, _LEAST_PERCENTAGE)
    return max(nodes_count * min(percentage, 100) // 100, _LEAST_COUNT)
