"""What plugins know of the server in which they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from podwright.objects import Document
from podwright.store import ObjectStore

UpdateStatus: TypeAlias = Callable[[Document, int], None]
"""Stores an object with a new status, at a time."""


class AdmissionContext(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that plugins use.

    Attributes
    ----------
    store : ObjectStore
        The stored objects; read only.
    update_status : callable
        Stores a quota with a new status.
    """

    store: ObjectStore
    update_status: UpdateStatus
