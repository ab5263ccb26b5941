"""Namespace deletion: the content of a terminating namespace is deleted.

A deleted namespace is Terminating and keeps the finalizer `kubernetes` in its spec until all its
content is removed, its pods first. Meanwhile admission rejects new objects in it.

Upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go,
status_condition_utils.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    timestamp_ns,
)
from podwright.cluster.api import conditions_with, patched, section
from podwright.cluster.controllers.interface import (
    ALL_KINDS,
    Actions,
    Controller,
    Keys,
    PodChange,
    Version,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import condition, number
from podwright.cluster.store import NAMESPACE, POD, GroupKind

FINALIZER: Final = "kubernetes"
DELETIONS_MAX: Final = 100
"""The number of objects that one sync deletes, so that none takes long."""

PASS_NS: Final = 5_000_000_000
"""How long after a pass over more objects than that the next one starts."""

_GRACE: Final = 30
"""The grace period of a pod without one, in seconds."""

_PODS: Final = "/v1, Resource=pods"

NAME_LABEL: Final = "kubernetes.io/metadata.name"

_CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
_FAILURES: Final = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        _CONTENT_FAILURE,
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


class NamespaceController(Controller):
    """Deletes the content of terminating namespaces."""

    name = "namespace-controller"
    kinds = (ALL_KINDS,)
    pod_changes = PodChange.METADATA | PodChange.ADDED | PodChange.DELETED
    _last_pass_ns: Saved[dict[str, int]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._terminating: dict[str, None] = {}
        self.pending_work = self._terminating
        # The content that the current pass has not visited, last one first, by namespace.
        self._unvisited: dict[str, list[tuple[GroupKind, NamespacedName]]] = {}
        self._last_pass_ns = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a namespace that was added, deleted or removed, or whose content changed."""
        obj = self.latest_of(old, new)
        namespace = obj.metadata.namespace
        if namespace:
            return (namespace,) if namespace in self._terminating else ()
        if obj.kind != "Namespace":
            return ()
        if new is None:
            self._terminating.pop(obj.name, None)
            self._unvisited.pop(obj.name, None)
            self._last_pass_ns.pop(obj.name, None)
        elif new.metadata.deletion_timestamp is not None:
            self._terminating[obj.name] = None
        elif old is not None:
            return ()
        return (obj.name,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete the content of a namespace; once it is empty, remove its finalizer."""
        namespace = self._lister.get(NAMESPACE, key)
        if namespace is not None and namespace.metadata.deletion_timestamp is None:
            complete = with_namespace_defaults(namespace)
            return [] if complete is namespace else [self.update(complete, "whole")]
        later_ns = self._next_pass_ns(key, now_ns)
        if later_ns is not None:
            return [self.sync_at(key, later_ns)]
        unvisited = self._unvisited.pop(key, None)
        if unvisited is None:
            self._last_pass_ns[key] = now_ns
            unvisited = [
                (kind, name)
                for kind in self._deleted_kinds(key)
                for name in sorted(self._lister.in_namespace(kind, key))
            ]
            unvisited.reverse()
        actions = self._deletions(unvisited)
        if unvisited:
            self._unvisited[key] = unvisited
            return [*actions, self.sync_at(key, now_ns)]
        if namespace is None:
            if not actions:
                self._last_pass_ns.pop(key, None)
            return actions
        content = {
            kind: objects
            for kind in self._deleted_kinds(key)
            if (objects := _held(self._lister.in_namespace(kind, key).values()))
        }
        if actions and not content:
            return actions  # this sync has deleted all of it
        conditions: Sequence[Document] = section(namespace, "status").get("conditions") or ()
        failure, later = self._failure_of_pods(namespace, content.get(POD, ()), now_ns)
        # Upstream counts what remains only after the pods.
        counted = {} if POD in content else content
        written = _conditions(conditions, counted, failure, now_ns)
        if content:
            if written != list(conditions):
                new = patched(namespace, status={"conditions": written})
                actions.append(self.update(new, "status"))
            return [*actions, *later]
        kept = [
            each for each in section(namespace, "spec").get("finalizers") or () if each != FINALIZER
        ]
        new = patched(namespace, spec={"finalizers": kept or None}, status={"conditions": written})
        return [self.update(new, "whole")]

    def _deleted_kinds(self, key: str) -> Iterable[GroupKind]:
        """Return the kinds to delete now: pods may need the others until they have ended.

        Upstream: namespaced_resources_deleter.go, deleteAllContent
        """
        return (POD,) if self._lister.in_namespace(POD, key) else self._lister.kinds()

    def _next_pass_ns(self, key: str, now_ns: int) -> int | None:
        """Return when the content of a namespace is visited again; None for now.

        Much content is not visited at each of its changes: that would cost its square.
        """
        last_ns = self._last_pass_ns.get(key)
        if key in self._unvisited or last_ns is None or now_ns >= last_ns + PASS_NS:
            return None
        kinds = self._lister.kinds()
        count = sum(self._lister.count_in_namespace(kind, key) for kind in kinds)
        return None if count <= DELETIONS_MAX else last_ns + PASS_NS

    def _failure_of_pods(
        self, namespace: KubernetesObject, pods: Sequence[KubernetesObject], now_ns: int
    ) -> tuple[str, Actions]:
        """Return why pods that are still there are a failure, or when they will be one.

        Upstream looks again each time after half of the grace period and a second.

        Upstream: namespaced_resources_deleter.go, estimateGracefulTermination;
        namespace_controller.go, worker
        """
        if not pods:
            return "", []
        graces = [
            number(section(each, "spec").get("terminationGracePeriodSeconds"), _GRACE)
            for each in pods
            if isinstance(each, Pod) and not each.is_terminal
        ]
        deleted_ns = timestamp_ns(namespace.metadata.deletion_timestamp) or 0
        due_ns = deleted_ns + 2 * (max(graces, default=0) // 2 + 1) * SECOND_NS
        if now_ns < due_ns:
            return "", [self.sync_at(namespace.name, due_ns)]
        if any(each.metadata.finalizers for each in pods):
            return "", []
        text = f"unexpected items still remain in namespace: {namespace.name} for gvr: {_PODS}"
        return f"Failed to delete all resource types, 1 remaining: {text}", []

    def _deletions(self, unvisited: list[tuple[GroupKind, NamespacedName]]) -> Actions:
        """Return the deletions of the next objects, and remove these from the list."""
        actions: Actions = []
        while unvisited and len(actions) < DELETIONS_MAX:
            obj = self._lister.get(*unvisited.pop())
            if obj is not None and obj.metadata.deletion_timestamp is None:
                actions.append(self.delete(obj, propagation="Background"))
        return actions


def with_namespace_defaults(namespace: KubernetesObject) -> KubernetesObject:
    """Return a namespace with the API server's defaults; the same one if it has them.

    Upstream: pkg/registry/core/namespace/strategy.go, PrepareForCreate and Canonicalize
    """
    labels = dict(namespace.metadata.labels)
    if (
        section(namespace, "spec").get("finalizers")
        and labels.get(NAME_LABEL) == namespace.name
        and section(namespace, "status").get("phase")
    ):
        return namespace
    return patched(
        namespace,
        metadata={"labels": {**labels, NAME_LABEL: namespace.name}},
        spec={"finalizers": section(namespace, "spec").get("finalizers") or [FINALIZER]},
        status={"phase": "Active"},
    )


def _held(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """Return the objects that their deletion does not remove at once."""
    return [
        each
        for each in objects
        if each.metadata.deletion_timestamp is not None or each.metadata.finalizers
    ]


def _conditions(
    conditions: Sequence[Document],
    content: dict[GroupKind, list[KubernetesObject]],
    failure: str,
    now_ns: int,
) -> list[Document]:
    """Return the conditions of a terminating namespace."""
    written = list(conditions)
    failed = {_CONTENT_FAILURE: ("True", "ContentDeletionFailed", failure)} if failure else {}
    for type_, reason, message in _FAILURES:
        found = failed.get(type_, ("False", reason, message))
        written = _with(written, type_, *found, now_ns)
    if content:
        counts = ", ".join(
            f"{_resource(group, kind)} has {len(objects)} resource instances"
            for (group, kind), objects in sorted(content.items(), key=_by_resource)
        )
        message = f"Some resources are remaining: {counts}"
        written = _with(
            written, "NamespaceContentRemaining", "True", "SomeResourcesRemain", message, now_ns
        )
    else:
        message = "All content successfully removed"
        written = _with(
            written, "NamespaceContentRemaining", "False", "ContentRemoved", message, now_ns
        )
    holds: dict[str, int] = {}
    for objects in content.values():
        for obj in objects:
            for finalizer in obj.metadata.finalizers:
                holds[finalizer] = holds.get(finalizer, 0) + 1
    remaining = "NamespaceFinalizersRemaining"
    if not holds:
        message = "All content-preserving finalizers finished"
        return _with(written, remaining, "False", "ContentHasNoFinalizers", message, now_ns)
    counts = ", ".join(f"{name} in {holds[name]} resource instances" for name in sorted(holds))
    message = f"Some content in the namespace has finalizers remaining: {counts}"
    return _with(written, remaining, "True", "SomeFinalizersRemain", message, now_ns)


def _with(
    conditions: Sequence[Document], type_: str, status: str, reason: str, message: str, now_ns: int
) -> list[Document]:
    return conditions_with(conditions, condition(type_, status, reason, message, now_ns))


def _by_resource(entry: tuple[GroupKind, list[KubernetesObject]]) -> str:
    return _resource(*entry[0])


def _resource(group: str, kind: str) -> str:
    """Return the resource name of a kind, such as `pods.` or `jobs.batch`."""
    name = kind.lower()
    if name.endswith("y") and name[-2] not in "aeiou":
        name = name[:-1] + "ies"
    elif name.endswith(("s", "x", "ch")):
        name += "" if name == "endpoints" else "es"
    else:
        name += "s"
    return f"{name}.{group}"
