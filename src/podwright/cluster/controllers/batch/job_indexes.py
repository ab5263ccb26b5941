"""Failures and successes per index of an indexed job.

With `backoffLimitPerIndex` each index has its own retries and its own backoff. The number of
failures is stored in an annotation of the next pod of the index. Therefore the last failed pod of
an index keeps its finalizer, and is not counted, until its replacement exists or none is needed.

Upstream: pkg/controller/job/indexed_job_utils.go, backoff_utils.go, success_policy.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright.apimachinery.objects import Document, Pod
from podwright.cluster.controllers.batch.job_counts import BackoffRecord, TerminatedPod
from podwright.cluster.controllers.batch.job_spec import JobSpec, index_of, parse_indexes

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
