"""The result of a write (`Stored`), and the interface of the durable log (`Journal`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.store.at_rest import Texts
from podwright.cluster.store.history import Change
from podwright.cluster.store.kinds import GroupKind
from podwright.cluster.store.write_times import Mark

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
