"""Replica sets and replication controllers: a stable number of interchangeable pods.

Each sync first adopts the orphans that the selector matches and releases the pods that it no
longer matches. It then creates or deletes pods, at most `BURST` of them, and writes the status.
All numbers come from `PodCounts`, which is updated with every change of a pod, so that the cost
of a sync does not depend on the number of pods.

Upstream: pkg/controller/replicaset/replica_set.go, replica_set_utils.go;
pkg/controller/replicaset/replica_set.go; pkg/controller/replication/replication_controller.go.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    NOTHING,
    Document,
    KubernetesObject,
    NamespacedName,
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicationController,
    Selector,
    labels_as_selector,
)
from podwright.cluster.controllers.adoption import (
    PodOwnerController,
    PodTemplates,
    adopted,
    compiled_selector,
    released,
)
from podwright.cluster.controllers.apps.rollout import REPLICA_FAILURE
from podwright.cluster.controllers.interface import (
    Actions,
    CreationEvents,
    Keys,
    PodChange,
    Version,
)
from podwright.cluster.controllers.kinds import REPLICA_SET, REPLICATION_CONTROLLER
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.pod_state import (
    PodCounts,
    PodCriteria,
    deletion_order,
    is_active,
)
from podwright.cluster.controllers.workload_fields import (
    condition,
    is_only_status,
    spec_of,
    status_of,
    without_zeros,
)
from podwright.cluster.store import POD, GroupKind

BURST: Final = 500
"""How many pods one sync creates or deletes (`replicaset.BurstReplicas`)."""


class ReplicasController(PodOwnerController):
    """Maintains the number of pods of each owner of one kind.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster.

    Attributes
    ----------
    kind : GroupKind
        The kind of the owners; a subclass sets it.
    """

    name: str
    kind: ClassVar[GroupKind]
    owner_kind: str
    kinds: Sequence[GroupKind]
    pod_changes = (
        PodChange.METADATA
        | PodChange.TERMINAL
        | PodChange.READY
        | PodChange.ADDED
        | PodChange.DELETED
    )
    _creation_events: Saved[CreationEvents]
    _rejections: Saved[dict[NamespacedName, str]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._counts: dict[str, PodCounts] = {}
        self._templates = PodTemplates()
        self._creation_events = CreationEvents()
        # Why a pod or its deletion was rejected since the last sync, by the key of the owner.
        self._rejections = {}

    # ---------------------------------------------------------------- differences by kind

    @abstractmethod
    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return the selector of an owner."""

    @abstractmethod
    def extra_counts(self, counts: PodCounts) -> Document:
        """Return the fields of the status that only this kind has."""

    @abstractmethod
    def related_pods(self, owner: KubernetesObject) -> Iterable[Pod]:
        """Return the pods whose distribution over nodes decides which pods to delete first."""

    # ----------------------------------------------------------------------------- changes

    def _owner_changed(self, old: Version, new: Version) -> Keys:
        if old is not None and (new is None or new.uid != old.uid):
            self._orphans.remove_owner(old)
            self._templates.forget(old)
            self._creation_events.forget(old.key)
            self._rejections.pop(old.key, None)
            if not self._counts.get(old.uid):
                self._counts.pop(old.uid, None)
        if new is None:
            return ()
        if is_only_status(old, new):
            return (new.key,) if self._is_other_status(new) else ()
        selector = self.selector_of(new)
        criteria = PodCriteria(selector, _template_labels(new), _min_ready_seconds(new))
        counts = self._counts.setdefault(new.uid, PodCounts())
        if counts.criteria != criteria:
            counts.recount(criteria, self._pods_of(new.uid))
        self._orphans.put_owner(new, selector)
        return (new.key,)

    def _is_other_status(self, owner: KubernetesObject) -> bool:
        """Return whether a status, such as one that a user wrote, disagrees with the pods."""
        counts = self._counts.get(owner.uid)
        return counts is not None and status_of(owner).get("readyReplicas", 0) != counts.ready

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the owner, whose status will report the rejection."""
        self._rejections[owner] = message
        return (owner,)

    def on_delete_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the owner, whose status will report the rejection."""
        return self.on_create_rejected(owner, f"unable to delete pods: {message}")

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Sequence[NamespacedName]:
        now = new.metadata.controller if new is not None else None
        if old is None:
            was = None
        elif new is not None and new.metadata.owner_references is old.metadata.owner_references:
            was = now
        else:
            was = old.metadata.controller
        keys: list[NamespacedName] = []
        if (new is not None and now is None) or (old is not None and was is None):
            keys.extend(self._orphans.observe(old, new))
        if old is not None and was is not None and (now is None or now.uid != was.uid):
            keys.extend(self._remove_from_counts(old, was))
        if now is not None and type(new) is Pod and now.kind == self.owner_kind:
            counts = self._counts.get(now.uid)
            if counts is None:
                counts = self._counts[now.uid] = PodCounts()
            key = f"{new.metadata.namespace}/{now.name}"
            if old is None:
                self._creation_events.observe(key, new)
            if counts.put(new):
                keys.append(key)
        return keys

    def _remove_from_counts(
        self, pod: KubernetesObject, owner: OwnerReference
    ) -> Sequence[NamespacedName]:
        """Remove a pod from the counts of the owner that controlled it."""
        counts = self._counts.get(owner.uid)
        if counts is None or not counts.remove(pod.name):
            return ()
        key = f"{pod.namespace}/{owner.name}"
        if not counts and self._lister.get(self.kind, key) is None:
            del self._counts[owner.uid]
        return (key,)

    # -------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create or delete pods to match `spec.replicas`, and update the status."""
        owner = self._lister.get(self.kind, key)
        rejection = self._rejections.pop(key, None)
        if owner is None:
            return []
        counts = self._counts[owner.uid]
        actions = self._creation_events.events(owner, self.name)
        ownership_changes = self._adoptions_and_releases(owner, counts)
        if ownership_changes:
            # The counts change when the pods do, and that change requeues the owner.
            if rejection is not None:
                self._rejections[key] = rejection
            return actions + ownership_changes
        # The API server rejects a selector that does not match the template. Without this
        # check, an owner that bypassed it would create and release pods endlessly.
        can_create = counts.criteria.selector.matches(counts.criteria.labels)
        difference = 0
        if owner.metadata.deletion_timestamp is None and can_create:
            desired = spec_of(owner).get("replicas")
            difference = counts.active - (1 if desired is None else int(desired))
            if rejection is not None:
                pass  # the next change of the owner or its pods triggers the retry
            elif difference < 0:
                actions += self._create(owner, min(-difference, BURST))
            elif difference > 0:
                actions += self._delete(owner, min(difference, BURST), now_ns)
        status = self._status(owner, counts, now_ns)
        conditions = _conditions(owner, difference, rejection, now_ns)
        if conditions:
            status["conditions"] = conditions
        actions += self.status_update(owner, status)
        due_ns = counts.next_available_ns()
        if due_ns is not None:
            actions.append(self.sync_at(key, due_ns))
        return actions

    def _adoptions_and_releases(self, owner: KubernetesObject, counts: PodCounts) -> Actions:
        if owner.metadata.deletion_timestamp is not None:
            return []
        actions: Actions = [
            self.update(adopted(pod, owner))
            for pod in self._orphans.adoptable_by(owner)
            if isinstance(pod, Pod) and is_active(pod)
        ]
        if counts.unmatched:
            selector = counts.criteria.selector
            actions += [
                self.update(released(pod, owner))
                for pod in sorted(self._pods_of(owner.uid), key=_key)
                # Upstream claims no pods that have ended or are terminating.
                if is_active(pod) and not selector.matches(pod.metadata.labels)
            ]
        return actions

    def _create(self, owner: KubernetesObject, count: int) -> Actions:
        self._creation_events.expect(owner.key, count)
        pod = self._templates.pod(owner, spec_of(owner).get("template") or {})
        return [self.create(pod)] * count

    def _delete(self, owner: KubernetesObject, count: int, now_ns: int) -> Actions:
        # Pods that the selector does not match were released before, so all of these match.
        pods = [pod for pod in self._pods_of(owner.uid) if is_active(pod)]
        pods = deletion_order(pods, self._ranks(owner, pods), now_ns)
        return [self.delete_pod(owner, pod) for pod in pods[:count]]

    def _ranks(self, owner: KubernetesObject, pods: list[Pod]) -> dict[NamespacedName, int]:
        per_node: dict[str, int] = {}
        for pod in self.related_pods(owner):
            if is_active(pod):
                per_node[pod.spec.node_name] = per_node.get(pod.spec.node_name, 0) + 1
        return {pod.key: per_node.get(pod.spec.node_name, 0) for pod in pods}

    def _status(self, owner: KubernetesObject, counts: PodCounts, now_ns: int) -> Document:
        numbers = {
            "replicas": counts.active,
            "fullyLabeledReplicas": counts.labeled,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.available(now_ns),
            **self.extra_counts(counts),
            "observedGeneration": owner.metadata.generation,
        }
        return without_zeros(numbers, ("replicas", "terminatingReplicas"))


def _conditions(
    owner: KubernetesObject, difference: int, rejection: str | None, now_ns: int
) -> list[Document]:
    """Return the conditions of an owner, with ReplicaFailure if a create or delete was rejected.

    Upstream: replica_set_utils.go, calculateStatus
    """
    written: list[Document] = list(status_of(owner).get("conditions") or ())
    known = any(each.get("type") == REPLICA_FAILURE for each in written)
    if rejection is not None and not known:
        reason = "FailedDelete" if difference > 0 else "FailedCreate"
        return [*written, condition(REPLICA_FAILURE, "True", reason, rejection, now_ns)]
    if known and rejection is None and not difference:
        return [each for each in written if each.get("type") != REPLICA_FAILURE]
    return written


def _key(pod: Pod) -> NamespacedName:
    return pod.key


def _template_labels(owner: KubernetesObject) -> dict[str, str]:
    template: Document = spec_of(owner).get("template") or {}
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def _min_ready_seconds(owner: KubernetesObject) -> int:
    return int(spec_of(owner).get("minReadySeconds") or 0)


# Replica sets: a stable number of pods of one template.


class ReplicaSetController(ReplicasController):
    """Maintains the number of pods of each replica set."""

    name = "replicaset-controller"
    kind = REPLICA_SET
    owner_kind = REPLICA_SET[1]
    kinds = (REPLICA_SET, POD)

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return the selector of a replica set."""
        assert isinstance(owner, ReplicaSet), f"{owner.kind} is not a ReplicaSet"
        return compiled_selector(owner.spec.selector)

    def extra_counts(self, counts: PodCounts) -> Document:
        """Return the number of terminating pods."""
        return {"terminatingReplicas": counts.terminating}

    def related_pods(self, owner: KubernetesObject) -> Iterable[Pod]:
        """Return the pods of all replica sets that have the same controller.

        Notes
        -----
        Upstream: replica_set.go, getIndirectlyRelatedPods
        """
        controller = owner.metadata.controller
        if controller is None:
            return
        for sibling in self._lister.controlled_by(controller.uid, self.kind).values():
            yield from self._pods_of(sibling.uid)


# Replication controllers: the predecessor of replica sets, with an equality-based selector.


class ReplicationControllerController(ReplicasController):
    """Maintains the number of pods of each replication controller."""

    name = "replication-controller"
    kind = REPLICATION_CONTROLLER
    owner_kind = REPLICATION_CONTROLLER[1]
    kinds = (REPLICATION_CONTROLLER, POD)

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return the selector; without one, the labels of the template."""
        assert isinstance(owner, ReplicationController), (
            f"{owner.kind} is not a ReplicationController"
        )
        template = owner.spec.template
        labels = owner.spec.selector or (template.metadata.labels if template else {})
        return labels_as_selector(labels) if labels else NOTHING

    def extra_counts(self, _counts: PodCounts) -> Document:
        """Return nothing: the status has no further counts."""
        return {}

    def related_pods(self, _owner: KubernetesObject) -> Iterable[Pod]:
        """Return no pods: a replication controller has no controlling owner."""
        return ()
