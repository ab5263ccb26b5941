"""A node with its pods, and the sums over them that predicates and priorities read.

Upstream: pkg/scheduler/nodeinfo/node_info.go, host_ports.go
"""

from __future__ import annotations

from collections.abc import Iterator

from podwright.classic.resources import Resources, allocatable, occupied, scoring_request
from podwright.objects import Node, Pod, Taint, quantity_value

__all__ = ["HostPort", "NodeInfo", "ZoneKey", "host_ports", "zone_key"]

HostPort = tuple[str, str, int]
"""Address, protocol and number."""

ZoneKey = str
"""Region and zone of a node together; empty if it has neither."""

_ANY_ADDRESS = "0.0.0.0"  # compared, never bound
_ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"
_REGION_LABEL = "failure-domain.beta.kubernetes.io/region"


def zone_key(labels: dict[str, str]) -> ZoneKey:
    """Return the zone of a node with those labels; the labels of 1.17 and later mean nothing."""
    region, zone = labels.get(_REGION_LABEL, ""), labels.get(_ZONE_LABEL, "")
    return f"{region}:\x00:{zone}" if region or zone else ""


def host_ports(pod: Pod) -> Iterator[HostPort]:
    """Yield the ports of the node that the pod's containers take."""
    for container in pod.spec.containers:
        for port in container.ports:
            if port.host_port > 0:
                yield (port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)


def has_pod_affinity(pod: Pod) -> bool:
    """Whether the pod has affinity or anti-affinity to other pods."""
    affinity = pod.spec.affinity
    return affinity is not None and (
        affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None
    )


class NodeInfo:
    """One node and what is on it.

    Parameters
    ----------
    name : str
        The node's name. Pods may be known before their node is.

    Attributes
    ----------
    node : Node or None
        None: only pods of this node have been seen so far.
    pods, pods_with_affinity : dict of str to Pod
        By `namespace/name`, in order of arrival.
    requested : Resources
        What the pods occupy.
    scoring_milli_cpu, scoring_memory_bytes : int
        The same for scoring, defaults filled in.
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
        """Take over a newer version of the node; None: it is gone, its pods may linger."""
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
        """Put a pod on the node, in place of one of the same name."""
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
        """Take a pod of that name off the node; one that is not there is passed over."""
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

    def takes_port(self, wanted: HostPort) -> bool:
        """Whether the port is taken; an address of zeros stands for all addresses."""
        address, protocol, number = wanted
        return any(
            used_protocol == protocol
            and used_number == number
            and (address == used_address or _ANY_ADDRESS in (address, used_address))
            for used_address, used_protocol, used_number in self.used_ports
        )

    def clone(self) -> NodeInfo:
        """Return a copy to try things on."""
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
