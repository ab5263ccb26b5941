"""The storage of all kinds: create, update, bind and delete.

As `registry.Store` upstream, each operation reads the current object, checks the preconditions,
computes the next version (`create_update`, `deletion`, `binding`), and commits it to the store.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from typing import Literal

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, Pod
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.create_update import OwnersOf, Scope, Validate, created, updated
from podwright.cluster.api.deletion import Propagation, deletion, is_released
from podwright.cluster.api.identity import generated_name, uid_at
from podwright.cluster.api.pods.binding import Binding, bound
from podwright.cluster.api.preconditions import check_version, other_value
from podwright.cluster.api.stored_sizes import SIZE_MAX_BYTES, storable
from podwright.cluster.api.strategies.kinds import strategy_of
from podwright.cluster.api.versions.resources import plural_of
from podwright.cluster.store import (
    POD,
    AlreadyExists,
    Change,
    GroupKind,
    ObjectStore,
    Stored,
    at_version,
    change_of,
    kind_of,
    with_document,
)


class ResourceStorage:
    """Writes objects of all kinds into one store.

    Parameters
    ----------
    store : ObjectStore
        The stored objects.
    limits_sizes : bool
        Whether objects that etcd would not store raise `TooLarge`. Callers that compute new objects
        from requests limit the sizes by `storable` themselves.
    """

    def __init__(self, store: ObjectStore, *, limits_sizes: bool = False) -> None:
        self.store = store
        self._limits_sizes = limits_sizes and store.keeps_encodings

    def _commit(
        self,
        version: int,
        kind: GroupKind,
        key: NamespacedName,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
    ) -> None:
        """Commit a change; see `limits_sizes`."""
        if self._limits_sizes and new is not None:
            encodings, raw = self.store.encodings, new.raw
            if encodings.size_of(raw) > SIZE_MAX_BYTES:
                encodings.forget(raw)
                # The managed fields are in the document only.
                raw["metadata"] = storable(raw, is_custom=built_in().of(*kind) is None)["metadata"]
        self.store.commit(change_of(version, kind, key, old, new))

    def create(
        self,
        obj: KubernetesObject,
        now_ns: int,
        *,
        uid: str = "",
        owners: list[Document] | None = None,
        is_restored: bool = False,
        is_dry_run: bool = False,
    ) -> Stored:
        """Store a new object, its status included.

        Parameters
        ----------
        obj : KubernetesObject
            An object with a name or a `generateName`. The server replaces its own metadata.
        now_ns : int
            The time of creation.
        uid : str
            The uid, if it was drawn for the request; otherwise it is drawn here.
        owners : list of dict, optional
            The managed fields, if they are kept and the object does not have them.
        is_restored : bool
            Whether the object keeps its creation time and its generation.
        is_dry_run : bool
            Whether nothing is stored.

        Raises
        ------
        AlreadyExists
            An object of that name exists.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        store, metadata = self.store, obj.metadata
        version = store.resource_version + 1
        name, namespace = metadata.name, metadata.namespace
        if not name:
            prefix, taken = metadata.generate_name, store.keys(kind)
            assert prefix, f"{kind[1]}: neither name nor generateName"
            name = generated_name(
                prefix, namespace=namespace, taken=taken, seed=store.seed, version=version
            )
        key = f"{namespace}/{name}" if namespace else name
        present = store.get(kind, key)
        if present is not None:
            is_terminating = present.metadata.deletion_timestamp is not None
            raise AlreadyExists(kind, key, is_terminating=is_terminating)
        made = created(
            obj,
            strategy=strategy_of(kind),
            name=name,
            uid=uid or uid_at(store.seed, version),
            version=version,
            now_ns=now_ns,
            owners=owners,
            is_restored=is_restored,
        )
        if not is_dry_run:
            self._commit(version, kind, key, None, made)
        return Stored(made, version, "created")

    def update(
        self,
        obj: KubernetesObject,
        *,
        scope: Scope = "main",
        validate: Validate | None = None,
        owners_of: OwnersOf | None = None,
    ) -> Stored:
        """Update an existing object.

        Parameters
        ----------
        obj : KubernetesObject
            The new object. Its uid and its `resourceVersion`, if set, are preconditions.
        scope : str
            `main` keeps the status where it is a subresource, `status` keeps everything but
            the status and metadata, `whole` replaces both.
        validate : callable, optional
            Raises if the new version, given first, is not a valid successor of the stored one.
        owners_of : callable, optional
            Computes the managed fields, which are otherwise those of the object.

        Returns
        -------
        Stored
            `unchanged` if nothing differs; `deleted` if the update removed the last finalizer
            of a terminating object.

        Raises
        ------
        NotFound
            The object does not exist.
        Rejection
            The stored object has another version or uid.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        key = obj.key
        current = self.store.require(kind, key)
        sent, was = obj.metadata, current.metadata
        if sent.uid and sent.uid != was.uid:
            raise other_value(kind, key, "UID", sent.uid, was.uid)
        if sent.resource_version != was.resource_version:
            plural, found = plural_of(kind), was.resource_version
            check_version(kind[0], plural, current.name, sent.resource_version, found)
        version = self.store.resource_version + 1
        new = updated(
            current,
            obj,
            scope=scope,
            strategy=strategy_of(kind),
            version=version,
            keeps_owners=owners_of is not None,
        )
        if new is None:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        if validate is not None:
            validate(new, current)
        if owners_of is not None:
            owners = owners_of(current, new)
            if owners:
                new.raw["metadata"]["managedFields"] = owners
            else:
                new.raw["metadata"].pop("managedFields", None)
        return self._commit_update(kind, key, current, new, version)

    def replace(
        self, current: KubernetesObject, new: KubernetesObject, *, is_dry_run: bool = False
    ) -> Stored:
        """Replace a stored object by a new version that is complete but for its version number.

        Parameters
        ----------
        current : KubernetesObject
            The stored object.
        new : KubernetesObject
            The new object, with all of its metadata and the version of the stored one.
        is_dry_run : bool
            Whether nothing is stored.

        Returns
        -------
        Stored
            As `update`.
        """
        if new.raw == current.raw:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        version = self.store.resource_version + 1
        if is_dry_run:
            return Stored(new, version, "updated")
        kind, key, new = kind_of(current), current.key, at_version(new, version)
        return self._commit_update(kind, key, current, new, version)

    def _commit_update(
        self,
        kind: GroupKind,
        key: NamespacedName,
        current: KubernetesObject,
        new: KubernetesObject,
        version: int,
    ) -> Stored:
        is_last = is_released(kind, current, new)
        after = None if is_last else new
        self._commit(version, kind, key, current, after)
        return Stored(new, version, "deleted" if is_last else "updated")

    def bind(
        self,
        pod: Pod,
        binding: Binding,
        now_ns: int,
        *,
        in_go_form: bool = False,
        is_dry_run: bool = False,
    ) -> Stored:
        """Bind a stored pod to a node, as `pods/binding` does.

        This sets `spec.nodeName` and the condition PodScheduled, and clears the nominated node.
        The generation does not change.
        """
        version = self.store.resource_version + 1
        new = bound(pod, binding, now_ns=now_ns, version=version, in_go_form=in_go_form)
        if is_dry_run:
            return Stored(new, version, "updated")
        before = pod.raw.get("spec")
        if self.store.keeps_encodings and before and "nodeName" not in before:
            self.store.encodings.keep_extended(new.raw, "spec", before, "nodeName")
        self._commit(version, POD, pod.key, pod, new)
        return Stored(new, version, "updated")

    def delete(
        self,
        current: KubernetesObject,
        now_ns: int,
        *,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
        is_dry_run: bool = False,
    ) -> Stored:
        """Delete a stored object, or mark it as terminating.

        An object with finalizers is marked, and removed with its last finalizer. A bound pod that
        has not terminated is marked, and removed by a deletion with grace period 0.

        Parameters
        ----------
        current : KubernetesObject
            The stored object.
        now_ns : int
            The time of the request.
        grace_seconds : int, optional
            The grace period of a pod; by default its `terminationGracePeriodSeconds`.
        propagation : str, optional
            Foreground and Orphan add their finalizers, Background removes them.
        is_dry_run : bool
            Whether nothing is stored.

        Returns
        -------
        Stored
            `deleted` if it was removed, `updated` if it was marked, `unchanged` if it was
            marked before.
        """
        kind, key = kind_of(current), current.key
        version = self.store.resource_version + 1
        effect = deletion(
            kind,
            current,
            strategy=strategy_of(kind),
            version=version,
            now_ns=now_ns,
            grace_seconds=grace_seconds,
            propagation=propagation,
        )
        changes: list[Change] = []
        last = current
        if effect.marked is not None:
            changes.append(change_of(version, kind, key, current, effect.marked))
            last = effect.marked
        if effect.is_removed:
            version = self.store.resource_version + len(changes) + 1
            changes.append(change_of(version, kind, key, last, None))
        if not changes:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        outcome: Literal["deleted", "updated"] = "deleted" if effect.is_removed else "updated"
        if is_dry_run:
            last = at_version(last, int(current.metadata.resource_version))
            return Stored(last, version, outcome)
        self.store.commit(*changes)
        return Stored(changes[-1].object, version, outcome)
