"""What a real scheduler could see: a record, as far as its watches had come.

A scheduler watches each kind by itself and sees the changes of one kind in their order. So what
it sees at a moment is, for each kind, the first so many changes: a position per kind. Besides,
it knows at once what it did itself and what the API shows later: pods that it has placed
(assumed pods) and nominations. A view is the positions and those two.

Positions go forward as time does, and back as well, to look at what the scheduler may have
seen instead.

Upstream: pkg/scheduler/eventhandlers.go, pkg/scheduler/backend/cache/cache.go, `AssumePod`
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import TypeAlias

from podwright.columns import Cluster
from podwright.files import RecordLine
from podwright.objects import (
    NamespacedName,
    Node,
    Pod,
    Unknown,
    with_node_name,
    with_nominated_node_name,
)
from podwright.store import GroupKind, kind_of

Positions: TypeAlias = Mapping[GroupKind, int]
"""Per kind, how many of its changes were seen; kinds that are not named stay as they are."""


class Track:
    """The changes of one kind, in order.

    Attributes
    ----------
    lines : list of RecordLine
    position : int
        How many of them were seen.
    """

    __slots__ = ("_times", "lines", "position")

    def __init__(self, lines: list[RecordLine]) -> None:
        self.lines = lines
        self.position = 0
        # What was seen late makes what follows late too.
        self._times = list(accumulate([line.seen_ns for line in lines], max))

    def seen_at(self, now_ns: int) -> int:
        """Return how many changes a watch without delay has seen at a time."""
        return bisect_right(self._times, now_ns)

    def before_line(self, number: int) -> int:
        """Return how many changes stand before a line of the file."""
        return bisect_right(self.lines, number - 1, key=lambda line: line.line)


class RecordedCluster:
    """A cluster as the scheduler sees it.

    Parameters
    ----------
    lines : iterable of RecordLine
        The whole record; nothing of it is seen yet.
    cluster : Cluster
        Written here, by nobody else.

    Attributes
    ----------
    tracks : dict
        The changes of each kind.
    pods : dict of str to Pod
        Pods as the API shows them, by "namespace/name".
    touched : dict
        Names of nodes that changed, or whose pods did, since somebody emptied it. What is only
        tried out is not noted.
    """

    def __init__(self, lines: Iterable[RecordLine], cluster: Cluster) -> None:
        self.cluster = cluster
        by_kind: dict[GroupKind, list[RecordLine]] = {}
        for line in lines:
            if isinstance(line.object, Unknown):
                continue  # No decision reads it.
            by_kind.setdefault(kind_of(line.object), []).append(line)
        self.tracks = {kind: Track(of_kind) for kind, of_kind in by_kind.items()}
        self.pods: dict[NamespacedName, Pod] = {}
        self.touched: dict[str, None] = {}
        self._assumed: dict[str, str] = {}
        self._nominations: dict[str, str] = {}
        self._tried: dict[str, tuple[Pod, str]] = {}
        self._is_trying = False

    # ---------------------------------------------------------------- going on

    def go_to(self, positions: Positions) -> None:
        """See so many changes of each kind, more or fewer than now."""
        for kind, position in positions.items():
            track = self.tracks[kind]
            while track.position < position:
                self._apply(track.lines[track.position])
                track.position += 1
            while track.position > position:
                track.position -= 1
                self._take_back(track.lines[track.position])

    def positions(self) -> dict[GroupKind, int]:
        """Return how far each kind has come."""
        return {kind: track.position for kind, track in self.tracks.items()}

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Look at other positions, and assume other pods, for a moment."""
        before = self.positions()
        order = self.cluster.nodes.names_by_zone()
        self._is_trying = True
        try:
            yield
        finally:
            self.go_to(before)
            self.try_placed(())
            self.cluster.nodes.reorder(order)
            self._is_trying = False

    def try_placed(self, placed: Iterable[tuple[Pod, str]]) -> None:
        """Count these pods on these nodes as well, instead of those of the last call."""
        tried = {pod.uid: (pod, node) for pod, node in placed}
        changed = [pod for uid, (pod, node) in self._tried.items() if tried.get(uid) != (pod, node)]
        changed += [pod for uid, (pod, _) in tried.items() if uid not in self._tried]
        self._tried = tried
        for pod in changed:
            self._show(pod)

    def _apply(self, line: RecordLine) -> None:
        obj = line.object
        if isinstance(obj, Pod):
            if line.event == "Delete":
                self.pods.pop(obj.key, None)
                if not self._is_trying:
                    self._assumed.pop(obj.uid, None)
                    self._nominations.pop(obj.uid, None)
            else:
                self.pods[obj.key] = obj
                if not self._is_trying:
                    self._settle(obj)
            self._note(line)
            self._show(obj)
            return
        if isinstance(obj, Node) and not self._is_trying:
            self.touched[obj.name] = None
        if line.event == "Delete":
            self.cluster.delete(obj)
        else:
            self.cluster.put(obj)

    def _take_back(self, line: RecordLine) -> None:
        obj, old = line.object, line.old
        if isinstance(obj, Pod):
            if isinstance(old, Pod):
                self.pods[obj.key] = old
            else:
                self.pods.pop(obj.key, None)
            self._show(obj)
        elif old is None:
            self.cluster.delete(obj)
        else:
            self.cluster.put(old)

    def _note(self, line: RecordLine) -> None:
        """Note the node of a pod that changed: its row is copied anew for the next cycle."""
        if self._is_trying:
            return
        for pod in (line.object, line.old):
            if isinstance(pod, Pod) and pod.spec.node_name:
                self.touched[pod.spec.node_name] = None

    # ---------------------------------------------------------------- what it did itself

    def assume(self, pod: Pod, node: str) -> None:
        """Count a pod on a node from now on, whenever the API shows it."""
        self._assumed[pod.uid] = node
        self._nominations.pop(pod.uid, None)
        self.touched[node] = None
        self._show(pod)

    def nominate(self, pod: Pod, node: str) -> None:
        """Let a pod be nominated to a node, or to none, until the API shows the same."""
        self._nominations[pod.uid] = node
        self._show(pod)

    def _settle(self, pod: Pod) -> None:
        """Forget what the API shows by now."""
        if pod.spec.node_name:
            self._assumed.pop(pod.uid, None)
            self._nominations.pop(pod.uid, None)
        elif self._nominations.get(pod.uid) == pod.status.nominated_node_name:
            del self._nominations[pod.uid]

    def pending(self, key: NamespacedName) -> Pod | None:
        """Return a pod as the scheduler takes it from its queue; None if it is not there."""
        pod = self.pods.get(key)
        return None if pod is None else self._nominated(pod)

    def _nominated(self, pod: Pod) -> Pod:
        nomination = self._nominations.get(pod.uid)
        if nomination is None or nomination == pod.status.nominated_node_name:
            return pod
        return with_nominated_node_name(pod, nomination)

    def _show(self, any_version: Pod) -> None:
        """Let the cluster have a pod as it counts now."""
        pod = self.pods.get(any_version.key)
        if pod is None:
            self.cluster.delete(any_version)
            return
        if not pod.spec.node_name:
            tried = self._tried.get(pod.uid)
            node = self._assumed.get(pod.uid) if tried is None else tried[1]
            pod = self._nominated(pod) if node is None else with_node_name(pod, node)
        self.cluster.put(pod)
