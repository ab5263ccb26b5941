"""The result of a write (`Stored`), and the interface of the durable log (`Journal`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from podwright.objects import KubernetesObject
from podwright.store.history import Change
from podwright.store.write_times import Mark

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


class Journal(Protocol):
    """A durable log of changes."""

    def append(self, changes: Sequence[Change], marks: Sequence[Mark] = ()) -> None:
        """Write changes and times, all or none; they are durable when this returns."""

    def discard(self, oldest: int, changes: Sequence[Change], oldest_ns: int = 0) -> None:
        """Delete what only the history before `oldest`, which is these changes, needs.

        Marks before `oldest_ns` are deleted too.
        """

    def close(self) -> None:
        """Close the file."""
