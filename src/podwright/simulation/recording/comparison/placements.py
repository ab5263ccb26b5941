"""Where the pods of a cluster are, and how much of its nodes they use."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.apimachinery.objects import NamespacedName, Pod, workload_of
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


@dataclass(frozen=True, eq=False, kw_only=True)
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
    names = [nodes.names[slot] for slot in cluster.live_slots()]
    # By name, because slots depend on the order of arrival, which differs between clusters.
    slots = np.array([nodes.slot_of[name] for name in sorted(names)], dtype=np.int64)
    resources = sorted(nodes.resources, key=nodes.resources.__getitem__)
    columns = np.array([nodes.resources[name] for name in resources], dtype=np.int64)
    placed = np.array([pod.slot for pod in cluster.pods.values()], dtype=np.int64)
    is_movable = np.array([is_movable_pod(pod.pod) for pod in cluster.pods.values()], dtype=bool)
    pods = np.bincount(placed, minlength=nodes.n_slots)
    movable = np.bincount(placed[is_movable], minlength=nodes.n_slots)
    return ClusterUse(
        nodes=tuple(nodes.names[slot] for slot in slots),
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


# Pods that have different names on the two sides of a comparison.
#
# Names that controllers generate depend on the pod template and on all earlier changes of a run. So
# the pods of a workload that only one side has are paired: the first with the first, in the order
# in which the controller created them. In two runs even equal names may be those of different
# replicas, so replicas on the same node are paired first.

Workloads: TypeAlias = Mapping[NamespacedName, tuple[str, NamespacedName]]
"""The kind and the name of the workload of each pod that has one, in order of creation."""


def workloads_of(pods: Iterable[Pod]) -> dict[NamespacedName, tuple[str, NamespacedName]]:
    """Return the workloads of pods; pods without a controller are left out."""
    found = {}
    for pod in pods:
        workload = workload_of(pod)
        if workload is not None:
            found[pod.key] = workload
    return found


def counterparts(
    before: Workloads,
    after: Workloads,
    *,
    pods_before: Container[NamespacedName],
    pods_after: Container[NamespacedName],
) -> dict[NamespacedName, NamespacedName]:
    """Return the pods of the first side that have another name on the second side.

    Parameters
    ----------
    pods_before, pods_after : container of str
        All pods of each side.

    Returns
    -------
    dict of str to str
        By pod of the first side, the pod of the second side.
    """
    unmatched: dict[tuple[str, NamespacedName], list[NamespacedName]] = {}
    for key, workload in before.items():
        if key not in pods_after:
            unmatched.setdefault(workload, []).append(key)
    found: dict[NamespacedName, NamespacedName] = {}
    left = {workload: iter(keys) for workload, keys in unmatched.items()}
    for key, workload in after.items():
        if key not in pods_before and workload in left:
            pod = next(left[workload], None)
            if pod is not None:
                found[pod] = key
    return found


Replicas: TypeAlias = Mapping[NamespacedName, tuple[str, str]]
"""The controller, and the node or "", of each pod with a generated name, in order of creation."""


def controller_of_replica(pod: Pod) -> str:
    """Return what controls a pod whose name is generated, as "kind namespace/name"; "" for others.

    The pods of one such controller are alike, but for the node that a DaemonSet chooses.
    """
    controller = pod.metadata.controller
    if controller is None or not pod.metadata.generate_name or controller.kind == "StatefulSet":
        return ""
    return f"{controller.kind} {pod.metadata.namespace}/{controller.name}"


def paired_replicas(before: Replicas, after: Replicas) -> dict[NamespacedName, NamespacedName]:
    """Pair the replicas of two runs: as many as possible that are on the same node.

    The others are paired by name, then in the order in which they were created.

    Returns
    -------
    dict of str to str
        By pod of the first side, the pod of the second side.
    """
    pairs = {key: key for key, where in before.items() if after.get(key) == where}
    _pair(pairs, before, after)
    taken = set(pairs.values())
    pairs |= {key: key for key in before.keys() & after.keys() - pairs - taken}
    _pair(
        pairs,
        {key: (controller, "") for key, (controller, _) in before.items()},
        {key: (controller, "") for key, (controller, _) in after.items()},
    )
    # A pod that is left may have the name of one that is paired with another pod: it takes its
    # place, so that a name stands for one pod.
    taken = set(pairs.values())
    for key in [key for key in after if key not in taken]:
        while key in pairs:
            pairs[key], key = key, pairs[key]  # noqa: PLW2901 - a chain
    return pairs


def _pair(pairs: dict[NamespacedName, NamespacedName], before: Replicas, after: Replicas) -> None:
    """Pair the pods that are left, of one controller and on one node, in their order."""
    taken = set(pairs.values())
    free: dict[tuple[str, str], deque[NamespacedName]] = {}
    for key, where in after.items():
        if key not in taken:
            free.setdefault(where, deque()).append(key)
    for key, where in before.items():
        if key not in pairs and free.get(where):
            pairs[key] = free[where].popleft()


def renamed(placements: Placements, pairs: Mapping[NamespacedName, NamespacedName]) -> Placements:
    """Return placements of the second side by the names of the first side.

    Parameters
    ----------
    pairs : dict of str to str
        As `counterparts` returns them.
    """
    names = {after: before for before, after in pairs.items()}
    return replace(
        placements, pods={names.get(key, key): one for key, one in placements.pods.items()}
    )
