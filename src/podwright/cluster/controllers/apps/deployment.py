"""Deployments: one replica set per template, and rollouts from the old ones to the new one.

Each sync finds or creates the replica set of the current template. It then scales the replica
sets or takes one step of the rollout (`rollout.py`), and writes the status
(`deployment_status.py`). The changes of the replica sets requeue the deployment.

Upstream: pkg/controller/deployment/deployment_controller.go, sync.go, rolling.go, recreate.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    InvalidObject,
    KubernetesObject,
    NamespacedName,
    Pod,
    ReplicaSet,
    Selector,
    decode_as,
    parse_int64,
    with_fields,
)
from podwright.apimachinery.schema import template_with_defaults
from podwright.cluster.api import DeleteObject, UpdateObject
from podwright.cluster.controllers.adoption import Orphans, adopted, released, selector_of
from podwright.cluster.controllers.apps.controller_revisions import template_hash
from podwright.cluster.controllers.apps.deployment_status import (
    PROGRESSING,
    TEMPLATE_HASH,
    StatusDraft,
    is_complete,
    replica_set_document,
)
from podwright.cluster.controllers.apps.rollout import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REPLICA_FAILURE,
    REVISION,
    REVISION_HISTORY,
    DeploymentSpec,
    Rollout,
    RolloutSet,
    deployment_spec,
    revision_number,
)
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    Keys,
    PodChange,
    ReportedWrite,
    Requests,
    Version,
)
from podwright.cluster.controllers.kinds import DEPLOYMENT, REPLICA_SET
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import (
    is_only_status,
    spec_of,
    status_of,
    with_annotations,
    with_status,
)
from podwright.cluster.store import POD

_NOT_COPIED: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
)
"""Annotations of a deployment that are not copied to its replica sets."""

_HISTORY_MAX_CHARS: Final = 2_000

_CREATE_ERROR: Final = "ReplicaSetCreateError"
_NAME_MAX: Final = 253
_ENDED: Final = ("Succeeded", "Failed")


class DeploymentController(Controller):
    """Rolls out deployments.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster.
    """

    name = "deployment-controller"
    kinds = (DEPLOYMENT, REPLICA_SET, POD)
    owner_kind = REPLICA_SET[1]
    pod_changes = PodChange.TERMINAL | PodChange.DELETED
    reports_creations = True
    _rejections: Saved[dict[NamespacedName, str]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # Why a replica set was rejected since the last sync, by the key of its deployment.
        self._rejections = {}
        self._orphans = Orphans(lister, REPLICA_SET)
        self._parsed: dict[NamespacedName, _ParsedDeployment] = {}

    # ----------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return deployments that changed, or whose replica sets or last old pod did."""
        obj = self.latest_of(old, new)
        if isinstance(obj, Pod):
            return self._pod_changed(old, new)
        if isinstance(obj, ReplicaSet):
            return self._set_changed(old, new)
        return self._deployment_changed(old, new)

    def _deployment_changed(self, old: Version, new: Version) -> Keys:
        if old is not None and (new is None or new.uid != old.uid):
            self._orphans.remove_owner(old)
            self._parsed.pop(old.key, None)
            self._rejections.pop(old.key, None)
        if new is None or is_only_status(old, new):
            return ()
        parsed = self._parsed[new.key] = _ParsedDeployment.of(new)
        self._orphans.put_owner(new, parsed.selector)
        return (new.key,)

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the deployment, whose status will report the rejection."""
        self._rejections[owner] = message
        return (owner,)

    def _set_changed(self, old: Version, new: Version) -> Keys:
        keys: dict[NamespacedName, None] = {}
        for obj in (old, new):
            owner = obj.metadata.controller if obj is not None else None
            if obj is not None and owner is not None and owner.kind == DEPLOYMENT[1]:
                keys[f"{obj.namespace}/{owner.name}"] = None
        return [*keys, *self._orphans.observe(old, new)]

    def _pod_changed(self, old: Version, new: Version) -> Keys:
        """Requeue Recreate deployments when one of their pods terminates.

        Upstream: deployment_controller.go, deletePod
        """
        if not isinstance(old, Pod) or (isinstance(new, Pod) and new.status.phase not in _ENDED):
            return ()
        owner = old.metadata.controller
        if owner is None or owner.kind != REPLICA_SET[1]:
            return ()
        replica_set = self._lister.get(REPLICA_SET, f"{old.namespace}/{owner.name}")
        owner = replica_set.metadata.controller if replica_set is not None else None
        if owner is None or owner.kind != DEPLOYMENT[1]:
            return ()
        key = f"{old.namespace}/{owner.name}"
        deployment = self._lister.get(DEPLOYMENT, key)
        if deployment is None:
            return ()
        strategy: Document = spec_of(deployment).get("strategy") or {}
        return (key,) if strategy.get("type") == "Recreate" else ()

    # -------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Scale the deployment or take the next step of its rollout."""
        deployment = self._lister.get(DEPLOYMENT, key)
        if deployment is None:
            return []
        parsed = self._parsed[key]
        if not parsed.selects_own_pods:
            # The API server rejects such a selector. Without this check, replica sets would be
            # created and released endlessly.
            text = "This deployment does not select its own pods."
            if not spec_of(deployment).get("selector"):
                text = "This deployment is selecting all pods. A non-empty selector is required."
            return [self.warning(deployment, "SelectingAll", text)]
        is_going = deployment.metadata.deletion_timestamp is not None
        ownership_changes = (
            [] if is_going else self._adoptions_and_releases(deployment, parsed.selector)
        )
        if ownership_changes:
            return ownership_changes
        rejection = self._rejections.pop(key, "")
        return _Sync(self._lister, self.name, deployment, parsed.spec, now_ns).actions(rejection)

    def _adoptions_and_releases(self, deployment: KubernetesObject, selector: Selector) -> Actions:
        adoptions: Actions = [
            self.update(adopted(each, deployment))
            for each in self._orphans.adoptable_by(deployment)
        ]
        owned = self._lister.controlled_by(deployment.uid, REPLICA_SET)
        return adoptions + [
            self.update(released(each, deployment))
            for _, each in sorted(owned.items())
            if not selector.matches(each.metadata.labels)
        ]


class _ParsedDeployment(msgspec.Struct, frozen=True):
    """The spec and selector of a deployment, parsed once per generation."""

    spec: DeploymentSpec
    selector: Selector
    selects_own_pods: bool

    @classmethod
    def of(cls, deployment: KubernetesObject) -> _ParsedDeployment:
        spec = deployment_spec(spec_of(deployment))
        selector = selector_of(deployment)
        labels = (spec.template.get("metadata") or {}).get("labels") or {}
        return _ParsedDeployment(spec, selector, selector.matches(labels))


class _Sync(Requests):
    """One sync of one deployment."""

    def __init__(
        self,
        lister: Lister,
        source: str,
        deployment: KubernetesObject,
        spec: DeploymentSpec,
        now_ns: int,
    ) -> None:
        self._lister = lister
        self.name = source
        self._deployment = deployment
        self._now_ns = now_ns
        self._spec = spec
        self._annotations = deployment.metadata.annotations
        self._objects: dict[str, KubernetesObject] = {}
        self._creation: ReportedWrite | None = None
        self._failure: Actions = []
        self._rejection = ""
        collisions = status_of(deployment).get("collisionCount")
        self._collisions: int | None = collisions
        self._draft = StatusDraft(deployment, now_ns, collisions)

    def actions(self, rejection: str) -> Actions:
        """Return the actions; `rejection` is why the new replica set was rejected, if it was."""
        self._rejection = rejection
        rollout = self._rollout()
        is_rolling = False
        cleans_up = False
        if self._deployment.metadata.deletion_timestamp is not None:
            self._sync_new(rollout)
        else:
            self._check_paused_conditions()
            if self._spec.is_paused:
                self._sync_new(rollout)
                rollout.scale()
                cleans_up = True
            elif self._is_being_scaled(rollout):
                pass
            else:
                is_rolling = cleans_up = True
                if not self._roll(rollout):
                    return self._failure
        status = self._draft.finish(rollout, is_rolling=is_rolling)
        writes = [*self._replica_set_updates(rollout)]
        events = [
            self.event(self._deployment, "ScalingReplicaSet", text) for text in rollout.event_notes
        ]
        deletions: list[DeleteObject] = []
        if cleans_up and (self._spec.is_paused or is_complete(rollout, status)):
            deletions = [self.delete(self._objects[each.name]) for each in rollout.excess_history()]
        actions: Actions = [*writes, *events, *deletions, *self._status_update(status)]
        if self._creation is not None:
            # Upstream: nothing follows a creation that is rejected.
            actions = [msgspec.structs.replace(self._creation, then=tuple(actions))]
        due_ns = self._draft.deadline_ns(rollout, status) if is_rolling else None
        if due_ns is not None:
            actions.append(self.sync_at(self._deployment.key, due_ns))
        return actions

    def _failed(self, text: str) -> Actions:
        """Return the update of the status of a deployment whose replica set is rejected.

        Upstream: sync.go, getNewReplicaSet
        """
        if self._spec.progress_deadline_seconds is not None:
            self._draft.set(PROGRESSING, "False", _CREATE_ERROR, text)
        conditions = {"conditions": self._draft.conditions} if self._draft.conditions else {}
        return [*self._status_update(self._draft.current | conditions)]

    def _is_being_scaled(self, rollout: Rollout) -> bool:
        self._sync_new(rollout)
        if not rollout.is_scaling_event:
            return False
        rollout.scale()
        return True

    def _roll(self, rollout: Rollout) -> bool:
        """Take one step of the rollout; False if the new replica set is rejected."""
        if not self._spec.is_recreate:
            if rollout.new is None and not self._make_new(rollout):
                return False
            rollout.roll()
            return True
        if rollout.scale_down_old() or self._are_old_pods_running(rollout):
            return True
        if rollout.new is None and not self._make_new(rollout):
            return False
        assert rollout.new is not None, "no new replica set"
        rollout.resize(rollout.new, self._spec.replicas)
        return True

    def _check_paused_conditions(self) -> None:
        """Set the condition Progressing when a rollout is paused or resumed.

        Upstream: sync.go, checkPausedConditions
        """
        if self._spec.progress_deadline_seconds is None:
            return
        present = self._draft.condition(PROGRESSING)
        reason = present.get("reason") if present is not None else None
        if reason == "ProgressDeadlineExceeded":
            return
        if self._spec.is_paused and reason != "DeploymentPaused":
            self._draft.set(PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused")
        elif not self._spec.is_paused and reason == "DeploymentPaused":
            self._draft.set(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed")

    # ------------------------------------------------------------------------ replica sets

    def _rollout(self) -> Rollout:
        """Return the current replica sets; the one with the deployment's template is the new one.

        Upstream: pkg/controller/deployment/util/deployment_util.go, FindNewReplicaSet. The oldest
        match wins.
        """
        new: RolloutSet | None = None
        old = []
        owned = self._lister.controlled_by(self._deployment.uid, REPLICA_SET).values()
        for obj in sorted(owned, key=_age):
            each = _as_rollout_set(obj)
            self._objects[each.name] = obj
            template = spec_of(obj).get("template") or {}
            if new is None and same_template(template, self._spec.template):
                new = each
            else:
                old.append(each)
        reported = status_of(self._deployment).get("replicas") or 0
        return Rollout(self._spec, new, old, reported=reported)

    def _sync_new(self, rollout: Rollout) -> None:
        """Update the replica set of the current template, if it exists.

        Upstream: sync.go, getNewReplicaSet
        """
        new = rollout.new
        if new is None:
            return
        self._set_annotations(new, self._next_revision(rollout))
        new.min_ready_seconds = self._spec.min_ready_seconds
        self._set_revision(new)
        has_deadline = self._spec.progress_deadline_seconds is not None
        if has_deadline and self._draft.condition(PROGRESSING) is None:
            text = f'Found new replica set "{new.name}"'
            self._draft.set(PROGRESSING, "True", "FoundNewReplicaSet", text)

    def _make_new(self, rollout: Rollout) -> bool:
        name, label = self._free_name()
        new = RolloutSet(name, "", 0, {}, min_ready_seconds=self._spec.min_ready_seconds)
        rollout.new = new
        new.replicas = rollout.new_size()
        self._set_annotations(new, self._next_revision(rollout))
        rollout.set_replicas_annotations(new)
        document = replica_set_document(
            self._deployment,
            self._spec,
            name=name,
            label=label,
            replicas=new.replicas,
            annotations=new.annotations,
        )
        failed = f'Failed to create new replica set "{name}": '
        if self._rejection:
            self._failure = self._failed(f"{failed}{self._rejection}")
            return False
        try:
            obj = decode_as(document, ReplicaSet, source=f"ReplicaSet {name}")
        except InvalidObject as error:
            event = self.warning(self._deployment, _CREATE_ERROR, f"{failed}{error}")
            self._failure = [event, *self._failed(event.note)]
            return False
        self._objects[name] = obj
        event = self.warning(self._deployment, _CREATE_ERROR, failed)
        self._creation = ReportedWrite(self.create(obj), None, event)
        if new.replicas:
            rollout.event_notes.append(f"Scaled up replica set {name} from 0 to {new.replicas}")
        self._set_revision(new)
        if self._spec.progress_deadline_seconds is not None:
            text = f'Created new replica set "{name}"'
            self._draft.set(PROGRESSING, "True", "NewReplicaSetCreated", text)
        return True

    def _free_name(self) -> tuple[str, str]:
        """Return the name and hash of a new replica set; each collision increments the count.

        Upstream: sync.go, generateReplicaSetName
        """
        while True:
            label = template_hash(self._spec.template, self._collisions)
            name = f"{self._deployment.name[: _NAME_MAX - 1 - len(label)]}-{label}"
            if self._lister.get(REPLICA_SET, f"{self._deployment.namespace}/{name}") is None:
                return name, label
            self._collisions = (self._collisions or 0) + 1
            self._draft.collision_count = self._collisions

    def _next_revision(self, rollout: Rollout) -> int:
        return max((each.revision for each in rollout.old), default=0) + 1

    def _set_annotations(self, new: RolloutSet, revision: int) -> None:
        """Copy the deployment's annotations, and raise the revision of a set that is not newest.

        Upstream: pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations
        """
        annotations = new.annotations | {
            name: text for name, text in self._annotations.items() if name not in _NOT_COPIED
        }
        before = annotations.get(REVISION)
        if before and parse_int64(before) is None:
            return  # upstream leaves a revision that is not a number
        if revision_number(before) < revision:
            annotations[REVISION] = str(revision)
            if before is not None:
                history = annotations.get(REVISION_HISTORY, "")
                annotations[REVISION_HISTORY] = longer_history(history, before)
        new.annotations = annotations

    def _set_revision(self, new: RolloutSet) -> None:
        revision = new.annotations.get(REVISION, "")
        self._annotations = self._annotations | {REVISION: revision}

    def _are_old_pods_running(self, rollout: Rollout) -> bool:
        """Whether pods of old replica sets are still running.

        Upstream: recreate.go, oldPodsRunning
        """
        for each in rollout.old:
            if each.reported:
                return True
            uid = self._objects[each.name].uid
            for pod in self._lister.controlled_by(uid, POD).values():
                if isinstance(pod, Pod) and pod.status.phase not in _ENDED:
                    return True
        return False

    # ----------------------------------------------------------------------------- writing

    def _replica_set_updates(self, rollout: Rollout) -> Iterable[UpdateObject]:
        for each in rollout.sets:
            obj = self._objects[each.name]
            if not obj.uid:
                continue  # created by this sync
            changed = _with_size(obj, each)
            if changed is not obj:
                yield self.update(changed)

    def _status_update(self, status: Document) -> Iterable[UpdateObject]:
        obj = self._deployment
        if self._annotations != obj.metadata.annotations:
            obj = with_annotations(obj, self._annotations)
        if obj is not self._deployment or status != self._draft.current:
            yield self.update(with_status(obj, status), "status")


# ------------------------------------------------------------------------------ documents


def _age(obj: KubernetesObject) -> tuple[str, str]:
    return (obj.metadata.creation_timestamp or "", obj.name)


def same_template(one: Document, other: Document) -> bool:
    """Whether two templates are equal, ignoring the template hash label.

    Notes
    -----
    A deployment of a recording can be without defaults, which its new replica sets get.
    Upstream: pkg/controller/deployment/util/deployment_util.go, EqualIgnoreHash
    """
    if _metadata_without_hash(one) != _metadata_without_hash(other):
        return False
    if (one.get("spec") or {}) == (other.get("spec") or {}):
        return True
    complete, other_complete = template_with_defaults(one), template_with_defaults(other)
    return bool(complete.get("spec") == other_complete.get("spec"))


def _metadata_without_hash(template: Document) -> Document:
    metadata: Document = template.get("metadata") or {}
    plain = {name: value for name, value in metadata.items() if value and name != "labels"}
    labels = metadata.get("labels") or {}
    plain["labels"] = {name: text for name, text in labels.items() if name != TEMPLATE_HASH}
    return plain


def _as_rollout_set(obj: KubernetesObject) -> RolloutSet:
    spec, status = spec_of(obj), status_of(obj)
    replicas = spec.get("replicas")
    metadata = obj.metadata
    return RolloutSet(
        name=metadata.name,
        created=metadata.creation_timestamp or "",
        replicas=1 if replicas is None else int(replicas),
        annotations=metadata.annotations,
        reported=status.get("replicas") or 0,
        ready=status.get("readyReplicas") or 0,
        available=status.get("availableReplicas") or 0,
        terminating=status.get(
            "terminatingReplicas", None if status.get("observedGeneration") else 0
        ),
        min_ready_seconds=spec.get("minReadySeconds") or 0,
        is_observed=metadata.generation <= (status.get("observedGeneration") or 0),
        is_terminating=metadata.deletion_timestamp is not None,
        failure=next(
            (c for c in status.get("conditions") or () if c.get("type") == REPLICA_FAILURE), None
        ),
    )


def _with_size(obj: KubernetesObject, each: RolloutSet) -> KubernetesObject:
    assert isinstance(obj, ReplicaSet), f"{obj.kind} is not a ReplicaSet"
    spec = obj.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    if replicas != each.replicas or spec.min_ready_seconds != each.min_ready_seconds:
        seconds = each.min_ready_seconds
        obj = with_fields(obj, "spec", replicas=each.replicas, min_ready_seconds=seconds)
    if obj.metadata.annotations != each.annotations:
        obj = with_annotations(obj, each.annotations)
    return obj


def longer_history(history: str, revision: str) -> str:
    """Return the former revisions of a replica set with one more; the oldest make room for it.

    Upstream: pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations
    """
    if not history.partition(",")[0]:
        return revision
    longer = f"{history},{revision}"
    while len(longer) > _HISTORY_MAX_CHARS and "," in longer:
        longer = longer.partition(",")[2]
    return longer if len(longer) <= _HISTORY_MAX_CHARS else history
