"""Jobs run exactly their completions, and finish as upstream's do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Pod, timestamp_ns
from podwright.cluster.api import UpdateObject
from podwright.cluster.controllers.batch.cron_job import JobTTLController
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.batch.job_counts import (
    FAILURES,
    IGNORED_FAILURES,
    BackoffRecord,
    JobCounts,
    active_pods_for_removal,
    backoff_after,
    count_pods,
    failures_of,
)
from podwright.cluster.controllers.batch.job_spec import (
    TRACKING,
    ParsedJobs,
    indexes_text,
    job_spec,
    parse_indexes,
    pods_of,
)
from podwright.cluster.controllers.kinds import JOB
from podwright.cluster.controllers.tests.controller_cluster import counting, counts
from podwright.cluster.controllers.tests.staged_cluster import Cluster, at, document
from podwright.cluster.controllers.workload_fields import status_of
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY
from podwright.cluster.store import POD
from podwright.cluster.store.history import with_metadata

MAKERS = (JobController, JobTTLController)


def a_job(
    name: str = "j",
    *,
    seconds: int | None = None,
    exit_code: int = 0,
    restart: str = "Never",
    **spec: Any,
) -> Any:
    """Return a job whose pods run for a time; without it, until a test terminates them."""
    annotations = {RUN_DELAY: "10000h"}
    if seconds is not None:
        annotations = {RUN_DELAY: f"{seconds}s", EXIT_CODE: str(exit_code)}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "app"}]},
    }
    return document(
        "Job", name, api="batch/v1", namespace="default", spec={"template": template, **spec}
    )


def cluster_with(*jobs: Any, **options: Any) -> Cluster:
    cluster = Cluster(MAKERS, **options)
    cluster.add(document("Node", "n1"), *jobs)
    return cluster


def end(cluster: Cluster, pod: Pod, phase: str, exit_code: int = 0) -> None:
    """Terminate a pod as a kubelet does."""
    ended = {"exitCode": exit_code, "finishedAt": at(cluster.now)}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    cluster.edit(POD, pod.key, "status", phase=phase, containerStatuses=statuses, conditions=None)


def conditions(cluster: Cluster) -> list[tuple[str, str]]:
    written = cluster.status(JOB, "default/j").get("conditions", ())
    return [(each["type"], each["reason"]) for each in written]


# ----------------------------------------------------------------------------- stories


def test_a_job_runs_exactly_its_completions():
    cluster = cluster_with(a_job(seconds=5, completions=5, parallelism=2))
    cluster.run(1)
    assert cluster.status(JOB, "default/j") == {
        "startTime": at(0),
        "active": 2,
        "ready": 2,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    cluster.run(60)
    status = cluster.status(JOB, "default/j")
    # Two batches and a last pod, each 5 s long and counted one second later.
    assert (status["succeeded"], status["completionTime"]) == (5, at(18))
    assert conditions(cluster) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert len(cluster.pods()) == 5
    assert not [pod.name for pod in cluster.pods() if pod.metadata.finalizers]
    assert cluster.event_notes("Completed") == ["Job completed"]
    assert cluster.event_notes("SuccessfulCreate") == [
        f"Created pod: {n}" for n in created(cluster)
    ]


def created(cluster: Cluster) -> list[str]:
    return [obj.name for obj in cluster.creations if isinstance(obj, Pod)]


def test_an_indexed_job_has_a_pod_per_index():
    cluster = cluster_with(a_job(seconds=1, completions=3, parallelism=3, completionMode="Indexed"))
    cluster.run(0)
    pods = sorted(cluster.pods(), key=lambda pod: pod.name)
    for index, pod in enumerate(pods):
        label = "batch.kubernetes.io/job-completion-index"
        assert pod.name.startswith(f"j-{index}-")
        assert pod.metadata.labels[label] == str(index) == pod.metadata.annotations[label]
        assert pod.raw["spec"]["hostname"] == f"j-{index}"
        (env,) = pod.raw["spec"]["containers"][0]["env"]
        assert env["name"] == "JOB_COMPLETION_INDEX"
    end(cluster, pods[1], "Failed", 1)
    cluster.run(60)
    assert cluster.status(JOB, "default/j")["completedIndexes"] == "0-2"
    assert cluster.status(JOB, "default/j")["failed"] == 1
    assert [name[:4] for name in created(cluster)] == ["j-0-", "j-1-", "j-2-", "j-1-"]


def test_pods_after_failures_are_delayed_exponentially():
    cluster = cluster_with(a_job(seconds=0, exit_code=1, backoffLimit=3))
    cluster.run(600)
    made = [obj.metadata.creation_timestamp for obj in cluster.creations if obj.kind == "Pod"]
    # 10 s, 20 s and 40 s after the last failure.
    assert made == [at(0), at(10), at(30), at(70)]
    assert conditions(cluster) == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]
    assert cluster.status(JOB, "default/j")["failed"] == 4
    assert cluster.event_notes("BackoffLimitExceeded") == [
        "Job has reached the specified backoff limit"
    ]


def test_a_success_resets_the_backoff():
    cluster = cluster_with(a_job(completions=3, parallelism=1, backoffLimit=9))
    for phase in ("Failed", "Failed", "Failed", "Succeeded", "Failed", "Failed"):
        (pod,) = (pod for pod in cluster.pods() if not pod.is_terminal)
        end(cluster, pod, phase, exit_code=int(phase == "Failed"))
        cluster.run(cluster.now + 60)
    made = [obj.metadata.creation_timestamp for obj in cluster.creations if obj.kind == "Pod"]
    # 10, 20 and 40 s after failures; a second after the success; 10 and 20 s after failures.
    assert made == [at(0), at(10), at(80), at(160), at(181), at(250), at(320)]


SECOND = 1_000_000_000


def an_end(text: str) -> Pod:
    """Return a pod that ended at a time, such as `f7`; `f` has none, and was created at 20 s."""
    ended = {"exitCode": 1} | ({"finishedAt": at(int(text[1:]))} if text[1:] else {})
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    made = document(
        "Pod",
        text,
        namespace="default",
        metadata={"creationTimestamp": at(20)},
        status={"phase": "Failed", "containerStatuses": statuses},
    )
    assert isinstance(made, Pod)
    return made


@pytest.mark.parametrize(
    ("ends", "failures", "failed_at"),
    [
        ("", 2, 5),
        ("f9", 3, 9),
        ("f9 f7", 4, 9),
        ("f7 f9 f8", 5, 9),
        ("f0", 3, 0),
        ("f", 3, 20),
        ("s8", 0, None),
        ("f7 s8", 0, None),
        ("s8 f7", 0, None),
        ("s8 f8", 0, None),
        ("s8 f9", 1, 9),
        ("f9 s8", 1, 9),
        ("f7 f10 s8 f9", 2, 10),
        ("s5 f6 s8", 0, None),
        ("s8 f6 s5", 0, None),
        ("s5 f9 s8 f6", 1, 9),
        ("s f19", 0, None),
        ("s f20", 0, None),
        ("s f21", 1, 21),
        ("s8 f", 1, 20),
        ("s0 f0", 0, None),
        ("s0 f1", 1, 1),
    ],
)
def test_failures_since_the_last_success_are_counted(ends, failures, failed_at):
    before = BackoffRecord(failures=2, failed_ns=timestamp_ns(at(5)) or 0)
    succeeded = [an_end(text) for text in ends.split() if text[0] == "s"]
    failed = [an_end(text) for text in ends.split() if text[0] == "f"]
    after = backoff_after(before, succeeded, failed)
    assert after.failures == failures
    if failed_at is None:
        assert after.ends_ns() == 0
    else:
        assert after.failed_ns == timestamp_ns(at(failed_at))


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 600), (8, 600), (99, 600)],
)
def test_the_backoff_doubles_up_to_ten_minutes(failures, seconds):
    assert BackoffRecord(failures, 5 * SECOND).ends_ns() == (5 + seconds) * SECOND


def test_there_is_no_backoff_without_failures():
    assert BackoffRecord(0, 5 * SECOND).ends_ns() == 0


@pytest.mark.parametrize(
    ("count", "per_look"), [(499, [499]), (500, [500]), (501, [500, 1]), (1_002, [500, 500, 2])]
)
def test_a_sync_creates_at_most_500_pods_and_a_suspended_job_deletes_all(count, per_look):
    syncs: list[Counter[str]] = []

    cluster = Cluster([counting(JobController, syncs)], schedules=False)
    cluster.add(a_job(completions=count, parallelism=count))
    cluster.run(10)
    assert counts(syncs, "created") == per_look
    cluster.edit(JOB, "default/j", "spec", suspend=True)
    cluster.run(20)
    assert counts(syncs, "deleted") == [count]
    assert cluster.pods() == []


def test_a_failed_job_deletes_its_active_pods_and_counts_them_as_failed():
    cluster = cluster_with(a_job(completions=3, parallelism=3, backoffLimit=0))
    cluster.run(1)
    end(cluster, cluster.pods()[0], "Failed", 1)
    cluster.run(10)
    assert cluster.status(JOB, "default/j")["failed"] == 3
    assert "active" not in cluster.status(JOB, "default/j")
    assert len(cluster.event_notes("SuccessfulDelete")) == 2
    assert [pod.status.phase for pod in cluster.pods()] == ["Failed"]


def test_a_deadline_ends_a_job():
    cluster = cluster_with(a_job(activeDeadlineSeconds=30))
    cluster.run(29)
    assert cluster.status(JOB, "default/j")["active"] == 1
    cluster.run(40)
    assert conditions(cluster)[-1] == ("Failed", "DeadlineExceeded")
    assert cluster.event_notes("DeadlineExceeded") == [
        "Job was active longer than specified deadline"
    ]
    assert cluster.pods() == []


def test_the_time_of_a_job_begins_again_when_it_is_resumed():
    cluster = cluster_with(a_job(activeDeadlineSeconds=20))
    cluster.run(10)
    cluster.edit(JOB, "default/j", "spec", suspend=True)
    assert "startTime" not in cluster.status(JOB, "default/j")
    cluster.run(30)
    cluster.edit(JOB, "default/j", "spec", suspend=False)
    cluster.run(45)
    assert cluster.status(JOB, "default/j")["startTime"] == at(30)
    assert ("Failed", "DeadlineExceeded") not in conditions(cluster)
    cluster.run(55)
    assert conditions(cluster)[-1] == ("Failed", "DeadlineExceeded")


def test_a_suspended_job_has_no_pods_until_it_is_resumed():
    cluster = cluster_with(a_job(parallelism=2, completions=2, suspend=True))
    cluster.run(5)
    assert cluster.pods() == []
    assert "startTime" not in cluster.status(JOB, "default/j")
    assert conditions(cluster) == [("Suspended", "JobSuspended")]
    cluster.edit(JOB, "default/j", "spec", suspend=False)
    assert cluster.status(JOB, "default/j")["startTime"] == at(5)
    assert len(cluster.pods()) == 2
    cluster.edit(JOB, "default/j", "spec", suspend=True)
    cluster.run(20)
    assert cluster.pods() == []
    # Surplus pods do not count as failed.
    assert "failed" not in cluster.status(JOB, "default/j")
    assert (cluster.event_notes("Suspended"), cluster.event_notes("Resumed")) == (
        ["Job suspended", "Job suspended"],
        ["Job resumed"],
    )


def test_a_finished_job_is_deleted_after_its_ttl():
    cluster = cluster_with(a_job(seconds=1, ttlSecondsAfterFinished=100))
    cluster.run(101)
    assert cluster.has(JOB, "default/j")
    cluster.run(103)
    job = cluster.raw(JOB, "default/j")
    assert job["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize(
    ("rule", "failed", "last"),
    [
        pytest.param(
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}},
            0,
            ("", ""),
            id="ignored",
        ),
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            1,
            ("Failed", "PodFailurePolicy"),
            id="fatal",
        ),
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [42]}},
            1,
            ("", ""),
            id="another code",
        ),
        pytest.param(
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            1,
            ("", ""),
            id="no such condition",
        ),
    ],
)
def test_a_failure_policy_decides_about_a_failure(rule, failed, last):
    cluster = cluster_with(a_job(podFailurePolicy={"rules": [rule]}))
    (pod,) = cluster.pods()
    end(cluster, pod, "Failed", 42)
    cluster.run(5)
    assert cluster.status(JOB, "default/j").get("failed", 0) == failed
    assert (conditions(cluster) or [("", "")])[-1] == last
    if last[0]:
        (message,) = cluster.event_notes("PodFailurePolicy")
        assert message == (
            f"Container main for pod {pod.key} failed with exit code 42"
            " matching FailJob rule at index 0"
        )


def test_a_deleted_pod_is_replaced_and_counts_as_failed():
    cluster = cluster_with(a_job(completions=1))
    cluster.run(1)
    cluster.delete(POD, cluster.pods()[0].key)
    assert cluster.pods() == []
    cluster.run(20)
    assert cluster.status(JOB, "default/j")["failed"] == 1
    assert cluster.status(JOB, "default/j")["active"] == 1


def test_the_pods_of_a_removed_job_lose_their_finalizer():
    cluster = cluster_with(a_job(completions=1))
    cluster.run(1)
    assert cluster.pods()[0].metadata.finalizers == (TRACKING,)
    cluster.delete(JOB, "default/j")
    assert cluster.pods()[0].metadata.finalizers == ()


def test_pods_added_before_their_job_are_counted():
    first = cluster_with(a_job(completions=2, parallelism=2))
    first.run(1)
    end(first, first.pods()[0], "Succeeded")
    second = Cluster(MAKERS)
    for obj in (*first.pods(), *first.all(JOB)):
        second.store.put(obj)
    second.run(2)
    assert second.status(JOB, "default/j")["succeeded"] == 1
    assert len(second.pods()) == 2


@pytest.mark.parametrize("indexes", [(None, None, None), (0, 1, 7)])
def test_pods_of_a_shared_template_equal_pods_decoded_one_by_one(indexes):
    cluster = cluster_with(a_job(completions=8, completionMode="Indexed"), schedules=False)
    job = cluster.get(JOB, "default/j")
    pods = pods_of(job, job_spec(job), indexes)
    assert [pods_of(job, job_spec(job), [index]) for index in indexes] == [[pod] for pod in pods]


def test_a_spec_is_parsed_once_until_the_job_or_its_spec_changes():
    cluster = cluster_with(a_job(completions=8), schedules=False)
    job = cluster.get(JOB, "default/j")
    asked = ParsedJobs()
    pod = asked.pod(job)
    assert [pod] == pods_of(job, job_spec(job), [None])
    assert asked.pod(msgspec.structs.replace(job, raw=job.raw | {"status": {"active": 1}})) is pod
    same_name = with_metadata(job, uid="another")
    assert [each.uid for each in asked.pod(same_name).metadata.owner_references] == ["another"]
    wider = msgspec.structs.replace(
        same_name, raw=same_name.raw | {"spec": same_name.raw["spec"] | {"completions": 9}}
    )
    assert asked.of(wider).spec.completions == 9


def test_too_many_container_restarts_fail_a_job():
    cluster = cluster_with(a_job(restart="OnFailure", backoffLimit=2))
    cluster.run(1)
    (pod,) = cluster.pods()
    statuses = [{"name": "main", "restartCount": 2, "state": {"running": {}}}]
    cluster.edit(POD, pod.key, "status", containerStatuses=statuses)
    cluster.run(5)
    assert conditions(cluster)[-1] == ("Failed", "BackoffLimitExceeded")


@pytest.mark.parametrize(
    ("limit", "restarts", "fails"), [(0, 0, False), (0, 1, True), (2, 1, False)]
)
def test_container_restarts_count_against_the_limit(limit, restarts, fails):
    cluster = cluster_with(a_job(restart="OnFailure", backoffLimit=limit))
    cluster.run(1)
    (pod,) = cluster.pods()
    statuses = [{"name": "main", "restartCount": restarts, "state": {"running": {}}}]
    cluster.edit(POD, pod.key, "status", containerStatuses=statuses)
    cluster.run(5)
    assert conditions(cluster)[-1:] == ([("Failed", "BackoffLimitExceeded")] if fails else [])


def test_surplus_pods_without_a_node_go_first_then_pending_then_unready_then_young_ones():
    def pod(name: str, node: str = "n1", phase: str = "Running", ready: bool = True, age: int = 9):
        conditions = [{"type": "Ready", "status": str(ready)}]
        made = document(
            "Pod",
            name,
            namespace="default",
            metadata={"creationTimestamp": at(-age)},
            spec={"nodeName": node},
            status={"phase": phase, "conditions": conditions},
        )
        assert isinstance(made, Pod)
        return made

    ordered = [
        pod("e", node="", phase="Pending", ready=False),
        pod("d", phase="Pending", ready=False),
        pod("c", ready=False),
        pod("b", age=5),
        pod("a"),
    ]
    spec = job_spec(a_job(completions=9))
    counts = JobCounts(ordered[::-1])
    for desired in range(6):
        chosen = active_pods_for_removal(spec, counts, desired)
        assert [each.name for each in chosen] == [each.name for each in ordered[: 5 - desired]]


def test_all_but_one_pod_of_an_index_and_pods_without_one_are_surplus():
    job = a_job(completions=4, parallelism=4, completionMode="Indexed")
    spec = job_spec(job)
    names = ("first", "second", "other", "done", "beyond")
    active = [
        with_metadata(pod, name=name)
        for name, pod in zip(names, pods_of(job, spec, [0, 0, 1, 2, 9], {}), strict=True)
    ]
    counts = JobCounts(active, indexes={2})
    chosen = active_pods_for_removal(spec, counts, 3)
    assert [pod.name for pod in chosen] == ["beyond", "first"]


def test_completed_indexes_beyond_the_completions_do_not_count():
    spec = job_spec(a_job(completions=3, completionMode="Indexed"))
    counts = count_pods([], spec, {"completedIndexes": "0,2-4"}, lambda _: True)
    assert (counts.indexes, counts.succeeded) == ({0, 2}, 2)


def test_reduced_parallelism_deletes_pods():
    cluster = cluster_with(a_job(completions=10, parallelism=4))
    cluster.run(1)
    cluster.edit(JOB, "default/j", "spec", parallelism=1)
    cluster.run(3)
    assert len(cluster.pods()) == 1
    assert cluster.status(JOB, "default/j")["active"] == 1
    assert "failed" not in cluster.status(JOB, "default/j")


def test_surplus_pods_are_reported_as_terminating_at_once():
    cluster = cluster_with(a_job(completions=10, parallelism=4))
    cluster.run(1)
    before = len(cluster.writes)
    cluster.edit(JOB, "default/j", "spec", parallelism=1)
    statuses = [
        status_of(write.obj)
        for write in cluster.writes[before:]
        if isinstance(write, UpdateObject) and write.obj.kind == "Job"
    ]
    assert statuses[0]["terminating"] == 3


def test_a_running_pod_that_loses_its_finalizer_is_never_counted():
    cluster = cluster_with(a_job(completions=3, parallelism=1))
    cluster.run(1)
    (pod,) = cluster.pods()
    cluster.edit(POD, pod.key, "metadata", finalizers=None)
    cluster.run(5)
    assert cluster.status(JOB, "default/j")["active"] == 1
    end(cluster, pod, "Succeeded")
    cluster.run(8)
    status = cluster.status(JOB, "default/j")
    assert (status["active"], status.get("succeeded"), status.get("failed")) == (1, None, None)
    assert len(cluster.pods()) == 2


def test_a_pod_without_a_job_loses_its_finalizer():
    cluster = cluster_with(a_job(completions=1))
    alone = document("Pod", "p", namespace="default", metadata={"finalizers": [TRACKING]})
    cluster.add(alone)
    cluster.run(2)
    assert cluster.get(POD, "default/p").metadata.finalizers == ()


def test_a_work_queue_completes_after_its_first_success():
    cluster = cluster_with(a_job(parallelism=3))
    cluster.run(1)
    first, *rest = cluster.pods()
    end(cluster, first, "Succeeded")
    cluster.run(3)
    assert len(created(cluster)) == 3
    for pod in rest:
        end(cluster, pod, "Succeeded")
    cluster.run(6)
    assert conditions(cluster)[-1] == ("Complete", "CompletionsReached")


@pytest.mark.parametrize(
    ("text", "indexes"), [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5}), ("x,1", {1})]
)
def test_completed_indexes_are_parsed_and_formatted(text, indexes):
    assert parse_indexes(text) == indexes
    assert parse_indexes(indexes_text(indexes)) == indexes


# --------------------------------------------------------------------------------- laws


@effort(40)
@given(data=st.data())
def test_a_job_completes_exactly_whatever_happens_to_its_pods(data):
    completions = data.draw(st.integers(1, 4))
    cluster = cluster_with(
        a_job(
            completions=completions,
            parallelism=data.draw(st.integers(1, 4)),
            backoffLimit=1_000,
            completionMode=data.draw(st.sampled_from(["Indexed", "NonIndexed"])),
        )
    )
    for _ in range(data.draw(st.integers(0, 12))):
        running = [pod for pod in cluster.pods() if pod.status.phase == "Running"]
        what = data.draw(st.sampled_from(["succeed", "fail", "delete", "wait", "restore"]))
        if what == "wait" or not running:
            cluster.run(cluster.now + data.draw(st.sampled_from([0, 1, 30])))
        elif what == "restore":
            cluster.replace_controllers()
        else:
            pod = running[data.draw(st.integers(0, len(running) - 1))]
            if what == "delete":
                cluster.delete(POD, pod.key)
            else:
                end(cluster, pod, "Succeeded" if what == "succeed" else "Failed")
        status = cluster.status(JOB, "default/j")
        assert status.get("active", 0) <= 4
    for _ in range(completions + 1):
        for pod in cluster.pods():
            if pod.status.phase == "Running":
                end(cluster, pod, "Succeeded")
        cluster.run(cluster.now + 700)
    assert conditions(cluster)[-1] == ("Complete", "CompletionsReached")
    done = [pod for pod in cluster.pods() if pod.status.phase == "Succeeded"]
    assert len(done) == completions == cluster.status(JOB, "default/j")["succeeded"]
    assert not [pod for pod in cluster.pods() if pod.metadata.finalizers]
    failed = cluster.status(JOB, "default/j").get("failed", 0)
    assert len(created(cluster)) == completions + failed


_DISRUPTED = {
    "rules": [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
}


@pytest.mark.parametrize(
    ("fields", "is_replaced_at_once"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"podReplacementPolicy": "TerminatingOrFailed"}, True, id="at once"),
        pytest.param({"podReplacementPolicy": "Failed"}, False, id="when it has failed"),
        pytest.param({"podFailurePolicy": _DISRUPTED}, False, id="a failure policy"),
    ],
)
def test_the_replacement_policy_decides_when_a_terminating_pod_is_replaced(
    fields, is_replaced_at_once
):
    cluster = cluster_with(a_job(completions=5, parallelism=3, **fields), stages=())
    first, *_ = cluster.pods()
    cluster.delete(POD, first.key)
    cluster.run(11)  # the backoff is over
    assert len(cluster.pods()) == 3 + is_replaced_at_once
    status = cluster.status(JOB, "default/j")
    assert (status["active"], status["terminating"]) == (2 + is_replaced_at_once, 1)
    assert status.get("failed", 0) == is_replaced_at_once
    end(cluster, first, "Failed", 1)
    cluster.run(40)
    status = cluster.status(JOB, "default/j")
    assert (status["active"], status["terminating"], status["failed"]) == (3, 0, 1)
    assert len(cluster.pods()) == 4


def test_a_finished_job_waits_for_its_terminating_pods():
    cluster = cluster_with(a_job(completions=1, parallelism=1, backoffLimit=0), stages=())
    (first,) = cluster.pods()
    end(cluster, first, "Failed", 1)
    cluster.run(2)
    assert conditions(cluster)[-1] == ("Failed", "BackoffLimitExceeded")
    cluster = cluster_with(a_job(completions=2, parallelism=2, backoffLimit=0), stages=())
    first, second = cluster.pods()
    end(cluster, first, "Failed", 1)
    cluster.run(2)
    assert conditions(cluster) == [("FailureTarget", "BackoffLimitExceeded")]
    status = cluster.status(JOB, "default/j")
    assert (status["terminating"], status.get("active")) == (1, None)
    end(cluster, second, "Failed", 137)
    cluster.run(5)
    assert conditions(cluster)[-1] == ("Failed", "BackoffLimitExceeded")
    assert cluster.status(JOB, "default/j")["terminating"] == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("7", 7),
        (str(2**31 - 1), 2**31 - 1),
        (str(2**31), 0),
        ("-1", 0),
        ("x", 0),
        ("1x", 0),
        ("\u0663", 0),
        ("9" * 5_000, 0),
    ],
)
def test_the_failures_of_an_index_are_a_number_of_32_bits(text, count):
    pod = document("Pod", "p", metadata={"annotations": {FAILURES: text, IGNORED_FAILURES: "3"}})
    assert failures_of(pod) == (count, 3)


def test_a_job_that_completes_while_it_is_suspended_is_not_suspended_anymore():
    cluster = cluster_with(a_job(parallelism=1, completions=1))
    (pod,) = cluster.pods()
    end(cluster, pod, "Succeeded")
    cluster.edit(JOB, "default/j", "spec", suspend=True)
    cluster.run(5)
    assert [kind for kind, _ in conditions(cluster)] == ["SuccessCriteriaMet", "Complete"]
    assert "startTime" in cluster.status(JOB, "default/j")
    assert cluster.event_notes("Suspended") == []


def test_a_job_that_is_being_deleted_holds_no_pod():
    cluster = cluster_with(a_job(parallelism=2, completions=2))
    assert all(TRACKING in pod.metadata.finalizers for pod in cluster.pods())
    cluster.delete(JOB, "default/j", propagation="Foreground")
    cluster.run(5)
    assert len(cluster.pods()) == 2
    assert not any(pod.metadata.finalizers for pod in cluster.pods())
