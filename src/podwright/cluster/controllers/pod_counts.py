"""The counts of one owner's pods, updated with every change of a pod.

The cost of an update does not depend on the number of pods. Controllers list the pods themselves
only when a count differs from the desired one.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final

import msgspec

from podwright.apimachinery.objects import EVERYTHING, Pod, Selector
from podwright.cluster.controllers.pod_state import available_from_ns

ACTIVE: Final = 1
READY: Final = 2
LABELED: Final = 4
TERMINATING: Final = 8
UNMATCHED: Final = 16


class PodCriteria(msgspec.Struct, frozen=True):
    """What decides how a pod of an owner is counted.

    Attributes
    ----------
    selector : Selector
        A pod that it does not match is counted as unmatched only.
    labels : dict
        The labels of the template; a pod that has all of them is fully labeled.
    min_ready_seconds : int
        How long a pod must be ready to be available.
    """

    selector: Selector = EVERYTHING
    labels: dict[str, str] = {}
    min_ready_seconds: int = 0


class PodCounts:
    """Counts of the pods of one owner.

    Attributes
    ----------
    active, ready, labeled, terminating : int
        Pods that match the selector and are neither terminated nor being deleted; the ready and
        the fully labeled ones among these; pods that are being deleted.
    unmatched : int
        Pods that the owner controls and that its selector does not match.
    """

    def __init__(self, criteria: PodCriteria | None = None) -> None:
        self.criteria = criteria or PodCriteria()
        self.active = 0
        self.ready = 0
        self.labeled = 0
        self.terminating = 0
        self.unmatched = 0
        # By the names of the pods, which are all in one namespace.
        self._known: dict[str, int] = {}
        self._labels: dict[str, str] | None = None
        self._label_flags = UNMATCHED
        # Ready pods that may not be available yet, and when they will be.
        self._not_yet_available: dict[str, int] = {}
        self._due: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    def recount(self, criteria: PodCriteria, pods: Iterable[Pod]) -> None:
        """Reset the counts in place, and count pods by new criteria."""
        self.__init__(criteria)  # type: ignore[misc]  # callers keep a reference to this object
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> bool:
        """Count an added or changed pod; return whether a count changed."""
        name = pod.metadata.name
        flags = self._flags(pod)
        was = self._known.get(name)
        is_other = False
        if self.criteria.min_ready_seconds > 0:
            is_other = self._track_availability(name, pod, flags)
        if was == flags:
            return is_other
        if was is not None:
            self._add(was, -1)
        self._known[name] = flags
        self._add(flags, 1)
        return True

    def remove(self, name: str) -> bool:
        """Remove a pod; return whether it was counted."""
        was = self._known.pop(name, None)
        if was is None:
            return False
        self._not_yet_available.pop(name, None)
        self._add(was, -1)
        return True

    def available(self, now_ns: int) -> int:
        """Return the number of available pods; `now_ns` must not decrease between calls."""
        due = self._due
        while due and due[0][0] <= now_ns:
            from_ns, name = heappop(due)
            if self._not_yet_available.get(name) == from_ns:
                del self._not_yet_available[name]
        return self.ready - len(self._not_yet_available)

    def next_available_ns(self) -> int | None:
        """Return when the next ready pod becomes available, None if all are."""
        while self._due and self._not_yet_available.get(self._due[0][1]) != self._due[0][0]:
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def _flags(self, pod: Pod) -> int:
        metadata = pod.metadata
        # Pods of one template have the same labels, which are matched once.
        if metadata.labels is not self._labels:
            self._labels, self._label_flags = metadata.labels, self._label_flags_of(metadata.labels)
        flags = self._label_flags
        if flags == UNMATCHED:
            return UNMATCHED
        status = pod.status
        if status.phase == "Succeeded" or status.phase == "Failed":  # noqa: PLR1714 - hot
            return 0
        if metadata.deletion_timestamp is not None:
            return TERMINATING
        for condition in status.conditions:
            if condition.type == "Ready":
                return flags | READY if condition.status == "True" else flags
        return flags

    def _label_flags_of(self, labels: dict[str, str]) -> int:
        """Return the flags of an active pod with labels."""
        if not self.criteria.selector.matches(labels):
            return UNMATCHED
        return ACTIVE | LABELED if self.criteria.labels.items() <= labels.items() else ACTIVE

    def _track_availability(self, name: str, pod: Pod, flags: int) -> bool:
        from_ns = available_from_ns(pod, self.criteria.min_ready_seconds) if flags & READY else None
        if from_ns is None:
            self._not_yet_available.pop(name, None)
            return False
        if (
            self._known.get(name, 0) & READY
            and self._not_yet_available.get(name, from_ns) == from_ns
        ):
            return False
        self._not_yet_available[name] = from_ns
        heappush(self._due, (from_ns, name))
        return True

    def _add(self, flags: int, count: int) -> None:
        if flags & ACTIVE:
            self.active += count
            if flags & READY:
                self.ready += count
            if flags & LABELED:
                self.labeled += count
        elif flags & TERMINATING:
            self.terminating += count
        elif flags & UNMATCHED:
            self.unmatched += count
