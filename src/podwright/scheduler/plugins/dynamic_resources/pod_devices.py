"""The state of one cycle: the claims of the pod, and what was reserved for it.

Notes
-----
Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go,
`filterExtendedResources`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import AllocationResult, NodeTerms, Pod, ResourceClaim
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import RequestMapping, StateKey, claim_for_node


class PodDevices:
    """The claims of a pod, from PreFilter.

    Attributes
    ----------
    pod : Pod
    claims : list of ResourceClaim
        The user's claims in order; the claim for extended resources is the last. PreBind
        replaces claims by what it wrote.
    special : ResourceClaim or None
        The claim for extended resources.
    nodes : list of NodeTerms or None
        Per claim, the nodes that can use its allocation; None: all.
    unallocated : tuple of int
        The indexes of the claims without an allocation.
    extended : dict of str to int
        The extended resources that the pod requests, sorted, if there is a special claim.
    """

    __slots__ = ("claims", "extended", "nodes", "pod", "special", "unallocated")

    def __init__(self, pod: Pod, claims: list[ResourceClaim], special: ResourceClaim | None):
        self.pod = pod
        self.claims = claims if special is None else [*claims, special]
        self.special = special
        self.nodes: list[NodeTerms | None] = [None] * len(self.claims)
        self.unallocated: tuple[int, ...] = ()
        self.extended: dict[str, int] = {}

    @property
    def to_allocate(self) -> tuple[ResourceClaim, ...]:
        """The claims without an allocation, in order."""
        claims = self.claims
        return tuple([claims[index] for index in self.unallocated])

    @property
    def is_new(self) -> bool:
        """Whether every claim is the user's and is to be allocated, so all nodes need the same."""
        return self.special is None and len(self.unallocated) == len(self.claims)

    @property
    def has_only_special(self) -> bool:
        """Whether there is no claim of the user."""
        return self.special is not None and len(self.claims) == 1

    @property
    def is_stale(self) -> bool:
        """Whether the special claim is left over from an earlier attempt."""
        return self.special is not None and bool(self.special.spec.devices.requests)


class NodeAllocation(NamedTuple):
    """What is allocated on one node.

    Attributes
    ----------
    claims : tuple of ResourceClaim
        The unallocated claims as the node needs them.
    results : tuple of AllocationResult
        One per claim.
    special : ResourceClaim or None
        The claim for extended resources among the claims.
    mappings : tuple of RequestMapping
    """

    claims: tuple[ResourceClaim, ...]
    results: tuple[AllocationResult, ...]
    special: ResourceClaim | None
    mappings: tuple[RequestMapping, ...]


class Reserved:
    """What Reserve set aside on the chosen node.

    Attributes
    ----------
    allocations : dict of int to AllocationResult
        By the index of the claim.
    special : ResourceClaim or None
        The claim for extended resources as the node needs it.
    mappings : tuple of RequestMapping
    pending : dict of int to str
        The uids under which the allocations are pending.
    """

    __slots__ = ("allocations", "claims", "mappings", "pending", "special")

    def __init__(self, claims: list[ResourceClaim]) -> None:
        self.claims = claims
        self.allocations: dict[int, AllocationResult] = {}
        self.special: ResourceClaim | None = None
        self.mappings: tuple[RequestMapping, ...] = ()
        self.pending: dict[int, str] = {}


STATE: StateKey[PodDevices] = StateKey("DynamicResources", "not found")
RESERVED: StateKey[Reserved] = StateKey("DynamicResources/Reserved")


# Which claims are to be allocated on which nodes: those of extended resources differ.


class NodeGroup(NamedTuple):
    """Nodes on which the same claims are to be allocated.

    Attributes
    ----------
    rows : (k,) int32
        Their slots.
    claims : tuple of ResourceClaim
        To be allocated, in the order of the pod's unallocated claims; empty: nothing is.
    special : ResourceClaim or None
        The claim for extended resources among them.
    mappings : tuple of RequestMapping
    """

    rows: I32Array
    claims: tuple[ResourceClaim, ...]
    special: ResourceClaim | None = None
    mappings: tuple[RequestMapping, ...] = ()


class NodeGroups(NamedTuple):
    """All evaluated nodes.

    Attributes
    ----------
    groups : list of NodeGroup
    unfit : (k,) int32
        Slots of nodes without a resource that no class backs.
    """

    groups: list[NodeGroup]
    unfit: I32Array


NO_ROWS: I32Array = np.empty(0, dtype=np.int32)


def node_groups(pod: PodDevices, cluster: Cluster, rows: I32Array) -> NodeGroups:
    """Group nodes by the claims that are to be allocated there.

    Parameters
    ----------
    rows : (k,) int32
        The slots of the nodes.
    """
    claims = pod.to_allocate
    if pod.special is None or pod.special.status.allocation is not None:
        return NodeGroups([NodeGroup(rows, claims)], NO_ROWS)
    nodes, classes = cluster.nodes, cluster.device_classes
    unfit: Mask = np.zeros(len(rows), dtype=np.bool_)
    pattern = np.zeros(len(rows), dtype=np.int64)
    backed: list[str] = []
    for name in pod.extended:
        column = nodes.resources.get(name)
        is_absent = (
            np.ones(len(rows), dtype=np.bool_)
            if column is None
            else nodes.allocatable[rows, column] == 0
        )
        if classes.class_of(name):
            pattern += is_absent.astype(np.int64) << len(backed)
            backed.append(name)
            continue
        for place in np.flatnonzero(is_absent).tolist():
            node = nodes.objects[rows[place]]
            unfit[place] |= node is None or name not in node.status.allocatable
    groups = []
    for bits in np.unique(pattern[~unfit]).tolist():
        chosen = rows[(pattern == bits) & ~unfit]
        names = [name for i, name in enumerate(backed) if bits >> i & 1]
        if not names and pod.has_only_special:
            groups.append(NodeGroup(chosen, ()))
            continue
        special = claim_for_node(pod.special, pod.pod, names, classes)
        of_node = (*claims[:-1], special.claim)
        groups.append(NodeGroup(chosen, of_node, special.claim, special.mappings))
    return NodeGroups(groups, rows[unfit])
