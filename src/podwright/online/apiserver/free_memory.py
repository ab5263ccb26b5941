"""Free memory of the C library, which a long-lived server gives back to the system.

What a thread allocates for long enough to write a checkpoint, 20 MB of arrays, stays in the heap
when it is freed, and each thread has a heap of its own. Only the GNU C library has these functions.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from podwright.online.apiserver.huge_pages import resident_bytes

SMALL_BYTES: Final = 512 << 20
"""In a larger process, releasing the free memory can take longer than 100 ms."""

_HEAPS_MAX: Final = -8
"""The number of the option M_ARENA_MAX."""


def share_heap() -> None:
    """Let threads that begin from now on use one heap; the interpreter runs one of them anyway."""
    _call("mallopt", _HEAPS_MAX, 1)


def release_free_memory(below_bytes: int = SMALL_BYTES) -> None:
    """Give free pages back, if the process has less memory than a number of bytes.

    With 120 MB it takes some milliseconds, in which no thread gets new memory.
    """
    if sys.platform.startswith("linux") and resident_bytes() < below_bytes:
        _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform.startswith("linux"):
        function: Any = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*arguments)
