"""A recorded cluster in the states that a real scheduler observed.

A scheduler watches each kind separately and observes the changes of one kind in order. Its
observed state is a position per kind: how many changes of the kind it has received. In addition,
it knows its own decisions before the API shows them: assumed pods and nominations. The state of
the recorded cluster is the positions, the assumed pods and the nominations.

Positions move forward with time, and backward to evaluate other states that the scheduler may
have observed.

Upstream: pkg/scheduler/eventhandlers.go, pkg/scheduler/backend/cache/cache.go, `AssumePod`;
pkg/scheduler/backend/cache/cache.go, `UpdateSnapshot`; pkg/scheduler/framework/types.go,
`NodeInfo.Snapshot`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import (
    NamespacedName,
    Node,
    Object,
    PersistentVolume,
    Pod,
    Unknown,
    with_node_name,
    with_nominated_node_name,
)
from podwright.cluster.store import GroupKind, group_kind, kind_of
from podwright.scheduler.columns import Cluster, claim_uses, image_names, locality_scores
from podwright.scheduler.framework import MAX_NODE_SCORE
from podwright.simulation.files import RecordLine

_VOLUME = group_kind(PersistentVolume)

Positions: TypeAlias = Mapping[GroupKind, int]
"""Per kind, how many changes were observed; the positions of other kinds stay."""


class Track:
    """The changes of one kind, in order.

    Attributes
    ----------
    lines : list of RecordLine
    position : int
        How many of them were observed.
    """

    __slots__ = ("_times", "lines", "position")

    def __init__(self, lines: list[RecordLine]) -> None:
        self.lines = lines
        self.position = 0
        # A late change delays the changes that follow it in the watch.
        self._times = list(accumulate([line.seen_ns for line in lines], max))

    def seen_at(self, now_ns: int) -> int:
        """Return how many changes a watch without delay has delivered at a time."""
        return bisect_right(self._times, now_ns)

    def before_line(self, number: int) -> int:
        """Return how many changes precede a line of the file."""
        return bisect_right(self.lines, number - 1, key=lambda line: line.line)


class RecordedCluster:
    """The cluster as the scheduler observes it.

    Parameters
    ----------
    lines : iterable of RecordLine
        The whole record; all positions start at 0.
    cluster : Cluster
        The columns of the observed state; only this class writes to them.

    Attributes
    ----------
    tracks : dict
        The changes of each kind.
    pods : dict of str to Pod
        Pods as the API shows them, by "namespace/name".
    touched : dict
        The names of nodes that changed, or whose pods changed, since the caller cleared it.
        Changes during `speculation` are not included.
    """

    def __init__(self, lines: Iterable[RecordLine], cluster: Cluster) -> None:
        self.cluster = cluster
        by_kind: dict[GroupKind, list[RecordLine]] = {}
        for line in lines:
            if isinstance(line.object, Unknown):
                continue  # The scheduler does not read objects of unknown kinds.
            by_kind.setdefault(kind_of(line.object), []).append(line)
        self.tracks = {kind: Track(of_kind) for kind, of_kind in by_kind.items()}
        self.pods: dict[NamespacedName, Pod] = {}
        self.touched: dict[str, None] = {}
        self._assumed: dict[str, str] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._assumed_volumes: dict[str, PersistentVolume] = {}
        self._volume_lines = self.tracks.get(_VOLUME) or Track([])
        self._positions_of_claim = _positions_by_claim(self._volume_lines.lines)
        self._nominations: dict[str, str] = {}
        # The lines that replaced the nominations, which count again where these are reverted.
        self._superseded: dict[str, int] = {}
        self._speculative: dict[str, tuple[Pod, str]] = {}
        self._is_speculating = False

    # ---------------------------------------------------------------- positions

    def go_to(self, positions: Positions) -> None:
        """Move to a position per kind, forward or backward."""
        for kind, position in positions.items():
            track = self.tracks[kind]
            while track.position < position:
                self._apply(track.lines[track.position])
                track.position += 1
            while track.position > position:
                track.position -= 1
                self._revert(track.lines[track.position])

    def positions(self) -> dict[GroupKind, int]:
        """Return the position of each kind."""
        return {kind: track.position for kind, track in self.tracks.items()}

    @contextmanager
    def speculation(self) -> Iterator[None]:
        """Restore the positions, the assumed pods, nominations and the order of nodes after it."""
        before, superseded = self.positions(), dict(self._superseded)
        order = self.cluster.nodes.names_by_zone()
        self._is_speculating = True
        try:
            yield
        finally:
            # Still speculating: these moves must not drop assumed pods or nominations.
            self.go_to(before)
            self.place_speculatively(())
            # A line that was passed twice may be older than the nomination.
            changed = {uid for uid, _ in superseded.items() ^ self._superseded.items()}
            self._superseded = superseded
            if changed:
                for pod in [each for each in self.pods.values() if each.uid in changed]:
                    self._update_cluster(pod)
            self.cluster.nodes.reorder(order)
            self._is_speculating = False

    def place_speculatively(self, placed: Iterable[tuple[Pod, str]]) -> None:
        """Also place these pods on these nodes, instead of those of the last call."""
        before = self._speculative
        self._speculative = {pod.uid: (pod, node) for pod, node in placed}
        for uid, (pod, _) in (before | self._speculative).items():
            if before.get(uid) != self._speculative.get(uid):
                self._update_cluster(pod)

    def _apply(self, line: RecordLine) -> None:
        obj = line.object
        if isinstance(obj, Pod):
            if line.event == "Delete":
                self.pods.pop(obj.key, None)
                if not self._is_speculating:
                    self._assumed.pop(obj.uid, None)
                    self._nominations.pop(obj.uid, None)
            else:
                self.pods[obj.key] = obj
                if self._supersedes(line):
                    self._superseded.setdefault(obj.uid, line.line)
                if not self._is_speculating:
                    self._drop_outdated(obj)
            self._mark_touched(line)
            self._update_cluster(obj)
            return
        if isinstance(obj, Node) and not self._is_speculating:
            self.touched[obj.name] = None
        if isinstance(obj, PersistentVolume) and not self._is_speculating and _claim_of(obj):
            self._assumed_volumes.pop(obj.name, None)
        self._show(obj, None if line.event == "Delete" else obj)

    def _revert(self, line: RecordLine) -> None:
        obj, old = line.object, line.old
        if isinstance(obj, Pod):
            if self._superseded.get(obj.uid) == line.line:
                del self._superseded[obj.uid]
            if isinstance(old, Pod):
                self.pods[obj.key] = old
            else:
                self.pods.pop(obj.key, None)
            self._update_cluster(obj)
        else:
            self._show(obj, old)

    def _show(self, any_version: Object, obj: Object | None) -> None:
        """Show another version of an object, or that there is none."""
        if isinstance(any_version, PersistentVolume):
            if isinstance(obj, PersistentVolume):
                self._volumes[obj.name] = obj
                obj = self._assumed_volumes.get(obj.name, obj)
            else:
                self._volumes.pop(any_version.name, None)
        if obj is None:
            self.cluster.delete(any_version)
        else:
            self.cluster.put(obj)

    def _mark_touched(self, line: RecordLine) -> None:
        """Mark the node of a changed pod: the scheduler copies it before the next cycle."""
        if self._is_speculating:
            return
        for pod in (line.object, line.old):
            if isinstance(pod, Pod) and pod.spec.node_name:
                self.touched[pod.spec.node_name] = None

    # ---------------------------------------------------------------- own decisions

    def assume(self, pod: Pod, node: str) -> None:
        """Assume a pod on a node, with its volumes, until the API shows its binding.

        Notes
        -----
        Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go, `AssumePodVolumes`
        """
        self._assumed[pod.uid] = node
        self._nominations.pop(pod.uid, None)
        self.touched[node] = None
        self._update_cluster(pod)
        for volume in self._volumes_that_will_bind(pod):
            self._assumed_volumes[volume.name] = volume
            self.cluster.put(volume)

    def _volumes_that_will_bind(self, pod: Pod) -> Iterator[PersistentVolume]:
        """Yield existing volumes as the record shows them later, bound to claims of a pod."""
        for use in claim_uses(pod):
            positions = self._positions_of_claim.get(f"{pod.namespace}/{use.name}", [])
            coming = bisect_left(positions, self._volume_lines.position)
            if coming < len(positions):
                volume = self._volume_lines.lines[positions[coming]].object
                if isinstance(volume, PersistentVolume) and volume.name in self._volumes:
                    yield volume

    def forget(self, pod: Pod) -> None:
        """Take back the assumption of a pod that was not bound."""
        node = self._assumed.pop(pod.uid, "")
        if not node:
            return
        self.touched[node] = None
        self._update_cluster(pod)
        claims = {f"{pod.namespace}/{use.name}" for use in claim_uses(pod)}
        for name in [
            name for name, one in self._assumed_volumes.items() if _claim_of(one) in claims
        ]:
            del self._assumed_volumes[name]
            self.cluster.put(self._volumes[name])

    def nominate(self, pod: Pod, node: str) -> None:
        """Nominate a pod to a node, or to none, until the API shows another nomination."""
        self._nominations[pod.uid] = node
        self._superseded.pop(pod.uid, None)
        self._update_cluster(pod)

    def _supersedes(self, line: RecordLine) -> bool:
        """Whether the nomination that a change shows replaces the scheduler's own.

        Notes
        -----
        Upstream: pkg/scheduler/backend/queue/nominator.go, `UpdateNominatedPod`
        """
        if (pods := updated_pod(line)) is None:
            return False
        new, old = pods
        shown = new.status.nominated_node_name
        own = self._nominations.get(new.uid, shown)
        return own != shown and bool(shown or old.status.nominated_node_name)

    def _drop_outdated(self, pod: Pod) -> None:
        """Drop an assumption that the API now shows, and a nomination that it replaces."""
        if pod.spec.node_name:
            self._assumed.pop(pod.uid, None)
        if pod.spec.node_name or pod.uid in self._superseded:
            self._nominations.pop(pod.uid, None)
            self._superseded.pop(pod.uid, None)

    def pending(self, key: NamespacedName) -> Pod | None:
        """Return a pod as the scheduler pops it from its queue; None if it does not exist.

        Its nominated node is the one that the API shows: the nominator, which knows more, counts
        for other pods only.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure`, `findNodesThatFitPod`
        """
        return self.pods.get(key)

    def _nominated(self, pod: Pod) -> Pod:
        """Return a pod with the nomination that counts for other pods."""
        nomination = self._nominations.get(pod.uid)
        if nomination is None or pod.uid in self._superseded:
            return pod
        if nomination == pod.status.nominated_node_name:
            return pod
        return with_nominated_node_name(pod, nomination)

    def _update_cluster(self, any_version: Pod) -> None:
        """Update a pod in the columns: observed, assumed, nominated or speculative."""
        pod = self.pods.get(any_version.key)
        if pod is None:
            self.cluster.delete(any_version)
            return
        if not pod.spec.node_name:
            speculative = self._speculative.get(pod.uid)
            node = self._assumed.get(pod.uid) if speculative is None else speculative[1]
            if node is None and pod.uid not in self._nominations and waits_to_be_bound(pod):
                node = pod.status.nominated_node_name
            pod = self._nominated(pod) if node is None else with_node_name(pod, node)
        self.cluster.put(pod)


def updated_pod(line: RecordLine) -> tuple[Pod, Pod] | None:
    """Return a pod after and before its update; None for another change."""
    match line.object, line.old:
        case Pod() as new, Pod() as old if line.event != "Delete":
            return new, old
    return None


def waits_to_be_bound(pod: Pod) -> bool:
    """Whether a pod is nominated to the node on which its scheduler has placed it.

    Notes
    -----
    Upstream: pkg/scheduler/schedule_one.go, `bindingCycle`. A nomination by preemption is written
    together with the condition of the failed attempt.
    """
    if pod.spec.node_name or not pod.status.nominated_node_name:
        return False
    failed = ("PodScheduled", "False")
    return all((one.type, one.status) != failed for one in pod.status.conditions)


def _claim_of(volume: PersistentVolume) -> NamespacedName:
    """Return the claim to which a volume is bound or being bound; "" if there is none."""
    claim = volume.spec.claim_ref
    return "" if claim is None else f"{claim.namespace}/{claim.name}"


def _positions_by_claim(lines: list[RecordLine]) -> dict[NamespacedName, list[int]]:
    """Return the positions at which a volume is first bound to each claim."""
    found: dict[NamespacedName, list[int]] = defaultdict(list)
    for position, line in enumerate(lines):
        new, old = line.object, line.old
        if not isinstance(new, PersistentVolume) or line.event == "Delete":
            continue
        claim = _claim_of(new)
        if claim and not (isinstance(old, PersistentVolume) and _claim_of(old) == claim):
            found[claim].append(position)
    return found


# Image counts as the real scheduler has them: on how many nodes an image is present.
#
# ImageLocality scales the size of an image by the share of the nodes that have it. The scheduler
# works on a snapshot and copies a node into it only when the node or its pods have changed; the
# counts of the node's images are copied with it. So a node is scored with the counts of its last
# copy, and another node with the same images may be scored with newer counts. Podwright scores all
# nodes with the newest counts.


class CopiedImageCounts:
    """Per node, the counts of its images at the time of its last copy."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts_of: dict[str, dict[str, int]] = {}

    def copy(self, names: Iterable[str]) -> None:
        """Copy changed nodes; deleted nodes are removed."""
        nodes, find = self._cluster.nodes, self._cluster.images.find
        for name in names:
            slot = nodes.slot_of.get(name)
            node = None if slot is None else nodes.objects[slot]
            if node is None:
                self._counts_of.pop(name, None)
                continue
            self._counts_of[name] = {
                image: len(state.nodes)
                for entry in node.status.images
                for image in entry.names
                if (state := find(image)) is not None
            }

    def differences(self, pod: Pod, slots: I32Array) -> I64Array:
        """Return each node's score with its copied counts minus that with the newest counts.

        Returns
        -------
        (len(slots),) int64
            The unweighted differences.
        """
        cluster = self._cluster
        newest: I64Array = np.zeros(len(slots), dtype=np.int64)
        copied = newest.copy()
        for image in image_names(pod):
            state = cluster.images.find(image)
            if state is None:
                continue
            for row, slot in enumerate(slots.tolist()):
                if slot not in state.nodes:
                    continue
                count = self._counts_of.get(cluster.nodes.names[slot], {}).get(image, 0)
                # In floats and in this order: upstream's scaledImageScore truncates the product.
                newest[row] += int(state.size_bytes * (len(state.nodes) / cluster.nodes.n_alive))
                copied[row] += int(state.size_bytes * (count / cluster.nodes.n_alive))
        differences: I64Array = locality_scores(copied, pod, MAX_NODE_SCORE) - locality_scores(
            newest, pod, MAX_NODE_SCORE
        )
        return differences
