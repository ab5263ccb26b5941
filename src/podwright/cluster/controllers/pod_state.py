"""The state of a pod as controllers evaluate it, and the order in which they delete pods.

Upstream: pkg/controller/controller_utils.go; pkg/api/v1/pod/util.go
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    NamespacedName,
    Pod,
    condition_of,
    timestamp_ns,
)

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

_ENDED: Final = ("Succeeded", "Failed")
_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_MAX_INT32: Final = 2**31


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

    Notes
    -----
    Upstream: pkg/api/v1/pod/util.go, IsPodAvailable
    """
    since_ns = ready_since_ns(pod)
    if since_ns is None:
        return None
    return since_ns + min_ready_seconds * SECOND_NS if min_ready_seconds > 0 else 0


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
        1 if pod.spec.node_name else 0,
        _PHASE_ORDER.get(pod.status.phase, 0),
        0 if ready_ns is None else 1,
        _deletion_cost(pod),
        -ranks.get(key, 0),
    )
    created_ns = timestamp_ns(pod.metadata.creation_timestamp)
    return _Candidate(pod, (pod.uid, key), standing, ready_ns, _restarts(pod), created_ns)


def _identity(candidate: _Candidate) -> tuple[str, str]:
    return candidate.identity


def _deletion_cost(pod: Pod) -> int:
    """Return the value of the annotation; 0 if it is not a 32-bit integer.

    Notes
    -----
    Upstream: pkg/apis/core/v1/helper/helpers.go, GetDeletionCostFromPodAnnotations
    """
    text = pod.metadata.annotations.get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (len(digits) > 1 and digits[0] == "0"):
        return 0
    cost = int(text)
    return cost if -_MAX_INT32 <= cost < _MAX_INT32 and text != "-0" else 0


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
