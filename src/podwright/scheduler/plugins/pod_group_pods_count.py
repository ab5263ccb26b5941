"""PodGroupPodsCount: prefers the domain with room for more pods of a group (alpha, off by default).

**What it does.** If a PodGroup fits in several placements, scores each by how many pods of the
group have a node there: those that would get one, and those that have one already.

**Why it matters.** `minCount` is the least with which a group makes progress, and its other
pods may find no room in the same domain later.

**Configuration.** None; the feature gates GenericWorkload and TopologyAwareWorkloadScheduling
enable it.

**Example.** Of a group with ``minCount: 2`` and four pods, three fit in rack a and four in rack
b: b has 100 points, a 75.

Upstream: pkg/scheduler/framework/plugins/podgrouppodscount/podgroup_pods_count.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Placement, Plugin

_MOST: Final = 100
_GANGS: Final = "GangScheduling"
"""The plugin that groups pods by their PodGroup."""


class PodGroupPodsCount(Plugin):
    """Score placements by the pods of the group that have a node there."""

    name = "PodGroupPodsCount"
    key_reads_all_labels = False

    def score_placement(self, cluster: Cluster, group: NamespacedName, placement: Placement) -> int:
        """Return how many pods of the group would have a node."""
        del cluster
        assert self.handle is not None, "scored without a scheduler"
        members = self.handle.members(_GANGS, group)
        return len(members.scheduled) + len(placement.pods)

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Return the scores in per cent of the greatest."""
        greatest = max(scores)
        if not greatest:
            text = "no pods from pod group are assigned to any of the candidate placements"
            raise ValueError(text)
        return [score * _MOST // greatest for score in scores]
