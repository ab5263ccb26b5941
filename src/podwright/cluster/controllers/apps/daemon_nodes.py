"""The nodes of one daemon set, updated one node at a time.

For each node it holds the contribution to the status and the state in a rolling update. A node is
evaluated again when the node, one of its pods or the template changed, or when a pod becomes
available. The cost of a change does not depend on the number of nodes.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from enum import Enum
from heapq import heappop, heappush
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.cluster.controllers.apps.controller_revisions import REVISION_LABEL
from podwright.cluster.controllers.apps.daemon_pods import target_node


class UpdateState(Enum):
    """The state of a node in a rolling update."""

    NOT_INVOLVED = "no pod runs there and none should"
    UPDATED = "a pod of the newest revision is available"
    UNAVAILABLE = "no pod, or one of the newest revision that is not available"
    SEVERAL = "an old pod and a new one, or several of one revision"
    OLD_UNAVAILABLE = "an old pod that is not available"
    OLD_AVAILABLE = "an old pod that is available"


class NodeContribution(msgspec.Struct, frozen=True):
    """The contribution of a node to the status of a daemon set; each count is 0 or 1."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    update_state: UpdateState = UpdateState.NOT_INVOLVED


_NOTHING: Final = NodeContribution()


class DaemonNodes:
    """The nodes and pods of one daemon set.

    Attributes
    ----------
    dirty : dict
        The nodes to evaluate again.
    counts : dict
        The sums of all contributions, by field name.
    update_states : dict
        The number of nodes in each state.
    old_available, old_unavailable : list of str
        The nodes with old pods, sorted by name.
    """

    def __init__(self) -> None:
        self.dirty: dict[str, None] = {}
        self.counts = dict.fromkeys(NodeContribution.__struct_fields__[:-1], 0)
        self.update_states = dict.fromkeys(UpdateState, 0)
        self.old_available: list[str] = []
        self.old_unavailable: list[str] = []
        self._contributions: dict[str, NodeContribution] = {}
        self._pods_on: dict[str, dict[NamespacedName, None]] = {}
        self._known: dict[NamespacedName, tuple[str, str]] = {}
        self._revisions: dict[str, int] = {}
        self._times: list[tuple[int, str]] = []
        self._due: dict[str, int] = {}

    # ------------------------------------------------------------------------------- pods

    def put_pod(self, pod: Pod) -> None:
        """Process an added or changed pod."""
        node = target_node(pod)
        revision = pod.metadata.labels.get(REVISION_LABEL, "")
        known = self._known.get(pod.key)
        self.dirty[node] = None
        if known == (node, revision):
            return
        if known is not None:
            self.remove_pod(pod.key)
        self._known[pod.key] = (node, revision)
        self._pods_on.setdefault(node, {})[pod.key] = None
        self._revisions[revision] = self._revisions.get(revision, 0) + 1

    def remove_pod(self, key: NamespacedName) -> bool:
        """Process a removed pod; return whether it was tracked."""
        known = self._known.pop(key, None)
        if known is None:
            return False
        node, revision = known
        self.dirty[node] = None
        pods = self._pods_on[node]
        del pods[key]
        if not pods:
            del self._pods_on[node]
        self._revisions[revision] -= 1
        if not self._revisions[revision]:
            del self._revisions[revision]
        return True

    def pods_on(self, node: str) -> Iterable[NamespacedName]:
        """Return the pods that run on a node or are tied to it."""
        return self._pods_on.get(node, ())

    def node_of(self, key: NamespacedName) -> str:
        """Return the node that a pod runs on or is tied to."""
        return self._known[key][0]

    @property
    def live_revisions(self) -> Iterable[str]:
        """The revisions that existing pods were created from."""
        return self._revisions

    # ------------------------------------------------------------------------------ shares

    def evaluate_all(self, nodes: Iterable[str]) -> None:
        """Mark all nodes for evaluation, including removed ones."""
        self.dirty.update(dict.fromkeys(nodes))
        self.dirty.update(dict.fromkeys(self._contributions))
        self.dirty.update(dict.fromkeys(self._pods_on))

    def set_contribution(self, node: str, contribution: NodeContribution) -> None:
        """Replace the contribution of a node."""
        was = self._contributions.get(node, _NOTHING)
        if was == contribution:
            return
        if contribution == _NOTHING:
            del self._contributions[node]
        else:
            self._contributions[node] = contribution
        for name in self.counts:
            self.counts[name] += getattr(contribution, name) - getattr(was, name)
        self.update_states[was.update_state] -= 1
        self.update_states[contribution.update_state] += 1
        for update_state, names in (
            (UpdateState.OLD_AVAILABLE, self.old_available),
            (UpdateState.OLD_UNAVAILABLE, self.old_unavailable),
        ):
            if was.update_state is update_state and contribution.update_state is not update_state:
                del names[bisect_left(names, node)]
            elif contribution.update_state is update_state and was.update_state is not update_state:
                insort(names, node)

    # ------------------------------------------------------------------------------- times

    def evaluate_at(self, node: str, due_ns: int) -> None:
        """Evaluate a node again at a time."""
        if self._due.get(node) != due_ns:
            self._due[node] = due_ns
            heappush(self._times, (due_ns, node))

    def mark_due(self, now_ns: int) -> None:
        """Mark the nodes whose time has come."""
        while self._times and self._times[0][0] <= now_ns:
            due_ns, node = heappop(self._times)
            if self._due.get(node) == due_ns:
                del self._due[node]
                self.dirty[node] = None

    def next_ns(self) -> int | None:
        """Return when the next node is due for evaluation."""
        while self._times and self._due.get(self._times[0][1]) != self._times[0][0]:
            heappop(self._times)
        return self._times[0][0] if self._times else None
