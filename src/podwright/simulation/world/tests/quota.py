"""A plugin with state for tests: it lets so many pods of a namespace have a node at once."""

from __future__ import annotations

from collections import Counter

from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.plugin import NodeView

MOST = 4


class Quota(Plugin):
    """Counts pods from Reserve on, and refuses those of a namespace that has its share."""

    name = "Quota"

    def __init__(self) -> None:
        self.used: Counter[str] = Counter()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Refuse every node once the share is used up."""
        if self.used[cycle.pod.namespace] >= MOST:
            return Status.unschedulable("the namespace has its share")
        return Status.OK

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Count the pod."""
        self.used[cycle.pod.namespace] += 1
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Count the pod no more."""
        self.used[cycle.pod.namespace] -= 1
