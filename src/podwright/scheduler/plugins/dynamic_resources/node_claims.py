"""Which claims are to be allocated on which nodes: those of extended resources differ.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go,
`filterExtendedResources`
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import ResourceClaim
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import RequestMapping, claim_for_node
from podwright.scheduler.plugins.dynamic_resources.pod_devices import PodDevices


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
    for name in sorted(pod.extended):
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
