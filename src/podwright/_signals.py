"""Defers SIGINT and SIGTERM, so that no file is written in part.

This module is above the I/O line: it installs signal handlers. Only the face of the package imports
it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from podwright._interrupts import PendingSignal


@contextmanager
def defer_signals() -> Iterator[PendingSignal]:
    """Defer signals within a block; see `podwright._interrupts.deferred_signals`."""
    pending = PendingSignal()
    before: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    # A handler that is not from Python cannot be restored, and ignored signals stay ignored.
    before = {key: one for key, one in before.items() if one not in (None, signal.SIG_IGN)}

    def defer(number: int, _: object) -> None:
        pending.number = number
        signal.signal(number, before[number])

    try:
        for number in before:
            signal.signal(number, defer)
    except ValueError:
        before = {}  # not the main thread, which alone receives signals
    try:
        yield pending
    except KeyboardInterrupt:
        pending.take()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pending.number is not None:
            signal.raise_signal(pending.number)
