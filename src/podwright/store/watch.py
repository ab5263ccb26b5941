"""Watches that are pulled: a cursor remembers how far it has read.

No threads and no queues: whoever drives the store asks a cursor when it likes, and the
history keeps what the cursor has not seen. One that waits too long is told `Expired`.

An object that stops matching the query is DELETED for it, one that starts matching is ADDED.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/watcher.go, transform
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.objects import KubernetesObject
from podwright.store.history import Change, History, WatchEvent
from podwright.store.kinds import GroupKind
from podwright.store.query import Query
from podwright.store.versions import at_version


class Cursor:
    """Reads the changes of a kind, or of all kinds, that concern a query.

    Made by `ObjectStore.watch`.

    Parameters
    ----------
    history : History
        Where from.
    kind : GroupKind or None
        Of which kind; None is all.
    query : Query
        Which objects.
    since : int
        The version that is known already.
    initial : sequence of WatchEvent
        What `poll` gives first.
    """

    def __init__(
        self,
        history: History,
        kind: GroupKind | None,
        query: Query,
        since: int,
        initial: Sequence[WatchEvent] = (),
    ) -> None:
        self._history = history
        self._kind = kind
        self._query = query
        self._version = since
        self._initial = list(initial)

    @property
    def resource_version(self) -> int:
        """How far it has read: a watch from here misses nothing and repeats nothing."""
        return self._version

    @property
    def is_behind(self) -> bool:
        """Whether `poll` has something to read; what it reads may not match."""
        return bool(self._initial) or self._history.newest_of(self._kind) > self._version

    def poll(self, limit: int | None = None) -> list[WatchEvent]:
        """Return what happened since the last call.

        Parameters
        ----------
        limit : int, optional
            How many changes to read at most; they may be fewer events.

        Raises
        ------
        Expired
            What comes next was discarded; list again and watch from there.
        """
        if self._initial:
            events = self._initial[:limit]
            self._initial = self._initial[len(events) :]
            return events
        changes = self._history.after(self._version, self._kind, limit)
        if limit is not None and len(changes) == limit and changes:
            self._version = changes[-1].version
        else:
            # Also past changes of other kinds, so that a quiet watch does not expire.
            self._version = max(self._version, self._history.current)
        if self._query.is_empty:
            return [change.event for change in changes]
        seen = (event_for(change, self._query) for change in changes)
        return [event for event in seen if event is not None]

    def bookmark(self) -> WatchEvent:
        """Return a bookmark that says how far the watch has come."""
        return WatchEvent("BOOKMARK", self._version)


def event_for(change: Change, query: Query) -> WatchEvent | None:
    """Return what a change is for a query, None if it does not concern it."""
    did_match = change.old is not None and query.matches(change.old)
    does_match = change.new is not None and query.matches(change.new)
    if does_match and not did_match and change.old is not None:
        return WatchEvent("ADDED", change.version, change.new)
    if did_match and not does_match and change.new is not None:
        assert change.old is not None, f"version {change.version} did not match"
        gone = at_version(change.old, change.version)
        return WatchEvent("DELETED", change.version, gone, change.old)
    return change.event if did_match or does_match else None


def initial_events(objects: Sequence[KubernetesObject], version: int) -> list[WatchEvent]:
    """Return the objects that are there as ADDED, and the bookmark that ends them."""
    events = [
        WatchEvent("ADDED", int(obj.metadata.resource_version or version), obj) for obj in objects
    ]
    return [*events, WatchEvent("BOOKMARK", version, ends_initial=True)]
