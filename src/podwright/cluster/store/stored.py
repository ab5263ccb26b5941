"""The result of a write (`Stored`), and the interface of the durable log (`Journal`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.store.at_rest import Texts
from podwright.cluster.store.errors import GroupKind
from podwright.cluster.store.history import Change

LARGE_BYTES: Final = 64 * 1024
"""The size from which on an object is large, as JSON: what reads it may compute long."""

Outcome: TypeAlias = Literal["created", "updated", "unchanged", "deleted"]


class Stored(msgspec.Struct, frozen=True, gc=False):
    """The result of a write.

    Attributes
    ----------
    object : KubernetesObject
        The stored object; for a deletion its last state.
    resource_version : int
        The version of the object, or of its deletion.
    outcome : str
        created, updated, unchanged (no version was used) or deleted.
    """

    object: KubernetesObject
    resource_version: int
    outcome: Outcome


SavedVersions: TypeAlias = dict[NamespacedName, tuple[int, tuple[str, ...]]]
"""The versions of objects at rest, and the values of their indexed fields."""


class SavedChange(NamedTuple):
    """A change of the window in a file; its objects are at rest."""

    version: int
    kind: GroupKind
    key: NamespacedName
    previous: int
    is_removal: bool
    size_bytes: int


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file.

    Attributes
    ----------
    seed, oldest : int
        The seed and the oldest version of the store.
    objects : list of KubernetesObject
        The current objects of kinds that do not rest.
    resting : dict
        The current versions of each kind that rests.
    changes : list of SavedChange
        The changes since the oldest version.
    marks : list of Mark
        When versions were written.
    large : dict
        The names of the large objects of each kind that has any.
    """

    seed: int
    oldest: int
    objects: list[KubernetesObject]
    resting: dict[GroupKind, SavedVersions]
    changes: list[SavedChange]
    marks: list[Mark]
    large: dict[GroupKind, set[NamespacedName]]


class Journal(Texts, Protocol):
    """A durable log of changes, from which objects at rest are read."""

    def append(self, changes: Sequence[Change], marks: Sequence[Mark] = ()) -> None:
        """Write changes and times, all or none; they are durable when this returns."""

    def discard(self, oldest: int, changes: Sequence[Change], oldest_ns: int = 0) -> None:
        """Delete what only the history before `oldest`, which is these changes, needs.

        Marks before `oldest_ns` are deleted too.
        """

    def leave(self) -> None:
        """Leave the file to the process of which this one is a copy; reads are errors then."""

    def close(self) -> None:
        """Close the file."""


# When versions were written, to the second.
#
# A mark says that the versions after one number were written at a time or later. A new mark is
# made at most once in a second, so that the marks of hours are few. The times are those that the
# driver sets; a store whose driver sets none has no marks.

MARK_PERIOD_NS: Final = 1_000_000_000
"""The shortest time between two marks."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A time of the store.

    Attributes
    ----------
    version : int
        The versions after this one were written at the time or later.
    time_ns : int
        In nanoseconds since 1970.
    """

    version: int
    time_ns: int


class WriteTimes:
    """The marks of a store, in order.

    Parameters
    ----------
    kept_ns : int
        How long marks are kept.

    Attributes
    ----------
    next_mark_ns : int
        The time from which on `note` makes another mark.
    """

    def __init__(self, kept_ns: int) -> None:
        self._kept_ns = kept_ns
        self._marks: list[Mark] = []
        self.next_mark_ns = 0

    @property
    def newest(self) -> Mark | None:
        """The last mark."""
        return self._marks[-1] if self._marks else None

    def restore(self, marks: Iterable[Mark]) -> None:
        """Set the marks of a file."""
        self._marks = list(marks)
        if self._marks:
            self.next_mark_ns = self._marks[-1].time_ns + MARK_PERIOD_NS

    def note(self, version: int, now_ns: int) -> Mark | None:
        """Make a mark for the versions after one, unless the last mark is still young.

        A time before the last one is ignored.
        """
        if now_ns < self.next_mark_ns:
            return None
        mark = Mark(version, now_ns)
        self._marks.append(mark)
        self.next_mark_ns = now_ns + MARK_PERIOD_NS
        return mark

    def time_of(self, version: int) -> int | None:
        """Return when a version was written, at the earliest; None if no mark is that old."""
        index = bisect_right(self._marks, version - 1, key=_version_of)
        return self._marks[index - 1].time_ns if index else None

    def last_written_before(self, time_ns: int) -> int:
        """Return the last version that was certainly written before a time; 0 if there is none."""
        # The versions of a mark were written within a period; a later one has its own mark.
        index = bisect_right(self._marks, time_ns - MARK_PERIOD_NS, key=_time_of)
        if not index:
            return 0
        return self._marks[min(index, len(self._marks) - 1)].version

    def trim(self) -> int:
        """Discard old marks, and return the time before which there are none any more."""
        if not self._marks:
            return 0
        oldest_ns = self._marks[-1].time_ns - self._kept_ns
        index = bisect_right(self._marks, oldest_ns, key=_time_of)
        # The last mark before that time says when the versions after it were written.
        if index > 1:
            del self._marks[: index - 1]
        return self._marks[0].time_ns

    def validate(self) -> None:
        """Check the order of the marks."""
        for one, two in zip(self._marks, self._marks[1:], strict=False):
            assert one.version <= two.version, f"{one} before {two}"
            assert one.time_ns < two.time_ns, f"{one} before {two}"


def _version_of(mark: Mark) -> int:
    return mark.version


def _time_of(mark: Mark) -> int:
    return mark.time_ns
