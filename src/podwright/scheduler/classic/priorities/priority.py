"""The interface of priorities: a map over nodes, and a reduce over the mapped row.

Upstream: pkg/scheduler/algorithm/priorities/types.go;
pkg/scheduler/algorithm/priorities/metadata.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from podwright.apimachinery.objects import OwnerReference, Pod, Selector, Toleration
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.node_info import NodeInfo, scoring_request

# The metadata of a pod for priorities, computed once before nodes are scored.

MAX_PRIORITY: Final = 10
"""The best score of a priority; 0 is the worst."""

DEFAULT_HARD_POD_AFFINITY_WEIGHT: Final = 1


class PriorityMetadata:
    """The metadata of one pod.

    Parameters
    ----------
    pod : Pod
        The pod to place.
    cluster : ClassicCluster
        The cluster state.
    hard_pod_affinity_weight : int
        The weight of required affinity terms of existing pods, 1 to 100.

    Attributes
    ----------
    milli_cpu, memory_bytes : int
        The pod's request for scoring, with defaults for missing requests.
    selectors : list of Selector
        The selectors of the services and controllers that match the pod.
    tolerations : list of Toleration
        Those that may cover PreferNoSchedule taints.
    """

    def __init__(
        self,
        pod: Pod,
        cluster: ClassicCluster,
        hard_pod_affinity_weight: int = DEFAULT_HARD_POD_AFFINITY_WEIGHT,
    ) -> None:
        self.pod = pod
        self.cluster = cluster
        self.hard_pod_affinity_weight = hard_pod_affinity_weight
        self.milli_cpu, self.memory_bytes = scoring_request(pod)
        self.selectors: list[Selector] = cluster.selectors_of(pod)
        self.first_service: Selector | None = next(cluster.services_of(pod), None)
        self.controller: OwnerReference | None = pod.metadata.controller
        self.nodes_count = len(cluster.tree)
        self.tolerations: list[Toleration] = [
            toleration
            for toleration in pod.spec.tolerations
            if toleration.effect in ("", "PreferNoSchedule")
        ]


def scale(row: list[int], *, reverse: bool) -> None:
    """Scale scores in place so that the greatest becomes 10; if reversed, subtract them from 10.

    Notes
    -----
    Upstream: pkg/scheduler/algorithm/priorities/reduce.go, NormalizeReduce
    """
    greatest = max(row, default=0)
    if greatest == 0:
        if reverse:
            row[:] = [MAX_PRIORITY] * len(row)
        return
    if reverse:
        row[:] = [MAX_PRIORITY - MAX_PRIORITY * score // greatest for score in row]
    else:
        row[:] = [MAX_PRIORITY * score // greatest for score in row]


def matching_count(namespace: str, selectors: list[Selector], node: NodeInfo) -> int:
    """Count the node's pods that match all selectors and are not being deleted.

    Notes
    -----
    Upstream: pkg/scheduler/algorithm/priorities/selector_spreading.go, countMatchingPods
    """
    if not selectors:
        return 0
    return sum(
        pod.metadata.namespace == namespace
        and pod.metadata.deletion_timestamp is None
        and all(selector.matches(pod.metadata.labels) for selector in selectors)
        for pod in node.pods.values()
    )


Map: TypeAlias = Callable[[NodeInfo], int]
"""Scores one node separately."""

Prepare: TypeAlias = Callable[[PriorityMetadata], Map]
"""Returns the map for one pod; computes everything that does not depend on the node."""

Reduce: TypeAlias = Callable[[PriorityMetadata, Sequence[NodeInfo], list[int]], None]
"""Converts a row of mapped scores to scores from 0 to 10, in place."""

Function: TypeAlias = Callable[[PriorityMetadata, Sequence[NodeInfo]], list[int]]
"""The older form: scores all nodes at once."""


class Priority(NamedTuple):
    """A rule of preference.

    Attributes
    ----------
    name : str
        The name in policies.
    prepare : Prepare or None
        None for a priority of the older form.
    reduce : Reduce or None
        None if the map's scores are final.
    function : Function or None
        The older form.
    """

    name: str
    prepare: Prepare | None = None
    reduce: Reduce | None = None
    function: Function | None = None
