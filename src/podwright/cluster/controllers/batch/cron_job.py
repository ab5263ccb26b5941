"""Cron jobs, which create a job at each scheduled time, and the end of finished jobs.

A sync deletes finished jobs beyond the history limits, creates the job of the most recent
scheduled time if the concurrency policy allows it, and requeues the cron job for the next time.
Earlier missed times are skipped.

Upstream: pkg/controller/cronjob/cronjob_controllerv2.go, utils.go;
pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, cast

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    SECOND_NS,
    CronSchedule,
    Document,
    KubernetesObject,
    NamespacedName,
    parse_schedule,
    time_zone,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, section
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.batch.job_spec import finished_condition
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    Keys,
    ReportedWrite,
    Version,
)
from podwright.cluster.controllers.kinds import CRON_JOB, JOB
from podwright.cluster.controllers.lister import Lister

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE_NS: Final = 60 * SECOND_NS
_MISSED_MAX: Final = 100


class CronJobSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `spec` of a cron job, with defaults for absent fields."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: dict[str, Any] = {}
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class Missed(msgspec.Struct, frozen=True):
    """The most recent scheduled time without a job.

    Attributes
    ----------
    due_ns : int or None
        None if no job is due.
    count : int
        The number of scheduled times since the last job.
    """

    due_ns: int | None = None
    count: int = 0


class CronJobController(Controller):
    """Creates jobs on schedules."""

    name = "cronjob-controller"
    kinds = (CRON_JOB, JOB)
    reports_creations = True

    _rescheduled: Saved[dict[NamespacedName, bool]]
    _rejected: Saved[dict[NamespacedName, bool]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # Cron jobs whose job was rejected since the last sync.
        self._rejected = {}
        # Cron jobs with a new schedule, which is looked at from its next time on.
        self._rescheduled = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a cron job that changed, or whose jobs were added, finished or removed."""
        obj = self.latest_of(old, new)
        if obj.kind == "CronJob":
            if new is None or old is None:
                self._rescheduled.pop(obj.key, None)
                self._rejected.pop(obj.key, None)
            elif _times_of(old) != _times_of(new):
                self._rescheduled[obj.key] = True
            return (obj.key,)
        owner = obj.metadata.controller
        if owner is None or owner.kind != "CronJob":
            return ()
        if old is not None and new is not None and _is_finished(old) == _is_finished(new):
            return ()
        return (f"{obj.namespace}/{owner.name}",)

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the cron job, whose status is written without the time of the rejected job."""
        del message
        self._rejected[owner] = True
        return (owner,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Clean up finished jobs, create the job that is due, and requeue for the next time."""
        cron_job = self._lister.get(CRON_JOB, key)
        if cron_job is None:
            return []
        spec = _spec_of(cron_job)
        is_rejected = self._rejected.pop(key, False)
        if self._rescheduled.pop(key, False):
            return self._reschedule(cron_job, spec, now_ns)
        status: Document = dict(section(cron_job, "status"))
        jobs = sorted(
            self._lister.controlled_by(cron_job.uid, JOB).values(),
            key=_by_start,
        )
        actions = self._clean_up_finished(cron_job, spec, status, jobs)
        actions.extend(self._update_active(cron_job, status, jobs))
        if cron_job.metadata.deletion_timestamp is None and not is_rejected:
            active = {entry["uid"] for entry in status.get("active") or ()}
            running = [job for job in jobs if job.uid in active]
            actions.extend(self._start_due(cron_job, spec, status, running, now_ns))
        update = self.status_update(cron_job, status)
        last = actions[-1] if actions else None
        if isinstance(last, ReportedWrite) and isinstance(last.request, CreateObject):
            # Upstream: a time has passed when its job is created, not when the job is rejected.
            return [*actions[:-1], msgspec.structs.replace(last, then=tuple(update))]
        return actions + update

    def _reschedule(self, cron_job: KubernetesObject, spec: CronJobSpec, now_ns: int) -> Actions:
        """Requeue a cron job with a new schedule; a time before now gets no job yet.

        Upstream: updateCronJob
        """
        try:
            zone, schedule = time_zone(spec.time_zone), parse_schedule(spec.schedule)
        except ValueError:
            note = f"unparseable schedule for cronjob: {spec.schedule}"
            return [self.warning(cron_job, "UnParseableCronJobSchedule", note)]
        next_ns = next_due_ns(schedule, _after_ns(cron_job), now_ns, zone)
        return [self.sync_at(cron_job.key, now_ns if next_ns is None else next_ns)]

    def _clean_up_finished(
        self,
        cron_job: KubernetesObject,
        spec: CronJobSpec,
        status: Document,
        jobs: Sequence[KubernetesObject],
    ) -> Actions:
        """Delete the oldest finished jobs beyond the limits, which are no longer active.

        Upstream: cleanupFinishedJobs
        """
        actions: Actions = []
        deleted = set[str]()
        limits = (
            ("Complete", spec.successful_jobs_history_limit),
            ("Failed", spec.failed_jobs_history_limit),
        )
        for outcome, limit in limits:
            ended = [job for job in jobs if _outcome(job) == outcome]
            for job in ended[: max(len(ended) - limit, 0)]:
                if job.metadata.deletion_timestamp is None:
                    actions.extend(self._delete_job(cron_job, job))
                deleted.add(job.uid)
        active = status.get("active") or ()
        status["active"] = [each for each in active if each.get("uid") not in deleted]
        return actions

    def _delete_job(self, cron_job: KubernetesObject, job: KubernetesObject) -> Actions:
        deletion = ReportedWrite(
            self.delete(job, propagation="Background"),
            self.event(cron_job, "SuccessfulDelete", f"Deleted job {job.name}"),
            self.warning(cron_job, "FailedDelete", "Deleted job: "),
        )
        return [deletion]

    def _update_active(
        self, cron_job: KubernetesObject, status: Document, jobs: Sequence[KubernetesObject]
    ) -> Actions:
        """Set the active jobs and the last successful time in the status.

        Notes
        -----
        Upstream adds a job when it is created, before it is observed. Unfinished jobs that somebody
        else gave to the cron job are only reported, at each sync.
        """
        actions: Actions = []
        known = {entry.get("uid"): entry for entry in status["active"]}
        active: list[Document] = []
        last_ns = timestamp_ns(status.get("lastSuccessfulTime")) or 0
        for job in jobs:
            if not _is_finished(job):
                if job.uid in known or SCHEDULED_AT in job.metadata.annotations:
                    active.append(known.get(job.uid) or _reference(job))
                else:
                    note = f"Saw a job that the controller did not create or forgot: {job.name}"
                    actions.append(self.warning(cron_job, "UnexpectedJob", note))
                continue
            outcome = _outcome(job)
            if job.uid in known:
                note = f"Saw completed job: {job.name}, condition: {outcome}"
                actions.append(self.event(cron_job, "SawCompletedJob", note))
            if outcome == "Complete":
                completed = section(job, "status").get("completionTime")
                if (timestamp_ns(completed) or 0) > last_ns:
                    last_ns = timestamp_ns(completed) or 0
                    status["lastSuccessfulTime"] = completed
        there = {job.uid for job in jobs}
        for uid, entry in known.items():
            if uid not in there:
                note = f"Active job went missing: {entry.get('name')}"
                actions.append(self.event(cron_job, "MissingJob", note))
        if active:
            status["active"] = active
        else:
            del status["active"]
        return actions

    def _start_due(
        self,
        cron_job: KubernetesObject,
        spec: CronJobSpec,
        status: Document,
        running: Sequence[KubernetesObject],
        now_ns: int,
    ) -> Actions:
        """Create the job that is due, and requeue for the next scheduled time.

        Upstream: syncCronJob
        """
        try:
            zone = time_zone(spec.time_zone)
        except ValueError:
            note = f'invalid timeZone: "{spec.time_zone}": unknown time zone {spec.time_zone}'
            return [self.warning(cron_job, "UnknownTimeZone", note)]
        if spec.suspend:
            return []
        try:
            schedule = parse_schedule(spec.schedule)
        except ValueError as error:
            note = f'unparseable schedule: "{spec.schedule}" : {error}'
            return [self.warning(cron_job, "UnparseableSchedule", note)]
        after_ns = _after_ns(cron_job)
        next_ns = next_due_ns(schedule, after_ns, now_ns, zone)
        deadline = spec.starting_deadline_seconds
        if deadline is not None:
            after_ns = max(after_ns, now_ns - deadline * SECOND_NS)
        if schedule.next_ns(after_ns, zone) is None:
            # Upstream computes with the zero time, such as for the 30th of February.
            note = (
                f"invalid schedule: {spec.schedule} : time difference between two schedules is less"
                " than 1 second"
            )
            return [self.warning(cron_job, "InvalidSchedule", note)]
        missed = most_recent_due(schedule, after_ns, now_ns, zone)
        actions: Actions = []
        if next_ns is not None:
            actions.append(self.sync_at(cron_job.key, next_ns))
        return actions + self._start(cron_job, spec, status, running, missed)

    def _start(
        self,
        cron_job: KubernetesObject,
        spec: CronJobSpec,
        status: Document,
        running: Sequence[KubernetesObject],
        missed: Missed,
    ) -> Actions:
        """Create the job of a scheduled time, as far as the concurrency policy allows."""
        due_ns = missed.due_ns
        if due_ns is None:
            return []
        actions: Actions = []
        # Upstream: only a warning; the job of the most recent time is created nevertheless.
        if missed.count > _MISSED_MAX:
            note = (
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or"
                " check clock skew"
            )
            actions.append(self.warning(cron_job, "TooManyMissedTimes", note))
        # Upstream: getJobName; one name per scheduled time, so that no time gets two jobs.
        name = f"{cron_job.name}-{due_ns // _MINUTE_NS}"
        if self._lister.get(JOB, f"{cron_job.namespace}/{name}") is not None:
            return actions
        if running and spec.concurrency_policy == "Forbid":
            note = (
                "Not starting job because prior execution is running and concurrency policy is"
                " Forbid"
            )
            return [*actions, self.event(cron_job, "JobAlreadyActive", note)]
        if spec.concurrency_policy == "Replace":
            for job in running:
                actions.extend(self._delete_job(cron_job, job))
            status.pop("active", None)
        status["lastScheduleTime"] = timestamp_text(due_ns)
        creation = ReportedWrite(
            self.create(job_from_template(cron_job, spec, name, due_ns)),
            self.event(cron_job, "SuccessfulCreate", f"Created job {name}"),
            self.warning(cron_job, "FailedCreate", "Error creating job: "),
        )
        return [*actions, creation]


def most_recent_due(schedule: CronSchedule, after_ns: int, now_ns: int, zone: tzinfo) -> Missed:
    """Return the latest scheduled time after `after_ns` and not after `now_ns`.

    Notes
    -----
    Only the times shortly before `now_ns` are enumerated; the number of earlier ones is
    estimated from the interval, as upstream does.
    Upstream: utils.go, mostRecentScheduleTime
    """
    first_ns = schedule.next_ns(after_ns, zone)
    if first_ns is None or first_ns > now_ns:
        return Missed()
    second_ns = schedule.next_ns(first_ns, zone)
    if second_ns is None or second_ns > now_ns:
        return Missed(first_ns, 1)
    between_ns = second_ns - first_ns
    count = (now_ns - first_ns) // between_ns + 1
    due_ns: int | None = None
    # A whole number of intervals after the first time, so that `@every` stays in step.
    step_ns = schedule.next_ns(first_ns + (count - 2) * between_ns, zone)
    while step_ns is not None and step_ns <= now_ns:
        due_ns = step_ns
        step_ns = schedule.next_ns(step_ns, zone)
    return Missed(due_ns, count)


def next_due_ns(schedule: CronSchedule, after_ns: int, now_ns: int, zone: tzinfo) -> int | None:
    """Return the scheduled time after the most recent one, None if the schedule has none.

    Notes
    -----
    Upstream: cronjob_controllerv2.go, nextScheduleTimeDuration
    """
    missed = most_recent_due(schedule, after_ns, now_ns, zone)
    if missed.due_ns is not None:
        return schedule.next_ns(missed.due_ns, zone)
    return schedule.next_ns(now_ns if missed.count else after_ns, zone)


def job_from_template(
    cron_job: KubernetesObject, spec: CronJobSpec, name: str, due_ns: int
) -> KubernetesObject:
    """Return the job of a scheduled time.

    Upstream: utils.go, getJobFromTemplate2
    """
    template = spec.job_template
    given = template.get("metadata") or {}
    at = timestamp_text(due_ns)
    if spec.time_zone:
        at = _text_in(due_ns, spec.time_zone)
    metadata: Document = {
        "name": name,
        "namespace": cron_job.namespace,
        "annotations": {**(given.get("annotations") or {}), SCHEDULED_AT: at},
        "ownerReferences": [controller_reference_document(cron_job)],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    return decode(job, source=f"the template of CronJob {cron_job.key}")


def _text_in(due_ns: int, zone: str) -> str:
    """Return a time in the local time of a zone, with the UTC offset."""
    moment = (_EPOCH + timedelta(seconds=due_ns // SECOND_NS)).astimezone(time_zone(zone))
    return moment.isoformat().replace("+00:00", "Z")


def _spec_of(cron_job: KubernetesObject) -> CronJobSpec:
    written = {
        name: value for name, value in section(cron_job, "spec").items() if value is not None
    }
    return msgspec.convert(written, CronJobSpec)


def _times_of(cron_job: KubernetesObject) -> tuple[object, object]:
    spec = section(cron_job, "spec")
    return spec.get("schedule"), spec.get("timeZone")


def _after_ns(cron_job: KubernetesObject) -> int:
    """Return the last scheduled time, or when the cron job was created."""
    last = section(cron_job, "status").get("lastScheduleTime")
    return timestamp_ns(last) or timestamp_ns(cron_job.metadata.creation_timestamp) or 0


def _by_start(job: KubernetesObject) -> tuple[bool, int, str]:
    """Order jobs by their start; those that have not started are last.

    Upstream: utils.go, byJobStartTime
    """
    started_ns = timestamp_ns(section(job, "status").get("startTime"))
    return started_ns is None, started_ns or 0, job.name


def _is_finished(job: KubernetesObject) -> bool:
    return finished_condition(job) is not None


def _outcome(job: KubernetesObject) -> str:
    condition = finished_condition(job)
    return "" if condition is None else cast(str, condition["type"])


def _reference(job: KubernetesObject) -> Document:
    return {
        "apiVersion": job.api_version,
        "kind": job.kind,
        "name": job.name,
        "namespace": job.namespace,
        "resourceVersion": job.metadata.resource_version,
        "uid": job.uid,
    }


# The TTL-after-finished controller: deletes finished jobs when their time to live expires.


class JobTTLController(Controller):
    """Deletes jobs `ttlSecondsAfterFinished` after their end."""

    name = "ttl-after-finished-controller"
    kinds = (JOB,)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a finished job that has a time to live."""
        if new is None or new.metadata.deletion_timestamp is not None:
            return ()
        has_ttl = section(new, "spec").get("ttlSecondsAfterFinished") is not None
        return (new.key,) if has_ttl and finished_condition(new) is not None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete the job, or requeue it for the end of its time to live."""
        job = self._lister.get(JOB, key)
        if job is None or job.metadata.deletion_timestamp is not None:
            return []
        finished = finished_condition(job)
        ttl = section(job, "spec").get("ttlSecondsAfterFinished")
        if finished is None or ttl is None:
            return []
        finished_ns = timestamp_ns(finished.get("lastTransitionTime")) or now_ns
        due_ns = finished_ns + int(ttl) * 1_000_000_000
        if due_ns > now_ns:
            return [self.sync_at(key, due_ns)]
        return [self.delete(job, propagation="Foreground")]
