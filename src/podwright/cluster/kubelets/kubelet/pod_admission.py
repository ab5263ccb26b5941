"""Which pods a kubelet rejects, although they were bound to its node.

Upstream: pkg/kubelet/lifecycle/predicate.go; pkg/scheduler/eventhandlers.go, AdmissionCheck
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Node,
    Pod,
    node_selector,
    pending_requests,
    quantity_milli_value,
    quantity_value,
    untolerated_taint,
)

_OS_LABEL: Final = "kubernetes.io/os"
_REASONS: Final = {"cpu", "memory", "ephemeral-storage", "pods"}
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
    return PodUse(pending_requests(pod), tuple(_host_ports(pod)))


def rejection_of(pod: Pod, use: PodUse, node: Node, others: Iterable[PodUse]) -> Rejection | None:
    """Return why the kubelet of a node rejects a pod; None if it admits the pod.

    Parameters
    ----------
    others : iterable of PodUse
        The uses of the other pods of the node.
    """
    labels = node.metadata.labels
    wanted_os = pod.spec.node_selector.get(_OS_LABEL)
    if wanted_os is not None and labels.get(_OS_LABEL, wanted_os) != wanted_os:
        return Rejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if pod.spec.os is not None and pod.spec.os.name not in ("", "linux"):
        return Rejection(
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        )
    present = list(others)
    return (
        _resource_rejection(use, node, present)
        or _affinity_rejection(pod, node)
        or _port_rejection(use, present)
        or _taint_rejection(pod, node)
    )


def _resource_rejection(use: PodUse, node: Node, others: list[PodUse]) -> Rejection | None:
    allocatable = node.status.allocatable
    requests = {"pods": 1} | use.requests
    for name, requested in requests.items():
        text = allocatable.get(name)
        if text is None:
            if name not in _REASONS:
                continue  # an extended resource that the node does not have, as upstream
            text = "0"
            if name == "pods" or not allocatable:
                continue
        capacity = quantity_milli_value(text) if name == "cpu" else quantity_value(text)
        used = len(others) if name == "pods" else sum(o.requests.get(name, 0) for o in others)
        if requested > capacity - used:
            reason = f"OutOf{name}" if name in _REASONS else f"InsufficientResource{name}"
            return Rejection(
                reason,
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
    if taints and untolerated_taint(taints, pod.spec.tolerations) is not None:
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
