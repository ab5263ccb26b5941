"""How fast the nodes of a zone that are not ready are tainted for eviction.

Theory of operation
-------------------
A failed network looks like failed nodes, and evicting the pods of all of them would only make
it worse. So every zone has a line of nodes that are to be tainted, and a rate: usually one node
in ten seconds; when most of its nodes are down, one in a hundred seconds in a large zone and none
in a small one. When no node of any zone is ready, it is not the nodes that have failed: nothing
is tainted, and what was is taken back, until one is ready again.

Upstream looks at all nodes every five seconds. A look puts those that were not ready before
it in line, then sets the rates by how the nodes are now; so do looks here, at whole five
seconds, but only those by which something would change.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, handleDisruption,
ComputeZoneState; pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.objects import Node

PERIOD_NS: Final = 5_000_000_000
"""How often nodes are looked at (`--node-monitor-period`)."""

EVICTION_INTERVAL_NS: Final = 10_000_000_000
"""The inverse of `--node-eviction-rate`."""

SECONDARY_INTERVAL_NS: Final = 100_000_000_000
"""The inverse of `--secondary-node-eviction-rate`."""

LARGE_ZONE_NODES: Final = 50
"""Zones with more nodes are large (`--large-cluster-size-threshold`)."""

UNHEALTHY_PERCENT: Final = 55
"""From here on a zone is partially disrupted (`--unhealthy-zone-threshold`)."""

_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"

Disruption: TypeAlias = Literal["Normal", "PartialDisruption", "FullDisruption"]


class Zone(msgspec.Struct):
    """A zone.

    Attributes
    ----------
    disruption : str
        As the last look found it.
    interval_ns : int, optional
        Between two nodes that are tainted; None if none is.
    next_ns : int
        The earliest time for the next one.
    waiting : dict
        Who is to be tainted, and since when.
    """

    disruption: Disruption = "Normal"
    interval_ns: int | None = EVICTION_INTERVAL_NS
    next_ns: int = 0
    waiting: dict[str, int] = {}

    def set_interval(self, interval_ns: int | None, now_ns: int) -> None:
        """Go at another rate; who had to wait before has to wait again.

        Upstream: SwapLimiter
        """
        if interval_ns == self.interval_ns:
            return
        could = self.interval_ns is not None and self.next_ns <= now_ns
        self.interval_ns = interval_ns
        self.next_ns = now_ns if could else now_ns + (interval_ns or 0)


class _NodeHealth(msgspec.Struct, frozen=True):
    zone: str
    is_ready: bool
    is_counted: bool


class Zones:
    """All zones of a cluster, and who of their nodes is not ready."""

    def __init__(self) -> None:
        self._zones: dict[str, Zone] = {}
        self._nodes: dict[str, _NodeHealth] = {}
        # Per zone: how many nodes count, and how many of these are ready.
        self._counts: dict[str, tuple[int, int]] = {}
        self._unready: dict[str, None] = {}

    # ---------------------------------------------------------------------- what happens

    def put(self, node: Node) -> bool:
        """Take note of how a node is; returns whether that is news."""
        ready = next((each for each in node.status.conditions if each.type == "Ready"), None)
        labels = node.metadata.labels
        health = _NodeHealth(
            zone_key(labels),
            ready is not None and ready.status == "True",
            _EXCLUDED not in labels,
        )
        if self._nodes.get(node.name) == health:
            return False
        self.remove(node.name)
        self._nodes[node.name] = health
        self._count(health, 1)
        if not health.is_ready:
            self._unready[node.name] = None
        return True

    def remove(self, name: str) -> bool:
        """Forget a node; returns whether it was known."""
        health = self._nodes.pop(name, None)
        if health is None:
            return False
        self._count(health, -1)
        self._unready.pop(name, None)
        zone = self._zones.get(health.zone)
        if zone is not None:
            zone.waiting.pop(name, None)
        return True

    def _count(self, health: _NodeHealth, by: int) -> None:
        zone = self._zones.get(health.zone)
        if zone is None:
            self._zones[health.zone] = Zone()
        if health.is_counted:
            total, ready = self._counts.get(health.zone, (0, 0))
            self._counts[health.zone] = (total + by, ready + by * health.is_ready)

    # --------------------------------------------------------------------------- a look

    @property
    def unready(self) -> Iterable[str]:
        """The nodes that are not ready, or have not said so."""
        return sorted(self._unready)

    def needs_monitoring(self, tainted: Iterable[str]) -> bool:
        """Whether a look would change something.

        Parameters
        ----------
        tainted : iterable of str
            Who of the nodes that are not ready is tainted for eviction.
        """
        if any(self._zones[key].disruption != now for key, now in self._disruptions().items()):
            return True
        return bool(self._not_enqueued(tainted))

    def _not_enqueued(self, tainted: Iterable[str]) -> list[str]:
        known = frozenset(tainted)
        return [
            name
            for name in self.unready
            if name not in known and name not in self._zones[self._nodes[name].zone].waiting
        ]

    def monitor(self, tainted: Iterable[str], now_ns: int) -> bool:
        """Put nodes in line and set the rates; returns whether all taints are to be taken back.

        Upstream: monitorNodeHealth, handleDisruption
        """
        for name in self._not_enqueued(tainted):
            self._zones[self._nodes[name].zone].waiting[name] = now_ns
        found = self._disruptions()
        if not found:
            return False
        were_all_full = all(self._zones[key].disruption == "FullDisruption" for key in found)
        are_all_full = all(each == "FullDisruption" for each in found.values())
        for key, disruption in sorted(found.items()):
            zone = self._zones[key]
            if are_all_full and not were_all_full:
                zone.waiting.clear()
                zone.set_interval(None, now_ns)
            elif not are_all_full and (were_all_full or zone.disruption != disruption):
                zone.set_interval(self._interval_ns(key, disruption), now_ns)
            zone.disruption = disruption
        return are_all_full and not were_all_full

    def _disruptions(self) -> dict[str, Disruption]:
        """Return how zones are that have nodes which count.

        Upstream: ComputeZoneState
        """
        found: dict[str, Disruption] = {}
        for key, (total, ready) in self._counts.items():
            unready = total - ready
            if total and not ready:
                found[key] = "FullDisruption"
            elif unready > 2 and unready * 100 >= UNHEALTHY_PERCENT * total:
                found[key] = "PartialDisruption"
            elif total:
                found[key] = "Normal"
        return found

    def _interval_ns(self, key: str, disruption: Disruption) -> int | None:
        """Upstream: setLimiterInZone, ReducedQPSFunc."""
        if disruption != "PartialDisruption":
            return EVICTION_INTERVAL_NS
        return SECONDARY_INTERVAL_NS if self._counts[key][0] > LARGE_ZONE_NODES else None

    # -------------------------------------------------------------------------- the lines

    def take_due(self, now_ns: int) -> list[str]:
        """Return who is to be tainted now, and let them leave their lines."""
        taken: list[str] = []
        for _, zone in sorted(self._zones.items()):
            while zone.waiting and zone.interval_ns is not None and zone.next_ns <= now_ns:
                name = min(zone.waiting, key=lambda each: (zone.waiting[each], each))
                del zone.waiting[name]
                zone.next_ns = now_ns + zone.interval_ns
                taken.append(name)
        return taken

    def next_due_ns(self) -> int | None:
        """Return when the next node is to be tainted, None if no time is known."""
        return min(
            (
                zone.next_ns
                for zone in self._zones.values()
                if zone.waiting and zone.interval_ns is not None
            ),
            default=None,
        )

    # -------------------------------------------------------------------- writing down

    def state(self) -> dict[str, Any]:
        """Write the zones down; their nodes are seen in the objects."""
        zones: dict[str, Any] = msgspec.to_builtins(self._zones)
        return zones

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what was written down."""
        self._zones = msgspec.convert(state, dict[str, Zone])


def zone_key(labels: dict[str, str]) -> str:
    """Return the zone of a node: its region and its zone, empty if it has neither.

    Upstream: staging/src/k8s.io/component-helpers/node/topology/helpers.go, GetZoneKey
    """
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    return f"{region}:\0:{zone}" if zone or region else ""
