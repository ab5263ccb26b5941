"""Signals that wait until a write is complete.

Rooms below the I/O line say which part of a call must not be interrupted. They install no signal
handlers: a deferral, which the face of the package sets, does. Without one, signals act at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias


class PendingSignal:
    """The signal that arrived during a deferral, if one did.

    Attributes
    ----------
    number : int or None
        The signal; it takes effect at the end of the deferral.
    """

    number: int | None = None

    def take(self) -> int | None:
        """Return the signal; it has no further effect."""
        number, self.number = self.number, None
        return number


Deferral: TypeAlias = Callable[[], AbstractContextManager[PendingSignal]]
"""Defers SIGINT and SIGTERM within a block."""


class _Current:
    """The deferral of the process."""

    deferral: Deferral | None = None


def set_deferral(deferral: Deferral | None) -> None:
    """Set what defers signals; None: nothing does."""
    _Current.deferral = deferral


def deferred_signals() -> AbstractContextManager[PendingSignal]:
    """Defer SIGINT and SIGTERM within a block; the second signal acts at once."""
    deferral = _Current.deferral
    return nullcontext(PendingSignal()) if deferral is None else deferral()
