"""The rate at which unready nodes get NoExecute taints, by zone.

Theory of operation
-------------------
A network failure is hard to distinguish from failed nodes, and evicting the pods of many nodes at
once would make an outage worse. Each zone therefore has a queue of nodes to taint, and a rate:
normally one node per 10 s; when most of its nodes are unready, one per 100 s in a large zone and
none in a small one. When no node of any zone is ready, the controller adds no taints and removes
those it added, until a node is ready again.

Upstream monitors all nodes every 5 s. Each pass adds newly unready nodes to the queues, then sets
the rates from the current state. Here passes happen at the same multiples of 5 s, but only those
that would change something.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, handleDisruption,
ComputeZoneState; pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import Node

PERIOD_NS: Final = 5_000_000_000
"""The interval between monitor passes (`--node-monitor-period`)."""

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
    """A zone. Run folders store its fields.

    Attributes
    ----------
    disruption : str
        The state at the last monitor pass.
    interval_ns : int, optional
        The time between two taints; None for no taints.
    next_ns : int
        The earliest time of the next taint.
    waiting : dict
        The queue: the names of the nodes to taint, with the time when they were added.
    """

    disruption: Disruption = "Normal"
    interval_ns: int | None = EVICTION_INTERVAL_NS
    next_ns: int = 0
    waiting: dict[str, int] = {}

    def set_interval(self, interval_ns: int | None, now_ns: int) -> None:
        """Change the rate; the first taint waits one new interval unless one was due already.

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
    """All zones of a cluster, and their unready nodes."""

    def __init__(self) -> None:
        self._zones: dict[str, Zone] = {}
        self._nodes: dict[str, _NodeHealth] = {}
        # The number of nodes that count, and of the ready ones among them, by zone.
        self._counts: dict[str, tuple[int, int]] = {}
        self._unready: dict[str, None] = {}

    # ---------------------------------------------------------------------------- changes

    def put(self, node: Node) -> bool:
        """Add or update a node; return whether its health, zone or exclusion changed."""
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
        """Remove a node; return whether it was known."""
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

    # ------------------------------------------------------------------------------- sync

    @property
    def unready(self) -> Iterable[str]:
        """The nodes whose condition Ready is not True, sorted."""
        return sorted(self._unready)

    def needs_monitoring(self, tainted: Iterable[str]) -> bool:
        """Whether a monitor pass would change something.

        Parameters
        ----------
        tainted : iterable of str
            The unready nodes that have a NoExecute taint already.
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
        """Fill the queues and set the rates; return whether all taints must be removed.

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
        """Return the disruption of each zone that has nodes that count.

        Upstream: ComputeZoneState
        """
        found: dict[str, Disruption] = {}
        for key, (total, ready) in self._counts.items():
            unready = total - ready
            if total and not ready:
                found[key] = "FullDisruption"
            # Upstream: two unready nodes never disrupt a zone partially, whatever their share.
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

    # ------------------------------------------------------------------------------ rates

    def take_due(self, now_ns: int) -> list[str]:
        """Remove the nodes to taint now from their queues, and return them."""
        taken: list[str] = []
        for _, zone in sorted(self._zones.items()):
            while zone.waiting and zone.interval_ns is not None and zone.next_ns <= now_ns:
                name = min(zone.waiting, key=lambda each: (zone.waiting[each], each))
                del zone.waiting[name]
                zone.next_ns = now_ns + zone.interval_ns
                taken.append(name)
        return taken

    def next_due_ns(self) -> int | None:
        """Return when the next node is due for a taint, None if none is."""
        return min(
            (
                zone.next_ns
                for zone in self._zones.values()
                if zone.waiting and zone.interval_ns is not None
            ),
            default=None,
        )

    # ------------------------------------------------------------------------ checkpoints

    def state(self) -> dict[str, Any]:
        """Return the zones; the objects show the state of their nodes."""
        zones: dict[str, Any] = msgspec.to_builtins(self._zones)
        return zones

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""
        self._zones = msgspec.convert(state, dict[str, Zone])


def zone_key(labels: dict[str, str]) -> str:
    """Return the zone key of a node: its region and zone, empty if it has neither.

    Upstream: staging/src/k8s.io/component-helpers/node/topology/helpers.go, GetZoneKey
    """
    # Upstream reads the beta labels first, even if a node has both.
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    # Upstream: the null character separates the two even if one of them contains a colon.
    return f"{region}:\0:{zone}" if zone or region else ""
