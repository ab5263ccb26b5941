"""TopologyPlacementGenerator: confines the pods of a group to one domain (alpha, off by default).

**What it does.** For a PodGroup with a topology constraint, divides the nodes by the value of
the constraint's label. The whole group is tried in each of these domains, and the best of those
in which it fits is taken. If pods of the group already have a node, only their domain is tried.

**Why it matters.** The pods of a training job exchange data all the time, which is fast within
a rack and slow between racks.

**Configuration.** None; the feature gates GenericWorkload and TopologyAwareWorkloadScheduling
enable it.

**Example.** With ``schedulingConstraints: {topology: [{key: example.com/rack}]}`` all pods of
the group land in one rack, or none is scheduled: ``0/3 placements are available, first
placement status: pod group is unschedulable``.

Upstream: pkg/scheduler/framework/plugins/topologyaware/topology_placement.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from podwright.apimachinery.objects import NamespacedName, Pod, PodGroup
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Placement, Plugin, Status

_GANGS: Final = "GangScheduling"
"""The plugin that groups pods by their PodGroup."""


class TopologyPlacementGenerator(Plugin):
    """Return one placement for each domain of the group's topology constraint."""

    name = "TopologyPlacementGenerator"
    key_reads_all_labels = False

    def generate_placements(
        self, cluster: Cluster, group: NamespacedName
    ) -> Sequence[Placement] | Status:
        """Return the domains; without a constraint, all nodes as one placement."""
        handle = self.handle
        pod_group = None if handle is None else handle.find(PodGroup, group)
        if handle is None or pod_group is None:
            name = group.partition("/")[2]
            return Status.error(f'podgroup.scheduling.k8s.io "{name}" not found')
        constraints = pod_group.spec.scheduling_constraints
        slots = cluster.nodes.visiting_order()
        if constraints is None or not constraints.topology:
            return [Placement("", slots)]
        key = constraints.topology[0].key
        members = handle.members(_GANGS, group)
        scheduled = [members.pods[uid] for uid in members.scheduled]
        try:
            required = _domain_of(cluster, scheduled, key)
        except ValueError as error:
            return Status.error(f"cannot determine domain for already scheduled pods: {error}")
        ids = cluster.nodes.label_ids(key)[slots]
        names = cluster.nodes.label_values.values
        domains = {names[number]: number for number in np.unique(ids[ids >= 0]).tolist()}
        return [
            Placement(domain, slots[ids == number])
            for domain, number in sorted(domains.items())
            if required in (None, domain)
        ]


def _domain_of(cluster: Cluster, pods: Iterable[Pod], key: str) -> str | None:
    """Return the domain of pods that have a node; None without any.

    Raises
    ------
    ValueError
        If they are in no domain, or in several.
    """
    domain: str | None = None
    for pod in sorted(pods, key=lambda pod: pod.key):
        placed = cluster.pods.get(pod.key)
        if placed is None:
            missing = f'nodeinfo not found for node name "{pod.spec.node_name or ""}"'
            raise ValueError(f"getting node for pod {pod.key}: {missing}")
        found = cluster.nodes.labels_of(placed.slot).get(key)
        if found is None:
            raise ValueError(f"no topology domain found for pod {pod.key}")
        if domain and found != domain:
            raise ValueError(f"more than 1 domain found for pod group: {domain}, {found}")
        domain = found
    return domain
