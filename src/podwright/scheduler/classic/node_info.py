"""A node with its pods, and the sums that predicates and priorities read.

Upstream: pkg/scheduler/nodeinfo/node_info.go, host_ports.go
"""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import BETA_REGION, BETA_ZONE, Node, Pod, Taint, quantity_value
from podwright.scheduler.classic.resources import Resources, allocatable, occupied, scoring_request

HostPort = tuple[str, str, int]
"""Address, protocol and number."""

ZoneKey = str
"""Region and zone of a node; empty if it has neither."""

_ANY_ADDRESS = "0.0.0.0"  # compared, never bound


def zone_key(labels: dict[str, str]) -> ZoneKey:
    """Return the zone of a node with these labels; the labels of v1.17 and later are ignored."""
    region, zone = labels.get(BETA_REGION, ""), labels.get(BETA_ZONE, "")
    return f"{region}:\x00:{zone}" if region or zone else ""


def host_ports(pod: Pod) -> Iterator[HostPort]:
    """Yield the host ports of the pod's containers."""
    for container in pod.spec.containers:
        for port in container.ports:
            if port.host_port > 0:
                yield (port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)


def has_pod_affinity(pod: Pod) -> bool:
    """Whether the pod has pod affinity or pod anti-affinity."""
    affinity = pod.spec.affinity
    return affinity is not None and (
        affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None
    )


class NodeInfo:
    """One node and its pods.

    Parameters
    ----------
    name : str
        The node's name. Pods may be added before their node.

    Attributes
    ----------
    node : Node or None
        None if only pods of this node have been added.
    pods, pods_with_affinity : dict of str to Pod
        By `namespace/name`, in the order in which they were added.
    requested : Resources
        The resources that the pods occupy.
    scoring_milli_cpu, scoring_memory_bytes : int
        The same for scoring, with defaults for missing requests.
    """

    __slots__ = (
        "_occupied",
        "allocatable",
        "allowed_pods",
        "labels",
        "name",
        "node",
        "pods",
        "pods_with_affinity",
        "requested",
        "scoring_memory_bytes",
        "scoring_milli_cpu",
        "taints",
        "unschedulable",
        "used_ports",
        "zone",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.pods: dict[str, Pod] = {}
        self.pods_with_affinity: dict[str, Pod] = {}
        self._occupied: dict[str, tuple[Resources, int, int]] = {}
        self.requested = Resources()
        self.scoring_milli_cpu = 0
        self.scoring_memory_bytes = 0
        self.used_ports: list[HostPort] = []
        self.set_node(None)

    def __repr__(self) -> str:
        return f"NodeInfo({self.name!r}, {len(self.pods)} pods)"

    def set_node(self, node: Node | None) -> None:
        """Set a newer version of the node; None if it was removed, though pods may remain."""
        self.node = node
        if node is None:
            self.labels: dict[str, str] = {}
            self.taints: tuple[Taint, ...] = ()
            self.unschedulable = False
            self.zone: ZoneKey = ""
            self.allowed_pods = 0
            self.allocatable = Resources()
            return
        self.labels = node.metadata.labels
        self.taints = node.spec.taints
        self.unschedulable = node.spec.unschedulable
        self.zone = zone_key(self.labels)
        self.allowed_pods = quantity_value(node.status.allocatable.get("pods", 0))
        self.allocatable = allocatable(node.status.allocatable)

    def add_pod(self, pod: Pod) -> None:
        """Add a pod, and replace a pod of the same name."""
        key = pod.key
        if key in self.pods:
            self.remove_pod(self.pods[key])
        amounts, (milli_cpu, memory_bytes) = occupied(pod), scoring_request(pod)
        self.pods[key] = pod
        self._occupied[key] = (amounts, milli_cpu, memory_bytes)
        self.requested.add(amounts)
        self.scoring_milli_cpu += milli_cpu
        self.scoring_memory_bytes += memory_bytes
        if has_pod_affinity(pod):
            self.pods_with_affinity[key] = pod
        self.used_ports.extend(host_ports(pod))

    def remove_pod(self, pod: Pod) -> None:
        """Remove the pod of that name; an unknown pod is ignored."""
        key = pod.key
        present = self.pods.pop(key, None)
        if present is None:
            return
        amounts, milli_cpu, memory_bytes = self._occupied.pop(key)
        self.requested.subtract(amounts)
        self.scoring_milli_cpu -= milli_cpu
        self.scoring_memory_bytes -= memory_bytes
        self.pods_with_affinity.pop(key, None)
        for port in host_ports(present):
            self.used_ports.remove(port)

    def takes_port(self, needed: HostPort) -> bool:
        """Whether the port is in use; the address 0.0.0.0 conflicts with every address."""
        address, protocol, number = needed
        return any(
            used_protocol == protocol
            and used_number == number
            and (address == used_address or _ANY_ADDRESS in (address, used_address))
            for used_address, used_protocol, used_number in self.used_ports
        )

    def clone(self) -> NodeInfo:
        """Return a copy that can be changed."""
        copy = NodeInfo.__new__(NodeInfo)
        copy.name = self.name
        copy.node = self.node
        copy.labels = self.labels
        copy.taints = self.taints
        copy.unschedulable = self.unschedulable
        copy.zone = self.zone
        copy.allowed_pods = self.allowed_pods
        copy.allocatable = self.allocatable
        copy.pods = dict(self.pods)
        copy.pods_with_affinity = dict(self.pods_with_affinity)
        copy._occupied = dict(self._occupied)  # noqa: SLF001  # of the same class
        copy.requested = self.requested.copy()
        copy.scoring_milli_cpu = self.scoring_milli_cpu
        copy.scoring_memory_bytes = self.scoring_memory_bytes
        copy.used_ports = list(self.used_ports)
        return copy
