"""Garbage collection of objects that live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_creations() -> Iterator[None]:
    """Never visit the objects that are created in the block; collect nothing in it.

    After a block with very many of them, the next collection of young objects would visit them
    all. Scanning the millions of objects of a large dump takes longer than creating them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
