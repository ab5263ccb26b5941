"""A placed pod: a pod on a slot, with its interned parts; and the order of importance of pods.

Notes
-----
Upstream: pkg/scheduler/util/utils.go, `MoreImportantPod`, `GetPodStartTime`.
"""

from __future__ import annotations

import msgspec

from podwright._arrays import I64Array
from podwright.apimachinery.objects import Pod, timestamp_ns
from podwright.scheduler.columns.ports import HostPort


class PodKeys(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """The parts of a pod that count on the node where it is placed.

    Parameters
    ----------
    requests : (k,) int64
        Amount per resource column, pods (1) included; k may be less than the number of
        columns.
    amounts : tuple of (int, int)
        The same as pairs of column and amount.
    non_zero : (int, int)
        Milli-CPU and memory bytes for scoring.
    ports : tuple of HostPort
        Host ports in use.
    has_volumes : bool
        Whether the volume columns must be updated.
    class_id : int
        Number of the pod's (namespace, labels) in `SelectorCounters`.
    term_ids : tuple of int
        The pod's own (anti-)affinity terms in `SelectorCounters`, each as often as the pod
        has it.
    """

    requests: I64Array
    amounts: tuple[tuple[int, int], ...]
    non_zero: tuple[int, int]
    ports: tuple[HostPort, ...]
    has_volumes: bool
    class_id: int
    term_ids: tuple[int, ...]


class PlacedPod(msgspec.Struct, eq=False, gc=False):
    """A pod on a node.

    Parameters
    ----------
    pod : Pod
        Its current version.
    keys : PodKeys
        Its interned parts.
    slot : int
        The slot of the node.
    key : str
        The `namespace/name` of the pod, of all versions.
    """

    pod: Pod
    keys: PodKeys
    slot: int
    key: str

    @property
    def is_terminating(self) -> bool:
        """True once the pod is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None


# The order of importance of pods: less important ones are preempted first.

NOT_STARTED = (1 << 63) - 1
"""The start time of pods that have none: later than all others."""


def priority_of(pod: Pod) -> int:
    """Return the priority; 0 if none is set."""
    return pod.spec.priority or 0


def start_ns(pod: Pod) -> int:
    """Return when the pod started, in nanoseconds since 1970; `NOT_STARTED` if it has not.

    A time outside the years 1678 to 2261 counts as the nearest one that fits in 64 bits.
    """
    started = timestamp_ns(pod.status.start_time)
    if started is None:
        return NOT_STARTED
    return min(max(started, -NOT_STARTED), NOT_STARTED - 1)


def importance(pod: Pod, now_ns: int = NOT_STARTED) -> tuple[int, int, str]:
    """Return a key that sorts the most important pod first.

    Parameters
    ----------
    now_ns : int
        The start time of a pod that has not started. It matters only where another pod's start
        lies in the future; by default such pods start last.

    Notes
    -----
    Priority, then the earlier start. Upstream does not order equal pods; podwright orders them
    by name, so that the result does not depend on their order of arrival.
    """
    started = start_ns(pod)
    if started == NOT_STARTED:
        started = now_ns
    return -priority_of(pod), started, pod.key
