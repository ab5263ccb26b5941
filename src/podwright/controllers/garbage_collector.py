"""Garbage collection: what becomes of objects whose owners go.

Theory of operation
-------------------
The collector knows, by the uid of every owner that is named, who names it: the view says who
is controlled by it, and the others are kept. When an owner is
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
from typing import Any, Final, Literal, NamedTuple

from podwright.api import FOREGROUND, ORPHAN, STRATEGIES, finalizers_without, patched, section
from podwright.controllers.actions import deletion_by
from podwright.controllers.interface import (
    ALL_KINDS,
    ControllerAction,
    GroupKind,
    PodChange,
    UpdateObject,
)
from podwright.controllers.lister import Lister
from podwright.objects import KubernetesObject, NamespacedName, OwnerReference, api_group
from podwright.store import kind_of

_SEPARATOR: Final = "|"


class _OwnerCheck(NamedTuple):
    """What an object was whose only owner was there: its kind, its namespace, its owner."""

    kind: GroupKind
    namespace: str
    owners: tuple[OwnerReference, ...]
    owner_uid: str


_NO_CHECK: Final = _OwnerCheck(("", ""), "", (), "")


class GarbageCollector:
    """Deletes what has lost its owners."""

    name = "garbage-collector-controller"
    kinds: Sequence[GroupKind] = (ALL_KINDS,)
    pod_changes = PodChange.METADATA | PodChange.ADDED | PodChange.DELETED

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        # By the uid of an owner: the object_keys of who names it and is not controlled by it.
        self._uncontrolled_dependents: dict[str, dict[NamespacedName, None]] = {}
        # The kinds of what somebody controls, of which the view knows who does.
        self._controlled: dict[GroupKind, None] = {}
        # The uids of owners that wait for their dependents to go.
        self._waiting: dict[str, None] = {}
        self._last_check = _NO_CHECK

    # ---------------------------------------------------------------------- what happens

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Look at dependents of what is gone, at whose owner is gone, at owners that wait."""
        if new is None:
            assert old is not None, "neither an old nor a new object"
            return self._observe_removal(old)
        metadata = new.metadata
        owners = metadata.owner_references
        if old is None:
            were: tuple[OwnerReference, ...] = ()
        else:
            were = old.metadata.owner_references
            if old.metadata.uid != metadata.uid:
                self._last_check = _NO_CHECK
        keys: list[NamespacedName] = []
        if owners is not were and owners != were and not self._has_checked_owner(new, were):
            keys.extend(self._observe_owners(new, were))
        if metadata.deletion_timestamp is not None:
            keys.extend(self._observe_deletion(old, new))
        return keys

    def _observe_owners(
        self, obj: KubernetesObject, were: Sequence[OwnerReference]
    ) -> Iterator[NamespacedName]:
        """Note whom an object names as its owners now; yield whom to look at because of it."""
        object_key = _object_key(obj)
        for reference in were:
            self._unregister(reference.uid, object_key)
            if reference.uid in self._waiting:
                yield from self._waiting_owners(reference, obj)
        owners, controller = obj.metadata.owner_references, obj.metadata.controller
        for reference in owners:
            if reference is controller:
                self._controlled[kind_of(obj)] = None
            else:
                self._uncontrolled_dependents.setdefault(reference.uid, {})[object_key] = None
        if any(self._is_gone(reference, obj) for reference in owners):
            yield object_key
        elif len(owners) == 1 and owners[0] is controller:
            self._last_check = _OwnerCheck(kind_of(obj), obj.namespace, owners, controller.uid)

    def _has_checked_owner(self, obj: KubernetesObject, were: Sequence[OwnerReference]) -> bool:
        """Whether an object came to the owner of the last one that was kept by its own.

        Then there is nothing to look for: of thousands of pods of one owner, which share its
        reference, this is so for all but the first.
        """
        kept, metadata = self._last_check, obj.metadata
        return (
            metadata.owner_references is kept.owners
            and not were
            and metadata.namespace == kept.namespace
            and kind_of(obj) == kept.kind
        )

    def _observe_deletion(
        self, old: KubernetesObject | None, new: KubernetesObject
    ) -> Sequence[NamespacedName]:
        """Note whether an object waits for its dependents; look at one that does as of now."""
        metadata = new.metadata
        if FOREGROUND in metadata.finalizers:
            self._waiting[metadata.uid] = None
        elif ORPHAN not in metadata.finalizers:
            self._waiting.pop(metadata.uid, None)
            return ()
        if (
            old is not None
            and old.metadata.deletion_timestamp is not None
            and old.metadata.finalizers == metadata.finalizers
        ):
            return ()
        return (_object_key(new),)

    def _observe_removal(self, old: KubernetesObject) -> Sequence[NamespacedName]:
        metadata = old.metadata
        uid = metadata.uid
        if uid == self._last_check.owner_uid:
            self._last_check = _NO_CHECK
        self._waiting.pop(uid, None)
        keys = self._dependent_keys(old)
        if not self._waiting and not self._uncontrolled_dependents:
            return keys
        object_key = _object_key(old)
        for reference in metadata.owner_references:
            self._unregister(reference.uid, object_key)
            if reference.uid in self._waiting:
                keys.extend(self._waiting_owners(reference, old))
        return keys

    def _unregister(self, uid: str, object_key: NamespacedName) -> None:
        object_keys = self._uncontrolled_dependents.get(uid)
        if object_keys is not None:
            object_keys.pop(object_key, None)
            if not object_keys:
                del self._uncontrolled_dependents[uid]

    def _waiting_owners(
        self, reference: OwnerReference, dependent: KubernetesObject
    ) -> Iterator[str]:
        """Yield the object_key of an owner that waits for its dependents to go."""
        owner = self._owner(reference, dependent)
        if owner is not None and _is_deleting_dependents(owner):
            yield _object_key(owner)

    # --------------------------------------------------------------------------- a look

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Do what a deletion asks for, or delete what has no owner left."""
        obj = self._at(key)
        if obj is None:
            return []
        if obj.metadata.deletion_timestamp is None:
            return self._attempt_to_delete(obj)
        if ORPHAN in obj.metadata.finalizers:
            return self._orphan_dependents(obj)
        if FOREGROUND in obj.metadata.finalizers:
            return self._process_deleting_dependents(obj)
        return []

    def _attempt_to_delete(self, obj: KubernetesObject) -> list[ControllerAction]:
        """Delete an object that no owner keeps, or make it forget those that are gone.

        Upstream: attemptToDeleteItem
        """
        references = obj.metadata.owner_references
        gone = [each for each in references if self._is_gone(each, obj)]
        waiting = [each for each in references if any(self._waiting_owners(each, obj))]
        if not gone and not waiting:
            return []
        if len(gone) + len(waiting) < len(references):
            return [self._without_owners(obj, {each.uid for each in (*gone, *waiting)})]
        return [deletion_by(self.name, obj, propagation=self._propagation(obj, waiting))]

    def _propagation(
        self, obj: KubernetesObject, waiting: Sequence[OwnerReference]
    ) -> Literal["Background", "Foreground", "Orphan"]:
        if waiting and self._dependent_keys(obj):
            return "Foreground"
        if ORPHAN in obj.metadata.finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in obj.metadata.finalizers else "Background"

    def _orphan_dependents(self, owner: KubernetesObject) -> list[ControllerAction]:
        """Make dependents forget an owner, and let it go.

        Upstream: attemptToOrphanWorker
        """
        actions: list[ControllerAction] = [
            self._without_owners(dependent, {owner.uid}) for dependent in self._dependents_of(owner)
        ]
        return [*actions, self._without(owner, ORPHAN)]

    def _process_deleting_dependents(self, owner: KubernetesObject) -> list[ControllerAction]:
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
                actions.extend(self._attempt_to_delete(dependent))
        return actions

    # ------------------------------------------------------------------------ relations

    def _dependents_of(self, owner: KubernetesObject) -> list[KubernetesObject]:
        found = (self._at(object_key) for object_key in self._dependent_keys(owner))
        return [obj for obj in found if obj is not None]

    def _dependent_keys(self, owner: KubernetesObject) -> list[NamespacedName]:
        """Return the object_keys of those who name an owner, sorted."""
        uid = owner.metadata.uid
        object_keys = list(self._uncontrolled_dependents.get(uid, ()))
        for kind in self._controlled:
            controlled = self._lister.controlled_by(uid, kind)
            if controlled:
                object_keys.extend(_object_key(obj) for obj in controlled.values())
        object_keys.sort()
        return object_keys

    def _owner(
        self, reference: OwnerReference, dependent: KubernetesObject
    ) -> KubernetesObject | None:
        """Return the owner that is meant: of the dependent's namespace, or of none."""
        kind = (api_group(reference.api_version), reference.kind)
        for key in (f"{dependent.namespace}/{reference.name}", reference.name):
            owner = self._lister.get(kind, key)
            if owner is not None and owner.uid == reference.uid:
                return owner
        return None

    def _is_gone(self, reference: OwnerReference, dependent: KubernetesObject) -> bool:
        if self._owner(reference, dependent) is not None:
            return False
        kind = (api_group(reference.api_version), reference.kind)
        return kind in STRATEGIES or kind in self._lister.kinds()

    def _at(self, object_key: NamespacedName) -> KubernetesObject | None:
        group, kind, key = object_key.split(_SEPARATOR)
        return self._lister.get((group, kind), key)

    def _without_owners(self, dependent: KubernetesObject, uids: Iterable[str]) -> UpdateObject:
        forgotten = frozenset(uids)
        written = section(dependent, "metadata").get("ownerReferences") or ()
        kept = [each for each in written if each.get("uid") not in forgotten]
        new = patched(dependent, metadata={"ownerReferences": kept or None})
        return UpdateObject(new, "main", self.name)

    def _without(self, owner: KubernetesObject, finalizer: str) -> UpdateObject:
        new = patched(owner, metadata=finalizers_without(owner, finalizer))
        return UpdateObject(new, "main", self.name)

    # ---------------------------------------------------------------------- checkpoints

    def state(self) -> dict[str, Any]:
        """Return nothing: who names whom is in the objects."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember nothing."""


def _object_key(obj: KubernetesObject) -> NamespacedName:
    group, kind = kind_of(obj)
    return f"{group}{_SEPARATOR}{kind}{_SEPARATOR}{obj.key}"


def _is_deleting_dependents(owner: KubernetesObject) -> bool:
    return owner.metadata.deletion_timestamp is not None and FOREGROUND in owner.metadata.finalizers
