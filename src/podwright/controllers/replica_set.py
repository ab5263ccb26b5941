"""Replica sets: as many pods as asked for, whichever they are.

At each look: what the selector matches and nobody controls is adopted, what it no longer
matches is let go; then pods are created or deleted, at most `BURST` at once; then the status
says what there is. All numbers come from a counts that follows every pod, so a look costs the
same for three pods and for three thousand.

Upstream: pkg/controller/replicaset/replica_set.go, replica_set_utils.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podwright.controllers.actions import deletion_by, event_by
from podwright.controllers.adoption import (
    Orphans,
    adopted,
    compiled_selector,
    released,
)
from podwright.controllers.creation_events import CreationEvents
from podwright.controllers.interface import (
    ControllerAction,
    CreateObject,
    PodChange,
    UpdateObject,
)
from podwright.controllers.lister import Lister
from podwright.controllers.pod_counts import PodCounts, PodCriteria
from podwright.controllers.pod_state import deletion_order, is_active
from podwright.controllers.pod_template import PodTemplates, owners_with_priority_class
from podwright.controllers.workload_writes import (
    is_only_status,
    put_status,
    requeue_at,
    spec_of,
    status_of,
    without_zeros,
)
from podwright.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    OwnerReference,
    Pod,
    PriorityClass,
    ReplicaSet,
    Selector,
    timestamp_text,
)
from podwright.store import GroupKind

BURST: Final = 500
"""How many pods are created or deleted at one look (`replicaset.BurstReplicas`)."""

REPLICA_FAILURE: Final = "ReplicaFailure"
POD: Final[GroupKind] = ("", "Pod")
PRIORITY_CLASS: Final[GroupKind] = ("scheduling.k8s.io", "PriorityClass")
REPLICA_SET: Final[GroupKind] = ("apps", "ReplicaSet")


class ReplicaSetController:
    """Keeps the number of pods of each replica set.

    Parameters
    ----------
    lister : Lister
        The cluster.
    """

    name = "replicaset-controller"
    kind = REPLICA_SET
    owner_kind = REPLICA_SET[1]
    kinds: Sequence[GroupKind] = (REPLICA_SET, POD, PRIORITY_CLASS)
    pod_changes = (
        PodChange.METADATA
        | PodChange.TERMINAL
        | PodChange.READY
        | PodChange.ADDED
        | PodChange.DELETED
    )

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._counts: dict[str, PodCounts] = {}
        self._orphans = Orphans(lister, POD)
        self._templates = PodTemplates()
        self._creation_events = CreationEvents()
        # By the key of an owner: why a pod was refused since it was looked at.
        self._refusals: dict[NamespacedName, str] = {}

    # ---------------------------------------------------------------- what differs by kind

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return what an owner selects."""
        assert isinstance(owner, ReplicaSet), f"{owner.kind} is not a ReplicaSet"
        return compiled_selector(owner.spec.selector)

    def counts_of(self, counts: PodCounts) -> Document:
        """Return the counts that only this kind has."""
        return {"terminatingReplicas": counts.terminating}

    def related(self, owner: KubernetesObject) -> Iterable[Pod]:
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

    # ----------------------------------------------------------------------------- changes

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Count pods; look at owners whose numbers changed."""
        if type(new) is Pod or type(old) is Pod:
            return self._pod_changed(old, new)
        if isinstance(new, PriorityClass):
            return (
                owners_with_priority_class(self._lister, self.kind, new.name) if old is None else ()
            )
        if isinstance(old, PriorityClass):
            return ()
        return self._owner_changed(old, new)

    def _owner_changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        if old is not None and (new is None or new.uid != old.uid):
            self._orphans.remove_owner(old)
            self._templates.forget(old)
            self._creation_events.forget(old.key)
            self._refusals.pop(old.key, None)
            if not self._counts.get(old.uid):
                self._counts.pop(old.uid, None)
        if new is None or is_only_status(old, new):
            return ()
        selector = self.selector_of(new)
        rules = PodCriteria(selector, _template_labels(new), _min_ready_seconds(new))
        counts = self._counts.setdefault(new.uid, PodCounts())
        if counts.rules != rules:
            counts.recount(rules, self._pods_of(new.uid))
        self._orphans.put_owner(new, selector)
        return (new.key,)

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Iterable[NamespacedName]:
        """Look at an owner to say that its pods are refused."""
        self._refusals[owner] = message
        return (owner,)

    def _pod_changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Sequence[NamespacedName]:
        now = new.metadata.controller if new is not None else None
        if old is None:
            was = None
        elif new is not None and new.metadata.owner_references is old.metadata.owner_references:
            was = now
        else:
            was = old.metadata.controller
        keys: list[NamespacedName] = []
        if (new is not None and now is None) or (old is not None and was is None):
            keys.extend(self._orphans.changed(old, new))
        if old is not None and was is not None and (now is None or now.uid != was.uid):
            keys.extend(self._let_go(old, was))
        if now is not None and type(new) is Pod and now.kind == self.owner_kind:
            counts = self._counts.get(now.uid)
            if counts is None:
                counts = self._counts[now.uid] = PodCounts()
            key = f"{new.metadata.namespace}/{now.name}"
            if old is None:
                self._creation_events.saw(key, new)
            if counts.put(new):
                keys.append(key)
        return keys

    def _let_go(self, pod: KubernetesObject, owner: OwnerReference) -> Sequence[NamespacedName]:
        """Count a pod no more that its owner has lost."""
        counts = self._counts.get(owner.uid)
        if counts is None or not counts.remove(pod.name):
            return ()
        key = f"{pod.namespace}/{owner.name}"
        if not counts and self._lister.get(self.kind, key) is None:
            del self._counts[owner.uid]
        return (key,)

    # -------------------------------------------------------------------------------- look

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Make and delete pods until there are as many as asked for, and say so."""
        owner = self._lister.get(self.kind, key)
        refusal = self._refusals.pop(key, None)
        if owner is None:
            return []
        counts = self._counts[owner.uid]
        actions = self._creation_events.events(owner, self.name)
        claims = self._claims(owner, counts)
        if claims:
            # What changes hands is counted when it has; that change leads back to here.
            if refusal is not None:
                self._refusals[key] = refusal
            return actions + claims
        # The API server refuses a selector that does not match the template; whoever gets
        # around it would otherwise have pods made and let go without end.
        can_make = counts.rules.selector.matches(counts.rules.labels)
        difference = 0
        if owner.metadata.deletion_timestamp is None and can_make:
            wanted = spec_of(owner).get("replicas")
            difference = counts.active - (1 if wanted is None else int(wanted))
            if refusal is not None:
                pass  # it is tried again when something has changed
            elif difference < 0:
                actions += self._create(owner, min(-difference, BURST))
            elif difference > 0:
                actions += self._delete(owner, min(difference, BURST), now_ns)
        status = self._status(owner, counts, now_ns)
        conditions = _conditions(owner, difference, refusal, now_ns)
        put_status(
            actions,
            owner,
            status | {"conditions": conditions} if conditions else status,
            self.name,
        )
        due_ns = counts.next_available_ns()
        if due_ns is not None:
            actions.append(requeue_at(self.name, key, due_ns))
        return actions

    def _claims(self, owner: KubernetesObject, counts: PodCounts) -> list[ControllerAction]:
        if owner.metadata.deletion_timestamp is not None:
            return []
        actions: list[ControllerAction] = [
            UpdateObject(adopted(pod, owner), "main", self.name)
            for pod in self._orphans.of(owner)
            if isinstance(pod, Pod) and is_active(pod)
        ]
        if counts.strangers:
            selector = counts.rules.selector
            actions += [
                UpdateObject(released(pod, owner), "main", self.name)
                for pod in sorted(self._pods_of(owner.uid), key=_key)
                if not selector.matches(pod.metadata.labels)
            ]
        return actions

    def _create(self, owner: KubernetesObject, count: int) -> list[ControllerAction]:
        self._creation_events.expect(owner.key, count)
        pod = self._templates.pod(owner, spec_of(owner).get("template") or {})
        return [CreateObject(pod, self.name)] * count

    def _delete(self, owner: KubernetesObject, count: int, now_ns: int) -> list[ControllerAction]:
        # Strangers are let go before anything else, so all of them are of the selector.
        pods = [pod for pod in self._pods_of(owner.uid) if is_active(pod)]
        pods = deletion_order(pods, self._ranks(owner, pods), now_ns)
        actions: list[ControllerAction] = []
        for pod in pods[:count]:
            actions.append(deletion_by(self.name, pod))
            actions.append(
                event_by(self.name, owner, "SuccessfulDelete", f"Deleted pod: {pod.name}")
            )
        return actions

    def _ranks(self, owner: KubernetesObject, pods: list[Pod]) -> dict[NamespacedName, int]:
        per_node: dict[str, int] = {}
        for pod in self.related(owner):
            if is_active(pod):
                per_node[pod.spec.node_name] = per_node.get(pod.spec.node_name, 0) + 1
        return {pod.key: per_node.get(pod.spec.node_name, 0) for pod in pods}

    def _pods_of(self, uid: str) -> list[Pod]:
        pods = self._lister.controlled_by(uid, POD).values()
        return [pod for pod in pods if isinstance(pod, Pod)]

    def _status(self, owner: KubernetesObject, counts: PodCounts, now_ns: int) -> Document:
        numbers = {
            "replicas": counts.active,
            "fullyLabeledReplicas": counts.labeled,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.available(now_ns),
            **self.counts_of(counts),
            "observedGeneration": owner.metadata.generation,
        }
        return without_zeros(numbers, ("replicas", "terminatingReplicas"))

    # -------------------------------------------------------------------- writing down

    def state(self) -> dict[str, Any]:
        """Write down which pods have not been mentioned in an Event yet, and what was refused."""
        return {"creations": self._creation_events.state(), "refusals": dict(self._refusals)}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what another one did."""
        self._creation_events.restore(state["creations"])
        self._refusals = dict(state["refusals"])


def _conditions(
    owner: KubernetesObject, difference: int, refusal: str | None, now_ns: int
) -> list[Document]:
    """Return the conditions of an owner: whether it cannot have its pods.

    Deletions are never refused here, so `FailedDelete` does not come.

    Upstream: replica_set_utils.go, calculateStatus
    """
    written: list[Document] = list(status_of(owner).get("conditions") or ())
    known = any(each.get("type") == REPLICA_FAILURE for each in written)
    if refusal is not None and not known:
        failure = {
            "type": REPLICA_FAILURE,
            "status": "True",
            "lastTransitionTime": timestamp_text(now_ns),
            "reason": "FailedCreate",
            "message": refusal,
        }
        return [*written, failure]
    if known and refusal is None and difference >= 0:
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
