"""The current objects of a kind as documents, for plugins that read all of them."""

from __future__ import annotations

from collections.abc import Mapping

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.store import Change, GroupKind, ObjectStore


class CurrentObjects:
    """Follows the objects of one kind, from the first time that they are read.

    Parameters
    ----------
    store : ObjectStore
    kind : GroupKind
    """

    def __init__(self, store: ObjectStore, kind: GroupKind) -> None:
        self._store = store
        self._kind = kind
        self._objects: dict[str, Document] = {}
        self._namespaces: dict[str, dict[str, Document]] = {}
        self._changes: list[Change] | None = None

    def by_key(self) -> Mapping[str, Document]:
        """Return the objects by key; read-only, and current until the next write."""
        if self._changes or self._changes is None:
            self._catch_up()
        return self._objects

    def in_namespace(self, namespace: str) -> list[Document]:
        """Return the objects of a namespace in the order of their names."""
        if self._changes or self._changes is None:
            self._catch_up()
        found = self._namespaces.get(namespace)
        return [found[name] for name in sorted(found)] if found else []

    def _catch_up(self) -> None:
        changes = self._changes
        if changes is None:
            self._changes = self._store.follow(self._kind)
            for obj in self._store.list(self._kind).objects:
                self._put(obj)
            return
        for change in changes:
            if change.new is not None:
                self._put(change.new)
            else:
                self._objects.pop(change.key, None)
                gone = change.object
                own = self._namespaces.get(gone.namespace, {})
                own.pop(gone.name, None)
                if not own:
                    self._namespaces.pop(gone.namespace, None)
        changes.clear()

    def _put(self, obj: KubernetesObject) -> None:
        own = self._namespaces.setdefault(obj.namespace, {})
        self._objects[obj.key] = own[obj.name] = obj.raw
