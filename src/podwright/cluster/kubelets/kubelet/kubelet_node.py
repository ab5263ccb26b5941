"""One node as its kubelet knows it: its address, its images, and what its pods use.

Upstream: staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go;
pkg/kubelet/kubelet_node_status.go; pkg/kubelet/lifecycle/predicate.go;
pkg/scheduler/eventhandlers.go, AdmissionCheck.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Final
from zlib import crc32

import msgspec

from podwright.apimachinery.objects import (
    SOURCE_UID,
    Document,
    NamespacedName,
    Node,
    Pod,
    is_extended_resource,
    node_selector,
    pending_requests,
    quantity_milli_value,
    quantity_value,
    timestamp_text,
    timestamp_text_micro,
    untolerated_taint,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, PatchObject, RecordEvent
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehaviors
from podwright.cluster.kubelets.kubelet.references import ObjectReader
from podwright.cluster.kubelets.stages.stage import identity_of
from podwright.cluster.store import GroupKind

IMAGES_MAX: Final = 1024
"""The number of images that a node keeps."""

_SOURCE: Final = "kubelet"


class KubeletNode:
    """What the kubelet of one node keeps besides the records of its pods.

    Parameters
    ----------
    name : str
    addresses : Addresses
        Of the cluster.
    reader : ObjectReader, optional
        Reads the objects that pods refer to, and the node; without it nothing is missing, and no
        pod is rejected.

    Attributes
    ----------
    files : dict
        The files in hostPath volumes.
    behaviors : ImageBehaviors
        What is declared of images.
    """

    def __init__(
        self,
        name: str,
        addresses: Addresses,
        reader: ObjectReader | None,
        behaviors: ImageBehaviors,
    ) -> None:
        self.name = name
        self.reader = reader
        self.behaviors = behaviors
        self.files: dict[str, str | None] = {}
        self._addresses = addresses
        self._images: OrderedDict[str, None] = OrderedDict()
        self._uses: dict[NamespacedName, PodUse] = {}
        # Pods of which it is computed when another pod is admitted; most nodes of a dump get none.
        self._uncounted: dict[NamespacedName, Pod] = {}
        self._pod_addresses: dict[NamespacedName, str] = {}
        self._address_count = 0

    # --------------------------------------------------------------------------- addresses

    @property
    def address(self) -> str:
        """The address of the node."""
        return self._addresses.of_node(self.name)

    def new_pod_address(self, pod: Pod) -> str:
        """Return an address for a pod: of the node's pod CIDR, if it has one."""
        node = self.read()
        cidr = (node.raw.get("spec") or {}).get("podCIDR") if node is not None else None
        if not cidr:
            return self._addresses.take_for_pod(identity_of(pod.raw))
        network = ip_network(cidr, strict=False)
        # The first addresses are those of the network and of its gateway.
        count = max(network.num_addresses - 3, 1)
        taken = set(self._pod_addresses.values())
        address = ""
        for _ in range(count):
            address = str(network[min(2 + self._address_count % count, network.num_addresses - 1)])
            self._address_count += 1
            if address not in taken:
                break
        self._pod_addresses[pod.key] = address
        return address

    def keep_address(self, pod: Pod, address: str) -> None:
        """Record the address that a pod has in its status, if it has one, for no other gets it."""
        if address and not pod.spec.host_network:
            self._pod_addresses[pod.key] = address
            self._addresses.keep_pod(address)

    # -------------------------------------------------------------------------------- images

    def has_image(self, name: str) -> bool:
        """Whether an image is on the node."""
        if name in self._images:
            self._images.move_to_end(name)
            return True
        return False

    def add_image(self, name: str) -> None:
        """Add an image that was pulled."""
        self._images[name] = None
        if len(self._images) > IMAGES_MAX:
            self._images.popitem(last=False)

    # ------------------------------------------------------------------------------ admission

    def admit(self, pod: Pod) -> Rejection | None:
        """Admit a pod, also one with other resources, or return why it is rejected."""
        for key, present in self._uncounted.items():
            self._uses[key] = use_of(present)
        self._uncounted.clear()
        use = use_of(pod)
        node = self.read()
        if node is not None and not _was_admitted_elsewhere(pod):
            others = (other for key, other in self._uses.items() if key != pod.key)
            rejection = rejection_of(pod, use, node, others)
            if rejection is not None:
                return rejection
        self._uses[pod.key] = use
        return None

    def add_use(self, pod: Pod) -> None:
        """Count a pod that was admitted before."""
        self._uncounted[pod.key] = pod

    def release(self, key: NamespacedName) -> None:
        """Release what a pod that has finished, or is gone, used."""
        self._uses.pop(key, None)
        self._uncounted.pop(key, None)

    def release_address(self, key: NamespacedName) -> None:
        """Release the address of a pod that is gone."""
        self._pod_addresses.pop(key, None)

    def read(self) -> Node | None:
        """Return the object of the node; None if it does not exist."""
        found = self.reader.get(("", "Node"), self.name) if self.reader is not None else None
        return found if isinstance(found, Node) else None

    # --------------------------------------------------------------------------------- Events

    def event_of(
        self, pod: Pod, event_type: str, reason: str, note: str, field_path: str = ""
    ) -> RecordEvent:
        """Return an Event of the kubelet about a pod, or about one of its containers."""
        return RecordEvent(
            "",
            "Pod",
            pod.key,
            pod.uid,
            event_type,
            reason,
            note,
            _SOURCE,
            host=self.name,
            field_path=field_path,
        )


# The heartbeats of nodes: a Lease that is renewed every ten seconds, and times in conditions.
#
# Kubelets renew at different times, because they have been started at different times. Nodes that
# are created together would renew together, so each has an offset that depends on its name.

NAMESPACE: Final = "kube-node-lease"
DURATION_SECONDS: Final = 40
RENEW_SECONDS: Final = 10
RENEW_NS: Final = RENEW_SECONDS * 1_000_000_000
STATUS_NS: Final = 300_000_000_000
"""How often the times in the conditions are updated."""

_LEASE: Final[GroupKind] = ("coordination.k8s.io", "Lease")
_USER: Final = "kubelet"


class LeaseRenewal(msgspec.Struct, frozen=True):
    """The writes of a heartbeat, and the time of the next one."""

    requests: list[CreateObject | PatchObject]
    due_ns: int


class NodeLeases:
    """Renews the leases of nodes, and updates their statuses.

    Parameters
    ----------
    reader : ObjectReader
        Reads the leases.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        # The extended resources that were only in the capacity, by the uid of their node.
        self._advertised: dict[str, frozenset[str]] = {}

    def renew(self, node: Node, now_ns: int) -> LeaseRenewal:
        """Return the heartbeat of a node."""
        renew_time = timestamp_text_micro(now_ns)
        key = f"{NAMESPACE}/{node.name}"
        requests: list[CreateObject | PatchObject] = []
        if self._reader.get(_LEASE, key) is not None:
            patch: Document = {"spec": {"renewTime": renew_time}}
            requests.append(PatchObject(_LEASE, key, patch, _USER))
        elif self._reader.get(("", "Namespace"), NAMESPACE) is not None:
            requests.append(CreateObject(decode(_lease(node, renew_time)), _USER))
        status: Document = {}
        if heartbeat := _conditions(node, now_ns):
            status["conditions"] = heartbeat
        if changed := self._allocatable(node):
            status["allocatable"] = changed
        if status:
            patch = {"status": status}
            requests.append(PatchObject(("", "Node"), node.key, patch, _USER, "status"))
        return LeaseRenewal(requests, _next_renewal_ns(node.name, now_ns))

    def _allocatable(self, node: Node) -> Document:
        """Return the changes of the extended resources that only the capacity advertised.

        Upstream: pkg/kubelet/nodestatus/setters.go, MachineInfo
        """
        capacity, allocatable = node.status.capacity, node.status.allocatable
        own = self._advertised.get(node.uid, frozenset())
        if missing := capacity.keys() - allocatable:
            own |= frozenset(filter(is_extended_resource, missing))
            self._advertised[node.uid] = own
        return {
            name: capacity.get(name)
            for name in sorted(own)
            if capacity.get(name) != allocatable.get(name)
        }


def _next_renewal_ns(name: str, now_ns: int) -> int:
    """Return the next time at which the kubelet of a node renews its lease."""
    # Whole seconds: each instant is a step of a world that is late, however many renew at it.
    offset_ns = crc32(name.encode()) % RENEW_SECONDS * 1_000_000_000
    return now_ns + RENEW_NS - (now_ns - offset_ns) % RENEW_NS


def _conditions(node: Node, now_ns: int) -> list[Document] | None:
    """Return the conditions with new times, if the current times are old; None otherwise."""
    conditions = (node.raw.get("status") or {}).get("conditions") or []
    now = timestamp_text(now_ns)
    oldest = timestamp_text(now_ns - STATUS_NS)
    own = [each for each in conditions if each.get("lastHeartbeatTime")]
    if not own or all(each["lastHeartbeatTime"] > oldest for each in own):
        return None
    return [
        each | {"lastHeartbeatTime": now} if each.get("lastHeartbeatTime") else each
        for each in conditions
    ]


def _lease(node: Node, renew_time: str) -> Document:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node.name,
            "namespace": NAMESPACE,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
            ],
        },
        "spec": {
            "holderIdentity": node.name,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": renew_time,
        },
    }


# Which pods a kubelet rejects, although they were bound to its node.

_OS_LABEL: Final = "kubernetes.io/os"
_FIRST: Final = ("pods", "cpu", "memory", "ephemeral-storage")
"""The resources that are checked before the others, in this order."""

_ANY_ADDRESS: Final = "0.0.0.0"

HostPort = tuple[str, str, int]
"""Address, protocol and port."""


class Rejection(msgspec.Struct, frozen=True):
    """Why a kubelet rejects a pod."""

    reason: str
    message: str


class PodUse(msgspec.Struct, frozen=True):
    """What an admitted pod uses on its node.

    Attributes
    ----------
    requests : dict
        In milli-cores and base units.
    host_ports : tuple of HostPort
    """

    requests: dict[str, int]
    host_ports: tuple[HostPort, ...]


def use_of(pod: Pod) -> PodUse:
    """Return what a pod uses on its node."""
    return _shared_use(tuple(pending_requests(pod).items()), tuple(_host_ports(pod)))


@lru_cache(maxsize=1_024)
def _shared_use(requests: tuple[tuple[str, int], ...], host_ports: tuple[HostPort, ...]) -> PodUse:
    # One for all pods of a template.
    return PodUse(dict(requests), host_ports)


def rejection_of(pod: Pod, use: PodUse, node: Node, others: Iterable[PodUse]) -> Rejection | None:
    """Return why the kubelet of a node rejects a pod; None if it admits the pod.

    Parameters
    ----------
    others : iterable of PodUse
        The uses of the other pods of the node.
    """
    # The label of the node stands for the system that the kubelet is built for.
    system = node.metadata.labels.get(_OS_LABEL) or "linux"
    # Upstream reads the label of the pod, and leaves its node selector to NodeAffinity.
    if pod.metadata.labels.get(_OS_LABEL, system) != system:
        return Rejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if pod.spec.os is not None and pod.spec.os.name not in ("", system):
        return Rejection(
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        )
    present = list(others)
    return (
        _resource_rejection(pod, use, node, present)
        or _affinity_rejection(pod, node)
        or _port_rejection(use, present)
        or _taint_rejection(pod, node)
    )


def _was_admitted_elsewhere(pod: Pod) -> bool:
    """Whether a pod was copied with its node from a cluster whose kubelet runs it.

    Since its admission there, labels of the node may have changed, or its allocatable resources.
    The condition tells a pod that was bound here, which has the annotation too.
    """
    is_bound_here = any(one.type == "PodScheduled" for one in pod.status.conditions)
    return SOURCE_UID in pod.metadata.annotations and not is_bound_here


def _resource_rejection(
    pod: Pod, use: PodUse, node: Node, others: list[PodUse]
) -> Rejection | None:
    """Return which requested resource the node lacks; devices that the pod has are not counted.

    Upstream: pkg/kubelet/lifecycle/predicate.go, removeMissingExtendedResources
    """
    allocatable = node.status.allocatable
    devices = (pod.raw.get("status") or {}).get("extendedResourceClaimStatus") or {}
    # The scheduler maps a resource for all containers that request it.
    allocated = {each.get("resourceName") for each in devices.get("requestMappings") or ()}
    requests = {"pods": 1} | use.requests
    for name in dict.fromkeys((*_FIRST, *requests)):
        if name in allocated:
            continue
        requested = requests.get(name, 0)
        text = allocatable.get(name)
        if text is None:
            if "/" in name and "kubernetes.io/" not in name:
                continue  # an extended resource that the node does not have, as upstream
            text = "0"
            if name == "pods" or not allocatable:
                continue
        capacity = quantity_milli_value(text) if name == "cpu" else quantity_value(text)
        used = len(others) if name == "pods" else sum(o.requests.get(name, 0) for o in others)
        if requested and requested > capacity - used:
            return Rejection(
                f"OutOf{name}",
                f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, "
                f"capacity: {capacity}",
            )
    return None


def _affinity_rejection(pod: Pod, node: Node) -> Rejection | None:
    labels = node.metadata.labels
    matches = all(labels.get(key) == value for key, value in pod.spec.node_selector.items())
    required = pod.spec.node_affinity.required
    if matches and required is not None:
        matches = node_selector(required).matches(node.name, labels)
    if matches:
        return None
    return _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")


def _port_rejection(use: PodUse, others: list[PodUse]) -> Rejection | None:
    taken = [port for other in others for port in other.host_ports]
    if any(_conflict(own, other) for own in use.host_ports for other in taken):
        return _predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    return None


def _taint_rejection(pod: Pod, node: Node) -> Rejection | None:
    taints = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
    if untolerated_taint(taints, pod.spec.tolerations) is not None:
        return _predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _predicate(name: str, description: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {description}")


def _host_ports(pod: Pod) -> list[HostPort]:
    sidecars = [container for container in pod.spec.init_containers if container.is_sidecar]
    return [
        (port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    ]


def _conflict(own: HostPort, other: HostPort) -> bool:
    return own[1:] == other[1:] and (own[0] == other[0] or _ANY_ADDRESS in (own[0], other[0]))
