"""What one daemon set knows of the nodes: kept up to date node by node.

Of each node it remembers what it contributes to the status, and where it update_states in a rolling
update. A node is judged anew when it or a pod on it has changed, when the template has, or
when a time has come; so a change of one node costs the same with five thousand others.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from enum import Enum
from heapq import heappop, heappush
from typing import Final

import msgspec

from podwright.controllers.controller_revisions import REVISION_LABEL
from podwright.controllers.daemon_pods import target_node
from podwright.objects import NamespacedName, Pod


class UpdateState(Enum):
    """Where a node update_states in a rolling update."""

    ASIDE = "nothing runs there and nothing should"
    DONE = "a pod of the newest revision is available"
    UNAVAILABLE = "no pod, or one of the newest revision that is not available"
    BOTH = "an old pod and a new one, or several"
    BROKEN = "an old pod that is not available"
    CANDIDATE = "an old pod that is available"


class NodeContribution(msgspec.Struct, frozen=True):
    """What a node contributes to the status of a daemon set; each is 0 or 1."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    update_state: UpdateState = UpdateState.ASIDE


_NOTHING: Final = NodeContribution()


class DaemonNodes:
    """Nodes and pods as one daemon set sees them.

    Attributes
    ----------
    dirty : dict
        Nodes that have to be judged anew.
    counts : dict
        The sums of all shares, by the names of their fields.
    update_states : dict
        How many nodes update_state where.
    candidates, broken : list of str
        Nodes with old pods, sorted by name.
    """

    def __init__(self) -> None:
        self.dirty: dict[str, None] = {}
        self.counts = dict.fromkeys(NodeContribution.__struct_fields__[:-1], 0)
        self.update_states = dict.fromkeys(UpdateState, 0)
        self.candidates: list[str] = []
        self.broken: list[str] = []
        self._contributions: dict[str, NodeContribution] = {}
        self._pods_on: dict[str, dict[NamespacedName, None]] = {}
        self._known: dict[NamespacedName, tuple[str, str]] = {}
        self._revisions: dict[str, int] = {}
        self._times: list[tuple[int, str]] = []
        self._due: dict[str, int] = {}

    # ------------------------------------------------------------------------------- pods

    def put_pod(self, pod: Pod) -> None:
        """Take note of a pod that came or changed."""
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
        """Take note of a pod that is gone; return whether it was known."""
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
        """Return the pods on a node, or meant for it."""
        return self._pods_on.get(node, ())

    def node_of(self, key: NamespacedName) -> str:
        """Return the node that a pod is on, or meant for."""
        return self._known[key][0]

    @property
    def live_revisions(self) -> Iterable[str]:
        """The revisions that pods are of."""
        return self._revisions

    # ------------------------------------------------------------------------------ shares

    def evaluate_all(self, nodes: Iterable[str]) -> None:
        """Let every node be judged anew, those that are gone included."""
        self.dirty.update(dict.fromkeys(nodes))
        self.dirty.update(dict.fromkeys(self._contributions))
        self.dirty.update(dict.fromkeys(self._pods_on))

    def set_contribution(self, node: str, contribution: NodeContribution) -> None:
        """Write down what a node contributes from now on."""
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
            (UpdateState.CANDIDATE, self.candidates),
            (UpdateState.BROKEN, self.broken),
        ):
            if was.update_state is update_state and contribution.update_state is not update_state:
                del names[bisect_left(names, node)]
            elif contribution.update_state is update_state and was.update_state is not update_state:
                insort(names, node)

    # ------------------------------------------------------------------------------- times

    def evaluate_at(self, node: str, due_ns: int) -> None:
        """Judge a node anew at a time."""
        if self._due.get(node) != due_ns:
            self._due[node] = due_ns
            heappush(self._times, (due_ns, node))

    def wake(self, now_ns: int) -> None:
        """Let the nodes be judged whose time has come."""
        while self._times and self._times[0][0] <= now_ns:
            due_ns, node = heappop(self._times)
            if self._due.get(node) == due_ns:
                del self._due[node]
                self.dirty[node] = None

    def next_ns(self) -> int | None:
        """Return when the next node is to be judged anew."""
        while self._times and self._due.get(self._times[0][1]) != self._times[0][0]:
            heappop(self._times)
        return self._times[0][0] if self._times else None
