"""The progress of calls that take long.

Rooms below the I/O line say what a call does and how far it is. They read no clock and write
nothing: a display, which the face of the package sets, decides what is shown and when. Without a
display, nothing is shown. Of nested calls only the outermost is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias


class Meter(Protocol):
    """Receives how far a call is."""

    def advance(self, done: float, note: Callable[[], str] | None = None) -> None:
        """Receive how much is done; `note` returns a text about it, and is called when shown."""

    def close(self) -> None:
        """Receive that the call is over."""


Display: TypeAlias = Callable[[str, float | None, bool | None], Meter]
"""Makes the meter of a call, from what it does, the total, and whether it is shown (None: if the
process is interactive and the call takes long)."""


class _NoMeter:
    def advance(self, done: float, note: Callable[[], str] | None = None) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


NO_METER: Meter = _NoMeter()


class _Current:
    """The display of the process, and whether it shows a call."""

    display: Display | None = None
    is_busy = False


def set_display(display: Display | None) -> None:
    """Set what shows the progress of calls; None: nothing does."""
    _Current.display = display


@contextmanager
def metered(
    what: str, total: float | None = None, *, is_shown: bool | None = None
) -> Iterator[Meter]:
    """Yield the meter of a call.

    Parameters
    ----------
    what : str
        What the call does, such as `simulating`.
    total : float, optional
        What `done` is at the end; without it the end is not known.
    is_shown : bool, optional
        Whether the progress is shown; by default in interactive use, if the call takes long.
    """
    display = _Current.display
    if display is None or _Current.is_busy:
        yield NO_METER
        return
    _Current.is_busy = True
    meter = NO_METER if is_shown is False else display(what, total, is_shown)
    try:
        yield meter
    finally:
        _Current.is_busy = False
        meter.close()
