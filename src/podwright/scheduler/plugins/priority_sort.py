"""PrioritySort: the highest priority first, then the longest waiting pod.

**What it does.** Orders the active queue by priority, then by the time the pod entered it.

**Why it matters.** The order of the queue decides which pod gets the last free resources.

**Configuration.** None.

**Example.** Of two pods with priority 100 the one queued first is scheduled first; a pod with
priority 1000 that is queued later precedes both.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from __future__ import annotations

from collections.abc import Hashable

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Plugin


class PrioritySort(Plugin):
    """Order queued pods by priority and time."""

    name = "PrioritySort"
    key_reads_all_labels = False

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the priority."""
        return pod.priority

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> tuple[int, int]:
        """Return what queued pods are ordered by, smallest first."""
        return (-pod.priority, timestamp_ns)
