"""Garbage collection, left alone where very many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Leave garbage alone for a while.

    A checkpoint of a large cluster is a million objects: to look through them for garbage
    again and again takes as long as to make them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def rare_collection() -> Iterator[None]:
    """Look for garbage a hundred times less often for a while.

    For commands that play a large cluster: nearly all that is made stays for long or goes by
    itself, and to look through it takes a twentieth of the time. Not for libraries, whose user
    decides about the collector.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 10)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
