"""The objects of one kind, followed change by change."""

from __future__ import annotations

from collections.abc import Iterator

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
