"""What the controllers of cron jobs and of ended jobs request in one sync, by upstream's rules.

Upstream: pkg/controller/cronjob/cronjob_controllerv2.go, utils.go
"""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from podwright.apimachinery.objects import parse_schedule
from podwright.cluster.controllers.batch.cron_job import (
    CronJobController,
    JobTTLController,
    Missed,
    most_recent_due,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

BY = "cronjob-controller"
MINUTE = NOW // (60 * SECOND)
"""The number of minutes in the names of jobs."""


def a_cron_job(status: Any = None, *, created: int = -30, gone: bool = False, **spec: Any) -> Any:
    template = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    metadata: dict[str, Any] = {"uid": "cu", "creationTimestamp": at(created)}
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if gone else {}
    return document(
        "CronJob", "hourly", api="batch/v1", namespace="shop", metadata=metadata,
        spec={"schedule": "0 * * * *", "jobTemplate": template, **spec}, status=status or {},
    )  # fmt: skip


def a_job(
    name: str, ended: str = "", *, started: int = -60, completed: int | None = None,
    is_scheduled: bool = True, **metadata: Any,
) -> Any:  # fmt: skip
    owner = {
        "apiVersion": "batch/v1", "kind": "CronJob", "name": "hourly", "uid": "cu",
        "controller": True,
    }  # fmt: skip
    notes = {"batch.kubernetes.io/cronjob-scheduled-timestamp": at(0)} if is_scheduled else {}
    status: dict[str, Any] = {"startTime": at(started)}
    if ended:
        status["conditions"] = [{"type": ended, "status": "True", "lastTransitionTime": at(0)}]
    if completed is not None:
        status["completionTime"] = at(completed)
    metadata = {
        "uid": f"{name}-uid", "resourceVersion": "9", "annotations": notes,
        "ownerReferences": [owner], **metadata,
    }  # fmt: skip
    return document("Job", name, api="batch/v1", namespace="shop", metadata=metadata, status=status)


def entry(name: str, version: str = "9") -> dict[str, str]:
    return {
        "apiVersion": "batch/v1", "kind": "Job", "name": name, "namespace": "shop",
        "resourceVersion": version, "uid": f"{name}-uid",
    }  # fmt: skip


def event(reason: str, note: str, severity: str = "Normal") -> str:
    return f"{severity} CronJob shop/hourly {reason} by {BY}: {note}"


def removal(name: str) -> str:
    return f"delete Job shop/{name}; {event('SuccessfulDelete', f'Deleted job {name}')}"


def creation(name: str, due: int, zone: str = "") -> str:
    return f"create {name} at {zone or at(due)}"


def parsed(request: str) -> tuple[Any, str]:
    """Return the created job, and the Event about it."""
    made, start = json.JSONDecoder().raw_decode(request.removeprefix("create "))
    return made, request.removeprefix("create ")[start:].removeprefix("; ")


def synced(*objects: Any, seconds: int = 0) -> list[str]:
    """Return the requests; of a created job only its name and its scheduled time."""
    found = []
    for each in SingleSync(CronJobController, *objects).sync("shop/hourly", seconds):
        if each.startswith("create "):
            made, outcome = parsed(each)
            (time,) = made["metadata"]["annotations"].values()
            found += [creation(made["metadata"]["name"], 0, time), outcome]
        else:
            found.append(each)
    return found


def status_update(**fields: Any) -> str:
    changed = " ".join(
        f"-status.{name}" if value is None else f"status.{name}={json.dumps(value)}"
        for name, value in sorted(fields.items())
    )
    return f"update CronJob shop/hourly status: {changed}"


NEXT = "sync shop/hourly at 3600"
UNKNOWN_ZONE = event(
    "UnknownTimeZone", 'invalid timeZone: "Moon/Sea": unknown time zone Moon/Sea', "Warning"
)
MADE = event("SuccessfulCreate", f"Created job hourly-{MINUTE}")
CREATES = [creation(f"hourly-{MINUTE}", 0), MADE, status_update(lastScheduleTime=at(0))]


@pytest.mark.parametrize(
    ("cron_job", "others", "expected"),
    [
        pytest.param(a_cron_job(), [], [NEXT, *CREATES], id="due now"),
        pytest.param(a_cron_job(created=0), [], [NEXT], id="created now"),
        pytest.param(a_cron_job({"lastScheduleTime": at(0)}), [], [NEXT], id="has its job"),
        pytest.param(a_cron_job({"lastScheduleTime": at(-1)}), [], [NEXT, *CREATES], id="had one"),
        pytest.param(
            a_cron_job(suspend=None, concurrencyPolicy=None, failedJobsHistoryLimit=None), [],
            [NEXT, *CREATES], id="with empty fields",
        ),
        pytest.param(a_cron_job(suspend=True), [], [], id="suspended"),
        pytest.param(a_cron_job(gone=True), [], [], id="being deleted"),
        pytest.param(
            a_cron_job(timeZone="Moon/Sea"), [],
            [UNKNOWN_ZONE], id="no such zone",
        ),
        pytest.param(
            a_cron_job(timeZone="Moon/Sea", suspend=True), [], [UNKNOWN_ZONE],
            id="no such zone, suspended",
        ),
        pytest.param(
            a_cron_job(timeZone="Asia/Kolkata"), [],
            ["sync shop/hourly at 1800"], id="half an hour later there",
        ),
        pytest.param(
            a_cron_job(schedule="0 0 30 2 *"), [],
            [event("InvalidSchedule", "invalid schedule: 0 0 30 2 * : time difference between two"
                   " schedules is less than 1 second", "Warning")],
            id="never",
        ),
        pytest.param(
            a_cron_job(), [a_job(f"hourly-{MINUTE}", "Complete", is_scheduled=False)], [NEXT],
            id="its job exists",
        ),
    ],
)  # fmt: skip
def test_the_job_of_the_present_time_is_created(cron_job, others, expected) -> None:
    assert synced(cron_job, *others) == expected


def test_a_schedule_that_cannot_be_read_is_reported() -> None:
    (found,) = synced(a_cron_job(schedule="every day"))
    head = event("UnparseableSchedule", 'unparseable schedule: "every day" : ', "Warning")
    assert found.startswith(head)
    assert len(found) > len(head)


def test_a_new_schedule_that_cannot_be_read_is_reported() -> None:
    bench = SingleSync(CronJobController, a_cron_job())
    assert bench.put(a_cron_job(schedule="every day")) == ["shop/hourly"]
    note = "unparseable schedule for cronjob: every day"
    assert bench.sync("shop/hourly") == [event("UnParseableCronJobSchedule", note, "Warning")]


def test_a_rejected_job_leaves_its_time_to_the_next_try() -> None:
    bench = SingleSync(CronJobController, a_cron_job())
    (*_, create, update) = bench.sync("shop/hourly")
    assert create.startswith("create ")
    assert update == status_update(lastScheduleTime=at(0))
    assert bench.controller.on_create_rejected("shop/hourly", "full") == ("shop/hourly",)
    assert bench.sync("shop/hourly") == [], "this time only the rest is written"
    assert bench.sync("shop/hourly")[1].startswith("create ")


def test_a_cron_job_that_is_made_again_starts_anew() -> None:
    bench = SingleSync(CronJobController, a_cron_job())
    bench.put(a_cron_job(schedule="1 * * * *"))
    bench.controller.on_create_rejected("shop/hourly", "full")
    bench.remove(a_cron_job())
    assert bench.controller.state() == {"rescheduled": {}, "rejected": {}}
    bench.put(a_cron_job())
    assert bench.sync("shop/hourly")[1].startswith("create ")


def test_a_created_job_is_that_of_the_template() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e"]},
        "spec": {"completions": 3},
    }
    cron_job = a_cron_job(jobTemplate=template, timeZone="Europe/Berlin", schedule="0 1 * * *")
    bench = SingleSync(CronJobController, cron_job)
    (made,) = (each for each in bench.sync("shop/hourly") if each.startswith("create "))
    assert parsed(made)[0] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"hourly-{MINUTE}",
            "namespace": "shop",
            "annotations": {
                "c": "d",
                "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T01:00:00+01:00",
            },
            "labels": {"a": "b"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "hourly",
                    "uid": "cu",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"completions": 3},
    }
    assert synced(a_cron_job(timeZone="Etc/UTC"))[1] == creation(
        f"hourly-{MINUTE}", 0, "2026-01-01T00:00:00Z"
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("Allow", [NEXT, *CREATES[:2]], id="allow"),
        pytest.param(
            "Forbid",
            [NEXT, event("JobAlreadyActive", "Not starting job because prior execution is running"
                         " and concurrency policy is Forbid")],
            id="forbid",
        ),
        pytest.param("Replace", [NEXT, removal("run"), *CREATES[:2]], id="replace"),
    ],
)  # fmt: skip
def test_the_policy_decides_about_jobs_that_still_run(policy, expected) -> None:
    found = synced(a_cron_job(concurrencyPolicy=policy), a_job("run"), a_job("over", "Failed"))
    assert found[:-1] == expected
    # A job that is replaced is no longer active, so that it is not missed later.
    fields: Any = {} if policy == "Replace" else {"active": [entry("run")]}
    fields |= {} if policy == "Forbid" else {"lastScheduleTime": at(0)}
    assert found[-1] == status_update(**fields)
    # What somebody else gave to the cron job does not count.
    foreign = synced(a_cron_job(concurrencyPolicy=policy), a_job("run", is_scheduled=False))
    note = "Saw a job that the controller did not create or forgot: run"
    assert foreign == [event("UnexpectedJob", note, "Warning"), NEXT, *CREATES]


def test_missed_times_count_from_the_deadline_and_many_are_reported() -> None:
    late = a_cron_job(created=-3600 * 101 - 1)
    note = (
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock"
        " skew"
    )
    warning = event("TooManyMissedTimes", note, "Warning")
    assert synced(late) == [NEXT, warning, *CREATES]
    assert synced(a_cron_job(created=-3600 * 99 - 1)) == [NEXT, *CREATES], "a hundred are few"
    assert synced(a_cron_job(created=-3600 * 101, startingDeadlineSeconds=7200)) == [NEXT, *CREATES]
    passed = a_cron_job(created=-3600, startingDeadlineSeconds=10)
    assert synced(passed, seconds=11) == [NEXT]
    assert synced(passed, seconds=10) == [NEXT]
    assert synced(passed, seconds=9) == [NEXT, *CREATES]


@pytest.mark.parametrize(
    ("schedule", "after", "now", "due", "count"),
    [
        pytest.param("0 * * * *", 0, 3599, None, 0, id="not yet"),
        pytest.param("0 * * * *", 0, 3600, 3600, 1, id="now"),
        pytest.param("0 * * * *", 0, 7199, 3600, 1, id="one"),
        pytest.param("0 * * * *", 0, 7200, 7200, 2, id="two"),
        pytest.param("0 * * * *", 0, 36_000, 36_000, 10, id="ten"),
        pytest.param("0 * * * *", 1, 36_001, 36_000, 10, id="between"),
        pytest.param("0,1 * * * *", 61, 7300, 7260, 62, id="as upstream estimates"),
        pytest.param("0 0 30 2 *", 0, 9_999_999, None, 0, id="never"),
        pytest.param("@every 1h", 60, 12_600, 10_860, 3, id="intervals from the first time"),
        pytest.param("0,1 * * * *", -1, 120, None, 3, id="none after the estimate, as upstream"),
        pytest.param("59 11,12 * * *", 0, 80_000, None, 11, id="none near the end, as upstream"),
    ],
)
def test_the_most_recent_time_and_how_many_were_missed(schedule, after, now, due, count) -> None:
    found = most_recent_due(parse_schedule(schedule), NOW + after * SECOND, NOW + now * SECOND, UTC)
    assert found == Missed(None if due is None else NOW + due * SECOND, count)
    there = most_recent_due(
        parse_schedule("0 * * * *"), NOW, NOW + 1800 * SECOND, ZoneInfo("Asia/Kolkata")
    )
    assert there == Missed(NOW + 1800 * SECOND, 1)


@pytest.mark.parametrize(
    ("fields", "due"),
    [
        pytest.param({"schedule": "30 * * * *"}, 5400, id="a time that has passed gets no job"),
        pytest.param({"timeZone": "Asia/Kolkata"}, 5400, id="another zone"),
        pytest.param({"schedule": "@every 15m"}, 2700, id="in step with the creation"),
        pytest.param({"schedule": "0 0 30 2 *"}, 2400, id="never: reported at once"),
        pytest.param({"suspend": False}, 3600, id="the same schedule"),
    ],
)
def test_a_new_schedule_is_looked_at_from_its_next_time_on(fields, due) -> None:
    bench = SingleSync(CronJobController, a_cron_job(created=0))
    assert bench.sync("shop/hourly") == [NEXT]
    bench.put(a_cron_job(created=0, **fields))
    assert bench.sync("shop/hourly", 2400) == [f"sync shop/hourly at {due}"]


def test_the_oldest_ended_jobs_beyond_the_limits_are_deleted() -> None:
    jobs = [
        *(a_job(f"good-{n}", "Complete", started=-n) for n in range(5)),
        *(a_job(f"bad-{n}", "Failed", started=-n) for n in range(3)),
        a_job("run", started=-99),
    ]
    kept = {"active": [entry("run")], "lastScheduleTime": at(0)}
    assert synced(a_cron_job(kept), *jobs) == [
        removal("good-4"), removal("good-3"), removal("bad-2"), removal("bad-1"), NEXT,
    ]  # fmt: skip
    limits: Any = {"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 5}
    assert synced(a_cron_job(kept, **limits), *jobs) == [
        *(removal(f"good-{n}") for n in (4, 3, 2, 1, 0)), NEXT,
    ]  # fmt: skip
    going: Any = {"deletionTimestamp": at(0), "finalizers": ["x"]}
    jobs[4] = a_job("good-4", "Complete", started=-4, **going)
    assert synced(a_cron_job(kept), *jobs)[0] == removal("good-3")
    same = [a_job(name, "Failed", started=-5) for name in ("b", "c", "a")]
    assert synced(a_cron_job(kept), *same, jobs[-1])[:2] == [removal("a"), removal("b")]
    never = document("Job", "0", api="batch/v1", namespace="shop",
                     metadata=same[0].raw["metadata"] | {"name": "0", "uid": "0-uid"},
                     status={"conditions": same[0].raw["status"]["conditions"]})  # fmt: skip
    assert synced(a_cron_job(kept), never, *same[:2], jobs[-1])[:2] == [
        removal("b"), removal("c"),
    ], "one that has not started is the newest"  # fmt: skip


def test_a_job_that_is_deleted_when_it_ends_is_not_reported() -> None:
    """Upstream: cleanupFinishedJobs takes it from the active ones before they are looked at."""
    listed = {"active": [entry("old"), entry("run")], "lastScheduleTime": at(0)}
    jobs = [
        a_job("old", "Complete", started=-99, completed=-1),
        a_job("new", "Complete", started=-50, completed=-2),
        a_job("run"),
    ]
    limits: Any = {"successfulJobsHistoryLimit": 1}
    assert synced(a_cron_job(listed, **limits), *jobs) == [
        removal("old"), NEXT,
        status_update(active=[entry("run")], lastSuccessfulTime=at(-1)),
    ]  # fmt: skip


def test_the_status_follows_the_jobs() -> None:
    listed = [entry("a", "1"), entry("b", "1"), entry("gone", "1"), entry("lost", "1")]
    before = {"active": listed, "lastScheduleTime": at(0), "lastSuccessfulTime": at(-100)}
    jobs = [
        a_job("a", started=-50),
        a_job("b", "Complete", completed=-90),
        a_job("new", started=-40),
        a_job("early", "Complete", completed=-100),
        a_job("gone", "Failed", completed=-1),
    ]
    assert synced(a_cron_job(before), *jobs) == [
        event("SawCompletedJob", "Saw completed job: b, condition: Complete"),
        event("SawCompletedJob", "Saw completed job: gone, condition: Failed"),
        event("MissingJob", "Active job went missing: lost"),
        NEXT,
        status_update(active=[entry("a", "1"), entry("new")], lastSuccessfulTime=at(-90)),
    ]
    later = {"lastScheduleTime": at(0), "lastSuccessfulTime": at(-5)}
    assert synced(a_cron_job(later), a_job("a", "Complete", completed=-90)) == [NEXT]
    ended = {"active": [entry("a")], "lastScheduleTime": at(0)}
    assert synced(a_cron_job(ended), a_job("a", "Failed")) == [
        event("SawCompletedJob", "Saw completed job: a, condition: Failed"),
        NEXT,
        status_update(active=None),
    ]


def test_a_cron_job_is_synced_for_jobs_that_come_end_and_go() -> None:
    bench = SingleSync(CronJobController)
    assert bench.put(a_cron_job()) == ["shop/hourly"]
    assert bench.put(a_job("a")) == ["shop/hourly"]
    assert bench.put(a_job("a", started=-1)) == []
    assert bench.put(a_job("a", "Failed")) == ["shop/hourly"]
    assert bench.put(a_job("a", "Complete")) == []
    assert bench.remove(a_job("a")) == ["shop/hourly"]
    assert bench.put(a_job("b", ownerReferences=[])) == []
    owner = {"apiVersion": "v1", "kind": "Other", "name": "hourly", "uid": "u", "controller": True}
    assert bench.put(a_job("c", ownerReferences=[owner])) == []
    assert bench.remove(a_cron_job()) == ["shop/hourly"]
    assert bench.sync("shop/hourly") == []


# ------------------------------------------------------------------------------ ended jobs


def ended_job(ttl: int | None, ended: str = "Complete", at_second: Any = 0, **metadata: Any) -> Any:
    time = {} if at_second is None else {"lastTransitionTime": at(at_second)}
    conditions = [{"type": ended, "status": "True", **time}] if ended else []
    return document(
        "Job", "j", api="batch/v1", namespace="shop", metadata=metadata,
        spec={} if ttl is None else {"ttlSecondsAfterFinished": ttl},
        status={"conditions": conditions},
    )  # fmt: skip


GOING = {"deletionTimestamp": at(0), "finalizers": ["x"]}


@pytest.mark.parametrize(
    ("job", "second", "expected"),
    [
        pytest.param(ended_job(10), 9, ["sync shop/j at 10"], id="not yet"),
        pytest.param(ended_job(10), 10, ["delete Job shop/j"], id="at its time"),
        pytest.param(ended_job(0), 0, ["delete Job shop/j"], id="at once"),
        pytest.param(ended_job(10, "Failed", 3), 12, ["sync shop/j at 13"], id="failed"),
        pytest.param(ended_job(10, "Failed", None), 5, ["sync shop/j at 15"], id="at some time"),
        pytest.param(ended_job(None), 99, None, id="for ever"),
        pytest.param(ended_job(10, ""), 99, None, id="not ended"),
        pytest.param(ended_job(10, "Complete", 0, **GOING), 99, None, id="being deleted"),
    ],
)
def test_an_ended_job_is_deleted_after_its_time_to_live(job, second, expected) -> None:
    bench = SingleSync(JobTTLController)
    assert bench.put(job) == ([] if expected is None else ["shop/j"])
    assert bench.sync("shop/j", second) == (expected or [])
    assert bench.remove(job) == []
    assert bench.sync("shop/j", second) == []


def test_a_job_is_deleted_after_its_pods() -> None:
    bench = SingleSync(JobTTLController, ended_job(0))
    (deletion,) = bench.controller.sync("shop/j", NOW)
    assert deletion.propagation == "Foreground"  # type: ignore[union-attr]
    history = SingleSync(
        CronJobController, a_cron_job({"lastScheduleTime": at(0)}, failedJobsHistoryLimit=0),
        a_job("a", "Failed"),
    )  # fmt: skip
    first: Any = history.controller.sync("shop/hourly", NOW)[0]
    assert first.request.propagation == "Background"
    assert (first.failed.reason, first.failed.type, first.failed.note) == (
        "FailedDelete", "Warning", "Deleted job: ",
    )  # fmt: skip
