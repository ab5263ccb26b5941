"""What a job counts, and what follows from its counts, in tables.

Upstream: pkg/controller/job/job_controller.go, indexed_job_utils.go, success_policy.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from podwright.cluster.controllers.batch import job_counts
from podwright.cluster.controllers.batch.job_counts import (
    BackoffRecord,
    JobCounts,
    active_pods_for_removal,
    backoff_after,
    count_pods,
    delayed_pods,
    desired_active,
    failed_indexes,
    failure_annotations,
    failures_of,
    finishing_condition,
    is_complete,
    matching_success_rule,
    restarts_too_often,
    retry_ns,
    set_status_counts,
)
from podwright.cluster.controllers.batch.job_spec import JobSpec, job_spec
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"
TRACKING = "batch.kubernetes.io/job-tracking"


def a_job(status: Any = None, **spec: Any) -> Any:
    return document(
        "Job", "j", api="batch/v1", namespace="shop", metadata={"uid": "ju"},
        spec={"template": {}, **spec}, status=status or {},
    )  # fmt: skip


def a_spec(**spec: Any) -> JobSpec:
    return job_spec(a_job(**spec))


def indexed(completions: int | None = 5, **spec: Any) -> JobSpec:
    return a_spec(completions=completions, completionMode="Indexed", **spec)


def pods(text: str) -> list[Any]:
    """Return the pods of a text such as `a:Failed/gone/#2/f1`.

    Its marks are `gone` (being deleted), `free` (without the finalizer), `up` (ready), an index
    after `#`, its failures after `f` and `i` (ignored), restarts after `r`, and after `t` the
    second in which it ended.
    """
    return [_pod(each) for each in text.split()]


def _pod(text: str) -> Any:
    name, _, rest = text.partition(":")
    phase, *marks = rest.split("/")
    numbers = {each[0]: each[1:] for each in marks if each[1:].isdecimal()}
    kinds = {"#": INDEX, "f": FAILURES, "i": IGNORED}
    annotations = {kinds[each]: text for each, text in numbers.items() if each in kinds}
    metadata: dict[str, Any] = {
        "uid": f"{name}-uid", "annotations": annotations,
        "finalizers": [] if "free" in marks else [TRACKING],
        "creationTimestamp": at(int(numbers.get("t", 0))),
    }  # fmt: skip
    metadata |= {"deletionTimestamp": at(0)} if "gone" in marks else {}
    status: dict[str, Any] = {"phase": phase or "Pending"}
    if "up" in marks:
        status["conditions"] = [{"type": "Ready", "status": "True"}]
    if "r" in numbers:
        status["containerStatuses"] = [{"name": "c", "restartCount": int(numbers["r"])}]
        status["initContainerStatuses"] = [{"name": "i", "restartCount": 1}, {"name": "k"}]
    if "x" in numbers:
        ended = {"exitCode": int(numbers["x"]), "finishedAt": at(int(numbers.get("t", 0)))}
        status["containerStatuses"] = [{"name": "c", "state": {"terminated": ended}}]
    return document("Pod", name, namespace="shop", metadata=metadata, status=status)


def names(found: Iterable[Any]) -> str:
    return " ".join(each.name for each in found)


def is_tracked(pod: Any) -> bool:
    return TRACKING in pod.metadata.finalizers


IGNORES = {
    "rules": [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
        {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [8]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [9]}},
    ]
}
NO_STATUS: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("with_pods", "spec", "status", "expected"),
    [
        # Active, new successes, new failures; succeeded, failed, terminating, ready.
        pytest.param("", a_spec(), {}, ("", "", "", 0, 0, 0, 0), id="nothing"),
        pytest.param(
            "a: b:Running/up c:Succeeded d:Failed", a_spec(), {},
            ("a b", "c", "d", 1, 1, 0, 1), id="one of each",
        ),
        pytest.param(
            "c:Succeeded/free d:Failed/free", a_spec(), {"succeeded": 1, "failed": 2},
            ("", "", "", 1, 2, 0, 0), id="counted already",
        ),
        pytest.param(
            "c:Succeeded d:Failed e:Failed f:Succeeded", a_spec(),
            {"uncountedTerminatedPods": {"succeeded": ["c-uid"], "failed": ["d-uid"]}},
            ("", "f", "e", 2, 2, 0, 0), id="about to be counted",
        ),
        pytest.param(
            "a:Running/gone b:Running/gone/free c:Failed/gone d:Succeeded/gone", a_spec(), {},
            ("", "d", "a c", 1, 2, 2, 0), id="being deleted",
        ),
        pytest.param(
            "a:Running/gone", a_spec(podReplacementPolicy="Failed"), {},
            ("", "", "", 0, 0, 1, 0), id="only a failed one is replaced",
        ),
        pytest.param(
            "a:Failed/x7 b:Failed/x1", a_spec(podFailurePolicy=IGNORES), {},
            ("", "", "a b", 0, 1, 0, 0), id="an ignored failure",
        ),
        pytest.param(
            "a:Succeeded/#4 b:Succeeded/#5 c:Succeeded d:Failed/#5 e:Failed/#0", indexed(),
            {"completedIndexes": "0-1,9"}, ("", "a", "e", 3, 1, 0, 0), id="indexes",
        ),
        pytest.param(
            "a:Succeeded/#4 b:Succeeded/#4", indexed(), {"succeeded": 7},
            ("", "a b", "", 1, 0, 0, 0), id="an index twice",
        ),
        pytest.param(
            "a:Succeeded", a_spec(), {"completedIndexes": "0-1"}, ("", "a", "", 1, 0, 0, 0),
            id="no indexes",
        ),
    ],
)  # fmt: skip
def test_the_pods_of_a_job_are_counted(with_pods, spec, status, expected) -> None:
    found = count_pods(pods(with_pods), spec, status, is_tracked)
    assert (
        names(found.active), names(found.new_succeeded), names(found.new_failed), found.succeeded,
        found.failed, found.terminating, found.ready,
    ) == expected  # fmt: skip
    assert found.active_count == len(found.active)


@pytest.mark.parametrize(
    ("before", "succeeded", "failed", "after"),
    [
        pytest.param((0, 0), "", "", (0, 0), id="nothing"),
        pytest.param((2, 30), "", "", (2, 30), id="nothing new"),
        pytest.param((2, 30), "", "a:Failed/t50 b:Failed/t40", (4, 50), id="two failures"),
        pytest.param((2, 30), "a:Succeeded/t60", "", (0, None), id="a success"),
        pytest.param((2, 30), "a:Succeeded/t45", "b:Failed/t40 c:Failed/t50", (1, 50),
                     id="a failure after it"),
        pytest.param((2, 30), "a:Succeeded/t45", "b:Failed/t45", (0, None), id="one beside it"),
        pytest.param((2, 30), "a:Succeeded/t41 b:Succeeded/t45", "c:Failed/t43", (0, None),
                     id="the last success"),
    ],
)  # fmt: skip
def test_failures_are_counted_since_the_last_success(before, succeeded, failed, after) -> None:
    record = BackoffRecord(before[0], NOW + before[1] * SECOND)
    found = backoff_after(record, pods(succeeded), pods(failed))
    last_ns = 0 if after[1] is None else NOW + after[1] * SECOND
    assert found == BackoffRecord(after[0], last_ns)


def counts(active: str = "", **fields: Any) -> JobCounts:
    found = JobCounts(pods(active))
    found.active_count = len(found.active)
    for name, value in fields.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("spec", "active", "succeeded", "desired", "complete"),
    [
        pytest.param({"completions": 5, "parallelism": 3}, "", 0, 3, False, id="as parallel"),
        pytest.param({"completions": 5, "parallelism": 3}, "", 3, 2, False, id="as are left"),
        pytest.param({"completions": 5, "parallelism": 3}, "", 5, 0, True, id="all"),
        pytest.param({"completions": 5, "parallelism": 3}, "a:", 5, 0, False, id="one still runs"),
        pytest.param({"completions": 5, "parallelism": 3}, "", 6, 0, True, id="more than all"),
        pytest.param({"completions": 0}, "", 0, 0, True, id="none"),
        pytest.param({"parallelism": 3}, "a:", 0, 3, False, id="a queue"),
        pytest.param({"parallelism": 3}, "a: b:", 1, 2, False, id="a queue ends"),
        pytest.param({"parallelism": 3}, "", 1, 0, True, id="a queue that ended"),
        pytest.param({"parallelism": 3}, "", 0, 3, False, id="a queue before its first success"),
        pytest.param({"completions": 5, "suspend": True}, "a:", 0, 0, False, id="suspended"),
    ],
)  # fmt: skip
def test_how_many_pods_are_desired_and_when_a_job_is_complete(
    spec, active, succeeded, desired, complete
) -> None:
    # Without completions and parallelism the API would set both.
    read = a_spec(**spec)
    found = counts(active, succeeded=succeeded)
    assert (desired_active(read, found), is_complete(read, found)) == (desired, complete)


@pytest.mark.parametrize(
    ("spec", "active", "desired", "removed"),
    [
        pytest.param(a_spec(), "a:Running b: c:Running", 3, "", id="none"),
        pytest.param(a_spec(), "a:Running b: c:Running", 2, "b", id="one that does not run"),
        pytest.param(a_spec(), "a:Running b:Running", 5, "", id="too few"),
        pytest.param(indexed(), "a:/#0 b:Running/#0 c:Running/#1", 2, "a", id="of an index"),
        pytest.param(indexed(), "a:Running/#0 b:Running/#9 c:Running", 2, "b c", id="of no index"),
        pytest.param(indexed(), "a:/#0 b:Running/#0 c:Running/#1 d:/#2", 2, "a d",
                     id="of an index, and one more"),
        pytest.param(indexed(), "a:/#0 b:Running/#0", 0, "a b", id="all"),
    ],
)  # fmt: skip
def test_which_active_pods_are_removed(spec, active, desired, removed) -> None:
    found = active_pods_for_removal(spec, counts(active), desired)
    assert sorted(each.name for each in found) == removed.split()


@pytest.mark.parametrize(
    ("with_pods", "limit", "policy", "expected"),
    [
        pytest.param("a:Running/r2", 3, "OnFailure", True, id="as many as the limit"),
        pytest.param("a:Running/r1", 3, "OnFailure", False, id="one less"),
        pytest.param("a:Running/r0 b:Pending/r0", 2, "OnFailure", True, id="together"),
        pytest.param("a:Failed/r5 b:Succeeded/r5", 2, "OnFailure", False, id="of ended pods"),
        pytest.param("a:Running/r5", 2, "Never", False, id="never restarted"),
        pytest.param("a:Running", 0, "OnFailure", False, id="none at a limit of 0"),
        pytest.param("a:Running/r0", 0, "OnFailure", True, id="one at a limit of 0"),
    ],
)
def test_restarts_of_containers_count_against_the_limit(with_pods, limit, policy, expected) -> None:
    spec = a_spec(backoffLimit=limit, template={"spec": {"restartPolicy": policy}})
    assert restarts_too_often(spec, pods(with_pods)) is expected


def test_the_counts_of_a_status() -> None:
    found = counts("a: b:", ready=1, terminating=3, indexes={0, 1, 2, 4}, failed_indexes={3})
    status = {"active": 9, "succeeded": 9, "failed": 9, "startTime": "kept"}
    set_status_counts(status, indexed(), found, succeeded=4, failed=5)
    assert status == {
        "active": 2, "succeeded": 4, "failed": 5, "completedIndexes": "0-2,4",
        "failedIndexes": "3", "ready": 1, "terminating": 3, "startTime": "kept",
    }  # fmt: skip
    set_status_counts(status, indexed(), counts(failed_indexes=set()), succeeded=0, failed=0)
    assert status == {"failedIndexes": "", "ready": 0, "terminating": 0, "startTime": "kept"}
    plain: dict[str, Any] = {"completedIndexes": "0"}
    set_status_counts(plain, a_spec(), counts(indexes={-1}), succeeded=1, failed=0)
    assert plain == {"succeeded": 1, "ready": 0, "terminating": 0}


# ----------------------------------------------------------------------- failures by index


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("0", 0), ("7", 7), ("", 0), ("-1", 0), ("x", 0), ("\u0661", 0), ("2147483647", 2**31 - 1),
        ("2147483648", 0),
    ],
)  # fmt: skip
def test_the_failures_before_a_pod(written, count) -> None:
    pod = document("Pod", "p", namespace="shop", metadata={"annotations": {FAILURES: written}})
    other = document("Pod", "p", namespace="shop", metadata={"annotations": {IGNORED: written}})
    assert [failures_of(pod), failures_of(other)] == [(count, 0), (0, count)]


@pytest.mark.parametrize(
    ("known", "failed", "expected"),
    [
        pytest.param("", "a:Failed/#0/f1", set(), id="may be retried"),
        pytest.param("", "a:Failed/#0/f2", {0}, id="retried twice"),
        pytest.param("1,3-4", "a:Failed/#0/f3", {0, 1, 3, 4}, id="more than that"),
        pytest.param("4-6", "", {4}, id="within the completions"),
        pytest.param("", "a:Failed/#0/f5/x7 b:Failed/#1/f0/x8", {1}, id="by the policy"),
    ],
)
def test_an_index_fails_when_its_retries_are_over(known, failed, expected) -> None:
    spec = indexed(backoffLimitPerIndex=2, podFailurePolicy=IGNORES)
    assert failed_indexes(spec, known, pods(failed)) == expected


@pytest.mark.parametrize(
    ("active", "failed", "done", "delayed"),
    [
        pytest.param("", "a:Failed/#0", {}, {0: "a"}, id="one"),
        pytest.param("a:Running/#0", "b:Failed/#0 c:Failed/#1", {}, {1: "c"}, id="runs again"),
        pytest.param("", "a:Failed/#0 b:Failed/#1 c:Failed/#2",
                     {"indexes": {0}, "failed_indexes": {1}}, {2: "c"}, id="ended"),
        pytest.param("", "a:Failed/#7 b:Failed", {}, {}, id="of no index"),
        pytest.param("", "a:Failed/#0/f1/t1 b:Failed/#0/f0/t5", {}, {0: "a"}, id="more failures"),
        pytest.param("", "a:Failed/#0/f0/t5 b:Failed/#0/f1/t1", {}, {0: "a"}, id="ended before"),
        pytest.param("", "a:Failed/#0/f0/t5 b:Failed/#0/i1/t5", {}, {0: "b"}, id="ignored ones"),
        pytest.param("", "a:Failed/#0/t5 b:Failed/#0/t5", {}, {0: "b"}, id="the last of equals"),
    ],
)  # fmt: skip
def test_the_last_failed_pod_of_an_index_waits_for_its_replacement(
    active, failed, done, delayed
) -> None:
    found = delayed_pods(indexed(), counts(active, new_failed=pods(failed), **done))
    assert {index: pod.name for index, pod in found.items()} == delayed


@pytest.mark.parametrize(
    ("failed", "seconds"), [("f0", 10), ("f1", 20), ("f1/i1", 40), ("f5", 320), ("f6", 600)]
)
def test_when_an_index_is_retried(failed, seconds) -> None:
    (pod,) = pods(f"a:Failed/#0/t3/{failed}")
    assert retry_ns(pod) == NOW + (3 + seconds) * SECOND
    assert retry_ns(None) == 0


@pytest.mark.parametrize(
    ("failed", "annotations"),
    [
        ("", {FAILURES: "0"}),
        ("a:Failed", {FAILURES: "1"}),
        ("a:Failed/f3/x1", {FAILURES: "4"}),
        ("a:Failed/f3/i2", {FAILURES: "4", IGNORED: "2"}),
        ("a:Failed/f3/x7", {FAILURES: "3", IGNORED: "1"}),
        ("a:Failed/f3/i2/x7", {FAILURES: "3", IGNORED: "3"}),
        ("a:Failed/f3/x8", {FAILURES: "4"}),
    ],
)
def test_the_next_pod_of_an_index_knows_the_failures_before_it(failed, annotations) -> None:
    spec = indexed(backoffLimitPerIndex=9, podFailurePolicy=IGNORES)
    assert failure_annotations(spec, next(iter(pods(failed)), None)) == annotations


@pytest.mark.parametrize(
    ("rules", "succeeded", "rule"),
    [
        pytest.param([], {0}, None, id="no rules"),
        pytest.param([{"succeededCount": 2}], {0}, None, id="too few"),
        pytest.param([{"succeededCount": 2}], {0, 4}, 0, id="enough"),
        pytest.param([{"succeededIndexes": "0,2"}], {0, 1}, None, id="not all of them"),
        pytest.param([{"succeededIndexes": "0,2"}], {0, 1, 2}, 0, id="all of them"),
        pytest.param([{"succeededIndexes": "0-3", "succeededCount": 2}], {0}, None, id="one"),
        pytest.param([{"succeededIndexes": "0-3", "succeededCount": 2}], {4, 3, 0}, 0, id="two"),
        pytest.param([{"succeededIndexes": "4-9"}], {4}, 0, id="up to the completions"),
        pytest.param([{"succeededIndexes": "5-9"}], {4}, None, id="beyond them"),
        pytest.param([{"succeededIndexes": "5", "succeededCount": 0}], {4}, None, id="of none"),
        pytest.param([{}, {"succeededCount": 9}, {"succeededCount": 1}], {4}, 2, id="the third"),
        pytest.param([{"succeededCount": 0}], set(), None, id="nothing has succeeded"),
    ],
)  # fmt: skip
def test_the_first_rule_of_a_success_policy_that_is_met(rules, succeeded, rule) -> None:
    assert matching_success_rule(indexed(successPolicy={"rules": rules}), succeeded) == rule
    assert matching_success_rule(indexed(), succeeded) is None


LIMIT = "BackoffLimitExceeded: Job has reached the specified backoff limit"
DEADLINE = "DeadlineExceeded: Job was active longer than specified deadline"


@pytest.mark.parametrize(
    ("spec", "with_pods", "found", "expected"),
    [
        pytest.param(a_spec(backoffLimit=2), "", {"failed": 2}, "", id="as many as allowed"),
        pytest.param(a_spec(backoffLimit=2), "", {"failed": 3}, LIMIT, id="one more"),
        pytest.param(a_spec(activeDeadlineSeconds=30), "", {}, DEADLINE, id="at the deadline"),
        pytest.param(a_spec(activeDeadlineSeconds=31), "", {}, "", id="before the deadline"),
        pytest.param(a_spec(activeDeadlineSeconds=30, suspend=True), "", {}, "", id="suspended"),
        pytest.param(
            a_spec(podFailurePolicy=IGNORES, backoffLimit=0), "a:Running a:Failed/x9",
            {"failed": 1},
            "PodFailurePolicy: Container c for pod shop/a failed with exit code 9 matching FailJob"
            " rule at index 2",
            id="by the policy",
        ),
        pytest.param(a_spec(podFailurePolicy=IGNORES), "a:Failed/x8", {}, "", id="not the job"),
        pytest.param(a_spec(podFailurePolicy=IGNORES), "a:Succeeded/x9", {}, "", id="no failure"),
        pytest.param(
            indexed(maxFailedIndexes=1), "", {"failed_indexes": {0, 1}},
            "MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed"
            " indexes", id="too many indexes",
        ),
        pytest.param(indexed(maxFailedIndexes=2), "", {"failed_indexes": {0, 1}}, "",
                     id="as many indexes as allowed"),
        pytest.param(indexed(), "", {"failed_indexes": {0}, "indexes": {1, 2, 3, 4}},
                     "FailedIndexes: Job has failed indexes", id="all indexes ended"),
        pytest.param(indexed(), "", {"failed_indexes": {0}, "indexes": {1, 2, 3}}, "",
                     id="one index is left"),
        pytest.param(indexed(), "", {"failed_indexes": set(), "indexes": {0, 1, 2, 3, 4}}, "",
                     id="no index failed"),
        pytest.param(indexed(successPolicy={"rules": [{"succeededCount": 1}]}), "",
                     {"indexes": {1}}, "SuccessPolicy: Matched rules at index 0", id="enough"),
        pytest.param(a_spec(successPolicy={"rules": [{"succeededCount": 1}]}), "",
                     {"indexes": {-1}}, "", id="no indexes at all"),
    ],
)  # fmt: skip
def test_what_ends_a_job(spec, with_pods, found, expected) -> None:
    status = {"startTime": at(0)}
    now_ns = NOW + 30 * SECOND
    given = finishing_condition(a_job(), spec, status, pods(with_pods), counts(**found), now_ns)
    if not expected:
        assert given is None
        return
    reason, _, message = expected.partition(": ")
    kind = "SuccessCriteriaMet" if reason == "SuccessPolicy" else "FailureTarget"
    assert given == {
        "type": kind, "status": "True", "reason": reason, "message": message,
        "lastProbeTime": at(30), "lastTransitionTime": at(30),
    }  # fmt: skip


def test_a_job_keeps_the_condition_that_ends_it() -> None:
    def condition(kind: str, status: str = "True") -> dict[str, str]:
        return {"type": kind, "status": status}

    rows: list[tuple[list[Any], Any]] = [
        ([condition("FailureTarget")], condition("FailureTarget")),
        ([condition("FailureTarget"), condition("SuccessCriteriaMet")],
         condition("SuccessCriteriaMet")),
        ([condition("FailureTarget", "False")], None),
    ]  # fmt: skip
    for conditions, kept in rows:
        job = a_job({"conditions": conditions})
        assert finishing_condition(job, a_spec(), {}, [], counts(), NOW) == kept
    without_start = a_spec(activeDeadlineSeconds=1)
    assert finishing_condition(a_job(), without_start, {}, [], counts(), NOW) is None


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (6, 320), (7, 600), (99, 600)]
)
def test_the_backoff_of_failures(failures, seconds) -> None:
    last_ns = NOW if failures else 0
    expected = NOW + seconds * SECOND if failures else 0
    assert job_counts.BackoffRecord(failures, last_ns).ends_ns() == expected
