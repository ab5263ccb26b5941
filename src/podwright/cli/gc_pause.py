"""Garbage collection in a process that runs one command and ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collection() -> Iterator[None]:
    """Look for garbage a hundred times less often for a while.

    Nearly all that a command makes stays to its end or goes by itself; to look through it takes
    a twentieth of the time where a large cluster is played, and a tenth where modules are
    imported. Not for libraries, whose user decides about the collector.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 10)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
