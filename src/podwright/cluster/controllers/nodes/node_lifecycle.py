"""Node lifecycle: unresponsive kubelets, and the taints of node conditions.

When a kubelet has posted no status for the grace period, the controller sets the node's
conditions to Unknown and its pods to not ready. It also maps node conditions to taints:
NoSchedule taints immediately, NoExecute taints at the rate of the node's zone (`Zones`).

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go;
pkg/controller/nodelifecycle/node_lifecycle_controller.go, handleDisruption, ComputeZoneState;
pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    NOT_READY,
    SOURCE_UID,
    TAINT_OF_CONDITION,
    UNREACHABLE,
    Document,
    NamespacedName,
    Node,
    Pod,
    condition_of,
    timestamp_text,
    zone_key,
)
from podwright.cluster.api import NodeDown, NodeUp, conditions_with, patched, section
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerAction,
    DrainNode,
    Keys,
    NodeEvent,
    Version,
)
from podwright.cluster.controllers.kinds import NODE
from podwright.cluster.controllers.lister import Lister

GRACE_NS: Final = 50_000_000_000
"""How long a kubelet may post no status (`--node-monitor-grace-period`)."""

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

_MANAGED_TAINTS: Final = frozenset({*TAINT_OF_CONDITION.values(), UNSCHEDULABLE})
_EVICTING: Final = frozenset({NOT_READY, UNREACHABLE})
_ZONES: Final = "*"
"""The key of the zones in the workqueue; it is not a valid node name."""

_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycleController(Controller):
    """Sets the conditions of unresponsive nodes, and the taints of node conditions."""

    name = "node-lifecycle-controller"
    kinds = (NODE,)

    event_source = "node-controller"
    _unresponsive_since_ns: Saved[dict[str, int]]
    _marked: Saved[dict[str, None]]
    _zones: Saved[Zones]
    _monitor_ns: Saved[int | None]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._unresponsive_since_ns = {}
        # Nodes whose pods this controller marked as not ready.
        self._marked = {}
        self._zones = Zones()
        self._monitor_ns = None

    def on_node_event(self, event: NodeEvent, now_ns: int) -> Keys:
        """Record that a kubelet stopped or resumed posting its status."""
        match event:
            case NodeDown(node=node):
                self._unresponsive_since_ns.setdefault(node, now_ns)
                return (node,)
            case NodeUp(node=node):
                self._unresponsive_since_ns.pop(node, None)
                return (node,)
            case DrainNode():
                return ()

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a node whose conditions, labels or spec changed, and the key of the zones."""
        if not isinstance(new, Node):
            if isinstance(old, Node):
                self._forget(old.name)
            return (_ZONES,)
        if isinstance(old, Node):
            if old.uid != new.uid:
                self._forget(new.name)
            elif (
                old.spec == new.spec
                and old.metadata.labels == new.metadata.labels
                and _statuses(old) == _statuses(new)
            ):
                return ()
        else:
            # A new node has a new kubelet, even if an earlier one of the name stopped.
            self._unresponsive_since_ns.pop(new.name, None)
        return (new.name, _ZONES) if self._zones.put(new) else (new.name,)

    def _forget(self, node: str) -> None:
        self._unresponsive_since_ns.pop(node, None)
        if not self._lister.pods_on(node):
            self._marked.pop(node, None)  # with pods left, the kubelet may register it again
        self._zones.remove(node)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Update the conditions and taints of a node, or process the zones."""
        if key == _ZONES:
            return self._sync_zones(now_ns)
        node = self._lister.get(NODE, key)
        if not isinstance(node, Node) or SOURCE_UID in node.metadata.annotations:
            return []  # conditions and taints of a mirrored node are those of its source
        actions: Actions = []
        conditions: Sequence[Document] = section(node, "status").get("conditions") or ()
        written = list(conditions)
        since_ns = self._unresponsive_since_ns.get(key)
        if since_ns is not None:
            if now_ns < since_ns + GRACE_NS:
                actions.append(self.sync_at(key, since_ns + GRACE_NS))
            else:
                created = node.metadata.creation_timestamp
                written = _unknown(conditions, created, now_ns)
        was_ready = dict(_statuses(node)).get("Ready") == "True"
        is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in written)
        taints = _taints(node, written, now_ns)
        spec: Document = {} if taints is None else {"taints": taints or None}
        if spec or written != list(conditions):
            new = patched(node, spec=spec, status={"conditions": written} if written else {})
            actions.append(self.update(new, "whole"))
        if was_ready and not is_ready:
            self._marked[key] = None
            actions.extend(self._marked_not_ready(node, now_ns))
        elif is_ready and key in self._marked:
            del self._marked[key]
            actions.extend(self._ready_again(node, now_ns))
        return actions

    def _sync_zones(self, now_ns: int) -> Actions:
        """Add NoExecute taints to nodes, at the rates of their zones.

        Upstream: processTaintBaseEviction, doNoExecuteTaintingPass
        """
        nodes = {name: self._node(name) for name in self._zones.unready}
        tainted = [name for name, node in nodes.items() if _is_tainted_for_eviction(node)]
        actions: Actions = []
        if self._monitor_ns is not None and self._monitor_ns <= now_ns:
            self._monitor_ns = None
            if self._zones.monitor(tainted, now_ns):
                # No node of any zone is ready: the control plane's network has failed.
                actions += [self._with_taint(nodes[name], None) for name in tainted]
                tainted = []
        for name in self._zones.take_due(now_ns):
            node = nodes[name]
            taint = {
                "key": TAINT_OF_CONDITION["Ready", dict(_statuses(node))["Ready"]],
                "effect": "NoExecute",
                "timeAdded": timestamp_text(now_ns),
            }
            actions.append(self._with_taint(node, taint))
            tainted.append(name)
        if self._monitor_ns is None and self._zones.needs_monitoring(tainted):
            self._monitor_ns = now_ns - now_ns % PERIOD_NS + PERIOD_NS
        dues = [each for each in (self._monitor_ns, self._zones.next_due_ns()) if each is not None]
        if dues:
            actions.append(self.sync_at(_ZONES, min(dues)))
        return actions

    def _node(self, name: str) -> Node:
        node = self._lister.get(NODE, name)
        assert isinstance(node, Node), f"no node {name}"
        return node

    def _with_taint(self, node: Node, taint: Document | None) -> ControllerAction:
        """Return the update of a node to one NoExecute taint of this controller, or none."""
        written: Sequence[Document] = section(node, "spec").get("taints") or ()
        taints = [each for each in written if not _is_evicting(each)]
        if taint is not None:
            taints.append(taint)
        return self.update(patched(node, spec={"taints": taints or None}), "whole")

    def _marked_not_ready(self, node: Node, now_ns: int) -> Actions:
        """Set the condition Ready of a node's pods to False.

        Upstream: pkg/controller/util/node/controller_utils.go, MarkPodsNotReady
        """
        note = f"Node {node.name} status is now: NodeNotReady"
        actions: Actions = [self.event(node, "NodeNotReady", note)]
        for _, pod in sorted(self._lister.pods_on(node.name).items()):
            ready = condition_of(pod, "Ready")
            if ready is None or ready.status != "True":
                continue
            new = patched(pod, status={"conditions": _not_ready(pod, now_ns)})
            actions.append(self.update(new, "status"))
            actions.append(self.warning(pod, "NodeNotReady", "Node is not ready"))
        return actions

    def _ready_again(self, node: Node, now_ns: int) -> Iterable[ControllerAction]:
        """Restore the condition Ready of a node's pods, as the returned kubelet does.

        Upstream: pkg/kubelet/status/status_manager.go, needsReconcile
        """
        for _, pod in sorted(self._lister.pods_on(node.name).items()):
            ready = condition_of(pod, "Ready")
            if ready is not None and ready.status != "True" and _runs_ready(pod):
                new = patched(pod, status={"conditions": _ready(pod, now_ns)})
                yield self.update(new, "status")


def _statuses(node: Node) -> list[tuple[str, str]]:
    return [(each.type, each.status) for each in node.status.conditions]


def _unknown(conditions: Sequence[Document], created: str | None, now_ns: int) -> list[Document]:
    """Return the conditions of an unresponsive node: Unknown.

    Upstream: tryUpdateNodeHealth
    """
    now = timestamp_text(now_ns)
    written = list(conditions)
    known = {each.get("type"): each for each in conditions}
    for type_ in _REPORTED:
        present = known.get(type_)
        if present is not None and present.get("status") == "Unknown":
            continue
        reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
        if present is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
        heartbeat = created if present is None else present.get("lastHeartbeatTime")
        condition = {
            "type": type_,
            "status": "Unknown",
            "lastHeartbeatTime": heartbeat or now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        written = conditions_with(written, condition)
    return written


def _taints(node: Node, conditions: Sequence[Document], now_ns: int) -> list[Document] | None:
    """Return the desired taints of a node, None if they are unchanged.

    A NoExecute taint is replaced or removed here, but never added.

    Upstream: doNoScheduleTaintingPass, processTaintBaseEviction
    """
    desired = [
        (TAINT_OF_CONDITION[pair], "NoSchedule")
        for each in conditions
        if (pair := (each.get("type", ""), each.get("status", ""))) in TAINT_OF_CONDITION
    ]
    if node.spec.unschedulable:
        desired.append((UNSCHEDULABLE, "NoSchedule"))
    known = {str(each.get("type")): str(each.get("status")) for each in conditions}
    written: Sequence[Document] = section(node, "spec").get("taints") or ()
    evicting = [_identity(each) for each in written if _is_evicting(each)]
    if "Ready" not in known:
        desired += evicting  # the kubelet has posted no status yet
    elif evicting and (taint := TAINT_OF_CONDITION.get(("Ready", known["Ready"]))) is not None:
        desired.append((taint, "NoExecute"))
    kept = [each for each in written if not _is_managed(each) or _identity(each) in desired]
    there = {_identity(each) for each in kept}
    now = timestamp_text(now_ns)
    added = [
        {"key": key, "effect": effect, "timeAdded": now}
        for key, effect in desired
        if (key, effect) not in there
    ]
    return [*kept, *added] if added or len(kept) < len(written) else None


def _identity(taint: Document) -> tuple[str, str]:
    return (str(taint.get("key")), str(taint.get("effect")))


def _is_managed(taint: Document) -> bool:
    key, effect = _identity(taint)
    return key in _MANAGED_TAINTS if effect == "NoSchedule" else _is_evicting(taint)


def _is_evicting(taint: Document) -> bool:
    key, effect = _identity(taint)
    return effect == "NoExecute" and key in _EVICTING


def _is_tainted_for_eviction(node: Node) -> bool:
    return any(each.effect == "NoExecute" and each.key in _EVICTING for each in node.spec.taints)


def _not_ready(pod: Pod, now_ns: int) -> list[Document]:
    return _with_ready(pod, "False", timestamp_text(now_ns))


def _ready(pod: Pod, now_ns: int) -> list[Document]:
    """Return the conditions as the kubelet reports them: ready since the containers are."""
    containers = condition_of(pod, "ContainersReady")
    since = None if containers is None else containers.last_transition_time
    return _with_ready(pod, "True", since or timestamp_text(now_ns))


def _with_ready(pod: Pod, status: str, since: str) -> list[Document]:
    return [
        each | {"status": status, "lastTransitionTime": since}
        if each.get("type") == "Ready"
        else each
        for each in section(pod, "status").get("conditions") or ()
    ]


def _runs_ready(pod: Pod) -> bool:
    """Whether the containers and readiness gates of a pod are all ready."""
    containers = section(pod, "status").get("containerStatuses") or ()
    gates = section(pod, "spec").get("readinessGates") or ()
    known = {each.type: each.status for each in pod.status.conditions}
    return (
        pod.status.phase == "Running"
        and bool(containers)
        and all(each.get("ready") for each in containers)
        and all(known.get(gate.get("conditionType")) == "True" for gate in gates)
    )


# The rate at which unready nodes get NoExecute taints, by zone.
#
# Theory of operation
# -------------------
# A network failure is hard to distinguish from failed nodes, and evicting the pods of many nodes at
# once would make an outage worse. Each zone therefore has a queue of nodes to taint, and a rate:
# normally one node per 10 s; when most of its nodes are unready, one per 100 s in a large zone and
# none in a small one. When no node of any zone is ready, the controller adds no taints and removes
# those it added, until a node is ready again.
#
# Upstream monitors all nodes every 5 s. Each pass adds newly unready nodes to the queues, then
# sets the rates from the current state. Here passes happen at the same multiples of 5 s, but only
# those that would change something.

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

Disruption: TypeAlias = Literal["Normal", "PartialDisruption", "FullDisruption"]


class Zone(msgspec.Struct, kw_only=True):
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
    is_unready: bool
    is_counted: bool


class Zones(Checkpointed):
    """All zones of a cluster, and their unready nodes."""

    _zones: Saved[dict[str, Zone]]

    def __init__(self) -> None:
        self._zones = {}
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
            ready is not None and ("Ready", ready.status) in TAINT_OF_CONDITION,
            _EXCLUDED not in labels,
        )
        if self._nodes.get(node.name) == health:
            return False
        self.remove(node.name)
        self._nodes[node.name] = health
        self._count(health, 1)
        if health.is_unready:
            self._unready[node.name] = None
        return True

    def remove(self, name: str) -> None:
        """Remove a node, if it is known."""
        health = self._nodes.pop(name, None)
        if health is not None:
            self._count(health, -1)
            self._unready.pop(name, None)
            self._zones[health.zone].waiting.pop(name, None)

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
        """The nodes whose condition Ready is False or Unknown, sorted."""
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
        for key, disruption in found.items():
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
