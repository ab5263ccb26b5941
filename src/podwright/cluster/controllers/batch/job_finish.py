"""The completion or failure of a job, and the conditions that report it.

Upstream: pkg/controller/job/job_controller.go, syncJob
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, KubernetesObject, timestamp_ns, timestamp_text
from podwright.cluster.controllers.batch.job_counts import JobCounts, restarts_too_often
from podwright.cluster.controllers.batch.job_indexes import matching_success_rule
from podwright.cluster.controllers.batch.job_spec import JobSpec, condition_among

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
    now = timestamp_text(now_ns)
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
