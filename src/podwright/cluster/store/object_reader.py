"""Reading very many objects part by part, all in their state of one version.

A copy of 50,000 references takes 20 ms, and as long again in each garbage collection while it is
young. So a reader keeps only its place, and the objects that have changed since its version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.store.history import History, PastState
from podwright.cluster.store.kinds import GroupKind
from podwright.cluster.store.pages import read_page
from podwright.cluster.store.query import Query
from podwright.cluster.store.table import KindTable

Place: TypeAlias = NamespacedName | int | None
"""How far a reader has read: the last key, or the number of objects of a few that it has found."""

EXAMINED_MAX = 1_000
"""The largest number of objects that one read examines: about two milliseconds."""


class ObjectReader:
    """Reads the objects that match a query as they are now, in the order of their keys.

    Created by `ObjectStore.reader`, which calls `take_up` before it discards history.

    Parameters
    ----------
    table : KindTable
        The current objects.
    kind : GroupKind
        Their kind.
    query : Query
        The conditions.
    history : History
        The changes of the store.

    Attributes
    ----------
    version : int
        The version of the state.
    is_done : bool
        Whether all objects were read.
    """

    def __init__(self, table: KindTable, kind: GroupKind, query: Query, history: History) -> None:
        self.version = history.current
        self.is_done = False
        self._table = table
        self._kind = kind
        self._query = query
        self._history = history
        self._past = PastState(self.version)
        self._last: NamespacedName | None = None
        self._found: Sequence[KubernetesObject] | None = None
        self._count = 0
        candidates = table.candidates(query)
        if candidates is not None and len(candidates) <= EXAMINED_MAX:
            self._found = read_page(table, query, version=self.version).objects

    @property
    def until(self) -> int:
        """The version up to which the reader knows all changes."""
        return self._past.until

    def take_up(self, until: int) -> None:
        """Take up the changes up to a version, which may then be discarded."""
        if until > self.until and not self.is_done and self._found is None:
            changes = self._history.after(self.until, self._kind, until)
            self._past.take_up(changes, until)

    def read(self, limit: int) -> list[KubernetesObject]:
        """Return the next objects, at most a limit; with conditions there may be none yet."""
        if self._found is not None:
            found = list(self._found[self._count : self._count + limit])
            self._count += len(found)
            self.is_done = len(found) < limit
            return found
        if self.is_done:
            return []
        self.take_up(self._history.current)
        has_conditions = self._query.has_conditions
        examined_max = EXAMINED_MAX if has_conditions else limit
        examined = list(islice(self._keys(), examined_max))
        objects, before, matches = self._table.objects, self._past.before, self._query.matches
        found = []
        for key in examined:
            self._last = key
            self._table.examined_count += 1
            obj = before[key] if key in before else objects[key]
            if obj is not None and (not has_conditions or matches(obj)):
                found.append(obj)
                if has_conditions and len(found) == limit:
                    return found
        self.is_done = len(examined) < examined_max
        return found

    @property
    def place(self) -> Place:
        """How far the reader has read."""
        return self._last if self._found is None else self._count

    def skip_to(self, place: Place) -> None:
        """Take as read what another reader of the same objects has read until a place."""
        if self._found is None:
            assert not isinstance(place, int), f"a number of objects: {place}"
            self._last = place
        else:
            assert isinstance(place, int), f"a key: {place}"
            self._count = place

    def parts(self, limit: int) -> Iterator[list[KubernetesObject]]:
        """Yield the results of `read` until all objects were read."""
        while not self.is_done:
            yield self.read(limit)

    def _keys(self) -> Iterator[NamespacedName]:
        """Yield the keys after the last one that existed at the version, in order."""
        namespace = self._query.namespace
        current = self._table.after(self._last, namespace)
        return self._past.keys(current, self._last, namespace) if self._past.before else current
