"""What new nodes have besides themselves: ResourceSlices and a CSINode, as others of their pool.

DeviceCards describe devices without another node. Upstream copies the slices and the CSINode of
the node that a template was made from, the latter with --enable-csi-node-aware-scheduling only;
for a group without nodes they are the provider's. Here a CSINode is always copied: without one,
no limit of attached volumes would count.

Upstream: simulator/node_info_utils.go, createSanitizedNodeInfo, CreateSanitizedCSINode;
simulator/dynamicresources/utils/sanitize.go, SanitizedNodeResourceSlices
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeAlias

from podwright.apimachinery.devices import (
    CardSpec,
    copied_slices,
    is_cards,
    read_cards,
    slices_of_cards,
)
from podwright.apimachinery.objects import CSINode, Node, Object, ResourceSlice, encode
from podwright.scheduler.columns import Cluster
from podwright.simulation.autoscaling.node_groups import INSTANCE_TYPE, pool_of

Companion: TypeAlias = CSINode | ResourceSlice


class Companions:
    """The ResourceSlices and the CSINode that each new node of a cluster gets.

    Parameters
    ----------
    cluster : Cluster
        With those of its nodes.
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

    def of(self, node: Node) -> list[Companion]:
        """Return all that a new node has."""
        return [*chain.from_iterable(self.described(node).values()), *self.copied(node)]

    def described(self, node: Node) -> dict[str, list[ResourceSlice]]:
        """Return the slices of a new node by driver: those of the first DeviceCards of each."""
        found: dict[str, list[ResourceSlice]] = {}
        for name, spec in sorted(self._cards.items()):
            if spec.node_selector.items() <= node.metadata.labels.items():
                found.setdefault(spec.driver, slices_of_cards(name, spec, node.name)[0])
        return found

    def copied(self, node: Node) -> list[Companion]:
        """Return what a new node has, and no DeviceCards describe, as another one like it."""
        described = self.described(node)
        slices = [
            each
            for each in self._cluster.devices.slice_objects()
            if each.spec.driver not in described
        ]
        csi_nodes = self._cluster.storage.csi_nodes
        like = self._like(node, {each.spec.node_name or "" for each in slices})
        found: list[Companion] = [*copied_slices(slices, like, node.name)] if like else []
        csi_node = csi_nodes.copy_for(self._like(node, csi_nodes.names()), node.name)
        return found if csi_node is None else [*found, csi_node]

    def _like(self, node: Node, names: Iterable[str]) -> str:
        """Return the first node like another one among those of some names; "" if none is."""
        nodes = self._cluster.nodes
        for name in sorted(nodes.slot_of.keys() & set(names) - {node.name}):
            other = nodes.objects[nodes.slot_of[name]]
            if other is not None and self._are_alike(node, other):
                return name
        return ""

    def _are_alike(self, node: Node, other: Node) -> bool:
        """Whether nodes are of one pool, and of one instance type if they state it."""
        pool, of_other = (pool_of(each, self._pool_label) for each in (node, other))
        kinds = {each.metadata.labels.get(INSTANCE_TYPE, "") for each in (node, other)}
        return bool(pool) and pool == of_other and len(kinds - {""}) < 2
