"""The objects of one kind, followed change by change."""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import Document
from podwright.cluster.store import Expired, GroupKind, ObjectStore


class Followed:
    """Yields the changes of a kind since the last call.

    Parameters
    ----------
    store : ObjectStore
    kind : GroupKind
    reads_batch : bool
        Whether the changes of a batch are read before it ends.
    """

    def __init__(self, store: ObjectStore, kind: GroupKind, *, reads_batch: bool = False) -> None:
        self._store = store
        self._kind = kind
        self._reads_batch = reads_batch
        self._cursor = store.watch(kind, reads_batch=reads_batch)
        self._keys: set[str] = set()

    @property
    def is_behind(self) -> bool:
        """Whether the store has changed, possibly in other kinds."""
        # The cursor's own answer is no if the changes were discarded from the history.
        has_initial = self._cursor.is_behind
        return has_initial or self._cursor.resource_version < self._store.resource_version

    def changes(self) -> Iterator[tuple[str, Document | None]]:
        """Yield the key of each changed object, and the object; None for a deleted one."""
        while self.is_behind:
            try:
                events = self._cursor.poll()
            except Expired:
                # What was deleted in the lost part of the history is not among the present ones.
                self._cursor = self._store.watch(self._kind, reads_batch=self._reads_batch)
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
