"""What writes do to objects: created, updated, bound and deleted under the server's metadata.

The storage of every kind, as `rest.Storage` is upstream: it reads the object as it is, works out
the object as it will be (`lifecycle`), and commits the changes to the store.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from typing import cast

from podwright.api.identity import generated_name, uid_at
from podwright.api.kind_strategies import CUSTOM, STRATEGIES, KindStrategy
from podwright.api.lifecycle import (
    Propagation,
    Scope,
    binding_error,
    bound,
    created,
    deletion,
    is_released,
    updated,
)
from podwright.api.preconditions import check, check_body
from podwright.objects import KubernetesObject, NamespacedName, Pod
from podwright.store import (
    POD,
    AlreadyExists,
    Change,
    Conflict,
    KindLike,
    ObjectStore,
    Stored,
    change_of,
    group_kind,
    kind_of,
    with_document,
)


class ResourceStorage:
    """Writes objects of all kinds into one store.

    Parameters
    ----------
    store : ObjectStore
        Where the objects are.
    """

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self._rules = dict(STRATEGIES)

    def define(self, kind: KindLike, rules: KindStrategy) -> None:
        """Set how objects of a custom kind are written."""
        self._rules[group_kind(kind)] = rules

    def create(self, obj: KubernetesObject, now_ns: int) -> Stored:
        """Store a new object, its status included.

        Parameters
        ----------
        obj : KubernetesObject
            With a name or a `generateName`. The server's metadata in it is replaced.
        now_ns : int
            The time of creation.

        Raises
        ------
        AlreadyExists
            There is one of that name.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        store = self.store
        taken = store.keys(kind)
        version = store.resource_version + 1
        name, namespace = obj.metadata.name, obj.metadata.namespace
        if not name:
            prefix = obj.metadata.generate_name
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
            rules=self._rules.get(kind, CUSTOM),
            name=name,
            uid=uid_at(store.seed, version),
            version=version,
            now_ns=now_ns,
        )
        store.commit(change_of(version, kind, key, None, made))
        return Stored(made, version, "created")

    def update(
        self, obj: KubernetesObject, *, scope: Scope = "main", expected: int | None = None
    ) -> Stored:
        """Change an object that is there.

        Parameters
        ----------
        obj : KubernetesObject
            The object as it is to be. A uid in it is a precondition.
        scope : str
            `main` leaves the status as it is where status is a subresource, `status` leaves
            all but the status and metadata, `whole` writes both.
        expected : int, optional
            The version that must be there. Without it the `resourceVersion` in the object
            is meant, and without that the write is unconditional.

        Returns
        -------
        Stored
            `unchanged` if the object is so already; `deleted` if it was being deleted and
            this took its last finalizer.

        Raises
        ------
        NotFound
            There is none of that name.
        Conflict
            It has another version or uid.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        key = obj.key
        current = self.store.require(kind, key)
        check_body(kind, current, obj, expected)
        version = self.store.resource_version + 1
        rules = self._rules.get(kind, CUSTOM)
        new = updated(current, obj, scope=scope, rules=rules, version=version)
        if new is None:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        if is_released(kind, current, new):
            self.store.commit(change_of(version, kind, key, current, None))
            return Stored(new, version, "deleted")
        self.store.commit(change_of(version, kind, key, current, new))
        return Stored(new, version, "updated")

    def bind(
        self,
        key: NamespacedName,
        node: str,
        now_ns: int,
        *,
        uid: str = "",
        expected: int | None = None,
    ) -> Stored:
        """Put a pod on a node, as `pods/binding` does.

        Sets `spec.nodeName` and the condition PodScheduled, clears the nominated node, and
        leaves the generation.

        Raises
        ------
        NotFound
            There is no such pod.
        Conflict
            It has a node, is being deleted, has scheduling gates, or is another pod.
        """
        pod = cast(Pod, self.store.require(POD, key))
        check(POD, pod, uid=uid, expected=expected)
        refusal = binding_error(pod)
        if refusal:
            raise Conflict(POD, key, refusal)
        version = self.store.resource_version + 1
        new = bound(pod, node, now_ns=now_ns, version=version)
        self.store.commit(change_of(version, POD, key, pod, new))
        return Stored(new, version, "updated")

    def delete(
        self,
        kind: KindLike,
        key: NamespacedName,
        now_ns: int,
        *,
        uid: str = "",
        expected: int | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
    ) -> Stored:
        """Delete an object, or begin to.

        An object with finalizers is marked and goes when the last is taken away. A pod with a
        node that has not ended is marked and goes when it is deleted with grace 0.

        Parameters
        ----------
        kind, key
            Which.
        now_ns : int
            When.
        uid, expected
            Preconditions; not given, they hold.
        grace_seconds : int, optional
            How long a pod has to stop; its `terminationGracePeriodSeconds` otherwise.
        propagation : str, optional
            Foreground and Orphan add the finalizers that ask for it, Background takes them away.

        Returns
        -------
        Stored
            `deleted` if it is gone, `updated` if it is now marked, `unchanged` if it was.

        Raises
        ------
        NotFound
            There is none of that name.
        Conflict
            A precondition does not hold.
        """
        kind = group_kind(kind)
        current = self.store.require(kind, key)
        check(kind, current, uid=uid, expected=expected)
        version = self.store.resource_version + 1
        step = deletion(
            kind,
            current,
            rules=self._rules.get(kind, CUSTOM),
            version=version,
            now_ns=now_ns,
            grace_seconds=grace_seconds,
            propagation=propagation,
        )
        changes: list[Change] = []
        last = current
        if step.marked is not None:
            changes.append(change_of(version, kind, key, current, step.marked))
            last = step.marked
        if step.is_removed:
            version = self.store.resource_version + len(changes) + 1
            changes.append(change_of(version, kind, key, last, None))
        if not changes:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        self.store.commit(*changes)
        return Stored(changes[-1].object, version, "deleted" if step.is_removed else "updated")
