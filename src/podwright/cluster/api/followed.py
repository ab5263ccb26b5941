"""The objects of one kind, followed change by change."""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import Document
from podwright.cluster.store import Expired, GroupKind, ObjectStore


class Followed:
    """Yields the changes of a kind since the last call, those of a batch before it ends.

    Parameters
    ----------
    store : ObjectStore
    kind : GroupKind
    """

    def __init__(self, store: ObjectStore, kind: GroupKind) -> None:
        self._store = store
        self._kind = kind
        self._cursor = store.watch(kind, reads_batch=True)
        self._keys: set[str] = set()

    @property
    def is_behind(self) -> bool:
        """Whether there are changes, or were some that the history has discarded."""
        cursor, store = self._cursor, self._store
        version = store.resource_version
        if cursor.resource_version == version and not cursor.has_initial_events:
            return False
        if cursor.is_behind or cursor.resource_version < store.oldest_version:
            return True
        cursor.skip_to(version)
        return False

    def changes(self) -> Iterator[tuple[str, Document | None]]:
        """Yield the key of each changed object, and the object; None for a deleted one."""
        while self.is_behind:
            try:
                events = self._cursor.poll()
            except Expired:
                # What was deleted in the lost part of the history is not among the current ones.
                self._cursor = self._store.watch(self._kind, reads_batch=True)
                gone, self._keys = self._keys, set()
                for key in sorted(gone):
                    yield key, None
                continue
            for event in events:
                if event.object is None:
                    continue
                key = event.object.key
                if event.type == "DELETED":
                    self._keys.discard(key)
                    yield key, None
                else:
                    self._keys.add(key)
                    yield key, event.object.raw
