"""Garbage collection: what becomes of objects whose owners go.

Theory of operation
-------------------
The collector keeps, by the uid of every owner that is named, who names it. When an owner is
gone, all who name it are looked at, and one that has no other owner left is deleted
(background). An owner that is deleted in the foreground has a finalizer and goes last: its
dependents are deleted first, and it waits for those that block it. An owner that orphans has
another finalizer: its dependents are made to forget it.

An owner of a kind that nobody has ever seen counts as there: it cannot be told from one that
lives elsewhere. Of the kinds that the API server itself serves, one that is not there is gone.

Upstream: pkg/controller/garbagecollector/garbagecollector.go, graph_builder.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from podwright.objects import KubernetesObject, NamespacedName, OwnerReference, api_group
from podwright.store.kinds import RULES, kind_of
from podwright.store.lifecycle import FOREGROUND, ORPHAN
from podwright.world.controllers.contract import (
    EVERY_KIND,
    ControllerAction,
    GroupKind,
    PodPart,
    UpdateObject,
)
from podwright.world.controllers.documents import changed, deletion_by, part, without_finalizer
from podwright.world.controllers.view import View

_SEPARATOR: Final = "|"


class GarbageCollector:
    """Deletes what has lost its owners."""

    name = "garbage-collector-controller"
    kinds: Sequence[GroupKind] = (EVERY_KIND,)
    pod_parts = PodPart.METADATA

    def __init__(self, view: View) -> None:
        self._view = view
        # By the uid of an owner: the places of who names it.
        self._dependents: dict[str, dict[NamespacedName, None]] = {}

    # ---------------------------------------------------------------------- what happens

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Look at dependents of what is gone, at whose owner is gone, at owners that wait."""
        if new is None:
            assert old is not None, "a change of nothing"
            return self._observe_gone(old)
        metadata = new.metadata
        owners = metadata.owner_references
        were = () if old is None else old.metadata.owner_references
        if owners == were and metadata.deletion_timestamp is None:
            return ()
        keys: list[NamespacedName] = []
        if owners != were:
            place = _place(new)
            for reference in were:
                self._unregister(reference.uid, place)
                keys.extend(self._waiting(reference, new))
            for reference in owners:
                self._dependents.setdefault(reference.uid, {})[place] = None
            if any(self._is_gone(reference, new) for reference in owners):
                keys.append(place)
        if (
            metadata.deletion_timestamp is not None
            and (FOREGROUND in metadata.finalizers or ORPHAN in metadata.finalizers)
            and not (
                old is not None
                and old.metadata.deletion_timestamp is not None
                and old.metadata.finalizers == metadata.finalizers
            )
        ):
            keys.append(_place(new))
        return keys

    def _observe_gone(self, old: KubernetesObject) -> Iterable[NamespacedName]:
        place = _place(old)
        keys = sorted(self._dependents.get(old.uid, ()))
        for reference in old.metadata.owner_references:
            self._unregister(reference.uid, place)
            keys.extend(self._waiting(reference, old))
        return keys

    def _unregister(self, uid: str, place: NamespacedName) -> None:
        places = self._dependents.get(uid)
        if places is not None:
            places.pop(place, None)
            if not places:
                del self._dependents[uid]

    def _waiting(self, reference: OwnerReference, dependent: KubernetesObject) -> Iterator[str]:
        """Yield the place of an owner that waits for its dependents to go."""
        owner = self._owner(reference, dependent)
        if owner is not None and _waits(owner):
            yield _place(owner)

    # --------------------------------------------------------------------------- a look

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Do what a deletion asks for, or delete what has no owner left."""
        obj = self._at(key)
        if obj is None:
            return []
        if obj.metadata.deletion_timestamp is None:
            return self._attempted(obj)
        if ORPHAN in obj.metadata.finalizers:
            return self._orphaned(obj)
        if FOREGROUND in obj.metadata.finalizers:
            return self._emptied(obj)
        return []

    def _attempted(self, obj: KubernetesObject) -> list[ControllerAction]:
        """Delete an object that no owner keeps, or make it forget those that are gone.

        Upstream: attemptToDeleteItem
        """
        references = obj.metadata.owner_references
        gone = [each for each in references if self._is_gone(each, obj)]
        waiting = [each for each in references if any(self._waiting(each, obj))]
        if not gone and not waiting:
            return []
        if len(gone) + len(waiting) < len(references):
            return [self._forgetting(obj, {each.uid for each in (*gone, *waiting)})]
        return [deletion_by(self.name, obj, propagation=self._propagation(obj, waiting))]

    def _propagation(
        self, obj: KubernetesObject, waiting: Sequence[OwnerReference]
    ) -> Literal["Background", "Foreground", "Orphan"]:
        if waiting and obj.uid in self._dependents:
            return "Foreground"
        if ORPHAN in obj.metadata.finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in obj.metadata.finalizers else "Background"

    def _orphaned(self, owner: KubernetesObject) -> list[ControllerAction]:
        """Make dependents forget an owner, and let it go.

        Upstream: attemptToOrphanWorker
        """
        actions: list[ControllerAction] = [
            self._forgetting(dependent, {owner.uid}) for dependent in self._dependents_of(owner)
        ]
        return [*actions, self._without(owner, ORPHAN)]

    def _emptied(self, owner: KubernetesObject) -> list[ControllerAction]:
        """Delete the dependents that block an owner, and let it go when there are none.

        Upstream: processDeletingDependentsItem
        """
        blocking = [
            dependent
            for dependent in self._dependents_of(owner)
            if any(
                reference.uid == owner.uid and reference.block_owner_deletion
                for reference in dependent.metadata.owner_references
            )
        ]
        if not blocking:
            return [self._without(owner, FOREGROUND)]
        actions: list[ControllerAction] = []
        for dependent in blocking:
            if dependent.metadata.deletion_timestamp is None:
                actions.extend(self._attempted(dependent))
        return actions

    # ------------------------------------------------------------------------ relations

    def _dependents_of(self, owner: KubernetesObject) -> list[KubernetesObject]:
        found = (self._at(place) for place in sorted(self._dependents.get(owner.uid, ())))
        return [obj for obj in found if obj is not None]

    def _owner(
        self, reference: OwnerReference, dependent: KubernetesObject
    ) -> KubernetesObject | None:
        """Return the owner that is meant: of the dependent's namespace, or of none."""
        kind = (api_group(reference.api_version), reference.kind)
        for key in (f"{dependent.namespace}/{reference.name}", reference.name):
            owner = self._view.get(kind, key)
            if owner is not None and owner.uid == reference.uid:
                return owner
        return None

    def _is_gone(self, reference: OwnerReference, dependent: KubernetesObject) -> bool:
        if self._owner(reference, dependent) is not None:
            return False
        kind = (api_group(reference.api_version), reference.kind)
        return kind in RULES or kind in self._view.kinds()

    def _at(self, place: NamespacedName) -> KubernetesObject | None:
        group, kind, key = place.split(_SEPARATOR)
        return self._view.get((group, kind), key)

    def _forgetting(self, dependent: KubernetesObject, uids: Iterable[str]) -> UpdateObject:
        forgotten = frozenset(uids)
        written = part(dependent, "metadata").get("ownerReferences") or ()
        kept = [each for each in written if each.get("uid") not in forgotten]
        new = changed(dependent, metadata={"ownerReferences": kept or None})
        return UpdateObject(new, "main", self.name)

    def _without(self, owner: KubernetesObject, finalizer: str) -> UpdateObject:
        new = changed(owner, metadata=without_finalizer(owner, finalizer))
        return UpdateObject(new, "main", self.name)

    # ---------------------------------------------------------------------- checkpoints

    def state(self) -> dict[str, Any]:
        """Return nothing: who names whom is in the objects."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember nothing."""


def _place(obj: KubernetesObject) -> NamespacedName:
    group, kind = kind_of(obj)
    return f"{group}{_SEPARATOR}{kind}{_SEPARATOR}{obj.key}"


def _waits(owner: KubernetesObject) -> bool:
    return owner.metadata.deletion_timestamp is not None and FOREGROUND in owner.metadata.finalizers
