"""The pod counts of a job, the backoff after failures, and the choice of pods to delete.

Upstream: pkg/controller/job/job_controller.go, backoff_utils.go;
pkg/controller/job/indexed_job_utils.go, backoff_utils.go, success_policy.go;
pkg/controller/job/job_controller.go, syncJob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    Pod,
    is_ready,
    parse_int64,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import section
from podwright.cluster.controllers.batch.job_spec import (
    JobSpec,
    condition_among,
    failure_verdict,
    finish_time_ns,
    index_of,
    indexes_text,
    parse_indexes,
)
from podwright.cluster.controllers.pod_state import active_order, is_active
from podwright.cluster.controllers.workload_fields import condition

_BACK_OFF_NS: Final = 10_000_000_000
_BACK_OFF_MAX_NS: Final = 600_000_000_000


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
    """The pods of a job in one sync, and their counts.

    Attributes
    ----------
    active : list of Pod
        The pods that neither terminated nor are being deleted.
    active_count, ready, terminating : int
        The counts that the status reports; what the sync creates and deletes is in them.
    succeeded, failed : int
        Including the pods that the status does not count yet.
    new_succeeded, new_failed : list of Pod
        The terminated pods that the status does not count yet.
    indexes : set of int
        The completed indexes.
    failed_indexes : set of int, optional
        None for a job without `backoffLimitPerIndex`.
    """

    active: list[Pod]
    active_count: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    new_succeeded: list[Pod] = []
    new_failed: list[Pod] = []
    indexes: set[int] = set()
    failed_indexes: set[int] | None = None

    def remove(self, pods: Sequence[Pod]) -> None:
        """Count active pods as terminating: they are being deleted."""
        self.active_count -= len(pods)
        self.terminating += len(pods)
        self.ready -= sum(map(is_ready, pods))


def is_failed(spec: JobSpec, pod: Pod) -> bool:
    """Whether a pod has failed, or is being deleted where that is a failure.

    Notes
    -----
    Upstream: isPodFailed
    """
    phase = pod.status.phase
    if phase == "Failed":
        return True
    return pod.is_terminating and phase != "Succeeded" and not spec.replaces_only_failed


def is_counted(spec: JobSpec, pod: Pod) -> bool:
    """Whether the failure policy counts a failed pod."""
    return failure_verdict(spec.pod_failure_policy, pod).action != "Ignore"


def count_pods(
    pods: Iterable[Pod], spec: JobSpec, status: Document, is_tracked: Callable[[Pod], bool]
) -> JobCounts:
    """Add the terminated pods to the counts of the status, and collect the active pods.

    Parameters
    ----------
    pods : iterable of Pod
        All pods that the job controls.
    spec, status
        The job's, before this sync.
    is_tracked : callable
        Whether a pod has its finalizer: the others are counted already, or never will be.

    Notes
    -----
    Upstream: getNewFinishedPods, getValidPodsWithFilter, calculateSucceededIndexes
    """
    uncounted = status.get("uncountedTerminatedPods") or {}
    known_succeeded = uncounted.get("succeeded") or ()
    known_failed = uncounted.get("failed") or ()
    counts = JobCounts([])
    if spec.is_indexed:
        counts.indexes = parse_indexes(str(status.get("completedIndexes", "")))
    for pod in pods:
        if is_active(pod):
            counts.active.append(pod)
            continue
        counts.terminating += not pod.is_terminal
        if not is_tracked(pod):
            continue
        index = index_of(pod, spec.completions) if spec.is_indexed else -1
        if index is None:
            continue
        if pod.status.phase == "Succeeded":
            counts.indexes.add(index)
            if pod.uid not in known_succeeded:
                counts.new_succeeded.append(pod)
        elif is_failed(spec, pod) and pod.uid not in known_failed:
            counts.new_failed.append(pod)
            counts.failed += is_counted(spec, pod)
    counts.active_count = len(counts.active)
    counts.ready = sum(map(is_ready, counts.active))
    counts.failed += int(status.get("failed", 0)) + len(known_failed)
    if spec.is_indexed:
        # `completions` may have been reduced since an index was completed.
        counts.indexes = {i for i in counts.indexes if i < (spec.completions or 0)}
        counts.succeeded = len(counts.indexes)
    else:
        written = int(status.get("succeeded", 0))
        counts.succeeded = written + len(known_succeeded) + len(counts.new_succeeded)
    return counts


def backoff_after(
    before: BackoffRecord, succeeded: Iterable[Pod], failed: Iterable[Pod]
) -> BackoffRecord:
    """Count the failures since the last success.

    Notes
    -----
    Upstream: pkg/controller/job/backoff_utils.go, newBackoffRecord
    """
    succeeded_ns = max(map(finish_time_ns, succeeded), default=None)
    times = [finish_time_ns(pod) for pod in failed]
    if succeeded_ns is None:
        return BackoffRecord(before.failures + len(times), max(times)) if times else before
    later = [time for time in times if time > succeeded_ns]
    return BackoffRecord(len(later), max(later, default=0))


def is_complete(spec: JobSpec, counts: JobCounts) -> bool:
    """Whether a job has reached its completions and has no active pod."""
    if counts.active_count:
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
    """Return the pods to delete: first those without a valid index, and all but one of an index.

    Notes
    -----
    Upstream: activePodsForRemoval, appendDuplicatedIndexPodsForRemoval
    """
    chosen, left = list[Pod](), sorted(counts.active, key=active_order)
    if spec.is_indexed:
        last = {index_of(pod, spec.completions): pod for pod in left}
        last.pop(None, None)
        kept = {pod.key for pod in last.values()}
        chosen = [pod for pod in left if pod.key not in kept]
        left = [pod for pod in left if pod.key in kept]
    more = len(counts.active) - len(chosen) - desired
    return chosen + left[: max(more, 0)]


def restarts_too_often(spec: JobSpec, pods: Iterable[Pod]) -> bool:
    """Whether the in-place restarts of containers exceed the backoff limit.

    Notes
    -----
    Upstream: pastBackoffLimitOnFailure
    """
    if (spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if pod.status.phase in {"Running", "Pending"}:
            status = section(pod, "status")
            for name in ("initContainerStatuses", "containerStatuses"):
                restarts += sum(int(s.get("restartCount", 0)) for s in status.get(name) or ())
    # With `>=` alone, a limit of 0 would fail a job without any restart.
    return restarts > 0 if spec.backoff_limit == 0 else restarts >= spec.backoff_limit


def set_status_counts(
    status: Document, spec: JobSpec, counts: JobCounts, *, succeeded: int, failed: int
) -> None:
    """Set the counts in the status of a job."""
    numbers = {
        "active": counts.active_count,
        "succeeded": succeeded,
        "failed": failed,
        "completedIndexes": indexes_text(counts.indexes) if spec.is_indexed else "",
    }
    for name, number in numbers.items():
        if number:
            status[name] = number
        else:
            status.pop(name, None)
    if counts.failed_indexes is not None:
        status["failedIndexes"] = indexes_text(counts.failed_indexes)
    status["ready"] = counts.ready
    status["terminating"] = counts.terminating


# Failures and successes per index of an indexed job.
#
# With `backoffLimitPerIndex` each index has its own retries and its own backoff. The number of
# failures is stored in an annotation of the next pod of the index.

FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

_COUNT_MAX: Final = 2**31 - 1


def failures_of(pod: Pod) -> tuple[int, int]:
    """Return the earlier failures of a pod's index: the counted and the ignored ones."""
    annotations = pod.metadata.annotations
    return _count(annotations.get(FAILURES, "")), _count(annotations.get(IGNORED_FAILURES, ""))


def _count(text: str) -> int:
    number = parse_int64(text) or 0
    return number if 0 <= number <= _COUNT_MAX else 0


def failed_indexes(spec: JobSpec, known: str, failed: Iterable[Pod]) -> set[int]:
    """Return the indexes that have exhausted their retries.

    Notes
    -----
    Upstream: calculateFailedIndexes, isIndexFailed
    """
    limit = spec.backoff_limit_per_index
    assert limit is not None, "no limit per index"
    indexes = parse_indexes(known)
    for pod in failed:
        action = failure_verdict(spec.pod_failure_policy, pod).action
        if action == "FailIndex" or (action != "Ignore" and failures_of(pod)[0] >= limit):
            index = index_of(pod, spec.completions)
            assert index is not None, f"{pod.key} has no index"
            indexes.add(index)
    return {index for index in indexes if index < (spec.completions or 0)}


def delayed_pods(spec: JobSpec, counts: JobCounts) -> dict[int, Pod]:
    """Return the last failed pod of each index that will be retried.

    It keeps its finalizer, and is not counted, until its replacement exists.

    Notes
    -----
    Upstream: getPodsWithDelayedDeletionPerIndex
    """
    done = {index_of(pod, spec.completions) for pod in counts.active}
    done |= counts.indexes | (counts.failed_indexes or set())
    last = dict[int, Pod]()
    for pod in counts.new_failed:
        index = index_of(pod, spec.completions)
        if index is None or index in done:
            continue
        known = last.get(index)
        if known is None or (
            sum(failures_of(known)) <= sum(failures_of(pod))
            and finish_time_ns(known) <= finish_time_ns(pod)
        ):
            last[index] = pod
    return last


def retry_ns(failed: Pod | None) -> int:
    """Return the time from which an index may be retried.

    Upstream: getRemainingTimePerIndex
    """
    if failed is None:
        return 0
    # The annotations of the failed pod count only the failures before it.
    return BackoffRecord(sum(failures_of(failed)) + 1, finish_time_ns(failed)).ends_ns()


def failure_annotations(spec: JobSpec, failed: Pod | None) -> dict[str, str]:
    """Return the annotations of the next pod of an index.

    Upstream: addIndexFailureCountAnnotation, getNewIndexFailureCounts
    """
    if failed is None:
        return {FAILURES: "0"}
    failures, ignored = failures_of(failed)
    if is_counted(spec, failed):
        failures += 1
    else:
        ignored += 1
    return {FAILURES: str(failures)} | ({IGNORED_FAILURES: str(ignored)} if ignored else {})


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
    job: KubernetesObject,
    spec: JobSpec,
    status: Document,
    pods: Sequence[Pod],
    counts: JobCounts,
    now_ns: int,
) -> Document | None:
    """Return the condition SuccessCriteriaMet or FailureTarget, None if neither applies.

    Reaching the completions is detected separately, once no pod is active any more.
    """
    known = condition_among(job, ("SuccessCriteriaMet",)) or condition_among(
        job, ("FailureTarget",)
    )
    if known is not None:
        return known
    if spec.pod_failure_policy is not None:
        for pod in pods:
            if is_failed(spec, pod):
                verdict = failure_verdict(spec.pod_failure_policy, pod)
                if verdict.action == "FailJob":
                    return _failure("PodFailurePolicy", verdict.message, now_ns)
    if counts.failed > spec.backoff_limit or restarts_too_often(spec, pods):
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
    failed = counts.failed_indexes
    limit = spec.max_failed_indexes
    if failed is not None and limit is not None and len(failed) > limit:
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
