"""Events expire: an hour after its last write, an Event is deleted.

Upstream gives each write of an Event an etcd lease of `--event-ttl`. Here the time is that which
the store has for the version of the Event, so it survives a restart.

Upstream: pkg/registry/core/event/storage/storage.go; cmd/kube-apiserver/app/options/options.go
"""

from __future__ import annotations

from array import array
from typing import Final

from podwright.apimachinery.objects import NamespacedName
from podwright.cluster.store import EVENT, MARK_PERIOD_NS, Cursor, Expired, ObjectStore, change_of

DEFAULT_TTL_NS: Final = 3_600 * 1_000_000_000
"""Upstream's default of `--event-ttl`."""

_UNREAD_MAX: Final = 256
"""After how many changes of any kind the Events among them are read."""

_EXPIRED_MAX: Final = 500
"""The most Events that are deleted before one request, so that none waits long."""


class EventExpiry:
    """Deletes the expired Events of a store.

    Parameters
    ----------
    store : ObjectStore
    ttl_ns : int
        How long an Event is kept after its last write.
    """

    def __init__(self, store: ObjectStore, ttl_ns: int = DEFAULT_TTL_NS) -> None:
        self._store = store
        self._ttl_ns = ttl_ns
        self._not_before_ns = 0
        # In two sequences, 16 bytes for each write; the keys are those of the store.
        self._versions = array("Q")
        self._keys: list[NamespacedName] = []
        self._first = 0
        self._cursor = self._from_now()

    def _from_now(self) -> Cursor:
        """Read the current Events, and return a cursor over the later changes."""
        # In the order of their versions, which is that of their times. An Event that was written
        # again has a later entry too.
        written = sorted((version, key) for key, version in self._store.versions(EVENT))
        self._versions = array("Q", [version for version, _ in written])
        self._keys = [key for _, key in written]
        self._first = 0
        return self._store.watch(EVENT, since=self._store.resource_version, reads_batch=True)

    @property
    def next_due_ns(self) -> int | None:
        """When the next Event may expire; None if there is none."""
        self._catch_up()
        return self._first_due_ns()

    def expire(self, now_ns: int) -> int:
        """Delete the Events that have expired, and return how many; at most some hundreds."""
        store = self._store
        unread = store.resource_version - self._cursor.resource_version
        if now_ns < self._not_before_ns and unread < _UNREAD_MAX:
            return 0
        self._catch_up()
        count = 0
        while count < _EXPIRED_MAX:
            due_ns = self._first_due_ns()
            if due_ns is None or due_ns > now_ns:
                break
            version, key = self._versions[self._first], self._keys[self._first]
            self._first += 1
            if store.version_of(EVENT, key) != version:
                continue
            current = store.get(EVENT, key)
            next_version = store.resource_version + 1
            store.commit(change_of(next_version, EVENT, key, current, None))
            count += 1
        if self._first > _EXPIRED_MAX:
            del self._versions[: self._first], self._keys[: self._first]
            self._first = 0
        # An Event that is written from now on expires later than this; a mark can be too early by
        # its period.
        self._not_before_ns = now_ns + self._ttl_ns - MARK_PERIOD_NS
        due_ns = self._first_due_ns()
        if due_ns is not None:
            self._not_before_ns = min(self._not_before_ns, due_ns)
        return count

    def _first_due_ns(self) -> int | None:
        """Return when the oldest write of an Event expires; None if there is none."""
        return self._due_ns(self._versions[self._first]) if self._first < len(self._keys) else None

    def _due_ns(self, version: int) -> int:
        written_ns = self._store.time_of(version)
        # A version without a time is older than the times that the store keeps.
        return 0 if written_ns is None else written_ns + self._ttl_ns

    def _catch_up(self) -> None:
        try:
            changes = self._cursor.poll_changes()
        except Expired:  # more was written between two requests than the history keeps
            self._cursor = self._from_now()
            return
        for change in changes:
            if not change.is_removal:
                self._versions.append(change.version)
                self._keys.append(change.key)
