"""Who hears of the changes of a kind, worked out once per kind."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from podwright.store import GroupKind
from podwright.world.admission import Admission
from podwright.world.shadow.scheduler_view import NOT_READ, SELECTING


class Hearing(msgspec.Struct, frozen=True, gc=False):
    """Who hears of the changes of a kind; controllers and observers always do.

    Attributes
    ----------
    is_admitting : bool
        Whether admission reads objects of the kind.
    is_alive : bool
        Whether they have stages.
    is_scheduled : bool
        Whether the scheduler watches them.
    is_selecting : bool
        Whether it watches them for their selectors only, and most changes are no news.
    """

    is_admitting: bool
    is_alive: bool
    is_scheduled: bool
    is_selecting: bool


def hearing_of(kind: GroupKind, alive: Container[GroupKind]) -> Hearing:
    """Return who hears of the changes of a kind, given the kinds that have stages."""
    return Hearing(
        is_admitting=kind in Admission.READ,
        is_alive=kind in alive,
        is_scheduled=kind not in NOT_READ,
        is_selecting=kind in SELECTING,
    )
