"""The history: the recent changes, from which watches and lists of older versions are served.

Versions have no gaps: each change has the next version. So a version is a position, and the
window is two numbers: `oldest`, the oldest version that can be watched from, and `current`. Watches
read up to the horizon `durable`, which is `current` except while writes are committed together.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.store.at_rest import ObjectsAtRest
from podwright.cluster.store.errors import Expired, GroupKind
from podwright.cluster.store.sorted_keys import SortedKeys

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a watch.

    Attributes
    ----------
    type : str
        ADDED, MODIFIED, DELETED or BOOKMARK.
    resource_version : int
        The version of the change; for a bookmark the version that the watch has reached.
    object : KubernetesObject or None
        The object after the change; for DELETED its last state with the version of the change.
        A bookmark has none.
    old : KubernetesObject or None
        The object before the change; None for ADDED.
    ends_initial : bool
        Whether this bookmark ends the initial events.
    """

    type: EventType
    resource_version: int
    object: KubernetesObject | None = None
    old: KubernetesObject | None = None
    ends_initial: bool = False


class FreshChange(msgspec.Struct, frozen=True, gc=False):
    """A change whose objects are in memory.

    It is created for every write, so it has only the parts that its event needs.

    Attributes
    ----------
    version : int
        The `resourceVersion`.
    kind : GroupKind
        Group and kind.
    key : NamespacedName
        The object's key.
    old : KubernetesObject or None
        The object before; None if it did not exist.
    new : KubernetesObject or None
        The object after the change; None if it was deleted.
    object : KubernetesObject
        The object after the change; for a deletion its last state with the change's version.
    """

    version: int
    kind: GroupKind
    key: NamespacedName
    old: KubernetesObject | None
    new: KubernetesObject | None
    object: KubernetesObject

    @property
    def previous(self) -> int:
        """The version that the change replaces; 0 for a new object."""
        return 0 if self.old is None else int(self.old.metadata.resource_version)

    @property
    def is_removal(self) -> bool:
        """Whether the object was deleted."""
        return self.new is None


class RestingChange(msgspec.Struct, frozen=True, gc=False):
    """A change whose objects are at rest: they are read from their JSON whenever they are used.

    Attributes
    ----------
    version, kind, key
        As of a `FreshChange`.
    at_rest : ObjectsAtRest
        Has the objects of both versions.
    previous : int
        The version that the change replaces; 0 for a new object.
    is_removal : bool
        Whether the object was deleted.
    """

    version: int
    kind: GroupKind
    key: NamespacedName
    at_rest: ObjectsAtRest
    previous: int = 0
    is_removal: bool = False

    @property
    def old(self) -> KubernetesObject | None:
        """The object before; None if it did not exist."""
        return self.at_rest.read(self.previous) if self.previous else None

    @property
    def new(self) -> KubernetesObject | None:
        """The object after the change; None if it was deleted."""
        return None if self.is_removal else self.at_rest.read(self.version)

    @property
    def object(self) -> KubernetesObject:
        """The object after the change; for a deletion its last state with the change's version."""
        if not self.is_removal:
            return self.at_rest.read(self.version)
        old = self.old
        assert old is not None, f"version {self.version} has neither a state before nor after"
        return at_version(old, self.version)


Change: TypeAlias = FreshChange | RestingChange
"""One version: an object was created, updated or deleted."""


def event_of(change: Change) -> WatchEvent:
    """Return the event of a watch without selectors."""
    version, old, obj = change.version, change.old, change.object
    if change.is_removal:
        return WatchEvent("DELETED", version, obj, old)
    return WatchEvent("ADDED" if old is None else "MODIFIED", version, obj, old)


def change_of(
    version: int,
    kind: GroupKind,
    key: NamespacedName,
    old: KubernetesObject | None,
    new: KubernetesObject | None,
) -> Change:
    """Return the change from one state of an object to the next; None if it does not exist."""
    if new is not None:
        return FreshChange(version, kind, key, old, new, new)
    assert old is not None, f"{kind[1]} {key}: neither before nor after version {version}"
    return FreshChange(version, kind, key, old, None, at_version(old, version))


_version_of = attrgetter("version")


class History:
    """The window of recent changes.

    Changes are grouped by kind only when the changes of a kind are requested.

    Parameters
    ----------
    oldest : int
        The version of the state that the first change builds on.

    Attributes
    ----------
    oldest, current : int
        The window.
    durable : int
        The version up to which changes are in the journal; the writer of the journal sets it.
    size_bytes : int
        The sum of the sizes of all changes.
    """

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        self.current = oldest
        self.durable = oldest
        self._changes: list[Change] = []
        self._sizes = array("q")
        self.size_bytes = 0
        self._of_kind: dict[GroupKind, list[Change]] = {}
        self._sorted_until = oldest
        self._resting_until = oldest

    def __len__(self) -> int:
        return len(self._changes)

    def append(self, change: Change, size_bytes: int = 0) -> None:
        """Add the next change."""
        version = change.version
        assert version == self.current + 1, f"{version} after {self.current}"
        self.current = version
        self._changes.append(change)
        self._sizes.append(size_bytes)
        self.size_bytes += size_bytes

    def version_within(self, max_bytes: int) -> int:
        """Return the oldest version after which the changes have at most this size."""
        size_bytes, version = self.size_bytes, self.oldest
        for each in self._sizes:
            if size_bytes <= max_bytes:
                break
            size_bytes -= each
            version += 1
        return version

    def has_after(self, version: int, kind: GroupKind | None, horizon: int) -> bool:
        """Whether there are changes after a version up to a horizon, of one kind or of all."""
        if version >= horizon:
            return False
        if kind is None:
            return True
        log = self._log_of(kind)
        start = bisect_right(log, version, key=_version_of)
        return start < len(log) and log[start].version <= horizon

    def last_of(self, kind: GroupKind | None) -> int:
        """Return the version of the last change of a kind, or the oldest version if it is older.

        Since then, no object of the kind has changed.
        """
        if kind is None:
            return self.current
        log = self._log_of(kind)
        return log[-1].version if log else self.oldest

    def after(
        self, version: int, kind: GroupKind | None, horizon: int, limit: int | None = None
    ) -> Sequence[Change]:
        """Return the changes after a version up to a horizon in order, of one kind or of all.

        Raises
        ------
        Expired
            Changes after the version were discarded.
        """
        return self._between(version, min(horizon, self.current), kind, limit)

    def since(
        self, version: int, kind: GroupKind | None, limit: int | None = None
    ) -> Sequence[Change]:
        """Return the changes after a version in order, of one kind or of all kinds (None).

        Raises
        ------
        Expired
            Changes after the version were discarded.
        """
        return self._between(version, self.current, kind, limit)

    def _between(
        self, version: int, until: int, kind: GroupKind | None, limit: int | None
    ) -> Sequence[Change]:
        if version < self.oldest:
            raise Expired(version, oldest=self.oldest, current=self.current)
        if version >= until:
            return ()
        log: Sequence[Change]
        if kind is None:
            # Versions have no gaps: the change of version v is at index v - oldest - 1.
            log, start, end = self._changes, version - self.oldest, until - self.oldest
        else:
            log = self._log_of(kind)
            if not log or log[-1].version <= version:
                return ()
            start = bisect_right(log, version, key=_version_of)
            end = len(log)
            if log[-1].version > until:
                end = bisect_right(log, until, start, key=_version_of)
        return log[start : end if limit is None else min(end, start + limit)]

    def _log_of(self, kind: GroupKind) -> Sequence[Change]:
        logs = self._of_kind
        for change in self._changes[self._sorted_until - self.oldest :]:
            log = logs.get(change.kind)
            if log is None:
                log = logs[change.kind] = []
            log.append(change)
        self._sorted_until = self.current
        return logs.get(kind, ())

    def until(self, version: int) -> Sequence[Change]:
        """Return the changes up to a version."""
        return self._changes[: max(version - self.oldest, 0)]

    def to_rest(self, kept_count: int, limit: int) -> Sequence[Change]:
        """Return the next changes that may rest; the caller replaces them.

        Parameters
        ----------
        kept_count : int
            How many of the last durable changes do not rest.
        limit : int
            The most changes to return.
        """
        begin = max(self._resting_until, self.oldest)
        end = min(self.durable - kept_count, begin + limit)
        if end <= begin:
            return ()
        self._resting_until = end
        return self._changes[begin - self.oldest : end - self.oldest]

    def at(self, version: int) -> Change | None:
        """Return the change of a version; None if it was discarded."""
        return self._changes[version - self.oldest - 1] if version > self.oldest else None

    def replace(self, change: Change) -> None:
        """Replace the change of a version by one that is at rest."""
        version = change.version
        self._changes[version - self.oldest - 1] = change
        if version <= self._sorted_until:
            log = self._of_kind[change.kind]
            log[bisect_left(log, version, key=_version_of)] = change

    def discard_before(self, version: int) -> None:
        """Make a version the oldest."""
        if version <= self.oldest:
            return
        assert version <= self.current, f"{version} is after the current version {self.current}"
        count = version - self.oldest
        self.size_bytes -= sum(self._sizes[:count])
        del self._changes[:count], self._sizes[:count]
        self.oldest = version
        self.durable = max(self.durable, version)
        # Otherwise discarded changes that were not grouped yet would give the slice in `_log_of`
        # a negative start.
        self._sorted_until = max(self._sorted_until, version)
        for log in self._of_kind.values():
            del log[: bisect_right(log, version, key=_version_of)]


# The state of a kind at an older version: what changed since, on top of the current objects.
#
# The pages of one list show one version. Its state is kept from page to page and takes up only the
# changes since the page before.

_KEPT_MAX = 16
"""The most states that are kept; lists beyond it read all changes since their version."""


class PastState:
    """The objects of a kind that changed since a version.

    Parameters
    ----------
    version : int
        The version of the state.

    Attributes
    ----------
    until : int
        The version up to which changes are known.
    before : dict
        The changed objects as they were at the version; None if they did not exist.
    """

    def __init__(self, version: int) -> None:
        self.until = version
        self.before: dict[NamespacedName, KubernetesObject | None] = {}
        self._existed = SortedKeys()
        self._added = SortedKeys()

    def take_up(self, changes: Iterable[Change], until: int) -> None:
        """Add the next changes."""
        for change in changes:
            if change.key not in self.before:
                self.before[change.key] = change.old
                (self._added if change.old is None else self._existed).add(change.key)
        self.until = until

    def keys(
        self,
        current: Iterator[NamespacedName],
        after: NamespacedName | None,
        namespace: str | None,
    ) -> Iterator[NamespacedName]:
        """Yield the keys after a key that existed at the version, in order.

        Parameters
        ----------
        current : iterator
            The current keys after that key, in order.
        """
        last: NamespacedName | None = None
        for key in merge(current, self._existed.after(after)):
            if key == last:
                continue
            last = key
            if key in self.before and not _is_in(self.before[key], namespace):
                continue
            yield key

    def count_change(
        self,
        after: NamespacedName,
        namespace: str | None,
        current: Callable[[NamespacedName], KubernetesObject | None],
    ) -> int:
        """Return how many more objects after a key there were at the version than there are now."""
        gone = sum(
            current(key) is None and _is_in(self.before[key], namespace)
            for key in self._existed.after(after)
        )
        new = (current(key) for key in self._added.after(after))
        return gone - sum(obj is not None and _is_in(obj, namespace) for obj in new)


def _is_in(obj: KubernetesObject | None, namespace: str | None) -> bool:
    return obj is not None and (namespace is None or obj.metadata.namespace == namespace)


class PastStates:
    """The states that lists in pages have used last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[GroupKind, int], PastState] = {}

    def find(self, kind: GroupKind, version: int) -> PastState:
        """Return the state of a kind at a version; the caller adds the missing changes."""
        state = self._kept.pop((kind, version), None) or PastState(version)
        self._kept[kind, version] = state
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return state

    def discard_before(self, oldest: int) -> None:
        """Discard the states of versions that cannot be listed any more."""
        for kind, version in [key for key in self._kept if key[1] < oldest]:
            del self._kept[kind, version]


# Copies of objects with changed metadata, in the struct and in the document.

T = TypeVar("T", bound=KubernetesObject)

_replace = msgspec.structs.replace

METADATA_KEYS = {
    "name": "name",
    "namespace": "namespace",
    "uid": "uid",
    "resource_version": "resourceVersion",
    "generation": "generation",
    "creation_timestamp": "creationTimestamp",
    "deletion_timestamp": "deletionTimestamp",
    "deletion_grace_period_seconds": "deletionGracePeriodSeconds",
    "finalizers": "finalizers",
}
"""The fields of `ObjectMeta` that the server sets, and their names in a document."""


def with_document(obj: KubernetesObject) -> KubernetesObject:
    """Return the object with its document, which is encoded from the struct if it has none.

    A store restores objects from their documents, so every stored object needs one.
    """
    if obj.raw:
        return obj
    return decode(encode(obj), source=f"{obj.kind} {obj.key}")


def with_metadata(obj: T, **changes: Any) -> T:
    """Return a copy with changed metadata, in the struct and in the document.

    None, an empty text, an empty tuple and generation 0 remove the field.
    """
    document: dict[str, Any] = dict(obj.raw.get("metadata") or {})
    for name, value in changes.items():
        if value is None or value in ("", ()) or (name == "generation" and not value):
            document.pop(METADATA_KEYS[name], None)
        else:
            document[METADATA_KEYS[name]] = list(value) if isinstance(value, tuple) else value
    metadata = _replace(obj.metadata, **changes)
    return _replace(obj, metadata=metadata, raw=obj.raw | {"metadata": document})


def at_version(obj: T, version: int) -> T:
    """Return a copy with another `resourceVersion`."""
    text = str(version)
    document = obj.raw["metadata"].copy()
    document["resourceVersion"] = text
    raw = obj.raw.copy()
    raw["metadata"] = document
    return _replace(obj, metadata=_replace(obj.metadata, resource_version=text), raw=raw)
