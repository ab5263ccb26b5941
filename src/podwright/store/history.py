"""The changes of the last while: what watches are fed from and old lists are rebuilt from.

Versions have no gaps: each change has the next one. So a version is a position, and the
window is two numbers, `oldest` (from which one can still go on) and `current`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, TypeAlias

import msgspec

from podwright.objects import KubernetesObject, NamespacedName
from podwright.store.errors import Expired, InvalidVersion
from podwright.store.kinds import GroupKind
from podwright.store.versions import at_version

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch.

    Attributes
    ----------
    type : str
        ADDED, MODIFIED, DELETED or BOOKMARK.
    resource_version : int
        The version of the change, or how far the watch has come.
    object : KubernetesObject or None
        As it is now; for DELETED as it was last, with the version of the change. A bookmark
        has none.
    old : KubernetesObject or None
        As it was before; for ADDED there is none.
    ends_initial : bool
        Whether this bookmark ends the objects that were there when the watch began.
    """

    type: EventType
    resource_version: int
    object: KubernetesObject | None = None
    old: KubernetesObject | None = None
    ends_initial: bool = False


class Change(msgspec.Struct, frozen=True, gc=False):
    """One version: an object that came, changed or went.

    Made for every write, so it has no more than the parts from which its event is made.

    Attributes
    ----------
    version : int
        The `resourceVersion`.
    kind : GroupKind
        Group and kind.
    key : NamespacedName
        Which object.
    old, new : KubernetesObject or None
        Before and after; None where there is no object.
    object : KubernetesObject
        As it is now; of one that went, as it was last, with the version of the change.
    """

    version: int
    kind: GroupKind
    key: NamespacedName
    old: KubernetesObject | None
    new: KubernetesObject | None
    object: KubernetesObject

    @property
    def event(self) -> WatchEvent:
        """What a watch without selectors says of it."""
        if self.new is None:
            return WatchEvent("DELETED", self.version, self.object, self.old)
        type_: EventType = "ADDED" if self.old is None else "MODIFIED"
        return WatchEvent(type_, self.version, self.object, self.old)


def change_of(
    version: int,
    kind: GroupKind,
    key: NamespacedName,
    old: KubernetesObject | None,
    new: KubernetesObject | None,
) -> Change:
    """Return the change from an object, or none, to an object, or none."""
    if new is not None:
        return Change(version, kind, key, old, new, new)
    assert old is not None, f"{kind[1]} {key}: neither before nor after version {version}"
    return Change(version, kind, key, old, None, at_version(old, version))


_version_of = attrgetter("version")


class History:
    """A window over the changes.

    Changes are told apart by their kinds when somebody asks for those of a kind, not before.

    Parameters
    ----------
    oldest : int
        The version of the state that the first change builds on.
    """

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        self.current = oldest
        self._changes: list[Change] = []
        self._of_kind: dict[GroupKind, list[Change]] = {}
        self._sorted_until = oldest

    def __len__(self) -> int:
        return len(self._changes)

    def append(self, change: Change) -> None:
        """Add the next change."""
        version = change.version
        assert version == self.current + 1, f"{version} after {self.current}"
        self.current = version
        self._changes.append(change)

    def newest_of(self, kind: GroupKind | None) -> int:
        """Return the version of the last change of a kind (of any for None), 0 if none is known."""
        if kind is None:
            return self.current if self._changes else 0
        log = self._log_of(kind)
        return log[-1].version if log else 0

    def after(
        self, version: int, kind: GroupKind | None, limit: int | None = None
    ) -> Sequence[Change]:
        """Return the changes after a version, of one kind or (None) of all, in order.

        Raises
        ------
        Expired
            Changes after the version were discarded.
        """
        if version < self.oldest:
            raise Expired(version, oldest=self.oldest, current=self.current)
        if version >= self.current:
            return ()
        if kind is None:
            start = version - self.oldest
            return self._changes[start : None if limit is None else start + limit]
        log = self._log_of(kind)
        if not log or log[-1].version <= version:
            return ()
        start = bisect_right(log, version, key=_version_of)
        return log[start : None if limit is None else start + limit]

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

    def discard_before(self, version: int) -> None:
        """Make a version the oldest."""
        if version <= self.oldest:
            return
        assert version <= self.current, f"{version} is not reached, only {self.current}"
        del self._changes[: version - self.oldest]
        self.oldest = version
        self._sorted_until = max(self._sorted_until, version)
        for log in self._of_kind.values():
            del log[: bisect_right(log, version, key=_version_of)]


def version_number(text: str) -> int:
    """Return a `resourceVersion` as a number.

    Raises
    ------
    InvalidVersion
        It is not a number.
    """
    if not (text.isascii() and text.isdigit()):
        raise InvalidVersion(f"invalid resource version: {text!r}; a number is expected")
    return int(text)
