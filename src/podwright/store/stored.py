"""What a write came to, and what keeps writes.

`Stored` is the answer to whoever writes; a `Journal` is told before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from podwright.objects import KubernetesObject
from podwright.store.history import Change

Outcome: TypeAlias = Literal["created", "updated", "unchanged", "deleted"]


class Stored(msgspec.Struct, frozen=True, gc=False):
    """What a write came to.

    Attributes
    ----------
    object : KubernetesObject
        As it is stored now; for a deleted one as it was last.
    resource_version : int
        The version of the object, or of its deletion.
    outcome : str
        created, updated, unchanged (no version was used) or deleted.
    """

    object: KubernetesObject
    resource_version: int
    outcome: Outcome


class Journal(Protocol):
    """Keeps changes where they survive the process."""

    def append(self, changes: Sequence[Change]) -> None:
        """Keep changes, all or none; they are safe when this returns."""

    def discard(self, oldest: int, changes: Sequence[Change]) -> None:
        """Forget what only the history before `oldest`, these changes, needs."""

    def close(self) -> None:
        """Let go of the file."""
