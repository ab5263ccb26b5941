"""Addresses of nodes and pods: given once, in order, and never twice.

Nodes have 10.0.0.0/10 and pods 10.64.0.0/10. An object keeps its address as long as it is
known, or says it itself; addresses of the gone are not given again.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

_NODES = 10 << 24
_PODS = _NODES + (64 << 16)
_COUNT_MAX = 1 << 22


class AddressesState(msgspec.Struct, frozen=True):
    """What `Addresses` knows, as plain values."""

    nodes: dict[str, str]
    pods: dict[str, str]
    node_count: int
    pod_count: int


class Addresses:
    """Gives nodes (by name) and pods (by uid) their addresses.

    Examples
    --------
    >>> from podwright.stages.addresses import Addresses
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
        """Return the address of a node, a new one for a new node."""
        address = self._nodes.get(name)
        if address is None:
            self._node_count += 1
            address = self._nodes[name] = _text(_NODES, self._node_count)
        return address

    def of_pod(self, uid: str) -> str:
        """Return the address of a pod, a new one for a new pod."""
        address = self._pods.get(uid)
        if address is None:
            self._pod_count += 1
            address = self._pods[uid] = _text(_PODS, self._pod_count)
        return address

    def written_to_pod(self, uid: str) -> str:
        """Return the address of a pod for one who writes it into its status, and who asks there.

        So a new one need not be remembered.
        """
        address = self._pods.pop(uid, None) if self._pods else None
        if address is None:
            self._pod_count += 1
            address = _text(_PODS, self._pod_count)
        return address

    def know_node(self, name: str, address: str) -> None:
        """Note the address that a node has brought with it."""
        self._nodes[name] = address

    def forget_node(self, name: str) -> None:
        """Take away a node's address."""
        self._nodes.pop(name, None)

    def forget_pod(self, uid: str) -> None:
        """Take away a pod's address."""
        if self._pods:
            self._pods.pop(uid, None)

    def state(self) -> AddressesState:
        """Return all that is known."""
        return AddressesState(
            dict(self._nodes), dict(self._pods), self._node_count, self._pod_count
        )


def _text(network: int, number: int) -> str:
    # After four million objects the first addresses come round; by then those have gone.
    address = network + number % _COUNT_MAX
    return f"{_first_three(address >> 8)}.{address & 255}"


@lru_cache(maxsize=16)
def _first_three(address: int) -> str:
    return f"{address >> 16}.{address >> 8 & 255}.{address & 255}"
