"""Garbage collection of objects that live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect nothing in the block, which creates very many objects that live on.

    Scanning the million objects of a large cluster again and again takes as long as creating them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def frozen_creations() -> Iterator[None]:
    """Never visit the objects that are created in the block; collect nothing in it.

    After a block with very many of them, the next collection of young objects would visit them
    all.
    """
    with gc_paused():
        try:
            yield
        finally:
            gc.freeze()
