"""Stateful sets: pods with stable names and their own claims, created in order.

Each sync processes the ordinals in ascending order: it deletes terminated pods and creates
missing ones. In a set with the policy OrderedReady it stops at the first ordinal that is not
available. It then deletes pods beyond the replicas in descending order. When that is complete,
an update deletes the pods of other revisions in descending order.

Upstream: pkg/controller/statefulset/stateful_set.go, stateful_set_control.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import (
    Document,
    InvalidObject,
    NamespacedName,
    PersistentVolumeClaim,
    Pod,
    StatefulSet,
    aggregated,
    is_ready,
)
from podwright.cluster.controllers.adoption import (
    PodOwnerController,
    adopted,
    compiled_selector,
    pod_from_template,
    released,
    with_labels,
)
from podwright.cluster.controllers.apps.controller_revisions import (
    RevisionNaming,
    Revisions,
    data_of,
    revision_hash,
    template_of_patch,
    template_patch,
    with_nulls,
)
from podwright.cluster.controllers.apps.stateful_pods import (
    StatefulSpec,
    claim_name,
    has_other_controller,
    identity_labels,
    is_stale,
    ordinal_of,
    parent_and_ordinal,
    revision_of,
    stateful_claim,
    stateful_pod,
    stateful_spec,
    with_retention,
)
from podwright.cluster.controllers.interface import Actions, Keys, ReportedWrite, Requests, Version
from podwright.cluster.controllers.kinds import CONTROLLER_REVISION, PVC, STATEFUL_SET
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.pod_state import available_from_ns, is_equivalent
from podwright.cluster.controllers.workload_fields import (
    is_only_status,
    spec_of,
    status_of,
    without_zeros,
)
from podwright.cluster.store import POD

_ENDED: Final = ("Succeeded", "Failed")
_NAMING: Final = RevisionNaming(revision_hash, "controller.kubernetes.io/hash", reads_nulls=True)


class StatefulSetController(PodOwnerController):
    """Maintains the pods and claims of each stateful set.

    A pod has the name of the one before. A kubelet that deletes pods by name only, such as kwok,
    may delete the new pod if it exists too early, so that there can be a delay.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster.
    recreation_delay_ns : int
        How long after the removal of a pod the next one of its set is created.
    """

    name = "statefulset-controller"
    reports_creations = True
    kind = STATEFUL_SET
    kinds = (STATEFUL_SET, POD, PVC)
    owner_kind = STATEFUL_SET[1]

    def __init__(self, lister: Lister, *, recreation_delay_ns: int = 0) -> None:
        super().__init__(lister)
        self._recreation_delay_ns = recreation_delay_ns
        # Not saved: the delay is short.
        self._waits_until: dict[NamespacedName, int | None] = {}

    # ----------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return sets that changed, or whose pods or claims did."""
        changed = self.latest_of(old, new)
        if isinstance(changed, PersistentVolumeClaim):
            return self._claim_deleted(changed) if new is None else ()
        return super().observe(old, new)

    def _owner_changed(self, old: Version, new: Version) -> Keys:
        if old is not None and (new is None or new.uid != old.uid):
            self._orphans.remove_owner(old)
        if not isinstance(new, StatefulSet) or is_only_status(old, new):
            return ()
        self._orphans.put_owner(new, compiled_selector(new.spec.selector))
        return (new.key,)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Keys:
        was = old.metadata.controller if old is not None else None
        now = new.metadata.controller if new is not None else None
        keys: list[NamespacedName] = []
        if was is None or now is None:
            keys += self._orphans.observe(old, new)
        if new is None and old is not None and was is None:
            # A removed orphan may free a name that a set needs.
            parent, ordinal = parent_and_ordinal(old.name)
            keys += [f"{old.namespace}/{parent}"] if ordinal >= 0 else []
        for obj, owner in ((old, was), (new, now)):
            if obj is not None and owner is not None and owner.kind == STATEFUL_SET[1]:
                keys.append(f"{obj.namespace}/{owner.name}")
        if new is None and self._recreation_delay_ns:
            # The next sync, which has the time, replaces None.
            self._waits_until |= dict.fromkeys(keys)
        if keys and old is not None and new is not None and is_equivalent(old, new):
            return ()
        return keys

    def _claim_deleted(self, claim: PersistentVolumeClaim) -> Keys:
        # A stale claim may block an ordinal, and a pod may need its claim recreated.
        parent, ordinal = parent_and_ordinal(claim.name)
        if ordinal < 0:
            return ()
        owners = self._lister.in_namespace(STATEFUL_SET, claim.namespace)
        return sorted(key for key, each in owners.items() if parent.endswith(f"-{each.name}"))

    # -------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create, delete and update the pods of a set, as far as its policy allows."""
        owner = self._lister.get(STATEFUL_SET, key)
        if not isinstance(owner, StatefulSet):
            self._waits_until.pop(key, None)
            return []
        if key in self._waits_until:
            due_ns = self._waits_until[key]
            if due_ns is None:
                due_ns = self._waits_until[key] = now_ns + self._recreation_delay_ns
            if now_ns < due_ns:
                return [self.sync_at(key, due_ns)]
            del self._waits_until[key]
        selector = compiled_selector(owner.spec.selector)
        if not selector.matches(owner.spec.template.metadata.labels):
            # The API server rejects such a selector. Without this check, pods would be created
            # and released endlessly.
            return []
        pods = self._pods_of(owner.uid)
        if owner.metadata.deletion_timestamp is None:
            claims: Actions = [
                self.update(adopted(pod, owner))
                for pod in self._orphans.adoptable_by(owner)
                if parent_and_ordinal(pod.name)[0] == owner.name
            ]
            claims += [
                self.update(released(pod, owner))
                for pod in sorted(pods, key=lambda pod: pod.key)
                if not selector.matches(pod.metadata.labels)
                or parent_and_ordinal(pod.name)[0] != owner.name
            ]
            if claims:
                return claims
        return _Sync(self._lister, self.name, owner, pods, now_ns).actions()


class _Sync(Requests):
    """One sync of one set."""

    def __init__(
        self, lister: Lister, source: str, owner: StatefulSet, pods: list[Pod], now_ns: int
    ) -> None:
        self._lister = lister
        self.name = source
        self._owner = owner
        self._now_ns = now_ns
        self._spec: StatefulSpec = stateful_spec(spec_of(owner))
        self._current_status = status_of(owner)
        by_ordinal = sorted((ordinal_of(pod), pod.key, pod) for pod in pods)
        self._all = [pod for ordinal, _, pod in by_ordinal if ordinal >= 0]
        self._replicas = {o: pod for o, _, pod in by_ordinal if self._spec.includes(o)}
        self._condemned = [
            pod for o, _, pod in reversed(by_ordinal) if o >= 0 and not self._spec.includes(o)
        ]
        data = template_patch(self._spec.template)
        collisions = self._current_status.get("collisionCount") or 0
        initial = self._initial_revision(data, collisions)
        self._revisions = Revisions(lister, owner, data, _NAMING, collisions, source, initial)
        self._update = self._revisions.update_revision
        self._current = self._revisions.named(self._current_status.get("currentRevision", ""))
        self._bases: dict[str, Pod] = {}
        self._out: Actions = list(self._revisions.actions)
        self._updated_claims: set[str] = set()
        self._deleted = 0

    def _initial_revision(self, data: Document, collisions: int) -> tuple[str, int] | None:
        """Return the hash and number of the revision of imported pods, if its data had nulls.

        A dump of a cluster seldom includes its controller revisions. Those of a cluster that was
        older than 1.34 when its pods were created have another hash than the one computed here.
        """
        name = self._current_status.get("updateRevision")
        if not name or self._lister.controlled_by(self._owner.uid, CONTROLLER_REVISION):
            return None
        label = revision_hash(with_nulls(data), collisions)
        return (label, 1) if name == f"{self._owner.name}-{label}" else None

    def actions(self) -> Actions:
        if self._owner.metadata.deletion_timestamp is None:
            try:
                self._step()
            except InvalidObject as error:
                text = f"Create Pod in StatefulSet {self._owner.name} failed error: {error}"
                self._out.append(self.warning(self._owner, "FailedCreate", text))
        status = self._status()
        if status.get("currentReplicas", 0) >= 0:  # the API server rejects any other
            self._out += self.status_update(self._owner, status)
        live = {self._update.name, status["currentRevision"], *map(revision_of, self._all)}
        self._out += self._revisions.truncate_history(live, self._spec.revision_history_limit)
        self._requeue_when_available()
        return self._out

    # ------------------------------------------------------------------------------- steps

    def _step(self) -> None:
        is_ordered = self._spec.is_ordered
        for ordinal in range(self._spec.start, self._spec.start + self._spec.replicas):
            if self._process_replica(ordinal) and is_ordered:
                return
        for pod in self._condemned:
            self._update_claims(pod)
        first = self._first_unavailable()
        for pod in self._condemned:
            if self._process_condemned(pod, first) and is_ordered:
                return
        if not self._spec.is_on_delete:
            self._roll()

    def _process_replica(self, ordinal: int) -> bool:
        """Process one ordinal; return whether an ordered set waits for it.

        Upstream: stateful_set_control.go, processReplica
        """
        pod = self._replicas.get(ordinal)
        if pod is None:
            self._create(ordinal)
            return True
        if pod.status.phase in _ENDED:
            if not pod.is_terminating:
                self._delete(pod)
            return True
        if pod.status.phase in ("", "Pending"):
            self._out += self._new_claims(pod, ordinal)
            self._report_other_controllers(pod, self._claims(ordinal))
            self._update_claims(pod)
        if pod.is_terminating or not self._is_available(pod):
            if not self._spec.is_ordered:
                self._update_identity(pod, ordinal)
            return True
        self._update_identity(pod, ordinal)
        return False

    def _process_condemned(self, pod: Pod, first: Pod | None) -> bool:
        """Delete a pod beyond the replicas; return whether an ordered set waits for it.

        Upstream: stateful_set_control.go, processCondemned
        """
        if pod.is_terminating:
            return True
        # Upstream: an ordered set waits for an unavailable pod, except for its first unhealthy one,
        # which would otherwise block the set forever.
        if self._spec.is_ordered and not self._is_available(pod) and pod is not first:
            return True
        self._delete(pod)
        return True

    def _first_unavailable(self) -> Pod | None:
        pods = [*self._replicas.values(), *reversed(self._condemned)]
        return next((pod for pod in pods if not self._is_healthy(pod)), None)

    def _roll(self) -> None:
        """Delete pods of other revisions, highest ordinal first.

        An unavailable pod of the new revision blocks an update, one of an old revision does not.
        A set with `maxUnavailable` is from a cluster with the gate MaxUnavailableStatefulSet, which
        counts unavailable pods of all revisions.

        Upstream: stateful_set_control.go, updateStatefulSet,
        updateStatefulSetAfterInvariantEstablished
        """
        ordinals = range(self._spec.start, self._spec.start + self._spec.replicas)
        limit = self._spec.max_unavailable
        left = 1
        if limit is not None:
            available = [o for o, pod in self._replicas.items() if self._is_healthy(pod)]
            left = limit - (len(ordinals) - len(available))
        for ordinal in reversed(ordinals):
            if left <= 0 or self._spec.is_below_partition(ordinal):
                return
            pod = self._replicas.get(ordinal)
            if pod is not None and not pod.is_terminating and revision_of(pod) != self._update.name:
                left -= 1
                if pod.status.phase in _ENDED:
                    continue  # _process_replica has deleted it
                self._delete(pod)
                self._deleted += 1
            elif limit is None and (pod is None or not self._is_healthy(pod)):
                return

    # -------------------------------------------------------------------------------- pods

    def _create(self, ordinal: int) -> None:
        pod = self._new_pod(ordinal)
        claims = self._claims(ordinal)
        if self._spec.deletes_scaled_claims and any(is_stale(each, pod.name) for each in claims):
            return  # the stale claim must be removed first
        what = f"Create Pod {pod.name} in StatefulSet {self._owner.name}"
        errors = [
            f"pvc {each.name} is being deleted"
            for each in claims
            if each.metadata.deletion_timestamp is not None
        ]
        if errors:
            self._out += self._new_claims(pod, ordinal)
            text = f"{what} failed error: {aggregated(errors)}"
            self._out.append(self.warning(self._owner, "FailedCreate", text))
            return
        self._report_other_controllers(pod, claims)
        creation = ReportedWrite(
            self.create(pod),
            self.event(self._owner, "SuccessfulCreate", f"{what} successful"),
            self.warning(self._owner, "FailedCreate", f"{what} failed error: "),
            needs=tuple(self._new_claims(pod, ordinal)),
        )
        self._out.append(creation)
        self._update_claims(pod)

    def _new_pod(self, ordinal: int) -> Pod:
        is_current = not self._spec.is_on_delete and self._spec.is_below_partition(ordinal)
        revision = self._current if is_current else self._update
        base = self._bases.get(revision.name)
        if base is None:
            template = template_of_patch(data_of(revision))
            base = self._bases[revision.name] = pod_from_template(self._owner, template)
        return stateful_pod(base, self._owner, self._spec, ordinal, revision.name)

    def _delete(self, pod: Pod) -> None:
        what = f"Delete Pod {pod.name} in StatefulSet {self._owner.name}"
        deletion = ReportedWrite(
            self.delete(pod),
            self.event(self._owner, "SuccessfulDelete", f"{what} successful"),
            self.warning(self._owner, "FailedDelete", f"{what} failed error: "),
        )
        self._out.append(deletion)

    def _update_identity(self, pod: Pod, ordinal: int) -> None:
        """Correct the labels and the claims of a pod.

        Upstream: stateful_pod_control.go, UpdateStatefulPod
        """
        labels = identity_labels(pod.name, ordinal)
        is_updated = not labels.items() <= pod.metadata.labels.items()
        if is_updated:
            self._out.append(self.update(with_labels(pod, labels)))
        if self._update_claims(pod) or is_updated:
            self._record_event(
                "SuccessfulUpdate",
                f"Update Pod {pod.name} in StatefulSet {self._owner.name} successful",
            )

    # ------------------------------------------------------------------------------ claims

    def _claim(self, name: str) -> PersistentVolumeClaim | None:
        found = self._lister.get(PVC, f"{self._owner.namespace}/{name}")
        return found if isinstance(found, PersistentVolumeClaim) else None

    def _claims(self, ordinal: int) -> list[PersistentVolumeClaim]:
        """Return the claims of an ordinal that exist."""
        names = (claim_name(each, self._owner, ordinal) for each in self._spec.claim_templates)
        return [claim for name in names if (claim := self._claim(name)) is not None]

    def _report_other_controllers(self, pod: Pod, claims: Iterable[PersistentVolumeClaim]) -> None:
        """Record an Event about each claim that something else controls.

        Upstream: stateful_pod_control.go, UpdatePodClaimForRetentionPolicy
        """
        for claim in claims:
            if has_other_controller(claim, self._owner, pod, self._spec):
                note = (
                    f"PersistentVolumeClaim {claim.name} has a conflicting OwnerReference that acts"
                    " as a manging controller, the retention policy is ignored for this claim"
                )
                self._out.append(self.warning(self._owner, "ConflictingController", note))

    def _new_claims(self, pod: Pod, ordinal: int) -> Iterator[ReportedWrite]:
        """Yield the creations of the claims of a pod that do not exist.

        Upstream: stateful_pod_control.go, createPersistentVolumeClaims
        """
        for template in self._spec.claim_templates:
            name = claim_name(template, self._owner, ordinal)
            if self._claim(name) is None:
                made = stateful_claim(template, self._owner, self._spec, ordinal)
                # Upstream writes the owner references afterwards.
                made = with_retention(made, self._owner, pod, self._spec)
                place = f"Pod {pod.name} in StatefulSet {self._owner.name}"
                yield ReportedWrite(
                    self.create(made),
                    self.event(
                        self._owner, "SuccessfulCreate", f"Create Claim {name} {place} success"
                    ),
                    self.warning(
                        self._owner,
                        "FailedCreate",
                        f"Create Claim {name} for {place} failed error: ",
                    ),
                    name=f"PVC {name}",
                )

    def _update_claims(self, pod: Pod) -> bool:
        """Set the owner references of a pod's claims as the retention policy requires.

        Returns
        -------
        bool
            Whether a claim is updated that this sync has not updated already.
        """
        is_updated = False
        for template in self._spec.claim_templates:
            claim = self._claim(claim_name(template, self._owner, ordinal_of(pod)))
            if claim is not None:
                kept = with_retention(claim, self._owner, pod, self._spec)
                if kept is not claim and claim.name not in self._updated_claims:
                    is_updated = True
                    self._updated_claims.add(claim.name)
                    self._out.append(self.update(kept))
        return is_updated

    # ------------------------------------------------------------------------------ status

    def _is_available(self, pod: Pod) -> bool:
        if pod.status.phase != "Running":
            return False
        from_ns = available_from_ns(pod, self._spec.min_ready_seconds)
        return from_ns is not None and from_ns <= self._now_ns

    def _is_healthy(self, pod: Pod) -> bool:
        return not pod.is_terminating and self._is_available(pod)

    def _status(self) -> Document:
        """Return the status of the set.

        Upstream: stateful_set_control.go, updateStatus, completeRollingUpdate
        """
        pods = [*self._replicas.values(), *self._condemned]
        there = [pod for pod in pods if not pod.is_terminating]
        is_running = [pod.status.phase == "Running" for pod in pods]
        ready = [pod for pod, runs in zip(pods, is_running, strict=True) if runs and is_ready(pod)]
        current, update = self._current.name, self._update.name
        counts = {
            "observedGeneration": self._owner.metadata.generation,
            "replicas": len(pods),
            "readyReplicas": len(ready),
            # Upstream takes each pod that this sync deletes for one of the current revision.
            "currentReplicas": sum(revision_of(pod) == current for pod in there) - self._deleted,
            "updatedReplicas": sum(revision_of(pod) == update for pod in there),
            "availableReplicas": sum(map(self._is_available, pods)),
        }
        desired = self._spec.replicas
        names = ("updatedReplicas", "readyReplicas", "replicas")
        if not self._spec.is_on_delete and all(counts[name] == desired for name in names):
            counts["currentReplicas"] = counts["updatedReplicas"]
            current = update
        status = without_zeros(counts, ("replicas", "availableReplicas"))
        if self._current_status.get("conditions"):
            status["conditions"] = self._current_status["conditions"]
        return status | {
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": self._revisions.collision_count or 0,
        }

    def _requeue_when_available(self) -> None:
        times = [
            from_ns
            for pod in self._all
            if (from_ns := available_from_ns(pod, self._spec.min_ready_seconds)) is not None
            and from_ns > self._now_ns
        ]
        if times:
            self._out.append(self.sync_at(self._owner.key, min(times)))

    def _record_event(self, reason: str, text: str) -> None:
        self._out.append(self.event(self._owner, reason, text))
