"""The devices of new nodes: as DeviceCards describe them, or as another node of the pool has them.

Upstream: simulator/node_info_utils.go, SanitizedNodeInfo;
simulator/dynamicresources/utils/sanitize.go, SanitizedNodeResourceSlices
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from podwright.apimachinery.devices import (
    CardSpec,
    copied_slices,
    is_cards,
    read_cards,
    slices_of_cards,
)
from podwright.apimachinery.objects import Node, Object, ResourceSlice, encode
from podwright.scheduler.columns import Cluster
from podwright.simulation.autoscaling.node_groups import INSTANCE_TYPE, pool_of


class NewDevices:
    """The slices that new nodes of a cluster get.

    Parameters
    ----------
    cluster : Cluster
        With the slices of its nodes.
    pool_label : str
        The label that names a node's pool; "" for those of known providers.
    """

    def __init__(self, cluster: Cluster, pool_label: str = "") -> None:
        self._cluster = cluster
        self._pool_label = pool_label
        self._cards: dict[str, CardSpec] = {}

    def put(self, objects: Iterable[Object]) -> None:
        """Take over the DeviceCards among objects."""
        for cards in filter(is_cards, objects):
            self._cards.pop(cards.name, None)
            spec, _ = read_cards(encode(cards))
            if spec is not None:
                self._cards[cards.name] = spec

    def remove(self, obj: Object) -> None:
        """Forget an object if it is DeviceCards."""
        if is_cards(obj):
            self._cards.pop(obj.name, None)

    def of(self, node: Node) -> list[ResourceSlice]:
        """Return all slices of a new node."""
        return [*chain.from_iterable(self.described(node).values()), *self.copied(node)]

    def described(self, node: Node) -> dict[str, list[ResourceSlice]]:
        """Return the slices of a new node by driver: those of the first DeviceCards of each."""
        found: dict[str, list[ResourceSlice]] = {}
        for name, spec in sorted(self._cards.items()):
            if spec.node_selector.items() <= node.metadata.labels.items():
                found.setdefault(spec.driver, slices_of_cards(name, spec, node.name)[0])
        return found

    def copied(self, node: Node) -> list[ResourceSlice]:
        """Return slices of a new node that DeviceCards do not describe: as another one like it."""
        described = self.described(node)
        slices = [
            each
            for each in self._cluster.devices.slice_objects()
            if each.spec.driver not in described
        ]
        nodes = self._cluster.nodes
        names = {each.spec.node_name for each in slices if each.spec.node_name}
        for name in sorted(names & nodes.slot_of.keys() - {node.name}):
            other = nodes.objects[nodes.slot_of[name]]
            if other is not None and self._are_alike(node, other):
                return [*copied_slices(slices, name, node.name)]
        return []

    def _are_alike(self, node: Node, other: Node) -> bool:
        """Whether nodes are of one pool, and of one instance type if they state it."""
        pool, of_other = (pool_of(each, self._pool_label) for each in (node, other))
        kinds = {each.metadata.labels.get(INSTANCE_TYPE, "") for each in (node, other)}
        return bool(pool) and pool == of_other and len(kinds - {""}) < 2
