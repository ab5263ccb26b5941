"""Watches that are polled: a cursor keeps the version up to which it has read.

There are no threads and no queues. The caller polls a cursor, and the history keeps the changes
that the cursor has not read. A cursor reads only what is durable. One that falls behind the window
raises `Expired`.

An object that stops matching the query is DELETED; one that starts matching is ADDED.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/watcher.go, transform
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

from podwright.cluster.store.errors import GroupKind
from podwright.cluster.store.history import Change, History, WatchEvent, at_version, event_of
from podwright.cluster.store.pages import ObjectReader
from podwright.cluster.store.query import Query


class Cursor:
    """Reads the changes of a kind, or of all kinds, that match a query.

    Created by `ObjectStore.watch`.

    Parameters
    ----------
    history : History
        The source of the changes.
    kind : GroupKind or None
        The kind; None for all kinds.
    query : Query
        The conditions.
    since : int
        The version after which the watch starts.
    initial : InitialEvents, optional
        The events that `poll` returns first.
    reads_batch : bool
        Whether changes are read before they are durable.

    Attributes
    ----------
    initial_version : int
        Cursors with equal queries and equal values of this have the same initial events, but for
        the bookmark at their end; 0 without initial events.
    """

    def __init__(
        self,
        history: History,
        kind: GroupKind | None,
        query: Query,
        since: int,
        initial: InitialEvents | None = None,
        *,
        reads_batch: bool = False,
    ) -> None:
        self._history = history
        self._kind = kind
        self._query = query
        self._version = since
        self._initial = initial
        self._reads_batch = reads_batch
        self.initial_version = 0 if initial is None else history.last_of(kind)

    @property
    def horizon(self) -> int:
        """The version up to which `poll` reads now."""
        return self._history.current if self._reads_batch else self._history.durable

    @property
    def resource_version(self) -> int:
        """The version up to which the cursor has read; a new watch can continue from here."""
        return self._version

    @property
    def is_behind(self) -> bool:
        """Whether there are unread changes, which may not match the query."""
        if self.has_initial_events:
            return self._version <= self.horizon
        return self._history.has_after(self._version, self._kind, self.horizon)

    def poll(self, limit: int | None = None) -> list[WatchEvent]:
        """Return the events since the last call.

        Parameters
        ----------
        limit : int, optional
            The maximum number of changes to read; they may yield fewer events.

        Raises
        ------
        Expired
            The next changes were discarded; list again and watch from there.
        """
        if self._initial is not None:
            if self._version > self.horizon:
                return []  # objects of a batch that has not ended
            events = self._initial.read(limit)
            if self._initial.is_done:
                self._initial = None
            return events
        changes = self.poll_changes(limit)
        if self._query.is_empty:
            return [event_of(change) for change in changes]
        seen = (event_for(change, self._query) for change in changes)
        return [event for event in seen if event is not None]

    def poll_changes(self, limit: int | None = None) -> Sequence[Change]:
        """Return the changes since the last call, whether they match or not.

        Raises
        ------
        Expired
            As for `poll`.
        """
        horizon = self.horizon
        changes = self._history.after(self._version, self._kind, horizon, limit)
        if changes and len(changes) == limit:
            self._version = changes[-1].version
        else:
            # Skips changes of other kinds, so that a watch without events does not expire.
            self._version = max(self._version, horizon)
        return changes

    @property
    def has_initial_events(self) -> bool:
        """Whether `poll` returns initial events next."""
        return self._initial is not None

    @property
    def initial_place(self) -> Hashable:
        """How far the initial events were read."""
        assert self._initial is not None, "there are no more initial events"
        return self._initial.place

    def skip_initial(self, place: Hashable) -> None:
        """Take the initial events as read that another cursor has read until a place.

        Both have the same query and the same `initial_version`. The bookmark is left.
        """
        assert self._initial is not None, "there are no more initial events"
        self._initial.skip_to(place)

    def skip_to(self, version: int) -> None:
        """Take what another cursor with the same query has read as read, up to its version."""
        assert not self.has_initial_events, "initial events cannot be skipped"
        assert self._version <= version <= self.horizon, f"{self._version} to {version}"
        self._version = version

    def bookmark(self) -> WatchEvent:
        """Return a bookmark with the version that the watch has reached."""
        return WatchEvent("BOOKMARK", self._version)


def event_for(change: Change, query: Query) -> WatchEvent | None:
    """Return the event of a change for a query, None if the change does not match."""
    old, new = change.old, change.new
    did_match = old is not None and query.matches(old)
    does_match = new is not None and query.matches(new)
    if not (did_match or does_match):
        return None
    if not did_match:
        return WatchEvent("ADDED", change.version, new)
    if not does_match and new is not None:
        assert old is not None, f"version {change.version} did not match"
        # The object still exists: the event has its last matching state, with the version at which
        # it stopped matching.
        return WatchEvent("DELETED", change.version, at_version(old, change.version), old)
    return event_of(change)


class InitialEvents:
    """The current objects as ADDED events, followed by the bookmark that ends them.

    Parameters
    ----------
    readers : sequence of ObjectReader
        Of the current state, one for each kind.
    version : int
        The version of the state.

    Attributes
    ----------
    is_done : bool
        Whether all events were read.
    """

    def __init__(self, readers: Sequence[ObjectReader], version: int) -> None:
        self._readers = deque(readers)
        self._version = version
        self.is_done = False

    @property
    def place(self) -> Hashable:
        """How far the events were read: the kinds that are left, and the place in the first."""
        return len(self._readers), self._readers[0].place if self._readers else None

    def skip_to(self, place: Hashable) -> None:
        """Take the events until a place of the same events as read."""
        assert isinstance(place, tuple), f"no place: {place}"
        left, of_reader = place
        while len(self._readers) > left:
            self._readers.popleft()
        if self._readers:
            self._readers[0].skip_to(of_reader)

    def read(self, limit: int | None = None) -> list[WatchEvent]:
        """Return the next events, all without a limit; there may be none yet."""
        version, events = self._version, list[WatchEvent]()
        while self._readers:
            reader = self._readers[0]
            found = reader.read(_PART_OBJECTS if limit is None else limit)
            if reader.is_done:
                self._readers.popleft()
            events += [
                WatchEvent("ADDED", int(obj.metadata.resource_version or version), obj)
                for obj in found
            ]
            if limit is not None and (found or self._readers):
                return events
        self.is_done = True
        return [*events, WatchEvent("BOOKMARK", version, ends_initial=True)]


_PART_OBJECTS = 1_000
