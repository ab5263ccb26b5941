"""Garbage collection: the deletion of objects whose owners were deleted.

Theory of operation
-------------------
The collector indexes dependents by the uid of their owner: the lister has the controlled ones,
and the collector keeps the others. When an owner is removed, its dependents are synced, and one
without another owner is deleted (background deletion). An owner that is deleted in the foreground
has a finalizer: its dependents are deleted first, and it is removed after those that block it. An
owner that is deleted with the orphan policy has another finalizer: the references to it are
removed from its dependents first.

An object with an owner of an unknown kind stays as it is, because the owner may be an object that
is not part of this cluster's data; and so does one without a namespace that names an owner in one.
An owner of a built-in kind that does not exist counts as removed.

Upstream: pkg/controller/garbagecollector/garbagecollector.go, graph_builder.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    OwnerReference,
    api_group,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import (
    FOREGROUND,
    ORPHAN,
    UpdateObject,
    finalizers_without,
    patched,
    section,
)
from podwright.cluster.controllers.interface import (
    ALL_KINDS,
    Actions,
    Controller,
    Keys,
    PodChange,
    SyncAt,
    Version,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import GroupKind, kind_of

WRITES_MAX: Final = 100
"""The number of dependents that one sync of an owner writes, so that none takes long."""

_SEPARATOR: Final = "|"


class _OwnerCheck(NamedTuple):
    """The last object whose only owner was found to exist."""

    kind: GroupKind
    namespace: str
    owners: tuple[OwnerReference, ...]
    owner_uid: str


_NO_CHECK: Final = _OwnerCheck(("", ""), "", (), "")


class GarbageCollector(Controller):
    """Deletes objects whose owners were deleted."""

    name = "garbage-collector-controller"
    kinds = (ALL_KINDS,)
    pod_changes = PodChange.METADATA | PodChange.ADDED | PodChange.DELETED

    _foreground: Saved[dict[str, bool]]
    _notes: Saved[dict[NamespacedName, list[str]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # The dependents that an owner does not control, by the uid of the owner.
        self._uncontrolled_dependents: dict[str, dict[NamespacedName, None]] = {}
        # The kinds that have controlled objects, whose dependents the lister indexes.
        self._controlled: dict[GroupKind, None] = {}
        # The owners that are being deleted in the foreground: their keys, by uid.
        self._waiting: dict[str, NamespacedName] = {}
        # Those that have been since they were observed, by uid.
        self._foreground = {}
        # The notes of the Events about owners in other namespaces, by the key of the dependent.
        self._notes = {}
        # The objects that name an owner which does not exist, by its uid.
        self._awaited: dict[str, dict[NamespacedName, None]] = {}
        self._last_check = _NO_CHECK

    # ---------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return dependents of removed owners, and owners with a deletion finalizer."""
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
        if metadata.uid in self._awaited and (old is None or old.uid != metadata.uid):
            keys.extend(self._observe_awaited(new))
        return keys

    def _observe_owners(
        self, obj: KubernetesObject, were: Sequence[OwnerReference]
    ) -> Iterator[NamespacedName]:
        """Update the index of dependents; yield the objects to sync."""
        object_key = _object_key(obj)
        for reference in were:
            self._unregister(reference.uid, object_key)
            if reference.uid in self._waiting:
                yield self._waiting[reference.uid]
        owners, controller = obj.metadata.owner_references, obj.metadata.controller
        for reference in owners:
            if reference is controller:
                self._controlled[kind_of(obj)] = None
            else:
                self._uncontrolled_dependents.setdefault(reference.uid, {})[object_key] = None
        missing = [each for each in owners if self._owner(each, obj) is None]
        known = {each.uid for each in were}
        added = (each for each in missing if each.uid not in known)
        misplaced = next((each for each in added if self._is_misplaced(each)), None)
        if misplaced is not None:
            self._note_misplaced(misplaced, obj)
        for each in missing:
            self._awaited.setdefault(each.uid, {})[object_key] = None
        if misplaced is not None or any(self._is_comparable(each, obj) for each in missing):
            yield object_key
        elif len(owners) == 1 and owners[0] is controller:
            self._last_check = _OwnerCheck(kind_of(obj), obj.namespace, owners, controller.uid)

    def _observe_awaited(self, owner: KubernetesObject) -> Iterator[NamespacedName]:
        """Yield the dependents of an added object that are in other namespaces."""
        for object_key in self._awaited.pop(owner.uid, ()):
            dependent = self._at(object_key)
            if dependent is not None and owner.namespace not in ("", dependent.namespace):
                for each in dependent.metadata.owner_references:
                    if each.uid == owner.uid:
                        self._note_misplaced(each, dependent)
                        yield object_key

    def _note_misplaced(self, reference: OwnerReference, dependent: KubernetesObject) -> None:
        """Keep the note of the Event about an owner that exists, but in another namespace.

        Upstream: graph_builder.go, addDependentToOwners, reportInvalidNamespaceOwnerRef
        """
        namespace = dependent.namespace
        identity = (
            f"[{reference.api_version}/{reference.kind}, namespace: {namespace},"
            f" name: {reference.name}, uid: {reference.uid}]"
        )
        note = f'ownerRef {identity} does not exist in namespace "{namespace}"'
        self._notes.setdefault(_object_key(dependent), []).append(note)

    def _has_checked_owner(self, obj: KubernetesObject, were: Sequence[OwnerReference]) -> bool:
        """Whether the owner of an added object is the one that was found to exist last.

        This skips the lookup for all but the first of the thousands of pods that share one
        owner reference.
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
        """Note whether an object is deleted in the foreground; return it if that is new."""
        metadata = new.metadata
        if FOREGROUND in metadata.finalizers:
            self._waiting[metadata.uid] = _object_key(new)
            self._foreground[metadata.uid] = True
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
        self._foreground.pop(uid, None)
        keys = self._dependent_keys(old)
        if not self._waiting and not self._uncontrolled_dependents and not self._awaited:
            return keys
        object_key = _object_key(old)
        for reference in metadata.owner_references:
            self._unregister(reference.uid, object_key)
            if reference.uid in self._waiting:
                keys.append(self._waiting[reference.uid])
        return keys

    def _unregister(self, uid: str, object_key: NamespacedName) -> None:
        for index in (self._uncontrolled_dependents, self._awaited):
            object_keys = index.get(uid)
            if object_keys is not None:
                object_keys.pop(object_key, None)
                if not object_keys:
                    del index[uid]

    # ------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Process the deletion finalizer of an object, or delete it if it has no owner left."""
        obj = self._at(key)
        if obj is None:
            self._notes.pop(key, None)
            return []
        events = self._events_about(obj)
        if obj.metadata.deletion_timestamp is None:
            return [*events, *self._attempt_to_delete(obj)]
        if ORPHAN in obj.metadata.finalizers:
            return [*events, *self._orphan_dependents(obj, now_ns)]
        if FOREGROUND in obj.metadata.finalizers:
            return [*events, *self._process_deleting_dependents(obj, now_ns)]
        return events

    def _events_about(self, obj: KubernetesObject) -> Actions:
        notes = self._notes.pop(_object_key(obj), ())
        return [self.warning(obj, "OwnerRefInvalidNamespace", note) for note in notes]

    def _attempt_to_delete(self, obj: KubernetesObject) -> Actions:
        """Delete an object without an existing owner, or remove the references to removed owners.

        Upstream: attemptToDeleteItem
        """
        references = obj.metadata.owner_references
        if not all(self._is_comparable(each, obj) for each in references):
            return []
        removed = [each for each in references if self._is_removed(each, obj)]
        owners = [(each, self._owner(each, obj)) for each in references]
        waiting = [
            each for each, owner in owners if owner is not None and _is_deleting_dependents(owner)
        ]
        if not removed and not waiting:
            return []
        if len(removed) + len(waiting) < len(references):
            return [self._without_owners(obj, {each.uid for each in (*removed, *waiting)})]
        unblocked = self._unblocked(obj) if waiting else []
        return [
            *unblocked,
            self.delete(obj, propagation=self._propagation(obj, waiting)),
        ]

    def _unblocked(self, obj: KubernetesObject) -> Actions:
        """Let an object block no owner, if a dependent of it is deleted in the foreground too.

        The references may form a circle, of which no object would go.

        Upstream: attemptToDeleteItem, unblockOwnerReferencesStrategicMergePatch
        """
        # Upstream: a node of the graph stays marked once it was deleted in the foreground.
        if not any(each.uid in self._foreground for each in self._dependents_of(obj)):
            return []
        written = section(obj, "metadata").get("ownerReferences") or ()
        if not any(each.get("blockOwnerDeletion") for each in written):
            return []
        free = {"blockOwnerDeletion": False}
        references = [each | free if each.get("blockOwnerDeletion") else each for each in written]
        return [self.update(patched(obj, metadata={"ownerReferences": references}))]

    def _propagation(
        self, obj: KubernetesObject, waiting: Sequence[OwnerReference]
    ) -> Literal["Background", "Foreground", "Orphan"]:
        if waiting and self._dependent_keys(obj):
            return "Foreground"
        if ORPHAN in obj.metadata.finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in obj.metadata.finalizers else "Background"

    def _orphan_dependents(self, owner: KubernetesObject, now_ns: int) -> Actions:
        """Remove the references of dependents to an owner, then the owner's finalizer.

        Upstream: attemptToOrphanWorker
        """
        keys = self._dependent_keys(owner)
        actions: Actions = [
            self._without_owners(dependent, {owner.uid})
            for object_key in keys[:WRITES_MAX]
            if (dependent := self._at(object_key)) is not None
        ]
        if len(keys) > WRITES_MAX:
            return [*actions, self._sync_again(owner, now_ns)]
        return [*actions, self._without(owner, ORPHAN)]

    def _sync_again(self, owner: KubernetesObject, now_ns: int) -> SyncAt:
        return self.sync_at(_object_key(owner), now_ns)

    def _process_deleting_dependents(self, owner: KubernetesObject, now_ns: int) -> Actions:
        """Delete the dependents of an owner; when none blocks it, remove the owner's finalizer.

        Upstream: processTransitions, processDeletingDependentsItem
        """
        dependents = self._dependents_of(owner)
        actions: Actions = []
        for dependent in dependents:
            if len(actions) >= WRITES_MAX:
                return [*actions, self._sync_again(owner, now_ns)]
            if dependent.metadata.deletion_timestamp is None:
                actions += [*self._events_about(dependent), *self._attempt_to_delete(dependent)]
        is_blocked = any(
            reference.uid == owner.uid and reference.block_owner_deletion
            for dependent in dependents
            for reference in dependent.metadata.owner_references
        )
        return actions if is_blocked else [*actions, self._without(owner, FOREGROUND)]

    # ------------------------------------------------------------------------ relations

    def _dependents_of(self, owner: KubernetesObject) -> list[KubernetesObject]:
        found = (self._at(object_key) for object_key in self._dependent_keys(owner))
        return [obj for obj in found if obj is not None]

    def _dependent_keys(self, owner: KubernetesObject) -> list[NamespacedName]:
        """Return the keys of all dependents of an owner, sorted."""
        uid = owner.metadata.uid
        object_keys = list(self._uncontrolled_dependents.get(uid, ()))
        for kind in self._controlled:
            controlled = self._lister.controlled_by(uid, kind)
            object_keys.extend(map(_object_key, controlled.values()))
        object_keys.sort()
        return object_keys

    def _owner(
        self, reference: OwnerReference, dependent: KubernetesObject
    ) -> KubernetesObject | None:
        """Return the referenced owner: in the dependent's namespace, or cluster-scoped."""
        kind = (api_group(reference.api_version), reference.kind)
        for key in (f"{dependent.namespace}/{reference.name}", reference.name):
            owner = self._lister.get(kind, key)
            if owner is not None and owner.uid == reference.uid:
                return owner
        return None

    def _is_misplaced(self, reference: OwnerReference) -> bool:
        """Whether an owner that is not in the namespace of a dependent is in another one."""
        kind = (api_group(reference.api_version), reference.kind)
        owners = (
            self._lister.get(kind, f"{each}/{reference.name}")
            for each in self._lister.namespaces_of(kind)
        )
        return any(owner is not None and owner.uid == reference.uid for owner in owners)

    def _is_removed(self, reference: OwnerReference, dependent: KubernetesObject) -> bool:
        is_present = self._owner(reference, dependent) is not None
        return not is_present and self._is_comparable(reference, dependent)

    def _is_comparable(self, reference: OwnerReference, dependent: KubernetesObject) -> bool:
        """Whether the version of an owner is served, and such an owner may own the dependent.

        Otherwise upstream fails for the dependent, whose other references stay too.

        Upstream: isDangling, namespacedOwnerOfClusterScopedObjectErr
        """
        kind = (api_group(reference.api_version), reference.kind)
        is_built_in = built_in().of(*kind) is not None
        is_known = (
            built_in().find(reference.api_version, reference.kind) is not None
            if is_built_in
            else kind in self._lister.kinds()
        )
        if not is_known:
            return False
        return bool(dependent.namespace) or not built_in().is_namespaced(*kind)

    def _at(self, object_key: NamespacedName) -> KubernetesObject | None:
        group, kind, key = object_key.split(_SEPARATOR)
        return self._lister.get((group, kind), key)

    def _without_owners(self, dependent: KubernetesObject, uids: Iterable[str]) -> UpdateObject:
        forgotten = frozenset(uids)
        written = section(dependent, "metadata").get("ownerReferences") or ()
        kept = [each for each in written if each.get("uid") not in forgotten]
        new = patched(dependent, metadata={"ownerReferences": kept or None})
        return self.update(new)

    def _without(self, owner: KubernetesObject, finalizer: str) -> UpdateObject:
        new = patched(owner, metadata=finalizers_without(owner, finalizer))
        return self.update(new)


def _object_key(obj: KubernetesObject) -> NamespacedName:
    group, kind = kind_of(obj)
    return f"{group}{_SEPARATOR}{kind}{_SEPARATOR}{obj.key}"


def _is_deleting_dependents(owner: KubernetesObject) -> bool:
    return owner.metadata.deletion_timestamp is not None and FOREGROUND in owner.metadata.finalizers
