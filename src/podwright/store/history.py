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
from podwright.store.lifecycle import at_version

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
    event : WatchEvent
        What a watch without selectors says of it.
    """

    version: int
    kind: GroupKind
    key: NamespacedName
    old: KubernetesObject | None
    new: KubernetesObject | None
    event: WatchEvent


def change_of(
    version: int,
    kind: GroupKind,
    key: NamespacedName,
    old: KubernetesObject | None,
    new: KubernetesObject | None,
) -> Change:
    """Make a change and its event."""
    if new is None:
        assert old is not None, f"{kind[1]} {key}: neither before nor after version {version}"
        event = WatchEvent("DELETED", version, at_version(old, version), old)
    else:
        event = WatchEvent("ADDED" if old is None else "MODIFIED", version, new, old)
    return Change(version, kind, key, old, new, event)


_version_of = attrgetter("version")


class History:
    """A window over the changes.

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

    def __len__(self) -> int:
        return len(self._changes)

    def append(self, change: Change) -> None:
        """Add the next change."""
        assert change.version == self.current + 1, f"{change.version} after {self.current}"
        self.current = change.version
        self._changes.append(change)
        log = self._of_kind.get(change.kind)
        if log is None:
            log = self._of_kind[change.kind] = []
        log.append(change)

    def newest_of(self, kind: GroupKind | None) -> int:
        """Return the version of the last change of a kind (of any for None), 0 if none is known."""
        if kind is None:
            return self.current if self._changes else 0
        log = self._of_kind.get(kind)
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
        if kind is None:
            start = version - self.oldest
            return self._changes[start : None if limit is None else start + limit]
        log = self._of_kind.get(kind)
        if not log or log[-1].version <= version:
            return ()
        start = bisect_right(log, version, key=_version_of)
        return log[start : None if limit is None else start + limit]

    def until(self, version: int) -> Sequence[Change]:
        """Return the changes up to a version."""
        return self._changes[: max(version - self.oldest, 0)]

    def discard_before(self, version: int) -> None:
        """Make a version the oldest."""
        gone = self.until(version)
        if not gone:
            return
        assert version <= self.current, f"{version} is not reached, only {self.current}"
        del self._changes[: len(gone)]
        self.oldest = version
        for kind in {change.kind: None for change in gone}:
            log = self._of_kind[kind]
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
