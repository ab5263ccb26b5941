"""The objects of one kind, followed change by change, and as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podwright.apimachinery.objects import Document
from podwright.cluster.store import GroupKind, ObjectStore, change_of


class Followed:
    """Yields the changes of a kind since the last call, those of a batch before it ends.

    The objects that exist at first are changes too.

    Parameters
    ----------
    store : ObjectStore
    kind : GroupKind
    """

    def __init__(self, store: ObjectStore, kind: GroupKind) -> None:
        self._changes = store.follow(kind)
        for obj in store.list(kind).objects:
            version = int(obj.metadata.resource_version)
            self._changes.append(change_of(version, kind, obj.key, None, obj))

    @property
    def is_behind(self) -> bool:
        """Whether there are changes."""
        return bool(self._changes)

    def changes(self) -> Iterator[tuple[str, Document | None]]:
        """Yield the key of each changed object, and the object; None for a deleted one."""
        while self._changes:
            changes = self._changes.copy()
            self._changes.clear()
            for change in changes:
                yield change.key, None if change.new is None else change.new.raw


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
        self._followed: Followed | None = None

    def by_key(self) -> Mapping[str, Document]:
        """Return the objects by key; read-only, and current until the next write."""
        if self._followed is None or self._followed.is_behind:
            self._catch_up()
        return self._objects

    def in_namespace(self, namespace: str) -> list[Document]:
        """Return the objects of a namespace in the order of their names."""
        self.by_key()
        found = self._namespaces.get(namespace)
        return [found[name] for name in sorted(found)] if found else []

    def _catch_up(self) -> None:
        self._followed = self._followed or Followed(self._store, self._kind)
        for key, document in self._followed.changes():
            namespace, _, name = key.rpartition("/")
            own = self._namespaces.setdefault(namespace, {})
            if document is not None:
                self._objects[key] = own[name] = document
                continue
            self._objects.pop(key, None)
            own.pop(name, None)
            if not own:
                del self._namespaces[namespace]
