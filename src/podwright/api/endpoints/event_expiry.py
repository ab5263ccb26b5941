"""Events expire: an hour after its last write, an Event is deleted.

Upstream gives each write of an Event an etcd lease of `--event-ttl`. Here the time is that which
the store has for the version of the Event, so it survives a restart.

Upstream: pkg/registry/core/event/storage/storage.go; cmd/kube-apiserver/app/options/options.go
"""

from __future__ import annotations

from collections import deque
from typing import Final

from podwright.objects import NamespacedName
from podwright.store import GroupKind, ObjectStore, change_of

EVENT: Final[GroupKind] = ("", "Event")
"""The stored kind of the Events of both groups."""

DEFAULT_TTL_NS: Final = 3_600 * 1_000_000_000
"""Upstream's default of `--event-ttl`."""

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
        # In the order of their versions, which is that of their times. An Event that was written
        # again has a later entry too.
        versions = sorted(
            (int(obj.metadata.resource_version), obj.key) for obj in store.list(EVENT).objects
        )
        self._written: deque[tuple[int, NamespacedName]] = deque(versions)
        self._cursor = store.watch(EVENT, since=store.resource_version, reads_batch=True)

    @property
    def next_due_ns(self) -> int | None:
        """When the next Event may expire; None if there is none."""
        self._catch_up()
        return self._due_ns(self._written[0][0]) if self._written else None

    def expire(self, now_ns: int) -> int:
        """Delete the Events that have expired, and return how many; at most some hundreds."""
        self._catch_up()
        written, store = self._written, self._store
        count = 0
        while written and count < _EXPIRED_MAX:
            version, key = written[0]
            if self._due_ns(version) > now_ns:
                break
            written.popleft()
            current = store.get(EVENT, key)
            if current is None or current.metadata.resource_version != str(version):
                continue
            next_version = store.resource_version + 1
            store.commit(change_of(next_version, EVENT, key, current, None))
            count += 1
        return count

    def _due_ns(self, version: int) -> int:
        written_ns = self._store.time_of(version)
        # A version without a time is older than the times that the store keeps.
        return 0 if written_ns is None else written_ns + self._ttl_ns

    def _catch_up(self) -> None:
        while self._cursor.is_behind:
            self._written.extend(
                (event.resource_version, event.object.key)
                for event in self._cursor.poll()
                if event.object is not None and event.type != "DELETED"
            )
