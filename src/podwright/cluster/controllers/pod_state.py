"""The state of a pod as controllers evaluate it, and the order in which they delete pods.

Upstream: pkg/controller/controller_utils.go; pkg/api/v1/pod/util.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from heapq import heappop, heappush
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DELETION_COST,
    EVERYTHING,
    SECOND_NS,
    NamespacedName,
    Pod,
    Selector,
    condition_of,
    deletion_cost,
    timestamp_ns,
)

_ENDED: Final = ("Succeeded", "Failed")
_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: Pod) -> bool:
    """Whether a pod is neither terminated nor being deleted.

    Notes
    -----
    Upstream: controller_utils.go, IsPodActive
    """
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in _ENDED


def ready_since_ns(pod: Pod) -> int | None:
    """Return the time since which a pod is ready: None if it is not, 0 if unknown."""
    condition = condition_of(pod, "Ready")
    if condition is None or condition.status != "True":
        return None
    return timestamp_ns(condition.last_transition_time) or 0


def available_from_ns(pod: Pod, min_ready_seconds: int) -> int | None:
    """Return the time from which a ready pod is available, None if it is not ready.

    A pod that has been ready since an unknown time is available only without `minReadySeconds`.

    Notes
    -----
    Upstream: pkg/api/v1/pod/util.go, IsPodAvailable
    """
    since_ns = ready_since_ns(pod)
    if since_ns is not None and min_ready_seconds <= 0:
        return 0
    return since_ns + min_ready_seconds * SECOND_NS if since_ns else None


def is_available(pod: Pod, min_ready_seconds: int, now_ns: int) -> bool:
    """Whether a pod has been ready for `minReadySeconds`."""
    from_ns = available_from_ns(pod, min_ready_seconds)
    return from_ns is not None and from_ns <= now_ns


def is_equivalent(old: Pod, new: Pod) -> bool:
    """Whether two versions of a pod are equal in all that stateful and daemon sets evaluate."""
    return (
        old.uid == new.uid
        and old.status.phase == new.status.phase
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and old.metadata.labels == new.metadata.labels
        and old.metadata.owner_references == new.metadata.owner_references
        and ready_since_ns(old) == ready_since_ns(new)
    )


# ------------------------------------------------------------------- order of deletion


def deletion_order(pods: list[Pod], ranks: Mapping[NamespacedName, int], now_ns: int) -> list[Pod]:
    """Return pods in the order in which a replica set deletes them.

    Parameters
    ----------
    pods : list of Pod
        Active pods.
    ranks : mapping
        The number of related pods on the same node, by pod; higher ranks are deleted first.
    now_ns : int
        The time to which ages refer; they are compared by their order of magnitude.

    Notes
    -----
    Upstream: controller_utils.go, ActivePodsWithRanks. Upstream compares the base-2 logarithms of
    ages as floats, rounded down; here it is the bit length, which has no rounding error.
    """

    def compare(one: _Candidate, other: _Candidate) -> int:
        if one.standing != other.standing:
            return -1 if one.standing < other.standing else 1
        if one.ready_ns is not None:
            younger = _younger(one.ready_ns, other.ready_ns, one, other, now_ns)
            if younger:
                return younger
        if one.restarts != other.restarts:
            return -1 if one.restarts > other.restarts else 1
        return _younger(one.created_ns, other.created_ns, one, other, now_ns)

    candidates = [_candidate(pod, ranks) for pod in pods]
    candidates.sort(key=_identity)
    candidates.sort(key=cmp_to_key(compare))
    return [each.pod for each in candidates]


def active_order(pod: Pod) -> tuple[Any, ...]:
    """Return a sort key of active pods: the pods that a job deletes first come first.

    Notes
    -----
    Upstream: controller_utils.go, ActivePods
    """
    ready_ns = ready_since_ns(pod)
    regular, beside = _restarts(pod)
    return (
        bool(pod.spec.node_name),
        _PHASE_ORDER.get(pod.status.phase, 0),
        ready_ns is not None,
        _latest_first(ready_ns),
        -regular,
        -beside,
        _latest_first(timestamp_ns(pod.metadata.creation_timestamp)),
        pod.name,
    )


def _latest_first(time_ns: int | None) -> float:
    return -time_ns if time_ns else -math.inf


class _Candidate(msgspec.Struct, frozen=True, gc=False):
    """A pod with the values that decide the order of deletion."""

    pod: Pod
    identity: tuple[str, str]
    standing: tuple[int, ...]
    ready_ns: int | None
    restarts: tuple[int, int]
    created_ns: int | None


def _candidate(pod: Pod, ranks: Mapping[NamespacedName, int]) -> _Candidate:
    key, ready_ns = pod.key, ready_since_ns(pod)
    standing = (
        bool(pod.spec.node_name),
        _PHASE_ORDER.get(pod.status.phase, 0),
        ready_ns is not None,
        deletion_cost(pod.metadata.annotations.get(DELETION_COST, "")) or 0,
        -ranks.get(key, 0),
    )
    created_ns = timestamp_ns(pod.metadata.creation_timestamp)
    return _Candidate(pod, (pod.uid, key), standing, ready_ns, _restarts(pod), created_ns)


def _identity(candidate: _Candidate) -> tuple[str, str]:
    return candidate.identity


def _younger(
    first_ns: int | None, second_ns: int | None, one: _Candidate, other: _Candidate, now_ns: int
) -> int:
    if first_ns == second_ns:
        return 0
    difference = _magnitude(first_ns, now_ns) - _magnitude(second_ns, now_ns)
    if difference:
        return difference
    # Upstream: ages of one order of magnitude are ordered by uid, which is as good as random.
    return -1 if one.identity < other.identity else 1


def _magnitude(since_ns: int | None, now_ns: int) -> int:
    age_ns = now_ns - (since_ns or 0)
    return age_ns.bit_length() - 1 if age_ns > 0 else -1


def _restarts(pod: Pod) -> tuple[int, int]:
    """Return the largest restart count of the containers, and of the sidecars."""
    status: dict[str, Any] = pod.raw.get("status") or {}
    regular = 0
    for entry in status.get("containerStatuses") or ():
        regular = max(regular, int(entry.get("restartCount") or 0))
    if not pod.spec.init_containers:
        return regular, 0
    sidecars = {container.name for container in pod.spec.init_containers if container.is_sidecar}
    beside = [
        int(entry.get("restartCount") or 0)
        for entry in status.get("initContainerStatuses") or ()
        if entry.get("name") in sidecars
    ]
    return regular, max(beside, default=0)


# The counts of one owner's pods, updated with every change of a pod.
#
# The cost of an update does not depend on the number of pods. Controllers list the pods themselves
# only when a count differs from the desired one.

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
