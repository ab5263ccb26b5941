"""Events expire: an hour after its last write, an Event is deleted.

Upstream gives each write of an Event an etcd lease of `--event-ttl`. Here the time is that which
the store has for the version of the Event, so it survives a restart.

Upstream: pkg/registry/core/event/storage/storage.go; cmd/kube-apiserver/app/options/options.go
"""

from __future__ import annotations

from collections import deque
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
        # The keys are those of the store, so they take no memory of their own.
        self._written: deque[tuple[int, NamespacedName]] = deque()
        self._cursor = self._from_now()

    def _from_now(self) -> Cursor:
        """Read the current Events, and return a cursor over the later changes."""
        # In the order of their versions, which is that of their times. An Event that was written
        # again has a later entry too.
        versions = self._store.versions(EVENT)
        self._written = deque(sorted((version, key) for key, version in versions))
        return self._store.watch(EVENT, since=self._store.resource_version, reads_batch=True)

    @property
    def next_due_ns(self) -> int | None:
        """When the next Event may expire; None if there is none."""
        self._catch_up()
        return self._due_ns(self._written[0][0]) if self._written else None

    def expire(self, now_ns: int) -> int:
        """Delete the Events that have expired, and return how many; at most some hundreds."""
        store = self._store
        unread = store.resource_version - self._cursor.resource_version
        if now_ns < self._not_before_ns and unread < _UNREAD_MAX:
            return 0
        self._catch_up()
        written = self._written
        count = 0
        while written and count < _EXPIRED_MAX:
            if self._due_ns(written[0][0]) > now_ns:
                break
            version, key = written.popleft()
            if store.version_of(EVENT, key) != version:
                continue
            current = store.get(EVENT, key)
            next_version = store.resource_version + 1
            store.commit(change_of(next_version, EVENT, key, current, None))
            count += 1
        # An Event that is written from now on expires later than this; a mark can be too early by
        # its period.
        self._not_before_ns = now_ns + self._ttl_ns - MARK_PERIOD_NS
        if written:
            self._not_before_ns = min(self._not_before_ns, self._due_ns(written[0][0]))
        return count

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
        self._written.extend(
            (change.version, change.key) for change in changes if not change.is_removal
        )
