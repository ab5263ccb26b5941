"""Cron jobs create their jobs on time, and schedules are parsed as upstream parses them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import parse_schedule, time_zone
from podwright.apimachinery.objects.texts.times import timestamp_ns, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.batch.cron_job import (
    CronJobController,
    JobTTLController,
    most_recent_due,
)
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.kinds import CRON_JOB, JOB
from podwright.cluster.controllers.tests.staged_cluster import NOW, Cluster, at, document
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY

MINUTE = 60
FIRST = NOW // 60_000_000_000


def a_cron_job(name: str = "c", *, seconds: int = 20, exit_code: int = 0, **spec: Any) -> Any:
    annotations = {RUN_DELAY: f"{seconds}s", EXIT_CODE: str(exit_code)}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]},
    }
    job = {"spec": {"template": template, "backoffLimit": 0}}
    spec = {"schedule": "* * * * *", "jobTemplate": job} | spec
    return document("CronJob", name, api="batch/v1", namespace="default", spec=spec)


def a_job_of(cron_job: Any, name: str) -> Any:
    """Return a job as `kubectl create job --from` makes it."""
    template = a_cron_job(seconds=600).raw["spec"]["jobTemplate"]["spec"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": cron_job.name}
    owner |= {"uid": cron_job.uid, "controller": True}
    metadata = {"ownerReferences": [owner]}
    return document(
        "Job", name, api="batch/v1", namespace="default", metadata=metadata, spec=template
    )


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster((CronJobController, JobController))
    cluster.add(document("Node", "n1"))
    cluster.run(30)  # not on a minute
    cluster.add(*objects)
    return cluster


def jobs(cluster: Cluster) -> list[str]:
    return [obj.name for obj in cluster.creations if obj.kind == "Job"]


def test_a_cron_job_creates_a_job_every_minute_and_keeps_the_last_ones():
    cluster = cluster_with(a_cron_job(successfulJobsHistoryLimit=2))
    cluster.run(59)
    assert jobs(cluster) == []
    cluster.run(61)
    name = f"c-{FIRST + 1}"
    job = cluster.raw(JOB, f"default/{name}")
    annotation = {"batch.kubernetes.io/cronjob-scheduled-timestamp": at(MINUTE)}
    assert job["metadata"]["annotations"] == annotation
    assert job["metadata"]["creationTimestamp"] == at(MINUTE)
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "c", True)
    status = cluster.status(CRON_JOB, "default/c")
    assert status["lastScheduleTime"] == at(MINUTE)
    assert [entry["name"] for entry in status["active"]] == [name]
    cluster.run(5 * MINUTE + 30)
    assert jobs(cluster) == [f"c-{FIRST + n}" for n in range(1, 6)]
    assert [job.name for job in cluster.all(JOB)] == [f"c-{FIRST + 4}", f"c-{FIRST + 5}"]
    status = cluster.status(CRON_JOB, "default/c")
    assert status["lastSuccessfulTime"] == at(5 * MINUTE + 21)
    assert "active" not in status
    assert cluster.event_notes("SuccessfulCreate")[0] == f"Created job {name}"
    assert f"Saw completed job: {name}, condition: Complete" in cluster.event_notes(
        "SawCompletedJob"
    )
    assert cluster.event_notes("SuccessfulDelete") == [
        f"Deleted job c-{FIRST + n}" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("policy", "started", "running"),
    [("Allow", [1, 2, 3], 2), ("Forbid", [1, 2], 1), ("Replace", [1, 2, 3], 1)],
)
def test_the_concurrency_policy_decides_about_a_running_job(policy, started, running):
    # A job that the policy delayed is created when the running one finishes.
    cluster = cluster_with(a_cron_job(seconds=90, concurrencyPolicy=policy))
    cluster.run(3 * MINUTE + 5)
    assert jobs(cluster) == [f"c-{FIRST + n}" for n in started]
    assert len(cluster.status(CRON_JOB, "default/c")["active"]) == running
    said = cluster.event_notes("JobAlreadyActive")
    assert bool(said) == (policy == "Forbid")


def test_a_job_that_somebody_else_created_is_reported_and_does_not_count():
    cluster = cluster_with(a_cron_job(concurrencyPolicy="Forbid"))
    made = a_job_of(cluster.get(CRON_JOB, "default/c"), "by-hand")
    cluster.add(made)
    cluster.run(MINUTE + 5)
    note = "Saw a job that the controller did not create or forgot: by-hand"
    assert set(cluster.event_notes("UnexpectedJob")) == {note}
    assert jobs(cluster) == ["by-hand", f"c-{FIRST + 1}"]
    active = cluster.status(CRON_JOB, "default/c")["active"]
    assert [entry["name"] for entry in active] == [f"c-{FIRST + 1}"]
    assert cluster.event_notes("JobAlreadyActive") == []


def test_a_resumed_cron_job_creates_one_job():
    cluster = cluster_with(a_cron_job(suspend=True))
    cluster.run(5 * MINUTE + 10)
    assert jobs(cluster) == []
    cluster.edit(CRON_JOB, "default/c", "spec", suspend=False)
    cluster.run(5 * MINUTE + 40)
    assert jobs(cluster) == [f"c-{FIRST + 5}"]


def test_a_job_is_not_started_after_its_deadline():
    cluster = cluster_with(a_cron_job(suspend=True, startingDeadlineSeconds=20))
    cluster.run(5 * MINUTE + 30)
    cluster.edit(CRON_JOB, "default/c", "spec", suspend=False)
    cluster.run(5 * MINUTE + 40)
    assert jobs(cluster) == []


def test_failed_jobs_are_kept_by_their_own_limit():
    cluster = cluster_with(a_cron_job(seconds=1, exit_code=1))
    cluster.run(4 * MINUTE + 30)
    assert [job.name for job in cluster.all(JOB)] == [f"c-{FIRST + 4}"]
    assert "lastSuccessfulTime" not in cluster.status(CRON_JOB, "default/c")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"schedule": "every minute"}, "UnparseableSchedule"),
        ({"timeZone": "Mars/Olympus"}, "UnknownTimeZone"),
    ],
)
def test_an_invalid_schedule_or_zone_is_reported_and_creates_no_job(fields, reason):
    cluster = cluster_with(a_cron_job(**fields))
    cluster.run(5 * MINUTE)
    assert jobs(cluster) == []
    assert len(cluster.event_notes(reason)) == 1


# ---------------------------------------------------------------------------- schedules


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("* * * * *", "2026-01-01T00:00:59Z", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:50:00Z", "2026-01-01T01:00:00Z"),
        ("5/20 * * * *", "2026-01-01T00:26:00Z", "2026-01-01T00:45:00Z"),
        ("0 9-17/4 * * *", "2026-01-01T10:00:00Z", "2026-01-01T13:00:00Z"),
        ("0 0 29 feb *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 13 * fri", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("0 0 13 * *", "2026-01-01T00:00:00Z", "2026-01-13T00:00:00Z"),
        ("0 0 * * MON-WED", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"),
        ("0 0 ? * 0", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("@hourly", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z"),
        ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@every 90s", "2026-01-01T00:00:10Z", "2026-01-01T00:01:40Z"),
        ("0 0 31 2 *", "2026-01-01T00:00:00Z", None),
    ],
)
def test_a_schedule_returns_the_next_time(schedule, after, due):
    next_ns = parse_schedule(schedule).next_ns(timestamp_ns(after) or 0)
    assert (None if next_ns is None else timestamp_text(next_ns)) == due


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("0 2 * * *", "2026-06-01T00:30:00Z", "2026-06-02T00:00:00Z"),
        pytest.param(
            "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z", id="a skipped hour"
        ),
        pytest.param(
            "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", id="a repeated hour"
        ),
    ],
)
def test_a_schedule_uses_the_local_time_of_its_zone(schedule, after, due):
    zone = time_zone("Europe/Berlin")
    next_ns = parse_schedule(schedule).next_ns(timestamp_ns(after) or 0, zone)
    assert next_ns is not None
    assert timestamp_text(next_ns) == due


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ("* * * *", "expected exactly 5 fields"),
        ("60 * * * *", r"end of range \(60\) above maximum \(59\): 60"),
        ("* 24 * * *", r"end of range \(24\) above maximum \(23\): 24"),
        ("* * 0 * *", r"beginning of range \(0\) below minimum \(1\): 0"),
        (
            "* * * foo *",
            r"failed to parse int from foo: strconv.Atoi: parsing .foo.: invalid syntax",
        ),
        ("* * * * 7", r"end of range \(7\) above maximum \(6\): 7"),
        ("*/0 * * * *", "step of range should be a positive number"),
        ("5-1 * * * *", r"beginning of range \(5\) beyond end of range \(1\): 5-1"),
        ("1-2-3 * * * *", "too many hyphens"),
        ("*/2/2 * * * *", "too many slashes"),
        ("@sometimes", "descriptor"),
        ("@every soon", "duration"),
    ],
)
def test_an_invalid_schedule_is_rejected(schedule, says):
    with pytest.raises(ValueError, match=says):
        parse_schedule(schedule)


@given(
    st.sampled_from(["*/7 * * * *", "3 */5 * * *", "0 12 1,15 * *", "30 6 * * 1-5", "15 2 * * *"]),
    st.integers(1_700_000_000, 1_800_000_000),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]),
)
def test_the_next_time_is_the_first_matching_minute_of_local_time(schedule, after, zone):
    """Return the next time by checking each minute."""
    parsed = parse_schedule(schedule)
    moment = datetime.fromtimestamp(after // 60 * 60, tz=UTC)
    for _ in range(3 * 24 * 60):
        moment += timedelta(minutes=1)
        wall = moment.astimezone(ZoneInfo(zone))
        if (
            wall.minute in parsed.minutes
            and wall.hour in parsed.hours
            and wall.day in parsed.days
            and wall.isoweekday() % 7 in parsed.weekdays
        ):
            break
    else:
        return
    expected = int(moment.timestamp()) * 1_000_000_000
    assert parsed.next_ns(after * 1_000_000_000, time_zone(zone)) == expected


def test_many_missed_times_are_counted_and_the_latest_is_due():
    missed = most_recent_due(parse_schedule("* * * * *"), NOW, NOW + 3_600 * 10**9 + 5, UTC)
    assert (missed.due_ns, missed.count) == (NOW + 3_600 * 10**9, 60)


def finished(cron_job: Any, name: str, started: int, outcome: str = "Complete") -> Any:
    """Return a finished job; `Failed` has no completion time."""
    made = a_job_of(cron_job, name).raw
    status = {"startTime": at(started), "conditions": [{"type": outcome, "status": "True"}]}
    if outcome == "Complete":
        status["completionTime"] = at(started + 5)
    return decode({**made, "status": status})


def test_the_oldest_of_several_finished_jobs_are_deleted_by_their_outcome():
    cluster = Cluster((CronJobController,), stages=())
    cluster.add(a_cron_job(suspend=True, successfulJobsHistoryLimit=9, failedJobsHistoryLimit=9))
    cron_job = cluster.get(CRON_JOB, "default/c")
    # Neither the order of names nor that of creation is the order of their starts.
    for name, started in (("b", 40), ("a", 20), ("d", 10), ("c", 30)):
        for outcome, prefix in (("Complete", "ok"), ("Failed", "bad")):
            cluster.store.put(finished(cron_job, f"{prefix}-{name}", started, outcome))
    cluster.settle()
    assert cluster.status(CRON_JOB, "default/c")["lastSuccessfulTime"] == at(45)
    assert len(cluster.all(JOB)) == 8
    cluster.edit(
        CRON_JOB, "default/c", "spec", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=3
    )
    assert [job.name for job in cluster.all(JOB)] == ["bad-a", "bad-b", "bad-c", "ok-b"]
    assert cluster.event_notes("SuccessfulDelete") == [
        f"Deleted job {name}" for name in ("ok-d", "ok-a", "ok-c", "bad-d")
    ]
    cluster.edit(
        CRON_JOB, "default/c", "spec", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0
    )
    assert cluster.all(JOB) == []


def test_the_last_success_is_the_latest_completion():
    cluster = Cluster((CronJobController,), stages=())
    cluster.add(a_cron_job(suspend=True))
    cron_job = cluster.get(CRON_JOB, "default/c")
    long = finished(cron_job, "long", 10).raw
    long["status"]["completionTime"] = at(90)
    for job in (decode(long), finished(cron_job, "short", 20)):
        cluster.store.put(job)
    cluster.settle()
    assert cluster.status(CRON_JOB, "default/c")["lastSuccessfulTime"] == at(90)


def test_a_finished_job_that_terminates_is_not_deleted_again():
    cluster = Cluster((CronJobController,), stages=())
    cluster.add(a_cron_job(suspend=True, successfulJobsHistoryLimit=0))
    cron_job = cluster.get(CRON_JOB, "default/c")
    job = finished(cron_job, "held", 10).raw
    job["metadata"] |= {"deletionTimestamp": at(20), "finalizers": ["example.com/hold"]}
    cluster.store.put(decode(job))
    cluster.settle()
    assert cluster.event_notes("SuccessfulDelete") == []


def test_all_running_jobs_are_replaced():
    cluster = cluster_with(a_cron_job(seconds=600))
    cluster.run(2 * MINUTE + 1)
    assert len(cluster.all(JOB)) == 2
    cluster.edit(CRON_JOB, "default/c", "spec", concurrencyPolicy="Replace")
    cluster.run(3 * MINUTE + 1)
    (active,) = cluster.status(CRON_JOB, "default/c")["active"]
    assert active["name"] == f"c-{FIRST + 3}"
    assert cluster.event_notes("SuccessfulDelete") == [
        f"Deleted job c-{FIRST + number}" for number in (1, 2)
    ]
    assert cluster.event_notes("MissingJob") == []


def test_a_time_within_the_deadline_gets_one_job_also_if_that_is_deleted():
    cron_job = a_cron_job(seconds=2, startingDeadlineSeconds=600, successfulJobsHistoryLimit=0)
    cluster = cluster_with(cron_job)
    cluster.run(4 * MINUTE + 30)
    assert jobs(cluster) == [f"c-{FIRST + number}" for number in range(1, 5)]
    assert cluster.all(JOB) == []


def test_an_active_job_that_was_deleted_is_missed():
    cluster = cluster_with(a_cron_job(seconds=600))
    cluster.run(MINUTE + 1)
    cluster.delete(JOB, f"default/c-{FIRST + 1}", propagation="Background")
    cluster.run(2 * MINUTE + 1)
    assert set(cluster.event_notes("MissingJob")) == {f"Active job went missing: c-{FIRST + 1}"}
    (active,) = cluster.status(CRON_JOB, "default/c")["active"]
    assert active["name"] == f"c-{FIRST + 2}"


MINUTE_NS = 60_000_000_000


@pytest.mark.parametrize(
    ("after", "now", "due", "count"),
    [
        pytest.param(0, 59, None, 0, id="none yet"),
        pytest.param(0, 60, 1, 1, id="exactly now"),
        pytest.param(0, 119, 1, 1, id="one"),
        pytest.param(60, 119, None, 0, id="the one before has its job"),
        pytest.param(0, 120, 2, 2, id="the second is exactly now"),
        pytest.param(0, 301, 5, 5, id="several"),
        pytest.param(30, 6_060, 101, 101, id="many"),
    ],
)
def test_the_latest_missed_time_is_due(after, now, due, count):
    schedule = parse_schedule("* * * * *")
    start_ns = FIRST * MINUTE_NS
    missed = most_recent_due(schedule, start_ns + after * 10**9, start_ns + now * 10**9, UTC)
    assert missed.due_ns == (None if due is None else start_ns + due * MINUTE_NS)
    assert missed.count == count


@pytest.mark.parametrize(("minutes", "is_said"), [(100, False), (101, True)])
def test_more_than_a_hundred_missed_times_are_a_warning_and_one_job(minutes, is_said):
    cluster = cluster_with(a_cron_job(suspend=True))
    cluster.run(minutes * MINUTE + 10)
    cluster.edit(CRON_JOB, "default/c", "spec", suspend=False)
    cluster.run(minutes * MINUTE + 20)
    assert jobs(cluster) == [f"c-{FIRST + minutes}"]
    note = (
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock"
        " skew"
    )
    assert cluster.event_notes("TooManyMissedTimes") == [note] * is_said


@pytest.mark.parametrize(
    ("zone", "scheduled_at"),
    [
        (None, "2026-01-01T00:01:00Z"),
        ("Etc/UTC", "2026-01-01T00:01:00Z"),
        ("Europe/Berlin", "2026-01-01T01:01:00+01:00"),
        ("America/St_Johns", "2025-12-31T20:31:00-03:30"),
    ],
)
def test_a_job_has_the_metadata_of_its_template_and_its_time_in_the_zone(zone, scheduled_at):
    made = a_cron_job(timeZone=zone) if zone else a_cron_job()
    template = made.raw["spec"]["jobTemplate"]
    template["metadata"] = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "no"}
    cluster = cluster_with(decode(made.raw))
    cluster.run(MINUTE)
    job = cluster.raw(JOB, f"default/c-{FIRST + 1}")
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["metadata"]["annotations"] == {
        "c": "d", "batch.kubernetes.io/cronjob-scheduled-timestamp": scheduled_at,
    }  # fmt: skip
    (entry,) = cluster.status(CRON_JOB, "default/c")["active"]
    assert entry == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": f"c-{FIRST + 1}",
        "namespace": "default",
        "uid": job["metadata"]["uid"],
        "resourceVersion": entry["resourceVersion"],
    }
    assert cluster.event_notes("SuccessfulCreate")[0] == f"Created job c-{FIRST + 1}"


def test_a_cron_job_that_is_deleted_creates_nothing_more():
    cluster = cluster_with(a_cron_job())
    cron_job = cluster.raw(CRON_JOB, "default/c")
    held = {"deletionTimestamp": at(40), "finalizers": ["example.com/hold"]}
    cluster.store.put(decode(cron_job | {"metadata": cron_job["metadata"] | held}))
    cluster.settle()
    cluster.run(3 * MINUTE)
    assert jobs(cluster) == []


def test_the_deadline_limits_how_far_a_schedule_is_looked_back():
    cluster = cluster_with(a_cron_job(suspend=True, startingDeadlineSeconds=90))
    cluster.run(200 * MINUTE + 10)
    cluster.edit(CRON_JOB, "default/c", "spec", suspend=False)
    cluster.run(200 * MINUTE + 20)
    assert jobs(cluster) == [f"c-{FIRST + 200}"]
    assert cluster.event_notes("TooManyMissedTimes") == []


@pytest.mark.parametrize(
    ("ttl", "outcome", "removed_at"),
    [(0, "Complete", 0), (30, "Complete", 30), (30, "Failed", 30), (None, "Complete", None),
     (0, "Suspended", None)],
)  # fmt: skip
def test_a_finished_job_is_deleted_at_the_end_of_its_time_to_live(ttl, outcome, removed_at):
    cluster = Cluster((JobTTLController,), stages=())
    spec = a_cron_job().raw["spec"]["jobTemplate"]["spec"]
    spec = spec | ({} if ttl is None else {"ttlSecondsAfterFinished": ttl})
    condition = {"type": outcome, "status": "True", "lastTransitionTime": at(0)}
    cluster.add(document("Job", "j", api="batch/v1", namespace="default", spec=spec))
    cluster.edit(JOB, "default/j", "status", conditions=[condition])
    deleted: list[int] = []
    for second in (0, 29, 30, 31):
        cluster.run(second)
        deleted += [second] * (bool(cluster.writes) and not deleted)
    assert deleted == ([] if removed_at is None else [removed_at])
    if deleted:
        write: Any = cluster.writes[0]
        assert write.propagation == "Foreground"
