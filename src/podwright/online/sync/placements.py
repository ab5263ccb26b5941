"""Where pods are at the source and at the destinations, without I/O."""

from __future__ import annotations

from collections.abc import Sequence

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
