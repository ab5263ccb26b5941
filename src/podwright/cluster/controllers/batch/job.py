"""Jobs: pods that run to completion, each counted exactly once.

Theory of operation
-------------------
Every pod of a job has the finalizer `batch.kubernetes.io/job-tracking` until it is counted. The
controller records a pod as soon as it observes that the pod terminated or is being deleted, so
that it is counted even if another client removes the finalizer and the pod disappears before the
next sync. A sync of the job counts the recorded pods, removes their finalizers, and creates or
deletes pods until the desired number is active.

As upstream, changes of pods are batched and synced one second later, whereas a change of the job
itself is synced immediately. After a failure, new pods are delayed by 10 s; the delay doubles
with each further failure up to 10 minutes, and a success resets it. Orphans that the selector
matches are adopted, and pods that it does not match are released.

Upstream: pkg/controller/job/job_controller.go, backoff_utils.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, cast

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import conditions_with, section, with_generated_selector
from podwright.cluster.controllers.adoption import PodOwnerController, adopted, released
from podwright.cluster.controllers.batch.job_counts import (
    BackoffRecord,
    JobCounts,
    TerminatedPod,
    active_pods_for_removal,
    backoff_after,
    count_pods,
    desired_active,
    failed_indexes,
    failure_annotations,
    failures_of,
    finishing_condition,
    is_complete,
    job_condition,
    last_failures,
    retry_ns,
    set_status_counts,
)
from podwright.cluster.controllers.batch.job_spec import (
    TRACKING,
    FailureVerdict,
    JobSpec,
    ParsedJobs,
    condition_among,
    failure_verdict,
    finish_time_ns,
    finished_condition,
    index_of,
    pods_of,
)
from podwright.cluster.controllers.interface import (
    Actions,
    ControllerAction,
    CreationEvents,
    Keys,
    Version,
)
from podwright.cluster.controllers.kinds import JOB, PRIORITY_CLASS
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD, with_metadata

PODS_PER_SYNC_MAX: Final = 500
_BATCH_NS: Final = SECOND_NS
_REACHED_MESSAGE: Final = "Reached expected number of succeeded pods"


class _Memory(msgspec.Struct):
    """The state between syncs; dictionaries have the keys of jobs. Run folders store it.

    Attributes
    ----------
    due_ns : dict
        When the job is due for the next sync.
    urgent : dict
        Jobs to sync without the batch delay.
    ended : dict
        The terminated pods that are not counted yet, by uid.
    released : dict
        By the uid of a pod: its finalizer was removed by this controller.
    back_off : dict
        The failures since the last success.
    gone : dict
        The uids of removed jobs whose pods still have finalizers.
    rejected : dict
        Jobs whose last create was rejected.
    """

    due_ns: dict[str, int] = {}
    urgent: dict[str, bool] = {}
    ended: dict[str, dict[str, TerminatedPod]] = {}
    released: dict[str, bool] = {}
    back_off: dict[str, BackoffRecord] = {}
    gone: dict[str, list[str]] = {}
    rejected: dict[str, bool] = {}


class JobController(PodOwnerController):
    """Creates the pods of jobs, and counts them."""

    name = "job-controller"
    kind = JOB
    kinds = (JOB, POD, PRIORITY_CLASS)
    owner_kind = JOB[1]
    _memory: Saved[_Memory]
    _creation_events: Saved[CreationEvents]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._memory = _Memory()
        self._parsed = ParsedJobs()
        self._creation_events = CreationEvents()

    # ---------------------------------------------------------------------------- changes

    def _with_priority_class(self, name: str) -> Keys:
        keys = [*super()._with_priority_class(name)]
        self._memory.urgent.update(dict.fromkeys(keys, True))
        return keys

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Keys:
        pod = self.latest_of(old, new)
        metadata = pod.metadata
        owner = metadata.controller
        if owner is None or owner.kind != self.owner_kind:
            return self._orphans.observe(old, new)
        key = f"{metadata.namespace}/{owner.name}"
        if old is None:
            self._creation_events.observe(key, pod)
        elif (
            old.metadata.owner_references is not metadata.owner_references
            and old.metadata.controller is None
        ):
            self._orphans.observe(old, new)
        job = self._lister.get(JOB, key)
        if job is None or job.metadata.uid != owner.uid:
            if TRACKING in metadata.finalizers and new is not None:
                self._record_deleted_job(key, owner.uid)
                return (key,)
            return ()
        self._record_terminated(key, job, old, new)
        return (key,)

    def _owner_changed(self, old: Version, new: Version) -> Keys:
        owner = self.latest_of(old, new)
        key = owner.key
        if new is None:
            self._record_deleted_job(key, owner.uid)
            self._orphans.remove_owner(owner)
        elif (
            old is None
            or old.metadata.generation != new.metadata.generation
            or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        ):
            self._memory.urgent[key] = True
        else:
            return ()  # a status update by this controller
        if new is not None:
            self._orphans.put_owner(new, self._parsed.of(new).selector)
        if old is None and new is not None:
            # When objects are imported, pods may be added before their job.
            for _, pod in sorted(self._lister.controlled_by(new.uid, POD).items()):
                self._record_terminated(key, new, None, cast(Pod, pod))
        return (key,)

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the job, to update its status without the rejected pods."""
        self._memory.rejected[owner] = True
        self._memory.urgent[owner] = True
        return (owner,)

    def _record_deleted_job(self, key: str, uid: str) -> None:
        uids = self._memory.gone.setdefault(key, [])
        if uid not in uids:
            uids.append(uid)

    def _record_terminated(
        self, key: str, job: KubernetesObject, old: Pod | None, new: Pod | None
    ) -> None:
        pod = self.latest_of(old, new)
        is_tracked = new is not None and TRACKING in new.metadata.finalizers
        if is_tracked and not (pod.is_terminal or pod.is_terminating):
            return
        was_tracked = old is not None and TRACKING in old.metadata.finalizers
        if not (was_tracked or is_tracked):
            return
        if not is_tracked and self._memory.released.pop(pod.uid, False):
            return
        if pod.uid in self._memory.ended.get(key, ()):
            return
        spec = self._parsed.of(job).spec
        is_success = pod.status.phase == "Succeeded"
        is_out = pod.is_terminating and not spec.replaces_only_failed
        if is_tracked and not (pod.is_terminal or is_out):
            return
        verdict = FailureVerdict()
        if not is_success:
            verdict = failure_verdict(spec.pod_failure_policy, pod)
        failures, ignored = failures_of(pod)
        ended_ns = finish_time_ns(pod)
        index = index_of(pod, spec.completions) if spec.is_indexed else None
        self._memory.ended.setdefault(key, {})[pod.uid] = TerminatedPod(
            uid=pod.uid,
            key=pod.key,
            is_success=is_success,
            index=-1 if index is None else index,
            ended_ns=-1 if ended_ns is None else ended_ns,
            action=verdict.action,
            message=verdict.message,
            failures=failures,
            ignored=ignored,
        )

    # ------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Count terminated pods, and create or delete pods."""
        actions = self._released_orphans(key)
        job = self._lister.get(JOB, key)
        if job is None:
            self._forget(key)
            return actions
        actions.extend(self._creation_events.events(job, self.name))
        memory = self._memory
        due_ns = memory.due_ns.get(key)
        if not memory.urgent.pop(key, False) and not (due_ns is not None and due_ns <= now_ns):
            batch_ns = now_ns + _BATCH_NS
            if due_ns is None or due_ns > batch_ns:
                memory.due_ns[key] = batch_ns
                actions.append(self.sync_at(key, batch_ns))
            return actions
        memory.due_ns.pop(key, None)
        spec = self._parsed.of(job).spec
        if spec.managed_by not in (None, "", "kubernetes.io/job-controller"):
            return actions
        complete = with_generated_selector(job)
        if complete is not job:
            return [*actions, self.update(complete, "whole")]
        adoptions = self._adoptions(job)
        if adoptions:
            # The adopted pods are counted after the update, which requeues the job.
            memory.urgent[key] = True
            return actions + adoptions
        actions.extend(self._sync_pods(job, spec, now_ns))
        return actions

    def _adoptions(self, job: KubernetesObject) -> Actions:
        """Adopt orphans.

        Upstream: getPodsForJob
        """
        if job.metadata.deletion_timestamp is not None or finished_condition(job) is not None:
            return []
        actions: Actions = []
        for orphan in self._orphans.adoptable_by(job):
            pod = cast(Pod, orphan)
            if not pod.is_terminating:
                kept = (each for each in pod.metadata.finalizers if each != TRACKING)
                held = with_metadata(adopted(pod, job), finalizers=(*kept, TRACKING))
                actions.append(self.update(held))
        return actions

    def _unmatched_pods(self, job: KubernetesObject, pods: Sequence[Pod]) -> list[Pod]:
        selector = self._parsed.of(job).selector
        # Pods of one template share their labels, which are matched once.
        unmatched: list[Pod] = []
        labels, is_unmatched = None, False
        for pod in pods:
            if pod.metadata.labels is not labels:
                labels = pod.metadata.labels
                is_unmatched = not selector.matches(labels)
            if is_unmatched:
                unmatched.append(pod)
        return unmatched

    def _released_orphans(self, key: str) -> Actions:
        """Remove the finalizers of pods whose job was removed.

        Upstream: syncOrphanPod
        """
        actions: Actions = []
        job = self._lister.get(JOB, key)
        for uid in self._memory.gone.pop(key, ()):
            if job is None or job.uid != uid:
                for _, pod in sorted(self._lister.controlled_by(uid, POD).items()):
                    actions.extend(self._release(cast(Pod, pod)))
        return actions

    def _forget(self, key: str) -> None:
        memory = self._memory
        for entries in (
            memory.due_ns,
            memory.urgent,
            memory.ended,
            memory.back_off,
            memory.rejected,
        ):
            entries.pop(key, None)
        self._creation_events.forget(key)
        self._parsed.forget(key)

    def _release(self, pod: Pod) -> Actions:
        if TRACKING not in pod.metadata.finalizers:
            return []
        self._memory.released[pod.uid] = True
        kept = tuple(each for each in pod.metadata.finalizers if each != TRACKING)
        return [self.update(with_metadata(pod, finalizers=kept))]

    def _sync_pods(
        self, job: KubernetesObject, spec: JobSpec, now_ns: int
    ) -> Iterable[ControllerAction]:
        ended = [*self._memory.ended.pop(job.key, {}).values()]
        if finished_condition(job) is not None:
            self._forget(job.key)
            return self._release_counted(job.key, ended)
        actions: Actions = []
        status: Document = dict(section(job, "status"))
        found = self._lister.controlled_by(job.uid, POD)
        pods = cast(list[Pod], [found[key] for key in sorted(found)])
        unmatched = self._unmatched_pods(job, pods)
        if unmatched:
            actions.extend(self._releases_of_unmatched(job, unmatched))
            removed = {pod.uid for pod in unmatched}
            pods = [pod for pod in pods if pod.uid not in removed]
            ended = [each for each in ended if each.uid not in removed]
        counts = count_pods(pods, spec, status, ended)
        if spec.is_indexed and spec.backoff_limit_per_index is not None:
            # Pods that are deleted because the job fails do not fail their index.
            fails = condition_among(job, ("FailureTarget",)) is not None
            known = str(status.get("failedIndexes", ""))
            counts.failed_indexes = failed_indexes(spec, known, () if fails else ended)
        else:
            self._back_off(job.key, ended, now_ns)
        if "startTime" not in status and not spec.suspend:
            status["startTime"] = timestamp_text(now_ns)
        finishing = finishing_condition(job, spec, status, counts, now_ns)
        is_going_on = finishing is None and job.metadata.deletion_timestamp is None
        last = self._last_failures(spec, counts, ended) if is_going_on else {}
        actions.extend(self._release_counted(job.key, ended, last.values()))
        if finishing is not None:
            if finishing["type"] == "SuccessCriteriaMet":
                # Pods that are no longer needed do not count as failures.
                actions.extend(action for pod in counts.active for action in self._release(pod))
            actions.extend(self._deletions(job, counts.active))
            counts.terminating += len(counts.active)
            counts.active = []
        elif is_going_on:
            actions.extend(self._manage(job, spec, counts, last, now_ns))
            if is_complete(spec, counts):
                finishing = job_condition(
                    "SuccessCriteriaMet", "CompletionsReached", _REACHED_MESSAGE, now_ns
                )
            else:
                actions.extend(self._suspended_or_resumed(job, spec, status, now_ns))
        elif finishing is None:
            # A job that is being deleted holds no pod.
            actions.extend(action for pod in pods for action in self._release(pod))
        if finishing is not None:
            actions.extend(self._finished(job, finishing, status, counts, now_ns))
        set_status_counts(status, spec, counts)
        return actions + self.status_update(job, status)

    def _last_failures(
        self, spec: JobSpec, counts: JobCounts, ended: Sequence[TerminatedPod]
    ) -> dict[int, TerminatedPod]:
        """Return the failed pods to replace, by index; they are counted with their replacement."""
        if counts.failed_indexes is None:
            return {}
        held = [each for each in ended if self._is_held(each)]
        last = last_failures(spec, held, counts.active, counts.indexes | counts.failed_indexes)
        counts.delayed = sum(1 for each in last.values() if each.action != "Ignore")
        return last

    def _release_counted(
        self, key: str, ended: Iterable[TerminatedPod], delayed: Iterable[TerminatedPod] = ()
    ) -> Actions:
        """Remove the finalizers of counted pods, and keep the delayed ones for a later sync."""
        later = {each.uid: each for each in delayed}
        if later:
            self._memory.ended.setdefault(key, {}).update(later)
        actions: Actions = []
        for each in ended:
            pod = self._lister.get(POD, each.key)
            if each.uid not in later and isinstance(pod, Pod) and pod.uid == each.uid:
                actions.extend(self._release(pod))
        return actions

    def _is_held(self, ended: TerminatedPod) -> bool:
        pod = self._lister.get(POD, ended.key)
        return pod is not None and pod.uid == ended.uid and TRACKING in pod.metadata.finalizers

    def _releases_of_unmatched(
        self, job: KubernetesObject, pods: Iterable[Pod]
    ) -> Iterable[ControllerAction]:
        for pod in pods:
            kept = tuple(each for each in pod.metadata.finalizers if each != TRACKING)
            free = with_metadata(released(pod, job), finalizers=kept)
            yield self.update(free)

    def _back_off(self, key: str, ended: Sequence[TerminatedPod], now_ns: int) -> None:
        known = self._memory.back_off
        record = backoff_after(known.get(key, BackoffRecord()), ended, now_ns)
        if record.failures:
            known[key] = record
        else:
            known.pop(key, None)

    # ------------------------------------------------------------------------- completion

    def _finished(
        self,
        job: KubernetesObject,
        finishing: Document,
        status: Document,
        counts: JobCounts,
        now_ns: int,
    ) -> Actions:
        """Set the final condition once no pod of the job is left.

        Upstream: enactJobFinished
        """
        conditions = conditions_with(status.get("conditions") or (), finishing)
        status["conditions"] = conditions
        if counts.active or counts.terminating:
            return []
        is_success = finishing["type"] == "SuccessCriteriaMet"
        over = job_condition(
            "Complete" if is_success else "Failed",
            finishing["reason"],
            finishing["message"],
            now_ns,
        )
        status["conditions"] = conditions_with(conditions, over)
        self._memory.back_off.pop(job.key, None)
        if is_success:
            status["completionTime"] = timestamp_text(now_ns)
            return [self.event(job, "Completed", "Job completed")]
        reason, message = str(over["reason"]), str(over["message"])
        return [self.warning(job, reason, message)]

    # ------------------------------------------------------------------------------- pods

    def _manage(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        counts: JobCounts,
        last: Mapping[int, TerminatedPod],
        now_ns: int,
    ) -> Actions:
        """Create or delete pods until the desired number is active.

        Upstream: manageJob
        """
        self._schedule_deadline(job, spec, now_ns)
        desired = desired_active(spec, counts)
        surplus = active_pods_for_removal(spec, counts, desired)[:PODS_PER_SYNC_MAX]
        if surplus:
            leaving = {pod.uid for pod in surplus}
            counts.active = [pod for pod in counts.active if pod.uid not in leaving]
            counts.terminating += len(surplus)
            actions: Actions = []
            for pod in surplus:
                # A surplus pod is not a failure: its finalizer is removed before its deletion.
                actions.extend(self._release(pod))
            return [*actions, *self._deletions(job, surplus), *self._requeue_at(job.key, now_ns)]
        if self._memory.rejected.pop(job.key, False):
            return self._requeue_at(job.key, now_ns)  # the next change triggers the retry
        held = counts.terminating if spec.replaces_only_failed else 0
        missing = desired - held - len(counts.active)
        if missing > 0:
            open_ns = self._memory.back_off.get(job.key, BackoffRecord()).ends_ns()
            if open_ns > now_ns:
                self._schedule_sync(job.key, open_ns)
            else:
                count = min(missing, PODS_PER_SYNC_MAX)
                return [
                    *self._new_pods(job, spec, counts, count, last, now_ns),
                    *self._requeue_at(job.key, now_ns),
                ]
        return self._requeue_at(job.key, now_ns)

    def _new_pods(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        counts: JobCounts,
        count: int,
        last: Mapping[int, TerminatedPod],
        now_ns: int,
    ) -> Actions:
        if spec.is_indexed:
            pods = self._new_indexed_pods(job, spec, counts, count, last, now_ns)
        else:
            pods = [self._parsed.pod(job)] * count
        if not pods:
            return []
        self._creation_events.expect(job.key, len(pods))
        # The status counts them as active already, as upstream's does before they are observed.
        counts.active = [*counts.active, *pods]
        if len(pods) == PODS_PER_SYNC_MAX:
            self._schedule_sync(job.key, now_ns + _BATCH_NS)
        return [self.create(pod) for pod in pods]

    def _new_indexed_pods(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        counts: JobCounts,
        count: int,
        last: Mapping[int, TerminatedPod],
        now_ns: int,
    ) -> list[Pod]:
        taken = {index_of(pod, spec.completions) for pod in counts.active} | counts.indexes
        taken |= counts.failed_indexes or set()
        free = list(islice((i for i in range(spec.completions or 0) if i not in taken), count))
        indexes = [index for index in free if retry_ns(last.get(index)) <= now_ns]
        if free and not indexes:
            self._schedule_sync(job.key, min(retry_ns(last.get(index)) for index in free))
        annotations: dict[int, dict[str, str]] = {}
        if counts.failed_indexes is not None:
            annotations = {index: failure_annotations(last.get(index)) for index in indexes}
        return pods_of(job, spec, indexes, annotations)

    def _deletions(self, job: KubernetesObject, pods: Iterable[Pod]) -> Actions:
        actions: Actions = []
        for pod in pods:
            actions.append(self.delete(pod))
            note = f"Deleted pod: {pod.name}"
            actions.append(self.event(job, "SuccessfulDelete", note))
        return actions

    def _suspended_or_resumed(
        self, job: KubernetesObject, spec: JobSpec, status: Document, now_ns: int
    ) -> Actions:
        conditions = status.get("conditions") or ()
        known = [each for each in conditions if each.get("type") == "Suspended"]
        was = bool(known) and known[0].get("status") == "True"
        if spec.suspend == was:
            return []
        verb = "Suspended" if spec.suspend else "Resumed"
        note = f"Job {verb.lower()}"
        new = job_condition("Suspended", f"Job{verb}", note, now_ns)
        new["status"] = "True" if spec.suspend else "False"
        status["conditions"] = conditions_with(conditions, new)
        if spec.suspend:
            # Otherwise the job would be past its deadline when it is resumed.
            status.pop("startTime", None)
        else:
            status["startTime"] = timestamp_text(now_ns)
        return [self.event(job, verb, note)]

    # ---------------------------------------------------------------------- delayed syncs

    def _schedule_sync(self, key: str, due_ns: int) -> None:
        known = self._memory.due_ns.get(key)
        self._memory.due_ns[key] = due_ns if known is None else min(known, due_ns)

    def _schedule_deadline(self, job: KubernetesObject, spec: JobSpec, now_ns: int) -> None:
        if spec.active_deadline_seconds is None or spec.suspend:
            return
        started_ns = timestamp_ns(section(job, "status").get("startTime"))
        begun_ns = now_ns if started_ns is None else started_ns
        self._schedule_sync(job.key, begun_ns + spec.active_deadline_seconds * SECOND_NS)

    def _requeue_at(self, key: str, now_ns: int) -> Actions:
        due_ns = self._memory.due_ns.get(key)
        if due_ns is None:
            return []
        return [self.sync_at(key, max(due_ns, now_ns))]
