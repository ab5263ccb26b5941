"""Plugins as users write them: node by node, without declared reads."""

from __future__ import annotations

from collections.abc import Hashable

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Cycle, NodeView, Normalization, Plugin, Reads, Status


class FewPods(Plugin):
    """Reject nodes with two pods or more; prefer full ones. Declares no reads."""

    name = "FewPods"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        if len(node.pods) < 2:
            return Status()
        return Status.unschedulable(f"{len(node.pods)} pods already")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 40 * len(node.pods)


class Crowd(Plugin):
    """Count the cluster's pods of the pod's app on other nodes; shares a key, reads everything."""

    name = "Crowd"
    normalization = Normalization.DEFAULT

    def pod_key(self, pod: Pod) -> Hashable:
        return pod.metadata.labels.get("app", "")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        app = cycle.pod.metadata.labels.get("app", "")
        return sum(
            placed.pod.metadata.labels.get("app", "") == app and placed.slot != node.slot
            for placed in cycle.cluster.pods.values()
        )


class OnlyDisks(Plugin):
    """Reject nodes without a disk label; declares that it reads only nodes."""

    name = "OnlyDisks"
    filter_reads = Reads.NODE
    score_reads = Reads.NODE | Reads.PODS

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status() if "disk" in node.labels else Status.unresolvable("no disk")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 10 * len(node.pods) if node.labels["disk"] == "ssd" else 5
