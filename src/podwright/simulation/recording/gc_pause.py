"""A pause of the garbage collector while very many long-lived objects are created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable the garbage collector in the block.

    A checkpoint of a large cluster has a million objects: scanning them again and again takes as
    long as creating them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
