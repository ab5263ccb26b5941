"""The cluster state of the v1.16 scheduler, as plain objects.

Upstream: pkg/scheduler/internal/cache/cache.go (and the listers beside it)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from podwright.apimachinery.objects import (
    CSINode,
    KubernetesObject,
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Selector,
    SelectorError,
    Service,
    StatefulSet,
    StorageClass,
    label_selector,
    labels_as_selector,
    with_fields,
    with_node_name,
)
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.node_tree import NodeTree
from podwright.scheduler.columns import Cluster, PlacedPod, PodKeys
from podwright.scheduler.queueing import Nominator


class ImageState:
    """An image name: the size its first node reported, and the nodes that have it."""

    __slots__ = ("node_names", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.node_names: set[str] = set()


class ClassicCluster:
    """Nodes with their pods, and the other objects that the rules read.

    Parameters
    ----------
    nominator : Nominator or None
        The nominated pods of each node; a queue shares its own nominator.

    Attributes
    ----------
    node_infos : dict of str to NodeInfo
        By name, in the order in which they were added; an entry may have pods but no node.
    tree : NodeTree
        The order in which nodes are visited.
    images : dict of str to ImageState
        By name, with tag.
    """

    def __init__(self, nominator: Nominator | None = None) -> None:
        self.nominator = Nominator() if nominator is None else nominator
        self.node_infos: dict[str, NodeInfo] = {}
        self.tree = NodeTree()
        self.images: dict[str, ImageState] = {}
        self.services: dict[str, Service] = {}
        self.replication_controllers: dict[str, ReplicationController] = {}
        self.replica_sets: dict[str, ReplicaSet] = {}
        self.stateful_sets: dict[str, StatefulSet] = {}
        self.budgets: dict[str, PodDisruptionBudget] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.storage_classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self._nodes_with_affinity: dict[str, None] = {}
        self._shelf_of: dict[type[KubernetesObject], dict[str, Any]] = {
            Service: self.services,
            ReplicationController: self.replication_controllers,
            ReplicaSet: self.replica_sets,
            StatefulSet: self.stateful_sets,
            PodDisruptionBudget: self.budgets,
            PersistentVolumeClaim: self.claims,
            PersistentVolume: self.volumes,
            StorageClass: self.storage_classes,
            CSINode: self.csi_nodes,
        }

    # ------------------------------------------------------------------ changes of objects

    def put(self, obj: KubernetesObject) -> None:
        """Add or update an object; a pod without a node counts only by its nomination."""
        if isinstance(obj, Node):
            self._put_node(obj)
        elif isinstance(obj, Pod):
            self._put_pod(obj)
        elif (shelf := self._shelf_of.get(type(obj))) is not None:
            shelf[obj.key] = obj

    def remove(self, obj: KubernetesObject) -> None:
        """Remove an object; an unknown object is ignored."""
        if isinstance(obj, Node):
            self._remove_node(obj.name)
        elif isinstance(obj, Pod):
            self.take_off(obj)
            self.nominator.remove(obj.metadata.uid)
        elif (shelf := self._shelf_of.get(type(obj))) is not None:
            shelf.pop(obj.key, None)

    def _put_node(self, node: Node) -> None:
        info = self._info(node.name)
        if info.node is None:
            self.tree.add(node)
        else:
            self._drop_images(info.node)
            self.tree.update(info.node, node)
        info.set_node(node)
        for image in node.status.images:
            for name in image.names:
                state = self.images.setdefault(name, ImageState(image.size_bytes))
                state.node_names.add(node.name)

    def _remove_node(self, name: str) -> None:
        info = self.node_infos.get(name)
        if info is None or info.node is None:
            return
        self._drop_images(info.node)
        self.tree.remove(info.node)
        info.set_node(None)
        if not info.pods:
            del self.node_infos[name]

    def _drop_images(self, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                state = self.images.get(name)
                if state is not None:
                    state.node_names.discard(node.name)
                    if not state.node_names:
                        del self.images[name]

    def _put_pod(self, pod: Pod) -> None:
        if pod.is_terminal:
            self.remove(pod)
        elif pod.spec.node_name:
            self.nominator.remove(pod.metadata.uid)
            self.add_to_node(pod, pod.spec.node_name)
        elif pod.status.nominated_node_name:
            self.nominator.add(pod)

    def add_to_node(self, pod: Pod, node_name: str) -> None:
        """Add a pod to a node."""
        info = self._info(node_name)
        info.add_pod(pod)
        self._note_affinity(info)

    def take_off(self, pod: Pod) -> None:
        """Remove a pod from its node; an unknown pod is ignored."""
        info = self.node_infos.get(pod.spec.node_name)
        if info is None:
            return
        info.remove_pod(pod)
        self._note_affinity(info)
        if info.node is None and not info.pods:
            del self.node_infos[info.name]

    def _note_affinity(self, info: NodeInfo) -> None:
        if info.pods_with_affinity:
            self._nodes_with_affinity[info.name] = None
        else:
            self._nodes_with_affinity.pop(info.name, None)

    def _info(self, name: str) -> NodeInfo:
        info = self.node_infos.get(name)
        if info is None:
            info = self.node_infos[name] = NodeInfo(name)
        return info

    # ------------------------------------------------------------------ reads

    def nodes(self) -> list[NodeInfo]:
        """Return all nodes in the order in which they were added."""
        return [info for info in self.node_infos.values() if info.node is not None]

    def nodes_with_affinity(self) -> Iterator[NodeInfo]:
        """Yield the nodes that have pods with affinity or anti-affinity."""
        for name in self._nodes_with_affinity:
            yield self.node_infos[name]

    def services_of(self, pod: Pod) -> Iterator[Selector]:
        """Yield the selectors of the services that select the pod.

        Notes
        -----
        A service without a selector selects no pod; one with an empty selector selects all pods.
        Upstream: staging/src/k8s.io/client-go/listers/core/v1/service_expansion.go, GetPodServices
        """
        for service in self.services.values():
            if service.namespace == pod.namespace and _has_selector(service):
                selector = labels_as_selector(service.spec.selector)
                if selector.matches(pod.metadata.labels):
                    yield selector

    def selectors_of(self, pod: Pod) -> list[Selector]:
        """Return the selectors of all services and controllers that match the pod.

        Notes
        -----
        Unlike a service, a controller with an empty selector matches nothing.
        Upstream: pkg/scheduler/algorithm/priorities/metadata.go, getSelectors
        """
        selectors = list(self.services_of(pod))
        labels, namespace = pod.metadata.labels, pod.namespace
        if not labels:
            return selectors  # upstream: a pod without labels has no controllers
        found = [
            labels_as_selector(controller.spec.selector)
            for controller in self.replication_controllers.values()
            if controller.namespace == namespace
        ]
        found += _selectors_in(namespace, self.replica_sets.values())
        found += _selectors_in(namespace, self.stateful_sets.values())
        selectors += [s for s in found if not s.is_empty and s.matches(labels)]
        return selectors


def _selectors_in(namespace: str, owners: Iterable[ReplicaSet | StatefulSet]) -> list[Selector]:
    """Compile the selectors of one kind; as upstream, an invalid one yields an empty result."""
    try:
        return [label_selector(o.spec.selector) for o in owners if o.namespace == namespace]
    except SelectorError:
        return []


def _has_selector(service: Service) -> bool:
    selector = (service.raw.get("spec") or {}).get("selector")
    return bool(service.spec.selector) or selector is not None


# The columns, mirrored in the plain objects that the v1.16 rules read.
#
# Drivers, metrics and explanations use one cluster. Under the v1.16 rules it is a
# `MirroredCluster`, which applies every change of the columns to a `ClassicCluster` as well. The
# columns then do not affect decisions.


class MirroredCluster(Cluster):
    """Columns with a `ClassicCluster` of the same state.

    Parameters
    ----------
    nominator : Nominator, optional
        The nominator of the queue, if there is one.

    Attributes
    ----------
    classic : ClassicCluster
        The same nodes, the same pods on them, the same nominations.
    """

    def __init__(self, nominator: Nominator | None = None) -> None:
        super().__init__()
        self.classic = ClassicCluster(nominator)
        self._counted: dict[str, tuple[Pod, Pod]] = {}
        """The placed pods by "namespace/name": the pod as placed, as counted, and its node."""

    def put(self, obj: Object) -> None:
        """Add or update an object."""
        super().put(obj)
        if not isinstance(obj, Pod):
            self.classic.put(obj)
            return
        placed = self.pods.get(obj.key)
        if placed is not None and self._counted[obj.key][0] is not placed.pod:
            # The columns count this version as the previous one, but its labels matter here.
            self._count_on(placed.pod, placed.slot)

    def delete(self, obj: Object) -> None:
        """Remove an object; an unknown object is ignored."""
        super().delete(obj)
        if not isinstance(obj, Pod):
            self.classic.remove(obj)

    def place(self, pod: Pod, slot: int, key: str = "", keys: PodKeys | None = None) -> PlacedPod:
        """Count a pod on the node in `slot`."""
        placed = super().place(pod, slot, key, keys)
        self._count_on(pod, slot)
        return placed

    def place_all(self, given: Sequence[tuple[Pod, int, PodKeys]]) -> None:
        """Count many pods, one after the other."""
        for pod, slot, keys in given:
            self.place(pod, slot, keys=keys)

    def remove(self, key: str) -> Pod | None:
        """Stop counting a placed pod; return None if it was not placed."""
        counted = self._counted.pop(key, None)
        if counted is not None:
            self.classic.take_off(counted[1])
        return super().remove(key)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Nominate a pending pod to a node."""
        super().nominate(pod, node_name)
        self.classic.nominator.add(identified(pod), node_name)

    def clear_nomination(self, pod: Pod) -> None:
        """Clear the nomination of a pod."""
        super().clear_nomination(pod)
        self.classic.nominator.remove(identified(pod).metadata.uid)

    def _count_on(self, pod: Pod, slot: int) -> None:
        before = self._counted.get(pod.key)
        if before is not None:
            self.classic.take_off(before[1])
        name = self.nodes.names[slot]
        counted = pod if pod.spec.node_name == name else with_node_name(pod, name)
        self._counted[pod.key] = pod, counted
        self.classic.add_to_node(counted, name)


def identified(pod: Pod) -> Pod:
    """Return the pod with a uid, by which the rules identify it; pods of files may have none."""
    return pod if pod.metadata.uid else with_fields(pod, "metadata", uid=pod.key)
