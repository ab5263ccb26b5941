"""How many devices of a class a node has, and how many of them are allocated: for scores.

Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go,
`calculateDRAResourceTotals`
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.devices import AllocationError, SliceDevice
from podwright.scheduler.columns.cluster import Cluster


def device_totals(cluster: Cluster, class_name: str, rows: I32Array) -> tuple[I64Array, I64Array]:
    """Return the devices of a class per node, and the allocated ones among them.

    All slices count, whatever their generation and completeness. A node for which a selector
    fails has no devices.

    Parameters
    ----------
    rows : (k,) int32
        The slots.

    Returns
    -------
    capacity, used : (k,) int64
    """
    devices, nodes = cluster.devices, cluster.nodes
    capacity: I64Array = np.zeros(len(rows), dtype=np.int64)
    used: I64Array = np.zeros(len(rows), dtype=np.int64)
    selectors = devices.classes[class_name].spec.selectors
    allocated = devices.allocated
    for place, slot in enumerate(rows.tolist()):
        name, node = nodes.names[slot], nodes.objects[slot]
        labels = {} if node is None else node.metadata.labels
        try:
            for device in devices.devices_near(name):
                if not _is_for(device, name, labels):
                    continue
                if not devices.selection.matches(selectors, device, f"class {class_name}"):
                    continue
                capacity[place] += 1
                used[place] += device.id in allocated.dedicated or allocated.is_shared(device.id)
        except AllocationError:
            capacity[place] = used[place] = 0
    return capacity, used


def _is_for(device: SliceDevice, node_name: str, labels: dict[str, str]) -> bool:
    nodes = device.slice.nodes if device.nodes is None else device.nodes
    if device.nodes is None and not nodes.is_all and nodes.selector is None:
        # Of one node, which is this one, as the slice is near; or without any choice of nodes,
        # where upstream counts the devices everywhere.
        return True
    return nodes.matches(node_name, labels)
