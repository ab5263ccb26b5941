"""The order of importance of pods: less important ones are preempted first.

Upstream: pkg/scheduler/util/utils.go, `MoreImportantPod`, `GetPodStartTime`.
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod, timestamp_ns

NOT_STARTED = (1 << 63) - 1
"""The start time of pods that have none: later than all others."""


def priority_of(pod: Pod) -> int:
    """Return the priority; 0 if none is set."""
    return pod.spec.priority or 0


def start_ns(pod: Pod) -> int:
    """Return when the pod started, in nanoseconds since 1970; `NOT_STARTED` if it has not."""
    started = timestamp_ns(pod.status.start_time)
    return NOT_STARTED if started is None else started


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
    started = now_ns
    if pod.status.start_time:
        started = start_ns(pod)
        if started == NOT_STARTED:
            started = now_ns
    return -priority_of(pod), started, pod.key
