"""Jobs: pods that run to completion, each counted exactly once.

Theory of operation
-------------------
Every pod of a job has the finalizer `batch.kubernetes.io/job-tracking` until it is counted: a sync
of the job counts the pods that have it and terminated, or are being deleted, removes it from them,
and creates or deletes pods until the desired number is active. When a job fails, all pods that did
not succeed count as failed. Stages of KWOK remove all finalizers of a pod that is being deleted, so
a terminated pod that another client takes the finalizer from is remembered until it is counted,
which upstream's is not.

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
    active_pods_for_removal,
    backoff_after,
    count_pods,
    delayed_pods,
    desired_active,
    failed_indexes,
    failure_annotations,
    finishing_condition,
    is_complete,
    is_counted,
    is_failed,
    job_condition,
    retry_ns,
    set_status_counts,
)
from podwright.cluster.controllers.batch.job_spec import (
    TRACKING,
    JobSpec,
    ParsedJobs,
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
from podwright.cluster.controllers.kinds import JOB
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD, with_metadata

PODS_PER_SYNC_MAX: Final = 500
_BATCH_NS: Final = SECOND_NS
_REACHED_MESSAGE: Final = "Reached expected number of succeeded pods"
_TOO_MANY_MESSAGE: Final = "Too many succeeded pods running after completion count reached"


class _Memory(msgspec.Struct, kw_only=True):
    """The state between syncs; dictionaries have the keys of jobs. Run folders store it.

    Attributes
    ----------
    ended : dict
        Terminated pods that lost their finalizers before they were counted, by uid.
    due_ns : dict
        When the job is due for the next sync.
    urgent : dict
        Jobs to sync without the batch delay.
    released : dict
        By the uid of a pod: its finalizer was removed by this controller.
    back_off : dict
        The failures since the last success.
    gone : dict
        The uids of removed jobs whose pods still have finalizers.
    orphans : dict
        Pods without a job that have a finalizer, by their keys.
    rejected : dict
        Jobs whose last create was rejected.
    """

    ended: dict[str, dict[str, Pod]] = {}
    due_ns: dict[str, int] = {}
    urgent: dict[str, bool] = {}
    released: dict[str, bool] = {}
    back_off: dict[str, BackoffRecord] = {}
    gone: dict[str, list[str]] = {}
    orphans: dict[str, bool] = {}
    rejected: dict[str, bool] = {}


class JobController(PodOwnerController):
    """Creates the pods of jobs, and counts them."""

    name = "job-controller"
    kind = JOB
    kinds = (JOB, POD)
    owner_kind = JOB[1]
    # Upstream: DefaultJobApiBackOff, MaxJobApiBackOff
    retry_delays_ns = (1_000_000_000, 60_000_000_000)
    _memory: Saved[_Memory]
    _creation_events: Saved[CreationEvents]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._memory = _Memory()
        self._parsed = ParsedJobs()
        self._creation_events = CreationEvents()

    # ---------------------------------------------------------------------------- changes

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Keys:
        pod = self.latest_of(old, new)
        metadata = pod.metadata
        owner = metadata.controller
        if owner is None and new is not None and TRACKING in metadata.finalizers:
            return self._orphan_changed(old, new)
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
        if new is None or TRACKING not in metadata.finalizers:
            was_tracked = old is not None and TRACKING in old.metadata.finalizers
            if not self._memory.released.pop(pod.uid, False) and was_tracked:
                self._remember(key, pod)
        job = self._lister.get(JOB, key)
        if job is None or job.metadata.uid != owner.uid:
            if TRACKING in metadata.finalizers and new is not None:
                self._record_deleted_job(key, owner.uid)
                return (key,)
            return ()
        return (key,)

    def _remember(self, key: NamespacedName, pod: Pod) -> None:
        if pod.is_terminal or pod.is_terminating:
            without = with_metadata(pod, finalizers=())
            self._memory.ended.setdefault(key, {})[pod.uid] = without

    def _orphan_changed(self, old: Pod | None, new: Pod) -> Keys:
        """Return the jobs that may adopt a pod; without any, it loses its finalizer.

        Upstream: handleSingleOrphanPod
        """
        keys = self._orphans.observe(old, new)
        jobs = [self._lister.get(JOB, key) for key in keys]
        if not new.is_terminating and any(job is not None and _may_adopt(job) for job in jobs):
            return keys
        self._memory.orphans[new.key] = True
        return (*keys, new.key)

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
        if not _may_adopt(job):
            return []
        actions: Actions = []
        for orphan in self._orphans.adoptable_by(job):
            kept = (each for each in orphan.metadata.finalizers if each != TRACKING)
            held = with_metadata(adopted(orphan, job), finalizers=(*kept, TRACKING))
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
        """Remove the finalizers of pods whose job was removed, or that have none.

        Upstream: syncOrphanPod
        """
        actions: Actions = []
        if self._memory.orphans.pop(key, False):
            orphan = self._lister.get(POD, key)
            if isinstance(orphan, Pod) and orphan.metadata.controller is None:
                actions.extend(self._release(orphan))
        job = self._lister.get(JOB, key)
        for uid in self._memory.gone.pop(key, ()):
            if job is None or job.uid != uid:
                for _, pod in sorted(self._lister.controlled_by(uid, POD).items()):
                    actions.extend(self._release(cast(Pod, pod)))
        return actions

    def _forget(self, key: str) -> None:
        memory = self._memory
        for entries in (
            memory.ended,
            memory.due_ns,
            memory.urgent,
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

    def _is_tracked(self, pod: Pod) -> bool:
        if TRACKING in pod.metadata.finalizers:
            return pod.uid not in self._memory.released
        owner = pod.metadata.controller
        assert owner is not None, f"{pod.key} has no job"
        return pod.uid in self._memory.ended.get(f"{pod.namespace}/{owner.name}", ())

    def _sync_pods(
        self, job: KubernetesObject, spec: JobSpec, now_ns: int
    ) -> Iterable[ControllerAction]:
        """Count the pods, create or delete some, and write the status.

        Upstream: syncJob
        """
        found = self._lister.controlled_by(job.uid, POD)
        pods = cast(list[Pod], [found[key] for key in sorted(found)])
        if finished_condition(job) is not None:
            self._forget(job.key)
            strange = {pod.uid for pod in self._unmatched_pods(job, pods) if not pod.is_terminating}
            left = (pod for pod in pods if pod.uid not in strange)
            return [action for pod in left for action in self._release(pod)]
        actions: Actions = []
        status: Document = dict(section(job, "status"))
        is_deleted = job.metadata.deletion_timestamp is not None
        unmatched = self._unmatched_pods(job, pods)
        if unmatched:
            if not is_deleted:
                actions.extend(self._releases_of_unmatched(job, unmatched))
            removed = {pod.uid for pod in unmatched}
            pods = [pod for pod in pods if pod.uid not in removed]
        present = {pod.uid for pod in pods}
        ended = self._memory.ended.get(job.key, {})
        gone = [pod for uid, pod in ended.items() if uid not in present]
        pods += gone
        counts = count_pods(pods, spec, status, self._is_tracked)
        counts.terminating -= sum(not pod.is_terminal for pod in gone)
        delayed = dict[int, Pod]()
        if spec.is_indexed and spec.backoff_limit_per_index is not None:
            known = str(status.get("failedIndexes", ""))
            counts.failed_indexes = failed_indexes(spec, known, counts.new_failed)
            delayed = delayed_pods(spec, counts)
        else:
            self._back_off(job.key, counts)
        if "startTime" not in status and not spec.suspend:
            status["startTime"] = timestamp_text(now_ns)
        finishing = finishing_condition(job, spec, status, pods, counts, now_ns)
        surplus = list[Pod]()
        if finishing is not None:
            surplus = counts.active
            counts.remove(surplus)
        else:
            if not is_deleted:
                actions.extend(self._manage(job, spec, counts, delayed, now_ns))
            if is_complete(spec, counts):
                finishing = job_condition(
                    "SuccessCriteriaMet", "CompletionsReached", _REACHED_MESSAGE, now_ns
                )
            elif not is_deleted:
                actions.extend(self._suspended_or_resumed(job, spec, status, now_ns))
        actions.extend(
            self._track(
                job,
                spec,
                status,
                pods,
                counts,
                delayed,
                finishing,
                is_over=is_deleted or bool(finishing),
            )
        )
        actions.extend(self._deletions(job, surplus))
        if finishing is not None:
            actions.extend(self._finished(job, spec, finishing, status, counts, now_ns))
        return actions + self.status_update(job, status)

    def _track(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        status: Document,
        pods: Sequence[Pod],
        counts: JobCounts,
        delayed: Mapping[int, Pod],
        finishing: Document | None,
        *,
        is_over: bool,
    ) -> Actions:
        """Remove the finalizers of terminated pods, and write the counts.

        Upstream: trackJobStatusAndRemoveFinalizers
        """
        fails = finishing is not None and finishing["type"] != "SuccessCriteriaMet"
        uncounted = status.get("uncountedTerminatedPods") or {}
        known = {name: list(uncounted.get(name) or ()) for name in ("succeeded", "failed")}
        total = {name: int(status.get(name, 0)) for name in known}
        kept = {pod.uid for pod in delayed.values()}
        held = set[str]()
        actions: Actions = []
        ended = self._memory.ended.get(job.key, {})
        for pod in pods:
            if not self._is_tracked(pod):
                continue
            is_success, has_failed = pod.status.phase == "Succeeded", is_failed(spec, pod)
            if not is_over and not is_success and (not has_failed or pod.uid in kept):
                held.add(pod.uid)
                continue
            actions.extend(self._release(pod))
            ended.pop(pod.uid, None)
            if is_success:
                total["succeeded"] += pod.uid not in known["succeeded"]
            elif (has_failed or fails) and pod.uid not in known["failed"]:
                has_index = not spec.is_indexed or index_of(pod, spec.completions) is not None
                total["failed"] += has_index and is_counted(spec, pod)
        left = dict[str, list[str]]()
        for name, uids in known.items():
            total[name] += sum(uid not in held for uid in uids)
            if any(uid in held for uid in uids):
                left[name] = [uid for uid in uids if uid in held]
        if spec.is_indexed:
            total["succeeded"] = len(counts.indexes)
        set_status_counts(status, spec, counts, **total)
        status["uncountedTerminatedPods"] = left
        return actions

    def _releases_of_unmatched(
        self, job: KubernetesObject, pods: Iterable[Pod]
    ) -> Iterable[ControllerAction]:
        for pod in pods:
            kept = tuple(each for each in pod.metadata.finalizers if each != TRACKING)
            free = with_metadata(released(pod, job), finalizers=kept)
            yield self.update(free)

    def _back_off(self, key: str, counts: JobCounts) -> None:
        known = self._memory.back_off
        before = known.get(key, BackoffRecord())
        record = backoff_after(before, counts.new_succeeded, counts.new_failed)
        if record.failures:
            known[key] = record
        else:
            known.pop(key, None)

    # ------------------------------------------------------------------------- completion

    def _finished(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        finishing: Document,
        status: Document,
        counts: JobCounts,
        now_ns: int,
    ) -> Actions:
        """Set the final condition once no pod of the job is left.

        Upstream: enactJobFinished, recordJobFinished
        """
        conditions = list(status.get("conditions") or ())
        if finishing not in conditions:
            conditions.append(finishing)
        status["conditions"] = conditions
        if status["uncountedTerminatedPods"] or counts.terminating:
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
        if not is_success:
            return [self.warning(job, str(over["reason"]), str(over["message"]))]
        status["completionTime"] = timestamp_text(now_ns)
        done = self.event(job, "Completed", "Job completed")
        if spec.completions is not None and status.get("succeeded", 0) > spec.completions:
            return [self.warning(job, "TooManySucceededPods", _TOO_MANY_MESSAGE), done]
        return [done]

    # ------------------------------------------------------------------------------- pods

    def _manage(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        counts: JobCounts,
        delayed: Mapping[int, Pod],
        now_ns: int,
    ) -> Actions:
        """Create or delete pods until the desired number is active.

        Upstream: manageJob
        """
        self._schedule_deadline(job, spec, now_ns)
        desired = desired_active(spec, counts)
        surplus = active_pods_for_removal(spec, counts, desired)
        if not spec.suspend:  # upstream suspends a job in one sync
            surplus = surplus[:PODS_PER_SYNC_MAX]
        if surplus:
            counts.remove(surplus)
            actions: Actions = []
            for pod in surplus:
                # A surplus pod is not a failure: its finalizer is removed before its deletion.
                actions.extend(self._release(pod))
            return [*actions, *self._deletions(job, surplus), *self._requeue_at(job.key, now_ns)]
        if self._memory.rejected.pop(job.key, False):
            self._memory.urgent[job.key] = True  # the next sync tries again, and does not wait
            return self._requeue_at(job.key, now_ns)
        held = counts.terminating if spec.replaces_only_failed else 0
        missing = min(desired - held - len(counts.active), PODS_PER_SYNC_MAX)
        if missing <= 0:
            return self._requeue_at(job.key, now_ns)
        if spec.is_indexed:
            pods, open_ns = self._new_indexed_pods(job, spec, counts, missing, delayed, now_ns)
        else:
            open_ns = self._backoff_end_ns(job.key)
            pods = [self._parsed.pod(job)] * missing if open_ns <= now_ns else []
        if pods:
            self._creation_events.expect(job.key, len(pods))
            # The status counts them already, as upstream's does before they are observed.
            counts.active_count += len(pods)
            if len(pods) == PODS_PER_SYNC_MAX:
                self._schedule_sync(job.key, now_ns + _BATCH_NS)
        elif open_ns > now_ns:
            # Upstream reports no active pod while it waits.
            counts.active_count = 0
            self._schedule_sync(job.key, open_ns)
        return [*(self.create(pod) for pod in pods), *self._requeue_at(job.key, now_ns)]

    def _backoff_end_ns(self, key: NamespacedName) -> int:
        return self._memory.back_off.get(key, BackoffRecord()).ends_ns()

    def _new_indexed_pods(
        self,
        job: KubernetesObject,
        spec: JobSpec,
        counts: JobCounts,
        count: int,
        delayed: Mapping[int, Pod],
        now_ns: int,
    ) -> tuple[list[Pod], int]:
        """Return new pods, and the time from which there are some.

        Upstream: firstPendingIndexes, getPodCreationInfoForIndependentIndexes
        """
        failed = counts.failed_indexes
        if failed is None and (open_ns := self._backoff_end_ns(job.key)) > now_ns:
            return [], open_ns
        taken = {index_of(pod, spec.completions) for pod in counts.active} | counts.indexes
        taken |= failed or set()
        if spec.replaces_only_failed:
            leaving = cast(Iterable[Pod], self._lister.controlled_by(job.uid, POD).values())
            taken |= {
                index_of(pod, spec.completions)
                for pod in leaving
                if pod.is_terminating and not pod.is_terminal
            }
        free = list(islice((i for i in range(spec.completions or 0) if i not in taken), count))
        indexes = [index for index in free if retry_ns(delayed.get(index)) <= now_ns]
        open_ns = min((retry_ns(delayed.get(index)) for index in free), default=0)
        annotations: dict[int, dict[str, str]] = {}
        if failed is not None:
            annotations = {i: failure_annotations(spec, delayed.get(i)) for i in indexes}
        return pods_of(job, spec, indexes, annotations), open_ns

    def _deletions(self, job: KubernetesObject, pods: Iterable[Pod]) -> Actions:
        return [self.delete_pod(job, pod) for pod in pods]

    def _suspended_or_resumed(
        self, job: KubernetesObject, spec: JobSpec, status: Document, now_ns: int
    ) -> Actions:
        verb = "Suspended" if spec.suspend else "Resumed"
        note = f"Job {verb.lower()}"
        new = job_condition("Suspended", f"Job{verb}", note, now_ns)
        new["status"] = str(spec.suspend)
        conditions = list(status.get("conditions") or ())
        places = [i for i, each in enumerate(conditions) if each.get("type") == "Suspended"]
        if not places and not spec.suspend:
            return []
        for place in places:
            if all(conditions[place].get(n) == new[n] for n in ("status", "reason", "message")):
                return []
            conditions[place] = new
        status["conditions"] = conditions if places else [*conditions, new]
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


def _may_adopt(job: KubernetesObject) -> bool:
    return job.metadata.deletion_timestamp is None and finished_condition(job) is None
