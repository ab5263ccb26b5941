"""The pod counts of a job, the backoff after failures, and the choice of pods to delete.

Upstream: pkg/controller/job/job_controller.go, backoff_utils.go;
pkg/controller/job/indexed_job_utils.go, backoff_utils.go, success_policy.go;
pkg/controller/job/job_controller.go, syncJob.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    is_ready,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import section
from podwright.cluster.controllers.batch.job_spec import (
    JobSpec,
    condition_among,
    index_of,
    indexes_text,
    parse_indexes,
)
from podwright.cluster.controllers.workload_fields import condition

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
        elif each.action != "Ignore" and (each.index >= 0 or not spec.is_indexed):
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


# Failures and successes per index of an indexed job.
#
# With `backoffLimitPerIndex` each index has its own retries and its own backoff. The number of
# failures is stored in an annotation of the next pod of the index. Therefore the last failed pod
# of an index keeps its finalizer, and is not counted, until its replacement exists or none is
# needed.

FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

_COUNT_MAX: Final = 2**31 - 1


def failures_of(pod: Pod) -> tuple[int, int]:
    """Return the earlier failures of a pod's index: the counted and the ignored ones."""
    annotations = pod.metadata.annotations
    return _count(annotations.get(FAILURES, "")), _count(annotations.get(IGNORED_FAILURES, ""))


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number if number <= _COUNT_MAX else 0


def failed_indexes(spec: JobSpec, known: str, ended: Iterable[TerminatedPod]) -> set[int]:
    """Return the indexes that have exhausted their retries.

    Upstream: calculateFailedIndexes, isIndexFailed
    """
    limit = spec.backoff_limit_per_index
    assert limit is not None, "no limit per index"
    failed = {
        each.index
        for each in ended
        if each.index >= 0
        and not each.is_success
        and (each.action == "FailIndex" or (each.action != "Ignore" and each.failures >= limit))
    }
    completions = spec.completions or 0
    return {index for index in failed | parse_indexes(known) if index < completions}


def last_failures(
    spec: JobSpec, ended: Iterable[TerminatedPod], active: Iterable[Pod], over: Iterable[int]
) -> dict[int, TerminatedPod]:
    """Return the last failure of each index that will be retried.

    Parameters
    ----------
    ended : iterable of TerminatedPod
        Those whose pods still exist.
    active : iterable of Pod
        Pods whose indexes need no replacement.
    over : iterable of int
        Indexes that have succeeded or failed.

    Notes
    -----
    Upstream: getPodsWithDelayedDeletionPerIndex
    """
    done = frozenset((*over, *(index_of(pod, spec.completions) for pod in active)))
    last: dict[int, TerminatedPod] = {}
    for each in ended:
        if each.is_success or each.index < 0 or each.index in done:
            continue
        known = last.get(each.index)
        if known is None or (
            known.failures + known.ignored <= each.failures + each.ignored
            and known.ended_ns <= each.ended_ns
        ):
            last[each.index] = each
    return last


def retry_ns(failure: TerminatedPod | None) -> int:
    """Return the time from which an index may be retried.

    Upstream: getRemainingTimePerIndex
    """
    if failure is None:
        return 0
    # The annotations of the failed pod count only the failures before it.
    return BackoffRecord(failure.failures + failure.ignored + 1, failure.ended_ns).ends_ns()


def failure_annotations(failure: TerminatedPod | None) -> dict[str, str]:
    """Return the annotations of the next pod of an index.

    Upstream: addIndexFailureCountAnnotation, getNewIndexFailureCounts
    """
    if failure is None:
        return {FAILURES: "0"}
    is_ignored = failure.action == "Ignore"
    ignored = failure.ignored + is_ignored
    written = {FAILURES: str(failure.failures + (not is_ignored))}
    return written | ({IGNORED_FAILURES: str(ignored)} if ignored else {})


def matching_success_rule(spec: JobSpec, succeeded: set[int]) -> int | None:
    """Return the position of the first rule of the success policy that is met.

    Upstream: matchSuccessPolicy
    """
    if not succeeded:
        return None
    rules: Sequence[Document] = (spec.success_policy or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        count = rule.get("succeededCount")
        text = rule.get("succeededIndexes")
        if text is None:
            if count is not None and len(succeeded) >= count:
                return number
            continue
        required = {i for i in parse_indexes(text) if i < (spec.completions or 0)}
        met = len(required & succeeded)
        if required and (met == len(required) or (count is not None and met >= count)):
            return number
    return None


# The completion or failure of a job, and the conditions that report it.

_LIMIT_MESSAGE: Final = "Job has reached the specified backoff limit"
_DEADLINE_MESSAGE: Final = "Job was active longer than specified deadline"
_INDEXES_MESSAGE: Final = "Job has exceeded the specified maximal number of failed indexes"
_SOME_INDEX_MESSAGE: Final = "Job has failed indexes"


def finishing_condition(
    job: KubernetesObject, spec: JobSpec, status: Document, counts: JobCounts, now_ns: int
) -> Document | None:
    """Return the condition SuccessCriteriaMet or FailureTarget, None if neither applies.

    Reaching the completions is detected separately, once no pod is active any more.
    """
    known = condition_among(job, ("SuccessCriteriaMet", "FailureTarget"))
    if known is not None:
        return known
    if counts.fail_message:
        return _failure("PodFailurePolicy", counts.fail_message, now_ns)
    is_past = counts.has_new_failure and counts.failed > spec.backoff_limit
    if is_past or restarts_too_often(spec, counts.active):
        return _failure("BackoffLimitExceeded", _LIMIT_MESSAGE, now_ns)
    started_ns = timestamp_ns(status.get("startTime"))
    deadline = spec.active_deadline_seconds
    if (
        deadline is not None
        and started_ns is not None
        and not spec.suspend
        and now_ns >= started_ns + deadline * 1_000_000_000
    ):
        return _failure("DeadlineExceeded", _DEADLINE_MESSAGE, now_ns)
    return _finished_by_indexes(spec, counts, now_ns) if spec.is_indexed else None


def _finished_by_indexes(spec: JobSpec, counts: JobCounts, now_ns: int) -> Document | None:
    failed = counts.failed_indexes or ()
    limit = spec.max_failed_indexes
    if counts.failed_indexes is not None and limit is not None and len(failed) > limit:
        return _failure("MaxFailedIndexesExceeded", _INDEXES_MESSAGE, now_ns)
    if failed and len(failed) + len(counts.indexes) >= (spec.completions or 0):
        return _failure("FailedIndexes", _SOME_INDEX_MESSAGE, now_ns)
    rule = matching_success_rule(spec, counts.indexes)
    if rule is None:
        return None
    note = f"Matched rules at index {rule}"
    return job_condition("SuccessCriteriaMet", "SuccessPolicy", note, now_ns)


def _failure(reason: str, message: str, now_ns: int) -> Document:
    return job_condition("FailureTarget", reason, message, now_ns)


def job_condition(type_: str, reason: str, message: str, now_ns: int) -> Document:
    """Return a condition that becomes true now."""
    probed = timestamp_text(now_ns)
    return condition(type_, "True", reason, message, now_ns, lastProbeTime=probed)
