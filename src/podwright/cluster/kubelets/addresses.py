"""IP addresses of nodes and pods, assigned in order and never reused.

Nodes get addresses in 10.0.0.0/10 and pods in 10.64.0.0/10. An object keeps its address until it
is released. A node that has an address in its status keeps that one.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address

import msgspec

_NODES = 10 << 24
_PODS = _NODES + (64 << 16)
# A /10 network has 22 host bits.
_COUNT_MAX = 1 << 22


class AddressesState(msgspec.Struct, frozen=True):
    """The content of `Addresses` as plain values, for checkpoints."""

    nodes: dict[str, str]
    pods: dict[str, str]
    node_count: int
    pod_count: int


class Addresses:
    """Assigns addresses to nodes (by name) and pods (by uid).

    Examples
    --------
    >>> from podwright.cluster.kubelets.addresses import Addresses
    >>> addresses = Addresses()
    >>> [addresses.of_node("a"), addresses.of_pod("uid-1"), addresses.of_node("a")]
    ['10.0.0.1', '10.64.0.1', '10.0.0.1']
    """

    def __init__(self, state: AddressesState | None = None) -> None:
        self._nodes = dict(state.nodes) if state else {}
        self._pods = dict(state.pods) if state else {}
        self._node_count = state.node_count if state else 0
        self._pod_count = state.pod_count if state else 0

    def of_node(self, name: str) -> str:
        """Return the address of a node; a new node is assigned one."""
        address = self._nodes.get(name)
        if address is None:
            self._node_count += 1
            address = self._nodes[name] = _text(_NODES, self._node_count)
        return address

    def of_pod(self, uid: str) -> str:
        """Return the address of a pod; a new pod is assigned one."""
        address = self._pods.get(uid)
        if address is None:
            self._pod_count += 1
            address = self._pods[uid] = _text(_PODS, self._pod_count)
        return address

    def take_for_pod(self, uid: str) -> str:
        """Return the address of a pod and stop tracking it.

        For callers that write the address into the pod's status and read it from there later.
        """
        address = self._pods.pop(uid, None)
        if address is None:
            self._pod_count += 1
            address = _text(_PODS, self._pod_count)
        return address

    def set_node(self, name: str, address: str) -> None:
        """Record the address that a node already has in its status."""
        self._nodes[name] = address

    def keep_pod(self, address: str) -> None:
        """Assign no address up to that of a pod that has it already, if it is one of these."""
        network, _, last = address.rpartition(".")
        first = _number_of(network)
        if first is None or not last.isdecimal():
            return
        number = first + int(last)
        if self._pod_count < number < _COUNT_MAX:
            self._pod_count = number

    def release_node(self, name: str) -> None:
        """Release a node's address."""
        self._nodes.pop(name, None)

    def release_pod(self, uid: str) -> None:
        """Release a pod's address."""
        self._pods.pop(uid, None)

    def state(self) -> AddressesState:
        """Return the content as plain values."""
        return AddressesState(
            dict(self._nodes), dict(self._pods), self._node_count, self._pod_count
        )


@lru_cache(maxsize=4_096)
def _number_of(network: str) -> int | None:
    """Return the number of the first address of a /24 network of pods; None for other text."""
    try:
        return int(IPv4Address(f"{network}.0")) - _PODS
    except AddressValueError:
        return None


def _text(network: int, number: int) -> str:
    # The range wraps around after four million objects; by then the first ones are long gone.
    address = network + number % _COUNT_MAX
    return f"{_first_three(address >> 8)}.{address & 255}"


# Addresses are assigned in order, so 256 in a row share their first three parts.
@lru_cache(maxsize=16)
def _first_three(address: int) -> str:
    return f"{address >> 16}.{address >> 8 & 255}.{address & 255}"
