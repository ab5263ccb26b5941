"""What the pods of one owner add up to, kept up to date pod by pod.

A change of one pod costs the same however many others there are; only who has a difference
in numbers to act on looks at the pods themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final

import msgspec

from podwright.controllers.pod_state import available_from_ns
from podwright.objects import EVERYTHING, Pod, Selector

ACTIVE: Final = 1
READY: Final = 2
LABELED: Final = 4
TERMINATING: Final = 8
UNMATCHED: Final = 16


class PodCriteria(msgspec.Struct, frozen=True):
    """How an owner counts.

    Attributes
    ----------
    selector : Selector
        A pod that it does not match is a stranger.
    labels : dict
        Those of the template; a pod that has them all is fully labeled.
    min_ready_seconds : int
        How long a pod has to be ready to be available.
    """

    selector: Selector = EVERYTHING
    labels: dict[str, str] = {}
    min_ready_seconds: int = 0


class PodCounts:
    """Counts of the pods of one owner.

    Attributes
    ----------
    active, ready, labeled, terminating : int
        Pods that match the selector and count; of these the ready ones and those that have all
        labels of the template; pods whose deletion has begun.
    unmatched : int
        Pods that the owner controls and that its selector does not match.
    """

    def __init__(self, rules: PodCriteria | None = None) -> None:
        self.rules = rules or PodCriteria()
        self.active = 0
        self.ready = 0
        self.labeled = 0
        self.terminating = 0
        self.unmatched = 0
        # By the names of pods, which are all in one namespace.
        self._known: dict[str, int] = {}
        self._labels: dict[str, str] | None = None
        self._label_flags = UNMATCHED
        # Ready pods that are not known to be available yet, and when they will be.
        self._not_yet_available: dict[str, int] = {}
        self._due: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    def recount(self, rules: PodCriteria, pods: Iterable[Pod]) -> None:
        """Count everything anew."""
        self.__init__(rules)  # type: ignore[misc]  # as new, for whoever holds it
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> bool:
        """Count a pod that came or changed; return whether that makes a difference."""
        name = pod.metadata.name
        flags = self._flags(pod)
        was = self._known.get(name)
        is_other = False
        if self.rules.min_ready_seconds > 0:
            is_other = self._track_availability(name, pod, flags)
        if was == flags:
            return is_other
        if was is not None:
            self._add(was, -1)
        self._known[name] = flags
        self._add(flags, 1)
        return True

    def remove(self, name: str) -> bool:
        """Forget a pod; return whether it was known."""
        was = self._known.pop(name, None)
        if was is None:
            return False
        self._not_yet_available.pop(name, None)
        self._add(was, -1)
        return True

    def available(self, now_ns: int) -> int:
        """Return how many pods are available; time does not go backwards."""
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
        """Return what an active pod with labels counts as."""
        if not self.rules.selector.matches(labels):
            return UNMATCHED
        return ACTIVE | LABELED if self.rules.labels.items() <= labels.items() else ACTIVE

    def _track_availability(self, name: str, pod: Pod, flags: int) -> bool:
        from_ns = available_from_ns(pod, self.rules.min_ready_seconds) if flags & READY else None
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
