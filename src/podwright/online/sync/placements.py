"""Where pods are at the source and at the destinations, and which were seen, without I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from podwright.apimachinery.objects import timestamp_ns, timestamp_text
from podwright.online.client import SyncDifference


class Placements:
    """The nodes of all pods.

    Parameters
    ----------
    sides : int
        The source, which is side 0, and the destinations.
    """

    def __init__(self, sides: int) -> None:
        # Of the pods that a side has decided; "" for those that it cannot place.
        self._nodes: list[dict[str, str]] = [{} for _ in range(sides)]
        self._different: set[str] = set()

    def put(self, side: int, pod: str, node: str | None) -> SyncDifference | None:
        """Take the node of a pod; return the difference that it makes, or that it changes.

        Parameters
        ----------
        side : int
        pod : str
        node : str, optional
            "" if the side cannot place the pod; None if it has not decided yet.

        Returns
        -------
        SyncDifference or None
            None until all sides have decided.
        """
        if self._nodes[side].get(pod) == node:
            return None
        if node is None:
            self.drop(side, pod)
            return None
        self._nodes[side][pod] = node
        nodes = [each.get(pod) for each in self._nodes]
        if None in nodes or len(set(nodes)) == 1:
            self._different.discard(pod)
            return None
        self._different.add(pod)
        return self._difference(pod)

    def drop(self, side: int, pod: str) -> None:
        """Take note that a side has a pod no longer."""
        self._nodes[side].pop(pod, None)
        self._different.discard(pod)

    def is_placed(self, side: int, pod: str) -> bool:
        """Whether a pod has a node on a side."""
        return bool(self._nodes[side].get(pod))

    def elsewhere(self, side: int) -> int:
        """Return how many pods a destination has placed otherwise than the source."""
        source = self._nodes[0]
        return sum(source.get(pod, node) != node for pod, node in self._nodes[side].items())

    def different(self) -> Sequence[SyncDifference]:
        """Return all pods that all sides have decided, and not in the same way."""
        return [self._difference(pod) for pod in sorted(self._different)]

    def _difference(self, pod: str) -> SyncDifference:
        return SyncDifference(pod, [each.get(pod, "") for each in self._nodes])


# Which pods a sync has seen, in a form that a later sync can read, without I/O.
#
# A pod that an earlier sync has seen and the destination no longer has was deleted there. Creation
# times tell old pods from new ones, but not exactly: API servers set them before the writes get
# their order, each by its own clock. So the pods of the last seconds are known by their uids.

RECENT_MAX: Final = 5_000
"""So many uids are saved: an object has at most one megabyte."""

_RECENT_NS: Final = 5_000_000_000


class SeenPods:
    """The pods of a sync and of the one before it.

    Parameters
    ----------
    until : str
        The creation time (RFC 3339) of the last pod that the earlier sync has seen; "" without one.
    recent : collection of str
        The uids of its pods of the last five seconds before this time.

    Attributes
    ----------
    until : str
        The creation time of the last pod that was seen.
    """

    def __init__(self, until: str = "", recent: Collection[str] = ()) -> None:
        self.until = until
        self._begin = _begin(until)
        self._created = dict.fromkeys(recent, until)
        self._begin_before = self._begin
        self._recent_before = frozenset(recent)

    def add(self, uid: str, created: str) -> None:
        """Take note of a pod.

        Parameters
        ----------
        uid : str
        created : str
            Its creation time (RFC 3339).
        """
        if created > self.until:
            self.until = created
            self._begin = _begin(created)
            self._created = {u: at for u, at in self._created.items() if at >= self._begin}
        if created >= self._begin:
            self._created[uid] = created

    def has_seen_before(self, uid: str, created: str) -> bool:
        """Whether the earlier sync has seen a pod."""
        return created < self._begin_before or uid in self._recent_before

    @property
    def recent(self) -> Collection[str]:
        """The uids of the pods of the last seconds; none if they are too many."""
        return sorted(self._created) if len(self._created) <= RECENT_MAX else ()


def _begin(until: str) -> str:
    """Return the time from which on pods are known by their uids."""
    end_ns = timestamp_ns(until)
    return "" if end_ns is None else timestamp_text(max(0, end_ns - _RECENT_NS))
