"""The current objects of a kind as documents, for plugins that read all of them."""

from __future__ import annotations

from collections.abc import Mapping

from podwright.objects import Document
from podwright.store import Expired, GroupKind, ObjectStore


class CurrentObjects:
    """Follows the objects of one kind.

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
        self._cursor = store.watch(kind, reads_batch=True)

    def by_key(self) -> Mapping[str, Document]:
        """Return the objects by key; read-only, and current until the next write."""
        while self._cursor.is_behind:
            self._catch_up()
        return self._objects

    def in_namespace(self, namespace: str) -> list[Document]:
        """Return the objects of a namespace in the order of their names."""
        while self._cursor.is_behind:
            self._catch_up()
        found = self._namespaces.get(namespace)
        return [found[name] for name in sorted(found)] if found else []

    def _catch_up(self) -> None:
        try:
            events = self._cursor.poll()
        except Expired:
            self._objects, self._namespaces = {}, {}
            self._cursor = self._store.watch(self._kind, reads_batch=True)
            events = self._cursor.poll()
        for event in events:
            obj = event.object
            if obj is None:
                continue
            own = self._namespaces.setdefault(obj.namespace, {})
            if event.type == "DELETED":
                self._objects.pop(obj.key, None)
                own.pop(obj.name, None)
            else:
                self._objects[obj.key] = own[obj.name] = obj.raw
