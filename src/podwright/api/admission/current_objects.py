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
        self._cursor = store.watch(kind, reads_batch=True)

    def by_key(self) -> Mapping[str, Document]:
        """Return the objects by key; read-only, and current until the next write."""
        while self._cursor.is_behind:
            self._catch_up()
        return self._objects

    def _catch_up(self) -> None:
        try:
            events = self._cursor.poll()
        except Expired:
            self._objects = {}
            self._cursor = self._store.watch(self._kind, reads_batch=True)
            events = self._cursor.poll()
        for event in events:
            if event.object is None:
                continue
            if event.type == "DELETED":
                self._objects.pop(event.object.key, None)
            else:
                self._objects[event.object.key] = event.object.raw
