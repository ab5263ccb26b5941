"""Where the pods of a cluster are, and how much of its nodes they use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.columns import Cluster

ZONE = "topology.kubernetes.io/zone"
_MIRROR = "kubernetes.io/config.mirror"


class PodPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """The placement of one pod.

    Parameters
    ----------
    node : str
        "" for a pod without a node.
    nominated : str
        The node on which preemption makes room for the pod; "" for none.
    message : str
        Why the pod has no node, in kube-scheduler's words.
    """

    node: str = ""
    nominated: str = ""
    message: str = ""


@dataclass(frozen=True, eq=False)
class ClusterUse:
    """The nodes of a cluster and the requests of the pods on them.

    Parameters
    ----------
    nodes, zones : tuple of str
        The name and the zone of each node; "" without a zone.
    resources : tuple of str
    allocatable, requested : (n_nodes, n_resources) int64
        Milli-CPU, bytes, and units of other resources; `pods` is a number of pods.
    pods : (n_nodes,) int64
        The number of pods on each node.
    movable_pods : (n_nodes,) int64
        The number of pods on each node that are neither pods of daemon sets nor mirror pods.
    """

    nodes: tuple[str, ...]
    zones: tuple[str, ...]
    resources: tuple[str, ...]
    allocatable: I64Matrix
    requested: I64Matrix
    pods: I64Array
    movable_pods: I64Array

    def equals(self, other: ClusterUse) -> bool:
        """Return whether both have the same nodes with the same requests."""
        return (
            self.nodes == other.nodes
            and self.zones == other.zones
            and self.resources == other.resources
            and np.array_equal(self.allocatable, other.allocatable)
            and np.array_equal(self.requested, other.requested)
            and np.array_equal(self.pods, other.pods)
        )


@dataclass(frozen=True, eq=False)
class Placements:
    """The placements of all pods of a cluster.

    Parameters
    ----------
    pods : dict of str to PodPlacement
        By `namespace/name`, in the order in which the pods were scheduled.
    use : ClusterUse
    tried_count : int
        The number of pods with a scheduling attempt; the others had a node from the start.
    """

    pods: Mapping[NamespacedName, PodPlacement]
    use: ClusterUse
    tried_count: int


def use_of(cluster: Cluster) -> ClusterUse:
    """Return the use of the nodes of a cluster, in order of their names."""
    nodes = cluster.nodes
    names = [nodes.names[slot] for slot in cluster.live_slots().tolist()]
    # By name, because slots depend on the order of arrival, which differs between clusters.
    slots = np.array([nodes.slot_of[name] for name in sorted(names)], dtype=np.int64)
    resources = sorted(nodes.resources, key=nodes.resources.__getitem__)
    columns = np.array([nodes.resources[name] for name in resources], dtype=np.int64)
    placed = np.array([pod.slot for pod in cluster.pods.values()], dtype=np.int64)
    is_movable = np.array([is_movable_pod(pod.pod) for pod in cluster.pods.values()], dtype=bool)
    pods = np.bincount(placed, minlength=nodes.n_slots)
    movable = np.bincount(placed[is_movable], minlength=nodes.n_slots)
    return ClusterUse(
        nodes=tuple(nodes.names[slot] for slot in slots.tolist()),
        zones=tuple(nodes.labels_of(slot).get(ZONE, "") for slot in slots.tolist()),
        resources=tuple(resources),
        allocatable=nodes.allocatable[np.ix_(slots, columns)],
        requested=nodes.requested[np.ix_(slots, columns)],
        pods=pods[slots],
        movable_pods=movable[slots],
    )


def is_movable_pod(pod: Pod) -> bool:
    """Return whether a pod may run on another node: not of a daemon set, not a mirror pod."""
    return _MIRROR not in pod.metadata.annotations and not any(
        owner.kind == "DaemonSet" and owner.controller for owner in pod.metadata.owner_references
    )


def nodes_of_pods(cluster: Cluster) -> dict[NamespacedName, str]:
    """Return the node of each pod that has one, including nodes that do not exist."""
    names = cluster.nodes.names
    found = {key: names[placed.slot] for key, placed in cluster.pods.items()}
    for node, pods in cluster.pods_on_missing_nodes().items():
        found.update((pod.key, node) for pod in pods)
    return found
