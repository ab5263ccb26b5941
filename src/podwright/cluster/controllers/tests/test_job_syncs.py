"""What the controller of jobs requests in one sync, by upstream's rules, in tables.

Upstream: pkg/controller/job/job_controller.go
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from podwright.cluster.api import UpdateObject, with_generated_selector
from podwright.cluster.controllers.batch import job
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, at, document

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
TRACKING = "batch.kubernetes.io/job-tracking"
LABELS = {"job": "j"}
OWNER = {
    "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "ju", "controller": True,
}  # fmt: skip


def a_job(status: Any = None, *, gone: bool = False, uid: str = "ju", **spec: Any) -> Any:
    metadata: dict[str, Any] = {"uid": uid, "generation": 1}
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if gone else {}
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
    }
    spec = {
        "selector": {"matchLabels": LABELS}, "template": template, "backoffLimit": 6,
        "manualSelector": True, **spec,
    }  # fmt: skip
    made = document(
        "Job", "j", api="batch/v1", namespace="shop", metadata=metadata, spec=spec,
        status=status or {},
    )  # fmt: skip
    return with_generated_selector(made)


def pods(text: str) -> list[Any]:
    """Return the pods of a text such as `a:Failed/gone/#2/f1/t5`: an index, failures, its end.

    Other marks: `free` (without the finalizer), `alien` (other labels), `orphan`, `lost` (of a job
    that is gone).
    """
    return [_pod(each) for each in text.split()]


def _pod(text: str) -> Any:
    name, _, rest = text.partition(":")
    phase, *marks = rest.split("/")
    numbers = {each[0]: each[1:] for each in marks if each[1:].isdecimal()}
    annotations = {INDEX: numbers["#"]} if "#" in numbers else {}
    annotations |= {FAILURES: numbers["f"]} if "f" in numbers else {}
    owner = OWNER | ({"uid": "lost"} if "lost" in marks else {})
    metadata: dict[str, Any] = {
        "uid": f"{name}-uid", "annotations": annotations, "creationTimestamp": at(-60),
        "labels": {"job": "x"} if "alien" in marks else LABELS,
        "finalizers": [] if "free" in marks else ["other", TRACKING],
        "ownerReferences": [] if "orphan" in marks else [owner],
    }  # fmt: skip
    metadata |= {"deletionTimestamp": at(0)} if "gone" in marks else {}
    status: dict[str, Any] = {"phase": phase or "Pending"}
    if phase in ("Failed", "Succeeded"):
        ended = {"exitCode": 1, "finishedAt": at(-int(numbers.get("t", "30")))}
        status["containerStatuses"] = [{"name": "c", "state": {"terminated": ended}}]
    return document("Pod", name, namespace="shop", metadata=metadata, status=status)


def brief(request: str) -> str:
    """Return a request in a few words: `+` for a pod, `-a`, `free a`, or `status` with numbers."""
    if request.startswith("create "):
        made = json.loads(request.removeprefix("create "))
        return f"+{made['metadata'].get('annotations', {}).get(INDEX, '')}"
    if found := re.fullmatch(
        r"delete Pod shop/(\w+); Normal Job shop/j .* Deleted pod: \1", request
    ):
        return f"-{found[1]}"
    if found := re.fullmatch(
        r'update Pod shop/(\w+) \w+: metadata.finalizers=\["other"\]', request
    ):
        return f"free {found[1]}"
    if request.startswith("update Job shop/j status: "):
        fields = dict(re.findall(r"status\.(\w+)=(\S+)", request))
        return "status " + " ".join(
            f"{name}={fields[name]}" for name in ("active", "failed", "succeeded") if name in fields
        )
    return request.replace("sync shop/j at", "sync at")


def synced(job: Any, *objects: Any, seconds: float = 0) -> list[str]:
    bench = SingleSync(JobController, job, *objects)
    return [brief(each) for each in bench.sync("shop/j", seconds)]


def created(job: Any, with_pods: str) -> str:
    return " ".join(each for each in synced(job, *pods(with_pods)) if each.startswith("+"))


INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 4, "parallelism": 3}
BY_INDEX = INDEXED | {"backoffLimitPerIndex": 3}
ONLY_FAILED = {"podReplacementPolicy": "Failed"}
STARTED = {"startTime": at(-60)}


@pytest.mark.parametrize(
    ("spec", "with_pods", "expected"),
    [
        pytest.param({"completions": 3, "parallelism": 2}, "", "+ +", id="as parallel"),
        pytest.param({"completions": 3, "parallelism": 2}, "a:Running", "+", id="one more"),
        pytest.param({"completions": 3, "parallelism": 2}, "a:Running b:", "", id="no more"),
        pytest.param({"parallelism": 2}, "", "+ +", id="a queue"),
        pytest.param(INDEXED, "", "+0 +1 +2", id="the first indexes"),
        pytest.param(INDEXED, "a:Running/#1", "+0 +2", id="those that do not run"),
        pytest.param(INDEXED, "a:Running/#0 b:Running/#1 c:Running/#2", "", id="all that may run"),
        pytest.param(INDEXED | {"parallelism": 9}, "a:Succeeded/#2", "+0 +1 +3", id="not ended"),
        pytest.param(INDEXED | {"parallelism": 9}, "a:Running/#7", "",
                     id="one of no index goes first"),
        pytest.param(INDEXED | {"parallelism": 9}, "a:Running/gone/#2", "",
                     id="a terminating one is a failure"),
        pytest.param(INDEXED | ONLY_FAILED | {"parallelism": 9}, "a:Running/gone/#2", "+0 +1 +3",
                     id="it is replaced when it has ended"),
        pytest.param(INDEXED, "a:Failed/#1/t9", "", id="a failure delays all"),
        pytest.param(INDEXED, "a:Failed/#1/t10", "+0 +1 +2", id="for ten seconds"),
        pytest.param(BY_INDEX, "a:Failed/#1/t9", "+0 +2", id="or its own index"),
        pytest.param(BY_INDEX, "a:Failed/#1/t10", "+0 +1 +2", id="for ten seconds, too"),
        pytest.param(BY_INDEX, "a:Failed/#1/f1/t19", "+0 +2", id="twenty for the second"),
        pytest.param(BY_INDEX | {"parallelism": 9}, "a:Failed/#1/f3", "+0 +2 +3",
                     id="after its last retry never"),
        pytest.param({"completions": 3, "suspend": True}, "", "", id="suspended"),
        pytest.param({"completions": 3, "managedBy": "x.io/other"}, "", "", id="another's"),
        pytest.param({"completions": 1, "managedBy": "kubernetes.io/job-controller"}, "", "+",
                     id="its own by name"),
    ],
)  # fmt: skip
def test_which_pods_a_job_creates(spec, with_pods, expected) -> None:
    assert created(a_job(STARTED, **spec), with_pods) == expected


@pytest.mark.parametrize(
    ("with_pods", "job", "expected"),
    [
        pytest.param("a:Succeeded", a_job(STARTED, completions=2), "free a", id="a success"),
        pytest.param("a:Failed", a_job(STARTED, completions=2), "free a", id="a failure"),
        pytest.param("a:Running", a_job(STARTED, completions=2), "", id="one that runs"),
        pytest.param("a:Running/alien", a_job(STARTED, completions=2),
                     "update Pod shop/a", id="of other labels"),
        pytest.param("a:Running b:Succeeded c:Failed/free", a_job({"conditions": [
            {"type": "Complete", "status": "True"}]}), "free a free b", id="of a finished job"),
        pytest.param("b:Running/alien/gone c:Running/alien a:Running",
                     a_job({"conditions": [{"type": "Complete", "status": "True"}]}),
                     "free a free b", id="of other labels, of a finished job, if it is deleted"),
        pytest.param("b:Failed a:Failed", a_job(STARTED, completions=2), "free a free b",
                     id="by their names"),
        pytest.param("a:Running/lost", a_job(STARTED), "free a", id="of an earlier job"),
    ],
)  # fmt: skip
def test_which_pods_lose_their_finalizer(with_pods, job, expected) -> None:
    found = [each.split(" main")[0].split(" whole")[0] for each in synced(job, *pods(with_pods))]
    kept = [each for each in found if each.startswith(("free", "update Pod"))]
    assert " ".join(kept) == expected


@pytest.mark.parametrize(
    ("job", "with_pod", "keys"),
    [
        pytest.param(True, "a:Running", ["shop/j"], id="of the job"),
        pytest.param(True, "a:Running/free", ["shop/j"], id="of the job, not tracked"),
        pytest.param(True, "a:Running/lost", ["shop/j"], id="of an earlier job"),
        pytest.param(True, "a:Running/lost/free", [], id="of an earlier job, not tracked"),
        pytest.param(False, "a:Running", ["shop/j"], id="of no job"),
        pytest.param(False, "a:Running/free", [], id="of no job, not tracked"),
        pytest.param(True, "a:Running/orphan", ["shop/j"], id="an orphan"),
        pytest.param(True, "a:Running/orphan/free", ["shop/j"], id="an orphan, not tracked"),
        pytest.param(True, "a:Running/orphan/gone", ["shop/j", "shop/a"], id="that is deleted"),
        pytest.param(False, "a:Running/orphan", ["shop/a"], id="an orphan without a job"),
        pytest.param(True, "a:Running/orphan/alien", ["shop/a"], id="an orphan of other labels"),
    ],
)  # fmt: skip
def test_which_keys_a_pod_concerns(job, with_pod, keys) -> None:
    bench = SingleSync(JobController, *([a_job()] if job else []))
    assert bench.put(*pods(with_pod)) == keys
    # A removed pod of an earlier job, or of none, leads to no sync.
    removed = keys if job and "lost" not in with_pod and "orphan" not in with_pod else []
    assert bench.remove(*pods(with_pod)) == removed


FINISHED: Any = {"conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.parametrize(
    ("job", "adopts"),
    [
        pytest.param(a_job(STARTED, completions=2), True, id="a job that runs"),
        pytest.param(a_job(STARTED, gone=True, completions=2), False, id="that is deleted"),
        pytest.param(a_job(FINISHED, completions=2), False, id="that has finished"),
    ],
)
def test_which_jobs_adopt_an_orphan(job, adopts) -> None:
    """Upstream: job_controller.go, getPodsForJob and handleSingleOrphanPod"""
    bench = SingleSync(JobController, job)
    (orphan,) = pods("a:Running/orphan")
    assert bench.put(orphan) == (["shop/j"] if adopts else ["shop/j", "shop/a"])
    requests = bench.sync("shop/j")
    adoptions = [each for each in requests if "metadata.ownerReferences=" in each]
    assert bool(adoptions) == adopts
    if adopts:
        assert requests == adoptions, "the rest has to wait for it"
        bench.put(*pods("a:Running"))
        assert [brief(each) for each in bench.sync("shop/j")] == ["status active=1"], "at once"


def test_a_job_that_was_removed_adopts_no_orphan() -> None:
    job, (orphan,) = a_job(), pods("a:Running/orphan")
    bench = SingleSync(JobController, job)
    bench.remove(job)
    assert bench.put(orphan) == ["shop/a"]


def test_a_deleted_job_creates_no_pod_and_counts_those_that_end() -> None:
    found = synced(a_job(STARTED, gone=True, completions=3, parallelism=2), *pods("a:Running"))
    assert not any(each.startswith("+") for each in found)
    found = synced(a_job(STARTED, gone=True, completions=3, parallelism=2), *pods("a:Failed"))
    assert found == ["free a", "status failed=1"]


def test_pods_of_other_labels_are_released_and_do_not_count() -> None:
    found = synced(a_job(STARTED, completions=3, parallelism=2), *pods("a:Running/alien b:Running"))
    assert found[1:] == ["+", "status active=2"]


@pytest.mark.parametrize(
    ("known", "with_pods", "expected"),
    [
        pytest.param({"failed": ["a-uid"]}, "a:Failed/free", "failed=3", id="and is free"),
        pytest.param({"failed": ["a-uid"]}, "a:Failed", "failed=3", id="and has the finalizer"),
        pytest.param({"failed": ["x-uid"]}, "a:Failed", "failed=4", id="another one, too"),
        pytest.param({"succeeded": ["a-uid"]}, "a:Succeeded", "succeeded=2", id="as a success"),
    ],
)
def test_a_pod_whose_end_is_known_but_not_counted_counts_once(known, with_pods, expected) -> None:
    """Upstream: job_controller.go, trackJobStatusAndRemoveFinalizers"""
    status = STARTED | {"failed": 2, "succeeded": 1, "uncountedTerminatedPods": known}
    *_, update = synced(a_job(status, completions=9, parallelism=0), *pods(with_pods))
    assert expected in update.split()


@pytest.mark.parametrize(
    ("known", "with_pods", "left", "counts"),
    [
        pytest.param({"failed": ["a-uid"]}, "a:Running b:Failed", {"failed": ["a-uid"]},
                     (3, 1), id="one that runs again"),
        pytest.param({"failed": ["a-uid", "b-uid", "x-uid"], "succeeded": ["c-uid", "d-uid"]},
                     "a:Running b:Failed/free c:Running d:Succeeded",
                     {"failed": ["a-uid"], "succeeded": ["c-uid"]}, (4, 2), id="some of several"),
        pytest.param({"failed": ["x-uid"]}, "a:Running", {}, (3, 1), id="another one"),
        pytest.param({}, "a:Running b:Failed", {}, (3, 1), id="none"),
    ],
)  # fmt: skip
def test_an_end_that_is_known_stays_so_while_its_pod_keeps_the_finalizer(
    known, with_pods, left, counts
) -> None:
    status = STARTED | {"failed": 2, "succeeded": 1, "uncountedTerminatedPods": known}
    bench = SingleSync(JobController, a_job(status, completions=9, parallelism=4), *pods(with_pods))
    (update,) = [
        each.obj.raw["status"]
        for each in bench.controller.sync("shop/j", NOW)
        if isinstance(each, UpdateObject) and each.obj.kind == "Job"
    ]
    assert update["uncountedTerminatedPods"] == left
    assert (update["failed"], update["succeeded"]) == counts


@pytest.mark.parametrize(
    ("spec", "removed"),
    [
        pytest.param({"parallelism": 0}, ["a", "b"], id="a smaller parallelism"),
        pytest.param({"suspend": True}, ["a", "b", "c"], id="suspended"),
    ],
)
def test_only_a_suspended_job_removes_all_its_pods_in_one_sync(monkeypatch, spec, removed) -> None:
    monkeypatch.setattr(job, "PODS_PER_SYNC_MAX", 2)
    found = synced(a_job(STARTED, completions=3, **spec), *pods("a b c"))
    assert [each[1:] for each in found if each.startswith("-")] == removed


@pytest.mark.parametrize(
    ("status", "suspend", "expected"),
    [
        pytest.param({}, False, None, id="never suspended"),
        pytest.param({}, True, ("Suspended", "True", "JobSuspended", None), id="suspended"),
        pytest.param({"conditions": [{"type": "Suspended", "status": "True",
                     "reason": "JobSuspended", "message": "Job suspended"}]}, False,
                     ("Resumed", "False", "JobResumed", at(5)), id="resumed"),
        pytest.param({"startTime": at(-60)}, True, ("Suspended", "True", "JobSuspended", None),
                     id="suspended while it runs"),
    ],
)  # fmt: skip
def test_a_suspended_job_has_no_start(status, suspend, expected) -> None:
    bench = SingleSync(JobController, a_job(status, suspend=suspend, completions=1))
    found = bench.sync("shop/j", 5)
    events = [each for each in found if "Normal Job shop/j" in each]
    updates = [each for each in found if each.startswith("update Job shop/j status: ")]
    if expected is None:
        assert events == []
        assert f'startTime="{at(5)}"' in updates[0]
        return
    verb, state, reason, start = expected
    assert events == [f"Normal Job shop/j {verb} by job-controller: Job {verb.lower()}"]
    condition = {
        "type": "Suspended", "status": state, "lastProbeTime": at(5), "lastTransitionTime": at(5),
        "reason": reason, "message": f"Job {verb.lower()}",
    }  # fmt: skip
    assert f"status.conditions={json.dumps([condition])}" in updates[0]
    if start is None:
        assert ("-status.startTime" in updates[0]) == ("startTime" in status)
        assert "status.startTime=" not in updates[0]
    else:
        assert f'status.startTime="{start}"' in updates[0]


def test_a_job_is_synced_at_once_when_it_changes_and_in_batches_for_its_pods() -> None:
    bench = SingleSync(JobController, a_job(STARTED, completions=2))
    assert [brief(each) for each in bench.sync("shop/j")][:1] == ["+"]
    bench.put(*pods("a:Running"))
    created_pod = "Normal Job shop/j SuccessfulCreate by job-controller: Created pod: a"
    assert [brief(each) for each in bench.sync("shop/j", 10)] == [created_pod, "sync at 11"]
    assert bench.sync("shop/j", 10.5) == []
    assert bench.sync("shop/j", 11) != []


def test_which_changes_of_a_job_concern_it() -> None:
    bench = SingleSync(JobController)
    assert bench.put(a_job()) == ["shop/j"]
    assert bench.put(a_job({"active": 1})) == []
    assert bench.put(a_job(gone=True)) == ["shop/j"]
    assert bench.put(a_job({"active": 1}, gone=True)) == []
    assert bench.remove(a_job(gone=True)) == ["shop/j"]
    bench.controller.sync("shop/j", 0)
    state = bench.controller.state()["memory"]
    assert not any(state.values()), "nothing is left of it"


@pytest.mark.parametrize(
    ("parallelism", "with_pods", "expected"),
    [
        pytest.param(2, "a:Running b:Failed/t9", "failed=1", id="it waits"),
        pytest.param(1, "a:Running b:Failed/t9", "active=1 failed=1", id="for no other pod"),
        pytest.param(2, "a:Running b:Failed/t10", "active=2 failed=1", id="it waits no more"),
    ],
)
def test_a_job_that_waits_for_its_next_pod_has_no_active_one(
    parallelism, with_pods, expected
) -> None:
    """Upstream: job_controller.go, manageJob"""
    job = a_job(STARTED, completions=9, parallelism=parallelism)
    statuses = [each for each in synced(job, *pods(with_pods)) if each.startswith("status")]
    assert statuses == [f"status {expected}"]


def test_a_pod_that_has_another_owner_by_now_keeps_its_finalizer() -> None:
    bench = SingleSync(JobController)
    bench.put(_pod("a:Failed/orphan"))
    bench.put(_pod("a:Failed/lost"))
    assert [each for each in bench.sync("shop/a") if each.startswith("update")] == []


def test_a_created_pod_is_reported_once() -> None:
    bench = SingleSync(JobController, a_job(STARTED, completions=2, parallelism=2))
    bench.sync("shop/j")
    for text in ("a", "a:Running", "b"):
        bench.put(*pods(text))
    event = "Normal Job shop/j SuccessfulCreate by job-controller: Created pod:"
    found = [each for each in bench.sync("shop/j") if each.startswith("Normal")]
    assert found == [f"{event} a", f"{event} b"]


def test_as_many_pods_as_a_sync_creates_at_most_are_followed_by_another_sync(monkeypatch) -> None:
    monkeypatch.setattr(job, "PODS_PER_SYNC_MAX", 2)
    found = synced(a_job(STARTED, completions=3, parallelism=3))
    assert found == ["+", "+", "sync at 1", "status active=2"]
    assert "sync at 1" not in synced(a_job(STARTED, completions=1, parallelism=3))


@pytest.mark.parametrize(
    ("succeeded", "spec", "events"),
    [
        pytest.param(1, {"completions": 1}, ["Completed"], id="as many as requested"),
        pytest.param(2, {"completions": 1}, ["TooManySucceededPods", "Completed"], id="one more"),
        pytest.param(0, {"completions": 0}, ["Completed"], id="none is requested"),
    ],
)
def test_a_complete_job_reports_pods_that_succeeded_beyond_its_completions(
    succeeded, spec, events
) -> None:
    status = STARTED | {"succeeded": succeeded, "uncountedTerminatedPods": {}}
    found = SingleSync(JobController, a_job(status, parallelism=2, **spec)).sync("shop/j")
    assert found[:-1] == [
        {
            "TooManySucceededPods": "Warning Job shop/j TooManySucceededPods by job-controller:"
            " Too many succeeded pods running after completion count reached",
            "Completed": "Normal Job shop/j Completed by job-controller: Job completed",
        }[each]
        for each in events
    ]
    assert found[-1].startswith("update Job shop/j status: ")


def test_a_job_without_a_selector_gets_the_generated_one_first() -> None:
    plain = a_job().raw
    spec = {name: each for name, each in plain["spec"].items() if name != "manualSelector"}
    del spec["selector"]
    job = document("Job", "j", api="batch/v1", namespace="shop", metadata=plain["metadata"],
                   spec=spec)  # fmt: skip
    (update,) = SingleSync(JobController, job).sync("shop/j")
    assert update.startswith("update Job shop/j whole: ")
    assert 'spec.selector.matchLabels.batch.kubernetes.io/controller-uid="ju"' in update
