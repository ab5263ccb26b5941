"""The pod counts of a job, the backoff after failures, and the choice of pods to delete.

Upstream: pkg/controller/job/job_controller.go, backoff_utils.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    NamespacedName,
    Pod,
    is_ready,
    timestamp_ns,
)
from podwright.cluster.api import section
from podwright.cluster.controllers.batch.job_spec import (
    JobSpec,
    index_of,
    indexes_text,
    parse_indexes,
)

_BACK_OFF_NS: Final = 10_000_000_000
_BACK_OFF_MAX_NS: Final = 600_000_000_000


class TerminatedPod(msgspec.Struct, frozen=True):
    """A terminated pod that the status does not count yet.

    Attributes
    ----------
    index : int
        The completion index; -1 without one.
    ended_ns : int
        The time of termination; -1 if the pod has none.
    action, message : str
        The result of the pod failure policy.
    failures, ignored : int
        How often its index had failed before, if the job counts failures per index.
    """

    uid: str
    key: NamespacedName
    is_success: bool
    index: int
    ended_ns: int
    action: str
    message: str
    failures: int = 0
    ignored: int = 0


class BackoffRecord(msgspec.Struct, frozen=True):
    """The number of failures since the last success, and the time of the last one."""

    failures: int = 0
    failed_ns: int = 0

    def ends_ns(self) -> int:
        """Return the time from which new pods may be created."""
        if not self.failures:
            return 0
        # Six shifts exceed the maximum already; the bound keeps the number small.
        wait_ns = _BACK_OFF_NS << min(self.failures - 1, 10)
        return self.failed_ns + min(wait_ns, _BACK_OFF_MAX_NS)


class JobCounts(msgspec.Struct):
    """The pod counts of a job during one sync.

    Attributes
    ----------
    delayed : int
        How many of the failed pods the status counts later.
    failed_indexes : set of int, optional
        None for a job without `backoffLimitPerIndex`.
    """

    active: list[Pod]
    succeeded: int
    failed: int
    terminating: int
    indexes: set[int]
    has_new_failure: bool = False
    fail_message: str = ""
    delayed: int = 0
    failed_indexes: set[int] | None = None


def count_pods(
    pods: Iterable[Pod], spec: JobSpec, status: Document, ended: Sequence[TerminatedPod]
) -> JobCounts:
    """Add the terminated pods to the counts of the status, and collect the active pods.

    Parameters
    ----------
    pods : iterable of Pod
        All pods that the job controls.
    spec, status
        The job's, before this sync.
    ended : sequence of TerminatedPod
        The pods that the status does not count yet.
    """
    active: list[Pod] = []
    terminating = 0
    for pod in pods:
        if pod.is_terminal:
            continue
        if pod.is_terminating:
            terminating += 1
        else:
            active.append(pod)
    counts = JobCounts(
        active,
        int(status.get("succeeded", 0)),
        int(status.get("failed", 0)),
        terminating,
        parse_indexes(str(status.get("completedIndexes", ""))),
    )
    for each in ended:
        if each.is_success:
            if not spec.is_indexed:
                counts.succeeded += 1
            elif each.index >= 0:
                counts.indexes.add(each.index)
        elif each.action != "Ignore":
            counts.failed += 1
            counts.has_new_failure = True
            if each.action == "FailJob":
                counts.fail_message = counts.fail_message or each.message
    if spec.is_indexed:
        # `completions` may have been reduced since an index was completed.
        counts.indexes = {i for i in counts.indexes if i < (spec.completions or 0)}
        counts.succeeded = len(counts.indexes)
    return counts


def backoff_after(
    before: BackoffRecord, ended: Sequence[TerminatedPod], now_ns: int
) -> BackoffRecord:
    """Count the failures since the last success.

    Notes
    -----
    Upstream: pkg/controller/job/backoff_utils.go, newBackoffRecord
    """
    if not ended:
        return before
    times = [(each.ended_ns if each.ended_ns >= 0 else now_ns, each) for each in ended]
    succeeded_ns = max((time for time, each in times if each.is_success), default=None)
    failed = [
        time
        for time, each in times
        if not each.is_success and (succeeded_ns is None or time > succeeded_ns)
    ]
    known = 0 if succeeded_ns is not None else before.failures
    return BackoffRecord(known + len(failed), max(failed, default=before.failed_ns))


def is_complete(spec: JobSpec, counts: JobCounts) -> bool:
    """Whether a job has reached its completions and has no active pod."""
    if counts.active:
        return False
    if spec.completions is None:
        return counts.succeeded > 0
    return counts.succeeded >= spec.completions


def desired_active(spec: JobSpec, counts: JobCounts) -> int:
    """Return the desired number of active pods."""
    if spec.suspend:
        return 0
    if spec.completions is None:
        # A work queue: after the first success no pod is created, and the active ones may finish.
        return len(counts.active) if counts.succeeded else spec.parallelism
    return max(min(spec.completions - counts.succeeded, spec.parallelism), 0)


def active_pods_for_removal(spec: JobSpec, counts: JobCounts, desired: int) -> list[Pod]:
    """Return the pods to delete: duplicate and completed indexes first.

    Notes
    -----
    Upstream: activePodsForRemoval; controller.ActivePods
    """
    chosen: list[Pod] = []
    rest = counts.active
    if spec.is_indexed:
        taken, rest = set(counts.indexes), []
        for pod in counts.active:
            index = index_of(pod, spec.completions)
            if index is None or index in taken:
                chosen.append(pod)
            else:
                taken.add(index)
                rest.append(pod)
    more = len(counts.active) - len(chosen) - desired
    if more > 0:
        chosen.extend(sorted(rest, key=_removal_order)[:more])
    return chosen


def _removal_order(pod: Pod) -> tuple[bool, int, bool, tuple[int, ...], str]:
    """Return a sort key: pods without a node, pending, not ready and young pods come first."""
    phases = {"Pending": 0, "Unknown": 1}
    created_ns = timestamp_ns(pod.metadata.creation_timestamp) or 0
    return (
        bool(pod.spec.node_name),
        phases.get(pod.status.phase, 2),
        is_ready(pod),
        (-created_ns,),
        pod.name,
    )


def restarts_too_often(spec: JobSpec, active: Iterable[Pod]) -> bool:
    """Whether the in-place restarts of containers exceed the backoff limit.

    Notes
    -----
    Upstream: pastBackoffLimitOnFailure
    """
    if (spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in active:
        if pod.status.phase in {"Running", "Pending"}:
            status = section(pod, "status")
            for name in ("initContainerStatuses", "containerStatuses"):
                restarts += sum(int(s.get("restartCount", 0)) for s in status.get(name) or ())
    # With `>=` alone, a limit of 0 would fail a job without any restart.
    return restarts > 0 if spec.backoff_limit == 0 else restarts >= spec.backoff_limit


def set_status_counts(status: Document, spec: JobSpec, counts: JobCounts) -> None:
    """Set the counts in the status of a job."""
    numbers = {
        "active": len(counts.active),
        "succeeded": counts.succeeded,
        "failed": counts.failed - counts.delayed,
        "completedIndexes": indexes_text(counts.indexes) if spec.is_indexed else "",
    }
    for name, number in numbers.items():
        if number:
            status[name] = number
        else:
            status.pop(name, None)
    if counts.failed_indexes is not None:
        status["failedIndexes"] = indexes_text(counts.failed_indexes)
    status["ready"] = sum(1 for pod in counts.active if is_ready(pod))
    status["terminating"] = counts.terminating
    status["uncountedTerminatedPods"] = {}
