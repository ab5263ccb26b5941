"""The order in which nodes are evaluated: round-robin over zones.

Nodes are kept in one list per zone (region and zone label together). The order takes the first
node of each zone, then the second of each, and so on; zones are in the order in which their
first node was added. A node whose zone changes goes to the end of its new zone. Upstream:
pkg/scheduler/backend/cache/node_tree.go, `nodeTree.list`;
staging/src/k8s.io/component-helpers/node/topology/helpers.go, `GetZoneKey`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podwright.apimachinery.objects import zone_key


class NodeTree:
    """Names of nodes by zone, in order of arrival."""

    __slots__ = ("_names_of", "_zone_of")

    def __init__(self) -> None:
        self._names_of: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def put(self, name: str, labels: Mapping[str, str]) -> bool:
        """Add a node, or move it if its zone changed; return whether the order changed."""
        zone = zone_key(labels)
        old = self._zone_of.get(name)
        if old == zone:
            return False
        if old is not None:
            self.remove(name)
        self._zone_of[name] = zone
        self._names_of.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> None:
        """Remove a node; a zone is removed with its last node."""
        zone = self._zone_of.pop(name)
        names = self._names_of[zone]
        del names[name]
        if not names:
            del self._names_of[zone]

    def by_zone(self) -> list[list[str]]:
        """Return the names of each zone, zones and names in their order."""
        return [list(names) for names in self._names_of.values()]

    def reorder(self, by_zone: Iterable[Iterable[str]]) -> None:
        """Restore an order that `by_zone` returned for the same nodes."""
        listed = [list(names) for names in by_zone]
        self._names_of = {
            self._zone_of[names[0]]: dict.fromkeys(names) for names in listed if names
        }

    def names(self) -> list[str]:
        """Return all names, round-robin over zones."""
        lists = [list(names) for names in self._names_of.values()]
        longest = max(map(len, lists), default=0)
        return [names[i] for i in range(longest) for names in lists if i < len(names)]
