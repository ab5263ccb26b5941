"""A node with its pods, and the sums that predicates and priorities read.

Upstream: pkg/scheduler/nodeinfo/node_info.go, host_ports.go; pkg/scheduler/nodeinfo/node_info.go
(Resource, calculateResource), pkg/scheduler/algorithm/predicates/predicates.go
(GetResourceRequest), pkg/scheduler/algorithm/priorities/util/non_zero.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    DEFAULT_MEMORY_REQUEST_BYTES,
    DEFAULT_MILLI_CPU_REQUEST,
    Container,
    Node,
    Pod,
    ResourceList,
    Taint,
    is_scalar_resource,
    quantity_milli_value,
    quantity_value,
)

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


# The requests of a pod, and the resources that it occupies, by the v1.16 rules.
#
# The requests include init containers (the largest one, if it exceeds the sum of the containers);
# the occupied resources do not. Neither includes overhead. Scoring assumes 100m and 200 MiB for a
# container without a request for the resource; an explicit zero is a request.


class Resources(msgspec.Struct):
    """Amounts of the fixed resources, and of the others by name.

    Attributes
    ----------
    milli_cpu, memory_bytes, ephemeral_bytes : int
        The fixed ones.
    scalars : dict of str to int
        Extended resources, huge pages and other scalar resources. A request of 0 has an entry.
    """

    milli_cpu: int = 0
    memory_bytes: int = 0
    ephemeral_bytes: int = 0
    scalars: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is requested."""
        return not (self.milli_cpu or self.memory_bytes or self.ephemeral_bytes or self.scalars)

    def add(self, other: Resources) -> None:
        """Add other amounts to these."""
        self.milli_cpu += other.milli_cpu
        self.memory_bytes += other.memory_bytes
        self.ephemeral_bytes += other.ephemeral_bytes
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + amount

    def subtract(self, other: Resources) -> None:
        """Subtract other amounts from these."""
        self.milli_cpu -= other.milli_cpu
        self.memory_bytes -= other.memory_bytes
        self.ephemeral_bytes -= other.ephemeral_bytes
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) - amount

    def copy(self) -> Resources:
        """Return an independent copy."""
        return Resources(
            self.milli_cpu, self.memory_bytes, self.ephemeral_bytes, dict(self.scalars)
        )


def occupied(pod: Pod) -> Resources:
    """Return the resources that the pod occupies: the sum over its containers."""
    return _sum(pod.spec.containers)


def requested_by(pod: Pod) -> Resources:
    """Return the requests of the pod: the sum, or an init container that needs more."""
    result = occupied(pod)
    for container in pod.spec.init_containers:
        single = _sum((container,))
        result.milli_cpu = max(result.milli_cpu, single.milli_cpu)
        result.memory_bytes = max(result.memory_bytes, single.memory_bytes)
        result.ephemeral_bytes = max(result.ephemeral_bytes, single.ephemeral_bytes)
        for name, amount in single.scalars.items():
            if amount > result.scalars.get(name, 0):
                result.scalars[name] = amount
    return result


def allocatable(resources: ResourceList) -> Resources:
    """Return the allocatable resources of a node, without `pods`."""
    result = Resources()
    _add_list(result, resources)
    return result


def scoring_request(pod: Pod) -> tuple[int, int]:
    """Return milli-CPU and memory bytes for scoring, with defaults for missing requests."""
    milli_cpu = memory_bytes = 0
    for container in pod.spec.containers:
        requests = container.resources.requests
        cpu, memory = requests.get("cpu"), requests.get("memory")
        milli_cpu += DEFAULT_MILLI_CPU_REQUEST if cpu is None else quantity_milli_value(cpu)
        memory_bytes += DEFAULT_MEMORY_REQUEST_BYTES if memory is None else quantity_value(memory)
    return milli_cpu, memory_bytes


def _sum(containers: Iterable[Container]) -> Resources:
    result = Resources()
    for container in containers:
        _add_list(result, container.resources.requests)
    return result


def _add_list(result: Resources, resources: ResourceList) -> None:
    for name, quantity in resources.items():
        match name:
            case "cpu":
                result.milli_cpu += quantity_milli_value(quantity)
            case "memory":
                result.memory_bytes += quantity_value(quantity)
            case "ephemeral-storage":
                result.ephemeral_bytes += quantity_value(quantity)
            case "pods":
                pass  # counted separately
            case _ if is_scalar_resource(name):
                result.scalars[name] = result.scalars.get(name, 0) + quantity_value(quantity)
            case _:
                pass  # a resource that scheduling ignores
